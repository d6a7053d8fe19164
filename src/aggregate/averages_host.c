/*
 * averages_host.c - self and total times of threads, in one sweep of each (law 2).
 *
 * Where no slice of a thread crosses its parent, which is the rule, a slice's self time is
 * its duration less those of its children: each duration is added to the slice's group
 * and taken from that of its parent. An outermost call of a group is one that begins when
 * its last outermost call has ended. This needs no stack, and so no branch that depends on
 * how deep the next slice lies: a third of the time.
 *
 * Where slices cross, the open ones lie on a stack, which is also the chain of parents of
 * the slice that begins next. Time between two borders goes to the slice on top. A slice
 * may end while others still lie on it: it stays buried and is popped without a charge
 * once it is uncovered, because from its end on the time belonged to those above.
 *
 *     P[0,100]  A[10,110]        at 110 A is popped and charged up to 110,
 *     stack: P A                 then P, which ended at 100, goes without a charge
 *
 * In both, zero-length slices are never open, a slice of unknown duration is counted and
 * has no time, and of a call only what no earlier call of its group covers is in the
 * total: recursion counts once.
 */
#include "aggregate/averages_parts.h"
#include "base/error.h"

/* Device time inside a call that has no call of its group around it. */
static inline void add_inside(struct marey_averages_work *work, uint32_t slice_idx)
{
    if (work->inside_ns != NULL && work->inside_ns[slice_idx] != 0) {
        int64_t *total_ns = &work->keys[work->group_of[slice_idx]].device_total_ns;
        *total_ns = marey__ns_join(*total_ns, work->inside_ns[slice_idx]);
    }
}

/* A call that has no call of its group around it. */
static inline void add_outermost(struct marey_averages_work *work, struct marey_group *group,
                                 uint32_t slice_idx, int64_t dur_ns)
{
    group->total_ns = marey__ns_add(group->total_ns, dur_ns);
    add_inside(work, slice_idx);
}

static inline void add_nested(struct marey_group *group, int64_t dur_ns)
{
    group->nested_ns = marey__ns_add(group->nested_ns, dur_ns);
}

/* ---- threads without crossings ---------------------------------------------------- */

/* Self times pass through values beyond their final ones, so they are added modulo 2^64. */
static inline void add_self(struct marey_group *group, int64_t dur_ns)
{
    group->self_ns = (int64_t)((uint64_t)group->self_ns + (uint64_t)dur_ns);
}

/* False if a duration exceeds the limit. */
static bool add_thread(struct marey_averages_work *work, uint32_t track_idx, int64_t limit_ns)
{
    const struct marey_track *track = &work->tracks[track_idx];
    const struct marey_slices slices = work->slices;
    const uint32_t *group_of = work->group_of;
    struct marey_group *groups = work->groups;

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        struct marey_group *group = &groups[group_of[i]];
        const int64_t start_ns = slices.start_ns[i];
        const int64_t dur_ns = slices.dur_ns[i];

        if (marey__count_call(group, &slices, i, track_idx))
            group->open_until_ns = INT64_MIN;
        if (dur_ns == MAREY_UNKNOWN)
            continue;
        if (dur_ns > limit_ns)
            return false;
        marey__count_time(group, dur_ns);
        add_self(group, dur_ns);
        if (slices.parent_idx[i] != MAREY_NONE)
            add_self(&groups[group_of[slices.parent_idx[i]]], -dur_ns);
        if (start_ns >= group->open_until_ns) {
            group->open_until_ns = start_ns + dur_ns;
            add_outermost(work, group, i, dur_ns);
        } else {
            add_nested(group, dur_ns);
        }
    }
    return true;
}

/* ---- threads with crossings ---------------------------------------------------------- */

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
    bool is_out_of_memory;
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

/* Where slices cross, a call may outlive the one around it, and the chain of parents may
 * hold a call that has ended. Total is the time in which at least one call of the group was
 * open on the thread: what no earlier call of it covers. Owned operations follow the chain
 * of parents, so theirs are taken once along it. */
static void add_crossing(struct marey_averages_work *work, struct marey_group *group,
                         uint32_t slice_idx)
{
    const int64_t start_ns = work->slices.start_ns[slice_idx];
    const int64_t dur_ns = work->slices.dur_ns[slice_idx];
    const int64_t end_ns = marey__ns_end(start_ns, dur_ns);
    int64_t fresh_ns = dur_ns;

    if (group->open_until_ns > start_ns)
        fresh_ns = end_ns > group->open_until_ns ? end_ns - group->open_until_ns : 0;
    if (end_ns > group->open_until_ns)
        group->open_until_ns = end_ns;
    group->total_ns = marey__ns_add(group->total_ns, fresh_ns);
    add_nested(group, dur_ns - fresh_ns);
    if (group->n_open == 0)
        add_inside(work, slice_idx);
}

/* False without memory, or if a duration exceeds the limit. */
static bool sweep_thread(struct sweep *sweep, uint32_t track_idx, int64_t limit_ns)
{
    struct marey_averages_work *work = sweep->work;
    const struct marey_track *track = &work->tracks[track_idx];
    struct marey_group *groups = work->groups;

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const uint32_t group_idx = work->group_of[i];
        struct marey_group *group = &groups[group_idx];
        const int64_t start_ns = work->slices.start_ns[i];
        const int64_t dur_ns = work->slices.dur_ns[i];

        advance(sweep, groups, start_ns);
        if (marey__count_call(group, &work->slices, i, track_idx)) {
            group->n_open = 0;
            group->open_until_ns = INT64_MIN;
        }
        if (dur_ns == MAREY_UNKNOWN)
            continue;
        if (dur_ns > limit_ns)
            return false;
        marey__count_time(group, dur_ns);
        add_crossing(work, group, i);
        if (dur_ns > 0) {
            if (!push(sweep, marey__ns_end(start_ns, dur_ns), group_idx)) {
                sweep->is_out_of_memory = true;
                return false;
            }
            group->n_open++;
        }
    }

    while (sweep->depth > 0)
        close_top(sweep, groups);
    return true;
}

/* ---- totals -------------------------------------------------------------------------- */

/* Overhead records lie among the slices that are no rows; their durations add up. */
static void add_overhead(struct marey_averages_work *work, const struct marey_track *track)
{
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++)
        if (work->kind_of[work->slices.cat_id[i]] == MAREY_KIND_OVERHEAD &&
            work->slices.dur_ns[i] != MAREY_UNKNOWN)
            work->totals.overhead_ns =
                marey__ns_add(work->totals.overhead_ns, work->slices.dur_ns[i]);
}

static void add_all_overhead(struct marey_averages_work *work)
{
    bool has_overhead = false;
    for (size_t i = 0; i < sizeof work->kind_of; i++)
        has_overhead = has_overhead || work->kind_of[i] == MAREY_KIND_OVERHEAD;
    for (size_t i = 0; i < work->n_tracks && has_overhead; i++)
        if (work->tracks[i].kind == MAREY_TRACK_THREAD)
            add_overhead(work, &work->tracks[i]);
}

static void add_totals(struct marey_averages_work *work)
{
    for (size_t i = 0; i < work->n_groups; i++) {
        const struct marey_group *group = &work->groups[i];
        if (i == MAREY_HIDDEN_REST || work->keys[i].is_device)
            continue;
        work->totals.host_self_ns = marey__ns_add(work->totals.host_self_ns, group->self_ns);
        if (i == MAREY_HIDDEN_PYTHON || work->keys[i].kind == MAREY_KIND_PYTHON)
            work->totals.python_self_ns =
                marey__ns_add(work->totals.python_self_ns, group->self_ns);
    }
}

/* ---- all threads ------------------------------------------------------------------------ */

#define NO_LIMIT INT64_MAX

/* With starts and durations of each track within this, no sum of self times over all
 * tracks leaves 64 bits. A trace that has longer ones (years) is swept again by the stack
 * alone, with sums that saturate. */
static int64_t limit_of(const struct marey_averages_work *work)
{
    const int64_t limit_ns = INT64_MAX / 4 / (int64_t)(work->n_tracks + 1);

    for (size_t i = 0; i < work->n_tracks; i++) {
        const struct marey_track *track = &work->tracks[i];
        const int64_t *start_ns = work->slices.start_ns; /* NULL if no track has a slice */
        const size_t first = track->first_slice;
        if (track->n_slices > 0 &&
            marey__ns_between(start_ns[first], start_ns[first + track->n_slices - 1]) > limit_ns)
            return NO_LIMIT;
    }
    return limit_ns;
}

/* False without memory, or if a duration exceeds the limit. */
static bool sweep_all(struct sweep *sweep, int64_t limit_ns)
{
    const struct marey_averages_work *work = sweep->work;

    for (uint32_t i = 0; i < work->n_tracks; i++) {
        if (work->tracks[i].kind != MAREY_TRACK_THREAD)
            continue;
        const bool needs_stack = work->tracks[i].n_crossings > 0 || limit_ns == NO_LIMIT;
        if (needs_stack ? !sweep_thread(sweep, i, limit_ns) : !add_thread(sweep->work, i, limit_ns))
            return false;
    }
    return true;
}

static void clear_host(struct sweep *sweep)
{
    struct marey_averages_work *work = sweep->work;

    sweep->depth = 0;
    for (size_t i = 0; i < work->n_groups; i++) {
        if (work->keys[i].is_device)
            continue;
        marey__group_clear(&work->groups[i]);
        work->keys[i].device_total_ns = 0;
    }
}

enum marey_status marey__averages_sweep_host(struct marey_averages_work *work)
{
    struct sweep sweep = {.work = work};

    if (!sweep_all(&sweep, limit_of(work)) && !sweep.is_out_of_memory) {
        clear_host(&sweep);
        (void)sweep_all(&sweep, NO_LIMIT);
    }
    add_all_overhead(work);
    add_totals(work);

    marey__dealloc(&work->alloc, sweep.stack, sweep.capacity, sizeof *sweep.stack);
    return sweep.is_out_of_memory ? marey__fail_nomem(work->err) : MAREY_OK;
}
