/*
 * clip.c - durations that cannot be: an operation that runs over whole successors.
 *
 * A stream works in order, so that an operation which lasts over two or more of its successors from
 * begin to end, and a hundred times as long as is usual there, has a damaged duration: one such
 * record can be most of all device time. It ends where the next one begins, and its raw
 * duration is kept aside for who wants to show it.
 *
 * A slice that never ends has no duration to be judged by: where it ends follows from the others,
 * so that two that ended are enough, of those that begin with it or later. It is no successor that
 * ended before it is cut itself.
 *
 * What is left is judged again by what is cut, as who reads the repaired file does: in the order
 * that slices then have, since of two that begin together the longer one goes first.
 */
#include "base/sort.h"
#include "trace/build.h"
#include "trace/rows.h"

/* So many times the median of its stream is beyond what work lasts. */
#define WILD_TIMES 100
/* What a stream made for it needs more rounds for is left as it is. */
#define MOST_ROUNDS 16

struct durations {
    const int64_t *dur_ns;
};

static int compare_durations(const void *ctx, uint32_t a, uint32_t b)
{
    const struct durations *durations = ctx;
    if (durations->dur_ns[a] != durations->dur_ns[b])
        return durations->dur_ns[a] < durations->dur_ns[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The rows of a stream in their order. */
struct stream {
    uint32_t *row; /* NULL: they lie together, from `first` on */
    uint32_t first;
    size_t n;
};

static uint32_t row_of(const struct stream *stream, size_t i)
{
    return stream->row != NULL ? stream->row[i] : stream->first + (uint32_t)i;
}

/* Whether a slice never ended and was not cut. */
static bool is_open(const struct marey_trace *trace, uint32_t row)
{
    return (trace->slices.flags[row] & (MAREY_SLICE_OPEN | MAREY_ROW_CUT)) == MAREY_SLICE_OPEN;
}

/* The lower median of the known durations of a stream; there is one. False without memory. */
static bool find_median(const struct marey_trace *trace, const struct stream *stream,
                        int64_t *median_ns)
{
    const struct durations durations = {trace->slices.dur_ns};
    uint32_t *order = marey__alloc(&trace->alloc, stream->n, sizeof *order);
    size_t n = 0;

    if (order == NULL)
        return false;
    for (size_t i = 0; i < stream->n; i++) {
        const uint32_t row = row_of(stream, i);
        if (durations.dur_ns[row] != MAREY_UNKNOWN && !is_open(trace, row))
            order[n++] = row;
    }
    const bool is_done =
        marey__sort_indices(&trace->alloc, order, n, compare_durations, &durations);
    if (is_done)
        *median_ns = durations.dur_ns[order[(n - 1) / 2]];
    marey__dealloc(&trace->alloc, order, stream->n, sizeof *order);
    return is_done;
}

/* What lies behind a slice of the stream. */
struct behind {
    int64_t first_end_ns; /* the two earliest ends */
    int64_t second_end_ns;
    int64_t next_ns;    /* the nearest later start; MAREY_UNKNOWN if there is none */
    int64_t counted_ns; /* a start, and how many ended of those that begin then or later */
    size_t n_ended;
};

static void take_end(struct behind *behind, int64_t end_ns)
{
    if (end_ns < behind->first_end_ns) {
        behind->second_end_ns = behind->first_end_ns;
        behind->first_end_ns = end_ns;
    } else if (end_ns < behind->second_end_ns) {
        behind->second_end_ns = end_ns;
    }
}

/* Whether a slice lasts over whole successors and longer than is usual; all are judged by the
 * median before one is cut. What never ended is around all that begin with it or later. False
 * without memory.
 */
static bool judge(const struct marey_trace *trace, const struct stream *stream,
                  const struct behind *behind, uint32_t row, int64_t *median_ns, bool *is_wild)
{
    const int64_t dur_ns = trace->slices.dur_ns[row];
    const int64_t end_ns = trace->slices.start_ns[row] + dur_ns;
    const bool has_end = !is_open(trace, row);

    *is_wild = false;
    if (behind->next_ns == MAREY_UNKNOWN || behind->next_ns >= end_ns ||
        (has_end ? behind->second_end_ns > end_ns : behind->n_ended < 2))
        return true;
    if (*median_ns == MAREY_UNKNOWN && !find_median(trace, stream, median_ns))
        return false;
    *is_wild = !has_end || (*median_ns > 0 && (dur_ns - 1) / WILD_TIMES >= *median_ns);
    return true;
}

/* Keeps the raw duration of a slice that is cut; of what never ended it is what was left for it. */
static bool clip_slice(struct marey_trace *trace, uint32_t row, int64_t end_ns)
{
    void *at = trace->raw_durs.at;
    if (!marey__grow(&trace->alloc, &at, &trace->raw_durs.capacity, trace->raw_durs.n + 1,
                     sizeof *trace->raw_durs.at))
        return false;
    trace->raw_durs.at = at;
    trace->raw_durs.at[trace->raw_durs.n++] =
        (struct marey_raw_dur){.slice_idx = row, .dur_ns = trace->slices.dur_ns[row]};
    trace->slices.dur_ns[row] = end_ns - trace->slices.start_ns[row];
    if (is_open(trace, row))
        trace->slices.flags[row] |= MAREY_ROW_CUT;
    return true;
}

/* Counts what ended, two at the most behind the i-th slice, of those that begin with it or later,
 * whatever the order of the former is. */
static void count_ended(const struct marey_trace *trace, const struct stream *stream, size_t i,
                        struct behind *behind)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const int64_t start_ns = slices->start_ns[row_of(stream, i)];

    behind->counted_ns = start_ns;
    behind->n_ended =
        (behind->first_end_ns != INT64_MAX) + (size_t)(behind->second_end_ns != INT64_MAX);
    while (i-- > 0 && slices->start_ns[row_of(stream, i)] == start_ns) {
        const uint32_t row = row_of(stream, i);
        behind->n_ended += slices->dur_ns[row] != MAREY_UNKNOWN && !is_open(trace, row);
    }
}

static void raise_to(int64_t *last_ns, int64_t ns)
{
    *last_ns = ns > *last_ns ? ns : *last_ns;
}

/* From the last slice to the first, so that all behind one has been seen. Wild ones are cut;
 * *last_ns becomes the last end that then is left; of a slice of unknown duration it is its start.
 */
static bool clip_once(struct marey_trace *trace, const struct stream *stream, int64_t *last_ns)
{
    const struct marey_slice_columns *slices = &trace->slices;
    struct behind behind = {INT64_MAX, INT64_MAX, MAREY_UNKNOWN, MAREY_UNKNOWN, 0};
    int64_t median_ns = MAREY_UNKNOWN;
    int64_t after_ns = INT64_MIN; /* the start of the slice behind */

    *last_ns = INT64_MIN;
    for (size_t i = stream->n; i-- > 0;) {
        const uint32_t row = row_of(stream, i);
        const int64_t start_ns = slices->start_ns[row];
        const int64_t dur_ns = slices->dur_ns[row];
        const bool has_end = !is_open(trace, row);
        bool is_wild = false;
        if (after_ns > start_ns)
            behind.next_ns = after_ns;
        if (!has_end && behind.counted_ns != start_ns)
            count_ended(trace, stream, i, &behind);
        after_ns = start_ns;
        if (dur_ns == MAREY_UNKNOWN) {
            raise_to(last_ns, start_ns);
            continue;
        }
        if (!judge(trace, stream, &behind, row, &median_ns, &is_wild) ||
            (is_wild && !clip_slice(trace, row, behind.next_ns)))
            return false;
        if (!has_end)
            continue;
        raise_to(last_ns, start_ns + slices->dur_ns[row]);
        take_end(&behind, start_ns + dur_ns);
    }
    return true;
}

/* Cut slices go where their durations say now. The rows are listed from then on. */
static bool order_again(const struct marey_trace *trace, struct stream *stream)
{
    if (stream->row == NULL) {
        uint32_t *row = marey__alloc(&trace->alloc, stream->n, sizeof *row);
        if (row == NULL)
            return false;
        for (size_t i = 0; i < stream->n; i++)
            row[i] = stream->first + (uint32_t)i;
        stream->row = row;
    }
    return marey__order_again(trace, stream->row, stream->n);
}

static bool clip_stream(struct marey_trace *trace, struct stream *stream, int64_t *last_ns)
{
    for (int round = 0; round < MOST_ROUNDS; round++) {
        const size_t n_before = trace->raw_durs.n;
        if (!clip_once(trace, stream, last_ns))
            return false;
        if (trace->raw_durs.n == n_before)
            break;
        if (!order_again(trace, stream))
            return false;
    }
    return true;
}

/* Whether slices that never ended were cut is asked only here. */
static void forget_cuts(struct marey_trace *trace)
{
    for (size_t i = 0; i < trace->raw_durs.n; i++)
        trace->slices.flags[trace->raw_durs.at[i].slice_idx] &= (uint8_t)~MAREY_ROW_CUT;
}

bool marey__last_end(struct marey_trace *trace, uint32_t *row, size_t n, int64_t *last_ns)
{
    int64_t stream_ns = INT64_MIN;
    const bool is_done = clip_stream(trace, &(struct stream){.row = row, .n = n}, &stream_ns);

    for (size_t i = 0; i < trace->raw_durs.n; i++)
        trace->slices.dur_ns[trace->raw_durs.at[i].slice_idx] = trace->raw_durs.at[i].dur_ns;
    forget_cuts(trace);
    trace->raw_durs.n = 0;
    raise_to(last_ns, stream_ns);
    return is_done;
}

static int compare_raw_durs(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_raw_dur *raw = ctx;
    return raw[a].slice_idx < raw[b].slice_idx ? -1 : raw[a].slice_idx > raw[b].slice_idx;
}

/* Raw durations by slice, from the i-th on. */
static bool order_raw_durs(struct marey_trace *trace, size_t i)
{
    if (i == trace->raw_durs.n)
        return true;
    struct marey_raw_dur *raw = trace->raw_durs.at + i;
    return marey__sort_structs(&trace->alloc, raw, trace->raw_durs.n - i, sizeof *raw,
                               compare_raw_durs, raw);
}

/* A stream whose rows lie together, before and after. */
static bool clip_track(struct marey_trace *trace, const struct marey_track *track)
{
    struct stream stream = {.first = track->first_slice, .n = track->n_slices};
    const size_t first_raw = trace->raw_durs.n;
    int64_t last_ns = INT64_MIN; /* nobody asks for it */
    bool is_done = clip_stream(trace, &stream, &last_ns);

    if (stream.row != NULL)
        is_done = is_done && order_raw_durs(trace, first_raw) &&
                  marey__move_slices(trace, first_raw, stream.first, stream.row, stream.n);
    marey__dealloc(&trace->alloc, stream.row, stream.n, sizeof *stream.row);
    return is_done;
}

bool marey__clip_wild(struct marey_trace *trace)
{
    for (size_t t = 0; t < trace->tracks.n; t++)
        if (trace->tracks.at[t].kind == MAREY_TRACK_STREAM &&
            !clip_track(trace, &trace->tracks.at[t]))
            return false;
    if (!order_raw_durs(trace, 0))
        return false;
    forget_cuts(trace);
    for (size_t i = 0; i < trace->raw_durs.n; i++)
        marey__account_note(&trace->account, MAREY_REASON_WILD_DURATION,
                            trace->slices.offset[trace->raw_durs.at[i].slice_idx]);
    return true;
}

const struct marey_raw_dur *marey_trace_raw_durs(const struct marey_trace *trace, size_t *n)
{
    *n = trace->raw_durs.n;
    return trace->raw_durs.at;
}

int64_t marey_trace_raw_dur_ns(const struct marey_trace *trace, uint32_t slice_idx)
{
    size_t low = 0;
    size_t high = trace->raw_durs.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (trace->raw_durs.at[middle].slice_idx < slice_idx)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trace->raw_durs.n && trace->raw_durs.at[low].slice_idx == slice_idx
               ? trace->raw_durs.at[low].dur_ns
               : trace->slices.dur_ns[slice_idx];
}
