/*
 * document.c - the frame around the records: members of the head and the tail, the list,
 * and what is neither.
 *
 * Everything works on the window of the feed. Whatever does not end in it is begun again
 * after the feed has brought more text (need_more), so nothing has to remember a state in
 * the middle of a value. A syntax error ends the load; resynchronising would go where
 * MAREY_WALK_BROKEN is met (read_list).
 */
#include "import/document.h"

#include "base/error.h"
#include "base/json.h"
#include "import/sniff.h"

struct document {
    struct marey_feed feed;
    const struct marey_scanner *scanner;
    struct marey_kineto *kineto;
    struct marey_builder *builder;
    struct marey_walk walk;
    const char *at; /* how far the window has been read */
    bool has_list;
    bool has_rank;
};

static uint64_t byte_of(const struct document *doc, const char *at)
{
    return doc->feed.offset + (uint64_t)(at - doc->feed.text);
}

static const char *window_end(const struct document *doc)
{
    return doc->feed.text + doc->feed.len;
}

static enum marey_status fail_at(const struct document *doc, const char *at, const char *what,
                                 struct marey_error *err)
{
    const uint64_t byte = byte_of(doc, at);
    const bool is_end = doc->feed.is_end && at >= window_end(doc);

    return marey__fail_at(err, MAREY_FORMAT, (int64_t)byte, "cannot read '%s': %s at byte %llu%s",
                          doc->feed.place->path, what, (unsigned long long)byte,
                          is_end ? ", where the file ends" : "");
}

static enum marey_status fail_sniffed(const struct document *doc, const char *what,
                                      struct marey_error *err)
{
    return marey__fail_at(err, MAREY_FORMAT, 0, "cannot read '%s' as a trace: %s",
                          doc->feed.place->path, what);
}

/* ---- windows ------------------------------------------------------------------------- */

/* Brings more text behind what doc->at still needs. */
static enum marey_status next_window(struct document *doc, struct marey_error *err)
{
    MAREY_TRY(marey__feed_next(&doc->feed, doc->at, err));
    if (doc->feed.block != NULL)
        doc->at = doc->feed.text;
    if (MAREY_OFFSET_SOURCE(doc->feed.offset + doc->feed.len) != 0)
        return marey__fail(err, MAREY_LIMIT, "cannot read '%s': more than 256 TiB of text",
                           doc->feed.place->path);
    return MAREY_OK;
}

/* True if a failure at `fail` may be cured by more text. */
static bool is_tail(const struct document *doc, const char *fail)
{
    return !doc->feed.is_end && window_end(doc) - fail < MAREY_WALK_TAIL_BYTES;
}

static const char *skip_white(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

/* Moves to the next byte that is no white space; it may be the end of the text. */
static enum marey_status skip_to_token(struct document *doc, struct marey_error *err)
{
    for (;;) {
        doc->at = skip_white(doc->at);
        if (doc->at < window_end(doc) || doc->feed.is_end)
            return MAREY_OK;
        MAREY_TRY(next_window(doc, err));
    }
}

/* ---- members ---------------------------------------------------------------------------- */

/* A number, or one in quotes. */
static bool value_i64(const struct marey_value *value, int64_t *number)
{
    return (value->type == MAREY_VALUE_NUMBER || value->type == MAREY_VALUE_STRING) &&
           marey__decimal_scaled(value->text, 0, number);
}

static void take_distributed(struct document *doc, struct marey_str text)
{
    struct marey_source *source = marey__builder_source(doc->builder);
    struct marey_json json = marey__json(text);
    struct marey_str key;
    int64_t number = 0;

    if (!marey__json_enter(&json, '{'))
        return;
    while (marey__json_key(&json, &key)) {
        if (marey__str_is_c(key, "rank")) {
            if (marey__json_i64(&json, &number)) {
                source->rank = number;
                doc->has_rank = true;
            }
        } else if (marey__str_is_c(key, "world_size")) {
            if (marey__json_i64(&json, &number))
                source->world_size = number;
        } else {
            marey__json_skip(&json);
        }
    }
}

/* What the recorder of a session says of it, as the intake writes it: what cannot be seen in
 * the records. */
static void take_recording(struct document *doc, struct marey_str text)
{
    struct marey_account *account = marey__builder_account(doc->builder);
    const uint64_t offset = MAREY_OFFSET(doc->kineto->source_idx, 0);
    struct marey_json json = marey__json(text);
    struct marey_str key;
    int64_t number = 0;

    if (!marey__json_enter(&json, '{'))
        return;
    while (marey__json_key(&json, &key)) {
        const bool is_lost = marey__str_is_c(key, "lost");
        const bool is_open = marey__str_is_c(key, "open");
        if (!is_lost && !is_open && !marey__str_is_c(key, "clock_error_ns"))
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

static enum marey_status take_member(struct document *doc, struct marey_str key,
                                     const struct marey_value *value, struct marey_error *err)
{
    struct marey_str json = value->text;
    struct marey_textbuf *name = &doc->kineto->scratch;
    int64_t number = 0;

    /* As text, like any name: an export escapes it again. */
    marey__text_reset(name);
    marey__json_unescape(key, name);
    if (marey__text_failed(name))
        return marey__fail_nomem(err);
    key = (struct marey_str){name->ptr, name->len};
    if (value->type == MAREY_VALUE_STRING) { /* its text without the quotes, so far */
        json.ptr--;
        json.len += 2;
    }
    marey__builder_add_meta(doc->builder, key, json);
    if (marey__str_is_c(key, "distributedInfo") && value->type == MAREY_VALUE_OBJECT)
        take_distributed(doc, json);
    if (marey__str_is_c(key, "marey") && value->type == MAREY_VALUE_OBJECT)
        take_recording(doc, json);
    if (marey__str_is_c(key, "baseTimeNanoseconds") && value->type != MAREY_VALUE_NULL) {
        if (!value_i64(value, &number) || number < -MAREY_TIME_LIMIT_NS / 2 ||
            number > MAREY_TIME_LIMIT_NS / 2)
            return fail_at(doc, value->text.ptr, "a baseTimeNanoseconds out of range", err);
        marey__builder_source(doc->builder)->base_ns = number;
    }
    return MAREY_OK;
}

/* Reads all windows of a list of records; doc->at stands behind its '['. */
static enum marey_status read_list(struct document *doc, struct marey_error *err)
{
    struct marey_walk *walk = &doc->walk;

    walk->is_first = true;
    for (;;) {
        walk->at = doc->at;
        walk->text = doc->feed.text;
        walk->end = window_end(doc);
        walk->text_offset = MAREY_OFFSET(doc->kineto->source_idx, doc->feed.offset);
        walk->is_last_window = doc->feed.is_end;
        const enum marey_walk_stop stop = doc->scanner->walk(walk);

        doc->at = walk->at;
        if (doc->kineto->names.failed || marey__builder_failed(doc->builder))
            return marey__fail_nomem(err);
        switch (stop) {
        case MAREY_WALK_END:
            return MAREY_OK;
        case MAREY_WALK_MORE:
            MAREY_TRY(next_window(doc, err));
            break;
        case MAREY_WALK_BROKEN:
            return fail_at(doc, walk->fail,
                           walk->broken != NULL ? walk->broken : "text that is no record", err);
        }
    }
}

struct member {
    struct marey_str key;
    struct marey_value value;
    const char *list; /* behind the '[' of traceEvents */
    const char *end;
};

/* Reads a member from doc->at, which may be a comma; false and *fail if it does not end
 * in the window or is broken. */
static bool scan_member(struct document *doc, struct member *member, const char **fail)
{
    const char *end = window_end(doc);
    struct marey_value key;

    *member = (struct member){.list = NULL};
    *fail = doc->at;
    if (*doc->at != '"')
        return false;
    const char *at = doc->scanner->value(doc->at, end, &key, fail);
    if (at == NULL)
        return false;
    member->key = key.text;
    at = skip_white(at);
    *fail = at;
    if (*at != ':')
        return false;
    at = skip_white(at + 1);
    *fail = at;
    if (*at == '[' && marey__str_is_c(key.text, "traceEvents")) {
        member->list = at + 1;
        return true;
    }
    member->end = doc->scanner->value(at, end, &member->value, fail);
    return member->end != NULL;
}

static enum marey_status read_member(struct document *doc, struct marey_error *err)
{
    struct member member;
    const char *fail = NULL;

    while (!scan_member(doc, &member, &fail)) {
        if (!is_tail(doc, fail))
            return fail_at(doc, fail, "text that is no JSON", err);
        MAREY_TRY(next_window(doc, err));
    }
    if (member.list == NULL) {
        MAREY_TRY(take_member(doc, member.key, &member.value, err));
        doc->at = member.end;
        return MAREY_OK;
    }
    doc->at = member.list;
    doc->has_list = true;
    return read_list(doc, err);
}

static enum marey_status read_object(struct document *doc, struct marey_error *err)
{
    doc->at++;
    MAREY_TRY(skip_to_token(doc, err));
    if (*doc->at == '}') {
        doc->at++;
        return MAREY_OK;
    }
    for (;;) {
        MAREY_TRY(read_member(doc, err));
        MAREY_TRY(skip_to_token(doc, err));
        if (*doc->at == '}') {
            doc->at++;
            return MAREY_OK;
        }
        if (*doc->at != ',')
            return fail_at(doc, doc->at, "text that is no JSON", err);
        doc->at++;
        MAREY_TRY(skip_to_token(doc, err));
    }
}

static enum marey_status read_bare_list(struct document *doc, struct marey_error *err)
{
    doc->at++;
    MAREY_TRY(skip_to_token(doc, err));
    if (*doc->at != '{' && *doc->at != ']') {
        const struct marey_str head = {doc->at, (size_t)(window_end(doc) - doc->at)};
        return fail_sniffed(doc, marey__sniff_list(head), err);
    }
    doc->has_list = true;
    return read_list(doc, err);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static enum marey_status read_frame(struct document *doc, struct marey_error *err)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";

    doc->at = doc->feed.text;
    do
        MAREY_TRY(next_window(doc, err));
    while (doc->feed.len < 4 && !doc->feed.is_end);
    if (doc->feed.len >= 3 && memcmp(doc->at, byte_order_mark, 3) == 0)
        doc->at += 3;

    const struct marey_str head = {doc->at, (size_t)(window_end(doc) - doc->at)};
    const char *sniffed = marey__sniff_bytes(head);
    MAREY_TRY(skip_to_token(doc, err));
    if (*doc->at == '{')
        MAREY_TRY(read_object(doc, err));
    else if (*doc->at == '[')
        MAREY_TRY(read_bare_list(doc, err));
    else
        return fail_sniffed(doc, sniffed, err);

    if (!doc->has_list)
        return fail_sniffed(doc, "it is JSON without a list of records (traceEvents)", err);
    MAREY_TRY(skip_to_token(doc, err));
    if (doc->at < window_end(doc))
        return fail_at(doc, doc->at, "more text after the end of the trace", err);
    return MAREY_OK;
}

static void finish_source(struct document *doc)
{
    struct marey_source *source = marey__builder_source(doc->builder);
    struct marey_kineto *kineto = doc->kineto;
    const uint64_t offset = MAREY_OFFSET(kineto->source_idx, 0);

    source->size_bytes = doc->feed.offset + doc->feed.len;
    source->is_gzip = doc->feed.is_gzip;
    source->n_records = kineto->n_records;
    source->n_metadata = kineto->n_metadata;
    source->rank_is_assumed = !doc->has_rank;
    if (!doc->has_rank) {
        source->rank = kineto->source_idx;
        marey__account_note(kineto->account, MAREY_REASON_RANK_ASSUMED, offset);
    }
    if (kineto->n_events == 0)
        marey__account_note(kineto->account, MAREY_REASON_NO_EVENTS, offset);
}

enum marey_status marey__document_read(struct marey_kineto *kineto, const struct marey_place *place,
                                       const struct marey_alloc *alloc,
                                       const struct marey_reading *reading, struct marey_error *err)
{
    struct document doc = {.kineto = kineto, .builder = kineto->builder};

    MAREY_TRY(marey__feed_open(&doc.feed, alloc, place, reading->window_bytes, err));
    doc.scanner = marey__scanner_choose(reading->portable_only);
    doc.walk.kineto = kineto;
    doc.walk.gap_mask = UINT32_MAX;
    doc.walk.uses_templates = !reading->no_templates;
    doc.walk.templates = marey__alloc(alloc, MAREY_N_TEMPLATES, sizeof *doc.walk.templates);
    marey__builder_source(doc.builder)->world_size = MAREY_UNKNOWN;

    enum marey_status status =
        doc.walk.templates == NULL ? marey__fail_nomem(err) : read_frame(&doc, err);
    if (status == MAREY_OK && kineto->n_without_phase > 0 &&
        kineto->n_without_phase == kineto->n_records)
        status = fail_sniffed(&doc, "its list holds no records of a trace", err);
    if (status == MAREY_OK)
        finish_source(&doc);
    if (doc.walk.templates != NULL)
        marey__dealloc(alloc, doc.walk.templates, MAREY_N_TEMPLATES, sizeof *doc.walk.templates);
    marey__feed_close(&doc.feed);
    return status;
}
