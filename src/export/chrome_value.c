/*
 * chrome_value.c - JSON text of a file, copied or mended.
 *
 * Almost all args are plain: printable ASCII, no back-slash, no NaN. A vector scan finds
 * those, and they are copied as they are. The rest is walked byte by byte; what is legal
 * stays as it is there too, so mending never changes valid text.
 *
 * Mended (fixtures F02 to F04, F07): NaN, Infinity and inf with or without sign become null;
 * raw control characters in strings are escaped; a back-slash that begins no escape is
 * doubled; invalid UTF-8 becomes U+FFFD.
 */
#include "export/chrome.h"

#define VECTOR_BYTES 16
#define WINDOW_BYTES (VECTOR_BYTES + 2)

__extension__ typedef signed char bytes16 __attribute__((vector_size(VECTOR_BYTES)));

/* Nonzero bytes where the text may be invalid: controls and non-ASCII (both below 0x20 as
 * signed numbers), a back-slash, and what the names of no numbers have in common: "nan" and
 * "inf" in any case. Looks at 16 bytes and the two after them. */
static inline bytes16 odd_bytes(const char *ptr)
{
    bytes16 first;
    bytes16 second;
    bytes16 third;
    memcpy(&first, ptr, sizeof first);
    memcpy(&second, ptr + 1, sizeof second);
    memcpy(&third, ptr + 2, sizeof third);
    const bytes16 odd = (first < 0x20) | (first == '\\');
    first |= 0x20;
    second |= 0x20;
    third |= 0x20;
    return odd | ((first == 'n') & (second == 'a') & (third == 'n')) |
           ((first == 'i') & (second == 'n') & (third == 'f'));
}

/* Short texts, and the last bytes of long ones, are looked at in a copy with spaces after
 * them. */
static bool is_plain(struct marey_str text)
{
    bytes16 found = {0};
    size_t at = 0;
    for (; at + WINDOW_BYTES <= text.len; at += VECTOR_BYTES)
        found |= odd_bytes(text.ptr + at);
    char last[2 * WINDOW_BYTES];
    memset(last, ' ', sizeof last);
    memcpy(last, text.ptr + at, text.len - at);
    found |= odd_bytes(last) | odd_bytes(last + VECTOR_BYTES);
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
static size_t add_string(struct marey_textbuf *out, struct marey_str text)
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
static size_t add_scalar(struct marey_textbuf *out, struct marey_str text)
{
    size_t len = 1;
    while (len < text.len && !is_space(text.ptr[len]) &&
           memchr("\",:[]{}", text.ptr[len], 7) == NULL)
        len++;
    if (is_no_number((struct marey_str){text.ptr, len}))
        marey__text_add_c(out, "null");
    else
        marey__text_add(out, text.ptr, len);
    return len;
}

void marey__chrome_add_value(struct marey_textbuf *out, struct marey_str json)
{
    if (is_plain(inside(json))) {
        marey__text_add_str(out, json);
        return;
    }
    for (size_t at = 0; at < json.len;) {
        const struct marey_str rest = {json.ptr + at, json.len - at};
        const char c = rest.ptr[0];
        if (c == '"') {
            at += add_string(out, rest);
        } else if (is_space(c) || memchr(",:[]{}", c, 6) != NULL) {
            marey__text_add_byte(out, c);
            at++;
        } else {
            at += add_scalar(out, rest);
        }
    }
}
