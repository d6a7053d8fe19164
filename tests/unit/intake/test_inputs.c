/*
 * test_inputs.c - the inputs of operators in torch's words.
 */
#include <string.h>

#include "intake/intake.h"
#include "record/tls.h"
#include "support/expect.h"

#define HEAD MAREY_INPUT_HEAD

static uint64_t bits_of(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t text(const char *name)
{
    return marey__sites_add(&marey__recorder.sites, (struct marey_str){name, strlen(name)},
                            MAREY_N_SCOPES);
}

static void expect_json(const uint64_t *word, uint32_t n_words, const char *want)
{
    struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf out;

    marey__text_init(&out, &alloc);
    marey__inputs_to_json(&out, word, n_words);
    EXPECT_BYTES(out.ptr, out.len, want);
    marey__text_release(&out);
}

static void inputs_of_tensors_have_dims_strides_and_types(void **state)
{
    (void)state;
    const uint64_t word[] = {
        HEAD(MAREY_INPUT_TENSOR | MAREY_INPUT_STRIDES, 2, 0, text("float")),
        2,
        3,
        3,
        1,
        HEAD(MAREY_INPUT_TENSOR, 0, 0, text("long int")),
        HEAD(MAREY_INPUT_UNDEFINED, 0, 0, 0),
        HEAD(MAREY_INPUT_NONE, 0, 0, 0),
        HEAD(MAREY_INPUT_STRING, 0, 0, 0),
        HEAD(MAREY_INPUT_OTHER, 0, 0, text("Device")),
        HEAD(MAREY_INPUT_OTHER, 0, 0, text("SymInt")),
    };

    expect_json(word, sizeof word / sizeof word[0],
                ", \"Input Dims\": [[2, 3], [], [], [], [], [], []]"
                ", \"Input Strides\": [[3, 1], [], [], [], [], [], []]"
                ", \"Input type\": [\"float\", \"long int\", \"\", \"\", \"\", \"\", \"Scalar\"]"
                ", \"Concrete Inputs\": [\"\", \"\", \"\", \"\", \"\", \"\", \"\"]");
}

static void inputs_that_are_scalars_are_spelled_out(void **state)
{
    (void)state;
    const uint64_t word[] = {
        HEAD(MAREY_INPUT_INT, 0, 0, 0),    (uint64_t)-7,
        HEAD(MAREY_INPUT_DOUBLE, 0, 0, 0), bits_of(1e10),
        HEAD(MAREY_INPUT_DOUBLE, 0, 0, 0), bits_of(0.1),
        HEAD(MAREY_INPUT_DOUBLE, 0, 0, 0), bits_of(-1.0 / 0.0),
        HEAD(MAREY_INPUT_BOOL, 0, 0, 0),   1,
        HEAD(MAREY_INPUT_BOOL, 0, 0, 0),   0,
    };

    expect_json(
        word, sizeof word / sizeof word[0],
        ", \"Input Dims\": [[], [], [], [], [], []]"
        ", \"Input Strides\": [[], [], [], [], [], []]"
        ", \"Input type\": [\"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", "
        "\"Scalar\"]"
        ", \"Concrete Inputs\": [\"-7\", \"10000000000.\", \"0.10000000000000001\", \"-inf\", "
        "\"True\", \"False\"]");
}

static void inputs_that_are_whole_have_a_point_up_to_64_bits(void **state)
{
    (void)state;
    const uint64_t word[] = {
        HEAD(MAREY_INPUT_DOUBLE, 0, 0, 0), bits_of(-9223372036854775808.0),
        HEAD(MAREY_INPUT_DOUBLE, 0, 0, 0), bits_of(-9223372036854777856.0),
        HEAD(MAREY_INPUT_DOUBLE, 0, 0, 0), bits_of(9223372036854774784.0),
        HEAD(MAREY_INPUT_DOUBLE, 0, 0, 0), bits_of(9223372036854775808.0),
    };

    expect_json(word, sizeof word / sizeof word[0],
                ", \"Input Dims\": [[], [], [], []], \"Input Strides\": [[], [], [], []]"
                ", \"Input type\": [\"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"]"
                ", \"Concrete Inputs\": [\"-9223372036854775808.\", \"-9.2233720368547779e+18\", "
                "\"9223372036854774784.\", \"9.2233720368547758e+18\"]");
}

/* A text with a hole in it would be none of the list, and "[]" is an empty one. */
static void inputs_that_are_lists_of_unknown_numbers_are_not_told(void **state)
{
    (void)state;
    const uint64_t word[] = {
        HEAD(MAREY_INPUT_SCALAR_LIST, 0, 2, 0),
        HEAD(MAREY_INPUT_INT, 0, 0, 0),
        1,
        HEAD(MAREY_INPUT_NONE, 0, 0, 0),
        HEAD(MAREY_INPUT_SCALAR_LIST, 0, 1, 0),
        HEAD(MAREY_INPUT_OTHER, 0, 0, text("ComplexDouble")),
        HEAD(MAREY_INPUT_SCALAR_LIST, 0, 2, 0),
        HEAD(MAREY_INPUT_BOOL, 0, 0, 0),
        1,
        HEAD(MAREY_INPUT_OTHER, 0, 0, text("SymInt")),
    };

    expect_json(word, sizeof word / sizeof word[0],
                ", \"Input Dims\": [[], [], []], \"Input Strides\": [[], [], []]"
                ", \"Input type\": [\"ScalarList\", \"ScalarList\", \"ScalarList\"]"
                ", \"Concrete Inputs\": [\"[1, None]\", \"\", \"\"]");
}

static void inputs_that_are_lists_nest(void **state)
{
    (void)state;
    const uint64_t word[] = {
        HEAD(MAREY_INPUT_TENSOR_LIST, 0, 2, 0),
        HEAD(MAREY_INPUT_TENSOR, 1, 0, text("float")),
        4,
        HEAD(MAREY_INPUT_TENSOR | MAREY_INPUT_STRIDES, 1, 0, text("float")),
        5,
        1,
        HEAD(MAREY_INPUT_SCALAR_LIST, 0, 2, 0),
        HEAD(MAREY_INPUT_INT, 0, 0, 0),
        1,
        HEAD(MAREY_INPUT_INT, 0, 0, 0),
        2,
        HEAD(MAREY_INPUT_TENSOR_LIST | MAREY_INPUT_CUT, 0, 900, 0),
        HEAD(MAREY_INPUT_GENERIC_LIST, 0, 0, 0),
        HEAD(MAREY_INPUT_INT, 0, 0, 0),
        9,
    };

    expect_json(word, sizeof word / sizeof word[0],
                ", \"Input Dims\": [[[4], [5]], [], [], [], []]"
                ", \"Input Strides\": [[[], [1]], [], [], [], []]"
                ", \"Input type\": [\"TensorList\", \"ScalarList\", \"TensorList\", "
                "\"\", \"Scalar\"]"
                ", \"Concrete Inputs\": [\"\", \"[1, 2]\", \"\", \"\", \"9\"]");
}

/* A collector that does not keep the contract harms nobody. */
static void inputs_that_end_too_soon_are_left_out(void **state)
{
    (void)state;
    const uint64_t dims[] = {HEAD(MAREY_INPUT_TENSOR, 200, 0, 0), 1, 2};
    const uint64_t items[] = {HEAD(MAREY_INPUT_SCALAR_LIST, 0, 5, 0),
                              HEAD(MAREY_INPUT_INT, 0, 0, 0), 3};

    expect_json(dims, 3,
                ", \"Input Dims\": [], \"Input Strides\": [], \"Input type\": [], "
                "\"Concrete Inputs\": []");
    expect_json(items, 3,
                ", \"Input Dims\": [[]], \"Input Strides\": [[]], \"Input type\": "
                "[\"ScalarList\"], \"Concrete Inputs\": [\"[3]\"]");
    expect_json(NULL, 0,
                ", \"Input Dims\": [], \"Input Strides\": [], \"Input type\": [], "
                "\"Concrete Inputs\": []");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_of_tensors_have_dims_strides_and_types),
        cmocka_unit_test(inputs_that_are_scalars_are_spelled_out),
        cmocka_unit_test(inputs_that_are_whole_have_a_point_up_to_64_bits),
        cmocka_unit_test(inputs_that_are_lists_of_unknown_numbers_are_not_told),
        cmocka_unit_test(inputs_that_are_lists_nest),
        cmocka_unit_test(inputs_that_end_too_soon_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
