/*
 * inflate_isal.c - gzip by Intel's ISA-L (igzip): two to three times zlib's speed.
 *
 * The state is one block of memory that ISA-L itself never extends.
 */
#include "import/inflate.h"

#include <stdbool.h>
#include <string.h>

#include <isa-l/igzip_lib.h>

#include "base/error.h"

struct marey_inflate {
    struct marey_alloc alloc;
    struct inflate_state state;
    bool is_damaged; /* what it holds is handed out before it is told */
    bool is_sum;     /* its check sum is all that is wrong: the member is over */
};

/* Damage leads the library to places of its state that it has not written: what stood there before
 * would become text, another with each reading. */
static void begin_member(struct marey_inflate *inflate)
{
    memset(&inflate->state, 0, sizeof inflate->state);
    isal_inflate_init(&inflate->state);
    inflate->state.crc_flag = ISAL_GZIP;
    inflate->is_damaged = false;
    inflate->is_sum = false;
}

struct marey_inflate *marey__inflate_new(const struct marey_alloc *alloc)
{
    struct marey_inflate *inflate = marey__alloc(alloc, 1, sizeof *inflate);

    if (inflate == NULL)
        return NULL;
    inflate->alloc = *alloc;
    begin_member(inflate);
    return inflate;
}

/* The state holds its window and points to nothing but the input and output of the last call. */
struct marey_inflate *marey__inflate_clone(const struct marey_inflate *inflate,
                                           const struct marey_alloc *alloc)
{
    struct marey_inflate *clone = marey__alloc(alloc, 1, sizeof *clone);

    if (clone == NULL)
        return NULL;
    *clone = *inflate;
    clone->alloc = *alloc;
    return clone;
}

void marey__inflate_free(struct marey_inflate *inflate)
{
    if (inflate == NULL)
        return;

    const struct marey_alloc alloc = inflate->alloc;
    marey__dealloc(&alloc, inflate, 1, sizeof *inflate);
}

void marey__inflate_reset(struct marey_inflate *inflate)
{
    begin_member(inflate);
}

/* Text from before the damage that did not fit the room of the call which met it. Without it
 * the size of the room would decide how far a damaged file can be read. */
static enum marey_inflate_result hand_out_rest(struct marey_inflate *inflate,
                                               struct marey_inflate_io *io)
{
    struct inflate_state *state = &inflate->state;
    const size_t left = (size_t)(state->tmp_out_valid - state->tmp_out_processed);
    const size_t take = left < io->out_len ? left : io->out_len;

    memcpy(io->out, state->tmp_out_buffer + state->tmp_out_processed, take);
    state->tmp_out_processed += (int32_t)take;
    io->out += take;
    io->out_len -= take;
    if (take < left)
        return MAREY_INFLATE_MORE;
    return inflate->is_sum ? MAREY_INFLATE_BAD_SUM : MAREY_INFLATE_DAMAGED;
}

enum marey_inflate_result marey__inflate_run(struct marey_inflate *inflate,
                                             struct marey_inflate_io *io)
{
    struct inflate_state *state = &inflate->state;
    const size_t cap = (size_t)1 << 30; /* its lengths have 32 bits */
    const uint32_t in_len = (uint32_t)(io->in_len < cap ? io->in_len : cap);
    const uint32_t out_len = (uint32_t)(io->out_len < cap ? io->out_len : cap);

    if (inflate->is_damaged)
        return hand_out_rest(inflate, io);
    /* The library reads its input only, but its field is not const. */
    state->next_in = (unsigned char *)(uintptr_t)io->in;
    state->avail_in = in_len;
    state->next_out = io->out;
    state->avail_out = out_len;
    const int status = isal_inflate(state);

    const size_t used = in_len - state->avail_in;
    const size_t made = out_len - state->avail_out;
    io->in += used;
    io->in_len -= used;
    io->out += made;
    io->out_len -= made;
    inflate->is_damaged = status < 0;
    inflate->is_sum = status == ISAL_INCORRECT_CHECKSUM;
    if (inflate->is_damaged)
        return hand_out_rest(inflate, io);
    if (state->block_state == ISAL_BLOCK_FINISH)
        return MAREY_INFLATE_MEMBER;
    return MAREY_INFLATE_MORE;
}
