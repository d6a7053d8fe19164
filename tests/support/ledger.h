/*
 * ledger.h - how often a trace's ledger has a reason.
 */
#ifndef MAREY_TESTS_LEDGER_H
#define MAREY_TESTS_LEDGER_H

#include <string.h>

#include "marey/trace.h"
#include "support/expect.h"

/* 0: it is not in it. */
static inline uint64_t ledger_count(struct marey_trace *trace, const char *reason)
{
    struct marey_ledger ledger = {0};
    EXPECT_STATUS(marey_trace_ledger(trace, &ledger, NULL), MAREY_OK);
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (strcmp(ledger.rows[i].reason, reason) == 0)
            return ledger.rows[i].count;
    return 0;
}

#endif
