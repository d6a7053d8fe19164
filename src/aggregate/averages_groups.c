/*
 * averages_groups.c - which row a slice belongs to.
 *
 * Without shapes and stacks a row is a name and a kind: one look into a table by name id.
 * Shapes and stacks refine that: each (group, text) becomes a group of its own, through a
 * hash map a level. String ids are only compared for being equal, never ordered: they
 * depend on the order of the file (law 6).
 */
#include "aggregate/averages_parts.h"
#include "base/error.h"

enum role { ROLE_ROW, ROLE_PYTHON, ROLE_REST };

/* What a kind means on a host thread. Kinds of a device's tracks do not occur there. */
static const enum role host_role[MAREY_N_KINDS] = {
    [MAREY_KIND_OTHER] = ROLE_ROW,      [MAREY_KIND_OP] = ROLE_ROW,
    [MAREY_KIND_ANNOTATION] = ROLE_ROW, [MAREY_KIND_PYTHON] = ROLE_PYTHON,
    [MAREY_KIND_RUNTIME] = ROLE_ROW,    [MAREY_KIND_DRIVER] = ROLE_ROW,
    [MAREY_KIND_KERNEL] = ROLE_REST,    [MAREY_KIND_MEMCPY] = ROLE_REST,
    [MAREY_KIND_MEMSET] = ROLE_REST,    [MAREY_KIND_DEVICE_ANNOTATION] = ROLE_REST,
    [MAREY_KIND_SYNC] = ROLE_REST,      [MAREY_KIND_DEVICE_EVENT] = ROLE_REST,
    [MAREY_KIND_OVERHEAD] = ROLE_REST,  [MAREY_KIND_MEMORY] = ROLE_ROW,
    [MAREY_KIND_COUNTER] = ROLE_ROW,    [MAREY_KIND_WINDOW] = ROLE_REST,
    [MAREY_KIND_FLOW] = ROLE_ROW,
};

/* Groups by name id (the last entry is "no name"): the first group of that name; others of
 * the same name and another kind follow in `next`. */
struct finder {
    struct marey_averages_work *work;
    uint32_t *head; /* [n_heads] */
    size_t n_heads;
    uint32_t *next; /* [next_capacity] by group, valid for groups by name */
    size_t next_capacity;
    struct marey_hashmap refined_by_shapes;
    struct marey_hashmap refined_by_stack;
    struct marey_key_texts texts;
};

static uint32_t add_group(struct marey_averages_work *work, const struct marey_group *like)
{
    void *groups = work->groups;
    if (!marey__grow(&work->alloc, &groups, &work->groups_capacity, work->n_groups + 1,
                     sizeof *work->groups))
        return MAREY_NONE;
    work->groups = groups;

    struct marey_group *group = &work->groups[work->n_groups];
    *group = *like;
    group->first_start_ns = INT64_MAX;
    group->first_slice = MAREY_NONE;
    group->min_ns = INT64_MAX;
    group->max_ns = INT64_MIN;
    group->p50_ns = MAREY_UNKNOWN;
    group->p99_ns = MAREY_UNKNOWN;
    return (uint32_t)work->n_groups++;
}

static bool add_hidden_groups(struct marey_averages_work *work)
{
    const struct marey_group hidden = {
        .name_id = MAREY_NONE, .shapes_id = MAREY_NONE, .stack_id = MAREY_NONE};

    for (int i = 0; i < MAREY_N_HIDDEN; i++)
        if (add_group(work, &hidden) == MAREY_NONE)
            return false;
    return true;
}

/* The group of a name and a kind that the table does not know yet. */
static uint32_t add_named(struct finder *finder, uint32_t head_idx, enum marey_kind kind,
                          bool is_device)
{
    struct marey_averages_work *work = finder->work;
    const struct marey_group like = {
        .name_id = head_idx == finder->n_heads - 1 ? MAREY_NONE : head_idx,
        .kind = kind,
        .is_device = is_device,
        .shapes_id = MAREY_NONE,
        .stack_id = MAREY_NONE,
    };
    void *next = finder->next;
    if (!marey__grow(&work->alloc, &next, &finder->next_capacity, work->n_groups + 1,
                     sizeof *finder->next))
        return MAREY_NONE;
    finder->next = next;

    const uint32_t group = add_group(work, &like);
    if (group == MAREY_NONE)
        return MAREY_NONE;
    finder->next[group] = finder->head[head_idx];
    finder->head[head_idx] = group;
    return group;
}

static inline uint32_t find_named(struct finder *finder, uint32_t name_id, enum marey_kind kind,
                                  bool is_device)
{
    const uint32_t head_idx = name_id == MAREY_NONE ? (uint32_t)(finder->n_heads - 1) : name_id;
    const struct marey_group *groups = finder->work->groups;

    for (uint32_t group = finder->head[head_idx]; group != MAREY_NONE; group = finder->next[group])
        if (groups[group].kind == kind && groups[group].is_device == is_device)
            return group;
    return add_named(finder, head_idx, kind, is_device);
}

/* The group of (group, text), made if new. */
static uint32_t refine(struct marey_averages_work *work, struct marey_hashmap *map, uint32_t group,
                       uint32_t text_id, bool is_stack)
{
    uint32_t *place = marey__hashmap_put(map, (uint64_t)group << 32 | text_id);
    if (place == NULL)
        return MAREY_NONE;

    if (*place == MAREY_NONE) {
        struct marey_group like = work->groups[group];
        if (is_stack)
            like.stack_id = text_id;
        else
            like.shapes_id = text_id;
        *place = add_group(work, &like);
    }
    return *place;
}

static uint32_t refine_host(struct finder *finder, uint32_t group, uint32_t slice_idx)
{
    struct marey_averages_work *work = finder->work;

    if (work->options.by_shape && group != MAREY_NONE) {
        const uint32_t shapes = marey__key_shapes(&finder->texts, slice_idx);
        group = shapes == MAREY_NONE
                    ? MAREY_NONE
                    : refine(work, &finder->refined_by_shapes, group, shapes, false);
    }
    if (work->options.by_stack > 0 && group != MAREY_NONE) {
        const uint32_t stack = marey__key_stack(&finder->texts, slice_idx);
        group = stack == MAREY_NONE ? MAREY_NONE
                                    : refine(work, &finder->refined_by_stack, group, stack, true);
    }
    return group;
}

/* Device operations have neither shapes nor stacks: the empty text stands there. */
static uint32_t refine_device(struct finder *finder, uint32_t group)
{
    struct marey_averages_work *work = finder->work;

    if (work->options.by_shape && group != MAREY_NONE)
        group = refine(work, &finder->refined_by_shapes, group, 0, false);
    if (work->options.by_stack > 0 && group != MAREY_NONE)
        group = refine(work, &finder->refined_by_stack, group, 0, true);
    return group;
}

static bool group_thread(struct finder *finder, const struct marey_track *track)
{
    struct marey_averages_work *work = finder->work;
    const struct marey_slices *slices = &work->slices;
    const bool is_refined = work->options.by_shape || work->options.by_stack > 0;
    const bool python_is_shown = work->options.include_python;

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const enum marey_kind kind = work->kind_of[slices->cat_id[i]];
        const enum role role = host_role[kind];
        uint32_t group;

        if (role == ROLE_REST) {
            group = MAREY_HIDDEN_REST;
        } else if (role == ROLE_PYTHON && !python_is_shown) {
            group = MAREY_HIDDEN_PYTHON;
        } else if (work->options.top_level && slices->parent_idx[i] != MAREY_NONE) {
            group = role == ROLE_PYTHON ? MAREY_HIDDEN_PYTHON : MAREY_HIDDEN_HOST;
        } else {
            group = find_named(finder, slices->name_id[i], kind, false);
            if (is_refined)
                group = refine_host(finder, group, i);
            if (group == MAREY_NONE)
                return false;
        }
        work->group_of[i] = group;
    }
    return true;
}

static bool group_stream(struct finder *finder, const struct marey_track *track)
{
    struct marey_averages_work *work = finder->work;

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const enum marey_kind kind = work->kind_of[work->slices.cat_id[i]];
        if (!marey_kind_is_device_operation(kind)) {
            work->group_of[i] = MAREY_HIDDEN_REST;
            continue;
        }
        const uint32_t group =
            refine_device(finder, find_named(finder, work->slices.name_id[i], kind, true));
        if (group == MAREY_NONE)
            return false;
        work->group_of[i] = group;
    }
    return true;
}

static void hide_track(struct marey_averages_work *work, const struct marey_track *track)
{
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++)
        work->group_of[i] = MAREY_HIDDEN_REST;
}

static bool group_track(struct finder *finder, const struct marey_track *track)
{
    switch (track->kind) {
    case MAREY_TRACK_THREAD:
        return group_thread(finder, track);
    case MAREY_TRACK_STREAM:
        return group_stream(finder, track);
    case MAREY_TRACK_STREAM_NOTE:
    case MAREY_TRACK_STREAM_SYNC:
        hide_track(finder->work, track);
        return true;
    }
    return true;
}

static bool finder_init(struct finder *finder, struct marey_averages_work *work)
{
    finder->n_heads = work->strings.n_trace + 1;
    finder->head = marey__alloc(&work->alloc, finder->n_heads, sizeof *finder->head);
    work->group_of = marey__alloc(&work->alloc, work->slices.n, sizeof *work->group_of);
    if (finder->head == NULL || work->group_of == NULL || !add_hidden_groups(work))
        return false;

    for (size_t i = 0; i < finder->n_heads; i++)
        finder->head[i] = MAREY_NONE;
    return true;
}

enum marey_status marey__averages_group(struct marey_averages_work *work)
{
    enum marey_status status = MAREY_OK;
    struct finder finder = {.work = work};

    marey__hashmap_init(&finder.refined_by_shapes, &work->alloc);
    marey__hashmap_init(&finder.refined_by_stack, &work->alloc);
    status = marey__key_texts_init(&finder.texts, work);
    if (status != MAREY_OK)
        goto done;
    if (!finder_init(&finder, work)) {
        status = marey__fail_nomem(work->err);
        goto done;
    }

    for (size_t i = 0; i < work->n_tracks; i++) {
        if (!group_track(&finder, &work->tracks[i])) {
            status = marey__fail_nomem(work->err);
            goto done;
        }
    }

done:
    marey__key_texts_release(&finder.texts);
    marey__dealloc(&work->alloc, finder.next, finder.next_capacity, sizeof *finder.next);
    marey__dealloc(&work->alloc, finder.head, finder.n_heads, sizeof *finder.head);
    marey__hashmap_release(&finder.refined_by_stack);
    marey__hashmap_release(&finder.refined_by_shapes);
    return status;
}
