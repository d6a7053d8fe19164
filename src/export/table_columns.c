/*
 * table_columns.c - the columns of the table of averages, and the names they go by.
 *
 * Adding a column: a row in marey__columns, its place in the orders below, a line in the
 * manual of `report`.
 */
#include "export/table.h"

/* ---- what a cell holds ---- */

static uint32_t name_of(const struct marey_average *row)
{
    return row->name_id;
}

static uint32_t overload_of(const struct marey_average *row)
{
    return row->overload_id;
}

static int64_t rank_of(const struct marey_average *row)
{
    return row->rank;
}

static uint32_t shapes_of(const struct marey_average *row)
{
    return row->shapes_id;
}

static uint32_t stack_of(const struct marey_average *row)
{
    return row->stack_id;
}

static int64_t calls_of(const struct marey_average *row)
{
    return (int64_t)row->n_calls;
}

static int64_t timed_of(const struct marey_average *row)
{
    return (int64_t)row->n_timed;
}

static int64_t self_of(const struct marey_average *row)
{
    return row->self_ns;
}

static int64_t total_of(const struct marey_average *row)
{
    return row->total_ns;
}

static int64_t mean(int64_t sum, uint64_t n)
{
    if (sum == MAREY_UNKNOWN || n == 0)
        return MAREY_UNKNOWN;
    const int64_t by = (int64_t)n;
    return sum / by + (sum % by >= by - by / 2);
}

static int64_t mean_of(const struct marey_average *row)
{
    return mean(row->sum_ns, row->n_timed);
}

static int64_t min_of(const struct marey_average *row)
{
    return row->min_ns;
}

static int64_t max_of(const struct marey_average *row)
{
    return row->max_ns;
}

static int64_t p50_of(const struct marey_average *row)
{
    return row->p50_ns;
}

static int64_t p99_of(const struct marey_average *row)
{
    return row->p99_ns;
}

/* Only host rows own device operations. */
static int64_t device_self_of(const struct marey_average *row)
{
    return marey__table_is_device_row(row) ? MAREY_UNKNOWN : row->device_self_ns;
}

static int64_t device_total_of(const struct marey_average *row)
{
    return marey__table_is_device_row(row) ? MAREY_UNKNOWN : row->device_total_ns;
}

static int64_t device_mean_of(const struct marey_average *row)
{
    return mean(device_total_of(row), row->n_calls);
}

static int64_t device_operations_of(const struct marey_average *row)
{
    return marey__table_is_device_row(row) ? MAREY_UNKNOWN : (int64_t)row->n_device_operations;
}

/* ---- the table ---- */

enum column_id {
    NAME,
    KIND,
    OVERLOAD,
    RANK,
    SHAPES,
    STACK,
    CALLS,
    TIMED,
    SELF,
    SELF_SHARE,
    TOTAL,
    TOTAL_SHARE,
    MEAN,
    MIN,
    P50,
    P99,
    MAX,
    DEVICE_SELF,
    DEVICE_SELF_SHARE,
    DEVICE_TOTAL,
    DEVICE_MEAN,
    DEVICE_OPERATIONS,
    N_COLUMNS
};

#define NEVER MAREY_SHOW_NEVER
#define ALWAYS MAREY_SHOW_ALWAYS
#define ON_HOST MAREY_BLOCK_HOST
#define ON_DEVICE MAREY_BLOCK_DEVICE

/* clang-format off */
const struct marey_column marey__columns[] = {
    [NAME] = {"name", "name", MAREY_CELL_TEXT, ON_HOST, name_of, NULL, {ALWAYS, ALWAYS}, 0,
        {{"host", "device"}, {"Name", "Name"}}},
    [KIND] = {"kind", "kind", MAREY_CELL_TEXT, ON_HOST, NULL, NULL, {NEVER, NEVER}, 0,
        {{"kind", "kind"}, {"Kind", "Kind"}}},
    [OVERLOAD] = {"overload", "overload", MAREY_CELL_TEXT, ON_HOST, overload_of, NULL,
        {MAREY_SHOW_OVERLOAD, MAREY_SHOW_OVERLOAD}, 0,
        {{"overload", NULL}, {"Overload Name", NULL}}},
    [RANK] = {"rank", "rank", MAREY_CELL_COUNT, ON_HOST, NULL, rank_of,
        {MAREY_SHOW_RANK, MAREY_SHOW_RANK}, 0,
        {{"rank", "rank"}, {"Rank", "Rank"}}},
    [SHAPES] = {"shapes", "shapes", MAREY_CELL_TEXT, ON_HOST, shapes_of, NULL,
        {MAREY_SHOW_SHAPE, MAREY_SHOW_SHAPE}, 0,
        {{"shapes", NULL}, {"Input Shapes", NULL}}},
    [STACK] = {"stack", "stack", MAREY_CELL_TEXT, ON_HOST, stack_of, NULL,
        {MAREY_SHOW_STACK, MAREY_SHOW_STACK}, 0,
        {{"stack", NULL}, {"Source Location", NULL}}},
    [CALLS] = {"calls", "calls", MAREY_CELL_COUNT, ON_HOST, NULL, calls_of, {ALWAYS, ALWAYS}, 0,
        {{"calls", "calls"}, {"# of Calls", "# of Calls"}}},
    [TIMED] = {"timed", "timed", MAREY_CELL_COUNT, ON_HOST, NULL, timed_of, {NEVER, NEVER}, 0,
        {{"timed", "timed"}, {"Timed", "Timed"}}},
    [SELF] = {"self", "self_ns", MAREY_CELL_TIME, ON_HOST, NULL, self_of, {ALWAYS, ALWAYS}, 0,
        {{"self", "sum"}, {"Self CPU", "Self $"}}},
    [SELF_SHARE] = {"self_share", "self_percent", MAREY_CELL_SHARE, ON_HOST, NULL, self_of,
        {ALWAYS, ALWAYS}, 0,
        {{"self %", "share %"}, {"Self CPU %", "Self $ %"}}},
    [TOTAL] = {"total", "total_ns", MAREY_CELL_TIME, ON_HOST, NULL, total_of, {ALWAYS, ALWAYS}, 0,
        {{"total", NULL}, {"CPU total", "$ total"}}},
    [TOTAL_SHARE] = {"total_share", "total_percent", MAREY_CELL_SHARE, ON_HOST, NULL, total_of,
        {NEVER, ALWAYS}, 0,
        {{"total %", NULL}, {"CPU total %", NULL}}},
    [MEAN] = {"mean", "mean_ns", MAREY_CELL_TIME, ON_HOST, NULL, mean_of, {ALWAYS, ALWAYS}, 1,
        {{"mean", "mean"}, {"CPU time avg", "$ time avg"}}},
    [MIN] = {"min", "min_ns", MAREY_CELL_TIME, ON_HOST, NULL, min_of, {NEVER, NEVER}, 0,
        {{"min", "min"}, {"Min", "Min"}}},
    [P50] = {"p50", "p50_ns", MAREY_CELL_TIME, ON_HOST, NULL, p50_of,
        {MAREY_SHOW_PERCENTILE, NEVER}, 2,
        {{"p50", "p50"}, {"p50", "p50"}}},
    [P99] = {"p99", "p99_ns", MAREY_CELL_TIME, ON_HOST, NULL, p99_of,
        {MAREY_SHOW_PERCENTILE, NEVER}, 3,
        {{"p99", "p99"}, {"p99", "p99"}}},
    [MAX] = {"max", "max_ns", MAREY_CELL_TIME, ON_HOST, NULL, max_of, {NEVER, NEVER}, 0,
        {{"max", "max"}, {"Max", "Max"}}},
    [DEVICE_SELF] = {"device_self", "device_self_ns", MAREY_CELL_TIME, ON_HOST, NULL,
        device_self_of, {MAREY_SHOW_DEVICE, MAREY_SHOW_DEVICE}, 0,
        {{"device\nself", NULL}, {"Self $", NULL}}},
    [DEVICE_SELF_SHARE] = {"device_self_share", "device_self_percent", MAREY_CELL_SHARE, ON_DEVICE,
        NULL, device_self_of, {NEVER, MAREY_SHOW_DEVICE}, 0,
        {{"device\nself %", NULL}, {"Self $ %", NULL}}},
    [DEVICE_TOTAL] = {"device_total", "device_total_ns", MAREY_CELL_TIME, ON_HOST, NULL,
        device_total_of, {MAREY_SHOW_DEVICE, MAREY_SHOW_DEVICE}, 0,
        {{"device\ntotal", NULL}, {"$ total", NULL}}},
    [DEVICE_MEAN] = {"device_mean", "device_mean_ns", MAREY_CELL_TIME, ON_HOST, NULL,
        device_mean_of, {NEVER, MAREY_SHOW_DEVICE}, 0,
        {{"device\nmean", NULL}, {"$ time avg", NULL}}},
    [DEVICE_OPERATIONS] = {"device_operations", "device_operations", MAREY_CELL_COUNT, ON_HOST,
        NULL, device_operations_of, {NEVER, NEVER}, 0,
        {{"device\nops", NULL}, {"$ ops", NULL}}},
};
/* clang-format on */

const size_t marey__n_columns = N_COLUMNS;

#define AT(id) &marey__columns[id]

static const struct marey_column *const marey_order[] = {
    AT(NAME),
    AT(KIND),
    AT(OVERLOAD),
    AT(RANK),
    AT(CALLS),
    AT(TIMED),
    AT(SELF),
    AT(SELF_SHARE),
    AT(TOTAL),
    AT(TOTAL_SHARE),
    AT(MEAN),
    AT(MIN),
    AT(P50),
    AT(P99),
    AT(MAX),
    AT(DEVICE_SELF),
    AT(DEVICE_SELF_SHARE),
    AT(DEVICE_TOTAL),
    AT(DEVICE_MEAN),
    AT(DEVICE_OPERATIONS),
    AT(SHAPES),
    AT(STACK),
};

static const struct marey_column *const torch_order[] = {
    AT(NAME),         AT(OVERLOAD),    AT(RANK),  AT(SELF_SHARE),  AT(SELF),
    AT(TOTAL_SHARE),  AT(TOTAL),       AT(MEAN),  AT(DEVICE_SELF), AT(DEVICE_SELF_SHARE),
    AT(DEVICE_TOTAL), AT(DEVICE_MEAN), AT(CALLS), AT(SHAPES),      AT(STACK),
};

const struct marey_column *const *marey__layout_columns(enum marey_table_layout layout, size_t *n)
{
    if (layout == MAREY_LAYOUT_TORCH) {
        *n = sizeof torch_order / sizeof torch_order[0];
        return torch_order;
    }
    *n = sizeof marey_order / sizeof marey_order[0];
    return marey_order;
}

/* The names of marey_order, for people who ask what there is. */
static const char *const column_names[] = {
    "name",
    "kind",
    "overload",
    "rank",
    "calls",
    "timed",
    "self",
    "self_share",
    "total",
    "total_share",
    "mean",
    "min",
    "p50",
    "p99",
    "max",
    "device_self",
    "device_self_share",
    "device_total",
    "device_mean",
    "device_operations",
    "shapes",
    "stack",
    NULL,
};

const char *const *marey_table_columns(void)
{
    return column_names;
}

/* ---- names ---- */

/* torch's sort_by after cuda, xpu, ... became device. */
static const struct {
    const char *key;
    enum column_id column;
} torch_keys[] = {
    {"cpu_time_total", TOTAL},
    {"self_cpu_time_total", SELF},
    {"cpu_time", MEAN},
    {"device_time_total", DEVICE_TOTAL},
    {"self_device_time_total", DEVICE_SELF},
    {"device_time", DEVICE_MEAN},
    {"count", CALLS},
    {"key", NAME},
    {"input_shapes", SHAPES},
    {"overload_name", OVERLOAD},
};

#define N_TORCH_KEYS (sizeof torch_keys / sizeof torch_keys[0])
#define MOST_KEY_BYTES 64

const struct marey_column *marey__column_find(struct marey_str name)
{
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (marey__str_is_c(name, marey__columns[i].name) ||
            marey__str_is_c(name, marey__columns[i].data_key))
            return &marey__columns[i];
    return NULL;
}

/* The key with torch's device names replaced by "device"; cut at the buffer's end. */
static struct marey_str neutral_key(struct marey_str key, char *buffer)
{
    static const char *const words[] = {"cuda", "xpu", "privateuse1", "mtia", "hpu"};
    size_t len = 0;
    for (size_t at = 0; at < key.len && len + sizeof "device" < MOST_KEY_BYTES;) {
        size_t passed = 0;
        for (size_t i = 0; i < sizeof words / sizeof words[0] && passed == 0; i++)
            if (marey__str_starts((struct marey_str){key.ptr + at, key.len - at}, words[i]))
                passed = strlen(words[i]);
        if (passed > 0) {
            memcpy(buffer + len, "device", strlen("device"));
            len += strlen("device");
            at += passed;
        } else {
            buffer[len++] = key.ptr[at++];
        }
    }
    return (struct marey_str){buffer, len};
}

const struct marey_column *marey__column_of_key(struct marey_str key)
{
    char buffer[MOST_KEY_BYTES];
    const struct marey_str neutral = neutral_key(key, buffer);
    for (size_t i = 0; i < N_TORCH_KEYS; i++)
        if (marey__str_is_c(neutral, torch_keys[i].key))
            return &marey__columns[torch_keys[i].column];
    return marey__column_find(key);
}

/* Levenshtein distance; texts beyond the buffer count as cut. */
static size_t distance(struct marey_str a, struct marey_str b)
{
    size_t row[MOST_KEY_BYTES + 1];
    const size_t n = b.len < MOST_KEY_BYTES ? b.len : MOST_KEY_BYTES;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; i < a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            const size_t change = diagonal + (a.ptr[i] != b.ptr[j]);
            const size_t shorter = row[j] < row[j + 1] ? row[j] : row[j + 1];
            diagonal = row[j + 1];
            row[j + 1] = change < shorter + 1 ? change : shorter + 1;
        }
    }
    return row[n];
}

/* Near enough to have been meant: a third of it is wrong, or it stops early. */
static bool is_near(struct marey_str wanted, const char *text, size_t far)
{
    const bool is_begin = wanted.len > 1 && strncmp(text, wanted.ptr, wanted.len) == 0;
    return is_begin || far <= wanted.len / 3 + 1;
}

void marey__column_nearest(struct marey_str name, bool with_keys, struct marey_textbuf *out)
{
    char buffer[MOST_KEY_BYTES];
    const struct marey_str wanted = neutral_key(name, buffer);
    bool taken[N_COLUMNS + N_TORCH_KEYS] = {false};
    const size_t n = with_keys ? N_COLUMNS + N_TORCH_KEYS : N_COLUMNS;
    for (int rank = 0; rank < 3; rank++) {
        size_t best = SIZE_MAX;
        size_t best_i = n;
        for (size_t i = 0; i < n; i++) {
            const char *text =
                i < N_COLUMNS ? marey__columns[i].name : torch_keys[i - N_COLUMNS].key;
            const size_t far = distance(wanted, marey__str(text));
            if (!taken[i] && far < best && is_near(wanted, text, far)) {
                best = far;
                best_i = i;
            }
        }
        if (best_i == n)
            return;
        taken[best_i] = true;
        marey__text_add_format(out, "%s'%s'", rank == 0 ? "" : ", ",
                               best_i < N_COLUMNS ? marey__columns[best_i].name
                                                  : torch_keys[best_i - N_COLUMNS].key);
    }
}
