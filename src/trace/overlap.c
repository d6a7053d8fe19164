/*
 * overlap.c - operations that begin before another of their stream has ended.
 *
 * A stream works in order, and yet such records are normal: branches of a graph are told on one
 * stream, a kernel may begin while the one before it drains, and clocks round. They are counted
 * so that nobody takes a sum for a time.
 */
#include "trace/examine.h"

static void note_track(struct marey_trace *trace, const struct marey_track *track)
{
    const struct marey_slice_columns *slices = &trace->slices;
    int64_t reached_ns = INT64_MIN;

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const int64_t dur_ns = slices->dur_ns[i] == MAREY_UNKNOWN ? 0 : slices->dur_ns[i];
        if (slices->start_ns[i] < reached_ns)
            marey__account_note(&trace->account, MAREY_REASON_STREAM_OVERLAP, slices->offset[i]);
        if (slices->start_ns[i] + dur_ns > reached_ns)
            reached_ns = slices->start_ns[i] + dur_ns;
    }
}

void marey__note_overlaps(struct marey_trace *trace)
{
    for (size_t t = 0; t < trace->tracks.n; t++)
        if (trace->tracks.at[t].kind == MAREY_TRACK_STREAM)
            note_track(trace, &trace->tracks.at[t]);
}
