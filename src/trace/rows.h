/*
 * rows.h - putting built rows into the order of the model. All give false without memory.
 */
#ifndef MAREY_SRC_TRACE_ROWS_H
#define MAREY_SRC_TRACE_ROWS_H

#include "base/text.h"
#include "trace/model.h"

/* Orders slices by track and law 2, drops rows marked so, gives tracks their ranges and
 * carries the links along. The track of a row is expected in parent_idx. Tells whether slices of a
 * track may begin together. */
bool marey__sort_slices(struct marey_trace *trace, bool *begin_together);

/* ties.c: orders slices of one interval, kind and thread by their ids, where each has one. */
bool marey__order_ties(struct marey_trace *trace);

/* args.c: the last value that args give to a whole-number arg, up to their first fault;
 * MAREY_UNKNOWN if they give none. scratch->failed is set without memory. */
int64_t marey__args_int(struct marey_str args, enum marey_arg arg, struct marey_textbuf *scratch);

/* Rows, not sorted yet, by track; of the tracks that are wanted in the order that they will have.
 * \shape is_wanted[n tracks], perm[n slices], first[n tracks + 1] */
bool marey__order_slices(const struct marey_trace *trace, const bool *is_wanted, uint32_t *perm,
                         uint32_t *first);

/* The same for some rows whose durations have changed since they were in order: what is alike stays
 * as it was. */
bool marey__order_again(const struct marey_trace *trace, uint32_t *row, size_t n);

/* moved.c: moves the slices of a track, which lie together from `first` on, into the order of
 * row[n]; links and the raw durations of the track, which stand by slice from `first_raw` on,
 * follow. */
bool marey__move_slices(struct marey_trace *trace, size_t first_raw, size_t first,
                        const uint32_t *row, size_t n);

/* clip.c: ends durations that cannot be at the next operation's start. */
bool marey__clip_wild(struct marey_trace *trace);

/* clip.c: raises *last_ns to the last end that the rows of a stream will have when that is done.
 * Rows come in their order and leave in the one that they will have; open ones do not count.
 * Durations stay. */
bool marey__last_end(struct marey_trace *trace, uint32_t *row, size_t n, int64_t *last_ns);

bool marey__sort_points(struct marey_trace *trace, struct marey_point_columns *points);
bool marey__sort_flows(struct marey_trace *trace);
bool marey__sort_async_spans(struct marey_trace *trace);

/* tracks.c: sorts the tracks and renumbers them in all rows; gives them the names that
 * metadata records hold. */
bool marey__sort_tracks(struct marey_trace *trace);
bool marey__name_tracks(struct marey_trace *trace);

#endif
