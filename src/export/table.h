/*
 * table.h - the table of averages before it becomes text, CSV or JSON.
 *
 *   options ──resolve──> columns, order ──rows──> blocks of row pointers
 *                                                   │
 *                                   table_text, csv, json write them
 *
 * Two blocks: host slices, device operations. A column is a row of the table in
 * table_columns.c; adding one is one row there and a line in the manual.
 */
#ifndef MAREY_SRC_EXPORT_TABLE_H
#define MAREY_SRC_EXPORT_TABLE_H

#include "aggregate/about.h"
#include "base/text.h"
#include "marey/export.h"

enum marey_block { MAREY_BLOCK_HOST = 0, MAREY_BLOCK_DEVICE = 1, MAREY_N_BLOCKS = 2 };

#define MAREY_N_LAYOUTS 2
#define MAREY_MOST_COLUMNS 32

enum marey_cell_type {
    MAREY_CELL_TEXT,
    MAREY_CELL_COUNT,
    MAREY_CELL_TIME, /* ns */
    MAREY_CELL_SHARE /* ns, of the whole of a block */
};

/* When a column is shown without being asked for. */
enum marey_show {
    MAREY_SHOW_NEVER,
    MAREY_SHOW_ALWAYS,
    MAREY_SHOW_DEVICE,     /* if the trace has device operations */
    MAREY_SHOW_PERCENTILE, /* if they were computed */
    MAREY_SHOW_OVERLOAD,   /* if rows are grouped by it */
    MAREY_SHOW_SHAPE,
    MAREY_SHOW_STACK,
    MAREY_SHOW_RANK /* in data too only then */
};

struct marey_table;

struct marey_column {
    const char *name;     /* in --columns and --sort */
    const char *data_key; /* in CSV and JSON, says the unit; the options take it too */
    enum marey_cell_type type;
    enum marey_block whole; /* shares: of which block's sum; host means the row's own block */
    uint32_t (*text_id)(const struct marey_average *row);
    int64_t (*value)(const struct marey_average *row);
    enum marey_show show[MAREY_N_LAYOUTS];
    uint8_t drop; /* dropped for want of room, the highest first; 0: never */
    /* Up to two lines split by '\n'; '$' stands for the device's name; NULL: not in the block. */
    const char *head[MAREY_N_LAYOUTS][MAREY_N_BLOCKS];
};

/* All columns; those of each layout in its order. */
extern const struct marey_column marey__columns[];
extern const size_t marey__n_columns;
const struct marey_column *const *marey__layout_columns(enum marey_table_layout layout, size_t *n);

/* NULL if there is no such column. */
const struct marey_column *marey__column_find(struct marey_str name);

/* What torch calls a key (sort_by) as a column; also our own names; NULL if unknown. */
const struct marey_column *marey__column_of_key(struct marey_str key);

/* Adds the valid names, three at most, that may have been meant by `name`; with_keys: torch's
 * too. */
void marey__column_nearest(struct marey_str name, bool with_keys, struct marey_textbuf *out);

struct marey_block_rows {
    const struct marey_average **row; /* [n] in the order asked for */
    size_t n;
    size_t n_shown;
    int64_t whole_ns;      /* what shares are of; MAREY_UNKNOWN if nothing */
    int64_t self_ns;       /* sum of the rows */
    uint64_t hidden_calls; /* of rows that are not shown */
    int64_t hidden_self_ns;
    int64_t hidden_device_ns;
};

struct marey_table {
    struct marey_alloc alloc;
    struct marey_averages *averages;
    struct marey_averages_options grouping;
    struct marey_table_options options; /* with the defaults filled in */
    struct marey_totals totals;
    struct marey_about about;
    bool has_device;
    bool is_default_columns;
    const struct marey_column *column[MAREY_MOST_COLUMNS];
    size_t n_columns;
    struct marey_block_rows block[MAREY_N_BLOCKS];
    const struct marey_average **rows; /* owns the memory of both blocks */
    size_t n_rows;
};

/* Chooses columns. \fails MAREY_INVALID */
MAREY_MUST_CHECK enum marey_status marey__table_choose_columns(struct marey_table *table,
                                                               struct marey_error *err);

/* Fills the blocks: sorted, limited, summed. \fails MAREY_INVALID, MAREY_NOMEM */
MAREY_MUST_CHECK enum marey_status marey__table_arrange(struct marey_table *table,
                                                        struct marey_error *err);

bool marey__table_is_device_row(const struct marey_average *row);

/* The whole that a share column of a block is of; MAREY_UNKNOWN if there is none. */
int64_t marey__table_whole(const struct marey_table *table, const struct marey_column *column,
                           enum marey_block block);

/* What is not clean, and what the figures are about. */
void marey__table_add_account(const struct marey_table *table, struct marey_textbuf *out);
void marey__table_add_title(const struct marey_table *table, struct marey_textbuf *out);

/* The three formats. */
void marey__table_write_text(const struct marey_table *table, struct marey_textbuf *out);
void marey__table_write_csv(const struct marey_table *table, struct marey_textbuf *out);
void marey__table_write_json(const struct marey_table *table, struct marey_textbuf *out);

/* table_number.c. 999,996 ns is "1.000ms", never "1000.0us": the unit is chosen after
 * rounding. `unit` AUTO with four significant digits, or three decimals. */
void marey__add_time(struct marey_textbuf *out, int64_t ns, enum marey_time_unit unit,
                     bool three_decimals);

/* 100 * part / whole with `decimals` (2 or 4), rounded half up; false (nothing added) if
 * either is unknown or the whole is 0. */
bool marey__add_percent(struct marey_textbuf *out, int64_t part, int64_t whole, int decimals);

/* 1234567 as "1,234,567": for sentences, not for cells. */
void marey__add_grouped(struct marey_textbuf *out, uint64_t value);

/* table_name.c. Cut names of the rows shown, so that no two different ones look alike. */
struct marey_labels {
    struct marey_alloc alloc;
    struct marey_textbuf bytes;
    size_t *end;      /* [n] label i is bytes[end[i - 1], end[i]) */
    uint32_t *number; /* [n] "#k" of names that still look alike, 0 if none */
    struct marey_textbuf full;
    size_t *full_end; /* [n] the uncut texts */
    size_t n;
};

/* False without memory; release in any case. */
bool marey__labels_make(struct marey_labels *labels, const struct marey_table *table,
                        enum marey_block block, size_t width);
void marey__labels_release(struct marey_labels *labels);
struct marey_str marey__label(const struct marey_labels *labels, size_t i);
struct marey_str marey__label_full(const struct marey_labels *labels, size_t i);

#endif
