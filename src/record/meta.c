/*
 * meta.c - what a user adds to the head of a session's trace.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "record/session.h"

static char *copy_text(const struct marey_alloc *alloc, struct marey_str text)
{
    char *copy = marey__alloc(alloc, text.len + 1, 1);

    if (copy == NULL)
        return NULL;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

static bool add_meta_locked(struct marey_session *session, struct marey_session_meta meta)
{
    const struct marey_alloc alloc = marey__alloc_default();

    for (size_t i = 0; i < session->n_metas; i++) {
        struct marey_session_meta *old = &session->metas[i];
        if (old->key_len != meta.key_len || memcmp(old->key, meta.key, meta.key_len) != 0)
            continue;
        marey__dealloc(&alloc, old->key, old->key_len + 1, 1);
        marey__dealloc(&alloc, old->json, old->json_len + 1, 1);
        *old = meta;
        return true;
    }
    void *grown = session->metas;
    if (!marey__grow(&alloc, &grown, &session->metas_capacity, session->n_metas + 1, sizeof meta))
        return false;
    session->metas = grown;
    session->metas[session->n_metas++] = meta;
    return true;
}

void marey__session_free_metas(struct marey_session *session)
{
    const struct marey_alloc alloc = marey__alloc_default();

    for (size_t i = 0; i < session->n_metas; i++) {
        struct marey_session_meta *meta = &session->metas[i];
        marey__dealloc(&alloc, meta->key, meta->key_len + 1, 1);
        marey__dealloc(&alloc, meta->json, meta->json_len + 1, 1);
    }
    marey__dealloc(&alloc, session->metas, session->metas_capacity, sizeof *session->metas);
}

/* What a trace writes there itself: intake's head of a file, and export around the records. */
static bool is_own_key(struct marey_str key)
{
    static const char *const own[] = {
        "schemaVersion", "deviceProperties",    "record_shapes", "marey",       "displayTimeUnit",
        "traceEvents",   "baseTimeNanoseconds", "mareyLeftOut",  "mareyMended", "mareyRepaired",
    };

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (marey__str_is_c(key, own[i]))
            return true;
    return false;
}

/* So much of a key as a message has room for. */
#define SHOWN_KEY_BYTES 100

enum marey_status marey_check_meta(struct marey_str key, struct marey_str json,
                                   struct marey_error *err)
{
    size_t at = marey__text_valid_len(key);

    if (at < key.len)
        return marey__fail(err, MAREY_INVALID, "a key of metadata is not UTF-8 at byte %zu of it",
                           at);
    const struct marey_str begin = {key.ptr, key.len < SHOWN_KEY_BYTES ? key.len : SHOWN_KEY_BYTES};
    const int shown_len = (int)marey__text_valid_len(begin);
    const char *shown = key.len > 0 ? key.ptr : "";
    if (is_own_key(key))
        return marey__fail(err, MAREY_INVALID,
                           "metadata '%.*s' is what the trace itself says there, take another key",
                           shown_len, shown);
    const char *wrong = marey__json_check(json, &at);
    if (wrong != NULL)
        return marey__fail(err, MAREY_INVALID,
                           "metadata '%.*s' is not one JSON value: %s at byte %zu", shown_len,
                           shown, wrong, at);
    return MAREY_OK;
}

enum marey_status marey_session_add_meta(struct marey_session *session, struct marey_str key,
                                         struct marey_str json, struct marey_error *err)
{
    const struct marey_alloc alloc = marey__alloc_default();

    MAREY_TRY(marey_check_meta(key, json, err));
    const struct marey_session_meta meta = {
        .key = copy_text(&alloc, key),
        .json = copy_text(&alloc, json),
        .key_len = key.len,
        .json_len = json.len,
    };
    bool is_added = false;
    if (meta.key != NULL && meta.json != NULL) {
        marey__recorder_lock();
        is_added = add_meta_locked(session, meta);
        marey__recorder_unlock();
    }
    if (is_added)
        return MAREY_OK;
    marey__dealloc(&alloc, meta.key, key.len + 1, 1);
    marey__dealloc(&alloc, meta.json, json.len + 1, 1);
    return marey__fail_nomem(err);
}
