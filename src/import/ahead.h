/*
 * ahead.h - a thread that inflates ahead of the reader.
 *
 * Inflating and scanning cost about the same, so on two cores a compressed file is read
 * nearly as fast as a plain one.
 */
#ifndef MAREY_SRC_IMPORT_AHEAD_H
#define MAREY_SRC_IMPORT_AHEAD_H

#include "import/gunzip.h"

struct marey_ahead;

/* Starts reading. NULL without memory or where no thread can be had: the caller then
 * reads from the gunzip itself.
 * \owns borrows the gunzip, which is the thread's alone until marey__ahead_free */
struct marey_ahead *marey__ahead_new(const struct marey_alloc *alloc, struct marey_gunzip *gunzip);

/* Ends the thread, wherever it is. */
void marey__ahead_free(struct marey_ahead *ahead);

/* As marey__gunzip_read; a failure comes after all the text before it. */
enum marey_status marey__ahead_read(struct marey_ahead *ahead, char *into, size_t room, size_t *got,
                                    struct marey_error *err);

#endif
