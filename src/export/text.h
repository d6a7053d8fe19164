/*
 * text.h - from a growing buffer to the public struct marey_text and back.
 *
 *     struct marey_textbuf out;
 *     marey__public_text_begin(text, &out);
 *     ... marey__text_add(&out, ...) ...
 *     return marey__public_text_end(&out, text, err);
 */
#ifndef MAREY_SRC_EXPORT_TEXT_H
#define MAREY_SRC_EXPORT_TEXT_H

#include "base/text.h"
#include "marey/export.h"

/* Starts an empty buffer with the memory that *text holds; *text is empty meanwhile. */
void marey__public_text_begin(struct marey_text *text, struct marey_textbuf *out);

/* Hands the bytes over, with a terminating zero; releases them if the buffer has failed.
 * \fails MAREY_NOMEM */
MAREY_MUST_CHECK enum marey_status
marey__public_text_end(struct marey_textbuf *out, struct marey_text *text, struct marey_error *err);

/* Ends without a result after a failure: *text keeps the memory and is empty. */
void marey__public_text_abandon(struct marey_textbuf *out, struct marey_text *text);

#endif
