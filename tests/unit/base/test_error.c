/*
 * Tests of base/error.c: filling a struct marey_error.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "support/expect.h"

static void fail_fills_status_and_message(void **state)
{
    (void)state;
    struct marey_error err = {0};
    EXPECT_STATUS(marey__fail(&err, MAREY_IO, "cannot open '%s'", "a.json"), MAREY_IO);
    EXPECT_STATUS(err.status, MAREY_IO);
    EXPECT_STR(err.message, "cannot open 'a.json'");
    EXPECT_I64(err.offset_bytes, MAREY_UNKNOWN);
    EXPECT_STATUS(marey__fail_at(&err, MAREY_FORMAT, 17, "bad byte"), MAREY_FORMAT);
    EXPECT_I64(err.offset_bytes, 17);
    EXPECT_STATUS(marey__fail_nomem(&err), MAREY_NOMEM);
    EXPECT_TRUE(err.message[0] != '\0');
}

static void fail_takes_no_error(void **state)
{
    (void)state;
    EXPECT_STATUS(marey__fail(NULL, MAREY_IO, "%d", 1), MAREY_IO);
    EXPECT_STATUS(marey__fail_at(NULL, MAREY_IO, 1, "%d", 1), MAREY_IO);
    EXPECT_STATUS(marey__fail_nomem(NULL), MAREY_NOMEM);
    EXPECT_STATUS(marey__fail_prefix(NULL, MAREY_IO, "x"), MAREY_IO);
}

static void fail_prefix_puts_the_subject_first(void **state)
{
    (void)state;
    struct marey_error err = {0};
    (void)marey__fail_at(&err, MAREY_FORMAT, 5, "no object");
    EXPECT_STATUS(marey__fail_prefix(&err, err.status, "cannot read '%s'", "a.json"), MAREY_FORMAT);
    EXPECT_STR(err.message, "cannot read 'a.json': no object");
    EXPECT_I64(err.offset_bytes, 5);
}

static void fail_cuts_a_long_message(void **state)
{
    (void)state;
    char name[3 * MAREY_ERROR_MESSAGE_BYTES];
    struct marey_error err = {0};
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)marey__fail(&err, MAREY_IO, "%s", name);
    EXPECT_TRUE(strlen(err.message) < MAREY_ERROR_MESSAGE_BYTES);
    (void)marey__fail_prefix(&err, MAREY_IO, "%s", name);
    EXPECT_TRUE(strlen(err.message) < MAREY_ERROR_MESSAGE_BYTES);
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    for (int status = MAREY_CHANGED; status <= MAREY_OK; status++)
        EXPECT_TRUE(marey_status_name((enum marey_status)status)[0] != '\0');
    EXPECT_TRUE(marey_status_name((enum marey_status) - 1000) != NULL);
    EXPECT_STR(marey_version(), MAREY_VERSION_STRING);
}

static void system_reason_is_lower_case(void **state)
{
    (void)state;
    char buffer[MAREY_REASON_BYTES];
    EXPECT_STR(marey__system_reason(ENOENT, buffer), "no such file or directory");
    EXPECT_STR(marey__system_reason(EDOTDOT, buffer), "RFS specific error");
    EXPECT_TRUE(marey__system_reason(123456, buffer)[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_status_and_message),
        cmocka_unit_test(fail_takes_no_error),
        cmocka_unit_test(fail_prefix_puts_the_subject_first),
        cmocka_unit_test(fail_cuts_a_long_message),
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(system_reason_is_lower_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
