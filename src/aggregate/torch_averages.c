/*
 * torch_averages.c - key_averages(): events grouped by name, device, shapes, stack.
 *
 * Rows are in order of first appearance, and the first event of a row gives it all that
 * is not a sum.
 */
#include <string.h>

#include "aggregate/torch_view.h"
#include "base/error.h"

struct marey_torch_averages {
    const struct marey_torch_view *view;
    struct marey_torch_average *rows;
    size_t n;
    size_t capacity;
};

struct grouping {
    const struct marey_torch_view *view;
    bool by_shape;
    bool by_overload;
    uint32_t by_stack;
    struct marey_torch_averages *averages;
    struct marey_hashmap first; /* hash -> first row with it */
    uint32_t *next;             /* by row: the next one with the same hash */
    size_t next_capacity;
};

static uint32_t cut_stack(const struct grouping *grouping, const struct marey_torch_event *event)
{
    return event->n_stack < grouping->by_stack ? event->n_stack : grouping->by_stack;
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_of(const struct grouping *grouping, const struct marey_torch_event *event)
{
    uint64_t hash = mixed(event->name_id, ((uint64_t)(uint32_t)event->device_type << 1) |
                                              (uint64_t)event->is_user_annotation);
    if (grouping->by_shape)
        hash = mixed(hash, event->shapes_id);
    if (grouping->by_overload)
        hash = mixed(hash, event->overload_id);
    const uint32_t n = cut_stack(grouping, event);
    for (uint32_t i = 0; i < n; i++)
        hash = mixed(hash, grouping->view->stacks[event->first_stack + i]);
    return hash;
}

static bool is_same(const struct grouping *grouping, const struct marey_torch_event *a,
                    const struct marey_torch_event *b)
{
    const uint32_t n = cut_stack(grouping, a);
    const uint32_t *stacks = grouping->view->stacks;
    return a->name_id == b->name_id && a->device_type == b->device_type &&
           a->is_user_annotation == b->is_user_annotation &&
           (!grouping->by_shape || a->shapes_id == b->shapes_id) &&
           (!grouping->by_overload || a->overload_id == b->overload_id) &&
           n == cut_stack(grouping, b) &&
           (n == 0 ||
            memcmp(&stacks[a->first_stack], &stacks[b->first_stack], n * sizeof *stacks) == 0);
}

static bool add_row(struct grouping *grouping, uint32_t event_idx)
{
    struct marey_torch_averages *averages = grouping->averages;
    const struct marey_alloc *alloc = &grouping->view->alloc;
    const struct marey_torch_event *event = &grouping->view->events[event_idx];
    if (!marey__grow(alloc, (void **)&averages->rows, &averages->capacity, averages->n + 1,
                     sizeof *averages->rows) ||
        !marey__grow(alloc, (void **)&grouping->next, &grouping->next_capacity, averages->n + 1,
                     sizeof *grouping->next))
        return false;
    grouping->next[averages->n] = MAREY_NONE;
    averages->rows[averages->n++] = (struct marey_torch_average){
        .name_id = event->name_id,
        .overload_id = grouping->by_overload ? event->overload_id : 0,
        .shapes_id = grouping->by_shape ? event->shapes_id : 0,
        .first_stack = event->first_stack,
        .n_stack = cut_stack(grouping, event),
        .first_event = event_idx,
        .device_type = event->device_type,
        .has_parent = event->parent_idx != MAREY_NONE,
        .is_async = event->is_async,
        .is_user_annotation = event->is_user_annotation,
    };
    return true;
}

/* The row of an event, made if new; NULL without memory. */
static struct marey_torch_average *row_of(struct grouping *grouping, uint32_t event_idx)
{
    const struct marey_torch_event *events = grouping->view->events;
    struct marey_torch_averages *averages = grouping->averages;
    uint32_t *first = marey__hashmap_put(&grouping->first, hash_of(grouping, &events[event_idx]));
    if (first == NULL)
        return NULL;
    uint32_t last = MAREY_NONE;
    for (uint32_t at = *first; at != MAREY_NONE; at = grouping->next[at]) {
        if (is_same(grouping, &events[averages->rows[at].first_event], &events[event_idx]))
            return &averages->rows[at];
        last = at;
    }
    const uint32_t made = (uint32_t)averages->n;
    if (!add_row(grouping, event_idx)) {
        if (last == MAREY_NONE)
            *first = 0; /* the map must not keep an unset place */
        return NULL;
    }
    if (last == MAREY_NONE)
        *first = made;
    else
        grouping->next[last] = made;
    return &averages->rows[made];
}

/* Memory sums wrap as unsigned numbers: only a damaged file comes that far. */
static void add_bytes(int64_t *sum, int64_t bytes)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)bytes);
}

static void add_event(struct marey_torch_average *row, const struct marey_torch_event *event)
{
    row->count++;
    row->cpu_total_us += event->cpu_total_us;
    row->self_cpu_us += event->self_cpu_us;
    row->device_total_us += event->device_total_us;
    row->self_device_us += event->self_device_us;
    add_bytes(&row->cpu_memory, event->cpu_memory);
    add_bytes(&row->device_memory, event->device_memory);
    add_bytes(&row->self_cpu_memory, event->self_cpu_memory);
    add_bytes(&row->self_device_memory, event->self_device_memory);
    row->flops += event->flops;
}

enum marey_status marey_torch_averages_new(const struct marey_torch_view *view, bool by_shape,
                                           uint32_t by_stack, bool by_overload,
                                           struct marey_torch_averages **averages,
                                           struct marey_error *err)
{
    struct marey_torch_averages *made = marey__alloc_zero(&view->alloc, 1, sizeof *made);
    if (made == NULL)
        return marey__fail_nomem(err);
    made->view = view;
    struct grouping grouping = {
        .view = view,
        .by_shape = by_shape,
        .by_overload = by_overload,
        .by_stack = by_stack,
        .averages = made,
    };
    marey__hashmap_init(&grouping.first, &view->alloc);
    bool has_room = true;
    for (uint32_t i = 0; i < view->n_events && has_room; i++) {
        struct marey_torch_average *row = row_of(&grouping, i);
        has_room = row != NULL;
        if (has_room)
            add_event(row, &view->events[i]);
    }
    marey__dealloc(&view->alloc, grouping.next, grouping.next_capacity, sizeof *grouping.next);
    marey__hashmap_release(&grouping.first);
    if (!has_room) {
        marey_torch_averages_free(made);
        return marey__fail_nomem(err);
    }
    *averages = made;
    return MAREY_OK;
}

void marey_torch_averages_free(struct marey_torch_averages *averages)
{
    if (averages == NULL)
        return;
    const struct marey_alloc *alloc = &averages->view->alloc;
    marey__dealloc(alloc, averages->rows, averages->capacity, sizeof *averages->rows);
    marey__dealloc(alloc, averages, 1, sizeof *averages);
}

const struct marey_torch_average *
marey_torch_averages_rows(const struct marey_torch_averages *averages, size_t *n)
{
    *n = averages->n;
    return averages->rows;
}

const struct marey_torch_view *
marey_torch_averages_view(const struct marey_torch_averages *averages)
{
    return averages->view;
}
