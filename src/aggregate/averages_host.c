/*
 * averages_host.c - one sweep over the slices of each thread (law 2).
 *
 * The stack holds the open slices, so it is also the chain of parents of the slice that
 * begins next. Time between two borders goes to the slice on top of it. Where slices
 * cross, a slice may end while others still lie on it: it stays buried and is popped
 * without a charge once it is uncovered, because from its end on the time belonged to
 * those above.
 *
 *     P[0,100]  A[10,110]        at 110 A is popped and charged up to 110,
 *     stack: P A                 then P, which ended at 100, goes without a charge
 *
 * Zero-length slices are never open; a slice of unknown duration is counted and has no
 * time. A call is added to its group's total only if no other slice of that group is on
 * the stack: recursion counts once.
 */
#include "aggregate/averages_parts.h"
#include "base/error.h"

struct open_slice {
    int64_t end_ns;
    uint32_t group;
};

struct sweep {
    struct marey_averages_work *work;
    struct open_slice *stack;
    size_t depth;
    size_t capacity;
    int64_t now_ns;
};

/* Charges the top up to its end, if that is news, and takes it off. */
static inline void close_top(struct sweep *sweep, struct marey_group *groups)
{
    const struct open_slice top = sweep->stack[--sweep->depth];
    struct marey_group *group = &groups[top.group];

    group->n_open--;
    if (top.end_ns > sweep->now_ns) {
        group->self_ns =
            marey__ns_add(group->self_ns, marey__ns_between(sweep->now_ns, top.end_ns));
        sweep->now_ns = top.end_ns;
    }
}

/* Lets time pass until a slice begins. */
static inline void advance(struct sweep *sweep, struct marey_group *groups, int64_t start_ns)
{
    while (sweep->depth > 0 && sweep->stack[sweep->depth - 1].end_ns <= start_ns)
        close_top(sweep, groups);

    if (sweep->depth > 0) {
        struct marey_group *top = &groups[sweep->stack[sweep->depth - 1].group];
        top->self_ns = marey__ns_add(top->self_ns, marey__ns_between(sweep->now_ns, start_ns));
    }
    sweep->now_ns = start_ns;
}

static inline void count_time(struct marey_averages_work *work, struct marey_group *group,
                              uint32_t slice_idx, int64_t dur_ns)
{
    group->n_timed++;
    if (dur_ns < group->min_ns)
        group->min_ns = dur_ns;
    if (dur_ns > group->max_ns)
        group->max_ns = dur_ns;
    if (group->n_open > 0) {
        group->nested_ns = marey__ns_add(group->nested_ns, dur_ns);
        return;
    }

    group->total_ns = marey__ns_add(group->total_ns, dur_ns);
    if (work->inside_ns != NULL && marey__is_inclusive(group->kind))
        group->device_total_ns = marey__ns_join(group->device_total_ns, work->inside_ns[slice_idx]);
}

static bool push(struct sweep *sweep, int64_t end_ns, uint32_t group)
{
    if (sweep->depth == sweep->capacity) {
        void *stack = sweep->stack;
        if (!marey__grow(&sweep->work->alloc, &stack, &sweep->capacity, sweep->depth + 1,
                         sizeof *sweep->stack))
            return false;
        sweep->stack = stack;
    }
    sweep->stack[sweep->depth++] = (struct open_slice){end_ns, group};
    return true;
}

static bool sweep_thread(struct sweep *sweep, const struct marey_track *track)
{
    struct marey_averages_work *work = sweep->work;
    struct marey_group *groups = work->groups;

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const uint32_t group_idx = work->group_of[i];
        struct marey_group *group = &groups[group_idx];
        const int64_t start_ns = work->slices.start_ns[i];
        const int64_t dur_ns = work->slices.dur_ns[i];

        advance(sweep, groups, start_ns);
        group->n_calls++;
        if (start_ns < group->first_start_ns || group->first_slice == MAREY_NONE) {
            group->first_start_ns = start_ns;
            group->first_slice = i;
        }
        if (dur_ns == MAREY_UNKNOWN)
            continue;
        count_time(work, group, i, dur_ns);
        if (dur_ns > 0) {
            if (!push(sweep, marey__ns_end(start_ns, dur_ns), group_idx))
                return false;
            group->n_open++;
        }
    }

    while (sweep->depth > 0)
        close_top(sweep, groups);
    return true;
}

/* Overhead records lie among the slices that are no rows; their durations add up. */
static void add_overhead(struct marey_averages_work *work, const struct marey_track *track)
{
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++)
        if (work->kind_of[work->slices.cat_id[i]] == MAREY_KIND_OVERHEAD &&
            work->slices.dur_ns[i] != MAREY_UNKNOWN)
            work->totals.overhead_ns =
                marey__ns_add(work->totals.overhead_ns, work->slices.dur_ns[i]);
}

static bool has_overhead(const struct marey_averages_work *work)
{
    for (int i = 0; i < 256; i++)
        if (work->kind_of[i] == MAREY_KIND_OVERHEAD)
            return true;
    return false;
}

static void add_totals(struct marey_averages_work *work)
{
    for (size_t i = 0; i < work->n_groups; i++) {
        const struct marey_group *group = &work->groups[i];
        if (i == MAREY_HIDDEN_REST || group->is_device)
            continue;
        work->totals.host_self_ns = marey__ns_add(work->totals.host_self_ns, group->self_ns);
        if (i == MAREY_HIDDEN_PYTHON || group->kind == MAREY_KIND_PYTHON)
            work->totals.python_self_ns =
                marey__ns_add(work->totals.python_self_ns, group->self_ns);
    }
}

enum marey_status marey__averages_sweep_host(struct marey_averages_work *work)
{
    enum marey_status status = MAREY_OK;
    struct sweep sweep = {.work = work};
    const bool sees_overhead = has_overhead(work);

    for (size_t i = 0; i < work->n_tracks; i++) {
        if (work->tracks[i].kind != MAREY_TRACK_THREAD)
            continue;
        if (!sweep_thread(&sweep, &work->tracks[i])) {
            status = marey__fail_nomem(work->err);
            goto done;
        }
        if (sees_overhead)
            add_overhead(work, &work->tracks[i]);
    }
    add_totals(work);

done:
    marey__dealloc(&work->alloc, sweep.stack, sweep.capacity, sizeof *sweep.stack);
    return status;
}
