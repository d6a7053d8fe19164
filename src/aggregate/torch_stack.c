/*
 * torch_stack.c - call stacks of events.
 *
 * Ops and Python functions have theirs in the file. All other events have none there, but
 * torch gives them the Python functions above them in its C++ tree: above the op that
 * launched them, else above what is open on the main thread when they begin. Events inside
 * a backward node then get the stack of the forward op.
 */
#include "aggregate/torch_view.h"
#include "base/error.h"
#include "base/json.h"
#include "base/order.h"
#include "base/str.h"

/* Entries that hold both parts of a pair are torch's own and are left out. */
static const char *const hidden_entries[][2] = {
    {"autograd/__init__", "_make_grads"},
    {"autograd/__init__", "backward"},
    {"torch/tensor", "backward"},
    {"_internal/common_utils", "prof_callable"},
    {"_internal/common_utils", "prof_func_call"},
    {"_internal/common_utils", "prof_meth_call"},
};

static bool is_hidden_entry(struct marey_str entry)
{
    for (size_t i = 0; i < sizeof hidden_entries / sizeof hidden_entries[0]; i++)
        if (marey__str_holds(entry, hidden_entries[i][0]) &&
            marey__str_holds(entry, hidden_entries[i][1]))
            return true;
    return false;
}

static bool add_entry(struct marey_torch_view *view, struct marey_str entry)
{
    if (entry.len == 0 || is_hidden_entry(entry))
        return true;
    const uint32_t id = marey__intern(&view->strings, entry);
    if (id == MAREY_NONE ||
        !marey__grow(&view->alloc, (void **)&view->stacks, &view->stacks_capacity,
                     view->n_stacks + 1, sizeof *view->stacks))
        return false;
    view->stacks[view->n_stacks++] = id;
    return true;
}

/* A new stack of the entries after `first`. */
static uint32_t add_stack(struct marey_torch_build *build, size_t first)
{
    const size_t n = build->view->n_stacks - first;
    if (n == 0)
        return 0;
    if (!marey__grow(&build->alloc, (void **)&build->stack, &build->stacks_capacity,
                     build->n_stacks + 1, sizeof *build->stack))
        return MAREY_NONE;
    build->stack[build->n_stacks] =
        (struct marey_torch_stack){.first = (uint32_t)first, .n = (uint32_t)n};
    return (uint32_t)build->n_stacks++;
}

uint32_t marey__torch_stack_of_text(struct marey_torch_build *build, struct marey_str text)
{
    uint32_t *known = marey__torch_cache_at(build, &build->stack_texts, text);
    if (known == NULL || *known != MAREY_NONE)
        return known == NULL ? MAREY_NONE : *known;

    const size_t first = build->view->n_stacks;
    const char *at = text.ptr;
    const char *end = text.ptr + text.len;
    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        if (!add_entry(build->view, (struct marey_str){at, (size_t)(stop - at)}))
            return MAREY_NONE;
        at = stop + 1;
    }
    *known = add_stack(build, first);
    return *known;
}

/* ---- events without a stack in the file ---- */

/* An event that hangs below a Python function; its stack is not in the file at its own
 * record. */
struct below_python {
    uint32_t row;
    uint32_t slice; /* the Python function */
    uint64_t offset;
};

struct placing {
    struct marey_torch_build *build;
    struct below_python *below;
    size_t n_below;
    size_t below_capacity;
    const uint32_t *order; /* of below, by offset */
};

/* What is open on the main thread when the event begins. */
static bool place_by_time(struct placing *placing, uint32_t row)
{
    struct marey_torch_build *build = placing->build;
    const uint32_t slice = build->rows[row].home_slice;
    if (slice == MAREY_NONE)
        return true;
    if (marey_trace_slice_kind(build->trace, slice) != MAREY_KIND_PYTHON) {
        const uint32_t op = build->row_of_slice[slice];
        build->rows[row].stack_idx = op == MAREY_NONE ? 0 : build->rows[op].stack_idx;
        return true;
    }
    if (!marey__grow(&build->alloc, (void **)&placing->below, &placing->below_capacity,
                     placing->n_below + 1, sizeof *placing->below))
        return false;
    placing->below[placing->n_below++] = (struct below_python){
        .row = row,
        .slice = slice,
        .offset = marey_trace_slices(build->trace).offset[slice],
    };
    return true;
}

static bool place(struct placing *placing, uint32_t row)
{
    struct marey_torch_build *build = placing->build;
    if (marey__torch_is_front_end(&build->rows[row]))
        return true;
    const uint32_t op = marey__torch_op_of(build, &build->rows[row]);
    if (op == MAREY_NONE)
        return place_by_time(placing, row);
    build->rows[row].stack_idx = build->rows[op].stack_idx;
    return true;
}

/* Name and callers of a Python function are the stack of what it calls. */
static enum marey_status read_python(void *user, size_t i, struct marey_str args)
{
    struct placing *placing = user;
    struct marey_torch_build *build = placing->build;
    const struct below_python *below = &placing->below[placing->order[i]];
    struct marey_textbuf *text = &build->stack_text;
    const uint32_t name_id = marey_trace_slices(build->trace).name_id[below->slice];
    marey__text_reset(text);
    marey__text_add_str(text, marey_trace_string(build->trace, name_id));
    marey__text_add_byte(text, ';');

    struct marey_json json = marey__json(args);
    struct marey_str key;
    struct marey_str raw = {0};
    const bool is_object = marey__json_enter(&json, '{');
    while (is_object && marey__json_key(&json, &key)) {
        if (!marey__json_spells(key, "Call stack"))
            marey__json_skip(&json);
        else if (!marey__json_string(&json, &raw))
            raw = (struct marey_str){NULL, 0};
    }
    build->has_stacks = build->has_stacks || raw.len > 0;
    marey__json_unescape(raw, text);
    if (marey__text_failed(text))
        return MAREY_NOMEM;
    struct marey_torch_row *row = &build->rows[below->row];
    row->stack_idx = marey__torch_stack_of_text(build, (struct marey_str){text->ptr, text->len});
    return row->stack_idx == MAREY_NONE ? MAREY_NOMEM : MAREY_OK;
}

static enum marey_status read_pythons(struct placing *placing, struct marey_error *err)
{
    const struct marey_alloc *alloc = &placing->build->alloc;
    const size_t n = placing->n_below;
    enum marey_status status = MAREY_NOMEM;
    if (n == 0)
        return MAREY_OK;
    uint64_t *offsets = marey__alloc(alloc, n, sizeof *offsets);
    uint64_t *sorted = marey__alloc(alloc, n, sizeof *sorted);
    uint32_t *order = marey__alloc(alloc, n, sizeof *order);
    if (offsets == NULL || sorted == NULL || order == NULL)
        goto done;
    for (size_t i = 0; i < n; i++)
        offsets[i] = placing->below[i].offset;
    if (!marey__order_u64(alloc, offsets, order, n))
        goto done;
    for (size_t i = 0; i < n; i++)
        sorted[i] = offsets[order[i]];
    placing->order = order;
    status =
        marey_trace_walk_args(placing->build->view->trace, sorted, n, read_python, placing, err);

done:
    placing->order = NULL;
    marey__dealloc(alloc, order, n, sizeof *order);
    marey__dealloc(alloc, sorted, n, sizeof *sorted);
    marey__dealloc(alloc, offsets, n, sizeof *offsets);
    return status == MAREY_NOMEM ? marey__fail_nomem(err) : status;
}

/* Without stacks in the file, a Python function of the outermost level does not tell
 * whether torch had any: then there are none. */
static void take_back(struct placing *placing)
{
    for (size_t i = 0; i < placing->n_below; i++)
        placing->build->rows[placing->below[i].row].stack_idx = 0;
}

enum marey_status marey__torch_place_stacks(struct marey_torch_build *build,
                                            struct marey_error *err)
{
    struct placing placing = {.build = build};
    bool has_room = true;
    for (uint32_t i = 0; i < build->n_rows && has_room; i++)
        has_room = place(&placing, i);
    const enum marey_status status =
        has_room ? read_pythons(&placing, err) : marey__fail_nomem(err);
    if (!build->has_stacks)
        take_back(&placing);
    marey__dealloc(&build->alloc, placing.below, placing.below_capacity, sizeof *placing.below);
    return status;
}

/* ---- backward ---- */

#define THREAD_BITS 20

/* Sequence number and thread as one key; UINT64_MAX for those that no backward event asks
 * for: a stream's number can be large, a thread's cannot. */
static uint64_t forward_key(int64_t sequence, int64_t thread)
{
    const int64_t n_sequences = INT64_C(1) << (63 - THREAD_BITS);
    if (thread < 0 || thread >= (INT64_C(1) << THREAD_BITS) || sequence < -1 ||
        sequence >= n_sequences - 1)
        return UINT64_MAX;
    return ((uint64_t)(sequence + 1) << THREAD_BITS) | (uint64_t)thread;
}

/* For each row the backward node that it is, or is inside of; parents come first. */
static void find_nodes(const struct marey_torch_build *build, uint32_t *node)
{
    for (uint32_t i = 0; i < build->n_rows; i++) {
        const struct marey_torch_row *row = &build->rows[i];
        if (row->scope == MAREY_TORCH_SCOPE_BACKWARD)
            node[i] = i;
        else
            node[i] = row->parent == MAREY_NONE ? MAREY_NONE : node[row->parent];
    }
}

enum marey_status marey__torch_set_backward_stacks(struct marey_torch_build *build,
                                                   struct marey_error *err)
{
    if (!build->has_stacks)
        return MAREY_OK;
    const size_t n = build->n_rows;
    struct marey_hashmap forward;
    marey__hashmap_init(&forward, &build->alloc);
    uint32_t *node = marey__alloc(&build->alloc, n, sizeof *node);
    bool has_room = node != NULL;
    if (has_room)
        find_nodes(build, node);
    for (size_t i = 0; i < n && has_room; i++) {
        const struct marey_torch_row *row = &build->rows[i];
        const uint64_t key = forward_key(row->sequence, row->thread);
        if (node[i] != MAREY_NONE || key == UINT64_MAX)
            continue;
        uint32_t *stack = marey__hashmap_put(&forward, key);
        has_room = stack != NULL;
        if (has_room && *stack == MAREY_NONE)
            *stack = row->stack_idx;
    }
    for (size_t i = 0; i < n && has_room; i++) {
        if (node[i] == MAREY_NONE)
            continue;
        const struct marey_torch_row *of = &build->rows[node[i]];
        const uint64_t key = forward_key(of->sequence, of->forward_thread);
        const uint32_t stack = key == UINT64_MAX ? MAREY_NONE : marey__hashmap_get(&forward, key);
        build->rows[i].stack_idx = stack == MAREY_NONE ? 0 : stack;
    }
    marey__dealloc(&build->alloc, node, n, sizeof *node);
    marey__hashmap_release(&forward);
    return has_room ? MAREY_OK : marey__fail_nomem(err);
}
