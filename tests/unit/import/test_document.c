/*
 * Tests of src/import/document.c: head and tail, damage, several documents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "import/resync.h"
#include "read_text.h"
#include "support/hash_trace.h"

static void members_are_kept_in_file_order(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(
        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"trace_id\": \"AB\", "
        "\"traceEvents\": [" X("a", "1", "1") "], \"displayTimeUnit\": \"ms\", "
                                              "\"traceName\": \"x.json\", \"INFO\": []}");
    size_t n = 0;
    const struct marey_meta *meta = marey_trace_metas(trace, &n);
    EXPECT_U64(n, 6);
    EXPECT_VIEW(marey_trace_string(trace, meta[1].key_id), "deviceProperties");
    EXPECT_VIEW(marey_trace_string(trace, meta[1].json_id), "[{\"id\": 0}]");
    EXPECT_VIEW(marey_trace_meta(trace, "trace_id"), "\"AB\"");
    EXPECT_VIEW(marey_trace_meta(trace, "traceName"), "\"x.json\"");
    marey_trace_free(trace);
}

static void keys_of_members_are_resolved(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text("{\"a\\\"b\\u00e9\\n\": 1, \"\": 2, \"\\u0061\": 3, "
                                          "\"traceEvents\": [" X("a", "1", "1") "]}");
    size_t n = 0;
    const struct marey_meta *meta = marey_trace_metas(trace, &n);
    EXPECT_U64(n, 3);
    EXPECT_VIEW(marey_trace_string(trace, meta[0].key_id), "a\"b\xc3\xa9\n");
    EXPECT_VIEW(marey_trace_string(trace, meta[1].key_id), "");
    EXPECT_VIEW(marey_trace_meta(trace, "a"), "3");
    marey_trace_free(trace);
}

/* Members of the document that records have as well, as add_metadata may name them. */
static void a_document_may_have_a_phase_of_its_own(void **state)
{
    static char long_head[3 * MAREY_RECORD_LOOK_BYTES];
    static char in_list[3 * MAREY_RECORD_LOOK_BYTES];
    static const char *const rows[] = {
        "{\"ph\":\"M\",\"traceEvents\":[" X("a", "1", "1") "]}",
        "{\"traceEvents\":[" X("a", "1", "1") "],\"ph\":\"M\"}",
        "{\"name\":\"x\",\"ph\":\"X\",\"ts\":1,\"a\":{\"traceEvents\":[]},\"\\u0074raceEvents\":"
        "[" X("a", "1", "1") "]}",
        "[{\"ph\":\"M\",\"traceEvents\":[" X("a", "1", "1") "]}]",
        "[{\"x\":1,\"traceEvents\":[" X("a", "1", "1") "]}]",
        long_head,
        in_list,
    };
    (void)state;
    (void)snprintf(long_head, sizeof long_head, "{\"ph\":\"M\",\"x\":\"%*d\",\"traceEvents\":[%s]}",
                   2 * MAREY_RECORD_LOOK_BYTES, 0, X("a", "1", "1"));
    (void)snprintf(in_list, sizeof in_list, "[{\"ph\":\"M\",\"x\":\"%*d\",\"traceEvents\":[%s]}]",
                   2 * MAREY_RECORD_LOOK_BYTES, 0, X("a", "1", "1"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_trace *trace = read_text(rows[i]);
        size_t n = 0;
        EXPECT_U64(marey_trace_slices(trace).n, 1);
        EXPECT_U64(marey_trace_sources(trace, &n)->n_records, 1);
        EXPECT_U64(n, 1);
        marey_trace_free(trace);
    }
}

static void base_time_counts_wherever_it_stands(void **state)
{
    static const char *const rows[] = {
        "{\"baseTimeNanoseconds\": 1000, \"traceEvents\": [" X("a", "1", "1") "]}",
        "{\"traceEvents\": [" X("a", "1", "1") "], \"baseTimeNanoseconds\": 1000}",
        "{\"traceEvents\": [" X("a", "1", "1") "], \"baseTimeNanoseconds\": 10.00e+2}",
        "{\"traceEvents\": [" X("a", "1", "1") "], \"baseTimeNanoseconds\": \"100000e-2\"}",
        "{\"traceEvents\": [" X("a", "1", "1") "], \"baseTimeNanoseconds\": \"1000\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_trace *trace = read_text(rows[i]);
        EXPECT_I64(marey_trace_slices(trace).start_ns[0], 2000);
        EXPECT_U64(ledger_count(trace, "number_as_text"), strstr(rows[i], ": \"1000") != NULL);
        EXPECT_U64(ledger_count(trace, "bad_metadata"), 0);
        marey_trace_free(trace);
    }
}

static void rank_comes_from_the_file_or_is_assumed(void **state)
{
    (void)state;
    size_t n = 0;
    struct marey_trace *trace = read_text("{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": "
                                          "3, \"world_size\": 8}, \"traceEvents\": []}");
    const struct marey_source *source = marey_trace_sources(trace, &n);
    EXPECT_I64(source->rank, 3);
    EXPECT_I64(source->world_size, 8);
    EXPECT_FALSE(source->rank_is_assumed);
    EXPECT_U64(ledger_count(trace, "rank_assumed"), 0);
    EXPECT_U64(ledger_count(trace, "no_events"), 1);
    marey_trace_free(trace);

    trace = read_text("[]");
    source = marey_trace_sources(trace, &n);
    EXPECT_I64(source->rank, 0);
    EXPECT_I64(source->world_size, MAREY_UNKNOWN);
    EXPECT_TRUE(source->rank_is_assumed);
    EXPECT_U64(ledger_count(trace, "rank_assumed"), 1);
    marey_trace_free(trace);
}

static void a_world_that_cannot_be_is_bad_metadata(void **state)
{
    static const struct {
        const char *size;
        int64_t world_size;
        uint64_t n_missing;
        uint64_t n_bad;
    } rows[] = {
        {"9000000000000000000", MAREY_UNKNOWN, 0, 1},
        {"16777217", MAREY_UNKNOWN, 0, 1},
        {"\"-2\"", MAREY_UNKNOWN, 0, 1},
        {"2.5", MAREY_UNKNOWN, 0, 1},
        {"16777216", 16777216, 16777215, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[200];
        size_t n = 0;
        (void)snprintf(
            text, sizeof text,
            "{\"distributedInfo\": {\"rank\": 1, \"world_size\": %s}, \"traceEvents\": []}",
            rows[i].size);
        struct marey_trace *trace = read_text(text);
        EXPECT_I64(marey_trace_sources(trace, &n)->rank, 1);
        EXPECT_I64(marey_trace_sources(trace, &n)->world_size, rows[i].world_size);
        EXPECT_U64(ledger_count(trace, "other_ranks"), rows[i].n_missing);
        EXPECT_U64(ledger_count(trace, "bad_metadata"), rows[i].n_bad);
        marey_trace_free(trace);
    }
}

/* The last of each source counts; a list cannot be replaced. */
static void a_member_that_stands_twice_is_counted(void **state)
{
    (void)state;
    struct marey_trace *trace =
        read_text("{\"a\": 1, \"baseTimeNanoseconds\": 5, \"\\u0061\": 2, \"traceEvents\": [" X(
            "a", "1", "1") "],"
                           "\"baseTimeNanoseconds\": 1000, \"traceEvents\": [" X(
                               "b", "2", "1") "]}"
                                              "{\"a\": 7, \"traceEvents\": []}");
    size_t n = 0;
    const struct marey_meta *meta = marey_trace_metas(trace, &n);
    EXPECT_U64(n, 3);
    EXPECT_VIEW(marey_trace_string(trace, meta[0].json_id), "2");
    EXPECT_VIEW(marey_trace_string(trace, meta[1].json_id), "1000");
    EXPECT_VIEW(marey_trace_string(trace, meta[2].json_id), "7");
    EXPECT_U64(ledger_count(trace, "duplicate_key"), 3);
    EXPECT_U64(marey_trace_slices(trace).n, 2);
    EXPECT_I64(marey_trace_slices(trace).start_ns[0], 2000);
    marey_trace_free(trace);
}

static void a_byte_order_mark_is_passed(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text("\xef\xbb\xbf" LIST(X("a", "1", "1")));
    EXPECT_U64(marey_trace_slices(trace).n, 1);
    EXPECT_U64(MAREY_OFFSET_BYTE(marey_trace_slices(trace).offset[0]), 19);
    marey_trace_free(trace);
}

static void broken_text_is_placed(void **state)
{
    static const struct {
        const char *json;
        int64_t offset;
    } rows[] = {
        {"[{\"ph\":\"X\",\"name\":\"a\"b\",\"ts\":1,\"dur\":1}]", 21},
        {"[{\"ph\":\"X\"", 10},
        {"[{\"ph\":\"X\",\"na", 14},
        {"[{\"ph\":\"M\",}]", 11},
        {"[{\"ph\":\"M\",\"args\":{\"a\":[1}", 26},
        /* Two records with a quote too many each: what lies between is no string. */
        {"[{\"ph\":\"X\",\"args\":{\"a\":\"b\"c\"}},{\"ph\":\"X\",\"args\":{\"a\":\"b\"c\"}}]", 26},
        {"[{\"ph\":\"X\",\"args\":{\"a\":\"say \"hi\"\"}}]", 29},
        {"[{\"ph\":\"M\",\"ts\":nul}]", 16},
        {"{\"traceEvents\":[{\"ph\":\"X\"]}\n[{\"ph\":\"M\"]", 25},
        {"{\"a\" 1}", 5},
        {"{\"a\":1 \"b\":2}", 7},
        {"{\"a\":\"unended", 13},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_error err = {0};
        EXPECT_STATUS(read_status(rows[i].json, strlen(rows[i].json), &err), MAREY_FORMAT);
        EXPECT_I64(err.offset_bytes, rows[i].offset);
    }
}

/* A record, and one that is broken. */
#define M "{\"ph\":\"M\"}"
#define B "{\"ph\":\"M\",\"name\":\"a\"b\"}"

static void damage_is_passed_over_and_counted(void **state)
{
    static const struct {
        const char *json;
        uint64_t n_records; /* broken ones too */
        const char *reason;
        uint64_t count;
        const char *other; /* NULL, or another reason, once */
    } rows[] = {
        {"[" M " " M "]", 2, "punctuation", 1, NULL},
        {"[" M ",," M "]", 2, "punctuation", 1, NULL},
        {"[" M ",,," M "]", 2, "punctuation", 2, NULL},
        {"[" M ",]", 1, "punctuation", 1, NULL},
        {"[" M, 1, "truncated", 1, NULL},
        {"[" M ", ", 1, "truncated", 1, NULL},
        {"{\"traceEvents\":[" M "]", 1, "truncated", 1, NULL},
        {"{\"traceEvents\":[" M "],\"a", 1, "truncated", 1, NULL},
        {"[" M "," M ",{\"ph\":\"M\",\"na", 3, "truncated", 1, "partial"},
        {"[" B "," M "]", 2, "syntax", 1, NULL},
        {"[" M "," B "," M "]", 3, "syntax", 1, NULL},
        {"[" M "," B "," B "," M "]", 4, "syntax", 2, NULL},
        {"[" M "," B "]", 2, "syntax", 1, NULL},
        {"[" M " " B "," M "]", 3, "syntax", 1, "punctuation"},
        {"[" M "," B "," M ",{\"ph\"", 4, "syntax", 1, "partial"},
        {"{\"traceEvents\":[" M "," B "],\"a\":[{}]}", 2, "syntax", 1, NULL},
        {"[" M ", what is this," M "]", 3, "syntax", 1, NULL},
        {"[" M ", what is this, " M "]", 3, "syntax", 1, NULL},
        {"{\"traceEvents\":[" M ",/* x */" M "]} // x", 3, "syntax", 1, "bad_metadata"},
        {"{\"traceEvents\":[" M "," B "]} // x", 2, "syntax", 1, "bad_metadata"},
        /* What looks like the end of the list, or like a record, is within one. */
        {"[" M ",{\"ph\":\"M\",\"args\":{\"x\":\"a\"b\",\"y\":[{},{}]}}," M "]", 3, "syntax", 1,
         NULL},
        {"[" M ",1,\"x\"," M "," M "]", 4, "syntax", 1, NULL},
        {"[" M ",\"x\",[\"{\",{}],,null,\n" M "]", 3, "syntax", 1, NULL},
        {"[" M ",\"x\": 1," M "," M "]", 4, "syntax", 1, NULL},
        {"[null," M "]", 2, "syntax", 1, NULL},
        {"[1,\"x\",[]," M "]", 2, "syntax", 1, NULL},
        {"[[1],[2]," M "]", 2, "syntax", 1, NULL},
        {"[," M "]", 1, "punctuation", 1, NULL},
        {"[what is this " M "]", 2, "syntax", 1, NULL},
        {"{\"traceEvents\":[],}", 0, "punctuation", 1, NULL},
        {"[" M "] x", 1, "bad_metadata", 1, NULL},
        {"[" M "] {\"a\":1}", 1, "bad_metadata", 1, NULL},
        {"[" M "]\n[" M "," M "]", 1, "joined_documents", 1, NULL},
        {"[" M "]{\"a\":1,\"traceEvents\":[" M "," B, 1, "joined_documents", 1, "partial"},
        {"[" M "][" M "]{\"traceEvents\":[{\"a\":1}]}", 1, "joined_documents", 2, "bad_metadata"},
        {"{\"traceEvents\":[" M "] \"a\":1}", 1, "bad_metadata", 1, NULL},
        {"{\"a\":\"b\"c\",\"traceEvents\" : [" M "]}", 1, "bad_metadata", 1, NULL},
        {"{\"a\":b,\"traceEvents\":[" M ",]}", 1, "bad_metadata", 1, "punctuation"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_trace *trace = read_text(rows[i].json);
        size_t n = 0;
        EXPECT_U64(marey_trace_sources(trace, &n)->n_records, rows[i].n_records);
        EXPECT_U64(ledger_count(trace, rows[i].reason), rows[i].count);
        if (rows[i].other != NULL)
            EXPECT_U64(ledger_count(trace, rows[i].other), 1);
        marey_trace_free(trace);
    }
}

/* What it ends with looks like the end of a list, and a tail, that are those of its args. */
static void a_cut_behind_args_is_a_cut(void **state)
{
#define CUT "{\"schemaVersion\":1,\"traceEvents\":[" M ",{\"ph\":\"X\",\"args\":{\"a\":"
    static const char *const rows[] = {
        CUT "[[1,2],[3]],\"b\":200}",           CUT "[[1,2],[3]],\"b\":200 }\n", CUT "[[1,2],[3]]",
        CUT "{\"c\":[{}],\"b\":{\"d\":\"x\"}}", CUT "[\"]\",2],\"b\":2}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_trace *trace = read_text(rows[i]);
        size_t n = 0;
        (void)marey_trace_metas(trace, &n);
        EXPECT_U64(n, 1);
        EXPECT_U64(ledger_count(trace, "partial"), 1);
        EXPECT_U64(ledger_count(trace, "truncated"), 1);
        EXPECT_U64(ledger_count(trace, "syntax"), 0);
        marey_trace_free(trace);
    }
#undef CUT
}

/* A broken record ends no file. */
static void a_list_ends_behind_a_broken_record(void **state)
{
    static const char *const rows[] = {
        "[" M ",{\"ph\":\"M\",\"args\":{\"a\":[1],\"b\":2]",
        "{\"traceEvents\":[" M ",{\"ph\":\"M\",\"args\":{\"a\":[1]],\"a\":[2]}",
        "{\"traceEvents\":[" M ",{\"ph\":\"M\",\"a\":[1],\"b\":\"x}],\"a\":[2]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_trace *trace = read_text(rows[i]);
        EXPECT_U64(ledger_count(trace, "syntax"), 1);
        EXPECT_U64(ledger_count(trace, "partial"), 0);
        EXPECT_U64(ledger_count(trace, "truncated"), 0);
        marey_trace_free(trace);
    }
}

#define TAIL "\"distributedInfo\":{\"rank\":3}"

/* M is a record. */
struct bracketed {
    const char *json;
    uint64_t n_records; /* without what is broken */
    uint64_t n_broken;
    bool has_tail;
};

/* All of them are read, and the tail is. */
static void expect_all_read(const struct bracketed *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct marey_trace *trace = read_text(rows[i].json);
        size_t n = 0;
        const struct marey_source *source = marey_trace_sources(trace, &n);
        EXPECT_U64(n, 1);
        EXPECT_U64(source->n_records, rows[i].n_records + rows[i].n_broken);
        EXPECT_U64(source->n_metadata, rows[i].n_records);
        EXPECT_I64(source->rank, rows[i].has_tail ? 3 : 0);
        EXPECT_U64(ledger_count(trace, "syntax"), rows[i].n_broken);
        EXPECT_U64(ledger_count(trace, "truncated"), 0);
        EXPECT_U64(ledger_count(trace, "bad_metadata"), 0);
        marey_trace_free(trace);
    }
}

static void a_bracket_too_many_ends_no_list(void **state)
{
    (void)state;
    static const struct bracketed rows[] = {
        {"{\"traceEvents\":[" M "]," M "," M "]," TAIL "}", 3, 1, true},
        {"{\"traceEvents\":[" M "]" M "," M "]," TAIL "}", 3, 1, true},
        {"{\"traceEvents\":[" M "],\n" M ",\n" M "\n]," TAIL "}", 3, 1, true},
        {"{\"traceEvents\":[" M "]]," M "]," M "]," TAIL "}", 3, 2, true},
        {"{\"traceEvents\":[" M "]}," M "," M "]," TAIL "}", 3, 1, true},
        {"{\"traceEvents\":[" M "]}}," M "]," M "]," TAIL "}", 3, 2, true},
        {"{\"traceEvents\":[" M "]," TAIL "}," M "," M "]}", 3, 1, true},
        {"{\"traceEvents\":[" M "]," TAIL "}\n" M "\n" M "\n", 3, 1, true},
        {"{\"traceEvents\":[" M "]," TAIL "}\n}\n" M ",\n" M "]", 3, 1, true},
        {"{\"traceEvents\":[" M "]," TAIL "}\n" M "\n" M, 3, 1, true},
        {"{\"traceEvents\":[" M ",[" M "]," M "]," TAIL "}", 3, 2, true},
        {"{\"traceEvents\":[" M ",[" M "]]," TAIL "}", 2, 2, true},
        {"{\"traceEvents\":[" M "],[" M "]," TAIL "}", 2, 1, true},
        {"{\"traceEvents\":[" M "][" M "]," TAIL "}", 2, 1, true},
        {"{\"traceEvents\":[]," M "," M "]," TAIL "}", 2, 1, true},
        {"{\"traceEvents\":[" M "],null," M "]," TAIL "}", 2, 1, true},
        {"{\"traceEvents\":[" M "]; " M "," M "]," TAIL "}", 3, 1, true},
        {"[" M "]," M "," M "]", 3, 1, false},
        {"[" M "]\n" M "\n" M "\n", 3, 1, false},
        {"[" M ",[" M "]]", 2, 2, false},
        {"[" M "]},\n" M "]", 2, 1, false},
        {M "\n]\n" M "\n", 2, 1, false},
        {"[{\"traceEvents\":[" M "]," TAIL "}," M "," M "]", 3, 1, true},
        {"[" M "]; " M "," M "]", 3, 1, false},
        {"[" M "]\nhello [1]\n" M "\n" M "\n", 3, 1, false},
        /* In place of the brace of a record. */
        {"{\"traceEvents\":[" M "\n]\"name\":\"a\",\"ph\":\"M\"}\n," M "]," TAIL "}", 2, 1, true},
        {"{\"traceEvents\":[" M "]}\"ph\":\"M\",\"x\":[{},[1]]}," M "," M "]," TAIL "}", 3, 1,
         true},
        {"{\"traceEvents\":[]\"ph\":\"M\"}," M "," M "]," TAIL "}", 2, 1, true},
        {"[" M "]\"ph\":\"M\"}," M "," M "]", 3, 1, false},
        {"[" M "]}\n\"ph\":\"M\"}," M "," M "]", 3, 1, false},
        {M "\n]\"ph\":\"M\"}\n" M "\n" M "\n", 3, 1, false},
        {M "\n]}\"ph\":\"M\"}\n" M "\n" M "\n", 3, 1, false},
        /* What looks like a record in a tail is none. */
        {"{\"traceEvents\":[" M "],\"x\":[" M "," M "],\"y\":" M "," TAIL "}", 1, 0, true},
        {"{\"traceEvents\":[" M "],\"x\":[[" M "]," M "]," TAIL ",\"x\":[]}", 1, 0, true},
    };

    expect_all_read(rows, sizeof rows / sizeof rows[0]);
}

static void a_bracket_for_the_front_of_a_record_ends_no_list(void **state)
{
    (void)state;
    static const struct bracketed rows[] = {
        {"{\"traceEvents\":[" M ",]},\"name\":\"a\",\"ts\":1}," M "," M "]," TAIL "}", 3, 1, true},
        {"{\"traceEvents\":[" M ",]},\"ph\":\"M\"}," M "]," TAIL "}", 2, 1, true},
        {"{\"traceEvents\":[" M ",]],\"x\":[\"a\"]},\"pid\":1}," M "," M "]," TAIL "}", 3, 1, true},
        {"{\"traceEvents\":[" M ",],\"x\":[{}]}},\n" M "]," TAIL "}", 2, 1, true},
        {"{\"traceEvents\":[" M ",]\",\"\",\"b\"]},\"pid\":1}," M "]," TAIL "}", 2, 1, true},
        {"{\"traceEvents\":[]},\"name\":\"a\"}," M "," M "]," TAIL "}", 2, 1, true},
        {"[" M ",]},\"name\":\"a\"}," M "," M "]", 3, 1, false},
        {"[]],\"x\":[\"a\"]},\"pid\":1}," M "," M "]", 2, 1, false},
        {M "\n]},\"pid\":1}\n" M "\n" M "\n", 3, 1, false},
        {M "\n]],\"o\":{\"x\":[{\"y\":1}]}}}\n" M "\n", 2, 1, false},
    };

    expect_all_read(rows, sizeof rows / sizeof rows[0]);
}

/* Behind the end of a document begins another. */
static void a_document_behind_a_list_is_not_read_as_its_rest(void **state)
{
    static const char *const rows[] = {
        "[" M "][" M "]",
        "[" M "]\n[" M "]",
        "{\"traceEvents\":[" M "]}{\"ph\":\"M\",\"traceEvents\":[" M "]}",
        "{\"traceEvents\":[" M "]}\n{\"x\":1,\"traceEvents\":[" M "]}",
        "[{\"traceEvents\":[" M "]},{\"x\":1,\"traceEvents\":[" M "]}]",
        "[{\"traceEvents\":[" M "]},{\"ph\":\"M\",\"traceEvents\":[" M "]}]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_trace *trace = read_text(rows[i]);
        size_t n = 0;
        const struct marey_source *source = marey_trace_sources(trace, &n);
        EXPECT_U64(n, 2);
        EXPECT_U64(source[0].n_records, 1);
        EXPECT_U64(source[1].n_records, 1);
        EXPECT_U64(ledger_count(trace, "joined_documents"), 1);
        EXPECT_U64(ledger_count(trace, "syntax"), 0);
        marey_trace_free(trace);
    }
}

static void words_that_are_no_numbers_pass_in_args(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,"
        "\"args\":{\"a\":NaN,\"b\":-Infinity,\"c\":[inf,true,null,1E-5],\"correlation\":3}}]");
    EXPECT_U64(marey_trace_links(trace).n, 1);
    marey_trace_free(trace);
}

/* A base time that cannot be, as first and as second document. */
static void a_base_time_out_of_range_is_no_base_time(void **state)
{
    (void)state;
    static const char *const values[] = {
        "9223372036854775807", "\"abc\"", "1.79e19", "-3e18", "1.5", "\"100001e-2\"", "1.05e1"};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char json[256];
        size_t n = 0;
        snprintf(json, sizeof json,
                 "{\"baseTimeNanoseconds\":%s,\"traceEvents\":[" M "]}"
                 "{\"traceEvents\":[" M "],\"baseTimeNanoseconds\":%s}{\"traceEvents\":[" M "]}",
                 values[i], values[i]);
        struct marey_trace *trace = read_text(json);
        const struct marey_source *source = marey_trace_sources(trace, &n);
        EXPECT_U64(n, 3);
        EXPECT_I64(source[0].base_ns, 0);
        EXPECT_U64(source[0].n_records + source[1].n_records + source[2].n_records, 3);
        EXPECT_U64(ledger_count(trace, "bad_metadata"), 2);
        marey_trace_free(trace);
    }
}

/* ---- several documents ----------------------------------------------------------------------- */

/* The text of a row read in many ways, of which all must see the same sources and records. */
struct expected {
    const char *text;
    uint64_t n_sources;
    uint64_t n_records;    /* of all sources, broken ones too */
    const char *reason;    /* NULL, or one that must be there */
    const char *no_reason; /* NULL, or one that must not */
};

/* Returns the hash of all that the trace says. */
static uint64_t expect_sources(const struct expected *expected, const char *path,
                               const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    uint64_t n_records = 0;
    size_t n = 0;

    EXPECT_OK(marey__import_files(&path, 1, &alloc, reading, &trace, &err), &err);
    const struct marey_source *source = marey_trace_sources(trace, &n);
    for (size_t i = 0; i < n; i++)
        n_records += source[i].n_records;
    EXPECT_U64(n, expected->n_sources);
    EXPECT_U64(n_records, expected->n_records);
    EXPECT_U64(ledger_count(trace, "joined_documents"), n - 1);
    if (expected->reason != NULL)
        EXPECT_TRUE(ledger_count(trace, expected->reason) > 0);
    if (expected->no_reason != NULL)
        EXPECT_U64(ledger_count(trace, expected->no_reason), 0);
    EXPECT_OK(marey_trace_decode_args(trace, MAREY_ARG_BIT(MAREY_N_ARGS) - 1, &err), &err);
    const uint64_t hash = hash_trace(trace);
    marey_trace_free(trace);
    return hash;
}

/* Through a file, since text in memory is one window. */
static void expect_in_all_windows(const struct expected *rows, size_t n_rows)
{
    static const size_t windows[] = {0, 16, 17, 23, 40, 64, 65, 100, 1000};
    char path[] = "/tmp/marey-document-XXXXXX";
    const int fd = mkstemp(path);

    EXPECT_TRUE(fd >= 0);
    for (size_t i = 0; i < n_rows; i++) {
        const size_t len = strlen(rows[i].text);
        EXPECT_I64(ftruncate(fd, 0), 0);
        EXPECT_I64(pwrite(fd, rows[i].text, len, 0), (int64_t)len);
        const struct marey_reading slow = {
            .n_threads = 1, .portable_only = true, .no_templates = true};
        const uint64_t want = expect_sources(&rows[i], path, &slow);
        for (size_t k = 0; k < sizeof windows / sizeof windows[0]; k++)
            for (size_t n_threads = 1; n_threads <= 3; n_threads += 2) {
                const struct marey_reading reading = {.window_bytes = windows[k],
                                                      .n_threads = n_threads};
                EXPECT_U64(expect_sources(&rows[i], path, &reading), want);
            }
    }
    (void)close(fd);
    (void)unlink(path);
}

#define DOCUMENT "{\"schemaVersion\":1,\n\"traceEvents\":[" M "," M "]}"

/* What a document lacks at its end costs no record of the next one. */
static void a_document_behind_a_damaged_one_is_read(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"{\"traceEvents\":[" M "," M DOCUMENT, 2, 4, "truncated", NULL},
        {"{\"traceEvents\":[" M "," M "\n" DOCUMENT, 2, 4, "truncated", NULL},
        {"{\"traceEvents\":[" M "," M ",\n" DOCUMENT, 2, 4, "truncated", NULL},
        {"{\"traceEvents\":[" M ",{\"ph\":\"X\",\"na" DOCUMENT, 2, 4, "partial", NULL},
        {"{\"traceEvents\":[" M ",{\"ph\":\"X\",\"name\":\"a" DOCUMENT, 2, 4, "partial", NULL},
        {"{\"traceEvents\":[" M ",{\"ph\":\"X\",\"args\":{" DOCUMENT, 2, 4, "partial", NULL},
        {"{\"traceEvents\":[" M "]" DOCUMENT, 2, 3, "bad_metadata", NULL},
        {"{\"traceEvents\":[" M "]}," DOCUMENT, 2, 3, "bad_metadata", NULL},
        {"{\"traceEvents\":[" M "]} garbage [{} " DOCUMENT, 2, 3, "bad_metadata", NULL},
        {"{\"traceEvents\":[" M "]}{\"traceEvents\":7}" DOCUMENT, 3, 3, "bad_metadata", NULL},
        {"{\"traceEvents\":[" M "," M "\n" DOCUMENT "x" DOCUMENT, 3, 6, "truncated", NULL},
        /* Where the first record is to begin; to its end it would be one large record. */
        {"{\"traceEvents\":[" DOCUMENT, 2, 2, "truncated", "partial"},
        {"{\"traceEvents\":[" DOCUMENT "]}", 2, 2, "bad_metadata", "partial"},
        {"{\"traceEvents\":[{\"schemaVersion\":1,\"traceEvents\":[" DOCUMENT, 3, 2, "truncated",
         "partial"},
        {"{\"traceEvents\":[" M ",{\"ph\":\"X\",\"name\":\"a{\"traceEvents\":[" DOCUMENT, 3, 4,
         "partial", NULL},
        /* A tail that ends within a string, a key, a value. */
        {"{\"traceEvents\":[" M "],\"traceName\":\"/tmp/x." DOCUMENT, 2, 3, "truncated", NULL},
        {"{\"traceEvents\":[" M "],\"traceName\":\"/tmp/a longer name of a file, more than one "
         "window of some of them/x.\n" DOCUMENT DOCUMENT,
         3, 5, "truncated", NULL},
        {"{\"traceEvents\":[" M "],\"a\":1,\"traceName\":\"" DOCUMENT, 2, 3, "truncated", NULL},
        {"{\"traceEvents\":[" M "],\"traceNa" DOCUMENT, 2, 3, "bad_metadata", NULL},
        {"{\"traceEvents\":[" M "],\"traceName\":" DOCUMENT, 2, 3, "truncated", NULL},
        {"{\"traceEvents\":[" M "],\"traceName\": \n " DOCUMENT, 2, 3, "truncated", NULL},
        {"{\"traceEvents\":[" M "],\"a\":[{\"b\":\"c" DOCUMENT, 2, 3, "bad_metadata", NULL},
        {"{\"traceEvents\":[" M "],\"a\":[{\"b\":{" DOCUMENT, 2, 3, "truncated", NULL},
        /* No documents, though they begin as one may. */
        {"{\"traceEvents\":[" M "],\"a\":{\"record_shapes\":1},\"b\":\"{\"}", 1, 1, NULL,
         "truncated"},
        {"{\"traceEvents\":[" M "],\"a\":[{\"schemaVersion\":1}],\"b\":\"x{\",\"traceName\":\"\"}",
         1, 1, NULL, "bad_metadata"},
        {"{\"traceEvents\":[" M "],\"a\":{\"schemaVersion\":1},\"b\":1}", 1, 1, NULL, "truncated"},
        {"{\"traceEvents\":[" M "],\"a\":{\"schemaVersion\":1} ,\n }", 1, 1, NULL, "truncated"},
        {"{\"traceEvents\":[" M "],\"a\":{\"schemaVersion\":1}}", 1, 1, NULL, "bad_metadata"},
        {"{\"traceEvents\":[" M "],\"a\":" DOCUMENT "}", 1, 1, NULL, "truncated"},
        {"{\"traceEvents\":[" M "],\"a\":" DOCUMENT " , \"b\":1}" DOCUMENT, 2, 3, NULL,
         "truncated"},
        {"{\"traceEvents\":[{\"schemaVersion\":1,\"ph\":\"M\"}," M "]}", 1, 2, NULL, "truncated"},
        {"{\"traceEvents\":[{\"traceEvents\":1,\"ph\":\"M\"}," M "]}", 1, 2, NULL, "truncated"},
        {"{\"traceEvents\":[{\"traceEvents\":[],\"ph\":\"M\"}," M "]}", 1, 2, NULL, "truncated"},
        {"{\"traceEvents\":[{\"schemaVersion\":1}," M "]}", 1, 2, NULL, "truncated"},
        {"{\"traceEvents\":[" M ",{\"traceName\":1,\"ph\":\"M\"},{\"schemaVersion\":2}," M "]}", 1,
         4, NULL, "truncated"},
        {"[{\"schemaVersion\":1,\"ph\":\"M\"}," M "]", 1, 2, NULL, "truncated"},
        {"{\"schemaVersion\":1,\"ph\":\"M\"}\n" M "\n", 1, 2, NULL, "truncated"},
        {"{\"traceEvents\":[" M ",{\"schemaVersion\":1,\"ph\":\"M\",\"name\":\"a\"b\"}," M "]}", 1,
         3, "syntax", "truncated"},
        {"{\"traceEvents\":[" M "{\"schemaVersion\":1,\"ph\":\"M\"}," M "]}", 1, 3, "punctuation",
         "truncated"},
    };

    expect_in_all_windows(rows, sizeof rows / sizeof rows[0]);
}

/* Nor does one of which no record is whole. */
static void a_document_behind_one_without_records_is_read(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"{\"traceEvents\":[{\"ph\":\"X\",\"na" DOCUMENT, 2, 3, "partial", "bad_metadata"},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"na\n" DOCUMENT "\n" DOCUMENT, 3, 5, "no_events", NULL},
        {"{\"traceEvents\":[" B "]}\n" DOCUMENT, 2, 3, "partial", "bad_metadata"},
        {"{\"traceEvents\":[" B "]}\n{\"traceEvents\":[" B "]}\n" DOCUMENT, 3, 4, "partial", NULL},
        {DOCUMENT "{\"traceEvents\":[" B "]}\n", 2, 3, "syntax", "bad_metadata"},
    };

    expect_in_all_windows(rows, sizeof rows / sizeof rows[0]);
}

/* Whose list it is: that of the document in front of it may never have begun. */
static void a_document_behind_a_head_that_is_cut_keeps_its_own(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"{" DOCUMENT, 2, 2, "truncated", "bad_metadata"},
        {"{\"schemaVersion\":1,\"a\":1,\n" DOCUMENT, 2, 2, "truncated", "bad_metadata"},
        {"{\"schemaVersion\":1,\"a\":\"b\n" DOCUMENT, 2, 2, "truncated", "bad_metadata"},
        {"{\"schemaVersion\":1,\"a\n" DOCUMENT, 2, 2, "truncated", "bad_metadata"},
        {"{\"schemaVersion\":1,\"a\":" DOCUMENT, 2, 2, "truncated", "bad_metadata"},
        {"{\"schemaVersion\":1,\"a\":" DOCUMENT "\n" DOCUMENT, 3, 4, "truncated", "bad_metadata"},
        {"[{\"schemaVersion\":1,\"a\":" DOCUMENT "," DOCUMENT "]", 3, 4, "truncated", NULL},
        {"{\"schemaVersion\":1,\"a\":[{\"b\":" DOCUMENT "\n" DOCUMENT, 3, 4, "truncated", NULL},
        {DOCUMENT "\n{\"schemaVersion\":1,\"a\n" DOCUMENT, 3, 4, "truncated", "bad_metadata"},
        {"{\"schemaVersion\":1,\"a\n{\"schemaVersion\":1,\"a\n" DOCUMENT, 2, 2, "truncated", NULL},
        /* No other document, though it begins as one may. */
        {"{\"a\":" DOCUMENT ",\"traceEvents\":[" M "]}", 1, 1, NULL, "truncated"},
        {"{\"a\":" DOCUMENT " \"traceEvents\":[" M "]}", 1, 1, "bad_metadata", "truncated"},
        {"{\"a\":{\"record_shapes\":1},\"traceEvents\":[" M "]}", 1, 1, NULL, "bad_metadata"},
        {"{\"a\":{\"record_shapes\":1} x,\"traceEvents\":[" M "]}", 1, 1, "bad_metadata",
         "truncated"},
        {"{\"a\":\"{\"schemaVersion\":1,\"b\":{}}\",\"traceEvents\":[" M "]}", 1, 1, "bad_metadata",
         "truncated"},
        {"{\"a\":\"{\",\"b\":\"x{ \",\"traceEvents\":[" M "]}", 1, 1, NULL, "bad_metadata"},
    };

    expect_in_all_windows(rows, sizeof rows / sizeof rows[0]);
}

#define HEAD(rank, base_ns)                                                                        \
    "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":" rank ",\"world_size\":2},"               \
    "\"baseTimeNanoseconds\":" base_ns ",\"host_name\":\"h\",\"deviceProperties\":[{\"id\":0}],"

static void a_document_keeps_its_rank_wherever_that_before_it_is_cut(void **state)
{
    (void)state;
    static const char cut[] = HEAD("0", "1000") "\"traceEvents\":[" M ",\n" M "]}";
    static const char whole[] = HEAD("1", "2000") "\"traceEvents\":[" M "," M "]}";
    static char text[sizeof cut + sizeof whole];

    for (size_t len = 1; len < sizeof cut; len++)
        for (size_t has_line = 0; has_line < 2; has_line++) {
            (void)snprintf(text, sizeof text, "%.*s%s%s", (int)len, cut, has_line ? "\n" : "",
                           whole);
            struct marey_trace *trace = read_text(text);
            size_t n = 0;
            const struct marey_source *source = marey_trace_sources(trace, &n);
            EXPECT_U64(n, 2);
            EXPECT_I64(source[1].rank, 1);
            EXPECT_I64(source[1].base_ns, 2000);
            EXPECT_U64(source[1].n_records, 2);
            EXPECT_U64(ledger_count(trace, "joined_documents"), 1);
            marey_trace_free(trace);
        }
}

#undef HEAD

#undef DOCUMENT

#define XS(name, ts) X(name, ts, "1")
#define DOCUMENT "{\"schemaVersion\":1,\"traceEvents\":[" XS("a", "1") "," XS("b", "2") "]}"

static void records_and_documents_are_read_from_lines_and_lists(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {XS("a", "1") "\n" XS("b", "2") "\n" XS("c", "3") "\n", 1, 3, NULL, "punctuation"},
        {XS("a", "1") "\r\n\r\n" XS("b", "2") "\r\n" XS("c", "3"), 1, 3, NULL, "truncated"},
        {XS("a", "1") ",\n" XS("b", "2") "\n" XS("c", "3") "\n", 1, 3, NULL, "truncated"},
        {XS("a", "1"), 1, 1, NULL, "truncated"},
        {"{\"name\":\"a\",\"ts\":1,\"dur\":2,\"args\":{\"traceEvents\":[]},\"ph\":\"X\"}\n", 1, 1,
         NULL, "truncated"},
        {XS("a", "1") "\n" XS("b", "2") "\n{\"ph\":\"X\",\"name\":\"c", 1, 3, "partial", "syntax"},
        {XS("a", "1") "\n" B "\n" XS("b", "2") "\n", 1, 3, "syntax", "truncated"},
        {B "\n" XS("b", "2") "\n", 1, 2, "syntax", "punctuation"},
        {XS("a", "1") "\nhello\n" XS("b", "2") "\n", 1, 3, "syntax", "truncated"},
        {XS("a", "1") "\nit is \"so\n" XS("b", "2") "\n" XS("c", "3"), 1, 4, "syntax", "partial"},
        {XS("a", "1") "\n{\"ph\":\"X\",\"name\":\"b\n" XS("b", "2") "\n", 1, 3, "syntax",
         "truncated"},
        {XS("a", "1") "\n" XS("b", "2") "\nhello\n", 1, 3, "syntax", "truncated"},
        {XS("a", "1") "\n{\n\"ph\":\"X\",\n", 1, 2, "partial", "syntax"},
        {"{\"name\":\"say \"hi\"\",\"ph\":\"X\"}\n" XS("b", "2") "\n" XS("c", "3") "\n", 1, 3,
         "syntax", "truncated"},
        {"{\"name\":\"a\n" XS("b", "2") "\n" XS("c", "3") "\n", 1, 3, "syntax", "truncated"},
        {"{\"name\":\n" XS("b", "2") "\n" XS("c", "3") "\n", 1, 3, "syntax", "truncated"},
        {"{\"name\":\n" XS("b", "2") "\n", 1, 2, "syntax", "truncated"},
        {DOCUMENT "\n" DOCUMENT "\n", 2, 4, NULL, "truncated"},
        {"[" DOCUMENT "," DOCUMENT "]", 2, 4, NULL, "bad_metadata"},
        {"[\n " DOCUMENT "\n,\n" DOCUMENT ",\n" DOCUMENT "\n]\n", 3, 6, NULL, "bad_metadata"},
        {"[" DOCUMENT "]", 1, 2, NULL, "bad_metadata"},
        {"[null,\"x\"," DOCUMENT "," DOCUMENT "]", 2, 4, "syntax", "bad_metadata"},
        {"[\"x\",1," XS("a", "1") "," XS("b", "1") "]", 1, 3, "syntax", "truncated"},
        {"[" DOCUMENT "," DOCUMENT, 2, 4, "truncated", "bad_metadata"},
        {"[" DOCUMENT, 1, 2, "truncated", "bad_metadata"},
        {"[{\"schemaVersion\":1,\"traceEvents\":[" XS("a", "1") "," DOCUMENT "]", 2, 3, "truncated",
         NULL},
        {"[" DOCUMENT " " DOCUMENT "] x", 2, 4, "bad_metadata", "truncated"},
    };

    expect_in_all_windows(rows, sizeof rows / sizeof rows[0]);
}

/* Whatever of it is in the window when its bracket is met. */
static void what_follows_a_bracket_is_seen_in_all_windows(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"{\"traceEvents\":[" XS("a", "1") "]  ,\n  " XS("b", "2") "," XS("c", "3") "]," TAIL "}",
         1, 4, "syntax", "truncated"},
        {"{\"traceEvents\":[" XS("a", "1") "]},{\"ph\":1}," XS("b", "2") "," XS("c", "3") "]}", 1,
         4, "syntax", "truncated"},
        {"{\"traceEvents\":[" XS("a", "1") "]," TAIL "}\n" XS("b", "2") "\n" XS("c", "3") "\n", 1,
         4, "syntax", "truncated"},
        {"[" XS("a", "1") "]\n" XS("b", "2") "\n" XS("c", "3") "\n", 1, 4, "syntax", "truncated"},
        {"{\"traceEvents\":[" XS("a", "1") ",[" XS("b", "2") "]]," TAIL "}", 1, 4, "syntax",
         "bad_metadata"},
        {"{\"ph\":\"M\",\"x\":\"0123456789012345678901234567890123456789\",\"traceEvents\":[" XS(
             "b", "2") "]}",
         1, 1, NULL, "syntax"},
        {DOCUMENT "\n{\"ph\":\"M\",\"traceEvents\":[" XS("b", "2") "]}", 2, 3, NULL, "syntax"},
        {"INFO start\n" DOCUMENT "\n" DOCUMENT, 2, 5, "syntax", "truncated"},
        {"{\"traceEvents\":[" XS(
             "a", "1") "]\"ph\":\"X\",\"name\":\"b\",\"args\":{\"x\":[1,2]}}," XS("c",
                                                                                  "3") "]," TAIL
                                                                                       "}",
         1, 3, "syntax", "truncated"},
        {XS("a", "1") "\n]\"ph\":\"X\",\"name\":\"b\"}\n" XS("c", "3") "\n", 1, 3, "syntax",
         "truncated"},
        {"{\"traceEvents\":[" XS("a", "1") ",]],\"x\":[\"a\"]},\"pid\":1}," XS("b", "2") "]," TAIL
                                                                                         "}",
         1, 3, "syntax", "bad_metadata"},
        {XS("a", "1") "\n]},\"pid\":1}\n" XS("b", "2") "\n", 1, 3, "syntax", "bad_metadata"},
        /* A member that lost its comma is none. */
        {"{\"traceEvents\":[" XS("a", "1") "] \"x\":[" XS("b", "2") "," XS("c", "3") "]," TAIL "}",
         1, 1, "bad_metadata", "syntax"},
    };

    expect_in_all_windows(rows, sizeof rows / sizeof rows[0]);
}

/* Where it has objects in it that of the records ends it, and the record with the document. */
static void a_list_of_objects_without_its_end_costs_its_record(void **state)
{
    (void)state;
#define REST XS("b", "2") "," XS("c", "3") "\n]"
    static const struct expected rows[] = {
        {"{\"traceEvents\":[" XS("a", "1") ",{\"ph\":\"X\",\"x\":[{\"y\":1},\n" REST "}", 1, 4,
         "syntax", "truncated"},
        {"{\"traceEvents\":[" XS("a", "1") ",{\"ph\":\"X\",\"tid\":[{1,\"ts\":5},\n" REST "}\n", 1,
         4, "syntax", "truncated"},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"x\":[{\"y\":1},\n" REST "," TAIL "}\n", 1, 3, "syntax",
         "truncated"},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"x\":[{\"y\":1},\n" REST "}\n" DOCUMENT, 2, 5, "syntax",
         "truncated"},
        /* All of it is of the record. */
        {"{\"traceEvents\":[{\"ph\":\"M\",\"x\":[{\"ph\":\"Y\"}]}]}", 1, 1, NULL, "syntax"},
        {"{\"traceEvents\":[{\"ph\":\"M\",\"x\":[{\"y\":[]}]}", 1, 1, "truncated", "syntax"},
    };

    expect_in_all_windows(rows, sizeof rows / sizeof rows[0]);
}

/* Neither needs to begin with a member that is known. */
static void what_stands_between_documents_costs_neither(void **state)
{
    (void)state;
#define TWO XS("a", "1") "," XS("b", "2")
    static const struct expected rows[] = {
        {"[" TWO "]\nlog [line]\n[" TWO "]", 2, 4, "bad_metadata", "truncated"},
        {"[" TWO "];\n[" TWO "]", 2, 4, "bad_metadata", "truncated"},
        {"[" TWO "]\n{\"a\":1}\n[" TWO "]", 2, 4, "bad_metadata", "truncated"},
        {"[" TWO "]\n{\"a\":1}\nlog\n \n[" TWO "]\n.\n[" TWO "]", 3, 6, "bad_metadata",
         "truncated"},
        {"{\"traceEvents\":[" TWO "]}\nlog\n[" TWO "]", 2, 4, "bad_metadata", "truncated"},
        {"{\"traceEvents\":[" TWO "]}\n\"log\": 1\n[" B "," TWO "]", 2, 5, "bad_metadata",
         "truncated"},
        {"{\"traceEvents\":[" TWO "]}}\n{\"foo\":1,\"traceEvents\":[" TWO "]}", 2, 4,
         "bad_metadata", "truncated"},
        {"{\"traceEvents\":[" TWO "]}.\n{\"foo\":1,\"traceEvents\":[]}", 2, 2, "bad_metadata",
         "truncated"},
        {"{\"traceEvents\":[" TWO "],\"x\":{bad}}\n[" TWO "]", 2, 4, "bad_metadata", "truncated"},
        {"{\"traceEvents\":[" TWO "],\"x\":{],\"y\":[{}]}}\n[" TWO "]", 2, 4, "joined_documents",
         "truncated"},
        {"{\"traceEvents\":[" TWO "],\"x\":{]1]}}\n [" TWO "]", 2, 4, "joined_documents",
         "truncated"},
        {"{\"traceEvents\":[" TWO "]}} [" TWO "]", 2, 4, "bad_metadata", "truncated"},
        {"{\"traceEvents\":[" TWO "]},[" TWO "]", 2, 4, "bad_metadata", "truncated"},
        {"{\"traceEvents\":[" TWO "]}},\n{\"foo\":1,\"traceEvents\":[" TWO "]}", 2, 4,
         "bad_metadata", "truncated"},
        {"{\"traceEvents\":[" TWO "]},[{x\":1}," TWO "]", 2, 5, "bad_metadata", "truncated"},
        /* Something else. */
        {"[" TWO "]\nx = [\n  [" TWO "],\n[1],\n[{\"a\":1}],\n{\"b\":1}]", 1, 2, "bad_metadata",
         "syntax"},
    };

    expect_in_all_windows(rows, sizeof rows / sizeof rows[0]);
}

/* Behind each trace anew; where nothing is found in so much text, that is told. */
static void text_between_documents_is_passed_so_often_only(void **state)
{
    static const struct {
        const char *between;
        size_t n;
        uint64_t n_sources;
        uint64_t n_cut;
    } rows[] = {
        {"\nlog\n" DOCUMENT, 70, 71, 0},
        {"\n{\"schemaVersion\":1}\n[" XS("a", "1") "]", 70, 71, 0},
        {"\n{\"schemaVersion\":1}", 70, 1, 1},
        /* Looking behind each to the end of the text takes minutes. */
        {"\n{\"traceEvents\":", 300000, 1, 1},
    };
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;
    (void)state;
    marey__text_init(&text, &alloc);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        marey__text_reset(&text);
        marey__text_add_c(&text, DOCUMENT);
        for (size_t k = 0; k < rows[i].n; k++)
            marey__text_add_c(&text, rows[i].between);
        EXPECT_FALSE(marey__text_failed(&text));
        const struct marey_reading reading = {.portable_only = true};
        struct marey_trace *trace = read_bytes_as(text.ptr, text.len, &reading);
        size_t n = 0;
        (void)marey_trace_sources(trace, &n);
        EXPECT_U64(n, rows[i].n_sources);
        EXPECT_U64(ledger_count(trace, "truncated"), rows[i].n_cut);
        marey_trace_free(trace);
    }
    marey__text_release(&text);
}

static void zeros_between_documents_cost_neither(void **state)
{
    static const char text[] =
        "[" TWO "]\0\0\0\n[" TWO "]\0\0{\"foo\":1,\"traceEvents\":[" TWO "]}";
    const struct marey_reading reading = {0};
    size_t n = 0;
    (void)state;
    struct marey_trace *trace = read_bytes_as(text, sizeof text - 1, &reading);
    const struct marey_source *source = marey_trace_sources(trace, &n);
    EXPECT_U64(n, 3);
    for (size_t i = 0; i < n; i++)
        EXPECT_U64(source[i].n_records, 2);
    marey_trace_free(trace);
}

#undef TWO

#define OPEN(key, value) "{\"ph\":\"X\",\"" key "\":[" value ",\"name\":\"b\",\"ts\":2,\"dur\":1}"

/* It swallows no record behind its own. */
static void an_array_without_an_end_costs_one_record(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"{\"traceEvents\":[" XS("a", "1") "," OPEN("pid", "1") "," XS("c", "3") "]," TAIL "}", 1,
         3, "syntax", "truncated"},
        {"{\"traceEvents\":[" OPEN("pid", "{\"a\":[1]}") ",\n" XS("c", "3") "]," TAIL "}", 1, 2,
         "syntax", "truncated"},
        {"[" XS("a", "1") "," OPEN("x",
                                   "\"0123456789]}{0123456789]}{0123456789]}{\",[[{},[]],2]") "]",
         1, 2, "syntax", "truncated"},
        {XS("a", "1") "\n" OPEN("cat", "") "\n" XS("c", "3") "\n", 1, 3, "syntax", "truncated"},
        {"{\"traceEvents\":[" XS("a", "1") "],\"x\":[1," TAIL "}", 1, 1, "bad_metadata",
         "truncated"},
        {"{\"traceEvents\":[" XS("a", "1") "," OPEN("x", "[{\"a\":[]},{}],{\"b\":\"}\"}]") "]," TAIL
                                                                                           "}",
         1, 2, NULL, "syntax"},
    };

    expect_in_all_windows(rows, sizeof rows / sizeof rows[0]);
}

/* Wherever its text ends, that of the next record follows. */
static void a_record_without_its_end_costs_no_other(void **state)
{
    static const char torn[] =
        "{\"ph\":\"X\",\"name\":\"b\",\"ts\":2,\"args\":{\"x\":[{\"y\":[1]},2],\"z\":\"s\"}}";
    static const char *const gaps[] = {"", ",", "\n", ",\n  "};
    (void)state;
    for (size_t n_bytes = 1; n_bytes < sizeof torn - 1; n_bytes++)
        for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
            char json[512];
            snprintf(json, sizeof json, "[%s,%.*s%s%s,%s,%s]", XS("a", "1"), (int)n_bytes, torn,
                     gaps[i], XS("c", "3"), XS("d", "4"), XS("e", "5"));
            struct marey_trace *trace = read_text(json);
            size_t n = 0;
            EXPECT_U64(marey_trace_sources(trace, &n)->n_records, 5);
            EXPECT_U64(marey_trace_slices(trace).n, 4);
            EXPECT_U64(ledger_count(trace, "syntax"), 1);
            EXPECT_U64(ledger_count(trace, "truncated"), 0);
            marey_trace_free(trace);
        }
}

/* n records of which each would be read to the end of the text, and one that is longer than what
 * tells that a record begins. */
static uint64_t count_broken(size_t n)
{
    static const char broken[] = "{\"ph\":\"X\",\"dur\":{{{},\"x\":\"0123456789012345\"},\n";
    const struct marey_alloc alloc = marey__alloc_default();
    const struct marey_reading reading = {0};
    struct marey_textbuf text;

    marey__text_init(&text, &alloc);
    marey__text_add_c(&text, "[" XS("a", "1") ",");
    for (size_t i = 0; i < n; i++)
        marey__text_add_c(&text, broken);
    marey__text_add_c(&text, "{\"ph\":\"M\",\"x\":\"");
    for (size_t i = 0; i < 2 * MAREY_RECORD_LOOK_BYTES; i++)
        marey__text_add_byte(&text, 'x');
    marey__text_add_c(&text, "\"}]");
    EXPECT_FALSE(marey__text_failed(&text));
    struct marey_trace *trace = read_bytes_as(text.ptr, text.len, &reading);
    const uint64_t n_broken = ledger_count(trace, "syntax") + ledger_count(trace, "partial");
    marey_trace_free(trace);
    marey__text_release(&text);
    return n_broken;
}

/* Else the time would grow with the square of the text. */
static void records_are_read_to_the_end_in_vain_so_often_only(void **state)
{
    (void)state;
    EXPECT_U64(count_broken(100), 100);
    EXPECT_U64(count_broken(20000), 20001);
}

static void a_list_that_is_none_is_no_member(void **state)
{
    static const char *const rows[] = {
        "{\"traceEvents\":null,\"a\":1,\"traceEvents\":[" M "]}",
        "{\"a\":1,\"traceEvents\":[" M "],\"traceEvents\":7}",
        "{\"a\":1,\"traceEvents\":[" M "],\"trace\\u0045vents\":{}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marey_trace *trace = read_text(rows[i]);
        size_t n = 0;
        const struct marey_meta *meta = marey_trace_metas(trace, &n);
        EXPECT_U64(n, 1);
        EXPECT_VIEW(marey_trace_string(trace, meta[0].key_id), "a");
        EXPECT_U64(ledger_count(trace, "bad_metadata"), 1);
        marey_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_kept_in_file_order),
        cmocka_unit_test(keys_of_members_are_resolved),
        cmocka_unit_test(a_document_may_have_a_phase_of_its_own),
        cmocka_unit_test(base_time_counts_wherever_it_stands),
        cmocka_unit_test(rank_comes_from_the_file_or_is_assumed),
        cmocka_unit_test(a_world_that_cannot_be_is_bad_metadata),
        cmocka_unit_test(a_member_that_stands_twice_is_counted),
        cmocka_unit_test(a_byte_order_mark_is_passed),
        cmocka_unit_test(broken_text_is_placed),
        cmocka_unit_test(damage_is_passed_over_and_counted),
        cmocka_unit_test(a_cut_behind_args_is_a_cut),
        cmocka_unit_test(a_list_ends_behind_a_broken_record),
        cmocka_unit_test(a_bracket_too_many_ends_no_list),
        cmocka_unit_test(a_bracket_for_the_front_of_a_record_ends_no_list),
        cmocka_unit_test(a_document_behind_a_list_is_not_read_as_its_rest),
        cmocka_unit_test(words_that_are_no_numbers_pass_in_args),
        cmocka_unit_test(a_base_time_out_of_range_is_no_base_time),
        cmocka_unit_test(a_document_behind_a_damaged_one_is_read),
        cmocka_unit_test(a_document_behind_one_without_records_is_read),
        cmocka_unit_test(a_document_behind_a_head_that_is_cut_keeps_its_own),
        cmocka_unit_test(a_document_keeps_its_rank_wherever_that_before_it_is_cut),
        cmocka_unit_test(records_and_documents_are_read_from_lines_and_lists),
        cmocka_unit_test(what_follows_a_bracket_is_seen_in_all_windows),
        cmocka_unit_test(a_list_of_objects_without_its_end_costs_its_record),
        cmocka_unit_test(what_stands_between_documents_costs_neither),
        cmocka_unit_test(text_between_documents_is_passed_so_often_only),
        cmocka_unit_test(zeros_between_documents_cost_neither),
        cmocka_unit_test(an_array_without_an_end_costs_one_record),
        cmocka_unit_test(a_record_without_its_end_costs_no_other),
        cmocka_unit_test(records_are_read_to_the_end_in_vain_so_often_only),
        cmocka_unit_test(a_list_that_is_none_is_no_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
