/*
 * Tests of base/json.c: the cursor over complete JSON text.
 */
#include "base/json.h"
#include "support/expect.h"

static void object_gives_members_in_order(void **state)
{
    (void)state;
    struct marey_json json =
        marey__json(marey__str(" { \"a\" : 1 , \"b\":\"x\\\"y\",\"c\":[1,{\"d\":\"]}\"}] , "
                               "\"e\":null, \"f\":-2.5e1 } "));
    struct marey_str key;
    struct marey_str raw;
    int64_t number = 0;
    double real = 0;

    EXPECT_TRUE(marey__json_enter(&json, '{'));
    EXPECT_TRUE(marey__json_key(&json, &key));
    EXPECT_VIEW(key, "a");
    EXPECT_TRUE(marey__json_i64(&json, &number));
    EXPECT_I64(number, 1);
    EXPECT_TRUE(marey__json_key(&json, &key));
    EXPECT_TRUE(marey__json_string(&json, &raw));
    EXPECT_VIEW(raw, "x\\\"y");
    EXPECT_TRUE(marey__json_key(&json, &key));
    EXPECT_VIEW(marey__json_raw(&json), "[1,{\"d\":\"]}\"}]");
    EXPECT_TRUE(marey__json_key(&json, &key));
    EXPECT_FALSE(marey__json_i64(&json, &number));
    EXPECT_TRUE(marey__json_key(&json, &key));
    EXPECT_VIEW(key, "f");
    EXPECT_TRUE(marey__json_double(&json, &real));
    EXPECT_NEAR_ULP(real, -25.0, 0);
    EXPECT_FALSE(marey__json_key(&json, &key));
    EXPECT_FALSE(json.failed);
    EXPECT_I64(marey__json_peek(&json), '\0');
}

static void array_gives_elements_in_order(void **state)
{
    (void)state;
    struct marey_json json = marey__json(marey__str("[ [], [1], {} ,3]"));
    struct marey_json inner;
    int n = 0;

    EXPECT_FALSE(marey__json_enter(&json, '{'));
    EXPECT_TRUE(marey__json_enter(&json, '['));
    EXPECT_TRUE(marey__json_element(&json));
    EXPECT_TRUE(marey__json_enter(&json, '['));
    EXPECT_FALSE(marey__json_element(&json));
    EXPECT_TRUE(marey__json_element(&json));
    inner = marey__json(marey__json_raw(&json));
    EXPECT_TRUE(marey__json_enter(&inner, '['));
    while (marey__json_element(&inner)) {
        marey__json_skip(&inner);
        n++;
    }
    EXPECT_I64(n, 1);
    EXPECT_TRUE(marey__json_element(&json));
    marey__json_skip(&json);
    EXPECT_TRUE(marey__json_element(&json));
    EXPECT_VIEW(marey__json_raw(&json), "3");
    EXPECT_FALSE(marey__json_element(&json));
    EXPECT_FALSE(json.failed);
}

/* Walks any text to its end by the cursor; true if nothing is wrong with it. */
static bool is_whole(const char *text)
{
    struct marey_json json = marey__json(marey__str(text));
    struct marey_str key;
    if (marey__json_enter(&json, '{')) {
        while (marey__json_key(&json, &key))
            marey__json_skip(&json);
    } else if (marey__json_enter(&json, '[')) {
        while (marey__json_element(&json))
            marey__json_skip(&json);
    } else {
        marey__json_skip(&json);
    }
    return !json.failed;
}

static void cursor_fails_on_broken_text(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",          "{",          "[",     "[1",      "[1,",
        "[1,]",      "[,1]",       "[1 2]", "{\"a\"}", "{\"a\":}",
        "{\"a\":1",  "{\"a\":1,}", "{a:1}", "{\"a",    "{\"a\\\"",
        "[[1}",      "[[1]",       "[\"a]", "[{]}]",   "{\"a\":1 \"b\":2}",
        "{\"a\" 1}", "]",          "[:]",   "[{}",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        if (is_whole(broken[i]))
            EXPECT_FAIL(broken[i]);
    EXPECT_TRUE(is_whole("[1]"));
    EXPECT_TRUE(is_whole("{}"));
}

static void cursor_caps_depth(void **state)
{
    (void)state;
    char text[3 * MAREY_JSON_DEPTH];
    const size_t depths[] = {MAREY_JSON_DEPTH, MAREY_JSON_DEPTH + 1};

    for (size_t i = 0; i < 2; i++) {
        memset(text, '[', depths[i]);
        memset(text + depths[i], ']', depths[i]);
        struct marey_json json = marey__json((struct marey_str){text, 2 * depths[i]});
        const struct marey_str raw = marey__json_raw(&json);
        EXPECT_TRUE(json.failed == (depths[i] > MAREY_JSON_DEPTH));
        EXPECT_U64(raw.len, json.failed ? 0 : 2 * depths[i]);
    }
}

static void i64_takes_integers_only(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_one;
        int64_t value;
    } cases[] = {
        {"7", true, 7},
        {"-9223372036854775807", true, -INT64_MAX},
        {"9223372036854775808", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"\"7\"", false, 0},
        {"true", false, 0},
        {"[7]", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct marey_json json = marey__json(marey__str(cases[i].text));
        int64_t value = 0;
        if (marey__json_i64(&json, &value) != cases[i].is_one)
            EXPECT_FAIL(cases[i].text);
        EXPECT_I64(value, cases[i].value);
        EXPECT_I64(marey__json_peek(&json), '\0'); /* passed over in any case */
    }
}

static void double_refuses_what_is_not_finite(void **state)
{
    (void)state;
    static const char *const texts[] = {"NaN",   "Infinity", "-Infinity", "inf",  "1e999",
                                        "\"1\"", "nan",      "0x10",      "-inf", "1.2.3"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct marey_json json = marey__json(marey__str(texts[i]));
        double value = 0;
        if (marey__json_double(&json, &value))
            EXPECT_FAIL(texts[i]);
    }
}

static void unescape_resolves(void **state)
{
    (void)state;
    static const struct {
        const char *raw;
        const char *text;
    } cases[] = {
        {"plain", "plain"},
        {"a\\\"b\\\\c\\/d", "a\"b\\c/d"},
        {"\\b\\f\\n\\r\\t", "\b\f\n\r\t"},
        {"\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
        {"\\uD83D", "\xef\xbf\xbd"},   /* a lone high surrogate */
        {"\\ude00x", "\xef\xbf\xbdx"}, /* a lone low one */
        {"\\ud83d\\u0041", "\xef\xbf\xbd"
                           "A"},
        {"\\q", "\\q"}, /* unknown: kept as it stands */
        {"C:\\x", "C:\\x"},
        {"\\u12", "\\u12"},
        {"\\u12g4", "\\u12g4"},
        {"end\\", "end\\"},
        {"", ""},
    };
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf out;
    marey__text_init(&out, &alloc);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        marey__text_reset(&out);
        marey__json_unescape(marey__str(cases[i].raw), &out);
        EXPECT_BYTES(out.ptr, out.len, cases[i].text);
    }
    marey__text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object_gives_members_in_order),
        cmocka_unit_test(array_gives_elements_in_order),
        cmocka_unit_test(cursor_fails_on_broken_text),
        cmocka_unit_test(cursor_caps_depth),
        cmocka_unit_test(i64_takes_integers_only),
        cmocka_unit_test(double_refuses_what_is_not_finite),
        cmocka_unit_test(unescape_resolves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
