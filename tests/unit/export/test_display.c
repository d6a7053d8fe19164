/*
 * Tests of export/display.c: terminal columns, safe bytes, cutting.
 */
#include "export/display.h"
#include "support/expect.h"

typedef void (*add_fn)(struct marey_textbuf *out, struct marey_str text, size_t width);

static void expect_cut(add_fn add, const char *text, size_t width, const char *want)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf out;
    marey__text_init(&out, &alloc);
    add(&out, marey__str(text), width);
    EXPECT_BYTES(out.ptr, out.len, want);
    EXPECT_TRUE(marey__display_width((struct marey_str){out.ptr, out.len}) <= width);
    marey__text_release(&out);
}

static void width_counts_columns(void **state)
{
    (void)state;
    EXPECT_U64(marey__display_width(marey__str("")), 0);
    EXPECT_U64(marey__display_width(marey__str("abc")), 3);
    EXPECT_U64(marey__display_width(marey__str("caf\xc3\xa9")), 4);
    EXPECT_U64(marey__display_width(marey__str("e\xcc\x81")), 1);                /* combining */
    EXPECT_U64(marey__display_width(marey__str("\xe6\xb3\xa8\xe6\x84\x8f")), 4); /* wide */
    EXPECT_U64(marey__display_width(marey__str("\xf0\x9f\x98\x80")), 2);         /* emoji */
    EXPECT_U64(marey__display_width(marey__str("\xff\xe6\xb3")), 3);             /* broken */
}

static void cutting_keeps_what_tells_most(void **state)
{
    (void)state;
    expect_cut(marey__display_add_middle, "abcdefghij", 10, "abcdefghij");
    expect_cut(marey__display_add_middle, "abcdefghij", 9, "abcd\xe2\x80\xa6ghij");
    expect_cut(marey__display_add_middle, "abcdefghij", 8, "abcd\xe2\x80\xa6hij");
    expect_cut(marey__display_add_middle, "abcdefghij", 1, "\xe2\x80\xa6");
    expect_cut(marey__display_add_middle, "abcdefghij", 0, "");
    expect_cut(marey__display_add_head, "abcdefghij", 4, "abc\xe2\x80\xa6");
    expect_cut(marey__display_add_tail, "abcdefghij", 4, "\xe2\x80\xa6hij");
}

/* A character is never split, and a wide one never half shown. */
static void cutting_keeps_characters_whole(void **state)
{
    (void)state;
    const char *wide = "\xe6\xb3\xa8\xe6\x84\x8f\xe5\x8a\x9b"; /* three, six columns */
    expect_cut(marey__display_add_head, wide, 4, "\xe6\xb3\xa8\xe2\x80\xa6");
    expect_cut(marey__display_add_tail, wide, 4, "\xe2\x80\xa6\xe5\x8a\x9b");
    expect_cut(marey__display_add_middle, wide, 5, "\xe6\xb3\xa8\xe2\x80\xa6\xe5\x8a\x9b");
}

static void controls_are_shown_not_sent(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf out;
    marey__text_init(&out, &alloc);
    marey__display_add(&out, marey__str("a\nb\tc\x1b[31m\x7f\xc2\x9b\xff\xc3\xa9"));
    EXPECT_BYTES(out.ptr, out.len, "a\\nb\\tc\\x1b[31m\\x7f\\x9b\xef\xbf\xbd\xc3\xa9");
    marey__text_release(&out);
}

static void words_wrap(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf out;
    marey__text_init(&out, &alloc);
    marey__display_add_wrapped(&out, marey__str("one two three four"), 9, 2);
    EXPECT_BYTES(out.ptr, out.len, "one two\n  three\n  four\n");
    marey__text_reset(&out);
    marey__display_add_wrapped(&out, marey__str("unbreakable word"), 4, 1);
    EXPECT_BYTES(out.ptr, out.len, "unbreakable\n word\n");
    marey__text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(width_counts_columns),
        cmocka_unit_test(cutting_keeps_what_tells_most),
        cmocka_unit_test(cutting_keeps_characters_whole),
        cmocka_unit_test(controls_are_shown_not_sent),
        cmocka_unit_test(words_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
