/*
 * display.h - text as a terminal shows it: columns it takes, safe bytes, cutting.
 *
 * Widths count terminal columns: two for wide (East Asian, emoji) characters, none for
 * marks that combine with the one before.
 */
#ifndef MAREY_SRC_EXPORT_DISPLAY_H
#define MAREY_SRC_EXPORT_DISPLAY_H

#include "base/text.h"

/* Columns that the text takes. */
size_t marey__display_width(struct marey_str text);

/* The longest head of the text that takes at most `width` columns, and the longest tail. */
struct marey_str marey__display_head(struct marey_str text, size_t width);
struct marey_str marey__display_tail(struct marey_str text, size_t width);

/* Adds the text with control characters written as \n, \t, \x1b: a name can neither break
 * a row nor steer the terminal. */
void marey__display_add(struct marey_textbuf *out, struct marey_str text);

/* Adds the text, or its two ends around an ellipsis if it takes more than `width`. */
void marey__display_add_middle(struct marey_textbuf *out, struct marey_str text, size_t width);

/* Adds the text, or its start and an ellipsis. */
void marey__display_add_head(struct marey_textbuf *out, struct marey_str text, size_t width);

/* Adds the text, or an ellipsis and its end: what a path ends with tells most. */
void marey__display_add_tail(struct marey_textbuf *out, struct marey_str text, size_t width);

/* Adds words, broken into lines of at most `width` columns; lines after the first begin
 * with `indent` spaces; ends with a newline. */
void marey__display_add_wrapped(struct marey_textbuf *out, struct marey_str text, size_t width,
                                size_t indent);

#define MAREY_ELLIPSIS "\xe2\x80\xa6" /* U+2026 */
#define MAREY_DASH "\xe2\x80\x93"     /* U+2013: a value that is not known */

#endif
