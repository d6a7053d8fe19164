/*
 * marey/aggregate.h - averages of a trace by name, shape, stack or overload.
 *
 *     struct marey_averages *averages = NULL;
 *     struct marey_averages_options options = {.size = sizeof options, .percentiles = true};
 *     if (marey_averages_new(trace, &options, &averages, &err) == MAREY_OK) {
 *         size_t n = 0;
 *         const struct marey_average *row = marey_averages_rows(averages, &n);
 *         ...
 *     }
 *     marey_averages_free(averages);
 *
 * The numbers follow the laws (docs/numbers.md): self times of a track add up to
 * its union, owned device time adds up to the device operations, recursion is
 * counted once in totals, what is not known is MAREY_UNKNOWN.
 *
 * Life: the averages borrow the trace, which must outlive them; joined ones borrow nothing.
 * Threads: one thread at a time per object.
 */
#ifndef MAREY_AGGREGATE_H
#define MAREY_AGGREGATE_H

#include "marey/base.h"
#include "marey/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct marey_averages;

struct marey_averages_options {
    size_t size;         /* sizeof(struct marey_averages_options) */
    bool by_shape;       /* also by input shapes */
    bool by_overload;    /* "aten::add.Tensor": "add" and "Tensor" apart */
    uint32_t by_stack;   /* also by the innermost n entries of the call stack; 0: not */
    bool percentiles;    /* exact p50 and p99 */
    bool include_python; /* rows for Python functions; their self time counts anyway */
    bool top_level;      /* only slices without a parent */
    bool join_steps;     /* one row "ProfilerStep*" for all of ProfilerStep#<n>, as torch has it */
    bool by_rank;        /* also by rank */
    bool by_event;       /* a row for each slice instead, in order of their starts; with by_shape
                          * the rows have shapes if any slice has, the other keys are without
                          * effect */
};

/* One row. Host slices and device operations are rows of their own.
 * \units ns; MAREY_UNKNOWN where no call has a known time */
struct marey_average {
    uint32_t name_id;
    enum marey_kind kind;
    uint32_t shapes_id; /* string ids; MAREY_NONE unless grouped by it */
    uint32_t stack_id;  /* entries joined by ';', innermost first */
    uint32_t overload_id;
    uint32_t first_slice; /* the earliest slice of the row; MAREY_NONE in joined averages */
    uint64_t n_calls;
    uint64_t n_timed; /* calls of known duration: what mean and percentiles are of */
    int64_t self_ns;  /* device operations: their sum */
    int64_t total_ns; /* time in which a call of the row was open, added over the threads (so
                       * recursion is counted once); device operations: their sum */
    int64_t sum_ns;   /* of all n_timed durations, nested calls too: mean = sum_ns / n_timed */
    int64_t min_ns;
    int64_t max_ns;
    int64_t p50_ns; /* nearest rank; MAREY_UNKNOWN unless asked for */
    int64_t p99_ns;
    int64_t device_self_ns;       /* of the operations this row owns */
    int64_t device_total_ns;      /* with those of the ops and annotations inside it */
    uint64_t n_device_operations; /* owned */
    int64_t first_start_ns;       /* start of the earliest call */
    int64_t rank;                 /* MAREY_UNKNOWN unless grouped by it */
};

/* \fails MAREY_NOMEM; with shapes, stacks or overloads what
 *        marey_trace_decode_args fails with
 * \owns gives *averages, freed by marey_averages_free */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_averages_new(struct marey_trace *trace, const struct marey_averages_options *options,
                   struct marey_averages **averages, struct marey_error *err);
MAREY_API void marey_averages_free(struct marey_averages *averages);

/* Joins averages of spans that lie one after another, as of the cycles of a schedule: rows of one
 * key (name, kind and what they are grouped by) are one row. Counts, sums, self, total, shortest
 * and longest are exact; p50 and p99 are known where one part has all calls of a row. The account
 * counts what all parts lost, and the spans between them as not recorded. Parts may be joined
 * themselves, and may be freed with their traces after the call.
 * \shape parts[n_parts], in order of time, n_parts > 0
 * \owns gives *averages, freed by marey_averages_free
 * \fails MAREY_NOMEM; MAREY_INVALID: no part, parts that are grouped in different ways, or by_event
 */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_averages_join(struct marey_averages *const *parts, size_t n_parts,
                    struct marey_averages **averages, struct marey_error *err);

/* The trace they are of, NULL of joined ones, and the options they were made with. */
MAREY_API struct marey_trace *marey_averages_trace(const struct marey_averages *averages);
MAREY_API struct marey_averages_options
marey_averages_get_options(const struct marey_averages *averages);

/* \shape rows[n]: host rows, then device rows; each in the default order (self device
 *        time if there is any, else self time, descending; ties by name, start, track),
 *        by_event by start and track */
MAREY_API const struct marey_average *marey_averages_rows(const struct marey_averages *averages,
                                                          size_t *n);

/* Text of a row's name_id, shapes_id, stack_id or overload_id. */
MAREY_API struct marey_str marey_averages_string(const struct marey_averages *averages,
                                                 uint32_t string_id);

/* Sums over all rows, shown or not.
 * \units ns */
struct marey_totals {
    int64_t host_self_ns;   /* of host slices that are rows or Python functions */
    int64_t python_self_ns; /* the part of it in Python functions */
    int64_t device_sum_ns;  /* of all device operations */
    int64_t device_busy_ns; /* their union per device, added over the devices */
    int64_t unowned_ns;     /* of operations whose launch is not in the trace */
    int64_t overhead_ns;    /* of the profiler's own overhead records */
    uint64_t n_devices;
};

MAREY_API struct marey_totals marey_averages_totals(const struct marey_averages *averages);

/* ---- the laws ---------------------------------------------------------------------- */

/* Both sides of the laws of conservation, each found in its own way: the first two are equal
 * (law 2), and so are the last two (law 4).
 * \units ns; MAREY_UNKNOWN for a sum that 64 bits do not hold */
struct marey_law_checks {
    int64_t self_sum_ns;           /* self times of all slices */
    int64_t union_ns;              /* the time in which a track has a slice open, over all tracks */
    int64_t device_sum_ns;         /* of all device operations */
    int64_t owned_plus_unowned_ns; /* what the rows of the averages own, and what nobody owns */
};

/* Computes them.
 * \fails MAREY_NOMEM; *checks is untouched then
 * \cost makes averages */
MAREY_API MAREY_MUST_CHECK enum marey_status marey_trace_check_laws(struct marey_trace *trace,
                                                                    struct marey_law_checks *checks,
                                                                    struct marey_error *err);

/* ---- torch's own view ------------------------------------------------------------ */

/* What torch.profiler would show of this trace: its FunctionEvents, its tree, its
 * averages, with its rules (docs/differences.md) instead of ours. */
struct marey_torch_view;

/* What a file does not tell. */
enum marey_known {
    MAREY_KNOWN_AUTO = 0, /* take it from the file, else the stated default */
    MAREY_KNOWN_NO = 1,
    MAREY_KNOWN_YES = 2
};

struct marey_torch_options {
    size_t size;
    int32_t version;         /* torch 2.13 is 213; 0: guessed from the file */
    enum marey_known memory; /* profile_memory; default: the file's flag, or [memory] records */
    enum marey_known flops;  /* with_flops; default: the file's flag */
    enum marey_known python_functions; /* rows for them; default by version: 2.13 only */
};

/* One FunctionEvent. Times are µs doubles relative to the trace's start, as in torch.
 * String ids are of the view: marey_torch_view_string. */
struct marey_torch_event {
    int64_t id; /* correlation id; 0 for Python functions */
    uint32_t name_id;
    uint32_t trace_name_id;
    uint32_t overload_id;
    uint32_t shapes_id; /* str(input_shapes), "[]" if none */
    uint32_t slice_idx; /* MAREY_NONE for "[memory]" and quarantined rows */
    double start_us;
    double end_us;
    int64_t thread;         /* logical thread id from 1; stream id of a device event */
    int64_t forward_thread; /* MAREY_UNKNOWN if none */
    int64_t sequence;       /* -1 if none */
    int64_t python_id;      /* -1 if none */
    uint32_t parent_idx;    /* position in the event list; MAREY_NONE */
    uint32_t first_kernel;  /* range in marey_torch_view_kernels */
    uint32_t n_kernels;
    uint32_t first_stack; /* range in marey_torch_view_stacks */
    uint32_t n_stack;
    int64_t cpu_memory; /* bytes */
    int64_t device_memory;
    int64_t self_cpu_memory;
    int64_t self_device_memory;
    uint64_t flops;
    double cpu_total_us;
    double self_cpu_us;
    double device_total_us;
    double self_device_us;
    int32_t device_type; /* torch's DeviceType: CPU 0, CUDA 1 */
    int32_t device_index;
    bool is_async;
    bool is_user_annotation;
    bool is_python_function;
};

/* \owns gives *view, freed by marey_torch_view_free; borrows the trace
 * \fails what marey_trace_decode_args fails with; MAREY_INVALID for a version before 2.4 */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_torch_view_new(struct marey_trace *trace, const struct marey_torch_options *options,
                     struct marey_torch_view **view, struct marey_error *err);
MAREY_API void marey_torch_view_free(struct marey_torch_view *view);

/* The options with every AUTO and 0 replaced by what was taken. */
MAREY_API struct marey_torch_options marey_torch_view_options(const struct marey_torch_view *view);

/* \shape events[n], in torch's order */
MAREY_API const struct marey_torch_event *
marey_torch_view_events(const struct marey_torch_view *view, size_t *n);
MAREY_API struct marey_str marey_torch_view_string(const struct marey_torch_view *view,
                                                   uint32_t string_id);

struct marey_torch_kernel {
    uint32_t name_id;
    int32_t device;
    double dur_us;
};

/* All kernels of all events; an event's are a range of it. */
MAREY_API const struct marey_torch_kernel *
marey_torch_view_kernels(const struct marey_torch_view *view, size_t *n);

/* All stack entries (string ids) of all events; an event's are a range of it. */
MAREY_API const uint32_t *marey_torch_view_stacks(const struct marey_torch_view *view, size_t *n);

/* One FunctionEventAvg. */
struct marey_torch_average {
    uint32_t name_id;
    uint32_t overload_id; /* the empty string unless grouped by it */
    uint32_t shapes_id;   /* the empty string unless grouped by it */
    uint32_t first_stack;
    uint32_t n_stack;     /* cut to the n asked for */
    uint32_t first_event; /* whose descriptive fields the row has */
    uint64_t count;
    double cpu_total_us;
    double self_cpu_us;
    double device_total_us;
    double self_device_us;
    int64_t cpu_memory;
    int64_t device_memory;
    int64_t self_cpu_memory;
    int64_t self_device_memory;
    uint64_t flops;
    int32_t device_type;
    bool has_parent;
    bool is_async;
    bool is_user_annotation;
};

struct marey_torch_averages;

/* key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name).
 * \owns gives *averages, freed by marey_torch_averages_free; borrows the view
 * \fails MAREY_NOMEM */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_torch_averages_new(const struct marey_torch_view *view, bool by_shape, uint32_t by_stack,
                         bool by_overload, struct marey_torch_averages **averages,
                         struct marey_error *err);
MAREY_API void marey_torch_averages_free(struct marey_torch_averages *averages);

/* \shape rows[n], in order of first appearance */
MAREY_API const struct marey_torch_average *
marey_torch_averages_rows(const struct marey_torch_averages *averages, size_t *n);
MAREY_API const struct marey_torch_view *
marey_torch_averages_view(const struct marey_torch_averages *averages);

#ifdef __cplusplus
}
#endif

#endif
