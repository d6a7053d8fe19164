/*
 * display.c - terminal columns, safe bytes, cutting.
 */
#include "export/display.h"

#define REPLACEMENT 0xfffdU

struct code_range {
    uint32_t first;
    uint32_t last;
};

/* The large blocks only: a rare character that is counted wrong shifts one row by one. */
static const struct code_range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static const struct code_range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x200b, 0x200f},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

static bool is_in(const struct code_range *range, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i++)
        if (code >= range[i].first && code <= range[i].last)
            return true;
    return false;
}

/* The code point at ptr and its bytes; a byte that begins none is a replacement. */
static size_t decode(const char *ptr, size_t left, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)ptr;
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    *code = REPLACEMENT;
    if (len == 0 || len > left)
        return 1;
    uint32_t value = len == 1 ? p[0] : p[0] & (0xffU >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 1;
        value = value << 6 | (p[i] & 0x3fU);
    }
    *code = value;
    return len;
}

static size_t code_width(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (is_in(combining, sizeof combining / sizeof combining[0], code))
        return 0;
    return is_in(wide, sizeof wide / sizeof wide[0], code) ? 2 : 1;
}

size_t marey__display_width(struct marey_str text)
{
    size_t width = 0;
    uint32_t code = 0;
    for (size_t at = 0; at < text.len;) {
        at += decode(text.ptr + at, text.len - at, &code);
        width += code_width(code);
    }
    return width;
}

struct marey_str marey__display_head(struct marey_str text, size_t width)
{
    size_t at = 0;
    uint32_t code = 0;
    while (at < text.len) {
        const size_t len = decode(text.ptr + at, text.len - at, &code);
        if (code_width(code) > width)
            break;
        width -= code_width(code);
        at += len;
    }
    return (struct marey_str){text.ptr, at};
}

struct marey_str marey__display_tail(struct marey_str text, size_t width)
{
    size_t skip = marey__display_width(text);
    size_t at = 0;
    uint32_t code = 0;
    while (at < text.len && skip > width) {
        at += decode(text.ptr + at, text.len - at, &code);
        skip -= code_width(code);
    }
    return (struct marey_str){text.ptr + at, text.len - at};
}

void marey__display_add(struct marey_textbuf *out, struct marey_str text)
{
    uint32_t code = 0;
    for (size_t at = 0; at < text.len;) {
        const size_t len = decode(text.ptr + at, text.len - at, &code);
        if (code == '\n')
            marey__text_add_c(out, "\\n");
        else if (code == '\t')
            marey__text_add_c(out, "\\t");
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            marey__text_add_format(out, "\\x%02x", code);
        else if (code == REPLACEMENT)
            marey__text_add_c(out, "\xef\xbf\xbd");
        else
            marey__text_add(out, text.ptr + at, len);
        at += len;
    }
}

void marey__display_add_middle(struct marey_textbuf *out, struct marey_str text, size_t width)
{
    if (marey__display_width(text) <= width) {
        marey__text_add_str(out, text);
        return;
    }
    if (width == 0)
        return;
    const size_t tail = (width - 1) / 2;
    marey__text_add_str(out, marey__display_head(text, width - 1 - tail));
    marey__text_add_c(out, MAREY_ELLIPSIS);
    marey__text_add_str(out, marey__display_tail(text, tail));
}

void marey__display_add_head(struct marey_textbuf *out, struct marey_str text, size_t width)
{
    if (marey__display_width(text) <= width) {
        marey__text_add_str(out, text);
        return;
    }
    if (width == 0)
        return;
    marey__text_add_str(out, marey__display_head(text, width - 1));
    marey__text_add_c(out, MAREY_ELLIPSIS);
}

void marey__display_add_tail(struct marey_textbuf *out, struct marey_str text, size_t width)
{
    if (marey__display_width(text) <= width) {
        marey__text_add_str(out, text);
        return;
    }
    if (width == 0)
        return;
    marey__text_add_c(out, MAREY_ELLIPSIS);
    marey__text_add_str(out, marey__display_tail(text, width - 1));
}

void marey__display_add_wrapped(struct marey_textbuf *out, struct marey_str text, size_t width,
                                size_t indent)
{
    size_t column = 0;
    size_t at = 0;
    while (at < text.len) {
        const char *space = memchr(text.ptr + at, ' ', text.len - at);
        const size_t end = space == NULL ? text.len : (size_t)(space - text.ptr);
        const struct marey_str word = {text.ptr + at, end - at};
        const size_t word_width = marey__display_width(word);
        if (column > 0 && column + 1 + word_width > width) {
            marey__text_add_byte(out, '\n');
            marey__text_add_repeat(out, ' ', indent);
            column = indent;
        } else if (at > 0) {
            marey__text_add_byte(out, ' ');
            column++;
        }
        marey__text_add_str(out, word);
        column += word_width;
        at = end + 1;
    }
    marey__text_add_byte(out, '\n');
}
