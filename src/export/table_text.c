/*
 * table_text.c - the table of averages for people.
 *
 *   account and title, then for each block: rule, heads, rule, rows, what has no row,
 *   rule, sums, columns left out, legend
 *
 * A block is laid out in a grid: cells become text first, then columns get their widths,
 * then the name takes what is left of 120 columns.
 */
#include "export/table_grid.h"

#include "base/known.h"

#include "export/display.h"

static void add_padded(struct marey_textbuf *out, struct marey_str text, size_t width,
                       bool to_the_right, bool is_last)
{
    const size_t used = marey__display_width(text);
    const size_t pad = width > used ? width - used : 0;
    if (to_the_right)
        marey__text_add_repeat(out, ' ', pad);
    marey__text_add_str(out, text);
    if (!to_the_right && !is_last)
        marey__text_add_repeat(out, ' ', pad);
}

static void trim_line(struct marey_textbuf *out)
{
    while (out->len > 0 && out->ptr[out->len - 1] == ' ')
        out->len--;
    marey__text_add_byte(out, '\n');
}

static void add_rule(const struct marey_grid *grid, struct marey_textbuf *out)
{
    for (size_t j = 0; j < grid->n_columns; j++) {
        marey__text_add_c(out, j == 0 ? "" : "  ");
        marey__text_add_repeat(out, '-', grid->width[j]);
    }
    marey__text_add_byte(out, '\n');
}

/* Heads of one line stand on the lower one. */
static void add_heads(const struct marey_grid *grid, struct marey_textbuf *out)
{
    for (int line = 0; line < 2; line++) {
        if (line == 0 && !grid->has_two_lines)
            continue;
        for (size_t j = 0; j < grid->n_columns; j++) {
            const struct marey_str text = marey__grid_head(grid, j, line);
            marey__text_add_c(out, j == 0 ? "" : "  ");
            add_padded(out, text, grid->width[j], grid->column[j]->type != MAREY_CELL_TEXT,
                       j + 1 == grid->n_columns);
        }
        trim_line(out);
    }
}

/* Line `line` of the entries of a stack; {NULL, 0} past the last. */
static struct marey_str stack_line(struct marey_str text, size_t line)
{
    while (text.len > 0) {
        const char *cut = memchr(text.ptr, ';', text.len);
        const size_t len = cut == NULL ? text.len : (size_t)(cut - text.ptr);
        if (line == 0)
            return (struct marey_str){text.ptr, len};
        const size_t passed = cut == NULL ? len : len + 1;
        text = (struct marey_str){text.ptr + passed, text.len - passed};
        line--;
    }
    return (struct marey_str){NULL, 0};
}

/* The text of a cell on one line of its row; cells of one line are empty below it. */
static struct marey_str cell_line(const struct marey_grid *grid, size_t i, size_t j, size_t line)
{
    if (grid->column[j] == grid->stack_column)
        return stack_line(marey__grid_cell(grid, i, j), line);
    if (line > 0)
        return (struct marey_str){NULL, 0};
    if (grid->column[j] == grid->name_column && i < grid->labels.n)
        return marey__label(&grid->labels, i);
    return marey__grid_cell(grid, i, j);
}

static void add_row(const struct marey_grid *grid, size_t i, struct marey_textbuf *scratch,
                    struct marey_textbuf *out)
{
    bool has_more = true;
    for (size_t line = 0; has_more; line++) {
        has_more = false;
        for (size_t j = 0; j < grid->n_columns; j++) {
            const struct marey_column *column = grid->column[j];
            const struct marey_str text = cell_line(grid, i, j, line);
            marey__text_reset(scratch);
            if (column == grid->stack_column)
                marey__display_add_tail(scratch, text, grid->width[j]);
            else
                marey__display_add_middle(scratch, text, grid->width[j]);
            out->failed |= marey__text_failed(scratch);
            marey__text_add_c(out, j == 0 ? "" : "  ");
            add_padded(out, (struct marey_str){scratch->ptr, scratch->len}, grid->width[j],
                       column->type != MAREY_CELL_TEXT, j + 1 == grid->n_columns);
            if (column == grid->stack_column)
                has_more = stack_line(marey__grid_cell(grid, i, j), line + 1).ptr != NULL;
        }
        trim_line(out);
    }
}

static void add_legend(const struct marey_grid *grid, struct marey_textbuf *out)
{
    for (size_t i = 0; i < grid->labels.n; i++) {
        if (grid->labels.number[i] == 0)
            continue;
        marey__text_add_format(out, "#%u: ", (unsigned)grid->labels.number[i]);
        marey__text_add_str(out, marey__label_full(&grid->labels, i));
        marey__text_add_byte(out, '\n');
    }
}

static void add_sum(const struct marey_table *table, struct marey_textbuf *out, const char *what,
                    int64_t ns)
{
    marey__text_add_c(out, what);
    if (ns == MAREY_UNKNOWN)
        marey__text_add_c(out, MAREY_DASH);
    else
        marey__add_time(out, ns, table->options.time_unit,
                        table->options.layout == MAREY_LAYOUT_TORCH);
}

static void add_host_sums(const struct marey_table *table, struct marey_textbuf *out)
{
    const bool as_torch = table->options.layout == MAREY_LAYOUT_TORCH;
    add_sum(table, out, as_torch ? "Self CPU time total: " : "Self CPU time total (all threads): ",
            table->totals.host_self_ns);
    if (table->totals.overhead_ns > 0)
        add_sum(table, out,
                "; the profiler's own overhead, in no row: ", table->totals.overhead_ns);
    marey__text_add_byte(out, '\n');
}

#define GAP_NAME_WIDTH 80

/* What a profile of calls does not show: the time between them. The window of several
 * processes is nobody's working time. */
static void add_busiest_thread(const struct marey_table *table, struct marey_textbuf *out)
{
    const struct marey_window *window = &table->about.window;
    const struct marey_thread_work *work = &window->busiest;
    const int64_t whole_ns =
        marey__known_span(window->gaps_ns, marey__known_span(window->start_ns, window->end_ns));

    if (table->about.n_processes != 1 || work->ns <= 0 || whole_ns == MAREY_UNKNOWN ||
        table->options.layout == MAREY_LAYOUT_TORCH)
        return;
    add_sum(table, out, "Busiest thread: ", work->ns);
    if (table->about.lacks_records) {
        marey__text_add_c(out, " in operators and calls; records are missing, so what lies outside "
                               "them is not known\n");
        return;
    }
    add_sum(table, out,
            window->n_gaps > 0 ? " of what was recorded in operators and calls, "
                               : " of the window in operators and calls, ",
            whole_ns - work->ns);
    marey__text_add_c(out, " (");
    (void)marey__add_percent(out, whole_ns - work->ns, whole_ns, 2);
    marey__text_add_c(out, " %) outside them\n");
    if (work->gap_ns > 0) {
        add_sum(table, out, "    at longest ", work->gap_ns);
        marey__text_add_c(out, ", after ");
        marey__display_add_middle(out, marey_averages_string(table->averages, work->before_gap_id),
                                  GAP_NAME_WIDTH);
        marey__text_add_byte(out, '\n');
    }
}

static void add_device_sums(const struct marey_table *table, struct marey_textbuf *out)
{
    add_sum(table, out, "Device operations: sum ", table->totals.device_sum_ns);
    add_sum(table, out, ", busy (union) ", table->totals.device_busy_ns);
    marey__text_add_c(out, " on ");
    marey__add_grouped(out, table->totals.n_devices);
    marey__text_add_c(out, table->totals.n_devices == 1 ? " device" : " devices");
    if (table->totals.unowned_ns > 0)
        add_sum(table, out, "; launched outside the trace ", table->totals.unowned_ns);
    marey__text_add_byte(out, '\n');
}

static bool is_in_grid(const struct marey_grid *grid, const struct marey_column *column)
{
    for (size_t j = 0; j < grid->n_columns; j++)
        if (grid->column[j] == column)
            return true;
    return false;
}

/* Columns of the block that the grid dropped for want of room. */
static void add_left_out(const struct marey_grid *grid, struct marey_textbuf *out)
{
    const struct marey_table *table = grid->table;
    size_t n = 0;
    for (size_t j = 0; j < table->n_columns; j++) {
        const struct marey_column *column = table->column[j];
        if (column->head[table->options.layout][grid->block] == NULL || is_in_grid(grid, column))
            continue;
        marey__text_add_c(out, n++ == 0 ? "Left out for want of room: " : ", ");
        marey__text_add_c(out, column->name);
    }
    marey__text_add_c(out, n > 0 ? "; --columns all shows all\n" : "");
}

static void add_block(const struct marey_table *table, enum marey_block block,
                      struct marey_textbuf *out)
{
    struct marey_grid grid;
    struct marey_textbuf scratch;
    marey__text_init(&scratch, &table->alloc);
    if (marey__grid_make(&grid, table, block)) {
        add_rule(&grid, out);
        add_heads(&grid, out);
        add_rule(&grid, out);
        for (size_t i = 0; i < grid.n_rows + grid.n_extras; i++)
            add_row(&grid, i, &scratch, out);
        add_rule(&grid, out);
        if (block == MAREY_BLOCK_HOST) {
            add_host_sums(table, out);
            add_busiest_thread(table, out);
        } else {
            add_device_sums(table, out);
        }
        add_left_out(&grid, out);
        add_legend(&grid, out);
    } else {
        out->failed = true;
    }
    marey__grid_release(&grid);
    marey__text_release(&scratch);
}

void marey__table_write_text(const struct marey_table *table, struct marey_textbuf *out)
{
    if (table->options.header != NULL) {
        marey__text_add_c(out, table->options.header);
        marey__text_add_byte(out, '\n');
    }
    marey__table_add_account(table, out);
    marey__table_add_title(table, out);
    if (table->n_rows == 0) {
        marey__text_add_c(out, "no rows: nothing here is a slice that a table shows");
        if (table->totals.python_self_ns > 0 && !table->grouping.include_python)
            marey__text_add_c(out, "; Python functions become rows by --python, include_python");
        marey__text_add_byte(out, '\n');
        return;
    }
    bool is_first = true;
    for (int i = 0; i < MAREY_N_BLOCKS; i++) {
        if (table->block[i].n == 0)
            continue;
        if (!is_first)
            marey__text_add_byte(out, '\n');
        is_first = false;
        add_block(table, (enum marey_block)i, out);
    }
}
