/*
 * info.h - what `marey info` tells of a trace: gathered here, printed as text
 * or JSON.
 */
#ifndef MAREY_CLI_INFO_H
#define MAREY_CLI_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include <marey/trace.h>

#include "text.h"

/* ProfilerStep# annotations of one source. */
struct info_steps {
    uint64_t n;
    int64_t first; /* numbers behind the '#' */
    int64_t last;
    uint64_t n_timed; /* steps of known duration: what the sum is of */
    int64_t sum_ns;
};

/* Which program may have written a source: what its head and tail give away. */
struct info_producer {
    const char *format; /* static text */
    const char *since;  /* dates of Kineto as "2024-11", NULL if open */
    const char *until;
    const char *torch; /* static text, NULL if nothing can be said */
    bool is_known;     /* the file says it; else it is a guess */
};

struct info_source {
    const struct marey_source *source;
    int64_t stored_bytes; /* of the file as it lies there, MAREY_UNKNOWN for a pipe */
    struct info_steps steps;
    struct info_producer producer;
};

/* A category and what has it. */
struct info_category {
    struct marey_str name; /* {NULL, 0} for records without one */
    enum marey_kind kind;
    uint64_t n_slices;
    uint64_t n_instants;
    uint64_t n_counters;
};

/* Arrows of one category and name. */
struct info_flow {
    struct marey_str category;
    struct marey_str name;
    uint64_t n_ends;
};

/* Borrows from the trace. */
struct info {
    struct marey_trace *trace;
    struct info_source *sources;
    size_t n_sources;
    const struct marey_track *tracks;
    size_t n_tracks;
    struct info_category *categories; /* by kind, then name */
    size_t n_categories;
    struct info_flow *flows; /* by category, then name */
    size_t n_flows;
    uint64_t n_threads; /* that have slices, as streams */
    uint64_t n_streams;
    uint64_t n_devices; /* that have a stream here */
    int64_t start_ns;   /* of the earliest slice; MAREY_UNKNOWN if there is none */
    int64_t end_ns;
    size_t n_gaps;      /* of all processes, in which nothing was recorded of one */
    int64_t gaps_ns;    /* their sum, of the process that has most */
    bool is_of_several; /* processes: that is no part of the window of all */
    struct marey_ledger ledger;
};

/* \fails MAREY_NOMEM
 * \owns fills *info, released by info_release */
MAREY_MUST_CHECK enum marey_status info_collect(struct marey_trace *trace, struct info *info,
                                                struct marey_error *err);
void info_release(struct info *info);

/* The value of a head or tail member of one source, {NULL, 0} if it has none. */
struct marey_str info_meta(const struct info *info, uint32_t source_idx, const char *key);

/* Unless verbose a file that is as the first but for its rank, records and steps has one line. */
void info_as_text(const struct info *info, bool verbose, struct text *text);
void info_as_json(const struct info *info, struct text *text);

/* The i-th version that a head may tell: its name, and its text added to `version`, nothing if the
 * source does not tell it. NULL behind the last. */
const char *info_version(const struct info *info, uint32_t source_idx, size_t i,
                         struct text *version);

/* Adds the version of torch that Marey's recorder was in, as it says; nothing if it does not. */
void info_torch(const struct info *info, uint32_t source_idx, struct text *version);

/* What Marey's recorder took for a begin and its end, as it says; MAREY_UNKNOWN: it does not. */
int64_t info_range_cost_ns(const struct info *info, uint32_t source_idx);

/* Flags that torch writes of what was recorded; NULL ends the list. */
struct info_flag {
    const char *key;
    const char *word;
};
extern const struct info_flag info_flags[];

/* ---- devices of a head ------------------------------------------------------- */

struct info_device {
    struct marey_str name; /* JSON string */
    int64_t id;
    int64_t n_multiprocessors;
    int64_t memory_bytes;
};

/* Takes the next device of a source; `rest` starts as info_devices. */
struct marey_str info_devices(const struct info *info, uint32_t source_idx);
bool info_next_device(struct marey_str *rest, struct info_device *device);

#endif
