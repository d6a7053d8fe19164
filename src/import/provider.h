/*
 * provider.h - args of records, read from the sources again when asked for.
 */
#ifndef MAREY_SRC_IMPORT_PROVIDER_H
#define MAREY_SRC_IMPORT_PROVIDER_H

#include "import/document.h"
#include "trace/builder.h"

/* All places of a trace. */
struct marey_places {
    struct marey_alloc alloc;
    struct marey_reading reading;
    struct marey_place *place; /* [n], by source index */
    size_t n;
    size_t capacity;
};

/* NULL without memory. */
struct marey_places *marey__places_new(const struct marey_alloc *alloc, size_t capacity,
                                       const struct marey_reading *reading);
void marey__places_free(struct marey_places *places);

/* \owns takes the places: the provider's release frees them */
struct marey_args_provider marey__places_provider(struct marey_places *places);

#endif
