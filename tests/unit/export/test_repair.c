/*
 * Law: a repaired trace has the numbers of the broken one, and nothing is left to repair in it.
 *
 * Records of launches, kernels, operators and metadata whose args are damaged at random; each file
 * is read in ways that look at args differently: by learnt templates, by their keys, all of them.
 */
#include "export/chrome.h"
#include "import/import.h"
#include "marey/export.h"
#include "same_trace.h"
#include "support/ledger.h"
#include "support/make_random.h"

enum { N_ROUNDS = 1500, MOST_RECORDS = 12 };

static const char *one_of(uint64_t *random, const char *const *texts, size_t n)
{
    return texts[make_random_below(random, n)];
}
#define ONE_OF(random, ...)                                                                        \
    one_of(random, (const char *const[]){__VA_ARGS__},                                             \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* ---- files ------------------------------------------------------------------------------------
 */

/* What stands for a number of args, mostly one. */
static const char *id_text(uint64_t *random)
{
    if (make_random_below(random, 4) != 0)
        return ONE_OF(random, "1", "2", "3", "17");
    return ONE_OF(random, "\"5\"", "\"\\u0035\"", "\"abc\"", "\"\\u0061bc\"", "\"\xff\xe2\x82\"",
                  "\"\\ud800\"", "\"a\\x\"", "-5", "-05", "05", "+5", "5.5", ".5", "NaN", "nAn",
                  "+inf", "null", "true", "nil", "99999999999999999999", "[1]", "{\"a\": 1}",
                  "\"\"");
}

static void add_member(struct marey_textbuf *text, uint64_t *random)
{
    const char *key = ONE_OF(random, "correlation", "External id", "device", "stream", "context",
                             "c\\u006frrelation", "Sequence number", "Ev Idx", "x", "x", "bytes");
    marey__text_add_format(text, "\"%s\": %s", key, id_text(random));
}

static void add_other(struct marey_textbuf *text, uint64_t *random)
{
    marey__text_add_c(
        text, ONE_OF(random, "\"grid\": [1, 2, 3]", "\"y\": {\"a\": [1], \"b\": \"}\"}",
                     "\"Input Dims\": [[2, 3], []]", "\"Input Dims\": [[2, NaN], 01]",
                     "\"Input Strides\": [-1, [\"1\"]]", "\"Input Dims\": 01",
                     "\"z\": \"a long text of its own, {[\"", "\"e\": []", "\"stall\": tru"));
}

static void add_args(struct marey_textbuf *text, uint64_t *random)
{
    static const char wrong[] = "{}[]\",:\\ 1ntel\x01\xff";
    const size_t from = text->len;
    const uint64_t n = make_random_below(random, 8);

    marey__text_add_byte(text, '{');
    for (uint64_t i = 0; i < n; i++) {
        marey__text_add_c(text, i == 0 ? "" : ", ");
        if (make_random_below(random, 3) == 0)
            add_other(text, random);
        else
            add_member(text, random);
    }
    marey__text_add_byte(text, '}');
    const size_t len = text->len - from;
    for (uint64_t i = make_random_below(random, 3); i > 0 && len > 2; i--)
        text->ptr[from + 1 + make_random_below(random, len - 2)] =
            wrong[make_random_below(random, sizeof wrong - 1)];
}

static void add_record(struct marey_textbuf *text, uint64_t *random, size_t i)
{
    const char *cat =
        ONE_OF(random, "cuda_runtime", "kernel", "cpu_op", "gpu_memcpy", "cuda_driver");

    marey__text_add_format(text, "{\"ph\": \"%s\", \"cat\": \"%s\", \"name\": \"n\", ",
                           make_random_below(random, 10) == 0 ? "M" : "X", cat);
    marey__text_add_format(text,
                           "\"pid\": 1, \"tid\": 1, \"ts\": %zu, \"dur\": 5, \"args\": ", 10 * i);
    if (make_random_below(random, 20) == 0)
        marey__text_add_c(text, ONE_OF(random, "[5]", "5", "\"x\"", "null", "NaN"));
    else
        add_args(text, random);
    marey__text_add_byte(text, '}');
}

static void make_file(struct marey_textbuf *text, uint64_t *random)
{
    const size_t n = 1 + (size_t)make_random_below(random, MOST_RECORDS);

    marey__text_reset(text);
    marey__text_add_c(text, "{\"traceEvents\": [");
    for (size_t i = 0; i < n; i++) {
        marey__text_add_c(text, i == 0 ? "" : ",\n");
        add_record(text, random, i);
    }
    marey__text_add_c(text, "]}");
    EXPECT_FALSE(marey__text_failed(text));
}

/* ---- the law ----------------------------------------------------------------------------------
 */

static struct marey_trace *read_text(struct marey_str text, const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    return marey__import_bytes(text, &alloc, reading, &trace, NULL) == MAREY_OK ? trace : NULL;
}

static bool same_ints(struct pair *pair, enum marey_arg arg)
{
    const int64_t *a = marey_trace_arg_ints(pair->a, arg);
    const int64_t *b = marey_trace_arg_ints(pair->b, arg);
    for (size_t i = 0; i < marey_trace_slices(pair->a).n; i++)
        if (a[i] != b[i])
            return differ(pair, "an integer of args of slice", i);
    return true;
}

static bool same_shapes(struct pair *pair, enum marey_arg arg)
{
    EXPECT_STATUS(marey_trace_decode_args(pair->a, MAREY_ARG_BIT(arg), NULL), MAREY_OK);
    EXPECT_STATUS(marey_trace_decode_args(pair->b, MAREY_ARG_BIT(arg), NULL), MAREY_OK);
    const uint32_t *a = marey_trace_arg_texts(pair->a, arg);
    const uint32_t *b = marey_trace_arg_texts(pair->b, arg);
    for (size_t i = 0; i < marey_trace_slices(pair->a).n; i++)
        if (!same_string(pair, a[i], b[i]))
            return differ(pair, "the shape of slice", i);
    return true;
}

/* What figures are made of. */
static bool same_numbers(struct pair *pair)
{
    const uint64_t bits = MAREY_ARG_BIT(MAREY_ARG_EXTERNAL_ID) | MAREY_ARG_BIT(MAREY_ARG_SEQUENCE) |
                          MAREY_ARG_BIT(MAREY_ARG_EVENT_IDX) | MAREY_ARG_BIT(MAREY_ARG_BYTES);
    EXPECT_STATUS(marey_trace_decode_args(pair->a, bits, NULL), MAREY_OK);
    EXPECT_STATUS(marey_trace_decode_args(pair->b, bits, NULL), MAREY_OK);
    return same_tracks(pair) && same_slices(pair) && same_links(pair) &&
           same_ints(pair, MAREY_ARG_EXTERNAL_ID) && same_ints(pair, MAREY_ARG_SEQUENCE) &&
           same_ints(pair, MAREY_ARG_EVENT_IDX) && same_ints(pair, MAREY_ARG_BYTES) &&
           same_shapes(pair, MAREY_ARG_INPUT_DIMS) && same_shapes(pair, MAREY_ARG_INPUT_STRIDES);
}

static void expect_same_numbers(struct marey_trace *a, struct marey_trace *b,
                                struct marey_str broken)
{
    struct difference difference = {0};
    struct pair pair = {a, b, &difference};
    if (same_numbers(&pair))
        return;
    print_message("# %.*s\n", (int)broken.len, broken.ptr);
    EXPECT_FAIL(difference.text);
}

/* Nothing that a repair mends is in it. */
static void expect_clean(struct marey_trace *trace, struct marey_str text)
{
    struct marey_ledger ledger = {0};
    EXPECT_STATUS(marey_trace_ledger(trace, &ledger, NULL), MAREY_OK);
    for (size_t i = 0; i < ledger.n_rows; i++) {
        const struct marey_ledger_row *row = &ledger.rows[i];
        const bool is_before = strstr(row->reason, "before") != NULL;
        if (is_before || (row->map != MAREY_LEDGER_QUARANTINED && !marey_chrome_mends(row)))
            continue;
        print_message("# %s\n# %.*s\n", row->reason, (int)text.len, text.ptr);
        EXPECT_FAIL("a repaired file is to be repaired");
    }
}

static void write_text(struct marey_trace *trace, bool repair, struct marey_text *text)
{
    const struct marey_chrome_options options = {.size = sizeof options, .repair = repair};
    size_t at = 0;
    EXPECT_STATUS(marey_export_chrome_text(trace, &options, text, NULL), MAREY_OK);
    size_t len = text->len;
    while (len > 0 && text->ptr[len - 1] == '\n')
        len--;
    const char *wrong = marey__json_check((struct marey_str){text->ptr, len}, &at);
    /* The grammar has halves of characters; strict readers may refuse them. */
    if (wrong == NULL || (!repair && strcmp(wrong, "an escape of half a character") == 0))
        return;
    print_message("# %s at %zu of %s\n", wrong, at, text->ptr);
    EXPECT_FAIL("what is written is no JSON");
}

/* 1 if the file could be read. */
static unsigned check_file(struct marey_str broken, uint64_t *n_bad_args)
{
    const struct marey_reading all = {.checks_all = true};
    const struct marey_reading slow = {.n_threads = 1, .portable_only = true, .no_templates = true};
    struct marey_trace *first = read_text(broken, &all);
    struct marey_trace *fields = read_text(broken, &slow);
    struct marey_text written[4] = {0};

    EXPECT_TRUE((first == NULL) == (fields == NULL));
    if (first == NULL)
        return 0;
    *n_bad_args += ledger_count(first, "bad_args");
    expect_same_numbers(first, fields, broken);
    write_text(first, true, &written[0]);
    write_text(first, false, &written[1]);
    write_text(fields, false, &written[2]);
    for (size_t i = 0; i < 3; i++) {
        const struct marey_str text = {written[i].ptr, written[i].len};
        struct marey_trace *again = read_text(text, &all);
        EXPECT_TRUE(again != NULL);
        expect_same_numbers(first, again, broken);
        if (i == 0) {
            expect_clean(again, broken);
            write_text(again, true, &written[3]);
            EXPECT_BYTES(written[3].ptr, written[3].len, written[0].ptr);
        }
        EXPECT_U64(ledger_count(again, "bad_args"), 0);
        marey_trace_free(again);
    }
    for (size_t i = 0; i < 4; i++)
        marey_text_release(&written[i]);
    marey_trace_free(fields);
    marey_trace_free(first);
    return 1;
}

static void repaired_traces_have_the_numbers_of_broken_ones(void **state)
{
    const struct marey_alloc alloc = marey__alloc_default();
    uint64_t random = make_seed("repaired_traces_have_the_numbers_of_broken_ones");
    uint64_t n_bad_args = 0;
    unsigned n_read = 0;
    struct marey_textbuf text;
    (void)state;
    marey__text_init(&text, &alloc);
    for (int round = 0; round < N_ROUNDS; round++) {
        make_file(&text, &random);
        n_read += check_file((struct marey_str){text.ptr, text.len}, &n_bad_args);
    }
    EXPECT_TRUE(n_read > N_ROUNDS / 2);
    EXPECT_TRUE(n_bad_args > N_ROUNDS / 2);
    marey__text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repaired_traces_have_the_numbers_of_broken_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
