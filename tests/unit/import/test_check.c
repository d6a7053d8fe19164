/*
 * Tests of src/import/check.c and check_body.h: the check of a record agrees with the strict reader
 * of base/json_check.c on random text, for each set of primitives.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/walk.h"
#include "support/alloc_fail.h"
#include "support/make_random.h"
#include "unit/import/read_text.h"

enum { MOST_BYTES = 4096, PAD = 256 };

/* Text with the room around it that the primitives want. */
struct padded {
    char bytes[PAD + MOST_BYTES + PAD];
    size_t len;
};

static struct marey_checker *checker;
static struct marey_account account;

static int open_checker(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    checker = marey__checker_new(&alloc, &account);
    return checker == NULL;
}

static int close_checker(void **state)
{
    (void)state;
    marey__checker_free(checker);
    return 0;
}

static uint32_t check(const struct padded *text)
{
    const char *at = text->bytes + PAD;
    marey__scanner_choose(true)->check(checker, at, at + text->len);
    const uint32_t found = checker->found;
    marey__scanner_choose(false)->check(checker, at, at + text->len);
    EXPECT_U64(checker->found, found);
    return found;
}

static void set_text(struct padded *text, const char *json, size_t len)
{
    memset(text, 0, sizeof *text);
    text->len = len;
    memcpy(text->bytes + PAD, json, len);
}

static uint32_t check_c(const char *json)
{
    struct padded text;
    set_text(&text, json, strlen(json));
    return check(&text);
}

static void check_tells_what_is_wrong(void **state)
{
    (void)state;
    EXPECT_U64(check_c("{}"), 0);
    EXPECT_U64(check_c("{\"a\":[1,{\"b\":\"c\"}, true ],\"b\":{}}"), 0);
    EXPECT_U64(check_c("{\"a\":NaN}"), MAREY_DAMAGE_NON_FINITE);
    EXPECT_U64(check_c("{\"a\":-inf,\"b\":01}"), MAREY_DAMAGE_NON_FINITE | MAREY_DAMAGE_NUMBER);
    EXPECT_U64(check_c("{\"a\":\"\\x\"}"), MAREY_DAMAGE_ESCAPE);
    EXPECT_U64(check_c("{\"a\":\"\t\"}"), MAREY_DAMAGE_CONTROL);
    EXPECT_U64(check_c("{\"a\":\"\xff\"}"), MAREY_DAMAGE_UTF8);
    EXPECT_U64(check_c("{\"a\":\"\\ud800\"}"), MAREY_DAMAGE_UTF8);
    EXPECT_U64(check_c("{\"a\":1,\"b\":{\"a\":1},\"a\":1}"), MAREY_DAMAGE_DUPLICATE);
    EXPECT_U64(check_c("{\"a\":1,\"\\u0061\":1}"), MAREY_DAMAGE_DUPLICATE);
    EXPECT_U64(check_c("{\"a\":}"), MAREY_DAMAGE_SYNTAX);
    EXPECT_U64(check_c("{\"a\":[1}]"), MAREY_DAMAGE_SYNTAX);
    EXPECT_U64(check_c("{\"a\":1} "), MAREY_DAMAGE_SYNTAX);
    EXPECT_U64(check_c("{\"a\":1"), MAREY_DAMAGE_SYNTAX);
    EXPECT_U64(check_c("{\"a\":\"1"), MAREY_DAMAGE_SYNTAX);
}

/* ---- random text -------------------------------------------------------------------- */

static const char *const scalars[] = {
    "0",        "-1",          "12345678901234567890",
    "1.5e-7",   "true",        "false",
    "null",     "\"\"",        "\"a plain text longer than thirty-two bytes, and than sixty-four\"",
    "\"a\\n\"", "\"\\u00e9\"", "\"\xc3\xa9\"",
    "0.25",     "\"x\"",       "1E9",
};

static void add(struct padded *text, const char *piece)
{
    const size_t len = strlen(piece);
    if (text->len + len > MOST_BYTES)
        return;
    memcpy(text->bytes + PAD + text->len, piece, len);
    text->len += len;
}

static void add_space(struct padded *text, uint64_t *seed)
{
    static const char *const spaces[] = {"", "", "", " ", "\n    ", "\t \r\n"};
    add(text, spaces[make_random_below(seed, 6)]);
}

static void add_value(struct padded *text, uint64_t *seed, unsigned depth)
{
    const uint64_t form = make_random_below(seed, depth > 4 ? 4 : 7);
    if (form < 5) {
        add(text, scalars[make_random_below(seed, sizeof scalars / sizeof scalars[0])]);
        return;
    }
    const uint64_t n = make_random_below(seed, 5);
    add(text, form == 5 ? "[" : "{");
    for (uint64_t i = 0; i < n; i++) {
        char key[] = "\"key 0\"";
        key[5] = (char)('a' + i);
        add(text, i == 0 ? "" : ",");
        add_space(text, seed);
        if (form != 5) {
            add(text, key);
            add_space(text, seed);
            add(text, ":");
        }
        add_space(text, seed);
        add_value(text, seed, depth + 1);
        add_space(text, seed);
    }
    add(text, form == 5 ? "]" : "}");
}

static void add_record(struct padded *text, uint64_t *seed)
{
    memset(text, 0, sizeof *text);
    add(text, "{\"args\":");
    add_value(text, seed, 0);
    add(text, ", \"ph\": \"X\"}");
}

/* Bytes that change what text means. */
static void damage(struct padded *text, uint64_t *seed)
{
    static const char bytes[] = "\"\"\\{}[],:: 0-.eE+tn\n\t\x01\x80\xc3\xff/u";
    for (uint64_t n = make_random_below(seed, 3); n > 0; n--) {
        const size_t at = PAD + (size_t)make_random_below(seed, text->len);
        const char byte = bytes[make_random_below(seed, sizeof bytes - 1)];
        const uint64_t how = make_random_below(seed, 3);
        const size_t n_behind = PAD + text->len - at;
        if (how == 0) {
            text->bytes[at] = byte;
        } else if (how == 1 && text->len < MOST_BYTES) {
            memmove(text->bytes + at + 1, text->bytes + at, n_behind);
            text->bytes[at] = byte;
            text->len++;
        } else if (text->len > 2) {
            memmove(text->bytes + at, text->bytes + at + 1, n_behind);
            text->len--;
        }
    }
}

/* Whether the check, which has just been made, came upon a fault that it could not pass. */
static bool is_stopped(void)
{
    return (checker->found & (uint32_t)MAREY_DAMAGE_SYNTAX) != 0 && checker->depth > 0;
}

/* The part of an object that is taken for sound is whole where the check passes all of it, and what
 * it is once it is closed. */
static void expect_sound_as_checked(struct marey_str json)
{
    static struct padded part;
    bool is_whole = false;
    const bool is_clean = (checker->found & (uint32_t)MAREY_DAMAGE_SYNTAX) == 0;
    const bool was_stopped = is_stopped();
    const struct marey_str members = marey__json_sound_members(json, MAREY_JSON_DEPTH, &is_whole);
    EXPECT_FALSE(is_whole && was_stopped);
    EXPECT_FALSE(!is_whole && is_clean);
    set_text(&part, members.ptr, members.len);
    add(&part, "}");
    (void)check(&part);
    EXPECT_FALSE(is_stopped());
    const struct marey_str closed = {part.bytes + PAD, part.len};
    EXPECT_U64(marey__json_sound_members(closed, MAREY_JSON_DEPTH, &is_whole).len, members.len);
    EXPECT_TRUE(is_whole);
}

/* What the strict reader does not look at is left out. */
static bool agrees_with_the_strict_reader(const struct padded *text)
{
    size_t at = 0;
    const struct marey_str json = {text->bytes + PAD, text->len};
    const bool is_sound = marey__json_check(json, &at) == NULL && json.ptr[json.len - 1] == '}';
    const bool passes = (check(text) & ~(uint32_t)MAREY_DAMAGE_DUPLICATE) == 0;

    if (passes != is_sound)
        fprintf(stderr, "'%.*s'\n", (int)json.len, json.ptr);
    EXPECT_TRUE(passes == is_sound);
    expect_sound_as_checked(json);
    return is_sound;
}

/* The record is a container too: in its args one fewer may lie in each other. */
static void check_caps_the_depth_of_args(void **state)
{
    (void)state;
    static struct padded text;
    const size_t prefix = strlen("{\"args\":");
    for (size_t depth = MAREY_ARGS_DEPTH; depth <= MAREY_ARGS_DEPTH + 1; depth++) {
        bool is_whole = false;
        set_text(&text, "", 0);
        const bool fits = depth == MAREY_ARGS_DEPTH;
        add(&text, "{\"args\":{\"a\":");
        for (size_t i = 1; i < depth; i++)
            add(&text, "[");
        for (size_t i = 1; i < depth; i++)
            add(&text, "]");
        add(&text, "}}");
        EXPECT_U64(check(&text), fits ? 0 : MAREY_DAMAGE_SYNTAX);
        const struct marey_str args = {text.bytes + PAD + prefix, text.len - prefix - 1};
        EXPECT_U64(marey__json_sound_members(args, MAREY_ARGS_DEPTH, &is_whole).len,
                   fits ? args.len - 1 : 1);
        EXPECT_TRUE(is_whole == fits);
    }
}

static void check_agrees_with_the_strict_reader(void **state)
{
    (void)state;
    static struct padded text;
    uint64_t seed = 20261128;
    unsigned n_sound = 0;
    for (int round = 0; round < 20000; round++) {
        add_record(&text, &seed);
        damage(&text, &seed);
        if (text.bytes[PAD] == '{') /* no record begins otherwise */
            n_sound += agrees_with_the_strict_reader(&text);
    }
    EXPECT_TRUE(n_sound > 5000 && n_sound < 15000);
}

/* Records that are known by now, with a byte or two changed: what goes the known way up to there
 * must leave it there. */
static void check_of_known_records_agrees_with_the_strict_reader(void **state)
{
    (void)state;
    enum { N_KINDS = 12 };
    static struct padded kind[N_KINDS];
    static struct padded text;
    uint64_t seed = 20261129;
    unsigned n_sound = 0;
    for (int round = 0; round < 60000; round++) {
        struct padded *one = &kind[make_random_below(&seed, N_KINDS)];
        if (one->len == 0 || round % 1000 == 0) {
            add_record(one, &seed);
            EXPECT_U64(check(one) & ~(uint32_t)MAREY_DAMAGE_DUPLICATE, 0);
        }
        text = *one;
        damage(&text, &seed);
        if (text.bytes[PAD] == '{')
            n_sound += agrees_with_the_strict_reader(&text);
    }
    EXPECT_TRUE(n_sound > 15000 && n_sound < 45000);
}

/* A key that stands twice is no member of any known way. */
static void known_records_hold_no_key_twice(void **state)
{
    (void)state;
    for (int again = 0; again < 3; again++) {
        EXPECT_U64(check_c("{\"a\":1,\"b\":{\"c\":\"x\"},\"d\":2}"), 0);
        EXPECT_U64(check_c("{\"a\":1,\"b\":{\"c\":\"x\"},\"a\":2}"), MAREY_DAMAGE_DUPLICATE);
        EXPECT_U64(check_c("{\"a\":17,\"b\":{\"c\":\"another\"},\"d\":-2.5e7}"), 0);
        EXPECT_U64(check_c("{\"a\":017,\"b\":{\"c\":\"x\"},\"d\":2}"), MAREY_DAMAGE_NUMBER);
        EXPECT_U64(check_c("{\"a\":1,\"b\":{\"c\":\"\t\"},\"d\":2}"), MAREY_DAMAGE_CONTROL);
    }
}

/* More kinds than there is room for. */
static void check_forgets_what_it_has_no_room_for(void **state)
{
    (void)state;
    static struct padded text;
    for (int i = 0; i < 60000; i++) {
        char json[128];
        const int len =
            snprintf(json, sizeof json, "{\"key %d\":%d,\"s\":\"%d\",\"a\":[%d]}", i, i, i, i);
        set_text(&text, json, (size_t)len);
        EXPECT_U64(check(&text), 0);
        EXPECT_U64(check(&text), 0);
    }
}

/* ---- memory ------------------------------------------------------------------------------- */

static enum marey_status load_checked(void *ctx, const struct marey_alloc *alloc)
{
    const struct marey_str text = {ctx, strlen(ctx)};
    const struct marey_reading reading = {.checks_all = true};
    struct marey_trace *trace = NULL;
    const enum marey_status status = marey__import_bytes(text, alloc, &reading, &trace, NULL);
    marey_trace_free(trace);
    return status;
}

static void check_survives_want_of_memory(void **state)
{
    (void)state;
    char text[] = LIST(X("a", "0", "1") "," X("b", "2", "3,\"args\":{\"\\u0061\":NaN,\"a\":1}"));
    EXPECT_TRUE(alloc_fail_sweep(load_checked, text) > 10);
}

static void a_load_says_what_it_checked(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        const struct marey_import_options options = {
            .size = sizeof options, .check = all ? MAREY_CHECK_ALL : MAREY_CHECK_FIELDS};
        static const char text[] = LIST(X("a", "0", "1,\"args\":{\"a\":NaN}"));
        struct marey_trace *trace = NULL;
        struct marey_ledger ledger = {0};
        EXPECT_STATUS(
            marey_import_bytes((struct marey_str){text, sizeof text - 1}, &options, &trace, NULL),
            MAREY_OK);
        EXPECT_STATUS(marey_trace_ledger(trace, &ledger, NULL), MAREY_OK);
        EXPECT_U64(ledger.checked, options.check);
        EXPECT_U64(ledger_count(trace, "non_finite"), all ? 1 : 0);
        marey_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_tells_what_is_wrong),
        cmocka_unit_test(check_caps_the_depth_of_args),
        cmocka_unit_test(check_agrees_with_the_strict_reader),
        cmocka_unit_test(check_of_known_records_agrees_with_the_strict_reader),
        cmocka_unit_test(known_records_hold_no_key_twice),
        cmocka_unit_test(check_forgets_what_it_has_no_room_for),
        cmocka_unit_test(check_survives_want_of_memory),
        cmocka_unit_test(a_load_says_what_it_checked),
    };
    return cmocka_run_group_tests(tests, open_checker, close_checker);
}
