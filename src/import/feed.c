/*
 * feed.c - windows of text: plain by pread, compressed by inflating in order.
 *
 * Why not mmap: the first touch of each mapped page costs more than copying it into a
 * buffer that stays in the cache (measured 1.4 to 2.1 GB/s against 8.7).
 */
#include "import/feed.h"

#include <string.h>

#include "base/error.h"

enum {
    WINDOW_BYTES = 1 << 18,      /* stays in the second-level cache */
    TEAM_WINDOW_BYTES = 1 << 19, /* each costs a wake-up or two, and two records scanned twice */
    STORED_BYTES = 1 << 18,
    AHEAD_FROM_BYTES = 1 << 18, /* smaller files are read before a thread has begun */
    BEFORE_BYTES = 64,          /* zeros before a window of a team */
    TEAM_FROM_BYTES = 1 << 21,
    TEAM_FROM_WINDOWS = 8, /* where the size of windows is given */
};

static char *block_new(const struct marey_alloc *alloc, size_t capacity)
{
    char *block = marey__alloc(alloc, capacity + 2 * MAREY_FEED_PAD, 1);

    if (block != NULL)
        memset(block, 0, MAREY_FEED_PAD);
    return block;
}

static void block_free(const struct marey_alloc *alloc, char *block, size_t capacity)
{
    if (block != NULL)
        marey__dealloc(alloc, block, capacity + 2 * MAREY_FEED_PAD, 1);
}

static char *window_of(const struct marey_feed *feed)
{
    return feed->block + MAREY_FEED_PAD;
}

/* Gives the kept part a larger block. */
static enum marey_status grow(struct marey_feed *feed, size_t grown, struct marey_error *err)
{
    char *block = block_new(&feed->alloc, grown);
    if (block == NULL)
        return marey__fail_nomem(err);
    memcpy(block + MAREY_FEED_PAD, feed->text, feed->len);
    block_free(&feed->alloc, feed->block, feed->capacity);
    feed->block = block;
    feed->capacity = grown;
    feed->text = window_of(feed);
    return MAREY_OK;
}

/* ---- text ------------------------------------------------------------------------ */

static enum marey_status read_gzip(struct marey_feed *feed, char *into, size_t room, size_t *got,
                                   struct marey_error *err)
{
    return feed->ahead != NULL ? marey__ahead_read(feed->ahead, into, room, got, err)
                               : marey__gunzip_read(&feed->gunzip, into, room, got, err);
}

static enum marey_status read_plain(struct marey_feed *feed, char *into, size_t room, size_t *got,
                                    struct marey_error *err)
{
    MAREY_TRY(marey__place_read(feed->place, feed->read_at, into, room, got, err));
    feed->read_at += *got;
    return MAREY_OK;
}

/* ---- windows ---------------------------------------------------------------------- */

/* Room for twice the kept part, but for no more than can be read of what is longest. */
static size_t larger(const struct marey_feed *feed, size_t wanted)
{
    const size_t most = feed->longest_bytes + feed->window_bytes;

    return feed->longest_bytes != 0 && wanted > most ? most : wanted;
}

/* Into the feed's own block. */
static enum marey_status next_alone(struct marey_feed *feed, struct marey_error *err)
{
    size_t got = 0;

    if (feed->text != window_of(feed))
        memmove(window_of(feed), feed->text, feed->len);
    feed->text = window_of(feed);
    if (feed->len > feed->capacity / 2 && larger(feed, feed->capacity * 2) > feed->capacity)
        MAREY_TRY(grow(feed, larger(feed, feed->capacity * 2), err));

    char *into = window_of(feed) + feed->len;
    const size_t room = feed->capacity - feed->len;
    const enum marey_status status = feed->is_gzip ? read_gzip(feed, into, room, &got, err)
                                                   : read_plain(feed, into, room, &got, err);
    if (status != MAREY_OK)
        return status;
    feed->len += got;
    feed->is_end = got < room;
    memset(into + got, 0, MAREY_FEED_PAD);
    return MAREY_OK;
}

static void give_back(struct marey_feed *feed)
{
    if (feed->window != NULL)
        marey__team_give_back(feed->team);
    feed->window = NULL;
}

/* A window as it came, the kept part before it. */
static enum marey_status next_of_team(struct marey_feed *feed, struct marey_error *err)
{
    struct marey_window *window = NULL;

    MAREY_TRY(marey__team_take(feed->team, &window, err));
    memcpy(window->text - feed->len, feed->text, feed->len);
    memset(window->text - feed->len - BEFORE_BYTES, 0, BEFORE_BYTES);
    give_back(feed);
    feed->window = window;
    feed->text = window->text - feed->len;
    feed->len += window->len;
    feed->is_end = window->is_last;
    feed->batch = &window->batch;
    feed->batch_text = window->text;
    return MAREY_OK;
}

static enum marey_status make_block(struct marey_feed *feed, size_t capacity,
                                    struct marey_error *err)
{
    if (feed->block == NULL || capacity > feed->capacity)
        return grow(feed, capacity, err);
    memmove(window_of(feed), feed->text, feed->len);
    feed->text = window_of(feed);
    return MAREY_OK;
}

/* Windows behind a kept part that is long, until there is as much again: what does not end is
 * scanned anew each time. */
static enum marey_status gather(struct marey_feed *feed, struct marey_error *err)
{
    const size_t wanted = larger(feed, 2 * feed->len);

    MAREY_TRY(make_block(feed, wanted + feed->window_bytes, err));
    give_back(feed);
    while (feed->len < wanted && !feed->is_end) {
        struct marey_window *window = NULL;
        MAREY_TRY(marey__team_take(feed->team, &window, err));
        memcpy(window_of(feed) + feed->len, window->text, window->len);
        feed->len += window->len;
        feed->is_end = window->is_last;
        marey__team_give_back(feed->team);
    }
    memset(window_of(feed) + feed->len, 0, MAREY_FEED_PAD);
    return MAREY_OK;
}

static bool is_too_long(const struct marey_feed *feed)
{
    const bool has_more = !feed->is_end && (feed->team != NULL || feed->block != NULL);

    return has_more && feed->longest_bytes != 0 && feed->len > feed->longest_bytes;
}

/* The end is where it is whatever the size of windows. The text is in a block or a window, which
 * are to be written to. */
static void stop(struct marey_feed *feed)
{
    feed->is_stopped = true;
    feed->is_end = true;
    feed->len = feed->longest_bytes;
    memset((char *)(uintptr_t)feed->text + feed->len, 0, MAREY_FEED_PAD);
}

enum marey_status marey__feed_next(struct marey_feed *feed, const char *keep,
                                   struct marey_error *err)
{
    const size_t dropped = (size_t)(keep - feed->text);

    feed->text = keep;
    feed->len -= dropped;
    feed->offset += dropped;
    feed->batch = NULL;
    if (is_too_long(feed)) {
        stop(feed);
        return MAREY_OK;
    }
    if (feed->team != NULL && !feed->is_end)
        return feed->len <= MAREY_WINDOW_ROOM - BEFORE_BYTES ? next_of_team(feed, err)
                                                             : gather(feed, err);
    if (feed->is_stopped || feed->team != NULL || feed->block == NULL) {
        feed->is_end = true; /* text in memory is one window */
        return MAREY_OK;
    }
    return next_alone(feed, err);
}

void marey__feed_teach(struct marey_feed *feed, const struct marey_learnt *learnt)
{
    if (feed->team != NULL)
        marey__team_teach(feed->team, learnt);
}

/* Goes on from the last state before `offset`, if that is nearer than the window. */
static enum marey_status jump(struct marey_feed *feed, uint64_t offset, struct marey_error *err)
{
    const struct marey_stretch *from =
        feed->known != NULL && feed->is_gzip ? marey__stretches_find(feed->known, offset) : NULL;

    if (from == NULL || from->text_at <= feed->offset + feed->len)
        return MAREY_OK;
    const bool has_ahead = feed->ahead != NULL;
    marey__ahead_free(feed->ahead); /* it reads the gunzip */
    feed->ahead = NULL;
    if (!marey__gunzip_resume(&feed->gunzip, from))
        return marey__fail_nomem(err);
    feed->text = window_of(feed);
    feed->offset = from->text_at;
    feed->len = 0;
    feed->is_end = false;
    if (has_ahead)
        feed->ahead = marey__ahead_new(&feed->alloc, &feed->gunzip);
    return MAREY_OK;
}

enum marey_status marey__feed_seek(struct marey_feed *feed, uint64_t offset, const char **at,
                                   struct marey_error *err)
{
    const bool can_jump = !feed->is_gzip && feed->block != NULL;

    if (can_jump && offset > feed->offset + feed->len) {
        feed->read_at = offset;
        feed->offset = offset;
        feed->len = 0;
        feed->is_end = false;
    }
    MAREY_TRY(jump(feed, offset, err));
    while (offset >= feed->offset + feed->len) {
        if (feed->is_end)
            return marey__fail(err, MAREY_CHANGED,
                               "cannot read args from '%s': it ends earlier than when it was "
                               "loaded, load it again",
                               feed->place->path);
        MAREY_TRY(marey__feed_next(feed, feed->text + feed->len, err));
    }
    *at = feed->text + (offset - feed->offset);
    return MAREY_OK;
}

/* ---- life ------------------------------------------------------------------------- */

static enum marey_status detect_gzip(struct marey_feed *feed, struct marey_error *err)
{
    unsigned char magic[2] = {0, 0};
    size_t got = 0;

    MAREY_TRY(marey__place_read(feed->place, 0, magic, sizeof magic, &got, err));
    feed->is_gzip = got == sizeof magic && magic[0] == 0x1f && magic[1] == 0x8b;
    return MAREY_OK;
}

static bool open_gunzip(struct marey_feed *feed, const struct marey_feed_plan *plan)
{
    const size_t stored_bytes =
        feed->window_bytes < STORED_BYTES ? feed->window_bytes : STORED_BYTES;

    if (!feed->is_gzip)
        return true;
    feed->known = plan->known;
    if (!marey__gunzip_open(&feed->gunzip, &feed->alloc, feed->place, stored_bytes))
        return false;
    feed->gunzip.kept = plan->kept;
    return true;
}

/* Threads are worth their start where there is some text. One thread scans a .gz as fast as another
 * inflates it. */
static bool is_worth_team(const struct marey_feed *feed, const struct marey_feed_plan *plan)
{
    const uint64_t least_bytes = plan->window_bytes == 0 ? (uint64_t)TEAM_FROM_BYTES
                                                         : plan->window_bytes * TEAM_FROM_WINDOWS;

    return plan->scanner != NULL && plan->n_threads > 1 && !feed->is_gzip &&
           feed->place->size_bytes >= least_bytes;
}

/* False without memory. */
static bool find_team(struct marey_feed *feed, const struct marey_feed_plan *plan)
{
    const struct marey_team_plan team = {
        .place = feed->place,
        .scanner = plan->scanner,
        .window_bytes = plan->window_bytes == 0 ? TEAM_WINDOW_BYTES : plan->window_bytes,
        .n_threads = plan->n_threads,
        .checks_all = plan->checks_all,
    };

    if (!is_worth_team(feed, plan))
        return true;
    feed->window_bytes = team.window_bytes;
    return marey__team_new(&feed->alloc, &team, &feed->team);
}

static bool make_block_alone(struct marey_feed *feed, const struct marey_feed_plan *plan)
{
    feed->block = block_new(&feed->alloc, feed->window_bytes);
    if (feed->block == NULL)
        return false;
    feed->capacity = feed->window_bytes;
    feed->text = window_of(feed);
    memset(window_of(feed), 0, MAREY_FEED_PAD);
    if (feed->is_gzip && plan->n_threads != 1 && feed->place->size_bytes >= AHEAD_FROM_BYTES)
        feed->ahead = marey__ahead_new(&feed->alloc, &feed->gunzip);
    return true;
}

enum marey_status marey__feed_open(struct marey_feed *feed, const struct marey_alloc *alloc,
                                   const struct marey_place *place,
                                   const struct marey_feed_plan *plan, struct marey_error *err)
{
    *feed = (struct marey_feed){.alloc = *alloc, .place = place, .text = ""};
    feed->window_bytes = plan->window_bytes == 0 ? WINDOW_BYTES : plan->window_bytes;
    feed->longest_bytes = plan->longest_bytes;
    MAREY_TRY(detect_gzip(feed, err));
    bool has_room = open_gunzip(feed, plan) && find_team(feed, plan);
    if (has_room && feed->team != NULL)
        return MAREY_OK;
    if (has_room && place->memory != NULL && !feed->is_gzip) {
        feed->text = place->memory;
        feed->len = place->memory_len;
        return MAREY_OK;
    }
    has_room = has_room && make_block_alone(feed, plan);
    if (!has_room) {
        marey__feed_close(feed);
        return marey__fail_nomem(err);
    }
    return MAREY_OK;
}

void marey__feed_close(struct marey_feed *feed)
{
    marey__team_free(feed->team);
    feed->team = NULL;
    marey__ahead_free(feed->ahead);
    feed->ahead = NULL;
    marey__gunzip_close(&feed->gunzip);
    block_free(&feed->alloc, feed->block, feed->capacity);
    feed->block = NULL;
}
