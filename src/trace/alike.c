/*
 * alike.c - see the header. Rows with the same hash are told apart by their words.
 */
#include "trace/alike.h"

#include <string.h>

#include "base/alloc.h"

void marey__alike_init(struct marey_alike *alike, const struct marey_alloc *alloc)
{
    *alike = (struct marey_alike){.alloc = *alloc};
    marey__hashmap_init(&alike->idx_of, alloc);
}

void marey__alike_release(struct marey_alike *alike)
{
    if (alike->alloc.release == NULL)
        return; /* never initialised */
    marey__hashmap_release(&alike->idx_of);
    marey__dealloc(&alike->alloc, alike->at, alike->capacity, sizeof *alike->at);
}

static uint64_t hash_row(const uint64_t *word, uint32_t n_words)
{
    uint64_t hash = n_words;

    for (uint32_t i = 0; i < n_words; i++) {
        hash = (hash ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static bool is_row(const struct marey_alike_row *row, const uint64_t *word, uint32_t n_words)
{
    return row->n_words == n_words &&
           (n_words == 0 || memcmp(row->word, word, n_words * sizeof *word) == 0);
}

uint32_t *marey__alike_put(struct marey_alike *alike, const uint64_t *word, uint32_t n_words)
{
    uint64_t hash = hash_row(word, n_words);
    uint32_t *idx = marey__hashmap_put(&alike->idx_of, hash);
    void *grown = alike->at;

    while (idx != NULL && *idx != MAREY_NONE && !is_row(&alike->at[*idx], word, n_words))
        idx = marey__hashmap_put(&alike->idx_of, ++hash);
    if (idx != NULL && *idx != MAREY_NONE)
        return &alike->at[*idx].value;
    if (idx == NULL || alike->n >= MAREY_NONE ||
        !marey__grow(&alike->alloc, &grown, &alike->capacity, alike->n + 1, sizeof *alike->at))
        return NULL;
    alike->at = grown;
    *idx = (uint32_t)alike->n;
    alike->at[alike->n] = (struct marey_alike_row){word, n_words, MAREY_NONE};
    return &alike->at[alike->n++].value;
}
