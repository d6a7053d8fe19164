/*
 * text.c - a text that grows; quantities and JSON in it.
 */
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct marey_str str_of(const char *literal)
{
    return (struct marey_str){literal, strlen(literal)};
}

void text_release(struct text *text)
{
    free(text->ptr);
    *text = (struct text){0};
}

/* Makes room for n more bytes and a zero. */
static bool reserve(struct text *text, size_t n)
{
    if (text->is_broken)
        return false;
    if (n < text->capacity - text->len)
        return true;

    const size_t wanted = (text->len + n + 1) * 2;
    char *grown = realloc(text->ptr, wanted);
    if (!grown) {
        text->is_broken = true;
        return false;
    }
    text->ptr = grown;
    text->capacity = wanted;
    return true;
}

void text_add_bytes(struct text *text, const char *ptr, size_t len)
{
    if (len == 0 || !reserve(text, len))
        return;
    memcpy(text->ptr + text->len, ptr, len);
    text->len += len;
    text->ptr[text->len] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
    va_list args;
    va_list again;

    va_start(args, format);
    va_copy(again, args);
    const int len = vsnprintf(NULL, 0, format, args);
    if (len > 0 && reserve(text, (size_t)len)) {
        vsnprintf(text->ptr + text->len, (size_t)len + 1, format, again);
        text->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
}

void text_add_spaces(struct text *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_add_bytes(text, " ", 1);
}

void text_add_name(struct text *text, struct marey_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const unsigned char c = (unsigned char)name.ptr[i];
        if (c < 0x20 || c == 0x7f)
            text_add(text, "\\x%02x", c);
        else
            text_add_bytes(text, name.ptr + i, 1);
    }
}

void text_add_wrapped(struct text *text, const char *words, size_t column, size_t indent,
                      size_t width)
{
    bool line_is_empty = true;

    while (*words) {
        const size_t len = strcspn(words, " \n");
        if (len > 0) {
            if (!line_is_empty && column + 1 + len > width) {
                text_add(text, "\n");
                text_add_spaces(text, indent);
                column = indent;
                line_is_empty = true;
            }
            if (!line_is_empty) {
                text_add(text, " ");
                column++;
            }
            text_add_bytes(text, words, len);
            column += len;
            line_is_empty = false;
        }
        words += len;
        if (strncmp(words, "\n\n", 2) == 0) {
            text_add(text, "\n\n");
            text_add_spaces(text, indent);
            column = indent;
            line_is_empty = true;
        }
        words += strspn(words, " \n");
    }
    text_add(text, "\n");
}

/* ---- quantities for people ------------------------------------------------ */

void text_add_bytes_size(struct text *text, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double value = (double)bytes / 1000;
    size_t unit = 0;

    if (bytes < 1000) {
        text_add(text, "%" PRIu64 " B", bytes);
        return;
    }
    /* 999.95 and more would print as 1000.0. */
    while (value >= 999.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    text_add(text, "%.1f %s", value, units[unit]);
}

/* Whole ns of a unit and three decimals, rounded half up, all in integers. */
static void add_in_unit(struct text *text, uint64_t ns, uint64_t unit_ns, const char *unit)
{
    const uint64_t thousandth = unit_ns / 1000;
    const uint64_t rounded = ns / thousandth + (ns % thousandth * 2 >= thousandth);

    text_add(text, "%" PRIu64 ".%03" PRIu64 "%s", rounded / 1000, rounded % 1000, unit);
}

void text_add_duration(struct text *text, int64_t ns)
{
    if (ns == MAREY_UNKNOWN) {
        text_add(text, "unknown");
        return;
    }
    const uint64_t size = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
    if (ns < 0)
        text_add(text, "-");
    if (size < 1000)
        text_add(text, "%" PRIu64 "ns", size);
    else if (size < 1000000)
        add_in_unit(text, size, 1000, "us");
    else if (size < 1000000000)
        add_in_unit(text, size, 1000000, "ms");
    else
        add_in_unit(text, size, 1000000000, "s");
}

/* ---- JSON ------------------------------------------------------------------- */

/* Length of the well-formed UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = 0;
    uint32_t rune = 0;

    if (p[0] < 0x80)
        return 1;
    if ((p[0] & 0xe0) == 0xc0) {
        len = 2;
        rune = p[0] & 0x1fU;
    } else if ((p[0] & 0xf0) == 0xe0) {
        len = 3;
        rune = p[0] & 0x0fU;
    } else if ((p[0] & 0xf8) == 0xf0) {
        len = 4;
        rune = p[0] & 0x07U;
    }
    if (len == 0 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        rune = rune << 6 | (p[i] & 0x3fU);
    }
    const bool is_surrogate = rune >= 0xd800 && rune <= 0xdfff;
    return rune >= smallest[len] && rune <= 0x10ffff && !is_surrogate ? len : 0;
}

void text_add_json_string(struct text *text, struct marey_str string)
{
    text_add(text, "\"");
    for (size_t i = 0; i < string.len;) {
        const unsigned char *p = (const unsigned char *)string.ptr + i;
        const size_t len = utf8_len(p, string.len - i);

        if (len == 0)
            text_add(text, "\\ufffd");
        else if (*p == '"' || *p == '\\')
            text_add(text, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            text_add(text, "\\u%04x", *p);
        else
            text_add_bytes(text, string.ptr + i, len);
        i += len ? len : 1;
    }
    text_add(text, "\"");
}

void text_add_json_number(struct text *text, int64_t number)
{
    if (number == MAREY_UNKNOWN)
        text_add(text, "null");
    else
        text_add(text, "%" PRId64, number);
}
