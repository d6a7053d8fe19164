/*
 * memory.c - [memory] instants decoded into columns, once.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/order.h"
#include "trace/model.h"

#define N_VALUES 5

static const char *const value_key[N_VALUES] = {"Bytes", "Device Type", "Device Id", "Addr",
                                                "Total Allocated"};

struct memory_work {
    const uint32_t *order; /* record by rank of its offset */
    int64_t *value;        /* N_VALUES columns of n */
    size_t n;
};

static int64_t read_value(struct marey_json *json)
{
    int64_t value = MAREY_UNKNOWN;
    return marey__json_i64(json, &value) ? value : MAREY_UNKNOWN;
}

static enum marey_status decode_record(void *user, size_t i, struct marey_str args)
{
    struct memory_work *work = user;
    const uint32_t record = work->order[i];
    struct marey_json json = marey__json(args);
    struct marey_str key;
    if (!marey__json_enter(&json, '{'))
        return MAREY_OK;
    while (marey__json_key(&json, &key)) {
        size_t column = 0;
        while (column < N_VALUES && !marey__json_spells(key, value_key[column]))
            column++;
        if (column < N_VALUES)
            work->value[column * work->n + record] = read_value(&json);
        else
            marey__json_skip(&json);
    }
    return MAREY_OK;
}

static size_t find_records(const struct marey_trace *trace, uint32_t *instant_idx)
{
    const uint32_t name_id = marey__intern_find(&trace->strings, (struct marey_str){"[memory]", 8});
    size_t n = 0;
    for (size_t i = 0; i < trace->instants.n && name_id != MAREY_NONE; i++) {
        if (trace->instants.name_id[i] != name_id)
            continue;
        if (instant_idx != NULL)
            instant_idx[n] = (uint32_t)i;
        n++;
    }
    return n;
}

static void publish(struct marey_trace *trace, uint32_t *instant_idx, int64_t *value, size_t n)
{
    trace->memory_instant = instant_idx;
    trace->memory_value = value;
    trace->memory = (struct marey_memory_records){
        .n = n,
        .instant_idx = instant_idx,
        .bytes = value,
        .device_type = value + n,
        .device_id = value + 2 * n,
        .addr = value + 3 * n,
        .total_allocated = value + 4 * n,
    };
    trace->has_memory = true;
}

static enum marey_status build(struct marey_trace *trace, struct marey_error *err)
{
    enum marey_status status = MAREY_OK;
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = find_records(trace, NULL);
    uint32_t *instant_idx = marey__alloc(alloc, n, sizeof *instant_idx);
    int64_t *value = marey__alloc(alloc, n * N_VALUES, sizeof *value);
    uint64_t *offsets = marey__alloc(alloc, n, sizeof *offsets);
    uint64_t *sorted = marey__alloc(alloc, n, sizeof *sorted);
    uint32_t *order = marey__alloc(alloc, n, sizeof *order);
    if (instant_idx == NULL || value == NULL || offsets == NULL || sorted == NULL ||
        order == NULL) {
        status = marey__fail_nomem(err);
        goto done;
    }
    (void)find_records(trace, instant_idx);
    for (size_t i = 0; i < n * N_VALUES; i++)
        value[i] = MAREY_UNKNOWN;
    for (size_t i = 0; i < n; i++)
        offsets[i] = trace->instants.offset[instant_idx[i]];
    if (!marey__order_u64(alloc, offsets, order, n)) {
        status = marey__fail_nomem(err);
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = offsets[order[i]];

    struct memory_work work = {.order = order, .value = value, .n = n};
    if (trace->provider.walk != NULL)
        status = trace->provider.walk(trace->provider.ctx, sorted, n, decode_record, &work, err);
    if (status == MAREY_OK) {
        publish(trace, instant_idx, value, n);
        instant_idx = NULL;
        value = NULL;
    }

done:
    marey__dealloc(alloc, order, n, sizeof *order);
    marey__dealloc(alloc, sorted, n, sizeof *sorted);
    marey__dealloc(alloc, offsets, n, sizeof *offsets);
    marey__dealloc(alloc, value, n * N_VALUES, sizeof *value);
    marey__dealloc(alloc, instant_idx, n, sizeof *instant_idx);
    return status;
}

enum marey_status marey_trace_memory_records(struct marey_trace *trace,
                                             struct marey_memory_records *records,
                                             struct marey_error *err)
{
    (void)pthread_mutex_lock(&trace->lock);
    const enum marey_status status = trace->has_memory ? MAREY_OK : build(trace, err);
    if (status == MAREY_OK)
        *records = trace->memory;
    (void)pthread_mutex_unlock(&trace->lock);
    return status;
}
