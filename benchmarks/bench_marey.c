/*
 * bench_marey.c - runs pieces of Marey on request and tells how long each took.
 *
 * run.py starts this program and its peers together and asks them in turn, so that all
 * meet the same state of the machine. A request is a line, words separated by tabs; the
 * answer is a line of JSON with "ns" and what a reader needs to check the work.
 *
 *     import FILE warm|cold               the whole import
 *     memory FILE                         resident bytes before and after one
 *     averages FILE warm|cold plain|exact nesting, self times, owners, averages
 *     look FILE N                         the args of N slices, one at a time, in any order
 *     export-text FILE args|fields        formatting into a buffer that is reused
 *     export-stream FILE args|fields      the same in blocks, handed to a function
 *     export-file FILE OUT                the same into a file
 *     snprintf FILE                       the peer: one snprintf a record
 *
 * With the argument "cpu" times are of the processor, not of the clock on the wall: for
 * machines that others use too. Adding one: a function, a row in `requests`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <marey/aggregate.h>
#include <marey/export.h>
#include <marey/import.h>
#include <marey/trace.h>

#include "bench_alloc.h"
#include "bench_snprintf.h"

#define MAX_WORDS 5

struct bench {
    struct recycler *recycler;
    struct marey_alloc warm;
    struct marey_trace *kept; /* of the last export request */
    char kept_path[4096];
    struct marey_text text;
    char *words[MAX_WORDS];
    int n_words;
};

static clockid_t bench_clock = CLOCK_MONOTONIC;

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(bench_clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void fail(const struct marey_error *err)
{
    fprintf(stderr, "bench_marey: %s\n", err->message);
    exit(3);
}

static const char *word(const struct bench *bench, int at)
{
    return at < bench->n_words ? bench->words[at] : "";
}

static struct marey_trace *import(const struct bench *bench, const char *path, bool is_warm)
{
    struct marey_error err = {0};
    const struct marey_import_options options = {.size = sizeof options,
                                                 .alloc = is_warm ? &bench->warm : NULL};
    struct marey_trace *trace = NULL;
    if (marey_import_file(path, &options, &trace, &err) != MAREY_OK)
        fail(&err);
    return trace;
}

/* ---- import ------------------------------------------------------------------------- */

/* Sums that a reader of the file by other means must find too. Times count from the
 * file's own zero; arithmetic is modulo 2^64. */
static void print_sums(struct marey_trace *trace)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    const struct marey_links links = marey_trace_links(trace);
    size_t n_sources = 0;
    size_t n_categories = 0;
    const struct marey_source *source = marey_trace_sources(trace, &n_sources);
    (void)marey_trace_categories(trace, &n_categories);
    uint64_t ts_sum = 0;
    uint64_t dur_sum = 0;
    uint64_t correlation_sum = 0;
    for (size_t i = 0; i < slices.n; i++) {
        ts_sum += (uint64_t)slices.start_ns[i] - (uint64_t)source->base_ns;
        dur_sum += (uint64_t)slices.dur_ns[i];
    }
    for (size_t i = 0; i < links.n; i++)
        correlation_sum += links.correlation[i];
    printf("\"records\": %" PRIu64 ", \"complete\": %zu, \"ts_sum\": %" PRIu64
           ", \"dur_sum\": %" PRIu64 ", \"correlation_sum\": %" PRIu64 ", \"json_bytes\": %" PRIu64,
           source->n_records, slices.n, ts_sum, dur_sum, correlation_sum, source->size_bytes);
}

static void request_import(struct bench *bench)
{
    const uint64_t start = now_ns();
    struct marey_trace *trace = import(bench, word(bench, 1), strcmp(word(bench, 2), "warm") == 0);
    const uint64_t took = now_ns() - start;
    printf("{\"ns\": %" PRIu64 ", ", took);
    print_sums(trace);
    printf("}\n");
    marey_trace_free(trace);
}

/* A number of kB in /proc/self/status, in bytes; 0 if the system does not tell. */
static uint64_t status_bytes(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL)
        return 0;
    char line[256];
    uint64_t kilobytes = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            kilobytes = strtoull(line + strlen(key) + 1, NULL, 10);
    }
    (void)fclose(file);
    return kilobytes * 1024;
}

/* Of the columns, those of arrows, which are no events. */
static uint64_t arrow_bytes(const struct marey_trace *trace)
{
    const struct marey_flows flows = marey_trace_flows(trace);
    return flows.n * (sizeof *flows.ts_ns + sizeof *flows.id + sizeof *flows.track_idx +
                      sizeof *flows.label_idx + sizeof *flows.phase);
}

/* Meant as the first request to a process: memory that was freed may stay resident. */
static void request_memory(struct bench *bench)
{
    const uint64_t rss_before = status_bytes("VmRSS");
    const uint64_t start = now_ns();
    struct marey_trace *trace = import(bench, word(bench, 1), false);
    const uint64_t took = now_ns() - start;
    const uint64_t rss_after = status_bytes("VmRSS");
    const uint64_t peak = status_bytes("VmHWM");
    const struct marey_footprint footprint = marey_trace_footprint(trace);
    printf("{\"ns\": %" PRIu64 ", \"rss_before\": %" PRIu64 ", \"rss_after\": %" PRIu64
           ", \"rss_peak\": %" PRIu64 ", \"rss_anon\": %" PRIu64 ", \"column_bytes\": %" PRIu64
           ", \"string_bytes\": %" PRIu64 ", \"lazy_bytes\": %" PRIu64 ", \"other_bytes\": %" PRIu64
           ", \"event_bytes\": %" PRIu64 ", ",
           took, rss_before, rss_after, peak, status_bytes("RssAnon"), footprint.column_bytes,
           footprint.string_bytes, footprint.lazy_bytes, footprint.other_bytes,
           footprint.column_bytes - arrow_bytes(trace));
    print_sums(trace);
    printf("}\n");
    marey_trace_free(trace);
}

/* ---- averages -------------------------------------------------------------------------- */

/* On a trace that was just read, since self times and owners are kept once made. */
static void request_averages(struct bench *bench)
{
    struct marey_trace *trace = import(bench, word(bench, 1), strcmp(word(bench, 2), "warm") == 0);
    const struct marey_averages_options options = {
        .size = sizeof options, .percentiles = strcmp(word(bench, 3), "exact") == 0};
    struct marey_error err = {0};
    const int64_t *self_ns = NULL;
    struct marey_owners owners = {0};
    struct marey_averages *averages = NULL;

    const uint64_t start = now_ns();
    if (marey_trace_self_ns(trace, &self_ns, &err) != MAREY_OK)
        fail(&err);
    const uint64_t after_self = now_ns();
    if (marey_trace_owners(trace, &owners, &err) != MAREY_OK)
        fail(&err);
    const uint64_t after_owners = now_ns();
    if (marey_averages_new(trace, &options, &averages, &err) != MAREY_OK)
        fail(&err);
    const uint64_t end = now_ns();

    size_t n_rows = 0;
    uint64_t n_calls = 0;
    uint64_t n_ranked = 0;
    int64_t row_self_ns = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        n_calls += rows[i].n_calls;
        n_ranked += rows[i].p99_ns != MAREY_UNKNOWN;
        if (!marey_kind_is_device_operation(rows[i].kind))
            row_self_ns += rows[i].self_ns;
    }
    const struct marey_totals totals = marey_averages_totals(averages);
    printf("{\"ns\": %" PRIu64 ", \"self_ns\": %" PRIu64 ", \"owners_ns\": %" PRIu64
           ", \"averages_ns\": %" PRIu64 ", \"complete\": %zu, \"rows\": %zu, \"calls\": %" PRIu64
           ", \"rows_with_p99\": %" PRIu64 ", \"row_self_ns\": %" PRId64
           ", \"python_self_ns\": %" PRId64 ", \"host_self_ns\": %" PRId64
           ", \"device_sum_ns\": %" PRId64 "}\n",
           end - start, after_self - start, after_owners - after_self, end - after_owners,
           marey_trace_slices(trace).n, n_rows, n_calls, n_ranked, row_self_ns,
           totals.python_self_ns, totals.host_self_ns, totals.device_sum_ns);
    marey_averages_free(averages);
    marey_trace_free(trace);
}

/* ---- export ------------------------------------------------------------------------------ */

static uint64_t n_records(const struct marey_trace *trace)
{
    size_t n = 0;
    return marey_trace_sources(trace, &n)->n_records;
}

/* The trace of a file, from the request before if it was the same. */
static struct marey_trace *keep(struct bench *bench, const char *path)
{
    if (strcmp(bench->kept_path, path) == 0)
        return bench->kept;
    marey_trace_free(bench->kept);
    bench->kept = import(bench, path, true);
    (void)snprintf(bench->kept_path, sizeof bench->kept_path, "%s", path);
    return bench->kept;
}

static enum marey_status count_args(void *ctx, size_t i, struct marey_str args)
{
    (void)i;
    *(uint64_t *)ctx += args.len;
    return MAREY_OK;
}

/* The same slices each time: the next is a large step on, modulo their number. */
static void request_look(struct bench *bench)
{
    struct marey_trace *trace = keep(bench, word(bench, 1));
    const struct marey_slices slices = marey_trace_slices(trace);
    const uint64_t n_looks = strtoull(word(bench, 2), NULL, 10);
    struct marey_error err = {0};
    uint64_t n_bytes = 0;
    uint64_t at = 0;
    const uint64_t start = now_ns();
    for (uint64_t i = 0; i < n_looks && slices.n > 0; i++) {
        at = (at + UINT64_C(0x9e3779b97f4a7c15) % slices.n) % slices.n;
        if (marey_trace_walk_args(trace, &slices.offset[at], 1, count_args, &n_bytes, &err) !=
            MAREY_OK)
            fail(&err);
    }
    const uint64_t took = now_ns() - start;
    printf("{\"ns\": %" PRIu64 ", \"ms\": %.6f, \"looks\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n",
           took, (double)took / 1e6, n_looks, n_bytes);
}

/* Into the text of the request before, so that after the first one memory is warm. */
static void request_export_text(struct bench *bench)
{
    struct marey_trace *trace = keep(bench, word(bench, 1));
    struct marey_error err = {0};
    const struct marey_chrome_options options = {
        .size = sizeof options, .omit_args = strcmp(word(bench, 2), "fields") == 0};
    const uint64_t start = now_ns();
    if (marey_export_chrome_text(trace, &options, &bench->text, &err) != MAREY_OK)
        fail(&err);
    printf("{\"ns\": %" PRIu64 ", \"records\": %" PRIu64 ", \"bytes\": %zu}\n", now_ns() - start,
           n_records(trace), bench->text.len);
}

static enum marey_status count_bytes(void *ctx, const void *bytes, size_t len,
                                     struct marey_error *err)
{
    (void)bytes;
    (void)err;
    *(size_t *)ctx += len;
    return MAREY_OK;
}

/* Into the exporter's own block, which is used again for each MiB. */
static void request_export_stream(struct bench *bench)
{
    struct marey_trace *trace = keep(bench, word(bench, 1));
    struct marey_error err = {0};
    const struct marey_chrome_options options = {
        .size = sizeof options, .omit_args = strcmp(word(bench, 2), "fields") == 0};
    size_t n_bytes = 0;
    const uint64_t start = now_ns();
    if (marey_export_chrome_stream(trace, count_bytes, &n_bytes, &options, &err) != MAREY_OK)
        fail(&err);
    printf("{\"ns\": %" PRIu64 ", \"records\": %" PRIu64 ", \"bytes\": %zu}\n", now_ns() - start,
           n_records(trace), n_bytes);
}

static void request_export_file(struct bench *bench)
{
    struct marey_trace *trace = keep(bench, word(bench, 1));
    const struct marey_chrome_options options = {.size = sizeof options, .overwrite = true};
    struct marey_error err = {0};
    const uint64_t start = now_ns();
    if (marey_export_chrome(trace, word(bench, 2), &options, &err) != MAREY_OK)
        fail(&err);
    printf("{\"ns\": %" PRIu64 ", \"records\": %" PRIu64 "}\n", now_ns() - start, n_records(trace));
}

static void request_snprintf(struct bench *bench)
{
    struct marey_trace *trace = keep(bench, word(bench, 1));
    const uint64_t start = now_ns();
    const struct snprintf_result result = snprintf_trace(trace);
    printf("{\"ns\": %" PRIu64 ", \"records\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n",
           now_ns() - start, result.n_records, result.n_bytes);
}

/* ---- requests ------------------------------------------------------------------------------ */

struct request_row {
    const char *name;
    void (*run)(struct bench *bench);
};

static const struct request_row requests[] = {
    {"import", request_import},
    {"memory", request_memory},
    {"look", request_look},
    {"averages", request_averages},
    {"export-text", request_export_text},
    {"export-file", request_export_file},
    {"snprintf", request_snprintf},
    {"export-stream", request_export_stream},
};

static void split(struct bench *bench, char *line)
{
    bench->n_words = 0;
    line[strcspn(line, "\n")] = '\0';
    char *rest = NULL;
    for (char *at = strtok_r(line, "\t", &rest); at != NULL && bench->n_words < MAX_WORDS;
         at = strtok_r(NULL, "\t", &rest))
        bench->words[bench->n_words++] = at;
}

static void answer(struct bench *bench)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(word(bench, 0), requests[i].name) == 0) {
            requests[i].run(bench);
            return;
        }
    }
    fprintf(stderr, "bench_marey: unknown request '%s'\n", word(bench, 0));
    exit(2);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static char line[16384];
    if (argc > 1 && strcmp(argv[1], "cpu") == 0)
        bench_clock = CLOCK_PROCESS_CPUTIME_ID;
    bench.recycler = recycler_new();
    bench.warm = recycler_alloc(bench.recycler);
    while (fgets(line, sizeof line, stdin) != NULL) {
        split(&bench, line);
        answer(&bench);
        (void)fflush(stdout);
    }
    marey_text_release(&bench.text);
    marey_trace_free(bench.kept);
    return 0;
}
