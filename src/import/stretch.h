/*
 * stretch.h - where the inflating of a compressed place can begin anew.
 *
 * While a place is loaded, the state of the inflater is kept each 32 MiB of text, so that a later
 * look at args inflates one stretch and not all that lies before it. A state is about 90 KiB
 * (its window of 32 KiB, tables, what it holds of input and output), so 0.3 % of the text.
 */
#ifndef MAREY_SRC_IMPORT_STRETCH_H
#define MAREY_SRC_IMPORT_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "import/inflate.h"

#define MAREY_STRETCH_BYTES (UINT64_C(1) << 25)

/* What is needed to go on from a byte of the text. */
struct marey_stretch {
    uint64_t text_at;
    uint64_t stored_at; /* the next byte of the place that the inflater takes */
    struct marey_inflate *inflate;
    bool is_member_over;
};

/* All of a place, ascending. Written by the one thread that inflates during the load, read-only
 * from then on. */
struct marey_stretches {
    struct marey_alloc alloc;
    uint64_t bytes; /* of text between two of them */
    struct marey_stretch *stretch;
    size_t n;
    size_t capacity;
};

void marey__stretches_init(struct marey_stretches *stretches, const struct marey_alloc *alloc,
                           uint64_t bytes);
void marey__stretches_release(struct marey_stretches *stretches);

/* Whether so much text has come since the last one that another should be kept. */
static inline bool marey_stretches_want(const struct marey_stretches *stretches, uint64_t text_at)
{
    const uint64_t last = stretches->n > 0 ? stretches->stretch[stretches->n - 1].text_at : 0;
    return text_at - last >= stretches->bytes;
}

/* Keeps a copy of the inflater's state. False without memory. */
bool marey__stretches_add(struct marey_stretches *stretches, const struct marey_stretch *here);

/* The last one at or before a byte of the text; NULL: the beginning is. */
const struct marey_stretch *marey__stretches_find(const struct marey_stretches *stretches,
                                                  uint64_t text_at);

#endif
