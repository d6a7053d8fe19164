/*
 * test_torch_table.c - single rules of torch's table, what table and view refuse, and want
 * of memory.
 */
#include <string.h>

#include "support/alloc_fail.h"
#include "unit/export/torch_records.h"

/* ---- tables ---- */

static void table_of_nothing_is_empty(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    const struct marey_torch_table_options options = marey_torch_table_defaults();
    open_records(&fixture, MEMORY("5", "010", "0"));
    close_fixture(&fixture);
    open_records(&fixture, SLICE("Trace", "another", "1", "010", "1", ""));
    EXPECT_OK(table(&fixture, &options, &err), &err);
    EXPECT_STR(fixture.text.ptr, "");
    close_fixture(&fixture);
}

/* Widths below three cut from the end, as Python's name[:-1] does; characters are counted,
 * not bytes. */
static void table_cuts_names_as_python_does(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    struct marey_torch_table_options options = marey_torch_table_defaults();
    open_records(&fixture, LABEL("h\xc3\xa4hnchen", "010", "5", "1"));
    options.max_name_column_width = 8;
    EXPECT_OK(table(&fixture, &options, &err), &err);
    EXPECT_HOLDS(fixture.text.ptr, "\nh\xc3\xa4hnc...       100.00%");
    options.max_name_column_width = 2;
    EXPECT_OK(table(&fixture, &options, &err), &err);
    EXPECT_HOLDS(fixture.text.ptr, "\nh\xc3\xa4hnche...       100.00%");
    options.max_name_column_width = MAREY_WIDTH_UNLIMITED;
    options.row_limit = 0;
    EXPECT_OK(table(&fixture, &options, &err), &err);
    EXPECT_TRUE(strstr(fixture.text.ptr, "100.00%") == NULL);
    close_fixture(&fixture);
}

static void table_sorts_by_any_attribute(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "key",          "overload_name",  "input_shapes",
        "stack",        "scope",          "node_id",
        "is_async",     "xpu_time_total", "self_privateuse1_memory_usage",
        "cpu_time_str", "use_device",     "flops"};
    struct fixture fixture;
    struct marey_error err = {0};
    struct marey_torch_table_options options = marey_torch_table_defaults();
    open_records(
        &fixture,
        SLICE(
            "cpu_op", "a", "5", "010", "5",
            "\"Input Dims\": [[9]], \"Call stack\": \"x;y;\"") "," SLICE("cpu_op", "b", "5", "020",
                                                                         "7",
                                                                         "\"Input Dims\": [[10, "
                                                                         "1]], \"Call stack\": "
                                                                         "\"x;z;\"") "," KERNEL("k",
                                                                                                "10"
                                                                                                "0",
                                                                                                "5",
                                                                                                "1"));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        options.sort_by = keys[i];
        EXPECT_OK(table(&fixture, &options, &err), &err);
    }
    options.sort_by = "input_shapes";
    EXPECT_OK(table(&fixture, &options, &err), &err);
    const char *at_a = strstr(fixture.text.ptr, "  a ");
    const char *at_b = strstr(fixture.text.ptr, "  b ");
    EXPECT_TRUE(at_a != NULL && at_b != NULL && at_b < at_a); /* 10 is more than 9 */
    close_fixture(&fixture);
}

static void table_refuses_what_torch_cannot_sort(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    struct marey_torch_table_options options = marey_torch_table_defaults();
    open_records(&fixture, OP("a", "010", "5", "1") "," OP("b", "020", "7", "2"));
    options.sort_by = "cuda_tme_total";
    EXPECT_STATUS(table(&fixture, &options, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message, "'FunctionEventAvg' object has no attribute 'device_tme_total'");
    EXPECT_HOLDS(err.message, "nearest are 'device_time_total', ");
    options.sort_by = "cpu_parent";
    EXPECT_STATUS(table(&fixture, &options, &err), MAREY_INVALID);
    options.sort_by = "use_device"; /* None */
    EXPECT_STATUS(table(&fixture, &options, &err), MAREY_INVALID);
    options.sort_by = "id"; /* of single events only */
    EXPECT_STATUS(table(&fixture, &options, &err), MAREY_INVALID);
    EXPECT_STATUS(marey_torch_events_table_text(fixture.view, NULL, &fixture.text, &err),
                  MAREY_INVALID);
    EXPECT_HOLDS(err.message, "marey_torch_table_defaults()");
    EXPECT_OK(marey_torch_events_table_text(fixture.view, &options, &fixture.text, &err), &err);
    options.size = 1;
    EXPECT_STATUS(table(&fixture, &options, &err), MAREY_INVALID);
    close_fixture(&fixture);
}

/* torch raises a TypeError and an AssertionError here. */
static void table_refuses_what_torch_cannot_print(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    const struct marey_torch_table_options options = marey_torch_table_defaults();
    const struct marey_torch_options with_flops = {.size = sizeof with_flops,
                                                   .flops = MAREY_KNOWN_YES};
    open_with(&fixture, "", OP("a", "010", "5", "1") "," MEMORY("5", "100", "8"), &with_flops);
    EXPECT_STATUS(marey_torch_events_table_text(fixture.view, &options, &fixture.text, &err),
                  MAREY_INVALID);
    EXPECT_HOLDS(err.message, "no flops");
    EXPECT_OK(table(&fixture, &options, &err), &err);
    close_fixture(&fixture);

    open_records(&fixture,
                 OP("a", "010", "5", "1") ","
                                          "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":"
                                          "\"n\",\"pid\":0,\"tid\":7,\"ts\":1020.0,\"dur\":5.0}");
    EXPECT_STATUS(table(&fixture, &options, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message, "Expected time_us == 0");
    close_fixture(&fixture);
}

static void times_change_their_unit_at_a_thousand(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    const struct marey_torch_table_options options = marey_torch_table_defaults();
    open_records(&fixture,
                 OP("ms", "000", "1000", "1") "," SLICE("cpu_op", "s", "6", "000", "1000000", ""));
    EXPECT_OK(table(&fixture, &options, &err), &err);
    EXPECT_HOLDS(fixture.text.ptr, " 1.000ms ");
    EXPECT_HOLDS(fixture.text.ptr, " 1.000s ");
    close_fixture(&fixture);
}

/* ---- what the view refuses ---- */

static void view_refuses_old_versions_and_many_files(void **state)
{
    (void)state;
    struct fixture fixture;
    struct marey_error err = {0};
    struct marey_torch_view *view = NULL;
    struct marey_torch_options options = {.size = sizeof options, .version = 203};
    open_records(&fixture, OP("a", "010", "5", "1"));
    EXPECT_STATUS(marey_torch_view_new(fixture.trace, &options, &view, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message, "2.4 is the oldest");
    options = (struct marey_torch_options){.size = 1};
    EXPECT_STATUS(marey_torch_view_new(fixture.trace, &options, &view, &err), MAREY_INVALID);
    close_fixture(&fixture);

    const char *const paths[] = {expect_data_path("sched5.json.gz"),
                                 expect_data_path("sched9.json.gz")};
    EXPECT_OK(marey_import_files(paths, 2, NULL, &fixture.trace, &err), &err);
    EXPECT_STATUS(marey_torch_view_new(fixture.trace, NULL, &view, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message,
                 "torch's view of 2 cycles of one process: torch shows one cycle, load one file");
    EXPECT_TRUE(view == NULL);
    marey_trace_free(fixture.trace);

    static const char joined[] = "{\"traceEvents\":[]}{\"traceEvents\":[]}";
    const struct marey_str text = {joined, sizeof joined - 1};
    EXPECT_OK(marey_import_bytes(text, NULL, &fixture.trace, &err), &err);
    EXPECT_STATUS(marey_torch_view_new(fixture.trace, NULL, &view, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message, "torch's view of 2 ranks in one file");
    marey_trace_free(fixture.trace);

    static const char of_one_rank[] = "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[]}"
                                      "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[]}";
    const struct marey_str workers = {of_one_rank, sizeof of_one_rank - 1};
    EXPECT_OK(marey_import_bytes(workers, NULL, &fixture.trace, &err), &err);
    EXPECT_STATUS(marey_torch_view_new(fixture.trace, NULL, &view, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message, "torch's view of 2 processes of one rank");
    marey_trace_free(fixture.trace);
}

/* ---- want of memory ---- */

/* All of the view, with its n-th request refused; true if it needs fewer than n. A load may
 * do without some memory, so requests are counted from its end. */
static bool survives_refusal(const char *path, uint64_t n)
{
    struct alloc_fail state = {0};
    const struct marey_alloc alloc = alloc_fail_make(&state);
    const struct marey_import_options import = {.size = sizeof import, .alloc = &alloc};
    struct marey_torch_table_options options = marey_torch_table_defaults();
    struct marey_trace *trace = NULL;
    struct marey_torch_view *view = NULL;
    struct marey_torch_averages *averages = NULL;
    struct marey_text text = {.alloc = alloc};
    options.sort_by = "self_cuda_time_total";
    EXPECT_STATUS(marey_import_file(path, &import, &trace, NULL), MAREY_OK);

    state.fail_at = state.n_requests + n;
    enum marey_status status = marey_torch_view_new(trace, NULL, &view, NULL);
    if (status == MAREY_OK)
        status = marey_torch_averages_new(view, true, 3, true, &averages, NULL);
    if (status == MAREY_OK)
        status = marey_torch_table_text(averages, &options, &text, NULL);
    if (status == MAREY_OK)
        status = marey_torch_stacks_text(view, "self_cpu_time_total", &text, NULL);
    EXPECT_STATUS(status, state.n_failed == 0 ? MAREY_OK : MAREY_NOMEM);
    marey_text_release(&text);
    marey_torch_averages_free(averages);
    marey_torch_view_free(view);
    marey_trace_free(trace);
    EXPECT_U64(state.n_live, 0);
    return state.n_failed == 0;
}

static void view_survives_want_of_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"torch211_idle_sync.json.gz",
                                        "torch213_autograd_profile.json.gz",
                                        "torch211_threads_verbose.json.gz"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t n = 1;
        while (!survives_refusal(expect_data_path(names[i]), n))
            n++;
        EXPECT_TRUE(n > 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_nothing_is_empty),
        cmocka_unit_test(table_cuts_names_as_python_does),
        cmocka_unit_test(table_sorts_by_any_attribute),
        cmocka_unit_test(table_refuses_what_torch_cannot_sort),
        cmocka_unit_test(table_refuses_what_torch_cannot_print),
        cmocka_unit_test(times_change_their_unit_at_a_thousand),
        cmocka_unit_test(view_refuses_old_versions_and_many_files),
        cmocka_unit_test(view_survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
