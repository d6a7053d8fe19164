/*
 * text.c - the growing byte buffer and integers as text.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void marey__text_init(struct marey_textbuf *text, const struct marey_alloc *alloc)
{
    *text = (struct marey_textbuf){.alloc = *alloc};
}

void marey__text_release(struct marey_textbuf *text)
{
    if (text->alloc.release != NULL)
        marey__dealloc(&text->alloc, text->ptr, text->capacity, 1);
    *text = (struct marey_textbuf){.alloc = text->alloc};
}

void marey__text_reset(struct marey_textbuf *text)
{
    text->len = 0;
    text->failed = false;
}

bool marey__text_failed(const struct marey_textbuf *text)
{
    return text->failed;
}

char *marey__text_reserve(struct marey_textbuf *text, size_t len)
{
    if (text->failed)
        return NULL;
    if (text->capacity - text->len < len) {
        void *ptr = text->ptr;
        size_t need = 0;
        if (!marey__size_add(text->len, len, &need) ||
            !marey__grow(&text->alloc, &ptr, &text->capacity, need, 1)) {
            text->failed = true;
            return NULL;
        }
        text->ptr = ptr;
    }
    return text->ptr + text->len;
}

void marey__text_add(struct marey_textbuf *text, const char *bytes, size_t len)
{
    if (len == 0)
        return;
    char *out = marey__text_reserve(text, len);
    if (out == NULL)
        return;
    memcpy(out, bytes, len);
    text->len += len;
}

void marey__text_add_str(struct marey_textbuf *text, struct marey_str str)
{
    marey__text_add(text, str.ptr, str.len);
}

void marey__text_add_c(struct marey_textbuf *text, const char *c_string)
{
    marey__text_add(text, c_string, strlen(c_string));
}

void marey__text_add_byte(struct marey_textbuf *text, char byte)
{
    char *out = marey__text_reserve(text, 1);
    if (out == NULL)
        return;
    *out = byte;
    text->len++;
}

void marey__text_add_repeat(struct marey_textbuf *text, char byte, size_t n)
{
    char *out = marey__text_reserve(text, n);
    if (out == NULL || n == 0)
        return;
    memset(out, byte, n);
    text->len += n;
}

void marey__text_add_format(struct marey_textbuf *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *out = len < 0 ? NULL : marey__text_reserve(text, (size_t)len + 1);
    if (out != NULL) {
        (void)vsnprintf(out, (size_t)len + 1, format, again);
        text->len += (size_t)len;
    } else {
        text->failed = true;
    }
    va_end(again);
}

/* The largest double has 309 digits before its point. */
#define FIXED_BYTES 352

void marey__text_add_fixed(struct marey_textbuf *text, double value, int n_decimals)
{
    char number[FIXED_BYTES];
    const int len = snprintf(number, sizeof number, "%.*f", n_decimals, value);

    marey__text_add(text, number, value - value == 0 ? marey__put_point(number) : (size_t)len);
}

/* What the first byte of a sequence asks of the others: how many bytes in all (0: it cannot
 * begin one), and where the second must lie. */
static size_t utf8_form(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = first == 0xe0 ? 0xa0 : (first == 0xf0 ? 0x90 : 0x80);
    *high = first == 0xed ? 0x9f : (first == 0xf4 ? 0x8f : 0xbf);
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Length of the sequence at ptr; if it is not valid, of the part that could have begun one,
 * which one U+FFFD replaces. */
static size_t utf8_len(const unsigned char *ptr, size_t left, bool *is_valid)
{
    unsigned char low;
    unsigned char high;
    const size_t want = utf8_form(ptr[0], &low, &high);
    size_t len = 1;

    while (len < want && len < left && ptr[len] >= low && ptr[len] <= high) {
        low = 0x80;
        high = 0xbf;
        len++;
    }
    *is_valid = len == want;
    return len;
}

size_t marey__text_valid_len(struct marey_str str)
{
    const unsigned char *ptr = (const unsigned char *)str.ptr;
    bool is_valid = true;
    size_t at = 0;

    while (at < str.len) {
        const size_t len = utf8_len(ptr + at, str.len - at, &is_valid);
        if (!is_valid)
            break;
        at += len;
    }
    return at;
}

static void add_escape(struct marey_textbuf *text, unsigned char byte)
{
    switch (byte) {
    case '"':
        marey__text_add(text, "\\\"", 2);
        return;
    case '\\':
        marey__text_add(text, "\\\\", 2);
        return;
    case '\n':
        marey__text_add(text, "\\n", 2);
        return;
    case '\r':
        marey__text_add(text, "\\r", 2);
        return;
    case '\t':
        marey__text_add(text, "\\t", 2);
        return;
    default:
        marey__text_add_format(text, "\\u%04x", byte);
    }
}

void marey__text_add_json(struct marey_textbuf *text, struct marey_str str)
{
    const unsigned char *ptr = (const unsigned char *)str.ptr;
    marey__text_add_byte(text, '"');
    size_t from = 0;
    size_t at = 0;
    while (at < str.len) {
        const unsigned char byte = ptr[at];
        if (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\') {
            at++;
            continue;
        }
        bool is_valid = false;
        const size_t len = byte >= 0x80 ? utf8_len(ptr + at, str.len - at, &is_valid) : 1;
        if (is_valid) {
            at += len;
            continue;
        }
        marey__text_add(text, str.ptr + from, at - from);
        if (byte >= 0x80)
            marey__text_add(text, "\xef\xbf\xbd", 3);
        else
            add_escape(text, byte);
        at += len;
        from = at;
    }
    marey__text_add(text, str.ptr == NULL ? NULL : str.ptr + from, str.len - from);
    marey__text_add_byte(text, '"');
}

void marey__text_add_i64(struct marey_textbuf *text, int64_t value)
{
    char *out = marey__text_reserve(text, 32);
    if (out != NULL)
        text->len += marey__format_i64(out, value);
}

void marey__text_add_u64(struct marey_textbuf *text, uint64_t value)
{
    char *out = marey__text_reserve(text, 32);
    if (out != NULL)
        text->len += marey__format_u64(out, value);
}

void marey__text_add_us(struct marey_textbuf *text, int64_t ns)
{
    char *out = marey__text_reserve(text, 32);
    if (out != NULL)
        text->len += marey__format_us(out, ns);
}

bool marey__text_move(struct marey_textbuf *text, char **ptr, size_t *len, size_t *capacity)
{
    marey__text_add_byte(text, '\0');
    if (text->failed)
        return false;
    *ptr = text->ptr;
    *len = text->len - 1;
    *capacity = text->capacity;
    *text = (struct marey_textbuf){.alloc = text->alloc};
    return true;
}
