/*
 * fuzz_import.c - any bytes as a trace: read, own, average, view and write them.
 *
 * Besides not crashing: a trace that loads keeps the laws (self times of a track add up to
 * its union, parents begin no later), what it is written as loads again, and what it is
 * repaired to needs no repair.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <marey/aggregate.h>
#include <marey/export.h>
#include <marey/import.h>
#include <marey/trace.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* Union of a track's slices, by a running end: they come in order of their start. */
static int64_t union_of(const struct marey_slices *slices, const struct marey_track *track)
{
    int64_t sum = 0;
    int64_t reached = INT64_MIN;
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const int64_t dur = slices->dur_ns[i] == MAREY_UNKNOWN ? 0 : slices->dur_ns[i];
        const int64_t start = slices->start_ns[i] > reached ? slices->start_ns[i] : reached;
        const int64_t end = slices->start_ns[i] + dur;
        if (end > start)
            sum += end - start;
        reached = end > reached ? end : reached;
    }
    return sum;
}

static void check_laws(struct marey_trace *trace)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    const int64_t *self_ns = NULL;
    size_t n_tracks = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n_tracks);
    require(marey_trace_self_ns(trace, &self_ns, NULL) == MAREY_OK);
    for (size_t t = 0; t < n_tracks; t++) {
        int64_t sum = 0;
        for (uint32_t i = tracks[t].first_slice; i < tracks[t].first_slice + tracks[t].n_slices;
             i++) {
            const uint32_t parent = slices.parent_idx[i];
            require(self_ns[i] >= 0);
            require(parent == MAREY_NONE || slices.start_ns[parent] <= slices.start_ns[i]);
            sum += self_ns[i];
        }
        require(sum == union_of(&slices, &tracks[t]));
    }
}

static void average(struct marey_trace *trace, const struct marey_averages_options *options,
                    const struct marey_table_options *table)
{
    struct marey_averages *averages = NULL;
    struct marey_text text = {0};
    require(marey_averages_new(trace, options, &averages, NULL) == MAREY_OK);
    require(marey_table_text(averages, table, &text, NULL) == MAREY_OK);
    marey_text_release(&text);
    marey_averages_free(averages);
}

static void average_all(struct marey_trace *trace)
{
    const struct marey_averages_options plain = {.size = sizeof plain, .percentiles = true};
    const struct marey_averages_options grouped = {.size = sizeof grouped,
                                                   .by_shape = true,
                                                   .by_overload = true,
                                                   .by_stack = 3,
                                                   .include_python = true};
    const struct marey_averages_options top = {.size = sizeof top, .top_level = true};
    const struct marey_table_options text = {.size = sizeof text};
    const struct marey_table_options json = {.size = sizeof json, .format = MAREY_TABLE_JSON};
    const struct marey_table_options csv = {
        .size = sizeof csv, .format = MAREY_TABLE_CSV, .columns = "all"};
    average(trace, &plain, &text);
    average(trace, &grouped, &json);
    average(trace, &top, &csv);
}

static void view_as_torch(struct marey_trace *trace)
{
    const struct marey_torch_options options = {.size = sizeof options,
                                                .memory = MAREY_KNOWN_YES,
                                                .flops = MAREY_KNOWN_YES,
                                                .python_functions = MAREY_KNOWN_YES};
    const struct marey_torch_table_options table = marey_torch_table_defaults();
    struct marey_torch_view *view = NULL;
    struct marey_torch_averages *averages = NULL;
    struct marey_text text = {0};
    require(marey_torch_view_new(trace, &options, &view, NULL) == MAREY_OK);
    require(marey_torch_averages_new(view, true, 2, true, &averages, NULL) == MAREY_OK);
    /* torch itself refuses device times in a trace that names no device. */
    const enum marey_status status = marey_torch_table_text(averages, &table, &text, NULL);
    require(status == MAREY_OK || status == MAREY_INVALID);
    marey_text_release(&text);
    marey_torch_averages_free(averages);
    marey_torch_view_free(view);
}

static void write_and_read(struct marey_trace *trace)
{
    struct marey_text text = {0};
    struct marey_trace *again = NULL;
    require(marey_export_chrome_text(trace, NULL, &text, NULL) == MAREY_OK);
    const struct marey_str bytes = {text.ptr, text.len};
    require(marey_import_bytes(bytes, NULL, &again, NULL) == MAREY_OK);
    require(marey_trace_slices(again).n == marey_trace_slices(trace).n);
    require(marey_trace_instants(again).n == marey_trace_instants(trace).n);
    marey_trace_free(again);
    marey_text_release(&text);
}

/* Whether the ledger has a row of that map. */
static bool has_any(struct marey_trace *trace, enum marey_ledger_map map)
{
    struct marey_ledger ledger;
    require(marey_trace_ledger(trace, &ledger, NULL) == MAREY_OK);
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (ledger.rows[i].map == map)
            return true;
    return false;
}

/* Nothing is left to be repaired, wherever one looks. */
static void repair(struct marey_trace *trace, bool scrub)
{
    const struct marey_chrome_options options = {
        .size = sizeof options, .repair = true, .scrub = scrub};
    const struct marey_import_options all = {.size = sizeof all, .check = MAREY_CHECK_ALL};
    struct marey_text text = {0};
    struct marey_trace *again = NULL;
    require(marey_export_chrome_text(trace, &options, &text, NULL) == MAREY_OK);
    const struct marey_str bytes = {text.ptr, text.len};
    require(marey_import_bytes(bytes, &all, &again, NULL) == MAREY_OK);
    require(!has_any(again, MAREY_LEDGER_QUARANTINED) && !has_any(again, MAREY_LEDGER_REPAIRED));
    require(marey_trace_slices(again).n == marey_trace_slices(trace).n);
    marey_trace_free(again);
    marey_text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct marey_str bytes = {(const char *)data, size};
    struct marey_trace *trace = NULL;
    struct marey_owners owners;
    struct marey_error err;
    if (marey_import_bytes(bytes, NULL, &trace, &err) != MAREY_OK)
        return 0;
    check_laws(trace);
    require(marey_trace_owners(trace, &owners, NULL) == MAREY_OK);
    average_all(trace);
    size_t n_sources = 0;
    (void)marey_trace_sources(trace, &n_sources);
    if (n_sources == 1) /* joined documents are no one process */
        view_as_torch(trace);
    write_and_read(trace);
    repair(trace, false);
    repair(trace, true);
    marey_trace_free(trace);
    return 0;
}
