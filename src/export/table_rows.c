/*
 * table_rows.c - which columns, which rows, in which order.
 *
 * The order is total: by the key; unknown values last in both directions;
 * ties by name, start, track. The default order is the averages' own.
 */
#include "base/error.h"
#include "base/known.h"
#include "base/sort.h"
#include "export/table.h"

#define TEXT_LIMIT 40

bool marey__table_is_device_row(const struct marey_average *row)
{
    return marey_kind_is_device_operation(row->kind);
}

/* ---- columns ---- */

static bool is_shown(const struct marey_table *table, enum marey_show show)
{
    switch (show) {
    case MAREY_SHOW_NEVER:
        return false;
    case MAREY_SHOW_ALWAYS:
        return true;
    case MAREY_SHOW_DEVICE:
        return table->has_device;
    case MAREY_SHOW_PERCENTILE:
        return table->grouping.percentiles;
    case MAREY_SHOW_OVERLOAD:
        return table->grouping.by_overload;
    case MAREY_SHOW_SHAPE:
        return table->grouping.by_shape;
    case MAREY_SHOW_STACK:
        return table->grouping.by_stack > 0;
    case MAREY_SHOW_RANK:
        return table->grouping.by_rank;
    }
    return false;
}

static void choose_defaults(struct marey_table *table)
{
    const enum marey_table_layout layout = table->options.layout;
    const bool all = table->options.format != MAREY_TABLE_TEXT || table->options.columns != NULL;
    size_t n = 0;
    const struct marey_column *const *column = marey__layout_columns(layout, &n);
    for (size_t i = 0; i < n; i++)
        if (is_shown(table, column[i]->show[layout]) ||
            (all && column[i]->show[layout] != MAREY_SHOW_RANK))
            table->column[table->n_columns++] = column[i];
}

static void add_columns(struct marey_textbuf *out)
{
    const char *const *name = marey_table_columns();
    for (size_t i = 0; name[i] != NULL; i++)
        marey__text_add_format(out, "%s%s", i == 0 ? "" : ", ", name[i]);
}

/* A key of torch's for what only its own rules count. */
static bool is_of_torch_alone(struct marey_str key)
{
    static const char *const words[] = {"memory_usage", "flops"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (marey__str_holds(key, words[i]))
            return true;
    return false;
}

static enum marey_status fail_with_nearest(const struct marey_table *table, const char *what,
                                           const char *kind, struct marey_str name, bool with_keys,
                                           struct marey_error *err)
{
    struct marey_textbuf nearest;
    marey__text_init(&nearest, &table->alloc);
    marey__column_nearest(name, with_keys, &nearest);
    const char *word = with_keys ? ", use one of torch's, such as self_cpu_time_total, or one of "
                                 : ", use one of ";
    if (nearest.len > 0)
        word = memchr(nearest.ptr, ',', nearest.len) != NULL ? ", nearest are " : ", nearest is ";
    else
        add_columns(&nearest);
    const enum marey_status status =
        marey__text_failed(&nearest)
            ? marey__fail_nomem(err)
            : marey__fail(err, MAREY_INVALID, "%s: '%.*s' is no %s of the table%s%.*s", what,
                          (int)(name.len < 200 ? name.len : 200), name.ptr, kind, word,
                          (int)nearest.len, nearest.len > 0 ? nearest.ptr : "");
    marey__text_release(&nearest);
    return status;
}

static struct marey_str trim(struct marey_str text)
{
    while (text.len > 0 && text.ptr[0] == ' ')
        text = (struct marey_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

static void add_column(struct marey_table *table, const struct marey_column *column)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->column[i] == column)
            return;
    table->column[table->n_columns++] = column;
}

enum marey_status marey__table_choose_columns(struct marey_table *table, struct marey_error *err)
{
    const char *list = table->options.columns;
    table->is_default_columns = list == NULL;
    if (list == NULL || strcmp(list, "all") == 0) {
        choose_defaults(table);
        return MAREY_OK;
    }
    for (const char *at = list; at != NULL;) {
        const char *comma = strchr(at, ',');
        const size_t len = comma == NULL ? strlen(at) : (size_t)(comma - at);
        const struct marey_str name = trim((struct marey_str){at, len});
        const struct marey_column *column = marey__column_find(name);
        if (column == NULL)
            return fail_with_nearest(table, "cannot choose columns", "column", name, false, err);
        add_column(table, column);
        at = comma == NULL ? NULL : comma + 1;
    }
    return MAREY_OK;
}

/* ---- order ---- */

struct order {
    const struct marey_table *table;
    const struct marey_average *const *row;
    const struct marey_column *column;
    bool goes_up;
};

static struct marey_str text_of(const struct order *order, const struct marey_average *row)
{
    if (order->column->text_id == NULL)
        return marey__str(marey_kind_name(row->kind));
    return marey_averages_string(order->table->averages, order->column->text_id(row));
}

/* Below 0 when a goes first; unknown values go last whatever the direction. */
static int compare_key(const struct order *order, const struct marey_average *a,
                       const struct marey_average *b)
{
    int result = 0;
    bool a_unknown = false;
    bool b_unknown = false;
    if (order->column->type == MAREY_CELL_TEXT) {
        const struct marey_str text_a = text_of(order, a);
        const struct marey_str text_b = text_of(order, b);
        a_unknown = text_a.ptr == NULL;
        b_unknown = text_b.ptr == NULL;
        result = marey__str_compare(text_a, text_b);
    } else {
        const int64_t value_a = order->column->value(a);
        const int64_t value_b = order->column->value(b);
        a_unknown = value_a == MAREY_UNKNOWN;
        b_unknown = value_b == MAREY_UNKNOWN;
        result = (value_a > value_b) - (value_a < value_b);
    }
    if (a_unknown || b_unknown)
        return a_unknown - b_unknown;
    return order->goes_up ? result : -result;
}

static int compare_rows(const void *ctx, uint32_t a_idx, uint32_t b_idx)
{
    const struct order *order = ctx;
    const struct marey_average *a = order->row[a_idx];
    const struct marey_average *b = order->row[b_idx];
    int result = compare_key(order, a, b);
    if (result == 0)
        result = marey__str_compare(marey_averages_string(order->table->averages, a->name_id),
                                    marey_averages_string(order->table->averages, b->name_id));
    if (result == 0) {
        const int64_t start_a = a->first_start_ns;
        const int64_t start_b = b->first_start_ns;
        result = (start_a > start_b) - (start_a < start_b);
    }
    /* Slices lie in the order of tracks. */
    return result != 0 ? result
                       : (a->first_slice > b->first_slice) - (a->first_slice < b->first_slice);
}

/* A device operation has one time, its sum: it stands for every time of a host row. */
static const struct marey_column *key_in_block(const struct marey_table *table,
                                               const struct marey_column *column,
                                               enum marey_block block)
{
    if (block == MAREY_BLOCK_DEVICE && column->type != MAREY_CELL_TEXT &&
        column->head[table->options.layout][block] == NULL)
        return marey__column_find(marey__str("self"));
    return column;
}

static enum marey_status sort_block(struct marey_table *table, struct marey_block_rows *block,
                                    const struct order *order, struct marey_error *err)
{
    enum marey_status status = MAREY_OK;
    const struct marey_alloc *alloc = &table->alloc;
    uint32_t *indices = marey__alloc(alloc, block->n, sizeof *indices);
    const struct marey_average **sorted = marey__alloc(alloc, block->n, sizeof *sorted);
    if (indices == NULL || sorted == NULL) {
        status = marey__fail_nomem(err);
        goto done;
    }
    for (size_t i = 0; i < block->n; i++)
        indices[i] = (uint32_t)i;
    if (!marey__sort_indices(alloc, indices, block->n, compare_rows, order)) {
        status = marey__fail_nomem(err);
        goto done;
    }
    for (size_t i = 0; i < block->n; i++)
        sorted[i] = block->row[indices[i]];
    for (size_t i = 0; i < block->n; i++)
        block->row[i] = sorted[i];

done:
    marey__dealloc(alloc, sorted, block->n, sizeof *sorted);
    marey__dealloc(alloc, indices, block->n, sizeof *indices);
    return status;
}

/* The key has one value in all rows, as device time has without a device: their own order says more
 * than that of their names. */
static bool is_all_alike(const struct order *order, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (compare_key(order, order->row[0], order->row[i]) != 0)
            return false;
    return true;
}

static enum marey_status sort_blocks(struct marey_table *table, struct marey_error *err)
{
    if (table->options.sort == NULL)
        return MAREY_OK;
    struct marey_str key = marey__str(table->options.sort);
    const char sign = key.len > 0 && (key.ptr[0] == '+' || key.ptr[0] == '-') ? key.ptr[0] : '\0';
    if (sign != '\0')
        key = (struct marey_str){key.ptr + 1, key.len - 1};
    const struct marey_column *column = marey__column_of_key(key);
    if (column == NULL)
        return is_of_torch_alone(key)
                   ? marey__fail(err, MAREY_INVALID,
                                 "cannot sort: memory and FLOPs are in torch's table only, ask for "
                                 "--compat torch, in Python view(compat=\"torch\")")
                   : fail_with_nearest(table, "cannot sort", "key", key, true, err);

    struct order order = {.table = table};
    order.goes_up = sign == '+' || (sign == '\0' && column->type == MAREY_CELL_TEXT);
    for (int i = 0; i < MAREY_N_BLOCKS; i++) {
        struct marey_block_rows *block = &table->block[i];
        order.row = block->row;
        order.column = key_in_block(table, column, (enum marey_block)i);
        if (block->n > 1 && !is_all_alike(&order, block->n))
            MAREY_TRY(sort_block(table, block, &order, err));
    }
    return MAREY_OK;
}

/* ---- rows ---- */

/* Adds what is known of a row; a time that is not, and yet was measured, is more than 64 bits hold.
 */
static void add_time(int64_t *sum, int64_t ns, bool is_measured)
{
    if (ns != MAREY_UNKNOWN || is_measured)
        *sum = marey__known_add(*sum, ns);
}

/* Operations of a row may be without a known time, unless those of all do not fit. */
static bool has_device_time(const struct marey_table *table, const struct marey_average *row)
{
    return row->n_device_operations > 0 && table->totals.device_sum_ns == MAREY_UNKNOWN;
}

static void limit_block(const struct marey_table *table, struct marey_block_rows *block)
{
    const int64_t limit = table->options.limit;
    block->n_shown = limit < 0 || (uint64_t)limit > block->n ? block->n : (size_t)limit;
    for (size_t i = 0; i < block->n; i++) {
        const struct marey_average *row = block->row[i];
        add_time(&block->self_ns, row->self_ns, row->n_timed > 0);
        if (i < block->n_shown)
            continue;
        block->hidden_calls += row->n_calls;
        add_time(&block->hidden_self_ns, row->self_ns, row->n_timed > 0);
        add_time(&block->hidden_device_ns, row->device_self_ns, has_device_time(table, row));
    }
}

int64_t marey__table_whole(const struct marey_table *table, const struct marey_column *column,
                           enum marey_block block)
{
    return table->block[column->whole == MAREY_BLOCK_DEVICE ? MAREY_BLOCK_DEVICE : block].whole_ns;
}

/* Splits the rows, which come with the host's first, keeping their order. */
static bool split_rows(struct marey_table *table)
{
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(table->averages, &n);
    table->rows = marey__alloc(&table->alloc, n, sizeof *table->rows);
    if (table->rows == NULL)
        return false;
    table->n_rows = n;
    size_t at = 0;
    for (int i = 0; i < MAREY_N_BLOCKS; i++) {
        struct marey_block_rows *block = &table->block[i];
        block->row = table->rows + at;
        for (size_t j = 0; j < n; j++)
            if (marey__table_is_device_row(&rows[j]) == (i == MAREY_BLOCK_DEVICE))
                block->row[block->n++] = &rows[j];
        at += block->n;
    }
    return true;
}

enum marey_status marey__table_arrange(struct marey_table *table, struct marey_error *err)
{
    if (table->options.limit == 0)
        table->options.limit = table->options.format == MAREY_TABLE_TEXT ? TEXT_LIMIT : -1;
    if (!split_rows(table))
        return marey__fail_nomem(err);
    MAREY_TRY(sort_blocks(table, err));
    for (int i = 0; i < MAREY_N_BLOCKS; i++)
        limit_block(table, &table->block[i]);

    /* Shares are of all rows, shown or not, and of what is counted without a row: of nothing where
     * that is more than 64 bits hold. */
    const int64_t whole[MAREY_N_BLOCKS] = {table->totals.host_self_ns, table->totals.device_sum_ns};
    for (int i = 0; i < MAREY_N_BLOCKS; i++) {
        struct marey_block_rows *block = &table->block[i];
        const bool is_known = whole[i] != MAREY_UNKNOWN && block->self_ns != MAREY_UNKNOWN;
        block->whole_ns = !is_known                   ? MAREY_UNKNOWN
                          : whole[i] < block->self_ns ? block->self_ns
                                                      : whole[i];
    }
    return MAREY_OK;
}
