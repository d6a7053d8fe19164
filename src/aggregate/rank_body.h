/*
 * rank_body.h - percentiles of durations that are kept as VALUE, included once for each width by
 * averages_percentiles.c. NAME(x) is x for that width.
 */

static int64_t NAME(select_few)(VALUE *values, size_t n, size_t k)
{
    for (size_t i = 1; i < n; i++) {
        const VALUE moved = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > moved; at--)
            values[at] = values[at - 1];
        values[at] = moved;
    }
    return values[k];
}

/* Keeps the values in [low, low + 2^width_bits); returns how many. `to` may be `from`. */
static size_t NAME(keep_range)(const VALUE *from, size_t n, int64_t low, uint32_t width_bits,
                               VALUE *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const VALUE value = from[i];
        to[kept] = value;
        kept += ((uint64_t)value - (uint64_t)low) >> width_bits == 0;
    }
    return kept;
}

/* The k-th of values that all lie in [low, low + 2^width_bits). */
static int64_t NAME(select_in_range)(VALUE *values, size_t n, size_t k, int64_t low,
                                     uint32_t width_bits)
{
    uint32_t count[1u << DIGIT_BITS];

    while (width_bits > 0) {
        if (n <= FEW)
            return NAME(select_few)(values, n, k);
        const uint32_t shift = width_bits > DIGIT_BITS ? width_bits - DIGIT_BITS : 0;
        memset(count, 0, sizeof count);
        for (size_t i = 0; i < n; i++)
            count[((uint64_t)values[i] - (uint64_t)low) >> shift]++;
        const uint32_t bin = find_bin(count, &k);
        low += (int64_t)((uint64_t)bin << shift);
        width_bits = shift;
        n = NAME(keep_range)(values, n, low, width_bits, values);
    }
    return low;
}

/* How many values each bin holds. Of many values neighbours are counted apart and added up then:
 * durations of one name are alike, and a counter waits for itself.
 * \shape count[N_LANES * N_BINS] */
static void NAME(count_bins)(const VALUE *values, size_t n, uint32_t *count)
{
    const size_t n_lanes = n < MANY ? 1 : N_LANES;
    const size_t n_whole = n_lanes == 1 ? 0 : n - n % N_LANES;

    memset(count, 0, n_lanes * N_BINS * sizeof *count);
    for (size_t i = 0; i < n_whole; i += N_LANES)
        for (size_t lane = 0; lane < N_LANES; lane++)
            count[lane * N_BINS + bin_of(values[i + lane])]++;
    for (size_t i = n_whole; i < n; i++)
        count[bin_of(values[i])]++;
    for (size_t lane = 1; lane < n_lanes; lane++)
        for (size_t bin = 0; bin < N_BINS; bin++)
            count[bin] += count[lane * N_BINS + bin];
}

static void NAME(select_by_bins)(const VALUE *values, size_t n, const struct marey_rank *ranks,
                                 size_t n_ranks, int64_t *results, VALUE *scratch, uint32_t *count)
{
    NAME(count_bins)(values, n, count);

    for (size_t r = 0; r < n_ranks; r++) {
        size_t k = rank_index(n, ranks[r]);
        uint32_t width_bits = 0;
        const int64_t low = bin_start(find_bin(count, &k), &width_bits);
        if (width_bits == 0) {
            results[r] = low;
            continue;
        }
        const size_t kept = NAME(keep_range)(values, n, low, width_bits, scratch);
        results[r] = NAME(select_in_range)(scratch, kept, k, low, width_bits);
    }
}

void NAME(marey__select_ranks)(VALUE *values, size_t n, const struct marey_rank *ranks,
                               size_t n_ranks, int64_t *results, VALUE *scratch, uint32_t *bins)
{
    if (n > FEW) {
        NAME(select_by_bins)(values, n, ranks, n_ranks, results, scratch, bins);
        return;
    }
    NAME(select_few)(values, n, 0);
    for (size_t r = 0; r < n_ranks; r++)
        results[r] = values[rank_index(n, ranks[r])];
}

/* Durations by group, each less the shortest of its group. */
static void NAME(scatter)(struct ranking *ranking, VALUE *values)
{
    const struct marey_averages_work *work = ranking->work;
    const int64_t *dur_ns = work->slices.dur_ns;
    struct run *run = ranking->run;

    for (size_t i = 0; i < work->slices.n; i++) {
        const uint32_t g = work->group_of[i];
        if (run[g].at != NO_RUN && dur_ns[i] != MAREY_UNKNOWN)
            values[run[g].at++] = (VALUE)(dur_ns[i] - run[g].min_ns);
    }
}

static bool NAME(rank_runs)(struct ranking *ranking)
{
    const struct marey_alloc *alloc = &ranking->work->alloc;
    VALUE *values = marey__alloc(alloc, ranking->n, sizeof *values);
    VALUE *scratch = marey__alloc(alloc, ranking->n_longest, sizeof *scratch);
    const bool is_done = values != NULL && scratch != NULL;

    if (is_done) {
        NAME(scatter)(ranking, values);
        for (size_t g = MAREY_N_HIDDEN; g < ranking->work->n_groups; g++) {
            const uint32_t n = ranking->work->groups[g].n_timed;
            int64_t result[N_RANKS];
            if (ranking->run[g].at == NO_RUN)
                continue;
            NAME(marey__select_ranks)
            (values + (ranking->run[g].at - n), n, shown_ranks, N_RANKS, result, scratch,
             ranking->bins);
            set_ranks(ranking, g, result);
        }
    }
    marey__dealloc(alloc, scratch, ranking->n_longest, sizeof *scratch);
    marey__dealloc(alloc, values, ranking->n, sizeof *values);
    return is_done;
}
