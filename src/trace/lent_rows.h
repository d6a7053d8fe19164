/*
 * lent_rows.h - slices that are written into a builder's columns by who knows their rows.
 *
 * A row is opened, and later ended, or cut short where nothing is known any more. One that is
 * neither reaches to the end of the trace.
 */
#ifndef MAREY_SRC_TRACE_LENT_ROWS_H
#define MAREY_SRC_TRACE_LENT_ROWS_H

#include "base/error.h"
#include "trace/build.h"

static inline bool marey__rows_have_room(const struct marey_lent_rows *rows, size_t n)
{
    return n <= rows->capacity - rows->n;
}

struct marey_lent_slice {
    int64_t start_ns;
    int64_t end_ns; /* MAREY_UNKNOWN: it is open */
    uint64_t offset;
    uint32_t name_id;
    uint32_t track_idx;
    uint8_t cat_id;
    uint8_t flags;
};

/* Its row. Time does not go back on a thread whose clock is steady; where it does, a slice is
 * empty. */
static inline uint32_t marey__rows_add(struct marey_lent_rows *rows,
                                       const struct marey_lent_slice *slice)
{
    const size_t row = rows->n++;
    const bool is_open = slice->end_ns == MAREY_UNKNOWN;

    MAREY_ASSERT(row < rows->capacity);
    rows->start_ns[row] = slice->start_ns;
    rows->dur_ns[row] =
        is_open || slice->end_ns < slice->start_ns ? 0 : slice->end_ns - slice->start_ns;
    rows->offset[row] = slice->offset;
    rows->name_id[row] = slice->name_id;
    rows->track_idx[row] = slice->track_idx;
    rows->cat_id[row] = slice->cat_id;
    rows->flags[row] = is_open ? slice->flags | MAREY_SLICE_OPEN : slice->flags;
    return (uint32_t)row;
}

static inline void marey__rows_end(struct marey_lent_rows *rows, uint32_t row, int64_t end_ns)
{
    const int64_t dur_ns = end_ns - rows->start_ns[row];

    rows->dur_ns[row] = dur_ns < 0 ? 0 : dur_ns;
    rows->flags[row] &= (uint8_t)~MAREY_SLICE_OPEN;
}

static inline void marey__rows_cut(struct marey_lent_rows *rows, uint32_t row, int64_t end_ns)
{
    marey__rows_end(rows, row, end_ns);
    rows->flags[row] |= MAREY_SLICE_OPEN | MAREY_ROW_CUT;
}

#endif
