/*
 * averages_order.c - the default order of rows, which is total.
 */
#include "aggregate/averages_parts.h"
#include "base/sort.h"
#include "base/str.h"

struct order {
    const struct marey_trace *trace; /* NULL: of joined averages */
    const struct marey_own_strings *strings;
    const struct marey_average *rows;
    bool by_start; /* instead of by time */
};

struct marey_str marey__averages_text(const struct marey_trace *trace,
                                      const struct marey_own_strings *strings, uint32_t string_id)
{
    if (string_id == MAREY_NONE)
        return (struct marey_str){NULL, 0};
    if (string_id < strings->n_trace)
        return marey_trace_string(trace, string_id);
    return marey__intern_text(&strings->table, (uint32_t)(string_id - strings->n_trace));
}

/* The larger first, what is not known (the least number there is) last. */
static int compare_down(int64_t a, int64_t b)
{
    return a == b ? 0 : (a > b ? -1 : 1);
}

static int compare_texts(const struct order *order, uint32_t a, uint32_t b)
{
    return marey__str_compare(marey__averages_text(order->trace, order->strings, a),
                              marey__averages_text(order->trace, order->strings, b));
}

/* Rows that differ in nothing that a reader sees but in their keys. */
static int compare_keys(const struct order *order, const struct marey_average *x,
                        const struct marey_average *y)
{
    const uint32_t pairs[][2] = {
        {x->overload_id, y->overload_id}, {x->shapes_id, y->shapes_id}, {x->stack_id, y->stack_id}};

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const int by_text = compare_texts(order, pairs[i][0], pairs[i][1]);
        if (by_text != 0)
            return by_text;
    }
    return x->rank == y->rank ? 0 : (x->rank < y->rank ? -1 : 1);
}

static int compare_tracks(const struct order *order, const struct marey_average *x,
                          const struct marey_average *y)
{
    if (order->trace == NULL)
        return 0;
    const uint32_t x_track = marey_trace_slice_track(order->trace, x->first_slice);
    const uint32_t y_track = marey_trace_slice_track(order->trace, y->first_slice);
    return x_track == y_track ? 0 : (x_track < y_track ? -1 : 1);
}

/* Slices lie in the order of tracks, a parent before what it calls. */
static int compare_starts(const struct order *order, const struct marey_average *x,
                          const struct marey_average *y)
{
    int by = compare_down(y->first_start_ns, x->first_start_ns);
    if (by == 0)
        by = compare_tracks(order, x, y);
    if (by == 0)
        by = x->first_slice < y->first_slice ? -1 : 1;
    return by;
}

/* Host rows before device rows; then self device time, and self time among rows without
 * any; then name, start, track. Slices of two rows are never the same, so the order is
 * total; keys go before the slice's place, which two equal records leave to the file. */
static int compare_rows(const void *ctx, uint32_t a, uint32_t b)
{
    const struct order *order = ctx;
    const struct marey_average *x = &order->rows[a];
    const struct marey_average *y = &order->rows[b];
    const bool x_is_device = marey_kind_is_device_operation(x->kind);
    int by = 0;

    if (x_is_device != marey_kind_is_device_operation(y->kind))
        return x_is_device ? 1 : -1;
    if (order->by_start)
        return compare_starts(order, x, y);
    by = compare_down(x->device_self_ns, y->device_self_ns);
    if (by == 0 && x->device_self_ns == 0)
        by = compare_down(x->self_ns, y->self_ns);
    if (by == 0)
        by = compare_texts(order, x->name_id, y->name_id);
    if (by == 0)
        by = compare_down(y->first_start_ns, x->first_start_ns);
    if (by == 0)
        by = compare_tracks(order, x, y);
    if (by == 0)
        by = compare_keys(order, x, y);
    if (by == 0)
        by = x->first_slice < y->first_slice ? -1 : 1;
    return by;
}

struct marey_average *marey__sorted_rows(const struct marey_trace *trace,
                                         const struct marey_own_strings *strings,
                                         const struct marey_alloc *alloc,
                                         const struct marey_average *rows, size_t n, bool by_start)
{
    const struct order order = {trace, strings, rows, by_start};
    struct marey_average *sorted = marey__alloc(alloc, n, sizeof *sorted);
    uint32_t *place = marey__alloc(alloc, n, sizeof *place);

    for (size_t i = 0; i < n && place != NULL; i++)
        place[i] = (uint32_t)i;
    if (sorted == NULL || place == NULL ||
        !marey__sort_indices(alloc, place, n, compare_rows, &order)) {
        marey__dealloc(alloc, sorted, n, sizeof *sorted);
        sorted = NULL;
    }
    for (size_t i = 0; i < n && sorted != NULL; i++)
        sorted[i] = rows[place[i]];
    marey__dealloc(alloc, place, n, sizeof *place);
    return sorted;
}
