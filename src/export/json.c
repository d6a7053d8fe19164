/*
 * json.c - the table of averages as JSON, schema 1.
 *
 *     {"schema": 1,
 *      "ledger": {"clean", "read", "used", "reasons": [{"reason", "map", "count", "meaning"}]},
 *      "trace": {"files", "tracks", "slices", "window_ns", "not_recorded_ns"},
 *      "totals": {...}, "not_shown": {...},
 *      "rows": [{...}]}
 *
 * Keys have a fixed order; times are integers in nanoseconds; what is not known is null.
 * A change that breaks a reader gets a new schema number; a new key does not.
 */
#include "export/table.h"

#include "base/known.h"

static const char *const map_names[] = {
    [MAREY_LEDGER_QUARANTINED] = "quarantined",
    [MAREY_LEDGER_REPAIRED] = "repaired",
    [MAREY_LEDGER_FINDING] = "finding",
    [MAREY_LEDGER_INFO] = "info",
};

static void add_key(struct marey_textbuf *out, const char *key, bool is_first)
{
    marey__text_add_format(out, "%s\"%s\": ", is_first ? "" : ", ", key);
}

static void add_i64(struct marey_textbuf *out, int64_t value)
{
    if (value == MAREY_UNKNOWN)
        marey__text_add_c(out, "null");
    else
        marey__text_add_i64(out, value);
}

static void add_ledger(const struct marey_table *table, struct marey_textbuf *out)
{
    const struct marey_ledger *ledger = &table->about.ledger;
    bool is_clean = true;
    for (size_t i = 0; i < ledger->n_rows; i++)
        is_clean &= ledger->rows[i].map == MAREY_LEDGER_INFO;
    marey__text_add_format(out, "{\"clean\": %s, \"read\": ", is_clean ? "true" : "false");
    marey__text_add_u64(out, ledger->n_read);
    marey__text_add_c(out, ", \"used\": ");
    marey__text_add_u64(out, ledger->n_used);
    marey__text_add_c(out, ", \"reasons\": [");
    for (size_t i = 0; i < ledger->n_rows; i++) {
        const struct marey_ledger_row *row = &ledger->rows[i];
        marey__text_add_format(out, "%s\n  {\"reason\": \"%s\", \"map\": \"%s\", \"count\": ",
                               i == 0 ? "" : ",", row->reason, map_names[row->map]);
        marey__text_add_u64(out, row->count);
        marey__text_add_c(out, ", \"meaning\": ");
        marey__text_add_json(out, marey__str(row->meaning));
        marey__text_add_byte(out, '}');
    }
    marey__text_add_c(out, "]}");
}

static void add_trace(const struct marey_table *table, struct marey_textbuf *out)
{
    const struct marey_window window = table->about.window;
    marey__text_add_c(out, "{\"files\": ");
    marey__text_add_u64(out, table->about.n_files);
    add_key(out, "ranks", false);
    marey__text_add_u64(out, table->about.n_ranks);
    add_key(out, "processes", false);
    marey__text_add_u64(out, table->about.n_processes);
    add_key(out, "tracks", false);
    add_i64(out,
            window.n_tracks > 0 || window.n_slices == 0 ? (int64_t)window.n_tracks : MAREY_UNKNOWN);
    add_key(out, "slices", false);
    marey__text_add_u64(out, window.n_slices);
    add_key(out, "window_ns", false);
    add_i64(out, marey__known_span(window.start_ns, window.end_ns));
    add_key(out, "not_recorded_ns", false);
    add_i64(out, window.gaps_ns);
    add_key(out, "busiest_thread_ns", false);
    add_i64(out, window.busiest.ns);
    marey__text_add_byte(out, '}');
}

static void add_totals(const struct marey_table *table, struct marey_textbuf *out)
{
    const struct marey_totals *totals = &table->totals;
    const struct {
        const char *key;
        int64_t value;
    } members[] = {
        {"host_self_ns", totals->host_self_ns},   {"python_self_ns", totals->python_self_ns},
        {"device_sum_ns", totals->device_sum_ns}, {"device_busy_ns", totals->device_busy_ns},
        {"unowned_ns", totals->unowned_ns},       {"overhead_ns", totals->overhead_ns},
        {"devices", (int64_t)totals->n_devices},
    };
    marey__text_add_byte(out, '{');
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        add_key(out, members[i].key, i == 0);
        add_i64(out, members[i].value);
    }
    marey__text_add_byte(out, '}');
}

static void add_not_shown(const struct marey_table *table, struct marey_textbuf *out)
{
    static const char *const keys[MAREY_N_BLOCKS] = {"host", "device"};
    marey__text_add_byte(out, '{');
    for (int i = 0; i < MAREY_N_BLOCKS; i++) {
        const struct marey_block_rows *block = &table->block[i];
        add_key(out, keys[i], i == 0);
        marey__text_add_c(out, "{\"rows\": ");
        marey__text_add_u64(out, block->n - block->n_shown);
        add_key(out, "calls", false);
        marey__text_add_u64(out, block->hidden_calls);
        add_key(out, "self_ns", false);
        add_i64(out, block->hidden_self_ns);
        marey__text_add_byte(out, '}');
    }
    marey__text_add_byte(out, '}');
}

static void add_cell(const struct marey_table *table, const struct marey_column *column,
                     enum marey_block block, const struct marey_average *row,
                     struct marey_textbuf *out)
{
    if (column->type == MAREY_CELL_TEXT) {
        const struct marey_str text =
            column->text_id == NULL ? marey__str(marey_kind_name(row->kind))
                                    : marey_averages_string(table->averages, column->text_id(row));
        if (text.ptr == NULL)
            marey__text_add_c(out, "null");
        else
            marey__text_add_json(out, text);
        return;
    }
    const int64_t value = column->value(row);
    if (column->type != MAREY_CELL_SHARE)
        add_i64(out, value);
    else if (!marey__add_percent(out, value, marey__table_whole(table, column, block), 4))
        marey__text_add_c(out, "null");
}

static void add_rows(const struct marey_table *table, struct marey_textbuf *out)
{
    bool is_first = true;
    marey__text_add_byte(out, '[');
    for (int b = 0; b < MAREY_N_BLOCKS; b++) {
        const struct marey_block_rows *block = &table->block[b];
        for (size_t i = 0; i < block->n_shown; i++) {
            marey__text_add_c(out, is_first ? "\n  {" : ",\n  {");
            is_first = false;
            for (size_t j = 0; j < table->n_columns; j++) {
                add_key(out, table->column[j]->data_key, j == 0);
                add_cell(table, table->column[j], (enum marey_block)b, block->row[i], out);
            }
            marey__text_add_byte(out, '}');
        }
    }
    marey__text_add_byte(out, ']');
}

void marey__table_write_json(const struct marey_table *table, struct marey_textbuf *out)
{
    marey__text_add_c(out, "{\"schema\": 1,\n \"ledger\": ");
    add_ledger(table, out);
    marey__text_add_c(out, ",\n \"trace\": ");
    add_trace(table, out);
    marey__text_add_c(out, ",\n \"totals\": ");
    add_totals(table, out);
    marey__text_add_c(out, ",\n \"not_shown\": ");
    add_not_shown(table, out);
    marey__text_add_c(out, ",\n \"rows\": ");
    add_rows(table, out);
    marey__text_add_c(out, "}\n");
}
