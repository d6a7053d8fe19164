/*
 * Law: how the text is cut into windows, how many threads share them, which scanner reads it and
 * whether records are recognised or looked at one by one makes no difference to the trace.
 *
 * Random files mix layouts, phases, escapes and damage; a seed that is printed repeats one.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "read_text.h"
#include "support/hash_trace.h"
#include "support/make_random.h"

static uint64_t of_trace(struct marey_trace *trace)
{
    const uint64_t hash = hash_trace(trace);

    marey_trace_free(trace);
    return hash;
}

static uint64_t of_failure(const struct marey_error *err)
{
    return ((uint64_t)-err->status * 1000003 + (uint64_t)err->offset_bytes) << 1;
}

/* All of the trace (an odd number), or status and place of the failure (an even one). */
static uint64_t outcome(const char *bytes, size_t len, const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    const enum marey_status status =
        marey__import_bytes((struct marey_str){bytes, len}, &alloc, reading, &trace, &err);

    return status == MAREY_OK ? of_trace(trace) | 1 : of_failure(&err);
}

/* The same of a file, whose text comes in windows. */
static uint64_t outcome_of_file(const char *path, const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    const enum marey_status status = marey__import_files(&path, 1, &alloc, reading, &trace, &err);

    return status == MAREY_OK ? of_trace(trace) | 1 : of_failure(&err);
}

/* ---- random files ---------------------------------------------------------------------- */

struct writer {
    uint64_t random;
    struct marey_textbuf text;
    const char *space;   /* between tokens */
    const char *newline; /* between members */
};

static uint64_t below(struct writer *w, uint64_t n)
{
    return make_random_below(&w->random, n);
}

static const char *any(struct writer *w, const char *const *words, size_t n)
{
    return words[below(w, n)];
}

#define ANY(w, ...)                                                                                \
    any(w, (const char *const[]){__VA_ARGS__},                                                     \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void put(struct writer *w, const char *text)
{
    marey__text_add_c(&w->text, text);
}

static void put_member(struct writer *w, const char *key, const char *value)
{
    const char last = w->text.ptr[w->text.len - 1];
    if (last != '{')
        put(w, ",");
    put(w, w->newline);
    put(w, "\"");
    put(w, key);
    put(w, "\":");
    put(w, w->space);
    put(w, value);
}

static void put_number(struct writer *w, const char *key)
{
    char text[64];
    const char *odd = ANY(w, "1e2", "-3", "\"4.5\"", "null", "0", "1e300", "\"\"", "12.3456789");
    snprintf(text, sizeof text, "%llu.%03llu", (unsigned long long)below(w, 1000000),
             (unsigned long long)below(w, 1000));
    put_member(w, key, below(w, 12) == 0 ? odd : text);
}

static void put_args(struct writer *w)
{
    static const char *const rows[] = {
        "{}",
        "{\"a\": \"}\\\"{[\", \"b\": [[1, 2], []]}",
        "{\"External id\": 5, \"cbid\": 1, \"correlation\": 77}",
        "{\"correlation\": 18446744073709551616, \"device\": \"0\"}",
        ("{ \"device\": 0, \"context\": 1,\n \"stream\": 7, \"correlation\": 12, \"x\": {\"y\": "
         "[{}]}}"),
        "{ \"device\": 0, \"context\": 1,\n \"stream\": 8, \"correlation\": 13, \"x\": [\"}\"]}",
        "{ \"device\": 1, \"context\": 1,\n \"stream\": 8, \"correlation\": 14, \"x\": 0}",
        "{\"External id\": 123456789012345, \"cbid\": 211, \"correlation\": 7}",
        "{\"External id\": 1234567890123456789, \"cbid\": 2, \"correlation\": 8}",
        "{\"stream\": -1, \"device\": 2}",
        ("{\"long\": \"\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\", "
         "\"q\": \"\\\\\\\"\", \"z\": "
         "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"),
        "\"text\"",
        "null",
    };
    put_member(w, "args", any(w, rows, sizeof rows / sizeof rows[0]));
}

static void put_record(struct writer *w)
{
    const char *phase = ANY(w, "\"X\"", "\"X\"", "\"X\"", "\"X\"", "\"i\"", "\"s\"", "\"f\"",
                            "\"M\"", "\"C\"", "\"B\"", "\"E\"", "\"b\"", "\"e\"", "\"?\"");
    const bool is_first = below(w, 3) != 0;

    put(w, "{");
    if (is_first)
        put_member(w, "ph", phase);
    if (below(w, 20) != 0)
        put_member(w, "cat",
                   ANY(w, "\"cpu_op\"", "\"kernel\"", "\"cuda_runtime\"", "\"python_function\"",
                       "\"gpu_user_annotation\"", "\"cuda_sync\"", "\"odd\"", "null"));
    if (below(w, 20) != 0)
        put_member(w, "name",
                   ANY(w, "\"aten::add\"", "\"\"", "\"a\\\"b\"", "\"caf\xc3\xa9\"", "\"\xff\"",
                       "\"tab\tbed\"", "\"void kernel<float, 4>(long, long, long, long, long)\"",
                       "\"cudaLaunchKernel\"", "\"\\ud800\"", "5"));
    put_member(w, "pid", ANY(w, "1", "1", "0", "\"Spans\""));
    if (below(w, 20) != 0)
        put_member(w, "tid", ANY(w, "1", "1", "7", "-7", "\"stream 7\""));
    if (below(w, 20) != 0)
        put_number(w, "ts");
    if (below(w, 20) != 0)
        put_number(w, "dur");
    if (below(w, 3) == 0)
        put_member(w, "id", ANY(w, "1", "2", "\"0x3\"", "99999999999999999999"));
    if (below(w, 8) == 0)
        put_member(w, "s", ANY(w, "\"t\"", "\"g\""));
    if (below(w, 8) == 0)
        put_member(w, "other", ANY(w, "true", "[1]", "{\"a\":{}}"));
    if (below(w, 4) != 0)
        put_args(w);
    if (!is_first)
        put_member(w, "ph", phase);
    put(w, w->newline);
    put(w, "}");
}

static void put_file(struct writer *w)
{
    const uint64_t n = 1 + below(w, 60);

    marey__text_reset(&w->text);
    w->space = ANY(w, "", " ", "  ");
    w->newline = ANY(w, "", "\n    ", "\r\n\t", " ");
    put(w, "{\"schemaVersion\": 1, \"x\": {\"deep\": [[[{}]]]}, \"traceEvents\": [");
    for (uint64_t i = 0; i < n; i++) {
        put(w, i == 0 ? "" : ",");
        put(w, w->newline);
        if (below(w, 50) == 0)
            put(w, "{}");
        else
            put_record(w);
    }
    put(w, "], \"baseTimeNanoseconds\": 17, \"traceName\": \"a\\\"b\"}");
    put(w, w->newline);
    if (below(w, 4) == 0) /* cut, or one byte wrong */
        w->text.len = (size_t)below(w, w->text.len);
    else if (below(w, 4) == 0)
        w->text.ptr[below(w, w->text.len)] = (char)below(w, 256);
}

static void write_to(const char *path, const char *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    EXPECT_TRUE(file != NULL);
    EXPECT_U64(fwrite(bytes, 1, len, file), len);
    EXPECT_I64(fclose(file), 0);
}

static void every_way_reads_the_same(void **state)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct writer w = {.random = make_seed("every_way_reads_the_same")};
    char path[] = "/tmp/marey-window-XXXXXX";
    const int fd = mkstemp(path);
    (void)state;
    EXPECT_TRUE(fd >= 0);
    close(fd);
    marey__text_init(&w.text, &alloc);
    unsigned n_loaded = 0;
    for (int round = 0; round < 400; round++) {
        put_file(&w);
        const struct marey_reading slow = {.portable_only = true, .no_templates = true};
        const uint64_t want = outcome(w.text.ptr, w.text.len, &slow);
        n_loaded += want & 1;
        write_to(path, w.text.ptr, w.text.len);
        for (unsigned way = 0; way < 4; way++) {
            struct marey_reading reading = {.portable_only = (way & 1) != 0,
                                            .no_templates = (way & 2) != 0};
            EXPECT_U64(outcome(w.text.ptr, w.text.len, &reading), want);
            reading.window_bytes = 16 + (size_t)below(&w, 300);
            reading.n_threads = 1;
            EXPECT_U64(outcome_of_file(path, &reading), want);
            reading.window_bytes = 16 + (size_t)below(&w, 3000);
            reading.n_threads = 2 + (size_t)below(&w, 3);
            EXPECT_U64(outcome_of_file(path, &reading), want);
        }
    }
    unlink(path);
    EXPECT_TRUE(n_loaded > 100); /* not all files are damaged */
    marey__text_release(&w.text);
}

static void real_traces_are_read_the_same_in_small_windows(void **state)
{
    static const char *const names[] = {"gpt_compiled_cudagraph.json.gz", "verbose_sync.json.gz",
                                        "torch213_conv_train.json.gz"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *path = expect_data_path(names[i]);
        const struct marey_reading usual = {0};
        const uint64_t want = outcome_of_file(path, &usual);
        for (unsigned way = 0; way < 4; way++) {
            const struct marey_reading reading = {.window_bytes = (way & 1) != 0 ? 64 : 5000,
                                                  .portable_only = (way & 2) != 0,
                                                  .no_templates = way == 0};
            EXPECT_U64(outcome_of_file(path, &reading), want);
        }
    }
}

static void real_traces_are_read_the_same_by_any_number_of_threads(void **state)
{
    static const size_t window_bytes[] = {700, 5000, 70000};
    static const size_t n_threads[] = {1, 2, 3, 8};
    glob_t found;
    (void)state;
    EXPECT_I64(glob(expect_data_path("*.json.gz"), 0, NULL, &found), 0);
    EXPECT_I64(glob(expect_data_path("fixtures/*.json*"), GLOB_APPEND, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const struct marey_reading slow = {
            .n_threads = 1, .portable_only = true, .no_templates = true};
        const uint64_t want = outcome_of_file(found.gl_pathv[i], &slow);
        for (size_t way = 0; way < 12; way++) {
            const struct marey_reading reading = {.window_bytes = window_bytes[way % 3],
                                                  .n_threads = n_threads[way / 3]};
            EXPECT_U64(outcome_of_file(found.gl_pathv[i], &reading), want);
        }
    }
    EXPECT_TRUE(found.gl_pathc > 20);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_reads_the_same),
        cmocka_unit_test(real_traces_are_read_the_same_in_small_windows),
        cmocka_unit_test(real_traces_are_read_the_same_by_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
