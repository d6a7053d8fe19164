/*
 * provider.c - walks records at ascending offsets through a window of their source.
 *
 * Plain text is read from where it is needed, compressed text from the last state of the inflater
 * before it (stretch.h).
 */
#include "import/provider.h"

#include "base/error.h"
#include "base/json.h"

struct marey_places *marey__places_new(const struct marey_alloc *alloc, size_t capacity,
                                       const struct marey_reading *reading)
{
    struct marey_places *places = marey__alloc(alloc, 1, sizeof *places);

    if (places == NULL)
        return NULL;
    *places = (struct marey_places){.alloc = *alloc, .reading = *reading, .capacity = capacity};
    marey__text_init(&places->cut, alloc);
    places->place = marey__alloc_zero(alloc, capacity, sizeof *places->place);
    if (places->place == NULL) {
        marey__dealloc(alloc, places, 1, sizeof *places);
        return NULL;
    }
    return places;
}

void marey__places_free(struct marey_places *places)
{
    if (places == NULL)
        return;
    for (size_t i = 0; i < places->n; i++)
        marey__place_close(&places->place[i]);

    const struct marey_alloc alloc = places->alloc;
    marey__text_release(&places->cut);
    marey__checker_free(places->checker);
    marey__dealloc(&alloc, places->place_of, places->sources_capacity, sizeof *places->place_of);
    marey__dealloc(&alloc, places->place, places->capacity, sizeof *places->place);
    marey__dealloc(&alloc, places, 1, sizeof *places);
}

bool marey__places_assign(struct marey_places *places, size_t n_sources, uint32_t place_idx)
{
    void *place_of = places->place_of;

    if (n_sources > places->sources_capacity &&
        !marey__grow(&places->alloc, &place_of, &places->sources_capacity, n_sources,
                     sizeof *places->place_of))
        return false;
    places->place_of = place_of;
    while (places->n_sources < n_sources)
        places->place_of[places->n_sources++] = place_idx;
    return true;
}

/* The args of the record at *at, whatever windows that takes. */
static enum marey_status args_at(struct marey_feed *feed, const struct marey_scanner *scanner,
                                 const char *at, struct marey_str *args, struct marey_error *err)
{
    const char *fail = NULL;

    while (scanner->args(at, feed->text + feed->len, args, &fail) == NULL) {
        if (feed->is_end || feed->text + feed->len - fail >= MAREY_WALK_TAIL_BYTES)
            return marey__fail(err, MAREY_CHANGED,
                               "cannot read args from '%s': it changed since it was loaded, "
                               "load it again",
                               feed->place->path);
        MAREY_TRY(marey__feed_next(feed, at, err));
        at = feed->text;
    }
    return MAREY_OK;
}

/* Leaves of args what stands before the first place where their structure is none. */
static enum marey_status keep_sound(struct marey_places *places,
                                    const struct marey_scanner *scanner, struct marey_str *args,
                                    struct marey_error *err)
{
    struct marey_textbuf *cut = &places->cut;
    bool is_whole = false;

    places->verdict.is_clean = places->is_clean;
    if (places->is_sound || args->ptr == NULL)
        return MAREY_OK;
    scanner->check(places->checker, args->ptr, args->ptr + args->len);
    if (places->checker->failed)
        return marey__fail_nomem(err);
    places->verdict.is_clean = places->checker->found == 0;
    if ((places->checker->found & (uint32_t)MAREY_DAMAGE_SYNTAX) == 0)
        return MAREY_OK;
    const struct marey_str members = marey__json_sound_members(*args, MAREY_ARGS_DEPTH, &is_whole);
    if (is_whole)
        return MAREY_OK; /* but for a word */
    places->verdict.n_cut++;
    marey__text_reset(cut);
    marey__text_add_str(cut, members);
    marey__text_add_byte(cut, '}');
    *args = (struct marey_str){cut->ptr, cut->len};
    return marey__text_failed(cut) ? marey__fail_nomem(err) : MAREY_OK;
}

static bool make_checker(struct marey_places *places)
{
    if (places->is_sound || places->checker != NULL)
        return true;
    places->checker = marey__checker_new(&places->alloc, NULL);
    if (places->checker == NULL)
        return false;
    places->checker->most_depth = MAREY_ARGS_DEPTH;
    return true;
}

/* A compressed file that is damaged ends where it cannot be inflated any further, give or take
 * some bytes that depend on where the windows lie: args there are none. */
static enum marey_status find_args(struct marey_feed *feed, const struct marey_scanner *scanner,
                                   uint64_t byte, struct marey_str *args, struct marey_error *err)
{
    const char *at = NULL;
    enum marey_status status = marey__feed_seek(feed, byte, &at, err);

    if (status == MAREY_OK)
        status = args_at(feed, scanner, at, args, err);
    if (status != MAREY_CHANGED || !feed->is_gzip || !feed->is_end || !feed->gunzip.is_damaged)
        return status;
    *args = (struct marey_str){NULL, 0};
    return MAREY_OK;
}

/* The offsets of one place. Where it holds several sources, they lie in it in their order. */
struct run {
    const uint64_t *offsets;
    size_t from;
    size_t to;
    bool is_raw;
};

static enum marey_status walk_place(struct marey_places *places, struct marey_place *place,
                                    struct run run, marey_args_fn fn, void *user,
                                    struct marey_error *err)
{
    const struct marey_scanner *scanner = marey__scanner_choose(places->reading.portable_only);
    const struct marey_feed_plan plan = {.window_bytes = places->reading.window_bytes,
                                         .n_threads = places->reading.n_threads,
                                         .known = &place->stretches};
    enum marey_status status = MAREY_OK;
    struct marey_feed feed;

    MAREY_TRY(marey__place_check(place, err));
    MAREY_TRY(marey__feed_open(&feed, &places->alloc, place, &plan, err));
    for (size_t i = run.from; i < run.to && status == MAREY_OK; i++) {
        struct marey_str args = {NULL, 0};
        status = find_args(&feed, scanner, MAREY_OFFSET_BYTE(run.offsets[i]), &args, err);
        if (status == MAREY_OK && !run.is_raw)
            status = keep_sound(places, scanner, &args, err);
        if (status == MAREY_OK)
            status = fn(user, i, args);
    }
    marey__feed_close(&feed);
    return status;
}

static enum marey_status walk_runs(struct marey_places *places, struct run all, marey_args_fn fn,
                                   void *user, struct marey_error *err)
{
    const uint64_t *offsets = all.offsets;
    const size_t n = all.to;

    if (n > 0 && MAREY_OFFSET_SOURCE(offsets[n - 1]) >= places->n_sources)
        return marey__fail(err, MAREY_INVALID, "cannot read args: no source %u",
                           MAREY_OFFSET_SOURCE(offsets[n - 1]));
    for (size_t from = 0; from < n;) {
        const uint32_t place_idx = places->place_of[MAREY_OFFSET_SOURCE(offsets[from])];
        size_t to = from;
        while (to < n && places->place_of[MAREY_OFFSET_SOURCE(offsets[to])] == place_idx)
            to++;

        struct marey_place *place = &places->place[place_idx];
        const bool rests = place->fd < 0;
        const enum marey_status status =
            walk_place(places, place, (struct run){offsets, from, to, all.is_raw}, fn, user, err);
        if (rests)
            marey__place_rest(place);
        if (status != MAREY_OK)
            return status;
        from = to;
    }
    return MAREY_OK;
}

static enum marey_status walk(void *ctx, const uint64_t *offsets, size_t n, marey_args_fn fn,
                              void *user, struct marey_error *err)
{
    if (!make_checker(ctx))
        return marey__fail_nomem(err);
    return walk_runs(ctx, (struct run){offsets, 0, n, false}, fn, user, err);
}

static enum marey_status walk_raw(void *ctx, const uint64_t *offsets, size_t n, marey_args_fn fn,
                                  void *user, struct marey_error *err)
{
    return walk_runs(ctx, (struct run){offsets, 0, n, true}, fn, user, err);
}

static void release(void *ctx)
{
    marey__places_free(ctx);
}

struct marey_args_provider marey__places_provider(struct marey_places *places)
{
    return (struct marey_args_provider){.ctx = places,
                                        .walk = walk,
                                        .release = release,
                                        .walk_raw = walk_raw,
                                        .verdict = &places->verdict};
}
