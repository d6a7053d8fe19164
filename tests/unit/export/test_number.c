/*
 * Tests of export/table_number.c: times, shares and counts as people read them.
 */
#include "export/table.h"
#include "support/expect.h"

static void expect_time(int64_t ns, enum marey_time_unit unit, bool three_decimals,
                        const char *want)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;
    marey__text_init(&text, &alloc);
    marey__add_time(&text, ns, unit, three_decimals);
    EXPECT_BYTES(text.ptr, text.len, want);
    marey__text_release(&text);
}

/* The unit is chosen after rounding: "1000us" is never printed (fixture B09). */
static void time_chooses_its_unit_after_rounding(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *four_digits;
        const char *three_decimals;
    } cases[] = {
        {0, "0.000us", "0.000us"},
        {1, "0.001us", "0.001us"},
        {999, "0.999us", "0.999us"},
        {1000, "1.000us", "1.000us"},
        {9999, "9.999us", "9.999us"},
        {10004, "10.00us", "10.004us"},
        {10005, "10.01us", "10.005us"},
        {99994, "99.99us", "99.994us"},
        {99995, "100.0us", "99.995us"},
        {999600, "999.6us", "999.600us"},
        {999949, "999.9us", "999.949us"},
        {999950, "1.000ms", "999.950us"},
        {999999, "1.000ms", "999.999us"},
        {1000000, "1.000ms", "1.000ms"},
        {999499999, "999.5ms", "999.500ms"},
        {999949999, "999.9ms", "999.950ms"},
        {999950000, "1.000s", "999.950ms"},
        {999999499, "1.000s", "999.999ms"},
        {999999500, "1.000s", "1.000s"},
        {INT64_C(999949999999), "999.9s", "999.950s"},
        {INT64_C(999950000000), "1000s", "999.950s"},
        {INT64_C(12345678000000), "12346s", "12345.678s"},
        {INT64_MAX, "9223372037s", "9223372036.855s"},
        {-1500, "-1.500us", "-1.500us"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_time(cases[i].ns, MAREY_TIME_AUTO, false, cases[i].four_digits);
        expect_time(cases[i].ns, MAREY_TIME_AUTO, true, cases[i].three_decimals);
    }
}

static void time_keeps_a_unit_that_is_asked_for(void **state)
{
    (void)state;
    expect_time(1234567, MAREY_TIME_US, false, "1234.567us");
    expect_time(1234567, MAREY_TIME_MS, false, "1.235ms");
    expect_time(1234567, MAREY_TIME_S, true, "0.001s");
    expect_time(499999, MAREY_TIME_S, true, "0.000s");
}

static void expect_percent(int64_t part, int64_t whole, int decimals, const char *want)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;
    marey__text_init(&text, &alloc);
    const bool is_known = marey__add_percent(&text, part, whole, decimals);
    EXPECT_TRUE(is_known == (want != NULL));
    EXPECT_BYTES(text.ptr, text.len, want == NULL ? "" : want);
    marey__text_release(&text);
}

static void share_is_unknown_rather_than_nan(void **state)
{
    (void)state;
    expect_percent(1, 3, 2, "33.33");
    expect_percent(2, 3, 4, "66.6667");
    expect_percent(0, 7, 2, "0.00");
    expect_percent(7, 7, 2, "100.00");
    expect_percent(1, 20000, 2, "0.01"); /* half up */
    expect_percent(INT64_MAX - 1, INT64_MAX, 2, "100.00");
    expect_percent(0, 0, 2, NULL);
    expect_percent(5, 0, 2, NULL);
    expect_percent(MAREY_UNKNOWN, 7, 2, NULL);
    expect_percent(7, MAREY_UNKNOWN, 2, NULL);
}

static void count_is_grouped_by_thousands(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *want;
    } cases[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {1234567, "1,234,567"}};
    const struct marey_alloc alloc = marey__alloc_default();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct marey_textbuf text;
        marey__text_init(&text, &alloc);
        marey__add_grouped(&text, cases[i].value);
        EXPECT_BYTES(text.ptr, text.len, cases[i].want);
        marey__text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_chooses_its_unit_after_rounding),
        cmocka_unit_test(time_keeps_a_unit_that_is_asked_for),
        cmocka_unit_test(share_is_unknown_rather_than_nan),
        cmocka_unit_test(count_is_grouped_by_thousands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
