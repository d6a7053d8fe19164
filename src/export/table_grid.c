/*
 * table_grid.c - cells as text, lines for what has no row, widths that fit.
 *
 * Only the default columns are held to 120: percentiles and the mean give way first (a
 * column's `drop`), then texts other than the name shrink, the name has what is left.
 */
#include "export/table_grid.h"

#include "base/known.h"

#include <stdio.h>

#include "export/display.h"

#define LINE_WIDTH 120
#define LEAST_NAME 24
#define LEAST_TEXT 12
#define TORCH_NAME 55
#define GAP 2

/* What a text column may take: when all must fit, and else. */
static const struct {
    const char *name;
    size_t fitted;
    size_t loose;
} text_caps[] = {
    {"name", SIZE_MAX, TORCH_NAME},
    {"kind", 20, 20},
    {"overload", 20, TORCH_NAME},
    {"shapes", 32, 80},
    {"stack", 40, 75},
};

struct marey_str marey__grid_cell(const struct marey_grid *grid, size_t i, size_t j)
{
    const size_t at = i * grid->n_columns + j;
    const size_t from = at == 0 ? 0 : grid->cell_end[at - 1];
    return (struct marey_str){grid->cells.ptr + from, grid->cell_end[at] - from};
}

struct marey_str marey__grid_head(const struct marey_grid *grid, size_t j, int line)
{
    const size_t at = 2 * j + (size_t)line;
    const size_t from = at == 0 ? 0 : grid->head_end[at - 1];
    return (struct marey_str){grid->heads.ptr + from, grid->head_end[at] - from};
}

/* ---- what has no row ---- */

static struct marey_average *add_extra(struct marey_grid *grid)
{
    struct marey_average *extra = &grid->extra[grid->n_extras++];
    *extra = (struct marey_average){
        .name_id = MAREY_NONE,
        .shapes_id = MAREY_NONE,
        .stack_id = MAREY_NONE,
        .overload_id = MAREY_NONE,
        .rank = MAREY_UNKNOWN,
        .n_calls = (uint64_t)MAREY_UNKNOWN, /* cells of unknown values stay empty here */
        .n_timed = (uint64_t)MAREY_UNKNOWN,
        .self_ns = MAREY_UNKNOWN,
        .total_ns = MAREY_UNKNOWN,
        .sum_ns = MAREY_UNKNOWN,
        .min_ns = MAREY_UNKNOWN,
        .max_ns = MAREY_UNKNOWN,
        .p50_ns = MAREY_UNKNOWN,
        .p99_ns = MAREY_UNKNOWN,
        .device_self_ns = MAREY_UNKNOWN,
        .device_total_ns = MAREY_UNKNOWN,
        .n_device_operations = (uint64_t)MAREY_UNKNOWN,
    };
    return extra;
}

static void add_hidden_rows(struct marey_grid *grid, const struct marey_block_rows *block)
{
    const size_t n = block->n - block->n_shown;
    if (n == 0)
        return;
    (void)snprintf(grid->extra_label[grid->n_extras], sizeof grid->extra_label[0],
                   n == 1 ? "%zu row not shown" : "%zu rows not shown", n);
    struct marey_average *extra = add_extra(grid);
    extra->n_calls = block->hidden_calls;
    extra->self_ns = block->hidden_self_ns;
    if (grid->table->has_device && grid->block == MAREY_BLOCK_HOST)
        extra->device_self_ns = block->hidden_device_ns;
}

static void add_time_without_row(struct marey_grid *grid, const char *label, int64_t ns)
{
    if (ns <= 0)
        return;
    (void)snprintf(grid->extra_label[grid->n_extras], sizeof grid->extra_label[0], "%s", label);
    add_extra(grid)->self_ns = ns;
}

/* Self time of slices without rows, so that shares add up in sight. */
static void add_extras(struct marey_grid *grid)
{
    const struct marey_table *table = grid->table;
    const struct marey_block_rows *block = &table->block[grid->block];
    add_hidden_rows(grid, block);
    int64_t rest = marey__known_span(block->self_ns, block->whole_ns);
    if (rest == MAREY_UNKNOWN)
        return;
    if (grid->block == MAREY_BLOCK_HOST && !table->grouping.include_python) {
        const int64_t python = table->totals.python_self_ns;
        const int64_t part = python > 0 && python < rest ? python : python > 0 ? rest : 0;
        add_time_without_row(grid, "Python (no rows)", part);
        rest -= part;
    }
    add_time_without_row(grid, "other slices (no rows)", rest);
}

/* ---- cells ---- */

static void add_text_cell(struct marey_grid *grid, const struct marey_column *column,
                          const struct marey_average *row)
{
    if (column->text_id == NULL)
        marey__text_add_c(&grid->cells, marey_kind_name(row->kind));
    else
        marey__display_add(&grid->cells,
                           marey_averages_string(grid->table->averages, column->text_id(row)));
}

static void add_number_cell(struct marey_grid *grid, const struct marey_column *column,
                            const struct marey_average *row, const char *unknown)
{
    const struct marey_table *table = grid->table;
    const int64_t value = column->value(row);
    if (column->type == MAREY_CELL_SHARE) {
        const int64_t whole = marey__table_whole(table, column, grid->block);
        if (!marey__add_percent(&grid->cells, value, whole, 2))
            marey__text_add_c(&grid->cells, unknown);
    } else if (value == MAREY_UNKNOWN) {
        marey__text_add_c(&grid->cells, unknown);
    } else if (column->type == MAREY_CELL_TIME) {
        marey__add_time(&grid->cells, value, table->options.time_unit,
                        table->options.layout == MAREY_LAYOUT_TORCH);
    } else {
        marey__text_add_i64(&grid->cells, value);
    }
}

static void add_cells(struct marey_grid *grid, size_t i)
{
    const bool is_extra = i >= grid->n_rows;
    const struct marey_average *row =
        is_extra ? &grid->extra[i - grid->n_rows] : grid->table->block[grid->block].row[i];
    for (size_t j = 0; j < grid->n_columns; j++) {
        const struct marey_column *column = grid->column[j];
        if (column->type != MAREY_CELL_TEXT)
            add_number_cell(grid, column, row, is_extra ? "" : MAREY_DASH);
        else if (is_extra && column == grid->name_column)
            marey__text_add_c(&grid->cells, grid->extra_label[i - grid->n_rows]);
        else if (!is_extra && column != grid->name_column)
            add_text_cell(grid, column, row);
        grid->cell_end[i * grid->n_columns + j] = grid->cells.len;
    }
}

static bool make_cells(struct marey_grid *grid)
{
    const size_t n_lines = grid->n_rows + grid->n_extras;
    marey__dealloc(&grid->table->alloc, grid->cell_end, grid->n_cells, sizeof *grid->cell_end);
    grid->cell_end = NULL;
    grid->n_cells = n_lines * grid->n_columns;
    grid->cell_end = marey__alloc_zero(&grid->table->alloc, grid->n_cells, sizeof *grid->cell_end);
    if (grid->cell_end == NULL)
        return false;
    marey__text_reset(&grid->cells);
    for (size_t i = 0; i < n_lines; i++)
        add_cells(grid, i);
    return !marey__text_failed(&grid->cells);
}

/* ---- heads ---- */

static void add_head_part(struct marey_grid *grid, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '$')
            marey__text_add_c(&grid->heads, grid->table->about.device_word);
        else
            marey__text_add_byte(&grid->heads, text[i]);
    }
}

static bool make_heads(struct marey_grid *grid)
{
    marey__text_reset(&grid->heads);
    grid->has_two_lines = false;
    for (size_t j = 0; j < grid->n_columns; j++) {
        const char *head = grid->column[j]->head[grid->table->options.layout][grid->block];
        const char *cut = strchr(head, '\n');
        if (cut != NULL)
            add_head_part(grid, head, (size_t)(cut - head));
        grid->head_end[2 * j] = grid->heads.len;
        add_head_part(grid, cut == NULL ? head : cut + 1, strlen(cut == NULL ? head : cut + 1));
        grid->head_end[2 * j + 1] = grid->heads.len;
        grid->has_two_lines |= cut != NULL;
    }
    return !marey__text_failed(&grid->heads);
}

/* ---- widths ---- */

static size_t asked_width(const struct marey_grid *grid, const struct marey_column *column)
{
    const struct marey_table_options *options = &grid->table->options;
    if (column == grid->name_column)
        return options->name_width;
    if (column == grid->stack_column)
        return options->src_width;
    return strcmp(column->name, "shapes") == 0 ? options->shapes_width : 0;
}

static bool must_fit(const struct marey_grid *grid)
{
    return grid->table->is_default_columns && grid->table->options.layout == MAREY_LAYOUT_MAREY &&
           grid->table->options.name_width == 0;
}

static size_t text_cap(const struct marey_grid *grid, const struct marey_column *column)
{
    const size_t asked = asked_width(grid, column);
    if (asked == MAREY_WIDTH_UNLIMITED)
        return SIZE_MAX;
    if (asked > 0)
        return asked;
    for (size_t i = 0; i < sizeof text_caps / sizeof text_caps[0]; i++)
        if (strcmp(text_caps[i].name, column->name) == 0)
            return must_fit(grid) ? text_caps[i].fitted : text_caps[i].loose;
    return SIZE_MAX;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The widest entry of a stack, which has a line for each. */
static size_t stack_width(struct marey_str text)
{
    size_t widest = 0;
    for (const char *cut = text.ptr; cut != NULL && text.len > 0;) {
        cut = memchr(text.ptr, ';', text.len);
        const size_t len = cut == NULL ? text.len : (size_t)(cut - text.ptr);
        widest = larger(widest, marey__display_width((struct marey_str){text.ptr, len}));
        const size_t passed = cut == NULL ? len : len + 1;
        text = (struct marey_str){text.ptr + passed, text.len - passed};
    }
    return widest;
}

/* What a column would like to have. */
static size_t wanted_width(const struct marey_grid *grid, size_t j)
{
    const struct marey_column *column = grid->column[j];
    size_t width = 0;
    for (size_t i = 0; i < grid->n_rows + grid->n_extras; i++) {
        struct marey_str cell = marey__grid_cell(grid, i, j);
        if (column == grid->name_column && i < grid->n_rows)
            cell = marey__label_full(&grid->labels, i);
        width = larger(width, column == grid->stack_column ? stack_width(cell)
                                                           : marey__display_width(cell));
    }
    const size_t cap = column->type == MAREY_CELL_TEXT ? text_cap(grid, column) : SIZE_MAX;
    width = width < cap ? width : cap;
    for (int line = 0; line < 2; line++)
        width = larger(width, marey__display_width(marey__grid_head(grid, j, line)));
    return width;
}

/* The width of all columns but the name. */
static size_t rest_width(const struct marey_grid *grid)
{
    size_t sum = grid->n_columns > 0 ? GAP * (grid->n_columns - 1) : 0;
    for (size_t j = 0; j < grid->n_columns; j++)
        sum += grid->column[j] == grid->name_column ? 0 : grid->width[j];
    return sum;
}

static bool drop_one(struct marey_grid *grid)
{
    size_t drop = grid->n_columns;
    for (size_t j = 0; j < grid->n_columns; j++)
        if (grid->column[j]->drop > 0 &&
            (drop == grid->n_columns || grid->column[j]->drop > grid->column[drop]->drop))
            drop = j;
    if (drop == grid->n_columns)
        return false;
    grid->n_columns--;
    for (size_t j = drop; j < grid->n_columns; j++)
        grid->column[j] = grid->column[j + 1];
    return true;
}

static bool shrink_one(struct marey_grid *grid)
{
    size_t widest = grid->n_columns;
    for (size_t j = 0; j < grid->n_columns; j++)
        if (grid->column[j]->type == MAREY_CELL_TEXT && grid->column[j] != grid->name_column &&
            asked_width(grid, grid->column[j]) == 0 && grid->width[j] > LEAST_TEXT &&
            (widest == grid->n_columns || grid->width[j] > grid->width[widest]))
            widest = j;
    if (widest == grid->n_columns)
        return false;
    grid->width[widest]--;
    return true;
}

static bool measure(struct marey_grid *grid)
{
    if (!make_heads(grid) || !make_cells(grid))
        return false;
    for (size_t j = 0; j < grid->n_columns; j++)
        grid->width[j] = wanted_width(grid, j);
    return true;
}

/* Sets all widths; the name has at least LEAST_NAME columns, or all it wants. */
static bool fit(struct marey_grid *grid)
{
    if (!measure(grid))
        return false;
    if (!must_fit(grid) || grid->name_column == NULL)
        return true;
    size_t name = 0;
    for (size_t j = 0; j < grid->n_columns; j++)
        name = grid->column[j] == grid->name_column ? j : name;
    const size_t least = grid->width[name] < LEAST_NAME ? grid->width[name] : LEAST_NAME;
    while (rest_width(grid) + least > LINE_WIDTH)
        if (!drop_one(grid) || !measure(grid))
            break;
    if (marey__text_failed(&grid->cells) || grid->cell_end == NULL)
        return false;
    while (rest_width(grid) + least > LINE_WIDTH)
        if (!shrink_one(grid))
            break;
    const size_t rest = rest_width(grid);
    const size_t room = rest + least < LINE_WIDTH ? LINE_WIDTH - rest : least;
    if (grid->width[name] > room)
        grid->width[name] = room;
    return true;
}

/* ---- life ---- */

/* With cut names a column may be narrower than what it wanted. */
static bool cut_names(struct marey_grid *grid)
{
    for (size_t j = 0; j < grid->n_columns; j++) {
        if (grid->column[j] != grid->name_column)
            continue;
        const size_t width = grid->width[j];
        marey__labels_release(&grid->labels);
        if (!marey__labels_make(&grid->labels, grid->table, grid->block, width))
            return false;
    }
    return true;
}

bool marey__grid_make(struct marey_grid *grid, const struct marey_table *table,
                      enum marey_block block)
{
    *grid =
        (struct marey_grid){.table = table, .block = block, .n_rows = table->block[block].n_shown};
    marey__text_init(&grid->heads, &table->alloc);
    marey__text_init(&grid->cells, &table->alloc);
    const struct marey_column *name = marey__column_find(marey__str("name"));
    const struct marey_column *stack = marey__column_find(marey__str("stack"));
    for (size_t j = 0; j < table->n_columns; j++) {
        const struct marey_column *column = table->column[j];
        if (column->head[table->options.layout][block] == NULL)
            continue;
        grid->column[grid->n_columns++] = column;
        grid->name_column = column == name ? name : grid->name_column;
        grid->stack_column = column == stack ? stack : grid->stack_column;
    }
    add_extras(grid);
    return marey__labels_make(&grid->labels, table, block, SIZE_MAX) && fit(grid) &&
           cut_names(grid);
}

void marey__grid_release(struct marey_grid *grid)
{
    marey__labels_release(&grid->labels);
    marey__dealloc(&grid->table->alloc, grid->cell_end, grid->n_cells, sizeof *grid->cell_end);
    marey__text_release(&grid->cells);
    marey__text_release(&grid->heads);
}
