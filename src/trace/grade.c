/*
 * grade.c - one letter for how far the numbers of a trace can be trusted.
 *
 * Each row of the ledger has the best grade that a trace with it can have (a column of the table of
 * reasons). Where a row counts a part of something known, its share matters too: operations
 * without a launch, launches without an operation, records set aside. The worst row decides. What a
 * file says of what was lost before it was written counts as if it had been met now, so that
 * writing a trace anew makes no grade better.
 */
#include <string.h>

#include "base/error.h"
#include "trace/model.h"

/* Up to one in so many is lost: A, B, C; more is D. */
static const uint64_t one_in[] = {1000, 100, 10};

static char letter_of_share(uint64_t n_lost, uint64_t n)
{
    char letter = 'A';
    for (size_t i = 0; i < sizeof one_in / sizeof one_in[0] && n_lost > n / one_in[i]; i++)
        letter++;
    return letter;
}

static char worse(char a, char b)
{
    return a > b ? a : b;
}

/* How often a reason was met before. */
static uint64_t count_before(const struct marey_ledger *ledger, const char *reason)
{
    uint64_t n = 0;
    for (size_t i = 0; i < ledger->n_before; i++)
        if (strcmp(ledger->before[i].reason, reason) == 0)
            n = ledger->before[i].count;
    return n;
}

static char letter_of_row(const struct marey_trace *trace, const struct marey_ledger *ledger,
                          const struct marey_ledger_row *row, uint64_t n_read)
{
    const char best = marey__reason_best_grade(row->reason);
    if (strcmp(row->reason, "no_launch") == 0)
        return worse(best, letter_of_share(row->count, trace->owners.n_operations));
    if (strcmp(row->reason, "no_kernel") == 0)
        return worse(best, letter_of_share(row->count, trace->owners.n_launches));
    if (row->map == MAREY_LEDGER_QUARANTINED && best > 'A')
        return worse(best, letter_of_share(row->count + count_before(ledger, row->reason), n_read));
    return best;
}

static char letter_of_before(const struct marey_ledger *ledger, uint64_t n_read)
{
    char letter = 'A';
    for (size_t i = 0; i < ledger->n_before; i++) {
        const struct marey_ledger_row *row = &ledger->before[i];
        const char best = marey__reason_best_grade(row->reason);
        letter = worse(letter, best);
        if (row->map == MAREY_LEDGER_QUARANTINED && best > 'A')
            letter = worse(letter, letter_of_share(row->count, n_read));
    }
    return letter;
}

/* Records that were read, now or when those were left out that are not in the file. */
static uint64_t all_read(const struct marey_ledger *ledger)
{
    uint64_t n = ledger->n_read;
    for (size_t i = 0; i < ledger->n_before; i++)
        n += ledger->before[i].map == MAREY_LEDGER_QUARANTINED ? ledger->before[i].count : 0;
    return n;
}

enum marey_status marey_trace_grade(struct marey_trace *trace, struct marey_grade *grade,
                                    struct marey_error *err)
{
    struct marey_ledger ledger;
    MAREY_TRY(marey_trace_ledger(trace, &ledger, err));
    *grade = (struct marey_grade){
        .letter = 'A',
        .n_operations = trace->owners.n_operations,
        .n_with_launch = trace->owners.n_operations - trace->owners.n_without_launch,
        .n_launches = trace->owners.n_launches,
        .n_with_operation = trace->owners.n_launches - trace->owners.n_without_kernel,
    };
    const uint64_t n_read = all_read(&ledger);
    for (size_t i = 0; i < ledger.n_rows; i++) {
        const struct marey_ledger_row *row = &ledger.rows[i];
        const char letter = strcmp(row->reason, marey__reason_name(MAREY_REASON_LOST_BEFORE)) == 0
                                ? letter_of_before(&ledger, n_read)
                                : letter_of_row(trace, &ledger, row, n_read);
        if (letter <= grade->letter)
            continue;
        grade->letter = letter;
        grade->because = row->reason;
    }
    return MAREY_OK;
}
