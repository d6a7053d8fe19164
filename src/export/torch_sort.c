/*
 * torch_sort.c - sort_by of torch's table: any attribute that its rows have.
 *
 * An attribute: a row in key_table and, if it is a number, a function that reads it.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "base/str.h"
#include "export/torch_table.h"

#define MOST_KEY_BYTES 64
#define N_NEAREST 3

enum key_type {
    KEY_NUMBER,    /* read gives it */
    KEY_TIME_TEXT, /* the text of a time */
    KEY_TEXT,      /* text gives a string id */
    KEY_SHAPES,    /* a list of lists of integers */
    KEY_STACK,     /* a list of strings */
    KEY_EQUAL,     /* the same for all rows */
    KEY_UNORDERED  /* Python refuses to compare them */
};

/* Which rows have an attribute. */
enum key_owner { OF_BOTH, OF_AVERAGES, OF_EVENTS };

struct key {
    const char *name;
    enum key_type type;
    enum key_owner owner;
    double (*read)(const struct marey_torch_rows *rows, size_t i);
    uint32_t (*text)(const struct marey_torch_rows *rows, size_t i);
};

static const struct marey_torch_event *event_of(const struct marey_torch_rows *rows, size_t i)
{
    return &rows->view->events[rows->at[i].first_event];
}

/* One number of a row or of its first event. */
#define READ(function, expression)                                                                 \
    static double function(const struct marey_torch_rows *rows, size_t i)                          \
    {                                                                                              \
        return (double)(expression);                                                               \
    }

READ(read_count, rows->at[i].count)
READ(read_cpu_total, rows->at[i].cpu_total_us)
READ(read_cpu_self, rows->at[i].self_cpu_us)
READ(read_cpu_mean, rows->at[i].cpu_total_us / (double)rows->at[i].count)
READ(read_device_total, rows->at[i].device_total_us)
READ(read_device_self, rows->at[i].self_device_us)
READ(read_device_mean, rows->at[i].device_total_us / (double)rows->at[i].count)
READ(read_cpu_memory, rows->at[i].cpu_memory)
READ(read_device_memory, rows->at[i].device_memory)
READ(read_cpu_memory_self, rows->at[i].self_cpu_memory)
READ(read_device_memory_self, rows->at[i].self_device_memory)
READ(read_flops, rows->at[i].flops)
READ(read_is_async, rows->at[i].is_async)
READ(read_is_annotation, rows->at[i].is_user_annotation)
READ(read_scope, rows->view->scope[rows->at[i].first_event])
READ(read_id, event_of(rows, i)->id)
READ(read_thread, event_of(rows, i)->thread)
READ(read_sequence, event_of(rows, i)->sequence)
READ(read_device_index, event_of(rows, i)->device_index)
READ(read_python_id, event_of(rows, i)->python_id)
READ(read_is_python, event_of(rows, i)->is_python_function)

static uint32_t text_name(const struct marey_torch_rows *rows, size_t i)
{
    return rows->at[i].name_id;
}

static uint32_t text_overload(const struct marey_torch_rows *rows, size_t i)
{
    return rows->at[i].overload_id;
}

static uint32_t text_shapes(const struct marey_torch_rows *rows, size_t i)
{
    return rows->at[i].shapes_id;
}

static const struct key key_table[] = {
    {"count", KEY_NUMBER, OF_BOTH, read_count, NULL},
    {"cpu_time", KEY_NUMBER, OF_BOTH, read_cpu_mean, NULL},
    {"cpu_time_total", KEY_NUMBER, OF_BOTH, read_cpu_total, NULL},
    {"self_cpu_time_total", KEY_NUMBER, OF_BOTH, read_cpu_self, NULL},
    {"device_time", KEY_NUMBER, OF_BOTH, read_device_mean, NULL},
    {"device_time_total", KEY_NUMBER, OF_BOTH, read_device_total, NULL},
    {"self_device_time_total", KEY_NUMBER, OF_BOTH, read_device_self, NULL},
    {"cpu_memory_usage", KEY_NUMBER, OF_BOTH, read_cpu_memory, NULL},
    {"self_cpu_memory_usage", KEY_NUMBER, OF_BOTH, read_cpu_memory_self, NULL},
    {"device_memory_usage", KEY_NUMBER, OF_BOTH, read_device_memory, NULL},
    {"self_device_memory_usage", KEY_NUMBER, OF_BOTH, read_device_memory_self, NULL},
    {"flops", KEY_NUMBER, OF_BOTH, read_flops, NULL},
    {"key", KEY_TEXT, OF_BOTH, NULL, text_name},
    {"name", KEY_TEXT, OF_EVENTS, NULL, text_name},
    {"overload_name", KEY_TEXT, OF_BOTH, NULL, text_overload},
    {"input_shapes", KEY_SHAPES, OF_BOTH, NULL, text_shapes},
    {"stack", KEY_STACK, OF_BOTH, NULL, NULL},
    {"scope", KEY_NUMBER, OF_BOTH, read_scope, NULL},
    {"is_async", KEY_NUMBER, OF_BOTH, read_is_async, NULL},
    {"is_user_annotation", KEY_NUMBER, OF_BOTH, read_is_annotation, NULL},
    {"cpu_time_str", KEY_TIME_TEXT, OF_BOTH, read_cpu_mean, NULL},
    {"cpu_time_total_str", KEY_TIME_TEXT, OF_BOTH, read_cpu_total, NULL},
    {"self_cpu_time_total_str", KEY_TIME_TEXT, OF_BOTH, read_cpu_self, NULL},
    {"device_time_str", KEY_TIME_TEXT, OF_BOTH, read_device_mean, NULL},
    {"device_time_total_str", KEY_TIME_TEXT, OF_BOTH, read_device_total, NULL},
    {"self_device_time_total_str", KEY_TIME_TEXT, OF_BOTH, read_device_self, NULL},
    {"node_id", KEY_EQUAL, OF_BOTH, NULL, NULL},
    {"is_remote", KEY_EQUAL, OF_BOTH, NULL, NULL},
    {"is_legacy", KEY_EQUAL, OF_BOTH, NULL, NULL},
    {"use_device", KEY_EQUAL, OF_BOTH, NULL, NULL},
    {"device_type", KEY_UNORDERED, OF_BOTH, NULL, NULL},
    {"cpu_parent", KEY_UNORDERED, OF_BOTH, NULL, NULL},
    {"cpu_children", KEY_UNORDERED, OF_BOTH, NULL, NULL},
    {"id", KEY_NUMBER, OF_EVENTS, read_id, NULL},
    {"thread", KEY_NUMBER, OF_EVENTS, read_thread, NULL},
    {"sequence_nr", KEY_NUMBER, OF_EVENTS, read_sequence, NULL},
    {"device_index", KEY_NUMBER, OF_EVENTS, read_device_index, NULL},
    {"python_id", KEY_NUMBER, OF_EVENTS, read_python_id, NULL},
    {"is_python_function", KEY_NUMBER, OF_EVENTS, read_is_python, NULL},
};

#define N_KEYS (sizeof key_table / sizeof key_table[0])

static bool has_key(const struct marey_torch_rows *rows, const struct key *key)
{
    return key->owner == OF_BOTH || key->owner == (rows->is_events ? OF_EVENTS : OF_AVERAGES);
}

/* ---- names ---- */

/* "self_cuda_time_total" is "self_device_time_total": torch replaces the device's name
 * wherever it stands. */
static struct marey_str neutral(const char *sort_by, char out[MOST_KEY_BYTES])
{
    static const char *const devices[] = {"cuda", "xpu", "privateuse1"};
    size_t len = 0;
    for (const char *at = sort_by; *at != '\0' && len + sizeof "device" < MOST_KEY_BYTES;) {
        size_t skipped = 0;
        for (size_t i = 0; i < sizeof devices / sizeof devices[0] && skipped == 0; i++)
            if (strncmp(at, devices[i], strlen(devices[i])) == 0)
                skipped = strlen(devices[i]);
        if (skipped == 0) {
            out[len++] = *at++;
            continue;
        }
        memcpy(out + len, "device", sizeof "device" - 1);
        len += sizeof "device" - 1;
        at += skipped;
    }
    return (struct marey_str){out, len};
}

/* Levenshtein distance of two short texts. */
static size_t distance(struct marey_str a, struct marey_str b)
{
    size_t row[MOST_KEY_BYTES + 1];
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 0; i < a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.len; j++) {
            const size_t change = diagonal + (a.ptr[i] != b.ptr[j]);
            const size_t shorter = row[j] < row[j + 1] ? row[j] : row[j + 1];
            diagonal = row[j + 1];
            row[j + 1] = change < shorter + 1 ? change : shorter + 1;
        }
    }
    return row[b.len];
}

static enum marey_status fail_unknown(const struct marey_torch_rows *rows, struct marey_str name,
                                      struct marey_error *err)
{
    const char *nearest[N_NEAREST] = {NULL};
    size_t far[N_NEAREST] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < N_KEYS; i++) {
        if (!has_key(rows, &key_table[i]))
            continue;
        const size_t here = distance(name, marey__str(key_table[i].name));
        if (here > name.len / 3 + 1)
            continue; /* not what was meant */
        size_t at = 0;
        while (at < N_NEAREST && far[at] <= here)
            at++;
        if (at == N_NEAREST)
            continue;
        for (size_t k = N_NEAREST - 1; k > at; k--) {
            far[k] = far[k - 1];
            nearest[k] = nearest[k - 1];
        }
        far[at] = here;
        nearest[at] = key_table[i].name;
    }
    char list[256] = "";
    for (size_t k = 0, len = 0; k < N_NEAREST && nearest[k] != NULL && len < sizeof list; k++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s'%s'",
                                k > 0                ? ", "
                                : nearest[1] == NULL ? ", nearest is "
                                                     : ", nearest are ",
                                nearest[k]);
    return marey__fail(err, MAREY_INVALID, "cannot sort: '%s' object has no attribute '%.*s'%s",
                       rows->is_events ? "FunctionEvent" : "FunctionEventAvg", (int)name.len,
                       name.ptr, list);
}

/* ---- order ---- */

struct order {
    const struct marey_torch_rows *rows;
    const struct key *key;
    double *number;            /* KEY_NUMBER */
    struct marey_textbuf text; /* KEY_TIME_TEXT: all texts, one after another */
    size_t *text_end;
};

static int compare_numbers(double a, double b)
{
    return a < b ? -1 : a > b;
}

static struct marey_str string(const struct order *order, uint32_t id)
{
    return marey_torch_view_string(order->rows->view, id);
}

/* The next integer of a list of lists, or how deep the list has closed. */
struct shapes_cursor {
    const char *at;
    const char *end;
};

/* One token: a number (then *value), ']' for the end of a list, '[' for a start, 0 at the
 * end of all. */
static char next_token(struct shapes_cursor *cursor, int64_t *value)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == ','))
        cursor->at++;
    if (cursor->at == cursor->end)
        return '\0';
    const char c = *cursor->at;
    if (c == '[' || c == ']') {
        cursor->at++;
        return c;
    }
    const bool is_negative = c == '-';
    cursor->at += is_negative;
    uint64_t magnitude = 0;
    while (cursor->at < cursor->end && *cursor->at != ',' && *cursor->at != ']')
        magnitude = magnitude * 10 + (uint64_t)(*cursor->at++ - '0');
    *value = (int64_t)(is_negative ? 0 - magnitude : magnitude);
    return 'n';
}

/* Lists compare by their first different element; one that ends first is less. */
static int compare_shapes(struct marey_str a, struct marey_str b)
{
    struct shapes_cursor left = {a.ptr, a.ptr + a.len};
    struct shapes_cursor right = {b.ptr, b.ptr + b.len};
    for (;;) {
        int64_t in_left = 0;
        int64_t in_right = 0;
        const char one = next_token(&left, &in_left);
        const char other = next_token(&right, &in_right);
        if (one == '\0' || other == '\0')
            return (one != '\0') - (other != '\0');
        if (one != other)
            return one == ']' ? -1 : 1;
        if (in_left != in_right)
            return in_left < in_right ? -1 : 1;
    }
}

static int compare_stacks(const struct order *order, uint32_t a, uint32_t b)
{
    const struct marey_torch_average *left = &order->rows->at[a];
    const struct marey_torch_average *right = &order->rows->at[b];
    const uint32_t *stacks = order->rows->view->stacks;
    const uint32_t n = left->n_stack < right->n_stack ? left->n_stack : right->n_stack;
    for (uint32_t i = 0; i < n; i++) {
        const int difference = marey__str_compare(string(order, stacks[left->first_stack + i]),
                                                  string(order, stacks[right->first_stack + i]));
        if (difference != 0)
            return difference;
    }
    return (left->n_stack > right->n_stack) - (left->n_stack < right->n_stack);
}

static struct marey_str time_text(const struct order *order, uint32_t i)
{
    const size_t from = i == 0 ? 0 : order->text_end[i - 1];
    return (struct marey_str){order->text.ptr + from, order->text_end[i] - from};
}

/* Descending. */
static int compare(const void *ctx, uint32_t a, uint32_t b)
{
    const struct order *order = ctx;
    const struct marey_torch_rows *rows = order->rows;
    switch (order->key->type) {
    case KEY_NUMBER:
        return compare_numbers(order->number[b], order->number[a]);
    case KEY_TIME_TEXT:
        return marey__str_compare(time_text(order, b), time_text(order, a));
    case KEY_TEXT:
        return marey__str_compare(string(order, order->key->text(rows, b)),
                                  string(order, order->key->text(rows, a)));
    case KEY_SHAPES:
        return compare_shapes(string(order, order->key->text(rows, b)),
                              string(order, order->key->text(rows, a)));
    case KEY_STACK:
        return compare_stacks(order, b, a);
    case KEY_EQUAL:
    case KEY_UNORDERED:
        return 0;
    }
    return 0;
}

static bool prepare(struct order *order, const struct marey_alloc *alloc)
{
    const size_t n = order->rows->n;
    marey__text_init(&order->text, alloc);
    order->number = marey__alloc(alloc, n, sizeof *order->number);
    order->text_end = marey__alloc(alloc, n, sizeof *order->text_end);
    if (order->number == NULL || order->text_end == NULL)
        return false;
    for (size_t i = 0; i < n && order->key->read != NULL; i++) {
        order->number[i] = order->key->read(order->rows, i);
        if (order->key->type == KEY_TIME_TEXT)
            marey__torch_add_time(&order->text, order->number[i], MAREY_TIME_AUTO);
        order->text_end[i] = order->text.len;
    }
    return !marey__text_failed(&order->text);
}

static enum marey_status sort_by_key(struct marey_torch_rows *rows, const struct key *key,
                                     struct marey_error *err)
{
    const struct marey_alloc *alloc = &rows->view->alloc;
    const size_t n = rows->n;
    struct order order = {.rows = rows, .key = key};
    uint32_t *indices = marey__alloc(alloc, n, sizeof *indices);
    struct marey_torch_average *sorted = marey__alloc(alloc, n, sizeof *sorted);
    bool has_room = prepare(&order, alloc) && indices != NULL && sorted != NULL;
    if (has_room) {
        for (size_t i = 0; i < n; i++)
            indices[i] = (uint32_t)i;
        has_room = marey__sort_indices(alloc, indices, n, compare, &order);
    }
    if (has_room) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = rows->at[indices[i]];
        if (n > 0)
            memcpy(rows->at, sorted, n * sizeof *sorted);
    }
    marey__dealloc(alloc, sorted, n, sizeof *sorted);
    marey__dealloc(alloc, indices, n, sizeof *indices);
    marey__dealloc(alloc, order.text_end, n, sizeof *order.text_end);
    marey__dealloc(alloc, order.number, n, sizeof *order.number);
    marey__text_release(&order.text);
    return has_room ? MAREY_OK : marey__fail_nomem(err);
}

bool marey__torch_is_allocation(const struct marey_torch_rows *rows, size_t i)
{
    const struct marey_str name = marey_torch_view_string(rows->view, rows->at[i].name_id);
    return rows->is_events &&
           (marey__str_is_c(name, "[memory]") || marey__str_is_c(name, "[OutOfMemory]"));
}

/* What Python would refuse to compare. */
static bool is_unordered(const struct marey_torch_rows *rows, const struct key *key)
{
    if (rows->n < 2)
        return false;
    if (key->type == KEY_UNORDERED ||
        (rows->view->device_name == NULL && strcmp(key->name, "use_device") == 0))
        return true;
    bool has_none = false;
    for (size_t i = 0; i < rows->n && strcmp(key->name, "flops") == 0; i++)
        has_none = has_none || marey__torch_is_allocation(rows, i);
    return has_none;
}

enum marey_status marey__torch_sort(struct marey_torch_rows *rows, const char *sort_by,
                                    struct marey_error *err)
{
    char buffer[MOST_KEY_BYTES];
    const struct marey_str name = neutral(sort_by, buffer);
    for (size_t i = 0; i < N_KEYS; i++) {
        const struct key *key = &key_table[i];
        if (!has_key(rows, key) || !marey__str_is_c(name, key->name))
            continue;
        if (is_unordered(rows, key))
            return marey__fail(err, MAREY_INVALID,
                               "cannot sort: torch has no order for values of '%s'", key->name);
        return sort_by_key(rows, key, err);
    }
    return fail_unknown(rows, name, err);
}
