/*
 * torch_records.c - which records of a trace are events in torch, in file order.
 *
 * File order is torch's result order before it is sorted by time, so it decides among
 * events that start together.
 */
#include <string.h>

#include "aggregate/torch_view.h"
#include "base/error.h"
#include "base/json.h"
#include "base/order.h"
#include "base/str.h"

/* A device's annotation begins 1 ns early in the file and ends 1 ns late, so that viewers
 * nest it around its kernels. */
#define ANNOTATION_PADDING_NS 1

/* The device that a category speaks of; the first row that fits. */
static const struct {
    const char *prefix;
    enum marey_torch_device device;
} device_table[] = {
    {"xpu_", MAREY_TORCH_XPU},
    {"mtia_", MAREY_TORCH_MTIA},
    {"hpu_", MAREY_TORCH_HPU},
    {"privateuse1_", MAREY_TORCH_PRIVATEUSE1},
};

/* use_device in capitals, as column headings have it. */
static const char *device_name(int32_t device)
{
    switch (device) {
    case MAREY_TORCH_CUDA:
    case MAREY_TORCH_HIP:
        return "CUDA";
    case MAREY_TORCH_XPU:
        return "XPU";
    case MAREY_TORCH_HPU:
        return "HPU";
    case MAREY_TORCH_MTIA:
        return "MTIA";
    case MAREY_TORCH_PRIVATEUSE1:
        return "PRIVATEUSEONE";
    default:
        return NULL;
    }
}

static enum marey_torch_device device_of_category(struct marey_str text)
{
    for (size_t i = 0; i < sizeof device_table / sizeof device_table[0]; i++)
        if (marey__str_starts(text, device_table[i].prefix))
            return device_table[i].device;
    return MAREY_TORCH_CPU;
}

/* The device of kernels and their like, whose categories are the same on all devices. */
static enum marey_torch_device device_of_trace(const struct marey_trace *trace)
{
    size_t n = 0;
    const struct marey_category *category = marey_trace_categories(trace, &n);
    for (size_t i = 0; i < n; i++) {
        const struct marey_str text = marey_trace_string(trace, category[i].name_id);
        const enum marey_torch_device device = device_of_category(text);
        if (device != MAREY_TORCH_CPU)
            return device;
    }
    return MAREY_TORCH_CUDA;
}

static bool is_event_kind(enum marey_kind kind)
{
    switch (kind) {
    case MAREY_KIND_OTHER:
    case MAREY_KIND_OP:
    case MAREY_KIND_ANNOTATION:
    case MAREY_KIND_PYTHON:
    case MAREY_KIND_RUNTIME:
    case MAREY_KIND_DRIVER:
    case MAREY_KIND_KERNEL:
    case MAREY_KIND_MEMCPY:
    case MAREY_KIND_MEMSET:
    case MAREY_KIND_DEVICE_ANNOTATION:
    case MAREY_KIND_SYNC:
    case MAREY_KIND_DEVICE_EVENT:
    case MAREY_KIND_OVERHEAD:
        return true;
    case MAREY_KIND_MEMORY:
    case MAREY_KIND_COUNTER:
    case MAREY_KIND_WINDOW:
    case MAREY_KIND_FLOW:
    case MAREY_N_KINDS:
        return false;
    }
    return false;
}

static bool is_device_kind(enum marey_kind kind)
{
    return marey_kind_is_device_operation(kind) || kind == MAREY_KIND_DEVICE_ANNOTATION ||
           kind == MAREY_KIND_SYNC || kind == MAREY_KIND_DEVICE_EVENT;
}

bool marey__torch_may_be_open(const struct marey_torch_row *row)
{
    return row->kind == MAREY_KIND_OP || row->kind == MAREY_KIND_ANNOTATION;
}

bool marey__torch_add_row(struct marey_torch_build *build)
{
    if (!marey__grow(&build->alloc, (void **)&build->rows, &build->rows_capacity, build->n_rows + 1,
                     sizeof *build->rows))
        return false;
    build->rows[build->n_rows++] = (struct marey_torch_row){
        .sequence = -1,
        .forward_thread = MAREY_UNKNOWN,
        .python_id = -1,
        .track_idx = MAREY_NONE,
        .home_slice = MAREY_NONE,
        .parent = MAREY_NONE,
        .first_child = MAREY_NONE,
        .last_child = MAREY_NONE,
        .next_sibling = MAREY_NONE,
    };
    return true;
}

/* What slices and quarantined rows have in common. */
struct record {
    int64_t start_ns;
    int64_t dur_ns;
    uint64_t offset;
    uint32_t ref;
    uint32_t track_idx;
    uint32_t name_idx;
    uint32_t cat_id;
    enum marey_torch_source source;
    bool is_open;  /* never ended on its thread */
    bool is_async; /* marked so by torch */
};

struct collecting {
    struct marey_torch_build *build;
    const struct marey_category *category;
    size_t n_categories;
    const struct marey_track *track;
    int32_t device; /* of kernels */
};

static bool collect(const struct collecting *collecting, const struct record *record)
{
    struct marey_torch_build *build = collecting->build;
    if (record->cat_id >= collecting->n_categories || record->name_idx >= build->n_names)
        return true;
    const struct marey_category *category = &collecting->category[record->cat_id];
    const bool is_python = category->kind == MAREY_KIND_PYTHON;
    if (!is_event_kind(category->kind) ||
        (is_python && build->view->options.python_functions != MAREY_KNOWN_YES))
        return true;

    if (!marey__torch_add_row(build))
        return false;
    struct marey_torch_row *row = &build->rows[build->n_rows - 1];
    const int64_t padding =
        category->kind == MAREY_KIND_DEVICE_ANNOTATION ? ANNOTATION_PADDING_NS : 0;
    row->start_ns = record->start_ns + padding;
    row->end_ns =
        (int64_t)((uint64_t)record->start_ns + (uint64_t)record->dur_ns - (uint64_t)padding);
    row->offset = record->offset;
    row->ref = record->ref;
    row->track_idx = record->track_idx;
    row->name_idx = record->name_idx;
    row->kind = (uint8_t)category->kind;
    row->source = (uint8_t)record->source;
    row->is_open = record->is_open && marey__torch_may_be_open(row);
    row->is_async = row->is_open || record->is_async;
    row->scope = category->kind == MAREY_KIND_ANNOTATION ? MAREY_TORCH_SCOPE_USER
                                                         : MAREY_TORCH_SCOPE_FUNCTION;
    if (is_device_kind(category->kind))
        row->device_type = collecting->device;
    else if (category->kind == MAREY_KIND_OP)
        row->device_type =
            (int32_t)device_of_category(marey_trace_string(build->trace, category->name_id));
    if (row->device_type != MAREY_TORCH_CPU && build->view->device_name == NULL)
        build->view->device_name = device_name(row->device_type);
    return true;
}

/* Rows of one track; its offsets need not ascend. */
static bool collect_slices(const struct collecting *collecting, uint32_t track_idx)
{
    const struct marey_slices slices = marey_trace_slices(collecting->build->trace);
    const struct marey_track *track = &collecting->track[track_idx];
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const bool has_dur = slices.dur_ns[i] != MAREY_UNKNOWN;
        const struct record record = {
            .start_ns = slices.start_ns[i],
            .dur_ns = has_dur ? marey_trace_raw_dur_ns(collecting->build->trace, i) : 0,
            .offset = slices.offset[i],
            .ref = i,
            .track_idx = track_idx,
            .name_idx = slices.name_id[i] == MAREY_NONE ? 0 : slices.name_id[i],
            .cat_id = slices.cat_id[i],
            .source = MAREY_TORCH_SLICE,
            .is_open = (slices.flags[i] & MAREY_SLICE_OPEN) != 0,
            .is_async = (slices.flags[i] & MAREY_SLICE_ASYNC) != 0,
        };
        if (!collect(collecting, &record))
            return false;
    }
    return true;
}

/* torch shows what we set aside for a negative duration. */
static bool collect_quarantined(const struct collecting *collecting, size_t n_tracks)
{
    size_t n = 0;
    const struct marey_quarantined *quarantined =
        marey_trace_quarantined(collecting->build->trace, &n);
    for (size_t i = 0; i < n; i++) {
        const struct marey_quarantined *row = &quarantined[i];
        if (row->start_ns == MAREY_UNKNOWN || row->dur_ns == MAREY_UNKNOWN ||
            row->track_idx >= n_tracks)
            continue;
        const struct record record = {
            .start_ns = row->start_ns,
            .dur_ns = row->dur_ns,
            .offset = row->offset,
            .ref = (uint32_t)i,
            .track_idx = row->track_idx,
            .name_idx = row->name_id == MAREY_NONE ? 0 : row->name_id,
            .cat_id = row->cat_id,
            .source = MAREY_TORCH_QUARANTINED,
        };
        if (!collect(collecting, &record))
            return false;
    }
    return true;
}

/* The device of a device's event; the process of a host's, as a number. */
static void set_device_index(struct marey_torch_build *build, const struct marey_track *track)
{
    for (size_t i = 0; i < build->n_rows; i++) {
        struct marey_torch_row *row = &build->rows[i];
        const struct marey_track *of = &track[row->track_idx];
        int64_t index = of->device == MAREY_UNKNOWN ? 0 : of->device;
        if (!is_device_kind((enum marey_kind)row->kind) &&
            !marey__decimal_scaled(marey_trace_string(build->trace, of->process_id), 0, &index))
            index = 0;
        row->device_index = (int32_t)index;
    }
}

/* The first "Trace" span of the file tells where time 0 is; without one the first event. */
static void find_span(struct marey_torch_build *build)
{
    const struct marey_slices slices = marey_trace_slices(build->trace);
    uint64_t first_offset = UINT64_MAX;
    for (size_t i = 0; i < slices.n; i++) {
        if (marey_trace_slice_kind(build->trace, (uint32_t)i) != MAREY_KIND_WINDOW ||
            slices.offset[i] >= first_offset)
            continue;
        first_offset = slices.offset[i];
        build->origin_ns = slices.start_ns[i];
        build->end_ns = slices.start_ns[i];
        if (slices.dur_ns[i] != MAREY_UNKNOWN)
            build->end_ns += slices.dur_ns[i];
    }
    if (first_offset != UINT64_MAX || build->n_rows == 0)
        return;
    build->origin_ns = INT64_MAX;
    build->end_ns = INT64_MIN;
    for (size_t i = 0; i < build->n_rows; i++) {
        const struct marey_torch_row *row = &build->rows[i];
        build->origin_ns = row->start_ns < build->origin_ns ? row->start_ns : build->origin_ns;
        build->end_ns = row->end_ns > build->end_ns ? row->end_ns : build->end_ns;
    }
}

/* Row i becomes the one that is at order[i]; `order` is used up. In place: rows are large,
 * and a second set of them costs more than the moves do. */
static void permute(struct marey_torch_row *rows, uint32_t *order, size_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (order[i] == i)
            continue;
        const struct marey_torch_row first = rows[i];
        uint32_t at = i;
        while (order[at] != i) {
            const uint32_t from = order[at];
            rows[at] = rows[from];
            order[at] = at;
            at = from;
        }
        rows[at] = first;
        order[at] = at;
    }
}

static bool is_ascending(const uint64_t *key, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (key[i] < key[i - 1])
            return false;
    return true;
}

/* Puts rows into the order of ascending keys; false without memory. */
static bool sort_by(struct marey_torch_build *build, const uint64_t *key)
{
    const size_t n = build->n_rows;
    if (is_ascending(key, n))
        return true;
    uint32_t *order = marey__alloc(&build->alloc, n, sizeof *order);
    const bool is_sorted = order != NULL && marey__order_u64(&build->alloc, key, order, n);
    if (is_sorted)
        permute(build->rows, order, n);
    marey__dealloc(&build->alloc, order, n, sizeof *order);
    return is_sorted;
}

enum marey_status marey__torch_sort_rows(struct marey_torch_build *build, struct marey_error *err)
{
    uint64_t *key = marey__alloc(&build->alloc, build->n_rows, sizeof *key);
    /* The sign bit flipped: signed order as unsigned order. */
    for (size_t i = 0; key != NULL && i < build->n_rows; i++)
        key[i] = (uint64_t)build->rows[i].start_ns ^ (UINT64_C(1) << 63);
    const bool is_sorted = key != NULL && sort_by(build, key);
    marey__dealloc(&build->alloc, key, build->n_rows, sizeof *key);
    return is_sorted ? MAREY_OK : marey__fail_nomem(err);
}

static bool sort_by_offset(struct marey_torch_build *build)
{
    uint64_t *key = marey__alloc(&build->alloc, build->n_rows, sizeof *key);
    for (size_t i = 0; key != NULL && i < build->n_rows; i++)
        key[i] = build->rows[i].offset;
    const bool is_sorted = key != NULL && sort_by(build, key);
    marey__dealloc(&build->alloc, key, build->n_rows, sizeof *key);
    return is_sorted;
}

/* Correlations of runtime calls and device operations: rows are still in the order of
 * slices, as links are. */
static void add_correlations(struct marey_torch_build *build)
{
    const struct marey_links links = marey_trace_links(build->trace);
    size_t link = 0;
    for (size_t i = 0; i < build->n_rows; i++) {
        struct marey_torch_row *row = &build->rows[i];
        if (row->source != MAREY_TORCH_SLICE)
            continue;
        while (link < links.n && links.slice_idx[link] < row->ref)
            link++;
        if (link < links.n && links.slice_idx[link] == row->ref)
            row->correlation = (int64_t)links.correlation[link];
    }
}

enum marey_status marey__torch_collect(struct marey_torch_build *build, struct marey_error *err)
{
    struct collecting collecting = {.build = build};
    collecting.category = marey_trace_categories(build->trace, &collecting.n_categories);
    collecting.track = marey_trace_tracks(build->trace, &build->n_tracks);
    collecting.device = (int32_t)device_of_trace(build->trace);

    size_t n_quarantined = 0;
    (void)marey_trace_quarantined(build->trace, &n_quarantined);
    bool has_room = marey__grow(&build->alloc, (void **)&build->rows, &build->rows_capacity,
                                build->n_slices + n_quarantined, sizeof *build->rows);
    for (uint32_t i = 0; i < build->n_tracks && has_room; i++)
        has_room = collect_slices(&collecting, i);
    if (!has_room || !collect_quarantined(&collecting, build->n_tracks))
        return marey__fail_nomem(err);
    find_span(build);
    set_device_index(build, collecting.track);
    add_correlations(build);
    return sort_by_offset(build) ? MAREY_OK : marey__fail_nomem(err);
}
