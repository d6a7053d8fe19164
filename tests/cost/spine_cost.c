/*
 * spine_cost.c - what the hot paths cost in instructions, one function a stage.
 *
 *     spine-cost TRACE.json.gz
 *
 * tools/check_budget.py runs it under callgrind and compares the inclusive count of each
 * stage_* function with benchmarks/budgets.toml. Adding a stage: a function here, a call in
 * main, a row there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "marey/aggregate.h"
#include "marey/export.h"
#include "marey/import.h"
#include "marey/trace.h"

/* Stages keep their names and are not merged, so that callgrind sees each. */
#define STAGE __attribute__((noinline)) static

static void must(enum marey_status status, const struct marey_error *err)
{
    if (status == MAREY_OK)
        return;
    fprintf(stderr, "spine-cost: %s\n", err->message);
    exit(1);
}

/* The whole text of a gzip file; zlib's cost is in no stage. */
static struct marey_str read_gzip(const char *path)
{
    const size_t capacity = (size_t)64 << 20;
    char *bytes = malloc(capacity);
    gzFile file = gzopen(path, "rb");
    int len = -1;
    if (bytes != NULL && file != NULL)
        len = gzread(file, bytes, (unsigned)capacity);
    if (file != NULL)
        gzclose(file);
    if (len <= 0) {
        fprintf(stderr, "spine-cost: cannot read '%s'\n", path);
        exit(1);
    }
    return (struct marey_str){bytes, (size_t)len};
}

STAGE struct marey_trace *stage_import(struct marey_str text)
{
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    /* Shares of several threads would differ from run to run. */
    const struct marey_import_options options = {.size = sizeof options, .n_threads = 1};
    must(marey_import_bytes(text, &options, &trace, &err), &err);
    return trace;
}

STAGE void stage_owners(struct marey_trace *trace)
{
    struct marey_error err = {0};
    struct marey_owners owners = {0};
    must(marey_trace_owners(trace, &owners, &err), &err);
}

STAGE void stage_self(struct marey_trace *trace)
{
    struct marey_error err = {0};
    const int64_t *self_ns = NULL;
    must(marey_trace_self_ns(trace, &self_ns, &err), &err);
}

STAGE struct marey_averages *stage_averages(struct marey_trace *trace)
{
    struct marey_error err = {0};
    const struct marey_averages_options options = {.size = sizeof options};
    struct marey_averages *averages = NULL;
    must(marey_averages_new(trace, &options, &averages, &err), &err);
    return averages;
}

STAGE struct marey_averages *stage_percentiles(struct marey_trace *trace)
{
    struct marey_error err = {0};
    const struct marey_averages_options options = {.size = sizeof options, .percentiles = true};
    struct marey_averages *averages = NULL;
    must(marey_averages_new(trace, &options, &averages, &err), &err);
    return averages;
}

STAGE size_t stage_table(struct marey_averages *averages)
{
    struct marey_error err = {0};
    const struct marey_table_options options = {.size = sizeof options};
    struct marey_text text = {0};
    must(marey_table_text(averages, &options, &text, &err), &err);
    const size_t len = text.len;
    marey_text_release(&text);
    return len;
}

STAGE size_t stage_chrome(struct marey_trace *trace)
{
    struct marey_error err = {0};
    struct marey_text text = {0};
    must(marey_export_chrome_text(trace, NULL, &text, &err), &err);
    const size_t len = text.len;
    marey_text_release(&text);
    return len;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: spine-cost TRACE.json.gz\n");
        return 2;
    }
    const struct marey_str text = read_gzip(argv[1]);
    struct marey_trace *trace = stage_import(text);
    stage_owners(trace);
    stage_self(trace);
    struct marey_averages *averages = stage_averages(trace);
    struct marey_averages *percentiles = stage_percentiles(trace);
    const size_t table_len = stage_table(percentiles);
    const size_t chrome_len = stage_chrome(trace);
    printf("%zu slices, a table of %zu bytes, Chrome JSON of %zu bytes\n",
           marey_trace_slices(trace).n, table_len, chrome_len);

    marey_averages_free(percentiles);
    marey_averages_free(averages);
    marey_trace_free(trace);
    free((void *)(uintptr_t)text.ptr);
    return 0;
}
