/*
 * ledger.c - the reasons of the ledger as one table.
 */
#include "trace/ledger.h"

static const struct {
    const char *name;
    enum marey_ledger_map map;
    const char *meaning;
} reason_table[MAREY_N_REASONS] = {
    [MAREY_REASON_EMPTY_RECORD] = {"empty_record", MAREY_LEDGER_QUARANTINED,
                                   "records without any member"},
    [MAREY_REASON_NO_TS] = {"no_ts", MAREY_LEDGER_QUARANTINED,
                            "records without a time, in no number"},
    [MAREY_REASON_NEGATIVE_DUR] = {"negative_dur", MAREY_LEDGER_QUARANTINED,
                                   "records that end before they begin, in no number"},
    [MAREY_REASON_NOT_COLLECTED] = {"not_collected", MAREY_LEDGER_QUARANTINED,
                                    "device operations without times: device time is too low"},
    [MAREY_REASON_UNKNOWN_PH] = {"unknown_ph", MAREY_LEDGER_QUARANTINED,
                                 "records of a phase that nobody knows"},
    [MAREY_REASON_TIME_RANGE] = {"time_range", MAREY_LEDGER_QUARANTINED,
                                 "times beyond 292 years, in no number"},
    [MAREY_REASON_SYNTAX] = {"syntax", MAREY_LEDGER_QUARANTINED,
                             "records whose text is no JSON, in no number"},
    [MAREY_REASON_PARTIAL] = {"partial", MAREY_LEDGER_QUARANTINED,
                              "records in which the file ends, in no number"},
    [MAREY_REASON_BAD_ESCAPE] = {"bad_escape", MAREY_LEDGER_REPAIRED,
                                 "names with an escape that JSON does not have: their back-slashes "
                                 "are kept"},
    [MAREY_REASON_PUNCTUATION] = {"punctuation", MAREY_LEDGER_REPAIRED,
                                  "places between records with commas too many or too few"},
    [MAREY_REASON_NON_FINITE] = {"non_finite", MAREY_LEDGER_REPAIRED,
                                 "durations that are NaN or infinite: not known"},
    [MAREY_REASON_BAD_NUMBER] = {"bad_number", MAREY_LEDGER_REPAIRED,
                                 "times whose sign stands behind the point, read as meant"},
    [MAREY_REASON_TRUNCATED] = {"truncated", MAREY_LEDGER_FINDING,
                                "files that end early: what came after is not known"},
    [MAREY_REASON_JOINED_DOCUMENTS] = {"joined_documents", MAREY_LEDGER_FINDING,
                                       "further traces in a file: each is a source of its own"},
    [MAREY_REASON_BAD_METADATA] = {"bad_metadata", MAREY_LEDGER_FINDING,
                                   "heads or tails of files that are no JSON"},
    [MAREY_REASON_NUMBER_AS_TEXT] = {"number_as_text", MAREY_LEDGER_REPAIRED,
                                     "times written in quotes, read as numbers"},
    [MAREY_REASON_BAD_UTF8] = {"bad_utf8", MAREY_LEDGER_REPAIRED,
                               "names with invalid UTF-8, shown with U+FFFD"},
    [MAREY_REASON_CONTROL_CHAR] = {"control_char", MAREY_LEDGER_REPAIRED,
                                   "names with raw control characters"},
    [MAREY_REASON_NO_EVENTS] = {"no_events", MAREY_LEDGER_FINDING,
                                "nothing but metadata: no work was recorded"},
    [MAREY_REASON_NO_DUR] = {"no_dur", MAREY_LEDGER_FINDING,
                             "slices of unknown duration: counted as calls, no time"},
    [MAREY_REASON_NO_NAME] = {"no_name", MAREY_LEDGER_FINDING, "records without a name"},
    [MAREY_REASON_NO_TID] = {"no_tid", MAREY_LEDGER_FINDING, "records without a thread"},
    [MAREY_REASON_UNCLOSED_BEGIN] = {"unclosed_begin", MAREY_LEDGER_FINDING,
                                     "slices that never end on their thread: taken to the end of "
                                     "the trace"},
    [MAREY_REASON_UNMATCHED_END] = {"unmatched_end", MAREY_LEDGER_FINDING,
                                    "ends without a begin, in no number"},
    [MAREY_REASON_NAME_MISMATCH] = {"name_mismatch", MAREY_LEDGER_FINDING,
                                    "ends that name another slice than the open one"},
    [MAREY_REASON_CLOCK_STEPPED_BACK] = {"clock_stepped_back", MAREY_LEDGER_FINDING,
                                         "begins and ends that go back in time"},
    [MAREY_REASON_CROSSING] = {"crossing", MAREY_LEDGER_FINDING,
                               "slices that outlive their parent: each instant is still "
                               "charged once"},
    [MAREY_REASON_NO_LAUNCH] = {"no_launch", MAREY_LEDGER_FINDING,
                                "device operations whose launch is not in the trace: "
                                "device time without owner"},
    [MAREY_REASON_NO_KERNEL] = {"no_kernel", MAREY_LEDGER_FINDING,
                                "launches whose device operation is not in the trace: "
                                "device time may be missing"},
    [MAREY_REASON_KERNEL_BEFORE_LAUNCH] = {"kernel_before_launch", MAREY_LEDGER_FINDING,
                                           "device operations that begin before their launch: "
                                           "the clocks disagree"},
    [MAREY_REASON_MANY_LABELS] = {"many_labels", MAREY_LEDGER_FINDING,
                                  "more categories or kinds of arrows than are told apart: the "
                                  "rest are shown under one name"},
    [MAREY_REASON_LOST] = {"lost", MAREY_LEDGER_FINDING,
                           "records for which there was no room while recording: calls and times "
                           "are too low"},
    [MAREY_REASON_CLOCK_UNSURE] = {"clock_unsure", MAREY_LEDGER_FINDING,
                                   "sessions whose clock strayed by more than a microsecond"},
    [MAREY_REASON_RANK_ASSUMED] = {"rank_assumed", MAREY_LEDGER_INFO,
                                   "files that do not tell their rank"},
    [MAREY_REASON_RENAMED_THREAD] = {"renamed_thread", MAREY_LEDGER_INFO,
                                     "threads with more than one name: the first is shown"},
    [MAREY_REASON_CORRELATION_REUSED] = {"correlation_reused", MAREY_LEDGER_INFO,
                                         "correlation ids used by more than one launch"},
    [MAREY_REASON_BEGAN_BEFORE] = {"began_before", MAREY_LEDGER_INFO,
                                   "ends of ranges that began before the session, which are not "
                                   "in the trace, or on another thread, where they stay open"},
    [MAREY_REASON_OTHER_PHASE] = {"other_phase", MAREY_LEDGER_INFO,
                                  "records of phases that enter no table"},
};

void marey__account_note(struct marey_account *account, enum marey_reason reason, uint64_t offset)
{
    const uint64_t seen = account->count[reason]++;
    if (seen < MAREY_LEDGER_EXAMPLES)
        account->example_offset[reason][seen] = offset;
}

void marey__account_add(struct marey_account *account, enum marey_reason reason, uint64_t n,
                        uint64_t offset)
{
    if (n == 0)
        return;
    marey__account_note(account, reason, offset);
    account->count[reason] += n - 1;
}

const char *marey__reason_name(enum marey_reason reason)
{
    return reason_table[reason].name;
}

enum marey_ledger_map marey__reason_map(enum marey_reason reason)
{
    return reason_table[reason].map;
}

size_t marey__account_rows(const struct marey_account *account, struct marey_ledger_row *rows)
{
    size_t n = 0;
    for (int reason = 0; reason < MAREY_N_REASONS; reason++) {
        const uint64_t count = account->count[reason];
        if (count == 0)
            continue;
        struct marey_ledger_row *row = &rows[n++];
        *row = (struct marey_ledger_row){
            .map = reason_table[reason].map,
            .reason = reason_table[reason].name,
            .meaning = reason_table[reason].meaning,
            .count = count,
            .n_examples = count < MAREY_LEDGER_EXAMPLES ? (size_t)count : MAREY_LEDGER_EXAMPLES,
        };
        for (size_t i = 0; i < row->n_examples; i++)
            row->example_offset[i] = account->example_offset[reason][i];
    }
    return n;
}
