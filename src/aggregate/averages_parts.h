/*
 * averages_parts.h - what the files of the averages share.
 *
 * Flow: averages_groups gives each slice a group, averages_host sweeps the threads,
 * averages_device adds up device operations, averages_percentiles ranks durations,
 * averages turns groups into sorted rows.
 *
 * Sums are int64 nanoseconds. One that does not fit saturates at INT64_MAX, and a row
 * shows that as unknown rather than as a wrong number.
 */
#ifndef MAREY_SRC_AGGREGATE_AVERAGES_PARTS_H
#define MAREY_SRC_AGGREGATE_AVERAGES_PARTS_H

#include "aggregate/about.h"
#include "base/alloc.h"
#include "base/hashmap.h"
#include "base/intern.h"
#include "marey/aggregate.h"
#include "trace/ledger.h"

/* Groups that are no rows. Slices of threads are charged by one rule (law 2), whoever
 * looks at them later, so those that a table does not show need a group as well. */
enum marey_hidden_group {
    MAREY_HIDDEN_HOST = 0,   /* host slices that were not asked for (not at the top level) */
    MAREY_HIDDEN_PYTHON = 1, /* Python functions that were not asked for */
    MAREY_HIDDEN_REST = 2,   /* windows and overhead: in no sum of host time */
    MAREY_N_HIDDEN = 3
};

/* What the sweep of a thread adds to, apart from the rest. */
struct marey_group {
    int64_t self_ns;
    int64_t total_ns;
    int64_t nested_ns; /* durations of calls inside a call of the same group: not in total */
    int64_t min_ns;
    int64_t max_ns;
    /* Of the track being swept: */
    int64_t open_until_ns; /* until when a call of the group is open */
    uint32_t n_open;       /* slices of the group on the stack, where slices cross */
    uint32_t track_idx;    /* the last one on which it was met */
    uint32_t first_slice;
    uint32_t n_calls;
    uint32_t n_timed;
};

/* The rest of a row in the making. */
struct marey_group_key {
    uint32_t name_id;
    uint32_t shapes_id;
    uint32_t stack_id;
    int64_t rank; /* MAREY_UNKNOWN: not by rank */
    enum marey_kind kind;
    bool is_device;
    int64_t device_self_ns;
    int64_t device_total_ns;
    uint64_t n_device_operations;
    int64_t p50_ns;
    int64_t p99_ns;
};

/* Texts that the trace does not have: their ids follow those that the trace had when
 * the averages were made. Id 0 is the empty text in both. */
struct marey_own_strings {
    struct marey_intern table;
    size_t n_trace;
};

/* What joined averages are of, in place of a trace. */
struct marey_joined {
    struct marey_about about; /* its ledger has the rows below */
    struct marey_ledger_row ledger_row[MAREY_N_REASONS];
};

struct marey_averages {
    struct marey_alloc alloc;
    struct marey_trace *trace;   /* NULL: joined */
    struct marey_joined *joined; /* or NULL */
    struct marey_averages_options options;
    struct marey_average *rows;
    size_t n_rows;
    struct marey_own_strings strings;
    struct marey_totals totals;
};

/* The text of an id of averages; trace may be NULL where n_trace is 0. */
struct marey_str marey__averages_text(const struct marey_trace *trace,
                                      const struct marey_own_strings *strings, uint32_t string_id);

/* The rows in the default order, or in that of their first starts, [n]. NULL without memory. */
struct marey_average *marey__sorted_rows(const struct marey_trace *trace,
                                         const struct marey_own_strings *strings,
                                         const struct marey_alloc *alloc,
                                         const struct marey_average *rows, size_t n, bool by_start);

struct marey_averages_work {
    struct marey_alloc alloc;
    struct marey_trace *trace;
    struct marey_averages_options options;
    struct marey_error *err;

    struct marey_slices slices;
    const struct marey_track *tracks;
    size_t n_tracks;
    uint8_t kind_of[256];      /* enum marey_kind by cat_id */
    bool is_operation_of[256]; /* a device operation, by cat_id */

    struct marey_group *groups;   /* [n_groups] */
    struct marey_group_key *keys; /* [n_groups] */
    size_t n_groups;
    size_t groups_capacity;
    size_t keys_capacity;
    uint32_t *group_of; /* [slices.n] by slice */

    /* Device time of a slice and of all that lies inside it; NULL if the trace has no
     * device operations. MAREY_UNKNOWN: it owns some, none with a known time.
     * \shape [slices.n] */
    int64_t *inside_ns;

    struct marey_own_strings strings;
    struct marey_totals totals;
};

/* a + b that stays at INT64_MAX once it gets there; both are >= 0. */
static inline int64_t marey__ns_add(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* to - from for from <= to. */
static inline int64_t marey__ns_between(int64_t from, int64_t to)
{
    int64_t span = 0;
    return __builtin_sub_overflow(to, from, &span) ? INT64_MAX : span;
}

/* start + dur for dur >= 0. */
static inline int64_t marey__ns_end(int64_t start_ns, int64_t dur_ns)
{
    return marey__ns_add(start_ns, dur_ns);
}

/* Sum of device times of which either may be "operations, but no known time". */
static inline int64_t marey__ns_join(int64_t a, int64_t b)
{
    if (a == MAREY_UNKNOWN)
        return b == 0 ? a : b;
    if (b == MAREY_UNKNOWN)
        return a == 0 ? b : a;
    return marey__ns_add(a, b);
}

/* Rows that count the device time of what lies inside them; a slice without category is
 * taken for an op, as ownership takes it. Others have no more in total than they own: calls
 * into the runtime are leaves. */
static inline bool marey__is_inclusive(enum marey_kind kind)
{
    return kind == MAREY_KIND_OP || kind == MAREY_KIND_OTHER || kind == MAREY_KIND_ANNOTATION ||
           kind == MAREY_KIND_PYTHON;
}

static inline void marey__group_clear(struct marey_group *group)
{
    *group = (struct marey_group){
        .min_ns = INT64_MAX,
        .max_ns = INT64_MIN,
        .track_idx = MAREY_NONE,
        .first_slice = MAREY_NONE,
    };
}

/* Counts a call; tracks and the slices of each are met in ascending order.
 * True if it is the group's first on this track. */
static inline bool marey__count_call(struct marey_group *group, const struct marey_slices *slices,
                                     uint32_t slice_idx, uint32_t track_idx)
{
    group->n_calls++;
    if (group->track_idx == track_idx)
        return false;
    group->track_idx = track_idx;
    if (group->first_slice == MAREY_NONE ||
        slices->start_ns[slice_idx] < slices->start_ns[group->first_slice])
        group->first_slice = slice_idx;
    return true;
}

/* Counts a known duration, but for the sums of which it is a part. */
static inline void marey__count_time(struct marey_group *group, int64_t dur_ns)
{
    group->n_timed++;
    if (dur_ns < group->min_ns)
        group->min_ns = dur_ns;
    if (dur_ns > group->max_ns)
        group->max_ns = dur_ns;
}

/* Fills group_of: host slices by the options, device operations by name and kind.
 * \fails MAREY_NOMEM, and what marey_trace_decode_args fails with */
MAREY_MUST_CHECK enum marey_status marey__averages_group(struct marey_averages_work *work);

/* Self, total, calls, shortest and longest of all groups of threads, in one sweep. */
MAREY_MUST_CHECK enum marey_status marey__averages_sweep_host(struct marey_averages_work *work);

/* Sums of device operations, per device their union, and who owns them. Before the sweep
 * of the host, which needs inside_ns. */
MAREY_MUST_CHECK enum marey_status marey__averages_add_device(struct marey_averages_work *work);

/* Exact p50 and p99 of each group that is a row. After all sums. */
MAREY_MUST_CHECK enum marey_status marey__averages_rank(struct marey_averages_work *work);

/* The texts of averages_keys.c. */
struct marey_key_texts {
    struct marey_averages_work *work;
    struct marey_hashmap shapes_of; /* trace id of Input Dims -> own id */
    struct marey_hashmap stack_of;  /* trace id of Call stack -> own id */
    const uint32_t *dims;           /* [slices.n] trace ids, NULL if not asked for */
    const uint32_t *call_stacks;
    uint32_t *python_of;    /* [slices.n] nearest Python slice around each slice */
    uint32_t *python_stack; /* [slices.n] own id of the stack that begins there */
};

MAREY_MUST_CHECK enum marey_status marey__key_texts_init(struct marey_key_texts *texts,
                                                         struct marey_averages_work *work);
void marey__key_texts_release(struct marey_key_texts *texts);

/* The string id of a slice's shapes or stack; 0 (the empty text) if it has none,
 * MAREY_NONE without memory. */
uint32_t marey__key_shapes(struct marey_key_texts *texts, uint32_t slice_idx);
uint32_t marey__key_stack(struct marey_key_texts *texts, uint32_t slice_idx);

/* The id of a text of ours; MAREY_NONE without memory. */
uint32_t marey__own_string(struct marey_own_strings *strings, struct marey_str text);

/* Cuts "aten::add.Tensor" into "aten::add" and "Tensor"; false if the name has no
 * overload. */
bool marey__split_overload(struct marey_str name, struct marey_str *op, struct marey_str *overload);

/* Nearest rank: result r is the least value that at least n * p / q of the values do not
 * exceed. Values are >= 0; their order changes. n is above 0 and below 2^32. Narrow ones are half
 * as large.
 * \shape scratch[n], bins[MAREY_RANK_BINS], results[n_ranks] */
#define MAREY_RANK_BINS 8192
struct marey_rank {
    uint32_t p;
    uint32_t q;
};
void marey__select_ranks_wide(int64_t *values, size_t n, const struct marey_rank *ranks,
                              size_t n_ranks, int64_t *results, int64_t *scratch, uint32_t *bins);
void marey__select_ranks_narrow(uint32_t *values, size_t n, const struct marey_rank *ranks,
                                size_t n_ranks, int64_t *results, uint32_t *scratch,
                                uint32_t *bins);

#endif
