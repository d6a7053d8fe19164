/*
 * document_text.c - where a document is in its text: windows, places, and how reading goes on
 * behind what makes no sense.
 */
#include "base/error.h"
#include "import/document_reader.h"
#include "import/resync.h"

uint64_t marey__document_byte(const struct marey_document *doc, const char *at)
{
    return doc->feed.offset + (uint64_t)(at - doc->feed.text);
}

const char *marey__document_window_end(const struct marey_document *doc)
{
    return doc->feed.text + doc->feed.len;
}

enum marey_status marey__document_fail_at(const struct marey_document *doc, const char *at,
                                          const char *what, struct marey_error *err)
{
    const uint64_t byte = marey__document_byte(doc, at);
    const bool is_end = doc->feed.is_end && at >= marey__document_window_end(doc);

    return marey__fail_at(err, MAREY_FORMAT, (int64_t)byte, "cannot read '%s': %s at byte %llu%s",
                          doc->feed.place->path, what, (unsigned long long)byte,
                          is_end ? ", where the file ends" : "");
}

enum marey_status marey__document_fail_sniffed(const struct marey_document *doc, const char *what,
                                               struct marey_error *err)
{
    return marey__fail_at(err, MAREY_FORMAT, 0, "cannot read '%s' as a trace: %s",
                          doc->feed.place->path, what);
}

enum marey_status marey__document_next_window(struct marey_document *doc, struct marey_error *err)
{
    MAREY_TRY(marey__feed_next(&doc->feed, doc->at, err));
    doc->at = doc->feed.text;
    if (MAREY_OFFSET_SOURCE(doc->feed.offset + doc->feed.len) != 0)
        return marey__fail(err, MAREY_LIMIT, "cannot read '%s': more than 256 TiB of text",
                           doc->feed.place->path);
    return MAREY_OK;
}

bool marey__document_is_tail(const struct marey_document *doc, const char *fail)
{
    return !doc->feed.is_end && marey__document_window_end(doc) - fail < MAREY_WALK_TAIL_BYTES;
}

const char *marey__skip_white(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

enum marey_status marey__document_skip_to_token(struct marey_document *doc, struct marey_error *err)
{
    for (;;) {
        doc->at = marey__skip_white(doc->at);
        if (doc->at < marey__document_window_end(doc) || doc->feed.is_end)
            return MAREY_OK;
        MAREY_TRY(marey__document_next_window(doc, err));
    }
}

uint64_t marey__document_offset(const struct marey_document *doc, const char *at)
{
    return MAREY_OFFSET(doc->kineto->source_idx, marey__document_byte(doc, at));
}

void marey__document_note(struct marey_document *doc, enum marey_reason reason, const char *at)
{
    marey__account_note(doc->kineto->account, reason, marey__document_offset(doc, at));
}

void marey__document_note_cut(struct marey_document *doc, const char *at)
{
    if (!doc->is_cut)
        marey__document_note(doc, MAREY_REASON_TRUNCATED, at);
    doc->is_cut = true;
}

enum marey_status marey__document_skip_rest(struct marey_document *doc, struct marey_error *err)
{
    doc->is_over = true;
    for (;;) {
        doc->at = marey__document_window_end(doc);
        if (doc->feed.is_end)
            return MAREY_OK;
        MAREY_TRY(marey__document_next_window(doc, err));
    }
}

/* So far one kind of what begins is looked for before the other: it may be far behind many of that.
 */
#define FIND_BYTES ((ptrdiff_t)1 << 12)

/* What begins as a trace does, in the window up to `until`. */
static const char *find_document(const struct marey_document *doc, const char *until)
{
    const char *end = marey__document_window_end(doc);

    for (const char *from = doc->at; from < until;) {
        const char *to = until - from > FIND_BYTES ? from + FIND_BYTES : until;
        const char *trace = marey__resync_trace(from, to, end);
        const char *known = marey__resync_document(from, trace != NULL ? trace : to, end);
        if (known != NULL || trace != NULL)
            return known != NULL ? known : trace;
        from = to;
    }
    return NULL;
}

enum marey_status marey__document_skip_to_document(struct marey_document *doc,
                                                   struct marey_error *err)
{
    doc->is_over = true;
    for (;;) {
        const char *end = marey__document_window_end(doc);
        const bool is_short = end - doc->at <= MAREY_TRACE_LOOK_BYTES;
        const char *sure = is_short ? doc->at : end - MAREY_TRACE_LOOK_BYTES;
        const char *until = doc->feed.is_end ? end : sure;
        const char *next = find_document(doc, until);

        if (next != NULL || doc->feed.is_end) {
            doc->at = next != NULL ? next : end;
            return MAREY_OK;
        }
        doc->at = until;
        MAREY_TRY(marey__document_next_window(doc, err));
    }
}

enum marey_status marey__document_end_before(struct marey_document *doc, const char *at)
{
    marey__document_note_cut(doc, at);
    doc->walk.broken = NULL;
    doc->at = at;
    doc->is_over = true;
    return MAREY_OK;
}
