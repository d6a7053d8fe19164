/*
 * open.c - a list through a table, and beside it, once it is needed, a map of tokens.
 */
#include "intake/open.h"

#include "base/error.h"

/* An end looks at so many before the map is made. */
#define LOOKED_AT 32

void marey__open_init(struct marey_open_ranges *open, const struct marey_alloc *alloc)
{
    *open = (struct marey_open_ranges){.alloc = *alloc};
    marey__hashmap_init(&open->innermost, alloc);
}

void marey__open_release(struct marey_open_ranges *open)
{
    if (open->alloc.release == NULL)
        return; /* never initialised */
    marey__hashmap_release(&open->innermost);
    marey__dealloc(&open->alloc, open->at, open->capacity, sizeof *open->at);
}

void marey__open_reset(struct marey_open_ranges *open)
{
    open->n_places = 0;
    open->top = 0;
    open->free = 0;
    open->is_by_token = false;
    marey__hashmap_release(&open->innermost);
    marey__hashmap_init(&open->innermost, &open->alloc);
}

/* ---- by token --------------------------------------------------------------------------- */

bool marey__open_chain(struct marey_open_ranges *open, struct marey_open_range *range)
{
    uint32_t *innermost = marey__hashmap_put(&open->innermost, range->token);

    if (innermost == NULL)
        return false;
    range->same_below = *innermost != MAREY_NONE ? *innermost : 0;
    *innermost = marey__open_place(open, range);
    return true;
}

/* From the outermost on. */
static bool find_by_token_from_now(struct marey_open_ranges *open)
{
    struct marey_open_range *range = marey__open_top(open);

    while (range != NULL && range->below != 0)
        range = marey__open_at(open, range->below);
    for (; range != NULL; range = marey__open_at(open, range->above))
        if (!marey__open_chain(open, range))
            return false;
    open->is_by_token = true;
    return true;
}

/* Only a range that was found by its token, or is doubtful, goes; the latter may lie below. */
void marey__open_unchain(struct marey_open_ranges *open, const struct marey_open_range *range)
{
    uint32_t *link = marey__hashmap_put(&open->innermost, range->token);

    MAREY_ASSERT(link != NULL && *link != MAREY_NONE); /* it is there, so nothing grows */
    while (link != NULL && *link != 0 && *link != marey__open_place(open, range))
        link = &marey__open_at(open, *link)->same_below;
    if (link != NULL)
        *link = range->same_below;
}

struct marey_open_range *marey__open_find_deep(struct marey_open_ranges *open, uint32_t token,
                                               bool *failed)
{
    if (!open->is_by_token) {
        struct marey_open_range *range = marey__open_top(open);
        for (int i = 0; i < LOOKED_AT; i++) {
            if (range == NULL || range->token == token)
                return range;
            range = marey__open_at(open, range->below);
        }
        if (range == NULL)
            return NULL;
        if (!find_by_token_from_now(open)) {
            *failed = true;
            return NULL;
        }
    }
    const uint32_t place = marey__hashmap_get(&open->innermost, token);
    return place != MAREY_NONE ? marey__open_at(open, place) : NULL;
}

/* ---- the list ------------------------------------------------------------------------------ */

bool marey__open_grow(struct marey_open_ranges *open)
{
    void *grown = open->at;

    if (open->n_places >= MAREY_NONE - 1 ||
        !marey__grow(&open->alloc, &grown, &open->capacity, open->n_places + 1, sizeof *open->at))
        return false;
    open->at = grown;
    return true;
}
