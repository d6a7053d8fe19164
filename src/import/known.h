/*
 * known.h - records that differ from a sound one in numbers and plain strings only.
 *
 * Writers repeat themselves. A record whose check found nothing is remembered as fixed text between
 * values: numbers and strings that are members of an object, each of which may be another. A
 * record that goes the same way, byte for byte between such values, and has a number or a plain
 * string in the place of each, is as sound: no check of it is needed.
 *
 *     {"ph": "|X|", "cat": "|cpu_op|", "name": "|f|", "ts": |1.5|, "args": {"Ev Idx": |7|}}|
 *      text    string      string           string      number            number           end
 *
 * Texts hang on states, the latest first. What follows a number is the state behind it; what
 * follows a string also depends on the string, since other names have other args. That only
 * foretells: the text itself is compared.
 */
#ifndef MAREY_SRC_IMPORT_KNOWN_H
#define MAREY_SRC_IMPORT_KNOWN_H

#include "base/alloc.h"
#include "import/names.h"

enum marey_known_value { MAREY_KNOWN_NUMBER, MAREY_KNOWN_STRING, MAREY_KNOWN_END };

struct marey_known_step {
    const char *text; /* padded, so that it can be compared in blocks */
    uint32_t len;
    uint32_t then; /* the state behind the value */
    uint32_t next; /* another step of the state; 0: none */
    enum marey_known_value value;
};

/* Steps of a state that are tried. */
#define MAREY_KNOWN_WAYS 32

/* The state behind a string. */
struct marey_known_string {
    uint64_t key; /* 0: free */
    uint32_t state;
};

#define MAREY_KNOWN_STRINGS ((size_t)1 << 14)

struct marey_known_forms {
    struct marey_alloc alloc;
    uint32_t *first; /* [state] the step that was gone last; state 0 is where records begin */
    size_t n_states;
    struct marey_known_step *step; /* step 0 is none */
    size_t n_steps;
    struct marey_known_string *string; /* [MAREY_KNOWN_STRINGS] by key */
    size_t n_strings;
    char *text;
    size_t text_len;
};

/* NULL without memory. */
struct marey_known_forms *marey__known_new(const struct marey_alloc *alloc);
void marey__known_free(struct marey_known_forms *known);

/* Remembers a record whose check found nothing. Where there is no more room all is forgotten. */
void marey__known_learn(struct marey_known_forms *known, const char *at, const char *end);

static inline uint64_t marey_known_key(uint32_t then, uint64_t hash)
{
    return marey_name_mix(hash ^ then, UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

/* The place of a key, or the free one where it would be. */
static inline struct marey_known_string *marey_known_find(const struct marey_known_forms *known,
                                                          uint64_t key)
{
    size_t at = (size_t)(key >> 32) % MAREY_KNOWN_STRINGS;

    while (known->string[at].key != 0 && known->string[at].key != key)
        at = (at + 1) % MAREY_KNOWN_STRINGS;
    return &known->string[at];
}

#endif
