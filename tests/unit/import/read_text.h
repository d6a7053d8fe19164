/*
 * read_text.h - traces from JSON text in a test, and what the ledger says about them.
 */
#ifndef MAREY_TESTS_READ_TEXT_H
#define MAREY_TESTS_READ_TEXT_H

#include <string.h>

#include "base/str.h"
#include "import/import.h"
#include "support/expect.h"
#include "support/ledger.h"

#define X(name, ts, dur)                                                                           \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts        \
    ",\"dur\":" dur "}"
#define LIST(records) "{\"traceEvents\":[" records "]}"

static inline struct marey_trace *read_bytes_as(const char *bytes, size_t len,
                                                const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    EXPECT_OK(marey__import_bytes((struct marey_str){bytes, len}, &alloc, reading, &trace, &err),
              &err);
    return trace;
}

static inline struct marey_trace *read_text(const char *json)
{
    const struct marey_reading reading = {0};
    return read_bytes_as(json, strlen(json), &reading);
}

/* The status of text that must not load; its message is in err. */
static inline enum marey_status read_status(const char *bytes, size_t len, struct marey_error *err)
{
    struct marey_trace *trace = NULL;
    const enum marey_status status =
        marey_import_bytes((struct marey_str){bytes, len}, NULL, &trace, err);
    marey_trace_free(trace);
    return status;
}

static inline struct marey_str name_of(const struct marey_trace *trace, size_t slice)
{
    return marey_trace_string(trace, marey_trace_slices(trace).name_id[slice]);
}

#endif
