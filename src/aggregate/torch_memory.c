/*
 * torch_memory.c - allocations, charged as torch charges them.
 *
 * A host event gets the sum of all allocations from its start to its end, both included,
 * of whatever thread and device. Sums of all earlier allocations make that two searches.
 * An allocation that no event holds is an event of its own, and so is each failure.
 */
#include "aggregate/torch_view.h"
#include "base/error.h"
#include "base/json.h"
#include "base/order.h"
#include "base/str.h"

#define ALLOCATION_NAME "[memory]"
#define FAILURE_NAME "[OutOfMemory]"

static bool add(struct marey_torch_build *build, int64_t ts_ns, uint64_t offset, uint32_t track_idx,
                bool is_failure)
{
    struct marey_torch_memory *memory = &build->memory;
    if (!marey__grow(&build->alloc, (void **)&memory->at, &memory->capacity, memory->n + 1,
                     sizeof *memory->at))
        return false;
    memory->at[memory->n++] = (struct marey_torch_allocation){
        .ts_ns = ts_ns,
        .offset = offset,
        .track_idx = track_idx,
        .device_type = MAREY_UNKNOWN,
        .is_failure = is_failure,
    };
    return true;
}

static bool add_named(struct marey_torch_build *build, uint32_t name_id, int64_t ts_ns,
                      uint64_t offset, uint32_t track_idx)
{
    const struct marey_str name = marey_trace_string(build->trace, name_id);
    const bool is_failure = marey__str_is_c(name, FAILURE_NAME);
    if (!is_failure && !marey__str_is_c(name, ALLOCATION_NAME))
        return true;
    return add(build, ts_ns, offset, track_idx, is_failure);
}

/* Instants, or slices where torch's exporter in Python wrote the file. */
static bool find_allocations(struct marey_torch_build *build)
{
    const struct marey_instants instants = marey_trace_instants(build->trace);
    for (size_t i = 0; i < instants.n; i++)
        if (!add_named(build, instants.name_id[i], instants.ts_ns[i], instants.offset[i],
                       instants.track_idx[i]))
            return false;

    size_t n = 0;
    const struct marey_category *category = marey_trace_categories(build->trace, &n);
    const struct marey_track *track = marey_trace_tracks(build->trace, &n);
    const struct marey_slices slices = marey_trace_slices(build->trace);
    for (uint32_t t = 0; t < n; t++) {
        const uint32_t end = track[t].first_slice + track[t].n_slices;
        for (uint32_t i = track[t].first_slice; i < end; i++)
            if (category[slices.cat_id[i]].kind == MAREY_KIND_MEMORY &&
                !add_named(build, slices.name_id[i], slices.start_ns[i], slices.offset[i], t))
                return false;
    }
    return true;
}

/* Sorts by the key that `key_of` gives; equal ones keep their order. */
static bool sort_by(struct marey_torch_build *build,
                    uint64_t (*key_of)(const struct marey_torch_allocation *))
{
    struct marey_torch_memory *memory = &build->memory;
    const size_t n = memory->n;
    uint64_t *key = marey__alloc(&build->alloc, n, sizeof *key);
    uint32_t *order = marey__alloc(&build->alloc, n, sizeof *order);
    struct marey_torch_allocation *sorted = marey__alloc(&build->alloc, n, sizeof *sorted);
    bool is_sorted = key != NULL && order != NULL && sorted != NULL;
    if (is_sorted) {
        for (size_t i = 0; i < n; i++)
            key[i] = key_of(&memory->at[i]);
        is_sorted = marey__order_u64(&build->alloc, key, order, n);
    }
    if (is_sorted) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = memory->at[order[i]];
        marey__dealloc(&build->alloc, memory->at, memory->capacity, sizeof *memory->at);
        memory->at = sorted;
        memory->capacity = n;
        sorted = NULL;
    }
    marey__dealloc(&build->alloc, sorted, n, sizeof *sorted);
    marey__dealloc(&build->alloc, order, n, sizeof *order);
    marey__dealloc(&build->alloc, key, n, sizeof *key);
    return is_sorted;
}

static uint64_t offset_key(const struct marey_torch_allocation *made)
{
    return made->offset;
}

/* The sign bit flipped: signed order as unsigned order. */
static uint64_t time_key(const struct marey_torch_allocation *made)
{
    return (uint64_t)made->ts_ns ^ (UINT64_C(1) << 63);
}

static enum marey_status read_allocation(void *user, size_t i, struct marey_str args)
{
    struct marey_torch_allocation *made = &((struct marey_torch_allocation *)user)[i];
    struct marey_json json = marey__json(args);
    struct marey_str key;
    if (!marey__json_enter(&json, '{'))
        return MAREY_OK;
    while (marey__json_key(&json, &key)) {
        if (marey__json_spells(key, "Bytes"))
            (void)marey__json_i64(&json, &made->bytes);
        else if (marey__json_spells(key, "Device Type"))
            (void)marey__json_i64(&json, &made->device_type);
        else
            marey__json_skip(&json);
    }
    return MAREY_OK;
}

enum marey_status marey__torch_read_memory(struct marey_torch_build *build, struct marey_error *err)
{
    struct marey_torch_memory *memory = &build->memory;
    if (!find_allocations(build) || !sort_by(build, offset_key))
        return marey__fail_nomem(err);
    uint64_t *offsets = marey__alloc(&build->alloc, memory->n, sizeof *offsets);
    if (offsets == NULL)
        return marey__fail_nomem(err);
    for (size_t i = 0; i < memory->n; i++)
        offsets[i] = memory->at[i].offset;
    const enum marey_status status = marey_trace_walk_args(build->view->trace, offsets, memory->n,
                                                           read_allocation, memory->at, err);
    marey__dealloc(&build->alloc, offsets, memory->n, sizeof *offsets);
    if (status == MAREY_OK && !sort_by(build, time_key))
        return marey__fail_nomem(err);
    return status;
}

void marey__torch_release_memory(struct marey_torch_build *build)
{
    struct marey_torch_memory *memory = &build->memory;
    marey__dealloc(&build->alloc, memory->at, memory->capacity, sizeof *memory->at);
    *memory = (struct marey_torch_memory){0};
}

static int64_t host_bytes(const struct marey_torch_allocation *made)
{
    switch (made->device_type) {
    case MAREY_TORCH_CPU:
    case MAREY_TORCH_MKLDNN:
    case MAREY_TORCH_IDEEP:
        return made->is_failure ? 0 : made->bytes;
    default:
        return 0;
    }
}

static int64_t device_bytes(const struct marey_torch_allocation *made)
{
    switch (made->device_type) {
    case MAREY_TORCH_CUDA:
    case MAREY_TORCH_HIP:
    case MAREY_TORCH_XPU:
    case MAREY_TORCH_PRIVATEUSE1:
        return made->is_failure ? 0 : made->bytes;
    default:
        return 0;
    }
}

/* Sums wrap as unsigned numbers: a damaged file must not make them undefined. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Sums of all allocations before each, [n + 1]. */
struct sums {
    int64_t *host;
    int64_t *device;
    int32_t *n_holders; /* differences: events that begin to hold minus those that stop */
};

static void add_up(const struct marey_torch_memory *memory, const struct sums *sums)
{
    int64_t host = 0;
    int64_t device = 0;
    for (size_t i = 0; i <= memory->n; i++) {
        sums->host[i] = host;
        sums->device[i] = device;
        sums->n_holders[i] = 0;
        if (i == memory->n)
            break;
        host = sum(host, host_bytes(&memory->at[i]));
        device = sum(device, device_bytes(&memory->at[i]));
    }
}

/* How many allocations come before a time; at it as well if is_inclusive. */
static size_t count_before(const struct marey_torch_memory *memory, int64_t ts_ns,
                           bool is_inclusive)
{
    size_t low = 0;
    size_t high = memory->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int64_t at = memory->at[middle].ts_ns;
        if (at < ts_ns || (is_inclusive && at == ts_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void charge(struct marey_torch_build *build, const struct sums *sums)
{
    const struct marey_torch_memory *memory = &build->memory;
    for (size_t i = 0; i < build->n_rows; i++) {
        struct marey_torch_row *row = &build->rows[i];
        if (row->is_hidden || row->device_type != MAREY_TORCH_CPU)
            continue;
        const size_t first = count_before(memory, row->start_ns, false);
        const size_t end = count_before(memory, row->end_ns, true);
        if (first >= end)
            continue;
        row->cpu_memory = difference(sums->host[end], sums->host[first]);
        row->device_memory = difference(sums->device[end], sums->device[first]);
        sums->n_holders[first]++;
        sums->n_holders[end]--;
    }
}

static int64_t largest_id(const struct marey_torch_build *build)
{
    int64_t largest = 0;
    for (size_t i = 0; i < build->n_rows; i++)
        if (!build->rows[i].is_hidden && build->rows[i].id > largest)
            largest = build->rows[i].id;
    return largest;
}

/* An event without duration for one allocation. Ids go on after the largest in use. */
static bool add_row(struct marey_torch_build *build, const struct marey_torch_allocation *made,
                    int64_t id, uint32_t ref)
{
    if (!marey__torch_add_row(build))
        return false;
    struct marey_torch_row *row = &build->rows[build->n_rows - 1];
    const int64_t thread =
        made->track_idx < build->n_tracks ? build->track_thread[made->track_idx] : 0;
    row->start_ns = made->ts_ns;
    row->end_ns = made->ts_ns;
    row->offset = made->offset;
    row->id = id;
    row->ref = ref;
    row->track_idx = made->track_idx;
    row->thread = thread == 0 ? 1 : thread;
    row->forward_thread = row->thread;
    row->shapes_id = build->no_shapes_id;
    row->cpu_memory = host_bytes(made);
    row->device_memory = device_bytes(made);
    row->name_idx =
        made->is_failure ? MAREY_TORCH_FAILURE_NAME(build) : MAREY_TORCH_MEMORY_NAME(build);
    row->kind = MAREY_KIND_MEMORY;
    row->source = made->is_failure ? MAREY_TORCH_FAILURE : MAREY_TORCH_ALLOCATION;
    return true;
}

static bool add_rows(struct marey_torch_build *build, const struct sums *sums)
{
    const struct marey_torch_memory *memory = &build->memory;
    int64_t id = largest_id(build);
    int64_t n_holders = 0;
    for (size_t i = 0; i < memory->n; i++) {
        n_holders += sums->n_holders[i];
        if (n_holders == 0 && !memory->at[i].is_failure &&
            !add_row(build, &memory->at[i], ++id, (uint32_t)i))
            return false;
    }
    for (size_t i = 0; i < memory->n; i++)
        if (memory->at[i].is_failure && !add_row(build, &memory->at[i], ++id, (uint32_t)i))
            return false;
    return true;
}

enum marey_status marey__torch_charge_memory(struct marey_torch_build *build,
                                             struct marey_error *err)
{
    const size_t n = build->memory.n;
    if (n == 0)
        return MAREY_OK;
    const struct marey_alloc *alloc = &build->alloc;
    struct sums sums = {
        .host = marey__alloc(alloc, n + 1, sizeof *sums.host),
        .device = marey__alloc(alloc, n + 1, sizeof *sums.device),
        .n_holders = marey__alloc(alloc, n + 1, sizeof *sums.n_holders),
    };
    bool has_room = sums.host != NULL && sums.device != NULL && sums.n_holders != NULL;
    if (has_room) {
        add_up(&build->memory, &sums);
        charge(build, &sums);
        has_room = add_rows(build, &sums);
    }
    marey__dealloc(alloc, sums.n_holders, n + 1, sizeof *sums.n_holders);
    marey__dealloc(alloc, sums.device, n + 1, sizeof *sums.device);
    marey__dealloc(alloc, sums.host, n + 1, sizeof *sums.host);
    return has_room ? MAREY_OK : marey__fail_nomem(err);
}
