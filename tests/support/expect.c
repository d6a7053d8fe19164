/*
 * expect.c - what a failed expectation prints. Each message names both expressions and
 * both values; cmocka's own would print integers as 64-bit hex and no names.
 */
#include "support/expect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void expect__fail(const char *reason, const char *file, int line)
{
    print_error("%s\n", reason);
    _fail(file, line);
}

void expect__skip(const char *reason, const char *file, int line)
{
    print_message("# skipped: %s\n", reason);
    _skip(file, line);
}

void expect__true(bool holds, const char *text, const char *file, int line)
{
    if (holds)
        return;
    print_error("%s is false\n", text);
    _fail(file, line);
}

void expect__i64(int64_t got, int64_t want, const char *got_text, const char *want_text,
                 const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s is %" PRId64 ", expected %s = %" PRId64 "\n", got_text, got, want_text, want);
    _fail(file, line);
}

void expect__u64(uint64_t got, uint64_t want, const char *got_text, const char *want_text,
                 const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s is %" PRIu64 ", expected %s = %" PRIu64 "\n", got_text, got, want_text, want);
    _fail(file, line);
}

void expect__str(const char *got, const char *want, const char *got_text, const char *want_text,
                 const char *file, int line)
{
    if (got != NULL && want != NULL && strcmp(got, want) == 0)
        return;
    if (got == NULL && want == NULL)
        return;
    print_error("%s is \"%s\",\nexpected %s = \"%s\"\n", got_text, got == NULL ? "(null)" : got,
                want_text, want == NULL ? "(null)" : want);
    _fail(file, line);
}

void expect__view(struct marey_str got, const char *want, const char *got_text,
                  const char *want_text, const char *file, int line)
{
    const size_t want_len = strlen(want);
    if (got.len == want_len && (want_len == 0 || memcmp(got.ptr, want, want_len) == 0))
        return;
    print_error("%s is \"%.*s\" (%zu bytes),\nexpected %s = \"%s\" (%zu bytes)\n", got_text,
                (int)got.len, got.ptr == NULL ? "" : got.ptr, got.len, want_text, want, want_len);
    _fail(file, line);
}

void expect__status(enum marey_status got, enum marey_status want, const char *got_text,
                    const char *want_text, const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s is %d, expected %s = %d\n", got_text, (int)got, want_text, (int)want);
    _fail(file, line);
}

void expect__ok(enum marey_status got, const struct marey_error *err, const char *text,
                const char *file, int line)
{
    if (got == MAREY_OK)
        return;
    print_error("%s is %d: %s\n", text, (int)got, err == NULL ? "" : err->message);
    _fail(file, line);
}

void expect__holds(const char *text, const char *part, const char *text_text, const char *file,
                   int line)
{
    if (strstr(text, part) != NULL)
        return;
    print_error("%s is \"%s\",\nexpected to hold \"%s\"\n", text_text, text, part);
    _fail(file, line);
}

/* Maps a double to an integer so that neighbours differ by one, through zero too. */
static int64_t ordered_bits(double value)
{
    int64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

void expect__near_ulp(double got, double want, uint64_t n_ulp, const char *got_text,
                      const char *want_text, const char *file, int line)
{
    const int64_t a = ordered_bits(got);
    const int64_t b = ordered_bits(want);
    const uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    const bool is_number = got >= want || got < want;
    if (is_number && apart <= n_ulp)
        return;
    print_error("%s is %.17g, expected %s = %.17g within %" PRIu64 " ulp\n", got_text, got,
                want_text, want, n_ulp);
    _fail(file, line);
}

const char *expect_data_path(const char *name)
{
    static char paths[8][1024];
    static unsigned next;
    char *path = paths[next++ % 8];
    const char *folder = getenv("MAREY_TEST_DATA");
    snprintf(path, sizeof paths[0], "%s/%s", folder == NULL ? "tests/data" : folder, name);
    return path;
}
