/*
 * members.c - what the members of the head and the tail say, and what is wrong with them.
 */
#include "import/members.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"

static void note(struct marey_members *members, enum marey_reason reason, uint64_t offset)
{
    marey__account_note(members->kineto->account, reason, offset);
}

/* ---- those that mean something ------------------------------------------------------------ */

static void take_distributed(struct marey_members *members, struct marey_str text)
{
    struct marey_source *source = marey__builder_source(members->kineto->builder);
    struct marey_json json = marey__json(text);
    struct marey_str key;
    int64_t number = 0;

    if (!marey__json_enter(&json, '{'))
        return;
    while (marey__json_key(&json, &key)) {
        if (marey__json_spells(key, "rank")) {
            if (marey__json_i64(&json, &number)) {
                source->rank = number;
                members->has_rank = true;
            }
        } else if (marey__json_spells(key, "world_size")) {
            if (marey__json_i64(&json, &number))
                source->world_size = number;
        } else {
            marey__json_skip(&json);
        }
    }
}

/* What the recorder of a session says of it, as the intake writes it: what cannot be seen in
 * the records. */
static void take_recording(struct marey_members *members, struct marey_str text)
{
    struct marey_account *account = marey__builder_account(members->kineto->builder);
    const uint64_t offset = MAREY_OFFSET(members->kineto->source_idx, 0);
    struct marey_json json = marey__json(text);
    struct marey_str key;
    int64_t number = 0;

    if (!marey__json_enter(&json, '{'))
        return;
    while (marey__json_key(&json, &key)) {
        const bool is_lost = marey__json_spells(key, "lost");
        const bool is_open = marey__json_spells(key, "open");
        if (!is_lost && !is_open && !marey__json_spells(key, "clock_error_ns"))
            marey__json_skip(&json);
        else if (!marey__json_i64(&json, &number) || number < 0)
            return;
        else if (is_lost || is_open)
            marey__account_add(account, is_lost ? MAREY_REASON_LOST : MAREY_REASON_UNCLOSED_BEGIN,
                               (uint64_t)number, offset);
        else if (number > MAREY_CLOCK_LIMIT_NS)
            marey__account_note(account, MAREY_REASON_CLOCK_UNSURE, offset);
    }
}

/* Whether a number that has been read has no digit below one: 12, 1.50e3, 300e-2. */
static bool is_whole(struct marey_str text)
{
    int64_t exponent = 0;
    size_t len = 0; /* without the exponent */

    while (len < text.len && text.ptr[len] != 'e' && text.ptr[len] != 'E')
        len++;
    if (len < text.len) {
        const size_t from = len + 1 + (len + 1 < text.len && text.ptr[len + 1] == '+');
        if (!marey__decimal_scaled((struct marey_str){text.ptr + from, text.len - from}, 0,
                                   &exponent))
            return false;
    }
    const char *point = memchr(text.ptr, '.', len);
    const size_t point_at = point != NULL ? (size_t)(point - text.ptr) : len;
    size_t last = len; /* behind the last digit that is not 0 */
    while (last > 0 && (text.ptr[last - 1] < '1' || text.ptr[last - 1] > '9'))
        last--;
    const int64_t n_behind = (int64_t)last - (int64_t)point_at - (last > point_at);
    return last == 0 || n_behind <= exponent;
}

/* A number, or one in quotes; half of what a time may be. */
static void take_base_time(struct marey_members *members, const struct marey_value *value,
                           uint64_t offset)
{
    const bool is_text = value->type == MAREY_VALUE_STRING;
    int64_t number = 0;

    if (value->type == MAREY_VALUE_NULL)
        return;
    if ((value->type != MAREY_VALUE_NUMBER && !is_text) ||
        !marey__decimal_scaled(value->text, 0, &number) || !is_whole(value->text) ||
        number < -MAREY_TIME_LIMIT_NS / 2 || number > MAREY_TIME_LIMIT_NS / 2) {
        note(members, MAREY_REASON_BAD_METADATA, offset);
        return;
    }
    marey__builder_source(members->kineto->builder)->base_ns = number;
    if (is_text)
        note(members, MAREY_REASON_NUMBER_AS_TEXT, offset);
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
    if (!marey__builder_set_meta(members->kineto->builder, key, json))
        note(members, MAREY_REASON_DUPLICATE_KEY, offset);
    size_t wrong = 0;
    if (members->checks_all && marey__json_check(json, &wrong) != NULL)
        note(members, MAREY_REASON_BAD_METADATA, offset);
    if (marey__str_is_c(key, "distributedInfo") && value->type == MAREY_VALUE_OBJECT)
        take_distributed(members, json);
    if (marey__str_is_c(key, "marey") && value->type == MAREY_VALUE_OBJECT)
        take_recording(members, json);
    if (marey__str_is_c(key, "baseTimeNanoseconds"))
        take_base_time(members, value, offset);
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
