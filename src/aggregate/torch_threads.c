/*
 * torch_threads.c - torch's logical thread ids, which the file does not give.
 *
 * The file has system thread ids. A backward op tells the logical id of its forward
 * thread, and a "fwdbwd" arrow tells which thread that was. The rest is convention: the
 * main thread is 1, others are numbered in order of first appearance.
 */
#include "aggregate/torch_view.h"
#include "base/error.h"
#include "base/str.h"

#define TIME_BITS 44

/* Track and time of a flow's end as one key. Times of a window are far below 2^44 ns. */
static uint64_t place_key(const struct marey_torch_build *build, uint32_t track_idx, int64_t ts_ns)
{
    const uint64_t since = (uint64_t)ts_ns - (uint64_t)build->origin_ns;
    return ((uint64_t)track_idx << TIME_BITS) | (since & ((UINT64_C(1) << TIME_BITS) - 1));
}

static bool is_forward_flow(const struct marey_trace *trace, uint8_t label_idx)
{
    size_t n = 0;
    const struct marey_flow_label *label = marey_trace_flow_labels(trace, &n);
    if (label_idx >= n)
        return false;
    const struct marey_str category = marey_trace_string(trace, label[label_idx].cat_name_id);
    return marey__str_is_c(category, "fwdbwd") || marey__str_is_c(category, "forward_backward");
}

/* For each place where an arrow ends: the track where it starts. */
static bool map_arrows(const struct marey_torch_build *build, struct marey_hashmap *start_track,
                       struct marey_hashmap *by_place)
{
    const struct marey_flows flows = marey_trace_flows(build->trace);
    for (size_t i = 0; i < flows.n; i++) {
        if (flows.phase[i] != 's' || !is_forward_flow(build->trace, flows.label_idx[i]))
            continue;
        uint32_t *track = marey__hashmap_put(start_track, flows.id[i]);
        if (track == NULL)
            return false;
        *track = flows.track_idx[i];
    }
    for (size_t i = 0; i < flows.n; i++) {
        if (flows.phase[i] != 'f' || !is_forward_flow(build->trace, flows.label_idx[i]))
            continue;
        const uint32_t from = marey__hashmap_get(start_track, flows.id[i]);
        if (from == MAREY_NONE)
            continue;
        uint32_t *track =
            marey__hashmap_put(by_place, place_key(build, flows.track_idx[i], flows.ts_ns[i]));
        if (track == NULL)
            return false;
        *track = from;
    }
    return true;
}

/* Numbers that threads have already: keys of a hash map. */
static bool has_thread(const struct marey_hashmap *taken, int64_t thread)
{
    return marey__hashmap_get(taken, (uint64_t)thread) != MAREY_NONE;
}

/* False without memory. */
static bool give_thread(struct marey_torch_build *build, struct marey_hashmap *taken,
                        uint32_t track_idx, int64_t thread)
{
    uint32_t *place = marey__hashmap_put(taken, (uint64_t)thread);
    if (place == NULL)
        return false;
    *place = track_idx;
    build->track_thread[track_idx] = thread;
    return true;
}

/* What backward ops tell. */
static bool number_by_arrows(struct marey_torch_build *build, struct marey_hashmap *taken)
{
    struct marey_hashmap start_track;
    struct marey_hashmap by_place;
    marey__hashmap_init(&start_track, &build->alloc);
    marey__hashmap_init(&by_place, &build->alloc);
    bool has_room = map_arrows(build, &start_track, &by_place);
    for (size_t i = 0; i < build->n_rows && has_room; i++) {
        const struct marey_torch_row *row = &build->rows[i];
        if (row->kind != MAREY_KIND_OP || row->forward_thread <= 0)
            continue;
        const uint32_t track =
            marey__hashmap_get(&by_place, place_key(build, row->track_idx, row->start_ns));
        if (track != MAREY_NONE && build->track_thread[track] == 0 &&
            !has_thread(taken, row->forward_thread))
            has_room = give_thread(build, taken, track, row->forward_thread);
    }
    marey__hashmap_release(&by_place);
    marey__hashmap_release(&start_track);
    return has_room;
}

static bool is_main(const struct marey_track *track)
{
    return track->kind == MAREY_TRACK_THREAD && track->process_id == track->thread_id &&
           track->process_id != MAREY_NONE && track->n_slices > 0;
}

/* Also where its Python functions are no rows, since others may hang below them. */
static bool number_main_thread(struct marey_torch_build *build, struct marey_hashmap *taken)
{
    size_t n = 0;
    const struct marey_track *track = marey_trace_tracks(build->trace, &n);
    if (has_thread(taken, 1))
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (is_main(&track[i]) && build->track_thread[i] == 0)
            return give_thread(build, taken, i, 1);
    return true;
}

/* Only events of the front end make a thread: runtime calls are put on that of their op. */
static bool number_the_rest(struct marey_torch_build *build, struct marey_hashmap *taken)
{
    int64_t next = has_thread(taken, 1) ? 2 : 1;
    for (size_t i = 0; i < build->n_rows; i++) {
        const struct marey_torch_row *row = &build->rows[i];
        if (!marey__torch_is_front_end(row) || build->track_thread[row->track_idx] != 0)
            continue;
        while (has_thread(taken, next))
            next++;
        if (!give_thread(build, taken, row->track_idx, next++))
            return false;
    }
    return true;
}

enum marey_status marey__torch_number_threads(struct marey_torch_build *build,
                                              struct marey_error *err)
{
    struct marey_hashmap taken;
    marey__hashmap_init(&taken, &build->alloc);
    const bool has_room = number_by_arrows(build, &taken) && number_main_thread(build, &taken) &&
                          number_the_rest(build, &taken);
    marey__hashmap_release(&taken);
    if (!has_room)
        return marey__fail_nomem(err);
    for (uint32_t i = 0; i < build->n_tracks; i++)
        if (build->track_thread[i] == 1)
            build->home_track = i;
    return MAREY_OK;
}
