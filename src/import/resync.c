/*
 * resync.c - looks for what begins or ends a list of records.
 */
#define _GNU_SOURCE /* memmem */
#include "import/resync.h"

#include <string.h>

#include "base/json.h"

/* How far a record is read in search of its ph, which writers put first: what is no record and
 * never ends must not be read again and again. */
#define MAX_LOOK_BYTES ((size_t)1 << 14)

/* Members behind the list are few: a tail that is longer is none. */
#define MAX_TAIL_BYTES ((ptrdiff_t)1 << 20)

static const char *skip_white(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

static bool has_phase(const char *at, const char *end)
{
    const size_t len = (size_t)(end - at);
    struct marey_json json =
        marey__json((struct marey_str){at, len < MAX_LOOK_BYTES ? len : MAX_LOOK_BYTES});
    struct marey_str key;

    if (!marey__json_enter(&json, '{'))
        return false;
    while (marey__json_key(&json, &key)) {
        if (marey__json_spells(key, "ph"))
            return marey__json_peek(&json) == '"';
        marey__json_skip(&json);
    }
    return false;
}

const char *marey__resync_record(const char *from, const char *end)
{
    for (const char *at = from; at < end; at++) {
        at = memchr(at, '}', (size_t)(end - at));
        if (at == NULL)
            return NULL;
        const char *comma = skip_white(at + 1, end);
        if (comma == end || *comma != ',')
            continue;
        const char *brace = skip_white(comma + 1, end);
        if (brace < end && *brace == '{' && has_phase(brace, end))
            return brace;
    }
    return NULL;
}

/* Members up to the brace that ends the document, or nothing. */
static bool is_tail(const char *at, const char *end)
{
    at = skip_white(at, end);
    if (at == end)
        return true;
    if (*at == '}')
        return skip_white(at + 1, end) == end;
    if (*at != ',' || end - at > MAX_TAIL_BYTES)
        return false;

    struct marey_json json = marey__json((struct marey_str){at + 1, (size_t)(end - at - 1)});
    struct marey_str key;
    json.is_first = true;
    while (marey__json_key(&json, &key))
        marey__json_skip(&json);
    return !json.failed && marey__json_peek(&json) == '\0';
}

const char *marey__resync_list_end(const char *from, const char *end)
{
    for (const char *at = from; at < end; at++) {
        at = memchr(at, ']', (size_t)(end - at));
        if (at == NULL)
            return NULL;
        if (is_tail(at + 1, end))
            return at;
    }
    return NULL;
}

/* What writers begin the head of a document with. */
static bool is_head_key(struct marey_str key)
{
    static const char *const keys[] = {
        "schemaVersion",   "traceEvents",         "deviceProperties", "displayTimeUnit",
        "distributedInfo", "baseTimeNanoseconds", "record_shapes",    "traceName",
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (marey__str_is_c(key, keys[i]))
            return true;
    return false;
}

bool marey__resync_is_document(const char *at, const char *end)
{
    if (at >= end || *at != '{')
        return false;
    at = skip_white(at + 1, end);
    if (at == end || *at != '"')
        return false;
    const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
    return close != NULL && is_head_key((struct marey_str){at + 1, (size_t)(close - at - 1)});
}

const char *marey__resync_document(const char *from, const char *end)
{
    for (const char *at = from; at < end; at++) {
        at = memchr(at, '{', (size_t)(end - at));
        if (at == NULL || marey__resync_is_document(at, end))
            return at;
    }
    return NULL;
}

const char *marey__resync_list(const char *from, const char *end)
{
    static const char key[] = "\"traceEvents\"";

    for (const char *at = from; at < end; at++) {
        at = memmem(at, (size_t)(end - at), key, sizeof key - 1);
        if (at == NULL)
            return NULL;
        const char *next = skip_white(at + sizeof key - 1, end);
        if (next == end || *next != ':')
            continue;
        next = skip_white(next + 1, end);
        if (next < end && *next == '[')
            return next + 1;
    }
    return NULL;
}
