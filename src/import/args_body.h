/*
 * args_body.h - what the args of launches and device operations say of where they ran.
 *
 * Included after scan_body.h and check_body.h by each file that compiles the scanner.
 */
#ifndef MAREY_SRC_IMPORT_ARGS_BODY_H
#define MAREY_SRC_IMPORT_ARGS_BODY_H

#include "base/json.h"
#include "import/fields.h"

/* An integer that may stand in quotes; false if it is something else. */
static bool read_integer(struct marey_str text, int64_t *number)
{
    const char *at = text.ptr;
    const char *end = text.ptr + text.len;
    const bool is_negative = at < end && *at == '-';
    int64_t value = 0;

    at += is_negative;
    if (at == end)
        return false;
    for (; at < end; at++)
        if (!is_digit(*at) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *at - '0', &value))
            return false;
    *number = is_negative ? -value : value;
    return true;
}

enum launch_key { KEY_OTHER, KEY_DEVICE, KEY_CONTEXT, KEY_STREAM, KEY_CORRELATION };

/* A key here ends in a letter of block64_ends_key. Copies between devices name the device they ran
 * on "inDevice" and "inContext". */
static inline enum launch_key launch_key_of(struct marey_str key)
{
    switch (key.len) {
    case 6:
        return memcmp(key.ptr, "device", 6) == 0   ? KEY_DEVICE
               : memcmp(key.ptr, "stream", 6) == 0 ? KEY_STREAM
                                                   : KEY_OTHER;
    case 7:
        return memcmp(key.ptr, "context", 7) == 0 ? KEY_CONTEXT : KEY_OTHER;
    case 8:
        return memcmp(key.ptr, "inDevice", 8) == 0 ? KEY_DEVICE : KEY_OTHER;
    case 9:
        return memcmp(key.ptr, "inContext", 9) == 0 ? KEY_CONTEXT : KEY_OTHER;
    case 11:
        return memcmp(key.ptr, "correlation", 11) == 0 ? KEY_CORRELATION : KEY_OTHER;
    default:
        return KEY_OTHER;
    }
}

static void take_launch_arg(enum launch_key key, const struct marey_value *value,
                            struct marey_launch_args *launch, struct marey_value *wide)
{
    int64_t number = 0;
    char plain[MOST_KEY_BYTES]; /* "\u0037" means 7; more digits than fit in it are unknown */
    const bool is_integer =
        read_integer(value->has_escape ? spell_key(value->text, plain) : value->text, &number);

    switch (key) {
    case KEY_DEVICE:
        launch->device = is_integer ? number : MAREY_UNKNOWN;
        break;
    case KEY_CONTEXT:
        launch->context = is_integer ? number : MAREY_UNKNOWN;
        break;
    case KEY_STREAM:
        launch->stream = is_integer ? number : MAREY_UNKNOWN;
        break;
    case KEY_CORRELATION:
        launch->has_correlation = is_integer && number >= 0;
        launch->correlation = launch->has_correlation ? (uint64_t)number : 0;
        *wide = launch->has_correlation ? (struct marey_value){.type = MAREY_VALUE_NONE} : *value;
        break;
    case KEY_OTHER:
        break;
    }
}

/* What a word is that may be no value of JSON: what a repair makes of it, so that a file reads the
 * same before and after. */
static enum marey_value_type type_of_word(const char *at, const char *end)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    struct marey_str word = {at, (size_t)(end - at)};

    if ((is_digit(*at) || *at == '-') && check_number(at) == end)
        return MAREY_VALUE_NUMBER;
    if (marey__str_is_c(word, "null"))
        return MAREY_VALUE_NULL;
    if (marey__str_is_c(word, "true") || marey__str_is_c(word, "false"))
        return MAREY_VALUE_BOOL;
    if (*at == '-' || *at == '+') {
        word.ptr++;
        word.len--;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (marey__str_is_caseless(word, words[i]))
            return MAREY_VALUE_NON_FINITE;
    return MAREY_VALUE_STRING;
}

static inline const char *pass_word(struct scan *scan, const char *at)
{
    const char *from = at;

    while (!ends_scalar(*at) && *at != '\0' && *at != '"' && *at != ':' && *at != '[' && *at != '{')
        at++;
    return ends_scalar(*at) && at > from && at < scan->end ? at : NULL;
}

/* Behind a container whose structure is JSON; else NULL. Args are a container already. */
static const char *pass_nested(const struct scan *scan, const char *at)
{
    const size_t len = marey__json_value_len((struct marey_str){at, (size_t)(scan->end - at)},
                                             MAREY_ARGS_DEPTH - 1);

    return len > 0 ? at + len : NULL;
}

/* A value that nobody asked for. */
static inline const char *pass_value(struct scan *scan, const char *at)
{
    bool ignored = false;

    if (*at == '"') {
        at = scan_string(scan, at + 1, &ignored);
        return at == NULL ? NULL : at + 1;
    }
    return *at == '{' || *at == '[' ? pass_nested(scan, at) : pass_word(scan, at);
}

static const char *scan_arg(struct scan *scan, const char *at, struct marey_value *value)
{
    const char *from = at;

    if (*at == '"')
        return scan_value(scan, at, value);
    at = pass_value(scan, at);
    if (at == NULL)
        return NULL;
    value->type = *from == '{'   ? MAREY_VALUE_OBJECT
                  : *from == '[' ? MAREY_VALUE_ARRAY
                                 : type_of_word(from, at);
    value->has_escape = false;
    value->text = (struct marey_str){from, (size_t)(at - from)};
    return at;
}

static bool has_all(const struct marey_launch_args *launch)
{
    return launch->has_correlation && launch->device != MAREY_UNKNOWN &&
           launch->context != MAREY_UNKNOWN && launch->stream != MAREY_UNKNOWN;
}

/* A key and its value, of the args of a launch or a device operation. */
static inline const char *scan_launch_member(struct scan *scan, const char *at,
                                             struct marey_launch_args *launch,
                                             struct marey_value *wide)
{
    struct marey_str key;
    struct marey_value value;
    char plain[MOST_KEY_BYTES];
    bool has_escape = false;

    at = scan_key(scan, at, &key, &has_escape);
    if (at == NULL)
        return NULL;
    const enum launch_key which = launch_key_of(has_escape ? spell_key(key, plain) : key);
    if (which == KEY_OTHER)
        return pass_value(scan, at);
    at = scan_arg(scan, at, &value);
    if (at != NULL)
        take_launch_arg(which, &value, launch, wide);
    return at;
}

/* The rest of args that have told all, from behind a value: in blocks, unless one of their keys may
 * stand there again, since the last one counts. False where such a rest is no JSON. */
static bool scan_launch_rest(struct scan *scan, const char *at, struct marey_launch_args *launch,
                             struct marey_value *wide)
{
    bool may_repeat = false;

    if (scan_args_rest(scan, at, &may_repeat) == scan->end && !may_repeat)
        return true;
    for (at = skip_space(at); *at == ','; at = skip_space(at)) {
        at = scan_launch_member(scan, skip_space(at + 1), launch, wide);
        if (at == NULL)
            return false;
    }
    return *at == '}' && at + 1 == scan->end;
}

/* The args object from `at` to `end`, read for what places and ties a device operation. *wide is
 * the correlation where it is no number below 2^63. False if its structure is no JSON: what stands
 * before that counts (json_sound.c). Kernels tell all of it early and go on for long: the rest is
 * passed in blocks, and what it is nobody asks. */
static bool scan_launch_args(const char *at, const char *end, struct marey_launch_args *launch,
                             struct marey_value *wide)
{
    struct scan scan = {.end = end};

    *launch = (struct marey_launch_args){
        .device = MAREY_UNKNOWN,
        .context = MAREY_UNKNOWN,
        .stream = MAREY_UNKNOWN,
    };
    wide->type = MAREY_VALUE_NONE;
    at = skip_space(at + 1);
    if (*at == '}')
        return at + 1 == end;
    for (;;) {
        at = scan_launch_member(&scan, at, launch, wide);
        if (at == NULL)
            return false;
        if (has_all(launch))
            return scan_launch_rest(&scan, at, launch, wide);
        at = skip_space(at);
        if (*at == '}')
            return at + 1 == end;
        if (*at != ',')
            return false;
        at = skip_space(at + 1);
    }
}

#endif
