/*
 * torch_links.c - ids of events, and which op gets which kernels.
 *
 * torch files every event that was launched by an op under that op's id, then lets each
 * front-end event collect what lies under its own id. Two known faults come from that and
 * are kept: an id is an op's or a CUPTI correlation, so a runtime call without an op may
 * collect the kernels of an op that has the same number; and an overhead record takes the
 * id of the event around it, so it collects an op's kernels once more.
 */
#include "aggregate/torch_view.h"
#include "base/error.h"

bool marey__torch_is_front_end(const struct marey_torch_row *row)
{
    return row->kind == MAREY_KIND_OP || row->kind == MAREY_KIND_ANNOTATION ||
           row->kind == MAREY_KIND_PYTHON || row->kind == MAREY_KIND_OTHER;
}

static bool is_call(const struct marey_torch_row *row)
{
    return row->kind == MAREY_KIND_RUNTIME || row->kind == MAREY_KIND_DRIVER;
}

/* The first row of a key stays. */
static bool note(struct marey_hashmap *map, int64_t key, size_t row)
{
    uint32_t *at = marey__hashmap_put(map, (uint64_t)key);
    if (at != NULL && *at == MAREY_NONE)
        *at = (uint32_t)row;
    return at != NULL;
}

static bool map_rows(struct marey_torch_build *build)
{
    bool has_room = true;
    for (size_t i = 0; i < build->n_rows && has_room; i++) {
        const struct marey_torch_row *row = &build->rows[i];
        if (is_call(row) && row->correlation > 0)
            has_room = note(&build->call_of_id, row->correlation, i);
        if (!marey__torch_is_front_end(row))
            continue;
        if (row->external_id > 0)
            has_room = note(&build->op_of_id, row->external_id, i);
        if (row->source == MAREY_TORCH_SLICE)
            build->row_of_slice[row->ref] = (uint32_t)i;
    }
    return has_room;
}

/* A device record hangs below the call that launched it, a call below its op. */
uint32_t marey__torch_op_of(const struct marey_torch_build *build,
                            const struct marey_torch_row *row)
{
    int64_t linked_id = row->linked_id;
    if (!is_call(row) && row->kind != MAREY_KIND_OVERHEAD &&
        row->kind != MAREY_KIND_DEVICE_ANNOTATION && row->correlation > 0) {
        const uint32_t call = marey__hashmap_get(&build->call_of_id, (uint64_t)row->correlation);
        if (call != MAREY_NONE)
            linked_id = build->rows[call].linked_id;
    }
    return linked_id <= 0 ? MAREY_NONE : marey__hashmap_get(&build->op_of_id, (uint64_t)linked_id);
}

/* An event that is open at the end takes the end of the event around it, the outermost one
 * that of the trace. Rows are in order of start, so an outer one is done first. */
static void end_open_rows(struct marey_torch_build *build)
{
    const struct marey_slices slices = marey_trace_slices(build->trace);
    for (size_t i = 0; i < build->n_rows; i++) {
        struct marey_torch_row *row = &build->rows[i];
        if (!row->is_open)
            continue;
        row->end_ns = build->end_ns;
        uint32_t at = row->source == MAREY_TORCH_SLICE ? slices.parent_idx[row->ref] : MAREY_NONE;
        for (; at != MAREY_NONE; at = slices.parent_idx[at]) {
            const uint32_t outer = build->row_of_slice[at];
            const bool is_python = marey_trace_slice_kind(build->trace, at) == MAREY_KIND_PYTHON;
            if (outer == MAREY_NONE && !is_python)
                continue;
            const int64_t end_ns = outer == MAREY_NONE ? slices.start_ns[at] + slices.dur_ns[at]
                                                       : build->rows[outer].end_ns;
            if (end_ns < row->start_ns)
                continue;
            row->end_ns = end_ns;
            break;
        }
    }
}

/* "External id" of a device record or runtime call is its op, except where it repeats the
 * record's own correlation. Annotations on a device are never linked. */
static int64_t linked_id(const struct marey_torch_row *row)
{
    switch ((enum marey_kind)row->kind) {
    case MAREY_KIND_RUNTIME:
    case MAREY_KIND_DRIVER:
    case MAREY_KIND_KERNEL:
    case MAREY_KIND_MEMCPY:
    case MAREY_KIND_MEMSET:
        return row->external_id;
    case MAREY_KIND_SYNC:
    case MAREY_KIND_DEVICE_EVENT:
        return row->external_id == row->correlation ? 0 : row->external_id;
    case MAREY_KIND_OTHER:
    case MAREY_KIND_OP:
    case MAREY_KIND_ANNOTATION:
    case MAREY_KIND_PYTHON:
    case MAREY_KIND_DEVICE_ANNOTATION:
    case MAREY_KIND_OVERHEAD:
    case MAREY_KIND_MEMORY:
    case MAREY_KIND_COUNTER:
    case MAREY_KIND_WINDOW:
    case MAREY_KIND_FLOW:
    case MAREY_N_KINDS:
        return 0;
    }
    return 0;
}

static void set_id(struct marey_torch_row *row)
{
    row->linked_id = linked_id(row);
    if (marey__torch_is_front_end(row) || row->kind == MAREY_KIND_DEVICE_ANNOTATION)
        row->id = row->external_id;
    else
        row->id = row->correlation;
}

/* Threads of the back end are those of its ops, else the main thread. */
static void set_thread(struct marey_torch_build *build, struct marey_torch_row *row)
{
    const uint32_t op = marey__torch_op_of(build, row);
    if (marey__torch_is_front_end(row))
        row->thread = build->track_thread[row->track_idx];
    else if (op == MAREY_NONE)
        row->thread = 1;
    else
        row->thread = build->track_thread[build->rows[op].track_idx];
}

/* Rows under each id: `first` and `next` chain them in order. */
struct filed {
    struct marey_hashmap group; /* id -> group */
    uint32_t *first;            /* by group */
    uint32_t *last;
    uint32_t *next; /* by row */
    uint32_t n_groups;
};

static bool file_rows(const struct marey_torch_build *build, struct filed *filed)
{
    for (size_t i = 0; i < build->n_rows; i++) {
        const struct marey_torch_row *row = &build->rows[i];
        filed->next[i] = MAREY_NONE;
        if (row->linked_id <= 0 || row->is_hidden)
            continue;
        uint32_t *group = marey__hashmap_put(&filed->group, (uint64_t)row->linked_id);
        if (group == NULL)
            return false;
        if (*group == MAREY_NONE) {
            *group = filed->n_groups++;
            filed->first[*group] = (uint32_t)i;
        } else {
            filed->next[filed->last[*group]] = (uint32_t)i;
        }
        filed->last[*group] = (uint32_t)i;
    }
    return true;
}

static bool has_kernels(int32_t device_type)
{
    return device_type == MAREY_TORCH_CUDA || device_type == MAREY_TORCH_PRIVATEUSE1 ||
           device_type == MAREY_TORCH_XPU;
}

double marey__torch_us(const struct marey_torch_build *build, int64_t ns)
{
    return (double)(int64_t)((uint64_t)ns - (uint64_t)build->origin_ns) / 1000.0;
}

static bool add_kernel(struct marey_torch_build *build, struct marey_torch_row *to,
                       const struct marey_torch_row *row)
{
    struct marey_torch_view *view = build->view;
    if (!marey__grow(&view->alloc, (void **)&view->kernels, &view->kernels_capacity,
                     view->n_kernels + 1, sizeof *view->kernels))
        return false;
    view->kernels[view->n_kernels++] = (struct marey_torch_kernel){
        .name_id = build->name[row->name_idx].name_id,
        .device = row->device_index,
        .dur_us = marey__torch_us(build, row->end_ns) - marey__torch_us(build, row->start_ns),
    };
    to->n_kernels++;
    return true;
}

/* A front-end event collects kernels, and takes runtime calls onto its thread. */
static bool collect_linked(struct marey_torch_build *build, const struct filed *filed)
{
    for (size_t i = 0; i < build->n_rows; i++) {
        struct marey_torch_row *row = &build->rows[i];
        row->first_kernel = (uint32_t)build->view->n_kernels;
        if (row->linked_id != 0 || row->id <= 0 || row->is_async || row->is_hidden ||
            row->device_type != MAREY_TORCH_CPU)
            continue;
        const uint32_t group = marey__hashmap_get(&filed->group, (uint64_t)row->id);
        if (group == MAREY_NONE)
            continue;
        for (uint32_t at = filed->first[group]; at != MAREY_NONE; at = filed->next[at]) {
            struct marey_torch_row *linked = &build->rows[at];
            if (linked->device_type == MAREY_TORCH_CPU)
                linked->thread = row->thread;
            else if (has_kernels(linked->device_type) && !add_kernel(build, row, linked))
                return false;
        }
    }
    return true;
}

static enum marey_status link_kernels(struct marey_torch_build *build, struct marey_error *err)
{
    const size_t n = build->n_rows;
    const struct marey_alloc *alloc = &build->alloc;
    struct filed filed = {0};
    marey__hashmap_init(&filed.group, alloc);
    filed.first = marey__alloc(alloc, n, sizeof *filed.first);
    filed.last = marey__alloc(alloc, n, sizeof *filed.last);
    filed.next = marey__alloc(alloc, n, sizeof *filed.next);
    const bool has_room = filed.first != NULL && filed.last != NULL && filed.next != NULL &&
                          file_rows(build, &filed) && collect_linked(build, &filed);
    marey__dealloc(alloc, filed.next, n, sizeof *filed.next);
    marey__dealloc(alloc, filed.last, n, sizeof *filed.last);
    marey__dealloc(alloc, filed.first, n, sizeof *filed.first);
    marey__hashmap_release(&filed.group);
    return has_room ? MAREY_OK : marey__fail_nomem(err);
}

enum marey_status marey__torch_link(struct marey_torch_build *build, struct marey_error *err)
{
    if (!map_rows(build))
        return marey__fail_nomem(err);
    end_open_rows(build);
    for (size_t i = 0; i < build->n_rows; i++)
        set_id(&build->rows[i]);
    for (size_t i = 0; i < build->n_rows; i++)
        set_thread(build, &build->rows[i]);
    MAREY_TRY(marey__torch_replay_home(build, err));
    return link_kernels(build, err);
}
