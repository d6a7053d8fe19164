/*
 * build.h - the inside of a builder, shared by builder.c (adding) and finish.c.
 */
#ifndef MAREY_SRC_TRACE_BUILD_H
#define MAREY_SRC_TRACE_BUILD_H

#include "base/hashmap.h"
#include "trace/model.h"

/* Flags of a row while it is built; gone after the finish. */
#define MAREY_ROW_DROPPED 0x80
#define MAREY_ROW_LINKED 0x40
#define MAREY_ROW_CUT 0x20 /* open, and its duration is known */

/* The duration of an asynchronous span that was set aside; gone after the finish. */
#define MAREY_SPAN_DROPPED INT64_C(-1)

/* Where a source's rows begin, so that its base time can be added at the end. */
struct marey_source_mark {
    size_t slice;
    size_t link;
    size_t instant;
    size_t counter;
    size_t flow;
    size_t async_span;
    size_t quarantined;
    size_t meta_record;
    int64_t shift_ns; /* of its times, beside the base */
    int64_t last_ns;  /* the last end of a slice that has one, a wild duration cut; INT64_MIN: none.
                       * Found where the trace has several sources or the source open slices. */
    uint32_t cycle_of; /* what the file says; MAREY_NONE: nothing */
    bool is_absolute;  /* its times count from the Unix epoch */
};

/* A begun slice or span that has not ended; a stack per track or per async id. */
struct marey_open_row {
    uint32_t row;
    uint32_t below; /* position in the array, MAREY_NONE */
};

/* The same by where a record was written, whatever track it was put on. Rows that have ended since
 * lie in it still. */
struct marey_written_row {
    uint32_t row;
    uint32_t below;
};

struct marey_open_track {
    uint32_t top;    /* MAREY_NONE: nothing open */
    int64_t last_ns; /* of the last B or E record; MAREY_UNKNOWN before the first */
};

struct marey_builder {
    struct marey_alloc alloc;
    struct marey_trace *trace; /* in the making */
    bool failed;
    uint32_t source_idx;
    struct marey_hashmap track_map; /* hash of the key, probed by adding 1 */
    struct marey_hashmap async_map;
    struct marey_hashmap written_map; /* process and thread as written -> top of `written` */
    struct marey_hashmap meta_map;    /* source and key of a member -> its place */
    struct marey_hashmap late_labels; /* categories and arrows without a place of their own */
    MAREY_ARRAY(struct marey_source_mark) marks;
    MAREY_ARRAY(struct marey_open_row) open;
    MAREY_ARRAY(struct marey_written_row) written;
    MAREY_ARRAY(struct marey_open_track) open_tracks; /* by track index, as far as needed */
};

/* opened.c: remembers a row that has just begun; forgets all of them where a source begins. */
void marey__opened_add(struct marey_builder *builder, uint32_t row);
void marey__opened_forget(struct marey_builder *builder);

/* ends.c: finds where sources end and ends their open slices there. Times are absolute, rows and
 * tracks in the order of the file. False without memory. */
bool marey__end_sources(struct marey_builder *builder);

/* processes.c: which sources are cycles of one process, and the ranks of those that tell none.
 * Times are absolute, rows and tracks in the order of the file. False without memory. */
bool marey__find_processes(struct marey_builder *builder);

/* copies.c: counts sources that have the slices of another. False without memory. */
bool marey__note_copies(struct marey_builder *builder);

#endif
