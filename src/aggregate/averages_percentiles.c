/*
 * averages_percentiles.c - exact nearest-rank percentiles of each group.
 *
 * The durations are scattered by group (their counts are known by then), so each group is
 * one run of memory. A long run is not sorted: its values are counted in bins whose width
 * grows with the value (32 to each power of two), only the bin that holds the rank is
 * kept, and that one is counted again in 512 equal bins until few values or one is left.
 * Each pass is linear whatever the values are; quickselect is quadratic on hostile ones.
 */
#include <string.h>

#include "aggregate/averages_parts.h"
#include "base/error.h"

#define N_BINS MAREY_RANK_BINS
#define DIGIT_BITS 9
#define STEP_BITS 5
#define FEW 96

/* The bin of a value >= 0: exponent and the five bits below the leading one. Values under
 * 32 have a bin each. */
static inline uint32_t bin_of(int64_t value)
{
    const uint64_t v = (uint64_t)value;
    if (v < (1u << STEP_BITS))
        return (uint32_t)v;
    const uint32_t exponent = 63u - (uint32_t)__builtin_clzll(v);
    const uint32_t step = (uint32_t)(v >> (exponent - STEP_BITS)) & ((1u << STEP_BITS) - 1);
    return ((exponent - STEP_BITS + 1) << STEP_BITS) + step;
}

/* The least value of a bin and how many bits its values differ in. */
static int64_t bin_start(uint32_t bin, uint32_t *width_bits)
{
    const uint32_t row = bin >> STEP_BITS;
    const uint64_t step = bin & ((1u << STEP_BITS) - 1);
    if (row == 0) {
        *width_bits = 0;
        return (int64_t)step;
    }
    *width_bits = row - 1;
    return (int64_t)(((1u << STEP_BITS) + step) << *width_bits);
}

static int64_t select_few(int64_t *values, size_t n, size_t k)
{
    for (size_t i = 1; i < n; i++) {
        const int64_t moved = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > moved; at--)
            values[at] = values[at - 1];
        values[at] = moved;
    }
    return values[k];
}

/* The bin that holds the k-th value; takes what lies before it off k. */
static uint32_t find_bin(const uint32_t *count, size_t *k)
{
    uint32_t bin = 0;
    while (*k >= count[bin])
        *k -= count[bin++];
    return bin;
}

/* Keeps the values in [low, low + 2^width_bits); returns how many. `to` may be `from`. */
static size_t keep_range(const int64_t *from, size_t n, int64_t low, uint32_t width_bits,
                         int64_t *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t value = from[i];
        to[kept] = value;
        kept += ((uint64_t)value - (uint64_t)low) >> width_bits == 0;
    }
    return kept;
}

/* The k-th of values that all lie in [low, low + 2^width_bits). */
static int64_t select_in_range(int64_t *values, size_t n, size_t k, int64_t low,
                               uint32_t width_bits)
{
    uint32_t count[1u << DIGIT_BITS];

    while (width_bits > 0) {
        if (n <= FEW)
            return select_few(values, n, k);
        const uint32_t shift = width_bits > DIGIT_BITS ? width_bits - DIGIT_BITS : 0;
        memset(count, 0, sizeof count);
        for (size_t i = 0; i < n; i++)
            count[((uint64_t)values[i] - (uint64_t)low) >> shift]++;
        const uint32_t bin = find_bin(count, &k);
        low += (int64_t)((uint64_t)bin << shift);
        width_bits = shift;
        n = keep_range(values, n, low, width_bits, values);
    }
    return low;
}

static size_t rank_index(size_t n, struct marey_rank rank)
{
    /* ceil(n p / q) - 1 without a product that overflows: n < 2^32. */
    const uint64_t nth = ((uint64_t)n * rank.p + rank.q - 1) / rank.q;
    return nth == 0 ? 0 : (size_t)(nth - 1);
}

static void select_by_bins(const int64_t *values, size_t n, const struct marey_rank *ranks,
                           size_t n_ranks, int64_t *results, int64_t *scratch, uint32_t *count)
{
    memset(count, 0, N_BINS * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[bin_of(values[i])]++;

    for (size_t r = 0; r < n_ranks; r++) {
        size_t k = rank_index(n, ranks[r]);
        uint32_t width_bits = 0;
        const int64_t low = bin_start(find_bin(count, &k), &width_bits);
        if (width_bits == 0) {
            results[r] = low;
            continue;
        }
        const size_t kept = keep_range(values, n, low, width_bits, scratch);
        results[r] = select_in_range(scratch, kept, k, low, width_bits);
    }
}

void marey__select_ranks(int64_t *values, size_t n, const struct marey_rank *ranks, size_t n_ranks,
                         int64_t *results, int64_t *scratch, uint32_t *bins)
{
    if (n > FEW) {
        select_by_bins(values, n, ranks, n_ranks, results, scratch, bins);
        return;
    }
    select_few(values, n, 0);
    for (size_t r = 0; r < n_ranks; r++)
        results[r] = values[rank_index(n, ranks[r])];
}

/* ---- all groups -------------------------------------------------------------- */

/* Groups that are no rows or have one call only, which is its own percentile. */
#define NO_RUN MAREY_NONE

struct ranking {
    struct marey_averages_work *work;
    int64_t *values;  /* [n] durations by group */
    uint32_t *place;  /* [n_groups] where a run begins, then where it ends; NO_RUN */
    int64_t *scratch; /* [longest run] */
    size_t n_scratch;
    size_t n;
    uint32_t *bins; /* [N_BINS] */
};

static void place_runs(struct ranking *ranking)
{
    const struct marey_averages_work *work = ranking->work;

    for (size_t g = 0; g < work->n_groups; g++) {
        const uint32_t n = work->groups[g].n_timed;
        ranking->place[g] = NO_RUN;
        if (g < MAREY_N_HIDDEN || n < 2)
            continue;
        ranking->place[g] = (uint32_t)ranking->n;
        ranking->n += n;
        if (n > ranking->n_scratch)
            ranking->n_scratch = n;
    }
}

static void scatter(struct ranking *ranking)
{
    const struct marey_averages_work *work = ranking->work;
    const int64_t *dur_ns = work->slices.dur_ns;
    uint32_t *place = ranking->place;

    for (size_t i = 0; i < work->slices.n; i++) {
        const uint32_t g = work->group_of[i];
        if (place[g] != NO_RUN && dur_ns[i] != MAREY_UNKNOWN)
            ranking->values[place[g]++] = dur_ns[i];
    }
}

static void rank_group(struct ranking *ranking, size_t group_idx)
{
    static const struct marey_rank ranks[] = {{1, 2}, {99, 100}};
    const struct marey_group *group = &ranking->work->groups[group_idx];
    struct marey_group_key *key = &ranking->work->keys[group_idx];

    if (group->n_timed == 0)
        return;
    if (group->n_timed == 1) {
        key->p50_ns = group->min_ns;
        key->p99_ns = group->min_ns;
        return;
    }
    int64_t result[2];
    int64_t *values = ranking->values + (ranking->place[group_idx] - group->n_timed);
    marey__select_ranks(values, group->n_timed, ranks, 2, result, ranking->scratch, ranking->bins);
    key->p50_ns = result[0];
    key->p99_ns = result[1];
}

enum marey_status marey__averages_rank(struct marey_averages_work *work)
{
    enum marey_status status = MAREY_OK;
    struct ranking ranking = {.work = work};

    ranking.place = marey__alloc(&work->alloc, work->n_groups, sizeof *ranking.place);
    if (ranking.place == NULL) {
        status = marey__fail_nomem(work->err);
        goto done;
    }
    place_runs(&ranking);
    ranking.values = marey__alloc(&work->alloc, ranking.n, sizeof *ranking.values);
    ranking.scratch = marey__alloc(&work->alloc, ranking.n_scratch, sizeof *ranking.scratch);
    ranking.bins = marey__alloc(&work->alloc, N_BINS, sizeof *ranking.bins);
    if (ranking.values == NULL || ranking.scratch == NULL || ranking.bins == NULL) {
        status = marey__fail_nomem(work->err);
        goto done;
    }

    scatter(&ranking);
    for (size_t g = MAREY_N_HIDDEN; g < work->n_groups; g++)
        rank_group(&ranking, g);

done:
    marey__dealloc(&work->alloc, ranking.bins, N_BINS, sizeof *ranking.bins);
    marey__dealloc(&work->alloc, ranking.scratch, ranking.n_scratch, sizeof *ranking.scratch);
    marey__dealloc(&work->alloc, ranking.values, ranking.n, sizeof *ranking.values);
    marey__dealloc(&work->alloc, ranking.place, work->n_groups, sizeof *ranking.place);
    return status;
}
