/*
 * sites.c - the table under its lock, and the caches in front of it.
 */
#include "record/sites.h"

#include <string.h>

#include "base/str.h"

/* The most that a character has behind its first byte. */
#define CHARACTER_REST_BYTES 3

/* The part of a name that counts, with no half of a character. */
static struct marey_str cut(struct marey_str text)
{
    if (text.len <= MAREY_NAME_BYTES)
        return text;
    text.len = MAREY_NAME_BYTES;
    while (text.len > MAREY_NAME_BYTES - CHARACTER_REST_BYTES &&
           (text.ptr[text.len] & 0xc0) == 0x80)
        text.len--;
    return text;
}

static uint32_t add_locked(struct marey_sites *names, struct marey_str text, uint32_t scope)
{
    char key[1 + MAREY_NAME_BYTES];

    if (!names->is_ready) {
        const struct marey_alloc alloc = marey__alloc_default();
        names->is_ready = marey__intern_init(&names->table, &alloc);
        if (!names->is_ready) {
            marey__intern_release(&names->table);
            return 0;
        }
    }
    key[0] = (char)scope;
    if (text.len > 0)
        memcpy(key + 1, text.ptr, text.len);
    const uint32_t id = marey__intern(&names->table, (struct marey_str){key, 1 + text.len});
    return id == MAREY_NONE ? 0 : id;
}

uint32_t marey__sites_add(struct marey_sites *names, struct marey_str text, uint32_t scope)
{
    (void)pthread_mutex_lock(&names->lock);
    const uint32_t id = add_locked(names, cut(text), scope);
    (void)pthread_mutex_unlock(&names->lock);
    return id;
}

struct marey_str marey__sites_text(struct marey_sites *names, uint32_t site_id, uint32_t *scope)
{
    (void)pthread_mutex_lock(&names->lock);
    const struct marey_str key =
        names->is_ready ? marey__intern_text(&names->table, site_id) : (struct marey_str){NULL, 0};
    (void)pthread_mutex_unlock(&names->lock);

    if (key.len == 0)
        return (struct marey_str){NULL, 0};
    *scope = (unsigned char)key.ptr[0];
    return (struct marey_str){key.ptr + 1, key.len - 1};
}

uint32_t marey__sites_count(struct marey_sites *names)
{
    (void)pthread_mutex_lock(&names->lock);
    const uint32_t n = names->is_ready ? (uint32_t)names->table.n : 0;
    (void)pthread_mutex_unlock(&names->lock);
    return n;
}

/* Fills a place of the cache. False without memory. */
static bool fill(struct marey_sites *names, struct marey_cached_text *cached, struct marey_str text,
                 uint32_t scope, uint64_t hash)
{
    const uint32_t site_id = marey__sites_add(names, text, scope);
    if (site_id == 0)
        return false;
    uint32_t same_scope = scope;
    *cached = (struct marey_cached_text){
        .hash = hash,
        .text = marey__sites_text(names, site_id, &same_scope),
        .site_id = site_id,
        .scope = scope,
    };
    return true;
}

/* The place of a name in the cache by its bytes, filled. NULL without memory. Inline: the short
 * path of a named range. */
static inline const struct marey_cached_text *find(struct marey_sites *names,
                                                   struct marey_name_cache *cache,
                                                   struct marey_str text, uint32_t scope)
{
    const uint64_t hash = marey__str_hash(text) ^ (uint64_t)scope * UINT64_C(0x9e3779b97f4a7c15);
    struct marey_cached_text *cached = &cache->by_text[hash % MAREY_CACHED_NAMES];

    if (cached->hash == hash && cached->site_id != 0 && cached->scope == scope &&
        marey__str_is(cached->text, text))
        return cached;
    return fill(names, cached, text, scope, hash) ? cached : NULL;
}

_Static_assert(MAREY_NAME_BYTES < MAREY_NAME_PAGE_BYTES, "any name may lie in one page");

static struct marey_cached_pointer learn(const char *name, struct marey_str text, uint32_t scope,
                                         uint32_t site_id)
{
    const size_t n_bytes = text.len + 1; /* the zero ends the comparison */
    const size_t n_head = n_bytes < MAREY_NAME_HEAD_BYTES ? n_bytes : MAREY_NAME_HEAD_BYTES;
    const size_t n_read = n_bytes < MAREY_NAME_HEAD_BYTES ? MAREY_NAME_HEAD_BYTES : n_bytes;
    struct marey_cached_pointer learnt = {
        .ptr = name,
        .text = text.ptr,
        .site_id = site_id,
        .scope = (uint16_t)scope,
        .n_bytes = (uint16_t)n_read,
        .last_at = (uint16_t)(MAREY_NAME_PAGE_BYTES - n_read),
    };

    memcpy(learnt.head, text.ptr, n_head);
    memset(learnt.mask, 0xff, n_head);
    return learnt;
}

uint32_t marey__sites_find(struct marey_sites *names, struct marey_name_cache *cache,
                           struct marey_str text, uint32_t scope)
{
    const struct marey_cached_text *cached = find(names, cache, cut(text), scope);
    return cached != NULL ? cached->site_id : 0;
}

/* A name that is cut has no place in the cache by pointer: its bytes would never be the same. */
uint32_t marey__sites_find_c(struct marey_sites *sites, struct marey_name_cache *cache,
                             const char *name, uint32_t scope)
{
    const struct marey_cached_pointer *known = marey__sites_slot(cache, name, scope);

    if (known->ptr == name && known->scope == scope && strcmp(known->text, name) == 0)
        return known->site_id;
    const size_t len = strnlen(name, MAREY_NAME_BYTES + 1);
    const struct marey_cached_text *cached =
        find(sites, cache, cut((struct marey_str){name, len}), scope);
    if (cached == NULL)
        return 0;
    if (len <= MAREY_NAME_BYTES && cached->text.ptr != NULL)
        *marey__sites_slot(cache, name, scope) = learn(name, cached->text, scope, cached->site_id);
    return cached->site_id;
}
