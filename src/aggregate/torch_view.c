/*
 * torch_view.c - torch's own view of a trace: from options to events.
 *
 * Figures are doubles of microseconds, added in the order in which torch adds them: exact
 * sums would differ from torch's in the last digit of some cells.
 */
#include "aggregate/torch_view.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "trace/model.h"

#define OLDEST_VERSION 204    /* names of attributes were others before 2.4 */
#define HOST_NAME_VERSION 213 /* writes "host_name" into the head */
#define NO_HOST_NAME_VERSION 211
#define PYTHON_ROWS_VERSION 213 /* the only one that lists Python functions unasked */

/* ---- options ---- */

static bool is_set(const struct marey_trace *trace, const char *key)
{
    return marey__str_is_c(marey_trace_meta(trace, key), "1");
}

static bool has_allocations(const struct marey_trace *trace)
{
    size_t n = 0;
    const struct marey_category *category = marey_trace_categories(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (category[i].kind == MAREY_KIND_MEMORY)
            return true;
    return false;
}

static enum marey_known decided(enum marey_known asked, bool by_file)
{
    if (asked != MAREY_KNOWN_AUTO)
        return asked;
    return by_file ? MAREY_KNOWN_YES : MAREY_KNOWN_NO;
}

static bool take_digits(struct marey_str *rest, int *number)
{
    const size_t before = rest->len;

    for (*number = 0; rest->len > 0 && *rest->ptr >= '0' && *rest->ptr <= '9' && *number < 100;) {
        *number = *number * 10 + (*rest->ptr - '0');
        rest->ptr++;
        rest->len--;
    }
    return rest->len < before && *number < 100;
}

/* 213 of "2.13.0+cpu" in quotes, 0 of what is no version of a known view. */
static int read_version(struct marey_str text)
{
    int major = 0;
    int minor = 0;

    if (text.len < 2)
        return 0;
    struct marey_str rest = {text.ptr + 1, text.len - 2};
    if (!take_digits(&rest, &major) || rest.len == 0 || *rest.ptr != '.')
        return 0;
    rest = (struct marey_str){rest.ptr + 1, rest.len - 1};
    if (!take_digits(&rest, &minor))
        return 0;
    const int version = major * 100 + minor;
    return version < OLDEST_VERSION ? 0 : version;
}

/* Which torch Marey's recorder was in; 0: the head does not say. */
static int recorded_version(const struct marey_trace *trace)
{
    struct marey_json json = marey__json(marey_trace_meta(trace, "marey"));
    struct marey_str key;
    int version = 0;

    if (!marey__json_enter(&json, '{'))
        return 0;
    while (marey__json_key(&json, &key)) {
        const struct marey_str value = marey__json_raw(&json);
        if (marey__json_spells(key, "torch") && value.ptr != NULL)
            version = read_version(value);
    }
    return json.failed ? 0 : version;
}

/* What a file does not tell, as far as it can be guessed. */
static struct marey_torch_options complete_options(const struct marey_trace *trace,
                                                   const struct marey_torch_options *asked)
{
    struct marey_torch_options options = {.size = sizeof options};
    if (asked != NULL) {
        options.version = asked->version;
        options.memory = asked->memory;
        options.flops = asked->flops;
        options.python_functions = asked->python_functions;
    }
    if (options.version == 0)
        options.version = recorded_version(trace);
    if (options.version == 0)
        options.version =
            marey_trace_meta(trace, "host_name").len > 0 ? HOST_NAME_VERSION : NO_HOST_NAME_VERSION;
    options.memory =
        decided(options.memory, is_set(trace, "profile_memory") || has_allocations(trace));
    options.flops = decided(options.flops, is_set(trace, "with_flops"));
    options.python_functions =
        decided(options.python_functions, options.version == PYTHON_ROWS_VERSION);
    return options;
}

/* Torch shows what one profiler recorded from start to stop. */
static enum marey_status check_sources(const struct marey_trace *trace, struct marey_error *err)
{
    size_t n = 0;
    size_t n_processes = 0;
    bool is_one_rank = true;
    char processes[48] = "";
    const struct marey_source *source = marey_trace_sources(trace, &n);

    for (size_t i = 0; i < n; i++) {
        n_processes += source[i].cycle_of == i;
        is_one_rank &= source[i].rank == source[0].rank;
    }
    if (n < 2)
        return MAREY_OK;
    const bool has_cycles = n_processes < n;
    const bool is_one_file = source[0].path_id == source[n - 1].path_id;
    if (has_cycles && n_processes == 1)
        (void)snprintf(processes, sizeof processes, " of one process");
    else if (has_cycles)
        (void)snprintf(processes, sizeof processes, " of %zu processes", n_processes);
    else if (is_one_rank)
        (void)snprintf(processes, sizeof processes, " of one rank");
    const char *const what = has_cycles ? "cycle" : is_one_rank ? "process" : "rank";
    return marey__fail(err, MAREY_INVALID,
                       "cannot show torch's view of %zu %s%s%s%s: torch shows one %s, load %s%s", n,
                       what, !has_cycles && is_one_rank ? "es" : "s", processes,
                       is_one_file ? " in one file" : "", has_cycles ? "cycle" : "process",
                       is_one_file ? "a file of one " : "one file", is_one_file ? what : "");
}

static enum marey_status check(const struct marey_trace *trace,
                               const struct marey_torch_options *options, struct marey_error *err)
{
    if (options != NULL && options->size < sizeof *options)
        return marey__fail(err, MAREY_INVALID,
                           "bad options of torch's view: size %zu, set it to sizeof options",
                           options->size);
    if (options != NULL && options->version != 0 && options->version < OLDEST_VERSION)
        return marey__fail(err, MAREY_INVALID,
                           "cannot show the view of torch '%d.%d': 2.4 is the oldest whose view "
                           "is known",
                           (int)options->version / 100, (int)options->version % 100);
    return check_sources(trace, err);
}

/* ---- events ---- */

/* Torch counts Python's garbage collector among Python functions, but not as one. */
static bool is_python_function(const struct marey_torch_build *build,
                               const struct marey_torch_row *row)
{
    return row->kind == MAREY_KIND_PYTHON &&
           !marey__str_is_c(
               marey__intern_text(&build->view->strings, build->name[row->name_idx].name_id),
               "Python GC");
}

static void describe(const struct marey_torch_build *build, const struct marey_torch_row *row,
                     struct marey_torch_event *event)
{
    const struct marey_torch_name *name = &build->name[row->name_idx];
    const struct marey_torch_stack *stack = &build->stack[row->stack_idx];
    *event = (struct marey_torch_event){
        .id = row->id,
        .name_id = name->name_id,
        .trace_name_id = name->trace_name_id,
        .overload_id = name->overload_id,
        .shapes_id = row->shapes_id,
        .slice_idx = row->source == MAREY_TORCH_SLICE ? row->ref : MAREY_NONE,
        .start_us = marey__torch_us(build, row->start_ns),
        .end_us = marey__torch_us(build, row->end_ns),
        .thread = row->thread,
        .forward_thread = row->forward_thread,
        .sequence = row->sequence,
        .python_id = row->python_id,
        .parent_idx = row->parent,
        .first_kernel = row->first_kernel,
        .n_kernels = row->n_kernels,
        .first_stack = stack->first,
        .n_stack = stack->n,
        .cpu_memory = row->cpu_memory,
        .device_memory = row->device_memory,
        .flops = row->flops,
        .device_type = row->device_type,
        .device_index = row->device_index,
        .is_async = row->is_async,
        .is_user_annotation =
            row->kind == MAREY_KIND_ANNOTATION || row->kind == MAREY_KIND_DEVICE_ANNOTATION,
        .is_python_function = is_python_function(build, row),
    };
}

/* Children come after their parent, so their figures are known. */
static void add_figures(const struct marey_torch_build *build, uint32_t idx)
{
    const struct marey_torch_row *rows = build->rows;
    struct marey_torch_event *events = build->view->events;
    struct marey_torch_event *event = &events[idx];
    const bool is_host = event->device_type == MAREY_TORCH_CPU;
    const double elapsed_us = event->end_us - event->start_us;
    double children_us = 0;
    double children_device_us = 0;
    uint64_t children_memory = 0; /* wraps, as in Python it would not: damaged files only */
    uint64_t children_device_memory = 0;
    for (uint32_t at = rows[idx].first_child; at != MAREY_NONE; at = rows[at].next_sibling) {
        children_us += events[at].cpu_total_us;
        children_device_us += events[at].device_total_us;
        children_memory += (uint64_t)events[at].cpu_memory;
        children_device_memory += (uint64_t)events[at].device_memory;
    }
    double kernels_us = 0;
    for (uint32_t i = 0; i < event->n_kernels; i++)
        kernels_us += build->view->kernels[event->first_kernel + i].dur_us;

    event->cpu_total_us = is_host ? elapsed_us : 0;
    if (is_host && !event->is_async) {
        event->self_cpu_us = elapsed_us - children_us;
        event->self_cpu_memory = (int64_t)((uint64_t)event->cpu_memory - children_memory);
        event->self_device_memory =
            (int64_t)((uint64_t)event->device_memory - children_device_memory);
    }
    if (event->is_async || build->view->device_name == NULL)
        return;
    event->device_total_us = is_host ? kernels_us + children_device_us : elapsed_us;
    event->self_device_us =
        is_host ? event->device_total_us - children_device_us : event->device_total_us;
}

static enum marey_status make_events(struct marey_torch_build *build, struct marey_error *err)
{
    struct marey_torch_view *view = build->view;
    view->n_events = build->n_rows;
    view->events = marey__alloc(&view->alloc, view->n_events, sizeof *view->events);
    view->scope = marey__alloc(&view->alloc, view->n_events, sizeof *view->scope);
    if (view->events == NULL || view->scope == NULL)
        return marey__fail_nomem(err);
    for (size_t i = 0; i < view->n_events; i++) {
        describe(build, &build->rows[i], &view->events[i]);
        view->scope[i] = build->rows[i].scope;
    }
    for (size_t i = view->n_events; i-- > 0;)
        add_figures(build, (uint32_t)i);
    return MAREY_OK;
}

/* ---- the whole way ---- */

static bool begin(struct marey_torch_build *build)
{
    const struct marey_alloc *alloc = &build->alloc;
    marey__text_init(&build->scratch, alloc);
    marey__text_init(&build->stack_text, alloc);
    marey__hashmap_init(&build->op_of_id, alloc);
    marey__hashmap_init(&build->call_of_id, alloc);
    build->home_track = MAREY_NONE;
    build->n_names = marey_trace_n_strings(build->trace);
    (void)marey_trace_tracks(build->trace, &build->n_tracks);
    build->name = marey__alloc_zero(alloc, MAREY_TORCH_N_NAMES(build), sizeof *build->name);
    build->track_thread = marey__alloc_zero(alloc, build->n_tracks, sizeof *build->track_thread);
    build->n_slices = marey_trace_slices(build->trace).n;
    build->row_of_slice = marey__alloc(alloc, build->n_slices, sizeof *build->row_of_slice);
    if (build->name == NULL || build->track_thread == NULL || build->row_of_slice == NULL)
        return false;
    for (size_t i = 0; i < build->n_slices; i++)
        build->row_of_slice[i] = MAREY_NONE;
    for (size_t i = 0; i < MAREY_TORCH_N_NAMES(build); i++)
        build->name[i].name_id = MAREY_NONE;

    /* Stack 0 is the empty one. */
    if (!marey__grow(alloc, (void **)&build->stack, &build->stacks_capacity, 1,
                     sizeof *build->stack))
        return false;
    build->stack[build->n_stacks++] = (struct marey_torch_stack){0};
    return true;
}

static void release_cache(const struct marey_alloc *alloc, struct marey_torch_cache *cache)
{
    marey__dealloc(alloc, cache->value, cache->capacity, sizeof *cache->value);
    marey__intern_release(&cache->table);
}

static void end(struct marey_torch_build *build)
{
    const struct marey_alloc *alloc = &build->alloc;
    marey__torch_release_memory(build);
    marey__dealloc(&build->alloc, build->row_of_slice, build->n_slices,
                   sizeof *build->row_of_slice);
    marey__hashmap_release(&build->call_of_id);
    marey__hashmap_release(&build->op_of_id);
    marey__text_release(&build->stack_text);
    marey__text_release(&build->scratch);
    release_cache(alloc, &build->stack_texts);
    release_cache(alloc, &build->shapes);
    marey__dealloc(alloc, build->stack, build->stacks_capacity, sizeof *build->stack);
    marey__dealloc(alloc, build->track_thread, build->n_tracks, sizeof *build->track_thread);
    marey__dealloc(alloc, build->name, MAREY_TORCH_N_NAMES(build), sizeof *build->name);
    marey__dealloc(alloc, build->rows, build->rows_capacity, sizeof *build->rows);
}

static enum marey_status fill(struct marey_torch_build *build, struct marey_error *err)
{
    if (!marey__intern_init(&build->view->strings, &build->view->alloc))
        return marey__fail_nomem(err);
    if (!begin(build))
        return marey__fail_nomem(err);
    MAREY_TRY(marey__torch_collect(build, err));
    MAREY_TRY(marey__torch_name_rows(build, err));
    MAREY_TRY(marey__torch_read_args(build, err));
    MAREY_TRY(marey__torch_number_threads(build, err));
    MAREY_TRY(marey__torch_sort_rows(build, err));
    MAREY_TRY(marey__torch_link(build, err));
    MAREY_TRY(marey__torch_place_stacks(build, err));
    MAREY_TRY(marey__torch_read_memory(build, err));
    MAREY_TRY(marey__torch_charge_memory(build, err));
    MAREY_TRY(marey__torch_build_tree(build, err));
    MAREY_TRY(marey__torch_set_backward_stacks(build, err));
    return make_events(build, err);
}

enum marey_status marey_torch_view_new(struct marey_trace *trace,
                                       const struct marey_torch_options *options,
                                       struct marey_torch_view **view, struct marey_error *err)
{
    MAREY_TRY(check(trace, options, err));
    const struct marey_alloc alloc = trace->alloc;
    struct marey_torch_view *made = marey__alloc_zero(&alloc, 1, sizeof *made);
    if (made == NULL)
        return marey__fail_nomem(err);
    made->alloc = alloc;
    made->trace = trace;
    made->options = complete_options(trace, options);

    struct marey_torch_build build = {.view = made, .trace = trace, .alloc = alloc};
    const enum marey_status status = fill(&build, err);
    end(&build);
    if (status == MAREY_OK)
        *view = made;
    else
        marey_torch_view_free(made);
    return status;
}

void marey_torch_view_free(struct marey_torch_view *view)
{
    if (view == NULL)
        return;
    const struct marey_alloc alloc = view->alloc;
    marey__dealloc(&alloc, view->stacks, view->stacks_capacity, sizeof *view->stacks);
    marey__dealloc(&alloc, view->kernels, view->kernels_capacity, sizeof *view->kernels);
    marey__dealloc(&alloc, view->scope, view->n_events, sizeof *view->scope);
    marey__dealloc(&alloc, view->events, view->n_events, sizeof *view->events);
    marey__intern_release(&view->strings);
    marey__dealloc(&alloc, view, 1, sizeof *view);
}

struct marey_torch_options marey_torch_view_options(const struct marey_torch_view *view)
{
    return view->options;
}

const struct marey_torch_event *marey_torch_view_events(const struct marey_torch_view *view,
                                                        size_t *n)
{
    *n = view->n_events;
    return view->events;
}

struct marey_str marey_torch_view_string(const struct marey_torch_view *view, uint32_t string_id)
{
    return marey__intern_text(&view->strings, string_id);
}

const struct marey_torch_kernel *marey_torch_view_kernels(const struct marey_torch_view *view,
                                                          size_t *n)
{
    *n = view->n_kernels;
    return view->kernels;
}

const uint32_t *marey_torch_view_stacks(const struct marey_torch_view *view, size_t *n)
{
    *n = view->n_stacks;
    return view->stacks;
}
