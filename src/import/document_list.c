/*
 * document_list.c - a list of records, or records one a line without a list, whatever is damaged
 * between them: text that is no record is passed over and counted, and so is an end that comes
 * early.
 */
#include "base/error.h"
#include "base/json.h"
#include "import/document_reader.h"
#include "import/resync.h"

/* So far what begins next is looked for at first. */
#define FIRST_LOOK_BYTES ((size_t)1 << 12)

/* What may be read in vain, beside so many times the bytes of the file up to there. */
#define FREE_VAIN_BYTES ((uint64_t)1 << 26)
#define VAIN_TIMES 16

static void note_broken(struct marey_document *doc, enum marey_reason reason)
{
    marey__document_note(doc, reason, doc->at);
    doc->kineto->n_records += doc->walk.broken == NULL; /* else it has been counted */
    doc->walk.broken = NULL;
    doc->n_broken++;
}

static const char *earlier(const char *a, const char *b)
{
    return b == NULL || (a != NULL && a < b) ? a : b;
}

/* The next record behind `from`, which begins none, as far as `until` tells. */
static const char *find_record(const struct marey_document *doc, const char *from,
                               const char *until)
{
    const bool is_bare = doc->walk.is_bare;
    const char *end = marey__document_window_end(doc);
    const char *next = marey__resync_record(from, until, end, !is_bare);

    next = earlier(next, marey__resync_unquoted(from, next != NULL ? next : until, end));
    next = earlier(next, marey__resync_torn(from, next != NULL ? next : until, end));
    const char *brace = marey__resync_behind_values(from, next != NULL ? next : until);
    if (brace != NULL && brace > from && marey__resync_is_record(brace, end))
        next = brace;
    return is_bare ? earlier(next, marey__resync_line(from, next != NULL ? next : until, end))
                   : next;
}

struct found {
    const char *record;   /* NULL: none begins */
    const char *document; /* before that */
};

/* What begins behind doc->at in the window. The text that is looked at grows with the distance of
 * what is found: looking for one kind to the end of the file, where the other is near, would take
 * as long for each of many. */
static struct found find_next(const struct marey_document *doc)
{
    const char *end = marey__document_window_end(doc);
    const char *from = doc->at + marey__resync_is_element(doc->at, end);
    size_t n_bytes = FIRST_LOOK_BYTES;
    struct found found;

    for (;;) {
        const char *until = (size_t)(end - doc->at) > n_bytes ? doc->at + n_bytes : end;
        found.record = find_record(doc, doc->at, until);
        found.document =
            marey__resync_document(from, found.record != NULL ? found.record : until, end);
        if (found.record != NULL || found.document != NULL || until == end)
            return found;
        n_bytes *= 2;
    }
}

/* Whether more text may show a record before what was found. */
static bool is_unsure(const struct marey_document *doc, const struct found *found)
{
    if (doc->feed.is_end || found->record != NULL)
        return false;
    return found->document == NULL ||
           marey__document_window_end(doc) - found->document < MAREY_RECORD_LOOK_BYTES;
}

/* Whether the rest of the text is one line that is whole. */
static bool is_whole_line(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));

    return line_end != NULL && marey__skip_white(line_end) >= end;
}

/* The bracket that ends the list behind a record that is broken. One that ends a list of the
 * record's own is none, whatever it looks like where the text is cut behind it. */
static const char *find_list_end(const struct marey_document *doc)
{
    const char *end = marey__document_window_end(doc);
    const struct marey_str text = {doc->at, (size_t)(end - doc->at)};
    const size_t n_sound = *doc->at == '{' ? marey__json_sound_len(text) : 0;

    return marey__resync_list_end(doc->at + n_sound, end);
}

/* What begins at doc->at is no record: goes to the next that begins, or to the end of the list. */
static enum marey_status pass_broken(struct marey_document *doc, struct marey_error *err)
{
    const bool is_bare = doc->walk.is_bare;
    struct found found = find_next(doc);

    while (is_unsure(doc, &found)) {
        MAREY_TRY(marey__document_next_window(doc, err));
        found = find_next(doc);
    }
    const char *next = found.record;
    if (found.document != NULL) {
        note_broken(doc, MAREY_REASON_PARTIAL);
        return marey__document_end_before(doc, found.document);
    }
    if (next == NULL && !is_bare)
        next = find_list_end(doc);
    if (next == NULL && is_bare && is_whole_line(doc->at, marey__document_window_end(doc)))
        next = marey__document_window_end(doc);
    if (next != NULL) {
        note_broken(doc, MAREY_REASON_SYNTAX);
        doc->at = next;
        return MAREY_OK;
    }
    note_broken(doc, MAREY_REASON_PARTIAL);
    marey__document_note_cut(doc, marey__document_window_end(doc));
    return marey__document_skip_rest(doc, err);
}

/* What stands behind the last record, and the comma before it; at the first there is none. */
static const char *pass_comma(const struct marey_document *doc, bool *has_comma)
{
    const char *at = marey__skip_white(doc->at);

    *has_comma = !doc->walk.is_first && *at == ',';
    return *has_comma ? marey__skip_white(at + 1) : at;
}

/* Brings the text that tells what that is. */
static enum marey_status look_at_next(struct marey_document *doc, struct marey_error *err)
{
    while (!doc->feed.is_end) {
        bool ignored = false;
        const char *end = marey__document_window_end(doc);
        const char *at = pass_comma(doc, &ignored);
        const bool is_document = marey__resync_is_document(at, end);

        if (end - doc->at >= MAREY_HEAD_LOOK_BYTES &&
            (!is_document || end - at >= MAREY_ELEMENT_LOOK_BYTES))
            break;
        MAREY_TRY(marey__document_next_window(doc, err));
    }
    return MAREY_OK;
}

/* The walk has met text that is not as it should be behind the last whole record. Sets doc->at to
 * where it goes on as if the list began there. */
static enum marey_status mend(struct marey_document *doc, struct marey_error *err)
{
    const bool is_first = doc->walk.is_first;
    bool has_comma = false;

    MAREY_TRY(look_at_next(doc, err));
    const char *end = marey__document_window_end(doc);
    const char *at = pass_comma(doc, &has_comma);
    doc->at = at;
    doc->walk.is_first = true;
    if (at >= end) {
        if (!doc->feed.is_end)
            return marey__document_next_window(doc, err);
        marey__document_note_cut(doc, end);
        return marey__document_skip_rest(doc, err);
    }
    const bool is_document =
        is_first ? marey__resync_begins_trace(at, end) : marey__resync_is_document(at, end);
    const bool is_element = is_document && marey__resync_is_element(at, end);
    if (is_document && !is_element)
        return marey__document_end_before(doc, at);
    if (*at == ']' || *at == ',' || (*at == '{' && !has_comma && !is_first && !doc->walk.is_bare)) {
        marey__document_note(doc, MAREY_REASON_PUNCTUATION, at);
        doc->at += *at == ',';
        return MAREY_OK;
    }
    /* The walk may have seen less of it. */
    return is_element && doc->walk.meets_document ? MAREY_OK : pass_broken(doc, err);
}

/* A number or an escape that cannot be breaks a record as well. */
static enum marey_status pass_damage(struct marey_document *doc, struct marey_error *err)
{
    const struct marey_walk *walk = &doc->walk;

    (void)marey__document_fail_at(doc, walk->fail,
                                  walk->broken != NULL ? walk->broken : "text that is no record",
                                  doc->n_broken == 0 ? &doc->broken : NULL);
    return mend(doc, err);
}

/* Now and then tells the builder how much is still to come, where the file tells it. */
static void expect_rest(struct marey_document *doc)
{
    const uint64_t done = marey__document_byte(doc, doc->at);

    if (doc->feed.is_gzip || done < doc->expect_at)
        return;
    doc->expect_at = done * 4;
    marey__builder_expect(doc->builder, done - doc->source_from,
                          doc->feed.place->size_bytes - doc->source_from);
}

static bool has_failed(const struct marey_document *doc)
{
    return doc->kineto->names.failed || marey__builder_failed(doc->builder) ||
           (doc->walk.checker != NULL && doc->walk.checker->failed);
}

/* White space up to the end of the window need not be kept, however much follows. */
static void drop_white(struct marey_document *doc)
{
    const char *token = marey__skip_white(doc->at);

    if (token >= marey__document_window_end(doc))
        doc->at = token;
}

/* Whether what has been read in vain comes to more than it may. */
static bool has_read_in_vain(const struct marey_document *doc)
{
    return doc->vain_bytes > FREE_VAIN_BYTES + VAIN_TIMES * marey__document_byte(doc, doc->at);
}

/* How far a record may reach. One that does not end is read to the end of the text, and many would
 * take as long as the text is long, each: when all that was read so comes to many times what is
 * behind them, those that follow are read no further than what tells that a record begins. */
static const char *walk_until(const struct marey_document *doc)
{
    const char *end = marey__document_window_end(doc);
    const bool is_bound =
        has_read_in_vain(doc) && end - doc->at > (ptrdiff_t)MAREY_RECORD_LOOK_BYTES;

    return is_bound ? doc->at + MAREY_RECORD_LOOK_BYTES : end;
}

static bool is_bound(const struct marey_document *doc)
{
    return doc->walk.end < marey__document_window_end(doc);
}

/* Walks from doc->at, and moves it. */
static enum marey_walk_stop walk_on(struct marey_document *doc)
{
    struct marey_walk *walk = &doc->walk;
    const char *from = doc->at;

    walk->at = from;
    walk->text = doc->feed.text;
    walk->end = walk_until(doc);
    walk->text_offset = MAREY_OFFSET(doc->kineto->source_idx, doc->feed.offset);
    walk->is_last_window = doc->feed.is_end && !is_bound(doc);
    walk->batch = doc->feed.batch;
    walk->batch_text = doc->feed.batch_text;
    enum marey_walk_stop stop = doc->scanner->walk(walk);

    doc->at = walk->at;
    if (stop == MAREY_WALK_MORE && is_bound(doc) && doc->at == from)
        stop = MAREY_WALK_BROKEN;
    if (stop == MAREY_WALK_BROKEN && walk->broken == NULL && walk->fail > doc->at)
        doc->vain_bytes += (uint64_t)(walk->fail - doc->at);
    return stop;
}

/* Brings the text behind what has been walked over. */
static enum marey_status walk_further(struct marey_document *doc, struct marey_error *err)
{
    if (is_bound(doc))
        return MAREY_OK;
    drop_white(doc);
    expect_rest(doc);
    marey__feed_teach(&doc->feed, doc->walk.learnt);
    return marey__document_next_window(doc, err);
}

static enum marey_status read_to_bracket(struct marey_document *doc, struct marey_error *err)
{
    struct marey_walk *walk = &doc->walk;

    walk->is_first = true;
    for (;;) {
        const enum marey_walk_stop stop = walk_on(doc);

        if (has_failed(doc))
            return marey__fail_nomem(err);
        switch (stop) {
        case MAREY_WALK_END:
            return MAREY_OK;
        case MAREY_WALK_MORE:
            MAREY_TRY(walk_further(doc, err));
            break;
        case MAREY_WALK_BROKEN:
            if (walk->is_bare && doc->feed.is_end &&
                marey__skip_white(doc->at) >= marey__document_window_end(doc))
                return MAREY_OK;
            MAREY_TRY(pass_damage(doc, err));
            if (doc->is_over)
                return MAREY_OK;
            break;
        case MAREY_WALK_PART:
            MAREY_TRY(marey__document_begin_part(doc, err));
            break;
        }
    }
}

/* ---- a bracket too many -------------------------------------------------------------------- */

/* What follows brackets and commas, in an object up to the brace that ends it. *has_comma: a comma
 * stands right before. */
static const char *behind_brackets(const struct marey_document *doc, bool *has_comma)
{
    const char *end = marey__document_window_end(doc);
    const char *at = marey__skip_white(doc->at);

    *has_comma = false;
    while (at < end && (*at == ',' || *at == ']' || (*at == '}' && !doc->in_object))) {
        *has_comma = *at == ',';
        at = marey__skip_white(at + 1);
    }
    return at;
}

/* Brings the text that tells whether records follow. */
static enum marey_status look_behind_bracket(struct marey_document *doc, struct marey_error *err)
{
    while (!doc->feed.is_end) {
        bool has_comma = false;
        const char *end = marey__document_window_end(doc);
        const char *next = behind_brackets(doc, &has_comma);

        if (end - next >= 2 * MAREY_RECORD_LOOK_BYTES || next - doc->at > MAREY_RECORD_LOOK_BYTES)
            break;
        MAREY_TRY(marey__document_next_window(doc, err));
    }
    return MAREY_OK;
}

/* Whether what follows the brace of an object is of a record in a list: its brace and a comma, or a
 * comma and a member. */
static bool goes_on_in_record(const char *at)
{
    const char *next = marey__skip_white(at + (*at != '\0'));

    return (*at == '}' && *next == ',') || (*at == ',' && *next == '"');
}

/* Whether members, or none, end the document that they are of: up to a brace that is not that of
 * the args, or of another object, of a record that has lost its front. True as well where the text
 * that may be looked at does not tell. */
static bool is_tail(struct marey_document *doc, const char *at)
{
    const char *end = marey__document_window_end(doc);
    const bool is_long = end - at > MAREY_RECORD_LOOK_BYTES;
    const char *until = is_long ? at + MAREY_RECORD_LOOK_BYTES : end;
    struct marey_json json = marey__json((struct marey_str){at, (size_t)(until - at)});
    struct marey_str key;

    if (has_read_in_vain(doc))
        return true;
    while (marey__json_key(&json, &key))
        marey__json_skip(&json);
    if (json.failed && json.at >= until)
        return true;
    if (!json.failed && !goes_on_in_record(marey__skip_white(json.at)))
        return true;
    doc->vain_bytes += (uint64_t)(json.at - at);
    return false;
}

/* Whether what stands behind brackets is what stands behind the end of a list: members, the end of
 * an object, or the next document. A record that lost its brace begins as a member does that lost
 * the comma before it, and has a ph. */
static bool is_behind_list(struct marey_document *doc, const char *next, bool has_comma)
{
    if (!doc->in_object)
        return !has_comma && !doc->walk.is_bare && (*next == '{' || *next == '[');
    if (*next == '"' && !has_comma &&
        marey__resync_is_headless(next, marey__document_window_end(doc)))
        return false;
    return (*next == '"' || *next == '}') && is_tail(doc, next);
}

/* Whether no value of a member begins at `at`, behind a brace or bracket at the least: a line does,
 * or one of these stands before. */
static bool begins_text(const char *at)
{
    if (at[-1] == '\n' || at[-1] == '\0')
        return true;
    while (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\r' || at[-1] == '\t')
        at--;
    return at[-1] == '}' || at[-1] == ']';
}

/* Whether a list of objects begins before a record. Where the text is of a record itself, or of a
 * tail, these may have lists of their own. */
static bool opens_list(const char *from, const char *record)
{
    const bool is_members = *from == '"';

    for (const char *at = from; at < record; at++)
        if (*at == '[' && (!is_members || begins_text(at)) && *marey__skip_white(at + 1) == '{')
            return true;
    return false;
}

/* The record with which the list goes on behind a bracket that does not end it; NULL: none. */
static const char *find_behind_bracket(struct marey_document *doc, bool *has_comma)
{
    const char *end = marey__document_window_end(doc);
    const char *next = behind_brackets(doc, has_comma);

    if (next >= end || next - doc->at > MAREY_RECORD_LOOK_BYTES)
        return NULL;
    if (marey__resync_is_record(next, end))
        return next;
    if (is_behind_list(doc, next, *has_comma))
        return NULL;
    const bool is_long = end - next > MAREY_RECORD_LOOK_BYTES;
    const char *record = find_record(doc, next, is_long ? next + MAREY_RECORD_LOOK_BYTES : end);
    if (record == NULL || marey__resync_list(next, record) != NULL ||
        marey__resync_document(next, record, end) != NULL)
        return NULL; /* what follows is no more of this document */
    const bool has_lists = doc->in_object && *next != '"' && *next != '}';
    return has_lists || !opens_list(next, record) ? record : NULL;
}

/* Reads on at a record up to the next bracket; what has no comma before it is lines, where no
 * object holds it. */
static enum marey_status read_on(struct marey_document *doc, const char *record, bool has_comma,
                                 struct marey_error *err)
{
    const bool was_bare = doc->walk.is_bare;

    note_broken(doc, MAREY_REASON_SYNTAX);
    doc->at = record;
    doc->walk.is_bare = was_bare || (!has_comma && !doc->in_object);
    const enum marey_status status = read_to_bracket(doc, err);
    doc->walk.is_bare = was_bare;
    return status;
}

enum marey_status marey__document_resume(struct marey_document *doc, bool *is_resumed,
                                         struct marey_error *err)
{
    *is_resumed = false;
    while (!doc->is_over) {
        bool has_comma = false;
        MAREY_TRY(look_behind_bracket(doc, err));
        const char *record = find_behind_bracket(doc, &has_comma);
        if (record == NULL)
            return MAREY_OK;
        MAREY_TRY(read_on(doc, record, has_comma, err));
        *is_resumed = true;
    }
    return MAREY_OK;
}

/* Brackets behind that of the list, as that of a list in it leaves one. */
static void pass_brackets(struct marey_document *doc)
{
    const char *at = marey__skip_white(doc->at);

    if (*at != ']' || (doc->is_wrapped && !doc->in_object))
        return;
    note_broken(doc, MAREY_REASON_SYNTAX);
    while (*at == ']')
        at = marey__skip_white(at + 1);
    doc->at = at;
}

enum marey_status marey__document_read_list(struct marey_document *doc, struct marey_error *err)
{
    bool ignored = false;

    MAREY_TRY(read_to_bracket(doc, err));
    MAREY_TRY(marey__document_resume(doc, &ignored, err));
    if (!doc->is_over)
        pass_brackets(doc);
    return MAREY_OK;
}

enum marey_status marey__document_read_lines(struct marey_document *doc, struct marey_error *err)
{
    doc->has_list = true;
    doc->walk.is_bare = true;
    const enum marey_status status = marey__document_read_list(doc, err);
    doc->walk.is_bare = false;
    return status;
}
