/*
 * document.c - the frame around the records: members of the head and the tail, the list,
 * and what is neither.
 *
 * Everything works on the window of the feed. Whatever does not end in it is begun again
 * after the feed has brought more text (need_more), so nothing has to remember a state in
 * the middle of a value.
 *
 * What is damaged is passed over as soon as the list has begun, and counted: text that is no record
 * (mend), a list or a tail that ends early, a head that is no JSON but has the list behind it.
 * Only a file in which no record can be found is refused.
 */
#include "import/document.h"

#include "base/error.h"
#include "base/json.h"
#include "import/members.h"
#include "import/resync.h"
#include "import/sniff.h"

enum { EXPECT_FROM_BYTES = 1 << 20 };

struct document {
    struct marey_feed feed;
    const struct marey_scanner *scanner;
    struct marey_kineto *kineto;
    struct marey_builder *builder;
    struct marey_walk walk;
    struct marey_members members;
    const char *at; /* how far the window has been read */
    bool has_list;
    bool has_parts;      /* the list changed to another source */
    uint32_t parts_from; /* the first of them */
    bool is_wrapped;     /* the documents are elements of a list */
    bool is_over; /* the document makes no more sense; doc->at is at the next one or the end */
    unsigned n_false_heads; /* places that looked like a document and were none */
    bool is_cut;
    uint64_t source_from;      /* byte at which the source begins */
    uint64_t expect_at;        /* the byte from which the rest is estimated next */
    uint64_t n_broken;         /* records of kineto's that could not be read */
    struct marey_error broken; /* the first of them */
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

static uint64_t offset_of(const struct document *doc, const char *at)
{
    return MAREY_OFFSET(doc->kineto->source_idx, byte_of(doc, at));
}

static void note(struct document *doc, enum marey_reason reason, const char *at)
{
    marey__account_note(doc->kineto->account, reason, offset_of(doc, at));
}

/* ---- damage ------------------------------------------------------------------------------- */

static void note_broken(struct document *doc, enum marey_reason reason)
{
    note(doc, reason, doc->at);
    doc->kineto->n_records += doc->walk.broken == NULL; /* else it has been counted */
    doc->walk.broken = NULL;
    doc->n_broken++;
}

/* Once a file, whatever of it is cut. */
static void note_cut(struct document *doc, const char *at)
{
    if (!doc->is_cut)
        note(doc, MAREY_REASON_TRUNCATED, at);
    doc->is_cut = true;
}

static void finish_source(struct document *doc)
{
    struct marey_source *source = marey__builder_source(doc->builder);
    struct marey_kineto *kineto = doc->kineto;
    const uint64_t offset = MAREY_OFFSET(kineto->source_idx, 0);

    marey__members_finish(&doc->members);
    source->size_bytes = byte_of(doc, doc->at) - doc->source_from; /* up to what follows it */
    source->is_gzip = doc->feed.is_gzip;
    source->n_records = kineto->n_records;
    source->n_metadata = kineto->n_metadata;
    source->rank_is_assumed = !doc->members.has_rank;
    if (!doc->members.has_rank) {
        source->rank = kineto->source_idx;
        marey__account_note(kineto->account, MAREY_REASON_RANK_ASSUMED, offset);
    }
    if (kineto->n_events == 0)
        marey__account_note(kineto->account, MAREY_REASON_NO_EVENTS, offset);
}

static enum marey_status skip_rest(struct document *doc, struct marey_error *err)
{
    doc->is_over = true;
    for (;;) {
        doc->at = window_end(doc);
        if (doc->feed.is_end)
            return MAREY_OK;
        MAREY_TRY(next_window(doc, err));
    }
}

/* This document makes no more sense: goes to the next one that begins at or behind doc->at, or to
 * the end of the text. */
static enum marey_status skip_to_document(struct document *doc, struct marey_error *err)
{
    doc->is_over = true;
    for (;;) {
        const char *end = window_end(doc);
        const char *next = marey__resync_document(doc->at, end);

        if (next != NULL || doc->feed.is_end) {
            doc->at = next != NULL ? next : end;
            return MAREY_OK;
        }
        if (end - doc->at > MAREY_HEAD_LOOK_BYTES)
            doc->at = end - MAREY_HEAD_LOOK_BYTES;
        MAREY_TRY(next_window(doc, err));
    }
}

/* The document ends without an end of its own, and another begins at `at`. */
static enum marey_status end_before(struct document *doc, const char *at)
{
    note_cut(doc, at);
    doc->walk.broken = NULL;
    doc->at = at;
    doc->is_over = true;
    return MAREY_OK;
}

static const char *earlier(const char *a, const char *b)
{
    return b == NULL || (a != NULL && a < b) ? a : b;
}

/* The next record behind doc->at, which begins none. */
static const char *find_record(const struct document *doc)
{
    const bool is_bare = doc->walk.is_bare;
    const char *end = window_end(doc);
    const char *next = marey__resync_record(doc->at, end, !is_bare);

    next = earlier(next, marey__resync_unquoted(doc->at, next != NULL ? next : end));
    return is_bare ? earlier(next, marey__resync_line(doc->at, next != NULL ? next : end)) : next;
}

/* Whether the rest of the text is one line that is whole. */
static bool is_whole_line(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));

    return line_end != NULL && skip_white(line_end) >= end;
}

/* What begins at doc->at is no record: goes to the next that begins, or to the end of the list. */
static enum marey_status pass_broken(struct document *doc, struct marey_error *err)
{
    const bool is_bare = doc->walk.is_bare;
    const char *next = find_record(doc);

    while (next == NULL && !doc->feed.is_end) {
        MAREY_TRY(next_window(doc, err));
        next = find_record(doc);
    }
    const char *further = marey__resync_document(doc->at, next != NULL ? next : window_end(doc));
    if (further != NULL) {
        note_broken(doc, MAREY_REASON_PARTIAL);
        return end_before(doc, further);
    }
    if (next == NULL && !is_bare)
        next = marey__resync_list_end(doc->at, window_end(doc));
    if (next == NULL && is_bare && is_whole_line(doc->at, window_end(doc)))
        next = window_end(doc);
    if (next != NULL) {
        note_broken(doc, MAREY_REASON_SYNTAX);
        doc->at = next;
        return MAREY_OK;
    }
    note_broken(doc, MAREY_REASON_PARTIAL);
    note_cut(doc, window_end(doc));
    return skip_rest(doc, err);
}

/* The walk has met text that is not as it should be behind the last whole record. Sets doc->at to
 * where it goes on as if the list began there. */
static enum marey_status mend(struct document *doc, struct marey_error *err)
{
    const bool is_first = doc->walk.is_first;

    while (!doc->feed.is_end && window_end(doc) - doc->at < MAREY_HEAD_LOOK_BYTES)
        MAREY_TRY(next_window(doc, err));
    const char *at = skip_white(doc->at);
    const bool has_comma = !is_first && *at == ',';

    if (has_comma)
        at = skip_white(at + 1);
    doc->at = at;
    doc->walk.is_first = true;
    if (at >= window_end(doc)) {
        if (!doc->feed.is_end)
            return next_window(doc, err);
        note_cut(doc, window_end(doc));
        return skip_rest(doc, err);
    }
    if (!is_first && marey__resync_is_document(at, window_end(doc)))
        return end_before(doc, at);
    if (*at == ']' || *at == ',' || (*at == '{' && !has_comma && !is_first && !doc->walk.is_bare)) {
        note(doc, MAREY_REASON_PUNCTUATION, at);
        doc->at += *at == ',';
        return MAREY_OK;
    }
    return pass_broken(doc, err);
}

/* Behind the list nothing is needed. */
static enum marey_status pass_tail(struct document *doc, const char *fail, struct marey_error *err)
{
    if (doc->feed.is_end && fail >= window_end(doc))
        note_cut(doc, window_end(doc));
    else
        note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    return skip_to_document(doc, err);
}

/* A number or an escape that cannot be breaks a record as well. */
static enum marey_status pass_damage(struct document *doc, struct marey_error *err)
{
    const struct marey_walk *walk = &doc->walk;

    (void)fail_at(doc, walk->fail, walk->broken != NULL ? walk->broken : "text that is no record",
                  doc->n_broken == 0 ? &doc->broken : NULL);
    return mend(doc, err);
}

/* Now and then tells the builder how much is still to come, where the file tells it. */
static void expect_rest(struct document *doc)
{
    const uint64_t done = byte_of(doc, doc->at);

    if (doc->feed.is_gzip || done < doc->expect_at)
        return;
    doc->expect_at = done * 4;
    marey__builder_expect(doc->builder, done - doc->source_from,
                          doc->feed.place->size_bytes - doc->source_from);
}

/* They know the tracks of another source. */
static void forget_templates(struct document *doc)
{
    doc->walk.learnt->n = 0;
    doc->walk.learnt->version++;
    doc->walk.predicted = 0;
}

/* ---- sources ----------------------------------------------------------------------------------
 */

/* Begins another source of the same file. */
static enum marey_status begin_further(struct document *doc, struct marey_error *err)
{
    const uint32_t source_idx = marey__builder_begin_source(doc->builder, doc->feed.place->path);

    if (source_idx == MAREY_NONE)
        return marey__builder_failed(doc->builder)
                   ? marey__fail_nomem(err)
                   : marey__fail(err, MAREY_LIMIT, "cannot read '%s': too many traces in it",
                                 doc->feed.place->path);
    marey__kineto_begin_source(doc->kineto, source_idx);
    doc->source_from = byte_of(doc, doc->at);
    return MAREY_OK;
}

/* Of which process a part is, if that one has begun in this file. */
static void tell_process(struct document *doc, const struct marey_part_begin *begin)
{
    const uint32_t source_idx = doc->kineto->source_idx;

    if (begin->source == 0)
        doc->parts_from = source_idx;
    if (begin->process >= 0 && begin->process <= (int64_t)source_idx - (int64_t)doc->parts_from)
        marey__builder_set_cycle_of(doc->builder, doc->parts_from + (uint32_t)begin->process);
}

/* Behind the marker of a part: what follows is of another source, which has its own tracks. */
static enum marey_status begin_part(struct document *doc, struct marey_error *err)
{
    struct marey_kineto *kineto = doc->kineto;
    const struct marey_str marker = kineto->part.marker;
    const struct marey_part_begin begin = marey__part_read(marker);

    doc->has_parts = true;
    forget_templates(doc);
    if (begin.source != 0) {
        finish_source(doc);
        MAREY_TRY(begin_further(doc, err));
        doc->members.has_rank = false;
        doc->n_broken = 0;
    }
    marey__builder_shift_source(doc->builder, begin.shift_ns);
    tell_process(doc, &begin);
    if (!marey__part_enter(&kineto->part, marker, kineto->strings, &kineto->scratch))
        return marey__fail_nomem(err);
    if (begin.source == 0)
        return MAREY_OK; /* its members stand around the list */
    const enum marey_status status =
        marey__members_take_all(&doc->members, begin.head, offset_of(doc, doc->at), err);
    if (status != MAREY_FORMAT)
        return status;
    note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    return MAREY_OK;
}

/* ---- the list
 * ------------------------------------------------------------------------------------ */

static bool has_failed(const struct document *doc)
{
    return doc->kineto->names.failed || marey__builder_failed(doc->builder) ||
           (doc->walk.checker != NULL && doc->walk.checker->failed);
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
        walk->batch = doc->feed.batch;
        walk->batch_text = doc->feed.batch_text;
        const enum marey_walk_stop stop = doc->scanner->walk(walk);

        doc->at = walk->at;
        if (has_failed(doc))
            return marey__fail_nomem(err);
        switch (stop) {
        case MAREY_WALK_END:
            return MAREY_OK;
        case MAREY_WALK_MORE:
            expect_rest(doc);
            marey__feed_teach(&doc->feed, walk->learnt);
            MAREY_TRY(next_window(doc, err));
            break;
        case MAREY_WALK_BROKEN:
            if (walk->is_bare && doc->feed.is_end && skip_white(doc->at) >= window_end(doc))
                return MAREY_OK;
            MAREY_TRY(pass_damage(doc, err));
            if (doc->is_over)
                return MAREY_OK;
            break;
        case MAREY_WALK_PART:
            MAREY_TRY(begin_part(doc, err));
            break;
        }
    }
}

/* Before the list: it is looked for by its name. */
static enum marey_status pass_head(struct document *doc, const char *fail, struct marey_error *err)
{
    struct marey_error broken = {0};
    const enum marey_status status = fail_at(doc, fail, "text that is no JSON", &broken);
    const char *list = marey__resync_list(doc->at, window_end(doc));

    while (list == NULL && !doc->feed.is_end) {
        MAREY_TRY(next_window(doc, err));
        list = marey__resync_list(doc->at, window_end(doc));
    }
    if (list == NULL) {
        if (err != NULL)
            *err = broken;
        return status;
    }
    note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    doc->at = list;
    doc->has_list = true;
    return read_list(doc, err);
}

static enum marey_status pass_frame(struct document *doc, const char *fail, struct marey_error *err)
{
    return doc->has_list ? pass_tail(doc, fail, err) : pass_head(doc, fail, err);
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
    if (*at == '[' && marey__json_spells(key.text, "traceEvents")) {
        member->list = at + 1;
        return true;
    }
    if (*at == '{' && doc->has_list && !doc->feed.is_end && end - at < MAREY_HEAD_LOOK_BYTES)
        return false;
    if (*at == '{' && doc->has_list && marey__resync_begins_trace(at, end)) {
        member->value = (struct marey_value){.text = {at, 1}, .type = MAREY_VALUE_OBJECT};
        member->end = at + 1;
        return true;
    }
    member->end = doc->scanner->value(at, end, &member->value, fail);
    return member->end != NULL;
}

/* Where another document begins in a member behind the list, which ends in the middle of a value:
 * the quote of its first key ends a string, or all of it stands where a value does. Else NULL. */
static const char *find_swallowed(const struct document *doc, const struct member *member)
{
    const struct marey_str text = member->value.text;
    const char *end = window_end(doc);
    size_t len = text.len;

    if (!doc->has_list)
        return NULL;
    if (member->value.type == MAREY_VALUE_OBJECT)
        return marey__resync_begins_trace(text.ptr, end) ? text.ptr : NULL;
    if (member->value.type != MAREY_VALUE_STRING)
        return NULL;
    while (len > 0 && strchr(" \n\r\t", text.ptr[len - 1]) != NULL)
        len--;
    return len > 0 && marey__resync_is_document(text.ptr + len - 1, end) ? text.ptr + len - 1
                                                                         : NULL;
}

/* Reads a member from doc->at, with enough behind it to see what follows. *is_whole is false if
 * there is none. */
static enum marey_status next_member(struct document *doc, struct member *member, bool *is_whole,
                                     const char **fail, struct marey_error *err)
{
    for (;;) {
        *is_whole = scan_member(doc, member, fail);
        if (*is_whole) {
            const char *end = member->list != NULL ? member->list : member->end;
            if (doc->feed.is_end || !doc->has_list ||
                window_end(doc) - end >= MAREY_HEAD_LOOK_BYTES)
                return MAREY_OK;
        } else if (!is_tail(doc, *fail)) {
            return MAREY_OK;
        }
        MAREY_TRY(next_window(doc, err));
    }
}

static enum marey_status read_member(struct document *doc, struct marey_error *err)
{
    struct member member;
    const char *fail = NULL;
    bool is_whole = false;

    MAREY_TRY(next_member(doc, &member, &is_whole, &fail, err));
    if (!is_whole)
        return pass_frame(doc, fail, err);
    if (member.list == NULL) {
        const char *swallowed = find_swallowed(doc, &member);
        if (swallowed != NULL)
            return end_before(doc, swallowed);
        MAREY_TRY(marey__members_take(&doc->members, member.key, &member.value,
                                      offset_of(doc, member.value.text.ptr), err));
        doc->at = member.end;
        return MAREY_OK;
    }
    if (doc->has_list) /* both are read */
        note(doc, MAREY_REASON_DUPLICATE_KEY, doc->at);
    doc->at = member.list;
    doc->has_list = true;
    return read_list(doc, err);
}

/* Before a member: passes commas where none is due. True at the end of the object, which is passed;
 * a comma before that is one too many as well. */
static bool pass_object_end(struct document *doc, bool has_comma, enum marey_status *status,
                            struct marey_error *err)
{
    const uint64_t offset = offset_of(doc, doc->at);
    bool is_odd = false;

    for (*status = skip_to_token(doc, err); *status == MAREY_OK && *doc->at == ',';
         *status = skip_to_token(doc, err)) {
        is_odd = true;
        doc->at++;
    }
    const bool is_end = *status == MAREY_OK && *doc->at == '}';
    if (is_odd || (is_end && has_comma))
        marey__account_note(doc->kineto->account, MAREY_REASON_PUNCTUATION, offset);
    doc->at += is_end;
    return is_end;
}

/* Whether another member follows. */
static bool pass_member(struct document *doc, enum marey_status *status, struct marey_error *err)
{
    for (;;) {
        if (doc->is_over)
            return false;
        *status = skip_to_token(doc, err);
        if (*status != MAREY_OK)
            return false;
        if (*doc->at == '}' || *doc->at == ',')
            break;
        *status = pass_frame(doc, doc->at, err);
        if (*status != MAREY_OK)
            return false;
    }
    const bool has_more = *doc->at++ == ',';
    return has_more && !pass_object_end(doc, true, status, err) && *status == MAREY_OK;
}

static enum marey_status read_object(struct document *doc, struct marey_error *err)
{
    enum marey_status status = MAREY_OK;

    doc->at++;
    if (pass_object_end(doc, false, &status, err) || status != MAREY_OK)
        return status;
    do
        MAREY_TRY(read_member(doc, err));
    while (pass_member(doc, &status, err));
    return status;
}

/* Whether the text is records without a list around them, one a line as a rule. */
static enum marey_status is_record(struct document *doc, bool *answer, struct marey_error *err)
{
    const bool is_document = marey__resync_is_document(doc->at, window_end(doc));

    while (!is_document && !doc->feed.is_end && window_end(doc) - doc->at < MAREY_RECORD_LOOK_BYTES)
        MAREY_TRY(next_window(doc, err));
    *answer = !is_document && marey__resync_is_record(doc->at, window_end(doc));
    return MAREY_OK;
}

static enum marey_status read_bare_records(struct document *doc, struct marey_error *err)
{
    doc->has_list = true;
    doc->walk.is_bare = true;
    const enum marey_status status = read_list(doc, err);
    doc->walk.is_bare = false;
    return status;
}

/* A list of records, or of documents: then its first one is read as if it stood alone, and the list
 * ends where no other follows (read_all). */
static enum marey_status read_bare_list(struct document *doc, struct marey_error *err)
{
    doc->at++;
    MAREY_TRY(skip_to_token(doc, err));
    while (!doc->feed.is_end && window_end(doc) - doc->at < MAREY_HEAD_LOOK_BYTES)
        MAREY_TRY(next_window(doc, err));
    if (!doc->is_wrapped && marey__resync_is_document(doc->at, window_end(doc))) {
        doc->is_wrapped = true;
        return read_object(doc, err);
    }
    if (*doc->at != '{' && *doc->at != ']') {
        const struct marey_str head = {doc->at, (size_t)(window_end(doc) - doc->at)};
        return fail_sniffed(doc, marey__sniff_list(head), err);
    }
    doc->has_list = true;
    return read_list(doc, err);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static enum marey_status begin_text(struct document *doc, struct marey_error *err)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";

    doc->at = doc->feed.text;
    do
        MAREY_TRY(next_window(doc, err));
    while (doc->feed.len < 4 && !doc->feed.is_end);
    if (doc->feed.len >= 3 && memcmp(doc->at, byte_order_mark, 3) == 0)
        doc->at += 3;
    return MAREY_OK;
}

static enum marey_status read_frame(struct document *doc, struct marey_error *err)
{
    const struct marey_str head = {doc->at, (size_t)(window_end(doc) - doc->at)};
    const char *sniffed = marey__sniff_bytes(head);

    MAREY_TRY(skip_to_token(doc, err));
    if (marey__sniff_is_wide(head))
        return fail_sniffed(doc, sniffed, err);
    bool is_bare = false;
    if (*doc->at == '{')
        MAREY_TRY(is_record(doc, &is_bare, err));
    if (*doc->at == '{')
        MAREY_TRY(is_bare ? read_bare_records(doc, err) : read_object(doc, err));
    else if (*doc->at == '[')
        MAREY_TRY(read_bare_list(doc, err));
    else
        return fail_sniffed(doc, sniffed, err);

    if (!doc->has_list)
        return fail_sniffed(doc, "it is JSON without a list of records (traceEvents)", err);
    return skip_to_token(doc, err);
}

/* Whether anything in the list tells that it is a trace. */
static enum marey_status check_trace(const struct document *doc, struct marey_error *err)
{
    const struct marey_kineto *kineto = doc->kineto;

    if (kineto->n_without_phase > 0 && kineto->n_without_phase == kineto->n_records - doc->n_broken)
        return fail_sniffed(doc, "its list holds no records of a trace", err);
    if (doc->n_broken == 0 || doc->n_broken != kineto->n_records)
        return MAREY_OK;
    if (err != NULL)
        *err = doc->broken;
    return doc->broken.status;
}

/* One document, as the source that the builder has just begun. */
static enum marey_status read_source(struct document *doc, struct marey_error *err)
{
    doc->is_over = false;
    doc->has_list = false;
    doc->has_parts = false;
    doc->parts_from = doc->kineto->source_idx;
    doc->members.has_rank = false;
    doc->n_broken = 0;
    forget_templates(doc);
    marey__builder_source(doc->builder)->world_size = MAREY_UNKNOWN;
    MAREY_TRY(read_frame(doc, err));
    if (!doc->has_parts)
        MAREY_TRY(check_trace(doc, err));
    if (doc->feed.is_gzip && doc->feed.is_end && doc->feed.gunzip.is_cut)
        note_cut(doc, window_end(doc));
    finish_source(doc);
    return MAREY_OK;
}

static bool looks_joined(const struct document *doc)
{
    const char *end = window_end(doc);

    if (*doc->at == '{')
        return marey__resync_list(doc->at, end) != NULL;
    return *doc->at == '[' && *skip_white(doc->at + 1) == '{';
}

/* Whether another trace begins at doc->at: the ranks of a job that wrote one file. */
static enum marey_status is_joined(struct document *doc, bool *answer, struct marey_error *err)
{
    *answer = looks_joined(doc);
    while (!*answer && !doc->feed.is_end && (*doc->at == '{' || *doc->at == '[')) {
        MAREY_TRY(next_window(doc, err));
        *answer = looks_joined(doc);
    }
    return MAREY_OK;
}

static enum marey_status begin_joined(struct document *doc, struct marey_error *err)
{
    note(doc, MAREY_REASON_JOINED_DOCUMENTS, doc->at);
    return begin_further(doc, err);
}

/* What is broken in a further document does not undo those before it. */
static enum marey_status read_joined(struct document *doc, struct marey_error *err)
{
    const uint64_t begin = byte_of(doc, doc->at);

    MAREY_TRY(begin_joined(doc, err));
    const enum marey_status status = read_source(doc, err);
    if (status != MAREY_FORMAT)
        return status;
    note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    if (byte_of(doc, doc->at) == begin)
        doc->at++;
    MAREY_TRY(skip_to_document(doc, err));
    finish_source(doc);
    return MAREY_OK;
}

/* What follows is no document. One may follow that, but who looks for ever in what only looks so
 * reads the text again and again. */
#define MOST_FALSE_HEADS 64

static enum marey_status pass_false_head(struct document *doc, struct marey_error *err)
{
    note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    if (++doc->n_false_heads > MOST_FALSE_HEADS)
        return skip_rest(doc, err);
    doc->at++;
    return skip_to_document(doc, err);
}

/* In a list of documents: passes the comma before the next one, or the end of the list. */
static enum marey_status pass_wrapping(struct document *doc, struct marey_error *err)
{
    if (!doc->is_wrapped)
        return MAREY_OK;
    const bool is_end = doc->at >= window_end(doc);
    if (is_end)
        note_cut(doc, doc->at);
    doc->is_wrapped = !is_end && *doc->at != ']';
    if (is_end || (*doc->at != ',' && *doc->at != ']'))
        return MAREY_OK;
    doc->at++;
    return skip_to_token(doc, err);
}

static enum marey_status read_all(struct document *doc, struct marey_error *err)
{
    MAREY_TRY(begin_text(doc, err));
    MAREY_TRY(read_source(doc, err));
    for (;;) {
        MAREY_TRY(pass_wrapping(doc, err));
        if (doc->at >= window_end(doc))
            break;
        bool has_more = false;
        MAREY_TRY(is_joined(doc, &has_more, err));
        if (has_more)
            MAREY_TRY(read_joined(doc, err));
        else
            MAREY_TRY(pass_false_head(doc, err));
    }
    if (doc->feed.is_gzip && doc->feed.gunzip.is_damaged)
        note(doc, MAREY_REASON_BAD_GZIP, doc->at);
    marey__builder_source(doc->builder)->size_bytes = byte_of(doc, doc->at) - doc->source_from;
    return MAREY_OK;
}

enum marey_status marey__document_read(struct marey_kineto *kineto, const struct marey_place *place,
                                       const struct marey_alloc *alloc,
                                       const struct marey_reading *reading,
                                       struct marey_stretches *kept, struct marey_error *err)
{
    struct document doc = {.kineto = kineto, .builder = kineto->builder};

    doc.scanner = marey__scanner_choose(reading->portable_only);
    const struct marey_feed_plan plan = {
        .window_bytes = reading->window_bytes,
        .n_threads = reading->n_threads,
        .checks_all = reading->checks_all,
        .scanner = doc.scanner,
        .kept = kept,
    };
    MAREY_TRY(marey__feed_open(&doc.feed, alloc, place, &plan, err));
    doc.expect_at = EXPECT_FROM_BYTES;
    doc.walk.kineto = kineto;
    doc.members.kineto = kineto;
    doc.members.checks_all = reading->checks_all;
    doc.walk.uses_templates = !reading->no_templates;
    doc.walk.learnt = marey__alloc_zero(alloc, 1, sizeof *doc.walk.learnt);
    if (doc.walk.learnt != NULL)
        doc.walk.learnt->gap_mask = UINT32_MAX;
    if (reading->checks_all)
        doc.walk.checker = marey__checker_new(alloc, kineto->account);
    const bool has_all =
        doc.walk.learnt != NULL && (doc.walk.checker != NULL || !reading->checks_all);
    const enum marey_status status = has_all ? read_all(&doc, err) : marey__fail_nomem(err);
    marey__checker_free(doc.walk.checker);
    marey__feed_close(&doc.feed);
    marey__dealloc(alloc, doc.walk.learnt, 1, sizeof *doc.walk.learnt);
    return status;
}
