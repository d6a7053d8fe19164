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

static struct marey_open_range *at_place(struct marey_open_ranges *open, uint32_t place)
{
    return place != 0 ? &open->at[place - 1] : NULL;
}

static uint32_t place_of(const struct marey_open_ranges *open, const struct marey_open_range *range)
{
    return (uint32_t)(range - open->at) + 1;
}

struct marey_open_range *marey__open_top(struct marey_open_ranges *open)
{
    return at_place(open, open->top);
}

struct marey_open_range *marey__open_around(struct marey_open_ranges *open,
                                            const struct marey_open_range *range)
{
    return at_place(open, range->below);
}

/* ---- by token --------------------------------------------------------------------------- */

/* Puts a range in front of the others with its token. False without memory. */
static bool chain(struct marey_open_ranges *open, struct marey_open_range *range)
{
    uint32_t *innermost = marey__hashmap_put(&open->innermost, range->token);

    if (innermost == NULL)
        return false;
    range->same_below = *innermost != MAREY_NONE ? *innermost : 0;
    *innermost = place_of(open, range);
    return true;
}

/* From the outermost on. */
static bool find_by_token_from_now(struct marey_open_ranges *open)
{
    struct marey_open_range *range = marey__open_top(open);

    while (range != NULL && range->below != 0)
        range = at_place(open, range->below);
    for (; range != NULL; range = at_place(open, range->above))
        if (!chain(open, range))
            return false;
    open->is_by_token = true;
    return true;
}

/* Only a range that was found by its token, or is doubtful, goes; the latter may lie below. */
static void unchain(struct marey_open_ranges *open, const struct marey_open_range *range)
{
    uint32_t *link = marey__hashmap_put(&open->innermost, range->token);

    MAREY_ASSERT(link != NULL && *link != MAREY_NONE); /* it is there, so nothing grows */
    while (link != NULL && *link != 0 && *link != place_of(open, range))
        link = &at_place(open, *link)->same_below;
    if (link != NULL)
        *link = range->same_below;
}

/* ---- the list ------------------------------------------------------------------------------ */

static struct marey_open_range *take_place(struct marey_open_ranges *open)
{
    void *grown = open->at;

    if (open->free != 0) {
        struct marey_open_range *range = at_place(open, open->free);
        open->free = range->below;
        return range;
    }
    if (open->n_places >= MAREY_NONE - 1 ||
        !marey__grow(&open->alloc, &grown, &open->capacity, open->n_places + 1, sizeof *open->at))
        return NULL;
    open->at = grown;
    return &open->at[open->n_places++];
}

struct marey_open_range *marey__open_push(struct marey_open_ranges *open,
                                          const struct marey_open_range *range)
{
    struct marey_open_range *pushed = take_place(open);

    if (pushed == NULL)
        return NULL;
    *pushed = *range;
    pushed->below = open->top;
    pushed->above = 0;
    if (open->top != 0)
        at_place(open, open->top)->above = place_of(open, pushed);
    open->top = place_of(open, pushed);
    return open->is_by_token && !chain(open, pushed) ? NULL : pushed;
}

struct marey_open_range *marey__open_find(struct marey_open_ranges *open, uint32_t token,
                                          bool *failed)
{
    if (!open->is_by_token) {
        struct marey_open_range *range = marey__open_top(open);
        for (int i = 0; i < LOOKED_AT; i++) {
            if (range == NULL || range->token == token)
                return range;
            range = at_place(open, range->below);
        }
        if (range == NULL)
            return NULL;
        if (!find_by_token_from_now(open)) {
            *failed = true;
            return NULL;
        }
    }
    const uint32_t place = marey__hashmap_get(&open->innermost, token);
    return place != MAREY_NONE ? at_place(open, place) : NULL;
}

void marey__open_remove(struct marey_open_ranges *open, struct marey_open_range *range)
{
    if (open->is_by_token)
        unchain(open, range);
    if (range->above != 0)
        at_place(open, range->above)->below = range->below;
    else
        open->top = range->below;
    if (range->below != 0)
        at_place(open, range->below)->above = range->above;
    range->below = open->free;
    open->free = place_of(open, range);
}
