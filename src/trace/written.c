/*
 * written.c - what a file says of what was lost before it was written.
 */
#include "trace/written.h"

#include <string.h>

#include "base/json.h"
#include "trace/model.h"

/* No file holds more records: sums of counts fit. */
#define MOST_COUNT ((uint64_t)1 << 48)

/* Records that are counted in the ledger and held nowhere. */
bool marey__written_is_left_out(enum marey_reason reason)
{
    return marey__reason_map(reason) == MAREY_LEDGER_QUARANTINED ||
           reason == MAREY_REASON_UNMATCHED_END || reason == MAREY_REASON_OTHER_PHASE ||
           reason == MAREY_REASON_END_ARGS;
}

/* What another version counts, or a sum of ours that should not be there, is told as a whole. */
static enum marey_reason find_reason(struct marey_str key)
{
    int reason = 0;
    while (reason < MAREY_N_REASONS &&
           !marey__json_spells(key, marey__reason_name((enum marey_reason)reason)))
        reason++;
    return reason == MAREY_N_REASONS || reason == MAREY_REASON_LOST_BEFORE ||
                   reason == MAREY_REASON_MENDED_BEFORE
               ? MAREY_REASON_OTHER_VERSION
               : (enum marey_reason)reason;
}

static void add_count(struct marey_account *before, enum marey_reason reason, uint64_t n)
{
    const uint64_t sum = before->count[reason] + (n < MOST_COUNT ? n : MOST_COUNT);
    before->count[reason] = sum < MOST_COUNT ? sum : MOST_COUNT;
}

static void read_counts(struct marey_json *json, struct marey_account *before)
{
    struct marey_str key;
    while (marey__json_key(json, &key)) {
        int64_t n = -1;
        (void)marey__json_whole(marey__json_raw(json), &n);
        if (n >= 0)
            add_count(before, find_reason(key), (uint64_t)n);
        else
            add_count(before, MAREY_REASON_OTHER_VERSION, 1);
    }
    if (json->failed || marey__json_peek(json) != '\0')
        add_count(before, MAREY_REASON_OTHER_VERSION, 1);
}

bool marey__written_read(struct marey_str key, struct marey_str json, struct marey_account *before)
{
    struct marey_json counts = marey__json(json);
    if ((!marey__str_is_c(key, MAREY_WRITTEN_LEFT_OUT) &&
         !marey__str_is_c(key, MAREY_WRITTEN_REPAIRED)) ||
        !marey__json_enter(&counts, '{'))
        return false;
    if (before != NULL)
        read_counts(&counts, before);
    return true;
}

/* The reason that counts it later. */
static enum marey_reason later_reason(const char *reason)
{
    return marey__reason_best_grade(reason) > 'A' ? MAREY_REASON_LOST_BEFORE
                                                  : MAREY_REASON_MENDED_BEFORE;
}

bool marey_ledger_counts_before(const struct marey_ledger_row *row,
                                const struct marey_ledger_row *before)
{
    return strcmp(row->reason, marey__reason_name(later_reason(before->reason))) == 0;
}

static uint64_t count_of(const struct marey_account *account, enum marey_reason later)
{
    uint64_t n = 0;
    for (int reason = 0; reason < MAREY_N_REASONS; reason++)
        if (later_reason(marey__reason_name((enum marey_reason)reason)) == later)
            n += account->count[reason];
    return n;
}

void marey__note_written(struct marey_trace *trace)
{
    uint64_t n_lost = 0;
    uint64_t n_mended = 0;
    for (size_t i = 0; i < trace->metas.n; i++) {
        const struct marey_meta *meta = &trace->metas.at[i];
        const uint64_t offset = MAREY_OFFSET(meta->source_idx, 0);
        if (!marey__written_read(marey_trace_string(trace, meta->key_id),
                                 marey_trace_string(trace, meta->json_id), &trace->before))
            continue;
        const uint64_t lost = count_of(&trace->before, MAREY_REASON_LOST_BEFORE);
        const uint64_t mended = count_of(&trace->before, MAREY_REASON_MENDED_BEFORE);
        marey__account_add(&trace->account, MAREY_REASON_LOST_BEFORE, lost - n_lost, offset);
        marey__account_add(&trace->account, MAREY_REASON_MENDED_BEFORE, mended - n_mended, offset);
        n_lost = lost;
        n_mended = mended;
    }
    trace->n_before_rows = marey__account_rows(&trace->before, trace->before_row);
}
