/*
 * gunzip.h - the text of a compressed place, in order: all members of it.
 */
#ifndef MAREY_SRC_IMPORT_GUNZIP_H
#define MAREY_SRC_IMPORT_GUNZIP_H

#include "import/inflate.h"
#include "import/place.h"
#include "import/stretch.h"

struct marey_gunzip {
    struct marey_alloc alloc;
    const struct marey_place *place; /* borrowed */
    struct marey_inflate *inflate;
    struct marey_stretches *kept; /* where states are kept while it reads; NULL: nowhere */
    uint64_t n_text;              /* bytes of text given so far */
    uint64_t stored_at;           /* how far the place has been read */
    unsigned char *stored;        /* compressed bytes */
    size_t stored_capacity;
    size_t stored_from;
    size_t stored_len;
    bool is_member_over; /* the gzip member ended; another may begin */
    bool is_cut;         /* the place ended within a member, behind some text */
    bool is_damaged;     /* what follows the text so far cannot be inflated */
    bool has_bad_sum;    /* of a member that is over; the next one may be sound */
};

/* stored_bytes of compressed data are held at once. False without memory. */
bool marey__gunzip_open(struct marey_gunzip *gunzip, const struct marey_alloc *alloc,
                        const struct marey_place *place, size_t stored_bytes);
/* Goes on from a state that was kept. False without memory: nothing is changed then. */
bool marey__gunzip_resume(struct marey_gunzip *gunzip, const struct marey_stretch *from);

void marey__gunzip_close(struct marey_gunzip *gunzip);

/* The next `room` bytes of text; *got is less only at the end, which may be a cut or damage.
 * \fails MAREY_IO, MAREY_NOMEM, MAREY_FORMAT (damaged before any text) */
enum marey_status marey__gunzip_read(struct marey_gunzip *gunzip, char *into, size_t room,
                                     size_t *got, struct marey_error *err);

#endif
