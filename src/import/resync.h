/*
 * resync.h - where reading goes on behind text that is no record.
 *
 * All of them look at text only and keep nothing. A place is believed only if what follows it
 * makes sense, since the text before it may have left a string open: what looks like
 * structure may be the inside of a name, and the other way round.
 */
#ifndef MAREY_SRC_IMPORT_RESYNC_H
#define MAREY_SRC_IMPORT_RESYNC_H

#include <stdbool.h>

#include "base/str.h"

/* The brace of the first record behind a brace in [from, until) of text that ends at `end`: an
 * object with a ph of its own behind a closing brace and a comma, which lines do without. NULL:
 * none begins there, as far as the text goes. */
const char *marey__resync_record(const char *from, const char *until, const char *end,
                                 bool wants_comma);

/* The brace of the first record in [from, until) that no string of the text between can hold:
 * without a quote in that text none is open. NULL: none begins there, as far as the text goes. */
const char *marey__resync_unquoted(const char *from, const char *until, const char *end);

/* The brace of the first object with a ph of one letter in (from, until), whatever stands before
 * it, but in no object that is whole and behind which a record may go on: the record at `from` has
 * lost its end. NULL: there is none, as far as the text goes, or too many that have no end have
 * been tried. */
const char *marey__resync_torn(const char *from, const char *until, const char *end);

/* The brace of the first object in [from, until), where all before it are values that are whole,
 * each with a comma behind it: quotes among them leave no string open. NULL: there is none. */
const char *marey__resync_behind_values(const char *from, const char *until);

/* The brace of the first record that begins a line behind a line end in [from, until), for text
 * that has a record a line. NULL: none does, as far as the text goes. */
const char *marey__resync_line(const char *from, const char *until, const char *end);

/* The bracket that closes the list of records: what follows it up to `end`, where the text ends, is
 * the end of a document (`]`, or `]` and members and `}`), perhaps with words behind it that are
 * none of JSON. NULL: there is none, or too many brackets that are not it have been tried. */
const char *marey__resync_list_end(const char *from, const char *end);

/* Behind the bracket of `"traceEvents": [`. NULL: it is not in [from, end). */
const char *marey__resync_list(const char *from, const char *end);

/* The document that begins in [from, list), behind whose bracket `list` is, and has this list as a
 * member of its own. NULL: there is none, or too many that only begin so have been tried. */
const char *marey__resync_owner(const char *from, const char *list);

/* So much of the text tells whether a document begins at its first byte. */
#define MAREY_HEAD_LOOK_BYTES 64

/* True if a document begins at `at`: a brace and a member that writers put first. */
bool marey__resync_is_document(const char *at, const char *end);

/* The same for members that nothing but a trace begins with. */
bool marey__resync_begins_trace(const char *at, const char *end);

/* So much of the text tells whether a record begins at its first byte. */
#define MAREY_RECORD_LOOK_BYTES (1 << 14)

/* What the members of an object say of it, those that are whole in the text. */
struct marey_object_look {
    bool has_phase;  /* a ph that is a string */
    bool has_letter; /* of one byte, as those that mean something are */
    bool has_list;   /* a list that is named traceEvents: a document, what else it may have */
    bool is_cut;     /* the text ends in it */
    const char *end; /* behind it; NULL: it does not end in the text, or is no JSON */
};

/* Of an object at `at`, up to its list of records if it has one: that tells what it is. */
struct marey_object_look marey__resync_look(const char *at, const char *end);

/* True if a record begins at `at`: an object with a ph and without a list of records. */
bool marey__resync_is_record(const char *at, const char *end);

/* True if the members of an object begin at `at`, a ph among them: its brace is gone. */
bool marey__resync_is_headless(const char *at, const char *end);

/* So much of the text tells the following. */
#define MAREY_ELEMENT_LOOK_BYTES (MAREY_RECORD_LOOK_BYTES + MAREY_HEAD_LOOK_BYTES)

/* True if what begins at `at` as a document does is an element of the list that it stands in: a
 * record, or an object without a list of its own, behind which the list goes on or ends. */
bool marey__resync_is_element(const char *at, const char *end);

/* The first document that begins in [from, until) of text that ends at `end`; NULL if none does. */
const char *marey__resync_document(const char *from, const char *until, const char *end);

/* So much of the text tells the following, but for white space in it. */
#define MAREY_TRACE_LOOK_BYTES (2 * MAREY_RECORD_LOOK_BYTES)

/* True if a trace begins at `at`, whatever its first member: a list, or an object that has one, in
 * which a record stands first, or nothing in that of an object. */
bool marey__resync_is_trace(const char *at, const char *end);

/* The first of those that begin a line, or stand behind a zero, in [from, until) of text that ends
 * at `end`: elsewhere it may be in something else. NULL: none does. */
const char *marey__resync_trace(const char *from, const char *until, const char *end);

#endif
