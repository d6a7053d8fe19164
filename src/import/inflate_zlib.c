/*
 * inflate_zlib.c - gzip by zlib, where ISA-L is not there.
 *
 * zlib releases without telling the size, so each of its blocks carries it in front.
 */
#include "import/inflate.h"

#include <string.h>
#include <zlib.h>

#include "base/error.h"

enum { BLOCK_HEAD_BYTES = 16, WINDOW_BITS_GZIP = 15 + 16, LENGTH_BYTES = 4 };

struct marey_inflate {
    struct marey_alloc alloc;
    z_stream stream;
    bool is_ready;      /* inflateInit2 succeeded */
    unsigned n_to_skip; /* bytes of the trailer behind a wrong sum */
};

static void *zlib_allocate(void *ctx, unsigned n, unsigned size_bytes)
{
    const struct marey_inflate *inflate = ctx;
    size_t total = 0;

    if (!marey__size_mul(n, size_bytes, &total) ||
        !marey__size_add(total, BLOCK_HEAD_BYTES, &total))
        return NULL;
    char *block = marey__alloc(&inflate->alloc, total, 1);
    if (block == NULL)
        return NULL;
    memcpy(block, &total, sizeof total);
    return block + BLOCK_HEAD_BYTES;
}

static void zlib_release(void *ctx, void *ptr)
{
    const struct marey_inflate *inflate = ctx;
    char *block = (char *)ptr - BLOCK_HEAD_BYTES;
    size_t total = 0;

    memcpy(&total, block, sizeof total);
    marey__dealloc(&inflate->alloc, block, total, 1);
}

struct marey_inflate *marey__inflate_new(const struct marey_alloc *alloc)
{
    struct marey_inflate *inflate = marey__alloc_zero(alloc, 1, sizeof *inflate);

    if (inflate == NULL)
        return NULL;
    inflate->alloc = *alloc;
    inflate->stream.zalloc = zlib_allocate;
    inflate->stream.zfree = zlib_release;
    inflate->stream.opaque = inflate;
    inflate->is_ready = inflateInit2(&inflate->stream, WINDOW_BITS_GZIP) == Z_OK;
    if (!inflate->is_ready) {
        marey__dealloc(alloc, inflate, 1, sizeof *inflate);
        return NULL;
    }
    return inflate;
}

struct marey_inflate *marey__inflate_clone(const struct marey_inflate *inflate,
                                           const struct marey_alloc *alloc)
{
    struct marey_inflate *clone = marey__alloc_zero(alloc, 1, sizeof *clone);

    if (clone == NULL)
        return NULL;
    clone->alloc = *alloc;
    /* The library only reads what it copies, but its parameter is not const. It allocates by
     * the source's functions, which take the source's allocator: the two are the same. */
    clone->is_ready = inflateCopy(&clone->stream, (z_stream *)(uintptr_t)&inflate->stream) == Z_OK;
    if (!clone->is_ready) {
        marey__dealloc(alloc, clone, 1, sizeof *clone);
        return NULL;
    }
    clone->stream.opaque = clone;
    clone->n_to_skip = inflate->n_to_skip;
    return clone;
}

void marey__inflate_free(struct marey_inflate *inflate)
{
    if (inflate == NULL)
        return;
    inflateEnd(&inflate->stream);

    const struct marey_alloc alloc = inflate->alloc;
    marey__dealloc(&alloc, inflate, 1, sizeof *inflate);
}

void marey__inflate_reset(struct marey_inflate *inflate)
{
    inflate->n_to_skip = 0;
    inflateReset(&inflate->stream);
}

/* The library stops right behind the sum that is wrong, and tells which of the two is by its words:
 * the length stands behind the sum. */
static enum marey_inflate_result pass_bad_sum(struct marey_inflate *gzip,
                                              struct marey_inflate_io *io)
{
    const size_t n = io->in_len < gzip->n_to_skip ? io->in_len : gzip->n_to_skip;

    io->in += n;
    io->in_len -= n;
    gzip->n_to_skip -= (unsigned)n;
    return gzip->n_to_skip == 0 ? MAREY_INFLATE_BAD_SUM : MAREY_INFLATE_MORE;
}

static bool is_bad_sum(struct marey_inflate *gzip)
{
    const char *what = gzip->stream.msg == NULL ? "" : gzip->stream.msg;
    const bool is_sum = strcmp(what, "incorrect data check") == 0;

    gzip->n_to_skip = is_sum ? LENGTH_BYTES : 0;
    return is_sum || strcmp(what, "incorrect length check") == 0;
}

enum marey_inflate_result marey__inflate_run(struct marey_inflate *gzip,
                                             struct marey_inflate_io *io)
{
    z_stream *stream = &gzip->stream;
    const size_t cap = (size_t)1 << 30; /* its lengths have 32 bits */
    const uInt in_len = (uInt)(io->in_len < cap ? io->in_len : cap);
    const uInt out_len = (uInt)(io->out_len < cap ? io->out_len : cap);

    if (gzip->n_to_skip > 0)
        return pass_bad_sum(gzip, io);
    /* The library reads its input only, but its field is not const. */
    stream->next_in = (Bytef *)(uintptr_t)io->in;
    stream->avail_in = in_len;
    stream->next_out = io->out;
    stream->avail_out = out_len;
    const int status = inflate(stream, Z_NO_FLUSH);

    const size_t used = in_len - stream->avail_in;
    const size_t made = out_len - stream->avail_out;
    io->in += used;
    io->in_len -= used;
    io->out += made;
    io->out_len -= made;
    if (status == Z_STREAM_END)
        return MAREY_INFLATE_MEMBER;
    if (status == Z_OK || status == Z_BUF_ERROR)
        return MAREY_INFLATE_MORE;
    if (status == Z_DATA_ERROR && is_bad_sum(gzip))
        return pass_bad_sum(gzip, io);
    /* Its window is allocated when the first text is kept. */
    return status == Z_MEM_ERROR ? MAREY_INFLATE_NOMEM : MAREY_INFLATE_DAMAGED;
}
