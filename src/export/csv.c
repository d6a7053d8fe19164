/*
 * csv.c - the table of averages as CSV (RFC 4180).
 *
 * One header line; numbers are raw nanoseconds, shares percent with four decimals; a value
 * that is not known is empty, an empty text is "". Lines end in a line feed alone, which
 * every reader takes.
 */
#include "export/table.h"

static void add_quoted(struct marey_textbuf *out, struct marey_str text)
{
    bool needs_quotes = text.len == 0;
    for (size_t i = 0; i < text.len && !needs_quotes; i++)
        needs_quotes = text.ptr[i] == '"' || text.ptr[i] == ',' || text.ptr[i] == '\n' ||
                       text.ptr[i] == '\r' || text.ptr[i] == ' ';
    if (!needs_quotes) {
        marey__text_add_str(out, text);
        return;
    }
    marey__text_add_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            marey__text_add_byte(out, '"');
        marey__text_add_byte(out, text.ptr[i]);
    }
    marey__text_add_byte(out, '"');
}

static void add_cell(const struct marey_table *table, const struct marey_column *column,
                     enum marey_block block, const struct marey_average *row,
                     struct marey_textbuf *out)
{
    if (column->type == MAREY_CELL_TEXT) {
        const struct marey_str text =
            column->text_id == NULL ? marey__str(marey_kind_name(row->kind))
                                    : marey_averages_string(table->averages, column->text_id(row));
        if (text.ptr != NULL)
            add_quoted(out, text);
        return;
    }
    const int64_t value = column->value(row);
    if (column->type == MAREY_CELL_SHARE)
        (void)marey__add_percent(out, value, marey__table_whole(table, column, block), 4);
    else if (value != MAREY_UNKNOWN)
        marey__text_add_i64(out, value);
}

void marey__table_write_csv(const struct marey_table *table, struct marey_textbuf *out)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        marey__text_add_c(out, i == 0 ? "" : ",");
        marey__text_add_c(out, table->column[i]->data_key);
    }
    marey__text_add_byte(out, '\n');
    for (int b = 0; b < MAREY_N_BLOCKS; b++) {
        const struct marey_block_rows *block = &table->block[b];
        for (size_t i = 0; i < block->n_shown; i++) {
            for (size_t j = 0; j < table->n_columns; j++) {
                marey__text_add_c(out, j == 0 ? "" : ",");
                add_cell(table, table->column[j], (enum marey_block)b, block->row[i], out);
            }
            marey__text_add_byte(out, '\n');
        }
    }
}
