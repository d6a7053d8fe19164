/*
 * document_reader.h - what the files share that read documents.
 */
#ifndef MAREY_SRC_IMPORT_DOCUMENT_READER_H
#define MAREY_SRC_IMPORT_DOCUMENT_READER_H

#include <stdint.h>

#include "import/feed.h"
#include "import/kineto.h"
#include "import/members.h"
#include "import/walk.h"

#define MAREY_NO_LIST UINT64_MAX

struct marey_document {
    struct marey_feed feed;
    const struct marey_scanner *scanner;
    struct marey_kineto *kineto;
    struct marey_builder *builder;
    struct marey_walk walk;
    struct marey_members members;
    const char *at; /* how far the window has been read */
    /* Read of records that are broken, up to where that shows. */
    uint64_t vain_bytes;
    bool has_list;
    bool in_object;      /* whose end has not been met */
    bool has_parts;      /* the list changed to another source */
    uint32_t parts_from; /* the first of them */
    bool is_wrapped;     /* the documents are elements of a list */
    bool is_over; /* the document makes no more sense; doc->at is at the next one or the end */
    unsigned n_false_heads; /* places that looked like a document and were none, since the last */
    uint64_t list_byte;     /* behind the bracket of the next list with a name, if before it */
    bool is_cut;
    uint64_t source_from;       /* byte at which the source begins */
    uint64_t expect_at;         /* the byte from which the rest is estimated next */
    uint64_t n_broken;          /* records of kineto's that could not be read */
    struct marey_error broken;  /* the first of them */
    bool has_trace;             /* one of the documents is a trace */
    struct marey_error refusal; /* why the first that is none is none */
};

/* document_text.c. The byte of the file, or the offset of a record, that a place in the window is.
 */
uint64_t marey__document_byte(const struct marey_document *doc, const char *at);
uint64_t marey__document_offset(const struct marey_document *doc, const char *at);

/* Behind its last byte. */
const char *marey__document_window_end(const struct marey_document *doc);

/* Always MAREY_FORMAT, with the place or with what the file is. */
enum marey_status marey__document_fail_at(const struct marey_document *doc, const char *at,
                                          const char *what, struct marey_error *err);
enum marey_status marey__document_fail_sniffed(const struct marey_document *doc, const char *what,
                                               struct marey_error *err);

/* Brings more text behind what doc->at still needs. */
enum marey_status marey__document_next_window(struct marey_document *doc, struct marey_error *err);

/* True if a failure at `fail` may be cured by more text. */
bool marey__document_is_tail(const struct marey_document *doc, const char *fail);

/* The next byte that is no white space. */
const char *marey__skip_white(const char *at);

/* Moves to the next byte that is no white space; it may be the end of the text. */
enum marey_status marey__document_skip_to_token(struct marey_document *doc,
                                                struct marey_error *err);

/* Counts a reason that has been met at a place. */
void marey__document_note(struct marey_document *doc, enum marey_reason reason, const char *at);

/* Once a file, whatever of it is cut. */
void marey__document_note_cut(struct marey_document *doc, const char *at);

/* Goes to the end of the text. */
enum marey_status marey__document_skip_rest(struct marey_document *doc, struct marey_error *err);

/* This document makes no more sense: goes to the next one that begins at or behind doc->at, or to
 * the end of the text. */
enum marey_status marey__document_skip_to_document(struct marey_document *doc,
                                                   struct marey_error *err);

/* The document ends without an end of its own, and another begins at `at`. */
enum marey_status marey__document_end_before(struct marey_document *doc, const char *at);

/* document_part.c. Gives the source what is known at its end. */
void marey__document_finish_source(struct marey_document *doc);

/* Templates know the tracks of another source. */
void marey__document_forget_templates(struct marey_document *doc);

/* Begins another source of the same file. */
enum marey_status marey__document_begin_further(struct marey_document *doc,
                                                struct marey_error *err);

/* Behind the marker of a part: what follows is of another source, which has its own tracks. */
enum marey_status marey__document_begin_part(struct marey_document *doc, struct marey_error *err);

/* document_list.c. Reads all windows of a list of records; doc->at stands behind its '['. A bracket
 * behind which records follow does not end it. */
enum marey_status marey__document_read_list(struct marey_document *doc, struct marey_error *err);

/* Behind what looked like the end of the list or of its document: reads on where records follow. */
enum marey_status marey__document_resume(struct marey_document *doc, bool *is_resumed,
                                         struct marey_error *err);

/* The same for records without a list around them, up to the end of the text. */
enum marey_status marey__document_read_lines(struct marey_document *doc, struct marey_error *err);

/* document_head.c. Reads an object of members, the list among them; doc->at stands at its '{'. */
enum marey_status marey__document_read_object(struct marey_document *doc, struct marey_error *err);

#endif
