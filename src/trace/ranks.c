/*
 * ranks.c - ranks of the job that are not in the trace.
 *
 * Where several processes are read together they stand for the job, so that a rank which is not
 * among them is missing. One process alone is of its rank, and the others are counted as normal.
 */
#include "base/hashmap.h"
#include "trace/examine.h"

static int64_t world_size_of(const struct marey_trace *trace)
{
    int64_t most = 0;
    for (size_t i = 0; i < trace->sources.n; i++)
        if (trace->sources.at[i].world_size > most)
            most = trace->sources.at[i].world_size;
    return most;
}

bool marey__count_missing_ranks(const struct marey_trace *trace, uint64_t *n)
{
    const int64_t world_size = world_size_of(trace);
    uint64_t n_there = 0;
    bool is_done = true;
    struct marey_hashmap ranks;

    *n = 0;
    if (world_size == 0)
        return true;
    marey__hashmap_init(&ranks, &trace->alloc);
    for (size_t i = 0; i < trace->sources.n && is_done; i++) {
        const int64_t rank = trace->sources.at[i].rank;
        if (rank < 0 || rank >= world_size)
            continue;
        uint32_t *place = marey__hashmap_put(&ranks, (uint64_t)rank);
        is_done = place != NULL;
        if (place != NULL && *place == MAREY_NONE) {
            *place = (uint32_t)i;
            n_there++;
        }
    }
    marey__hashmap_release(&ranks);
    *n = (uint64_t)world_size - n_there;
    return is_done;
}

static bool has_many_processes(const struct marey_trace *trace)
{
    for (size_t i = 1; i < trace->sources.n; i++)
        if (trace->sources.at[i].cycle_of != trace->sources.at[0].cycle_of)
            return true;
    return false;
}

/* The first file that tells of the largest job. */
static uint32_t source_of_job(const struct marey_trace *trace)
{
    const int64_t world_size = world_size_of(trace);
    uint32_t i = 0;
    while (i + 1 < trace->sources.n && trace->sources.at[i].world_size != world_size)
        i++;
    return i;
}

void marey__note_missing_ranks(struct marey_trace *trace, uint64_t n)
{
    marey__account_add(&trace->account,
                       has_many_processes(trace) ? MAREY_REASON_MISSING_RANKS
                                                 : MAREY_REASON_OTHER_RANKS,
                       n, MAREY_OFFSET(source_of_job(trace), 0));
}
