/*
 * finish.c - from a builder's rows to a trace: absolute times, order, parents, names.
 */
#include "base/error.h"
#include "trace/build.h"
#include "trace/columns.h"
#include "trace/rows.h"
#include "trace/written.h"

/* ---- absolute times ------------------------------------------------------------ */

static int64_t add_base(int64_t ts_ns, int64_t base_ns)
{
    int64_t sum = 0;
    if (ts_ns == MAREY_UNKNOWN)
        return MAREY_UNKNOWN;
    if (!__builtin_add_overflow(ts_ns, base_ns, &sum) && sum != MAREY_UNKNOWN)
        return sum;
    return base_ns > 0 ? INT64_MAX : INT64_MIN + 1;
}

/* A slice whose start or end does not fit 64 bits leaves the columns. */
static void place_slice(struct marey_builder *builder, size_t row, int64_t base_ns)
{
    struct marey_slice_columns *slices = &builder->trace->slices;
    const int64_t dur = slices->dur_ns[row] < 0 ? 0 : slices->dur_ns[row];
    int64_t start = 0;
    int64_t end = 0;
    if (!__builtin_add_overflow(slices->start_ns[row], base_ns, &start) &&
        !__builtin_add_overflow(start, dur, &end)) {
        slices->start_ns[row] = start;
        return;
    }
    if ((slices->flags[row] & MAREY_ROW_DROPPED) != 0)
        return;
    slices->flags[row] |= MAREY_ROW_DROPPED;
    marey__builder_quarantine(builder, MAREY_REASON_TIME_RANGE,
                              &(struct marey_new_slice){
                                  .start_ns = MAREY_UNKNOWN,
                                  .dur_ns = slices->dur_ns[row],
                                  .offset = slices->offset[row],
                                  .track_idx = slices->parent_idx[row],
                                  .name_id = slices->name_id[row],
                                  .cat_id = slices->cat_id[row],
                              });
}

static void add_bases(int64_t *ts_ns, size_t from, size_t to, int64_t base_ns)
{
    for (size_t i = from; i < to; i++)
        ts_ns[i] = add_base(ts_ns[i], base_ns);
}

static void place_source(struct marey_builder *builder, const struct marey_source_mark *from,
                         const struct marey_source_mark *to, int64_t base_ns)
{
    struct marey_trace *trace = builder->trace;
    for (size_t i = from->quarantined; i < to->quarantined; i++)
        trace->quarantined.at[i].start_ns = add_base(trace->quarantined.at[i].start_ns, base_ns);
    for (size_t i = from->slice; i < to->slice; i++)
        place_slice(builder, i, base_ns);
    add_bases(trace->instants.ts_ns, from->instant, to->instant, base_ns);
    add_bases(trace->counters.ts_ns, from->counter, to->counter, base_ns);
    add_bases(trace->flows.ts_ns, from->flow, to->flow, base_ns);
    for (size_t i = from->async_span; i < to->async_span; i++)
        trace->async_spans.at[i].start_ns = add_base(trace->async_spans.at[i].start_ns, base_ns);
    for (size_t i = from->meta_record; i < to->meta_record; i++)
        trace->meta_records.at[i].ts_ns = add_base(trace->meta_records.at[i].ts_ns, base_ns);
}

static void place_all(struct marey_builder *builder)
{
    struct marey_trace *trace = builder->trace;
    const struct marey_source_mark end = {
        .slice = trace->slices.n,
        .instant = trace->instants.n,
        .counter = trace->counters.n,
        .flow = trace->flows.n,
        .async_span = trace->async_spans.n,
        .quarantined = trace->quarantined.n,
        .meta_record = trace->meta_records.n,
    };
    int64_t file_ns = 0; /* the base of the file that a shifted source is a part of */
    for (size_t i = 0; i < builder->marks.n; i++) {
        const struct marey_source_mark *to =
            i + 1 < builder->marks.n ? &builder->marks.at[i + 1] : &end;
        const int64_t base_ns = trace->sources.at[i].base_ns;
        const int64_t shift_ns = builder->marks.at[i].shift_ns;
        int64_t shifted_ns = 0;
        if (builder->marks.at[i].is_absolute)
            continue;
        if (shift_ns == 0)
            file_ns = base_ns;
        /* Its times count from the file's base; a shift that says another thing is damaged. */
        const bool is_part =
            !__builtin_add_overflow(base_ns, shift_ns, &shifted_ns) && shifted_ns == file_ns;
        place_source(builder, &builder->marks.at[i], to, is_part ? file_ns : base_ns);
    }
}

/* ---- what the finished trace shows ---------------------------------------------------- */

static void note_crossings(struct marey_trace *trace)
{
    uint64_t n_left = 0;
    for (size_t i = 0; i < trace->tracks.n; i++)
        n_left += trace->tracks.at[i].n_crossings;
    for (size_t i = 0; i < trace->slices.n && n_left > 0; i++) {
        if ((trace->slices.flags[i] & MAREY_SLICE_CROSSES) == 0)
            continue;
        marey__account_note(&trace->account, MAREY_REASON_CROSSING, trace->slices.offset[i]);
        n_left--;
    }
}

static void note_emptiness(struct marey_trace *trace)
{
    const size_t n_events = trace->slices.n + trace->instants.n + trace->counters.n +
                            trace->async_spans.n + trace->flows.n + trace->quarantined.n;
    if (n_events == 0 && trace->account.count[MAREY_REASON_NO_EVENTS] == 0)
        marey__account_note(&trace->account, MAREY_REASON_NO_EVENTS, 0);
}

/* ---- giving back what the doubling took too much ------------------------------------------- */

static void shrink(struct marey_trace *trace)
{
    const struct marey_columns slices = marey__columns_of_slices(&trace->slices);
    const struct marey_columns links = marey__columns_of_links(&trace->links);
    const struct marey_columns flows = marey__columns_of_flows(&trace->flows);
    marey__columns_shrink(&trace->alloc, &slices, trace->slices.n);
    marey__columns_shrink(&trace->alloc, &links, trace->links.n);
    marey__columns_shrink(&trace->alloc, &flows, trace->flows.n);
}

static bool order_rows(struct marey_builder *builder)
{
    struct marey_trace *trace = builder->trace;
    bool begin_together = true;
    place_all(builder);
    if (builder->failed)
        return false;
    if (!marey__end_sources(builder) || !marey__find_processes(builder) ||
        !marey__note_copies(builder))
        return false;
    if (!marey__sort_tracks(trace) || !marey__name_tracks(trace) ||
        !marey__sort_slices(trace, &begin_together) ||
        (begin_together && !marey__order_ties(trace)) || !marey__clip_wild(trace))
        return false;
    if (!marey__sort_points(trace, &trace->instants) ||
        !marey__sort_points(trace, &trace->counters) || !marey__sort_flows(trace) ||
        !marey__sort_async_spans(trace))
        return false;
    if (!marey__find_gaps(trace))
        return false;
    marey__nest(trace);
    return true;
}

enum marey_status marey__builder_finish(struct marey_builder *builder,
                                        struct marey_args_provider provider,
                                        struct marey_trace **trace, struct marey_error *err)
{
    enum marey_status status = MAREY_OK;
    struct marey_trace *made = builder->trace;
    made->provider = provider;
    if (builder->failed)
        return marey__fail_nomem(err);
    if (made->slices.n >= MAREY_NONE || made->flows.n >= MAREY_NONE ||
        made->instants.n >= MAREY_NONE || made->counters.n >= MAREY_NONE ||
        made->async_spans.n >= MAREY_NONE)
        status = marey__fail(err, MAREY_LIMIT,
                             "too many records: a trace holds at most 4,294,967,294 of a kind");
    else if (!order_rows(builder))
        status = marey__fail_nomem(err);
    if (status != MAREY_OK)
        return status;

    note_crossings(made);
    note_emptiness(made);
    marey__note_written(made);
    shrink(made);
    made->n_threads = 1; /* what is asked for later stays in the caller's thread */
    builder->trace = NULL;
    *trace = made;
    return MAREY_OK;
}
