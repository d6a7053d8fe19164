/*
 * trace.c - making, reading and releasing a trace; what is plain access to a column.
 */
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "trace/columns.h"
#include "trace/model.h"

struct marey_trace *marey__trace_new(const struct marey_alloc *alloc)
{
    struct marey_trace *trace = marey__alloc_zero(alloc, 1, sizeof *trace);
    if (trace == NULL)
        return NULL;
    trace->alloc = *alloc;
    trace->has_lock = pthread_mutex_init(&trace->lock, NULL) == 0;
    if (!trace->has_lock || !marey__intern_init(&trace->strings, alloc)) {
        marey_trace_free(trace);
        return NULL;
    }
    return trace;
}

static void release_tables(struct marey_trace *trace)
{
    const struct marey_columns tables[] = {
        marey__columns_of_slices(&trace->slices),   marey__columns_of_links(&trace->links),
        marey__columns_of_points(&trace->instants), marey__columns_of_points(&trace->counters),
        marey__columns_of_flows(&trace->flows),
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        marey__columns_release(&trace->alloc, &tables[i]);
}

static void release_lazy(struct marey_trace *trace)
{
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = trace->slices.n;
    marey__dealloc(alloc, trace->self_ns, n, sizeof *trace->self_ns);
    marey__dealloc(alloc, trace->launch_idx, trace->links.n, sizeof *trace->launch_idx);
    marey__dealloc(alloc, trace->owner_idx, trace->links.n, sizeof *trace->owner_idx);
    for (int arg = 0; arg < MAREY_N_ARGS; arg++) {
        marey__dealloc(alloc, trace->arg_int[arg], n, sizeof *trace->arg_int[arg]);
        marey__dealloc(alloc, trace->arg_text[arg], n, sizeof *trace->arg_text[arg]);
    }
    for (size_t i = 0; i < trace->n_late; i++)
        marey__intern_release(&trace->late[i].table);
    marey__dealloc(alloc, trace->memory_instant, trace->memory.n, sizeof *trace->memory_instant);
    marey__dealloc(alloc, trace->memory_value, trace->memory.n * 5, sizeof *trace->memory_value);
}

void marey_trace_free(struct marey_trace *trace)
{
    if (trace == NULL)
        return;
    const struct marey_alloc alloc = trace->alloc;
    if (trace->provider.release != NULL)
        trace->provider.release(trace->provider.ctx);
    release_lazy(trace);
    release_tables(trace);
#define RELEASE_ARRAY(array)                                                                       \
    marey__dealloc(&alloc, trace->array.at, trace->array.capacity, sizeof *trace->array.at)
    RELEASE_ARRAY(tracks);
    RELEASE_ARRAY(sources);
    RELEASE_ARRAY(metas);
    RELEASE_ARRAY(meta_records);
    RELEASE_ARRAY(async_spans);
    RELEASE_ARRAY(quarantined);
    RELEASE_ARRAY(raw_durs);
    RELEASE_ARRAY(windows);
    RELEASE_ARRAY(gaps);
    RELEASE_ARRAY(clock_bounds);
#undef RELEASE_ARRAY
    marey__account_release(&trace->account, &alloc);
    marey__intern_release(&trace->strings);
    if (trace->has_lock)
        (void)pthread_mutex_destroy(&trace->lock);
    marey__dealloc(&alloc, trace, 1, sizeof *trace);
}

/* Ids of late strings are handed out only after their table is complete, so walking the
 * tables up to the one that holds the id reads nothing that another thread writes. */
struct marey_str marey_trace_string(const struct marey_trace *trace, uint32_t string_id)
{
    if (string_id < trace->strings.n)
        return trace->strings.text[string_id];
    if (string_id == MAREY_NONE)
        return (struct marey_str){NULL, 0};
    for (size_t i = 0; i < MAREY_N_ARGS; i++) {
        const struct marey_late_strings *late = &trace->late[i];
        if (late->table.n == 0)
            break;
        if (string_id - late->first_id < late->table.n)
            return marey__intern_text(&late->table, string_id - late->first_id);
    }
    return (struct marey_str){NULL, 0};
}

const struct marey_args_verdict *marey__trace_args_verdict(const struct marey_trace *trace)
{
    static const struct marey_args_verdict unknown = {0};

    return trace->provider.verdict != NULL ? trace->provider.verdict : &unknown;
}

const struct marey_alloc *marey__trace_alloc(const struct marey_trace *trace)
{
    return &trace->alloc;
}

size_t marey_trace_n_strings(const struct marey_trace *trace)
{
    return trace->strings.n;
}

const struct marey_category *marey_trace_categories(const struct marey_trace *trace, size_t *n)
{
    *n = trace->n_categories;
    return trace->category;
}

const struct marey_track *marey_trace_tracks(const struct marey_trace *trace, size_t *n)
{
    *n = trace->tracks.n;
    return trace->tracks.at;
}

struct marey_slices marey_trace_slices(const struct marey_trace *trace)
{
    const struct marey_slice_columns *columns = &trace->slices;
    return (struct marey_slices){
        .n = columns->n,
        .start_ns = columns->start_ns,
        .dur_ns = columns->dur_ns,
        .name_id = columns->name_id,
        .parent_idx = columns->parent_idx,
        .cat_id = columns->cat_id,
        .flags = columns->flags,
        .offset = columns->offset,
    };
}

struct marey_place_in_file marey_place_of_offset(uint64_t offset)
{
    return (struct marey_place_in_file){MAREY_OFFSET_SOURCE(offset), MAREY_OFFSET_BYTE(offset)};
}

enum marey_kind marey_trace_slice_kind(const struct marey_trace *trace, uint32_t slice_idx)
{
    return trace->category[trace->slices.cat_id[slice_idx]].kind;
}

uint32_t marey_trace_slice_track(const struct marey_trace *trace, uint32_t slice_idx)
{
    size_t low = 0;
    size_t high = trace->tracks.n;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (trace->tracks.at[middle].first_slice <= slice_idx)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

struct marey_links marey_trace_links(const struct marey_trace *trace)
{
    return (struct marey_links){trace->links.n, trace->links.slice_idx, trace->links.correlation};
}

struct marey_instants marey_trace_instants(const struct marey_trace *trace)
{
    const struct marey_point_columns *columns = &trace->instants;
    return (struct marey_instants){columns->n,       columns->ts_ns,  columns->track_idx,
                                   columns->name_id, columns->cat_id, columns->scope,
                                   columns->offset};
}

struct marey_counters marey_trace_counters(const struct marey_trace *trace)
{
    const struct marey_point_columns *columns = &trace->counters;
    return (struct marey_counters){columns->n,       columns->ts_ns,  columns->track_idx,
                                   columns->name_id, columns->cat_id, columns->offset};
}

struct marey_flows marey_trace_flows(const struct marey_trace *trace)
{
    const struct marey_flow_columns *columns = &trace->flows;
    return (struct marey_flows){columns->n,         columns->ts_ns,     columns->id,
                                columns->track_idx, columns->label_idx, columns->phase};
}

const struct marey_flow_label *marey_trace_flow_labels(const struct marey_trace *trace, size_t *n)
{
    *n = trace->n_flow_labels;
    return trace->flow_label;
}

const struct marey_async_span *marey_trace_async_spans(const struct marey_trace *trace, size_t *n)
{
    *n = trace->async_spans.n;
    return trace->async_spans.at;
}

const struct marey_source *marey_trace_sources(const struct marey_trace *trace, size_t *n)
{
    *n = trace->sources.n;
    return trace->sources.at;
}

const struct marey_meta *marey_trace_metas(const struct marey_trace *trace, size_t *n)
{
    *n = trace->metas.n;
    return trace->metas.at;
}

struct marey_str marey_trace_meta(const struct marey_trace *trace, const char *key)
{
    for (size_t i = 0; i < trace->metas.n; i++) {
        const struct marey_meta *meta = &trace->metas.at[i];
        if (marey__str_is_c(marey_trace_string(trace, meta->key_id), key))
            return marey_trace_string(trace, meta->json_id);
    }
    return (struct marey_str){NULL, 0};
}

const struct marey_meta_record *marey_trace_meta_records(const struct marey_trace *trace, size_t *n)
{
    *n = trace->meta_records.n;
    return trace->meta_records.at;
}

const struct marey_quarantined *marey_trace_quarantined(const struct marey_trace *trace, size_t *n)
{
    *n = trace->quarantined.n;
    return trace->quarantined.at;
}

enum marey_status marey_trace_self_ns(struct marey_trace *trace, const int64_t **self_ns,
                                      struct marey_error *err)
{
    enum marey_status status = MAREY_OK;
    (void)pthread_mutex_lock(&trace->lock);
    if (trace->self_ns == NULL) {
        int64_t *column = marey__alloc(&trace->alloc, trace->slices.n, sizeof *column);
        if (column == NULL || !marey__charge(trace, column)) {
            marey__dealloc(&trace->alloc, column, trace->slices.n, sizeof *column);
            status = marey__fail_nomem(err);
        } else {
            trace->self_ns = column;
        }
    }
    if (status == MAREY_OK)
        *self_ns = trace->self_ns;
    (void)pthread_mutex_unlock(&trace->lock);
    return status;
}

enum marey_status marey_trace_owners(struct marey_trace *trace, struct marey_owners *owners,
                                     struct marey_error *err)
{
    (void)pthread_mutex_lock(&trace->lock);
    const enum marey_status status = trace->has_owners ? MAREY_OK : marey__build_owners(trace, err);
    if (status == MAREY_OK)
        *owners = trace->owners;
    (void)pthread_mutex_unlock(&trace->lock);
    return status;
}

enum marey_status marey_trace_clock_bounds(struct marey_trace *trace,
                                           const struct marey_clock_bound **bounds, size_t *n,
                                           struct marey_error *err)
{
    struct marey_owners owners;
    MAREY_TRY(marey_trace_owners(trace, &owners, err));
    *bounds = trace->clock_bounds.at;
    *n = trace->clock_bounds.n;
    return MAREY_OK;
}

static uint64_t records_used(const struct marey_trace *trace, uint64_t n_read)
{
    uint64_t set_aside = 0;
    for (int reason = 0; reason < MAREY_N_REASONS; reason++)
        if (marey__reason_map((enum marey_reason)reason) == MAREY_LEDGER_QUARANTINED)
            set_aside += trace->account.count[reason];
    return set_aside < n_read ? n_read - set_aside : 0;
}

uint64_t marey_trace_row_count(const struct marey_trace *trace, const struct marey_ledger_row *row,
                               uint32_t source_idx)
{
    for (int reason = 0; reason < MAREY_N_REASONS; reason++)
        if (strcmp(marey__reason_name((enum marey_reason)reason), row->reason) == 0)
            return marey__account_of_source(&trace->account, (enum marey_reason)reason, source_idx);
    return 0;
}

enum marey_status marey_trace_ledger(struct marey_trace *trace, struct marey_ledger *ledger,
                                     struct marey_error *err)
{
    (void)pthread_mutex_lock(&trace->lock);
    const enum marey_status status = trace->has_owners ? MAREY_OK : marey__build_owners(trace, err);
    if (status == MAREY_OK) {
        uint64_t n_read = 0;
        for (size_t i = 0; i < trace->sources.n; i++)
            n_read += trace->sources.at[i].n_records;
        *ledger = (struct marey_ledger){
            .n_read = n_read,
            .n_used = records_used(trace, n_read),
            .checked = trace->checked,
            .n_rows = trace->n_ledger_rows,
            .rows = trace->ledger_row,
            .n_before = trace->n_before_rows,
            .before = trace->before_row,
        };
    }
    (void)pthread_mutex_unlock(&trace->lock);
    return status;
}

static uint64_t lazy_bytes(const struct marey_trace *trace)
{
    uint64_t bytes = trace->self_ns != NULL ? trace->slices.n * 8 : 0;
    bytes += trace->owner_idx != NULL ? trace->links.n * 8 : 0;
    for (int arg = 0; arg < MAREY_N_ARGS; arg++) {
        bytes += trace->arg_int[arg] != NULL ? trace->slices.n * 8 : 0;
        bytes += trace->arg_text[arg] != NULL ? trace->slices.n * 4 : 0;
    }
    for (size_t i = 0; i < trace->n_late; i++)
        bytes += marey__intern_bytes(&trace->late[i].table);
    return bytes + trace->memory.n * 44;
}

struct marey_footprint marey_trace_footprint(struct marey_trace *trace)
{
    (void)pthread_mutex_lock(&trace->lock);
    const uint64_t lazy = lazy_bytes(trace);
    (void)pthread_mutex_unlock(&trace->lock);

    const uint64_t points = trace->instants.capacity + trace->counters.capacity;
    return (struct marey_footprint){
        .column_bytes = trace->slices.capacity * 34 + trace->links.capacity * 12 +
                        trace->flows.capacity * 22 + points * 26,
        .string_bytes = marey__intern_bytes(&trace->strings),
        .lazy_bytes = lazy,
        .other_bytes = sizeof *trace + trace->tracks.capacity * sizeof *trace->tracks.at +
                       trace->sources.capacity * sizeof *trace->sources.at +
                       trace->account.capacity * MAREY_N_REASONS * sizeof(uint64_t) +
                       trace->metas.capacity * sizeof *trace->metas.at +
                       trace->meta_records.capacity * sizeof *trace->meta_records.at +
                       trace->async_spans.capacity * sizeof *trace->async_spans.at +
                       trace->quarantined.capacity * sizeof *trace->quarantined.at +
                       trace->raw_durs.capacity * sizeof *trace->raw_durs.at +
                       trace->windows.capacity * sizeof *trace->windows.at +
                       trace->gaps.capacity * sizeof *trace->gaps.at,
    };
}
