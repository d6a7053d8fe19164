/*
 * Tests of the table as CSV and JSON, and of every way to run out of memory.
 */
#include "base/json.h"
#include "make_table.h"
#include "support/alloc_fail.h"

#include <stdio.h>

static const struct marey_averages_options plain = {0};

static void csv_has_raw_numbers_and_quotes(void **state)
{
    (void)state;
    static const char *const names[] = {"a,b", "say \"hi\"", "two\nlines", "plain", ""};
    struct marey_trace *trace = named_trace("cpu_op", names, 5);
    struct marey_text text =
        table_of(trace, plain,
                 (struct marey_table_options){.format = MAREY_TABLE_CSV,
                                              .sort = "name",
                                              .columns = "name,calls,self,self_share,p50,stack"});
    EXPECT_STR(text.ptr, "name,calls,self_ns,self_percent,p50_ns,stack\n"
                         "\"\",1,10000,20.0000,,\n"
                         "\"a,b\",1,10000,20.0000,,\n"
                         "plain,1,10000,20.0000,,\n"
                         "\"say \"\"hi\"\"\",1,10000,20.0000,,\n"
                         "\"two\nlines\",1,10000,20.0000,,\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        n++;
    return n;
}

/* Data are whole unless a limit is asked for; then JSON tells how many are missing. */
static void data_have_all_rows(void **state)
{
    (void)state;
    static char text_of[100][8];
    const char *names[100];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(text_of[i], sizeof text_of[i], "op%d", i);
        names[i] = text_of[i];
    }
    struct marey_trace *trace = named_trace("cpu_op", names, 100);
    struct marey_text text =
        table_of(trace, plain, (struct marey_table_options){.format = MAREY_TABLE_CSV});
    EXPECT_U64(count(text.ptr, "\n"), 101);
    EXPECT_TRUE(strncmp(text.ptr, "name,kind,overload,calls,timed,self_ns,", 39) == 0);
    marey_text_release(&text);

    text = table_of(trace, plain,
                    (struct marey_table_options){.format = MAREY_TABLE_JSON, .limit = 3});
    EXPECT_U64(count(text.ptr, "{\"name\": "), 3);
    EXPECT_HOLDS(text.ptr, "\"not_shown\": {\"host\": {\"rows\": 97, \"calls\": 97, "
                           "\"self_ns\": 970000}, \"device\": {\"rows\": 0, ");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void json_has_nulls_and_a_schema(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_timed(&make, "cpu_op", "u\"\n", 0, MAREY_UNKNOWN);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text =
        table_of(trace, plain,
                 (struct marey_table_options){.format = MAREY_TABLE_JSON,
                                              .columns = "name,kind,calls,self,self_share,mean"});
    EXPECT_HOLDS(text.ptr, "{\"schema\": 1,\n \"ledger\": {\"clean\": ");
    EXPECT_HOLDS(text.ptr,
                 "\"window_ns\": null, \"not_recorded_ns\": 0, \"busiest_thread_ns\": 0}");
    EXPECT_HOLDS(text.ptr,
                 "\"rows\": [\n  {\"name\": \"u\\\"\\n\", \"kind\": \"op\", \"calls\": 1, "
                 "\"self_ns\": null, \"self_percent\": null, \"mean_ns\": null}]}\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* The members of the whole, by a reader of its own. */
static void json_is_whole(void **state)
{
    (void)state;
    static const char *const want[] = {"schema", "ledger", "trace", "totals", "not_shown", "rows"};
    struct marey_trace *trace = small_trace();
    struct marey_text text =
        table_of(trace, plain, (struct marey_table_options){.format = MAREY_TABLE_JSON});
    struct marey_json json = marey__json((struct marey_str){text.ptr, text.len});
    struct marey_str key;
    size_t n = 0;
    EXPECT_TRUE(marey__json_enter(&json, '{'));
    while (marey__json_key(&json, &key)) {
        EXPECT_TRUE(n < 6);
        EXPECT_VIEW(key, want[n++]);
        marey__json_skip(&json);
    }
    EXPECT_U64(n, 6);
    EXPECT_FALSE(json.failed);
    EXPECT_TRUE(marey__json_peek(&json) == '\0');
    EXPECT_HOLDS(text.ptr, "\"totals\": {\"host_self_ns\": 100000, \"python_self_ns\": 0, "
                           "\"device_sum_ns\": 20000, \"device_busy_ns\": 20000, "
                           "\"unowned_ns\": 0, \"overhead_ns\": 0, \"devices\": 1}");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    struct marey_trace *trace = small_trace();
    expect_no_table(trace, (struct marey_table_options){.format = (enum marey_table_format)9},
                    "cannot make a table: '9' is no format");
    expect_no_table(trace, (struct marey_table_options){.layout = (enum marey_table_layout)7},
                    "cannot make a table: '7' is no layout");
    expect_no_table(trace, (struct marey_table_options){.time_unit = (enum marey_time_unit)4},
                    "cannot make a table: '4' is no time unit");
    marey_trace_free(trace);
}

static void text_memory_is_used_again(void **state)
{
    (void)state;
    struct marey_error err = {0};
    struct marey_trace *trace = small_trace();
    struct marey_averages *averages = NULL;
    struct marey_text text = {0};
    EXPECT_OK(marey_averages_new(trace, NULL, &averages, &err), &err);
    EXPECT_OK(marey_table_text(averages, NULL, &text, &err), &err);
    const char *place = text.ptr;
    const size_t len = text.len;
    EXPECT_OK(marey_table_text(averages, NULL, &text, &err), &err);
    EXPECT_TRUE(text.ptr == place);
    EXPECT_U64(text.len, len);
    marey_text_release(&text);
    marey_text_release(&text);
    marey_averages_free(averages);
    marey_trace_free(trace);
}

struct sweep {
    struct marey_averages *averages;
    struct marey_table_options options;
};

static enum marey_status print(void *ctx, const struct marey_alloc *alloc)
{
    struct sweep *sweep = ctx;
    struct marey_text text = {.alloc = *alloc};
    struct marey_error err;
    const enum marey_status status =
        marey_table_text(sweep->averages, &sweep->options, &text, &err);
    marey_text_release(&text);
    return status;
}

static void every_lack_of_memory_is_told(void **state)
{
    (void)state;
    struct marey_error err = {0};
    struct marey_trace *trace = small_trace();
    const struct marey_averages_options grouping = {.size = sizeof grouping, .percentiles = true};
    struct sweep sweep = {0};
    EXPECT_OK(marey_averages_new(trace, &grouping, &sweep.averages, &err), &err);
    for (int format = 0; format < 3; format++) {
        sweep.options = (struct marey_table_options){.size = sizeof sweep.options,
                                                     .format = (enum marey_table_format)format,
                                                     .sort = "calls"};
        EXPECT_TRUE(alloc_fail_sweep(print, &sweep) > 3);
    }
    marey_averages_free(sweep.averages);
    marey_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_raw_numbers_and_quotes),
        cmocka_unit_test(data_have_all_rows),
        cmocka_unit_test(json_has_nulls_and_a_schema),
        cmocka_unit_test(json_is_whole),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(text_memory_is_used_again),
        cmocka_unit_test(every_lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
