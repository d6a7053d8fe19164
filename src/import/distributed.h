/*
 * distributed.h - the member of a head that says which rank of a job a file is of.
 */
#ifndef MAREY_SRC_IMPORT_DISTRIBUTED_H
#define MAREY_SRC_IMPORT_DISTRIBUTED_H

#include "base/alloc.h"
#include "base/json.h"

/* What it says, and what is wrong with it. */
struct marey_distributed {
    int64_t rank; /* MAREY_UNKNOWN: not told */
    int64_t world_size;
    uint64_t n_as_text;     /* numbers in quotes */
    uint64_t n_odd;         /* numbers that JSON does not have: 01 */
    uint64_t n_punctuation; /* places with commas too many or too few */
    uint64_t n_twice;       /* keys that stand again; of each the last counts */
    size_t whole_bytes;     /* of an object that is no JSON beyond repair: up to its last whole
                               member; else 0 */
    bool is_broken;         /* it is no object, or one of the two is no whole number, or what stands
                               there is no JSON beyond repair: what was read before is taken */
};

/* False without memory. */
bool marey__distributed_read(struct marey_str text, const struct marey_alloc *alloc,
                             struct marey_distributed *distributed);

#endif
