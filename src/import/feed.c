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
    WINDOW_BYTES = 1 << 20,
    STORED_BYTES = 1 << 18,
    AHEAD_FROM_BYTES = 1 << 18, /* smaller files are read before a thread has begun */
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
static enum marey_status grow(struct marey_feed *feed, struct marey_error *err)
{
    const size_t grown = feed->capacity * 2;

    if (grown > MAREY_FEED_MAX_BYTES * 2)
        return marey__fail_at(err, MAREY_LIMIT, (int64_t)feed->offset,
                              "cannot read '%s': a record or member of more than %zu MiB",
                              feed->place->path, MAREY_FEED_MAX_BYTES >> 20);
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

enum marey_status marey__feed_next(struct marey_feed *feed, const char *keep,
                                   struct marey_error *err)
{
    const size_t dropped = (size_t)(keep - feed->text);
    size_t got = 0;

    if (feed->block == NULL) {
        feed->is_end = true; /* text in memory is one window */
        return MAREY_OK;
    }
    if (dropped > 0) {
        memmove(window_of(feed), keep, feed->len - dropped);
        feed->text = window_of(feed);
        feed->len -= dropped;
        feed->offset += dropped;
    }
    if (feed->len > feed->capacity / 2)
        MAREY_TRY(grow(feed, err));

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

static bool make_buffers(struct marey_feed *feed)
{
    feed->block = block_new(&feed->alloc, feed->capacity);
    if (feed->block == NULL)
        return false;
    feed->text = window_of(feed);
    memset(window_of(feed), 0, MAREY_FEED_PAD);
    if (!feed->is_gzip)
        return true;
    const size_t stored_bytes = feed->capacity < STORED_BYTES ? feed->capacity : STORED_BYTES;
    if (!marey__gunzip_open(&feed->gunzip, &feed->alloc, feed->place, stored_bytes))
        return false;
    if (feed->place->size_bytes >= AHEAD_FROM_BYTES)
        feed->ahead = marey__ahead_new(&feed->alloc, &feed->gunzip);
    return true;
}

enum marey_status marey__feed_open(struct marey_feed *feed, const struct marey_alloc *alloc,
                                   const struct marey_place *place, size_t window_bytes,
                                   struct marey_error *err)
{
    *feed = (struct marey_feed){.alloc = *alloc, .place = place};
    feed->capacity = window_bytes == 0 ? WINDOW_BYTES : window_bytes;
    MAREY_TRY(detect_gzip(feed, err));
    if (place->memory != NULL && !feed->is_gzip) {
        feed->text = place->memory;
        feed->len = place->memory_len;
        return MAREY_OK;
    }
    if (!make_buffers(feed)) {
        marey__feed_close(feed);
        return marey__fail_nomem(err);
    }
    return MAREY_OK;
}

void marey__feed_close(struct marey_feed *feed)
{
    marey__ahead_free(feed->ahead);
    feed->ahead = NULL;
    marey__gunzip_close(&feed->gunzip);
    block_free(&feed->alloc, feed->block, feed->capacity);
    feed->block = NULL;
}
