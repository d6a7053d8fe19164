/*
 * model.h - the inside of a trace, shared by the files of this module.
 *
 *   builder ──finish──> slices sorted by track and law 2 ──nest──> parents
 *                                   │
 *                owner (links), nest (self), args: columns built when first asked for
 *
 * Columns that exist after the load never move. What is built later is published under
 * `lock`; strings that decoding finds go to a table of their own (`late`), so that
 * readers of older ids need no lock.
 */
#ifndef MAREY_SRC_TRACE_MODEL_H
#define MAREY_SRC_TRACE_MODEL_H

#include <pthread.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "trace/builder.h"
#include "trace/ledger.h"

#define MAREY_N_CATEGORIES 256
#define MAREY_MOST_COLUMNS 7

/* Texts found by one decoding; their ids begin at first_id. */
struct marey_late_strings {
    struct marey_intern table;
    uint32_t first_id;
};

struct marey_slice_columns {
    size_t n;
    size_t capacity;
    size_t held[7]; /* elements of each block; see columns.h */
    int64_t *start_ns;
    int64_t *dur_ns;
    uint64_t *offset;
    uint32_t *name_id;
    uint32_t *parent_idx; /* while building: the track */
    uint8_t *cat_id;
    uint8_t *flags;
};

struct marey_link_columns {
    size_t n;
    size_t capacity;
    size_t held[2]; /* elements of each block; see columns.h */
    uint32_t *slice_idx;
    uint64_t *correlation;
};

struct marey_point_columns {
    size_t n;
    size_t capacity;
    size_t held[6]; /* elements of each block; see columns.h */
    int64_t *ts_ns;
    uint32_t *track_idx;
    uint32_t *name_id;
    uint8_t *cat_id;
    uint8_t *scope;
    uint64_t *offset;
};

struct marey_flow_columns {
    size_t n;
    size_t capacity;
    size_t held[5]; /* elements of each block; see columns.h */
    int64_t *ts_ns;
    uint64_t *id;
    uint32_t *track_idx;
    uint8_t *label_idx;
    uint8_t *phase;
};

/* A growing array of structs. */
#define MAREY_ARRAY(type)                                                                          \
    struct {                                                                                       \
        size_t n;                                                                                  \
        size_t capacity;                                                                           \
        type *at;                                                                                  \
    }

/* What a session of a source recorded, as its record says. */
struct marey_recorded_window {
    uint32_t source_idx;
    int64_t start_ns;
    int64_t end_ns;
    uint64_t offset;
};

struct marey_trace {
    struct marey_alloc alloc;
    size_t n_threads; /* that may finish it, the caller among them; 0 is 1 */
    struct marey_intern strings;

    struct marey_slice_columns slices;
    struct marey_link_columns links;
    struct marey_point_columns instants;
    struct marey_point_columns counters;
    struct marey_flow_columns flows;

    struct marey_category category[MAREY_N_CATEGORIES];
    size_t n_categories;
    struct marey_flow_label flow_label[MAREY_N_CATEGORIES];
    size_t n_flow_labels;

    MAREY_ARRAY(struct marey_track) tracks;
    MAREY_ARRAY(struct marey_source) sources;
    MAREY_ARRAY(struct marey_meta) metas;
    MAREY_ARRAY(struct marey_meta_record) meta_records;
    MAREY_ARRAY(struct marey_async_span) async_spans;
    MAREY_ARRAY(struct marey_quarantined) quarantined;
    MAREY_ARRAY(struct marey_raw_dur) raw_durs;        /* by slice */
    MAREY_ARRAY(struct marey_recorded_window) windows; /* by process and start */
    MAREY_ARRAY(struct marey_gap) gaps;

    struct marey_account account;
    struct marey_account before; /* what its files tell of their writing; no examples */
    enum marey_check checked;
    struct marey_args_provider provider;

    /* Built later, under the lock. */
    pthread_mutex_t lock;
    bool has_lock;
    int64_t *self_ns;
    uint32_t *launch_idx;
    uint32_t *owner_idx;
    struct marey_owners owners;
    MAREY_ARRAY(struct marey_clock_bound) clock_bounds;
    bool has_owners;
    int64_t *arg_int[MAREY_N_ARGS];
    uint32_t *arg_text[MAREY_N_ARGS];
    uint64_t decoded_bits;
    struct marey_late_strings late[MAREY_N_ARGS];
    size_t n_late;
    struct marey_memory_records memory;
    uint32_t *memory_instant;
    int64_t *memory_value; /* five columns, one after another */
    bool has_memory;
    struct marey_ledger_row ledger_row[MAREY_N_REASONS];
    size_t n_ledger_rows;
    struct marey_ledger_row before_row[MAREY_N_REASONS];
    size_t n_before_rows;
};

/* Loops over fewer rows than this are not worth a thread. */
#define MAREY_PARALLEL_ROWS ((size_t)1 << 14)

/* nest.c: parents and crossings of all tracks, whose slices are in order. */
void marey__nest(struct marey_trace *trace);

/* nest.c: self times of all slices, whose parents are known. False without memory. */
bool marey__charge(const struct marey_trace *trace, int64_t *self_ns);

/* gaps.c: the windows and the gaps of a trace whose slices are in order. False without memory. */
bool marey__find_gaps(struct marey_trace *trace);

/* owner.c: fills the owner columns; the caller holds the lock. */
enum marey_status marey__build_owners(struct marey_trace *trace, struct marey_error *err);

/* tracks.c: the order of pids and of tids. Numbers before text, numbers by value, text by bytes, a
 * missing one ({NULL, 0}) last. */
int marey__compare_track_ids(struct marey_str x, struct marey_str y);

/* kind.c: what a category text means. */
enum marey_kind marey__kind_of_category(struct marey_str text);

/* kind.c: law 2's order of kinds where slices have one interval, the outer first. */
uint8_t marey__kind_rank(enum marey_kind kind);

/* kind.c: today's category text of a kind, "other" if it has none. */
const char *marey__category_of_kind(enum marey_kind kind);

/* kind.c: whether torch makes such a name by record_function. Kineto of 2021 gives operators and
 * annotations one category, MAREY_OLD_OPERATOR. */
bool marey__name_is_mark(struct marey_str name);
#define MAREY_OLD_OPERATOR "Operator"

/* trace.c: an empty trace; NULL without memory. */
struct marey_trace *marey__trace_new(const struct marey_alloc *alloc);

#endif
