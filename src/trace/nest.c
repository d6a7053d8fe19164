/*
 * nest.c - law 2 in one sweep of each track: parents, crossings, self times.
 *
 * Slices come in law 2's order (earlier start first, then the longer). The stack holds
 * the chain of ancestors of the slice at hand. A slice that crosses its parent's end
 * stays on top of it; when it goes, what ended below it meanwhile goes without charge.
 *
 *      G ├───────────────┤            at the start of C the innermost open slice is P
 *      P ├──────────────┤             at P's end nothing changes: C is on top
 *      C   ├─────────────┤            at C's end: C is charged, P and G go uncharged
 *
 * Intervals are half-open: a slice of length 0 is never open, so it is no parent.
 */
#include "base/error.h"
#include "base/parallel.h"
#include "trace/model.h"

struct open_slice {
    int64_t end_ns;
    uint32_t idx;
};

struct sweep {
    struct marey_alloc alloc;
    struct open_slice *stack;
    size_t capacity;
    size_t depth;
    int64_t charged_to; /* instants before this one have been charged */
    int64_t *self_ns;
};

static void charge(struct sweep *sweep, int64_t until_ns)
{
    if (until_ns <= sweep->charged_to)
        return;
    sweep->self_ns[sweep->stack[sweep->depth - 1].idx] += until_ns - sweep->charged_to;
    sweep->charged_to = until_ns;
}

/* Closes what ended by that instant and charges the rest up to it. */
static void advance(struct sweep *sweep, int64_t to_ns)
{
    while (sweep->depth > 0 && sweep->stack[sweep->depth - 1].end_ns <= to_ns) {
        charge(sweep, sweep->stack[sweep->depth - 1].end_ns);
        sweep->depth--;
    }
    if (sweep->depth > 0)
        charge(sweep, to_ns);
    sweep->charged_to = to_ns;
}

static bool push(struct sweep *sweep, uint32_t idx, int64_t end_ns)
{
    if (sweep->stack == NULL || sweep->depth == sweep->capacity) {
        void *stack = sweep->stack;
        if (!marey__grow(&sweep->alloc, &stack, &sweep->capacity, sweep->depth + 1,
                         sizeof *sweep->stack))
            return false;
        sweep->stack = stack;
    }
    sweep->stack[sweep->depth++] = (struct open_slice){end_ns, idx};
    return true;
}

/* The open slices are a chain of parents, so this needs no stack. On a stream none is another's
 * parent. */
static void find_parents(const struct marey_slice_columns *slices, struct marey_track *track)
{
    const uint32_t to = track->first_slice + track->n_slices;
    const bool has_parents = track->kind == MAREY_TRACK_THREAD;
    uint32_t *parent_idx = slices->parent_idx;
    uint32_t top = MAREY_NONE; /* the innermost open one */
    int64_t top_end_ns = INT64_MAX;
    uint32_t n_crossings = 0;

    for (uint32_t i = track->first_slice; i < to; i++) {
        const int64_t start_ns = slices->start_ns[i];
        const int64_t dur_ns = slices->dur_ns[i];
        while (top_end_ns <= start_ns && top != MAREY_NONE) {
            top = parent_idx[top];
            top_end_ns =
                top != MAREY_NONE ? slices->start_ns[top] + slices->dur_ns[top] : INT64_MAX;
        }
        parent_idx[i] = top;
        if (!has_parents || dur_ns <= 0) /* of length 0, or unknown */
            continue;
        if (start_ns + dur_ns > top_end_ns) {
            n_crossings++;
            slices->flags[i] |= MAREY_SLICE_CROSSES;
        }
        top = i;
        top_end_ns = start_ns + dur_ns;
    }
    track->n_crossings = n_crossings;
}

static bool sweep_track(struct sweep *sweep, const struct marey_trace *trace, size_t track_idx)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const struct marey_track *track = &trace->tracks.at[track_idx];
    const uint32_t to = track->first_slice + track->n_slices;
    sweep->depth = 0;
    for (uint32_t i = track->first_slice; i < to; i++) {
        const int64_t start = slices->start_ns[i];
        const int64_t dur = slices->dur_ns[i];
        advance(sweep, start);
        sweep->self_ns[i] = 0;
        if (dur > 0 && !push(sweep, i, start + dur)) /* not of length 0, or unknown */
            return false;
    }
    advance(sweep, INT64_MAX);
    return true;
}

/* Where parents are known and none is outlived, a slice's self time is its duration less
 * those of its children: no stack, and no branch on how deep the next slice lies. Values
 * on the way may leave 64 bits, so they are added without sign; the last one is right. */
static void subtract_children(const struct marey_trace *trace, const struct marey_track *track,
                              int64_t *self_ns)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const uint32_t to = track->first_slice + track->n_slices;
    for (uint32_t i = track->first_slice; i < to; i++) {
        const int64_t dur = slices->dur_ns[i] < 0 ? 0 : slices->dur_ns[i];
        const uint32_t parent = slices->parent_idx[i];
        self_ns[i] = dur;
        if (parent != MAREY_NONE)
            self_ns[parent] = (int64_t)((uint64_t)self_ns[parent] - (uint64_t)dur);
    }
}

static bool charge_track(struct sweep *sweep, const struct marey_trace *trace, size_t track_idx)
{
    const struct marey_track *track = &trace->tracks.at[track_idx];
    const bool is_nested = track->kind == MAREY_TRACK_THREAD && track->n_crossings == 0;

    if (!is_nested)
        return sweep_track(sweep, trace, track_idx);
    subtract_children(trace, track, sweep->self_ns);
    return true;
}

struct charging {
    const struct marey_trace *trace;
    int64_t *self_ns;
};

static bool charge_tracks(void *ctx, size_t from, size_t to)
{
    const struct charging *charging = ctx;
    struct sweep sweep = {.alloc = charging->trace->alloc, .self_ns = charging->self_ns};
    bool is_done = true;

    for (size_t i = from; i < to && is_done; i++)
        is_done = charge_track(&sweep, charging->trace, i);
    marey__dealloc(&sweep.alloc, sweep.stack, sweep.capacity, sizeof *sweep.stack);
    return is_done;
}

static bool nest_tracks(void *ctx, size_t from, size_t to)
{
    struct marey_trace *trace = ctx;

    for (size_t i = from; i < to; i++)
        find_parents(&trace->slices, &trace->tracks.at[i]);
    return true;
}

static size_t threads_for(const struct marey_trace *trace)
{
    return trace->slices.n < MAREY_PARALLEL_ROWS ? 1 : trace->n_threads;
}

void marey__nest(struct marey_trace *trace)
{
    (void)marey__parallel(threads_for(trace), trace->tracks.n, 1, nest_tracks, trace);
}

bool marey__charge(const struct marey_trace *trace, int64_t *self_ns)
{
    struct charging charging = {trace, self_ns};
    return marey__parallel(threads_for(trace), trace->tracks.n, 1, charge_tracks, &charging);
}
