/*
 * distributed.c - reads distributedInfo the forgiving way.
 *
 *     {"backend": "nccl", "rank": 3, "world_size": 8, ...}
 *
 * It decides which rank all numbers of a file are of, so no slip of its writer may change that in
 * silence: numbers in quotes, leading zeros and stray commas are read as meant, and counted.
 */
#include "import/distributed.h"

#include "base/hashmap.h"
#include "base/text.h"

struct reading {
    struct marey_json json;
    struct marey_distributed *distributed;
    struct marey_hashmap keys; /* by the hash of their text */
    struct marey_textbuf key;
    bool has_memory;
};

/* Passes the commas before a member, or the end of the object; false at its end. */
static bool next(struct reading *reading, bool is_first)
{
    struct marey_json *json = &reading->json;
    size_t n_commas = 0;
    char c = marey__json_peek(json);

    for (; c == ','; c = marey__json_peek(json)) {
        n_commas++;
        json->at++;
    }
    const bool is_end = c == '}';
    reading->distributed->n_punctuation += n_commas != (is_first || is_end ? 0 : 1);
    json->at += is_end;
    return !is_end;
}

/* Counts a key that stood before. */
static void take_key(struct reading *reading, struct marey_str key)
{
    marey__text_reset(&reading->key);
    marey__json_unescape(key, &reading->key);
    uint32_t *place = marey__hashmap_put(
        &reading->keys, marey__str_hash((struct marey_str){reading->key.ptr, reading->key.len}));

    if (place == NULL || marey__text_failed(&reading->key)) {
        reading->has_memory = false;
        return;
    }
    reading->distributed->n_twice += *place != MAREY_NONE;
    *place = 0;
}

static void take_number(struct reading *reading, struct marey_str raw, int64_t *number)
{
    struct marey_distributed *distributed = reading->distributed;

    *number = MAREY_UNKNOWN;
    switch (marey__json_whole(raw, number)) {
    case MAREY_JSON_WHOLE:
        break;
    case MAREY_JSON_WHOLE_TEXT:
        distributed->n_as_text++;
        break;
    case MAREY_JSON_WHOLE_ODD:
        distributed->n_odd++;
        break;
    case MAREY_JSON_NOT_WHOLE:
        distributed->is_broken |= !marey__str_is_c(raw, "null");
        break;
    }
}

/* More than any job has: what says so is damaged, and all but its file would be missing. */
#define MOST_RANKS (INT64_C(1) << 24)

static void take_world_size(struct reading *reading, struct marey_str raw)
{
    struct marey_distributed *distributed = reading->distributed;

    take_number(reading, raw, &distributed->world_size);
    if (distributed->world_size == MAREY_UNKNOWN ||
        (distributed->world_size >= 0 && distributed->world_size <= MOST_RANKS))
        return;
    distributed->world_size = MAREY_UNKNOWN;
    distributed->is_broken = true;
}

/* A word or a number ends where JSON says; with what else stands up to the next comma it is none,
 * and who mends the text would part it in another way. */
static bool is_value(struct marey_str raw)
{
    if (raw.ptr[0] == '"' || raw.ptr[0] == '{' || raw.ptr[0] == '[')
        return true;
    for (size_t i = 0; i < raw.len; i++)
        if (strchr(":\"{[", raw.ptr[i]) != NULL)
            return false;
    return true;
}

static bool take_member(struct reading *reading)
{
    struct marey_json *json = &reading->json;
    struct marey_str key;

    if (!marey__json_string(json, &key) || marey__json_peek(json) != ':')
        return false;
    json->at++;
    const struct marey_str raw = marey__json_raw(json);
    if (json->failed || !is_value(raw))
        return false;
    take_key(reading, key);
    if (marey__json_spells(key, "rank"))
        take_number(reading, raw, &reading->distributed->rank);
    else if (marey__json_spells(key, "world_size"))
        take_world_size(reading, raw);
    return reading->has_memory;
}

bool marey__distributed_read(struct marey_str text, const struct marey_alloc *alloc,
                             struct marey_distributed *distributed)
{
    struct reading reading = {
        .json = marey__json(text), .distributed = distributed, .has_memory = true};

    *distributed = (struct marey_distributed){.rank = MAREY_UNKNOWN, .world_size = MAREY_UNKNOWN};
    marey__hashmap_init(&reading.keys, alloc);
    marey__text_init(&reading.key, alloc);
    bool is_read = marey__json_enter(&reading.json, '{');
    const bool is_object = is_read;
    const char *whole = reading.json.at;
    for (bool is_first = true; is_read && next(&reading, is_first); is_first = false) {
        is_read = take_member(&reading);
        whole = is_read ? reading.json.at : whole;
    }
    is_read = is_read && marey__json_peek(&reading.json) == '\0';
    distributed->is_broken |= !is_read;
    distributed->whole_bytes = is_object && !is_read ? (size_t)(whole - text.ptr) : 0;
    marey__text_release(&reading.key);
    marey__hashmap_release(&reading.keys);
    return reading.has_memory;
}
