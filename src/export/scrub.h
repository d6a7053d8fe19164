/*
 * scrub.h - what of a trace may be shown to anybody.
 *
 * Lists of what is kept, not of what is removed: a member that nobody knows is not in the
 * result. docs/scrub.md tells users what is kept and what cannot be promised.
 */
#ifndef MAREY_SRC_EXPORT_SCRUB_H
#define MAREY_SRC_EXPORT_SCRUB_H

#include "base/text.h"
#include "export/scrub_number.h"
#include "marey/trace.h"

/* Where members stand. */
enum marey_scrub_place {
    MAREY_SCRUB_HEAD = 0,
    MAREY_SCRUB_ARGS = 1,
    MAREY_SCRUB_COUNTER = 2 /* args of a counter: all numbers are its values */
};

/* Numbers in place of texts: of ids (pids, tids, correlations and all that ties records, which are
 * one kind), of names and of categories. */
struct marey_scrub {
    struct marey_scrub_numbers ids;
    struct marey_scrub_numbers names;
    struct marey_scrub_numbers categories;
};

void marey__scrub_init(struct marey_scrub *scrub, const struct marey_alloc *alloc);
void marey__scrub_release(struct marey_scrub *scrub);

/* Adds the members of a JSON object that may be shown, as an object; nothing and false if there
 * are none, or if the text is no object. */
bool marey__scrub_object(struct marey_scrub *scrub, enum marey_scrub_place place,
                         struct marey_str json, struct marey_textbuf *out);

/* Adds the value of a member of a head; false and nothing if it may not be shown, or if it is to be
 * an account and counts nothing. */
bool marey__scrub_member(struct marey_scrub *scrub, struct marey_str key, struct marey_str json,
                         struct marey_textbuf *out);

/* Adds the args of a metadata record; false and nothing if the record is not to be shown. */
bool marey__scrub_meta_args(struct marey_scrub *scrub, struct marey_str name, struct marey_str json,
                            struct marey_textbuf *out);

/* Of what a name is, and whether it may be shown. A call into the runtime owns device operations if
 * its name has a word of a launch. */
enum marey_scrub_how {
    MAREY_SCRUB_ANY = 0,
    MAREY_SCRUB_CALL = 1,     /* no file, and "scrubbed N launch" */
    MAREY_SCRUB_NUMBERED = 2, /* a number whatever it is */
    MAREY_SCRUB_NUMBERED_CALL = 3
};

/* Adds a name as it is if nothing in it looks like a part of a path, an address or a value; else
 * the file of code in which it ends, as far as a known package; else "scrubbed N". A beginning that
 * readers look for is kept ("ProfilerStep#"). */
void marey__scrub_name(struct marey_scrub *scrub, struct marey_str text, enum marey_scrub_how how,
                       struct marey_textbuf *out);

/* Whether a part of the name stands as a number, and which. */
bool marey__scrub_is_numbered(struct marey_str text, enum marey_scrub_how how,
                              struct marey_str *numbered);

/* Whether a name is added as it is. */
bool marey__scrub_is_harmless(struct marey_str text);

/* Adds the frames of a stack, parted by ";", each as a file of code with line and function, else
 * "scrubbed". */
void marey__scrub_stack(struct marey_str text, struct marey_textbuf *out);

/* Adds a category: one that profilers write as it is, another as "category N". */
void marey__scrub_category(struct marey_scrub *scrub, struct marey_str text,
                           struct marey_textbuf *out);

/* Whether the text of a pid, a tid or an id is shown: numbers and words of the profiler are. */
bool marey__scrub_keeps_id(struct marey_str text);

/* Adds it as it is if it is shown, else "id N". */
void marey__scrub_id(struct marey_scrub *scrub, struct marey_str text, struct marey_textbuf *out);

#endif
