/*
 * rows.h - putting built rows into the order of the model. All give false without memory.
 */
#ifndef MAREY_SRC_TRACE_ROWS_H
#define MAREY_SRC_TRACE_ROWS_H

#include "base/text.h"
#include "trace/model.h"

/* Orders slices by track and law 2, drops rows marked so, gives tracks their ranges and
 * carries the links along. The track of a row is expected in parent_idx. */
bool marey__sort_slices(struct marey_trace *trace);

/* ties.c: orders slices of one interval, kind and thread by their ids, where each has one. */
bool marey__order_ties(struct marey_trace *trace);

/* args.c: the last value that args give to a whole-number arg, up to their first fault;
 * MAREY_UNKNOWN if they give none. scratch->failed is set without memory. */
int64_t marey__args_int(struct marey_str args, enum marey_arg arg, struct marey_textbuf *scratch);

/* clip.c: ends durations that cannot be at the next operation's start. */
bool marey__clip_wild(struct marey_trace *trace);

bool marey__sort_points(struct marey_trace *trace, struct marey_point_columns *points);
bool marey__sort_flows(struct marey_trace *trace);
bool marey__sort_async_spans(struct marey_trace *trace);

/* tracks.c: sorts the tracks and renumbers them in all rows; gives them the names that
 * metadata records hold. */
bool marey__sort_tracks(struct marey_trace *trace);
bool marey__name_tracks(struct marey_trace *trace);

#endif
