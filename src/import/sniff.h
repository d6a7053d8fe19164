/*
 * sniff.h - what a file seems to be that is no trace, in words for a message.
 */
#ifndef MAREY_SRC_IMPORT_SNIFF_H
#define MAREY_SRC_IMPORT_SNIFF_H

#include <stdbool.h>

#include "marey/base.h"

/* What text that does not begin with '{' or '[' looks like, such as "a zip archive".
 * Never NULL. \owns static text */
const char *marey__sniff_bytes(struct marey_str head);

/* Looks at the first bytes of a stream. False if they are only white space (perhaps behind a
 * byte order mark), so that more is needed; else *what is NULL if gzip or a JSON object or
 * list begins there, or what it seems to be. */
bool marey__sniff_start(struct marey_str head, const char **what);

/* So far a trace is looked for behind what is none, and so much text tells whether there is one. */
#define MAREY_JUNK_BYTES ((size_t)1 << 14)
#define MAREY_JUNK_LOOK_BYTES (2 * MAREY_JUNK_BYTES)

/* Where a trace begins behind lines of a log, JSON of something else, zeros: in the first line, or
 * where another begins without a space. NULL: text that begins as a trace does, a well-known kind
 * of file, or none is found. */
const char *marey__sniff_behind_junk(struct marey_str head);

/* True if the text begins as JSON does, in characters of two bytes. */
bool marey__sniff_is_wide(struct marey_str head);

/* What a list whose first element is not an object looks like. */
const char *marey__sniff_list(struct marey_str head);

#endif
