/*
 * sniff.h - what a file seems to be that is no trace, in words for a message.
 */
#ifndef MAREY_SRC_IMPORT_SNIFF_H
#define MAREY_SRC_IMPORT_SNIFF_H

#include "marey/base.h"

/* What text that does not begin with '{' or '[' looks like, such as "a zip archive".
 * Never NULL. \owns static text */
const char *marey__sniff_bytes(struct marey_str head);

/* What a list whose first element is not an object looks like. */
const char *marey__sniff_list(struct marey_str head);

#endif
