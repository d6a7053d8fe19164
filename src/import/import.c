/*
 * import.c - the public entry points: open each place, read it into the builder, finish.
 *
 *   place ──feed──> windows of text ──document──> list ──walk──> records ──kineto──> builder
 *     └───────────────────────── provider (args, later) <──────────────────────────────┘
 */
#include "import/import.h"

#include <stddef.h>
#include <string.h>

#include "base/cores.h"
#include "base/error.h"
#include "base/hashmap.h"
#include "import/provider.h"

/* Places above this number rest between uses, so that a job of a thousand ranks does not
 * use up the descriptors of its process. */
enum { MAX_OPEN_PLACES = 128 };

/* More threads than some do not help, since one of them adds what the others find. */
enum { USUAL_THREADS = 8, MOST_THREADS = 64 };

/* A load under way. */
struct load {
    struct marey_alloc alloc;
    struct marey_builder *builder;
    struct marey_places *places;
    struct marey_kineto kineto;
    struct marey_hashmap opened; /* files by device and inode -> their place */
};

static size_t threads_of(const struct marey_reading *reading)
{
    const size_t n_cores = marey__n_cores();

    if (reading->n_threads > 0)
        return reading->n_threads < MOST_THREADS ? reading->n_threads : MOST_THREADS;
    return n_cores < USUAL_THREADS ? n_cores : USUAL_THREADS;
}

static enum marey_status load_begin(struct load *load, const struct marey_alloc *alloc, size_t n,
                                    const struct marey_reading *reading, struct marey_error *err)
{
    struct marey_reading resolved = *reading;

    resolved.n_threads = threads_of(reading);
    /* Not by a compound literal: Clang would keep a second one of these in the frame. */
    memset(load, 0, sizeof *load);
    load->alloc = *alloc;
    marey__hashmap_init(&load->opened, alloc);
    load->builder = marey__builder_new(alloc);
    if (load->builder != NULL && reading->checks_all)
        marey__builder_set_checked(load->builder, MAREY_CHECK_ALL);
    load->places = marey__places_new(alloc, n, &resolved);
    if (load->builder == NULL || load->places == NULL ||
        !marey__kineto_init(&load->kineto, alloc, load->builder))
        return marey__fail_nomem(err);
    marey__builder_use_threads(load->builder, resolved.n_threads);
    return MAREY_OK;
}

static void load_end(struct load *load)
{
    marey__hashmap_release(&load->opened);
    marey__kineto_release(&load->kineto);
    marey__places_free(load->places);
    marey__builder_free(load->builder);
}

/* The same file twice would be two ranks of a job that had one. */
static enum marey_status check_new(struct load *load, uint32_t place_idx, struct marey_error *err)
{
    const struct marey_place *place = &load->places->place[place_idx];
    const struct marey_place_id *id = &place->id;

    for (uint32_t i = 0; strcmp(place->path, "-") == 0 && i < place_idx; i++)
        if (strcmp(load->places->place[i].path, "-") == 0)
            return marey__fail(err, MAREY_INVALID,
                               "cannot read '-': standard input is named twice");
    if (place->is_spill)
        return MAREY_OK;
    uint32_t *first =
        marey__hashmap_put(&load->opened, (uint64_t)id->inode ^ ((uint64_t)id->device << 40));
    if (first == NULL)
        return marey__fail_nomem(err);
    if (*first == MAREY_NONE) {
        *first = place_idx;
        return MAREY_OK;
    }
    const struct marey_place *other = &load->places->place[*first];
    if (other->id.inode != id->inode || other->id.device != id->device)
        return MAREY_OK; /* another file whose key is the same by chance */
    return marey__fail(err, MAREY_INVALID,
                       "cannot read '%s': it is the same file as '%s', name each file once",
                       place->path, other->path);
}

/* Reads the place that was opened last. */
static enum marey_status load_place(struct load *load, struct marey_error *err)
{
    struct marey_place *place = &load->places->place[load->places->n - 1];
    const uint32_t source_idx = marey__builder_begin_source(load->builder, place->path);

    if (source_idx == MAREY_NONE)
        return marey__builder_failed(load->builder)
                   ? marey__fail_nomem(err)
                   : marey__fail(err, MAREY_LIMIT,
                                 "cannot read '%s': a trace holds at most 65535 files",
                                 place->path);
    marey__kineto_begin_source(&load->kineto, source_idx);
    marey__stretches_init(&place->stretches, &load->alloc, load->places->reading.stretch_bytes);
    MAREY_TRY(marey__document_read(&load->kineto, place, &load->alloc, &load->places->reading,
                                   &place->stretches, err));
    return marey__places_assign(load->places, load->kineto.source_idx + (size_t)1,
                                (uint32_t)load->places->n - 1)
               ? MAREY_OK
               : marey__fail_nomem(err);
}

static enum marey_status load_finish(struct load *load, struct marey_trace **trace,
                                     struct marey_error *err)
{
    const struct marey_args_provider provider = marey__places_provider(load->places);

    if (load->places->reading.checks_all) {
        load->places->is_sound = (load->kineto.damage & (uint32_t)MAREY_DAMAGE_SYNTAX) == 0;
        load->places->is_clean = load->kineto.damage == 0;
    }
    load->places = NULL; /* the builder takes it, also when it fails */
    return marey__builder_finish(load->builder, provider, trace, err);
}

enum marey_status marey__import_files(const char *const *paths, size_t n,
                                      const struct marey_alloc *alloc,
                                      const struct marey_reading *reading,
                                      struct marey_trace **trace, struct marey_error *err)
{
    struct load load;
    enum marey_status status = load_begin(&load, alloc, n, reading, err);

    for (size_t i = 0; i < n && status == MAREY_OK; i++) {
        struct marey_place *place = &load.places->place[i];
        status = marey__place_open(place, alloc, paths[i], err);
        if (status != MAREY_OK)
            break;
        load.places->n = i + 1;
        status = check_new(&load, (uint32_t)i, err);
        if (status == MAREY_OK)
            status = load_place(&load, err);
        if (i >= MAX_OPEN_PLACES)
            marey__place_rest(place);
    }
    if (status == MAREY_OK)
        status = load_finish(&load, trace, err);
    load_end(&load);
    return status;
}

enum marey_status marey__import_bytes(struct marey_str bytes, const struct marey_alloc *alloc,
                                      const struct marey_reading *reading,
                                      struct marey_trace **trace, struct marey_error *err)
{
    struct load load;
    enum marey_status status = load_begin(&load, alloc, 1, reading, err);

    if (status == MAREY_OK)
        status = marey__place_copy(&load.places->place[0], alloc, bytes, err);
    if (status == MAREY_OK) {
        load.places->n = 1;
        status = load_place(&load, err);
    }
    if (status == MAREY_OK)
        status = load_finish(&load, trace, err);
    load_end(&load);
    return status;
}

/* ---- public --------------------------------------------------------------------------- */

static struct marey_alloc alloc_of(const struct marey_import_options *options)
{
    const size_t least = offsetof(struct marey_import_options, alloc) + sizeof options->alloc;
    const bool has_alloc = options != NULL && options->size >= least;
    return marey__alloc_or_default(has_alloc ? options->alloc : NULL);
}

static struct marey_reading reading_of(const struct marey_import_options *options)
{
    const size_t up_to_threads =
        offsetof(struct marey_import_options, n_threads) + sizeof options->n_threads;
    const size_t up_to_check = offsetof(struct marey_import_options, check) + sizeof options->check;
    const size_t size = options != NULL ? options->size : 0;

    return (struct marey_reading){
        .n_threads = size >= up_to_threads ? options->n_threads : 0,
        .checks_all = size >= up_to_check && options->check == MAREY_CHECK_ALL,
    };
}

enum marey_status marey_import_file(const char *path, const struct marey_import_options *options,
                                    struct marey_trace **trace, struct marey_error *err)
{
    return marey_import_files(&path, 1, options, trace, err);
}

enum marey_status marey_import_files(const char *const *paths, size_t n,
                                     const struct marey_import_options *options,
                                     struct marey_trace **trace, struct marey_error *err)
{
    const struct marey_alloc alloc = alloc_of(options);
    const struct marey_reading reading = reading_of(options);

    if (n == 0)
        return marey__fail(err, MAREY_INVALID, "cannot read a trace: no file is named");
    return marey__import_files(paths, n, &alloc, &reading, trace, err);
}

enum marey_status marey_import_bytes(struct marey_str bytes,
                                     const struct marey_import_options *options,
                                     struct marey_trace **trace, struct marey_error *err)
{
    const struct marey_alloc alloc = alloc_of(options);
    const struct marey_reading reading = reading_of(options);

    return marey__import_bytes(bytes, &alloc, &reading, trace, err);
}
