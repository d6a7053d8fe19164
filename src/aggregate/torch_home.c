/*
 * torch_home.c - a replay of torch's C++ tree on the main thread.
 *
 * Events of the back end that hang below no op are put on the main thread, with overhead
 * records and annotations of devices among them, though their times have nothing to do
 * with it. Each is the child of what is open there when it begins, and when it ends all
 * that began after it counts as ended too: so what "is open" depends on all of them, and
 * has to be replayed.
 */
#include "aggregate/torch_view.h"
#include "base/error.h"
#include "base/order.h"

/* An event on the thread: a slice of it or a row without an op. */
struct node {
    int64_t start_ns;
    int64_t end_ns;
    uint64_t offset;
    uint32_t slice; /* MAREY_NONE for a row */
    uint32_t row;   /* MAREY_NONE for a slice that is no row */
    uint32_t parent;
    uint32_t home_slice; /* its own, else that of its parent; once it has begun */
    bool is_finished;
};

struct replay {
    struct marey_torch_build *build;
    struct node *node;
    size_t n;
    uint32_t *order; /* by start, equal ones by offset */
    uint32_t *heap;  /* open nodes, earliest end first */
    size_t n_heap;
    uint32_t top; /* innermost open node */
};

static bool is_homeless(const struct marey_torch_build *build, const struct marey_torch_row *row)
{
    if (marey__torch_is_front_end(row) || marey__torch_op_of(build, row) != MAREY_NONE)
        return false;
    /* Below a call it is on no thread's stack; it is found through the call. */
    return row->kind == MAREY_KIND_RUNTIME || row->kind == MAREY_KIND_DRIVER ||
           row->kind == MAREY_KIND_OVERHEAD || row->kind == MAREY_KIND_DEVICE_ANNOTATION ||
           row->correlation <= 0 ||
           marey__hashmap_get(&build->call_of_id, (uint64_t)row->correlation) == MAREY_NONE;
}

/* Slices of the thread that are events of the front end. */
static bool is_in_tree(enum marey_kind kind)
{
    return kind == MAREY_KIND_OP || kind == MAREY_KIND_ANNOTATION || kind == MAREY_KIND_PYTHON;
}

static void add_slices(struct replay *replay)
{
    const struct marey_torch_build *build = replay->build;
    size_t n = 0;
    const struct marey_track *track = &marey_trace_tracks(build->trace, &n)[build->home_track];
    const struct marey_slices slices = marey_trace_slices(build->trace);
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const enum marey_kind kind = marey_trace_slice_kind(build->trace, i);
        if (!is_in_tree(kind) || slices.dur_ns[i] == MAREY_UNKNOWN)
            continue;
        replay->node[replay->n++] = (struct node){
            .start_ns = slices.start_ns[i],
            .end_ns = slices.start_ns[i] + slices.dur_ns[i],
            .offset = slices.offset[i],
            .slice = i,
            .row = MAREY_NONE,
            .parent = MAREY_NONE,
        };
    }
}

static void add_rows(struct replay *replay)
{
    const struct marey_torch_build *build = replay->build;
    for (uint32_t i = 0; i < build->n_rows; i++) {
        const struct marey_torch_row *row = &build->rows[i];
        if (!is_homeless(build, row))
            continue;
        replay->node[replay->n++] = (struct node){
            .start_ns = row->start_ns,
            .end_ns = row->end_ns,
            .offset = row->offset,
            .slice = MAREY_NONE,
            .row = i,
            .parent = MAREY_NONE,
        };
    }
}

/* ---- the heap ---- */

static bool ends_first(const struct replay *replay, uint32_t a, uint32_t b)
{
    return replay->node[a].end_ns < replay->node[b].end_ns;
}

static void heap_add(struct replay *replay, uint32_t node)
{
    uint32_t *heap = replay->heap;
    size_t at = replay->n_heap++;
    for (; at > 0 && ends_first(replay, node, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = node;
}

static uint32_t heap_take(struct replay *replay)
{
    uint32_t *heap = replay->heap;
    const uint32_t first = heap[0];
    const uint32_t last = heap[--replay->n_heap];
    size_t at = 0;
    for (size_t child = 1; child < replay->n_heap; child = 2 * at + 1) {
        if (child + 1 < replay->n_heap && ends_first(replay, heap[child + 1], heap[child]))
            child++;
        if (!ends_first(replay, heap[child], last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* ---- the replay ---- */

/* The end of an event is the end of all that is still open above it. */
static void finish(struct replay *replay, uint32_t node)
{
    if (replay->node[node].is_finished)
        return;
    uint32_t at = replay->top;
    for (; at != node; at = replay->node[at].parent)
        replay->node[at].is_finished = true;
    replay->node[node].is_finished = true;
    replay->top = replay->node[node].parent;
}

/* The correlation id of a node; Python functions have none. */
static int64_t id_of(const struct marey_torch_build *build, const struct node *node)
{
    if (node->slice == MAREY_NONE)
        return build->rows[node->row].id;
    const uint32_t row = build->row_of_slice[node->slice];
    return row == MAREY_NONE ? 0 : build->rows[row].id;
}

static void note_home(struct replay *replay, const struct node *node)
{
    struct marey_torch_row *row = &replay->build->rows[node->row];
    if (row->kind == MAREY_KIND_OVERHEAD && node->parent != MAREY_NONE)
        row->id = id_of(replay->build, &replay->node[node->parent]);
    row->home_slice = node->home_slice;
}

static void begin(struct replay *replay, uint32_t idx)
{
    struct node *node = &replay->node[idx];
    while (replay->n_heap > 0 && replay->node[replay->heap[0]].end_ns < node->start_ns)
        finish(replay, heap_take(replay));
    node->parent = replay->top;
    node->home_slice = node->slice;
    if (node->slice == MAREY_NONE && node->parent != MAREY_NONE)
        node->home_slice = replay->node[node->parent].home_slice;
    if (node->row != MAREY_NONE)
        note_home(replay, node);
    if (node->end_ns <= node->start_ns)
        return;
    replay->top = idx;
    heap_add(replay, idx);
}

static bool sort_nodes(struct replay *replay, uint64_t *key, uint32_t *by_offset)
{
    const struct marey_alloc *alloc = &replay->build->alloc;
    const size_t n = replay->n;
    for (size_t i = 0; i < n; i++)
        key[i] = replay->node[i].offset;
    if (!marey__order_u64(alloc, key, by_offset, n))
        return false;
    for (size_t i = 0; i < n; i++)
        key[i] = (uint64_t)replay->node[by_offset[i]].start_ns ^ (UINT64_C(1) << 63);
    if (!marey__order_u64(alloc, key, replay->order, n))
        return false;
    for (size_t i = 0; i < n; i++)
        replay->order[i] = by_offset[replay->order[i]];
    return true;
}

/* Only overhead records, and stacks, ask where a row is at home. */
static bool is_needed(const struct marey_torch_build *build)
{
    if (build->home_track == MAREY_NONE)
        return false;
    const bool may_have_stacks =
        build->has_stacks || marey_trace_meta(build->trace, "with_stack").len > 0;
    for (size_t i = 0; i < build->n_rows; i++)
        if (build->rows[i].kind == MAREY_KIND_OVERHEAD ||
            (may_have_stacks && is_homeless(build, &build->rows[i])))
            return true;
    return false;
}

/* Device records below a call without an op are where that call is. */
static void follow_calls(struct marey_torch_build *build)
{
    for (size_t i = 0; i < build->n_rows; i++) {
        struct marey_torch_row *row = &build->rows[i];
        if (marey__torch_is_front_end(row) || row->kind == MAREY_KIND_OVERHEAD ||
            row->kind == MAREY_KIND_DEVICE_ANNOTATION || row->kind == MAREY_KIND_RUNTIME ||
            row->kind == MAREY_KIND_DRIVER || row->correlation <= 0)
            continue;
        const uint32_t call = marey__hashmap_get(&build->call_of_id, (uint64_t)row->correlation);
        if (call != MAREY_NONE)
            row->home_slice = build->rows[call].home_slice;
    }
}

enum marey_status marey__torch_replay_home(struct marey_torch_build *build, struct marey_error *err)
{
    if (!is_needed(build))
        return MAREY_OK;
    const struct marey_alloc *alloc = &build->alloc;
    size_t n = 0;
    const size_t most =
        marey_trace_tracks(build->trace, &n)[build->home_track].n_slices + build->n_rows;
    struct replay replay = {.build = build, .top = MAREY_NONE};
    uint64_t *key = marey__alloc(alloc, most, sizeof *key);
    uint32_t *by_offset = marey__alloc(alloc, most, sizeof *by_offset);
    replay.node = marey__alloc(alloc, most, sizeof *replay.node);
    replay.order = marey__alloc(alloc, most, sizeof *replay.order);
    replay.heap = marey__alloc(alloc, most, sizeof *replay.heap);
    bool has_room = key != NULL && by_offset != NULL && replay.node != NULL &&
                    replay.order != NULL && replay.heap != NULL;
    if (has_room) {
        add_slices(&replay);
        add_rows(&replay);
        has_room = sort_nodes(&replay, key, by_offset);
    }
    for (size_t i = 0; i < replay.n && has_room; i++)
        begin(&replay, replay.order[i]);
    if (has_room)
        follow_calls(build);

    marey__dealloc(alloc, replay.heap, most, sizeof *replay.heap);
    marey__dealloc(alloc, replay.order, most, sizeof *replay.order);
    marey__dealloc(alloc, replay.node, most, sizeof *replay.node);
    marey__dealloc(alloc, by_offset, most, sizeof *by_offset);
    marey__dealloc(alloc, key, most, sizeof *key);
    return has_room ? MAREY_OK : marey__fail_nomem(err);
}
