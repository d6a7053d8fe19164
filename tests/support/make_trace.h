/*
 * make_trace.h - small traces for tests, built as an importer builds them.
 *
 *     struct make_trace make;
 *     make_trace_begin(&make, NULL);
 *     make_thread(&make, "1", "1");
 *     make_slice(&make, "cpu_op", "A", 0, 10);
 *     make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 7);
 *     make_stream(&make, 0, 7);
 *     make_call(&make, "kernel", "k", 20, 28, 7);
 *     struct marey_trace *trace = make_trace_end(&make);
 *
 * Times are [start, end] in ns. Records lie 100 bytes apart. All helpers end the case on
 * failure; make_trace_finish gives the status instead.
 */
#ifndef MAREY_TESTS_MAKE_TRACE_H
#define MAREY_TESTS_MAKE_TRACE_H

#include "marey/trace.h"
#include "support/make_random.h"
#include "trace/builder.h"

/* The args of a record, as a file would give them. */
struct made_args {
    uint64_t offset;
    const char *json;
};

/* The provider behind a made trace. Tests may look at it while the trace lives. */
struct made_provider {
    struct made_args args[512];
    size_t n;
    uint64_t n_walks;
    enum marey_status status; /* what a walk answers instead, if not MAREY_OK */
    bool is_released;
};

struct make_trace {
    struct marey_builder *builder;
    struct marey_alloc alloc;
    struct made_provider *provider; /* NULL: records have no args */
    uint32_t source_idx;
    uint32_t track_idx;
    uint64_t next_byte;
    uint64_t last_offset;
};

/* Begins with one source of rank 0. NULL is the default allocator. False without memory. */
bool make_trace_try_begin(struct make_trace *make, const struct marey_alloc *alloc);
void make_trace_begin(struct make_trace *make, const struct marey_alloc *alloc);

/* Records that follow are of another file; MAREY_UNKNOWN: it does not tell its rank. */
void make_source(struct make_trace *make, int64_t rank);

/* Records that follow lie on this track. NULL ids are missing ones. */
void make_thread(struct make_trace *make, const char *process, const char *thread);
void make_stream(struct make_trace *make, int64_t device, int64_t stream);
void make_track(struct make_trace *make, const struct marey_track_key *key);

/* A complete slice; returns its offset. dur of make_timed may be MAREY_UNKNOWN. A NULL name
 * or category is a missing one. */
uint64_t make_slice(struct make_trace *make, const char *category, const char *name,
                    int64_t start_ns, int64_t end_ns);
uint64_t make_timed(struct make_trace *make, const char *category, const char *name,
                    int64_t start_ns, int64_t dur_ns);

/* A slice with a correlation. */
uint64_t make_call(struct make_trace *make, const char *category, const char *name,
                   int64_t start_ns, int64_t end_ns, uint64_t correlation);

/* B and E records. */
void make_begin(struct make_trace *make, const char *category, const char *name, int64_t ts_ns);
void make_end(struct make_trace *make, const char *name, int64_t ts_ns);

/* Gives the last record args, which must outlive the trace. Needs a provider. */
void make_args(struct make_trace *make, const char *json);

struct marey_trace *make_trace_end(struct make_trace *make);
enum marey_status make_trace_finish(struct make_trace *make, struct marey_trace **trace,
                                    struct marey_error *err);

/* The slice of that name that starts then; fails the case if there is none. */
uint32_t made_slice(const struct marey_trace *trace, const char *name, int64_t start_ns);

#endif
