/*
 * doctor_text.c - `marey doctor FILE...` for people: each reason in words, then a verdict.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "doctor.h"

#define WIDTH 100
#define INDENT 4

/* Places of a reason that are shown. */
#define MAX_EXAMPLES 3

/* Ranks whose count is shown. */
#define MAX_RANKS 8

static void add_words(struct text *text, const char *label, const char *words)
{
    if (!words)
        return;
    text_add(text, "%*s%-9s ", INDENT, "", label);
    text_add_wrapped(text, words, INDENT + 10, INDENT + 10, WIDTH);
}

/* ---- files --------------------------------------------------------------------------- */

static void add_path(struct text *text, const struct marey_trace *trace,
                     const struct marey_source *source)
{
    text_add_name(text, marey_trace_string(trace, source->path_id));
}

static void add_files(struct text *text, const struct diagnosis *diagnosis)
{
    size_t n = 0;
    const struct marey_trace *trace = diagnosis->input->trace;
    const struct marey_source *sources = marey_trace_sources(trace, &n);

    for (size_t i = 0; i < n; i++) {
        add_path(text, trace, &sources[i]);
        text_add(text, ": rank %" PRId64 "%s%s, %" PRIu64 " records, ", sources[i].rank,
                 sources[i].rank_is_assumed ? " (assumed)" : "",
                 sources[i].cycle_of != i ? ", a further cycle" : "", sources[i].n_records);
        text_add_bytes_size(text, sources[i].size_bytes);
        text_add(text, " of JSON\n");
    }
    text_add(text, "%" PRIu64 " records read, %" PRIu64 " used, %zu slices\n",
             diagnosis->ledger.n_read, diagnosis->ledger.n_used, diagnosis->n_slices);
}

/* ---- reasons ---------------------------------------------------------------------------- */

/* "byte 5 of a.json"; what is about a whole file has no byte, and one file is named above. */
static void add_place(struct text *text, const struct marey_trace *trace, uint64_t offset)
{
    size_t n = 0;
    const struct marey_source *sources = marey_trace_sources(trace, &n);
    const struct marey_place_in_file place = marey_place_of_offset(offset);

    if (place.byte > 0)
        text_add(text, "byte %" PRIu64, place.byte);
    if (n == 1 || place.source_idx >= n)
        return;
    text_add(text, "%s", place.byte > 0 ? " of " : "");
    add_path(text, trace, &sources[place.source_idx]);
}

static uint32_t source_of(const struct marey_ledger_row *row, size_t i)
{
    return marey_place_of_offset(row->example_offset[i]).source_idx;
}

/* The first of each file go before further ones of the same. They stand in the order of files. */
static void choose_examples(const struct marey_ledger_row *row, bool *is_shown)
{
    size_t n = 0;

    for (size_t i = 0; i < row->n_examples && n < MAX_EXAMPLES; i++) {
        is_shown[i] = i == 0 || source_of(row, i) != source_of(row, i - 1);
        n += is_shown[i];
    }
    for (size_t i = 0; i < row->n_examples && n < MAX_EXAMPLES; i++) {
        n += !is_shown[i];
        is_shown[i] = true;
    }
}

static void add_examples(struct text *text, const struct marey_trace *trace,
                         const struct marey_ledger_row *row)
{
    const size_t n_shown = row->n_examples < MAX_EXAMPLES ? row->n_examples : MAX_EXAMPLES;
    bool is_shown[MAREY_LEDGER_EXAMPLES] = {false};
    struct text places = {0};

    choose_examples(row, is_shown);
    for (size_t i = 0; i < row->n_examples; i++) {
        if (!is_shown[i])
            continue;
        text_add(&places, "%s", places.len > 0 ? ", " : "");
        add_place(&places, trace, row->example_offset[i]);
    }
    if (places.len > 0)
        text_add(text, "%*s%-9s %s%s\n", INDENT, "", "at", places.ptr,
                 row->count > n_shown ? ", ..." : "");
    text->is_broken = text->is_broken || places.is_broken;
    text_release(&places);
}

/* How often it was met in each rank, where there are several. */
static void add_ranks(struct text *text, const struct diagnosis *diagnosis,
                      const struct marey_ledger_row *row)
{
    size_t n = 0;
    size_t n_with = 0;
    struct rank_count *counts = diagnosis_by_rank(diagnosis, row, &n);
    struct text words = {0};

    for (size_t i = 0; i < n && n > 1; i++)
        if (counts[i].n > 0 && n_with++ < MAX_RANKS)
            text_add(&words, "%s%" PRIu64 " in rank %" PRId64, words.len > 0 ? ", " : "",
                     counts[i].n, counts[i].rank);
    if (n_with > MAX_RANKS)
        text_add(&words, ", and in %zu more", n_with - MAX_RANKS);
    if (words.len > 0)
        add_words(text, "of which", words.ptr);
    text->is_broken = text->is_broken || words.is_broken || !counts;
    text_release(&words);
    free(counts);
}

/* What the rows "lost_before" and "mended_before" count, by reason; words of no other row. */
static void add_before(struct text *text, const struct marey_ledger *ledger,
                       const struct marey_ledger_row *row)
{
    struct text counts = {0};

    for (size_t i = 0; i < ledger->n_before; i++)
        if (marey_ledger_counts_before(row, &ledger->before[i]))
            text_add(&counts, "%s%s %" PRIu64, counts.len > 0 ? ", " : "", ledger->before[i].reason,
                     ledger->before[i].count);
    if (counts.len > 0)
        add_words(text, "which are", counts.ptr);
    text->is_broken = text->is_broken || counts.is_broken;
    text_release(&counts);
}

static void add_reason(struct text *text, const struct diagnosis *diagnosis,
                       const struct marey_ledger_row *row)
{
    text_add(text, "  %" PRIu64 " %s: ", row->count, row->reason);
    text_add_wrapped(text, row->meaning, 0, INDENT, WIDTH);
    add_examples(text, diagnosis->input->trace, row);
    add_ranks(text, diagnosis, row);
    add_before(text, &diagnosis->ledger, row);
    add_words(text, "numbers", row->effect);
    add_words(text, "remedy", row->remedy);
}

static void add_map(struct text *text, const struct diagnosis *diagnosis, const char *title,
                    enum marey_ledger_map map)
{
    bool is_first = true;

    for (size_t i = 0; i < diagnosis->ledger.n_rows; i++) {
        const struct marey_ledger_row *row = &diagnosis->ledger.rows[i];
        if (row->map != map)
            continue;
        if (is_first)
            text_add(text, "\n%s\n", title);
        is_first = false;
        add_reason(text, diagnosis, row);
    }
}

/* ---- laws and verdict ------------------------------------------------------------------------ */

static void add_law(struct text *text, const char *what, int64_t left_ns, int64_t right_ns)
{
    text_add(text, "  %s: ", what);
    if (left_ns == MAREY_UNKNOWN || right_ns == MAREY_UNKNOWN) {
        text_add(text, "not known, a sum is more than 64 bits hold\n");
        return;
    }
    text_add_duration(text, left_ns);
    if (left_ns == right_ns) {
        text_add(text, ", holds\n");
        return;
    }
    text_add(text, " and ");
    text_add_duration(text, right_ns);
    text_add(text, ", BROKEN: please report this\n");
}

/* It may be more than the window, so that what it is of is told. */
static void add_self_law(struct text *text, const struct marey_trace *trace,
                         const struct marey_law_checks *laws)
{
    size_t n = 0;
    size_t n_busy = 0;
    size_t n_windows = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n);
    struct text what = {0};

    for (size_t i = 0; i < n; i++) {
        if (tracks[i].n_slices == 0)
            continue;
        n_busy++;
        n_windows += marey_trace_slice_kind(trace, tracks[i].first_slice) == MAREY_KIND_WINDOW;
    }
    text_add(&what, "self times = busy time, added up over %zu track%s", n_busy,
             n_busy == 1 ? "" : "s");
    if (n_windows > 0)
        text_add(&what, " (%zu of them the profiler's own window)", n_windows);
    if (what.ptr)
        add_law(text, what.ptr, laws->self_sum_ns, laws->union_ns);
    text->is_broken = text->is_broken || what.is_broken;
    text_release(&what);
}

static void add_laws(struct text *text, const struct marey_trace *trace,
                     const struct marey_law_checks *laws)
{
    text_add(text, "\nlaws\n");
    add_self_law(text, trace, laws);
    add_law(text, "device operations = owned + unowned", laws->device_sum_ns,
            laws->owned_plus_unowned_ns);
}

static void add_share(struct text *text, uint64_t n, uint64_t of, const char *what)
{
    if (of > 0)
        text_add(text, "  %" PRIu64 " of %" PRIu64 " %s\n", n, of, what);
}

static void add_coverage(struct text *text, const struct marey_grade *grade)
{
    text_add(text, "\ncoverage: grade %c", grade->letter);
    if (grade->because)
        text_add(text, ", because of %s", grade->because);
    text_add(text, "\n");
    add_share(text, grade->n_with_launch, grade->n_operations,
              "device operations have their launch");
    add_share(text, grade->n_with_operation, grade->n_launches,
              "launches have their device operation");
}

static void add_bounds(struct text *text, const struct diagnosis *diagnosis)
{
    size_t n = 0;
    const struct marey_source *sources = marey_trace_sources(diagnosis->input->trace, &n);

    for (size_t i = 0; i < diagnosis->n_bounds; i++) {
        const struct marey_clock_bound *bound = &diagnosis->bounds[i];
        text_add(text, "%s  rank %" PRId64 ", device ", i == 0 ? "\nclocks\n" : "",
                 sources[bound->source_idx].rank);
        text_add_json_number(text, bound->device);
        text_add(text, ": the device's clock");
        if (bound->leads_by_at_least_ns != MAREY_UNKNOWN) {
            text_add(text, " is ahead of the host's by at least ");
            text_add_duration(text, bound->leads_by_at_least_ns);
        }
        if (bound->lags_by_at_least_ns != MAREY_UNKNOWN) {
            text_add(text, "%s is behind by at least ",
                     bound->leads_by_at_least_ns != MAREY_UNKNOWN ? ", and elsewhere" : "");
            text_add_duration(text, bound->lags_by_at_least_ns);
        }
        text_add(text, "\n");
    }
}

static void add_counted(struct text *text, uint64_t n, const char *what)
{
    text_add(text, "%" PRIu64 " %s", n, what);
}

static void add_verdict(struct text *text, const struct diagnosis *diagnosis, bool is_strict)
{
    text_add(text, "\nverdict: ");
    if (diagnosis_is_clean(diagnosis)) {
        text_add(text, "clean\n");
        return;
    }
    if (diagnosis_is_fit(diagnosis) && !is_strict) {
        text_add(text, "fit for use: slices cross, and each instant is charged once\n");
        return;
    }
    text_add(text, "not clean: ");
    add_counted(text, diagnosis_count(diagnosis, MAREY_LEDGER_QUARANTINED), "set aside, ");
    add_counted(text, diagnosis_count(diagnosis, MAREY_LEDGER_REPAIRED), "repaired, ");
    add_counted(text, diagnosis_count(diagnosis, MAREY_LEDGER_FINDING), "found\n");
}

static void add_unread(struct text *text, const struct input_unread *unread)
{
    for (size_t i = 0; i < unread->n_paths; i++) {
        text_add_name(text, str_of(unread->paths[i]));
        text_add(text, "\n");
    }
    text_add(text, "\nverdict: unreadable: ");
    text_add_name(text, str_of(unread->err.message));
    text_add(text, "\n");
}

void diagnosis_as_text(const struct diagnosis *diagnosis, bool is_strict, struct text *text)
{
    const struct input_examined *input = diagnosis->input;

    if (input->trace) {
        add_files(text, diagnosis);
        add_map(text, diagnosis, "set aside", MAREY_LEDGER_QUARANTINED);
        add_map(text, diagnosis, "repaired", MAREY_LEDGER_REPAIRED);
        add_map(text, diagnosis, "found", MAREY_LEDGER_FINDING);
        add_map(text, diagnosis, "noted, and normal", MAREY_LEDGER_INFO);
        add_bounds(text, diagnosis);
        add_laws(text, input->trace, &diagnosis->laws);
        add_coverage(text, &diagnosis->grade);
        add_verdict(text, diagnosis, is_strict);
    }
    for (size_t i = 0; i < input->n_unread; i++) {
        text_add(text, "%s", i > 0 || input->trace ? "\n" : "");
        add_unread(text, &input->unread[i]);
    }
}
