/*
 * averages_groups.c - which row a slice belongs to.
 *
 * Without shapes and stacks a row is a name and a kind: one look into a table by name id.
 * Shapes and stacks refine that: each (group, text) becomes a group of its own, through a
 * hash map a level. String ids are only compared for being equal, never ordered: they
 * depend on the order of the file (law 6).
 */
#include <string.h>

#include "aggregate/averages_parts.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

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

/* The first group of a name, with its kind beside it: nearly all names have one. */
struct named {
    uint32_t group; /* MAREY_NONE: the name is new */
    uint32_t form;  /* form_of its kind */
};

struct finder {
    struct marey_averages_work *work;
    uint32_t hidden_of[256]; /* by cat_id: the group of slices of threads that are no rows, else
                                MAREY_NONE */
    struct named *named;     /* [n_named] by name id; the last entry is "no name" */
    size_t n_named;
    uint32_t *next; /* [next_capacity] by group: another group of the same name */
    size_t next_capacity;
    uint32_t steps; /* the group of all steps; MAREY_NONE: none was met */
    struct marey_hashmap refined_by_shapes;
    struct marey_hashmap refined_by_stack;
    struct marey_hashmap refined_by_rank;
    int64_t rank;     /* of the track */
    uint32_t rank_id; /* its text */
    struct marey_key_texts texts;
    bool has_shapes; /* by event: some slice has any */
};

/* Rows of threads and of devices are apart even where kind and name are one. */
static uint32_t form_of(enum marey_kind kind, bool is_device)
{
    return (uint32_t)kind << 1 | is_device;
}

static bool make_room(struct marey_averages_work *work)
{
    void *groups = work->groups;
    void *keys = work->keys;
    const size_t need = work->n_groups + 1;
    const bool has_room =
        marey__grow(&work->alloc, &groups, &work->groups_capacity, need, sizeof *work->groups) &&
        marey__grow(&work->alloc, &keys, &work->keys_capacity, need, sizeof *work->keys);
    work->groups = groups;
    work->keys = keys;
    return has_room;
}

static uint32_t add_group(struct marey_averages_work *work, const struct marey_group_key *key)
{
    if (!make_room(work))
        return MAREY_NONE;

    marey__group_clear(&work->groups[work->n_groups]);
    work->keys[work->n_groups] = *key;
    work->keys[work->n_groups].p50_ns = MAREY_UNKNOWN;
    work->keys[work->n_groups].p99_ns = MAREY_UNKNOWN;
    return (uint32_t)work->n_groups++;
}

static bool add_hidden_groups(struct marey_averages_work *work)
{
    const struct marey_group_key hidden = {.name_id = MAREY_NONE,
                                           .shapes_id = MAREY_NONE,
                                           .stack_id = MAREY_NONE,
                                           .rank = MAREY_UNKNOWN};

    for (int i = 0; i < MAREY_N_HIDDEN; i++)
        if (add_group(work, &hidden) == MAREY_NONE)
            return false;
    return true;
}

static bool is_step(const struct finder *finder, size_t name_idx, enum marey_kind kind,
                    bool is_device)
{
    static const struct marey_str prefix = {"ProfilerStep#", sizeof "ProfilerStep#" - 1};

    if (!finder->work->options.join_steps || kind != MAREY_KIND_ANNOTATION || is_device ||
        name_idx == finder->n_named - 1)
        return false;
    const struct marey_str name = marey_trace_string(finder->work->trace, (uint32_t)name_idx);
    return name.len > prefix.len && memcmp(name.ptr, prefix.ptr, prefix.len) == 0;
}

/* The group of all steps. It is no name's own, so that each of them is looked at here. */
static uint32_t find_steps(struct finder *finder)
{
    struct marey_averages_work *work = finder->work;
    const struct marey_group_key key = {
        .name_id = marey__own_string(&work->strings, marey__str("ProfilerStep*")),
        .shapes_id = MAREY_NONE,
        .stack_id = MAREY_NONE,
        .rank = MAREY_UNKNOWN,
        .kind = MAREY_KIND_ANNOTATION,
    };

    if (key.name_id == MAREY_NONE)
        return MAREY_NONE;
    if (finder->steps == MAREY_NONE)
        finder->steps = add_group(work, &key);
    return finder->steps;
}

/* The group of a name and a kind that is not the name's first: found or made. */
static uint32_t find_other(struct finder *finder, size_t name_idx, enum marey_kind kind,
                           bool is_device)
{
    struct marey_averages_work *work = finder->work;
    struct named *named = &finder->named[name_idx];
    const struct marey_group_key key = {
        .name_id = name_idx == finder->n_named - 1 ? MAREY_NONE : (uint32_t)name_idx,
        .shapes_id = MAREY_NONE,
        .stack_id = MAREY_NONE,
        .rank = MAREY_UNKNOWN,
        .kind = kind,
        .is_device = is_device,
    };
    if (is_step(finder, name_idx, kind, is_device))
        return find_steps(finder);
    for (uint32_t group = named->group; group != MAREY_NONE; group = finder->next[group])
        if (work->keys[group].kind == kind && work->keys[group].is_device == is_device)
            return group;

    void *next = finder->next;
    if (!marey__grow(&work->alloc, &next, &finder->next_capacity, work->n_groups + 1,
                     sizeof *finder->next))
        return MAREY_NONE;
    finder->next = next;
    const uint32_t group = add_group(work, &key);
    if (group == MAREY_NONE)
        return MAREY_NONE;
    if (named->group == MAREY_NONE) {
        finder->next[group] = MAREY_NONE;
        *named = (struct named){group, form_of(kind, is_device)};
    } else {
        finder->next[group] = finder->next[named->group];
        finder->next[named->group] = group;
    }
    return group;
}

static inline uint32_t find_named(struct finder *finder, uint32_t name_id, enum marey_kind kind,
                                  bool is_device)
{
    const size_t name_idx = name_id == MAREY_NONE ? finder->n_named - 1 : name_id;
    const struct named named = finder->named[name_idx];

    if (named.group != MAREY_NONE && named.form == form_of(kind, is_device))
        return named.group;
    return find_other(finder, name_idx, kind, is_device);
}

/* A group for one slice alone; shapes_id: MAREY_NONE is none. */
static uint32_t add_event(struct finder *finder, uint32_t slice_idx, enum marey_kind kind,
                          bool is_device)
{
    struct marey_averages_work *work = finder->work;
    struct marey_group_key key = {
        .name_id = work->slices.name_id[slice_idx],
        .shapes_id = MAREY_NONE,
        .stack_id = MAREY_NONE,
        .rank = MAREY_UNKNOWN,
        .kind = kind,
        .is_device = is_device,
    };
    if (work->options.by_shape) {
        key.shapes_id = is_device ? 0 : marey__key_shapes(&finder->texts, slice_idx);
        if (key.shapes_id == MAREY_NONE)
            return MAREY_NONE;
        finder->has_shapes |= key.shapes_id != 0;
    }
    return add_group(work, &key);
}

enum level { BY_SHAPES, BY_STACK, BY_RANK };

/* The group of (group, text), made if new. */
static uint32_t refine(struct marey_averages_work *work, struct marey_hashmap *map, uint32_t group,
                       uint32_t text_id, enum level level)
{
    uint32_t *place = marey__hashmap_put(map, (uint64_t)group << 32 | text_id);
    if (place == NULL)
        return MAREY_NONE;

    if (*place == MAREY_NONE) {
        struct marey_group_key key = work->keys[group];
        switch (level) {
        case BY_SHAPES:
            key.shapes_id = text_id;
            break;
        case BY_STACK:
            key.stack_id = text_id;
            break;
        case BY_RANK: /* its number is set by who asks */
            break;
        }
        *place = add_group(work, &key);
    }
    return *place;
}

static uint32_t refine_by_rank(struct finder *finder, uint32_t group)
{
    struct marey_averages_work *work = finder->work;

    if (!work->options.by_rank || group == MAREY_NONE)
        return group;
    group = refine(work, &finder->refined_by_rank, group, finder->rank_id, BY_RANK);
    if (group != MAREY_NONE)
        work->keys[group].rank = finder->rank;
    return group;
}

static uint32_t refine_host(struct finder *finder, uint32_t group, uint32_t slice_idx)
{
    struct marey_averages_work *work = finder->work;

    if (work->options.by_shape && group != MAREY_NONE) {
        const uint32_t shapes = marey__key_shapes(&finder->texts, slice_idx);
        group = shapes == MAREY_NONE
                    ? MAREY_NONE
                    : refine(work, &finder->refined_by_shapes, group, shapes, BY_SHAPES);
    }
    if (work->options.by_stack > 0 && group != MAREY_NONE) {
        const uint32_t stack = marey__key_stack(&finder->texts, slice_idx);
        group = stack == MAREY_NONE
                    ? MAREY_NONE
                    : refine(work, &finder->refined_by_stack, group, stack, BY_STACK);
    }
    return refine_by_rank(finder, group);
}

/* Device operations have neither shapes nor stacks: the empty text stands there. */
static uint32_t refine_device(struct finder *finder, uint32_t group)
{
    struct marey_averages_work *work = finder->work;

    if (work->options.by_shape && group != MAREY_NONE)
        group = refine(work, &finder->refined_by_shapes, group, 0, BY_SHAPES);
    if (work->options.by_stack > 0 && group != MAREY_NONE)
        group = refine(work, &finder->refined_by_stack, group, 0, BY_STACK);
    return refine_by_rank(finder, group);
}

/* Whether a row is more than a name and a kind. */
static bool has_refined(const struct marey_averages_work *work)
{
    return work->options.by_shape || work->options.by_stack > 0 || work->options.by_rank ||
           work->options.by_event;
}

/* The group of a slice whose row is more than a name and a kind. */
static uint32_t find_host(struct finder *finder, uint32_t slice_idx, enum marey_kind kind)
{
    if (finder->work->options.by_event)
        return add_event(finder, slice_idx, kind, false);
    const uint32_t name_id = finder->work->slices.name_id[slice_idx];
    return refine_host(finder, find_named(finder, name_id, kind, false), slice_idx);
}

static uint32_t find_device(struct finder *finder, uint32_t slice_idx, enum marey_kind kind)
{
    if (finder->work->options.by_event)
        return add_event(finder, slice_idx, kind, true);
    const uint32_t name_id = finder->work->slices.name_id[slice_idx];
    return refine_device(finder, find_named(finder, name_id, kind, true));
}

/* At the top level what lies inside another slice is no row. */
static uint32_t find_hidden(const struct finder *finder, uint32_t slice_idx)
{
    const struct marey_averages_work *work = finder->work;
    const uint8_t cat_id = work->slices.cat_id[slice_idx];
    const uint32_t hidden = finder->hidden_of[cat_id];

    if (hidden != MAREY_NONE || !work->options.top_level ||
        work->slices.parent_idx[slice_idx] == MAREY_NONE)
        return hidden;
    return host_role[work->kind_of[cat_id]] == ROLE_PYTHON ? MAREY_HIDDEN_PYTHON
                                                           : MAREY_HIDDEN_HOST;
}

static bool group_refined(struct finder *finder, const struct marey_track *track)
{
    struct marey_averages_work *work = finder->work;
    const bool is_refined = has_refined(work);

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const enum marey_kind kind = (enum marey_kind)work->kind_of[work->slices.cat_id[i]];
        uint32_t group = find_hidden(finder, i);

        if (group == MAREY_NONE)
            group = is_refined ? find_host(finder, i, kind)
                               : find_named(finder, work->slices.name_id[i], kind, false);
        if (group == MAREY_NONE)
            return false;
        work->group_of[i] = group;
    }
    return true;
}

static bool group_thread(struct finder *finder, const struct marey_track *track)
{
    const struct marey_averages_work *work = finder->work;
    const uint32_t *name_id = work->slices.name_id;
    const uint8_t *cat_id = work->slices.cat_id;
    uint32_t *group_of = work->group_of;

    if (has_refined(work) || work->options.top_level)
        return group_refined(finder, track);
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        uint32_t group = finder->hidden_of[cat_id[i]];
        if (group == MAREY_NONE)
            group =
                find_named(finder, name_id[i], (enum marey_kind)work->kind_of[cat_id[i]], false);
        if (group == MAREY_NONE)
            return false;
        group_of[i] = group;
    }
    return true;
}

static bool group_stream(struct finder *finder, const struct marey_track *track)
{
    struct marey_averages_work *work = finder->work;
    const bool is_refined = has_refined(work);

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const uint8_t cat_id = work->slices.cat_id[i];
        const enum marey_kind kind = (enum marey_kind)work->kind_of[cat_id];
        if (!work->is_operation_of[cat_id]) {
            work->group_of[i] = MAREY_HIDDEN_REST;
            continue;
        }
        const uint32_t group = is_refined ? find_device(finder, i, kind)
                                          : find_named(finder, work->slices.name_id[i], kind, true);
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

/* The text of the track's rank. False without memory. */
static bool find_rank(struct finder *finder, const struct marey_track *track)
{
    struct marey_averages_work *work = finder->work;
    size_t n = 0;
    char digits[MAREY_NUMBER_BYTES];

    if (!work->options.by_rank)
        return true;
    finder->rank = marey_trace_sources(work->trace, &n)[track->source_idx].rank;
    const struct marey_str text = {digits, marey__format_i64(digits, finder->rank)};
    finder->rank_id = marey__own_string(&work->strings, text);
    return finder->rank_id != MAREY_NONE;
}

static bool group_track(struct finder *finder, const struct marey_track *track)
{
    if (!find_rank(finder, track))
        return false;
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

static uint32_t hidden_of(const struct marey_averages_work *work, enum role role)
{
    if (role == ROLE_REST)
        return MAREY_HIDDEN_REST;
    return role == ROLE_PYTHON && !work->options.include_python ? MAREY_HIDDEN_PYTHON : MAREY_NONE;
}

static bool finder_init(struct finder *finder, struct marey_averages_work *work)
{
    for (size_t cat = 0; cat < sizeof work->kind_of; cat++)
        finder->hidden_of[cat] = hidden_of(work, host_role[work->kind_of[cat]]);
    finder->n_named = work->strings.n_trace + 1;
    finder->named = marey__alloc(&work->alloc, finder->n_named, sizeof *finder->named);
    work->group_of = marey__alloc(&work->alloc, work->slices.n, sizeof *work->group_of);
    if (finder->named == NULL || work->group_of == NULL || !add_hidden_groups(work))
        return false;

    for (size_t i = 0; i < finder->n_named; i++)
        finder->named[i] = (struct named){MAREY_NONE, 0};
    return true;
}

enum marey_status marey__averages_group(struct marey_averages_work *work)
{
    enum marey_status status = MAREY_OK;
    struct finder finder = {.work = work, .steps = MAREY_NONE};

    marey__hashmap_init(&finder.refined_by_shapes, &work->alloc);
    marey__hashmap_init(&finder.refined_by_stack, &work->alloc);
    marey__hashmap_init(&finder.refined_by_rank, &work->alloc);
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
    if (work->options.by_event)
        work->options.by_shape = finder.has_shapes;

done:
    marey__key_texts_release(&finder.texts);
    marey__dealloc(&work->alloc, finder.next, finder.next_capacity, sizeof *finder.next);
    marey__dealloc(&work->alloc, finder.named, finder.n_named, sizeof *finder.named);
    marey__hashmap_release(&finder.refined_by_rank);
    marey__hashmap_release(&finder.refined_by_stack);
    marey__hashmap_release(&finder.refined_by_shapes);
    return status;
}
