/*
 * info_collect.c - counts what is in a trace, in one pass over its columns.
 */
#include "info.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"

const struct info_flag info_flags[] = {{"record_shapes", "shapes"}, {"profile_memory", "memory"},
                                       {"with_stack", "stack"},     {"with_modules", "modules"},
                                       {"with_flops", "flops"},     {NULL, NULL}};

/* Place of a member among those of all heads and tails; SIZE_MAX if it is not there. */
static size_t meta_place(const struct info *info, uint32_t source_idx, const char *key)
{
    const size_t key_len = strlen(key);
    size_t n = 0;
    const struct marey_meta *metas = marey_trace_metas(info->trace, &n);
    size_t low = 0;
    size_t high = n;

    while (low < high) { /* those of a source stand together, the sources in their order */
        const size_t middle = low + (high - low) / 2;
        if (metas[middle].source_idx < source_idx)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n && metas[low].source_idx == source_idx; low++) {
        const struct marey_str name = marey_trace_string(info->trace, metas[low].key_id);
        if (name.len == key_len && memcmp(name.ptr, key, key_len) == 0)
            return low;
    }
    return SIZE_MAX;
}

struct marey_str info_meta(const struct info *info, uint32_t source_idx, const char *key)
{
    size_t n = 0;
    const struct marey_meta *metas = marey_trace_metas(info->trace, &n);
    const size_t i = meta_place(info, source_idx, key);

    if (i >= n)
        return (struct marey_str){NULL, 0};
    return marey_trace_string(info->trace, metas[i].json_id);
}

int64_t info_range_cost_ns(const struct info *info, uint32_t source_idx)
{
    return json_integer(json_member(info_meta(info, source_idx, "marey"), "range_cost_ns"));
}

/* ---- devices --------------------------------------------------------------------- */

struct marey_str info_devices(const struct info *info, uint32_t source_idx)
{
    const struct marey_str devices = info_meta(info, source_idx, "deviceProperties");

    /* A name that early versions of Kineto used. */
    return devices.ptr ? devices : info_meta(info, source_idx, "computeProperties");
}

bool info_next_device(struct marey_str *rest, struct info_device *device)
{
    struct marey_str element;

    if (!json_next_element(rest, &element))
        return false;
    device->name = json_member(element, "name");
    device->id = json_integer(json_member(element, "id"));
    device->n_multiprocessors = json_integer(json_member(element, "numSms"));
    device->memory_bytes = json_integer(json_member(element, "totalGlobalMem"));
    return true;
}

/* ---- who wrote it ------------------------------------------------------------------ */

static bool has_meta(const struct info *info, uint32_t source_idx, const char *key)
{
    return info_meta(info, source_idx, key).ptr != NULL;
}

/* Whether displayTimeUnit stands before traceName, the last member: it did not
 * before 2025-03. */
static bool has_unit_in_head(const struct info *info, uint32_t source_idx)
{
    return meta_place(info, source_idx, "displayTimeUnit") <
           meta_place(info, source_idx, "traceName");
}

/* What the members of Kineto's head date it by, newest first:
 * host_name is always written since 2026-03 (before, a user may have added one, but then
 * displayTimeUnit stood after the events or no trace_id was there), trace_id since 2024-11,
 * the versions of CUPTI since 2024-09, baseTimeNanoseconds since 2024-05. */
static struct info_producer guess_producer(const struct info *info, uint32_t source_idx)
{
    const struct info_producer unknown = {"Chrome JSON", NULL, NULL, NULL, false};

    if (has_meta(info, source_idx, "marey"))
        return (struct info_producer){"Marey's own recorder", NULL, NULL, NULL, true};
    if (!has_meta(info, source_idx, "schemaVersion") &&
        !has_meta(info, source_idx, "deviceProperties") &&
        !has_meta(info, source_idx, "computeProperties"))
        return unknown;
    if (has_meta(info, source_idx, "host_name") && has_unit_in_head(info, source_idx))
        return (struct info_producer){"Kineto JSON", "2026-03", NULL, "torch 2.12 or later", false};
    if (has_meta(info, source_idx, "trace_id"))
        return (struct info_producer){"Kineto JSON", "2024-11", "2026-03", "torch 2.6 to 2.12",
                                      false};
    if (has_meta(info, source_idx, "cupti_version"))
        return (struct info_producer){"Kineto JSON", "2024-09", "2024-11", "torch 2.5 or 2.6",
                                      false};
    if (has_meta(info, source_idx, "baseTimeNanoseconds"))
        return (struct info_producer){"Kineto JSON", "2024-05", "2024-11", "torch 2.4 to 2.6",
                                      false};
    return (struct info_producer){"Kineto JSON", NULL, "2024-05", "torch 2.4 or older", false};
}

/* ---- counting ------------------------------------------------------------------------ */

/* The window is that of the table: all slices of known duration but the profiler's
 * own span. */
static void widen_window(struct info *info, int64_t start_ns, int64_t end_ns)
{
    if (info->start_ns == MAREY_UNKNOWN || start_ns < info->start_ns)
        info->start_ns = start_ns;
    if (info->end_ns == MAREY_UNKNOWN || end_ns > info->end_ns)
        info->end_ns = end_ns;
}

/* The number of "ProfilerStep#12", MAREY_UNKNOWN for any other name. */
static int64_t step_number(struct marey_str name)
{
    static const char prefix[] = "ProfilerStep#";
    const size_t prefix_len = sizeof prefix - 1;

    if (name.len <= prefix_len || memcmp(name.ptr, prefix, prefix_len) != 0)
        return MAREY_UNKNOWN;
    return json_integer((struct marey_str){name.ptr + prefix_len, name.len - prefix_len});
}

/* Adds to a sum, which is not known any more once 64 bits do not hold it. */
static void add_ns(int64_t *sum, int64_t ns)
{
    if (*sum != MAREY_UNKNOWN && __builtin_add_overflow(*sum, ns, sum))
        *sum = MAREY_UNKNOWN;
}

static void count_step(struct info_steps *steps, int64_t number, int64_t dur_ns)
{
    if (steps->n == 0 || number < steps->first)
        steps->first = number;
    if (steps->n == 0 || number > steps->last)
        steps->last = number;
    steps->n++;
    if (dur_ns != MAREY_UNKNOWN) {
        steps->n_timed++;
        add_ns(&steps->sum_ns, dur_ns);
    }
}

/* Whether anything but the profiler's own span lies on the track. */
static bool count_slices_of(struct info *info, const struct marey_track *track)
{
    const struct marey_slices slices = marey_trace_slices(info->trace);
    bool has_slices = false;
    struct info_steps *steps = &info->sources[track->source_idx].steps;

    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const enum marey_kind kind = info->categories[slices.cat_id[i]].kind;

        info->categories[slices.cat_id[i]].n_slices++;
        has_slices = has_slices || kind != MAREY_KIND_WINDOW;
        if (kind != MAREY_KIND_WINDOW && slices.dur_ns[i] != MAREY_UNKNOWN)
            widen_window(info, slices.start_ns[i], slices.start_ns[i] + slices.dur_ns[i]);
        if (track->kind != MAREY_TRACK_THREAD)
            continue;
        const int64_t number = step_number(marey_trace_string(info->trace, slices.name_id[i]));
        if (number != MAREY_UNKNOWN)
            count_step(steps, number, slices.dur_ns[i]);
    }
    return has_slices;
}

/* A track with slices, and the first source of its process: cycles of one have the same threads,
 * streams and devices. */
struct counted {
    uint32_t process;
    const struct marey_track *track;
};

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_devices(const struct counted *a, const struct counted *b)
{
    int order = compare_i64(a->process, b->process);

    if (order == 0)
        order = compare_i64(a->track->kind, b->track->kind);
    return order != 0 ? order : compare_i64(a->track->device, b->track->device);
}

static int compare_counted(const void *left, const void *right)
{
    const struct counted *a = left;
    const struct counted *b = right;
    int order = compare_devices(a, b);

    if (order == 0)
        order = compare_i64(a->track->context, b->track->context);
    if (order == 0)
        order = compare_i64(a->track->stream, b->track->stream);
    if (order == 0)
        order = compare_i64(a->track->process_id, b->track->process_id);
    return order != 0 ? order : compare_i64(a->track->thread_id, b->track->thread_id);
}

/* False without memory. */
static bool count_tracks(struct info *info)
{
    struct counted *counted = calloc(info->n_tracks + 1, sizeof *counted);
    size_t n = 0;

    if (!counted)
        return false;
    for (size_t i = 0; i < info->n_tracks; i++) {
        size_t n_sources = 0;
        const struct marey_source *source = marey_trace_sources(info->trace, &n_sources);
        const struct marey_track *track = &info->tracks[i];
        if (count_slices_of(info, track))
            counted[n++] = (struct counted){source[track->source_idx].cycle_of, track};
    }
    qsort(counted, n, sizeof *counted, compare_counted);
    for (size_t i = 0; i < n; i++) {
        const enum marey_track_kind kind = counted[i].track->kind;
        const bool is_new = i == 0 || compare_counted(&counted[i - 1], &counted[i]) != 0;
        info->n_threads += is_new && kind == MAREY_TRACK_THREAD;
        info->n_streams += is_new && kind == MAREY_TRACK_STREAM;
        info->n_devices += kind == MAREY_TRACK_STREAM &&
                           (i == 0 || compare_devices(&counted[i - 1], &counted[i]) != 0);
    }
    free(counted);
    return true;
}

static void count_points(struct info *info)
{
    const struct marey_instants instants = marey_trace_instants(info->trace);
    const struct marey_counters counters = marey_trace_counters(info->trace);
    const struct marey_flows flows = marey_trace_flows(info->trace);

    for (size_t i = 0; i < instants.n; i++)
        info->categories[instants.cat_id[i]].n_instants++;
    for (size_t i = 0; i < counters.n; i++)
        info->categories[counters.cat_id[i]].n_counters++;
    for (size_t i = 0; i < flows.n; i++)
        info->flows[flows.label_idx[i]].n_ends++;
}

/* ---- sources ------------------------------------------------------------------------- */

static int64_t stored_bytes(const struct info *info, const struct marey_source *source)
{
    const struct marey_str path = marey_trace_string(info->trace, source->path_id);
    char *name = strndup(path.ptr ? path.ptr : "", path.len);
    struct stat st;
    int64_t bytes = MAREY_UNKNOWN;

    if (name && strcmp(name, "-") != 0 && stat(name, &st) == 0 && S_ISREG(st.st_mode))
        bytes = st.st_size;
    free(name);
    return bytes;
}

/* ---- lists in an order that the file's does not change (law 6) ------------------------------ */

static int compare_strings(struct marey_str a, struct marey_str b)
{
    const size_t len = a.len < b.len ? a.len : b.len;
    const int result = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;

    return result ? result : (a.len > b.len) - (a.len < b.len);
}

static int compare_categories(const void *a_ptr, const void *b_ptr)
{
    const struct info_category *a = a_ptr;
    const struct info_category *b = b_ptr;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return compare_strings(a->name, b->name);
}

static int compare_flows(const void *a_ptr, const void *b_ptr)
{
    const struct info_flow *a = a_ptr;
    const struct info_flow *b = b_ptr;
    const int result = compare_strings(a->category, b->category);

    return result ? result : compare_strings(a->name, b->name);
}

static void name_lists(struct info *info, const struct marey_category *categories,
                       const struct marey_flow_label *labels)
{
    for (size_t i = 0; i < info->n_categories; i++) {
        info->categories[i].name = marey_trace_string(info->trace, categories[i].name_id);
        info->categories[i].kind = categories[i].kind;
    }
    for (size_t i = 0; i < info->n_flows; i++) {
        info->flows[i].category = marey_trace_string(info->trace, labels[i].cat_name_id);
        info->flows[i].name = marey_trace_string(info->trace, labels[i].name_id);
    }
}

/* Those of a process stand together. */
static void count_gaps(struct info *info, const struct marey_source *sources)
{
    const struct marey_gap *gaps = marey_trace_gaps(info->trace, &info->n_gaps);
    uint32_t process = 0;
    int64_t sum_ns = 0;

    for (size_t i = 0; i < info->n_sources; i++)
        info->is_of_several |= sources[i].cycle_of != sources[0].cycle_of;
    for (size_t i = 0; i < info->n_gaps; i++) {
        const uint32_t own = sources[gaps[i].source_idx].cycle_of;
        if (own != process)
            sum_ns = 0;
        process = own;
        add_ns(&sum_ns, gaps[i].end_ns - gaps[i].start_ns);
        info->gaps_ns = sum_ns > info->gaps_ns ? sum_ns : info->gaps_ns;
    }
}

enum marey_status info_collect(struct marey_trace *trace, struct info *info,
                               struct marey_error *err)
{
    *info = (struct info){.trace = trace, .start_ns = MAREY_UNKNOWN, .end_ns = MAREY_UNKNOWN};
    const struct marey_source *sources = marey_trace_sources(trace, &info->n_sources);
    const struct marey_category *categories = marey_trace_categories(trace, &info->n_categories);
    const struct marey_flow_label *labels = marey_trace_flow_labels(trace, &info->n_flows);

    info->tracks = marey_trace_tracks(trace, &info->n_tracks);
    info->categories = calloc(info->n_categories + 1, sizeof *info->categories);
    info->sources = calloc(info->n_sources + 1, sizeof *info->sources);
    info->flows = calloc(info->n_flows + 1, sizeof *info->flows);
    if (!info->categories || !info->sources || !info->flows)
        return MAREY_NOMEM;

    for (size_t i = 0; i < info->n_sources; i++) {
        info->sources[i].source = &sources[i];
        info->sources[i].stored_bytes = stored_bytes(info, &sources[i]);
        info->sources[i].producer = guess_producer(info, (uint32_t)i);
    }
    name_lists(info, categories, labels);
    if (!count_tracks(info))
        return MAREY_NOMEM;
    count_points(info);
    count_gaps(info, sources);

    /* From here on ids are no places in these lists any more. */
    qsort(info->categories, info->n_categories, sizeof *info->categories, compare_categories);
    qsort(info->flows, info->n_flows, sizeof *info->flows, compare_flows);
    return marey_trace_ledger(trace, &info->ledger, err);
}

void info_release(struct info *info)
{
    free(info->flows);
    free(info->sources);
    free(info->categories);
}
