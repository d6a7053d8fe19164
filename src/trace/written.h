/*
 * written.h - what was left out, mended or known to be missing when a file was written.
 *
 * Export counts it by reason in two members of the head; who reads the file finds it there:
 *
 *     "mareyLeftOut": {"partial": 1},       records that are not in the file
 *     "mareyRepaired": {"truncated": 1},    all else that its text does not show any more
 *
 * A trace sums the members of all its sources. What mattered for the numbers is lost_before in the
 * ledger, the rest mended_before.
 */
#ifndef MAREY_SRC_TRACE_WRITTEN_H
#define MAREY_SRC_TRACE_WRITTEN_H

#include "trace/ledger.h"

#define MAREY_WRITTEN_LEFT_OUT "mareyLeftOut"
#define MAREY_WRITTEN_REPAIRED "mareyRepaired"

/* Adds what a member of a head counts, NULL for nowhere; false and nothing if it is none of the
 * two, or no object. Reasons that are not known here, and what is no count, are other_version. */
bool marey__written_read(struct marey_str key, struct marey_str json, struct marey_account *before);

/* Whether a reason is counted among the records that are not in a file. */
bool marey__written_is_left_out(enum marey_reason reason);

/* Reads the members of all heads of a trace that is about to be finished. */
void marey__note_written(struct marey_trace *trace);

#endif
