/*
 * torch_args.c - what the args of records say: ids, sequence numbers, shapes, stacks.
 *
 * One walk in file order. Records of devices and runtime calls need their first args only.
 */
#include "aggregate/torch_view.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

/* What one record says beyond its row. */
struct found {
    struct marey_str dims;
    struct marey_str concrete;
    struct marey_str call_stack; /* raw */
    bool is_open;                /* "finished": false */
};

static int64_t read_int(struct marey_json *json, int64_t fallback)
{
    int64_t value = fallback;
    return marey__json_i64(json, &value) ? value : fallback;
}

/* torch hides events whose metadata says hidden = "1". */
static bool read_hidden(struct marey_json *json)
{
    const struct marey_str raw = marey__json_raw(json);
    return marey__str_is_c(raw, "1") || marey__str_is_c(raw, "\"1\"");
}

static void read_call_stack(struct marey_json *json, struct found *found)
{
    struct marey_str raw = {0};
    if (marey__json_string(json, &raw))
        found->call_stack = raw;
}

static void read_host_arg(struct marey_json *json, struct marey_str key,
                          struct marey_torch_row *row, struct found *found)
{
    if (marey__json_spells(key, "External id") || marey__json_spells(key, "external id"))
        row->external_id = read_int(json, 0);
    else if (marey__json_spells(key, "Sequence number"))
        row->sequence = read_int(json, -1);
    else if (marey__json_spells(key, "Fwd thread id"))
        row->forward_thread = read_int(json, MAREY_UNKNOWN);
    else if (marey__json_spells(key, "Input Dims"))
        found->dims = marey__json_raw(json);
    else if (marey__json_spells(key, "Concrete Inputs"))
        found->concrete = marey__json_raw(json);
    else if (marey__json_spells(key, "Call stack"))
        read_call_stack(json, found);
    else if (marey__json_spells(key, "Python id"))
        row->python_id = read_int(json, -1);
    else if (marey__json_spells(key, "finished"))
        found->is_open = marey__str_is_c(marey__json_raw(json), "false");
    else if (marey__json_spells(key, "hidden"))
        row->is_hidden = read_hidden(json) || row->is_hidden;
    else
        marey__json_skip(json);
}

static bool read_host(struct marey_torch_build *build, struct marey_torch_row *row,
                      struct marey_json *json)
{
    struct found found = {0};
    struct marey_str key;
    while (marey__json_key(json, &key))
        read_host_arg(json, key, row, &found);
    if (found.is_open && marey__torch_may_be_open(row))
        row->is_async = row->is_open = true;
    if (found.call_stack.len > 0) {
        build->has_stacks = true;
        marey__text_reset(&build->stack_text);
        marey__json_unescape(found.call_stack, &build->stack_text);
        row->stack_idx =
            marey__text_failed(&build->stack_text)
                ? MAREY_NONE
                : marey__torch_stack_of_text(
                      build, (struct marey_str){build->stack_text.ptr, build->stack_text.len});
    }
    if (found.dims.len == 0)
        return row->stack_idx != MAREY_NONE;
    row->shapes_id = marey__torch_shapes_of_text(build, found.dims);
    if (build->view->options.flops == MAREY_KNOWN_YES)
        row->flops =
            marey__torch_flops(build->name[row->name_idx].flops, found.dims, found.concrete);
    return row->stack_idx != MAREY_NONE && row->shapes_id != MAREY_NONE;
}

/* Synchronisation records need their correlation as well, which no column holds. */
static void read_device(struct marey_torch_row *row, struct marey_json *json)
{
    const bool is_sync = row->kind == MAREY_KIND_SYNC || row->kind == MAREY_KIND_DEVICE_EVENT ||
                         row->source == MAREY_TORCH_QUARANTINED;
    struct marey_str key;
    while (marey__json_key(json, &key)) {
        if (marey__json_spells(key, "External id") || marey__json_spells(key, "external id")) {
            row->external_id = read_int(json, 0);
        } else if (is_sync && marey__json_spells(key, "correlation")) {
            row->correlation = read_int(json, 0);
        } else {
            marey__json_skip(json);
        }
    }
}

static enum marey_status read_record(void *user, size_t i, struct marey_str args)
{
    struct marey_torch_build *build = user;
    struct marey_torch_row *row = &build->rows[i];
    struct marey_json json = marey__json(args);
    if (!marey__json_enter(&json, '{'))
        return MAREY_OK;
    switch ((enum marey_kind)row->kind) {
    case MAREY_KIND_OTHER:
    case MAREY_KIND_OP:
    case MAREY_KIND_ANNOTATION:
    case MAREY_KIND_PYTHON:
        return read_host(build, row, &json) ? MAREY_OK : MAREY_NOMEM;
    case MAREY_KIND_RUNTIME:
    case MAREY_KIND_DRIVER:
    case MAREY_KIND_KERNEL:
    case MAREY_KIND_MEMCPY:
    case MAREY_KIND_MEMSET:
    case MAREY_KIND_DEVICE_ANNOTATION:
    case MAREY_KIND_SYNC:
    case MAREY_KIND_DEVICE_EVENT:
        read_device(row, &json);
        return MAREY_OK;
    case MAREY_KIND_OVERHEAD:
    case MAREY_KIND_MEMORY:
    case MAREY_KIND_COUNTER:
    case MAREY_KIND_WINDOW:
    case MAREY_KIND_FLOW:
    case MAREY_N_KINDS:
        return MAREY_OK;
    }
    return MAREY_OK;
}

enum marey_status marey__torch_read_args(struct marey_torch_build *build, struct marey_error *err)
{
    const size_t n = build->n_rows;
    uint64_t *offsets = marey__alloc(&build->alloc, n, sizeof *offsets);
    if (offsets == NULL)
        return marey__fail_nomem(err);
    const uint32_t none = marey__intern_c(&build->view->strings, "[]");
    build->no_shapes_id = none;
    for (size_t i = 0; i < n; i++) {
        offsets[i] = build->rows[i].offset;
        build->rows[i].shapes_id = none;
    }
    enum marey_status status =
        none == MAREY_NONE
            ? MAREY_NOMEM
            : marey_trace_walk_args(build->view->trace, offsets, n, read_record, build, err);
    if (status == MAREY_NOMEM)
        status = marey__fail_nomem(err);
    marey__dealloc(&build->alloc, offsets, n, sizeof *offsets);
    return status;
}
