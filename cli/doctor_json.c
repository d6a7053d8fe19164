/*
 * doctor_json.c - `marey doctor --format json FILE...`. Names and meanings stay; members
 * may be added without a new schema number. What is not known is null.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "doctor.h"

static void add_text(struct text *text, const char *literal)
{
    if (literal)
        text_add_json_string(text, str_of(literal));
    else
        text_add(text, "null");
}

static void add_member(struct text *text, const char *key, int64_t number)
{
    text_add(text, "\"%s\": ", key);
    text_add_json_number(text, number);
}

/* ---- a trace ---------------------------------------------------------------------- */

/* Several traces of one file are told once. */
static void add_files(struct text *text, const struct marey_trace *trace)
{
    size_t n = 0;
    const struct marey_source *sources = marey_trace_sources(trace, &n);
    uint32_t last = MAREY_NONE;

    text_add(text, "      \"files\": [");
    for (size_t i = 0; i < n; i++) {
        if (sources[i].path_id == last)
            continue;
        text_add(text, "%s", i == 0 ? "" : ", ");
        last = sources[i].path_id;
        text_add_json_string(text, marey_trace_string(trace, last));
    }
    text_add(text, "],\n");
}

static void add_map(struct text *text, const struct diagnosis *diagnosis, const char *key,
                    enum marey_ledger_map map)
{
    const char *separator = "";

    text_add(text, "      \"%s\": {", key);
    for (size_t i = 0; i < diagnosis->ledger.n_rows; i++) {
        const struct marey_ledger_row *row = &diagnosis->ledger.rows[i];
        if (row->map != map)
            continue;
        text_add(text, "%s\"%s\": %" PRIu64, separator, row->reason, row->count);
        separator = ", ";
    }
    text_add(text, "},\n");
}

/* What was left out or mended when the files were written. */
static void add_before(struct text *text, const struct marey_ledger *ledger)
{
    text_add(text, "      \"before\": {");
    for (size_t i = 0; i < ledger->n_before; i++)
        text_add(text, "%s\"%s\": %" PRIu64, i == 0 ? "" : ", ", ledger->before[i].reason,
                 ledger->before[i].count);
    text_add(text, "},\n");
}

static void add_laws(struct text *text, const struct marey_law_checks *laws)
{
    text_add(text, "      \"law_checks\": {");
    add_member(text, "self_sum_ns", laws->self_sum_ns);
    text_add(text, ", ");
    add_member(text, "union_ns", laws->union_ns);
    text_add(text, ", ");
    add_member(text, "device_sum_ns", laws->device_sum_ns);
    text_add(text, ", ");
    add_member(text, "owned_plus_unowned_ns", laws->owned_plus_unowned_ns);
    text_add(text, "},\n");
}

static void add_examples(struct text *text, const struct marey_trace *trace,
                         const struct marey_ledger_row *row)
{
    size_t n_sources = 0;
    const struct marey_source *sources = marey_trace_sources(trace, &n_sources);

    text_add(text, "\"examples\": [");
    for (size_t i = 0; i < row->n_examples; i++) {
        const struct marey_place_in_file place = marey_place_of_offset(row->example_offset[i]);
        text_add(text, "%s{\"file\": ", i == 0 ? "" : ", ");
        if (place.source_idx < n_sources)
            text_add_json_string(text,
                                 marey_trace_string(trace, sources[place.source_idx].path_id));
        else
            text_add(text, "null");
        text_add(text, ", \"byte\": %" PRIu64 "}", place.byte);
    }
    text_add(text, "]");
}

static void add_ranks(struct text *text, const struct diagnosis *diagnosis,
                      const struct marey_ledger_row *row)
{
    size_t n = 0;
    struct rank_count *counts = diagnosis_by_rank(diagnosis, row, &n);
    const char *separator = "";

    text_add(text, "\"ranks\": {");
    for (size_t i = 0; i < n; i++) {
        if (counts[i].n == 0)
            continue;
        text_add(text, "%s\"%" PRId64 "\": %" PRIu64, separator, counts[i].rank, counts[i].n);
        separator = ", ";
    }
    text_add(text, "}");
    text->is_broken = text->is_broken || !counts;
    free(counts);
}

static void add_reasons(struct text *text, const struct diagnosis *diagnosis)
{
    static const char *const maps[] = {"quarantined", "repaired", "finding", "info"};

    text_add(text, "      \"reasons\": [");
    for (size_t i = 0; i < diagnosis->ledger.n_rows; i++) {
        const struct marey_ledger_row *row = &diagnosis->ledger.rows[i];
        text_add(text, "%s\n        {\"reason\": ", i == 0 ? "" : ",");
        add_text(text, row->reason);
        text_add(text, ", \"map\": \"%s\", \"count\": %" PRIu64 ", \"meaning\": ", maps[row->map],
                 row->count);
        add_text(text, row->meaning);
        text_add(text, ", \"effect\": ");
        add_text(text, row->effect);
        text_add(text, ", \"remedy\": ");
        add_text(text, row->remedy);
        text_add(text, ", ");
        add_examples(text, diagnosis->input->trace, row);
        text_add(text, ", ");
        add_ranks(text, diagnosis, row);
        text_add(text, "}");
    }
    text_add(text, "\n      ]");
}

static void add_grade(struct text *text, const struct marey_grade *grade)
{
    text_add(text, "      \"grade\": {\"letter\": \"%c\", \"because\": ", grade->letter);
    add_text(text, grade->because);
    text_add(text,
             ", \"operations\": %" PRIu64 ", \"with_launch\": %" PRIu64 ", \"launches\": %" PRIu64
             ", \"with_operation\": %" PRIu64 "},\n",
             grade->n_operations, grade->n_with_launch, grade->n_launches, grade->n_with_operation);
}

static void add_bounds(struct text *text, const struct diagnosis *diagnosis)
{
    size_t n = 0;
    const struct marey_source *sources = marey_trace_sources(diagnosis->input->trace, &n);

    text_add(text, "      \"clock\": [");
    for (size_t i = 0; i < diagnosis->n_bounds; i++) {
        const struct marey_clock_bound *bound = &diagnosis->bounds[i];
        text_add(text, "%s{", i == 0 ? "" : ", ");
        add_member(text, "rank", sources[bound->source_idx].rank);
        text_add(text, ", ");
        add_member(text, "device", bound->device);
        text_add(text, ", ");
        add_member(text, "leads_by_at_least_ns", bound->leads_by_at_least_ns);
        text_add(text, ", ");
        add_member(text, "lags_by_at_least_ns", bound->lags_by_at_least_ns);
        text_add(text, ", ");
        add_member(text, "first_at_ns", bound->first_at_ns);
        text_add(text, "}");
    }
    text_add(text, "],\n");
}

static void add_trace(struct text *text, const struct diagnosis *diagnosis)
{
    const struct marey_ledger *ledger = &diagnosis->ledger;

    text_add(text, "    {\n");
    add_files(text, diagnosis->input->trace);
    text_add(text, "      \"loads\": true,\n      \"exit\": %d,\n",
             diagnosis_is_clean(diagnosis) ? CLI_DONE : CLI_UNMET);
    text_add(text, "      \"checked\": \"%s\",\n",
             ledger->checked == MAREY_CHECK_ALL ? "all" : "fields");
    text_add(text, "      \"read\": %" PRIu64 ",\n      \"used\": %" PRIu64 ",\n", ledger->n_read,
             ledger->n_used);
    text_add(text, "      \"slices\": %zu,\n", diagnosis->n_slices);
    add_map(text, diagnosis, "quarantined", MAREY_LEDGER_QUARANTINED);
    add_map(text, diagnosis, "repaired", MAREY_LEDGER_REPAIRED);
    add_map(text, diagnosis, "findings", MAREY_LEDGER_FINDING);
    add_map(text, diagnosis, "info", MAREY_LEDGER_INFO);
    add_before(text, ledger);
    add_laws(text, &diagnosis->laws);
    add_grade(text, &diagnosis->grade);
    add_bounds(text, diagnosis);
    add_reasons(text, diagnosis);
    text_add(text, "\n    }");
}

/* ---- what cannot be read --------------------------------------------------------------- */

static void add_unread(struct text *text, const struct input_unread *unread)
{
    text_add(text, "    {\n      \"files\": [");
    for (size_t i = 0; i < unread->n_paths; i++) {
        text_add(text, "%s", i == 0 ? "" : ", ");
        text_add_json_string(text, str_of(unread->paths[i]));
    }
    text_add(text,
             "],\n      \"loads\": false,\n      \"exit\": %d,\n      \"error\": ", CLI_FAILED);
    text_add_json_string(text, str_of(unread->err.message));
    text_add(text, ",\n      ");
    add_member(text, "byte", unread->err.offset_bytes);
    text_add(text, "\n    }");
}

void diagnosis_as_json(const struct diagnosis *diagnosis, struct text *text)
{
    const struct input_examined *input = diagnosis->input;
    const char *separator = "";

    text_add(text, "{\n  \"schema\": 1,\n  \"traces\": [\n");
    if (input->trace) {
        add_trace(text, diagnosis);
        separator = ",\n";
    }
    for (size_t i = 0; i < input->n_unread; i++) {
        text_add(text, "%s", separator);
        add_unread(text, &input->unread[i]);
        separator = ",\n";
    }
    text_add(text, "\n  ]\n}\n");
}
