/*
 * names.h - raw string bytes of a file to string ids, remembered.
 *
 * A file repeats few names very often, so most look-ups end in this table: hash of the
 * raw bytes, one comparison. Only a new spelling is decoded (escapes, UTF-8) and
 * interned. Texts are kept padded, so that they can be compared in whole blocks.
 */
#ifndef MAREY_SRC_IMPORT_NAMES_H
#define MAREY_SRC_IMPORT_NAMES_H

#include <string.h>

#include "base/intern.h"
#include "base/text.h"

/* What is wrong with a spelling. */
enum marey_name_damage {
    MAREY_NAME_BAD_UTF8 = 1,  /* repaired with U+FFFD */
    MAREY_NAME_CONTROL = 2,   /* raw control character, kept */
    MAREY_NAME_BAD_ESCAPE = 4 /* not JSON: its back-slashes are kept */
};

struct marey_name {
    uint64_t hash;
    const char *raw; /* NULL marks a free slot */
    uint32_t len;
    uint32_t id;
    uint32_t damage;
};

struct marey_names {
    struct marey_alloc alloc;
    struct marey_intern *strings; /* borrowed */
    struct marey_arena arena;
    struct marey_textbuf decoded;
    struct marey_name *slot;
    size_t n;
    size_t n_slots; /* a power of two */
    bool failed;    /* no memory */
};

/* Readable bytes that must follow a text given to the functions below. */
#define MAREY_NAME_PAD 64

bool marey__names_init(struct marey_names *names, const struct marey_alloc *alloc,
                       struct marey_intern *strings);
void marey__names_release(struct marey_names *names);

/* The entry of a spelling, made if new; NULL without memory (and `failed` is set).
 * \owns borrowed until the next call */
const struct marey_name *marey__names_get(struct marey_names *names, struct marey_str raw,
                                          bool has_escape);

/* Makes the entry of a spelling that is known to be new. */
const struct marey_name *marey__names_add(struct marey_names *names, struct marey_str raw,
                                          bool has_escape, uint64_t hash);

/* Length of the well-formed UTF-8 sequence that text begins with, 0 if there is none; *bad is the
 * length of the maximal part that U+FFFD stands for then (Unicode 3.9, table 3-7). */
size_t marey__names_utf8(struct marey_str text, size_t *bad);

/* Copies with U+FFFD for each maximal invalid part; true if there was any. */
bool marey__names_mend_utf8(struct marey_str text, struct marey_textbuf *out);

/* Length of the escape that text begins with. Adds to *damage (enum marey_name_damage) if JSON
 * does not have it, or if it is half of a surrogate pair. */
size_t marey__names_escape(struct marey_str text, uint32_t *damage);

static inline uint64_t marey_name_word(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t marey_name_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two multiplies for 16 bytes; the last block overlaps instead of being cut. */
static inline uint64_t marey_name_hash(const char *at, size_t len)
{
    static const uint64_t keep[] = {
        0,
        UINT64_C(0xff),
        UINT64_C(0xffff),
        UINT64_C(0xffffff),
        UINT64_C(0xffffffff),
        UINT64_C(0xffffffffff),
        UINT64_C(0xffffffffffff),
        UINT64_C(0xffffffffffffff),
        UINT64_MAX,
    };
    const uint64_t k0 = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t k1 = UINT64_C(0xd1b54a32d192ed03);

    if (len <= 16) {
        const size_t low = len < 8 ? len : 8;
        return marey_name_mix((marey_name_word(at) & keep[low]) ^ k0 ^ len,
                              (marey_name_word(at + 8) & keep[len - low]) ^ k1);
    }

    uint64_t hash = k0 ^ len;
    for (size_t i = 0; i + 16 < len; i += 16)
        hash =
            marey_name_mix(marey_name_word(at + i) ^ k1 ^ hash, marey_name_word(at + i + 8) ^ k0);
    return marey_name_mix(marey_name_word(at + len - 16) ^ hash,
                          marey_name_word(at + len - 8) ^ k1);
}

#endif
