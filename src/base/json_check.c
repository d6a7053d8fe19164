/*
 * json_check.c - whether text is one JSON value, to the letter of RFC 8259.
 *
 * The cursor of json.c passes over what it need not understand; here nothing is passed over.
 * Stricter than the RFC in two things, both for the sake of who reads the text later: depth is
 * that of the cursor, and an escape may not name half of a surrogate pair, which is no character
 * and has no UTF-8.
 */
#include "base/json.h"

_Static_assert(MAREY_JSON_DEPTH == 256, "a message below names it");

/* What is read so far; `wrong` ends all further reading. */
struct check {
    const char *at;
    const char *end;
    const char *wrong;
    char close[MAREY_JSON_DEPTH]; /* of the containers that are open */
    size_t depth;
};

static bool fail(struct check *check, const char *wrong)
{
    if (check->wrong == NULL)
        check->wrong = wrong;
    return false;
}

static bool is_next(const struct check *check, char byte)
{
    return check->at < check->end && *check->at == byte;
}

static void skip_space(struct check *check)
{
    while (is_next(check, ' ') || is_next(check, '\n') || is_next(check, '\t') ||
           is_next(check, '\r'))
        check->at++;
}

/* ---- strings ------------------------------------------------------------------------ */

/* The code unit of "\uXXXX" at the place, which is passed; UINT32_MAX: there is none. */
static uint32_t pass_unit(struct check *check)
{
    uint32_t unit = 0;

    if (check->end - check->at < 6 || check->at[0] != '\\' || check->at[1] != 'u')
        return UINT32_MAX;
    for (int i = 2; i < 6; i++) {
        static const char digits[] = "00112233445566778899aAbBcCdDeEfF";
        const char *found = check->at[i] != '\0' ? strchr(digits, check->at[i]) : NULL;
        if (found == NULL)
            return UINT32_MAX;
        unit = unit * 16 + (uint32_t)(found - digits) / 2;
    }
    check->at += 6;
    return unit;
}

static bool pass_escape(struct check *check)
{
    if (check->end - check->at >= 2 && check->at[1] != '\0' &&
        strchr("\"\\/bfnrt", check->at[1]) != NULL) {
        check->at += 2;
        return true;
    }
    const char *from = check->at;
    const uint32_t unit = pass_unit(check);
    if (unit == UINT32_MAX)
        return fail(check, "an escape that JSON does not have");
    if (unit < 0xd800 || unit > 0xdfff)
        return true;
    const uint32_t low = unit < 0xdc00 ? pass_unit(check) : UINT32_MAX;
    if (low >= 0xdc00 && low <= 0xdfff)
        return true;
    check->at = from;
    return fail(check, "an escape of half a character");
}

static bool pass_string(struct check *check)
{
    if (!is_next(check, '"'))
        return fail(check, "no string where one must be");
    check->at++;
    while (check->at < check->end && *check->at != '"') {
        if ((unsigned char)*check->at < 0x20)
            return fail(check, "a control character in a string");
        if (*check->at != '\\')
            check->at++;
        else if (!pass_escape(check))
            return false;
    }
    if (check->at == check->end)
        return fail(check, "a string without an end");
    check->at++;
    return true;
}

/* ---- numbers and words ---------------------------------------------------------------- */

static bool pass_digits(struct check *check)
{
    const char *from = check->at;

    while (check->at < check->end && *check->at >= '0' && *check->at <= '9')
        check->at++;
    return check->at > from || fail(check, "a number that JSON does not have");
}

static bool pass_number(struct check *check)
{
    check->at += is_next(check, '-');
    if (is_next(check, '0'))
        check->at++;
    else if (!pass_digits(check))
        return false;
    if (is_next(check, '.')) {
        check->at++;
        if (!pass_digits(check))
            return false;
    }
    if (is_next(check, 'e') || is_next(check, 'E')) {
        check->at++;
        check->at += is_next(check, '-') || is_next(check, '+');
        return pass_digits(check);
    }
    return true;
}

static bool pass_word(struct check *check)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t len = strlen(words[i]);
        if ((size_t)(check->end - check->at) < len || memcmp(check->at, words[i], len) != 0)
            continue;
        check->at += len;
        return true;
    }
    return fail(check,
                check->at == check->end ? "no value where one must be" : "text that is no value");
}

static bool pass_scalar(struct check *check)
{
    if (is_next(check, '"'))
        return pass_string(check);
    if (is_next(check, '-') || (check->at < check->end && *check->at >= '0' && *check->at <= '9'))
        return pass_number(check);
    return pass_word(check);
}

/* ---- containers ------------------------------------------------------------------------- */

/* From a key to its value. */
static bool pass_key(struct check *check)
{
    skip_space(check);
    if (!pass_string(check))
        return false;
    skip_space(check);
    if (!is_next(check, ':'))
        return fail(check, "a key without a value");
    check->at++;
    return true;
}

/* Passes the bracket, and the key of the first value if there is one. */
static bool open_container(struct check *check, bool *is_empty)
{
    if (check->depth == MAREY_JSON_DEPTH)
        return fail(check, "containers nested deeper than 256");
    const char close = *check->at == '{' ? '}' : ']';
    check->close[check->depth++] = close;
    check->at++;
    skip_space(check);
    *is_empty = is_next(check, close);
    return *is_empty || close == ']' || pass_key(check);
}

/* After a value: passes the ends of containers and what leads to the next value. False: there is
 * none, or something is wrong. */
static bool pass_to_next(struct check *check)
{
    skip_space(check);
    while (check->depth > 0 && is_next(check, check->close[check->depth - 1])) {
        check->at++;
        check->depth--;
        skip_space(check);
    }
    if (check->depth == 0)
        return false;
    if (!is_next(check, ','))
        return fail(check, check->at == check->end ? "a container without an end"
                                                   : "no comma where one must be");
    check->at++;
    return check->close[check->depth - 1] == ']' || pass_key(check);
}

/* One scalar, or an empty container up to its end, with the openings before it. */
static bool pass_value(struct check *check)
{
    bool is_empty = false;

    while (!is_empty) {
        skip_space(check);
        if (!is_next(check, '{') && !is_next(check, '['))
            return pass_scalar(check);
        if (!open_container(check, &is_empty))
            return false;
    }
    return true;
}

const char *marey__json_check(struct marey_str text, size_t *at)
{
    struct check check = {.at = text.ptr, .end = text.len == 0 ? text.ptr : text.ptr + text.len};
    const size_t n_valid = marey__text_valid_len(text);

    if (n_valid < text.len) {
        *at = n_valid;
        return "text that is not UTF-8";
    }
    while (pass_value(&check) && pass_to_next(&check))
        continue;
    if (check.wrong == NULL && check.at != check.end)
        (void)fail(&check, "text after the value");
    *at = text.len == 0 ? 0 : (size_t)(check.at - text.ptr);
    return check.wrong;
}
