/*
 * torch_table.c - EventList.table() of torch, byte for byte.
 *
 * Known faults of it are kept: with FLOPs and stacks both shown, the two columns have each
 * other's cells; an asynchronous row has "0" for a share; a heading that is wider than its
 * column pushes the line.
 */
#include <math.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"
#include "export/text.h"
#include "export/torch_table.h"

#define DEFAULT_WIDTH 12
#define MOST_COLUMNS 24
#define MOST_HEADING 40
#define N_SCALES 6

static const char *const flops_headings[N_SCALES] = {"FLOPs",  "KFLOPs", "MFLOPs",
                                                     "GFLOPs", "TFLOPs", "PFLOPs"};

enum cell {
    CELL_NAME,            /* string id */
    CELL_TIME,            /* double */
    CELL_MEAN,            /* double, by the count of calls */
    CELL_CPU_SHARE,       /* double */
    CELL_CPU_TOTAL_SHARE, /* the same, and 0 for an asynchronous row */
    CELL_DEVICE_SHARE,    /* double */
    CELL_BYTES,           /* int64_t */
    CELL_COUNT,
    CELL_SHAPES,
    CELL_SOURCE,
    CELL_FLOPS
};

#define FIELD(name) offsetof(struct marey_torch_average, name)

struct column {
    char heading[MOST_HEADING];
    size_t width;
    enum cell cell;
    size_t field; /* of struct marey_torch_average */
};

struct table {
    struct marey_torch_rows rows;
    const struct marey_torch_table_options *options;
    struct column column[MOST_COLUMNS];
    size_t n_columns;
    size_t line_length;
    size_t left_column; /* the one that is aligned left; 0: none is */
    uint32_t source_width;
    uint32_t shapes_width;
    double flops_scale;
    bool has_device_time;
    bool has_stack;
    double sum_cpu_us;
    double sum_device_us;
    struct marey_textbuf cell; /* scratch */
    bool has_lost_text;        /* of a cell, for want of memory */
    struct marey_textbuf *out;
};

static struct marey_str string(const struct table *table, uint32_t id)
{
    return marey_torch_view_string(table->rows.view, id);
}

/* ---- columns ---- */

static struct column *add_column(struct table *table, enum cell cell, size_t width)
{
    struct column *column = &table->column[table->n_columns++];
    column->cell = cell;
    column->width = width;
    return column;
}

/* The heading is given in parts: most hold the device's name. */
static void set_heading(struct column *column, const char *before, const char *middle,
                        const char *after)
{
    const char *const parts[] = {before, middle, after};
    size_t len = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (const char *at = parts[i]; *at != '\0' && len + 1 < MOST_HEADING; at++)
            column->heading[len++] = *at;
    column->heading[len] = '\0';
}

static void add_plain(struct table *table, enum cell cell, size_t field, const char *heading)
{
    struct column *column = add_column(table, cell, DEFAULT_WIDTH);
    column->field = field;
    set_heading(column, heading, "", "");
}

static void add_of_device(struct table *table, enum cell cell, size_t field, const char *before,
                          const char *after)
{
    struct column *column = add_column(table, cell, DEFAULT_WIDTH);
    column->field = field;
    set_heading(column, before, table->rows.view->device_name, after);
}

static void add_wide(struct table *table, enum cell cell, size_t width, const char *heading)
{
    set_heading(add_column(table, cell, width), heading, "", "");
}

static void add_cpu_columns(struct table *table)
{
    add_plain(table, CELL_CPU_SHARE, FIELD(self_cpu_us), "Self CPU %");
    add_plain(table, CELL_TIME, FIELD(self_cpu_us), "Self CPU");
    add_plain(table, CELL_CPU_TOTAL_SHARE, FIELD(cpu_total_us), "CPU total %");
    add_plain(table, CELL_TIME, FIELD(cpu_total_us), "CPU total");
    add_plain(table, CELL_MEAN, FIELD(cpu_total_us), "CPU time avg");
}

static void add_device_columns(struct table *table)
{
    add_of_device(table, CELL_TIME, FIELD(self_device_us), "Self ", "");
    add_of_device(table, CELL_DEVICE_SHARE, FIELD(self_device_us), "Self ", " %");
    add_of_device(table, CELL_TIME, FIELD(device_total_us), "", " total");
    add_of_device(table, CELL_MEAN, FIELD(device_total_us), "", " time avg");
}

static void add_memory_columns(struct table *table, bool has_device_memory)
{
    add_plain(table, CELL_BYTES, FIELD(cpu_memory), "CPU Mem");
    add_plain(table, CELL_BYTES, FIELD(self_cpu_memory), "Self CPU Mem");
    if (table->rows.view->device_name == NULL || !has_device_memory)
        return;
    add_of_device(table, CELL_BYTES, FIELD(device_memory), "", " Mem");
    add_of_device(table, CELL_BYTES, FIELD(self_device_memory), "Self ", " Mem");
}

static uint32_t capped(size_t longest, uint32_t cap)
{
    const size_t width = longest + 4;
    return width < cap ? (uint32_t)width : cap;
}

/* What all rows have, shown or not. */
struct extent {
    size_t name;
    size_t shapes;
    size_t stack;
    uint64_t least_flops; /* above 0; 0 if there is none */
    bool has_shapes;
    bool has_overload;
    bool has_device_memory;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void measure(struct table *table, struct extent *extent)
{
    const struct marey_torch_view *view = table->rows.view;
    *extent = (struct extent){0};
    for (size_t i = 0; i < table->rows.n; i++) {
        const struct marey_torch_average *row = &table->rows.at[i];
        const struct marey_str shapes = string(table, row->shapes_id);
        extent->name = larger(extent->name, marey__torch_len(string(table, row->name_id)));
        extent->shapes = larger(extent->shapes, marey__torch_len(shapes));
        extent->has_shapes = extent->has_shapes || shapes.len > 2; /* more than "[]" */
        extent->has_overload = extent->has_overload || string(table, row->overload_id).len > 0;
        extent->has_device_memory = extent->has_device_memory || row->self_device_memory > 0;
        table->has_device_time = table->has_device_time || row->self_device_us > 0;
        table->has_stack = table->has_stack || row->n_stack > 0;
        for (uint32_t k = 0; k < row->n_stack; k++)
            extent->stack = larger(
                extent->stack, marey__torch_len(string(table, view->stacks[row->first_stack + k])));
        if (row->flops > 0 && (extent->least_flops == 0 || row->flops < extent->least_flops))
            extent->least_flops = row->flops;
    }
}

static void add_flops_column(struct table *table, uint64_t least)
{
    const double digits = log10((double)least) / 3;
    const double scale = floor(digits < 0 ? 0 : digits > N_SCALES - 1 ? N_SCALES - 1 : digits);
    table->flops_scale = pow(10, scale * -3.0);
    set_heading(add_column(table, CELL_FLOPS, DEFAULT_WIDTH), "Total ",
                flops_headings[(size_t)scale], "");
}

static void choose_columns(struct table *table)
{
    const struct marey_torch_table_options *options = table->options;
    const struct marey_torch_options known = table->rows.view->options;
    struct extent extent;
    measure(table, &extent);
    const uint32_t name_width = capped(extent.name, options->max_name_column_width);
    table->shapes_width = capped(extent.shapes, options->max_shapes_column_width);
    table->source_width = capped(extent.stack, options->max_src_column_width);

    add_wide(table, CELL_NAME, name_width, "Name");
    table->column[0].field = FIELD(name_id);
    if (extent.has_overload) {
        add_wide(table, CELL_NAME, name_width, "Overload Name");
        table->column[1].field = FIELD(overload_id);
    }
    add_cpu_columns(table);
    if (table->has_device_time)
        add_device_columns(table);
    if (known.memory == MAREY_KNOWN_YES)
        add_memory_columns(table, extent.has_device_memory);
    add_plain(table, CELL_COUNT, FIELD(count), "# of Calls");
    if (extent.has_shapes)
        add_wide(table, CELL_SHAPES, table->shapes_width, "Input Shapes");
    if (table->has_stack) {
        add_wide(table, CELL_SOURCE, table->source_width, "Source Location");
        table->left_column = table->n_columns - 1;
    }
    if (known.flops == MAREY_KNOWN_YES && extent.least_flops > 0) {
        add_flops_column(table, extent.least_flops);
        if (table->has_stack) { /* torch appends the cells in the other order */
            table->column[table->n_columns - 1].cell = CELL_SOURCE;
            table->column[table->n_columns - 2].cell = CELL_FLOPS;
        }
    }
    for (size_t i = 0; i < table->n_columns; i++)
        table->line_length += table->column[i].width + 2;
    table->line_length -= 2;
}

/* ---- sums ---- */

static bool is_counted(const struct marey_torch_average *row)
{
    return !row->is_user_annotation &&
           (row->device_type == MAREY_TORCH_CUDA || row->device_type == MAREY_TORCH_PRIVATEUSE1 ||
            row->device_type == MAREY_TORCH_MTIA || row->device_type == MAREY_TORCH_XPU);
}

static void add_up(struct table *table)
{
    for (size_t i = 0; i < table->rows.n; i++) {
        const struct marey_torch_average *row = &table->rows.at[i];
        table->sum_cpu_us += row->self_cpu_us;
        if (is_counted(row))
            table->sum_device_us += row->self_device_us;
    }
}

/* torch asserts that nothing has a share of nothing. */
static enum marey_status check_shares(const struct table *table, struct marey_error *err)
{
    double us = 0;
    for (size_t i = 0; i < table->rows.n && us == 0; i++) {
        const struct marey_torch_average *row = &table->rows.at[i];
        if (table->sum_cpu_us == 0)
            us = row->self_cpu_us != 0 ? row->self_cpu_us : row->is_async ? 0 : row->cpu_total_us;
        if (us == 0 && table->has_device_time && table->sum_device_us == 0)
            us = row->self_device_us;
    }
    if (us == 0)
        return MAREY_OK;
    return marey__fail(err, MAREY_INVALID,
                       "cannot print torch's table: torch fails with 'Expected time_us == 0 but "
                       "got %g', print ours",
                       us);
}

/* ---- text ---- */

static void put_cell(struct table *table, size_t column, struct marey_str text)
{
    const size_t len = marey__torch_len(text);
    const size_t width = table->column[column].width;
    const size_t padding = len < width ? width - len : 0;
    const bool is_left = column != 0 && column == table->left_column;
    if (!is_left)
        marey__text_add_repeat(table->out, ' ', padding);
    marey__text_add_str(table->out, text);
    if (is_left)
        marey__text_add_repeat(table->out, ' ', padding);
    marey__text_add_c(table->out, "  ");
}

static void put_name(struct table *table, uint32_t id)
{
    const struct marey_str name = string(table, id);
    const uint32_t cap = table->options->max_name_column_width;
    const int64_t most = (int64_t)cap - 3;
    if (cap == MAREY_WIDTH_UNLIMITED || (int64_t)marey__torch_len(name) < most) {
        marey__text_add_str(&table->cell, name);
        return;
    }
    marey__text_add_str(&table->cell, marey__torch_head(name, most));
    marey__text_add_c(&table->cell, "...");
}

static void put_source(struct table *table, const struct marey_torch_average *row)
{
    if (row->n_stack > 0)
        marey__torch_add_path(&table->cell,
                              string(table, table->rows.view->stacks[row->first_stack]),
                              table->source_width);
}

static void put_flops(struct table *table, const struct marey_torch_average *row)
{
    if (row->flops == 0)
        marey__text_add_c(&table->cell, "--");
    else
        marey__text_add_format(&table->cell, "%8.3f", (double)row->flops * table->flops_scale);
}

static void put_value(struct table *table, const struct marey_torch_average *row,
                      const struct column *column)
{
    struct marey_textbuf *out = &table->cell;
    const void *field = (const char *)row + column->field;
    switch (column->cell) {
    case CELL_NAME:
        put_name(table, *(const uint32_t *)field);
        break;
    case CELL_TIME:
        marey__torch_add_time(out, *(const double *)field, table->options->time_unit);
        break;
    case CELL_MEAN:
        marey__torch_add_time(out, *(const double *)field / (double)row->count,
                              table->options->time_unit);
        break;
    case CELL_CPU_TOTAL_SHARE:
        if (row->is_async) {
            marey__text_add_byte(out, '0');
            break;
        }
        /* fall through */
    case CELL_CPU_SHARE:
        marey__torch_add_share(out, *(const double *)field, table->sum_cpu_us);
        break;
    case CELL_DEVICE_SHARE:
        marey__torch_add_share(out, *(const double *)field, table->sum_device_us);
        break;
    case CELL_BYTES:
        marey__torch_add_bytes(out, *(const int64_t *)field);
        break;
    case CELL_COUNT:
        marey__text_add_u64(out, row->count);
        break;
    case CELL_SHAPES:
        marey__text_add_str(
            out, marey__torch_head(string(table, row->shapes_id), (int64_t)table->shapes_width));
        break;
    case CELL_SOURCE:
        put_source(table, row);
        break;
    case CELL_FLOPS:
        put_flops(table, row);
        break;
    }
}

/* What was written to the scratch buffer. */
static void put_scratch(struct table *table, size_t column)
{
    table->has_lost_text = table->has_lost_text || marey__text_failed(&table->cell);
    put_cell(table, column, (struct marey_str){table->cell.ptr, table->cell.len});
}

/* A line that is empty but for its last column, which has the scratch buffer. */
static void put_last(struct table *table)
{
    for (size_t i = 0; i + 1 < table->n_columns; i++)
        put_cell(table, i, (struct marey_str){"", 0});
    put_scratch(table, table->n_columns - 1);
    marey__text_add_byte(table->out, '\n');
}

/* A row, then with stacks one line for each further entry and an empty one. */
static void put_row(struct table *table, const struct marey_torch_average *row)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        marey__text_reset(&table->cell);
        put_value(table, row, &table->column[i]);
        put_scratch(table, i);
    }
    marey__text_add_byte(table->out, '\n');
    if (!table->has_stack)
        return;
    for (uint32_t i = 1; i < row->n_stack; i++) {
        marey__text_reset(&table->cell);
        marey__torch_add_path(&table->cell,
                              string(table, table->rows.view->stacks[row->first_stack + i]),
                              table->source_width);
        put_last(table);
    }
    marey__text_reset(&table->cell);
    put_last(table);
}

static void put_rule(struct table *table)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        marey__text_add_repeat(table->out, '-', table->column[i].width);
        marey__text_add_c(table->out, "  ");
    }
    marey__text_add_byte(table->out, '\n');
}

static void put_title(struct table *table, const char *title)
{
    marey__text_add_repeat(table->out, '=', table->line_length);
    marey__text_add_byte(table->out, '\n');
    marey__text_add_c(table->out, title);
    marey__text_add_byte(table->out, '\n');
}

static void put_head(struct table *table)
{
    if (table->options->header != NULL)
        put_title(table, table->options->header);
    if (table->options->top_level_events_only)
        put_title(table, "This report only display top-level ops statistics");
    put_rule(table);
    for (size_t i = 0; i < table->n_columns; i++)
        put_cell(table, i, marey__str(table->column[i].heading));
    marey__text_add_byte(table->out, '\n');
    put_rule(table);
}

static void put_table(struct table *table)
{
    const struct marey_torch_table_options *options = table->options;
    put_head(table);
    int64_t n_printed = 0;
    for (size_t i = 0; i < table->rows.n && n_printed != options->row_limit; i++) {
        const struct marey_torch_average *row = &table->rows.at[i];
        if (options->top_level_events_only && row->has_parent)
            continue;
        n_printed++;
        put_row(table, row);
    }
    put_rule(table);
    marey__text_add_c(table->out, "Self CPU time total: ");
    marey__torch_add_time(table->out, table->sum_cpu_us, options->time_unit);
    marey__text_add_byte(table->out, '\n');
    if (!table->has_device_time)
        return;
    marey__text_add_c(table->out, "Self ");
    marey__text_add_c(table->out, table->rows.view->device_name);
    marey__text_add_c(table->out, " time total: ");
    marey__torch_add_time(table->out, table->sum_device_us, options->time_unit);
    marey__text_add_byte(table->out, '\n');
}

static enum marey_status make_table(struct table *table, struct marey_error *err)
{
    if (table->options == NULL)
        return marey__fail(err, MAREY_INVALID,
                           "no options of torch's table, take marey_torch_table_defaults()");
    if (table->options->size < sizeof *table->options)
        return marey__fail(err, MAREY_INVALID,
                           "bad options of torch's table: size %zu, set it to sizeof options",
                           table->options->size);
    if (table->rows.n == 0)
        return MAREY_OK; /* torch gives the empty text */
    if (table->options->sort_by != NULL)
        MAREY_TRY(marey__torch_sort(&table->rows, table->options->sort_by, err));
    choose_columns(table);
    add_up(table);
    MAREY_TRY(check_shares(table, err));
    put_table(table);
    return table->has_lost_text ? marey__fail_nomem(err) : MAREY_OK;
}

/* Takes the rows. */
static enum marey_status write_table(struct marey_torch_rows rows,
                                     const struct marey_torch_table_options *options,
                                     struct marey_text *text, struct marey_error *err)
{
    const struct marey_alloc *alloc = &rows.view->alloc;
    const size_t n = rows.n;
    struct marey_textbuf out;
    struct table table = {.rows = rows, .options = options, .out = &out};
    marey__text_init(&table.cell, alloc);
    marey__public_text_begin(text, &out);
    enum marey_status status = make_table(&table, err);
    if (status == MAREY_OK)
        status = marey__public_text_end(&out, text, err);
    else
        marey__public_text_abandon(&out, text);
    marey__text_release(&table.cell);
    marey__dealloc(alloc, rows.at, n, sizeof *rows.at);
    return status;
}

struct marey_torch_table_options marey_torch_table_defaults(void)
{
    return (struct marey_torch_table_options){
        .size = sizeof(struct marey_torch_table_options),
        .row_limit = 100,
        .max_src_column_width = 75,
        .max_name_column_width = 55,
        .max_shapes_column_width = 80,
    };
}

enum marey_status marey_torch_table_text(const struct marey_torch_averages *averages,
                                         const struct marey_torch_table_options *options,
                                         struct marey_text *text, struct marey_error *err)
{
    struct marey_torch_rows rows = {.view = marey_torch_averages_view(averages)};
    const struct marey_torch_average *row = marey_torch_averages_rows(averages, &rows.n);
    rows.at = marey__alloc(&rows.view->alloc, rows.n, sizeof *rows.at);
    if (rows.at == NULL)
        return marey__fail_nomem(err);
    for (size_t i = 0; i < rows.n; i++)
        rows.at[i] = row[i];
    return write_table(rows, options, text, err);
}

static struct marey_torch_average row_of_event(const struct marey_torch_event *event, uint32_t i)
{
    return (struct marey_torch_average){
        .name_id = event->name_id,
        .overload_id = event->overload_id,
        .shapes_id = event->shapes_id,
        .first_stack = event->first_stack,
        .n_stack = event->n_stack,
        .first_event = i,
        .count = 1,
        .cpu_total_us = event->cpu_total_us,
        .self_cpu_us = event->self_cpu_us,
        .device_total_us = event->device_total_us,
        .self_device_us = event->self_device_us,
        .cpu_memory = event->cpu_memory,
        .device_memory = event->device_memory,
        .self_cpu_memory = event->self_cpu_memory,
        .self_device_memory = event->self_device_memory,
        .flops = event->flops,
        .device_type = event->device_type,
        .has_parent = event->parent_idx != MAREY_NONE,
        .is_async = event->is_async,
        .is_user_annotation = event->is_user_annotation,
    };
}

enum marey_status marey_torch_events_table_text(const struct marey_torch_view *view,
                                                const struct marey_torch_table_options *options,
                                                struct marey_text *text, struct marey_error *err)
{
    struct marey_torch_rows rows = {.view = view, .is_events = true};
    const struct marey_torch_event *events = marey_torch_view_events(view, &rows.n);
    rows.at = marey__alloc(&view->alloc, rows.n, sizeof *rows.at);
    if (rows.at == NULL)
        return marey__fail_nomem(err);
    bool has_none = false;
    for (size_t i = 0; i < rows.n; i++) {
        rows.at[i] = row_of_event(&events[i], (uint32_t)i);
        has_none = has_none || marey__torch_is_allocation(&rows, i);
    }
    if (has_none && view->options.flops == MAREY_KNOWN_YES) {
        marey__dealloc(&view->alloc, rows.at, rows.n, sizeof *rows.at);
        return marey__fail(err, MAREY_INVALID,
                           "cannot print torch's table of events: '[memory]' events have no flops "
                           "and torch fails on them, make the view without flops");
    }
    return write_table(rows, options, text, err);
}
