/*
 * part.h - the parts of a file that holds several sources (trace/parts.h).
 */
#ifndef MAREY_SRC_IMPORT_PART_H
#define MAREY_SRC_IMPORT_PART_H

#include "base/hashmap.h"
#include "base/intern.h"
#include "base/text.h"
#include "import/fields.h"

struct marey_file_part {
    bool is_marked;               /* the records read now belong to a part */
    bool is_pending;              /* its marker was the last record: the source changes here */
    struct marey_str marker;      /* the args of that record, in the window */
    struct marey_hashmap process; /* string id of a pid as written -> as it was */
    uint64_t flow_ids;            /* added to the ids of arrows */
};

/* What a marker says of the source that begins. */
struct marey_part_begin {
    int64_t source;  /* 0: the one that is being read */
    int64_t process; /* the first part of the same process; MAREY_UNKNOWN: not told */
    int64_t shift_ns;
    struct marey_str head; /* members as a JSON object, {NULL, 0} if there are none */
};

void marey__part_init(struct marey_file_part *part, const struct marey_alloc *alloc);
void marey__part_release(struct marey_file_part *part);

/* Back to a source without parts. */
void marey__part_reset(struct marey_file_part *part);

/* What to do with a metadata record. */
enum marey_part_record {
    MAREY_PART_KEEP,   /* it is as any other; *args may have become what they were */
    MAREY_PART_MARKER, /* it is a marker, which is pending now */
    MAREY_PART_ADDED   /* the writer added it: it is of no source */
};
enum marey_part_record marey__part_record(struct marey_file_part *part, struct marey_str name,
                                          struct marey_value *args);

/* What the args of a marker say. \owns borrows from them */
struct marey_part_begin marey__part_read(struct marey_str marker);

/* Takes the pids and the ids of arrows of a marker for the records that follow; the pids are
 * interned in `strings`. False without memory. */
bool marey__part_enter(struct marey_file_part *part, struct marey_str marker,
                       struct marey_intern *strings, struct marey_textbuf *scratch);

/* The pid of a record as it was. */
static inline uint32_t marey_part_process(const struct marey_file_part *part, uint32_t process_id)
{
    const uint32_t was =
        part->process.n == 0 ? MAREY_NONE : marey__hashmap_get(&part->process, process_id);
    return was == MAREY_NONE ? process_id : was;
}

/* The id of an arrow as it was. */
static inline uint64_t marey_part_flow_id(const struct marey_file_part *part, uint64_t id)
{
    return id >= part->flow_ids ? id - part->flow_ids : id;
}

#endif
