/*
 * expect.h - the only assertions that tests use: cmocka under names that print both
 * expressions and both values.
 *
 *     static void text_adds_numbers(void **state)
 *     {
 *         (void)state;
 *         EXPECT_I64(parse("7"), 7);
 *         EXPECT_STATUS(marey_import_file("no.json", NULL, &trace, &err), MAREY_IO);
 *     }
 *
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = {cmocka_unit_test(text_adds_numbers)};
 *         return cmocka_run_group_tests(tests, NULL, NULL);
 *     }
 *
 * One executable a file and one group an executable (its output is TAP). A failed
 * expectation ends the case. Adding a test file: a row in tests/meson.build.
 */
#ifndef MAREY_TESTS_EXPECT_H
#define MAREY_TESTS_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "marey/base.h"

#define EXPECT_TRUE(condition) expect__true((condition), #condition, __FILE__, __LINE__)
#define EXPECT_FALSE(condition) expect__true(!(condition), "!(" #condition ")", __FILE__, __LINE__)

#define EXPECT_I64(got, want)                                                                      \
    expect__i64((int64_t)(got), (int64_t)(want), #got, #want, __FILE__, __LINE__)
#define EXPECT_U64(got, want)                                                                      \
    expect__u64((uint64_t)(got), (uint64_t)(want), #got, #want, __FILE__, __LINE__)

/* C strings. */
#define EXPECT_STR(got, want) expect__str((got), (want), #got, #want, __FILE__, __LINE__)

/* struct marey_str against a C string. */
#define EXPECT_VIEW(got, want) expect__view((got), (want), #got, #want, __FILE__, __LINE__)

/* Bytes of a length against a C string. */
#define EXPECT_BYTES(ptr, len, want)                                                               \
    expect__view((struct marey_str){(ptr), (len)}, (want), #ptr, #want, __FILE__, __LINE__)

#define EXPECT_STATUS(got, want) expect__status((got), (want), #got, #want, __FILE__, __LINE__)

/* The same, and the message of a failure is printed. */
#define EXPECT_OK(call, err) expect__ok((call), (err), #call, __FILE__, __LINE__)

/* The C string holds a part. */
#define EXPECT_HOLDS(text, part) expect__holds((text), (part), #text, __FILE__, __LINE__)

/* Doubles at most n_ulp representable numbers apart. */
#define EXPECT_NEAR_ULP(got, want, n_ulp)                                                          \
    expect__near_ulp((got), (want), (n_ulp), #got, #want, __FILE__, __LINE__)

/* Ends the case as failed or as skipped, with a reason. */
#define EXPECT_FAIL(reason) expect__fail((reason), __FILE__, __LINE__)
#define EXPECT_SKIP(reason) expect__skip((reason), __FILE__, __LINE__)

void expect__true(bool holds, const char *text, const char *file, int line);
void expect__i64(int64_t got, int64_t want, const char *got_text, const char *want_text,
                 const char *file, int line);
void expect__u64(uint64_t got, uint64_t want, const char *got_text, const char *want_text,
                 const char *file, int line);
void expect__str(const char *got, const char *want, const char *got_text, const char *want_text,
                 const char *file, int line);
void expect__view(struct marey_str got, const char *want, const char *got_text,
                  const char *want_text, const char *file, int line);
void expect__status(enum marey_status got, enum marey_status want, const char *got_text,
                    const char *want_text, const char *file, int line);
void expect__ok(enum marey_status got, const struct marey_error *err, const char *text,
                const char *file, int line);
void expect__holds(const char *text, const char *part, const char *text_text, const char *file,
                   int line);
void expect__near_ulp(double got, double want, uint64_t n_ulp, const char *got_text,
                      const char *want_text, const char *file, int line);
void expect__fail(const char *reason, const char *file, int line);
void expect__skip(const char *reason, const char *file, int line);

/* A path below tests/data, in a buffer that the next call but seven reuses. */
const char *expect_data_path(const char *name);

#endif
