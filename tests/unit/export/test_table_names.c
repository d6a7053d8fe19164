/*
 * Tests of names in the text table: cutting, what tells them apart, 120 columns.
 */
#include "export/display.h"
#include "make_table.h"

#include <stdio.h>

static const struct marey_averages_options plain = {0};
static const struct marey_averages_options with_percentiles = {.percentiles = true};

static size_t widest_line(const struct marey_text *text)
{
    size_t widest = 0;
    for (const char *at = text->ptr; *at != '\0';) {
        const char *end = strchr(at, '\n');
        const size_t width = marey__display_width((struct marey_str){at, (size_t)(end - at)});
        widest = width > widest ? width : widest;
        at = end + 1;
    }
    return widest;
}

/* Fixture B01: equal in their first 52 characters. */
static void long_names_stay_apart(void **state)
{
    (void)state;
    static const char *const names[] = {
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul> >(int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_mul<float>, "
        "std::array<char*, 3ul> >(int)",
    };
    struct marey_trace *trace = named_trace("kernel", names, 2);
    struct marey_text text = table_of(trace, with_percentiles, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "\xe2\x80\xa6"
                           "CUDAFunctor_add<float>, ");
    EXPECT_HOLDS(text.ptr, "\xe2\x80\xa6"
                           "CUDAFunctor_mul<float>, ");
    EXPECT_U64(widest_line(&text), 120);
    marey_text_release(&text);

    text =
        table_of(trace, plain, (struct marey_table_options){.name_width = MAREY_WIDTH_UNLIMITED});
    EXPECT_HOLDS(text.ptr, names[0]);
    EXPECT_HOLDS(text.ptr, names[1]);
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* Three names: two of them part only after the place where the third leaves. */
static void groups_part_again_further_on(void **state)
{
    (void)state;
    static const char *const names[] = {
        "start_of_the_name_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_LEFT_bbbbbbbbbbbbbbbb_ONE_"
        "cccccccccccccccccccccccc_end_of_the_name",
        "start_of_the_name_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_LEFT_bbbbbbbbbbbbbbbb_TWO_"
        "cccccccccccccccccccccccc_end_of_the_name",
        "start_of_the_name_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_RIGHT_bbbbbbbbbbbbbbb_TWO_"
        "cccccccccccccccccccccccc_end_of_the_name",
    };
    struct marey_trace *trace = named_trace("cpu_op", names, 3);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){.name_width = 40});
    EXPECT_HOLDS(text.ptr, "_ONE_");
    EXPECT_HOLDS(text.ptr, "_TWO_");
    EXPECT_HOLDS(text.ptr, "_RIGHT_");
    EXPECT_TRUE(strstr(text.ptr, "#1") == NULL);
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* Where no cut tells names apart, numbers and a legend do. */
static void names_that_look_alike_are_numbered(void **state)
{
    (void)state;
    static const char *const names[] = {"abcdefgh-one-ijklmnop", "abcdefgh-two-ijklmnop", "other"};
    struct marey_trace *trace = named_trace("cpu_op", names, 3);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){.name_width = 8});
    EXPECT_HOLDS(text.ptr, "\nab\xe2\x80\xa6op #1 ");
    EXPECT_HOLDS(text.ptr, "\nab\xe2\x80\xa6op #2 ");
    EXPECT_HOLDS(text.ptr, "\nother ");
    EXPECT_HOLDS(text.ptr, "\n#1: abcdefgh-one-ijklmnop\n#2: abcdefgh-two-ijklmnop\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void kind_joins_a_name_that_two_kinds_share(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "x", 0, 10);
    make_slice(&make, "user_annotation", "x", 20, 25);
    make_slice(&make, "cpu_op", "y", 30, 31);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "\nx (op) ");
    EXPECT_HOLDS(text.ptr, "\nx (annotation) ");
    EXPECT_HOLDS(text.ptr, "\ny ");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void names_cannot_break_a_row(void **state)
{
    (void)state;
    static const char *const names[] = {"two\nlines", "\x1b[2Jclear", ""};
    struct marey_trace *trace = named_trace("cpu_op", names, 3);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "\ntwo\\nlines ");
    EXPECT_HOLDS(text.ptr, "\n\\x1b[2Jclear ");
    EXPECT_TRUE(strchr(text.ptr, '\x1b') == NULL);
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* The default columns fit 120 with long names, large times and every grouping. */
static void default_columns_fit_120(void **state)
{
    (void)state;
    static struct made_provider provider;
    char name[200];
    struct make_trace make;
    make_trace_begin(&make, NULL);
    provider = (struct made_provider){0};
    make.provider = &provider;
    make_thread(&make, "1", "1");
    for (int i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof name, "%s%0100d", i % 2 == 0 ? "aten::op_" : "", i);
        make_slice(&make, "cpu_op", name, i * INT64_C(1000000000),
                   i * INT64_C(1000000000) + 999999);
        make_args(&make, "{\"Input Dims\": [[1024, 1024, 1024], [1024, 1024, 1024], [1024, 1024]],"
                         " \"Call stack\": \"a_very_long_path/of/a/file_that_goes_on.py(1234): f;"
                         "another_long_path/of/a/file_that_goes_on.py(9): main\"}");
    }
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", name, 0, INT64_C(70000000000));
    struct marey_trace *trace = make_trace_end(&make);
    for (unsigned mask = 0; mask < 8; mask++) {
        const struct marey_averages_options grouping = {
            .percentiles = true,
            .by_shape = (mask & 1) != 0,
            .by_overload = (mask & 2) != 0,
            .by_stack = (mask & 4) != 0 ? 5 : 0,
        };
        struct marey_text text = table_of(trace, grouping, (struct marey_table_options){0});
        EXPECT_TRUE(widest_line(&text) <= 120);
        EXPECT_HOLDS(text.ptr, "rows not shown");
        if (mask == 0)
            EXPECT_TRUE(strstr(text.ptr, "Left out") == NULL);
        if (mask == 7)
            EXPECT_HOLDS(text.ptr, "\nLeft out for want of room: mean, p50, p99; --columns all");
        marey_text_release(&text);
        text = table_of(trace, grouping, (struct marey_table_options){.columns = "all"});
        EXPECT_TRUE(strstr(text.ptr, "Left out") == NULL);
        marey_text_release(&text);
    }
    marey_trace_free(trace);
}

static void stacks_have_a_line_for_each_entry(void **state)
{
    (void)state;
    static struct made_provider provider;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    provider = (struct made_provider){0};
    make.provider = &provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "s", 0, 10);
    make_args(&make, "{\"Call stack\": \"a.py(3): f;a.py(9): main\"}");
    struct marey_trace *trace = make_trace_end(&make);
    const struct marey_averages_options by_stack = {.by_stack = 2};
    struct marey_text text =
        table_of(trace, by_stack, (struct marey_table_options){.columns = "name,stack,calls"});
    EXPECT_HOLDS(text.ptr, "\ns     a.py(3): f         1\n      a.py(9): main\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_names_stay_apart),
        cmocka_unit_test(groups_part_again_further_on),
        cmocka_unit_test(names_that_look_alike_are_numbered),
        cmocka_unit_test(kind_joins_a_name_that_two_kinds_share),
        cmocka_unit_test(names_cannot_break_a_row),
        cmocka_unit_test(default_columns_fit_120),
        cmocka_unit_test(stacks_have_a_line_for_each_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
