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

/* Where the next row goes. The caller sets start, offset, name, track and category. */
static inline uint32_t marey__rows_open(struct marey_lent_rows *rows)
{
    const size_t row = rows->n++;

    MAREY_ASSERT(row < rows->capacity);
    rows->dur_ns[row] = 0;
    rows->flags[row] = MAREY_SLICE_OPEN;
    return (uint32_t)row;
}

/* Time does not go back on a thread whose clock is steady; where it does, the slice is empty. */
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
