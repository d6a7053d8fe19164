/*
 * chrome_list.c - all records in the order of the file they came from.
 *
 * Args are read from that file in one pass, so its order is the order of the list; it also
 * is what readers that know no other order (torch's own tables) depend on. Flows and
 * metadata have no place in the model and no args to fetch: they are not in the list.
 */
#include "base/order.h"
#include "export/chrome.h"

#define MOST_IN_BUCKET 32

struct filler {
    struct marey_chrome_list list;
    size_t at;
    uint64_t least;
    uint64_t most;
    bool is_ordered;
};

static void add(struct filler *filler, uint64_t offset, enum marey_chrome_what what, size_t idx,
                uint32_t track)
{
    const size_t at = filler->at++;
    filler->list.offset[at] = offset;
    filler->list.ref[at] = (struct marey_chrome_ref){(uint32_t)idx, track, (uint8_t)what};
    filler->is_ordered &= filler->most <= offset;
    filler->most = offset > filler->most ? offset : filler->most;
    filler->least = offset < filler->least ? offset : filler->least;
}

static void add_slices(struct filler *filler, const struct marey_chrome *chrome)
{
    for (size_t t = 0; t < chrome->n_tracks; t++) {
        const struct marey_track *track = &chrome->tracks[t];
        for (size_t i = track->first_slice; i < (size_t)track->first_slice + track->n_slices; i++)
            add(filler, chrome->slices.offset[i],
                (chrome->slices.flags[i] & MAREY_SLICE_FROM_BEGIN) != 0 ? MAREY_CHROME_BEGIN
                                                                        : MAREY_CHROME_SLICE,
                i, (uint32_t)t);
    }
}

static void add_points(struct filler *filler, const struct marey_chrome *chrome)
{
    for (size_t i = 0; i < chrome->instants.n; i++)
        add(filler, chrome->instants.offset[i], MAREY_CHROME_INSTANT, i,
            chrome->instants.track_idx[i]);
    for (size_t i = 0; i < chrome->counters.n; i++)
        add(filler, chrome->counters.offset[i], MAREY_CHROME_COUNTER, i,
            chrome->counters.track_idx[i]);
}

static bool has_end(const struct marey_async_span *span)
{
    return span->end_offset != UINT64_MAX && span->dur_ns != MAREY_UNKNOWN;
}

static void add_spans(struct filler *filler, const struct marey_chrome *chrome)
{
    for (size_t i = 0; i < chrome->n_spans; i++) {
        const struct marey_async_span *span = &chrome->spans[i];
        add(filler, span->offset, MAREY_CHROME_ASYNC_BEGIN, i, span->track_idx);
        if (has_end(span))
            add(filler, span->end_offset, MAREY_CHROME_ASYNC_END, i, span->track_idx);
    }
}

static void add_quarantined(struct filler *filler, const struct marey_chrome *chrome)
{
    for (size_t i = 0; i < chrome->n_quarantined; i++)
        if (marey__chrome_can_write(&chrome->quarantined[i]))
            add(filler, chrome->quarantined[i].offset, MAREY_CHROME_QUARANTINED, i,
                chrome->quarantined[i].track_idx);
}

static bool list_allocate(const struct marey_alloc *alloc, struct marey_chrome_list *list, size_t n)
{
    list->n = n;
    list->offset = marey__alloc(alloc, n, sizeof *list->offset);
    list->ref = marey__alloc(alloc, n, sizeof *list->ref);
    return list->offset != NULL && list->ref != NULL;
}

static void list_release(const struct marey_alloc *alloc, struct marey_chrome_list *list)
{
    marey__dealloc(alloc, list->ref, list->n, sizeof *list->ref);
    marey__dealloc(alloc, list->offset, list->n, sizeof *list->offset);
    *list = (struct marey_chrome_list){0};
}

/* Parts of the file of equal length, about one record each. */
struct buckets {
    uint64_t least;
    unsigned shift;
    size_t n;
    uint32_t *begin; /* [n] first the count, then the place, of its records */
};

static size_t bucket_of(const struct buckets *buckets, uint64_t offset)
{
    return (size_t)((offset - buckets->least) >> buckets->shift);
}

/* Where each bucket begins, or false if one holds so many that sorting it by insertion
 * would be slow. */
static bool count_buckets(const struct buckets *buckets, const uint64_t *offset, size_t n)
{
    uint32_t *begin = buckets->begin;
    for (size_t i = 0; i < n; i++)
        begin[bucket_of(buckets, offset[i])]++;
    uint32_t sum = 0;
    bool are_small = true;
    for (size_t b = 0; b < buckets->n; b++) {
        const uint32_t here = begin[b];
        are_small &= here <= MOST_IN_BUCKET;
        begin[b] = sum;
        sum += here;
    }
    return are_small;
}

/* The records of each track come in order, so this walks memory forward on a few paths at
 * a time; a radix sort of the offsets takes three times as long. */
static void sort_by_buckets(const struct buckets *buckets, const struct marey_chrome_list *from,
                            struct marey_chrome_list *to)
{
    for (size_t i = 0; i < from->n; i++) {
        const uint32_t at = buckets->begin[bucket_of(buckets, from->offset[i])]++;
        to->offset[at] = from->offset[i];
        to->ref[at] = from->ref[i];
    }
    for (size_t i = 1; i < to->n; i++) {
        if (to->offset[i - 1] <= to->offset[i])
            continue;
        const uint64_t offset = to->offset[i];
        const struct marey_chrome_ref ref = to->ref[i];
        size_t at = i;
        for (; at > 0 && to->offset[at - 1] > offset; at--) {
            to->offset[at] = to->offset[at - 1];
            to->ref[at] = to->ref[at - 1];
        }
        to->offset[at] = offset;
        to->ref[at] = ref;
    }
}

static bool sort_by_digits(const struct marey_alloc *alloc, const struct marey_chrome_list *from,
                           struct marey_chrome_list *to)
{
    uint32_t *order = marey__alloc(alloc, from->n, sizeof *order);
    const bool done = order != NULL && marey__order_u64(alloc, from->offset, order, from->n);
    for (size_t i = 0; done && i < from->n; i++) {
        to->offset[i] = from->offset[order[i]];
        to->ref[i] = from->ref[order[i]];
    }
    marey__dealloc(alloc, order, from->n, sizeof *order);
    return done;
}

/* Replaces the list by one in ascending order of offset. */
static bool put_in_order(const struct marey_alloc *alloc, struct filler *filler)
{
    struct marey_chrome_list *list = &filler->list;
    struct marey_chrome_list sorted = {0};
    struct buckets buckets = {.least = filler->least};
    while (((filler->most - filler->least) >> buckets.shift) >= list->n)
        buckets.shift++;
    buckets.n = bucket_of(&buckets, filler->most) + 1;
    buckets.begin = marey__alloc_zero(alloc, buckets.n, sizeof *buckets.begin);

    bool done = buckets.begin != NULL && list_allocate(alloc, &sorted, list->n);
    if (done && count_buckets(&buckets, list->offset, list->n))
        sort_by_buckets(&buckets, list, &sorted);
    else if (done)
        done = sort_by_digits(alloc, list, &sorted);
    if (done) {
        const struct marey_chrome_list swap = *list;
        *list = sorted;
        sorted = swap;
    }
    list_release(alloc, &sorted);
    marey__dealloc(alloc, buckets.begin, buckets.n, sizeof *buckets.begin);
    return done;
}

bool marey__chrome_list_make(struct marey_chrome *chrome)
{
    struct filler filler = {.least = UINT64_MAX, .is_ordered = true};
    size_t n = chrome->slices.n + chrome->instants.n + chrome->counters.n;
    for (size_t i = 0; i < chrome->n_spans; i++)
        n += has_end(&chrome->spans[i]) ? 2 : 1;
    for (size_t i = 0; i < chrome->n_quarantined; i++)
        n += marey__chrome_can_write(&chrome->quarantined[i]);

    const bool has_room = list_allocate(&chrome->alloc, &filler.list, n);
    if (has_room) {
        add_slices(&filler, chrome);
        add_points(&filler, chrome);
        add_spans(&filler, chrome);
        add_quarantined(&filler, chrome);
    }
    const bool done = has_room && (filler.is_ordered || put_in_order(&chrome->alloc, &filler));
    chrome->list = filler.list;
    return done;
}

void marey__chrome_list_release(struct marey_chrome *chrome)
{
    list_release(&chrome->alloc, &chrome->list);
}
