/*
 * owner.c - law 4: each device operation has one launch and one owner.
 *
 * Launch calls are sorted by (source, correlation, start); an operation finds the latest
 * that began no later than itself: mostly right after the one that the operation before it
 * found, since a stream works in order, else by bisection. Its owner is the innermost op
 * around that call. External ids, flows and overhead records decide nothing.
 *
 * Chains of slices may be as deep as a file is long, so nothing here climbs one twice:
 * which launches are open is a stack along the track, and what long climbs find is kept.
 */
#include "base/error.h"
#include "base/hashmap.h"
#include "base/order.h"
#include "base/sort.h"
#include "base/str.h"
#include "trace/examine.h"

#define N_FREE_STEPS 64
#define N_NEAR_LAUNCHES 8
#define OWNED_BY_NOBODY (MAREY_NONE - 1)

struct indices {
    uint32_t *at;
    size_t n;
    size_t capacity;
};

struct launch {
    uint64_t correlation;
    int64_t start_ns;
    uint32_t slice_idx;
    uint32_t source_idx;
    uint32_t owner_idx;
    bool has_operation;
};

struct owner_work {
    struct marey_trace *trace;
    struct launch *launches; /* [n] by source, correlation, start once they are all there */
    size_t n;
    size_t capacity;
    size_t hint;         /* where the last search ended */
    struct indices open; /* launches around the next one of the track, outermost first */
    struct marey_hashmap deep_launch; /* by correlation: the latest with so many open inside it */
    struct indices path;              /* slices of a climb */
    struct marey_hashmap far_owner;   /* of slices that long climbs have passed */
    uint8_t *is_launch_name;          /* by name id: 0 not asked yet, 1 no, 2 yes */
    size_t n_names;
};

static bool is_call(enum marey_kind kind)
{
    return kind == MAREY_KIND_RUNTIME || kind == MAREY_KIND_DRIVER;
}

static bool is_launch_name(struct owner_work *work, uint32_t name_id)
{
    if (name_id >= work->n_names)
        return false;
    uint8_t *known = &work->is_launch_name[name_id];
    if (*known == 0) {
        const struct marey_str name = marey_trace_string(work->trace, name_id);
        const bool is_one = marey__str_holds_caseless(name, "launch") ||
                            marey__str_holds_caseless(name, "memcpy") ||
                            marey__str_holds_caseless(name, "memset");
        *known = is_one ? 2 : 1;
    }
    return *known == 2;
}

static bool is_launch(struct owner_work *work, uint32_t slice_idx)
{
    return is_call(marey_trace_slice_kind(work->trace, slice_idx)) &&
           is_launch_name(work, work->trace->slices.name_id[slice_idx]);
}

static bool append(const struct marey_alloc *alloc, struct indices *indices, uint32_t value)
{
    void *at = indices->at;
    if (!marey__grow(alloc, &at, &indices->capacity, indices->n + 1, sizeof *indices->at))
        return false;
    indices->at = at;
    indices->at[indices->n++] = value;
    return true;
}

/* A launch of unknown or no length is never open. */
static int64_t end_of(const struct owner_work *work, const struct launch *launch)
{
    const int64_t dur_ns = work->trace->slices.dur_ns[launch->slice_idx];
    return launch->start_ns + (dur_ns < 0 ? 0 : dur_ns);
}

static bool is_around(const struct owner_work *work, uint32_t outer, const struct launch *inner)
{
    const struct launch *launch = &work->launches[outer];
    return launch->correlation == inner->correlation && end_of(work, launch) > inner->start_ns;
}

/* A driver call inside the runtime call of the same correlation is no launch of its own,
 * whatever lies between them. At most one launch of a correlation is open on a track, so
 * those that lie too deep for a look at each are found by the latest that lay there. */
static bool is_inside_same_launch(struct owner_work *work, const struct launch *inner,
                                  uint32_t first_slice)
{
    struct indices *open = &work->open;
    while (open->n > 0 && end_of(work, &work->launches[open->at[open->n - 1]]) <= inner->start_ns)
        open->n--;
    const size_t n_near = open->n < N_NEAR_LAUNCHES ? open->n : N_NEAR_LAUNCHES;
    for (size_t i = 1; i <= n_near; i++)
        if (is_around(work, open->at[open->n - i], inner))
            return true;
    if (open->n <= N_NEAR_LAUNCHES)
        return false;
    const uint32_t deep = marey__hashmap_get(&work->deep_launch, inner->correlation);
    return deep != MAREY_NONE && work->launches[deep].slice_idx >= first_slice &&
           is_around(work, deep, inner);
}

static bool open_launch(struct owner_work *work, uint32_t launch_idx)
{
    struct indices *open = &work->open;
    if (!append(&work->trace->alloc, open, launch_idx))
        return false;
    if (open->n <= N_NEAR_LAUNCHES)
        return true;
    const uint32_t deep = open->at[open->n - 1 - N_NEAR_LAUNCHES];
    uint32_t *place = marey__hashmap_put(&work->deep_launch, work->launches[deep].correlation);
    if (place != NULL)
        *place = deep;
    return place != NULL;
}

static bool add_launch(struct owner_work *work, const struct launch *launch)
{
    void *at = work->launches;
    if (!marey__grow(&work->trace->alloc, &at, &work->capacity, work->n + 1,
                     sizeof *work->launches))
        return false;
    work->launches = at;
    work->launches[work->n++] = *launch;
    return end_of(work, launch) == launch->start_ns || open_launch(work, (uint32_t)(work->n - 1));
}

static int compare_launches(const void *ctx, uint32_t a, uint32_t b)
{
    const struct owner_work *work = ctx;
    const struct launch *x = &work->launches[a];
    const struct launch *y = &work->launches[b];
    if (x->source_idx != y->source_idx)
        return x->source_idx < y->source_idx ? -1 : 1;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool sort_launches(struct owner_work *work)
{
    const struct marey_alloc *alloc = &work->trace->alloc;
    const size_t n = work->n;
    const size_t capacity = work->capacity;
    uint32_t *order = marey__alloc(alloc, n, sizeof *order);
    struct launch *sorted = marey__alloc(alloc, capacity, sizeof *sorted);
    bool is_done = order != NULL && sorted != NULL;
    if (is_done) {
        for (size_t i = 0; i < n; i++)
            order[i] = (uint32_t)i;
        is_done = marey__sort_indices(alloc, order, n, compare_launches, work);
    }
    if (is_done) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = work->launches[order[i]];
        struct launch *old = work->launches;
        work->launches = sorted;
        sorted = old;
    }
    marey__dealloc(alloc, sorted, capacity, sizeof *sorted);
    marey__dealloc(alloc, order, n, sizeof *order);
    return is_done;
}

/* Links come in order of slices, and slices of a track are contiguous: one pass over the
 * tracks gives each link its source. */
static bool collect_launches(struct owner_work *work)
{
    const struct marey_trace *trace = work->trace;
    const struct marey_track *track = trace->tracks.at;
    for (size_t i = 0; i < trace->links.n; i++) {
        const uint32_t slice_idx = trace->links.slice_idx[i];
        while (slice_idx - track->first_slice >= track->n_slices) {
            track++;
            work->open.n = 0;
        }
        const struct launch launch = {
            .correlation = trace->links.correlation[i],
            .start_ns = trace->slices.start_ns[slice_idx],
            .slice_idx = slice_idx,
            .source_idx = track->source_idx,
        };
        if (is_launch(work, slice_idx) &&
            !is_inside_same_launch(work, &launch, track->first_slice) && !add_launch(work, &launch))
            return false;
    }
    return sort_launches(work);
}

static bool is_same_key(const struct launch *launch, uint32_t source_idx, uint64_t correlation)
{
    return launch->source_idx == source_idx && launch->correlation == correlation;
}

struct launch_key {
    uint64_t correlation;
    int64_t start_ns;
    uint32_t source_idx;
};

/* True for launches of smaller keys, and for those of the key that began by its start. */
static bool is_before(const struct launch *launch, const struct launch_key *key)
{
    if (launch->source_idx != key->source_idx)
        return launch->source_idx < key->source_idx;
    if (launch->correlation != key->correlation)
        return launch->correlation < key->correlation;
    return launch->start_ns <= key->start_ns;
}

static bool is_border(const struct owner_work *work, size_t at, const struct launch_key *key)
{
    return at <= work->n && (at == 0 || is_before(&work->launches[at - 1], key)) &&
           (at == work->n || !is_before(&work->launches[at], key));
}

/* How many launches are before the key. */
static size_t count_before(struct owner_work *work, const struct launch_key *key)
{
    for (size_t at = work->hint; at < work->hint + 3; at++)
        if (is_border(work, at, key))
            return at;
    size_t low = 0;
    size_t high = work->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_before(&work->launches[middle], key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Latest launch of the key that began by start_ns, else the key's first; NULL if the key
 * has none. */
static struct launch *find_launch(struct owner_work *work, uint32_t source_idx,
                                  uint64_t correlation, int64_t start_ns)
{
    const struct launch_key key = {correlation, start_ns, source_idx};
    const size_t at = count_before(work, &key);
    struct launch *before = at > 0 ? &work->launches[at - 1] : NULL;
    struct launch *after = at < work->n ? &work->launches[at] : NULL;
    work->hint = at;
    if (before != NULL && is_same_key(before, source_idx, correlation))
        return before;
    return after != NULL && is_same_key(after, source_idx, correlation) ? after : NULL;
}

/* Other programs write what is an operator to them without a category, or with one of their own. */
static bool is_op(const struct marey_trace *trace, uint32_t slice_idx)
{
    const enum marey_kind kind = marey_trace_slice_kind(trace, slice_idx);
    return kind == MAREY_KIND_OP || kind == MAREY_KIND_OTHER;
}

static bool is_annotation(const struct marey_trace *trace, uint32_t slice_idx)
{
    return marey_trace_slice_kind(trace, slice_idx) == MAREY_KIND_ANNOTATION;
}

/* What find_owner finds from one slice on; kept for each slice that the climb passes, so
 * that none is passed twice. False without memory. */
static bool find_far_owner(struct owner_work *work, uint32_t from, uint32_t *owner)
{
    const struct marey_trace *trace = work->trace;
    uint32_t up = from;
    uint32_t known = MAREY_NONE;
    work->path.n = 0;
    for (; up != MAREY_NONE && !is_op(trace, up); up = trace->slices.parent_idx[up]) {
        known = marey__hashmap_get(&work->far_owner, up);
        if (known != MAREY_NONE)
            break;
        if (!append(&trace->alloc, &work->path, up))
            return false;
    }
    uint32_t found = known == MAREY_NONE ? up : known == OWNED_BY_NOBODY ? MAREY_NONE : known;
    const bool has_op = found != MAREY_NONE && is_op(trace, found);
    while (work->path.n > 0) {
        const uint32_t slice_idx = work->path.at[--work->path.n];
        if (!has_op && is_annotation(trace, slice_idx))
            found = slice_idx;
        uint32_t *place = marey__hashmap_put(&work->far_owner, slice_idx);
        if (place == NULL)
            return false;
        *place = found == MAREY_NONE ? OWNED_BY_NOBODY : found;
    }
    *owner = found;
    return true;
}

/* Innermost op at or above a slice, else innermost annotation, else MAREY_NONE. A few steps
 * lead there. False without memory. */
static bool find_owner(struct owner_work *work, uint32_t from, uint32_t *owner)
{
    const struct marey_trace *trace = work->trace;
    uint32_t annotation = MAREY_NONE;
    uint32_t n_steps = 0;
    uint32_t up = from;

    for (; up != MAREY_NONE && !is_op(trace, up) && n_steps < N_FREE_STEPS; n_steps++) {
        if (annotation == MAREY_NONE && is_annotation(trace, up))
            annotation = up;
        up = trace->slices.parent_idx[up];
    }
    *owner = up;
    if (n_steps == N_FREE_STEPS && !find_far_owner(work, up, owner))
        return false;
    if (annotation != MAREY_NONE && (*owner == MAREY_NONE || !is_op(trace, *owner)))
        *owner = annotation;
    return true;
}

static bool own_launches(struct owner_work *work)
{
    for (size_t i = 0; i < work->n; i++) {
        struct launch *launch = &work->launches[i];
        const uint32_t around = work->trace->slices.parent_idx[launch->slice_idx];
        if (!find_owner(work, around, &launch->owner_idx))
            return false;
        if (launch->owner_idx == MAREY_NONE)
            launch->owner_idx = launch->slice_idx;
    }
    return true;
}

static void assign(struct owner_work *work, size_t link, uint32_t source_idx)
{
    struct marey_trace *trace = work->trace;
    const uint32_t idx = trace->links.slice_idx[link];
    const int64_t start = trace->slices.start_ns[idx];
    struct launch *launch = find_launch(work, source_idx, trace->links.correlation[link], start);
    if (launch == NULL)
        return;
    launch->has_operation = true;
    trace->launch_idx[link] = launch->slice_idx;
    trace->owner_idx[link] = launch->owner_idx;
    if (start < launch->start_ns) {
        trace->owners.n_before_launch++;
        marey__account_note(&trace->account, MAREY_REASON_KERNEL_BEFORE_LAUNCH,
                            trace->slices.offset[idx]);
    }
}

static void assign_track(struct owner_work *work, const struct marey_track *track)
{
    struct marey_trace *trace = work->trace;
    const struct marey_slice_columns *slices = &trace->slices;
    const uint32_t to = track->first_slice + track->n_slices;
    size_t link = marey__first_at_least(trace->links.slice_idx, trace->links.n, track->first_slice);
    for (uint32_t idx = track->first_slice; idx < to; idx++) {
        const bool has_link = link < trace->links.n && trace->links.slice_idx[link] == idx;
        const enum marey_kind kind = trace->category[slices->cat_id[idx]].kind;
        const bool is_operation = marey_kind_is_device_operation(kind);
        trace->owners.n_operations += is_operation;
        if (has_link && is_operation)
            assign(work, link, track->source_idx);
        if (is_operation && (!has_link || trace->launch_idx[link] == MAREY_NONE)) {
            trace->owners.n_without_launch++;
            marey__account_note(&trace->account, MAREY_REASON_NO_LAUNCH, slices->offset[idx]);
        }
        link += has_link;
    }
}

/* Device operations lie on streams, and on no other track. */
static void assign_all(struct owner_work *work)
{
    for (size_t t = 0; t < work->trace->tracks.n; t++)
        if (work->trace->tracks.at[t].kind == MAREY_TRACK_STREAM)
            assign_track(work, &work->trace->tracks.at[t]);
}

/* The launch of an operation that was set aside as not collected did lead to one. */
static void note_not_collected(struct owner_work *work)
{
    const struct marey_trace *trace = work->trace;
    const char *not_collected = marey__reason_name(MAREY_REASON_NOT_COLLECTED);
    for (size_t i = 0; i < trace->quarantined.n; i++) {
        const struct marey_quarantined *record = &trace->quarantined.at[i];
        if (record->reason != not_collected || !record->has_correlation)
            continue;
        struct launch *launch = find_launch(work, MAREY_OFFSET_SOURCE(record->offset),
                                            record->correlation, record->start_ns);
        if (launch != NULL)
            launch->has_operation = true;
    }
}

/* CUPTI does not write a memset record for each call that fills memory: without one nothing is
 * known to be missing. */
static enum marey_reason reason_without(const struct owner_work *work, const struct launch *launch)
{
    const struct marey_trace *trace = work->trace;
    const struct marey_str name =
        marey_trace_string(trace, trace->slices.name_id[launch->slice_idx]);

    return marey__str_holds_caseless(name, "memset") ? MAREY_REASON_NO_FILL
                                                     : MAREY_REASON_NO_KERNEL;
}

static void count_launches(struct owner_work *work)
{
    struct marey_trace *trace = work->trace;
    const struct launch *previous = NULL;
    for (size_t i = 0; i < work->n; i++) {
        const struct launch *launch = &work->launches[i];
        if (!launch->has_operation) {
            trace->owners.n_without_kernel++;
            marey__account_note(&trace->account, reason_without(work, launch),
                                trace->slices.offset[launch->slice_idx]);
        }
        if (previous != NULL && is_same_key(previous, launch->source_idx, launch->correlation))
            marey__account_note(&trace->account, MAREY_REASON_CORRELATION_REUSED,
                                trace->slices.offset[launch->slice_idx]);
        previous = launch;
    }
}

enum marey_status marey__build_owners(struct marey_trace *trace, struct marey_error *err)
{
    enum marey_status status = MAREY_OK;
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = trace->links.n;
    struct owner_work work = {.trace = trace, .n_names = trace->strings.n};
    struct marey_examination examination = {.n_missing_ranks = 0};
    uint32_t *launch_idx = marey__alloc(alloc, n, sizeof *launch_idx);
    uint32_t *owner_idx = marey__alloc(alloc, n, sizeof *owner_idx);
    marey__hashmap_init(&work.deep_launch, alloc);
    marey__hashmap_init(&work.far_owner, alloc);
    work.is_launch_name = marey__alloc_zero(alloc, work.n_names, 1);
    if (launch_idx == NULL || owner_idx == NULL || work.is_launch_name == NULL ||
        !collect_launches(&work) || !own_launches(&work) ||
        !marey__examine_collect(trace, &examination)) {
        status = marey__fail_nomem(err);
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        launch_idx[i] = owner_idx[i] = MAREY_NONE;

    trace->launch_idx = launch_idx;
    trace->owner_idx = owner_idx;
    launch_idx = owner_idx = NULL;
    assign_all(&work);
    note_not_collected(&work);
    count_launches(&work);
    marey__examine_note(trace, &examination);
    trace->owners.n_launches = work.n;
    trace->owners.n = n;
    trace->owners.launch_idx = trace->launch_idx;
    trace->owners.owner_idx = trace->owner_idx;
    /* Owners and the examination are the last to note anything, so the account is complete, and its
     * rows can be read without the lock from here on. */
    trace->n_ledger_rows = marey__account_rows(&trace->account, trace->ledger_row);
    trace->has_owners = true;

done:
    marey__examine_release(trace, &examination);
    marey__hashmap_release(&work.far_owner);
    marey__hashmap_release(&work.deep_launch);
    marey__dealloc(alloc, work.path.at, work.path.capacity, sizeof *work.path.at);
    marey__dealloc(alloc, work.open.at, work.open.capacity, sizeof *work.open.at);
    marey__dealloc(alloc, work.launches, work.capacity, sizeof *work.launches);
    marey__dealloc(alloc, work.is_launch_name, work.n_names, 1);
    marey__dealloc(alloc, owner_idx, n, sizeof *owner_idx);
    marey__dealloc(alloc, launch_idx, n, sizeof *launch_idx);
    return status;
}
