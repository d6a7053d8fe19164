/*
 * torch_records.h - traces of a few records as JSON text, and torch's view of them.
 *
 *     struct fixture fixture;
 *     open_records(&fixture, OP("outer", "010", "20", "1") "," OP("inner", "012", "3", "2"));
 *     EXPECT_U64(event_at(&fixture, 1)->parent_idx, 0);
 *     close_fixture(&fixture);
 *
 * Times are microseconds after the window's start, with three digits.
 */
#ifndef MAREY_TESTS_TORCH_RECORDS_H
#define MAREY_TESTS_TORCH_RECORDS_H

#include <stdio.h>

#include "marey/aggregate.h"
#include "marey/export.h"
#include "marey/import.h"
#include "support/expect.h"

#define WINDOW                                                                                     \
    "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","         \
    "\"tid\":\"PyTorch Profiler\",\"ts\":1000.000,\"dur\":500.000},"

/* One slice; ts and dur in µs after the window's start. */
#define SLICE(cat, name, tid, at, dur, args)                                                       \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":5,\"tid\":" tid               \
    ",\"ts\":1" at ".000,\"dur\":" dur ".000,\"args\":{" args "}}"

#define OP(name, at, dur, id) SLICE("cpu_op", name, "5", at, dur, "\"External id\": " id)
#define LABEL(name, at, dur, id)                                                                   \
    SLICE("user_annotation", name, "5", at, dur, "\"External id\": " id)

#define KERNEL(name, at, dur, id)                                                                  \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":1" at       \
    ".000,\"dur\":" dur ".000,\"args\":{\"External id\": " id                                      \
    ",\"device\":0,\"stream\":7,\"correlation\":9" id "}}"

#define MEMORY(tid, at, bytes)                                                                     \
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":5,"     \
    "\"tid\":" tid ",\"ts\":1" at ".000,\"args\":{\"Bytes\": " bytes                               \
    ",\"Device Type\": 0,\"Device Id\": -1,\"Addr\": 1}}"

struct fixture {
    struct marey_trace *trace;
    struct marey_torch_view *view;
    struct marey_torch_averages *averages;
    struct marey_text text;
};

/* Loads records, with `head` in front of them, and makes the view. */
static inline void open_with(struct fixture *fixture, const char *head, const char *records,
                             const struct marey_torch_options *options)
{
    char json[8192];
    struct marey_error err = {0};
    *fixture = (struct fixture){0};
    const int len =
        snprintf(json, sizeof json, "{%s\"traceEvents\":[" WINDOW "%s]}", head, records);
    EXPECT_TRUE(len > 0 && (size_t)len < sizeof json);
    EXPECT_OK(
        marey_import_bytes((struct marey_str){json, (size_t)len}, NULL, &fixture->trace, &err),
        &err);
    EXPECT_OK(marey_torch_view_new(fixture->trace, options, &fixture->view, &err), &err);
}

static inline void open_records(struct fixture *fixture, const char *records)
{
    open_with(fixture, "", records, NULL);
}

static inline void close_fixture(struct fixture *fixture)
{
    marey_text_release(&fixture->text);
    marey_torch_averages_free(fixture->averages);
    marey_torch_view_free(fixture->view);
    marey_trace_free(fixture->trace);
}

static inline struct marey_str name_at(const struct fixture *fixture, size_t i)
{
    size_t n = 0;
    const struct marey_torch_event *events = marey_torch_view_events(fixture->view, &n);
    EXPECT_TRUE(i < n);
    return marey_torch_view_string(fixture->view, events[i].name_id);
}

static inline const struct marey_torch_event *event_at(const struct fixture *fixture, size_t i)
{
    size_t n = 0;
    const struct marey_torch_event *events = marey_torch_view_events(fixture->view, &n);
    EXPECT_TRUE(i < n);
    return &events[i];
}

static inline size_t n_events(const struct fixture *fixture)
{
    size_t n = 0;
    (void)marey_torch_view_events(fixture->view, &n);
    return n;
}

/* key_averages().table(...), or why not. */
static inline enum marey_status table(struct fixture *fixture,
                                      const struct marey_torch_table_options *options,
                                      struct marey_error *err)
{
    marey_torch_averages_free(fixture->averages);
    fixture->averages = NULL;
    EXPECT_OK(marey_torch_averages_new(fixture->view, true, 9, true, &fixture->averages, err), err);
    return marey_torch_table_text(fixture->averages, options, &fixture->text, err);
}

#endif
