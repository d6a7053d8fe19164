/*
 * document.h - one JSON document: head, list of records, tail.
 */
#ifndef MAREY_SRC_IMPORT_DOCUMENT_H
#define MAREY_SRC_IMPORT_DOCUMENT_H

#include "import/feed.h"
#include "import/kineto.h"
#include "import/walk.h"

/* How to read; all zero is the default. Tests set other values. */
struct marey_reading {
    size_t window_bytes;    /* of text held at once; 0: the default */
    size_t longest_bytes;   /* of a record or member; 0: the default */
    size_t n_threads;       /* 0: for each core one, up to a number */
    bool portable_only;     /* not the scanner for this machine */
    bool no_templates;      /* every record the generic way */
    uint64_t stretch_bytes; /* of text of a .gz between states that are kept; 0: the default */
    bool checks_all;        /* also what no member that is used says */
};

/* Reads a place as the source that the builder has just begun; of a .gz, states are kept in `kept`.
 * \fails MAREY_IO, MAREY_FORMAT, MAREY_LIMIT, MAREY_NOMEM */
enum marey_status marey__document_read(struct marey_kineto *kineto, const struct marey_place *place,
                                       const struct marey_alloc *alloc,
                                       const struct marey_reading *reading,
                                       struct marey_stretches *kept, struct marey_error *err);

#endif
