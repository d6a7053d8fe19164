/*
 * averages_percentiles.c - exact nearest-rank percentiles of each group.
 *
 * The durations are scattered by group (their counts are known by then), so each group is
 * one run of memory: of 32 bits a value, or of 64 where those of a group differ by more
 * than 4 s. A long run is not sorted: its values are counted in bins whose width
 * grows with the value (32 to each power of two), only the bin that holds the rank is
 * kept, and that one is counted again in 512 equal bins until few values or one is left.
 * Each pass is linear whatever the values are; quickselect is quadratic on hostile ones.
 */
#include <string.h>

#include "aggregate/averages_parts.h"
#include "base/error.h"

#define N_LANES 4
#define N_BINS (MAREY_RANK_BINS / N_LANES)
#define MANY (N_BINS * 8)
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

/* The bin that holds the k-th value; takes what lies before it off k. */
static uint32_t find_bin(const uint32_t *count, size_t *k)
{
    uint32_t bin = 0;
    while (*k >= count[bin])
        *k -= count[bin++];
    return bin;
}

/* ---- all groups -------------------------------------------------------------- */

#define N_RANKS 2
static const struct marey_rank shown_ranks[N_RANKS] = {{1, 2}, {99, 100}};

/* Groups that are no rows, have one call only, which is its own percentile, or are of another
 * width. */
#define NO_RUN SIZE_MAX

struct run {
    size_t at;      /* where it begins, then where it ends; NO_RUN */
    int64_t min_ns; /* is taken off each value */
};

/* The runs of one width. */
struct ranking {
    struct marey_averages_work *work;
    struct run *run; /* [n_groups] */
    size_t n;        /* values in all runs */
    size_t n_longest;
    uint32_t *bins; /* [MAREY_RANK_BINS] */
};

static size_t rank_index(size_t n, struct marey_rank rank)
{
    /* ceil(n p / q) - 1 without a product that overflows: n < 2^32. */
    const uint64_t nth = ((uint64_t)n * rank.p + rank.q - 1) / rank.q;
    return nth == 0 ? 0 : (size_t)(nth - 1);
}

static void set_ranks(struct ranking *ranking, size_t group_idx, const int64_t *above_ns)
{
    struct marey_group_key *key = &ranking->work->keys[group_idx];
    const int64_t min_ns = ranking->run[group_idx].min_ns;

    key->p50_ns = min_ns + above_ns[0];
    key->p99_ns = min_ns + above_ns[1];
}

#define VALUE uint32_t
#define NAME(function) function##_narrow
#include "aggregate/rank_body.h"
#undef VALUE
#undef NAME

#define VALUE int64_t
#define NAME(function) function##_wide
#include "aggregate/rank_body.h"
#undef VALUE
#undef NAME

/* Whether the durations of a group differ by less than 2^32 ns. */
static bool is_narrow(const struct marey_group *group)
{
    return group->max_ns - group->min_ns <= UINT32_MAX;
}

static void place_runs(struct ranking *ranking, bool narrow)
{
    const struct marey_averages_work *work = ranking->work;

    ranking->n = 0;
    ranking->n_longest = 0;
    for (size_t g = 0; g < work->n_groups; g++) {
        const struct marey_group *group = &work->groups[g];
        const size_t n = group->n_timed;
        const bool is_one = g >= MAREY_N_HIDDEN && n >= 2 && is_narrow(group) == narrow;
        ranking->run[g] = (struct run){is_one ? ranking->n : NO_RUN, group->min_ns};
        if (!is_one)
            continue;
        ranking->n += n;
        if (n > ranking->n_longest)
            ranking->n_longest = n;
    }
}

static void rank_single_calls(struct marey_averages_work *work)
{
    for (size_t g = MAREY_N_HIDDEN; g < work->n_groups; g++) {
        if (work->groups[g].n_timed != 1)
            continue;
        work->keys[g].p50_ns = work->groups[g].min_ns;
        work->keys[g].p99_ns = work->groups[g].min_ns;
    }
}

/* One width after the other, so that the memory of one is the next one's. */
static bool rank_all(struct ranking *ranking)
{
    place_runs(ranking, true);
    if (ranking->n > 0 && !rank_runs_narrow(ranking))
        return false;
    place_runs(ranking, false);
    return ranking->n == 0 || rank_runs_wide(ranking);
}

enum marey_status marey__averages_rank(struct marey_averages_work *work)
{
    struct ranking ranking = {.work = work};

    rank_single_calls(work);
    ranking.run = marey__alloc(&work->alloc, work->n_groups, sizeof *ranking.run);
    ranking.bins = marey__alloc(&work->alloc, MAREY_RANK_BINS, sizeof *ranking.bins);
    const bool is_done = ranking.run != NULL && ranking.bins != NULL && rank_all(&ranking);
    marey__dealloc(&work->alloc, ranking.bins, MAREY_RANK_BINS, sizeof *ranking.bins);
    marey__dealloc(&work->alloc, ranking.run, work->n_groups, sizeof *ranking.run);
    return is_done ? MAREY_OK : marey__fail_nomem(work->err);
}
