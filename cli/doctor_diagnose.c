/*
 * doctor_diagnose.c - from what was loaded to what is to be said of it.
 */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

enum marey_status diagnosis_make(const struct input_examined *input, struct diagnosis *diagnosis,
                                 struct marey_error *err)
{
    *diagnosis = (struct diagnosis){.input = input};
    if (!input->trace)
        return MAREY_OK;
    diagnosis->n_slices = marey_trace_slices(input->trace).n;
    enum marey_status status = marey_trace_check_laws(input->trace, &diagnosis->laws, err);
    if (status == MAREY_OK)
        status = marey_trace_ledger(input->trace, &diagnosis->ledger, err);
    if (status == MAREY_OK)
        status = marey_trace_grade(input->trace, &diagnosis->grade, err);
    if (status == MAREY_OK)
        status =
            marey_trace_clock_bounds(input->trace, &diagnosis->bounds, &diagnosis->n_bounds, err);
    return status;
}

uint64_t diagnosis_count(const struct diagnosis *diagnosis, enum marey_ledger_map map)
{
    uint64_t count = 0;

    for (size_t i = 0; i < diagnosis->ledger.n_rows; i++)
        if (diagnosis->ledger.rows[i].map == map)
            count += diagnosis->ledger.rows[i].count;
    return count;
}

static int compare_ranks(const void *left, const void *right)
{
    const struct rank_count *a = left;
    const struct rank_count *b = right;

    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

struct rank_count *diagnosis_by_rank(const struct diagnosis *diagnosis,
                                     const struct marey_ledger_row *row, size_t *n)
{
    const struct marey_trace *trace = diagnosis->input->trace;
    size_t n_sources = 0;
    const struct marey_source *source = marey_trace_sources(trace, &n_sources);
    struct rank_count *counts = calloc(n_sources + 1, sizeof *counts);
    size_t last = 0;

    *n = 0;
    if (!counts || n_sources == 0)
        return counts;
    for (size_t i = 0; i < n_sources; i++)
        counts[i] =
            (struct rank_count){source[i].rank, marey_trace_row_count(trace, row, (uint32_t)i)};
    qsort(counts, n_sources, sizeof *counts, compare_ranks);
    for (size_t i = 1; i < n_sources; i++) {
        if (counts[i].rank == counts[last].rank)
            counts[last].n += counts[i].n;
        else
            counts[++last] = counts[i];
    }
    *n = last + 1;
    return counts;
}

bool diagnosis_is_clean(const struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->ledger.n_rows; i++)
        if (diagnosis->ledger.rows[i].map != MAREY_LEDGER_INFO)
            return false;
    return true;
}

bool diagnosis_is_fit(const struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->ledger.n_rows; i++) {
        const struct marey_ledger_row *row = &diagnosis->ledger.rows[i];
        if (row->map != MAREY_LEDGER_INFO && strcmp(row->reason, "crossing") != 0)
            return false;
    }
    return true;
}

enum cli_exit diagnosis_exit(const struct diagnosis *diagnosis, bool is_strict)
{
    if (diagnosis->input->n_unread > 0)
        return CLI_FAILED;
    if (is_strict ? diagnosis_is_clean(diagnosis) : diagnosis_is_fit(diagnosis))
        return CLI_DONE;
    return CLI_UNMET;
}
