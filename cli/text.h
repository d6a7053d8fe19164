/*
 * text.h - a text that grows, for results that are printed in one piece.
 *
 *     struct text text = {0};
 *     text_add(&text, "%d slices\n", 3);
 *     ... output_write(NULL, false, &text) ...
 *     text_release(&text);
 *
 * When memory is short the text is marked and output_write reports it, so that
 * building needs no checks.
 */
#ifndef MAREY_CLI_TEXT_H
#define MAREY_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <marey/base.h>

struct text {
    char *ptr; /* len bytes and a terminating zero; NULL while empty */
    size_t len;
    size_t capacity;
    bool is_broken; /* memory ran out: the text is not whole */
};

void text_release(struct text *text);

void text_add(struct text *text, const char *format, ...) MAREY_PRINTF(2, 3);
void text_add_bytes(struct text *text, const char *ptr, size_t len);
void text_add_spaces(struct text *text, size_t n);

/* A string of a trace for people: control characters become "\x1b" and the like,
 * so that a trace cannot drive the terminal. */
void text_add_name(struct text *text, struct marey_str name);

/* Words wrapped at `width` columns. Every line after the first is indented;
 * `column` is where the first one starts. Ends with a line break.
 * An empty line in the words parts paragraphs. */
void text_add_wrapped(struct text *text, const char *words, size_t column, size_t indent,
                      size_t width);

/* ---- quantities for people ----------------------------------------------- */

/* "512 B", "34.2 kB", "1.1 MB": powers of 1000. */
void text_add_bytes_size(struct text *text, uint64_t bytes);

/* "812ns", "4.963us", "83.574ms", "1.204s"; "unknown". */
void text_add_duration(struct text *text, int64_t ns);

/* ---- JSON ------------------------------------------------------------------- */

/* A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void text_add_json_string(struct text *text, struct marey_str string);

/* A number, or null for MAREY_UNKNOWN. */
void text_add_json_number(struct text *text, int64_t number);

struct marey_str str_of(const char *literal);

#endif
