/*
 * provider.h - args of records, read from the sources again when asked for.
 */
#ifndef MAREY_SRC_IMPORT_PROVIDER_H
#define MAREY_SRC_IMPORT_PROVIDER_H

#include "import/check.h"
#include "import/document.h"
#include "trace/builder.h"

/* All places of a trace. */
struct marey_places {
    struct marey_alloc alloc;
    struct marey_reading reading;
    struct marey_place *place; /* [n] */
    size_t n;
    size_t capacity;
    uint32_t *place_of; /* [n_sources]: a file may hold several traces */
    size_t n_sources;
    size_t sources_capacity;
    bool is_sound;                 /* all args were looked at and none had a broken structure */
    bool is_clean;                 /* nor anything else that JSON does not have */
    struct marey_checker *checker; /* made when args are first asked for */
    struct marey_textbuf cut;      /* args without what is broken */
    struct marey_args_verdict verdict;
};

/* NULL without memory. */
struct marey_places *marey__places_new(const struct marey_alloc *alloc, size_t capacity,
                                       const struct marey_reading *reading);
void marey__places_free(struct marey_places *places);

/* Tells the place of the sources up to n_sources that have none yet. False without memory. */
bool marey__places_assign(struct marey_places *places, size_t n_sources, uint32_t place_idx);

/* \owns takes the places: the provider's release frees them */
struct marey_args_provider marey__places_provider(struct marey_places *places);

#endif
