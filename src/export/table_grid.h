/*
 * table_grid.h - one block of the text table: its cells as text, and column widths.
 */
#ifndef MAREY_SRC_EXPORT_TABLE_GRID_H
#define MAREY_SRC_EXPORT_TABLE_GRID_H

#include "export/table.h"

/* Lines below the rows: rows not shown, time that has no row. */
#define MAREY_MOST_EXTRAS 3

struct marey_grid {
    const struct marey_table *table;
    enum marey_block block;
    const struct marey_column *column[MAREY_MOST_COLUMNS];
    size_t width[MAREY_MOST_COLUMNS];
    size_t n_columns;
    const struct marey_column *name_column;
    const struct marey_column *stack_column;
    bool has_two_lines; /* some head has two */
    struct marey_textbuf heads;
    size_t head_end[2 * MAREY_MOST_COLUMNS]; /* upper and lower line of each column */

    struct marey_textbuf cells;
    size_t *cell_end; /* [(n_rows + n_extras) * n_columns] */
    size_t n_cells;
    size_t n_rows;
    struct marey_average extra[MAREY_MOST_EXTRAS];
    char extra_label[MAREY_MOST_EXTRAS][64];
    size_t n_extras;
    struct marey_labels labels; /* names of the rows */
};

/* False without memory; release in any case. */
bool marey__grid_make(struct marey_grid *grid, const struct marey_table *table,
                      enum marey_block block);
void marey__grid_release(struct marey_grid *grid);

struct marey_str marey__grid_cell(const struct marey_grid *grid, size_t i, size_t j);

/* Line 0 is the upper one, empty for a head of one line. */
struct marey_str marey__grid_head(const struct marey_grid *grid, size_t j, int line);

#endif
