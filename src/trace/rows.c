/*
 * rows.c - from file order to the order of the model: by track, then by time.
 *
 * Rows are grouped by track with a counting sort; in a track they mostly lie in a few
 * long runs that are merged. Columns are then gathered one after another, each into the
 * memory that the one before it left: fresh pages cost more than the copying. Those of one
 * width go first, and their block goes back before the next one is taken: what an import
 * needs at its peak is all columns and this.
 */
#include "trace/rows.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/sort.h"
#include "base/str.h"
#include "trace/build.h"

/* perm[n]: rows by track, in file order within one. first[n_tracks + 1] where they begin.
 * Rows for which `flags` holds MAREY_ROW_DROPPED are left out. */
static size_t group_rows(const uint32_t *track_of_row, const uint8_t *flags, size_t n,
                         uint32_t *perm, uint32_t *first, size_t n_tracks)
{
    for (size_t t = 0; t <= n_tracks; t++)
        first[t] = 0;
    for (size_t i = 0; i < n; i++)
        if (flags == NULL || (flags[i] & MAREY_ROW_DROPPED) == 0)
            first[track_of_row[i] + 1]++;
    for (size_t t = 0; t < n_tracks; t++)
        first[t + 1] += first[t];
    const size_t n_kept = first[n_tracks];
    for (size_t i = 0; i < n; i++)
        if (flags == NULL || (flags[i] & MAREY_ROW_DROPPED) == 0)
            perm[first[track_of_row[i]]++] = (uint32_t)i;
    for (size_t t = n_tracks; t > 0; t--)
        first[t] = first[t - 1];
    first[0] = 0;
    return n_kept;
}

/* How rows of a table are put in order. */
struct sorting {
    const struct marey_alloc *alloc;
    uint32_t *perm;
    const uint32_t *first;    /* [n_tracks + 1] */
    const bool *is_wanted;    /* [n_tracks]; NULL: all tracks are */
    const int64_t *ts_ns;     /* what goes first */
    marey_compare_fn compare; /* of rows at the same time */
    const void *ctx;
};

static bool sort_tracks_rows(void *ctx, size_t from, size_t to)
{
    const struct sorting *s = ctx;
    for (size_t t = from; t < to; t++)
        if ((s->is_wanted == NULL || s->is_wanted[t]) &&
            !marey__sort_by_key(s->alloc, s->perm + s->first[t], s->first[t + 1] - s->first[t],
                                s->ts_ns, s->compare, s->ctx))
            return false;
    return true;
}

static size_t threads_for(const struct marey_trace *trace, size_t n_rows)
{
    return n_rows < MAREY_PARALLEL_ROWS ? 1 : trace->n_threads;
}

static bool sort_groups(const struct marey_trace *trace, struct sorting *sorting)
{
    const size_t n_tracks = trace->tracks.n;
    return marey__parallel(threads_for(trace, sorting->first[n_tracks]), n_tracks, 1,
                           sort_tracks_rows, sorting);
}

struct gathering {
    const void *from;
    void *to;
    const uint32_t *perm;
};

/* A block to gather columns of one width into, as large as one of the table's. */
struct spare {
    const struct marey_alloc *alloc;
    size_t capacity;
    void *block;
    size_t size_bytes; /* of an element */
};

static void spare_release(struct spare *spare)
{
    marey__dealloc(spare->alloc, spare->block, spare->capacity, spare->size_bytes);
    spare->block = NULL;
}

/* A block of another width. */
static bool spare_take(struct spare *spare, size_t size_bytes)
{
    spare_release(spare);
    spare->size_bytes = size_bytes;
    spare->block = marey__alloc(spare->alloc, spare->capacity, size_bytes);
    return spare->block != NULL;
}

/* Moves a column into the order of perm: the spare takes the result and becomes the column,
 * the old column becomes the spare. */
#define DEFINE_GATHER(name, type)                                                                  \
    static bool name##_rows(void *ctx, size_t from, size_t to)                                     \
    {                                                                                              \
        const struct gathering *g = ctx;                                                           \
        const type *column = g->from;                                                              \
        type *sorted = g->to;                                                                      \
        for (size_t i = from; i < to; i++)                                                         \
            sorted[i] = column[g->perm[i]];                                                        \
        return true;                                                                               \
    }                                                                                              \
                                                                                                   \
    static void name(const struct order *order, type **column, struct spare *spare)                \
    {                                                                                              \
        struct gathering g = {*column, spare->block, order->perm};                                 \
        (void)marey__parallel(order->n_threads, order->n, MAREY_PARALLEL_ROWS, name##_rows, &g);   \
        spare->block = *column;                                                                    \
        *column = g.to;                                                                            \
    }

/* The order that all columns of a table take. */
struct order {
    const uint32_t *perm;
    size_t n;
    size_t n_threads;
};

DEFINE_GATHER(gather_i64, int64_t)
DEFINE_GATHER(gather_u64, uint64_t)
DEFINE_GATHER(gather_u32, uint32_t)
DEFINE_GATHER(gather_u8, uint8_t)

/* ---- slices ------------------------------------------------------------- */

struct slice_order {
    const struct marey_trace *trace;
    uint8_t rank[MAREY_N_CATEGORIES]; /* law 2's order of kinds */
};

static int compare_names(const struct marey_trace *trace, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    const int order = marey__str_compare(marey__intern_text(&trace->strings, a),
                                         marey__intern_text(&trace->strings, b));
    return order != 0 ? order : (a == MAREY_NONE ? -1 : 1);
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Slices of one interval, rank and name, but for their place in the file. */
static int compare_alike(const struct marey_trace *trace, uint32_t a, uint32_t b)
{
    const struct marey_slice_columns *slices = &trace->slices;
    if ((slices->dur_ns[a] == MAREY_UNKNOWN) != (slices->dur_ns[b] == MAREY_UNKNOWN))
        return slices->dur_ns[a] == MAREY_UNKNOWN ? 1 : -1;
    const struct marey_category *x = &trace->category[slices->cat_id[a]];
    const struct marey_category *y = &trace->category[slices->cat_id[b]];
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return compare_names(trace, x->name_id, y->name_id);
}

/* Slices that begin together, but for their place in the file. */
static int compare_seen(const void *ctx, uint32_t a, uint32_t b)
{
    const struct slice_order *order = ctx;
    const struct marey_slice_columns *slices = &order->trace->slices;
    const int64_t dur_a = slices->dur_ns[a] < 0 ? 0 : slices->dur_ns[a];
    const int64_t dur_b = slices->dur_ns[b] < 0 ? 0 : slices->dur_ns[b];
    if (dur_a != dur_b)
        return dur_a > dur_b ? -1 : 1;
    const int rank = order->rank[slices->cat_id[a]] - order->rank[slices->cat_id[b]];
    if (rank != 0)
        return rank;
    const int name = compare_names(order->trace, slices->name_id[a], slices->name_id[b]);
    return name != 0 ? name : compare_alike(order->trace, a, b);
}

/* What tells slices apart goes before their place in the file, so that equal places in the order
 * hold equal slices (law 6). */
static int compare_slices(const void *ctx, uint32_t a, uint32_t b)
{
    const struct slice_order *order = ctx;
    const uint64_t *offset = order->trace->slices.offset;
    const int seen = compare_seen(order, a, b);
    return seen != 0 ? seen : compare_u64(offset[a], offset[b]);
}

/* Rows come with the place of their link; the order of slices becomes that of links. */
static bool reorder_links(struct marey_trace *trace, const uint32_t *perm, size_t n_rows)
{
    struct marey_link_columns *links = &trace->links;
    const struct marey_alloc *alloc = &trace->alloc;
    if (links->n == 0)
        return true;
    uint32_t *link_of_row = marey__alloc(alloc, n_rows, sizeof *link_of_row);
    uint32_t *slice_idx = marey__alloc(alloc, links->capacity, sizeof *slice_idx);
    uint64_t *correlation = marey__alloc(alloc, links->capacity, sizeof *correlation);
    const bool has_room = link_of_row != NULL && slice_idx != NULL && correlation != NULL;
    if (has_room) {
        for (size_t i = 0; i < links->n; i++)
            link_of_row[links->slice_idx[i]] = (uint32_t)i;
        size_t n = 0;
        for (size_t i = 0; i < trace->slices.n; i++) {
            if ((trace->slices.flags[i] & MAREY_ROW_LINKED) == 0)
                continue;
            slice_idx[n] = (uint32_t)i;
            correlation[n++] = links->correlation[link_of_row[perm[i]]];
            trace->slices.flags[i] &= (uint8_t)~MAREY_ROW_LINKED;
        }
        links->n = n;
        uint32_t *old_idx = links->slice_idx;
        uint64_t *old_correlation = links->correlation;
        links->slice_idx = slice_idx;
        links->correlation = correlation;
        slice_idx = old_idx;
        correlation = old_correlation;
    }
    marey__dealloc(alloc, correlation, links->capacity, sizeof *correlation);
    marey__dealloc(alloc, slice_idx, links->capacity, sizeof *slice_idx);
    marey__dealloc(alloc, link_of_row, n_rows, sizeof *link_of_row);
    return has_room;
}

static bool gather_slices(const struct marey_alloc *alloc, struct marey_slice_columns *slices,
                          const struct order *order)
{
    struct spare spare = {.alloc = alloc, .capacity = slices->capacity};
    bool is_done = spare_take(&spare, sizeof *slices->start_ns);
    if (is_done) {
        gather_i64(order, &slices->start_ns, &spare);
        gather_i64(order, &slices->dur_ns, &spare);
        gather_u64(order, &slices->offset, &spare);
        is_done = spare_take(&spare, sizeof *slices->name_id);
    }
    if (is_done) {
        gather_u32(order, &slices->name_id, &spare);
        is_done = spare_take(&spare, sizeof *slices->flags);
    }
    if (is_done) {
        gather_u8(order, &slices->cat_id, &spare);
        gather_u8(order, &slices->flags, &spare);
        slices->n = order->n;
    }
    spare_release(&spare);
    return is_done;
}

static struct slice_order slice_order_of(const struct marey_trace *trace)
{
    struct slice_order order = {.trace = trace};
    for (size_t i = 0; i < trace->n_categories; i++)
        order.rank[i] = marey__kind_rank(trace->category[i].kind);
    return order;
}

bool marey__order_slices(const struct marey_trace *trace, const bool *is_wanted, uint32_t *perm,
                         uint32_t *first)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const struct slice_order order = slice_order_of(trace);
    (void)group_rows(slices->parent_idx, slices->flags, slices->n, perm, first, trace->tracks.n);
    return sort_groups(trace, &(struct sorting){&trace->alloc, perm, first, is_wanted,
                                                slices->start_ns, compare_slices, &order});
}

bool marey__order_again(const struct marey_trace *trace, uint32_t *row, size_t n)
{
    const struct slice_order order = slice_order_of(trace);
    return marey__sort_by_key(&trace->alloc, row, n, trace->slices.start_ns, compare_seen, &order);
}

static bool is_any_dropped(const struct marey_slice_columns *slices)
{
    uint8_t flags = 0;

    for (size_t i = 0; i < slices->n; i++)
        flags |= slices->flags[i];
    return (flags & MAREY_ROW_DROPPED) != 0;
}

/* Where the rows of the track at hand end, and whether two of them begin together. 0: they are not
 * in order. */
static size_t end_of_track(const struct slice_order *order, size_t from, bool *begin_together)
{
    const struct marey_slice_columns *slices = &order->trace->slices;
    const uint32_t *track_idx = slices->parent_idx;
    const int64_t *start_ns = slices->start_ns;
    const uint32_t track = track_idx[from];
    size_t i = from + 1;

    for (; i < slices->n && track_idx[i] == track; i++) {
        if (__builtin_expect(start_ns[i - 1] < start_ns[i], true))
            continue;
        if (start_ns[i - 1] > start_ns[i] ||
            compare_slices(order, (uint32_t)i - 1, (uint32_t)i) > 0)
            return 0;
        *begin_together = true;
    }
    return i;
}

/* Whether the rows are in order as they were added: a recorded thread's are. None was dropped. Then
 * tracks know how many they have. */
static bool is_in_order(struct marey_trace *trace, const struct slice_order *order,
                        bool *begin_together)
{
    const uint32_t *track_idx = trace->slices.parent_idx;
    size_t to = 0;

    *begin_together = false;
    if (is_any_dropped(&trace->slices))
        return false;
    for (size_t t = 0; t < trace->tracks.n; t++)
        trace->tracks.at[t].n_slices = 0;
    for (size_t from = 0; from < trace->slices.n; from = to) {
        if (from > 0 && track_idx[from - 1] > track_idx[from])
            return false;
        to = end_of_track(order, from, begin_together);
        if (to == 0)
            return false;
        trace->tracks.at[track_idx[from]].n_slices = (uint32_t)(to - from);
    }
    return true;
}

/* Where the rows of each track begin, which lie together. */
static void place_tracks(struct marey_trace *trace)
{
    uint32_t first = 0;

    for (size_t t = 0; t < trace->tracks.n; t++) {
        trace->tracks.at[t].first_slice = first;
        first += trace->tracks.at[t].n_slices;
    }
}

bool marey__sort_slices(struct marey_trace *trace, bool *begin_together)
{
    struct marey_slice_columns *slices = &trace->slices;
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = slices->n;
    const size_t n_tracks = trace->tracks.n;
    const struct slice_order order = slice_order_of(trace);
    if (trace->links.n == 0 && is_in_order(trace, &order, begin_together)) {
        place_tracks(trace);
        return true;
    }

    *begin_together = true; /* not looked for */
    uint32_t *perm = marey__alloc(alloc, n, sizeof *perm);
    uint32_t *first = marey__alloc(alloc, n_tracks + 1, sizeof *first);
    bool is_done = perm != NULL && first != NULL;
    if (is_done) {
        const size_t n_kept =
            group_rows(slices->parent_idx, slices->flags, n, perm, first, n_tracks);
        is_done = sort_groups(trace, &(struct sorting){alloc, perm, first, NULL, slices->start_ns,
                                                       compare_slices, &order});
        is_done =
            is_done &&
            gather_slices(alloc, slices, &(struct order){perm, n_kept, threads_for(trace, n_kept)});
        if (is_done) {
            for (size_t t = 0; t < n_tracks; t++) {
                trace->tracks.at[t].first_slice = first[t];
                trace->tracks.at[t].n_slices = first[t + 1] - first[t];
            }
            is_done = reorder_links(trace, perm, n);
        }
    }
    marey__dealloc(alloc, first, n_tracks + 1, sizeof *first);
    marey__dealloc(alloc, perm, n, sizeof *perm);
    return is_done;
}

/* ---- instants and counters ------------------------------------------------ */

struct point_order {
    const struct marey_trace *trace;
    const struct marey_point_columns *points;
};

static int compare_points(const void *ctx, uint32_t a, uint32_t b)
{
    const struct point_order *order = ctx;
    const struct marey_point_columns *points = order->points;
    const int name = compare_names(order->trace, points->name_id[a], points->name_id[b]);
    return name != 0 ? name : compare_u64(points->offset[a], points->offset[b]);
}

static bool gather_points(const struct marey_alloc *alloc, struct marey_point_columns *points,
                          const struct order *order)
{
    struct spare spare = {.alloc = alloc, .capacity = points->capacity};
    bool is_done = spare_take(&spare, sizeof *points->ts_ns);
    if (is_done) {
        gather_i64(order, &points->ts_ns, &spare);
        gather_u64(order, &points->offset, &spare);
        is_done = spare_take(&spare, sizeof *points->name_id);
    }
    if (is_done) {
        gather_u32(order, &points->track_idx, &spare);
        gather_u32(order, &points->name_id, &spare);
        is_done = spare_take(&spare, sizeof *points->scope);
    }
    if (is_done) {
        gather_u8(order, &points->cat_id, &spare);
        gather_u8(order, &points->scope, &spare);
    }
    spare_release(&spare);
    return is_done;
}

bool marey__sort_points(struct marey_trace *trace, struct marey_point_columns *points)
{
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = points->n;
    const size_t n_tracks = trace->tracks.n;
    const struct point_order order = {trace, points};
    if (n == 0)
        return true;
    uint32_t *perm = marey__alloc(alloc, n, sizeof *perm);
    uint32_t *first = marey__alloc(alloc, n_tracks + 1, sizeof *first);
    bool is_done = perm != NULL && first != NULL;
    if (is_done) {
        (void)group_rows(points->track_idx, NULL, n, perm, first, n_tracks);
        is_done = sort_groups(trace, &(struct sorting){alloc, perm, first, NULL, points->ts_ns,
                                                       compare_points, &order});
    }
    is_done =
        is_done && gather_points(alloc, points, &(struct order){perm, n, threads_for(trace, n)});
    marey__dealloc(alloc, first, n_tracks + 1, sizeof *first);
    marey__dealloc(alloc, perm, n, sizeof *perm);
    return is_done;
}

/* ---- flows ------------------------------------------------------------------ */

/* Ids of text, whose top bit is set, hold the number of their string, which is of the order in the
 * file, as those of labels are: what they say decides. */
static int compare_flow_ids(const struct marey_trace *trace, uint64_t a, uint64_t b)
{
    const uint64_t top = UINT64_C(1) << 63;
    if (a == b || (a & b & top) == 0)
        return compare_u64(a, b);
    return compare_names(trace, (uint32_t)a, (uint32_t)b);
}

static int compare_labels(const struct marey_trace *trace, uint8_t a, uint8_t b)
{
    const struct marey_flow_label *label = trace->flow_label;
    const int category = compare_names(trace, label[a].cat_name_id, label[b].cat_name_id);
    return category != 0 ? category : compare_names(trace, label[a].name_id, label[b].name_id);
}

static int compare_flows(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_trace *trace = ctx;
    const struct marey_flow_columns *flows = &trace->flows;
    if (flows->id[a] != flows->id[b])
        return compare_flow_ids(trace, flows->id[a], flows->id[b]);
    if (flows->label_idx[a] != flows->label_idx[b])
        return compare_labels(trace, flows->label_idx[a], flows->label_idx[b]);
    if (flows->phase[a] != flows->phase[b])
        return (int)flows->phase[b] - (int)flows->phase[a]; /* s, then f */
    return compare_u64(a, b);
}

static bool gather_flows(const struct marey_alloc *alloc, struct marey_flow_columns *flows,
                         const struct order *order)
{
    struct spare spare = {.alloc = alloc, .capacity = flows->capacity};
    bool is_done = spare_take(&spare, sizeof *flows->ts_ns);
    if (is_done) {
        gather_i64(order, &flows->ts_ns, &spare);
        gather_u64(order, &flows->id, &spare);
        is_done = spare_take(&spare, sizeof *flows->track_idx);
    }
    if (is_done) {
        gather_u32(order, &flows->track_idx, &spare);
        is_done = spare_take(&spare, sizeof *flows->phase);
    }
    if (is_done) {
        gather_u8(order, &flows->label_idx, &spare);
        gather_u8(order, &flows->phase, &spare);
    }
    spare_release(&spare);
    return is_done;
}

bool marey__sort_flows(struct marey_trace *trace)
{
    struct marey_flow_columns *flows = &trace->flows;
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = flows->n;
    const size_t n_tracks = trace->tracks.n;
    if (n == 0)
        return true;
    uint32_t *perm = marey__alloc(alloc, n, sizeof *perm);
    uint32_t *first = marey__alloc(alloc, n_tracks + 1, sizeof *first);
    bool is_done = perm != NULL && first != NULL;
    if (is_done) {
        (void)group_rows(flows->track_idx, NULL, n, perm, first, n_tracks);
        is_done = sort_groups(
            trace, &(struct sorting){alloc, perm, first, NULL, flows->ts_ns, compare_flows, trace});
    }
    is_done =
        is_done && gather_flows(alloc, flows, &(struct order){perm, n, threads_for(trace, n)});
    marey__dealloc(alloc, first, n_tracks + 1, sizeof *first);
    marey__dealloc(alloc, perm, n, sizeof *perm);
    return is_done;
}

/* ---- asynchronous spans -------------------------------------------------------- */

static int compare_spans(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_async_span *span = ctx;
    if (span[a].track_idx != span[b].track_idx)
        return span[a].track_idx < span[b].track_idx ? -1 : 1;
    if (span[a].start_ns != span[b].start_ns)
        return span[a].start_ns < span[b].start_ns ? -1 : 1;
    return compare_u64(span[a].offset, span[b].offset);
}

/* Those that were set aside are out of the columns. */
static size_t drop_spans(struct marey_trace *trace)
{
    struct marey_async_span *span = trace->async_spans.at;
    size_t n = 0;
    for (size_t i = 0; i < trace->async_spans.n; i++)
        if (span[i].dur_ns != MAREY_SPAN_DROPPED)
            span[n++] = span[i];
    trace->async_spans.n = n;
    return n;
}

bool marey__sort_async_spans(struct marey_trace *trace)
{
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = drop_spans(trace);
    const size_t capacity = trace->async_spans.capacity;
    if (n == 0)
        return true;
    uint32_t *perm = marey__alloc(alloc, n, sizeof *perm);
    struct marey_async_span *sorted = marey__alloc(alloc, capacity, sizeof *sorted);
    bool is_done = perm != NULL && sorted != NULL;
    if (is_done) {
        for (size_t i = 0; i < n; i++)
            perm[i] = (uint32_t)i;
        is_done = marey__sort_indices(alloc, perm, n, compare_spans, trace->async_spans.at);
    }
    if (is_done) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = trace->async_spans.at[perm[i]];
        struct marey_async_span *old = trace->async_spans.at;
        trace->async_spans.at = sorted;
        sorted = old;
    }
    marey__dealloc(alloc, sorted, capacity, sizeof *sorted);
    marey__dealloc(alloc, perm, n, sizeof *perm);
    return is_done;
}
