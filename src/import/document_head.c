/*
 * document_head.c - the members before and behind the list. A head that is no JSON is passed over
 * if the list is found behind it, a tail up to the next document.
 */
#include "base/error.h"
#include "base/json.h"
#include "import/document_reader.h"
#include "import/resync.h"

/* Behind the list nothing is needed. */
static enum marey_status pass_tail(struct marey_document *doc, const char *fail,
                                   struct marey_error *err)
{
    if (doc->feed.is_end && fail >= marey__document_window_end(doc))
        marey__document_note_cut(doc, marey__document_window_end(doc));
    else
        marey__document_note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    return marey__document_skip_to_document(doc, err);
}

/* Before the list: it is looked for by its name. */
static enum marey_status pass_head(struct marey_document *doc, const char *fail,
                                   struct marey_error *err)
{
    struct marey_error broken = {0};
    const enum marey_status status =
        marey__document_fail_at(doc, fail, "text that is no JSON", &broken);
    const char *list = marey__resync_list(doc->at, marey__document_window_end(doc));

    while (list == NULL && !doc->feed.is_end) {
        MAREY_TRY(marey__document_next_window(doc, err));
        list = marey__resync_list(doc->at, marey__document_window_end(doc));
    }
    if (list == NULL) {
        if (err != NULL)
            *err = broken;
        return status;
    }
    const char *owner = marey__resync_owner(doc->at, list);
    if (owner != NULL) /* this document was cut in its head */
        return marey__document_end_before(doc, owner);
    marey__document_note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    doc->at = list;
    doc->has_list = true;
    return marey__document_read_list(doc, err);
}

static enum marey_status pass_frame(struct marey_document *doc, const char *fail,
                                    struct marey_error *err)
{
    return doc->has_list ? pass_tail(doc, fail, err) : pass_head(doc, fail, err);
}

struct member {
    struct marey_str key;
    struct marey_value value;
    const char *list; /* behind the '[' of traceEvents */
    const char *end;
    bool is_swallowed; /* the value is another document: this one lacks its end */
};

/* A value behind the list that begins as a trace does is one where it is longer than this. */
#define LONGEST_VALUE_BYTES ((ptrdiff_t)1 << 20)

/* Whether the document goes on, or ends, behind a value: not where nothing follows, or another
 * document does. Unsure, and false, where the text ends; then `at` is its end. */
static bool goes_on(const char **at)
{
    *at = marey__skip_white(*at);
    if (**at != ',')
        return **at == '}';
    *at = marey__skip_white(*at + 1);
    return **at != '{' && **at != '[' && **at != '\0';
}

/* A value behind the list that begins as a trace does: one of this document, or another document
 * behind this one, which was cut. False and *fail if more text may tell. */
static bool scan_doubtful(struct marey_document *doc, const char *at, struct member *member,
                          const char **fail)
{
    const char *end = marey__document_window_end(doc);
    const bool is_long = end - at > LONGEST_VALUE_BYTES;

    member->end =
        doc->scanner->value(at, is_long ? at + LONGEST_VALUE_BYTES : end, &member->value, fail);
    if (member->end != NULL) {
        *fail = member->end;
        if (goes_on(fail))
            return true;
    }
    if (!is_long && !doc->feed.is_end && *fail >= end)
        return false;
    member->is_swallowed = true;
    member->value = (struct marey_value){.text = {at, 1}, .type = MAREY_VALUE_OBJECT};
    member->end = at + 1;
    return true;
}

/* The brace with which another document may begin in a value that the head was cut before: it ends
 * a string, which the quote of its first key closes, or begins the value. Else NULL. */
static const char *doubtful_brace(const struct marey_value *value)
{
    size_t len = value->text.len;

    if (value->type == MAREY_VALUE_OBJECT)
        return value->text.ptr;
    if (value->type != MAREY_VALUE_STRING)
        return NULL;
    while (len > 0 && strchr(" \n\r\t", value->text.ptr[len - 1]) != NULL)
        len--;
    return len > 0 && value->text.ptr[len - 1] == '{' ? value->text.ptr + len - 1 : NULL;
}

/* Whether a value before the list is one of this document. False, too, and *fail at the end of the
 * text, if more of that may tell. */
static bool is_of_head(const struct marey_document *doc, const struct member *member,
                       const char **fail)
{
    const char *end = marey__document_window_end(doc);
    const char *brace = doubtful_brace(&member->value);

    *fail = member->end;
    if (brace == NULL)
        return true;
    if (!doc->feed.is_end && end - brace < MAREY_HEAD_LOOK_BYTES)
        return false;
    if (!marey__resync_is_document(brace, end))
        return true;
    if (member->value.type == MAREY_VALUE_STRING)
        return false;
    if (goes_on(fail) || **fail == '"') /* a comma is missing */
        return true;
    return (doc->feed.is_end || *fail < end) && !marey__resync_look(brace, member->end).has_list;
}

/* Reads a member from doc->at, which may be a comma; false and *fail if it does not end
 * in the window or is broken. */
static bool scan_member(struct marey_document *doc, struct member *member, const char **fail)
{
    const char *end = marey__document_window_end(doc);
    struct marey_value key;

    *member = (struct member){.list = NULL};
    *fail = doc->at;
    if (*doc->at != '"')
        return false;
    const char *at = doc->scanner->value(doc->at, end, &key, fail);
    if (at == NULL)
        return false;
    member->key = key.text;
    at = marey__skip_white(at);
    *fail = at;
    if (*at != ':')
        return false;
    at = marey__skip_white(at + 1);
    *fail = at;
    if (*at == '[' && marey__json_spells(key.text, "traceEvents")) {
        member->list = at + 1;
        return true;
    }
    if (*at == '{' && doc->has_list && !doc->feed.is_end && end - at < MAREY_HEAD_LOOK_BYTES)
        return false;
    if (doc->has_list && marey__resync_begins_trace(at, end))
        return scan_doubtful(doc, at, member, fail);
    member->end = doc->scanner->value(at, end, &member->value, fail);
    return member->end != NULL && (doc->has_list || is_of_head(doc, member, fail));
}

/* Where another document begins in a member behind the list, which ends in the middle of a value:
 * the quote of its first key ends a string, or all of it stands where a value does. Else NULL. */
static const char *find_swallowed(const struct marey_document *doc, const struct member *member)
{
    if (member->is_swallowed)
        return member->value.text.ptr;
    if (!doc->has_list || member->value.type != MAREY_VALUE_STRING)
        return NULL;
    const char *brace = doubtful_brace(&member->value);
    return brace != NULL && marey__resync_is_document(brace, marey__document_window_end(doc))
               ? brace
               : NULL;
}

/* Reads a member from doc->at, with enough behind it to see what follows. *is_whole is false if
 * there is none. */
static enum marey_status next_member(struct marey_document *doc, struct member *member,
                                     bool *is_whole, const char **fail, struct marey_error *err)
{
    for (;;) {
        *is_whole = scan_member(doc, member, fail);
        if (*is_whole) {
            const char *end = member->list != NULL ? member->list : member->end;
            if (doc->feed.is_end || !doc->has_list ||
                marey__document_window_end(doc) - end >= MAREY_HEAD_LOOK_BYTES)
                return MAREY_OK;
        } else if (!marey__document_is_tail(doc, *fail)) {
            return MAREY_OK;
        }
        MAREY_TRY(marey__document_next_window(doc, err));
    }
}

static enum marey_status read_member(struct marey_document *doc, struct marey_error *err)
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
            return marey__document_end_before(doc, swallowed);
        MAREY_TRY(marey__members_take(&doc->members, member.key, &member.value,
                                      marey__document_offset(doc, member.value.text.ptr), err));
        doc->at = member.end;
        return MAREY_OK;
    }
    if (doc->has_list) /* both are read */
        marey__document_note(doc, MAREY_REASON_DUPLICATE_KEY, doc->at);
    doc->at = member.list;
    doc->has_list = true;
    return marey__document_read_list(doc, err);
}

/* Before a member: passes commas where none is due. True at the end of the object, which is passed;
 * a comma before that is one too many as well. */
static bool pass_object_end(struct marey_document *doc, bool has_comma, enum marey_status *status,
                            struct marey_error *err)
{
    const uint64_t offset = marey__document_offset(doc, doc->at);
    bool is_odd = false;

    for (*status = marey__document_skip_to_token(doc, err); *status == MAREY_OK && *doc->at == ',';
         *status = marey__document_skip_to_token(doc, err)) {
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
static bool pass_member(struct marey_document *doc, enum marey_status *status,
                        struct marey_error *err)
{
    for (;;) {
        if (doc->is_over)
            return false;
        *status = marey__document_skip_to_token(doc, err);
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

/* Behind its last brace; goes on where that was not the end. */
static enum marey_status end_object(struct marey_document *doc, bool *is_end,
                                    struct marey_error *err)
{
    bool is_resumed = false;

    doc->in_object = false;
    if (doc->has_list)
        MAREY_TRY(marey__document_resume(doc, &is_resumed, err));
    doc->is_wrapped &= !is_resumed; /* the list around the document has ended as its own */
    MAREY_TRY(marey__document_skip_to_token(doc, err));
    *is_end = !is_resumed || doc->at >= marey__document_window_end(doc);
    return MAREY_OK;
}

enum marey_status marey__document_read_object(struct marey_document *doc, struct marey_error *err)
{
    enum marey_status status = MAREY_OK;
    bool is_end = false;

    doc->at++;
    if (pass_object_end(doc, false, &status, err) || status != MAREY_OK)
        return status;
    doc->in_object = true;
    while (!is_end) {
        MAREY_TRY(read_member(doc, err));
        while (!is_end && !pass_member(doc, &status, err)) {
            MAREY_TRY(status);
            MAREY_TRY(end_object(doc, &is_end, err));
        }
    }
    return MAREY_OK;
}
