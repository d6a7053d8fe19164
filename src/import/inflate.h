/*
 * inflate.h - gzip members to text, block by block.
 *
 * Two implementations, chosen by the build: inflate_isal.c and inflate_zlib.c.
 * Both verify the check sum and the length at the end of a member.
 */
#ifndef MAREY_SRC_IMPORT_INFLATE_H
#define MAREY_SRC_IMPORT_INFLATE_H

#include "base/alloc.h"

struct marey_inflate;

enum marey_inflate_result {
    MAREY_INFLATE_MORE,    /* all input is used, or all room is filled */
    MAREY_INFLATE_MEMBER,  /* a member ended; the rest of the input is not touched */
    MAREY_INFLATE_BAD_SUM, /* a member ended, and its check sum or its length is not of its text */
    MAREY_INFLATE_DAMAGED,
    MAREY_INFLATE_NOMEM
};

/* What goes in and what comes out; both sides are moved forward. */
struct marey_inflate_io {
    const unsigned char *in;
    size_t in_len;
    unsigned char *out;
    size_t out_len;
};

/* NULL without memory. */
struct marey_inflate *marey__inflate_new(const struct marey_alloc *alloc);
void marey__inflate_free(struct marey_inflate *inflate);

/* One that goes on where this one stands. NULL without memory. */
struct marey_inflate *marey__inflate_clone(const struct marey_inflate *inflate,
                                           const struct marey_alloc *alloc);

/* Begins a new member. */
void marey__inflate_reset(struct marey_inflate *inflate);

enum marey_inflate_result marey__inflate_run(struct marey_inflate *inflate,
                                             struct marey_inflate_io *io);

#endif
