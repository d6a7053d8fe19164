/*
 * gzip.h - text to one gzip member, block by block.
 *
 * Two implementations, chosen by the build: gzip_isal.c and gzip_zlib.c. The header holds
 * no time and no name: the same input gives the same bytes.
 */
#ifndef MAREY_SRC_EXPORT_GZIP_H
#define MAREY_SRC_EXPORT_GZIP_H

#include <stdbool.h>

#include "base/alloc.h"
#include "marey/export.h"

struct marey_gzip;

/* Takes compressed bytes. */
typedef marey_write_fn marey_sink_fn;

/* Level 1 to 9. NULL without memory. */
struct marey_gzip *marey__gzip_new(const struct marey_alloc *alloc, int level, marey_sink_fn sink,
                                   void *ctx);
void marey__gzip_free(struct marey_gzip *gzip);

/* \fails what the sink fails with */
MAREY_MUST_CHECK enum marey_status marey__gzip_write(struct marey_gzip *gzip, const void *ptr,
                                                     size_t len, struct marey_error *err);
MAREY_MUST_CHECK enum marey_status marey__gzip_end(struct marey_gzip *gzip,
                                                   struct marey_error *err);

#endif
