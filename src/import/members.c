/*
 * members.c - what the members of the head and the tail say, and what is wrong with them.
 */
#include "import/members.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "import/distributed.h"

static void note(struct marey_members *members, enum marey_reason reason, uint64_t offset)
{
    marey__account_note(members->kineto->account, reason, offset);
}

/* ---- those that mean something ------------------------------------------------------------ */

static void note_times(struct marey_members *members, enum marey_reason reason, uint64_t n,
                       uint64_t offset)
{
    marey__account_add(members->kineto->account, reason, n, offset);
}

/* Of two members of this key the last stands, so what it does not tell is not told. */
static void take_distributed(struct marey_members *members, struct marey_str text,
                             const struct marey_distributed *told, uint64_t offset)
{
    struct marey_source *source = marey__builder_source(members->kineto->builder);

    members->has_rank = told->rank != MAREY_UNKNOWN;
    source->rank = members->has_rank ? told->rank : source->rank;
    source->world_size = told->world_size;
    note_times(members, MAREY_REASON_NUMBER_AS_TEXT, told->n_as_text, offset);
    note_times(members, MAREY_REASON_BAD_NUMBER, told->n_odd, offset);
    note_times(members, MAREY_REASON_PUNCTUATION, told->n_punctuation, offset);
    note_times(members, MAREY_REASON_DUPLICATE_KEY, told->n_twice, offset);
    const bool is_mended = told->n_odd > 0 || told->n_punctuation > 0;
    size_t wrong = 0;
    if ((told->is_broken && !marey__str_is_c(text, "null")) ||
        (members->checks_all && !is_mended && marey__json_check(text, &wrong) != NULL))
        note(members, MAREY_REASON_BAD_METADATA, offset);
}

/* What is no JSON beyond repair is kept up to there: nobody is to read more of it later. */
static enum marey_status keep_distributed(struct marey_members *members, struct marey_str key,
                                          struct marey_str text, uint64_t offset,
                                          struct marey_error *err)
{
    const struct marey_alloc *alloc = &members->kineto->scratch.alloc;
    struct marey_distributed told;
    struct marey_textbuf kept;

    if (!marey__distributed_read(text, alloc, &told))
        return marey__fail_nomem(err);
    marey__text_init(&kept, alloc);
    if (told.whole_bytes > 0) {
        marey__text_add(&kept, text.ptr, told.whole_bytes);
        marey__text_add_byte(&kept, '}');
        text = (struct marey_str){kept.ptr, kept.len};
    }
    const bool is_kept = !marey__text_failed(&kept);
    if (is_kept && !marey__builder_set_meta(members->kineto->builder, key, text))
        note(members, MAREY_REASON_DUPLICATE_KEY, offset);
    if (is_kept)
        take_distributed(members, text, &told, offset);
    marey__text_release(&kept);
    return is_kept ? MAREY_OK : marey__fail_nomem(err);
}

/* What the recorder of a session says of it, as the intake writes it: what cannot be seen in
 * the records. */
static void take_recording(struct marey_members *members, struct marey_str text)
{
    struct marey_told_recording *told = &members->recording;
    struct marey_json json = marey__json(text);
    struct marey_str key;
    int64_t number = 0;

    *told = (struct marey_told_recording){.n_lost = 0}; /* of two members the last stands */
    if (!marey__json_enter(&json, '{'))
        return;
    while (marey__json_key(&json, &key)) {
        const bool is_lost = marey__json_spells(key, "lost");
        const bool is_open = marey__json_spells(key, "open");
        if (!is_lost && !is_open && !marey__json_spells(key, "clock_error_ns"))
            marey__json_skip(&json);
        else if (!marey__json_i64(&json, &number) || number < 0)
            return;
        else if (is_lost)
            told->n_lost = (uint64_t)number;
        else if (is_open)
            told->n_open = (uint64_t)number;
        else
            told->is_clock_unsure = number > MAREY_CLOCK_LIMIT_NS;
    }
}

void marey__members_finish(struct marey_members *members)
{
    const struct marey_told_recording told = members->recording;
    const uint64_t offset = MAREY_OFFSET(members->kineto->source_idx, 0);

    note_times(members, MAREY_REASON_LOST, told.n_lost, offset);
    note_times(members, MAREY_REASON_UNCLOSED_BEGIN, told.n_open, offset);
    note_times(members, MAREY_REASON_CLOCK_UNSURE, told.is_clock_unsure, offset);
    members->recording = (struct marey_told_recording){.n_lost = 0};
}

/* A number, or one in quotes; half of what a time may be. */
static void take_base_time(struct marey_members *members, struct marey_str json, uint64_t offset)
{
    int64_t number = 0;

    if (marey__str_is_c(json, "null"))
        return;
    const enum marey_json_whole spelt = marey__json_whole(json, &number);
    if (spelt == MAREY_JSON_NOT_WHOLE || number < -MAREY_TIME_LIMIT_NS / 2 ||
        number > MAREY_TIME_LIMIT_NS / 2) {
        note(members, MAREY_REASON_BAD_METADATA, offset);
        return;
    }
    marey__builder_source(members->kineto->builder)->base_ns = number;
    if (spelt != MAREY_JSON_WHOLE)
        note(members,
             spelt == MAREY_JSON_WHOLE_TEXT ? MAREY_REASON_NUMBER_AS_TEXT : MAREY_REASON_BAD_NUMBER,
             offset);
}

/* ---- any ------------------------------------------------------------------------------------ */

enum marey_status marey__members_take(struct marey_members *members, struct marey_str key,
                                      const struct marey_value *value, uint64_t offset,
                                      struct marey_error *err)
{
    struct marey_str json = value->text;
    struct marey_textbuf *name = &members->kineto->scratch;

    /* As text, like any name: an export escapes it again. */
    marey__text_reset(name);
    marey__json_unescape(key, name);
    if (marey__text_failed(name))
        return marey__fail_nomem(err);
    key = (struct marey_str){name->ptr, name->len};
    if (marey__str_is_c(key, "traceEvents")) { /* no list: the key is not for anything else */
        note(members, MAREY_REASON_BAD_METADATA, offset);
        return MAREY_OK;
    }
    if (value->type == MAREY_VALUE_STRING) { /* its text without the quotes, so far */
        json.ptr--;
        json.len += 2;
    }
    if (marey__str_is_c(key, "distributedInfo"))
        return keep_distributed(members, key, json, offset, err);
    if (!marey__builder_set_meta(members->kineto->builder, key, json))
        note(members, MAREY_REASON_DUPLICATE_KEY, offset);
    size_t wrong = 0;
    if (marey__str_is_c(key, "baseTimeNanoseconds")) {
        take_base_time(members, json, offset);
        return MAREY_OK;
    }
    if (members->checks_all && marey__json_check(json, &wrong) != NULL)
        note(members, MAREY_REASON_BAD_METADATA, offset);
    if (marey__str_is_c(key, "marey"))
        take_recording(members, json);
    return MAREY_OK;
}

static enum marey_value_type type_of(char first)
{
    switch (first) {
    case '"':
        return MAREY_VALUE_STRING;
    case '{':
        return MAREY_VALUE_OBJECT;
    case '[':
        return MAREY_VALUE_ARRAY;
    case 'n':
        return MAREY_VALUE_NULL;
    case 't':
    case 'f':
        return MAREY_VALUE_BOOL;
    default:
        return MAREY_VALUE_NUMBER;
    }
}

enum marey_status marey__members_take_all(struct marey_members *members, struct marey_str head,
                                          uint64_t offset, struct marey_error *err)
{
    struct marey_json json = marey__json(head);
    struct marey_str key;

    if (!marey__json_enter(&json, '{'))
        return MAREY_OK;
    while (marey__json_key(&json, &key)) {
        struct marey_value value = {.text = marey__json_raw(&json)};
        if (json.failed)
            break;
        value.type = type_of(value.text.ptr[0]);
        if (value.type == MAREY_VALUE_STRING)
            value.text = (struct marey_str){value.text.ptr + 1, value.text.len - 2};
        MAREY_TRY(marey__members_take(members, key, &value, offset, err));
    }
    return MAREY_OK;
}
