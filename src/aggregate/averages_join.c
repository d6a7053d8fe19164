/*
 * averages_join.c - averages of spans that lie one after another become those of all.
 *
 * Nothing of a part is open in the next, so that what is measured as a union (total, busy) adds up
 * as sums do. What would need the calls themselves is not known any more: percentiles of a row
 * that several parts have, tracks, the busiest thread.
 */
#include <string.h>

#include "aggregate/averages_parts.h"
#include "base/error.h"
#include "base/known.h"
#include "base/str.h"

struct join {
    struct marey_alloc alloc;
    struct marey_own_strings strings;
    struct marey_hashmap row_of; /* hash of a key, probed by adding 1 -> row */
    struct marey_average *rows;
    size_t n_rows;
    size_t capacity;
    struct marey_totals totals;
    struct marey_joined *joined;
};

/* ---- times ------------------------------------------------------------------------------ */

/* "Operations, but no known time" and some time are that time. */
static int64_t add_device(int64_t a, int64_t b)
{
    const int64_t sum = marey__ns_join(a, b);
    return sum == INT64_MAX ? MAREY_UNKNOWN : sum;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a == MAREY_UNKNOWN || (b != MAREY_UNKNOWN && b < a) ? b : a;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void take_times(struct marey_average *row, const struct marey_average *from)
{
    row->self_ns = from->self_ns;
    row->total_ns = from->total_ns;
    row->sum_ns = from->sum_ns;
    row->min_ns = from->min_ns;
    row->max_ns = from->max_ns;
    row->p50_ns = from->p50_ns;
    row->p99_ns = from->p99_ns;
}

/* Calls without a known time have no part in any. */
static void add_times(struct marey_average *row, const struct marey_average *from)
{
    if (from->n_timed == 0)
        return;
    if (row->n_timed == 0) {
        take_times(row, from);
        return;
    }
    row->self_ns = marey__known_add(row->self_ns, from->self_ns);
    row->total_ns = marey__known_add(row->total_ns, from->total_ns);
    row->sum_ns = marey__known_add(row->sum_ns, from->sum_ns);
    row->min_ns = least(row->min_ns, from->min_ns);
    row->max_ns = most(row->max_ns, from->max_ns);
    row->p50_ns = MAREY_UNKNOWN;
    row->p99_ns = MAREY_UNKNOWN;
}

static void add_row(struct marey_average *row, const struct marey_average *from)
{
    add_times(row, from);
    row->n_calls += from->n_calls;
    row->n_timed += from->n_timed;
    row->device_self_ns = add_device(row->device_self_ns, from->device_self_ns);
    row->device_total_ns = add_device(row->device_total_ns, from->device_total_ns);
    row->n_device_operations += from->n_device_operations;
    row->first_start_ns = earliest(row->first_start_ns, from->first_start_ns);
}

static bool own(struct join *join, const struct marey_averages *part, uint32_t *id)
{
    if (*id == MAREY_NONE)
        return true;
    *id = marey__intern(&join->strings.table, marey_averages_string(part, *id));
    return *id != MAREY_NONE;
}

static uint64_t mix(uint64_t hash, uint32_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_of(const struct marey_average *row)
{
    const uint32_t key[] = {(uint32_t)row->kind, row->name_id,     row->shapes_id,
                            row->stack_id,       row->overload_id, (uint32_t)row->rank};
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        hash = mix(hash, key[i]);
    return hash;
}

static bool is_same_key(const struct marey_average *a, const struct marey_average *b)
{
    return a->kind == b->kind && a->name_id == b->name_id && a->shapes_id == b->shapes_id &&
           a->stack_id == b->stack_id && a->overload_id == b->overload_id && a->rank == b->rank;
}

/* The row of a key whose ids are ours. False without memory. */
static bool join_row(struct join *join, const struct marey_average *from)
{
    uint64_t hash = hash_of(from);
    void *grown = join->rows;
    uint32_t *place = marey__hashmap_put(&join->row_of, hash);

    while (place != NULL && *place != MAREY_NONE && !is_same_key(&join->rows[*place], from))
        place = marey__hashmap_put(&join->row_of, ++hash);
    if (place == NULL)
        return false;
    if (*place != MAREY_NONE) {
        add_row(&join->rows[*place], from);
        return true;
    }
    if (!marey__grow(&join->alloc, &grown, &join->capacity, join->n_rows + 1, sizeof *join->rows))
        return false;
    join->rows = grown;
    *place = (uint32_t)join->n_rows;
    join->rows[join->n_rows++] = *from;
    return true;
}

static bool join_rows(struct join *join, const struct marey_averages *part)
{
    for (size_t i = 0; i < part->n_rows; i++) {
        struct marey_average row = part->rows[i];
        row.first_slice = MAREY_NONE;
        if (!own(join, part, &row.name_id) || !own(join, part, &row.shapes_id) ||
            !own(join, part, &row.stack_id) || !own(join, part, &row.overload_id) ||
            !join_row(join, &row))
            return false;
    }
    return true;
}

static void join_totals(struct marey_totals *totals, const struct marey_totals *part)
{
    totals->host_self_ns = marey__known_add(totals->host_self_ns, part->host_self_ns);
    totals->python_self_ns = marey__known_add(totals->python_self_ns, part->python_self_ns);
    totals->device_sum_ns = marey__known_add(totals->device_sum_ns, part->device_sum_ns);
    totals->device_busy_ns = marey__known_add(totals->device_busy_ns, part->device_busy_ns);
    totals->unowned_ns = marey__known_add(totals->unowned_ns, part->unowned_ns);
    totals->overhead_ns = marey__known_add(totals->overhead_ns, part->overhead_ns);
    if (part->n_devices > totals->n_devices)
        totals->n_devices = part->n_devices;
}

/* ---- what they are of ------------------------------------------------------------------------ */

/* From the end of what was recorded before to the beginning of the next. */
static void join_gaps(struct marey_window *window, const struct marey_window *part)
{
    if (window->recorded_end_ns == MAREY_UNKNOWN || part->recorded_start_ns == MAREY_UNKNOWN) {
        window->gaps_ns = MAREY_UNKNOWN;
        return;
    }
    const int64_t gap_ns = part->recorded_start_ns - window->recorded_end_ns;
    window->gaps_ns = marey__known_add(window->gaps_ns, part->gaps_ns);
    window->n_gaps += part->n_gaps;
    if (gap_ns <= 0)
        return;
    window->gaps_ns = marey__known_add(window->gaps_ns, gap_ns);
    window->n_gaps++;
}

static void join_window(struct marey_window *window, const struct marey_window *part)
{
    join_gaps(window, part);
    window->start_ns = earliest(window->start_ns, part->start_ns);
    window->end_ns = most(window->end_ns, part->end_ns);
    window->recorded_start_ns = earliest(window->recorded_start_ns, part->recorded_start_ns);
    window->recorded_end_ns = most(window->recorded_end_ns, part->recorded_end_ns);
    window->n_operations += part->n_operations;
    window->n_slices += part->n_slices;
    window->n_tracks = 0;
    window->busiest = (struct marey_thread_work){.ns = MAREY_UNKNOWN};
}

static struct marey_ledger_row *ledger_row(struct marey_joined *joined, const char *reason)
{
    for (size_t i = 0; i < MAREY_N_REASONS; i++)
        if (strcmp(joined->ledger_row[i].reason, reason) == 0)
            return &joined->ledger_row[i];
    return NULL;
}

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void join_cycles(struct marey_about *about, const struct marey_about *of_part)
{
    about->n_sources = greater(about->n_sources, of_part->n_sources);
    about->n_processes = greater(about->n_processes, of_part->n_processes);
}

/* What was recorded here is of this process; what was read, of others. Sums of several processes
 * have no gaps of their own, and lie in one run: it was one that joined them. */
static void join_others(struct marey_joined *joined, const struct marey_about *of_part)
{
    struct marey_about *about = &joined->about;

    about->n_sources += of_part->n_sources;
    about->n_processes += of_part->n_processes;
    about->window.gaps_ns = about->window.n_gaps > 0 ? MAREY_UNKNOWN : 0;
    ledger_row(joined, "apart_in_time")->count = 0;
}

static void join_ledger(struct marey_joined *joined, const struct marey_ledger *part)
{
    struct marey_ledger *ledger = &joined->about.ledger;

    ledger->n_read += part->n_read;
    ledger->n_used += part->n_used;
    if (part->checked < ledger->checked)
        ledger->checked = part->checked;
    for (size_t i = 0; i < part->n_rows; i++)
        if (strcmp(part->rows[i].reason, "let_go") != 0) /* the averages of these are parts too */
            ledger_row(joined, part->rows[i].reason)->count += part->rows[i].count;
}

/* A later part was whole up to its first loss, if none before it lost any. */
static void join_whole(struct marey_about *about, const struct marey_about *part)
{
    if (about->whole_ns != MAREY_UNKNOWN || part->whole_ns == MAREY_UNKNOWN)
        return;
    about->whole_ns = marey__known_add(
        part->whole_ns, part->window.recorded_start_ns == MAREY_UNKNOWN ||
                                about->window.recorded_start_ns == MAREY_UNKNOWN
                            ? MAREY_UNKNOWN
                            : part->window.recorded_start_ns - about->window.recorded_start_ns);
}

static enum marey_status join_about(struct join *join, const struct marey_averages *part,
                                    bool is_first, struct marey_error *err)
{
    struct marey_about *about = &join->joined->about;
    struct marey_about of_part;

    MAREY_TRY(marey__averages_about(part, &of_part, err));
    join_ledger(join->joined, &of_part.ledger);
    if (is_first) {
        of_part.ledger = about->ledger;
        *about = of_part;
        return MAREY_OK;
    }
    const size_t n_gaps = about->window.n_gaps + of_part.window.n_gaps;
    join_whole(about, &of_part);
    join_window(&about->window, &of_part.window);
    ledger_row(join->joined, "not_recorded")->count += about->window.n_gaps > n_gaps;
    if (about->is_recorded && !of_part.is_recorded)
        join_others(join->joined, &of_part);
    else
        join_cycles(about, &of_part);
    about->is_recorded &= of_part.is_recorded;
    about->has_rank &= of_part.has_rank && of_part.rank == about->rank;
    about->n_files = about->is_recorded ? 1 : about->n_files + of_part.n_files;
    about->n_ranks = greater(about->n_ranks, of_part.n_ranks);
    return MAREY_OK;
}

/* Rows with a count, to the front. Their examples lie in traces that may be gone. */
static void finish_ledger(struct marey_joined *joined)
{
    size_t n = 0;

    for (size_t i = 0; i < MAREY_N_REASONS; i++)
        if (joined->ledger_row[i].count > 0)
            joined->ledger_row[n++] = joined->ledger_row[i];
    joined->about.ledger.n_rows = n;
    joined->about.ledger.rows = joined->ledger_row;
}

static struct marey_joined *joined_new(const struct marey_alloc *alloc)
{
    struct marey_joined *joined = marey__alloc_zero(alloc, 1, sizeof *joined);
    size_t n = 0;
    const struct marey_ledger_reason *reason = marey_ledger_reasons(&n);

    if (joined == NULL)
        return NULL;
    joined->about.ledger.checked = MAREY_CHECK_ALL;
    for (size_t i = 0; i < n; i++)
        joined->ledger_row[i] = (struct marey_ledger_row){
            .map = reason[i].map,
            .reason = reason[i].reason,
            .meaning = reason[i].meaning,
            .effect = reason[i].effect,
            .remedy = reason[i].remedy,
        };
    return joined;
}

/* ---- public ------------------------------------------------------------------------------------
 */

static bool is_same_grouping(const struct marey_averages_options *a,
                             const struct marey_averages_options *b)
{
    return a->by_shape == b->by_shape && a->by_overload == b->by_overload &&
           a->by_stack == b->by_stack && a->include_python == b->include_python &&
           a->top_level == b->top_level && a->by_rank == b->by_rank && a->by_event == b->by_event;
}

static enum marey_status check(struct marey_averages *const *parts, size_t n_parts,
                               struct marey_error *err)
{
    if (n_parts == 0)
        return marey__fail(err, MAREY_INVALID, "averages of no part, want one at least");
    for (size_t i = 1; i < n_parts; i++)
        if (!is_same_grouping(&parts[0]->options, &parts[i]->options))
            return marey__fail(err, MAREY_INVALID,
                               "cannot join averages that are grouped in different ways");
    if (parts[0]->options.by_event)
        return marey__fail(err, MAREY_INVALID, "cannot join rows of single events");
    return MAREY_OK;
}

static bool join_init(struct join *join, const struct marey_alloc *alloc)
{
    *join = (struct join){.alloc = *alloc};
    marey__hashmap_init(&join->row_of, alloc);
    join->joined = joined_new(alloc);
    return marey__intern_init(&join->strings.table, alloc) && join->joined != NULL;
}

static void join_release(struct join *join)
{
    marey__hashmap_release(&join->row_of);
    marey__intern_release(&join->strings.table);
    marey__dealloc(&join->alloc, join->rows, join->capacity, sizeof *join->rows);
    marey__dealloc(&join->alloc, join->joined, 1, sizeof *join->joined);
}

/* Moves what was joined into the result. False without memory. */
static bool finish(struct join *join, struct marey_averages *made)
{
    made->rows =
        marey__sorted_rows(NULL, &join->strings, &join->alloc, join->rows, join->n_rows, false);
    if (made->rows == NULL)
        return false;
    made->n_rows = join->n_rows;
    made->totals = join->totals;
    made->strings = join->strings;
    made->joined = join->joined;
    join->strings = (struct marey_own_strings){0};
    join->joined = NULL;
    finish_ledger(made->joined);
    return true;
}

enum marey_status marey_averages_join(struct marey_averages *const *parts, size_t n_parts,
                                      struct marey_averages **averages, struct marey_error *err)
{
    MAREY_TRY(check(parts, n_parts, err));
    const struct marey_alloc alloc = parts[0]->alloc;
    struct join join;
    struct marey_averages *made = marey__alloc_zero(&alloc, 1, sizeof *made);
    enum marey_status status = MAREY_OK;

    if (made != NULL)
        made->alloc = alloc;
    if (!join_init(&join, &alloc) || made == NULL) {
        status = marey__fail_nomem(err);
        goto done;
    }
    made->options = parts[0]->options;
    for (size_t i = 0; i < n_parts; i++) {
        status = join_about(&join, parts[i], i == 0, err);
        if (status == MAREY_OK && !join_rows(&join, parts[i]))
            status = marey__fail_nomem(err);
        if (status != MAREY_OK)
            goto done;
        join_totals(&join.totals, &parts[i]->totals);
    }
    if (!finish(&join, made)) {
        status = marey__fail_nomem(err);
        goto done;
    }
    *averages = made;
    made = NULL;

done:
    marey_averages_free(made);
    join_release(&join);
    return status;
}
