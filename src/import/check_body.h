/*
 * check_body.h - the check of a record, byte for byte.
 *
 * Included after simd_*.h and scan_body.h. A state is: where, how deep, and whether a value or
 * what follows one is next. What is plain passes in blocks here; everything rare is in check.c.
 *
 * Keys are compared by hash. The hashes of an object's keys make its shape; records of a
 * kind have the same few, so that most objects are found among the shapes that are known to
 * hold no key twice.
 */
#ifndef MAREY_SRC_IMPORT_CHECK_BODY_H
#define MAREY_SRC_IMPORT_CHECK_BODY_H

#include "import/check.h"
#include "import/names.h"

/* From behind the opening quote to the closing one; NULL if there is none. */
static inline const char *check_string(struct marey_checker *checker, const char *at,
                                       const char *end, bool *has_escape)
{
    while (at < end) {
        const uint32_t special = special32(at);
        if (special == 0) {
            at += 32;
            continue;
        }
        at += __builtin_ctz(special);
        if (*at == '"')
            return at < end ? at : NULL;
        if (at >= end)
            return NULL;
        *has_escape = *has_escape || *at == '\\';
        at = marey__check_special(checker, at, end);
    }
    return NULL;
}

/* A key and its colon; NULL if that is not what stands there. */
static inline const char *check_key(struct marey_checker *checker, const char *at, const char *end)
{
    bool has_escape = false;

    if (*at != '"')
        return NULL;
    const char *from = at + 1;
    at = check_string(checker, from, end, &has_escape);
    if (at == NULL)
        return NULL;
    const uint64_t hash =
        has_escape
            ? marey__check_escaped_key(checker, (struct marey_str){from, (size_t)(at - from)})
            : marey_name_hash(from, (size_t)(at - from));
    if (checker->n_keys == checker->keys_capacity && !marey__check_grow(checker))
        return NULL;
    checker->keys[checker->n_keys++] = hash;
    struct marey_open_container *object = &checker->open[checker->depth - 1];
    object->shape = marey_name_mix(object->shape ^ hash, UINT64_C(0x9e3779b97f4a7c15));
    at = skip_space(at + 1);
    return *at == ':' ? at + 1 : NULL;
}

static inline const char *check_digits(const char *at)
{
    unsigned n = 0;

    do {
        n = count_digits16(at);
        at += n;
    } while (n == 16);
    return at;
}

/* A number to the letter of RFC 8259; NULL if it is none. */
static inline const char *check_number(const char *at)
{
    at += *at == '-';
    if (!is_digit(*at))
        return NULL;
    const char *next = *at == '0' ? at + 1 : check_digits(at);
    if (*next == '.') {
        at = next + 1;
        next = check_digits(at);
        if (next == at)
            return NULL;
    }
    if (*next == 'e' || *next == 'E') {
        at = next + 1;
        at += *at == '-' || *at == '+';
        next = check_digits(at);
        if (next == at)
            return NULL;
    }
    return ends_scalar(*next) ? next : NULL;
}

static inline const char *check_word(const char *at)
{
    if (memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0)
        at += 4;
    else if (memcmp(at, "false", 5) == 0)
        at += 5;
    else
        return NULL;
    return ends_scalar(*at) ? at : NULL;
}

static inline const char *check_scalar(struct marey_checker *checker, const char *at,
                                       const char *end)
{
    const char *next = is_digit(*at) || *at == '-' ? check_number(at) : check_word(at);

    return next != NULL && next < end ? next : marey__check_odd(checker, at, end);
}

/* Opens a container and passes the key of its first value, if it has one. */
static inline const char *check_open(struct marey_checker *checker, const char *at, const char *end,
                                     bool *is_empty)
{
    const char close = *at == '{' ? '}' : ']';

    if (checker->depth == checker->most_depth)
        return NULL;
    checker->open[checker->depth++] =
        (struct marey_open_container){.close = close, .first_key = checker->n_keys};
    at = skip_space(at + 1);
    *is_empty = *at == close;
    return close == ']' || *is_empty ? at : check_key(checker, at, end);
}

/* A string, a number, a word, or a container up to its end or its first such value: what
 * stands behind it, or NULL. */
static inline const char *check_value(struct marey_checker *checker, const char *at,
                                      const char *end)
{
    bool ignored = false;
    bool is_empty = false;

    for (;;) {
        at = skip_space(at);
        if (*at == '"') {
            at = check_string(checker, at + 1, end, &ignored);
            return at == NULL ? NULL : at + 1;
        }
        if (*at != '{' && *at != '[')
            return check_scalar(checker, at, end);
        at = check_open(checker, at, end, &is_empty);
        if (at == NULL || is_empty)
            return at;
    }
}

/* After a value: ends of containers, then what leads to the next value. `end` if all are
 * closed, NULL if something else stands there. */
static inline const char *check_next(struct marey_checker *checker, const char *at, const char *end)
{
    for (;;) {
        at = skip_space(at);
        if (at >= end || checker->depth == 0)
            return NULL;
        const struct marey_open_container *top = &checker->open[checker->depth - 1];
        if (*at == ',') {
            at = skip_space(at + 1);
            return top->close == '}' ? check_key(checker, at, end) : at;
        }
        if (*at != top->close)
            return NULL;
        if (top->shape != checker->clean[top->shape % MAREY_N_SHAPES])
            marey__check_keys(checker, top);
        checker->n_keys = top->first_key;
        checker->depth--;
        at++;
        if (checker->depth == 0)
            return at == end ? end : NULL;
    }
}

/* Looks at a whole record, of which `at` is the brace and `end` is behind the last one. */
static void check_record(struct marey_checker *checker, const char *at, const char *end)
{
    checker->found = 0;
    checker->depth = 0;
    checker->n_keys = 0;
    while (at != NULL && at < end) {
        at = check_value(checker, at, end);
        if (at != NULL)
            at = check_next(checker, at, end);
    }
    if (at == NULL)
        checker->found |= MAREY_DAMAGE_SYNTAX;
}

#endif
