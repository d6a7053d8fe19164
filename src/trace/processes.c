/*
 * processes.c - which sources are cycles of one process, and the rank of those that tell none.
 *
 * A profiler with a schedule writes a file for each cycle. Read together they are one rank, whose
 * time between the cycles was not recorded, not a rank each. Sources are of one process where all
 * of this is alike: the rank that they tell (or that they tell none), the process in which most of
 * their operators ran, the host and the devices that their heads name, the worker in names as
 * torch's tensorboard_trace_handler makes them; and where no two of them share a moment. Files that
 * are alike and overlap are told apart: nothing says which of them belong together.
 *
 * What an export of ours says of its parts stands in place of that, since their names are gone.
 *
 *   absolute times -> processes -> ranks -> order of the tracks
 */
#include <string.h>

#include "base/error.h"
#include "base/hashmap.h"
#include "base/sort.h"
#include "base/str.h"
#include "trace/build.h"

/* What tells processes apart, and when a source was recorded. */
struct identity {
    uint32_t source_idx;
    uint32_t process_id; /* string ids; MAREY_NONE: not told */
    uint32_t worker_id;
    uint32_t host_id;
    uint32_t devices_id;
    bool has_rank;
    int64_t rank;
    int64_t start_ns;
    int64_t end_ns;
    uint64_t offset; /* of the first slice; MAREY_NO_SLICE: it has none */
    bool has_window;
    bool is_told; /* its file says of which process it is */
};

#define MAREY_NO_SLICE UINT64_MAX

struct processes {
    struct marey_builder *builder;
    struct marey_trace *trace;
    struct identity *of; /* [n sources] in order of the sources until they are compared */
    uint32_t *n_program; /* [n tracks] operators, calls, annotations of a host track */
    uint32_t *n_other;   /* [n tracks] what else lies there */
};

/* ---- what a source tells -------------------------------------------------------------------- */

static bool is_program(enum marey_kind kind)
{
    return kind == MAREY_KIND_OP || kind == MAREY_KIND_ANNOTATION || kind == MAREY_KIND_PYTHON ||
           kind == MAREY_KIND_RUNTIME || kind == MAREY_KIND_DRIVER;
}

static void widen(struct identity *identity, int64_t start_ns, int64_t end_ns)
{
    identity->start_ns = start_ns < identity->start_ns ? start_ns : identity->start_ns;
    identity->end_ns = end_ns > identity->end_ns ? end_ns : identity->end_ns;
}

/* A record of the profiler's window says when it recorded; without one the slices do, those that
 * end none later than `last_ns`. */
static void take_time(struct identity *identity, const struct marey_slice_columns *slices, size_t i,
                      bool is_window, int64_t last_ns)
{
    const int64_t dur_ns = slices->dur_ns[i] < 0 ? 0 : slices->dur_ns[i];
    const bool may_be_wild = !is_window && (slices->flags[i] & MAREY_SLICE_OPEN) == 0;
    const int64_t end_ns = slices->start_ns[i] + dur_ns;

    if (is_window && slices->dur_ns[i] == MAREY_UNKNOWN)
        return;
    if (is_window && !identity->has_window) {
        identity->has_window = true;
        identity->start_ns = INT64_MAX;
        identity->end_ns = INT64_MIN;
    }
    if (identity->offset == MAREY_NO_SLICE || slices->offset[i] < identity->offset)
        identity->offset = slices->offset[i];
    if (is_window || !identity->has_window)
        widen(identity, slices->start_ns[i], may_be_wild && end_ns > last_ns ? last_ns : end_ns);
}

static void take_slices(struct processes *processes, struct identity *identity, size_t from,
                        size_t to)
{
    const struct marey_trace *trace = processes->trace;
    const int64_t last_ns = processes->builder->marks.at[identity->source_idx].last_ns;
    const struct marey_slice_columns *slices = &trace->slices;

    for (size_t i = from; i < to; i++) {
        const enum marey_kind kind = trace->category[slices->cat_id[i]].kind;
        const uint32_t track_idx = slices->parent_idx[i];
        if ((slices->flags[i] & MAREY_ROW_DROPPED) != 0)
            continue;
        take_time(identity, slices, i, kind == MAREY_KIND_WINDOW, last_ns);
        if (trace->tracks.at[track_idx].kind != MAREY_TRACK_THREAD)
            continue;
        processes->n_program[track_idx] += is_program(kind);
        processes->n_other[track_idx] += kind == MAREY_KIND_OTHER;
    }
}

/* Whether a track shows better than another which process the program is. */
static bool is_better(const struct processes *processes, uint32_t track_idx, uint32_t best)
{
    const struct marey_trace *trace = processes->trace;

    if (best == MAREY_NONE)
        return true;
    if (processes->n_program[track_idx] != processes->n_program[best])
        return processes->n_program[track_idx] > processes->n_program[best];
    if (processes->n_other[track_idx] != processes->n_other[best])
        return processes->n_other[track_idx] > processes->n_other[best];
    return marey__str_compare(marey_trace_string(trace, trace->tracks.at[track_idx].process_id),
                              marey_trace_string(trace, trace->tracks.at[best].process_id)) < 0;
}

/* The process in which most of each source ran. */
static bool find_main_processes(struct processes *processes)
{
    const struct marey_trace *trace = processes->trace;
    uint32_t *best = marey__alloc(&trace->alloc, trace->sources.n, sizeof *best);

    if (best == NULL)
        return false;
    for (size_t i = 0; i < trace->sources.n; i++)
        best[i] = MAREY_NONE;
    for (uint32_t t = 0; t < trace->tracks.n; t++) {
        const struct marey_track *track = &trace->tracks.at[t];
        const bool is_any = processes->n_program[t] > 0 || processes->n_other[t] > 0;
        if (is_any && is_better(processes, t, best[track->source_idx]))
            best[track->source_idx] = t;
    }
    for (size_t i = 0; i < trace->sources.n; i++)
        if (best[i] != MAREY_NONE)
            processes->of[i].process_id = trace->tracks.at[best[i]].process_id;
    marey__dealloc(&trace->alloc, best, trace->sources.n, sizeof *best);
    return true;
}

/* The worker of "worker.1694128201545.pt.trace.json", perhaps with ".gz"; {NULL, 0} for any other
 * name. */
static struct marey_str worker_of(struct marey_str path)
{
    static const char *const endings[] = {".gz", ".pt.trace.json"};
    struct marey_str name = path;

    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '/')
            name = (struct marey_str){path.ptr + i + 1, path.len - i - 1};
    if (marey__str_ends(name, endings[0]))
        name.len -= strlen(endings[0]);
    if (!marey__str_ends(name, endings[1]))
        return (struct marey_str){NULL, 0};
    name.len -= strlen(endings[1]);
    const size_t with_time = name.len;
    while (name.len > 0 && name.ptr[name.len - 1] >= '0' && name.ptr[name.len - 1] <= '9')
        name.len--;
    if (name.len == with_time || name.len < 2 || name.ptr[name.len - 1] != '.')
        return (struct marey_str){NULL, 0};
    name.len--;
    return name;
}

static bool find_workers(struct processes *processes)
{
    struct marey_trace *trace = processes->trace;

    for (size_t i = 0; i < trace->sources.n; i++) {
        const struct marey_str worker =
            worker_of(marey_trace_string(trace, trace->sources.at[i].path_id));
        if (worker.ptr == NULL)
            continue;
        processes->of[i].worker_id = marey__intern(&trace->strings, worker);
        if (processes->of[i].worker_id == MAREY_NONE)
            return false;
    }
    return true;
}

static void take_heads(struct processes *processes)
{
    const struct marey_trace *trace = processes->trace;

    for (size_t i = 0; i < trace->metas.n; i++) {
        const struct marey_meta *meta = &trace->metas.at[i];
        const struct marey_str key = marey_trace_string(trace, meta->key_id);
        if (marey__str_is_c(key, "deviceProperties"))
            processes->of[meta->source_idx].devices_id = meta->json_id;
        else if (marey__str_is_c(key, "host_name"))
            processes->of[meta->source_idx].host_id = meta->json_id;
    }
}

static bool collect(struct processes *processes)
{
    const struct marey_builder *builder = processes->builder;
    const struct marey_trace *trace = processes->trace;

    for (size_t i = 0; i < trace->sources.n; i++) {
        const struct marey_source *source = &trace->sources.at[i];
        const size_t to =
            i + 1 < builder->marks.n ? builder->marks.at[i + 1].slice : trace->slices.n;
        processes->of[i] = (struct identity){
            .source_idx = (uint32_t)i,
            .process_id = MAREY_NONE,
            .worker_id = MAREY_NONE,
            .host_id = MAREY_NONE,
            .devices_id = MAREY_NONE,
            .has_rank = !source->rank_is_assumed,
            .rank = source->rank_is_assumed ? 0 : source->rank,
            .start_ns = INT64_MAX,
            .end_ns = INT64_MIN,
            .offset = MAREY_NO_SLICE,
            .is_told = builder->marks.at[i].cycle_of <= i,
        };
        take_slices(processes, &processes->of[i], builder->marks.at[i].slice, to);
    }
    take_heads(processes);
    return find_main_processes(processes) && find_workers(processes);
}

/* ---- cycles of one process ---------------------------------------------------------------------
 */

static int compare_u32(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* 0: nothing tells the two apart but their time. */
static int compare_identity(const struct identity *a, const struct identity *b)
{
    if (a->has_rank != b->has_rank)
        return a->has_rank ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    int order = compare_u32(a->process_id, b->process_id);
    if (order == 0)
        order = compare_u32(a->worker_id, b->worker_id);
    if (order == 0)
        order = compare_u32(a->host_id, b->host_id);
    return order != 0 ? order : compare_u32(a->devices_id, b->devices_id);
}

static int compare_sources(const void *ctx, uint32_t a, uint32_t b)
{
    const struct identity *identity = ctx;
    const int order = compare_identity(&identity[a], &identity[b]);

    if (identity[a].is_told != identity[b].is_told)
        return identity[a].is_told ? 1 : -1;
    if (order != 0)
        return order;
    if (identity[a].start_ns != identity[b].start_ns)
        return identity[a].start_ns < identity[b].start_ns ? -1 : 1;
    return compare_u32(identity[a].source_idx, identity[b].source_idx);
}

/* Where the sources end that nothing but their time tells from the one at `from`; *are_apart is
 * whether no two of them share a moment. */
static size_t end_of_alike(const struct identity *identity, size_t from, size_t n, bool *are_apart)
{
    size_t to = from + 1;

    *are_apart = identity[from].process_id != MAREY_NONE;
    for (; to < n && compare_identity(&identity[from], &identity[to]) == 0; to++)
        *are_apart = *are_apart && identity[to].start_ns >= identity[to - 1].end_ns;
    return to;
}

/* Without a record of its own window a source was recorded as long as it has slices. */
static bool add_window(struct marey_trace *trace, const struct identity *identity)
{
    void *at = trace->windows.at;

    if (identity->has_window || identity->offset == MAREY_NO_SLICE)
        return true;
    if (!marey__grow(&trace->alloc, &at, &trace->windows.capacity, trace->windows.n + 1,
                     sizeof *trace->windows.at))
        return false;
    trace->windows.at = at;
    trace->windows.at[trace->windows.n++] = (struct marey_recorded_window){
        .source_idx = identity->source_idx,
        .start_ns = identity->start_ns,
        .end_ns = identity->end_ns,
        .offset = identity->offset,
    };
    return true;
}

static void join_cycles(struct marey_trace *trace, const struct identity *identity, size_t from,
                        size_t to)
{
    uint32_t first = identity[from].source_idx;

    for (size_t i = from; i < to; i++)
        first = identity[i].source_idx < first ? identity[i].source_idx : first;
    for (size_t i = from; i < to; i++)
        trace->sources.at[identity[i].source_idx].cycle_of = first;
}

/* Takes what files say of their parts; returns of how many sources nothing is told. */
static size_t take_told(struct processes *processes)
{
    struct marey_source *source = processes->trace->sources.at;
    size_t n_left = 0;

    for (size_t i = 0; i < processes->trace->sources.n; i++) {
        const uint32_t told = processes->builder->marks.at[i].cycle_of;
        source[i].cycle_of = processes->of[i].is_told ? source[told].cycle_of : (uint32_t)i;
        n_left += !processes->of[i].is_told;
    }
    return n_left;
}

static bool find_cycles(struct processes *processes)
{
    struct marey_trace *trace = processes->trace;
    struct identity *identity = processes->of;
    const size_t n = take_told(processes); /* the rest is sorted behind them */
    bool are_apart = false;

    if (!marey__sort_structs(&trace->alloc, identity, trace->sources.n, sizeof *identity,
                             compare_sources, identity))
        return false;
    for (size_t from = 0, to = 0; from < n; from = to) {
        to = end_of_alike(identity, from, n, &are_apart);
        if (are_apart)
            join_cycles(trace, identity, from, to);
    }
    return true;
}

/* ---- ranks -------------------------------------------------------------------------------------
 */

/* A process that a program started beside itself, as a DataLoader does, is of the program's rank
 * and takes no rank from another file. */
static bool is_worker(const struct marey_trace *trace, const struct marey_meta *meta)
{
    return marey__str_is_c(marey_trace_string(trace, meta->key_id), "worker");
}

/* What of ranks is taken: key is the rank. */
static bool take_rank(struct marey_hashmap *taken, int64_t rank, bool *is_new)
{
    uint32_t *place = marey__hashmap_put(taken, (uint64_t)rank);

    if (place == NULL)
        return false;
    *is_new = *place == MAREY_NONE;
    *place = 0;
    return true;
}

/* Ranks that are somebody's, and which sources are of workers. */
struct ranks {
    struct marey_hashmap taken;
    struct marey_hashmap workers; /* by source */
};

static bool is_of_worker(const struct ranks *ranks, size_t source_idx)
{
    return marey__hashmap_get(&ranks->workers, source_idx) != MAREY_NONE;
}

static bool take_workers(const struct marey_trace *trace, struct ranks *ranks)
{
    bool is_new = false;

    for (size_t i = 0; i < trace->metas.n; i++)
        if (is_worker(trace, &trace->metas.at[i]) &&
            !take_rank(&ranks->workers, trace->metas.at[i].source_idx, &is_new))
            return false;
    return true;
}

static bool take_told_ranks(const struct marey_trace *trace, struct ranks *ranks)
{
    bool is_new = false;

    for (size_t i = 0; i < trace->sources.n; i++)
        if (!trace->sources.at[i].rank_is_assumed && !is_of_worker(ranks, i) &&
            !take_rank(&ranks->taken, trace->sources.at[i].rank, &is_new))
            return false;
    return true;
}

/* A process that does not tell its rank takes its place among the processes; where that is the rank
 * of another, the first that is nobody's. Workers have no place. */
static bool assume_ranks(struct marey_trace *trace, struct ranks *ranks)
{
    struct marey_source *source = trace->sources.at;
    int64_t place = 0;
    int64_t next = 0;
    bool is_new = false;

    for (size_t i = 0; i < trace->sources.n; i++) {
        if (source[i].cycle_of != i || is_of_worker(ranks, i))
            continue;
        const int64_t rank = place++;
        if (!source[i].rank_is_assumed)
            continue;
        if (!take_rank(&ranks->taken, rank, &is_new))
            return false;
        source[i].rank = is_new ? rank : MAREY_UNKNOWN;
    }
    for (size_t i = 0; i < trace->sources.n; i++) {
        if (source[i].cycle_of != i && source[i].rank_is_assumed)
            source[i].rank = source[source[i].cycle_of].rank;
        if (source[i].rank != MAREY_UNKNOWN || !source[i].rank_is_assumed)
            continue;
        for (is_new = false; !is_new; next++)
            if (!take_rank(&ranks->taken, next, &is_new))
                return false;
        source[i].rank = next - 1;
    }
    return true;
}

/* A worker that does not tell its rank has that of the program in front of it. */
static void give_workers_ranks(struct marey_trace *trace, const struct ranks *ranks)
{
    struct marey_source *source = trace->sources.at;
    int64_t rank = 0;

    for (size_t i = 0; i < trace->sources.n; i++) {
        if (!is_of_worker(ranks, i))
            rank = source[i].rank;
        else if (source[i].rank_is_assumed)
            source[i].rank = rank;
    }
}

static bool find_ranks(struct marey_trace *trace)
{
    struct ranks ranks;

    marey__hashmap_init(&ranks.taken, &trace->alloc);
    marey__hashmap_init(&ranks.workers, &trace->alloc);
    const bool is_done = take_workers(trace, &ranks) && take_told_ranks(trace, &ranks) &&
                         assume_ranks(trace, &ranks);
    if (is_done)
        give_workers_ranks(trace, &ranks);
    marey__hashmap_release(&ranks.workers);
    marey__hashmap_release(&ranks.taken);
    return is_done;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* Notes the cycles and adds the windows that they have no record of. */
static bool finish_cycles(struct processes *processes)
{
    struct marey_trace *trace = processes->trace;
    const struct marey_source *source = trace->sources.at;
    struct marey_hashmap with_cycles;
    bool is_done = true;
    bool is_new = false;

    marey__hashmap_init(&with_cycles, &trace->alloc);
    for (size_t i = 0; i < trace->sources.n && is_done; i++) {
        if (source[i].cycle_of == i)
            continue;
        marey__account_note(&trace->account, MAREY_REASON_FURTHER_CYCLE, MAREY_OFFSET(i, 0));
        is_done = take_rank(&with_cycles, source[i].cycle_of, &is_new);
    }
    for (size_t i = 0; i < trace->sources.n && is_done; i++)
        if (marey__hashmap_get(&with_cycles, source[processes->of[i].source_idx].cycle_of) !=
            MAREY_NONE)
            is_done = add_window(trace, &processes->of[i]);
    marey__hashmap_release(&with_cycles);
    return is_done;
}

static bool find_all(struct processes *processes)
{
    return collect(processes) && find_cycles(processes) && find_ranks(processes->trace) &&
           finish_cycles(processes);
}

bool marey__find_processes(struct marey_builder *builder)
{
    struct marey_trace *trace = builder->trace;
    const size_t n_sources = trace->sources.n;
    const size_t n_tracks = trace->tracks.n;
    struct processes processes = {.builder = builder, .trace = trace};

    if (n_sources < 2)
        return true;
    processes.of = marey__alloc(&trace->alloc, n_sources, sizeof *processes.of);
    processes.n_program = marey__alloc_zero(&trace->alloc, n_tracks, sizeof *processes.n_program);
    processes.n_other = marey__alloc_zero(&trace->alloc, n_tracks, sizeof *processes.n_other);
    const bool is_done = processes.of != NULL && processes.n_program != NULL &&
                         processes.n_other != NULL && find_all(&processes);
    marey__dealloc(&trace->alloc, processes.n_other, n_tracks, sizeof *processes.n_other);
    marey__dealloc(&trace->alloc, processes.n_program, n_tracks, sizeof *processes.n_program);
    marey__dealloc(&trace->alloc, processes.of, n_sources, sizeof *processes.of);
    return is_done;
}
