/*
 * chrome_list.c - all records in the order of the file they came from.
 *
 * Args are read from that file in one pass, so its order is the order of the list; it also
 * is what readers that know no other order (torch's own tables) depend on. Flows and
 * metadata have no place in the model and no args to fetch: they are not in the list.
 *
 *   span: how many, from where to where, in order already?
 *     │ no                                              │ yes
 *   count: how many in each bucket of the file ──small──┤
 *     │ crowded: radix sort                           place
 *
 * The columns are passed over three times so that the list is written once: fresh memory
 * costs more than reading. The offsets are in the columns already and are gathered only
 * for what needs them in a row: the walk over the args, and the radix sort.
 */
#include "base/order.h"
#include "export/chrome.h"

#define MOST_IN_BUCKET 32

enum pass { PASS_SPAN, PASS_COUNT, PASS_PLACE };

/* Buckets are parts of the file of equal length, about one record each. */
struct filler {
    enum pass pass;
    size_t n;
    uint64_t least;
    uint64_t most;
    bool is_ordered;

    uint32_t *begin; /* [n_buckets] first the count, then the place, of its records */
    size_t n_buckets;
    unsigned shift;

    struct marey_chrome_list list;
    size_t at;
};

static inline size_t bucket_of(const struct filler *filler, uint64_t offset)
{
    return (size_t)((offset - filler->least) >> filler->shift);
}

static inline void add(struct filler *filler, uint64_t offset, enum marey_chrome_what what,
                       size_t idx, uint32_t track)
{
    if (filler->pass == PASS_SPAN) {
        filler->n++;
        filler->is_ordered &= filler->most <= offset;
        filler->most = offset > filler->most ? offset : filler->most;
        filler->least = offset < filler->least ? offset : filler->least;
        return;
    }
    if (filler->pass == PASS_COUNT) {
        filler->begin[bucket_of(filler, offset)]++;
        return;
    }
    const size_t at =
        filler->begin != NULL ? filler->begin[bucket_of(filler, offset)]++ : filler->at++;
    filler->list.ref[at] = (struct marey_chrome_ref){
        .idx = (uint32_t)idx,
        .track =
            (track < MAREY_CHROME_NO_TRACK ? track : MAREY_CHROME_NO_TRACK) & MAREY_CHROME_NO_TRACK,
        .what = (unsigned)what & 7U,
    };
}

/* A slice that was cut for its length is no begin where that would be lost: a repair writes one
 * without an end, which would be as long again, with the length to which it was cut; else one with
 * an end, which would end where it was cut, is written with the length that it had. */
static bool is_begin(const struct marey_chrome *chrome, size_t i)
{
    const uint8_t flags = chrome->slices.flags[i];
    const bool is_open = (flags & MAREY_SLICE_OPEN) != 0;
    const bool may_be_lost = chrome->has_raw_durs && is_open == chrome->repairs;
    return (flags & MAREY_SLICE_FROM_BEGIN) != 0 &&
           !(may_be_lost &&
             marey_trace_raw_dur_ns(chrome->trace, (uint32_t)i) != chrome->slices.dur_ns[i]);
}

static void add_slices(struct filler *filler, const struct marey_chrome *chrome)
{
    const uint64_t *offset = chrome->slices.offset;
    for (size_t t = 0; t < chrome->n_tracks; t++) {
        const struct marey_track *track = &chrome->tracks[t];
        for (size_t i = track->first_slice; i < (size_t)track->first_slice + track->n_slices; i++)
            add(filler, offset[i], is_begin(chrome, i) ? MAREY_CHROME_BEGIN : MAREY_CHROME_SLICE, i,
                (uint32_t)t);
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

static void add_spans(struct filler *filler, const struct marey_chrome *chrome)
{
    for (size_t i = 0; i < chrome->n_spans; i++) {
        const struct marey_async_span *span = &chrome->spans[i];
        add(filler, span->offset, MAREY_CHROME_ASYNC_BEGIN, i, span->track_idx);
        if (span->end_offset != UINT64_MAX && span->dur_ns != MAREY_UNKNOWN)
            add(filler, span->end_offset, MAREY_CHROME_ASYNC_END, i, span->track_idx);
    }
}

static void add_quarantined(struct filler *filler, const struct marey_chrome *chrome)
{
    for (size_t i = 0; i < chrome->n_quarantined; i++)
        if (marey__chrome_can_write(chrome, &chrome->quarantined[i]))
            add(filler, chrome->quarantined[i].offset, MAREY_CHROME_QUARANTINED, i,
                chrome->quarantined[i].track_idx);
}

static void run_pass(struct filler *filler, const struct marey_chrome *chrome, enum pass pass)
{
    filler->pass = pass;
    add_slices(filler, chrome);
    add_points(filler, chrome);
    add_spans(filler, chrome);
    add_quarantined(filler, chrome);
}

static uint64_t offset_of(const struct marey_chrome *chrome, struct marey_chrome_ref ref)
{
    switch ((enum marey_chrome_what)ref.what) {
    case MAREY_CHROME_SLICE:
    case MAREY_CHROME_BEGIN:
        return chrome->slices.offset[ref.idx];
    case MAREY_CHROME_INSTANT:
        return chrome->instants.offset[ref.idx];
    case MAREY_CHROME_COUNTER:
        return chrome->counters.offset[ref.idx];
    case MAREY_CHROME_ASYNC_BEGIN:
        return chrome->spans[ref.idx].offset;
    case MAREY_CHROME_ASYNC_END:
        return chrome->spans[ref.idx].end_offset;
    case MAREY_CHROME_QUARANTINED:
        return chrome->quarantined[ref.idx].offset;
    case MAREY_CHROME_END:
    case MAREY_CHROME_FLOW:
    case MAREY_CHROME_N_WHATS:
        break;
    }
    return 0;
}

static bool gather_offsets(const struct marey_chrome *chrome, struct marey_chrome_list *list)
{
    if (list->offset == NULL)
        list->offset = marey__alloc(&chrome->alloc, list->n, sizeof *list->offset);
    for (size_t i = 0; list->offset != NULL && i < list->n; i++)
        list->offset[i] = offset_of(chrome, list->ref[i]);
    return list->offset != NULL;
}

static void list_release(const struct marey_alloc *alloc, struct marey_chrome_list *list)
{
    marey__dealloc(alloc, list->ref, list->n, sizeof *list->ref);
    marey__dealloc(alloc, list->offset, list->n, sizeof *list->offset);
    *list = (struct marey_chrome_list){0};
}

/* ---- buckets ---- */

static bool make_buckets(const struct marey_alloc *alloc, struct filler *filler)
{
    while (((filler->most - filler->least) >> filler->shift) >= filler->n)
        filler->shift++;
    filler->n_buckets = bucket_of(filler, filler->most) + 1;
    filler->begin = marey__alloc_zero(alloc, filler->n_buckets, sizeof *filler->begin);
    return filler->begin != NULL;
}

static void release_buckets(const struct marey_alloc *alloc, struct filler *filler)
{
    marey__dealloc(alloc, filler->begin, filler->n_buckets, sizeof *filler->begin);
    filler->begin = NULL;
}

/* From counts to places; false if a bucket holds so many that insertion would be slow. */
static bool begin_buckets(struct filler *filler)
{
    uint32_t sum = 0;
    bool are_small = true;
    for (size_t b = 0; b < filler->n_buckets; b++) {
        const uint32_t here = filler->begin[b];
        are_small &= here <= MOST_IN_BUCKET;
        filler->begin[b] = sum;
        sum += here;
    }
    return are_small;
}

/* Records of one bucket may stand in any order. */
static void sort_by_insertion(const struct marey_chrome *chrome, struct marey_chrome_list *list)
{
    uint64_t before = 0; /* the offset of the record before */
    for (size_t i = 0; i < list->n; i++) {
        const struct marey_chrome_ref ref = list->ref[i];
        const uint64_t offset = offset_of(chrome, ref);
        if (before <= offset) {
            before = offset;
            continue;
        }
        size_t at = i;
        for (; at > 0 && offset_of(chrome, list->ref[at - 1]) > offset; at--)
            list->ref[at] = list->ref[at - 1];
        list->ref[at] = ref;
    }
}

static bool sort_by_digits(const struct marey_chrome *chrome, struct marey_chrome_list *list)
{
    const struct marey_alloc *alloc = &chrome->alloc;
    uint32_t *order = marey__alloc(alloc, list->n, sizeof *order);
    struct marey_chrome_ref *sorted = marey__alloc(alloc, list->n, sizeof *sorted);
    const bool done = order != NULL && sorted != NULL && gather_offsets(chrome, list) &&
                      marey__order_u64(alloc, list->offset, order, list->n);
    for (size_t i = 0; done && i < list->n; i++)
        sorted[i] = list->ref[order[i]];
    if (done) {
        struct marey_chrome_ref *const unsorted = list->ref;
        list->ref = sorted;
        sorted = unsorted;
    }
    marey__dealloc(alloc, sorted, list->n, sizeof *sorted);
    marey__dealloc(alloc, order, list->n, sizeof *order);
    return done;
}

/* ---- the list ---- */

bool marey__chrome_list_make(struct marey_chrome *chrome)
{
    const struct marey_alloc *alloc = &chrome->alloc;
    struct filler filler = {.least = UINT64_MAX, .is_ordered = true};
    run_pass(&filler, chrome, PASS_SPAN);
    bool is_crowded = false;
    if (!filler.is_ordered) {
        if (!make_buckets(alloc, &filler))
            return false;
        run_pass(&filler, chrome, PASS_COUNT);
        is_crowded = !begin_buckets(&filler);
        if (is_crowded)
            release_buckets(alloc, &filler);
    }
    filler.list.n = filler.n;
    filler.list.ref = marey__alloc(alloc, filler.n, sizeof *filler.list.ref);
    bool done = filler.list.ref != NULL;
    if (done) {
        run_pass(&filler, chrome, PASS_PLACE);
        if (is_crowded)
            done = sort_by_digits(chrome, &filler.list);
        else if (!filler.is_ordered)
            sort_by_insertion(chrome, &filler.list);
    }
    done = done &&
           ((chrome->omit_args && chrome->n_sources < 2) || gather_offsets(chrome, &filler.list));
    release_buckets(alloc, &filler);
    chrome->list = filler.list;
    return done;
}

void marey__chrome_list_release(struct marey_chrome *chrome)
{
    list_release(&chrome->alloc, &chrome->list);
}
