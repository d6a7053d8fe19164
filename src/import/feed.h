/*
 * feed.h - the JSON text of a place, window by window.
 *
 *     | pad | kept part of the last window | newly read | zeros |
 *           ^ text                                      ^ text + len
 *
 * A team, where there is one, hands over windows that it has fetched and scanned. What was kept
 * is copied before the next one's text; only what is too long for that place gets a block of its
 * own, as all windows of a lonely reader do.
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
#include "import/team.h"

#define MAREY_FEED_PAD 256

/* The longest record or member that a document holds at once; docs and the ledger name it. */
#define MAREY_LONGEST_BYTES ((size_t)1 << 29)

/* How to read; all zero is the default, and one thread more that inflates where that helps. */
struct marey_feed_plan {
    size_t window_bytes;
    size_t longest_bytes;                /* the text ends where more is kept; 0: never */
    size_t n_threads;                    /* 1: no other thread at all */
    bool checks_all;                     /* by the team too */
    const struct marey_scanner *scanner; /* of a team; NULL: none */
    struct marey_stretches *kept;        /* of a .gz: where states are kept; NULL: nowhere */
    const struct marey_stretches *known; /* those that seeking may use; NULL: none */
};

struct marey_feed {
    struct marey_alloc alloc;
    const struct marey_place *place; /* borrowed */
    size_t window_bytes;
    size_t longest_bytes;
    char *block; /* pad + capacity + pad; NULL for text in memory */
    size_t capacity;
    const char *text;
    size_t len;
    uint64_t offset; /* of text[0] in the whole text */
    bool is_end;     /* nothing follows the window */
    bool is_stopped; /* what is kept is too long: something follows, which is not read */
    bool is_gzip;
    uint64_t read_at; /* how far a plain place has been read */
    struct marey_gunzip gunzip;
    const struct marey_stretches *known;
    struct marey_ahead *ahead;       /* reads the gunzip; NULL for small files */
    struct marey_team *team;         /* NULL: nobody fetches and scans ahead */
    struct marey_window *window;     /* the team's, which holds `text`; or NULL */
    const struct marey_batch *batch; /* what is known of the window; or NULL */
    const char *batch_text;          /* where the places of the batch count from */
};

/* Opens the text from its beginning with an empty window.
 * \owns borrows the place until close
 * \fails MAREY_IO, MAREY_NOMEM; nothing to close then */
enum marey_status marey__feed_open(struct marey_feed *feed, const struct marey_alloc *alloc,
                                   const struct marey_place *place,
                                   const struct marey_feed_plan *plan, struct marey_error *err);

/* Drops the text before `keep` (a position in the window) and reads on behind the rest.
 * A window without room for more grows. `keep` becomes feed->text. Does not read on behind more
 * than the longest text that may be kept: that is the end, as if the file were cut there. \fails
 * MAREY_IO, MAREY_NOMEM, MAREY_FORMAT (gzip damaged at its begin) */
enum marey_status marey__feed_next(struct marey_feed *feed, const char *keep,
                                   struct marey_error *err);

/* Tells the team, if there is one, what has been learnt of the records. */
void marey__feed_teach(struct marey_feed *feed, const struct marey_learnt *learnt);

/* Makes the window begin at or before `offset`, which is at or behind its beginning now,
 * and hold the byte there; *at is its place. Text in between is skipped where the place
 * allows it. \fails as marey__feed_next, MAREY_CHANGED if the text ends before it */
enum marey_status marey__feed_seek(struct marey_feed *feed, uint64_t offset, const char **at,
                                   struct marey_error *err);

void marey__feed_close(struct marey_feed *feed);

#endif
