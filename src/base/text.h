/*
 * text.h - a growing byte buffer, and numbers as text.
 *
 * Appending never fails half-way: without memory the buffer is marked as failed, all
 * later calls do nothing, and the owner asks once at the end (marey__text_failed).
 */
#ifndef MAREY_SRC_BASE_TEXT_H
#define MAREY_SRC_BASE_TEXT_H

#include "base/alloc.h"
#include "base/str.h"

struct marey_textbuf {
    struct marey_alloc alloc;
    char *ptr;
    size_t len;
    size_t capacity;
    bool failed;
};

void marey__text_init(struct marey_textbuf *text, const struct marey_alloc *alloc);
void marey__text_release(struct marey_textbuf *text);
void marey__text_reset(struct marey_textbuf *text); /* empty, keeps the capacity */
bool marey__text_failed(const struct marey_textbuf *text);

/* Room for `len` more bytes at the returned place; NULL without memory. The caller
 * then adds what it wrote to text->len. */
char *marey__text_reserve(struct marey_textbuf *text, size_t len);

void marey__text_add(struct marey_textbuf *text, const char *bytes, size_t len);
void marey__text_add_str(struct marey_textbuf *text, struct marey_str str);
void marey__text_add_c(struct marey_textbuf *text, const char *c_string);
void marey__text_add_byte(struct marey_textbuf *text, char byte);
void marey__text_add_repeat(struct marey_textbuf *text, char byte, size_t n);
void marey__text_add_format(struct marey_textbuf *text, const char *format, ...) MAREY_PRINTF(2, 3);

/* As printf's %.*f of at most 9 decimals, with a point in any locale. */
void marey__text_add_fixed(struct marey_textbuf *text, double value, int n_decimals);

/* The string in quotes with JSON's escapes; invalid UTF-8 becomes U+FFFD. */
void marey__text_add_json(struct marey_textbuf *text, struct marey_str str);

/* Length of the part before the first byte that is not of valid UTF-8. */
size_t marey__text_valid_len(struct marey_str str);

/* Plain decimal digits. */
void marey__text_add_i64(struct marey_textbuf *text, int64_t value);
void marey__text_add_u64(struct marey_textbuf *text, uint64_t value);

/* Nanoseconds as microseconds with three decimals: -5 is "-0.005". */
void marey__text_add_us(struct marey_textbuf *text, int64_t ns);

/* The same into a caller's buffer of at least so many bytes; return the length. */
#define MAREY_NUMBER_BYTES 32
size_t marey__format_u64(char *out, uint64_t value);
size_t marey__format_i64(char *out, int64_t value);
size_t marey__format_us(char *out, int64_t ns);
size_t marey__format_double(char *out, double value); /* 17 digits, inf, nan */

/* In a number as the C library writes it: one point in place of what a locale has there. Returns
 * the length. */
size_t marey__put_point(char *number);

/* Terminates with a zero and hands the bytes over as public text; the buffer is
 * empty afterwards. NULL ptr if it failed. */
struct marey_text;
bool marey__text_move(struct marey_textbuf *text, char **ptr, size_t *len, size_t *capacity);

#endif
