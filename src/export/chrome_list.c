/*
 * chrome_list.c - all records in the order of the file they came from.
 *
 * Args are read from that file in one pass, so its order is the order of the list; it also
 * is what readers that know no other order (torch's own tables) depend on. Flows and
 * metadata have no place in the model and no args to fetch: they are not in the list.
 */
#include "base/order.h"
#include "export/chrome.h"

struct filler {
    struct marey_chrome_list list;
    size_t at;
    bool is_ordered;
};

static void add(struct filler *filler, uint64_t offset, enum marey_chrome_what what, size_t idx,
                uint32_t track)
{
    const size_t at = filler->at++;
    filler->list.offset[at] = offset;
    filler->list.idx[at] = (uint32_t)idx;
    filler->list.track[at] = track;
    filler->list.what[at] = (uint8_t)what;
    filler->is_ordered &= at == 0 || filler->list.offset[at - 1] <= offset;
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

static bool list_allocate(const struct marey_alloc *alloc, struct marey_chrome_list *list,
                          size_t n)
{
    list->n = n;
    list->offset = marey__alloc(alloc, n, sizeof *list->offset);
    list->idx = marey__alloc(alloc, n, sizeof *list->idx);
    list->track = marey__alloc(alloc, n, sizeof *list->track);
    list->what = marey__alloc(alloc, n, sizeof *list->what);
    return list->offset != NULL && list->idx != NULL && list->track != NULL && list->what != NULL;
}

static void list_release(const struct marey_alloc *alloc, struct marey_chrome_list *list)
{
    marey__dealloc(alloc, list->what, list->n, sizeof *list->what);
    marey__dealloc(alloc, list->track, list->n, sizeof *list->track);
    marey__dealloc(alloc, list->idx, list->n, sizeof *list->idx);
    marey__dealloc(alloc, list->offset, list->n, sizeof *list->offset);
    *list = (struct marey_chrome_list){0};
}

/* Replaces the list by one in ascending order of offset. */
static bool put_in_order(const struct marey_alloc *alloc, struct marey_chrome_list *list)
{
    struct marey_chrome_list sorted = {0};
    const size_t n = list->n;
    uint32_t *order = marey__alloc(alloc, n, sizeof *order);
    const bool done = order != NULL && list_allocate(alloc, &sorted, n) &&
                      marey__order_u64(alloc, list->offset, order, n);
    for (size_t i = 0; done && i < n; i++) {
        const uint32_t from = order[i];
        sorted.offset[i] = list->offset[from];
        sorted.idx[i] = list->idx[from];
        sorted.track[i] = list->track[from];
        sorted.what[i] = list->what[from];
    }
    if (done) {
        const struct marey_chrome_list swap = *list;
        *list = sorted;
        sorted = swap;
    }
    list_release(alloc, &sorted);
    marey__dealloc(alloc, order, n, sizeof *order);
    return done;
}

bool marey__chrome_list_make(struct marey_chrome *chrome)
{
    struct filler filler = {.is_ordered = true};
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
    chrome->list = filler.list;
    return has_room && (filler.is_ordered || put_in_order(&chrome->alloc, &chrome->list));
}

void marey__chrome_list_release(struct marey_chrome *chrome)
{
    list_release(&chrome->alloc, &chrome->list);
}
