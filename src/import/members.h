/*
 * members.h - the members of the head and the tail of a document.
 */
#ifndef MAREY_SRC_IMPORT_MEMBERS_H
#define MAREY_SRC_IMPORT_MEMBERS_H

#include "import/kineto.h"

/* What the member "marey" tells of a recording; it counts once the source is whole. */
struct marey_told_recording {
    uint64_t n_lost;
    uint64_t n_open;
    bool is_clock_unsure;
};

struct marey_members {
    struct marey_kineto *kineto; /* borrowed */
    bool has_rank;               /* one of the source's members gave it */
    bool checks_all;             /* the text of their values as well */
    struct marey_told_recording recording;
};

/* Takes one for the source at hand; of those with the same key the last counts. `offset` is
 * where the ledger says that it stands, the key its raw text.
 * \fails MAREY_NOMEM */
enum marey_status marey__members_take(struct marey_members *members, struct marey_str key,
                                      const struct marey_value *value, uint64_t offset,
                                      struct marey_error *err);

/* Counts what the members of a source tell, once it is whole. */
void marey__members_finish(struct marey_members *members);

/* Takes all members of an object, up to what is no JSON. \fails MAREY_NOMEM */
enum marey_status marey__members_take_all(struct marey_members *members, struct marey_str head,
                                          uint64_t offset, struct marey_error *err);

#endif
