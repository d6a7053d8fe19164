/*
 * chrome_value.c - JSON text of a file, copied or mended.
 *
 * Almost all args are plain: printable ASCII without a back-slash (a vector scan finds
 * those), and outside strings nothing but structure, numbers and words that JSON has. They
 * are copied as they are. The rest is walked byte by byte; what is legal stays as it is there
 * too, so mending never changes valid text.
 *
 * Mended (fixtures F02 to F04, F07): NaN, Infinity and inf with or without sign become null;
 * other scalars that JSON does not have (000, 0x10, .5) become strings; raw control characters
 * in strings are escaped; a back-slash that begins no escape is doubled; invalid UTF-8 becomes
 * U+FFFD.
 */
#include "export/chrome.h"

#define VECTOR_BYTES 16

__extension__ typedef signed char bytes16 __attribute__((vector_size(VECTOR_BYTES)));

/* Nonzero bytes where strings may be invalid: controls and non-ASCII (both below 0x20 as
 * signed numbers) and back-slashes. */
static inline bytes16 odd_bytes(const char *ptr)
{
    bytes16 bytes;
    memcpy(&bytes, ptr, sizeof bytes);
    return (bytes < 0x20) | (bytes == '\\');
}

/* Short texts, and the last bytes of long ones, are looked at in a copy with spaces after
 * them. */
static bool has_plain_bytes(struct marey_str text)
{
    bytes16 found = {0};
    size_t at = 0;
    for (; at + VECTOR_BYTES <= text.len; at += VECTOR_BYTES)
        found |= odd_bytes(text.ptr + at);
    char last[VECTOR_BYTES];
    memset(last, ' ', sizeof last);
    memcpy(last, text.ptr + at, text.len - at);
    found |= odd_bytes(last);
    uint64_t halves[2];
    memcpy(halves, &found, sizeof halves);
    return (halves[0] | halves[1]) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The text without the line breaks that Kineto puts inside the braces of args:
 * "{\n      " and "\n    }". */
static struct marey_str inside(struct marey_str text)
{
    if (text.len < 2 || text.ptr[0] != '{' || text.ptr[text.len - 1] != '}')
        return text;
    struct marey_str part = {text.ptr + 1, text.len - 2};
    while (part.len > 0 && is_space(part.ptr[0]))
        part = (struct marey_str){part.ptr + 1, part.len - 1};
    while (part.len > 0 && is_space(part.ptr[part.len - 1]))
        part.len--;
    return part;
}

/* ---- scalars ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* Behind the number that JSON has at `at`; NULL if it has none there. */
static const char *skip_number(const char *at, const char *end)
{
    at += at < end && *at == '-';
    const char *digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1))
        return NULL;
    if (at < end && *at == '.') {
        digits = at + 1;
        at = skip_digits(digits, end);
        if (at == digits)
            return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        digits = at;
        at = skip_digits(digits, end);
        if (at == digits)
            return NULL;
    }
    return at;
}

static const bool is_structure_of[256] = {
    [' '] = true, ['\n'] = true, ['\r'] = true, ['\t'] = true, [','] = true,
    [':'] = true, ['['] = true,  [']'] = true,  ['{'] = true,  ['}'] = true,
};

static inline bool is_structure(char c)
{
    return is_structure_of[(unsigned char)c];
}

/* Behind the number or word that JSON has at `at`; NULL if it has none there. */
static const char *skip_scalar(const char *at, const char *end)
{
    const size_t left = (size_t)(end - at);
    if (is_digit(*at) || *at == '-')
        at = skip_number(at, end);
    else if (left >= 4 && (memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0))
        at += 4;
    else if (left >= 5 && memcmp(at, "false", 5) == 0)
        at += 5;
    else
        return NULL;
    return at != NULL && (at == end || is_structure(*at)) ? at : NULL;
}

/* Behind the integer without superfluous zeros at `at`, most numbers of args; else NULL. */
static inline const char *skip_integer(const char *at, const char *end)
{
    const char *from = at;
    while (at < end && is_digit(*at))
        at++;
    return at > from && (at == end || is_structure(*at)) && (*from != '0' || at == from + 1) ? at
                                                                                             : NULL;
}

/* Whether JSON has all scalars of a text whose bytes are plain. */
static bool has_plain_scalars(struct marey_str text)
{
    const char *at = text.ptr;
    const char *end = text.ptr + text.len;
    for (;;) {
        while (at < end && is_structure(*at))
            at++;
        if (at == end)
            return true;
        const char *from = at;
        if (*at == '"') {
            at = memchr(at + 1, '"', (size_t)(end - at - 1));
            at = at != NULL ? at + 1 : NULL;
        } else {
            at = skip_integer(from, end);
            at = at != NULL ? at : skip_scalar(from, end);
        }
        if (at == NULL)
            return false;
    }
}

/* ---- mending ---- */

/* Bytes of the escape that begins at ptr, 0 if JSON has no such escape. */
static size_t escape_len(const char *ptr, size_t left)
{
    if (left < 2)
        return 0;
    if (ptr[1] != 'u')
        return memchr("\"\\/bfnrt", ptr[1], 8) != NULL ? 2 : 0;
    if (left < 6)
        return 0;
    for (int i = 2; i < 6; i++) {
        const char c = ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
            return 0;
    }
    return 6;
}

/* A run of bytes that may need escaping or replacing: add_json knows how, in quotes. */
static void add_mended(struct marey_textbuf *out, struct marey_str run)
{
    const size_t from = out->len;
    marey__text_add_json(out, run);
    if (marey__text_failed(out))
        return;
    out->len--;
    memmove(out->ptr + from, out->ptr + from + 1, out->len - from - 1);
    out->len--;
}

/* Copies a string from its opening quote; returns the bytes used. */
size_t marey__chrome_put_string(struct marey_textbuf *out, struct marey_str text)
{
    marey__text_add_byte(out, '"');
    size_t at = 1;
    while (at < text.len && text.ptr[at] != '"') {
        size_t len = 0;
        if (text.ptr[at] == '\\') {
            len = escape_len(text.ptr + at, text.len - at);
            if (len == 0)
                marey__text_add_byte(out, '\\');
            len = len == 0 ? 1 : len;
            marey__text_add(out, text.ptr + at, len);
        } else {
            while (at + len < text.len && text.ptr[at + len] != '"' && text.ptr[at + len] != '\\')
                len++;
            add_mended(out, (struct marey_str){text.ptr + at, len});
        }
        at += len;
    }
    marey__text_add_byte(out, '"');
    return at < text.len ? at + 1 : at;
}

static bool is_no_number(struct marey_str word)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    if (word.len > 0 && (word.ptr[0] == '-' || word.ptr[0] == '+'))
        word = (struct marey_str){word.ptr + 1, word.len - 1};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (marey__str_is_caseless(word, words[i]))
            return true;
    return false;
}

/* Copies a number or a word; returns the bytes used, at least one. */
size_t marey__chrome_put_scalar(struct marey_textbuf *out, struct marey_str text,
                                uint64_t *n_mended)
{
    size_t len = 1;
    while (len < text.len && !is_structure(text.ptr[len]) && text.ptr[len] != '"')
        len++;
    const struct marey_str scalar = {text.ptr, len};
    if (skip_scalar(text.ptr, text.ptr + len) != NULL) {
        marey__text_add_str(out, scalar);
        return len;
    }
    ++*n_mended;
    if (is_no_number(scalar))
        marey__text_add_c(out, "null");
    else
        marey__text_add_json(out, scalar);
    return len;
}

uint64_t marey__chrome_add_value(struct marey_textbuf *out, struct marey_str json)
{
    const struct marey_str plain = inside(json);
    uint64_t n_mended = 0;
    if (has_plain_bytes(plain) && has_plain_scalars(plain)) {
        marey__text_add_str(out, json);
        return 0;
    }
    for (size_t at = 0; at < json.len;) {
        const struct marey_str rest = {json.ptr + at, json.len - at};
        if (*rest.ptr == '"') {
            at += marey__chrome_put_string(out, rest);
        } else if (is_structure(*rest.ptr)) {
            marey__text_add_byte(out, *rest.ptr);
            at++;
        } else {
            at += marey__chrome_put_scalar(out, rest, &n_mended);
        }
    }
    return n_mended;
}
