/*
 * torch_view.h - the inside of torch's own view of a trace, shared by the torch files.
 *
 *   slices, quarantined rows ──torch_records──> rows in file order
 *        ──torch_args──> with what their args say ──torch_threads──> logical threads
 *        ──torch_links──> in torch's result order, with kernels
 *        ──torch_memory──> with memory, and "[memory]" rows between them
 *        ──torch_tree──> parents, no duplicates ──torch_stack──> stacks
 *        ──torch_view──> events
 *
 * Rules: what _parse_kineto_results and EventList._build_tree of torch do, known faults
 * included; docs/differences.md lists where our own numbers differ.
 */
#ifndef MAREY_SRC_AGGREGATE_TORCH_VIEW_H
#define MAREY_SRC_AGGREGATE_TORCH_VIEW_H

#include "base/alloc.h"
#include "base/hashmap.h"
#include "base/intern.h"
#include "base/text.h"
#include "marey/aggregate.h"

/* torch's DeviceType. */
enum marey_torch_device {
    MAREY_TORCH_CPU = 0,
    MAREY_TORCH_CUDA = 1,
    MAREY_TORCH_MKLDNN = 2,
    MAREY_TORCH_IDEEP = 5,
    MAREY_TORCH_HIP = 6,
    MAREY_TORCH_XPU = 12,
    MAREY_TORCH_HPU = 15,
    MAREY_TORCH_MTIA = 19,
    MAREY_TORCH_PRIVATEUSE1 = 20
};

/* torch's RecordScope, as far as a file tells it. */
enum marey_torch_scope {
    MAREY_TORCH_SCOPE_FUNCTION = 0,
    MAREY_TORCH_SCOPE_BACKWARD = 1,
    MAREY_TORCH_SCOPE_USER = 7
};

/* Which record a row is. */
enum marey_torch_source {
    MAREY_TORCH_SLICE = 0,       /* ref is a slice */
    MAREY_TORCH_QUARANTINED = 1, /* ref is a row of marey_trace_quarantined */
    MAREY_TORCH_ALLOCATION = 2,  /* "[memory]" that no event holds */
    MAREY_TORCH_FAILURE = 3      /* "[OutOfMemory]" */
};

/* One FunctionEvent in the making. Rows are sorted, not moved about otherwise: all
 * references between rows are made after the last sort. */
struct marey_torch_row {
    int64_t start_ns;
    int64_t end_ns;
    uint64_t offset;
    int64_t external_id; /* args; 0 if absent */
    int64_t correlation; /* 0 if absent */
    int64_t id;
    int64_t linked_id; /* 0: an event of the front end */
    int64_t sequence;
    int64_t forward_thread;
    int64_t python_id;
    int64_t thread;
    int64_t cpu_memory;
    int64_t device_memory;
    uint64_t flops;
    uint32_t ref;
    uint32_t track_idx; /* MAREY_NONE if none */
    uint32_t name_idx;  /* of marey_torch_build.name */
    uint32_t shapes_id;
    uint32_t stack_idx; /* of marey_torch_build.stack; 0 is empty */
    uint32_t first_kernel;
    uint32_t n_kernels;
    uint32_t home_slice; /* without an op: what is open on the main thread when it begins */
    uint32_t parent;     /* the tree: rows by their place in the list */
    uint32_t first_child;
    uint32_t last_child;
    uint32_t next_sibling;
    uint32_t n_children;
    int32_t device_type;
    int32_t device_index;
    uint8_t kind;   /* enum marey_kind */
    uint8_t source; /* enum marey_torch_source */
    uint8_t scope;
    bool is_async; /* in torch; also what is open */
    bool is_open;
    bool is_hidden; /* args say so, or a duplicate */
};

/* What a name of the trace is in torch. */
struct marey_torch_name {
    uint32_t name_id; /* string ids of the view */
    uint32_t trace_name_id;
    uint32_t overload_id;
    bool is_skipped; /* torch drops events of this name */
    uint8_t flops;   /* index of the formula, 0 is none */
};

/* Entries of one call stack: a range of marey_torch_view.stacks. */
struct marey_torch_stack {
    uint32_t first;
    uint32_t n;
};

/* A text that was seen already, and what came of it. */
struct marey_torch_cache {
    struct marey_intern table;
    uint32_t *value; /* by id of the table; MAREY_NONE if not yet known */
    size_t capacity;
};

struct marey_torch_view {
    struct marey_alloc alloc;
    struct marey_trace *trace;
    struct marey_torch_options options;
    struct marey_intern strings;
    struct marey_torch_event *events;
    size_t n_events;
    uint8_t *scope; /* [n_events] */
    struct marey_torch_kernel *kernels;
    size_t n_kernels;
    size_t kernels_capacity;
    uint32_t *stacks;
    size_t n_stacks;
    size_t stacks_capacity;
    const char *device_name; /* use_device in capitals, "CUDA"; NULL: no device */
};

/* One allocation, as its record says. */
struct marey_torch_allocation {
    int64_t ts_ns;
    uint64_t offset;
    int64_t bytes;       /* negative: freed */
    int64_t device_type; /* MAREY_UNKNOWN if not given: counts for nothing */
    uint32_t track_idx;
    bool is_failure; /* [OutOfMemory] */
};

/* All of them, by time. */
struct marey_torch_memory {
    struct marey_torch_allocation *at;
    size_t n;
    size_t capacity;
};

struct marey_torch_build {
    struct marey_torch_view *view;
    const struct marey_trace *trace;
    struct marey_alloc alloc;
    struct marey_torch_row *rows;
    size_t n_rows;
    size_t rows_capacity;
    int64_t origin_ns; /* time 0 of all events */
    int64_t end_ns;    /* end of the recorded span */
    bool has_overloads;
    bool has_stacks;       /* some record has a call stack */
    uint32_t home_track;   /* of the thread that stopped the profiler; MAREY_NONE */
    int64_t *track_thread; /* [n of tracks] logical ids, 0 where there is none */
    size_t n_tracks;
    /* [2 * n_names + 2] by string id of the trace, ops n_names higher, since only their
     * names are split, then those of allocations; name_id is MAREY_NONE where no row has
     * the name. */
    struct marey_torch_name *name;
    size_t n_names;
    struct marey_torch_stack *stack;
    size_t n_stacks;
    size_t stacks_capacity;
    struct marey_torch_cache shapes;
    struct marey_torch_cache stack_texts;
    struct marey_textbuf stack_text; /* of one record */
    struct marey_textbuf scratch;
    struct marey_torch_memory memory;
    uint32_t no_shapes_id;           /* of "[]" */
    struct marey_hashmap op_of_id;   /* External id -> row of an op or annotation */
    struct marey_hashmap call_of_id; /* correlation -> row of a runtime call */
    uint32_t *row_of_slice;          /* [n_slices] of front-end events, else MAREY_NONE */
    size_t n_slices;
};

#define MAREY_TORCH_N_NAMES(build) (2 * (build)->n_names + 2)
#define MAREY_TORCH_MEMORY_NAME(build) ((uint32_t)(2 * (build)->n_names))
#define MAREY_TORCH_FAILURE_NAME(build) ((uint32_t)(2 * (build)->n_names + 1))

/* torch_records.c: whether a row may be open at the end. Such an event has no end thread, or
 * another one than it began on, so torch takes it for asynchronous. Python functions always
 * end. */
bool marey__torch_may_be_open(const struct marey_torch_row *row);

/* One more row, all of it "none"; false without memory. */
bool marey__torch_add_row(struct marey_torch_build *build);

/* The rows, in file order; device and span. */
enum marey_status marey__torch_collect(struct marey_torch_build *build, struct marey_error *err);

/* Sorts rows by start; equal ones keep their order. */
enum marey_status marey__torch_sort_rows(struct marey_torch_build *build, struct marey_error *err);

/* torch_names.c: what the names in use become. */
enum marey_status marey__torch_name_rows(struct marey_torch_build *build, struct marey_error *err);

/* torch_args.c: what args say; rows are in file order. */
enum marey_status marey__torch_read_args(struct marey_torch_build *build, struct marey_error *err);

/* torch_threads.c: logical thread ids of tracks; needs args. */
enum marey_status marey__torch_number_threads(struct marey_torch_build *build,
                                              struct marey_error *err);

/* torch_home.c: what is open on the main thread when rows without an op begin
 * (home_slice), and ids of overhead records, by a replay of torch's C++ tree. */
enum marey_status marey__torch_replay_home(struct marey_torch_build *build,
                                           struct marey_error *err);

/* torch_links.c: what an event is to torch. */
bool marey__torch_is_front_end(const struct marey_torch_row *row);

/* The row of the op that an event of the back end hangs below; MAREY_NONE if none. */
uint32_t marey__torch_op_of(const struct marey_torch_build *build,
                            const struct marey_torch_row *row);

/* Microseconds since time 0, as the double that torch has. */
double marey__torch_us(const struct marey_torch_build *build, int64_t ns);

/* torch_links.c: ids, ends of open events, kernels; rows are in torch's result order. */
enum marey_status marey__torch_link(struct marey_torch_build *build, struct marey_error *err);

/* torch_memory.c: sums of the allocations inside each row; appends rows of the others. */
enum marey_status marey__torch_read_memory(struct marey_torch_build *build,
                                           struct marey_error *err);
enum marey_status marey__torch_charge_memory(struct marey_torch_build *build,
                                             struct marey_error *err);
void marey__torch_release_memory(struct marey_torch_build *build);

/* torch_tree.c: torch's list order, parents, duplicates gone. */
enum marey_status marey__torch_build_tree(struct marey_torch_build *build, struct marey_error *err);

/* torch_stack.c: the index of a call stack ("a;b;", escapes resolved), MAREY_NONE without
 * memory. */
uint32_t marey__torch_stack_of_text(struct marey_torch_build *build, struct marey_str text);

/* Stacks of runtime calls and device records (of their ops), then those of backward. */
enum marey_status marey__torch_place_stacks(struct marey_torch_build *build,
                                            struct marey_error *err);
enum marey_status marey__torch_set_backward_stacks(struct marey_torch_build *build,
                                                   struct marey_error *err);

/* torch_shapes.c: str(input_shapes) of the text of "Input Dims"; MAREY_NONE without
 * memory. */
uint32_t marey__torch_shapes_of_text(struct marey_torch_build *build, struct marey_str text);

/* torch_flops.c: the formula for an op's name, 0 if none, and its value. */
uint8_t marey__torch_flops_formula(struct marey_str name);
uint64_t marey__torch_flops(uint8_t formula, struct marey_str dims, struct marey_str concrete);

/* The place of a text's value, which is MAREY_NONE for a new text. NULL without memory. */
uint32_t *marey__torch_cache_at(struct marey_torch_build *build, struct marey_torch_cache *cache,
                                struct marey_str text);

#endif
