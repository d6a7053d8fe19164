/*
 * check.h - whether all of a record is JSON, args included (`checked: all`).
 *
 * A load reads the members it uses and passes over the rest. Asked to check, the walk hands the
 * text of each record that it has read to the scanner's check (check_body.h), which looks at
 * every byte and builds nothing, and notes what it finds, once a record and reason.
 */
#ifndef MAREY_SRC_IMPORT_CHECK_H
#define MAREY_SRC_IMPORT_CHECK_H

#include "base/json.h"
#include "import/known.h"
#include "trace/ledger.h"

/* What may be wrong inside a record. Adding one: a row in damage_table of check.c. */
enum marey_damage {
    MAREY_DAMAGE_NON_FINITE = 1,
    MAREY_DAMAGE_NUMBER = 2,
    MAREY_DAMAGE_ESCAPE = 4,
    MAREY_DAMAGE_CONTROL = 8,
    MAREY_DAMAGE_UTF8 = 16,
    MAREY_DAMAGE_DUPLICATE = 32,
    MAREY_DAMAGE_SYNTAX = 64
};
#define MAREY_N_DAMAGES 7

/* Key sequences remembered; a power of two. */
#define MAREY_N_SHAPES 1024

struct marey_open_container {
    char close;
    uint64_t shape; /* hash of the keys so far, in their order */
    size_t first_key;
};

struct marey_checker {
    struct marey_alloc alloc;
    struct marey_account *account; /* borrowed */
    uint64_t before[MAREY_N_DAMAGES];
    uint32_t found; /* enum marey_damage of the record at hand */
    bool failed;    /* no memory */
    size_t depth;
    size_t most_depth; /* MAREY_JSON_DEPTH at the most */
    struct marey_open_container open[MAREY_JSON_DEPTH];
    size_t n_keys;
    size_t keys_capacity;
    uint64_t *keys;                 /* hashes of the keys of all open objects */
    uint64_t clean[MAREY_N_SHAPES]; /* shapes that hold no key twice, by their low bits */
    struct marey_textbuf key;       /* one with escapes, resolved */
    struct marey_known_forms *known;
};

/* NULL without memory. */
struct marey_checker *marey__checker_new(const struct marey_alloc *alloc,
                                         struct marey_account *account);
void marey__checker_free(struct marey_checker *checker);

/* Before the record is read: remembers what is counted so far. */
void marey__checker_begin(struct marey_checker *checker);

/* After the check: counts what was found and has not been counted for this record. */
void marey__checker_end(struct marey_checker *checker, uint64_t offset);

/* ---- for check_body.h: what is rare -------------------------------------------------- */

/* Passes a byte of a string that is neither plain ASCII nor its end. */
const char *marey__check_special(struct marey_checker *checker, const char *at, const char *end);

/* Passes text where a value must be and that is no JSON; NULL if it is no word at all. */
const char *marey__check_odd(struct marey_checker *checker, const char *at, const char *end);

/* The hash of a key that has escapes. */
uint64_t marey__check_escaped_key(struct marey_checker *checker, struct marey_str raw);

/* Room for one more key; false without memory. */
bool marey__check_grow(struct marey_checker *checker);

/* Looks for a key that the closing object has twice; remembers the shape if there is none. */
void marey__check_keys(struct marey_checker *checker, const struct marey_open_container *object);

#endif
