/*
 * causality.c - how far the clocks of host and device are apart at the least.
 *
 * An operation cannot begin before its launch call begins, nor end after a call that waited for it
 * has returned. Where a file says so, the device's clock leads or lags by at least the difference.
 *
 * The waits are those for a whole device ("cudaDeviceSynchronize", "cuCtxSynchronize" and their
 * like) that begin after the launch call has ended, by any thread of the process. Which stream a
 * call waits for, and which of several devices, is not in its record: those prove nothing.
 */
#include "base/error.h"
#include "base/sort.h"
#include "base/str.h"
#include "trace/examine.h"

/* ---- calls that wait ------------------------------------------------------------------ */

static bool is_device_wait(const struct marey_trace *trace, uint32_t slice_idx)
{
    const enum marey_kind kind = marey_trace_slice_kind(trace, slice_idx);
    if (kind != MAREY_KIND_RUNTIME && kind != MAREY_KIND_DRIVER)
        return false;
    const struct marey_str name = marey_trace_string(trace, trace->slices.name_id[slice_idx]);
    return marey__str_holds_caseless(name, "devicesynchronize") ||
           marey__str_holds_caseless(name, "ctxsynchronize");
}

static bool add_sync(const struct marey_trace *trace, struct marey_examination *examination,
                     const struct marey_track *track, uint32_t slice_idx)
{
    void *at = examination->syncs.at;
    if (!marey__grow(&trace->alloc, &at, &examination->syncs.capacity, examination->syncs.n + 1,
                     sizeof *examination->syncs.at))
        return false;
    examination->syncs.at = at;
    examination->syncs.at[examination->syncs.n++] = (struct marey_sync_call){
        .source_idx = track->source_idx,
        .process_id = track->process_id,
        .start_ns = trace->slices.start_ns[slice_idx],
        .end_ns = trace->slices.start_ns[slice_idx] + trace->slices.dur_ns[slice_idx],
    };
    return true;
}

/* Most names are met often, so each is looked at once. */
static bool collect_syncs(const struct marey_trace *trace, struct marey_examination *examination)
{
    enum { NOT_ASKED, NO, YES };
    const size_t n_names = trace->strings.n;
    uint8_t *known = marey__alloc_zero(&trace->alloc, n_names, 1);
    bool is_done = known != NULL;

    const struct marey_track *track = trace->tracks.at;
    for (size_t i = 0; i < trace->links.n && is_done; i++) {
        const uint32_t slice_idx = trace->links.slice_idx[i];
        const uint32_t name_id = trace->slices.name_id[slice_idx];
        while (slice_idx - track->first_slice >= track->n_slices)
            track++;
        if (track->kind != MAREY_TRACK_THREAD || name_id >= n_names ||
            trace->slices.dur_ns[slice_idx] == MAREY_UNKNOWN)
            continue;
        if (known[name_id] == NOT_ASKED)
            known[name_id] = is_device_wait(trace, slice_idx) ? YES : NO;
        if (known[name_id] == YES)
            is_done = add_sync(trace, examination, track, slice_idx);
    }
    marey__dealloc(&trace->alloc, known, n_names, 1);
    return is_done;
}

static bool is_before(const struct marey_sync_call *a, const struct marey_sync_call *b)
{
    if (a->source_idx != b->source_idx)
        return a->source_idx < b->source_idx;
    if (a->process_id != b->process_id)
        return a->process_id < b->process_id;
    return a->start_ns < b->start_ns;
}

static int compare_syncs(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_sync_call *sync = ctx;
    if (is_before(&sync[a], &sync[b]))
        return -1;
    if (is_before(&sync[b], &sync[a]))
        return 1;
    return sync[a].end_ns < sync[b].end_ns ? -1 : sync[a].end_ns > sync[b].end_ns;
}

/* ---- devices ---------------------------------------------------------------------------- */

/* Room for a bound of each stream's device, and which sources have more than one. */
static bool collect_devices(const struct marey_trace *trace, struct marey_examination *examination)
{
    const size_t n_sources = trace->sources.n;
    int64_t *first = marey__alloc(&trace->alloc, n_sources, sizeof *first);
    size_t n_streams = 0;

    examination->has_many_devices =
        marey__alloc_zero(&trace->alloc, n_sources, sizeof *examination->has_many_devices);
    const bool has_room = first != NULL && examination->has_many_devices != NULL;
    for (size_t i = 0; i < n_sources && has_room; i++)
        first[i] = MAREY_UNKNOWN;
    for (size_t t = 0; t < trace->tracks.n && has_room; t++) {
        const struct marey_track *track = &trace->tracks.at[t];
        if (track->kind != MAREY_TRACK_STREAM || track->n_slices == 0)
            continue;
        int64_t *device = &first[track->source_idx];
        examination->has_many_devices[track->source_idx] |=
            *device != MAREY_UNKNOWN && *device != track->device;
        *device = track->device;
        n_streams++;
    }
    marey__dealloc(&trace->alloc, first, n_sources, sizeof *first);
    void *at = examination->bounds.at;
    if (!has_room ||
        (n_streams > 0 && !marey__grow(&trace->alloc, &at, &examination->bounds.capacity, n_streams,
                                       sizeof *examination->bounds.at)))
        return false;
    examination->bounds.at = at;
    return true;
}

bool marey__collect_causality(const struct marey_trace *trace,
                              struct marey_examination *examination)
{
    return collect_devices(trace, examination) && collect_syncs(trace, examination) &&
           marey__sort_structs(&trace->alloc, examination->syncs.at, examination->syncs.n,
                               sizeof *examination->syncs.at, compare_syncs, examination->syncs.at);
}

/* The bound of a stream's device, which is the last one mostly. */
static struct marey_clock_bound *bound_of(struct marey_examination *examination,
                                          const struct marey_track *track)
{
    for (size_t i = examination->bounds.n; i > 0; i--) {
        struct marey_clock_bound *bound = &examination->bounds.at[i - 1];
        if (bound->source_idx == track->source_idx && bound->device == track->device)
            return bound;
    }
    MAREY_ASSERT(examination->bounds.n < examination->bounds.capacity);
    struct marey_clock_bound *bound = &examination->bounds.at[examination->bounds.n++];
    *bound = (struct marey_clock_bound){
        .source_idx = track->source_idx,
        .device = track->device,
        .leads_by_at_least_ns = MAREY_UNKNOWN,
        .lags_by_at_least_ns = MAREY_UNKNOWN,
        .first_at_ns = MAREY_UNKNOWN,
    };
    return bound;
}

/* ---- operations ----------------------------------------------------------------------------- */

static bool is_border(const struct marey_examination *examination, size_t at,
                      const struct marey_sync_call *key)
{
    const struct marey_sync_call *sync = examination->syncs.at;
    return at <= examination->syncs.n && (at == 0 || is_before(&sync[at - 1], key)) &&
           (at == examination->syncs.n || !is_before(&sync[at], key));
}

/* How many calls are before the key: mostly as many as before the last one, or one more. */
static size_t count_before(struct marey_examination *examination, const struct marey_sync_call *key)
{
    size_t low = 0;
    size_t high = examination->syncs.n;
    for (size_t at = examination->hint; at < examination->hint + 2; at++)
        if (is_border(examination, at, key))
            return at;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_before(&examination->syncs.at[middle], key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Launches of a stream come from one thread, mostly. */
static const struct marey_track *track_of(const struct marey_trace *trace,
                                          struct marey_examination *examination,
                                          uint32_t launch_idx)
{
    const struct marey_track *track = &trace->tracks.at[examination->launch_track];
    if (launch_idx - track->first_slice >= track->n_slices)
        examination->launch_track = marey_trace_slice_track(trace, launch_idx);
    return &trace->tracks.at[examination->launch_track];
}

/* The first wait of the launching process that begins when the launch call has ended. */
static const struct marey_sync_call *find_sync(const struct marey_trace *trace,
                                               struct marey_examination *examination,
                                               uint32_t launch_idx)
{
    const struct marey_track *track = track_of(trace, examination, launch_idx);
    const int64_t dur_ns = trace->slices.dur_ns[launch_idx];
    const struct marey_sync_call key = {
        .source_idx = track->source_idx,
        .process_id = track->process_id,
        .start_ns = trace->slices.start_ns[launch_idx] + (dur_ns < 0 ? 0 : dur_ns),
    };
    const size_t at = count_before(examination, &key);
    const struct marey_sync_call *found = &examination->syncs.at[at];
    examination->hint = at;
    return at < examination->syncs.n && found->source_idx == key.source_idx &&
                   found->process_id == key.process_id
               ? found
               : NULL;
}

static void note_lag(struct marey_trace *trace, struct marey_examination *examination,
                     const struct marey_track *track, size_t link)
{
    const uint32_t slice_idx = trace->links.slice_idx[link];
    if (examination->syncs.n == 0 || examination->has_many_devices[track->source_idx] ||
        trace->slices.dur_ns[slice_idx] == MAREY_UNKNOWN)
        return;
    const struct marey_sync_call *sync = find_sync(trace, examination, trace->launch_idx[link]);
    const int64_t start_ns = trace->slices.start_ns[slice_idx];
    const int64_t end_ns = start_ns + trace->slices.dur_ns[slice_idx];
    if (sync == NULL || end_ns <= sync->end_ns)
        return;
    struct marey_clock_bound *bound = bound_of(examination, track);
    if (bound->lags_by_at_least_ns < end_ns - sync->end_ns)
        bound->lags_by_at_least_ns = end_ns - sync->end_ns;
    if (bound->first_at_ns == MAREY_UNKNOWN || start_ns < bound->first_at_ns)
        bound->first_at_ns = start_ns;
    marey__account_note(&trace->account, MAREY_REASON_KERNEL_AFTER_SYNC,
                        trace->slices.offset[slice_idx]);
}

/* owner.c has counted it, when it found the launch. */
static void take_lead(const struct marey_trace *trace, struct marey_examination *examination,
                      const struct marey_track *track, size_t link)
{
    const int64_t lead_ns = trace->slices.start_ns[trace->launch_idx[link]] -
                            trace->slices.start_ns[trace->links.slice_idx[link]];
    if (lead_ns <= 0)
        return;
    struct marey_clock_bound *bound = bound_of(examination, track);
    if (bound->leads_by_at_least_ns < lead_ns)
        bound->leads_by_at_least_ns = lead_ns;
}

void marey__note_causality(struct marey_trace *trace, struct marey_examination *examination)
{
    const struct marey_track *track = trace->tracks.at;
    for (size_t link = 0; link < trace->links.n; link++) {
        const uint32_t slice_idx = trace->links.slice_idx[link];
        while (slice_idx - track->first_slice >= track->n_slices)
            track++;
        if (trace->launch_idx[link] == MAREY_NONE)
            continue;
        take_lead(trace, examination, track, link);
        note_lag(trace, examination, track, link);
    }
    trace->clock_bounds.at = examination->bounds.at;
    trace->clock_bounds.n = examination->bounds.n;
    trace->clock_bounds.capacity = examination->bounds.capacity;
    examination->bounds.at = NULL;
    examination->bounds.capacity = 0;
}
