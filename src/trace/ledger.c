/*
 * ledger.c - the reasons of the ledger as one table.
 */
#include "trace/ledger.h"

#include <string.h>

static const struct marey_ledger_reason reason_table[MAREY_N_REASONS] = {
    [MAREY_REASON_EMPTY_RECORD] =
        {
            .map = MAREY_LEDGER_QUARANTINED,
            .reason = "empty_record",
            .meaning = "records without any member",
            .effect = "nothing",
        },
    [MAREY_REASON_NO_TS] =
        {
            .map = MAREY_LEDGER_QUARANTINED,
            .reason = "no_ts",
            .meaning = "records without a time, in no number",
            .effect = "it is in no number",
            .remedy = "look at what writes the file: a record of this phase needs a ts",
            .best_grade = 'B',
        },
    [MAREY_REASON_NEGATIVE_DUR] =
        {
            .map = MAREY_LEDGER_QUARANTINED,
            .reason = "negative_dur",
            .meaning = "records that end before they begin, in no number",
            .effect = "it is in no number; its parent keeps its own time",
            .remedy = "the clock of the writer went back: record again, or leave out what stands "
                      "around it",
            .best_grade = 'B',
        },
    [MAREY_REASON_NOT_COLLECTED] =
        {
            .map = MAREY_LEDGER_QUARANTINED,
            .reason = "not_collected",
            .meaning = "device operations without times: device time is too low",
            .effect = "device time is too low",
            .remedy = "the profiler stopped before the device had told its times: synchronise the "
                      "device before the last step ends, and record again",
            .best_grade = 'C',
        },
    [MAREY_REASON_UNKNOWN_PH] =
        {
            .map = MAREY_LEDGER_QUARANTINED,
            .reason = "unknown_ph",
            .meaning = "records of a phase that nobody knows",
            .effect = "it is in no number",
            .remedy = "tell us which program writes this phase",
            .best_grade = 'B',
        },
    [MAREY_REASON_TIME_RANGE] =
        {
            .map = MAREY_LEDGER_QUARANTINED,
            .reason = "time_range",
            .meaning = "times of more than 146 years, in no number",
            .effect = "it is in no number",
            .remedy = "the file gives times in another unit, or they are damaged: look at the "
                      "record",
            .best_grade = 'B',
        },
    [MAREY_REASON_SYNTAX] =
        {
            .map = MAREY_LEDGER_QUARANTINED,
            .reason = "syntax",
            .meaning = "records whose text is no JSON, in no number",
            .effect = "it is in no number, and so is whatever stood up to there",
            .remedy = "names with quotes are written without escaping them by some versions of "
                      "torch: give such ranges other names, or record with another version",
            .best_grade = 'B',
        },
    [MAREY_REASON_PARTIAL] =
        {
            .map = MAREY_LEDGER_QUARANTINED,
            .reason = "partial",
            .meaning = "records in which the file ends, in no number",
            .effect = "it is in no number",
            .remedy = "the program that wrote the file was ended, or the disk was full: let it "
                      "end by itself and record again",
            .best_grade = 'B',
        },
    [MAREY_REASON_BAD_ESCAPE] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "bad_escape",
            .meaning = "records with an escape that JSON does not have: the back-slashes of that "
                       "text are kept",
            .effect = "nothing, but for a name that may not be the one meant",
            .remedy = "give ranges names without back-slashes, or record with another version of "
                      "the writer",
        },
    [MAREY_REASON_PUNCTUATION] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "punctuation",
            .meaning = "places between records with commas too many or too few",
            .effect = "nothing",
        },
    [MAREY_REASON_NON_FINITE] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "non_finite",
            .meaning = "records with a value that is NaN or infinite: not known",
            .effect = "a duration is unknown: its call is counted and has no time; elsewhere "
                      "nothing",
            .remedy = "other programs may refuse the file: 'marey convert' writes one that all "
                      "can read",
        },
    [MAREY_REASON_BAD_NUMBER] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "bad_number",
            .meaning = "records with a number that JSON does not have; a time is read as meant",
            .effect = "nothing: a time is read as meant, so 0.-05 is -0.005, and an argument "
                      "stays as it is",
        },
    [MAREY_REASON_TRUNCATED] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "truncated",
            .meaning = "files that end early: what came after is not known",
            .effect = "what came after is missing: calls and times are too low, slices and "
                      "launches at the end may lack their other half",
            .remedy = "the program that wrote the file was ended, the disk was full, or a copy "
                      "was cut short: copy or record again; nothing is read behind a record or "
                      "member of more than 512 MiB either",
            .best_grade = 'C',
        },
    [MAREY_REASON_BAD_GZIP] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "bad_gzip",
            .meaning = "compressed files that are damaged: read as far as they can be inflated",
            .effect = "what came after is missing; where only the check sum is wrong, any byte "
                      "may be another than was written, so any number may be wrong",
            .remedy = "the file changed on the disk or on its way: copy it again",
            .best_grade = 'C',
        },
    [MAREY_REASON_JOINED_DOCUMENTS] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "joined_documents",
            .meaning = "further traces in a file: each is a source of its own",
            .effect = "nothing: each is a source of its own with its own rank and base time",
            .remedy = "let each rank write a file of its own",
        },
    [MAREY_REASON_BAD_METADATA] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "bad_metadata",
            .meaning =
                "heads or tails of files that are no JSON, or tell a rank, a world size or a "
                "base time that cannot be",
            .effect = "rank, base time and properties may be missing: the times of several files "
                      "may not be comparable",
            .remedy = "metadata that the program adds must be JSON, and these numbers whole and "
                      "possible: look at what it gives to add_metadata_json",
            .best_grade = 'B',
        },
    [MAREY_REASON_BAD_ARGS] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "bad_args",
            .meaning = "records whose args are no JSON",
            .effect = "the record is used, and of its args what stands before the fault; ids, "
                      "shapes, stacks and bytes behind it are unknown",
            .remedy = "look at what the program writes there: other programs may refuse the file",
            .best_grade = 'B',
        },
    [MAREY_REASON_NUMBER_AS_TEXT] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "number_as_text",
            .meaning = "times and ranks written in quotes, read as numbers",
            .effect = "nothing: the number is read",
        },
    [MAREY_REASON_BAD_UTF8] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "bad_utf8",
            .meaning = "records with invalid UTF-8, shown with U+FFFD",
            .effect = "two names may look alike after U+FFFD",
        },
    [MAREY_REASON_CONTROL_CHAR] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "control_char",
            .meaning = "records with raw control characters",
            .effect = "nothing",
        },
    [MAREY_REASON_DUPLICATE_KEY] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "duplicate_key",
            .meaning =
                "records or documents with a key twice: the last one counts, but both of two "
                "traceEvents",
            .effect = "nothing, if the last one is the one that was meant",
        },
    [MAREY_REASON_WILD_DURATION] =
        {
            .map = MAREY_LEDGER_REPAIRED,
            .reason = "wild_duration",
            .meaning = "device operations that last over whole successors of their stream and a "
                       "hundred times as long as is usual there, or never ended: they end where "
                       "the next one begins",
            .effect = "device time is what the stream had room for; the sum of the file itself is "
                      "far higher",
            .remedy = "the profiler gave a damaged time: where it matters record again",
            .best_grade = 'B',
        },
    [MAREY_REASON_NO_EVENTS] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "no_events",
            .meaning = "nothing but metadata: no work was recorded",
            .effect = "there is nothing to report",
            .remedy = "record with activities that the program has, and for at least one step",
            .best_grade = 'D',
        },
    [MAREY_REASON_NO_DUR] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "no_dur",
            .meaning = "slices of unknown duration: counted as calls, no time",
            .effect = "a call is counted, its time is unknown",
            .remedy = "its end was not recorded: make the recording longer than the slice",
            .best_grade = 'B',
        },
    [MAREY_REASON_BAD_DUR] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "bad_dur",
            .meaning = "slices whose duration is no number: counted as calls, no time",
            .effect = "a call is counted, its time is unknown; written anew it has no duration",
            .remedy = "look at what writes the file: a dur is a number of microseconds",
            .best_grade = 'B',
        },
    [MAREY_REASON_NO_NAME] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "no_name",
            .meaning = "records without a name",
            .effect = "the record is used; its name is unknown",
        },
    [MAREY_REASON_NO_TID] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "no_tid",
            .meaning = "records without a thread",
            .effect = "the record is used; its thread is unknown",
            .best_grade = 'B',
        },
    [MAREY_REASON_UNCLOSED_BEGIN] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "unclosed_begin",
            .meaning =
                "slices that never end on their thread: taken to the end of what was recorded",
            .effect = "the slice reaches to the end of the window that was recorded, or of the "
                      "last slice "
                      "where no record tells that",
            .remedy = "end what was begun, on the thread that began it, before the recording "
                      "stops",
            .best_grade = 'B',
        },
    [MAREY_REASON_UNMATCHED_END] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "unmatched_end",
            .meaning = "ends without a begin, in no number",
            .effect = "it is in no number",
            .best_grade = 'B',
        },
    [MAREY_REASON_NAME_MISMATCH] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "name_mismatch",
            .meaning = "ends that name another slice than the open one",
            .effect = "the order of the records decides",
            .remedy = "begin and end of ranges must nest: look at the two names",
            .best_grade = 'B',
        },
    [MAREY_REASON_CLOCK_STEPPED_BACK] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "clock_stepped_back",
            .meaning = "begins and ends that go back in time",
            .effect = "the order of the records decides",
            .remedy = "the machine's clock was set back while recording: record again",
            .best_grade = 'C',
        },
    [MAREY_REASON_CROSSING] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "crossing",
            .meaning = "slices that outlive their parent: each instant is still charged once",
            .effect = "each instant is charged once, to the slice that began last",
        },
    [MAREY_REASON_NO_LAUNCH] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "no_launch",
            .meaning = "device operations whose launch is not in the trace: device time without "
                       "owner",
            .effect = "its time is counted, nobody owns it",
            .remedy = "it was launched before the recording began: warm up, or begin to record a "
                      "step earlier",
        },
    [MAREY_REASON_NO_KERNEL] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "no_kernel",
            .meaning = "launches whose device operation is not in the trace: device time may be "
                       "missing",
            .effect = "device time may be missing",
            .remedy = "the recording stopped before the operation had run: synchronise the device "
                      "before it ends",
        },
    [MAREY_REASON_KERNEL_BEFORE_LAUNCH] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "kernel_before_launch",
            .meaning = "device operations that begin before their launch: the clocks disagree",
            .effect = "the clocks disagree by at least that much",
            .remedy = "take delays between launch and operation for rough, and do not compare "
                      "host and device times below that",
            .best_grade = 'B',
        },
    [MAREY_REASON_KERNEL_AFTER_SYNC] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "kernel_after_sync",
            .meaning = "device operations that end after a call that waited for them: the clocks "
                       "disagree",
            .effect = "the clocks disagree by at least that much; idle time around there may be "
                      "no idle time",
            .remedy = "take times between host and device for rough, and do not compare them "
                      "below that",
            .best_grade = 'B',
        },
    [MAREY_REASON_CUT_BY_WINDOW] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "cut_by_window",
            .meaning = "device operations that cross a border of the window that was recorded",
            .effect = "they are counted whole, a part of their time is outside of the window; "
                      "others there may be missing",
            .remedy = "synchronise the device before the recording begins and before it ends",
            .best_grade = 'B',
        },
    [MAREY_REASON_FAR_SLICE] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "far_slice",
            .meaning = "slices far in time from all others of their file: the window reaches to "
                       "them",
            .effect = "the window is too long, and shares of it are too small; a slice that never "
                      "ends may reach to it; all else is as it would be",
            .remedy = "the time of the record is damaged, or what was recorded lies apart: look "
                      "at it",
            .best_grade = 'C',
        },
    [MAREY_REASON_LONG_SLICE] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "long_slice",
            .meaning = "slices that last a thousand times as long as all others of their file "
                       "together, beyond the recorded window or their parent",
            .effect = "its time is as the file gives it: the window, times of its name and shares "
                      "of all others are wrong if it is damaged",
            .remedy = "its duration is damaged: record again, or leave the record out",
            .best_grade = 'C',
        },
    [MAREY_REASON_SAME_RECORDS] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "same_records",
            .meaning =
                "files, or parts of one, whose slices, all or half of them and more, are also "
                "those of another: a copy of it, or of a part",
            .effect = "calls and times of what is in both are counted once more",
            .remedy = "give each trace once, and of a file and a part of it the whole one",
            .best_grade = 'C',
        },
    [MAREY_REASON_MISSING_RANKS] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "missing_ranks",
            .meaning = "ranks of the job whose file is not among those given",
            .effect = "sums are of the ranks that are there, not of the job",
            .remedy = "name the files of all ranks, or their folder",
            .best_grade = 'C',
        },
    [MAREY_REASON_MANY_LABELS] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "many_labels",
            .meaning = "categories or kinds of arrows beyond those that are told apart: they are "
                       "shown under one name",
            .effect = "the rest keep their meaning and are shown under one name for each kind",
        },
    [MAREY_REASON_LOST] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "lost",
            .meaning = "records for which there was no room while recording: calls and times are "
                       "too low",
            .effect = "they are missing: calls and times are too low; what was open then is cut "
                      "there",
            .remedy = "record fewer steps, or give the recorder more memory",
            .best_grade = 'C',
        },
    [MAREY_REASON_LET_GO] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "let_go",
            .meaning = "cycles of the recording whose records were given back for want of memory",
            .effect = "their calls and times are in no number here; averages of the profile that "
                      "recorded them have them",
            .remedy = "hand each cycle over when it ends (on_trace_ready), or give the profile a "
                      "larger keep_bytes",
            .best_grade = 'C',
        },
    [MAREY_REASON_LOST_BEFORE] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "lost_before",
            .meaning = "records left out, guessed or missing when Marey wrote this file",
            .effect = "those of the reasons that are counted for it: they are in no number here "
                      "either",
            .remedy =
                "look at the file or the profile from which this one was written; of lost and "
                "let_go record again, with more memory or a larger keep_bytes",
        },
    [MAREY_REASON_OTHER_VERSION] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "other_version",
            .meaning = "counts of what was lost or mended before, for reasons of another version",
            .effect = "anything may be missing",
            .remedy = "read the file with the version of Marey that wrote it",
            .best_grade = 'C',
        },
    [MAREY_REASON_CLOCK_UNSURE] =
        {
            .map = MAREY_LEDGER_FINDING,
            .reason = "clock_unsure",
            .meaning = "sessions whose clock strayed by more than a microsecond",
            .effect = "times are shown; order between threads and processes may be off by as much",
            .remedy = "record on a machine at rest, or compare within a thread only",
            .best_grade = 'B',
        },
    [MAREY_REASON_NO_FILL] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "no_fill",
            .meaning = "calls that fill memory whose operation is not in the trace",
            .effect = "if it ran on the device its time, a short one as a rule, is in no number",
        },
    [MAREY_REASON_RANK_ASSUMED] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "rank_assumed",
            .meaning = "files that do not tell their rank",
            .effect = "its place among the processes is taken, or the first rank that is free",
        },
    [MAREY_REASON_OTHER_RANKS] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "other_ranks",
            .meaning = "ranks of the job besides the one whose file this is",
            .effect = "all figures are of one rank",
        },
    [MAREY_REASON_FURTHER_CYCLE] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "further_cycle",
            .meaning = "files, or parts of one, that are a further cycle of a process",
            .effect = "all cycles of a process are one rank: calls and times add up, the time "
                      "between them is in no number",
        },
    [MAREY_REASON_APART_IN_TIME] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "apart_in_time",
            .meaning = "files, or parts of one, that share no moment with another",
            .effect = "the window holds the time between them, in which nothing was recorded",
            .remedy = "give the files of one run, or one run at a time",
        },
    [MAREY_REASON_RENAMED_THREAD] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "renamed_thread",
            .meaning = "threads with more than one name: the first is shown",
            .effect = "the first is shown",
        },
    [MAREY_REASON_CORRELATION_REUSED] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "correlation_reused",
            .meaning = "correlation ids used by more than one launch",
            .effect = "the latest one before the operation is taken",
        },
    [MAREY_REASON_STREAM_OVERLAP] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "stream_overlap",
            .meaning = "device operations that begin before another of their stream has ended",
            .effect = "a sum of them is more than the time in which the stream was busy",
        },
    [MAREY_REASON_SAME_INTERVAL] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "same_interval",
            .meaning = "slices with the begin and end of another on their thread, and no ids that "
                       "tell which is around the other: the name decides",
            .effect = "self time and device time may stand at the one instead of the other; their "
                      "sum does not change",
        },
    [MAREY_REASON_FLOW_START_ALONE] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "flow_start_alone",
            .meaning = "arrows that end nowhere",
            .effect = "nothing: no number depends on them",
        },
    [MAREY_REASON_FLOW_END_ALONE] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "flow_end_alone",
            .meaning = "arrows that begin nowhere",
            .effect = "nothing: no number depends on them",
        },
    [MAREY_REASON_BEGAN_BEFORE] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "began_before",
            .meaning = "ends of ranges that began before the session, which are not in the trace, "
                       "or on another thread, where they stay open",
            .effect = "no such range is in the trace; one of another thread stays open and is "
                      "'unclosed_begin'",
        },
    [MAREY_REASON_NOT_RECORDED] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "not_recorded",
            .meaning = "gaps between the sessions of the trace, in which nothing was recorded",
            .effect = "their time is in no number; ranges that were open when one began are cut "
                      "there",
        },
    [MAREY_REASON_MENDED_BEFORE] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "mended_before",
            .meaning = "what was mended or left out when Marey wrote this file, and matters to no "
                       "number",
            .effect = "nothing",
        },
    [MAREY_REASON_OTHER_PHASE] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "other_phase",
            .meaning = "records of phases that enter no table",
            .effect = "they are counted",
        },
    [MAREY_REASON_END_ARGS] =
        {
            .map = MAREY_LEDGER_INFO,
            .reason = "end_args",
            .meaning = "ends whose args say more than where they belong",
            .effect = "a slice has the args of its begin; those of its end are in no number, nor "
                      "written again",
        },
};

/* ---- by source ---- */

/* What is missing altogether is of no file. */
static bool is_of_trace(enum marey_reason reason)
{
    return reason == MAREY_REASON_MISSING_RANKS || reason == MAREY_REASON_OTHER_RANKS ||
           reason == MAREY_REASON_FLOW_START_ALONE || reason == MAREY_REASON_FLOW_END_ALONE;
}

static uint64_t *count_of_source(const struct marey_account *account, enum marey_reason reason,
                                 uint32_t source_idx)
{
    return account->by_source == NULL || source_idx >= account->n_sources || is_of_trace(reason)
               ? NULL
               : &account->by_source[source_idx * (size_t)MAREY_N_REASONS + reason];
}

bool marey__account_add_source(struct marey_account *account, const struct marey_alloc *alloc)
{
    const size_t row_bytes = MAREY_N_REASONS * sizeof *account->by_source;
    if (++account->n_sources < 2)
        return true;
    if (account->n_sources > account->capacity) {
        const size_t capacity = 2 * account->n_sources;
        uint64_t *grown = marey__alloc_zero(alloc, capacity, row_bytes);
        if (grown == NULL) {
            account->n_sources--;
            return false;
        }
        if (account->by_source != NULL)
            memcpy(grown, account->by_source, account->capacity * row_bytes);
        else
            memcpy(grown, account->count, row_bytes);
        marey__dealloc(alloc, account->by_source, account->capacity, row_bytes);
        account->by_source = grown;
        account->capacity = capacity;
    }
    return true;
}

void marey__account_release(struct marey_account *account, const struct marey_alloc *alloc)
{
    marey__dealloc(alloc, account->by_source, account->capacity,
                   MAREY_N_REASONS * sizeof *account->by_source);
    account->by_source = NULL;
}

uint64_t marey__account_of_source(const struct marey_account *account, enum marey_reason reason,
                                  uint32_t source_idx)
{
    const uint64_t *count = count_of_source(account, reason, source_idx);
    if (account->by_source == NULL && source_idx == 0 && !is_of_trace(reason))
        return account->count[reason];
    return count != NULL ? *count : 0;
}

/* ---- examples ---- */

static uint32_t source_of(uint64_t offset)
{
    return marey_place_of_offset(offset).source_idx;
}

/* The first of a source is an example if there are two of another one: the later of them goes. */
static void make_room(struct marey_account *account, enum marey_reason reason)
{
    uint64_t *example = account->example_offset[reason];
    size_t last = MAREY_LEDGER_EXAMPLES - 1;
    while (last > 0 && source_of(example[last]) != source_of(example[last - 1]))
        last--;
    if (last == 0)
        return;
    memmove(&example[last], &example[last + 1],
            (MAREY_LEDGER_EXAMPLES - 1 - last) * sizeof *example);
    account->n_examples[reason]--;
}

void marey__account_note(struct marey_account *account, enum marey_reason reason, uint64_t offset)
{
    uint64_t *of_source = count_of_source(account, reason, source_of(offset));
    account->count[reason]++;
    if (of_source != NULL && (*of_source)++ == 0 &&
        account->n_examples[reason] == MAREY_LEDGER_EXAMPLES)
        make_room(account, reason);
    if (account->n_examples[reason] < MAREY_LEDGER_EXAMPLES)
        account->example_offset[reason][account->n_examples[reason]++] = offset;
}

void marey__account_add(struct marey_account *account, enum marey_reason reason, uint64_t n,
                        uint64_t offset)
{
    if (n == 0)
        return;
    marey__account_note(account, reason, offset);
    account->count[reason] += n - 1;
    uint64_t *of_source = count_of_source(account, reason, source_of(offset));
    if (of_source != NULL)
        *of_source += n - 1;
}

const char *marey__reason_name(enum marey_reason reason)
{
    return reason_table[reason].reason;
}

char marey__reason_best_grade(const char *name)
{
    for (int reason = 0; reason < MAREY_N_REASONS; reason++)
        if (strcmp(reason_table[reason].reason, name) == 0 && reason_table[reason].best_grade != 0)
            return reason_table[reason].best_grade;
    return 'A';
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
            .reason = reason_table[reason].reason,
            .meaning = reason_table[reason].meaning,
            .effect = reason_table[reason].effect,
            .remedy = reason_table[reason].remedy,
            .count = count,
            .n_examples = account->n_examples[reason],
        };
        for (size_t i = 0; i < row->n_examples; i++)
            row->example_offset[i] = account->example_offset[reason][i];
    }
    return n;
}

const struct marey_ledger_reason *marey_ledger_reasons(size_t *n)
{
    *n = MAREY_N_REASONS;
    return reason_table;
}
