/*
 * json.c - a small walker over JSON text.
 */
#include "json.h"

#include <stdlib.h>
#include <string.h>

static void skip_spaces(struct marey_str *rest)
{
    while (rest->len > 0 && strchr(" \t\r\n", *rest->ptr) && *rest->ptr) {
        rest->ptr++;
        rest->len--;
    }
}

static bool skip_char(struct marey_str *rest, char wanted)
{
    skip_spaces(rest);
    if (rest->len == 0 || *rest->ptr != wanted)
        return false;
    rest->ptr++;
    rest->len--;
    return true;
}

/* Bytes of the string that starts with a quote at p, both quotes counted; 0 if
 * it does not end. */
static size_t string_len(const char *p, size_t left)
{
    for (size_t i = 1; i < left; i++) {
        if (p[i] == '\\')
            i++;
        else if (p[i] == '"')
            return i + 1;
    }
    return 0;
}

/* Bytes up to the comma or bracket that ends the value at p. */
static size_t value_len(const char *p, size_t left)
{
    size_t depth = 0;
    size_t i = 0;

    while (i < left) {
        const char c = p[i];
        if (depth == 0 && (c == ',' || c == ']' || c == '}'))
            break;
        if (c == '"') {
            const size_t len = string_len(p + i, left - i);
            if (len == 0)
                return 0;
            i += len;
            continue;
        }
        if (c == '[' || c == '{')
            depth++;
        if (c == ']' || c == '}')
            depth--;
        i++;
    }
    return depth == 0 ? i : 0;
}

static bool take_value(struct marey_str *rest, struct marey_str *value)
{
    skip_spaces(rest);
    const size_t len = value_len(rest->ptr, rest->len);
    if (len == 0)
        return false;

    *value = (struct marey_str){rest->ptr, len};
    while (value->len > 0 && strchr(" \t\r\n", value->ptr[value->len - 1]))
        value->len--;
    rest->ptr += len;
    rest->len -= len;
    return value->len > 0;
}

struct marey_str json_member(struct marey_str object, const char *key)
{
    const struct marey_str none = {NULL, 0};
    const size_t key_len = strlen(key);
    struct marey_str rest = object;
    struct marey_str value;

    if (!rest.ptr || !skip_char(&rest, '{'))
        return none;
    do {
        skip_spaces(&rest);
        const size_t len = rest.len > 0 && *rest.ptr == '"' ? string_len(rest.ptr, rest.len) : 0;
        if (len == 0)
            return none;
        const bool is_it = len == key_len + 2 && memcmp(rest.ptr + 1, key, key_len) == 0;
        rest.ptr += len;
        rest.len -= len;
        if (!skip_char(&rest, ':') || !take_value(&rest, &value))
            return none;
        if (is_it)
            return value;
    } while (skip_char(&rest, ','));
    return none;
}

bool json_next_element(struct marey_str *rest, struct marey_str *element)
{
    if (!rest->ptr || !(skip_char(rest, '[') || skip_char(rest, ',')))
        return false;
    return take_value(rest, element);
}

int64_t json_integer(struct marey_str value)
{
    int64_t number = 0;
    const bool is_negative = value.len > 0 && value.ptr[0] == '-';

    /* 18 digits fit in any case, and nothing here is larger. */
    if (value.len <= is_negative || value.len > 18)
        return MAREY_UNKNOWN;
    for (size_t i = is_negative; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return MAREY_UNKNOWN;
        number = number * 10 + (value.ptr[i] - '0');
    }
    return is_negative ? -number : number;
}

/* ---- strings --------------------------------------------------------------------- */

static void add_rune(struct text *text, uint32_t rune)
{
    char bytes[4];
    size_t n = 0;

    if (rune < 0x80) {
        bytes[n++] = (char)rune;
    } else if (rune < 0x800) {
        bytes[n++] = (char)(0xc0 | rune >> 6);
        bytes[n++] = (char)(0x80 | (rune & 0x3f));
    } else if (rune < 0x10000) {
        bytes[n++] = (char)(0xe0 | rune >> 12);
        bytes[n++] = (char)(0x80 | (rune >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (rune & 0x3f));
    } else {
        bytes[n++] = (char)(0xf0 | rune >> 18);
        bytes[n++] = (char)(0x80 | (rune >> 12 & 0x3f));
        bytes[n++] = (char)(0x80 | (rune >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (rune & 0x3f));
    }
    text_add_bytes(text, bytes, n);
}

/* The number of a \uXXXX at p, or UINT32_MAX. */
static uint32_t read_unit(const char *p, const char *end)
{
    char digits[5] = "";
    char *stop = NULL;

    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return UINT32_MAX;
    memcpy(digits, p + 2, 4);
    const unsigned long unit = strtoul(digits, &stop, 16);
    return *stop == '\0' ? (uint32_t)unit : UINT32_MAX;
}

/* Appends what a \u escape at p means; returns its bytes, two escapes for a pair. */
static size_t add_unicode(struct text *text, const char *p, const char *end)
{
    const uint32_t high = read_unit(p, end);
    const uint32_t low = high == UINT32_MAX ? UINT32_MAX : read_unit(p + 6, end);

    if (high == UINT32_MAX)
        return 2;
    if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
        add_rune(text, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
        return 12;
    }
    add_rune(text, high >= 0xd800 && high < 0xe000 ? 0xfffd : high);
    return 6;
}

void json_add_string(struct text *text, struct marey_str value)
{
    static const char letters[] = "bfnrt\"\\/";
    static const char meanings[] = "\b\f\n\r\t\"\\/";

    if (value.len < 2 || value.ptr[0] != '"')
        return;
    const char *end = value.ptr + value.len - 1;
    for (const char *p = value.ptr + 1; p < end;) {
        if (*p != '\\' || p + 1 == end) {
            text_add_bytes(text, p++, 1);
            continue;
        }
        const char *letter = memchr(letters, p[1], sizeof letters - 1);
        if (letter) {
            text_add_bytes(text, meanings + (letter - letters), 1);
            p += 2;
        } else {
            p += add_unicode(text, p, end);
        }
    }
}
