/*
 * builder.c - adding records in file order to growing columns.
 *
 * Rows stay in file order here; finish.c sorts them. parent_idx holds the track of a row
 * until then.
 */
#include "base/error.h"
#include "base/str.h"
#include "trace/build.h"
#include "trace/columns.h"

/* So much more than expected before columns move after all. */
#define SPARE_ROOM 1.0625

/* Room for one more element; on failure the builder is marked and false returned. */
#define ROOM(builder, array)                                                                       \
    make_room(builder, (void **)&(array)->at, &(array)->capacity, (array)->n + 1,                  \
              sizeof *(array)->at)

static bool make_room(struct marey_builder *builder, void **at, size_t *capacity, size_t need,
                      size_t size_bytes)
{
    if (builder->failed || !marey__grow(&builder->alloc, at, capacity, need, size_bytes))
        builder->failed = true;
    return !builder->failed;
}

struct marey_builder *marey__builder_new(const struct marey_alloc *alloc)
{
    struct marey_builder *builder = marey__alloc_zero(alloc, 1, sizeof *builder);
    if (builder == NULL)
        return NULL;
    builder->alloc = *alloc;
    builder->source_idx = MAREY_NONE;
    marey__hashmap_init(&builder->track_map, alloc);
    marey__hashmap_init(&builder->async_map, alloc);
    marey__hashmap_init(&builder->late_labels, alloc);
    marey__hashmap_init(&builder->written_map, alloc);
    marey__hashmap_init(&builder->meta_map, alloc);
    builder->trace = marey__trace_new(alloc);
    if (builder->trace == NULL) {
        marey__builder_free(builder);
        return NULL;
    }
    return builder;
}

void marey__builder_free(struct marey_builder *builder)
{
    if (builder == NULL)
        return;
    const struct marey_alloc alloc = builder->alloc;
    marey__dealloc(&alloc, builder->marks.at, builder->marks.capacity, sizeof *builder->marks.at);
    marey__dealloc(&alloc, builder->open.at, builder->open.capacity, sizeof *builder->open.at);
    marey__dealloc(&alloc, builder->written.at, builder->written.capacity,
                   sizeof *builder->written.at);
    marey__dealloc(&alloc, builder->open_tracks.at, builder->open_tracks.capacity,
                   sizeof *builder->open_tracks.at);
    marey__hashmap_release(&builder->meta_map);
    marey__hashmap_release(&builder->written_map);
    marey__hashmap_release(&builder->late_labels);
    marey__hashmap_release(&builder->async_map);
    marey__hashmap_release(&builder->track_map);
    marey_trace_free(builder->trace);
    marey__dealloc(&alloc, builder, 1, sizeof *builder);
}

bool marey__builder_failed(const struct marey_builder *builder)
{
    return builder->failed;
}

void marey__builder_use_threads(struct marey_builder *builder, size_t n_threads)
{
    builder->trace->n_threads = n_threads;
}

struct marey_intern *marey__builder_strings(struct marey_builder *builder)
{
    return &builder->trace->strings;
}

struct marey_account *marey__builder_account(struct marey_builder *builder)
{
    return &builder->trace->account;
}

void marey__builder_set_checked(struct marey_builder *builder, enum marey_check checked)
{
    builder->trace->checked = checked;
}

uint32_t marey__builder_begin_source(struct marey_builder *builder, const char *path)
{
    struct marey_trace *trace = builder->trace;
    const uint32_t path_id = marey__intern_c(&trace->strings, path);
    if (path_id == MAREY_NONE)
        builder->failed = true;
    if (trace->sources.n >= UINT16_MAX || !ROOM(builder, &trace->sources) ||
        !ROOM(builder, &builder->marks))
        return MAREY_NONE;
    if (!marey__account_add_source(&trace->account, &builder->alloc)) {
        builder->failed = true;
        return MAREY_NONE;
    }
    builder->marks.at[builder->marks.n++] = (struct marey_source_mark){
        .slice = trace->slices.n,
        .link = trace->links.n,
        .instant = trace->instants.n,
        .counter = trace->counters.n,
        .flow = trace->flows.n,
        .async_span = trace->async_spans.n,
        .quarantined = trace->quarantined.n,
        .meta_record = trace->meta_records.n,
        .cycle_of = MAREY_NONE,
    };
    marey__opened_forget(builder);
    builder->source_idx = (uint32_t)trace->sources.n++;
    trace->sources.at[builder->source_idx] = (struct marey_source){
        .path_id = path_id,
        .rank = builder->source_idx,
        .rank_is_assumed = true,
        .cycle_of = builder->source_idx,
        .world_size = MAREY_UNKNOWN,
    };
    return builder->source_idx;
}

struct marey_source *marey__builder_source(struct marey_builder *builder)
{
    MAREY_ASSERT(builder->source_idx != MAREY_NONE);
    return &builder->trace->sources.at[builder->source_idx];
}

void marey__builder_set_absolute(struct marey_builder *builder)
{
    MAREY_ASSERT(builder->source_idx != MAREY_NONE);
    builder->marks.at[builder->source_idx].is_absolute = true;
}

void marey__builder_shift_source(struct marey_builder *builder, int64_t shift_ns)
{
    MAREY_ASSERT(builder->source_idx != MAREY_NONE);
    builder->marks.at[builder->source_idx].shift_ns = shift_ns;
}

void marey__builder_set_cycle_of(struct marey_builder *builder, uint32_t source_idx)
{
    MAREY_ASSERT(builder->source_idx != MAREY_NONE && source_idx <= builder->source_idx);
    builder->marks.at[builder->source_idx].cycle_of = source_idx;
}

static uint32_t intern_or_fail(struct marey_builder *builder, struct marey_str text)
{
    const uint32_t id = marey__intern(&builder->trace->strings, text);
    if (id == MAREY_NONE)
        builder->failed = true;
    return id;
}

/* Once for each label: how many records it concerns is not known here. */
static void note_late_label(struct marey_builder *builder, uint64_t label)
{
    uint32_t *place = marey__hashmap_put(&builder->late_labels, label);
    if (place == NULL)
        builder->failed = true;
    else if (*place == MAREY_NONE)
        marey__account_note(&builder->trace->account, MAREY_REASON_MANY_LABELS,
                            MAREY_OFFSET(builder->source_idx, 0));
    if (place != NULL)
        *place = 0;
}

/* The last MAREY_N_KINDS places are kept for one category of each kind, under which those
 * that come too late are shown: what they mean to the numbers must not depend on when. */
uint8_t marey__builder_category(struct marey_builder *builder, struct marey_str text)
{
    struct marey_trace *trace = builder->trace;
    const enum marey_kind kind =
        text.ptr == NULL ? MAREY_KIND_OTHER : marey__kind_of_category(text);
    uint32_t name_id = text.ptr == NULL ? MAREY_NONE : intern_or_fail(builder, text);
    for (int is_late = 0; is_late < 2; is_late++) {
        for (size_t i = 0; i < trace->n_categories; i++)
            if (trace->category[i].name_id == name_id)
                return (uint8_t)i;
        if (is_late == 1 || trace->n_categories < MAREY_N_CATEGORIES - MAREY_N_KINDS)
            break;
        note_late_label(builder, (uint64_t)(MAREY_NONE - 1) << 32 | name_id);
        name_id = intern_or_fail(builder, marey__str(marey__category_of_kind(kind)));
    }
    MAREY_ASSERT(trace->n_categories < MAREY_N_CATEGORIES);
    trace->category[trace->n_categories] =
        (struct marey_category){.name_id = name_id, .kind = kind};
    return (uint8_t)trace->n_categories++;
}

enum marey_kind marey__builder_kind(const struct marey_builder *builder, uint8_t cat_id)
{
    return builder->trace->category[cat_id].kind;
}

enum marey_track_kind marey__builder_track_kind(const struct marey_builder *builder,
                                                uint32_t track_idx)
{
    return builder->trace->tracks.at[track_idx].kind;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_track(const struct marey_track_key *key, uint32_t source_idx)
{
    uint64_t hash = mix(source_idx, (uint64_t)key->kind);
    hash = mix(hash, (uint64_t)key->process_id << 32 | key->thread_id);
    hash = mix(hash, (uint64_t)key->device);
    hash = mix(hash, (uint64_t)key->context);
    return mix(hash, (uint64_t)key->stream);
}

static bool is_track(const struct marey_track *track, const struct marey_track_key *key,
                     uint32_t source_idx)
{
    return track->kind == key->kind && track->source_idx == source_idx &&
           track->process_id == key->process_id && track->thread_id == key->thread_id &&
           track->device == key->device && track->context == key->context &&
           track->stream == key->stream;
}

uint32_t marey__builder_track(struct marey_builder *builder, const struct marey_track_key *key)
{
    struct marey_trace *trace = builder->trace;
    uint64_t hash = hash_track(key, builder->source_idx);
    uint32_t *place = marey__hashmap_put(&builder->track_map, hash);
    while (place != NULL && *place != MAREY_NONE &&
           !is_track(&trace->tracks.at[*place], key, builder->source_idx))
        place = marey__hashmap_put(&builder->track_map, ++hash);
    if (place != NULL && *place != MAREY_NONE)
        return *place;
    if (place == NULL || !ROOM(builder, &trace->tracks)) {
        builder->failed = true;
        return MAREY_NONE;
    }
    *place = (uint32_t)trace->tracks.n++;
    trace->tracks.at[*place] = (struct marey_track){
        .kind = key->kind,
        .source_idx = builder->source_idx,
        .process_id = key->process_id,
        .thread_id = key->thread_id,
        .device = key->device,
        .context = key->context,
        .stream = key->stream,
        .process_name_id = MAREY_NONE,
        .thread_name_id = MAREY_NONE,
    };
    return *place;
}

static bool grow(struct marey_builder *builder, struct marey_columns columns)
{
    if (!marey__columns_grow(&builder->alloc, &columns))
        builder->failed = true;
    return !builder->failed;
}

/* Room for one more row of a table; on failure the builder is marked and false returned. */
static inline bool slice_room(struct marey_builder *builder)
{
    struct marey_slice_columns *slices = &builder->trace->slices;
    if (builder->failed || slices->n < slices->capacity)
        return !builder->failed;
    return grow(builder, marey__columns_of_slices(slices));
}

static bool link_room(struct marey_builder *builder)
{
    struct marey_link_columns *links = &builder->trace->links;
    if (builder->failed || links->n < links->capacity)
        return !builder->failed;
    return grow(builder, marey__columns_of_links(links));
}

static bool point_room(struct marey_builder *builder, struct marey_point_columns *points)
{
    if (builder->failed || points->n < points->capacity)
        return !builder->failed;
    return grow(builder, marey__columns_of_points(points));
}

static bool flow_room(struct marey_builder *builder)
{
    struct marey_flow_columns *flows = &builder->trace->flows;
    if (builder->failed || flows->n < flows->capacity)
        return !builder->failed;
    return grow(builder, marey__columns_of_flows(flows));
}

/* A table that had `before` rows when the source began and has n now. */
static void expect(struct marey_builder *builder, struct marey_columns columns, size_t before,
                   size_t n, double times)
{
    const double wanted = (double)before + (double)(n - before) * times;
    if (builder->failed || n == before || wanted > (double)MAREY_NONE)
        return;
    if (!marey__columns_reserve(&builder->alloc, &columns, (size_t)wanted))
        builder->failed = true;
}

void marey__builder_expect(struct marey_builder *builder, uint64_t done, uint64_t all)
{
    struct marey_trace *trace = builder->trace;
    const struct marey_source_mark *mark = &builder->marks.at[builder->marks.n - 1];
    const double times = (double)all / (double)done * SPARE_ROOM;
    if (done == 0 || done >= all)
        return;
    expect(builder, marey__columns_of_slices(&trace->slices), mark->slice, trace->slices.n, times);
    expect(builder, marey__columns_of_links(&trace->links), mark->link, trace->links.n, times);
    expect(builder, marey__columns_of_flows(&trace->flows), mark->flow, trace->flows.n, times);
}

/* For no more rows than a trace may have. */
bool marey__builder_lend_rows(struct marey_builder *builder, size_t n_more,
                              struct marey_lent_rows *rows)
{
    struct marey_slice_columns *slices = &builder->trace->slices;
    const struct marey_columns columns = marey__columns_of_slices(slices);
    size_t wanted = 0;

    if (builder->failed || !marey__size_add(slices->n, n_more, &wanted) ||
        !marey__columns_reserve(&builder->alloc, &columns, wanted)) {
        builder->failed = true;
        return false;
    }
    *rows = (struct marey_lent_rows){
        .start_ns = slices->start_ns,
        .dur_ns = slices->dur_ns,
        .offset = slices->offset,
        .name_id = slices->name_id,
        .track_idx = slices->parent_idx,
        .cat_id = slices->cat_id,
        .flags = slices->flags,
        .n = slices->n,
        .capacity = slices->capacity,
    };
    return true;
}

void marey__builder_take_rows(struct marey_builder *builder, struct marey_lent_rows *rows)
{
    if (rows->capacity > 0)
        builder->trace->slices.n = rows->n;
    *rows = (struct marey_lent_rows){0};
}

static void put_slice(struct marey_builder *builder, const struct marey_new_slice *slice,
                      uint8_t flags)
{
    struct marey_slice_columns *slices = &builder->trace->slices;
    if (slice->track_idx == MAREY_NONE || !slice_room(builder)) {
        builder->failed = true;
        return;
    }
    const size_t row = slices->n;
    if (slice->has_correlation) {
        struct marey_link_columns *links = &builder->trace->links;
        if (!link_room(builder))
            return;
        flags |= MAREY_ROW_LINKED;
        links->slice_idx[links->n] = (uint32_t)row;
        links->correlation[links->n++] = slice->correlation;
    }
    slices->start_ns[row] = slice->start_ns;
    slices->dur_ns[row] = slice->dur_ns;
    slices->offset[row] = slice->offset;
    slices->name_id[row] = slice->name_id;
    slices->parent_idx[row] = slice->track_idx;
    slices->cat_id[row] = slice->cat_id;
    slices->flags[row] = flags;
    slices->n++;
}

void marey__builder_add_slice(struct marey_builder *builder, const struct marey_new_slice *slice)
{
    put_slice(builder, slice, slice->dur_ns == MAREY_UNKNOWN ? MAREY_SLICE_UNKNOWN_DUR : 0);
}

static struct marey_open_track *open_track(struct marey_builder *builder, uint32_t track_idx)
{
    while (!builder->failed && builder->open_tracks.n <= track_idx) {
        if (ROOM(builder, &builder->open_tracks))
            builder->open_tracks.at[builder->open_tracks.n++] =
                (struct marey_open_track){MAREY_NONE, MAREY_UNKNOWN};
    }
    return builder->failed ? NULL : &builder->open_tracks.at[track_idx];
}

static void check_clock(struct marey_builder *builder, struct marey_open_track *track,
                        int64_t ts_ns, uint64_t offset)
{
    if (track->last_ns != MAREY_UNKNOWN && ts_ns < track->last_ns)
        marey__account_note(&builder->trace->account, MAREY_REASON_CLOCK_STEPPED_BACK, offset);
    track->last_ns = ts_ns;
}

static bool push_open(struct marey_builder *builder, uint32_t row, uint32_t *top)
{
    if (!ROOM(builder, &builder->open))
        return false;
    builder->open.at[builder->open.n] = (struct marey_open_row){row, *top};
    *top = (uint32_t)builder->open.n++;
    return true;
}

void marey__builder_begin_slice(struct marey_builder *builder, const struct marey_new_slice *slice)
{
    struct marey_open_track *track =
        slice->track_idx == MAREY_NONE ? NULL : open_track(builder, slice->track_idx);
    if (track == NULL)
        return;
    const size_t row = builder->trace->slices.n;
    struct marey_new_slice begun = *slice;
    begun.dur_ns = 0;
    check_clock(builder, track, slice->start_ns, slice->offset);
    put_slice(builder, &begun, MAREY_SLICE_OPEN | MAREY_SLICE_FROM_BEGIN);
    if (!builder->failed && push_open(builder, (uint32_t)row, &track->top))
        marey__opened_add(builder, (uint32_t)row);
}

/* A pair that ends before it begins leaves the columns. */
static void drop_slice(struct marey_builder *builder, uint32_t row, int64_t dur_ns)
{
    struct marey_slice_columns *slices = &builder->trace->slices;
    slices->flags[row] |= MAREY_ROW_DROPPED;
    marey__builder_quarantine(builder, MAREY_REASON_NEGATIVE_DUR,
                              &(struct marey_new_slice){
                                  .start_ns = slices->start_ns[row],
                                  .dur_ns = dur_ns,
                                  .offset = slices->offset[row],
                                  .track_idx = slices->parent_idx[row],
                                  .name_id = slices->name_id[row],
                                  .cat_id = slices->cat_id[row],
                              });
}

void marey__builder_end_slice(struct marey_builder *builder, uint32_t track_idx, int64_t ts_ns,
                              uint32_t name_id, uint64_t offset)
{
    struct marey_slice_columns *slices = &builder->trace->slices;
    struct marey_open_track *track =
        track_idx == MAREY_NONE ? NULL : open_track(builder, track_idx);
    if (track == NULL)
        return;
    check_clock(builder, track, ts_ns, offset);
    if (track->top == MAREY_NONE) {
        marey__account_note(&builder->trace->account, MAREY_REASON_UNMATCHED_END, offset);
        return;
    }
    const struct marey_open_row open = builder->open.at[track->top];
    track->top = open.below;
    if (name_id != MAREY_NONE && slices->name_id[open.row] != MAREY_NONE &&
        name_id != slices->name_id[open.row])
        marey__account_note(&builder->trace->account, MAREY_REASON_NAME_MISMATCH, offset);

    int64_t dur = 0;
    slices->flags[open.row] &= (uint8_t)~MAREY_SLICE_OPEN;
    if (__builtin_sub_overflow(ts_ns, slices->start_ns[open.row], &dur) || dur < 0)
        drop_slice(builder, open.row, ts_ns < slices->start_ns[open.row] ? dur : MAREY_UNKNOWN);
    else
        slices->dur_ns[open.row] = dur;
}

static void put_point(struct marey_builder *builder, struct marey_point_columns *points,
                      const struct marey_new_point *point)
{
    if (point->track_idx == MAREY_NONE || !point_room(builder, points)) {
        builder->failed = true;
        return;
    }
    const size_t row = points->n++;
    points->ts_ns[row] = point->ts_ns;
    points->offset[row] = point->offset;
    points->track_idx[row] = point->track_idx;
    points->name_id[row] = point->name_id;
    points->cat_id[row] = point->cat_id;
    points->scope[row] = point->scope;
}

void marey__builder_add_instant(struct marey_builder *builder, const struct marey_new_point *point)
{
    put_point(builder, &builder->trace->instants, point);
}

void marey__builder_add_counter(struct marey_builder *builder, const struct marey_new_point *point)
{
    put_point(builder, &builder->trace->counters, point);
}

/* The label of a flow: its category and name, which Kineto writes alike. */
static uint8_t flow_label(struct marey_builder *builder, uint32_t cat_name_id, uint32_t name_id)
{
    struct marey_trace *trace = builder->trace;
    for (size_t i = 0; i < trace->n_flow_labels; i++)
        if (trace->flow_label[i].cat_name_id == cat_name_id &&
            trace->flow_label[i].name_id == name_id)
            return (uint8_t)i;
    if (trace->n_flow_labels == MAREY_N_CATEGORIES) {
        note_late_label(builder, (uint64_t)cat_name_id << 32 | name_id);
        return MAREY_N_CATEGORIES - 1;
    }
    trace->flow_label[trace->n_flow_labels] = (struct marey_flow_label){cat_name_id, name_id};
    return (uint8_t)trace->n_flow_labels++;
}

void marey__builder_add_flow(struct marey_builder *builder, const struct marey_new_point *point,
                             uint64_t id, char phase)
{
    struct marey_trace *trace = builder->trace;
    struct marey_flow_columns *flows = &trace->flows;
    if (point->track_idx == MAREY_NONE || !flow_room(builder)) {
        builder->failed = true;
        return;
    }
    const size_t row = flows->n++;
    flows->ts_ns[row] = point->ts_ns;
    flows->id[row] = id;
    flows->track_idx[row] = point->track_idx;
    flows->label_idx[row] =
        flow_label(builder, trace->category[point->cat_id].name_id, point->name_id);
    flows->phase[row] = (uint8_t)phase;
}

static void begin_async(struct marey_builder *builder, const struct marey_new_point *point,
                        uint32_t id_text, uint32_t *top)
{
    struct marey_trace *trace = builder->trace;
    if (!ROOM(builder, &trace->async_spans))
        return;
    const uint32_t row = (uint32_t)trace->async_spans.n;
    trace->async_spans.at[row] = (struct marey_async_span){
        .start_ns = point->ts_ns,
        .dur_ns = MAREY_UNKNOWN,
        .track_idx = point->track_idx,
        .name_id = point->name_id,
        .id_text = id_text,
        .cat_id = point->cat_id,
        .offset = point->offset,
        .end_offset = UINT64_MAX,
    };
    if (push_open(builder, row, top))
        trace->async_spans.n++;
}

/* As a pair of B and E does, one that ends before it begins leaves the table: written without its
 * end it would take that of the span around it. */
static void drop_async(struct marey_builder *builder, struct marey_async_span *span, int64_t dur_ns)
{
    span->dur_ns = MAREY_SPAN_DROPPED;
    marey__builder_quarantine(builder, MAREY_REASON_NEGATIVE_DUR,
                              &(struct marey_new_slice){
                                  .start_ns = span->start_ns,
                                  .dur_ns = dur_ns,
                                  .offset = span->offset,
                                  .track_idx = span->track_idx,
                                  .name_id = span->name_id,
                                  .cat_id = (uint8_t)span->cat_id,
                              });
}

static void end_async(struct marey_builder *builder, const struct marey_new_point *point,
                      uint32_t *top)
{
    struct marey_trace *trace = builder->trace;
    if (*top == MAREY_NONE) {
        marey__account_note(&trace->account, MAREY_REASON_UNMATCHED_END, point->offset);
        return;
    }
    const struct marey_open_row open = builder->open.at[*top];
    *top = open.below;
    struct marey_async_span *span = &trace->async_spans.at[open.row];
    const int64_t dur = point->ts_ns - span->start_ns; /* both within MAREY_TIME_LIMIT_NS */
    span->end_offset = point->offset;
    if (dur >= 0) {
        span->dur_ns = dur;
        return;
    }
    marey__account_note(&trace->account, MAREY_REASON_CLOCK_STEPPED_BACK, point->offset);
    drop_async(builder, span, dur);
}

void marey__builder_add_async(struct marey_builder *builder, const struct marey_new_point *point,
                              uint32_t id_text, char phase)
{
    if (point->track_idx == MAREY_NONE || builder->failed) {
        builder->failed = true;
        return;
    }
    /* Ids are of a source and a category; the hash map's keys are exact. */
    const uint64_t key =
        (uint64_t)builder->source_idx << 40 | (uint64_t)point->cat_id << 32 | id_text;
    uint32_t *place = marey__hashmap_put(&builder->async_map, key);
    if (place == NULL) {
        builder->failed = true;
        return;
    }
    /* The map keeps the stack's top; an empty stack is stored as the value "none yet", which
     * the map itself uses for new keys. */
    uint32_t top = *place == MAREY_NONE - 1 ? MAREY_NONE : *place;
    if (phase == 'e')
        end_async(builder, point, &top);
    else
        begin_async(builder, point, id_text, &top);
    *place = top == MAREY_NONE ? MAREY_NONE - 1 : top;
}

bool marey__builder_set_meta(struct marey_builder *builder, struct marey_str key,
                             struct marey_str json)
{
    struct marey_trace *trace = builder->trace;
    const uint32_t key_id = marey__intern(&trace->strings, key);
    const uint32_t json_id = marey__intern(&trace->strings, json);
    if (key_id == MAREY_NONE || json_id == MAREY_NONE || !ROOM(builder, &trace->metas)) {
        builder->failed = true;
        return true;
    }
    uint32_t *place =
        marey__hashmap_put(&builder->meta_map, (uint64_t)builder->source_idx << 32 | key_id);
    if (place == NULL) {
        builder->failed = true;
        return true;
    }
    const bool is_new = *place == MAREY_NONE;
    if (is_new)
        *place = (uint32_t)trace->metas.n++;
    trace->metas.at[*place] = (struct marey_meta){builder->source_idx, key_id, json_id};
    return is_new;
}

void marey__builder_add_meta_record(struct marey_builder *builder,
                                    const struct marey_meta_record *record)
{
    struct marey_trace *trace = builder->trace;
    if (!ROOM(builder, &trace->meta_records))
        return;
    trace->meta_records.at[trace->meta_records.n] = *record;
    trace->meta_records.at[trace->meta_records.n++].source_idx = builder->source_idx;
}

void marey__builder_quarantine(struct marey_builder *builder, enum marey_reason reason,
                               const struct marey_new_slice *slice)
{
    struct marey_trace *trace = builder->trace;
    marey__account_note(&trace->account, reason, slice->offset);
    if (!ROOM(builder, &trace->quarantined))
        return;
    trace->quarantined.at[trace->quarantined.n++] = (struct marey_quarantined){
        .reason = marey__reason_name(reason),
        .start_ns = slice->start_ns,
        .dur_ns = slice->dur_ns,
        .track_idx = slice->track_idx,
        .name_id = slice->name_id,
        .cat_id = slice->cat_id,
        .offset = slice->offset,
        .correlation = slice->has_correlation ? slice->correlation : 0,
        .has_correlation = slice->has_correlation,
    };
}
