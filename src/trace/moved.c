/*
 * moved.c - slices of a stream in another order, after that of all rows was settled.
 *
 * Links and raw durations know a slice by its row, so they move with it.
 *
 *   order of the rows -> clip -> order of what was cut
 */
#include "base/order.h"
#include "trace/rows.h"

/* A slice while it is in no column. Its start and its track stay where they are: slices change
 * places only with those that begin together with them. */
struct moved {
    int64_t dur_ns;
    uint64_t offset;
    uint64_t correlation;
    uint32_t name_id;
    uint32_t raw_idx; /* MAREY_NONE: it was not cut */
    uint8_t cat_id;
    uint8_t flags;
    bool is_linked;
};

struct mover {
    struct marey_trace *trace;
    size_t link; /* the first that may be of a slice that was not looked at */
    size_t raw;
};

static void take_slices(const struct mover *mover, struct moved *moved, size_t from, size_t to)
{
    const struct marey_trace *trace = mover->trace;
    const struct marey_slice_columns *slices = &trace->slices;

    for (size_t row = from; row < to; row++)
        moved[row - from] = (struct moved){
            .dur_ns = slices->dur_ns[row],
            .offset = slices->offset[row],
            .name_id = slices->name_id[row],
            .raw_idx = MAREY_NONE,
            .cat_id = slices->cat_id[row],
            .flags = slices->flags[row],
        };
    for (size_t i = mover->link; i < trace->links.n && trace->links.slice_idx[i] < to; i++) {
        moved[trace->links.slice_idx[i] - from].correlation = trace->links.correlation[i];
        moved[trace->links.slice_idx[i] - from].is_linked = true;
    }
    for (size_t i = mover->raw; i < trace->raw_durs.n && trace->raw_durs.at[i].slice_idx < to; i++)
        moved[trace->raw_durs.at[i].slice_idx - from].raw_idx = (uint32_t)i;
}

static void put_slice(struct mover *mover, size_t row, const struct moved *moved)
{
    struct marey_slice_columns *slices = &mover->trace->slices;
    struct marey_link_columns *links = &mover->trace->links;

    slices->dur_ns[row] = moved->dur_ns;
    slices->offset[row] = moved->offset;
    slices->name_id[row] = moved->name_id;
    slices->cat_id[row] = moved->cat_id;
    slices->flags[row] = moved->flags;
    if (moved->raw_idx != MAREY_NONE)
        mover->trace->raw_durs.at[moved->raw_idx].slice_idx = (uint32_t)row;
    if (moved->is_linked) {
        links->slice_idx[mover->link] = (uint32_t)row;
        links->correlation[mover->link++] = moved->correlation;
    }
}

/* Slices that begin together, in [from, to). False without memory. */
static bool move_group(struct mover *mover, const uint32_t *row, size_t from, size_t to)
{
    const struct marey_trace *trace = mover->trace;
    struct moved *moved = marey__alloc(&trace->alloc, to - from, sizeof *moved);

    if (moved == NULL)
        return false;
    mover->link += marey__first_at_least(trace->links.slice_idx + mover->link,
                                         trace->links.n - mover->link, (uint32_t)from);
    while (mover->raw < trace->raw_durs.n && trace->raw_durs.at[mover->raw].slice_idx < from)
        mover->raw++;
    take_slices(mover, moved, from, to);
    for (size_t i = from; i < to; i++)
        put_slice(mover, i, &moved[row[i - from] - from]);
    marey__dealloc(&trace->alloc, moved, to - from, sizeof *moved);
    return true;
}

bool marey__move_slices(struct marey_trace *trace, size_t first_raw, size_t first,
                        const uint32_t *row, size_t n)
{
    struct mover mover = {.trace = trace, .raw = first_raw};
    const int64_t *start_ns = trace->slices.start_ns + first;

    for (size_t from = 0, to = 0; from < n; from = to) {
        bool is_moved = false;
        for (to = from; to < n && start_ns[to] == start_ns[from]; to++)
            is_moved = is_moved || row[to] != first + to;
        if (is_moved && !move_group(&mover, row + from, first + from, first + to))
            return false;
    }
    return true;
}
