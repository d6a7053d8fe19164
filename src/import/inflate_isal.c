/*
 * inflate_isal.c - gzip by Intel's ISA-L (igzip): two to three times zlib's speed.
 *
 * The state is one block of memory that ISA-L itself never extends.
 */
#include "import/inflate.h"

#include <isa-l/igzip_lib.h>

#include "base/error.h"

struct marey_inflate {
    struct marey_alloc alloc;
    struct inflate_state state;
};

struct marey_inflate *marey__inflate_new(const struct marey_alloc *alloc)
{
    struct marey_inflate *inflate = marey__alloc(alloc, 1, sizeof *inflate);

    if (inflate == NULL)
        return NULL;
    inflate->alloc = *alloc;
    isal_inflate_init(&inflate->state);
    inflate->state.crc_flag = ISAL_GZIP;
    return inflate;
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
    isal_inflate_reset(&inflate->state);
    inflate->state.crc_flag = ISAL_GZIP;
}

enum marey_inflate_result marey__inflate_run(struct marey_inflate *inflate,
                                             struct marey_inflate_io *io)
{
    struct inflate_state *state = &inflate->state;
    const size_t cap = (size_t)1 << 30; /* its lengths have 32 bits */
    const uint32_t in_len = (uint32_t)(io->in_len < cap ? io->in_len : cap);
    const uint32_t out_len = (uint32_t)(io->out_len < cap ? io->out_len : cap);

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
    if (status < 0)
        return MAREY_INFLATE_DAMAGED;
    if (state->block_state == ISAL_BLOCK_FINISH)
        return MAREY_INFLATE_MEMBER;
    return MAREY_INFLATE_MORE;
}
