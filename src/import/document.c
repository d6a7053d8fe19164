/*
 * document.c - the documents of a file: each is a source, be it an object around a list, a bare
 * list, or lines of records.
 *
 *   document.c: documents ──> document_head.c: members ──> document_list.c: records
 *                   └── document_part.c: sources            document_text.c: windows of text
 *
 * Everything works on the window of the feed. Whatever does not end in it is begun again
 * after the feed has brought more text (marey__document_next_window), so nothing has to remember a
 * state in the middle of a value.
 *
 * What is damaged is passed over as soon as the list has begun, and counted: text that is no record
 * (mend), a list or a tail that ends early, a head that is no JSON but has the list behind it.
 * Only a file in which no record can be found is refused.
 */
#include "import/document.h"

#include <stdint.h>

#include "base/error.h"
#include "import/document_reader.h"
#include "import/resync.h"
#include "import/sniff.h"

enum { EXPECT_FROM_BYTES = 1 << 20 };

/* What a file holds is looked for so far, where reading on does not need all of that text. */
#define KIND_LOOK_BYTES ((ptrdiff_t)1 << 20)

/* What the object is that begins `skip` bytes behind doc->at. As long as it may be a record, it is
 * looked at up to its end, or to `most_bytes`: a document may have a ph of its own before its list.
 * is_cut: more text would tell more. */
static enum marey_status look_at_object(struct marey_document *doc, ptrdiff_t skip,
                                        ptrdiff_t most_bytes, struct marey_object_look *look,
                                        struct marey_error *err)
{
    for (ptrdiff_t n_bytes = MAREY_RECORD_LOOK_BYTES;; n_bytes *= 2) {
        while (!doc->feed.is_end && marey__document_window_end(doc) - doc->at - skip < n_bytes)
            MAREY_TRY(marey__document_next_window(doc, err));
        const char *end = marey__document_window_end(doc);
        const char *at = doc->at + skip;
        const bool is_all = end - at <= n_bytes;
        *look = marey__resync_look(at, is_all ? end : at + n_bytes);
        look->is_cut &= !is_all || !doc->feed.is_end;
        if (!look->has_phase || look->has_list || !look->is_cut || n_bytes >= most_bytes)
            return MAREY_OK;
    }
}

/* Whether a record begins a line, and no list has a name: then what cannot be read before it is a
 * line of a file of them, and no head. */
static enum marey_status has_lines(struct marey_document *doc, bool *answer,
                                   struct marey_error *err)
{
    while (!doc->feed.is_end && marey__document_window_end(doc) - doc->at < KIND_LOOK_BYTES)
        MAREY_TRY(marey__document_next_window(doc, err));
    const char *end = marey__document_window_end(doc);
    const char *until = end - doc->at < KIND_LOOK_BYTES ? end : doc->at + KIND_LOOK_BYTES;
    const char *line = marey__resync_line(doc->at, until, end);

    *answer = line != NULL && marey__resync_look(line, end).has_letter &&
              marey__resync_list(doc->at, until) == NULL;
    return MAREY_OK;
}

/* Whether the text is records without a list around them, one a line as a rule. Where the first is
 * broken before its ph, the lines behind it tell. */
static enum marey_status is_record(struct marey_document *doc, bool *answer,
                                   struct marey_error *err)
{
    struct marey_object_look look;

    MAREY_TRY(look_at_object(doc, 0, PTRDIFF_MAX, &look, err));
    *answer = look.has_phase && !look.has_list;
    if (look.has_phase || look.has_list || look.is_cut || look.end != NULL ||
        marey__resync_is_document(doc->at, marey__document_window_end(doc)))
        return MAREY_OK;
    return has_lines(doc, answer, err);
}

/* So far a list is looked at for what it is a list of. */
static const char *look_until(const struct marey_document *doc)
{
    const char *end = marey__document_window_end(doc);

    return end - doc->at > MAREY_RECORD_LOOK_BYTES ? doc->at + MAREY_RECORD_LOOK_BYTES : end;
}

/* Whether the list is over, or records begin behind what it begins with. */
static bool has_records(const struct marey_document *doc)
{
    const char *end = marey__document_window_end(doc);
    const char *until = look_until(doc);
    const char *brace = marey__resync_behind_values(doc->at, until);

    return *doc->at == ']' || (brace != NULL && marey__resync_is_record(brace, end)) ||
           marey__resync_unquoted(doc->at, until, end) != NULL ||
           marey__resync_record(doc->at, until, end, true) != NULL;
}

/* The first document of a list of them. NULL: it is none. */
static enum marey_status find_wrapped(struct marey_document *doc, const char **wrapped,
                                      struct marey_error *err)
{
    const char *brace = marey__resync_behind_values(doc->at, look_until(doc));
    struct marey_object_look look;

    *wrapped = NULL;
    if (brace == NULL || doc->is_wrapped)
        return MAREY_OK;
    const ptrdiff_t skip = brace - doc->at;
    MAREY_TRY(look_at_object(doc, skip, KIND_LOOK_BYTES, &look, err));
    brace = doc->at + skip;
    const bool is_document = marey__resync_is_document(brace, marey__document_window_end(doc));
    if (look.has_list || (is_document && !look.has_phase))
        *wrapped = brace;
    return MAREY_OK;
}

/* A list of records, or of documents: then its first one is read as if it stood alone, and the list
 * ends where no other follows (read_all). */
static enum marey_status read_bare_list(struct marey_document *doc, struct marey_error *err)
{
    doc->at++;
    MAREY_TRY(marey__document_skip_to_token(doc, err));
    const bool is_object = *doc->at == '{';
    const ptrdiff_t look_bytes = (is_object ? 1 : 2) * MAREY_RECORD_LOOK_BYTES;
    while (!doc->feed.is_end && marey__document_window_end(doc) - doc->at < look_bytes)
        MAREY_TRY(marey__document_next_window(doc, err));
    const char *wrapped = NULL;
    MAREY_TRY(find_wrapped(doc, &wrapped, err));
    if (wrapped != NULL) {
        if (wrapped > doc->at)
            marey__document_note(doc, MAREY_REASON_SYNTAX, doc->at);
        doc->at = wrapped;
        doc->is_wrapped = true;
        return marey__document_read_object(doc, err);
    }
    if (!is_object && !has_records(doc)) {
        const struct marey_str head = {doc->at,
                                       (size_t)(marey__document_window_end(doc) - doc->at)};
        return marey__document_fail_sniffed(doc, marey__sniff_list(head), err);
    }
    doc->has_list = true;
    return marey__document_read_list(doc, err);
}

static enum marey_status begin_text(struct marey_document *doc, struct marey_error *err)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";

    doc->at = doc->feed.text;
    do
        MAREY_TRY(marey__document_next_window(doc, err));
    while (doc->feed.len < 4 && !doc->feed.is_end);
    if (doc->feed.len >= 3 && memcmp(doc->at, byte_order_mark, 3) == 0)
        doc->at += 3;
    return MAREY_OK;
}

/* What stands before the trace in a file costs none of it. */
static enum marey_status pass_junk(struct marey_document *doc, struct marey_error *err)
{
    while (!doc->feed.is_end &&
           marey__document_window_end(doc) - doc->at < (ptrdiff_t)MAREY_JUNK_LOOK_BYTES)
        MAREY_TRY(marey__document_next_window(doc, err));
    const struct marey_str head = {doc->at, (size_t)(marey__document_window_end(doc) - doc->at)};
    const char *trace = marey__sniff_behind_junk(head);
    if (trace == NULL)
        return MAREY_OK;
    marey__document_note(doc, MAREY_REASON_SYNTAX, doc->at);
    doc->kineto->n_records++;
    doc->n_broken++;
    doc->at = trace;
    return MAREY_OK;
}

static enum marey_status read_frame(struct marey_document *doc, struct marey_error *err)
{
    if (doc->source_from == 0)
        MAREY_TRY(pass_junk(doc, err));
    const struct marey_str head = {doc->at, (size_t)(marey__document_window_end(doc) - doc->at)};
    const char *sniffed = marey__sniff_bytes(head);

    MAREY_TRY(marey__document_skip_to_token(doc, err));
    if (marey__sniff_is_wide(head))
        return marey__document_fail_sniffed(doc, sniffed, err);
    bool is_bare = false;
    if (*doc->at == '{')
        MAREY_TRY(is_record(doc, &is_bare, err));
    if (*doc->at == '{')
        MAREY_TRY(is_bare ? marey__document_read_lines(doc, err)
                          : marey__document_read_object(doc, err));
    else if (*doc->at == '[')
        MAREY_TRY(read_bare_list(doc, err));
    else
        return marey__document_fail_sniffed(doc, sniffed, err);

    if (!doc->has_list && !doc->is_over)
        return marey__document_fail_sniffed(
            doc, "it is JSON without a list of records (traceEvents)", err);
    return marey__document_skip_to_token(doc, err);
}

/* Whether anything in the list tells that it is a trace. */
static enum marey_status check_trace(const struct marey_document *doc, struct marey_error *err)
{
    const struct marey_kineto *kineto = doc->kineto;

    if (kineto->n_without_phase > 0 && kineto->n_without_phase == kineto->n_records - doc->n_broken)
        return marey__document_fail_sniffed(doc, "its list holds no records of a trace", err);
    if (doc->n_broken == 0 || doc->n_broken != kineto->n_records)
        return MAREY_OK;
    if (err != NULL)
        *err = doc->broken;
    return doc->broken.status;
}

/* A document of which no record can be read does not undo those behind it. */
static enum marey_status check_source(struct marey_document *doc, struct marey_error *err)
{
    struct marey_error refusal = {0};
    if (!doc->has_list)
        return MAREY_OK; /* it was cut before */
    const enum marey_status status = doc->has_parts ? MAREY_OK : check_trace(doc, &refusal);

    doc->has_trace |= status == MAREY_OK;
    if (status != MAREY_OK && doc->n_broken == 0) {
        if (err != NULL)
            *err = refusal;
        return status; /* a list of something else */
    }
    if (status != MAREY_OK && doc->refusal.status == MAREY_OK)
        doc->refusal = refusal;
    return MAREY_OK;
}

/* Where none of the documents is a trace. */
static enum marey_status check_file(const struct marey_document *doc, struct marey_error *err)
{
    if (doc->has_trace)
        return MAREY_OK;
    if (err != NULL)
        *err = doc->refusal;
    return doc->refusal.status;
}

/* Whether all of a .gz has been inflated: until then a thread of the feed's may be at it. */
static bool has_whole_gzip(const struct marey_document *doc)
{
    return doc->feed.is_gzip && doc->feed.is_end && !doc->feed.is_stopped;
}

/* One document, as the source that the builder has just begun. */
static enum marey_status read_source(struct marey_document *doc, struct marey_error *err)
{
    doc->is_over = false;
    doc->has_list = false;
    doc->in_object = false;
    doc->has_parts = false;
    doc->parts_from = doc->kineto->source_idx;
    doc->members.has_rank = false;
    doc->n_broken = 0;
    marey__document_forget_templates(doc);
    marey__builder_source(doc->builder)->world_size = MAREY_UNKNOWN;
    MAREY_TRY(read_frame(doc, err));
    MAREY_TRY(check_source(doc, err));
    if (doc->feed.is_stopped || (has_whole_gzip(doc) && doc->feed.gunzip.is_cut))
        marey__document_note_cut(doc, marey__document_window_end(doc));
    marey__document_finish_source(doc);
    return MAREY_OK;
}

/* Whether a list has a name in the window behind doc->at. It is looked for once up to where it is:
 * it may be far behind many places that ask. */
static bool has_named_list(struct marey_document *doc)
{
    if (marey__document_byte(doc, doc->at) < doc->list_byte)
        return doc->list_byte != MAREY_NO_LIST;
    const char *list = marey__resync_list(doc->at, marey__document_window_end(doc));
    if (list != NULL)
        doc->list_byte = marey__document_byte(doc, list);
    else if (doc->feed.is_end)
        doc->list_byte = MAREY_NO_LIST;
    return list != NULL;
}

static bool looks_joined(struct marey_document *doc)
{
    if (*doc->at == '{')
        return has_named_list(doc);
    return *doc->at == '[' && *marey__skip_white(doc->at + 1) == '{';
}

/* Whether another trace begins at doc->at: the ranks of a job that wrote one file. */
static enum marey_status is_joined(struct marey_document *doc, bool *answer,
                                   struct marey_error *err)
{
    *answer = looks_joined(doc);
    while (!*answer && !doc->feed.is_end && (*doc->at == '{' || *doc->at == '[')) {
        MAREY_TRY(marey__document_next_window(doc, err));
        *answer = looks_joined(doc);
    }
    return MAREY_OK;
}

static enum marey_status begin_joined(struct marey_document *doc, struct marey_error *err)
{
    marey__document_note(doc, MAREY_REASON_JOINED_DOCUMENTS, doc->at);
    return marey__document_begin_further(doc, err);
}

/* What is broken in a further document does not undo those before it. */
static enum marey_status read_joined(struct marey_document *doc, struct marey_error *err)
{
    const uint64_t begin = marey__document_byte(doc, doc->at);

    MAREY_TRY(begin_joined(doc, err));
    const enum marey_status status = read_source(doc, err);
    if (status != MAREY_FORMAT) {
        doc->n_false_heads = 0;
        return status;
    }
    marey__document_note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    if (marey__document_byte(doc, doc->at) == begin)
        doc->at++;
    MAREY_TRY(marey__document_skip_to_document(doc, err));
    marey__document_finish_source(doc);
    return MAREY_OK;
}

/* What stands between the values of JSON, or ends them. *is_next: a trace begins behind it. */
static enum marey_status pass_punctuation(struct marey_document *doc, bool *is_next,
                                          struct marey_error *err)
{
    for (;;) {
        MAREY_TRY(marey__document_skip_to_token(doc, err));
        if (*doc->at == '\0' || strchr(",;]}", *doc->at) == NULL)
            break;
        doc->at++;
    }
    while (!doc->feed.is_end && (*doc->at == '{' || *doc->at == '[') &&
           marey__document_window_end(doc) - doc->at < MAREY_TRACE_LOOK_BYTES)
        MAREY_TRY(marey__document_next_window(doc, err));
    *is_next = *doc->at == '[' ? looks_joined(doc)
                               : marey__resync_is_trace(doc->at, marey__document_window_end(doc));
    return MAREY_OK;
}

/* What follows is no document. One may follow that, but not behind so many that only look so. */
#define MOST_FALSE_HEADS 64

static enum marey_status pass_false_head(struct marey_document *doc, struct marey_error *err)
{
    marey__document_note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    if (++doc->n_false_heads > MOST_FALSE_HEADS) {
        marey__document_note_cut(doc, doc->at);
        return marey__document_skip_rest(doc, err);
    }
    doc->at++;
    bool is_next = false;
    MAREY_TRY(pass_punctuation(doc, &is_next, err));
    return is_next ? MAREY_OK : marey__document_skip_to_document(doc, err);
}

/* In a list of documents: passes the comma before the next one, or the end of the list. */
static enum marey_status pass_wrapping(struct marey_document *doc, struct marey_error *err)
{
    if (!doc->is_wrapped)
        return MAREY_OK;
    const bool is_end = doc->at >= marey__document_window_end(doc);
    if (is_end)
        marey__document_note_cut(doc, doc->at);
    doc->is_wrapped = !is_end && *doc->at != ']';
    if (is_end || (*doc->at != ',' && *doc->at != ']'))
        return MAREY_OK;
    doc->at++;
    return marey__document_skip_to_token(doc, err);
}

/* Where nothing can be read because of it. */
static enum marey_status fail_too_long(const struct marey_document *doc, struct marey_error *err)
{
    return marey__fail_at(err, MAREY_LIMIT, (int64_t)marey__document_byte(doc, doc->at),
                          "cannot read '%s': a record or member of more than %zu MiB at byte %llu",
                          doc->feed.place->path, doc->feed.longest_bytes >> 20,
                          (unsigned long long)marey__document_byte(doc, doc->at));
}

static enum marey_status read_all(struct marey_document *doc, struct marey_error *err)
{
    MAREY_TRY(begin_text(doc, err));
    MAREY_TRY(read_source(doc, err));
    for (;;) {
        MAREY_TRY(pass_wrapping(doc, err));
        if (doc->at >= marey__document_window_end(doc))
            break;
        bool has_more = false;
        MAREY_TRY(is_joined(doc, &has_more, err));
        if (has_more)
            MAREY_TRY(read_joined(doc, err));
        else
            MAREY_TRY(pass_false_head(doc, err));
    }
    MAREY_TRY(check_file(doc, err));
    if (has_whole_gzip(doc) && (doc->feed.gunzip.is_damaged || doc->feed.gunzip.has_bad_sum))
        marey__document_note(doc, MAREY_REASON_BAD_GZIP, doc->at);
    marey__builder_source(doc->builder)->size_bytes =
        marey__document_byte(doc, doc->at) - doc->source_from;
    return MAREY_OK;
}

enum marey_status marey__document_read(struct marey_kineto *kineto, const struct marey_place *place,
                                       const struct marey_alloc *alloc,
                                       const struct marey_reading *reading,
                                       struct marey_stretches *kept, struct marey_error *err)
{
    struct marey_document doc = {.kineto = kineto, .builder = kineto->builder};

    doc.scanner = marey__scanner_choose(reading->portable_only);
    const struct marey_feed_plan plan = {
        .window_bytes = reading->window_bytes,
        .longest_bytes = reading->longest_bytes == 0 ? MAREY_LONGEST_BYTES : reading->longest_bytes,
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
    enum marey_status status = has_all ? read_all(&doc, err) : marey__fail_nomem(err);
    if (status == MAREY_FORMAT && doc.feed.is_stopped)
        status = fail_too_long(&doc, err);
    marey__checker_free(doc.walk.checker);
    marey__feed_close(&doc.feed);
    marey__dealloc(alloc, doc.walk.learnt, 1, sizeof *doc.walk.learnt);
    return status;
}
