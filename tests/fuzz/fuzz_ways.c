/*
 * fuzz_ways.c - any bytes, read in several ways: the trace must be the same.
 *
 * The first byte chooses the size of the window and how many threads share the work. The other way
 * round is the slow one: one window, the portable scanner, every record by its keys. In half of
 * them all is checked.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "import/import.h"
#include "support/hash_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_bad_gzip(struct marey_trace *trace)
{
    struct marey_ledger ledger = {0};
    if (marey_trace_ledger(trace, &ledger, NULL) != MAREY_OK)
        abort();
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (strcmp(ledger.rows[i].reason, "bad_gzip") == 0)
            return true;
    return false;
}

/* How far a damaged gzip file can be inflated depends on the window by some bytes: whether it
 * is read or refused, and what of it, is not compared. */
static uint64_t outcome(enum marey_status status, struct marey_trace *trace,
                        const struct marey_error *err, bool is_gzip)
{
    if (status != MAREY_OK)
        return is_gzip ? 0 : ((uint64_t)-status * 1000003 + (uint64_t)err->offset_bytes) << 1;
    const uint64_t hash = is_gzip && is_bad_gzip(trace) ? 0 : hash_trace(trace) | 1;
    marey_trace_free(trace);
    return hash;
}

static uint64_t read_memory(struct marey_str bytes, const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    const enum marey_status status = marey__import_bytes(bytes, &alloc, reading, &trace, &err);
    return outcome(status, trace, &err, marey__str_starts(bytes, "\x1f\x8b"));
}

static uint64_t read_path(const char *path, const struct marey_reading *reading, bool is_gzip)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    const enum marey_status status = marey__import_files(&path, 1, &alloc, reading, &trace, &err);
    return outcome(status, trace, &err, is_gzip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[32];
    static int fd = -1;
    if (size == 0)
        return 0;
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        if (fd < 0)
            abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    const struct marey_str bytes = {(const char *)data + 1, size - 1};
    const bool checks_all = (data[0] & 2) != 0;
    const struct marey_reading slow = {
        .portable_only = true, .no_templates = true, .checks_all = checks_all};
    const struct marey_reading fast = {.checks_all = checks_all};
    const struct marey_reading cut = {.window_bytes = 16 + data[0],
                                      .portable_only = (data[0] & 1) != 0,
                                      .checks_all = checks_all};
    const struct marey_reading shared = {.window_bytes = 16 + (size_t)data[0] * 4,
                                         .n_threads = 2 + data[0] % 3,
                                         .checks_all = checks_all};
    const uint64_t wanted = read_memory(bytes, &slow);
    if (read_memory(bytes, &fast) != wanted)
        abort();
    if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes.ptr, bytes.len, 0) != (ssize_t)bytes.len)
        abort();
    const bool is_gzip = marey__str_starts(bytes, "\x1f\x8b");
    if (read_path(path, &cut, is_gzip) != wanted || read_path(path, &shared, is_gzip) != wanted)
        abort();
    return 0;
}
