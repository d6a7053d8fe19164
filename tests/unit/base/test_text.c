/*
 * Tests of base/text.c and base/str.c: the growing buffer, escapes, views of bytes.
 */
#include "base/text.h"
#include "support/alloc_fail.h"
#include "support/expect.h"

static void text_appends_all_forms(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;
    marey__text_init(&text, &alloc);

    marey__text_add_c(&text, "a");
    marey__text_add(&text, "bcd", 2);
    marey__text_add_str(&text, (struct marey_str){NULL, 0});
    marey__text_add_byte(&text, '-');
    marey__text_add_repeat(&text, '=', 3);
    marey__text_add_repeat(&text, '=', 0);
    marey__text_add_i64(&text, -12);
    marey__text_add_u64(&text, UINT64_MAX);
    marey__text_add_us(&text, -5);
    marey__text_add_format(&text, "<%s %d>", "x", 7);
    EXPECT_BYTES(text.ptr, text.len, "abc-===-1218446744073709551615-0.005<x 7>");

    marey__text_reset(&text);
    EXPECT_U64(text.len, 0);
    marey__text_add_format(&text, "%s", "");
    EXPECT_U64(text.len, 0);
    EXPECT_FALSE(marey__text_failed(&text));
    marey__text_release(&text);
    EXPECT_TRUE(text.ptr == NULL);
}

static void text_escapes_json(void **state)
{
    (void)state;
    static const struct {
        struct marey_str text;
        const char *json;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{NULL, 0}, "\"\""},
        {{"plain / text", 12}, "\"plain / text\""},
        {{"a\"b\\c", 5}, "\"a\\\"b\\\\c\""},
        {{"\n\r\t", 3}, "\"\\n\\r\\t\""},
        {{"\x01\x1f\x00z", 4}, "\"\\u0001\\u001f\\u0000z\""},
        {{"\x7f", 1}, "\"\x7f\""},
        {{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9}, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {{"x\xff"
          "y",
          3},
         "\"x\xef\xbf\xbdy\""},
        {{"\xc0\xaf", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong: two parts */
        {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* a surrogate */
        {{"\xf4\x90\x80\x80", 4}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"a\xe2\x82", 3}, "\"a\xef\xbf\xbd\""}, /* cut: one part */
        {{"\xe2\x82z", 3}, "\"\xef\xbf\xbdz\""},
        {{"\xf0\x9f\x98", 3}, "\"\xef\xbf\xbd\""},
    };
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;
    marey__text_init(&text, &alloc);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        marey__text_reset(&text);
        marey__text_add_json(&text, cases[i].text);
        EXPECT_BYTES(text.ptr, text.len, cases[i].json);
    }
    marey__text_release(&text);
}

static void text_stays_failed_when_memory_is_out(void **state)
{
    (void)state;
    struct alloc_fail heap = {.fail_at = 2, .fail_after = true};
    const struct marey_alloc alloc = alloc_fail_make(&heap);
    struct marey_textbuf text;
    char *ptr = NULL;
    size_t len = 0;
    size_t capacity = 0;

    marey__text_init(&text, &alloc);
    marey__text_add_c(&text, "first");
    EXPECT_FALSE(marey__text_failed(&text));
    marey__text_add_repeat(&text, 'x', 10000);
    EXPECT_TRUE(marey__text_failed(&text));
    const size_t len_then = text.len;
    marey__text_add_c(&text, "second");
    marey__text_add_format(&text, "%d", 3);
    EXPECT_U64(text.len, len_then);
    EXPECT_FALSE(marey__text_move(&text, &ptr, &len, &capacity));
    marey__text_release(&text);
    EXPECT_U64(heap.n_live, 0);
}

static void text_move_terminates_and_empties(void **state)
{
    (void)state;
    struct alloc_fail heap = {0};
    const struct marey_alloc alloc = alloc_fail_make(&heap);
    struct marey_textbuf text;
    char *ptr = NULL;
    size_t len = 0;
    size_t capacity = 0;

    marey__text_init(&text, &alloc);
    marey__text_add_c(&text, "moved");
    EXPECT_TRUE(marey__text_move(&text, &ptr, &len, &capacity));
    EXPECT_STR(ptr, "moved");
    EXPECT_U64(len, 5);
    EXPECT_U64(text.len, 0);
    marey__text_release(&text);
    marey__dealloc(&alloc, ptr, capacity, 1);
    EXPECT_U64(heap.n_live, 0);
}

static void str_compares_by_bytes(void **state)
{
    (void)state;
    EXPECT_TRUE(marey__str_compare(marey__str("a"), marey__str("b")) < 0);
    EXPECT_TRUE(marey__str_compare(marey__str("a"), marey__str("aa")) < 0);
    EXPECT_TRUE(marey__str_compare(marey__str("\xff"), marey__str("a")) > 0);
    EXPECT_I64(marey__str_compare((struct marey_str){NULL, 0}, marey__str("")), 0);
    EXPECT_TRUE(marey__str_is((struct marey_str){NULL, 0}, marey__str("")));
    EXPECT_FALSE(marey__str_is_c(marey__str("Ab"), "ab"));
    EXPECT_TRUE(marey__str_is_caseless(marey__str("Kernel"), "kERNEL"));
    EXPECT_FALSE(marey__str_is_caseless(marey__str("Kerne"), "kernel"));
}

static void str_finds_parts(void **state)
{
    (void)state;
    const struct marey_str text = marey__str("cudaLaunchKernel");
    EXPECT_TRUE(marey__str_starts(text, "cuda"));
    EXPECT_FALSE(marey__str_starts(marey__str("cud"), "cuda"));
    EXPECT_TRUE(marey__str_ends(text, "Kernel"));
    EXPECT_FALSE(marey__str_ends(text, "kernel"));
    EXPECT_TRUE(marey__str_holds(text, "Launch"));
    EXPECT_FALSE(marey__str_holds(text, "launch"));
    EXPECT_TRUE(marey__str_holds_caseless(text, "lAUNCHk"));
    EXPECT_FALSE(marey__str_holds_caseless(marey__str("ab"), "abc"));
    EXPECT_TRUE(marey__str_holds(text, ""));
}

static void str_hash_reads_every_byte(void **state)
{
    (void)state;
    char bytes[70];
    for (size_t len = 0; len <= sizeof bytes; len++) {
        memset(bytes, 'a', sizeof bytes);
        const uint64_t hash = marey__str_hash((struct marey_str){bytes, len});
        EXPECT_U64(marey__str_hash((struct marey_str){bytes, len}), hash);
        for (size_t i = 0; i < len; i++) {
            bytes[i] = 'b';
            EXPECT_TRUE(marey__str_hash((struct marey_str){bytes, len}) != hash);
            bytes[i] = 'a';
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_appends_all_forms),
        cmocka_unit_test(text_escapes_json),
        cmocka_unit_test(text_stays_failed_when_memory_is_out),
        cmocka_unit_test(text_move_terminates_and_empties),
        cmocka_unit_test(str_compares_by_bytes),
        cmocka_unit_test(str_finds_parts),
        cmocka_unit_test(str_hash_reads_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
