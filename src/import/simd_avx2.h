/*
 * simd_avx2.h - the primitives of the scanner for x86-64 with AVX2, BMI and CLMUL.
 *
 * The same names as simd_portable.h; a file includes one of them and then the scanner's
 * body. All of them read whole blocks and so past the end of the text, which the feed
 * pads (MAREY_FEED_PAD).
 */
#ifndef MAREY_SRC_IMPORT_SIMD_AVX2_H
#define MAREY_SRC_IMPORT_SIMD_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block64 {
    __m256i low;
    __m256i high;
};

static inline __m256i load32(const char *at)
{
    return _mm256_loadu_si256((const __m256i_u *)(const void *)at);
}

static inline struct block64 block64_load(const char *at)
{
    return (struct block64){load32(at), load32(at + 32)};
}

static inline uint64_t join_masks(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) |
           ((uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32);
}

/* Bit i is set where byte i of the block is c. */
static inline uint64_t block64_is(struct block64 block, char c)
{
    const __m256i wanted = _mm256_set1_epi8(c);

    return join_masks(_mm256_cmpeq_epi8(block.low, wanted), _mm256_cmpeq_epi8(block.high, wanted));
}

/* True if any byte of the block is c. */
static inline bool block64_has(struct block64 block, char c)
{
    const __m256i wanted = _mm256_set1_epi8(c);
    const __m256i found = _mm256_or_si256(_mm256_cmpeq_epi8(block.low, wanted),
                                          _mm256_cmpeq_epi8(block.high, wanted));

    return _mm256_testz_si256(found, found) == 0;
}

/* Bytes that JSON has outside its strings, braces not among them, the words NaN and Infinity
 * included, as one bit a high nibble: allowed are those whose two rows share a bit.
 *
 *     0x0_ TAB LF CR    0x2_ blank " + , - .    0x3_ 0 to 9 :    0x4_ E I N
 *     0x5_ [ ]          0x6_ a e f i l n        0x7_ r s t u y */
static inline __m256i is_special(__m256i bytes)
{
    const __m256i by_low = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(6, 36, 70, 68, 68, 108, 36, 4, 4, 109, 5, 18, 34, 19, 42, 0));
    const __m256i by_high = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 0, 2, 4, 8, 16, 32, 64, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
    const __m256i shared =
        _mm256_and_si256(_mm256_shuffle_epi8(by_low, bytes), _mm256_shuffle_epi8(by_high, high));

    return _mm256_cmpeq_epi8(shared, _mm256_setzero_si256());
}

/* Bit i is set where byte i of the block is a brace or cannot stand outside a string. */
static inline uint64_t block64_special(struct block64 block)
{
    return join_masks(is_special(block.low), is_special(block.high));
}

static inline __m256i ends_key(__m256i bytes)
{
    /* By the low nibble, the letter that a byte must be; 0xff fits none. */
    const __m256i by_low = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-1, 0, 0, 0, 't', 'e', 0, 0, 0, 0, 0, 0, 0, 'm', 'n', 0));

    return _mm256_cmpeq_epi8(_mm256_shuffle_epi8(by_low, bytes), bytes);
}

/* Bit i is set where byte i is e, m, n or t: what the keys of launch_key_of end in. */
static inline uint64_t block64_ends_key(struct block64 block)
{
    return join_masks(ends_key(block.low), ends_key(block.high));
}

/* Bit i of the result is the parity of bits 0 to i. */
static inline uint64_t prefix_xor(uint64_t bits)
{
    const __m128i ones = _mm_set1_epi8((char)0xff);

    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)bits), ones, 0));
}

/* Bits of the next 32 bytes that are a quote or a back-slash. */
static inline uint32_t quote_or_escape32(const char *at)
{
    const __m256i bytes = load32(at);

    return (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')),
                        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'))));
}

/* Bits of the next 32 bytes that are a quote, a back-slash, a control character or no ASCII. */
static inline uint32_t special32(const char *at)
{
    const __m256i bytes = load32(at);
    const __m256i is_text_end = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')),
                                                _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')));

    /* With their sign, bytes that are no ASCII are below the blank too. */
    return (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(is_text_end, _mm256_cmpgt_epi8(_mm256_set1_epi8(' '), bytes)));
}

/* True if 64 bytes agree in all positions that `mask` selects. */
static inline bool equal64(const char *a, const char *b, uint64_t mask)
{
    const uint64_t same = join_masks(_mm256_cmpeq_epi8(load32(a), load32(b)),
                                     _mm256_cmpeq_epi8(load32(a + 32), load32(b + 32)));

    return (~same & mask) == 0;
}

static inline bool equal32(const char *a, const char *b, uint32_t mask)
{
    const uint32_t same = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load32(a), load32(b)));

    return (~same & mask) == 0;
}

/* Bits of the next 32 bytes that are no digit. */
static inline uint32_t no_digits32(const char *at)
{
    const __m256i from_zero = _mm256_sub_epi8(load32(at), _mm256_set1_epi8('0'));
    const __m256i is_digit =
        _mm256_cmpeq_epi8(_mm256_min_epu8(from_zero, _mm256_set1_epi8(9)), from_zero);

    return ~(uint32_t)_mm256_movemask_epi8(is_digit);
}

/* How many of the next 16 bytes are digits before the first that is none. */
static inline unsigned count_digits16(const char *at)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i_u *)(const void *)at);
    const __m128i from_zero = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(from_zero, _mm_set1_epi8(9)), from_zero);

    return (unsigned)_tzcnt_u32(~(uint32_t)_mm_movemask_epi8(is_digit));
}

/* The number that the last n digits (n <= 16) before `end` spell; 16 bytes before it
 * are readable. */
static inline uint64_t value_of_digits(const char *end, unsigned n)
{
    static const char keep[32] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
                                  -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const __m128i bytes = _mm_loadu_si128((const __m128i_u *)(const void *)(end - 16));
    const __m128i mask = _mm_loadu_si128((const __m128i_u *)(const void *)(keep + n));
    const __m128i ones = _mm_and_si128(_mm_sub_epi8(bytes, _mm_set1_epi8('0')), mask);
    const __m128i tens = _mm_maddubs_epi16(
        ones, _mm_setr_epi8(10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1));
    const __m128i hundreds = _mm_madd_epi16(tens, _mm_setr_epi16(100, 1, 100, 1, 100, 1, 100, 1));
    const __m128i packed = _mm_packus_epi32(hundreds, hundreds);
    const __m128i halves =
        _mm_madd_epi16(packed, _mm_setr_epi16(10000, 1, 10000, 1, 10000, 1, 10000, 1));
    const uint64_t both = (uint64_t)_mm_cvtsi128_si64(halves);

    return (both & UINT32_MAX) * UINT64_C(100000000) + (both >> 32);
}

#endif
