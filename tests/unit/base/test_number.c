/*
 * Tests of base/number.c: numbers as text and back, exact to the last digit (law 1).
 */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>

#include "base/json.h"
#include "support/expect.h"
#include "support/make_trace.h"

static void format_writes_what_printf_writes(void **state)
{
    (void)state;
    static const int64_t values[] = {0,  1,   9,   10,   99,        100,       101,
                                     -1, -10, 999, 1000, INT32_MAX, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char want[32];
        char got[32];
        (void)snprintf(want, sizeof want, "%" PRId64, values[i]);
        EXPECT_BYTES(got, marey__format_i64(got, values[i]), want);
        (void)snprintf(want, sizeof want, "%" PRIu64, (uint64_t)values[i]);
        EXPECT_BYTES(got, marey__format_u64(got, (uint64_t)values[i]), want);
    }
}

static void format_us_has_three_decimals(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0.000"},
        {5, "0.005"},
        {-5, "-0.005"},
        {999, "0.999"},
        {1000, "1.000"},
        {-1000, "-1.000"},
        {1732107142997066682, "1732107142997066.682"},
        {INT64_MAX, "9223372036854775.807"},
        {INT64_MIN, "-9223372036854775.808"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char got[32];
        EXPECT_BYTES(got, marey__format_us(got, cases[i].ns), cases[i].text);
    }
}

struct decimal_case {
    const char *text;
    int scale;
    int64_t value;
};

/* The program's locale is not that of JSON. */
static void point_is_a_point_in_any_locale(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"0,25", "0.25"},
        {"-1,5e-07", "-1.5e-07"},
        {"1\xd9\xab"
         "5e+20",
         "1.5e+20"},
        {"0.5", "0.5"},
        {"1e+20", "1e+20"},
        {"-3", "-3"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char number[MAREY_NUMBER_BYTES];
        (void)snprintf(number, sizeof number, "%s", cases[i].text);
        EXPECT_BYTES(number, marey__put_point(number), cases[i].want);
        EXPECT_STR(number, cases[i].want);
    }
}

/* With a locale that has a comma, where the system has one. */
static void doubles_do_not_see_the_locale(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *want;
    } cases[] = {{0.25, "0.25"},
                 {-1.5e-7, "-1.4999999999999999e-07"},
                 {1e300, "1.0000000000000001e+300"},
                 {1.0 / 0.0, "inf"},
                 {-2.0, "-2"}};
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    static const struct {
        double value;
        const char *want;
    } fixed[] = {
        {0, "0.000"}, {-1234.5678, "-1234.568"}, {1e12, "1000000000000.000"}, {1.0 / 0.0, "inf"}};
    const struct marey_alloc alloc = marey__alloc_default();
    char digits[MAREY_NUMBER_BYTES];

    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++)
        if (setlocale(LC_NUMERIC, locales[i]) != NULL)
            break;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_BYTES(digits, marey__format_double(digits, cases[i].value), cases[i].want);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        struct marey_textbuf text;
        marey__text_init(&text, &alloc);
        marey__text_add_fixed(&text, fixed[i].value, 3);
        EXPECT_BYTES(text.ptr, text.len, fixed[i].want);
        marey__text_release(&text);
    }
    (void)setlocale(LC_NUMERIC, "C");
}

static void decimal_is_exact(void **state)
{
    (void)state;
    static const struct decimal_case cases[] = {
        {"0", 3, 0},
        {"-0", 3, 0},
        {"-0.000", 3, 0},
        {"1", 3, 1000},
        {"0.001", 3, 1},
        {"-0.005", 3, -5},
        {"0.0009", 3, 0}, /* below the unit: toward zero */
        {"-0.0009", 3, 0},
        {"1.9999", 3, 1999},
        {"-1.9999", 3, -1999},
        {"1732107142997066.682", 3, 1732107142997066682},
        {"4962958297950.381", 3, 4962958297950381},
        {"9223372036854775.807", 3, INT64_MAX},
        {"-9223372036854775.807", 3, -INT64_MAX},
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775.8079999999", 3, INT64_MAX},
        {"0000000000000000000000000000001.5", 3, 1500},
        {"0.0000000000000000000000000000015", 33, 1500},
        {"1e3", 3, 1000000},
        {"1E+3", 3, 1000000},
        {"1.5e-3", 3, 1},
        {"1500e-6", 3, 1},
        {"1.25e2", 3, 125000},
        {"1e-400", 3, 0},
        {"0e999999999", 3, 0},
        {"12345678901234567890e-5", 0, 123456789012345},
        {"100000000000000000000000000000e-20", 0, 1000000000},
        {"0.00000000000000000000000000001e40", 0, 100000000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = -1;
        if (!marey__decimal_scaled(marey__str(cases[i].text), cases[i].scale, &value))
            EXPECT_FAIL(cases[i].text);
        EXPECT_I64(value, cases[i].value);
    }
}

static void decimal_refuses_what_is_no_number(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",      "-",   "+",   ".",   "-.",  "e5",  "1e",   "1e+", "1-",   "1 ",  " 1",   "0.-05",
        "1.2.3", "nan", "inf", "NaN", "0x1", "1_0", "true", "--1", "1ee1", "1,5", "1e1.5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t value = 17;
        if (marey__decimal_scaled(marey__str(texts[i]), 3, &value))
            EXPECT_FAIL(texts[i]);
        EXPECT_I64(value, 17);
    }
}

static void decimal_refuses_what_does_not_fit(void **state)
{
    (void)state;
    static const char *const texts[] = {"9223372036854775.808",
                                        "99999999999999999999",
                                        "1e17",
                                        "1e999999999999999999",
                                        "-1e300",
                                        "18446744073709551.616",
                                        "123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t value = 17;
        if (marey__decimal_scaled(marey__str(texts[i]), 3, &value))
            EXPECT_FAIL(texts[i]);
        EXPECT_I64(value, 17);
    }
}

static void decimal_reads_what_format_wrote(void **state)
{
    (void)state;
    uint64_t seed = make_seed("decimal");
    for (int i = 0; i < 20000; i++) {
        const int64_t ns =
            (int64_t)(make_random(&seed) >> make_random_below(&seed, 64)) * (i % 2 == 0 ? 1 : -1);
        if (ns == INT64_MIN)
            continue;
        char text[32];
        const size_t len = marey__format_us(text, ns);
        int64_t value = 0;
        EXPECT_TRUE(marey__decimal_scaled((struct marey_str){text, len}, 3, &value));
        EXPECT_I64(value, ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_writes_what_printf_writes),
        cmocka_unit_test(format_us_has_three_decimals),
        cmocka_unit_test(point_is_a_point_in_any_locale),
        cmocka_unit_test(doubles_do_not_see_the_locale),
        cmocka_unit_test(decimal_is_exact),
        cmocka_unit_test(decimal_refuses_what_is_no_number),
        cmocka_unit_test(decimal_refuses_what_does_not_fit),
        cmocka_unit_test(decimal_reads_what_format_wrote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
