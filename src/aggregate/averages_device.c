/*
 * averages_device.c - device operations: sums by name, union per device, owners.
 *
 * Only kernels, copies and memsets on stream tracks are device work (law 3). An operation
 * is charged to the slice that owns it (law 4); what lies inside a slice is then added
 * up from the leaves, in one pass backwards over the columns: a parent always stands
 * before its children.
 */
#include "aggregate/averages_parts.h"
#include "base/error.h"
#include "base/sort.h"

static bool is_operation(const struct marey_averages_work *work, uint32_t slice_idx)
{
    return work->is_operation_of[work->slices.cat_id[slice_idx]];
}

static void add_operation(struct marey_averages_work *work, uint32_t slice_idx, uint32_t track_idx)
{
    struct marey_group *group = &work->groups[work->group_of[slice_idx]];
    const int64_t dur_ns = work->slices.dur_ns[slice_idx];

    (void)marey__count_call(group, &work->slices, slice_idx, track_idx);
    if (dur_ns == MAREY_UNKNOWN)
        return;
    marey__count_time(group, dur_ns);
    group->self_ns = marey__ns_add(group->self_ns, dur_ns);
    group->total_ns = group->self_ns;
    work->totals.device_sum_ns = marey__ns_add(work->totals.device_sum_ns, dur_ns);
}

/* ---- union per device ----------------------------------------------------- */

/* The stream tracks of one device, merged by start through a heap. */
struct stream {
    uint32_t at; /* the next slice of known duration that is an operation */
    uint32_t end;
};

struct merge {
    const struct marey_averages_work *work;
    struct stream *heap; /* the earliest start first */
    size_t n;
};

static void find_operation(const struct marey_averages_work *work, struct stream *stream)
{
    while (stream->at < stream->end &&
           (!is_operation(work, stream->at) || work->slices.dur_ns[stream->at] == MAREY_UNKNOWN))
        stream->at++;
}

static int64_t heap_start(const struct merge *merge, size_t i)
{
    return merge->work->slices.start_ns[merge->heap[i].at];
}

static void sift_down(struct merge *merge, size_t i)
{
    for (;;) {
        size_t least = i;
        const size_t left = 2 * i + 1;
        if (left < merge->n && heap_start(merge, left) < heap_start(merge, least))
            least = left;
        if (left + 1 < merge->n && heap_start(merge, left + 1) < heap_start(merge, least))
            least = left + 1;
        if (least == i)
            return;
        const struct stream moved = merge->heap[i];
        merge->heap[i] = merge->heap[least];
        merge->heap[least] = moved;
        i = least;
    }
}

/* Takes the earliest operation of all streams off; returns its slice. */
static uint32_t take_earliest(struct merge *merge)
{
    struct stream *first = &merge->heap[0];
    const uint32_t slice_idx = first->at++;

    find_operation(merge->work, first);
    if (first->at == first->end)
        merge->heap[0] = merge->heap[--merge->n];
    sift_down(merge, 0);
    return slice_idx;
}

/* Measure of the union of the operations on all streams of the heap. */
static int64_t busy_ns(struct merge *merge)
{
    const struct marey_slices *slices = &merge->work->slices;
    int64_t sum_ns = 0;
    int64_t covered_ns = INT64_MIN; /* all before it is counted */

    for (size_t i = merge->n; i-- > 0;)
        sift_down(merge, i);
    while (merge->n > 0) {
        const uint32_t i = take_earliest(merge);
        const int64_t end_ns = marey__ns_end(slices->start_ns[i], slices->dur_ns[i]);
        const int64_t from_ns = slices->start_ns[i] > covered_ns ? slices->start_ns[i] : covered_ns;
        if (end_ns > from_ns) {
            sum_ns = marey__ns_add(sum_ns, marey__ns_between(from_ns, end_ns));
            covered_ns = end_ns;
        }
    }
    return sum_ns;
}

/* The device of a stream track, whichever process or context used it. */
struct device_key {
    int64_t rank;
    int64_t device;
};

struct device_order {
    const struct marey_averages_work *work;
    const struct marey_source *sources;
};

static struct device_key device_of(const struct device_order *order, uint32_t track_idx)
{
    const struct marey_track *track = &order->work->tracks[track_idx];
    return (struct device_key){order->sources[track->source_idx].rank, track->device};
}

static int compare_devices(const void *ctx, uint32_t a, uint32_t b)
{
    const struct device_key x = device_of(ctx, a);
    const struct device_key y = device_of(ctx, b);

    if (x.rank != y.rank)
        return x.rank < y.rank ? -1 : 1;
    if (x.device != y.device)
        return x.device < y.device ? -1 : 1;
    return 0;
}

static bool holds_operations(const struct marey_averages_work *work,
                             const struct marey_track *track)
{
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++)
        if (is_operation(work, i))
            return true;
    return false;
}

/* streams[n] are track indices with those of a device side by side. */
static void add_busy(struct marey_averages_work *work, const struct device_order *order,
                     const uint32_t *streams, size_t n, struct stream *heap)
{
    for (size_t i = 0; i < n;) {
        struct merge merge = {.work = work, .heap = heap};
        const uint32_t first = streams[i];
        bool is_used = false;

        for (; i < n && compare_devices(order, first, streams[i]) == 0; i++) {
            const struct marey_track *track = &work->tracks[streams[i]];
            struct stream stream = {track->first_slice, track->first_slice + track->n_slices};
            is_used = is_used || holds_operations(work, track);
            find_operation(work, &stream);
            if (stream.at < stream.end)
                heap[merge.n++] = stream;
        }
        if (is_used)
            work->totals.n_devices++;
        work->totals.device_busy_ns = marey__ns_add(work->totals.device_busy_ns, busy_ns(&merge));
    }
}

static enum marey_status add_unions(struct marey_averages_work *work, size_t n_streams)
{
    enum marey_status status = MAREY_OK;
    size_t n_sources = 0;
    const struct device_order order = {work, marey_trace_sources(work->trace, &n_sources)};
    uint32_t *streams = marey__alloc(&work->alloc, n_streams, sizeof *streams);
    struct stream *heap = marey__alloc(&work->alloc, n_streams, sizeof *heap);

    if (streams == NULL || heap == NULL) {
        status = marey__fail_nomem(work->err);
        goto done;
    }

    size_t n = 0;
    for (size_t i = 0; i < work->n_tracks; i++)
        if (work->tracks[i].kind == MAREY_TRACK_STREAM)
            streams[n++] = (uint32_t)i;
    if (!marey__sort_indices(&work->alloc, streams, n, compare_devices, &order)) {
        status = marey__fail_nomem(work->err);
        goto done;
    }
    add_busy(work, &order, streams, n, heap);

done:
    marey__dealloc(&work->alloc, heap, n_streams, sizeof *heap);
    marey__dealloc(&work->alloc, streams, n_streams, sizeof *streams);
    return status;
}

/* ---- owners ---------------------------------------------------------------- */

static void add_owned(struct marey_averages_work *work, const struct marey_links *links,
                      const struct marey_owners *owners)
{
    int64_t owned_ns = 0;

    for (size_t i = 0; i < links->n; i++) {
        const uint32_t owner_idx = owners->owner_idx[i];
        if (owner_idx == MAREY_NONE)
            continue;
        const int64_t dur_ns = work->slices.dur_ns[links->slice_idx[i]];
        struct marey_group_key *key = &work->keys[work->group_of[owner_idx]];

        key->device_self_ns = marey__ns_join(key->device_self_ns, dur_ns);
        key->n_device_operations++;
        work->inside_ns[owner_idx] = marey__ns_join(work->inside_ns[owner_idx], dur_ns);
        if (dur_ns != MAREY_UNKNOWN)
            owned_ns = marey__ns_add(owned_ns, dur_ns);
    }
    const int64_t sum_ns = work->totals.device_sum_ns;
    work->totals.unowned_ns = sum_ns == INT64_MAX ? sum_ns : sum_ns - owned_ns;
}

static enum marey_status add_owners(struct marey_averages_work *work)
{
    const struct marey_slices *slices = &work->slices;
    struct marey_owners owners = {0};
    MAREY_TRY(marey_trace_owners(work->trace, &owners, work->err));

    work->inside_ns = marey__alloc_zero(&work->alloc, slices->n, sizeof *work->inside_ns);
    if (work->inside_ns == NULL)
        return marey__fail_nomem(work->err);

    const struct marey_links links = marey_trace_links(work->trace);
    add_owned(work, &links, &owners);

    for (size_t i = slices->n; i-- > 0;) {
        if (work->inside_ns[i] == 0) /* nearly all */
            continue;
        const uint32_t parent = slices->parent_idx[i];
        if (parent != MAREY_NONE)
            work->inside_ns[parent] = marey__ns_join(work->inside_ns[parent], work->inside_ns[i]);
    }
    return MAREY_OK;
}

enum marey_status marey__averages_add_device(struct marey_averages_work *work)
{
    size_t n_streams = 0;
    uint64_t n_operations = 0;

    for (size_t t = 0; t < work->n_tracks; t++) {
        const struct marey_track *track = &work->tracks[t];
        if (track->kind != MAREY_TRACK_STREAM)
            continue;
        n_streams++;
        for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
            if (is_operation(work, i)) {
                add_operation(work, i, (uint32_t)t);
                n_operations++;
            }
        }
    }
    if (n_operations == 0)
        return MAREY_OK;

    MAREY_TRY(add_unions(work, n_streams));
    return add_owners(work);
}
