/*
 * apart.c - processes that share no moment with another one.
 *
 * Ranks of one run lie side by side in time. Files of several runs do not, and the window of
 * them all is mostly time in which nothing was recorded. Cycles of one process reach from the first
 * to the last.
 */
#include "base/sort.h"
#include "trace/examine.h"

static void widen(struct marey_source_span *span, const struct marey_slice_columns *slices,
                  const struct marey_track *track)
{
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const int64_t dur_ns = slices->dur_ns[i] == MAREY_UNKNOWN ? 0 : slices->dur_ns[i];
        const int64_t end_ns = slices->start_ns[i] + dur_ns;
        if (span->offset == MAREY_NO_OFFSET || slices->start_ns[i] < span->start_ns) {
            span->start_ns = slices->start_ns[i];
            span->offset = slices->offset[i];
        }
        span->end_ns = end_ns > span->end_ns ? end_ns : span->end_ns;
    }
}

static uint32_t process_of(const struct marey_trace *trace, const struct marey_track *track)
{
    return trace->sources.at[track->source_idx].cycle_of;
}

/* By start; what has no slices last. */
static int compare_spans(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_source_span *span = ctx;
    const bool is_empty_a = span[a].offset == MAREY_NO_OFFSET;
    const bool is_empty_b = span[b].offset == MAREY_NO_OFFSET;
    if (is_empty_a != is_empty_b)
        return is_empty_a ? 1 : -1;
    return (span[a].start_ns > span[b].start_ns) - (span[a].start_ns < span[b].start_ns);
}

bool marey__collect_spans(const struct marey_trace *trace, struct marey_examination *examination)
{
    const size_t n = trace->sources.n;
    void *at = examination->spans.at;
    if (n < 2)
        return true;
    if (!marey__grow(&trace->alloc, &at, &examination->spans.capacity, n,
                     sizeof *examination->spans.at))
        return false;
    examination->spans.at = at;
    examination->spans.n = n;
    for (size_t i = 0; i < n; i++)
        examination->spans.at[i] =
            (struct marey_source_span){INT64_MIN, INT64_MIN, MAREY_NO_OFFSET};
    for (size_t t = 0; t < trace->tracks.n; t++)
        widen(&examination->spans.at[process_of(trace, &trace->tracks.at[t])], &trace->slices,
              &trace->tracks.at[t]);
    return marey__sort_structs(&trace->alloc, at, n, sizeof *examination->spans.at, compare_spans,
                               at);
}

void marey__note_apart(struct marey_trace *trace, const struct marey_examination *examination)
{
    const struct marey_source_span *span = examination->spans.at;
    size_t n = 0;
    int64_t reached_ns = INT64_MIN;
    while (n < examination->spans.n && span[n].offset != MAREY_NO_OFFSET)
        n++;
    for (size_t i = 0; n > 1 && i < n; i++) {
        const bool is_behind = i == 0 || span[i].start_ns > reached_ns;
        reached_ns = span[i].end_ns > reached_ns ? span[i].end_ns : reached_ns;
        if (is_behind && (i + 1 == n || span[i + 1].start_ns > reached_ns))
            marey__account_note(&trace->account, MAREY_REASON_APART_IN_TIME, span[i].offset);
    }
}
