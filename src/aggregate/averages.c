/*
 * averages.c - averages by name, shape, stack or overload: from groups to sorted rows.
 *
 *   group slices -> device operations and owners -> sweep of the threads -> percentiles
 *       -> rows in the default order
 *
 * All that the steps need lives in a work object that is released at the end; the result
 * keeps its rows, its totals and the texts that the trace does not have.
 */
#include "aggregate/averages_parts.h"
#include "base/error.h"
#include "base/str.h"
#include "trace/builder.h"

/* ---- rows -------------------------------------------------------------------- */

/* A sum that reached the end of 64 bits is not known. */
static int64_t known_sum(int64_t ns)
{
    return ns == INT64_MAX ? MAREY_UNKNOWN : ns;
}

static struct marey_average row_of(const struct marey_averages_work *work,
                                   const struct marey_group *group,
                                   const struct marey_group_key *key)
{
    const bool is_timed = group->n_timed > 0;
    const int64_t device_self_ns = known_sum(key->device_self_ns);
    return (struct marey_average){
        .name_id = key->name_id,
        .kind = key->kind,
        .shapes_id = key->shapes_id,
        .stack_id = key->stack_id,
        .overload_id = MAREY_NONE,
        .rank = key->rank,
        .first_slice = group->first_slice,
        .n_calls = group->n_calls,
        .n_timed = group->n_timed,
        .self_ns = is_timed ? known_sum(group->self_ns) : MAREY_UNKNOWN,
        .total_ns = is_timed ? known_sum(group->total_ns) : MAREY_UNKNOWN,
        .sum_ns =
            is_timed ? known_sum(marey__ns_add(group->total_ns, group->nested_ns)) : MAREY_UNKNOWN,
        .min_ns = is_timed ? group->min_ns : MAREY_UNKNOWN,
        .max_ns = is_timed ? group->max_ns : MAREY_UNKNOWN,
        .p50_ns = key->p50_ns,
        .p99_ns = key->p99_ns,
        .device_self_ns = device_self_ns,
        .device_total_ns =
            marey__is_inclusive(key->kind) ? known_sum(key->device_total_ns) : device_self_ns,
        .n_device_operations = key->n_device_operations,
        .first_start_ns = work->slices.start_ns[group->first_slice],
    };
}

static bool set_overload(struct marey_averages_work *work, struct marey_average *row)
{
    struct marey_str op;
    struct marey_str overload;

    row->overload_id = 0;
    if (row->kind != MAREY_KIND_OP ||
        !marey__split_overload(marey_trace_string(work->trace, row->name_id), &op, &overload))
        return true;
    row->name_id = marey__own_string(&work->strings, op);
    row->overload_id = marey__own_string(&work->strings, overload);
    return row->name_id != MAREY_NONE && row->overload_id != MAREY_NONE;
}

/* Gives the rows of all groups that were met, sorted, to the result. */
static enum marey_status make_rows(struct marey_averages_work *work,
                                   struct marey_averages *averages)
{
    enum marey_status status = MAREY_OK;
    const struct marey_alloc *alloc = &work->alloc;
    const size_t capacity = work->n_groups;
    struct marey_average *unsorted = marey__alloc(alloc, capacity, sizeof *unsorted);
    size_t n = 0;

    if (unsorted == NULL)
        return marey__fail_nomem(work->err);
    for (size_t g = MAREY_N_HIDDEN; g < work->n_groups; g++) {
        if (work->groups[g].n_calls == 0) /* refined into others */
            continue;
        unsorted[n] = row_of(work, &work->groups[g], &work->keys[g]);
        if (work->options.by_overload && !set_overload(work, &unsorted[n])) {
            status = marey__fail_nomem(work->err);
            goto done;
        }
        n++;
    }
    averages->n_rows = n;
    averages->rows =
        marey__sorted_rows(work->trace, &work->strings, alloc, unsorted, n, work->options.by_event);
    if (averages->rows == NULL)
        status = marey__fail_nomem(work->err);

done:
    marey__dealloc(alloc, unsorted, capacity, sizeof *unsorted);
    return status;
}

/* ---- work -------------------------------------------------------------------- */

static enum marey_status decode(struct marey_averages_work *work)
{
    uint64_t bits = 0;
    if (work->options.by_shape)
        bits |= MAREY_ARG_BIT(MAREY_ARG_INPUT_DIMS);
    if (work->options.by_stack > 0)
        bits |= MAREY_ARG_BIT(MAREY_ARG_CALL_STACK);
    return bits == 0 ? MAREY_OK : marey_trace_decode_args(work->trace, bits, work->err);
}

/* What the caller's header knew of; the rest keeps its default. */
static void read_options(struct marey_averages_options *to,
                         const struct marey_averages_options *from)
{
    if (from == NULL)
        return;
    const bool is_partial = from->size > 0 && from->size < sizeof *to;
    memcpy(to, from, is_partial ? from->size : sizeof *to);
}

static enum marey_status work_init(struct marey_averages_work *work, struct marey_trace *trace,
                                   const struct marey_averages_options *options,
                                   struct marey_error *err)
{
    size_t n_categories = 0;
    const struct marey_category *categories = marey_trace_categories(trace, &n_categories);

    *work = (struct marey_averages_work){.alloc = *marey__trace_alloc(trace),
                                         .trace = trace,
                                         .err = err,
                                         .slices = marey_trace_slices(trace)};
    read_options(&work->options, options);
    if (work->options.by_event) {
        work->options.by_stack = 0;
        work->options.by_rank = false;
        work->options.join_steps = false;
    }
    work->tracks = marey_trace_tracks(trace, &work->n_tracks);
    for (size_t i = 0; i < n_categories; i++) {
        work->kind_of[i] = (uint8_t)categories[i].kind;
        work->is_operation_of[i] = marey_kind_is_device_operation(categories[i].kind);
    }
    if (!marey__intern_init(&work->strings.table, &work->alloc))
        return marey__fail_nomem(err);

    MAREY_TRY(decode(work));
    work->strings.n_trace = marey_trace_n_strings(trace);
    return MAREY_OK;
}

static void work_release(struct marey_averages_work *work)
{
    marey__intern_release(&work->strings.table);
    marey__dealloc(&work->alloc, work->inside_ns, work->slices.n, sizeof *work->inside_ns);
    marey__dealloc(&work->alloc, work->group_of, work->slices.n, sizeof *work->group_of);
    marey__dealloc(&work->alloc, work->keys, work->keys_capacity, sizeof *work->keys);
    marey__dealloc(&work->alloc, work->groups, work->groups_capacity, sizeof *work->groups);
}

static enum marey_status add_up(struct marey_averages_work *work)
{
    MAREY_TRY(marey__averages_group(work));
    MAREY_TRY(marey__averages_add_device(work));
    MAREY_TRY(marey__averages_sweep_host(work));
    return work->options.percentiles ? marey__averages_rank(work) : MAREY_OK;
}

static struct marey_totals known_totals(const struct marey_totals *sums)
{
    return (struct marey_totals){
        .host_self_ns = known_sum(sums->host_self_ns),
        .python_self_ns = known_sum(sums->python_self_ns),
        .device_sum_ns = known_sum(sums->device_sum_ns),
        .device_busy_ns = known_sum(sums->device_busy_ns),
        .unowned_ns = known_sum(sums->unowned_ns),
        .overhead_ns = known_sum(sums->overhead_ns),
        .n_devices = sums->n_devices,
    };
}

/* ---- public ------------------------------------------------------------------ */

enum marey_status marey_averages_new(struct marey_trace *trace,
                                     const struct marey_averages_options *options,
                                     struct marey_averages **averages, struct marey_error *err)
{
    struct marey_averages_work work;
    struct marey_averages *made = NULL;
    enum marey_status status = work_init(&work, trace, options, err);
    if (status != MAREY_OK)
        goto done;

    made = marey__alloc_zero(&work.alloc, 1, sizeof *made);
    if (made == NULL) {
        status = marey__fail_nomem(err);
        goto done;
    }
    made->alloc = work.alloc;
    made->trace = trace;
    status = add_up(&work);
    made->options = work.options;
    if (status == MAREY_OK)
        status = make_rows(&work, made);
    if (status != MAREY_OK)
        goto done;

    made->totals = known_totals(&work.totals);
    made->strings = work.strings;
    work.strings = (struct marey_own_strings){0};
    *averages = made;
    made = NULL;

done:
    marey_averages_free(made);
    work_release(&work);
    return status;
}

void marey_averages_free(struct marey_averages *averages)
{
    if (averages == NULL)
        return;
    const struct marey_alloc alloc = averages->alloc;
    marey__intern_release(&averages->strings.table);
    marey__dealloc(&alloc, averages->joined, 1, sizeof *averages->joined);
    marey__dealloc(&alloc, averages->rows, averages->n_rows, sizeof *averages->rows);
    marey__dealloc(&alloc, averages, 1, sizeof *averages);
}

struct marey_trace *marey_averages_trace(const struct marey_averages *averages)
{
    return averages->trace;
}

struct marey_averages_options marey_averages_get_options(const struct marey_averages *averages)
{
    return averages->options;
}

const struct marey_average *marey_averages_rows(const struct marey_averages *averages, size_t *n)
{
    *n = averages->n_rows;
    return averages->rows;
}

struct marey_str marey_averages_string(const struct marey_averages *averages, uint32_t string_id)
{
    return marey__averages_text(averages->trace, &averages->strings, string_id);
}

struct marey_totals marey_averages_totals(const struct marey_averages *averages)
{
    return averages->totals;
}
