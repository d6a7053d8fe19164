/*
 * sums.c - prints what a file came to, as sums that a slow reader can compute too.
 *
 *     sums [window_bytes portable no_templates] FILE...
 *
 * One JSON object a file. check_sums.py compares them with Python's json.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"

static uint64_t text_sum(const struct marey_trace *trace, uint32_t id)
{
    const struct marey_str text = marey_trace_string(trace, id);
    uint64_t sum = 0;

    for (size_t i = 0; i < text.len; i++)
        sum += (unsigned char)text.ptr[i];
    return sum + text.len;
}

static void print_slices(const struct marey_trace *trace)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    uint64_t start = 0;
    uint64_t dur = 0;
    uint64_t name = 0;
    uint64_t offset = 0;
    size_t n_unknown = 0;

    for (size_t i = 0; i < slices.n; i++) {
        start += (uint64_t)slices.start_ns[i];
        offset += slices.offset[i];
        name += text_sum(trace, slices.name_id[i]);
        if (slices.dur_ns[i] == MAREY_UNKNOWN)
            n_unknown++;
        else
            dur += (uint64_t)marey_trace_raw_dur_ns(trace, (uint32_t)i);
    }
    printf("\"slices\": %zu, \"start\": %" PRIu64 ", \"dur\": %" PRIu64 ", \"unknown_dur\": %zu, "
           "\"name\": %" PRIu64 ", \"offset\": %" PRIu64 ", ",
           slices.n, start, dur, n_unknown, name, offset);
}

static void print_points(const char *what, const int64_t *ts_ns, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (uint64_t)ts_ns[i];
    printf("\"%s\": %zu, \"%s_ts\": %" PRIu64 ", ", what, n, what, sum);
}

static void print_links(const struct marey_trace *trace)
{
    const struct marey_links links = marey_trace_links(trace);
    uint64_t sum = 0;

    for (size_t i = 0; i < links.n; i++)
        sum += links.correlation[i];
    printf("\"links\": %zu, \"correlation\": %" PRIu64 ", ", links.n, sum);
}

static void print_flows(const struct marey_trace *trace)
{
    const struct marey_flows flows = marey_trace_flows(trace);
    uint64_t sum = 0;

    for (size_t i = 0; i < flows.n; i++)
        sum += flows.id[i];
    printf("\"flow_id\": %" PRIu64 ", ", sum);
    print_points("flows", flows.ts_ns, flows.n);
}

static void print_sources(const struct marey_trace *trace)
{
    size_t n = 0;
    const struct marey_source *source = marey_trace_sources(trace, &n);

    printf("\"records\": %" PRIu64 ", \"metadata\": %" PRIu64 ", \"rank\": %" PRId64
           ", \"base\": %" PRId64 ", \"size\": %" PRIu64 ", ",
           source[0].n_records, source[0].n_metadata, source[0].rank, source[0].base_ns,
           source[0].size_bytes);
    (void)marey_trace_metas(trace, &n);
    printf("\"metas\": %zu, ", n);
}

/* Args of all slices by the provider: their lengths. */
static enum marey_status add_length(void *user, size_t i, struct marey_str args)
{
    (void)i;
    *(uint64_t *)user += args.len;
    return MAREY_OK;
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static enum marey_status print_args(struct marey_trace *trace, struct marey_error *err)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    uint64_t *offsets = malloc((slices.n + 1) * sizeof *offsets);
    uint64_t sum = 0;

    if (offsets == NULL)
        return MAREY_NOMEM;
    if (slices.n > 0)
        memcpy(offsets, slices.offset, slices.n * sizeof *offsets);
    qsort(offsets, slices.n, sizeof *offsets, compare_u64);
    const enum marey_status status =
        marey_trace_walk_args(trace, offsets, slices.n, add_length, &sum, err);
    printf("\"args\": %" PRIu64 "}\n", sum);
    free(offsets);
    return status;
}

static int print_file(const char *path, const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    enum marey_status status = marey__import_files(&path, 1, &alloc, reading, &trace, &err);

    if (status != MAREY_OK) {
        printf("{\"status\": %d}\n", (int)status);
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("{");
    print_slices(trace);
    print_links(trace);
    print_flows(trace);
    const struct marey_instants instants = marey_trace_instants(trace);
    const struct marey_counters counters = marey_trace_counters(trace);
    print_points("instants", instants.ts_ns, instants.n);
    print_points("counters", counters.ts_ns, counters.n);
    print_sources(trace);
    status = print_args(trace, &err);
    if (status != MAREY_OK)
        fprintf(stderr, "%s\n", err.message);
    marey_trace_free(trace);
    return status != MAREY_OK;
}

int main(int argc, char **argv)
{
    struct marey_reading reading = {0};
    int first = 1;
    int failed = 0;

    if (argc > 3 && strspn(argv[1], "0123456789") == strlen(argv[1])) {
        reading.window_bytes = strtoull(argv[1], NULL, 10);
        reading.portable_only = argv[2][0] == '1';
        reading.no_templates = argv[3][0] == '1';
        first = 4;
    }
    for (int i = first; i < argc; i++)
        failed |= print_file(argv[i], &reading);
    return failed;
}
