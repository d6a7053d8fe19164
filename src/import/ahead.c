/*
 * ahead.c - a ring of blocks between the inflating thread and the reader.
 *
 *     thread: waits for a free block, fills it, hands it over    (n_full + 1)
 *     reader: waits for a full block, empties it, gives it back  (n_full - 1)
 *
 * Blocks and counters change hands under the lock; a block's bytes are touched by one side
 * at a time, without it. The last block is marked, and carries the failure if there is one.
 */
#include "import/ahead.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"

enum { N_BLOCKS = 4, BLOCK_BYTES = 1 << 18 };

struct block {
    char *bytes;
    size_t len;
    size_t taken;
    enum marey_status status;
    bool is_last;
};

struct marey_ahead {
    struct marey_alloc alloc;
    struct marey_gunzip *gunzip;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *bytes; /* of all blocks */
    struct block block[N_BLOCKS];
    size_t read_at; /* the reader's block; the thread's own position is its local */
    size_t n_full;
    bool is_stopping;
    struct marey_error err; /* of the last block */
};

/* False if the reader wants no more. */
static bool wait_for_free(struct marey_ahead *ahead)
{
    (void)pthread_mutex_lock(&ahead->lock);
    while (ahead->n_full == N_BLOCKS && !ahead->is_stopping)
        (void)pthread_cond_wait(&ahead->changed, &ahead->lock);
    const bool goes_on = !ahead->is_stopping;
    (void)pthread_mutex_unlock(&ahead->lock);
    return goes_on;
}

static void change_full(struct marey_ahead *ahead, bool is_more)
{
    (void)pthread_mutex_lock(&ahead->lock);
    ahead->n_full += is_more ? 1 : (size_t)-1;
    (void)pthread_cond_signal(&ahead->changed);
    (void)pthread_mutex_unlock(&ahead->lock);
}

static void *inflate_all(void *ctx)
{
    struct marey_ahead *ahead = ctx;
    size_t at = 0;
    bool is_last = false;

    while (!is_last && wait_for_free(ahead)) {
        struct block *block = &ahead->block[at];
        block->len = 0;
        block->taken = 0;
        block->status =
            marey__gunzip_read(ahead->gunzip, block->bytes, BLOCK_BYTES, &block->len, &ahead->err);
        is_last = block->status != MAREY_OK || block->len < BLOCK_BYTES;
        block->is_last = is_last;
        change_full(ahead, true);
        at = (at + 1) % N_BLOCKS;
    }
    return NULL;
}

struct marey_ahead *marey__ahead_new(const struct marey_alloc *alloc, struct marey_gunzip *gunzip)
{
    struct marey_ahead *ahead = marey__alloc_zero(alloc, 1, sizeof *ahead);

    if (ahead == NULL)
        return NULL;
    ahead->alloc = *alloc;
    ahead->gunzip = gunzip;
    ahead->bytes = marey__alloc(alloc, N_BLOCKS, BLOCK_BYTES);
    if (ahead->bytes == NULL || pthread_mutex_init(&ahead->lock, NULL) != 0)
        goto no_lock;
    if (pthread_cond_init(&ahead->changed, NULL) != 0)
        goto no_condition;
    for (size_t i = 0; i < N_BLOCKS; i++)
        ahead->block[i].bytes = ahead->bytes + i * BLOCK_BYTES;
    if (pthread_create(&ahead->thread, NULL, inflate_all, ahead) == 0)
        return ahead;

    (void)pthread_cond_destroy(&ahead->changed);
no_condition:
    (void)pthread_mutex_destroy(&ahead->lock);
no_lock:
    marey__dealloc(alloc, ahead->bytes, N_BLOCKS, BLOCK_BYTES);
    marey__dealloc(alloc, ahead, 1, sizeof *ahead);
    return NULL;
}

void marey__ahead_free(struct marey_ahead *ahead)
{
    if (ahead == NULL)
        return;
    const struct marey_alloc alloc = ahead->alloc;

    (void)pthread_mutex_lock(&ahead->lock);
    ahead->is_stopping = true;
    (void)pthread_cond_signal(&ahead->changed);
    (void)pthread_mutex_unlock(&ahead->lock);
    (void)pthread_join(ahead->thread, NULL);
    (void)pthread_cond_destroy(&ahead->changed);
    (void)pthread_mutex_destroy(&ahead->lock);
    marey__dealloc(&alloc, ahead->bytes, N_BLOCKS, BLOCK_BYTES);
    marey__dealloc(&alloc, ahead, 1, sizeof *ahead);
}

static struct block *wait_for_full(struct marey_ahead *ahead)
{
    (void)pthread_mutex_lock(&ahead->lock);
    while (ahead->n_full == 0)
        (void)pthread_cond_wait(&ahead->changed, &ahead->lock);
    (void)pthread_mutex_unlock(&ahead->lock);
    return &ahead->block[ahead->read_at];
}

enum marey_status marey__ahead_read(struct marey_ahead *ahead, char *into, size_t room, size_t *got,
                                    struct marey_error *err)
{
    *got = 0;
    while (*got < room) {
        struct block *block = wait_for_full(ahead);
        const size_t left = block->len - block->taken;
        const size_t take = left < room - *got ? left : room - *got;
        memcpy(into + *got, block->bytes + block->taken, take);
        block->taken += take;
        *got += take;
        if (block->taken < block->len)
            continue;
        if (block->is_last) { /* stays full: whoever asks again is told the same */
            if (block->status == MAREY_OK)
                return MAREY_OK;
            if (err != NULL)
                *err = ahead->err;
            return block->status;
        }
        ahead->read_at = (ahead->read_at + 1) % N_BLOCKS;
        change_full(ahead, false);
    }
    return MAREY_OK;
}
