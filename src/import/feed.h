/*
 * feed.h - the JSON text of a place, window by window.
 *
 *     | pad | kept part of the last window | newly read | zeros |
 *           ^ text                                      ^ text + len
 *
 * The scanner reads up to MAREY_FEED_PAD bytes past the end and a few before the
 * beginning without asking; it finds zeros there, which are no JSON. Text that lies in
 * memory is its own single window.
 */
#ifndef MAREY_SRC_IMPORT_FEED_H
#define MAREY_SRC_IMPORT_FEED_H

#include "import/ahead.h"
#include "import/gunzip.h"
#include "import/place.h"

#define MAREY_FEED_PAD 256

/* The largest record or head member we hold at once. */
#define MAREY_FEED_MAX_BYTES ((size_t)1 << 28)

struct marey_feed {
    struct marey_alloc alloc;
    const struct marey_place *place; /* borrowed */
    char *block;                     /* pad + capacity + pad; NULL for text in memory */
    size_t capacity;
    const char *text;
    size_t len;
    uint64_t offset; /* of text[0] in the whole text */
    bool is_end;     /* nothing follows the window */
    bool is_gzip;
    uint64_t read_at; /* how far a plain place has been read */
    struct marey_gunzip gunzip;
    struct marey_ahead *ahead; /* reads the gunzip; NULL for small files */
};

/* Opens the text from its beginning with an empty window. window_bytes 0 is the default.
 * \owns borrows the place until close
 * \fails MAREY_IO, MAREY_NOMEM; nothing to close then */
enum marey_status marey__feed_open(struct marey_feed *feed, const struct marey_alloc *alloc,
                                   const struct marey_place *place, size_t window_bytes,
                                   struct marey_error *err);

/* Drops the text before `keep` (a position in the window) and reads on behind the rest.
 * A window without room for more grows.
 * \fails MAREY_IO, MAREY_NOMEM, MAREY_FORMAT (gzip damaged at its begin), MAREY_LIMIT */
enum marey_status marey__feed_next(struct marey_feed *feed, const char *keep,
                                   struct marey_error *err);

/* Makes the window begin at or before `offset`, which is at or behind its beginning now,
 * and hold the byte there; *at is its place. Text in between is skipped where the place
 * allows it. \fails as marey__feed_next, MAREY_CHANGED if the text ends before it */
enum marey_status marey__feed_seek(struct marey_feed *feed, uint64_t offset, const char **at,
                                   struct marey_error *err);

void marey__feed_close(struct marey_feed *feed);

#endif
