/*
 * columns.c - see the header. Adding a column to a table: a member in model.h, a row here,
 * its gathering in rows.c.
 */
#include "trace/columns.h"

#define FIRST_CAPACITY 256

#define COLUMN(table, index, name)                                                                 \
    {                                                                                              \
        (void **)&(table)->name, &(table)->held[index], sizeof *(table)->name                      \
    }

struct marey_columns marey__columns_of_slices(struct marey_slice_columns *slices)
{
    return (struct marey_columns){
        .column = {COLUMN(slices, 0, start_ns), COLUMN(slices, 1, dur_ns),
                   COLUMN(slices, 2, offset), COLUMN(slices, 3, name_id),
                   COLUMN(slices, 4, parent_idx), COLUMN(slices, 5, cat_id),
                   COLUMN(slices, 6, flags)},
        .n = 7,
        .capacity = &slices->capacity,
    };
}

struct marey_columns marey__columns_of_links(struct marey_link_columns *links)
{
    return (struct marey_columns){
        .column = {COLUMN(links, 0, slice_idx), COLUMN(links, 1, correlation)},
        .n = 2,
        .capacity = &links->capacity,
    };
}

struct marey_columns marey__columns_of_points(struct marey_point_columns *points)
{
    return (struct marey_columns){
        .column = {COLUMN(points, 0, ts_ns), COLUMN(points, 1, offset),
                   COLUMN(points, 2, track_idx), COLUMN(points, 3, name_id),
                   COLUMN(points, 4, cat_id), COLUMN(points, 5, scope)},
        .n = 6,
        .capacity = &points->capacity,
    };
}

struct marey_columns marey__columns_of_flows(struct marey_flow_columns *flows)
{
    return (struct marey_columns){
        .column = {COLUMN(flows, 0, ts_ns), COLUMN(flows, 1, id), COLUMN(flows, 2, track_idx),
                   COLUMN(flows, 3, label_idx), COLUMN(flows, 4, phase)},
        .n = 5,
        .capacity = &flows->capacity,
    };
}

static bool resize(const struct marey_alloc *alloc, const struct marey_column *column, size_t held)
{
    void *moved = marey__realloc(alloc, *column->at, *column->held, held, column->size_bytes);
    if (moved == NULL)
        return false;
    *column->at = moved;
    *column->held = held;
    return true;
}

bool marey__columns_reserve(const struct marey_alloc *alloc, const struct marey_columns *columns,
                            size_t n)
{
    if (n <= *columns->capacity)
        return true;
    for (size_t i = 0; i < columns->n; i++)
        if (*columns->column[i].held < n && !resize(alloc, &columns->column[i], n))
            return false;
    *columns->capacity = n;
    return true;
}

bool marey__columns_grow(const struct marey_alloc *alloc, const struct marey_columns *columns)
{
    if (*columns->capacity > SIZE_MAX / 2)
        return false;
    const size_t grown = *columns->capacity == 0 ? FIRST_CAPACITY : *columns->capacity * 2;
    return marey__columns_reserve(alloc, columns, grown);
}

void marey__columns_shrink(const struct marey_alloc *alloc, const struct marey_columns *columns,
                           size_t n)
{
    if (n == 0 || *columns->capacity <= n)
        return;
    for (size_t i = 0; i < columns->n; i++)
        (void)resize(alloc, &columns->column[i], n);
    *columns->capacity = n;
}

void marey__columns_release(const struct marey_alloc *alloc, const struct marey_columns *columns)
{
    for (size_t i = 0; i < columns->n; i++)
        marey__dealloc(alloc, *columns->column[i].at, *columns->column[i].held,
                       columns->column[i].size_bytes);
}
