/*
 * scan_body.h - values and records as spans of text.
 *
 * Included after simd_*.h by each file that compiles the scanner. Functions take the
 * place where something begins and return where it ends, or NULL with scan->fail set.
 * Text is followed by zeros, so single bytes are read without asking for the end.
 */
#ifndef MAREY_SRC_IMPORT_SCAN_BODY_H
#define MAREY_SRC_IMPORT_SCAN_BODY_H

#include <string.h>

#include "import/fields.h"

struct scan {
    const char *end;
    const char *fail;
};

static const char *stop_at(struct scan *scan, const char *at)
{
    scan->fail = at < scan->end ? at : scan->end;
    return NULL;
}

static inline const char *skip_space(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* From behind the opening quote to the closing one. */
static inline const char *scan_string(struct scan *scan, const char *at, bool *has_escape)
{
    while (at < scan->end) {
        const uint32_t found = quote_or_escape32(at);
        if (found == 0) {
            at += 32;
            continue;
        }
        at += __builtin_ctz(found);
        if (*at == '"')
            return at < scan->end ? at : stop_at(scan, at);
        *has_escape = true;
        at += 2;
    }
    return stop_at(scan, scan->end);
}

/* Characters behind an odd number of back-slashes. *carry: the block begins with one. */
static inline uint64_t escaped_bits(uint64_t slashes, uint64_t *carry)
{
    const uint64_t odd = UINT64_C(0xaaaaaaaaaaaaaaaa);

    slashes &= ~*carry;
    const uint64_t follows = slashes << 1 | *carry;
    const uint64_t odd_starts = slashes & ~(UINT64_C(0x5555555555555555)) & ~follows;
    uint64_t sequence = 0;
    *carry = __builtin_add_overflow(odd_starts, slashes, &sequence) ? 1 : 0;
    return ((~odd) ^ (sequence << 1)) & follows;
}

/* The first of the braces that close none, with *depth open before the block; or 0. */
static inline uint64_t find_unopened(uint64_t opens, uint64_t closes, int64_t *depth)
{
    uint64_t rest = closes;

    for (int64_t n_closed = 1; rest != 0; n_closed++, rest &= rest - 1) {
        const uint64_t lowest = rest & (~rest + 1);
        if (*depth + __builtin_popcountll(opens & (lowest - 1)) < n_closed)
            return lowest;
    }
    *depth += __builtin_popcountll(opens) - __builtin_popcountll(closes);
    return 0;
}

/* To the end of an object or array, by blocks, from its opening bracket (depth 0) or from
 * anywhere in it outside a string (depth 1): strings are masked out by the parity of
 * quotes, then brackets of its own kind are counted. Most blocks hold none.
 *
 * The inside is not read, but letters that JSON has in strings only may not stand outside
 * of them: a quote too many would else turn strings inside out and swallow the records up
 * to the next such quote. For the same reason an array may not close a brace that it has not
 * opened: that is of the object around an array without an end.
 *
 * *may_repeat, where it is wanted: a quote follows a letter that ends one of the keys in
 * launch_key_of, or there is an escape. */
static inline __attribute__((always_inline)) const char *
scan_blocks(struct scan *scan, const char *at, bool is_object, int64_t depth, bool *may_repeat)
{
    uint64_t in_string = 0; /* all ones while a string goes on */
    uint64_t carry = 0;
    uint64_t letter = 0; /* the block before ended in one */
    uint64_t found = 0;
    int64_t n_braces = 0; /* that are open in an array */

    for (; at < scan->end; at += 64) {
        const struct block64 block = block64_load(at);
        uint64_t quotes = block64_is(block, '"');
        uint64_t ends = 0;
        if (carry != 0 || block64_has(block, '\\')) {
            ends = block64_is(block, '\\');
            quotes &= ~escaped_bits(ends, &carry);
        }
        if (may_repeat != NULL) {
            const uint64_t letters = block64_ends_key(block);
            ends |= (letters << 1 | letter) & quotes;
            letter = letters >> 63;
        }
        const uint64_t outside = ~(prefix_xor(quotes) ^ in_string);
        in_string = (outside >> 63) - 1;
        const uint64_t special = block64_special(block) & outside;
        if (is_object && special == 0) {
            found |= ends;
            continue;
        }

        const uint64_t braces_open = block64_is(block, '{') & outside;
        const uint64_t braces_close = block64_is(block, '}') & outside;
        uint64_t wrong = special & ~braces_open & ~braces_close;
        if (!is_object)
            wrong |= find_unopened(braces_open, braces_close, &n_braces);
        const uint64_t opens = is_object ? braces_open : block64_is(block, '[') & outside;
        const uint64_t all_closes = is_object ? braces_close : block64_is(block, ']') & outside;
        uint64_t closes = all_closes;
        for (int64_t n_closed = 1; closes != 0; n_closed++, closes &= closes - 1) {
            const uint64_t below = (closes & (~closes + 1)) - 1;
            if (depth + __builtin_popcountll(opens & below) != n_closed)
                continue;
            if ((wrong & below) != 0)
                break;
            if (may_repeat != NULL)
                *may_repeat = (found | (ends & below)) != 0;
            at += __builtin_ctzll(closes);
            return at < scan->end ? at + 1 : stop_at(scan, at);
        }
        found |= ends;
        if (wrong != 0)
            return stop_at(scan, at + __builtin_ctzll(wrong));
        depth += __builtin_popcountll(opens) - __builtin_popcountll(all_closes);
    }
    return stop_at(scan, scan->end);
}

/* From behind a value of args to their end; whether a key that was wanted may stand there again. */
static const char *scan_args_rest(struct scan *scan, const char *at, bool *may_repeat)
{
    return scan_blocks(scan, at, true, 1, may_repeat);
}

static const char *scan_container(struct scan *scan, const char *at)
{
    return *at == '{' ? scan_blocks(scan, at, true, 0, NULL)
                      : scan_blocks(scan, at, false, 0, NULL);
}

static inline bool ends_scalar(char c)
{
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *scan_number(struct scan *scan, const char *at)
{
    at += *at == '-';
    while (is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E' || *at == '+' || *at == '-')
        at++;
    return ends_scalar(*at) && at < scan->end ? at : stop_at(scan, at);
}

static const char *scan_word(struct scan *scan, const char *at, const char *word,
                             struct marey_value *value, enum marey_value_type type)
{
    const size_t len = strlen(word);

    if (memcmp(at, word, len) != 0 || !ends_scalar(at[len]) || at + len >= scan->end)
        return stop_at(scan, at);
    value->type = type;
    return at + len;
}

/* As C, Python and JavaScript write them. */
static const char *scan_non_finite(struct scan *scan, const char *at, struct marey_value *value)
{
    static const char *const words[] = {"NaN", "nan", "Infinity", "inf", "Inf", "infinity"};

    at += *at == '-';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *end = at + strlen(words[i]);
        if (memcmp(at, words[i], strlen(words[i])) == 0 && ends_scalar(*end) && end < scan->end) {
            value->type = MAREY_VALUE_NON_FINITE;
            return end;
        }
    }
    return stop_at(scan, at);
}

/* ".5", "-.5" or "+5": what other languages print and JSON does not have. */
static bool begins_odd_number(const char *at)
{
    at += *at == '-' || *at == '+';
    at += *at == '.';
    return is_digit(*at);
}

static const char *scan_value(struct scan *scan, const char *at, struct marey_value *value)
{
    const char *from = at;

    value->has_escape = false;
    switch (*at) {
    case '"':
        value->type = MAREY_VALUE_STRING;
        from = at + 1;
        at = scan_string(scan, from, &value->has_escape);
        if (at == NULL)
            return NULL;
        value->text = (struct marey_str){from, (size_t)(at - from)};
        return at + 1;
    case '{':
        value->type = MAREY_VALUE_OBJECT;
        at = scan_container(scan, at);
        break;
    case '[':
        value->type = MAREY_VALUE_ARRAY;
        at = scan_container(scan, at);
        break;
    case 't':
        at = scan_word(scan, at, "true", value, MAREY_VALUE_BOOL);
        break;
    case 'f':
        at = scan_word(scan, at, "false", value, MAREY_VALUE_BOOL);
        break;
    case 'n':
        at = at[1] == 'u' ? scan_word(scan, at, "null", value, MAREY_VALUE_NULL)
                          : scan_non_finite(scan, at, value);
        break;
    default:
        if (!is_digit(*at) && (*at != '-' || !is_digit(at[1])) && !begins_odd_number(at)) {
            at = scan_non_finite(scan, at, value);
            break;
        }
        value->type = MAREY_VALUE_NUMBER;
        at = scan_number(scan, at);
        break;
    }
    if (at != NULL)
        value->text = (struct marey_str){from, (size_t)(at - from)};
    return at;
}

/* ---- records ------------------------------------------------------------------------ */

static int field_of_key(const char *key, size_t len)
{
#define IS(text) (memcmp(key, text, sizeof(text) - 1) == 0)
    switch (len) {
    case 1:
        return *key == 's' ? MAREY_FIELD_S : -1;
    case 2:
        return IS("ph")   ? MAREY_FIELD_PH
               : IS("ts") ? MAREY_FIELD_TS
               : IS("id") ? MAREY_FIELD_ID
                          : -1;
    case 3:
        return IS("cat")   ? MAREY_FIELD_CAT
               : IS("pid") ? MAREY_FIELD_PID
               : IS("tid") ? MAREY_FIELD_TID
               : IS("dur") ? MAREY_FIELD_DUR
               : IS("id2") ? MAREY_FIELD_ID2
                           : -1;
    case 4:
        return IS("name") ? MAREY_FIELD_NAME : IS("args") ? MAREY_FIELD_ARGS : -1;
    case 5:
        return IS("scope") ? MAREY_FIELD_SCOPE : -1;
    default:
        return -1;
    }
#undef IS
}

/* Our longest key is shorter. */
enum { MOST_KEY_BYTES = 16 };

/* A key with escapes ("n\u0061me") means what it spells. ASCII is all that our keys have: what has
 * anything else, or is longer, becomes empty, a key that we do not know. */
static struct marey_str spell_key(struct marey_str key, char plain[MOST_KEY_BYTES])
{
    const struct marey_str unknown = {plain, 0};
    size_t n = 0;

    for (size_t i = 0; i < key.len; n++) {
        if (n == MOST_KEY_BYTES)
            return unknown;
        if (key.ptr[i] != '\\') {
            plain[n] = key.ptr[i++];
            continue;
        }
        unsigned code = 0;
        if (key.len - i < 6 || key.ptr[i + 1] != 'u')
            return unknown;
        for (size_t digit = i + 2; digit < i + 6; digit++) {
            const char c = key.ptr[digit];
            const char lower = (char)(c | 0x20);
            if (!is_digit(c) && (lower < 'a' || lower > 'f'))
                return unknown;
            code = code * 16 + (unsigned)(is_digit(c) ? c - '0' : lower - 'a' + 10);
        }
        if (code > 0x7f)
            return unknown;
        plain[n] = (char)code;
        i += 6;
    }
    return (struct marey_str){plain, n};
}

static int field_of_escaped_key(struct marey_str key)
{
    char plain[MOST_KEY_BYTES];
    const struct marey_str spelt = spell_key(key, plain);

    return field_of_key(spelt.ptr, spelt.len);
}

/* A key and its colon; *at stands before the value afterwards. */
static inline const char *scan_key(struct scan *scan, const char *at, struct marey_str *key,
                                   bool *has_escape)
{
    if (*at != '"')
        return stop_at(scan, at);
    key->ptr = at + 1;
    at = scan_string(scan, key->ptr, has_escape);
    if (at == NULL)
        return NULL;
    key->len = (size_t)(at - key->ptr);
    at = skip_space(at + 1);
    if (*at != ':')
        return stop_at(scan, at);
    return skip_space(at + 1);
}

/* A whole record from its '{' to behind its '}'. */
static const char *scan_record(struct scan *scan, const char *at, struct marey_fields *fields)
{
    for (size_t i = 0; i < MAREY_N_FIELDS; i++)
        fields->value[i] = (struct marey_value){.type = MAREY_VALUE_NONE};
    fields->n_members = 0;
    fields->is_plain = true;
    fields->has_broken_args = false;

    at = skip_space(at + 1);
    if (*at == '}')
        return at + 1;
    for (;;) {
        struct marey_str key;
        bool has_escape = false;
        at = scan_key(scan, at, &key, &has_escape);
        if (at == NULL)
            return NULL;
        const int field = has_escape ? field_of_escaped_key(key) : field_of_key(key.ptr, key.len);
        struct marey_value unknown;
        struct marey_value *value = field < 0 ? &unknown : &fields->value[field];
        if (has_escape || (field >= 0 && value->type != MAREY_VALUE_NONE))
            fields->is_plain = false;
        fields->n_members++;
        at = scan_value(scan, at, value);
        if (at == NULL)
            return NULL;
        at = skip_space(at);
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return stop_at(scan, at);
        at = skip_space(at + 1);
    }
}

#endif
