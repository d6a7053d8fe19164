/*
 * Tests of src/import/sniff.c: what is no trace, and what stands before one.
 */
#include <stdlib.h>

#include "import/sniff.h"
#include "read_text.h"

static void a_tar_is_named_whatever_it_holds(void **state)
{
    (void)state;
    static const char list[] = LIST(X("a", "1", "1"));
    char tar[1024] = "trace.json";
    struct marey_error err = {0};
    (void)memcpy(tar + 257, "ustar", 5);
    (void)memcpy(tar + 512, list, sizeof list - 1);
    EXPECT_STATUS(read_status(tar, sizeof tar, &err), MAREY_FORMAT);
    EXPECT_HOLDS(err.message, "a tar archive, unpack it first");
}

static void what_is_no_trace_is_named(void **state)
{
    static const struct {
        const char *bytes;
        const char *part;
    } rows[] = {
        {"", "it is empty"},
        {"   \n", "it is no JSON"},
        {"PK\x03\x04 and more", "zip archive"},
        {"\x7f"
         "ELF and more",
         "program or library"},
        {"\x80\x04\x95", "pickle"},
        {"<html>", "HTML"},
        {"{\"a\":1}\n{\"a\":2}\n", "without a list of records"},
        {"[{\"schemaVersion\":1}]", "without a list of records"},
        {"\x01\x02", "binary"},
        {"hello", "no JSON"},
        {"\"text\"", "JSON string"},
        {"{}", "without a list of records"},
        {"{\"traceEvents\": null}", "without a list of records"},
        {"{\"traceEvents\": {}}", "without a list of records"},
        {"[[1, 2], [3]]", "memory timeline"},
        {"[[-1, 0, 512, 1], [2, 3, 4, 5]]", "memory timeline"},
        {"[[[1], [2]]]", "its list holds no records"},
        {"[[[[", "its list holds no records"},
        {"[1, 2]", "no records"},
        {"[[1], {\"a\": 1}]", "memory timeline"},
        {"[null, {\"a\": 1}]", "no records"},
        {"[,]", "no records"},
        {"[\"a\"]", "no records"},
        {"[{\"a\": 1}, {\"b\": 2}]", "no records of a trace"},
        {"{\"traceEvents\": [1]}", "text that is no record at byte 17"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_error err = {0};
        EXPECT_STATUS(read_status(rows[i].bytes, strlen(rows[i].bytes), &err), MAREY_FORMAT);
        EXPECT_HOLDS(err.message, rows[i].part);
        EXPECT_HOLDS(err.message, "cannot read '(bytes)'");
    }
}

#define TRACE "{\"traceEvents\":[" X("a", "1", "1") "],\"distributedInfo\":{\"rank\":3}}"

static void junk_before_a_trace_is_passed_and_counted(void **state)
{
    static const char *const rows[] = {
        "INFO start\n" TRACE,
        "INFO start\r\n\n" TRACE,
        "12:00 INFO " TRACE,
        "[INFO] start\n" TRACE,
        "[2026-01-01 10:00, 1] start\n" TRACE,
        "[INFO] " TRACE,
        "\"start\"\n" TRACE,
        "\"start\" " TRACE,
        "<6>start\n" TRACE,
        "<INFO> " TRACE,
        "{\"schemaVersion\":1}\n" TRACE,
        "{\"traceName\":\"x\",\"distributedInfo\":{}}" TRACE,
        "{\"a\":1}\n" TRACE,
        "{\"a\":1}" TRACE,
        "{\"a\":1}\n{\"a\":[{}]}\nso\n" TRACE,
        "\xef\xbb\xbf\xef\xbb\xbf" TRACE,
        "INFO\n{\"ph\":\"M\",\"distributedInfo\":{\"rank\":3},\n\"traceEvents\":[" X("a", "1",
                                                                                     "1") "]}",
        "INFO\n[" TRACE "]",
        "INFO\n[" X("a", "1", "1") "]",
        "INFO\n" X("a", "1", "1") "\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_trace *trace = read_text(rows[i]);
        size_t n = 0;
        EXPECT_U64(marey_trace_slices(trace).n, 1);
        EXPECT_I64(marey_trace_sources(trace, &n)->rank, strstr(rows[i], "rank") != NULL ? 3 : 0);
        EXPECT_U64(n, 1);
        EXPECT_U64(ledger_count(trace, "syntax"), 1);
        EXPECT_U64(ledger_count(trace, "bad_metadata") + ledger_count(trace, "truncated"), 0);
        marey_trace_free(trace);
    }
}

/* A trace behind n bytes of junk and a line end. */
static enum marey_status read_behind(char junk, size_t n, struct marey_error *err)
{
    static char text[2 * MAREY_JUNK_BYTES + sizeof TRACE];

    memset(text, junk, n);
    text[n] = '\n';
    memcpy(text + n + 1, TRACE, sizeof TRACE - 1);
    return read_status(text, n + sizeof TRACE, err);
}

static void junk_is_looked_through_up_to_a_bound(void **state)
{
    (void)state;
    struct marey_error err = {0};
    EXPECT_OK(read_behind('\0', 100, &err), &err);
    EXPECT_OK(read_behind('x', MAREY_JUNK_BYTES - 1, &err), &err);
    EXPECT_STATUS(read_behind('x', MAREY_JUNK_BYTES, &err), MAREY_FORMAT);
    EXPECT_HOLDS(err.message, "it is no JSON");
}

static void what_holds_no_trace_of_its_own_is_refused(void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"<html>\n" TRACE, "HTML"},
        {"<!DOCTYPE html>\n" TRACE, "HTML"},
        {"<?xml version=\"1.0\"?>\n" TRACE, "HTML or XML"},
        {"\x89PNG\n" TRACE, "picture"},
        {"\"a\n  " TRACE "\"", "JSON string"},
        {"{\"schemaVersion\":1}\nx\n", "without a list of records"},
        {"R = [\n    " TRACE ",\n    {\"ph\":\"X\"},\n]\n", "no JSON"},
        {"write('" TRACE "')\n", "no JSON"},
        {"hello\n{\"traceEvents\":[1,2]}\n", "no JSON"},
        {"hello\n{\"a\":{\"traceEvents\":[]}}\n", "no JSON"},
        {"hello\n{\"ph\":\"7.2\"}\n", "no JSON"},
        {"{\"a\":b}\n{\"ph\":\"7.2\"}\n", "no JSON at byte 5"},
        {"{\"a\":b}\n{\"a\":1}\n", "no JSON at byte 5"},
        {"{\"a\":" TRACE "}\n{\"b\":2}", "without a list of records"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_error err = {0};
        EXPECT_STATUS(read_status(rows[i].text, strlen(rows[i].text), &err), MAREY_FORMAT);
        EXPECT_HOLDS(err.message, rows[i].part);
    }
}

static void wide_characters_are_named(void **state)
{
    static const char *const rows[] = {"{\0\"\0a\0", "[\0{\0\"\0", "\0{\0\"\0a", "\0[\0{\0\"",
                                       "\xff\xfe{\0\"\0"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_error err = {0};
        EXPECT_STATUS(read_status(rows[i], 6, &err), MAREY_FORMAT);
        EXPECT_HOLDS(err.message, "it is UTF-16 text");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tar_is_named_whatever_it_holds),
        cmocka_unit_test(what_is_no_trace_is_named),
        cmocka_unit_test(junk_before_a_trace_is_passed_and_counted),
        cmocka_unit_test(junk_is_looked_through_up_to_a_bound),
        cmocka_unit_test(what_holds_no_trace_of_its_own_is_refused),
        cmocka_unit_test(wide_characters_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
