/*
 * tracks.c - the order of tracks (the same for every order of records) and their names.
 */
#include "base/error.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/sort.h"
#include "trace/build.h"
#include "trace/rows.h"

int marey__compare_track_ids(struct marey_str x, struct marey_str y)
{
    if (x.ptr == NULL || y.ptr == NULL)
        return (x.ptr == NULL) - (y.ptr == NULL);
    int64_t i = 0;
    int64_t j = 0;
    const bool x_is_number = marey__decimal_scaled(x, 0, &i);
    const bool y_is_number = marey__decimal_scaled(y, 0, &j);
    if (x_is_number != y_is_number)
        return x_is_number ? -1 : 1;
    if (x_is_number && i != j)
        return i < j ? -1 : 1;
    return marey__str_compare(x, y);
}

static int compare_ids(const struct marey_trace *trace, uint32_t a, uint32_t b)
{
    return a == b ? 0
                  : marey__compare_track_ids(marey_trace_string(trace, a),
                                             marey_trace_string(trace, b));
}

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_tracks(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_trace *trace = ctx;
    const struct marey_track *x = &trace->tracks.at[a];
    const struct marey_track *y = &trace->tracks.at[b];
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int order =
        compare_i64(trace->sources.at[x->source_idx].rank, trace->sources.at[y->source_idx].rank);
    if (order == 0)
        order = compare_i64(x->source_idx, y->source_idx);
    if (order == 0)
        order = compare_ids(trace, x->process_id, y->process_id);
    if (order == 0)
        order = compare_ids(trace, x->thread_id, y->thread_id);
    if (order == 0)
        order = compare_i64(x->device, y->device);
    if (order == 0)
        order = compare_i64(x->context, y->context);
    return order != 0 ? order : compare_i64(x->stream, y->stream);
}

static void renumber(uint32_t *track_idx, size_t n, const uint32_t *new_idx)
{
    for (size_t i = 0; i < n; i++)
        track_idx[i] = new_idx[track_idx[i]];
}

static void renumber_rows(struct marey_trace *trace, const uint32_t *new_idx)
{
    size_t n_same = 0;

    while (n_same < trace->tracks.n && new_idx[n_same] == n_same)
        n_same++;
    if (n_same == trace->tracks.n)
        return;
    renumber(trace->slices.parent_idx, trace->slices.n, new_idx);
    renumber(trace->instants.track_idx, trace->instants.n, new_idx);
    renumber(trace->counters.track_idx, trace->counters.n, new_idx);
    renumber(trace->flows.track_idx, trace->flows.n, new_idx);
    for (size_t i = 0; i < trace->async_spans.n; i++)
        trace->async_spans.at[i].track_idx = new_idx[trace->async_spans.at[i].track_idx];
    for (size_t i = 0; i < trace->quarantined.n; i++) {
        uint32_t *idx = &trace->quarantined.at[i].track_idx;
        *idx = *idx == MAREY_NONE ? MAREY_NONE : new_idx[*idx];
    }
}

bool marey__sort_tracks(struct marey_trace *trace)
{
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = trace->tracks.n;
    const size_t capacity = trace->tracks.capacity;
    if (n == 0)
        return true;
    uint32_t *order = marey__alloc(alloc, n, sizeof *order);
    uint32_t *new_idx = marey__alloc(alloc, n, sizeof *new_idx);
    struct marey_track *sorted = marey__alloc(alloc, capacity, sizeof *sorted);
    bool is_done = order != NULL && new_idx != NULL && sorted != NULL;
    if (is_done) {
        for (size_t i = 0; i < n; i++)
            order[i] = (uint32_t)i;
        is_done = marey__sort_indices(alloc, order, n, compare_tracks, trace);
    }
    if (is_done) {
        for (size_t i = 0; i < n; i++) {
            sorted[i] = trace->tracks.at[order[i]];
            new_idx[order[i]] = (uint32_t)i;
        }
        struct marey_track *old = trace->tracks.at;
        trace->tracks.at = sorted;
        sorted = old;
        renumber_rows(trace, new_idx);
    }
    marey__dealloc(alloc, sorted, capacity, sizeof *sorted);
    marey__dealloc(alloc, new_idx, n, sizeof *new_idx);
    marey__dealloc(alloc, order, n, sizeof *order);
    return is_done;
}

/* ---- names ------------------------------------------------------------------- */

struct naming {
    struct marey_trace *trace;
    struct marey_hashmap record_of; /* hash of source, process, thread -> metadata record */
    uint32_t process_name_id;       /* string ids of the records' own names */
    uint32_t thread_name_id;
    struct marey_textbuf scratch;
};

static uint64_t hash_ids(uint32_t source_idx, uint32_t process_id, uint32_t thread_id)
{
    uint64_t hash = ((uint64_t)process_id << 32 | thread_id) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ (hash >> 31) ^ source_idx) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* The name that a record's args give, interned; MAREY_NONE if it gives none. */
static bool name_of_record(struct naming *naming, const struct marey_meta_record *record,
                           uint32_t *name_id)
{
    struct marey_intern *strings = &naming->trace->strings;
    struct marey_json json = marey__json(marey__intern_text(strings, record->args_id));
    struct marey_str key;
    struct marey_str raw;
    *name_id = MAREY_NONE;
    if (!marey__json_enter(&json, '{'))
        return true;
    while (marey__json_key(&json, &key)) {
        if (!marey__json_spells(key, "name")) {
            marey__json_skip(&json);
        } else if (marey__json_string(&json, &raw)) {
            marey__text_reset(&naming->scratch);
            marey__json_unescape(raw, &naming->scratch);
            const struct marey_str text = {naming->scratch.ptr, naming->scratch.len};
            *name_id = marey__intern(strings, text);
            if (*name_id == MAREY_NONE || naming->scratch.failed)
                return false;
        } else {
            *name_id = MAREY_NONE;
        }
    }
    return true;
}

static bool is_thread_name(const struct naming *naming, const struct marey_meta_record *record)
{
    return record->name_id == naming->thread_name_id;
}

/* Remembers the first record that names a process or a thread; a second name is counted. */
static bool take_record(struct naming *naming, uint32_t record_idx)
{
    struct marey_trace *trace = naming->trace;
    const struct marey_meta_record *record = &trace->meta_records.at[record_idx];
    const bool is_thread = is_thread_name(naming, record);
    if (!is_thread && record->name_id != naming->process_name_id)
        return true;
    const uint32_t thread_id = is_thread ? record->thread_id : MAREY_NONE - 1;
    uint32_t *place = marey__hashmap_put(
        &naming->record_of, hash_ids(record->source_idx, record->process_id, thread_id));
    if (place == NULL)
        return false;
    if (*place == MAREY_NONE)
        *place = record_idx;
    else if (is_thread && trace->meta_records.at[*place].args_id != record->args_id)
        marey__account_note(&trace->account, MAREY_REASON_RENAMED_THREAD,
                            MAREY_OFFSET(record->source_idx, 0));
    return true;
}

static const struct marey_meta_record *find_record(const struct naming *naming,
                                                   const struct marey_track *track, bool is_thread)
{
    const uint32_t thread_id = is_thread ? track->thread_id : MAREY_NONE - 1;
    const uint32_t idx = marey__hashmap_get(
        &naming->record_of, hash_ids(track->source_idx, track->process_id, thread_id));
    if (idx == MAREY_NONE)
        return NULL;
    const struct marey_meta_record *record = &naming->trace->meta_records.at[idx];
    const bool is_same = record->source_idx == track->source_idx &&
                         record->process_id == track->process_id &&
                         is_thread_name(naming, record) == is_thread &&
                         (!is_thread || record->thread_id == track->thread_id);
    return is_same ? record : NULL;
}

bool marey__name_tracks(struct marey_trace *trace)
{
    struct naming naming = {
        .trace = trace,
        .process_name_id = marey__intern_c(&trace->strings, "process_name"),
        .thread_name_id = marey__intern_c(&trace->strings, "thread_name"),
    };
    marey__hashmap_init(&naming.record_of, &trace->alloc);
    marey__text_init(&naming.scratch, &trace->alloc);
    bool is_done = naming.process_name_id != MAREY_NONE && naming.thread_name_id != MAREY_NONE;
    for (size_t i = 0; i < trace->meta_records.n && is_done; i++)
        is_done = take_record(&naming, (uint32_t)i);
    for (size_t i = 0; i < trace->tracks.n && is_done; i++) {
        struct marey_track *track = &trace->tracks.at[i];
        const struct marey_meta_record *process = find_record(&naming, track, false);
        const struct marey_meta_record *thread = find_record(&naming, track, true);
        if (process != NULL)
            is_done = name_of_record(&naming, process, &track->process_name_id);
        if (thread != NULL && is_done)
            is_done = name_of_record(&naming, thread, &track->thread_name_id);
    }
    marey__text_release(&naming.scratch);
    marey__hashmap_release(&naming.record_of);
    return is_done;
}
