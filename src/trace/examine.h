/*
 * examine.h - what a trace as a whole shows: the last to be noted, after the owners.
 *
 *   collect (may fail) -> owners -> note (cannot fail)
 *
 * All memory is taken before anything is noted, so that a call which failed for want of it can be
 * made again. One file for each kind of finding; adding one: a file, its members here, its two
 * calls in examine.c.
 */
#ifndef MAREY_SRC_TRACE_EXAMINE_H
#define MAREY_SRC_TRACE_EXAMINE_H

#include "trace/model.h"

/* A call that returns when the device has done all that its process had launched. */
struct marey_sync_call {
    uint32_t source_idx;
    uint32_t process_id;
    int64_t start_ns;
    int64_t end_ns;
};

/* Where a recording began or ended. */
struct marey_border {
    uint32_t source_idx;
    int64_t ns;
};

/* From the first start to the last end in a process, and where the first stands; of a source that
 * is a further cycle nothing. */
struct marey_source_span {
    int64_t start_ns;
    int64_t end_ns;
    uint64_t offset; /* MAREY_NO_OFFSET: it has no slices */
};

#define MAREY_NO_OFFSET UINT64_MAX

/* Where most slices of a source begin, and what its profiler says that it recorded. */
struct marey_core {
    int64_t start_ns;
    int64_t end_ns;
    int64_t window_start_ns;
    int64_t window_end_ns;
    bool has_window;
    uint32_t n_slices;
    uint32_t n_samples;
    uint32_t n_seen;
};

struct marey_examination {
    MAREY_ARRAY(struct marey_sync_call) syncs; /* by source, process, start */
    size_t hint;                               /* where the last search among them ended */
    uint32_t launch_track;                     /* of the last launch */
    MAREY_ARRAY(struct marey_border) borders;  /* by source, time */
    MAREY_ARRAY(struct marey_clock_bound) bounds;
    MAREY_ARRAY(struct marey_source_span) spans; /* by start; of one source: none */
    struct marey_core *cores;                    /* [n sources]; NULL: there are few slices */
    bool *has_many_devices;                      /* [n sources] */
    uint64_t n_missing_ranks;
    uint64_t n_loose_starts; /* of arrows */
    uint64_t n_loose_ends;
};

/* False without memory. \owns fills *examination, which is zero, released in any case */
bool marey__examine_collect(const struct marey_trace *trace, struct marey_examination *examination);
void marey__examine_note(struct marey_trace *trace, struct marey_examination *examination);
void marey__examine_release(const struct marey_trace *trace, struct marey_examination *examination);

/* causality.c */
bool marey__collect_causality(const struct marey_trace *trace,
                              struct marey_examination *examination);
void marey__note_causality(struct marey_trace *trace, struct marey_examination *examination);

/* window.c */
bool marey__collect_borders(const struct marey_trace *trace, struct marey_examination *examination);
void marey__note_cut_operations(struct marey_trace *trace,
                                const struct marey_examination *examination);

/* apart.c */
bool marey__collect_spans(const struct marey_trace *trace, struct marey_examination *examination);
void marey__note_apart(struct marey_trace *trace, const struct marey_examination *examination);

/* far.c */
bool marey__collect_cores(const struct marey_trace *trace, struct marey_examination *examination);
void marey__note_far(struct marey_trace *trace, const struct marey_examination *examination);

/* ranks.c */
bool marey__count_missing_ranks(const struct marey_trace *trace, uint64_t *n);
void marey__note_missing_ranks(struct marey_trace *trace, uint64_t n);

/* arrows.c: ends of arrows without the other, where all is checked. */
bool marey__count_loose_arrows(const struct marey_trace *trace, uint64_t *n_starts,
                               uint64_t *n_ends);

/* overlap.c */
void marey__note_overlaps(struct marey_trace *trace);

#endif
