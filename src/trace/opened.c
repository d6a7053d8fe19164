/*
 * opened.c - which slice an end without a category belongs to: the format wants no more of an end
 * than its process, its thread and a time, while the category and the args of the begin decide the
 * track. So begun slices are remembered by the process and thread that were written, too.
 */
#include "trace/build.h"

/* The last that is open still, from `at` on; those that have ended are dropped on the way, but for
 * the lowest: its place in the map cannot be free. */
static uint32_t last_open(struct marey_builder *builder, uint32_t at)
{
    const uint8_t *flags = builder->trace->slices.flags;
    const struct marey_written_row *written = builder->written.at;

    while ((flags[written[at].row] & MAREY_SLICE_OPEN) == 0 && written[at].below != MAREY_NONE) {
        builder->written.n -= at + (size_t)1 == builder->written.n;
        at = written[at].below;
    }
    return at;
}

static uint64_t key_of(uint32_t process_id, uint32_t thread_id)
{
    return (uint64_t)process_id << 32 | thread_id;
}

void marey__opened_add(struct marey_builder *builder, uint32_t row)
{
    const struct marey_trace *trace = builder->trace;
    const struct marey_track *track = &trace->tracks.at[trace->slices.parent_idx[row]];
    uint32_t *place =
        marey__hashmap_put(&builder->written_map, key_of(track->process_id, track->thread_id));

    if (place == NULL ||
        !marey__grow(&builder->alloc, (void **)&builder->written.at, &builder->written.capacity,
                     builder->written.n + 1, sizeof *builder->written.at)) {
        builder->failed = true;
        return;
    }
    const uint32_t below = *place == MAREY_NONE ? MAREY_NONE : last_open(builder, *place);
    *place = (uint32_t)builder->written.n++;
    builder->written.at[*place] = (struct marey_written_row){row, below};
}

void marey__opened_forget(struct marey_builder *builder)
{
    const struct marey_alloc alloc = builder->alloc;

    builder->written.n = 0;
    if (builder->written_map.n == 0)
        return;
    marey__hashmap_release(&builder->written_map);
    marey__hashmap_init(&builder->written_map, &alloc);
}

uint32_t marey__builder_opened_at(struct marey_builder *builder, uint32_t process_id,
                                  uint32_t thread_id)
{
    const struct marey_trace *trace = builder->trace;
    const uint64_t key = key_of(process_id, thread_id);
    const uint32_t at = marey__hashmap_get(&builder->written_map, key);

    if (at == MAREY_NONE)
        return MAREY_NONE;
    const uint32_t last = last_open(builder, at);
    const uint32_t row = builder->written.at[last].row;
    uint32_t *place = marey__hashmap_put(&builder->written_map, key);
    if (place != NULL)
        *place = last;
    return (trace->slices.flags[row] & MAREY_SLICE_OPEN) != 0 ? trace->slices.parent_idx[row]
                                                              : MAREY_NONE;
}

bool marey__builder_has_open(const struct marey_builder *builder, uint32_t track_idx)
{
    return track_idx < builder->open_tracks.n &&
           builder->open_tracks.at[track_idx].top != MAREY_NONE;
}
