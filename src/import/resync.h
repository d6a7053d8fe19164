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

/* The brace of the first record in [from, end): an object with a ph of its own behind a closing
 * brace and a comma. NULL: none begins there, as far as the text goes. */
const char *marey__resync_record(const char *from, const char *end);

/* The bracket that closes the list of records: what follows it up to `end`, where the text ends, is
 * the end of a document (`]`, or `]` and members and `}`). NULL: there is none. */
const char *marey__resync_list_end(const char *from, const char *end);

/* Behind the bracket of `"traceEvents": [`. NULL: it is not in [from, end). */
const char *marey__resync_list(const char *from, const char *end);

/* True if a document begins at `at`: a brace and a member that writers put first. */
bool marey__resync_is_document(const char *at, const char *end);

/* The first document that begins in the text; NULL if none does. */
const char *marey__resync_document(const char *from, const char *end);

#endif
