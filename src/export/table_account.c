/*
 * table_account.c - the lines above a table: what is not clean (law 7), what it is about.
 */
#include "export/display.h"

#include "base/known.h"
#include "export/table.h"

#define LINE_WIDTH 120
#define INDENT 4

static const char *const map_words[] = {
    [MAREY_LEDGER_QUARANTINED] = "set aside",
    [MAREY_LEDGER_REPAIRED] = "repaired",
    [MAREY_LEDGER_FINDING] = "found",
    [MAREY_LEDGER_INFO] = "noted",
};

static void add_count(struct marey_textbuf *out, uint64_t n, const char *one, const char *many)
{
    marey__add_grouped(out, n);
    marey__text_add_c(out, n == 1 ? one : many);
}

/* What a row counts of the writings before, by reason. */
static void add_before(const struct marey_ledger *ledger, const struct marey_ledger_row *row,
                       struct marey_textbuf *line)
{
    const char *separator = ": ";
    for (size_t i = 0; i < ledger->n_before; i++) {
        if (!marey_ledger_counts_before(row, &ledger->before[i]))
            continue;
        marey__text_add_format(line, "%s%s ", separator, ledger->before[i].reason);
        marey__add_grouped(line, ledger->before[i].count);
        separator = ", ";
    }
}

static void add_row(const struct marey_ledger *ledger, const struct marey_ledger_row *row,
                    struct marey_textbuf *line, struct marey_textbuf *out)
{
    marey__text_reset(line);
    marey__text_add_c(line, map_words[row->map]);
    marey__text_add_c(line, ": ");
    marey__add_grouped(line, row->count);
    marey__text_add_format(line, " %s (%s", row->reason, row->meaning);
    add_before(ledger, row, line);
    marey__text_add_byte(line, ')');
    out->failed |= marey__text_failed(line);
    marey__text_add_c(out, "  ");
    marey__display_add_wrapped(out, (struct marey_str){line->ptr, line->len}, LINE_WIDTH - 2,
                               INDENT);
}

/* Crossing slices are normal where Python frames are recorded: alone, one short line. */
void marey__table_add_account(const struct marey_table *table, struct marey_textbuf *out)
{
    const struct marey_ledger *ledger = &table->about.ledger;
    size_t n_unclean = 0;
    uint64_t n_crossings = 0;
    for (size_t i = 0; i < ledger->n_rows; i++) {
        n_unclean += ledger->rows[i].map != MAREY_LEDGER_INFO;
        if (strcmp(ledger->rows[i].reason, "crossing") == 0)
            n_crossings = ledger->rows[i].count;
    }
    if (n_unclean == 0)
        return;
    if (n_unclean == 1 && n_crossings > 0) {
        marey__add_grouped(out, n_crossings);
        marey__text_add_c(out,
                          n_crossings == 1
                              ? " slice outlives its parent (each instant is charged once)\n"
                              : " slices outlive their parent (each instant is charged once)\n");
        return;
    }
    marey__text_add_c(out, "not clean (");
    add_count(out, ledger->n_read, " record read, ", " records read, ");
    marey__add_grouped(out, ledger->n_used);
    marey__text_add_c(out, " used):\n");

    struct marey_textbuf line;
    marey__text_init(&line, &table->alloc);
    for (size_t i = 0; i < ledger->n_rows; i++)
        if (ledger->rows[i].map != MAREY_LEDGER_INFO)
            add_row(ledger, &ledger->rows[i], &line, out);
    marey__text_release(&line);
}

/* What the files are to one another: "2 cycles of one process", "8 ranks". False if each is a rank,
 * as files are as a rule. */
static bool add_parts(const struct marey_about *about, const char *before,
                      struct marey_textbuf *out)
{
    const bool has_cycles = about->n_processes < about->n_sources;

    if (!has_cycles && about->n_ranks > 1 && about->n_files == about->n_sources)
        return false;
    marey__text_add_c(out, before);
    if (has_cycles) {
        add_count(out, about->n_sources, " cycle", " cycles");
        marey__text_add_c(out, " of ");
    }
    if (about->n_processes == 1)
        marey__text_add_c(out, "one process");
    else if (about->n_ranks == 1)
        add_count(out, about->n_processes, "", " processes of one program");
    else if (about->n_ranks < about->n_processes)
        add_count(out, about->n_processes, "", " processes");
    else
        add_count(out, about->n_ranks, "", " ranks");
    return true;
}

static void add_sources(const struct marey_about *about, struct marey_textbuf *out)
{
    const char *separator = " (";

    if (about->is_recorded)
        add_count(out, about->n_sources, " recording", " recordings");
    else
        add_count(out, about->n_files, " file", " files");
    if (!about->is_recorded && about->n_sources > 1) {
        const bool is_with = about->n_files < about->n_sources;
        if (add_parts(about, is_with ? " with " : separator, out) && !is_with)
            separator = ", ";
    }
    if (about->has_rank)
        marey__text_add_format(out, "%srank %lld", separator, (long long)about->rank);
    if (about->has_rank || separator[0] == ',')
        marey__text_add_byte(out, ')');
}

/* Files of several runs: the window is no span of work. */
static void add_apart(const struct marey_table *table, struct marey_textbuf *out)
{
    for (size_t i = 0; i < table->about.ledger.n_rows; i++) {
        if (strcmp(table->about.ledger.rows[i].reason, "apart_in_time") != 0)
            continue;
        marey__text_add_c(out, " (");
        marey__add_grouped(out, table->about.ledger.rows[i].count);
        marey__text_add_c(out, " of them apart in time: of one run?)");
    }
}

/* Each process has its own: their sum is no part of the window. */
static void add_gaps(const struct marey_table *table, struct marey_textbuf *out)
{
    const struct marey_window *window = &table->about.window;

    if (window->n_gaps == 0)
        return;
    marey__text_add_c(out, " (not recorded: ");
    if (window->gaps_ns != MAREY_UNKNOWN) {
        marey__add_time(out, window->gaps_ns, table->options.time_unit, false);
        marey__text_add_c(out, " in ");
    }
    add_count(out, window->n_gaps, " gap", " gaps");
    if (table->about.n_processes > 1)
        marey__text_add_c(out,
                          window->n_gaps == 1 ? " of a single process" : " of single processes");
    marey__text_add_byte(out, ')');
}

void marey__table_add_title(const struct marey_table *table, struct marey_textbuf *out)
{
    const struct marey_window window = table->about.window;
    const int64_t whole = table->about.whole_ns;

    add_sources(&table->about, out);
    marey__text_add_c(out, ": window ");
    const int64_t window_ns = marey__known_span(window.start_ns, window.end_ns);
    if (window_ns == MAREY_UNKNOWN)
        marey__text_add_c(out, MAREY_DASH);
    else
        marey__add_time(out, window_ns, table->options.time_unit, false);
    add_gaps(table, out);
    if (!table->about.is_recorded)
        add_apart(table, out);
    if (whole != MAREY_UNKNOWN) {
        marey__text_add_c(out, " (recorded whole for the session's first ");
        marey__add_time(out, whole, table->options.time_unit, false);
        marey__text_add_byte(out, ')');
    }
    marey__text_add_c(out, ", ");
    add_count(out, window.n_slices, " slice", " slices");
    if (window.n_tracks > 0 || window.n_slices == 0) {
        marey__text_add_c(out, " on ");
        add_count(out, window.n_tracks, " track", " tracks");
    }
    if (table->has_device) {
        marey__text_add_c(out, ", ");
        add_count(out, window.n_operations, " device operation", " device operations");
        marey__text_add_c(out, " on ");
        add_count(out, table->totals.n_devices, " device", " devices");
    }
    if (table->grouping.top_level)
        marey__text_add_c(out, "; only slices without a parent");
    marey__text_add_byte(out, '\n');
}
