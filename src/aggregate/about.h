/*
 * about.h - what averages are of, for who shows them: the account of the trace, its sources, the
 * span of its slices, and how much of it a thread was seen at work. Joined averages have it too,
 * and no trace.
 */
#ifndef MAREY_SRC_AGGREGATE_ABOUT_H
#define MAREY_SRC_AGGREGATE_ABOUT_H

#include "marey/aggregate.h"

/* The operators and calls of a host track. */
struct marey_thread_work {
    int64_t ns;             /* their union; MAREY_UNKNOWN: of joined averages */
    int64_t gap_ns;         /* the longest time between them; 0: there is none */
    uint32_t before_gap_id; /* the name of the slice that ends there; of the averages */
    int64_t covered_to_ns;  /* while they are gone through: the latest end so far */
    size_t next_gap;        /* and the first gap of the recording that does not end before */
    size_t last;            /* the slice that has the latest end */
    bool is_program;        /* it has operators, or calls of a runtime or a driver */
};

struct marey_window {
    int64_t start_ns;
    int64_t end_ns;            /* both MAREY_UNKNOWN if no slice has a time */
    int64_t recorded_start_ns; /* of the records that tell it; MAREY_UNKNOWN if there are none */
    int64_t recorded_end_ns;
    int64_t gaps_ns; /* of it nothing was recorded; MAREY_UNKNOWN: of several processes, some have
                        gaps */
    size_t n_gaps;   /* that lie in it */
    struct marey_thread_work busiest; /* of the host track that is longest at work */
    uint64_t n_operations;
    uint64_t n_slices; /* but those of the window itself */
    uint64_t n_tracks; /* threads and streams that have such slices, one for all cycles of a
                          process; 0 of joined averages: not known */
};

struct marey_about {
    struct marey_ledger ledger; /* borrowed from the trace or the averages */
    struct marey_window window;
    size_t n_sources;
    size_t n_processes; /* one may have several sources, its cycles */
    size_t n_ranks;
    size_t n_files; /* one may hold several sources */
    int64_t rank;   /* of the only process, if has_rank */
    bool has_rank;
    bool is_recorded;   /* a source was recorded, not read */
    bool lacks_records; /* so many that what a thread did at times is not known */
    int64_t whole_ns;   /* how long a recording was whole, where records were lost; MAREY_UNKNOWN:
                           to its end */
    const char *device_word; /* "CUDA", ... */
};

/* \fails MAREY_NOMEM */
MAREY_MUST_CHECK enum marey_status marey__averages_about(const struct marey_averages *averages,
                                                         struct marey_about *about,
                                                         struct marey_error *err);

#endif
