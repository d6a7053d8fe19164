/*
 * table.c - marey_table_text: from averages and options to one of three formats.
 */
#include "export/table.h"

#include "base/error.h"
#include "export/text.h"

/* What the caller's header knew of; the rest keeps its default. */
static struct marey_table_options read_options(const struct marey_table_options *from)
{
    struct marey_table_options options = {0};
    if (from != NULL)
        memcpy(&options, from,
               from->size > 0 && from->size < sizeof options ? from->size : sizeof options);
    return options;
}

static enum marey_status check(const struct marey_table_options *options, struct marey_error *err)
{
    if ((unsigned)options->format > MAREY_TABLE_JSON)
        return marey__fail(err, MAREY_INVALID, "cannot make a table: '%d' is no format",
                           (int)options->format);
    if ((unsigned)options->layout > MAREY_LAYOUT_TORCH)
        return marey__fail(err, MAREY_INVALID, "cannot make a table: '%d' is no layout",
                           (int)options->layout);
    if ((unsigned)options->time_unit > MAREY_TIME_S)
        return marey__fail(err, MAREY_INVALID, "cannot make a table: '%d' is no time unit",
                           (int)options->time_unit);
    return MAREY_OK;
}

static enum marey_status prepare(struct marey_table *table, struct marey_error *err)
{
    MAREY_TRY(check(&table->options, err));
    table->grouping = marey_averages_get_options(table->averages);
    table->totals = marey_averages_totals(table->averages);
    MAREY_TRY(marey__averages_about(table->averages, &table->about, err));

    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(table->averages, &n);
    for (size_t i = 0; i < n && !table->has_device; i++)
        table->has_device = marey__table_is_device_row(&rows[i]);
    MAREY_TRY(marey__table_choose_columns(table, err));
    return marey__table_arrange(table, err);
}

enum marey_status marey_table_text(struct marey_averages *averages,
                                   const struct marey_table_options *options,
                                   struct marey_text *text, struct marey_error *err)
{
    struct marey_table table = {
        .alloc = text->alloc.allocate != NULL ? text->alloc : marey__alloc_default(),
        .averages = averages,
        .options = read_options(options),
    };
    struct marey_textbuf out;
    enum marey_status status = prepare(&table, err);
    if (status != MAREY_OK)
        goto done;

    marey__public_text_begin(text, &out);
    switch (table.options.format) {
    case MAREY_TABLE_TEXT:
        marey__table_write_text(&table, &out);
        break;
    case MAREY_TABLE_CSV:
        marey__table_write_csv(&table, &out);
        break;
    case MAREY_TABLE_JSON:
        marey__table_write_json(&table, &out);
        break;
    }
    status = marey__public_text_end(&out, text, err);

done:
    marey__dealloc(&table.alloc, table.rows, table.n_rows, sizeof *table.rows);
    return status;
}
