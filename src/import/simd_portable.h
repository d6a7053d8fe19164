/*
 * simd_portable.h - the primitives of the scanner on plain 64-bit words.
 *
 * The same names as simd_avx2.h. Little endian only, as all machines that Marey runs on.
 */
#ifndef MAREY_SRC_IMPORT_SIMD_PORTABLE_H
#define MAREY_SRC_IMPORT_SIMD_PORTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");

#define EACH_BYTE UINT64_C(0x0101010101010101)
#define EACH_TOP UINT64_C(0x8080808080808080)

struct block64 {
    uint64_t word[8];
};

static inline uint64_t load8(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

static inline struct block64 block64_load(const char *at)
{
    struct block64 block;

    memcpy(block.word, at, sizeof block.word);
    return block;
}

/* The top bit of each byte that equals c; exact, no borrow runs between bytes. */
static inline uint64_t bytes_equal_to(uint64_t word, char c)
{
    const uint64_t differ = word ^ (EACH_BYTE * (unsigned char)c);

    return ~(((differ & ~EACH_TOP) + ~EACH_TOP) | differ) & EACH_TOP;
}

/* Eight top bits as eight adjacent bits. */
static inline uint64_t gather_top_bits(uint64_t tops)
{
    return ((tops >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

static inline uint64_t block64_is(struct block64 block, char c)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < 8; i++)
        bits |= gather_top_bits(bytes_equal_to(block.word[i], c)) << (8 * i);
    return bits;
}

/* The top bit of each byte that is c or larger; c is ASCII. */
static inline uint64_t bytes_from(uint64_t word, char c)
{
    return (((word & ~EACH_TOP) + EACH_BYTE * (0x80U - (unsigned char)c)) | word) & EACH_TOP;
}

static inline bool block64_has(struct block64 block, char c)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < 8; i++)
        found |= bytes_equal_to(block.word[i], c);
    return found != 0;
}

/* Bytes that JSON has outside its strings, braces not among them, the words NaN and Infinity
 * included. */
static const unsigned char is_json[256] = {
    ['\t'] = 1, ['\n'] = 1, ['\r'] = 1, [' '] = 1, ['"'] = 1, ['+'] = 1, [','] = 1, ['-'] = 1,
    ['.'] = 1,  ['0'] = 1,  ['1'] = 1,  ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1,
    ['7'] = 1,  ['8'] = 1,  ['9'] = 1,  [':'] = 1, ['E'] = 1, ['I'] = 1, ['N'] = 1, ['['] = 1,
    [']'] = 1,  ['a'] = 1,  ['e'] = 1,  ['f'] = 1, ['i'] = 1, ['l'] = 1, ['n'] = 1, ['r'] = 1,
    ['s'] = 1,  ['t'] = 1,  ['u'] = 1,  ['y'] = 1};

static inline uint64_t block64_special(struct block64 block)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < 8; i++)
        for (unsigned j = 0; j < 8; j++)
            bits |= (uint64_t)is_json[(block.word[i] >> (8 * j)) & 0xff] << (8 * i + j);
    return ~bits;
}

static inline uint64_t block64_ends_key(struct block64 block)
{
    return block64_is(block, 'e') | block64_is(block, 'm') | block64_is(block, 'n') |
           block64_is(block, 't');
}

static inline uint64_t prefix_xor(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

static inline uint32_t quote_or_escape32(const char *at)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < 4; i++) {
        const uint64_t word = load8(at + (size_t)8 * i);
        bits |= gather_top_bits(bytes_equal_to(word, '"') | bytes_equal_to(word, '\\')) << (8 * i);
    }
    return (uint32_t)bits;
}

static inline uint32_t special32(const char *at)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < 4; i++) {
        const uint64_t word = load8(at + (size_t)8 * i);
        const uint64_t no_plain = (~bytes_from(word, ' ') | word) & EACH_TOP;
        bits |= gather_top_bits(bytes_equal_to(word, '"') | bytes_equal_to(word, '\\') | no_plain)
                << (8 * i);
    }
    return (uint32_t)bits;
}

static inline uint64_t mask_of_bytes(unsigned bits)
{
    const uint64_t spread = (EACH_BYTE * bits) & UINT64_C(0x8040201008040201);

    return (((spread + ~EACH_TOP) | spread) & EACH_TOP) / 0x80 * 0xff;
}

static inline bool equal64(const char *a, const char *b, uint64_t mask)
{
    for (unsigned i = 0; i < 8 && mask >> (8 * i) != 0; i++)
        if (((load8(a + (size_t)8 * i) ^ load8(b + (size_t)8 * i)) &
             mask_of_bytes((unsigned)(mask >> (8 * i)) & 0xff)) != 0)
            return false;
    return true;
}

static inline bool equal32(const char *a, const char *b, uint32_t mask)
{
    for (unsigned i = 0; i < 4; i++)
        if (((load8(a + (size_t)8 * i) ^ load8(b + (size_t)8 * i)) &
             mask_of_bytes((mask >> (8 * i)) & 0xff)) != 0)
            return false;
    return true;
}

static inline uint32_t no_digits32(const char *at)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < 32; i++)
        bits |= (uint32_t)((unsigned char)(at[i] - '0') > 9) << i;
    return bits;
}

static inline unsigned count_digits16(const char *at)
{
    unsigned n = 0;

    while (n < 16 && (unsigned char)(at[n] - '0') < 10)
        n++;
    return n;
}

static inline uint64_t value_of_digits(const char *end, unsigned n)
{
    uint64_t value = 0;

    for (const char *at = end - n; at < end; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    return value;
}

#endif
