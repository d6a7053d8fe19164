/*
 * find_row.h - rows of averages by name, for tests.
 */
#ifndef MAREY_TESTS_FIND_ROW_H
#define MAREY_TESTS_FIND_ROW_H

#include "base/str.h"
#include "marey/aggregate.h"
#include "support/expect.h"

static inline struct marey_averages *average(struct marey_trace *trace,
                                             struct marey_averages_options options)
{
    struct marey_averages *averages = NULL;
    struct marey_error err = {0};
    options.size = sizeof options;
    EXPECT_OK(marey_averages_new(trace, &options, &averages, &err), &err);
    return averages;
}

static inline size_t count_rows(const struct marey_averages *averages)
{
    size_t n = 0;
    (void)marey_averages_rows(averages, &n);
    return n;
}

/* NULL if there is no such row. */
static inline const struct marey_average *find_row(const struct marey_averages *averages,
                                                   const char *name, enum marey_kind kind)
{
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind == kind &&
            marey__str_is_c(marey_averages_string(averages, rows[i].name_id), name))
            return &rows[i];
    return NULL;
}

static inline const struct marey_average *need_row(const struct marey_averages *averages,
                                                   const char *name, enum marey_kind kind)
{
    const struct marey_average *row = find_row(averages, name, kind);
    if (row == NULL)
        EXPECT_FAIL(name);
    return row;
}

/* Calls, total and self of a host row without a device. */
static inline void expect_host(const struct marey_averages *averages, const char *name,
                               enum marey_kind kind, uint64_t n_calls, int64_t total_ns,
                               int64_t self_ns)
{
    const struct marey_average *row = need_row(averages, name, kind);
    EXPECT_U64(row->n_calls, n_calls);
    EXPECT_I64(row->total_ns, total_ns);
    EXPECT_I64(row->self_ns, self_ns);
}

static inline void expect_op(const struct marey_averages *averages, const char *name,
                             uint64_t n_calls, int64_t total_ns, int64_t self_ns)
{
    expect_host(averages, name, MAREY_KIND_OP, n_calls, total_ns, self_ns);
}

/* Device time owned, inside, and operations owned. */
static inline void expect_owned(const struct marey_averages *averages, const char *name,
                                enum marey_kind kind, int64_t self_ns, int64_t total_ns,
                                uint64_t n_operations)
{
    const struct marey_average *row = need_row(averages, name, kind);
    EXPECT_I64(row->device_self_ns, self_ns);
    EXPECT_I64(row->device_total_ns, total_ns);
    EXPECT_U64(row->n_device_operations, n_operations);
}

/* A row of device operations. */
static inline void expect_device(const struct marey_averages *averages, const char *name,
                                 enum marey_kind kind, uint64_t n_calls, int64_t sum_ns)
{
    const struct marey_average *row = need_row(averages, name, kind);
    EXPECT_U64(row->n_calls, n_calls);
    EXPECT_I64(row->self_ns, sum_ns);
    EXPECT_I64(row->total_ns, sum_ns);
    EXPECT_I64(row->device_self_ns, 0);
    EXPECT_I64(row->device_total_ns, 0);
    EXPECT_U64(row->n_device_operations, 0);
}

#endif
