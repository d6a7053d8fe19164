/*
 * gzip_isal.c - compression by ISA-L, several times as fast as zlib at its level 1.
 *
 * ISA-L has three levels with tables of its own; zlib's 4 to 9 all mean its best.
 */
#include "export/gzip.h"

#include <isa-l/igzip_lib.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"

#define OUT_BYTES ((size_t)256 * 1024)

struct marey_gzip {
    struct marey_alloc alloc;
    marey_sink_fn sink;
    void *ctx;
    struct isal_zstream stream;
    unsigned char *tables;
    size_t tables_bytes;
    unsigned char out[OUT_BYTES];
};

static const struct {
    uint32_t level;
    uint32_t tables_bytes;
} levels[] = {
    {1, ISAL_DEF_LVL1_DEFAULT},
    {2, ISAL_DEF_LVL2_DEFAULT},
    {2, ISAL_DEF_LVL2_DEFAULT},
    {3, ISAL_DEF_LVL3_DEFAULT},
};

#define N_LEVELS ((int)(sizeof levels / sizeof levels[0]))

struct marey_gzip *marey__gzip_new(const struct marey_alloc *alloc, int level, marey_sink_fn sink,
                                   void *ctx)
{
    struct marey_gzip *gzip = marey__alloc(alloc, 1, sizeof *gzip);
    if (gzip == NULL)
        return NULL;
    const int row = level < 1 ? 0 : (level < N_LEVELS ? level : N_LEVELS) - 1;
    gzip->alloc = *alloc;
    gzip->sink = sink;
    gzip->ctx = ctx;
    gzip->tables_bytes = levels[row].tables_bytes;
    /* Of zeros: it looks at places that it has not written, and what it makes must not hang on
     * them. */
    gzip->tables = marey__alloc_zero(alloc, gzip->tables_bytes, 1);
    if (gzip->tables == NULL) {
        marey__gzip_free(gzip);
        return NULL;
    }
    isal_deflate_init(&gzip->stream);
    gzip->stream.level = levels[row].level;
    gzip->stream.level_buf = gzip->tables;
    gzip->stream.level_buf_size = levels[row].tables_bytes;
    gzip->stream.gzip_flag = IGZIP_GZIP;
    return gzip;
}

void marey__gzip_free(struct marey_gzip *gzip)
{
    if (gzip == NULL)
        return;
    const struct marey_alloc alloc = gzip->alloc;
    marey__dealloc(&alloc, gzip->tables, gzip->tables_bytes, 1);
    marey__dealloc(&alloc, gzip, 1, sizeof *gzip);
}

static enum marey_status run(struct marey_gzip *gzip, struct marey_error *err)
{
    do {
        gzip->stream.next_out = gzip->out;
        gzip->stream.avail_out = OUT_BYTES;
        const int result = isal_deflate(&gzip->stream);
        MAREY_ASSERT(result == COMP_OK);
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
        const uint32_t part = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
        gzip->stream.next_in = (uint8_t *)(uintptr_t)at;
        gzip->stream.avail_in = part;
        MAREY_TRY(run(gzip, err));
        at += part;
        len -= part;
    }
    return MAREY_OK;
}

enum marey_status marey__gzip_end(struct marey_gzip *gzip, struct marey_error *err)
{
    gzip->stream.next_in = NULL;
    gzip->stream.avail_in = 0;
    gzip->stream.end_of_stream = 1;
    gzip->stream.flush = NO_FLUSH;
    return run(gzip, err);
}
