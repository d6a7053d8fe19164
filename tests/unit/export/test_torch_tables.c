/*
 * test_torch_tables.c - the view of a file beside what torch itself printed and had in
 * memory for the same recording: tables, events and stacks, byte for byte.
 *
 * tests/data/torch/<name>.txt holds tables under headings that are the Python calls:
 *
 *     ### key_averages({'group_by_stack_n': 5}).table({'row_limit': 10})
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "marey/aggregate.h"
#include "marey/export.h"
#include "marey/import.h"
#include "support/expect.h"

#define MOST_BYTES ((size_t)2 << 20)
#define MOST_TEXT 256

/* ---- files ---- */

/* Plain or gzip, as one string. Freed by the caller. */
static char *read_file(const char *name)
{
    char *text = malloc(MOST_BYTES);
    const gzFile file = gzopen(expect_data_path(name), "rb");
    if (file == NULL || text == NULL)
        EXPECT_FAIL(name);
    const int n = gzread(file, text, (unsigned)MOST_BYTES - 1);
    EXPECT_TRUE(n >= 0 && gzclose(file) == Z_OK);
    text[n] = '\0';
    return text;
}

static struct marey_trace *load(const char *name)
{
    char path[MOST_TEXT];
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    (void)snprintf(path, sizeof path, "%s.json.gz", name);
    EXPECT_OK(marey_import_file(expect_data_path(path), NULL, &trace, &err), &err);
    return trace;
}

static struct marey_torch_view *view_of(struct marey_trace *trace, enum marey_known flops)
{
    struct marey_error err = {0};
    struct marey_torch_view *view = NULL;
    const struct marey_torch_options options = {.size = sizeof options, .flops = flops};
    EXPECT_OK(marey_torch_view_new(trace, &options, &view, &err), &err);
    return view;
}

/* Shows where two texts part. */
static void expect_same(const char *got, const char *want, const char *what)
{
    size_t at = 0;
    size_t line = 0;
    while (got[at] == want[at]) {
        if (got[at] == '\0')
            return;
        at++;
        if (got[at - 1] == '\n')
            line = at;
    }
    print_error("%s\ngot  %.*s\nwant %.*s\n", what, (int)strcspn(got + line, "\n"), got + line,
                (int)strcspn(want + line, "\n"), want + line);
    EXPECT_FAIL("texts differ");
}

/* ---- headings ---- */

struct call {
    bool by_shape;
    bool by_overload;
    uint32_t by_stack;
    struct marey_torch_table_options options;
    char sort_by[MOST_TEXT];
    char header[MOST_TEXT];
};

static uint32_t width(const char *value)
{
    return strncmp(value, "None", 4) == 0 ? MAREY_WIDTH_UNLIMITED
                                          : (uint32_t)strtoul(value, NULL, 10);
}

/* A Python string in single quotes. */
static const char *quoted(const char *value, char *out)
{
    EXPECT_TRUE(value[0] == '\'');
    const size_t len = strcspn(value + 1, "'");
    memcpy(out, value + 1, len);
    out[len] = '\0';
    return out;
}

static enum marey_time_unit unit(const char *value)
{
    if (strncmp(value, "'ms'", 4) == 0)
        return MAREY_TIME_MS;
    EXPECT_FAIL(value);
    return MAREY_TIME_AUTO;
}

static void set_argument(struct call *call, const char *key, size_t len, const char *value)
{
    const bool is_true = strncmp(value, "True", 4) == 0;
#define IS(name) (len == sizeof name - 1 && memcmp(key, name, len) == 0)
    if (IS("group_by_input_shape"))
        call->by_shape = is_true;
    else if (IS("group_by_overload_name"))
        call->by_overload = is_true;
    else if (IS("group_by_stack_n"))
        call->by_stack = (uint32_t)strtoul(value, NULL, 10);
    else if (IS("sort_by"))
        call->options.sort_by = quoted(value, call->sort_by);
    else if (IS("header"))
        call->options.header = quoted(value, call->header);
    else if (IS("row_limit"))
        call->options.row_limit = strtoll(value, NULL, 10);
    else if (IS("max_name_column_width"))
        call->options.max_name_column_width = width(value);
    else if (IS("max_shapes_column_width"))
        call->options.max_shapes_column_width = width(value);
    else if (IS("max_src_column_width"))
        call->options.max_src_column_width = width(value);
    else if (IS("top_level_events_only"))
        call->options.top_level_events_only = is_true;
    else if (IS("time_unit"))
        call->options.time_unit = unit(value);
    else
        EXPECT_FAIL(key);
#undef IS
}

/* Keys of both dictionaries differ, so they are read as one. */
static void read_call(const char *heading, size_t len, struct call *call)
{
    *call = (struct call){.options = marey_torch_table_defaults()};
    const char *end = heading + len;
    for (const char *at = heading; at < end; at++) {
        if (*at != '\'' || (at[-1] != '{' && at[-1] != ' '))
            continue;
        const char *key = at + 1;
        const size_t key_len = strcspn(key, "'");
        if (strncmp(key + key_len, "': ", 3) != 0)
            continue; /* a value */
        set_argument(call, key, key_len, key + key_len + 3);
        at = key + key_len;
    }
}

static void expect_table(const struct marey_torch_view *view, const struct call *call,
                         const char *want, const char *what)
{
    struct marey_error err = {0};
    struct marey_torch_averages *averages = NULL;
    struct marey_text text = {0};
    EXPECT_OK(marey_torch_averages_new(view, call->by_shape, call->by_stack, call->by_overload,
                                       &averages, &err),
              &err);
    EXPECT_OK(marey_torch_table_text(averages, &call->options, &text, &err), &err);
    expect_same(text.ptr, want, what);
    marey_text_release(&text);
    marey_torch_averages_free(averages);
}

/* All tables of a file with headings; each ends with one empty line. */
static size_t expect_tables(const struct marey_torch_view *view, const char *name)
{
    char *text = read_file(name);
    size_t n = 0;
    char *at = strncmp(text, "### ", 4) == 0 ? text : NULL;
    while (at != NULL) {
        const size_t len = strcspn(at, "\n");
        char *body = at + len + 1;
        char *next = strstr(body, "\n### ");
        char *end = next == NULL ? body + strlen(body) : next + 1;
        at = next == NULL ? NULL : next + 1;
        char what[MOST_TEXT * 2];
        struct call call;
        (void)snprintf(what, sizeof what, "%s %.*s", name, (int)len, body - len - 1);
        read_call(body - len - 1, len, &call);
        EXPECT_TRUE(end - body >= 2 && end[-1] == '\n' && end[-2] == '\n');
        end[-1] = '\0';
        expect_table(view, &call, body, what);
        n++;
    }
    free(text);
    return n;
}

/* ---- events ---- */

/* The shortest text that reads back as the same double: Python's repr. */
static int put_double(char *out, size_t size, double value)
{
    char text[64];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    const bool is_whole = strpbrk(text, ".en") == NULL;
    return snprintf(out, size, "%s%s", text, is_whole ? ".0" : "");
}

struct line {
    char text[1 << 14];
    size_t len;
};

static void put(struct line *line, const char *format, ...) MAREY_PRINTF(2, 3);

static void put(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line->len +=
        (size_t)vsnprintf(line->text + line->len, sizeof line->text - line->len, format, args);
    va_end(args);
    EXPECT_TRUE(line->len < sizeof line->text);
}

static void put_number(struct line *line, const char *key, double value)
{
    put(line, ", \"%s\": ", key);
    line->len += (size_t)put_double(line->text + line->len, sizeof line->text - line->len, value);
}

/* Names of the recordings need no escapes. */
static void put_string(struct line *line, const struct marey_torch_view *view, uint32_t id)
{
    const struct marey_str text = marey_torch_view_string(view, id);
    put(line, "\"%.*s\"", (int)text.len, text.ptr);
}

static void put_stack(struct line *line, const struct marey_torch_view *view,
                      const struct marey_torch_event *event)
{
    size_t n = 0;
    const uint32_t *stacks = marey_torch_view_stacks(view, &n);
    put(line, ", \"stack\": [");
    for (uint32_t i = 0; i < event->n_stack; i++) {
        put(line, "%s", i == 0 ? "" : ", ");
        put_string(line, view, stacks[event->first_stack + i]);
    }
    put(line, "]");
}

/* One line as the recording has it; the files of torch 2.13 tell more of an event. */
static void put_event(struct line *line, const struct marey_torch_view *view, size_t i,
                      bool is_long)
{
    size_t n = 0;
    const struct marey_torch_event *events = marey_torch_view_events(view, &n);
    const struct marey_torch_event *event = &events[i];
    const bool has_parent = event->parent_idx != MAREY_NONE;
    const struct marey_str name = marey_torch_view_string(view, event->name_id);
    line->len = 0;
    put(line, "{\"id\": %lld, \"name\": \"%.*s\"", (long long)event->id, (int)name.len, name.ptr);
    put_number(line, "start", event->start_us);
    put_number(line, "end", event->end_us);
    put(line, ", \"thread\": %lld, \"parent\": ", (long long)event->thread);
    if (has_parent)
        put(line, "%lld", (long long)events[event->parent_idx].id);
    else
        put(line, "null");
    put_number(line, "self", event->self_cpu_us);
    put_number(line, "total", event->cpu_total_us);
    put(line, ", \"shapes\": ");
    put_string(line, view, event->shapes_id);
    put(line, ", \"cpu_mem\": %lld, \"self_cpu_mem\": %lld, \"seq\": %lld, \"flops\": ",
        (long long)event->cpu_memory, (long long)event->self_cpu_memory,
        (long long)event->sequence);
    if (name.len == 8 && memcmp(name.ptr, "[memory]", 8) == 0)
        put(line, "null");
    else
        put(line, "%llu", (unsigned long long)event->flops);
    if (is_long) {
        put(line, ", \"overload\": ");
        put_string(line, view, event->overload_id);
        put(line, ", \"is_async\": %s, \"python_id\": %lld, \"parent_line\": ",
            event->is_async ? "true" : "false", (long long)event->python_id);
        if (has_parent)
            put(line, "%u", event->parent_idx);
        else
            put(line, "null");
        if (!event->is_python_function && event->n_stack > 0)
            put_stack(line, view, event);
    }
    put(line, "}");
}

static void expect_events(const struct marey_torch_view *view, const char *name, bool is_long)
{
    char *text = read_file(name);
    struct line *line = malloc(sizeof *line);
    size_t n = 0;
    (void)marey_torch_view_events(view, &n);
    char *at = text;
    for (size_t i = 0; i < n; i++) {
        char what[MOST_TEXT];
        char *end = at + strcspn(at, "\n");
        EXPECT_TRUE(*end == '\n' && line != NULL);
        *end = '\0';
        (void)snprintf(what, sizeof what, "%s:%zu", name, i + 1);
        put_event(line, view, i, is_long);
        expect_same(line->text, at, what);
        at = end + 1;
    }
    EXPECT_STR(at, "");
    free(line);
    free(text);
}

static void expect_stacks(const struct marey_torch_view *view, const char *metric, const char *name)
{
    struct marey_error err = {0};
    struct marey_text text = {0};
    char *want = read_file(name);
    EXPECT_OK(marey_torch_stacks_text(view, metric, &text, &err), &err);
    expect_same(text.ptr, want, name);
    marey_text_release(&text);
    free(want);
}

/* ---- cases ---- */

/* Events of the oldest recordings were not kept. */
static void expect_recording(const char *name, size_t n_tables, enum marey_known flops)
{
    char path[MOST_TEXT];
    struct marey_trace *trace = load(name);
    struct marey_torch_view *view = view_of(trace, flops);
    const bool is_dense = strncmp(name, "torch211", 8) == 0;
    (void)snprintf(path, sizeof path, "torch/%s.txt%s", name, is_dense ? ".gz" : "");
    EXPECT_U64(expect_tables(view, path), n_tables);
    if (strncmp(name, "torch21", 7) == 0) {
        (void)snprintf(path, sizeof path, "torch/%s_events.jsonl.gz", name);
        expect_events(view, path, true);
    }
    if (strncmp(name, "torch213_encoder", 16) == 0) {
        (void)snprintf(path, sizeof path, "torch/%s.stacks.gz", name);
        expect_stacks(view, "self_cpu_time_total", path);
    }
    marey_torch_view_free(view);
    marey_trace_free(trace);
}

static void expect_stack_files(const char *name)
{
    static const char *const metrics[] = {"self_cpu_time_total", "self_cuda_time_total"};
    char path[MOST_TEXT];
    struct marey_trace *trace = load(name);
    struct marey_torch_view *view = view_of(trace, MAREY_KNOWN_AUTO);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "torch/%s.%s.stacks.gz", name, metrics[i]);
        expect_stacks(view, metrics[i], path);
    }
    marey_torch_view_free(view);
    marey_trace_free(trace);
}

static void torch_tables_equal_for_cpu_training(void **state)
{
    (void)state;
    expect_recording("cpu_mlp_train", 3, MAREY_KNOWN_AUTO);
    struct marey_trace *trace = load("cpu_mlp_train");
    struct marey_torch_view *view = view_of(trace, MAREY_KNOWN_AUTO);
    expect_events(view, "torch/cpu_mlp_events.jsonl.gz", false);
    marey_torch_view_free(view);
    marey_trace_free(trace);
}

static void torch_tables_equal_for_resnet_training(void **state)
{
    (void)state;
    expect_recording("resnet18_train", 5, MAREY_KNOWN_AUTO);
}

static void torch_tables_equal_for_gpt_training(void **state)
{
    (void)state;
    expect_recording("gpt_train_stack", 6, MAREY_KNOWN_AUTO);
}

static void torch_tables_equal_for_cuda_graphs(void **state)
{
    (void)state;
    expect_recording("gpt_compiled_cudagraph", 3, MAREY_KNOWN_AUTO);
}

/* One table without a heading. */
static void torch_table_equals_for_several_devices(void **state)
{
    (void)state;
    struct marey_trace *trace = load("dataparallel_infer");
    struct marey_torch_view *view = view_of(trace, MAREY_KNOWN_AUTO);
    struct call call = {.options = marey_torch_table_defaults()};
    char *want = read_file("torch/dataparallel_infer.txt");
    call.options.sort_by = "self_cuda_time_total";
    call.options.row_limit = -1;
    expect_table(view, &call, want, "dataparallel_infer");
    free(want);
    marey_torch_view_free(view);
    marey_trace_free(trace);
}

static void torch_tables_equal_for_convolutions(void **state)
{
    (void)state;
    expect_recording("torch213_conv_train", 8, MAREY_KNOWN_AUTO);
}

static void torch_tables_equal_for_python_functions(void **state)
{
    (void)state;
    expect_recording("torch213_encoder_stack", 9, MAREY_KNOWN_AUTO);
}

static void torch_tables_equal_for_op_stacks(void **state)
{
    (void)state;
    expect_recording("torch213_encoder_verbose", 8, MAREY_KNOWN_AUTO);
}

/* The file does not tell that FLOPs were asked for. */
static void torch_tables_equal_for_autograd_profile(void **state)
{
    (void)state;
    expect_recording("torch213_autograd_profile", 8, MAREY_KNOWN_YES);
}

/* Four tables, two line ends between them: stacks and FLOPs, overhead records on two
 * threads, synchronisation records. */
static void torch_tables_equal_for_overhead_and_sync(void **state)
{
    (void)state;
    struct marey_trace *trace = load("verbose_sync");
    struct marey_torch_view *view = view_of(trace, MAREY_KNOWN_AUTO);
    struct call calls[4];
    for (size_t i = 0; i < 4; i++)
        calls[i] = (struct call){.options = marey_torch_table_defaults()};
    calls[0].by_stack = 5;
    calls[0].options.sort_by = "cpu_time_total";
    calls[0].options.row_limit = 12;
    calls[1].options.header = "H E A D";
    calls[1].options.row_limit = 4;
    calls[2].options.time_unit = MAREY_TIME_MS;
    calls[2].options.row_limit = 4;
    calls[3].by_shape = true;
    calls[3].options.sort_by = "flops";
    calls[3].options.row_limit = 8;
    calls[3].options.max_shapes_column_width = 30;
    calls[3].options.max_name_column_width = MAREY_WIDTH_UNLIMITED;

    char *want = read_file("torch/verbose_sync.txt");
    char *at = want;
    for (size_t i = 0; i < 4; i++) {
        char *end = strstr(at, "\n\n\n");
        if (end != NULL)
            end[1] = '\0';
        expect_table(view, &calls[i], at, "verbose_sync");
        at = end == NULL ? at : end + 3;
    }
    expect_stacks(view, "self_cuda_time_total", "torch/verbose_sync.stacks.gz");
    free(want);
    marey_torch_view_free(view);
    marey_trace_free(trace);
}

/* On an H100: overhead records inside runtime calls and ops, kernels counted again. */
static void torch_tables_equal_for_lazy_loading(void **state)
{
    (void)state;
    expect_recording("torch211_lazy", 13, MAREY_KNOWN_AUTO);
}

/* Runtime calls of a thread that torch does not see hang below what the main thread does. */
static void torch_tables_equal_for_unseen_threads(void **state)
{
    (void)state;
    expect_recording("torch211_threads_verbose", 13, MAREY_KNOWN_AUTO);
    expect_stack_files("torch211_threads_verbose");
}

/* No op at all: an overhead record has the id of the runtime call around it. */
static void torch_tables_equal_for_idle_device(void **state)
{
    (void)state;
    expect_recording("torch211_idle_sync", 13, MAREY_KNOWN_AUTO);
    expect_stack_files("torch211_idle_sync");
}

static void torch_tables_equal_for_streams_and_events(void **state)
{
    (void)state;
    expect_recording("torch211_streams_sync", 13, MAREY_KNOWN_AUTO);
    expect_stack_files("torch211_streams_sync");
}

static void torch_tables_equal_for_overloads(void **state)
{
    (void)state;
    expect_recording("torch211_graph_overloads", 13, MAREY_KNOWN_AUTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_tables_equal_for_cpu_training),
        cmocka_unit_test(torch_tables_equal_for_resnet_training),
        cmocka_unit_test(torch_tables_equal_for_gpt_training),
        cmocka_unit_test(torch_tables_equal_for_cuda_graphs),
        cmocka_unit_test(torch_table_equals_for_several_devices),
        cmocka_unit_test(torch_tables_equal_for_convolutions),
        cmocka_unit_test(torch_tables_equal_for_python_functions),
        cmocka_unit_test(torch_tables_equal_for_op_stacks),
        cmocka_unit_test(torch_tables_equal_for_autograd_profile),
        cmocka_unit_test(torch_tables_equal_for_overhead_and_sync),
        cmocka_unit_test(torch_tables_equal_for_lazy_loading),
        cmocka_unit_test(torch_tables_equal_for_unseen_threads),
        cmocka_unit_test(torch_tables_equal_for_idle_device),
        cmocka_unit_test(torch_tables_equal_for_streams_and_events),
        cmocka_unit_test(torch_tables_equal_for_overloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
