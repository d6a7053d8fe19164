/*
 * ties.c - slices of one thread with the same begin and end: which of them is around the other.
 *
 * Stamps of whole microseconds, as torch wrote them up to 2023, make many such: aten::to around
 * aten::_to_copy. Times do not tell, but the ids that the profiler gave in the order in which they
 * began do: the External id of operators and annotations, the Python id of calls. Where one of a
 * group has none, the name decides, smaller ones around larger ones: an order that does not depend
 * on that of the file, and may be wrong, so it is counted.
 *
 *     rows     aten::_to_copy [5, 9)  id 8     aten::to [5, 9)  id 7      by name
 *     become   aten::to [5, 9)  id 7     aten::_to_copy [5, 9)  id 8      by id
 */
#include "base/order.h"
#include "base/sort.h"
#include "trace/build.h"
#include "trace/rows.h"

/* A row, without what is the same in its group. */
struct tied {
    int64_t id; /* MAREY_UNKNOWN if the args tell none */
    uint64_t offset;
    uint32_t row;
    uint32_t name_id;
    uint8_t cat_id;
    uint8_t flags;
};

struct ties {
    struct marey_trace *trace;
    MAREY_ARRAY(struct tied) tied; /* groups, each contiguous, in the order of rows */
    const uint32_t *order;         /* of what is tied, by offset */
    struct marey_textbuf scratch;
};

static enum marey_kind kind_of(const struct marey_trace *trace, size_t row)
{
    return trace->category[trace->slices.cat_id[row]].kind;
}

/* Whether a row has the interval and the kind of the one before it. A slice of no length is around
 * nothing. */
static bool continues(const struct marey_trace *trace, size_t row)
{
    const struct marey_slice_columns *slices = &trace->slices;
    if (slices->start_ns[row] != slices->start_ns[row - 1] ||
        slices->dur_ns[row] != slices->dur_ns[row - 1] || slices->dur_ns[row] <= 0)
        return false;
    const enum marey_kind kind = kind_of(trace, row);
    return kind == kind_of(trace, row - 1) &&
           (kind == MAREY_KIND_OP || kind == MAREY_KIND_ANNOTATION || kind == MAREY_KIND_PYTHON);
}

static bool add_row(struct ties *ties, size_t row)
{
    const struct marey_slice_columns *slices = &ties->trace->slices;
    void *at = ties->tied.at;
    if (ties->tied.n == ties->tied.capacity &&
        !marey__grow(&ties->trace->alloc, &at, &ties->tied.capacity, ties->tied.n + 1,
                     sizeof *ties->tied.at))
        return false;
    ties->tied.at = at;
    ties->tied.at[ties->tied.n++] = (struct tied){
        .id = MAREY_UNKNOWN,
        .offset = slices->offset[row],
        .row = (uint32_t)row,
        .name_id = slices->name_id[row],
        .cat_id = slices->cat_id[row],
        .flags = slices->flags[row],
    };
    return true;
}

static bool gather(struct ties *ties)
{
    const struct marey_trace *trace = ties->trace;
    for (size_t t = 0; t < trace->tracks.n; t++) {
        const struct marey_track *track = &trace->tracks.at[t];
        const size_t end = (size_t)track->first_slice + track->n_slices;
        bool is_in_group = false;
        for (size_t row = (size_t)track->first_slice + 1; row < end; row++) {
            const bool is_tied = continues(trace, row);
            if (is_tied && ((!is_in_group && !add_row(ties, row - 1)) || !add_row(ties, row)))
                return false;
            is_in_group = is_tied;
        }
    }
    return true;
}

/* ---- ids ----------------------------------------------------------------------- */

static enum marey_status take_id(void *user, size_t i, struct marey_str args)
{
    struct ties *ties = user;
    struct tied *tied = &ties->tied.at[ties->order[i]];
    const bool is_python = ties->trace->category[tied->cat_id].kind == MAREY_KIND_PYTHON;
    tied->id = marey__args_int(args, is_python ? MAREY_ARG_PYTHON_ID : MAREY_ARG_EXTERNAL_ID,
                               &ties->scratch);
    return ties->scratch.failed ? MAREY_NOMEM : MAREY_OK;
}

/* Ids stay unknown where args cannot be read. False without memory. */
static bool read_ids(struct ties *ties)
{
    const struct marey_args_provider *provider = &ties->trace->provider;
    const struct marey_alloc *alloc = &ties->trace->alloc;
    const marey_args_walk_fn walk =
        provider->walk_raw != NULL ? provider->walk_raw : provider->walk;
    const size_t n = ties->tied.n;
    if (walk == NULL)
        return true;
    uint64_t *place = marey__alloc(alloc, n, sizeof *place);
    uint64_t *offset = marey__alloc(alloc, n, sizeof *offset);
    uint32_t *order = marey__alloc(alloc, n, sizeof *order);
    bool is_done = place != NULL && offset != NULL && order != NULL;
    if (is_done) {
        for (size_t i = 0; i < n; i++)
            place[i] = ties->tied.at[i].offset;
        is_done = marey__order_u64(alloc, place, order, n);
    }
    if (is_done) {
        struct marey_error ignored = {0};
        for (size_t i = 0; i < n; i++)
            offset[i] = place[order[i]];
        ties->order = order;
        is_done = walk(provider->ctx, offset, n, take_id, ties, &ignored) != MAREY_NOMEM;
    }
    marey__dealloc(alloc, order, n, sizeof *order);
    marey__dealloc(alloc, offset, n, sizeof *offset);
    marey__dealloc(alloc, place, n, sizeof *place);
    return is_done;
}

/* ---- groups ----------------------------------------------------------------------- */

static int compare_ids(const void *ctx, uint32_t a, uint32_t b)
{
    const struct tied *tied = ctx;
    return (tied[a].id > tied[b].id) - (tied[a].id < tied[b].id);
}

static void put_rows(struct marey_slice_columns *slices, const struct tied *tied, size_t n,
                     size_t first_row)
{
    for (size_t i = 0; i < n; i++) {
        slices->offset[first_row + i] = tied[i].offset;
        slices->name_id[first_row + i] = tied[i].name_id;
        slices->cat_id[first_row + i] = tied[i].cat_id;
        slices->flags[first_row + i] = tied[i].flags;
    }
}

/* The rows of a group, by id if each has one. False without memory. */
static bool order_group(struct marey_trace *trace, struct tied *tied, size_t n)
{
    bool has_ids = true;
    bool is_one_name = true;
    for (size_t i = 0; i < n; i++) {
        has_ids = has_ids && tied[i].id != MAREY_UNKNOWN;
        is_one_name = is_one_name && tied[i].name_id == tied[0].name_id;
    }
    for (size_t i = 1; i < n && !has_ids && !is_one_name; i++)
        marey__account_note(&trace->account, MAREY_REASON_SAME_INTERVAL, tied[i].offset);
    if (!has_ids)
        return true;
    const size_t first_row = tied[0].row;
    if (!marey__sort_structs(&trace->alloc, tied, n, sizeof *tied, compare_ids, tied))
        return false;
    put_rows(&trace->slices, tied, n, first_row);
    return true;
}

/* Whether the i-th is of the group of the one before it: groups may touch. */
static bool is_same_group(const struct ties *ties, size_t i)
{
    const struct tied *tied = ties->tied.at;
    return tied[i].row == tied[i - 1].row + 1 && continues(ties->trace, tied[i].row);
}

static bool order_groups(struct ties *ties)
{
    const size_t n = ties->tied.n;
    for (size_t from = 0, to = 0; from < n; from = to) {
        for (to = from + 1; to < n && is_same_group(ties, to); to++)
            continue;
        if (!order_group(ties->trace, ties->tied.at + from, to - from))
            return false;
    }
    return true;
}

bool marey__order_ties(struct marey_trace *trace)
{
    struct ties ties = {.trace = trace};
    marey__text_init(&ties.scratch, &trace->alloc);
    const bool is_done =
        gather(&ties) && (ties.tied.n == 0 || (read_ids(&ties) && order_groups(&ties)));
    marey__text_release(&ties.scratch);
    marey__dealloc(&trace->alloc, ties.tied.at, ties.tied.capacity, sizeof *ties.tied.at);
    return is_done;
}
