/*
 * make_table.h - from a made trace to a printed table, and lines of it.
 */
#ifndef MAREY_TESTS_MAKE_TABLE_H
#define MAREY_TESTS_MAKE_TABLE_H

#include "base/str.h"
#include "marey/export.h"
#include "support/expect.h"
#include "support/make_trace.h"

#include <stdlib.h>
#include <string.h>

/* The table of a trace; the text is the caller's. */
static inline struct marey_text table_of(struct marey_trace *trace,
                                         struct marey_averages_options grouping,
                                         struct marey_table_options options)
{
    struct marey_error err = {0};
    struct marey_averages *averages = NULL;
    struct marey_text text = {0};
    grouping.size = sizeof grouping;
    options.size = sizeof options;
    EXPECT_OK(marey_averages_new(trace, &grouping, &averages, &err), &err);
    EXPECT_OK(marey_table_text(averages, &options, &text, &err), &err);
    EXPECT_U64(strlen(text.ptr), text.len);
    marey_averages_free(averages);
    return text;
}

/* The message of a table that cannot be made; *text must stay as it was. */
static inline void expect_no_table(struct marey_trace *trace, struct marey_table_options options,
                                   const char *message)
{
    struct marey_error err = {0};
    struct marey_averages *averages = NULL;
    struct marey_text text = {0};
    options.size = sizeof options;
    EXPECT_OK(marey_averages_new(trace, NULL, &averages, &err), &err);
    EXPECT_STATUS(marey_table_text(averages, &options, &text, &err), MAREY_INVALID);
    EXPECT_STR(err.message, message);
    EXPECT_TRUE(text.ptr == NULL && text.len == 0);
    marey_averages_free(averages);
}

/* Four threads' worth of nothing special: P [0,100] us with A [10,40] and A [50,60] in it,
 * and a kernel of 20 us that A launched. */
static inline struct marey_trace *small_trace(void)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "P", 0, 100000);
    make_slice(&make, "cpu_op", "A", 10000, 40000);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 12000, 14000, 7);
    make_slice(&make, "cpu_op", "A", 50000, 60000);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 20000, 40000, 7);
    return make_trace_end(&make);
}

/* Slices named by `names`, 10 us each, on one thread or stream. */
static inline struct marey_trace *named_trace(const char *category, const char *const *names,
                                              size_t n)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    if (strcmp(category, "kernel") == 0)
        make_stream(&make, 0, 7);
    else
        make_thread(&make, "1", "1");
    for (size_t i = 0; i < n; i++)
        make_slice(&make, category, names[i], (int64_t)i * 20000, (int64_t)i * 20000 + 10000);
    return make_trace_end(&make);
}

#endif
