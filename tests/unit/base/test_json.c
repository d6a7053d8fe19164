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

static void check_accepts_what_json_is(void **state)
{
    (void)state;
    static const char *const values[] = {
        "0",
        "-0",
        "10.25",
        "1e5",
        "-1E-5",
        "1.0e+12",
        "true",
        "null",
        " false ",
        "\"\"",
        "\"\\u00e4\"",
        "\"\\ud83d\\ude00\"",
        "[]",
        "{}",
        "[[],{}]",
        "[1, 2]",
        "{\"a\": 1}",
        "\n[ \"a\" ,\r\n\t2 ]\n",
        "\"\x7f\"",
        "\"/\"",
        "\"\xc3\xa4\"",
        "{\"\": {\"a\": [{}]}, \"b\": [\"]}\"]}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    };
    size_t at = 0;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (marey__json_check(marey__str(values[i]), &at) != NULL)
            EXPECT_FAIL(values[i]);
}

/* The broken text, what is said of it, and of which byte. */
static const struct {
    const char *text;
    const char *wrong;
    size_t at;
} no_json[] = {
    {"", "no value where one must be", 0},
    {" ", "no value where one must be", 1},
    {"[1 2]", "no comma where one must be", 3},
    {"[1,]", "text that is no value", 3},
    {"[,1]", "text that is no value", 1},
    {"[1", "a container without an end", 2},
    {"[1,", "no value where one must be", 3},
    {"[}", "text that is no value", 1},
    {"[1}", "no comma where one must be", 2},
    {"]", "text that is no value", 0},
    {"[:]", "text that is no value", 1},
    {"{\"a\"}", "a key without a value", 4},
    {"{\"a\":}", "text that is no value", 5},
    {"{\"a\":1,}", "no string where one must be", 7},
    {"{1:2}", "no string where one must be", 1},
    {"{a:1}", "no string where one must be", 1},
    {"{", "no string where one must be", 1},
    {"1:2", "text after the value", 1},
    {"1 2", "text after the value", 2},
    {"01", "text after the value", 1},
    {"1.", "a number that JSON does not have", 2},
    {"-", "a number that JSON does not have", 1},
    {"1e", "a number that JSON does not have", 2},
    {"+1", "text that is no value", 0},
    {".5", "text that is no value", 0},
    {"nan", "text that is no value", 0},
    {"tru", "text that is no value", 0},
    {"truer", "text after the value", 4},
    {"'a'", "text that is no value", 0},
    {"\"a", "a string without an end", 2},
    {"\"a\\\"", "a string without an end", 4},
    {"\"a\nb\"", "a control character in a string", 2},
    {"\"\\q\"", "an escape that JSON does not have", 1},
    {"\"\\", "an escape that JSON does not have", 1},
    {"\"\\u12g4\"", "an escape that JSON does not have", 1},
    {"\"\\u123", "an escape that JSON does not have", 1},
    {"\"\\ud800\"", "an escape of half a character", 1},
    {"\"\\ud800\\u0041\"", "an escape of half a character", 1},
    {"\"\\ud800\\ud800\"", "an escape of half a character", 1},
    {"\"\\udc00\"", "an escape of half a character", 1},
    {"\"\xff\"", "text that is not UTF-8", 1},
    {"\"a\xed\xa0\x80\"", "text that is not UTF-8", 2},
    {"\"\xc0\x80\"", "text that is not UTF-8", 1},
    {"\"\xe2\x82\"", "text that is not UTF-8", 1},
};

static void check_says_what_is_no_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof no_json / sizeof *no_json; i++) {
        size_t at = 0;
        const char *wrong = marey__json_check(marey__str(no_json[i].text), &at);
        if (wrong == NULL)
            EXPECT_FAIL(no_json[i].text);
        EXPECT_STR(wrong, no_json[i].wrong);
        EXPECT_U64(at, no_json[i].at);
    }
    size_t at = 0;
    EXPECT_STR(marey__json_check((struct marey_str){"1\0", 2}, &at), "text after the value");
    EXPECT_STR(marey__json_check((struct marey_str){"\"\0\"", 3}, &at),
               "a control character in a string");
    EXPECT_STR(marey__json_check((struct marey_str){NULL, 0}, &at), "no value where one must be");
}

/* What the check lets pass, the cursor reads. */
static void check_caps_depth_as_the_cursor_does(void **state)
{
    (void)state;
    char text[2 * (MAREY_JSON_DEPTH + 1)];
    size_t at = 0;

    for (size_t depth = MAREY_JSON_DEPTH; depth <= MAREY_JSON_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        struct marey_json json = marey__json((struct marey_str){text, 2 * depth});
        const char *wrong = marey__json_check((struct marey_str){text, 2 * depth}, &at);
        marey__json_skip(&json);
        EXPECT_TRUE(json.failed == (wrong != NULL));
    }
    EXPECT_U64(at, MAREY_JSON_DEPTH);
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

static void spells_resolves_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *raw;
        const char *text;
        bool is_same;
    } cases[] = {
        {"ph", "ph", true},
        {"ph", "p", false},
        {"p", "ph", false},
        {"", "", true},
        {"\\u0070h", "ph", true},
        {"\\u0070\\u0068", "ph", true},
        {"p\\u0068", "ph", true},
        {"\\u0070hx", "ph", false},
        {"\\u0070", "ph", false},
        {"\\u00e9", "\xc3\xa9", false}, /* only ASCII is asked for */
        {"a\\/b\\n", "a/b\n", true},
        {"a\\qb", "aqb", false},
        {"a\\u00", "a", false},
        {"ab\\", "ab\\", true}, /* no escape, as marey__json_unescape has it */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_TRUE(marey__json_spells(marey__str(cases[i].raw), cases[i].text) ==
                    cases[i].is_same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object_gives_members_in_order),
        cmocka_unit_test(array_gives_elements_in_order),
        cmocka_unit_test(cursor_fails_on_broken_text),
        cmocka_unit_test(cursor_caps_depth),
        cmocka_unit_test(check_accepts_what_json_is),
        cmocka_unit_test(check_says_what_is_no_json),
        cmocka_unit_test(check_caps_depth_as_the_cursor_does),
        cmocka_unit_test(i64_takes_integers_only),
        cmocka_unit_test(double_refuses_what_is_not_finite),
        cmocka_unit_test(unescape_resolves),
        cmocka_unit_test(spells_resolves_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
