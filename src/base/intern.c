/*
 * intern.c - open addressing over dense ids; texts lie in an arena.
 */
#include "base/intern.h"

#include "base/str.h"

#define FIRST_SLOTS 256

bool marey__intern_init(struct marey_intern *table, const struct marey_alloc *alloc)
{
    *table = (struct marey_intern){0};
    marey__arena_init(&table->arena, alloc);
    table->slot = marey__alloc_zero(alloc, FIRST_SLOTS, sizeof *table->slot);
    if (table->slot == NULL)
        return false;
    table->n_slots = FIRST_SLOTS;
    return marey__intern(table, (struct marey_str){"", 0}) == 0;
}

void marey__intern_release(struct marey_intern *table)
{
    const struct marey_alloc *alloc = &table->arena.alloc;
    if (alloc->release == NULL)
        return;
    marey__dealloc(alloc, table->slot, table->n_slots, sizeof *table->slot);
    marey__dealloc(alloc, table->hash, table->capacity, sizeof *table->hash);
    marey__dealloc(alloc, table->text, table->capacity, sizeof *table->text);
    marey__arena_release(&table->arena);
    *table = (struct marey_intern){0};
}

static size_t find_slot(const struct marey_intern *table, struct marey_str text, uint64_t hash)
{
    size_t at = (size_t)hash & (table->n_slots - 1);
    while (table->slot[at] != 0) {
        const uint32_t id = table->slot[at] - 1;
        if (table->hash[id] == hash && marey__str_is(table->text[id], text))
            break;
        at = (at + 1) & (table->n_slots - 1);
    }
    return at;
}

static bool grow_slots(struct marey_intern *table)
{
    const size_t n_slots = table->n_slots * 2;
    uint32_t *slot = marey__alloc_zero(&table->arena.alloc, n_slots, sizeof *slot);
    if (slot == NULL)
        return false;
    for (size_t id = 0; id < table->n; id++) {
        size_t at = (size_t)table->hash[id] & (n_slots - 1);
        while (slot[at] != 0)
            at = (at + 1) & (n_slots - 1);
        slot[at] = (uint32_t)id + 1;
    }
    marey__dealloc(&table->arena.alloc, table->slot, table->n_slots, sizeof *slot);
    table->slot = slot;
    table->n_slots = n_slots;
    return true;
}

static bool grow_columns(struct marey_intern *table)
{
    if (table->n < table->capacity)
        return true;
    const size_t grown = table->capacity == 0 ? 64 : table->capacity * 2;
    const struct marey_alloc *alloc = &table->arena.alloc;
    struct marey_str *text =
        marey__realloc(alloc, table->text, table->capacity, grown, sizeof *text);
    if (text == NULL)
        return false;
    table->text = text;
    uint64_t *hash = marey__realloc(alloc, table->hash, table->capacity, grown, sizeof *hash);
    if (hash == NULL) {
        /* Both columns keep one capacity: shrink the first again. */
        text = marey__realloc(alloc, table->text, grown, table->capacity, sizeof *text);
        if (text != NULL)
            table->text = text;
        return false;
    }
    table->hash = hash;
    table->capacity = grown;
    return true;
}

uint32_t marey__intern(struct marey_intern *table, struct marey_str text)
{
    const uint64_t hash = marey__str_hash(text);
    size_t at = find_slot(table, text, hash);
    if (table->slot[at] != 0)
        return table->slot[at] - 1;

    if (table->n >= MAREY_NONE - 1 || !grow_columns(table))
        return MAREY_NONE;
    if ((table->n + 1) * 2 > table->n_slots) {
        if (!grow_slots(table))
            return MAREY_NONE;
        at = find_slot(table, text, hash);
    }
    char *copy = marey__arena_take_bytes(&table->arena, text.len + 1);
    if (copy == NULL)
        return MAREY_NONE;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';

    const uint32_t id = (uint32_t)table->n++;
    table->text[id] = (struct marey_str){copy, text.len};
    table->hash[id] = hash;
    table->slot[at] = id + 1;
    return id;
}

uint32_t marey__intern_c(struct marey_intern *table, const char *text)
{
    return marey__intern(table, marey__str(text));
}

uint32_t marey__intern_find(const struct marey_intern *table, struct marey_str text)
{
    const size_t at = find_slot(table, text, marey__str_hash(text));
    return table->slot[at] != 0 ? table->slot[at] - 1 : MAREY_NONE;
}

struct marey_str marey__intern_text(const struct marey_intern *table, uint32_t id)
{
    return id < table->n ? table->text[id] : (struct marey_str){NULL, 0};
}

uint64_t marey__intern_bytes(const struct marey_intern *table)
{
    return table->arena.held_bytes + table->n_slots * sizeof *table->slot +
           table->capacity * (sizeof *table->text + sizeof *table->hash);
}
