/*
 * resync.c - looks for what begins or ends a list of records.
 */
#define _GNU_SOURCE /* memmem, memrchr */
#include "import/resync.h"

#include <string.h>

#include "base/json.h"

/* Members behind the list are few: a tail that is longer is none. */
#define MAX_TAIL_BYTES ((ptrdiff_t)1 << 20)

/* Damage with a bracket every few bytes would be read anew from each of them to the end. */
#define MAX_TRIED_BYTES (16 * (size_t)MAX_TAIL_BYTES)

/* What is in one another, or never ends, would be read anew from each brace. */
enum { MOST_OWNERS_TRIED = 64 };

static struct marey_object_look look_at(const char *at, const char *end, bool is_whole)
{
    struct marey_json json = marey__json((struct marey_str){at, (size_t)(end - at)});
    struct marey_object_look look = {.end = NULL};
    struct marey_str key;

    if (!marey__json_enter(&json, '{'))
        return look;
    while (marey__json_key(&json, &key)) {
        const char first = marey__json_peek(&json);
        look.has_list |= first == '[' && marey__json_spells(key, "traceEvents");
        if (look.has_list && !is_whole)
            return look;
        const bool is_phase = first == '"' && marey__json_spells(key, "ph");
        const struct marey_str value = marey__json_raw(&json);
        look.has_phase |= is_phase;
        look.has_letter |= is_phase && value.len == 3;
    }
    look.is_cut = json.failed && json.at >= end;
    look.end = json.failed ? NULL : json.at;
    return look;
}

struct marey_object_look marey__resync_look(const char *at, const char *end)
{
    return look_at(at, end, false);
}

/* What is no record and never ends must not be read again and again. */
static const char *record_until(const char *at, const char *end)
{
    return end - at > MAREY_RECORD_LOOK_BYTES ? at + MAREY_RECORD_LOOK_BYTES : end;
}

bool marey__resync_is_record(const char *at, const char *end)
{
    const struct marey_object_look look = look_at(at, record_until(at, end), false);

    return look.has_phase && !look.has_list;
}

bool marey__resync_is_headless(const char *at, const char *end)
{
    struct marey_json json =
        marey__json((struct marey_str){at, (size_t)(record_until(at, end) - at)});
    struct marey_str key;

    while (marey__json_key(&json, &key)) {
        const char first = marey__json_peek(&json);
        if (first == '[' && marey__json_spells(key, "traceEvents"))
            return false;
        if (first == '"' && marey__json_spells(key, "ph"))
            return true;
        marey__json_skip(&json);
    }
    return false;
}

bool marey__resync_is_element(const char *at, const char *end)
{
    const struct marey_object_look look = look_at(at, record_until(at, end), true);

    if (look.has_phase && !look.has_list)
        return true;
    if (look.end == NULL || look.has_phase != look.has_list)
        return false;
    const bool is_long = end - look.end > MAREY_HEAD_LOOK_BYTES;
    const char *until = is_long ? look.end + MAREY_HEAD_LOOK_BYTES : end;
    const char *next = marey__json_skip_white(look.end, until);
    return next < until && (*next == ',' || *next == ']');
}

const char *marey__resync_record(const char *from, const char *until, const char *end,
                                 bool wants_comma)
{
    for (const char *at = from; at < until; at++) {
        at = memchr(at, '}', (size_t)(until - at));
        if (at == NULL)
            return NULL;
        const char *comma = marey__json_skip_white(at + 1, end);
        const bool has_comma = comma < end && *comma == ',';
        if (wants_comma && !has_comma)
            continue;
        const char *brace = has_comma ? marey__json_skip_white(comma + 1, end) : comma;
        if (brace < end && *brace == '{' && marey__resync_is_record(brace, end))
            return brace;
    }
    return NULL;
}

const char *marey__resync_unquoted(const char *from, const char *until, const char *end)
{
    for (const char *at = from; at < until && *at != '"'; at++)
        if (*at == '{' && at > from && marey__resync_is_record(at, end))
            return at;
    return NULL;
}

/* Whether what a record has behind an object of its own follows: a list that lacks its bracket ends
 * with that of the records, and all of them are in an object that ends with the document. */
static bool goes_on(const char *at, const char *end)
{
    at = marey__json_skip_white(at, end);
    return at < end && (*at == ',' || *at == '}' || *at == ']');
}

/* Objects of a record that has lost its end which lack theirs as well. */
enum { MOST_TORN_TRIED = 64 };

const char *marey__resync_torn(const char *from, const char *until, const char *end)
{
    int n_tried = 0;

    for (const char *at = from + 1; at < until && n_tried < MOST_TORN_TRIED;) {
        at = memchr(at, '{', (size_t)(until - at));
        if (at == NULL)
            return NULL;
        const struct marey_object_look look = look_at(at, record_until(at, end), false);
        if (look.has_letter && !look.has_list)
            return at;
        const bool is_whole = look.end != NULL && goes_on(look.end, end);
        n_tried += !is_whole;
        at = is_whole ? look.end : at + 1;
    }
    return NULL;
}

const char *marey__resync_line(const char *from, const char *until, const char *end)
{
    for (const char *at = from; at < until;) {
        at = memchr(at, '\n', (size_t)(until - at));
        if (at == NULL)
            return NULL;
        at = marey__json_skip_white(at, end);
        if (at < end && *at == '{' && marey__resync_is_record(at, end))
            return at;
    }
    return NULL;
}

/* Values that end before `until`: what is looked at grows with the distance of what is found. */
const char *marey__resync_behind_values(const char *from, const char *until)
{
    struct marey_json json = marey__json((struct marey_str){from, (size_t)(until - from)});

    for (;;) {
        for (char c = marey__json_peek(&json); c == ','; c = marey__json_peek(&json))
            json.at++;
        const char c = marey__json_peek(&json);
        if (c == '{' || c == '\0')
            return c == '{' ? json.at : NULL;
        marey__json_skip(&json);
        if (json.failed || marey__json_peek(&json) != ',')
            return NULL;
    }
}

/* Words such as a comment: nothing that a string or a container of a document could end with. */
static bool is_afterword(const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at == '\0' || strchr("\"{}[],:", *at) != NULL)
            return false;
    return true;
}

/* Members up to the brace that ends the document, or nothing. Adds how many bytes were read as
 * members to *n_tried. */
static bool is_tail(const char *at, const char *end, size_t *n_tried)
{
    at = marey__json_skip_white(at, end);
    if (at == end)
        return true;
    if (*at == '}')
        return is_afterword(at + 1, end);
    if (*at != ',' || end - at > MAX_TAIL_BYTES)
        return false;

    struct marey_json json = marey__json((struct marey_str){at + 1, (size_t)(end - at - 1)});
    struct marey_str key;
    json.is_first = true;
    while (marey__json_key(&json, &key))
        marey__json_skip(&json);
    *n_tried += (size_t)(json.at - at);
    return !json.failed && marey__json_peek(&json) == '\0';
}

const char *marey__resync_list_end(const char *from, const char *end)
{
    size_t n_tried = 0;

    for (const char *at = from; at < end && n_tried < MAX_TRIED_BYTES; at++) {
        at = memchr(at, ']', (size_t)(end - at));
        if (at == NULL)
            return NULL;
        if (is_tail(at + 1, end, &n_tried))
            return at;
    }
    return NULL;
}

/* What writers begin the head of a document with; nothing but a trace begins with the first
 * N_OF_TRACES. */
static const char *const head_keys[] = {
    "schemaVersion",   "traceEvents",         "deviceProperties", "displayTimeUnit",
    "distributedInfo", "baseTimeNanoseconds", "record_shapes",    "traceName",
};

enum { N_OF_TRACES = 2, N_HEAD_KEYS = sizeof head_keys / sizeof head_keys[0] };

/* Whether an object begins at `at` with one of the first n of these keys. */
static bool begins_with_key(const char *at, const char *end, size_t n)
{
    if (at >= end || *at != '{')
        return false;
    if (end - at > MAREY_HEAD_LOOK_BYTES)
        end = at + MAREY_HEAD_LOOK_BYTES;
    at = marey__json_skip_white(at + 1, end);
    if (at == end || *at != '"')
        return false;
    const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
    if (close == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        if (marey__str_is_c((struct marey_str){at + 1, (size_t)(close - at - 1)}, head_keys[i]))
            return true;
    return false;
}

bool marey__resync_is_document(const char *at, const char *end)
{
    return begins_with_key(at, end, N_HEAD_KEYS);
}

bool marey__resync_begins_trace(const char *at, const char *end)
{
    return begins_with_key(at, end, N_OF_TRACES);
}

const char *marey__resync_document(const char *from, const char *until, const char *end)
{
    for (const char *at = from; at < until; at++) {
        at = memchr(at, '{', (size_t)(until - at));
        if (at == NULL || marey__resync_is_document(at, end))
            return at;
    }
    return NULL;
}

/* ---- traces without a head that is known --------------------------------------------------- */

static bool has_letter(const char *at, const char *end)
{
    return look_at(at, record_until(at, end), false).has_letter;
}

/* An object with a list in which nothing or a record stands first. */
static bool holds_records(const char *at, const char *end)
{
    const char *until = record_until(at, end);

    if (!look_at(at, until, false).has_list)
        return false;
    const char *list = marey__resync_list(at, until);
    if (list == NULL)
        return false;
    list = marey__json_skip_white(list, end);
    return list < end && (*list == ']' || has_letter(list, end));
}

bool marey__resync_is_trace(const char *at, const char *end)
{
    if (at < end && *at == '[') {
        at = marey__json_skip_white(at + 1, end);
        if (has_letter(at, end))
            return true;
    }
    return holds_records(at, end);
}

const char *marey__resync_trace(const char *from, const char *until, const char *end)
{
    for (const char *at = from; at < until; at++)
        if ((*at == '\n' || *at == '\0') && marey__resync_is_trace(at + 1, end))
            return at + 1;
    return NULL;
}

const char *marey__resync_list(const char *from, const char *end)
{
    static const char key[] = "\"traceEvents\"";

    for (const char *at = from; at < end; at++) {
        at = memmem(at, (size_t)(end - at), key, sizeof key - 1);
        if (at == NULL)
            return NULL;
        const char *next = marey__json_skip_white(at + sizeof key - 1, end);
        if (next == end || *next != ':')
            continue;
        next = marey__json_skip_white(next + 1, end);
        if (next < end && *next == '[')
            return next + 1;
    }
    return NULL;
}

/* From the back: the head of the document is short. */
const char *marey__resync_owner(const char *from, const char *list)
{
    int n_tried = 0;

    for (const char *at = list; n_tried < MOST_OWNERS_TRIED;) {
        at = memrchr(from, '{', (size_t)(at - from));
        if (at == NULL)
            return NULL;
        if (!marey__resync_is_document(at, list))
            continue;
        if (look_at(at, list, false).has_list)
            return at;
        n_tried++;
    }
    return NULL;
}
