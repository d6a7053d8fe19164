/*
 * examine.c - the order in which a whole trace is looked at.
 */
#include "trace/examine.h"

bool marey__examine_collect(const struct marey_trace *trace, struct marey_examination *examination)
{
    return marey__collect_causality(trace, examination) &&
           marey__collect_borders(trace, examination) && marey__collect_spans(trace, examination) &&
           marey__collect_cores(trace, examination) &&
           marey__count_missing_ranks(trace, &examination->n_missing_ranks) &&
           marey__count_loose_arrows(trace, &examination->n_loose_starts,
                                     &examination->n_loose_ends);
}

void marey__examine_note(struct marey_trace *trace, struct marey_examination *examination)
{
    struct marey_account *account = &trace->account;

    marey__note_causality(trace, examination);
    marey__note_cut_operations(trace, examination);
    marey__note_missing_ranks(trace, examination->n_missing_ranks);
    marey__note_apart(trace, examination);
    marey__note_far(trace, examination);
    marey__note_overlaps(trace);
    marey__account_add(account, MAREY_REASON_FLOW_START_ALONE, examination->n_loose_starts, 0);
    marey__account_add(account, MAREY_REASON_FLOW_END_ALONE, examination->n_loose_ends, 0);
}

#define RELEASE_ARRAY(array)                                                                       \
    marey__dealloc(&trace->alloc, examination->array.at, examination->array.capacity,              \
                   sizeof *examination->array.at)

void marey__examine_release(const struct marey_trace *trace, struct marey_examination *examination)
{
    RELEASE_ARRAY(syncs);
    RELEASE_ARRAY(borders);
    RELEASE_ARRAY(bounds);
    RELEASE_ARRAY(spans);
    marey__dealloc(&trace->alloc, examination->cores, trace->sources.n, sizeof *examination->cores);
    marey__dealloc(&trace->alloc, examination->has_many_devices, trace->sources.n,
                   sizeof *examination->has_many_devices);
}
