/*
 * arrows.c - from a forward operator to the backward node that autograd made of it.
 *
 * Both carry autograd's sequence number and the number of the forward thread. Operators that
 * make no node show the number of the next that does, so the latest forward operator counts, and
 * the first backward node. Source: Kineto's "fwdbwd" flows.
 */
#include "intake/arrows.h"

#include "base/str.h"

void marey__arrows_init(struct marey_arrows *arrows, const struct marey_alloc *alloc)
{
    *arrows = (struct marey_arrows){.alloc = *alloc};
    marey__hashmap_init(&arrows->idx_of, alloc);
}

void marey__arrows_release(struct marey_arrows *arrows)
{
    if (arrows->alloc.release == NULL)
        return; /* never initialised */
    marey__hashmap_release(&arrows->idx_of);
    marey__dealloc(&arrows->alloc, arrows->at, arrows->capacity, sizeof *arrows->at);
}

struct marey_arrow *marey__arrows_find(struct marey_arrows *arrows, uint64_t key)
{
    uint32_t *idx = marey__hashmap_put(&arrows->idx_of, key);
    void *grown = arrows->at;

    if (idx == NULL)
        return NULL;
    if (*idx != MAREY_NONE)
        return &arrows->at[*idx];
    if (!marey__grow(&arrows->alloc, &grown, &arrows->capacity, arrows->n + 1, sizeof *arrows->at))
        return NULL;
    arrows->at = grown;
    *idx = (uint32_t)arrows->n;
    arrows->at[arrows->n] = (struct marey_arrow){
        .from_ns = MAREY_UNKNOWN,
        .to_ns = MAREY_UNKNOWN,
    };
    return &arrows->at[arrows->n++];
}

static bool has_both_ends(const struct marey_arrow *arrow)
{
    return arrow->from_ns != MAREY_UNKNOWN && arrow->to_ns != MAREY_UNKNOWN &&
           arrow->from_ns <= arrow->to_ns;
}

static void draw(struct marey_builder *builder, const struct marey_arrow *arrow, uint64_t id,
                 uint32_t name_id, uint8_t cat_id)
{
    struct marey_new_point point = {
        .ts_ns = arrow->from_ns,
        .track_idx = arrow->from_track_idx,
        .name_id = name_id,
        .cat_id = cat_id,
    };

    marey__builder_add_flow(builder, &point, id, 's');
    point.ts_ns = arrow->to_ns;
    point.track_idx = arrow->to_track_idx;
    marey__builder_add_flow(builder, &point, id, 'f');
}

/* The category is asked for once: to find what a text means takes as long as many arrows. */
bool marey__arrows_draw(const struct marey_arrows *arrows, struct marey_builder *builder)
{
    const struct marey_str name = marey__str("fwdbwd");
    const uint32_t name_id = marey__intern(marey__builder_strings(builder), name);
    uint64_t n_drawn = 0;
    uint8_t cat_id = 0;

    if (name_id == MAREY_NONE)
        return false;
    for (size_t i = 0; i < arrows->n; i++) {
        if (!has_both_ends(&arrows->at[i]))
            continue;
        if (n_drawn == 0)
            cat_id = marey__builder_category(builder, name);
        draw(builder, &arrows->at[i], ++n_drawn, name_id, cat_id);
    }
    return true;
}
