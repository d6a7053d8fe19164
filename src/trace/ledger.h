/*
 * ledger.h - the account of a trace: what was set aside, repaired, found.
 *
 * Reasons are rows of one table (ledger.c). Adding one: an enumerator here, a row
 * there, a line in docs/ledger.md.
 */
#ifndef MAREY_SRC_TRACE_LEDGER_H
#define MAREY_SRC_TRACE_LEDGER_H

#include "base/alloc.h"
#include "marey/trace.h"

/* A recorder's clock that strays by more is told of. */
#define MAREY_CLOCK_LIMIT_NS 1000

enum marey_reason {
    /* quarantined */
    MAREY_REASON_EMPTY_RECORD,
    MAREY_REASON_NO_TS,
    MAREY_REASON_NEGATIVE_DUR,
    MAREY_REASON_NOT_COLLECTED,
    MAREY_REASON_UNKNOWN_PH,
    MAREY_REASON_TIME_RANGE, /* does not fit 64-bit nanoseconds */
    MAREY_REASON_SYNTAX,
    MAREY_REASON_PARTIAL,
    /* repaired */
    MAREY_REASON_NUMBER_AS_TEXT,
    MAREY_REASON_BAD_ESCAPE,
    MAREY_REASON_PUNCTUATION,
    MAREY_REASON_NON_FINITE,
    MAREY_REASON_BAD_NUMBER,
    MAREY_REASON_BAD_UTF8,
    MAREY_REASON_CONTROL_CHAR,
    MAREY_REASON_DUPLICATE_KEY,
    MAREY_REASON_WILD_DURATION,
    /* findings */
    MAREY_REASON_TRUNCATED, /* counted once a file */
    MAREY_REASON_BAD_GZIP,  /* counted once a file */
    MAREY_REASON_JOINED_DOCUMENTS,
    MAREY_REASON_BAD_METADATA,
    MAREY_REASON_BAD_ARGS,
    MAREY_REASON_NO_EVENTS,
    MAREY_REASON_NO_DUR,
    MAREY_REASON_BAD_DUR,
    MAREY_REASON_NO_NAME,
    MAREY_REASON_NO_TID,
    MAREY_REASON_UNCLOSED_BEGIN,
    MAREY_REASON_UNMATCHED_END,
    MAREY_REASON_NAME_MISMATCH,
    MAREY_REASON_CLOCK_STEPPED_BACK,
    MAREY_REASON_CROSSING,
    MAREY_REASON_NO_LAUNCH,
    MAREY_REASON_NO_KERNEL,
    MAREY_REASON_KERNEL_BEFORE_LAUNCH,
    MAREY_REASON_KERNEL_AFTER_SYNC,
    MAREY_REASON_CUT_BY_WINDOW,
    MAREY_REASON_FAR_SLICE,
    MAREY_REASON_LONG_SLICE,
    MAREY_REASON_SAME_RECORDS,  /* counted by source */
    MAREY_REASON_MISSING_RANKS, /* counted by rank */
    MAREY_REASON_MANY_LABELS,   /* once a label */
    MAREY_REASON_LOST,          /* while recording */
    MAREY_REASON_LET_GO,        /* counted by cycle */
    MAREY_REASON_LOST_BEFORE,   /* written.h */
    MAREY_REASON_OTHER_VERSION, /* written.h; in an account of the writings before only */
    MAREY_REASON_CLOCK_UNSURE,  /* counted once a session */
    /* info */
    MAREY_REASON_NO_FILL,
    MAREY_REASON_RANK_ASSUMED,
    MAREY_REASON_OTHER_RANKS,   /* counted by rank */
    MAREY_REASON_FURTHER_CYCLE, /* counted by source */
    MAREY_REASON_APART_IN_TIME, /* counted by process */
    MAREY_REASON_RENAMED_THREAD,
    MAREY_REASON_CORRELATION_REUSED,
    MAREY_REASON_STREAM_OVERLAP,
    MAREY_REASON_SAME_INTERVAL,
    MAREY_REASON_FLOW_START_ALONE,
    MAREY_REASON_FLOW_END_ALONE,
    MAREY_REASON_BEGAN_BEFORE,
    MAREY_REASON_NOT_RECORDED,  /* counted by gap */
    MAREY_REASON_MENDED_BEFORE, /* written.h */
    MAREY_REASON_OTHER_PHASE,   /* a known phase that the model does not hold */
    MAREY_REASON_END_ARGS,      /* what an E says beside its place; the model holds args of B */
    MAREY_N_REASONS
};

/* Counts by reason. Plain data, but for what it counts by source if it has room for that. */
struct marey_account {
    uint64_t count[MAREY_N_REASONS];
    uint8_t n_examples[MAREY_N_REASONS]; /* places that are known */
    uint64_t example_offset[MAREY_N_REASONS][MAREY_LEDGER_EXAMPLES];
    uint64_t *by_source; /* [capacity * MAREY_N_REASONS]; NULL: of one source */
    size_t n_sources;
    size_t capacity;
};

/* Makes room for the counts of one more source; those of the first are all there are before the
 * second. False without memory. */
bool marey__account_add_source(struct marey_account *account, const struct marey_alloc *alloc);
void marey__account_release(struct marey_account *account, const struct marey_alloc *alloc);

/* How often a reason was met in a source; 0 for what is counted of the trace as a whole. */
uint64_t marey__account_of_source(const struct marey_account *account, enum marey_reason reason,
                                  uint32_t source_idx);

void marey__account_note(struct marey_account *account, enum marey_reason reason, uint64_t offset);

/* Counts n of them; the place is an example. */
void marey__account_add(struct marey_account *account, enum marey_reason reason, uint64_t n,
                        uint64_t offset);

/* The rows with a count, in table order. \shape rows[MAREY_N_REASONS] */
size_t marey__account_rows(const struct marey_account *account, struct marey_ledger_row *rows);

/* The best grade of a trace that has a reason: 'A' to 'D'. */
char marey__reason_best_grade(const char *name);

const char *marey__reason_name(enum marey_reason reason);
enum marey_ledger_map marey__reason_map(enum marey_reason reason);

#endif
