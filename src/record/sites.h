/*
 * sites.h - names of what is recorded: each text and scope once per process, by a site id.
 *
 * A thread finds the id in its own cache: by the pointer, checked against the text because
 * pointers are used again for other names (one in twenty of a training loop), else by the
 * bytes. Only a name that the thread has never seen takes the lock.
 */
#ifndef MAREY_SRC_RECORD_SITES_H
#define MAREY_SRC_RECORD_SITES_H

#include <pthread.h>
#include <string.h>

#include "base/intern.h"

#define MAREY_CACHED_NAMES 512

/* The rest of a longer name is cut off, at a whole character, before anything else is done with
 * it: what an event costs stays bounded. Names that begin with the same bytes are one. */
#define MAREY_NAME_BYTES 2048

/* All names of the process; ids are never reused, texts never move. 0 is no id. */
struct marey_sites {
    pthread_mutex_t lock;
    struct marey_intern table; /* of scope byte + text */
    bool is_ready;
};

/* The first bytes of a name, which are all of many. */
#define MAREY_NAME_HEAD_BYTES 16

/* No page of memory is smaller. */
#define MAREY_NAME_PAGE_BYTES 4096

struct marey_cached_pointer {
    const char *ptr;
    const char *text; /* what it meant, terminated */
    uint64_t head[MAREY_NAME_HEAD_BYTES / 8];
    uint64_t mask[MAREY_NAME_HEAD_BYTES / 8]; /* the bytes of head that count, the zero too */
    uint32_t site_id;
    uint16_t scope;
    uint16_t n_bytes; /* of the text with its zero, but no less than those of head */
    uint16_t last_at; /* where in a page the pointer may lie at most, for them to end in it */
};

struct marey_cached_text {
    uint64_t hash; /* of text and scope */
    struct marey_str text;
    uint32_t site_id;
    uint32_t scope;
};

struct marey_name_cache {
    struct marey_cached_pointer by_pointer[MAREY_CACHED_NAMES];
    struct marey_cached_text by_text[MAREY_CACHED_NAMES];
};

/* The id of a name; 0 without memory. */
uint32_t marey__sites_add(struct marey_sites *names, struct marey_str text, uint32_t scope);

/* The same through a thread's cache. */
uint32_t marey__sites_find(struct marey_sites *names, struct marey_name_cache *cache,
                           struct marey_str text, uint32_t scope);

/* The lower bits of a pointer to a name say little. */
static inline struct marey_cached_pointer *marey__sites_slot(struct marey_name_cache *cache,
                                                             const char *name, uint32_t scope)
{
    const uint64_t mixed = ((uint64_t)(uintptr_t)name + scope) * UINT64_C(0x9e3779b97f4a7c15);
    return &cache->by_pointer[(mixed >> 55) % MAREY_CACHED_NAMES];
}

static inline uint64_t marey__name_word(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

/* The rest of a name of more than MAREY_NAME_HEAD_BYTES, word by word. The last word ends with the
 * zero, and may begin in the one before it. */
static inline bool marey__is_rest(const struct marey_cached_pointer *known, const char *name)
{
    const size_t last = known->n_bytes - sizeof(uint64_t);

    for (size_t i = MAREY_NAME_HEAD_BYTES; i < last; i += sizeof(uint64_t))
        if (marey__name_word(name + i) != marey__name_word(known->text + i))
            return false;
    return marey__name_word(name + last) == marey__name_word(known->text + last);
}

/* Compares a name with what its pointer meant before, without a call; false too where it lies so
 * near the end of a page that nothing is read. Bytes behind the end of a name that is shorter now
 * are read and left out, never of another page; a sanitizer would mind. */
static inline bool marey__is_name(const struct marey_cached_pointer *known, const char *name)
{
#if defined(__SANITIZE_ADDRESS__)
    return strcmp(known->text, name) == 0;
#else
    if (((uintptr_t)name & (MAREY_NAME_PAGE_BYTES - 1)) > known->last_at)
        return false;
    if ((((marey__name_word(name) ^ known->head[0]) & known->mask[0]) |
         ((marey__name_word(name + 8) ^ known->head[1]) & known->mask[1])) != 0)
        return false;
    return known->n_bytes == MAREY_NAME_HEAD_BYTES || marey__is_rest(known, name);
#endif
}

/* What the thread knows of a terminated name; 0: nothing, or it is not told without a call. The
 * bytes are compared, so the pointer may mean another name than before. */
static inline uint32_t marey__sites_known(struct marey_name_cache *cache, const char *name,
                                          uint32_t scope)
{
    const struct marey_cached_pointer *cached = marey__sites_slot(cache, name, scope);

    return cached->ptr == name && cached->scope == scope && marey__is_name(cached, name)
               ? cached->site_id
               : 0;
}

/* The same, and learns it. 0 without memory. */
uint32_t marey__sites_find_c(struct marey_sites *sites, struct marey_name_cache *cache,
                             const char *name, uint32_t scope);

/* Text and scope of an id; {NULL, 0} for an id that is not there. */
struct marey_str marey__sites_text(struct marey_sites *names, uint32_t site_id, uint32_t *scope);

/* One more than the largest id. */
uint32_t marey__sites_count(struct marey_sites *names);

#endif
