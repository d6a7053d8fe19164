/*
 * laws.c - both sides of the laws of conservation, each found in its own way.
 *
 * Self times come from the sweep of nest.c and unions from a running end; owned device time
 * comes from the rows of the averages and all of it from the slices. Whoever compares them
 * sees whether the laws hold (docs/numbers.md, 2 and 4).
 */
#include "base/error.h"
#include "marey/aggregate.h"

__extension__ typedef __int128 wide_ns;

/* A sum that 64 bits do not hold is not known. */
static int64_t narrow(wide_ns ns)
{
    return ns > INT64_MAX || ns < -INT64_MAX ? MAREY_UNKNOWN : (int64_t)ns;
}

static int64_t sum_self(const struct marey_slices *slices, const int64_t *self_ns)
{
    wide_ns sum = 0;

    for (size_t i = 0; i < slices->n; i++)
        sum += self_ns[i];
    return narrow(sum);
}

/* Slices of a track are in order of their start. */
static wide_ns union_of_track(const struct marey_slices *slices, const struct marey_track *track)
{
    const uint32_t to = track->first_slice + track->n_slices;
    int64_t covered_to = INT64_MIN;
    wide_ns sum = 0;

    for (uint32_t i = track->first_slice; i < to; i++) {
        if (slices->dur_ns[i] == MAREY_UNKNOWN)
            continue;
        const int64_t end_ns = slices->start_ns[i] + slices->dur_ns[i];
        const int64_t from_ns = slices->start_ns[i] > covered_to ? slices->start_ns[i] : covered_to;
        if (end_ns > from_ns)
            sum += (wide_ns)end_ns - from_ns;
        covered_to = end_ns > covered_to ? end_ns : covered_to;
    }
    return sum;
}

static int64_t sum_unions(const struct marey_trace *trace, const struct marey_slices *slices)
{
    size_t n = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n);
    wide_ns sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += union_of_track(slices, &tracks[i]);
    return narrow(sum);
}

static int64_t sum_device(const struct marey_trace *trace, const struct marey_slices *slices)
{
    wide_ns sum = 0;

    for (size_t i = 0; i < slices->n; i++)
        if (slices->dur_ns[i] != MAREY_UNKNOWN &&
            marey_kind_is_device_operation(marey_trace_slice_kind(trace, (uint32_t)i)))
            sum += slices->dur_ns[i];
    return narrow(sum);
}

static enum marey_status sum_owned(struct marey_trace *trace, int64_t *owned_ns,
                                   struct marey_error *err)
{
    const struct marey_averages_options options = {.size = sizeof options, .include_python = true};
    struct marey_averages *averages = NULL;
    size_t n = 0;

    const enum marey_status status = marey_averages_new(trace, &options, &averages, err);
    if (status != MAREY_OK)
        return status;
    const struct marey_average *rows = marey_averages_rows(averages, &n);
    const struct marey_totals totals = marey_averages_totals(averages);
    const bool fits = totals.device_sum_ns != MAREY_UNKNOWN; /* else what a row owns may not */
    wide_ns sum = totals.unowned_ns;
    for (size_t i = 0; i < n; i++)
        if (!marey_kind_is_device_operation(rows[i].kind) &&
            rows[i].device_self_ns != MAREY_UNKNOWN)
            sum += rows[i].device_self_ns;
    *owned_ns = fits ? narrow(sum) : MAREY_UNKNOWN;
    marey_averages_free(averages);
    return MAREY_OK;
}

enum marey_status marey_trace_check_laws(struct marey_trace *trace, struct marey_law_checks *checks,
                                         struct marey_error *err)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    const int64_t *self_ns = NULL;
    int64_t owned_ns = 0;

    enum marey_status status = marey_trace_self_ns(trace, &self_ns, err);
    if (status == MAREY_OK)
        status = sum_owned(trace, &owned_ns, err);
    if (status != MAREY_OK)
        return status;
    *checks = (struct marey_law_checks){
        .self_sum_ns = sum_self(&slices, self_ns),
        .union_ns = sum_unions(trace, &slices),
        .device_sum_ns = sum_device(trace, &slices),
        .owned_plus_unowned_ns = owned_ns,
    };
    return MAREY_OK;
}
