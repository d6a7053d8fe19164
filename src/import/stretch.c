/*
 * stretch.c - states of the inflater, in the order of the text.
 */
#include "import/stretch.h"

void marey__stretches_init(struct marey_stretches *stretches, const struct marey_alloc *alloc,
                           uint64_t bytes)
{
    *stretches = (struct marey_stretches){
        .alloc = *alloc,
        .bytes = bytes == 0 ? MAREY_STRETCH_BYTES : bytes,
    };
}

void marey__stretches_release(struct marey_stretches *stretches)
{
    for (size_t i = 0; i < stretches->n; i++)
        marey__inflate_free(stretches->stretch[i].inflate);
    if (stretches->stretch != NULL)
        marey__dealloc(&stretches->alloc, stretches->stretch, stretches->capacity,
                       sizeof *stretches->stretch);
    stretches->stretch = NULL;
    stretches->n = 0;
    stretches->capacity = 0;
}

bool marey__stretches_add(struct marey_stretches *stretches, const struct marey_stretch *here)
{
    void *at = stretches->stretch;

    if (stretches->n == stretches->capacity &&
        !marey__grow(&stretches->alloc, &at, &stretches->capacity, stretches->n + 1,
                     sizeof *stretches->stretch))
        return false;
    stretches->stretch = at;
    struct marey_stretch kept = *here;
    kept.inflate = marey__inflate_clone(here->inflate, &stretches->alloc);
    if (kept.inflate == NULL)
        return false;
    stretches->stretch[stretches->n++] = kept;
    return true;
}

const struct marey_stretch *marey__stretches_find(const struct marey_stretches *stretches,
                                                  uint64_t text_at)
{
    size_t low = 0;
    size_t high = stretches->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (stretches->stretch[middle].text_at <= text_at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &stretches->stretch[low - 1] : NULL;
}
