/*
 * Tests of how times are read: exact, from the text, by the learned and the generic way.
 */
#include <inttypes.h>
#include <stdio.h>

#include "read_text.h"

static enum marey_time time_of(const char *text, int64_t *ns)
{
    const struct marey_value value = {.text = marey__str(text), .type = MAREY_VALUE_NUMBER};
    return marey__kineto_time(&value, ns);
}

static void times_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } rows[] = {
        {"0", 0},
        {"1", 1000},
        {"0.001", 1},
        {"0.0009", 0},
        {"-0.005", -5},
        {"-5", -5000},
        {"1.5", 1500},
        {"100.25", 100250},
        {"1e3", 1000000},
        {"1.5E+2", 150000},
        {"25e-1", 2500},
        {"1732107142997066.682", INT64_C(1732107142997066682)},
        {"4962958297950.381", INT64_C(4962958297950381)},
        {"1.123456789012345678901234", 1123},
        {"4611686018427387.903", INT64_C(4611686018427387903)},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ns = 0;
        EXPECT_I64(time_of(rows[i].text, &ns), MAREY_TIME_OK);
        EXPECT_I64(ns, rows[i].ns);
    }
}

static void no_numbers_are_refused(void **state)
{
    static const char *const rows[] = {"", "-", "abc", "0.-0005", "1e", "1e+", "--1", "1x", "."};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ns = 0;
        EXPECT_I64(time_of(rows[i], &ns), MAREY_TIME_NONE);
    }
}

static void times_beyond_the_limit_are_told_apart(void **state)
{
    static const char *const rows[] = {"4611686018427387.905", "9223372036854775807", "1e300",
                                       "-9e15", "99999999999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ns = 0;
        EXPECT_I64(time_of(rows[i], &ns), MAREY_TIME_RANGE);
    }
}

/* The second record is like the first, so a template reads it; with the templates off the
 * generic way does. Both must find the same. */
static void both_ways_agree_on_times(void **state)
{
    static const char *const rows[] = {"0",
                                       "7",
                                       "10.5",
                                       "10.25",
                                       "10.125",
                                       "10.0625",
                                       "10.06251",
                                       "1e3",
                                       "12345678.9",
                                       "1234567890123456",
                                       "4611686018427386.999",
                                       "0.1",
                                       "0.000001",
                                       "123456789012345.678",
                                       "99.9999999999999999",
                                       "1.0e-2",
                                       "100000",
                                       "3.14159265358979"};
    const struct marey_reading learned = {0};
    const struct marey_reading portable = {.portable_only = true};
    const struct marey_reading generic = {.no_templates = true};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char json[512];
        const int len = snprintf(json, sizeof json, LIST(X("a", "1", "2") "," X("b", "%s", "%s")),
                                 rows[i], rows[i]);
        struct marey_trace *trace[3] = {read_bytes_as(json, (size_t)len, &learned),
                                        read_bytes_as(json, (size_t)len, &portable),
                                        read_bytes_as(json, (size_t)len, &generic)};
        int64_t ns = 0;
        const bool fits = time_of(rows[i], &ns) == MAREY_TIME_OK && ns < MAREY_TIME_LIMIT_NS / 2;
        for (size_t t = 0; t < 3; t++) {
            const struct marey_slices slices = marey_trace_slices(trace[t]);
            size_t b = 0;
            while (b < slices.n && !marey__str_is_c(name_of(trace[t], b), "b"))
                b++;
            EXPECT_U64(ledger_count(trace[t], "time_range"), !fits);
            EXPECT_U64(slices.n, fits ? 2 : 1);
            if (fits) {
                EXPECT_I64(slices.start_ns[b], ns);
                EXPECT_I64(slices.dur_ns[b], ns);
            }
            marey_trace_free(trace[t]);
        }
    }
}

/* 2^62 ns, 146 years, before and after: the last that counts, and the first that does not. */
static void times_count_up_to_the_limit(void **state)
{
    static const struct {
        const char *ts;
        const char *dur;
        bool fits;
    } rows[] = {
        {"4611686018427387.904", "0", true},
        {"4611686018427387.905", "0", false},
        {"0", "4611686018427387.904", true},
        {"0", "4611686018427387.905", false},
        {"4611686018427387.903", "0.001", true},
        {"4611686018427387.903", "0.002", false},
        {"-4611686018427387.904", "4611686018427387.904", true},
        {"-4611686018427387.905", "1", false},
    };
    static const struct marey_reading ways[] = {
        {0}, {.portable_only = true}, {.no_templates = true}};
    (void)state;
    EXPECT_I64(MAREY_TIME_LIMIT_NS / (365 * INT64_C(86400000000000)), 146);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
            char json[512];
            const int len =
                snprintf(json, sizeof json, LIST(X("a", "1", "2") "," X("b", "%s", "%s")),
                         rows[i].ts, rows[i].dur);
            struct marey_trace *trace = read_bytes_as(json, (size_t)len, &ways[way]);
            EXPECT_U64(marey_trace_slices(trace).n, rows[i].fits ? 2 : 1);
            EXPECT_U64(ledger_count(trace, "time_range"), !rows[i].fits);
            marey_trace_free(trace);
        }
    }
}

static void signs_behind_the_point_are_read_as_meant(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(X("a", "0.-05", "2") "," X("b", "-1.-005", "3")));
    EXPECT_I64(marey_trace_slices(trace).start_ns[0], -1005);
    EXPECT_I64(marey_trace_slices(trace).start_ns[1], -5);
    EXPECT_U64(ledger_count(trace, "bad_number"), 2);
    marey_trace_free(trace);

    trace = read_text(LIST(X("a", "0", "0.-05") "," X("b", "5", "3")));
    EXPECT_U64(ledger_count(trace, "negative_dur"), 1);
    marey_trace_free(trace);
}

/* As other languages print them. */
static void numbers_that_json_does_not_have_are_read_as_meant(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } rows[] = {
        {".5", 500},  {"-.5", -500}, {"+5", 5000},   {"+.25", 250},
        {"05", 5000}, {"5.", 5000},  {".5e1", 5000}, {"+1.-05", 995},
    };
    const struct marey_reading ways[] = {
        {.checks_all = true}, {.checks_all = true, .portable_only = true}, {.n_threads = 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
            char json[256];
            const int len = snprintf(json, sizeof json,
                                     LIST(X("a", "-9", "2") "," X("b", "%s", "2")), rows[i].text);
            struct marey_trace *trace = read_bytes_as(json, (size_t)len, &ways[way]);
            EXPECT_U64(marey_trace_slices(trace).n, 2);
            EXPECT_I64(marey_trace_slices(trace).start_ns[1], rows[i].ns);
            EXPECT_U64(ledger_count(trace, "syntax"), 0);
            if (ways[way].checks_all)
                EXPECT_U64(ledger_count(trace, "bad_number"), 1);
            marey_trace_free(trace);
        }
    }
}

static void what_is_no_number_breaks_its_record(void **state)
{
    static const char *const texts[] = {"1.-", "1.-0005", "--5", "5.5.5", "1.5-5",
                                        "1e",  ".-05",    "-",   "+",     "."};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct marey_error err = {0};
        char json[256];
        const int alone = snprintf(json, sizeof json, LIST(X("b", "%s", "2")), texts[i]);
        EXPECT_STATUS(read_status(json, (size_t)alone, &err), MAREY_FORMAT);

        (void)snprintf(json, sizeof json, LIST(X("a", "1", "2") "," X("b", "%s", "2")), texts[i]);
        struct marey_trace *trace = read_text(json);
        EXPECT_U64(marey_trace_slices(trace).n, 1);
        EXPECT_U64(ledger_count(trace, "syntax"), 1);
        EXPECT_U64(marey_trace_sources(trace, &(size_t){0})->n_records, 2);
        marey_trace_free(trace);
    }
}

static void durations_that_are_no_numbers_are_unknown(void **state)
{
    static const char *const texts[] = {"\"abc\"", "null", "true", "{}", "[1]", "\"\""};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char json[256];
        (void)snprintf(json, sizeof json, LIST(X("a", "1", "%s")), texts[i]);
        struct marey_trace *trace = read_text(json);
        EXPECT_U64(marey_trace_slices(trace).n, 1);
        EXPECT_I64(marey_trace_slices(trace).dur_ns[0], MAREY_UNKNOWN);
        EXPECT_U64(ledger_count(trace, "bad_dur"), 1);
        EXPECT_U64(ledger_count(trace, "no_dur"), 0);
        marey_trace_free(trace);
    }
}

static void durations_that_are_not_finite_are_unknown(void **state)
{
    static const char *const texts[] = {"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char json[256];
        (void)snprintf(json, sizeof json, LIST(X("a", "1", "%s") "," X("b", "%s", "2")), texts[i],
                       texts[i]);
        struct marey_trace *trace = read_text(json);
        EXPECT_U64(marey_trace_slices(trace).n, 1);
        EXPECT_I64(marey_trace_slices(trace).dur_ns[0], MAREY_UNKNOWN);
        EXPECT_U64(ledger_count(trace, "non_finite"), 1);
        EXPECT_U64(ledger_count(trace, "no_ts"), 1);
        EXPECT_U64(ledger_count(trace, "no_dur"), 0);
        marey_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_exact),
        cmocka_unit_test(no_numbers_are_refused),
        cmocka_unit_test(times_beyond_the_limit_are_told_apart),
        cmocka_unit_test(both_ways_agree_on_times),
        cmocka_unit_test(times_count_up_to_the_limit),
        cmocka_unit_test(signs_behind_the_point_are_read_as_meant),
        cmocka_unit_test(numbers_that_json_does_not_have_are_read_as_meant),
        cmocka_unit_test(what_is_no_number_breaks_its_record),
        cmocka_unit_test(durations_that_are_no_numbers_are_unknown),
        cmocka_unit_test(durations_that_are_not_finite_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
