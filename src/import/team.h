/*
 * team.h - threads that fetch the windows of a text and scan them ahead of the reader.
 *
 *     fetch   pread; text that has to be inflated comes in one piece after the other (ahead.h)
 *     scan    matching records against what the reader has learnt (marey_scanner.scan_ahead), and
 *             where all is to be checked looking at every byte of them
 *     take    the reader gets windows in the order of the text
 *
 * The reader adds records in their order, with the ids and the ledger that it would have
 * reached alone: what a thread found only spares it the scanning. A reader that has to wait
 * does a share of the work itself.
 */
#ifndef MAREY_SRC_IMPORT_TEAM_H
#define MAREY_SRC_IMPORT_TEAM_H

#include "import/place.h"
#include "import/walk.h"

/* Bytes before the text of a window that are the reader's: what the window before left. */
#define MAREY_WINDOW_ROOM ((size_t)1 << 16)

struct marey_window {
    char *text; /* followed by zeros */
    size_t len;
    bool is_last;
    struct marey_batch batch;
    /* ---- the team's own */
    size_t owner_idx;
    bool is_ready;
    enum marey_status status; /* of the fetch */
    struct marey_error err;
};

struct marey_team;

struct marey_team_plan {
    const struct marey_place *place; /* plain */
    const struct marey_scanner *scanner;
    size_t window_bytes;
    size_t n_threads; /* with the reader, 2 or more */
    bool checks_all;  /* each thread also looks at all of the records that it scans */
};

/* Starts the threads. *team is NULL where none can be had: the caller then reads alone.
 * \owns borrows the place until marey__team_free
 * \fails false without memory
 * \threads all other functions are for the reader */
bool marey__team_new(const struct marey_alloc *alloc, const struct marey_team_plan *plan,
                     struct marey_team **team);

/* Ends the threads, wherever they are. */
void marey__team_free(struct marey_team *team);

/* The next window of the text; none is behind the last.
 * \owns the reader's until marey__team_give_back, in the same order; at most two at a time
 * \fails as marey__place_read */
enum marey_status marey__team_take(struct marey_team *team, struct marey_window **window,
                                   struct marey_error *err);
void marey__team_give_back(struct marey_team *team);

/* Tells the threads what the reader has learnt since. */
void marey__team_teach(struct marey_team *team, const struct marey_learnt *learnt);

#endif
