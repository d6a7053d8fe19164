/*
 * Tests of the Chrome writer: bytes of single records, what is mended, what is left out.
 * That reading gives back what was written is tested over files in test_identity.c.
 */
#include "base/error.h"
#include "base/json.h"
#include "export/chrome.h"
#include "export/chrome_digits.h"
#include "make_table.h"
#include "marey/import.h"
#include "same_trace.h"
#include "support/alloc_fail.h"
#include "support/make_random.h"

#include <stdio.h>
#include <stdlib.h>

static struct marey_trace *read_bytes(const char *json)
{
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    EXPECT_OK(marey_import_bytes(marey__str(json), NULL, &trace, &err), &err);
    return trace;
}

/* What is written of a file; the text is the caller's. */
static struct marey_text rewrite(const char *json)
{
    struct marey_error err = {0};
    struct marey_trace *trace = read_bytes(json);
    struct marey_text text = {0};
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &text, &err), &err);
    marey_trace_free(trace);
    return text;
}

static void expect_rewritten(const char *json, const char *want)
{
    struct marey_text text = rewrite(json);
    EXPECT_STR(text.ptr, want);
    marey_text_release(&text);
}

/* Byte for byte what Kineto writes, but for the space around members and the flow's place. */
static void records_look_like_kinetos(void **state)
{
    (void)state;
    static const char file[] =
        "{\n"
        "  \"schemaVersion\": 1,\n"
        "  \"deviceProperties\": [],\n"
        "  \"displayTimeUnit\": \"ms\",\n"
        "  \"baseTimeNanoseconds\": 1790857026000000000,\n"
        "  \"traceEvents\": [\n"
        "  {\n"
        "    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": 4962958297654.837, \"pid\": 430, "
        "\"tid\": 0,\n"
        "    \"args\": {\n"
        "      \"name\": \"python3\"\n"
        "    }\n"
        "  },\n"
        "  {\n"
        "    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 430, \"tid\": "
        "464,\n"
        "    \"ts\": 4962958309066.086, \"dur\": 287.903,\n"
        "    \"args\": {\n"
        "      \"External id\": 513,\"Record function id\": 0, \"Ev Idx\": 0\n"
        "    }\n"
        "  },\n"
        "  {\n"
        "    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", "
        "\"pid\": 430, \"tid\": 464,\n"
        "    \"ts\": 4962958309384.018,\n"
        "    \"args\": {\n"
        "      \"Bytes\": -4\n"
        "    }\n"
        "  },\n"
        "  {\n"
        "    \"ph\": \"C\", \"cat\": \"hardware_counters\", \"name\": \"power\", \"pid\": \"GPU 0 "
        "Counters\",\n"
        "    \"ts\": 4962958309384.019,\n"
        "    \"args\": {\"W\": 1.5}\n"
        "  },\n"
        "  {\n"
        "    \"ph\": \"f\", \"id\": 1, \"pid\": 430, \"tid\": 464, \"ts\": 4962958309115.497,\n"
        "    \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", \"bp\": \"e\"\n"
        "  }\n"
        "  ],\n"
        "  \"traceName\": \"/tmp/a.json\"\n"
        "}\n";
    expect_rewritten(file, file);
}

static void missing_members_stay_missing(void **state)
{
    (void)state;
    static const char file[] =
        "{\n  \"traceEvents\": [\n"
        "  {\n    \"ph\": \"X\", \n    \"ts\": 0.000, \"dur\": 0.001\n  },\n"
        "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"\", \"pid\": 0, \"tid\": \"x "
        "y\",\n"
        "    \"ts\": -0.005\n  },\n"
        "  {\n    \"ph\": \"i\", \"name\": \"n\", \"pid\": -1,\n    \"ts\": 12.000\n  },\n"
        "  {\n    \"ph\": \"s\", \"id\": \"0x1f\", \"tid\": 3, \"ts\": 1.000\n  }\n"
        "  ]\n}\n";
    expect_rewritten(file, file);
    expect_rewritten("[]", "{\n  \"traceEvents\": [\n\n  ]\n}\n");
}

static void names_are_escaped(void **state)
{
    (void)state;
    struct marey_text text =
        rewrite("[{\"ph\":\"X\",\"name\":\"a\\\"b\\\\c\\n\\u00e9\\u0001\",\"cat\":\"x\\\"y\","
                "\"pid\":1,\"tid\":\"t\\\"\",\"ts\":1,\"dur\":2}]");
    EXPECT_HOLDS(text.ptr, "\"cat\": \"x\\\"y\", \"name\": \"a\\\"b\\\\c\\n\xc3\xa9\\u0001\", "
                           "\"pid\": 1, \"tid\": \"t\\\"\",\n");
    marey_text_release(&text);
}

#define DEVICE(phase, ts, args)                                                                    \
    "{\"ph\":\"" phase "\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":1,\"ts\":" ts       \
    ",\"args\":{" args "}}"

/* Pairs are found again by a stack in file order, whatever lies between them. */
static void begins_and_ends_pair_again(void **state)
{
    (void)state;
    static const char *const files[] = {
        /* nested, touching, zero length, with others between */
        "[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0},"
        "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"X\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":2},"
        "{\"ph\":\"B\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":2},"
        "{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":2},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":2},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":9},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9}]",
        /* never ended, over and under ended ones */
        "[{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":1,\"ts\":0},"
        "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},"
        "{\"ph\":\"B\",\"name\":\"open too\",\"pid\":1,\"tid\":1,\"ts\":6}]",
        /* the clock steps back, so an ended slice crosses an open one */
        "[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":10},"
        "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":1,\"ts\":5}]",
        "[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":10},"
        "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":5},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":12}]",
        /* on streams that only args tell apart, and not from pid and tid */
        "[" DEVICE("B", "0", "\"device\": 2, \"context\": 1, \"stream\": 7") "," DEVICE(
            "B", "1",
            "\"device\": 2, \"stream\": 8") "," DEVICE("E", "5",
                                                       "\"stream\": 7, \"context\": 1, \"device\": "
                                                       "2") "," DEVICE("E", "9",
                                                                       "\"device\": 2, \"stream\": "
                                                                       "8") "]",
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct difference difference = {0};
        struct marey_trace *trace = read_bytes(files[i]);
        struct marey_text text = rewrite(files[i]);
        struct marey_trace *again = read_bytes(text.ptr);
        if (!same_trace(trace, again, false, &difference)) {
            print_message("# file %zu\n", i);
            EXPECT_FAIL(difference.text);
        }
        marey_trace_free(again);
        marey_text_release(&text);
        marey_trace_free(trace);
    }
}

static void records_set_aside_are_written_or_counted(void **state)
{
    (void)state;
    struct marey_text text = rewrite(
        "{\"k\": 1, \"traceEvents\": [{},"
        "{\"ph\":\"X\",\"name\":\"neg\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":-1},"
        "{\"ph\":\"X\",\"name\":\"no ts\",\"pid\":1,\"tid\":1,\"dur\":1,\"args\":{\"a\":1}},"
        "{\"ph\":\"?\",\"name\":\"odd\",\"pid\":1,\"tid\":1,\"ts\":5},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},"
        "{\"ph\":\"N\",\"pid\":1,\"tid\":1,\"ts\":5}]}");
    EXPECT_HOLDS(text.ptr, "{\n  \"k\": 1,\n  \"mareyLeftOut\": {\"unknown_ph\": 1, "
                           "\"unmatched_end\": 1, \"other_phase\": 1},\n  \"traceEvents\": [\n"
                           "  {},\n");
    EXPECT_HOLDS(text.ptr, "\"name\": \"neg\", \"pid\": 1, \"tid\": 1,\n"
                           "    \"ts\": 5.000, \"dur\": -1.000\n  },\n");
    EXPECT_HOLDS(text.ptr, "\"name\": \"no ts\", \"pid\": 1, \"tid\": 1,\n    \"dur\": null,\n"
                           "    \"args\": {\"a\":1}\n  }");
    marey_text_release(&text);
}

/* The second rank's pids and arrows are others in the file, and its name says the rank. */
static void several_sources_do_not_collide(void **state)
{
    (void)state;
    static const char text[] =
        "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"args\":{\"name\":\"python\"}},"
        "{\"ph\":\"X\",\"name\":\"a\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"s\",\"id\":5,\"pid\":7,\"tid\":7,\"ts\":1}]"
        "{\"baseTimeNanoseconds\":1000,\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"args\":{\"name\":\"python\"}},"
        "{\"ph\":\"X\",\"name\":\"b\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"X\",\"name\":\"c\",\"pid\":\"Spans\",\"tid\":7,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"s\",\"id\":5,\"pid\":7,\"tid\":7,\"ts\":1}],\"tail\":\"t\"}";
    struct marey_text written = rewrite(text);
    EXPECT_HOLDS(written.ptr,
                 "\"args\": {\"source\": 0, \"rank\": 0, \"process\": 0, \"shift_ns\": 0, "
                 "\"flow_ids\": 0, \"pids\": {}}");
    EXPECT_HOLDS(written.ptr,
                 "\"name\": \"marey_source\", \"ph\": \"M\", \"pid\": 8, \"tid\": 0,\n"
                 "    \"args\": {\"source\": 1, \"rank\": 1, \"process\": 1, \"shift_ns\": -1000, "
                 "\"flow_ids\": 6, \"pids\": {\"8\": \"7\"}, "
                 "\"head\": {\"baseTimeNanoseconds\": 1000, \"tail\": \"t\"}}");
    EXPECT_HOLDS(written.ptr, "\"pid\": 8,\n    \"args\": {\"name\": \"rank 1: python\", "
                              "\"marey\": {\"name\":\"python\"}}");
    EXPECT_HOLDS(written.ptr, "\"pid\": \"Spans\", \"tid\": 0,\n    \"args\": "
                              "{\"name\": \"rank 1\", \"marey\": null}");
    EXPECT_HOLDS(written.ptr, "\"name\": \"b\", \"pid\": 8, \"tid\": 7,\n    \"ts\": 2.000,");
    EXPECT_HOLDS(written.ptr, "\"ph\": \"s\", \"id\": 11, \"pid\": 8,");
    marey_text_release(&written);
}

/* Requests of memory to the trace's allocator while a file of n documents is written. */
static uint64_t requests_to_write(int n)
{
    static const char document[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":2}]}";
    struct alloc_fail heap = {0};
    const struct marey_alloc alloc = alloc_fail_make(&heap);
    const struct marey_import_options options = {.size = sizeof options, .alloc = &alloc};
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    struct marey_text written = {0};
    char *json = malloc((size_t)n * sizeof document);
    for (int i = 0; i < n; i++)
        memcpy(json + (size_t)i * (sizeof document - 1), document, sizeof document);
    EXPECT_OK(marey_import_bytes(marey__str(json), &options, &trace, &err), &err);
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &written, &err), &err); /* owners are found */
    marey_text_release(&written);
    const uint64_t before = heap.n_requests;
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &written, &err), &err);
    const uint64_t n_requests = heap.n_requests - before;
    marey_text_release(&written);
    marey_trace_free(trace);
    free(json);
    return n_requests;
}

/* A window of text for each of them made a file of thousands slow. */
static void joined_documents_are_read_again_in_one_walk(void **state)
{
    (void)state;
    EXPECT_U64(requests_to_write(50), requests_to_write(2));
}

static void args_can_be_left_out(void **state)
{
    (void)state;
    struct marey_trace *trace = read_bytes("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,"
                                           "\"ts\":1,\"dur\":2,\"args\":{\"x\":1}}]");
    const struct marey_chrome_options options = {.size = sizeof options, .omit_args = true};
    struct marey_error err = {0};
    struct marey_text text = {0};
    EXPECT_OK(marey_export_chrome_text(trace, &options, &text, &err), &err);
    EXPECT_TRUE(strstr(text.ptr, "args") == NULL);
    const char *place = text.ptr;
    EXPECT_OK(marey_export_chrome_text(trace, &options, &text, &err), &err);
    EXPECT_TRUE(text.ptr == place); /* the memory is used again */
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* ---- streams ---- */

struct taken {
    struct marey_textbuf text;
    size_t n_calls;
    size_t most; /* calls before it refuses */
};

static enum marey_status take(void *ctx, const void *bytes, size_t len, struct marey_error *err)
{
    struct taken *taken = ctx;
    if (taken->n_calls == taken->most)
        return marey__fail(err, MAREY_LIMIT, "the receiver takes no more");
    taken->n_calls++;
    marey__text_add(&taken->text, bytes, len);
    return MAREY_OK;
}

/* Enough records for several blocks. */
static struct marey_trace *long_trace(void)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    for (int64_t i = 0; i < 30000; i++)
        make_slice(&make, "cpu_op", "aten::a_name_of_some_length", i * 10, 5);
    return make_trace_end(&make);
}

static void a_stream_gets_the_same_bytes(void **state)
{
    (void)state;
    struct marey_trace *trace = long_trace();
    const struct marey_alloc alloc = marey__alloc_default();
    struct taken taken = {.most = SIZE_MAX};
    marey__text_init(&taken.text, &alloc);
    struct marey_error err = {0};
    struct marey_text text = {0};
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &text, &err), &err);
    EXPECT_OK(marey_export_chrome_stream(trace, take, &taken, NULL, &err), &err);
    EXPECT_TRUE(taken.n_calls > 2);
    EXPECT_U64(taken.text.len, text.len);
    EXPECT_TRUE(memcmp(taken.text.ptr, text.ptr, text.len) == 0);
    marey__text_release(&taken.text);
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void a_stream_ends_when_its_receiver_fails(void **state)
{
    (void)state;
    struct marey_trace *trace = long_trace();
    const struct marey_alloc alloc = marey__alloc_default();
    struct taken taken = {.most = 2};
    marey__text_init(&taken.text, &alloc);
    struct marey_error err = {0};
    EXPECT_STATUS(marey_export_chrome_stream(trace, take, &taken, NULL, &err), MAREY_LIMIT);
    EXPECT_STR(err.message, "the receiver takes no more");
    EXPECT_U64(taken.n_calls, 2);
    marey__text_release(&taken.text);
    marey_trace_free(trace);
}

struct progress {
    uint64_t n_done;
    uint64_t n_all;
    size_t n_calls;
    size_t most; /* calls before it refuses */
};

static enum marey_status watch(void *ctx, uint64_t n_done, uint64_t n_all, struct marey_error *err)
{
    struct progress *progress = ctx;
    if (progress->n_calls == progress->most)
        return marey__fail(err, MAREY_LIMIT, "that is enough");
    EXPECT_TRUE(n_done >= progress->n_done);
    progress->n_calls++;
    progress->n_done = n_done;
    progress->n_all = n_all;
    return MAREY_OK;
}

static void an_export_tells_its_progress_and_ends_when_told(void **state)
{
    (void)state;
    struct marey_trace *trace = long_trace();
    const struct marey_alloc alloc = marey__alloc_default();
    struct taken taken = {.most = SIZE_MAX};
    marey__text_init(&taken.text, &alloc);
    struct marey_error err = {0};
    struct progress progress = {.most = SIZE_MAX};
    struct marey_chrome_options options = {
        .size = sizeof options, .progress = watch, .progress_ctx = &progress};
    EXPECT_OK(marey_export_chrome_stream(trace, take, &taken, &options, &err), &err);
    EXPECT_U64(progress.n_calls, taken.n_calls);
    EXPECT_U64(progress.n_all, 30000);
    EXPECT_U64(progress.n_done, 30000);

    const size_t n_all_calls = progress.n_calls;
    for (size_t most = 0; most < n_all_calls; most++) {
        progress = (struct progress){.most = most};
        EXPECT_STATUS(marey_export_chrome_stream(trace, take, &taken, &options, &err), MAREY_LIMIT);
        EXPECT_STR(err.message, "that is enough");
        EXPECT_U64(progress.n_calls, most);
    }
    marey__text_release(&taken.text);
    marey_trace_free(trace);
}

/* ---- values ---- */

static void expect_copied(const char *json, const char *want)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf out;
    marey__text_init(&out, &alloc);
    marey__chrome_add_value(&out, marey__str(json));
    EXPECT_BYTES(out.ptr, out.len, want);
    marey__text_release(&out);
}

static void valid_values_stay_byte_for_byte(void **state)
{
    (void)state;
    static const char *const values[] = {
        "{}",
        "{\n      \"a\": 1,\"b\":[1, 2.5e-3, true, null]\n    }",
        "{\"a\": \"x\\\"y\\\\z\\n\\u00e9\\/\", \"b\"\t:\r\n -0}",
        "{\"caf\xc3\xa9\": \"\xe6\xb3\xa8\"}",
        "{\"NaN\": \"NaN and -Infinity, inf\", \"nan\": [\"nan\"]}",
        "[0, -0, 0.5, 10, 1E5, 1e+05, 1.25e-3, true,false,null]",
        "[\"000\", \".5\", \"0x10\", \"5.\", \"1e\"]",
        "{\"banana\": \"information\", \"nano\": 1, \"infix\": false}",
        "[1, 2]",
        "\"text\"",
        "17",
        "",
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        expect_copied(values[i], values[i]);
}

static void invalid_values_are_mended(void **state)
{
    (void)state;
    expect_copied("{\"x\":NaN}", "{\"x\":null}");
    expect_copied("{\"x\": Infinity, \"y\":-Infinity,\"z\":[inf,-inf , nan]}",
                  "{\"x\": null, \"y\":null,\"z\":[null,null , null]}");
    expect_copied("{\"x\":000,\"y\": [0x10, .5 ,-01], \"z\":5.}",
                  "{\"x\":\"000\",\"y\": [\"0x10\", \".5\" ,\"-01\"], \"z\":\"5.\"}");
    expect_copied("{\"x\":+1,\"y\":1e,\"z\":1.e5,\"v\":-,\"w\":tru}",
                  "{\"x\":\"+1\",\"y\":\"1e\",\"z\":\"1.e5\",\"v\":\"-\",\"w\":\"tru\"}");
    expect_copied("{\"x\":\"C:\\x\\new\"}", "{\"x\":\"C:\\\\x\\new\"}");
    expect_copied("{\"x\":\"\\u12g4\"}", "{\"x\":\"\\\\u12g4\"}");
    expect_copied("{\"x\":\"a\tb\nc\x01\"}", "{\"x\":\"a\\tb\\nc\\u0001\"}");
    expect_copied("{\"x\":\"a\xff"
                  "b\"}",
                  "{\"x\":\"a\xef\xbf\xbd"
                  "b\"}");
    expect_copied("{\"x\":\"\xff cut", "{\"x\":\"\xef\xbf\xbd cut\""); /* stays inside the text */
}

/* The scan by vectors sees what the walk sees, wherever it stands. */
/* {text, what is written of it}; the same text stays byte by byte. */
static void values_are_made_strict(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{ \"a\" : [1, 2.5e3,null] }", "{ \"a\" : [1, 2.5e3,null] }"},
        {"{\"a\": 1, \"b\": 2, \"a\": 3}", "{\"b\": 2, \"a\": 3}"},
        {"{\"a\":1,\"\\u0061\":{\"x\":1,\"x\":2}}", "{\"\\u0061\": {\"x\": 2}}"},
        {"{\"a\" 1}", "{\"a\": 1}"},
        {"{\"a\":}", "{\"a\": null}"},
        {"{\"a\"}", "{\"a\": null}"},
        {"{1:2,}", "{\"1\": 2}"},
        {"[1 2,,3", "[1, 2, 3]"},
        {"[:1}", "[null, 1]"},
        {"[NaN,01,-inf]", "[null, \"01\", null]"},
        {"\"\\ud800x\\q\x01\"", "\"\xef\xbf\xbdx\\\\q\\u0001\""},
        {"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\""},
        {"\"open", "\"open\""},
        {"1 2", "1"},
        {"", "null"},
        {"}", "null"},
    };
    const struct marey_alloc alloc = marey__alloc_default();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct marey_textbuf out;
        size_t wrong = 0;
        marey__text_init(&out, &alloc);
        marey__chrome_add_strict(&out, marey__str(cases[i][0]));
        EXPECT_VIEW(((struct marey_str){out.ptr, out.len}), cases[i][1]);
        EXPECT_TRUE(marey__json_check((struct marey_str){out.ptr, out.len}, &wrong) == NULL);
        marey__text_release(&out);
    }
}

/* What lies too deep is a string; of many keys the last counts too. */
static void strict_values_are_bounded(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;
    struct marey_textbuf out;
    size_t wrong = 0;
    marey__text_init(&text, &alloc);
    marey__text_init(&out, &alloc);
    marey__text_add_repeat(&text, '[', 400);
    marey__text_add_c(&text, "\"]\"");
    marey__text_add_repeat(&text, ']', 400);
    marey__chrome_add_strict(&out, (struct marey_str){text.ptr, text.len});
    EXPECT_TRUE(marey__json_check((struct marey_str){out.ptr, out.len}, &wrong) == NULL);
    EXPECT_TRUE(out.len > text.len);

    marey__text_reset(&text);
    marey__text_reset(&out);
    for (int i = 0; i < 100; i++)
        marey__text_add_format(&text, "%s\"%d\": %d", i == 0 ? "{" : ", ", i % 50, i);
    marey__text_add_c(&text, "}");
    marey__chrome_add_strict(&out, (struct marey_str){text.ptr, text.len});
    EXPECT_HOLDS(out.ptr, "{\"0\": 50, \"1\": 51,");
    marey__text_release(&out);
    marey__text_release(&text);
}

static void scan_finds_oddities_at_every_place(void **state)
{
    (void)state;
    static const char *const odd[] = {"NaN", "inf", "-Infinity", "00", ".5"};
    char json[128];
    char want[128];
    for (int before = 0; before < 70; before++)
        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
            for (int after = 0; after < 3; after++) {
                (void)snprintf(json, sizeof json, "{\"%0*d\":%s%*s}", before, 0, odd[i], after, "");
                (void)snprintf(want, sizeof want, "{\"%0*d\":%s%*s}", before, 0,
                               i < 3    ? "null"
                               : i == 3 ? "\"00\""
                                        : "\".5\"",
                               after, "");
                expect_copied(json, want);
            }
}

/* Writing what was written changes nothing any more. */
static void members_are_escaped_once(void **state)
{
    (void)state;
    static const char file[] =
        "{\n  \"a\\\"b\\\\c\\n\": \"d\\\"e\",\n  \"traceEvents\": [\n\n  ]\n}\n";
    struct marey_text text = rewrite(file);
    EXPECT_HOLDS(text.ptr, "\"a\\\"b\\\\c\\n\": \"d\\\"e\"");
    expect_rewritten(text.ptr, text.ptr);
    marey_text_release(&text);
}

/* What is no JSON is counted behind the records, and only there. */
static void mended_scalars_are_counted(void **state)
{
    (void)state;
    struct marey_text text = rewrite(
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,"
        "\"args\":{\"x\":000,\"y\":[NaN,1]}}],\"traceName\":\"t\"}");
    EXPECT_HOLDS(text.ptr, "\"args\": {\"x\":\"000\",\"y\":[null,1]}");
    EXPECT_HOLDS(text.ptr, "],\n  \"mareyMended\": {\"scalars\": 2},\n  \"traceName\": \"t\"\n}\n");
    struct marey_text again = rewrite(text.ptr);
    EXPECT_STR(again.ptr, text.ptr);
    marey_text_release(&again);
    marey_text_release(&text);
}

static struct marey_text repair_bytes(const char *json)
{
    const struct marey_chrome_options options = {.size = sizeof options, .repair = true};
    struct marey_trace *trace = read_bytes(json);
    struct marey_text text = {0};
    struct marey_error err;
    EXPECT_STATUS(marey_export_chrome_text(trace, &options, &text, &err), MAREY_OK);
    marey_trace_free(trace);
    return text;
}

#define RECORD(args)                                                                               \
    "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,"       \
    "\"args\":" args "}]}"

/* What was mended by an earlier writing comes behind the records again, also of several sources,
 * and counts with what is mended now. */
static void mended_texts_stay_where_they_are(void **state)
{
    (void)state;
    struct marey_text text =
        repair_bytes(RECORD("{\"w\":NaN,\"x\":[1,,2]}") RECORD("{\"y\":[NaN,}"));
    EXPECT_HOLDS(text.ptr, "],\n  \"mareyMended\": {\"scalars\": 1, \"texts\": 2}\n}\n");
    struct marey_text again = rewrite(text.ptr);
    EXPECT_STR(again.ptr, text.ptr);
    marey_text_release(&again);
    again = repair_bytes(text.ptr);
    EXPECT_HOLDS(again.ptr, "],\n  \"mareyMended\": {\"scalars\": 1, \"texts\": 2}\n}\n");
    marey_text_release(&again);
    marey_text_release(&text);

    text = rewrite("{\"mareyMended\":{\"scalars\":2},\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\","
                   "\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"x\":00}}]}");
    EXPECT_HOLDS(text.ptr, "],\n  \"mareyMended\": {\"scalars\": 3}\n}\n");
    marey_text_release(&text);
    text = rewrite("{\"mareyMended\":\"mine\",\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\","
                   "\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}");
    EXPECT_HOLDS(text.ptr, "{\n  \"traceEvents\"");
    EXPECT_HOLDS(text.ptr, "],\n  \"mareyMended\": {\"scalars\": 0, \"texts\": 1}\n}\n");
    marey_text_release(&text);
}

/* ---- digits ---- */

static void expect_us(int64_t ns)
{
    char out[64];
    char want[64];
    const size_t len = (size_t)(marey_put_us(out, ns) - out);
    (void)snprintf(want, sizeof want, "%s%lld.%03lld", ns < 0 ? "-" : "",
                   (long long)(ns < 0 ? -(ns / 1000) : ns / 1000),
                   (long long)(ns < 0 ? -(ns % 1000) : ns % 1000));
    EXPECT_BYTES(out, len, want);
}

static void digits_agree_with_printf(void **state)
{
    (void)state;
    uint64_t random = make_seed("digits_agree_with_printf");
    for (int64_t ns = -1100; ns <= 1100; ns++)
        expect_us(ns);
    for (int64_t power = 1000; power < INT64_MAX / 10; power *= 10)
        for (int64_t off = -2; off <= 2; off++)
            expect_us(power + off);
    for (int i = 0; i < 100000; i++)
        expect_us((int64_t)(make_random(&random) >> (2 + make_random_below(&random, 60))));
    expect_us(INT64_MAX);
}

/* ---- order ---- */

/* Records come out in the order of their source, however they lie in it: spread evenly, or
 * in clusters that no bucket sort likes. */
static void records_keep_the_order_of_their_file(void **state)
{
    (void)state;
    uint64_t random = make_seed("records_keep_the_order_of_their_file");
    for (int is_clustered = 0; is_clustered < 2; is_clustered++) {
        struct make_trace make;
        char name[32];
        const int n = 500;
        make_trace_begin(&make, NULL);
        for (int i = 0; i < n; i++) {
            if (is_clustered && i == n / 2)
                make.next_byte += UINT64_C(1) << 40;
            (void)snprintf(name, sizeof name, "%llu",
                           (unsigned long long)make_random_below(&random, 7));
            make_thread(&make, "1", name);
            (void)snprintf(name, sizeof name, "n%d.", i);
            const int64_t start = (int64_t)make_random_below(&random, 1000);
            make_slice(&make, "cpu_op", name, start, start + 5);
        }
        struct marey_trace *trace = make_trace_end(&make);
        struct marey_error err = {0};
        struct marey_text text = {0};
        EXPECT_OK(marey_export_chrome_text(trace, NULL, &text, &err), &err);
        const char *at = text.ptr;
        for (int i = 0; i < n; i++) {
            (void)snprintf(name, sizeof name, "\"n%d.\"", i);
            at = strstr(at, name);
            EXPECT_TRUE(at != NULL);
        }
        marey_text_release(&text);
        marey_trace_free(trace);
    }
}

/* ---- memory ---- */

static enum marey_status export_text(void *ctx, const struct marey_alloc *alloc)
{
    struct marey_trace *trace = ctx;
    struct marey_text text = {.alloc = *alloc};
    struct marey_error err;
    const enum marey_status status = marey_export_chrome_text(trace, NULL, &text, &err);
    marey_text_release(&text);
    return status;
}

static enum marey_status export_scrubbed(void *ctx, const struct marey_alloc *alloc)
{
    struct marey_trace *trace = ctx;
    const struct marey_chrome_options options = {.size = sizeof options, .scrub = true};
    struct marey_text text = {.alloc = *alloc};
    struct marey_error err;
    const enum marey_status status = marey_export_chrome_text(trace, &options, &text, &err);
    marey_text_release(&text);
    return status;
}

static void every_lack_of_memory_is_told(void **state)
{
    (void)state;
    struct marey_trace *trace = read_bytes(
        "{\"k\":1,\"traceEvents\":[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":2},"
        "{\"ph\":\"X\",\"name\":\"b\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,"
        "\"args\":{\"x\":NaN,\"bytes\":1,\"Call stack\":\"/a/b.py(1): "
        "c\"}},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3},"
        "{\"ph\":\"s\",\"id\":\"x\",\"pid\":1,\"tid\":1,\"ts\":3},"
        "{\"ph\":\"b\",\"name\":\"io\",\"id\":\"y\",\"pid\":1,\"tid\":1,\"ts\":3},{}],"
        "\"traceName\":\"t\"}");
    EXPECT_TRUE(alloc_fail_sweep(export_text, trace) > 8);
    EXPECT_TRUE(alloc_fail_sweep(export_scrubbed, trace) > 12);
    marey_trace_free(trace);
    trace =
        read_bytes("[{\"ph\":\"s\",\"id\":2,\"pid\":1,\"tid\":1,\"ts\":3},"
                   "{\"ph\":\"X\",\"name\":\"a\",\"pid\":\"p\",\"tid\":2,\"ts\":1,\"dur\":1}]"
                   "{\"k\":1,\"traceEvents\":["
                   "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"n\"}},"
                   "{\"ph\":\"X\",\"name\":\"a\",\"pid\":\"p\",\"tid\":2,\"ts\":1,\"dur\":1}]}");
    EXPECT_TRUE(alloc_fail_sweep(export_text, trace) > 16);
    EXPECT_TRUE(alloc_fail_sweep(export_scrubbed, trace) > 20);
    marey_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_look_like_kinetos),
        cmocka_unit_test(missing_members_stay_missing),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(members_are_escaped_once),
        cmocka_unit_test(mended_scalars_are_counted),
        cmocka_unit_test(mended_texts_stay_where_they_are),
        cmocka_unit_test(begins_and_ends_pair_again),
        cmocka_unit_test(records_set_aside_are_written_or_counted),
        cmocka_unit_test(several_sources_do_not_collide),
        cmocka_unit_test(joined_documents_are_read_again_in_one_walk),
        cmocka_unit_test(args_can_be_left_out),
        cmocka_unit_test(values_are_made_strict),
        cmocka_unit_test(strict_values_are_bounded),
        cmocka_unit_test(a_stream_gets_the_same_bytes),
        cmocka_unit_test(a_stream_ends_when_its_receiver_fails),
        cmocka_unit_test(an_export_tells_its_progress_and_ends_when_told),
        cmocka_unit_test(valid_values_stay_byte_for_byte),
        cmocka_unit_test(invalid_values_are_mended),
        cmocka_unit_test(scan_finds_oddities_at_every_place),
        cmocka_unit_test(digits_agree_with_printf),
        cmocka_unit_test(records_keep_the_order_of_their_file),
        cmocka_unit_test(every_lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
