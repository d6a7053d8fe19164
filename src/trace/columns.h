/*
 * columns.h - the columns of one table grow, shrink and go together.
 *
 * Each column knows how many elements its block holds: where one of them cannot grow or
 * shrink, the others may have done so already, and blocks are given back by their size.
 */
#ifndef MAREY_SRC_TRACE_COLUMNS_H
#define MAREY_SRC_TRACE_COLUMNS_H

#include "trace/model.h"

struct marey_column {
    void **at;
    size_t *held; /* elements of the block */
    size_t size_bytes;
};

/* A view of a table as columns. capacity is what every column has room for. */
struct marey_columns {
    struct marey_column column[MAREY_MOST_COLUMNS];
    size_t n;
    size_t *capacity;
};

struct marey_columns marey__columns_of_slices(struct marey_slice_columns *slices);
struct marey_columns marey__columns_of_links(struct marey_link_columns *links);
struct marey_columns marey__columns_of_points(struct marey_point_columns *points);
struct marey_columns marey__columns_of_flows(struct marey_flow_columns *flows);

/* Makes the capacity n, if it is less. On failure false; what is in the columns stays. */
bool marey__columns_reserve(const struct marey_alloc *alloc, const struct marey_columns *columns,
                            size_t n);

/* Doubles the capacity. On failure false; what is in the columns stays. */
bool marey__columns_grow(const struct marey_alloc *alloc, const struct marey_columns *columns);

/* Gives back what lies behind the first n > 0 elements, where the allocator does it. */
void marey__columns_shrink(const struct marey_alloc *alloc, const struct marey_columns *columns,
                           size_t n);

void marey__columns_release(const struct marey_alloc *alloc, const struct marey_columns *columns);

#endif
