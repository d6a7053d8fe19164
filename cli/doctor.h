/*
 * doctor.h - what `marey doctor FILE...` finds out: gathered here, printed as text
 * or JSON.
 */
#ifndef MAREY_CLI_DOCTOR_H
#define MAREY_CLI_DOCTOR_H

#include <marey/aggregate.h>
#include <marey/trace.h>

#include "input.h"
#include "text.h"

/* The examination of what the operands name. Borrows from the input. */
struct diagnosis {
    const struct input_examined *input;
    struct marey_ledger ledger; /* from here on only of a trace */
    struct marey_law_checks laws;
    struct marey_grade grade;
    const struct marey_clock_bound *bounds; /* [n_bounds] */
    size_t n_bounds;
    size_t n_slices;
};

/* \fails MAREY_NOMEM */
MAREY_MUST_CHECK enum marey_status diagnosis_make(const struct input_examined *input,
                                                  struct diagnosis *diagnosis,
                                                  struct marey_error *err);

/* How many records, or findings, the reasons of a map count. */
uint64_t diagnosis_count(const struct diagnosis *diagnosis, enum marey_ledger_map map);

/* How often a row was met in a rank. */
struct rank_count {
    int64_t rank;
    uint64_t n;
};

/* \shape counts[n], one for each rank of the trace, ascending; NULL without memory
 * \owns gives the array, to be freed */
struct rank_count *diagnosis_by_rank(const struct diagnosis *diagnosis,
                                     const struct marey_ledger_row *row, size_t *n);

/* Whether nothing was set aside, repaired or found. */
bool diagnosis_is_clean(const struct diagnosis *diagnosis);

/* Whether nothing but crossing slices was found. */
bool diagnosis_is_fit(const struct diagnosis *diagnosis);

/* What the process exits with. */
enum cli_exit diagnosis_exit(const struct diagnosis *diagnosis, bool is_strict);

/* Writes the trace repaired, and scrubbed if asked for; tells on standard error what came of it. */
enum cli_exit diagnosis_repair(const struct diagnosis *diagnosis, const char *path, bool scrub,
                               bool overwrite);

void diagnosis_as_text(const struct diagnosis *diagnosis, bool is_strict, struct text *text);
void diagnosis_as_json(const struct diagnosis *diagnosis, struct text *text);

#endif
