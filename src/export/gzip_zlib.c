/*
 * gzip_zlib.c - compression by zlib, where ISA-L is not to be had.
 */
#include "export/gzip.h"

#include <limits.h>
#include <zlib.h>

#include "base/error.h"

#define OUT_BYTES ((size_t)256 * 1024)
#define GZIP_WINDOW (15 + 16) /* 32 KiB, with gzip's header and trailer */
#define MEMORY_LEVEL 8
#define SIZE_BYTES 16 /* before each block of zlib's, keeps its alignment */

struct marey_gzip {
    struct marey_alloc alloc;
    marey_sink_fn sink;
    void *ctx;
    z_stream stream;
    bool is_ready;
    unsigned char out[OUT_BYTES];
};

/* Our allocator wants sizes back, zlib does not keep them. */
static void *zlib_allocate(void *ctx, unsigned n, unsigned size)
{
    const struct marey_alloc *alloc = ctx;
    size_t bytes = 0;
    if (!marey__size_mul(n, size, &bytes) || !marey__size_add(bytes, SIZE_BYTES, &bytes))
        return NULL;
    char *block = marey__alloc_zero(alloc, bytes, 1);
    if (block == NULL)
        return NULL;
    *(size_t *)(void *)block = bytes;
    return block + SIZE_BYTES;
}

static void zlib_release(void *ctx, void *ptr)
{
    const struct marey_alloc *alloc = ctx;
    if (ptr == NULL)
        return;
    char *block = (char *)ptr - SIZE_BYTES;
    marey__dealloc(alloc, block, *(size_t *)(void *)block, 1);
}

struct marey_gzip *marey__gzip_new(const struct marey_alloc *alloc, int level, marey_sink_fn sink,
                                   void *ctx)
{
    struct marey_gzip *gzip = marey__alloc(alloc, 1, sizeof *gzip);
    if (gzip == NULL)
        return NULL;
    gzip->alloc = *alloc;
    gzip->sink = sink;
    gzip->ctx = ctx;
    gzip->stream =
        (z_stream){.zalloc = zlib_allocate, .zfree = zlib_release, .opaque = &gzip->alloc};
    gzip->is_ready = deflateInit2(&gzip->stream, level, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                                  Z_DEFAULT_STRATEGY) == Z_OK;
    if (gzip->is_ready)
        return gzip;
    marey__gzip_free(gzip);
    return NULL;
}

void marey__gzip_free(struct marey_gzip *gzip)
{
    if (gzip == NULL)
        return;
    if (gzip->is_ready)
        (void)deflateEnd(&gzip->stream);
    const struct marey_alloc alloc = gzip->alloc;
    marey__dealloc(&alloc, gzip, 1, sizeof *gzip);
}

static enum marey_status run(struct marey_gzip *gzip, int flush, struct marey_error *err)
{
    int result = Z_OK;
    do {
        gzip->stream.next_out = gzip->out;
        gzip->stream.avail_out = OUT_BYTES;
        result = deflate(&gzip->stream, flush);
        MAREY_ASSERT(result != Z_STREAM_ERROR);
        (void)result;
        const size_t made = OUT_BYTES - gzip->stream.avail_out;
        if (made > 0)
            MAREY_TRY(gzip->sink(gzip->ctx, gzip->out, made, err));
    } while (gzip->stream.avail_out == 0);
    return MAREY_OK;
}

enum marey_status marey__gzip_write(struct marey_gzip *gzip, const void *ptr, size_t len,
                                    struct marey_error *err)
{
    const unsigned char *at = ptr;
    while (len > 0) {
        const unsigned part = len < UINT_MAX ? (unsigned)len : UINT_MAX;
        gzip->stream.next_in = (z_const Bytef *)(uintptr_t)at;
        gzip->stream.avail_in = part;
        MAREY_TRY(run(gzip, Z_NO_FLUSH, err));
        at += part;
        len -= part;
    }
    return MAREY_OK;
}

enum marey_status marey__gzip_end(struct marey_gzip *gzip, struct marey_error *err)
{
    gzip->stream.next_in = NULL;
    gzip->stream.avail_in = 0;
    return run(gzip, Z_FINISH, err);
}
