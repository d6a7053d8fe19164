/*
 * torch_tree.c - torch's list of events and its tree of host events.
 *
 * The list is by start, longer ones first. On each logical thread an event is the child of
 * the innermost one that encloses it; events that cross are siblings. A child that is the
 * only one of a parent of the same name is dropped, and the parent takes its children and
 * kernels, for its own.
 */
#include "aggregate/torch_view.h"
#include "base/error.h"
#include "base/order.h"
#include "base/str.h"

#define ENGINE_PREFIX "autograd::engine::evaluate_function: "
#define SHORT_RUN 16

/* A run of rows that start together, longer ones first; stable. */
static void insert_run(struct marey_torch_row *rows, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (rows[i].end_ns <= rows[i - 1].end_ns)
            continue;
        const struct marey_torch_row row = rows[i];
        size_t at = i;
        for (; at > 0 && rows[at - 1].end_ns < row.end_ns; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

static bool sort_run(struct marey_torch_build *build, struct marey_torch_row *rows, size_t n)
{
    if (n <= SHORT_RUN) {
        insert_run(rows, n);
        return true;
    }
    uint64_t *key = marey__alloc(&build->alloc, n, sizeof *key);
    uint32_t *order = marey__alloc(&build->alloc, n, sizeof *order);
    struct marey_torch_row *sorted = marey__alloc(&build->alloc, n, sizeof *sorted);
    bool is_sorted = key != NULL && order != NULL && sorted != NULL;
    if (is_sorted) {
        for (size_t i = 0; i < n; i++)
            key[i] = ~((uint64_t)rows[i].end_ns ^ (UINT64_C(1) << 63));
        is_sorted = marey__order_u64(&build->alloc, key, order, n);
    }
    if (is_sorted) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = rows[order[i]];
        memcpy(rows, sorted, n * sizeof *sorted);
    }
    marey__dealloc(&build->alloc, sorted, n, sizeof *sorted);
    marey__dealloc(&build->alloc, order, n, sizeof *order);
    marey__dealloc(&build->alloc, key, n, sizeof *key);
    return is_sorted;
}

static bool sort_list(struct marey_torch_build *build)
{
    for (size_t i = 0; i < build->n_rows;) {
        size_t end = i + 1;
        while (end < build->n_rows && build->rows[end].start_ns == build->rows[i].start_ns)
            end++;
        if (end - i > 1 && !sort_run(build, &build->rows[i], end - i))
            return false;
        i = end;
    }
    return true;
}

static void drop_hidden(struct marey_torch_build *build)
{
    size_t n = 0;
    for (size_t i = 0; i < build->n_rows; i++)
        if (!build->rows[i].is_hidden)
            build->rows[n++] = build->rows[i];
    build->n_rows = n;
}

static void add_child(struct marey_torch_row *rows, uint32_t parent, uint32_t child)
{
    rows[child].parent = parent;
    if (rows[parent].first_child == MAREY_NONE)
        rows[parent].first_child = child;
    else
        rows[rows[parent].last_child].next_sibling = child;
    rows[parent].last_child = child;
    rows[parent].n_children++;
}

/* `last` of a thread is its latest event; what encloses it are its parents, so they are
 * the stack. */
static bool find_parents(struct marey_torch_build *build)
{
    struct marey_torch_row *rows = build->rows;
    struct marey_hashmap last;
    bool has_room = true;
    marey__hashmap_init(&last, &build->alloc);
    for (uint32_t i = 0; i < build->n_rows; i++) {
        if (rows[i].is_async || rows[i].device_type != MAREY_TORCH_CPU)
            continue;
        uint32_t *top = marey__hashmap_put(&last, (uint64_t)rows[i].thread);
        has_room = top != NULL;
        if (!has_room)
            break;
        uint32_t parent = *top;
        while (parent != MAREY_NONE &&
               (rows[i].start_ns >= rows[parent].end_ns || rows[i].end_ns > rows[parent].end_ns))
            parent = rows[parent].parent;
        if (parent != MAREY_NONE)
            add_child(rows, parent, i);
        *top = i;
    }
    marey__hashmap_release(&last);
    return has_room;
}

static struct marey_str name_of(const struct marey_torch_build *build, uint32_t row)
{
    return marey__intern_text(&build->view->strings,
                              build->name[build->rows[row].name_idx].name_id);
}

/* The event around an event: in torch's tree, or for an open one, which torch leaves out of
 * it, in the file's. */
static struct marey_str outer_name(const struct marey_torch_build *build, uint32_t i)
{
    const struct marey_torch_row *row = &build->rows[i];
    if (row->parent != MAREY_NONE)
        return build->rows[row->parent].kind == MAREY_KIND_OP ? name_of(build, row->parent)
                                                              : (struct marey_str){NULL, 0};
    if (!row->is_async || row->source != MAREY_TORCH_SLICE)
        return (struct marey_str){NULL, 0};
    const struct marey_slices slices = marey_trace_slices(build->trace);
    const uint32_t outer = slices.parent_idx[row->ref];
    return outer == MAREY_NONE ? (struct marey_str){NULL, 0}
                               : marey_trace_string(build->trace, slices.name_id[outer]);
}

/* The engine's event for X has the call of node X right inside: scope 1 in torch. */
static void find_backward_nodes(struct marey_torch_build *build)
{
    const size_t prefix_len = sizeof ENGINE_PREFIX - 1;
    for (uint32_t i = 0; i < build->n_rows; i++) {
        struct marey_str outer = outer_name(build, i);
        if (outer.ptr == NULL || !marey__str_starts(outer, ENGINE_PREFIX))
            continue;
        outer.ptr += prefix_len;
        outer.len -= prefix_len;
        if (marey__str_is(outer, name_of(build, i)))
            build->rows[i].scope = MAREY_TORCH_SCOPE_BACKWARD;
    }
}

/* Parents come before children, so one pass does what torch repeats until nothing
 * changes. The parent's own kernels are lost, as in torch. */
static void mark_duplicates(struct marey_torch_build *build)
{
    struct marey_torch_row *rows = build->rows;
    for (uint32_t i = 0; i < build->n_rows; i++) {
        const uint32_t parent = rows[i].parent;
        if (parent == MAREY_NONE || rows[parent].n_children != 1 ||
            build->name[rows[parent].name_idx].name_id != build->name[rows[i].name_idx].name_id)
            continue;
        rows[parent].first_child = rows[i].first_child;
        rows[parent].last_child = rows[i].last_child;
        rows[parent].n_children = rows[i].n_children;
        rows[parent].first_kernel = rows[i].first_kernel;
        rows[parent].n_kernels = rows[i].n_kernels;
        for (uint32_t at = rows[i].first_child; at != MAREY_NONE; at = rows[at].next_sibling)
            rows[at].parent = parent;
        rows[i].is_hidden = true;
    }
}

/* Moves rows together and turns references into places of the new list. */
static bool drop_duplicates(struct marey_torch_build *build)
{
    struct marey_torch_row *rows = build->rows;
    const size_t n = build->n_rows;
    uint32_t *place = marey__alloc(&build->alloc, n, sizeof *place);
    if (place == NULL)
        return false;
    uint32_t n_kept = 0;
    for (size_t i = 0; i < n; i++)
        place[i] = rows[i].is_hidden ? MAREY_NONE : n_kept++;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].is_hidden)
            continue;
        struct marey_torch_row row = rows[i];
        row.parent = row.parent == MAREY_NONE ? MAREY_NONE : place[row.parent];
        row.first_child = row.first_child == MAREY_NONE ? MAREY_NONE : place[row.first_child];
        row.last_child = row.last_child == MAREY_NONE ? MAREY_NONE : place[row.last_child];
        row.next_sibling = row.next_sibling == MAREY_NONE ? MAREY_NONE : place[row.next_sibling];
        rows[place[i]] = row;
    }
    build->n_rows = n_kept;
    marey__dealloc(&build->alloc, place, n, sizeof *place);
    return true;
}

enum marey_status marey__torch_build_tree(struct marey_torch_build *build, struct marey_error *err)
{
    drop_hidden(build);
    MAREY_TRY(marey__torch_sort_rows(build, err));
    if (!sort_list(build) || !find_parents(build))
        return marey__fail_nomem(err);
    find_backward_nodes(build);
    mark_duplicates(build);
    return drop_duplicates(build) ? MAREY_OK : marey__fail_nomem(err);
}
