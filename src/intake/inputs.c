/*
 * inputs.c - the inputs of an operator as torch writes them in a trace.
 *
 * Source of the forms: docs/dev/design/torch-collector.md and what torch 2.13 writes.
 */
#include <string.h>

#include "intake/intake.h"
#include "record/tls.h"

/* Torch writes more elements of a list as nothing. */
#define MAX_SHOWN 30

struct input {
    uint32_t type;
    bool has_strides;
    bool is_cut;
    uint32_t n_dims;
    uint32_t n_items;
    uint32_t text_id;
    const uint64_t *word; /* after the head */
};

struct cursor {
    const uint64_t *at;
    const uint64_t *end;
};

static struct input head_of(const uint64_t *word)
{
    const uint64_t head = word[0];

    return (struct input){
        .type = (uint32_t)head & MAREY_INPUT_TYPE_MASK,
        .has_strides = (head & MAREY_INPUT_STRIDES) != 0,
        .is_cut = (head & MAREY_INPUT_CUT) != 0,
        .n_dims = (uint32_t)(head >> 8) & 0xff,
        .n_items = (uint32_t)(head >> 16) & 0xffff,
        .text_id = (uint32_t)(head >> 32),
        .word = word + 1,
    };
}

static bool is_list(uint32_t type)
{
    return type == MAREY_INPUT_TENSOR_LIST || type == MAREY_INPUT_SCALAR_LIST ||
           type == MAREY_INPUT_GENERIC_LIST;
}

/* Words after the head; of a list without its items. */
static uint32_t words_of(const struct input *input)
{
    if (input->type == MAREY_INPUT_TENSOR)
        return input->has_strides ? 2 * input->n_dims : input->n_dims;
    if (input->type == MAREY_INPUT_INT || input->type == MAREY_INPUT_DOUBLE ||
        input->type == MAREY_INPUT_BOOL)
        return 1;
    return 0;
}

/* The next head; false at the end, or where the words do not hold what a head says. */
static bool next_head(struct cursor *cursor, struct input *input)
{
    if (cursor->at >= cursor->end)
        return false;
    *input = head_of(cursor->at);
    const uint32_t n = words_of(input);
    if (n > (size_t)(cursor->end - cursor->at) - 1)
        return false;
    cursor->at += 1 + n;
    return true;
}

/* Steps over the items of a list. */
static void skip_items(struct cursor *cursor, const struct input *list)
{
    struct input item;

    if (is_list(list->type) && !list->is_cut)
        for (uint32_t i = 0; i < list->n_items && next_head(cursor, &item); i++)
            continue;
}

static void add_numbers(struct marey_textbuf *out, const uint64_t *word, uint32_t n)
{
    marey__text_add_byte(out, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            marey__text_add_c(out, ", ");
        marey__text_add_i64(out, (int64_t)word[i]);
    }
    marey__text_add_byte(out, ']');
}

/* ---- one member each: how an input that is no list is shown -------------------------- */

static void add_dims(struct marey_textbuf *out, const struct input *input)
{
    const bool is_tensor = input->type == MAREY_INPUT_TENSOR;
    add_numbers(out, input->word, is_tensor ? input->n_dims : 0);
}

static void add_strides(struct marey_textbuf *out, const struct input *input)
{
    const bool has = input->type == MAREY_INPUT_TENSOR && input->has_strides;
    add_numbers(out, input->word + (has ? input->n_dims : 0), has ? input->n_dims : 0);
}

static struct marey_str text_of(uint32_t text_id)
{
    uint32_t scope = 0;
    return marey__recorder_text(text_id, &scope);
}

/* Numbers beside the plain ones; what else a collector names has no type in torch's files. */
static bool is_number(struct marey_str type)
{
    static const char *const numbers[] = {"ComplexDouble", "SymInt", "SymFloat", "SymBool"};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (marey__str_is_c(type, numbers[i]))
            return true;
    return false;
}

/* As torch writes it: a generic list, a long one of numbers, a string, a device, a generator and an
 * object are "". */
static void add_type(struct marey_textbuf *out, const struct input *input)
{
    struct marey_str name = {"", 0};

    if (input->type == MAREY_INPUT_TENSOR)
        name = text_of(input->text_id);
    else if (input->type == MAREY_INPUT_OTHER && is_number(text_of(input->text_id)))
        name = (struct marey_str){"Scalar", 6};
    else if (input->type == MAREY_INPUT_INT || input->type == MAREY_INPUT_DOUBLE ||
             input->type == MAREY_INPUT_BOOL)
        name = (struct marey_str){"Scalar", 6};
    else if (input->type == MAREY_INPUT_TENSOR_LIST)
        name = (struct marey_str){"TensorList", 10};
    else if (input->type == MAREY_INPUT_SCALAR_LIST && input->n_items <= MAX_SHOWN)
        name = (struct marey_str){"ScalarList", 10};
    marey__text_add_json(out, name.ptr != NULL ? name : (struct marey_str){"", 0});
}

/* Of doubles the first whole number that does not fit 64 bits. */
#define TWO_TO_63 9223372036854775808.0

/* Whole numbers that fit 64 bits with a point behind, else 17 significant digits: 1., 0.5,
 * 0.10000000000000001, 1e+20. */
static void add_double(struct marey_textbuf *out, uint64_t bits)
{
    char digits[MAREY_NUMBER_BYTES];
    double value = 0;

    memcpy(&value, &bits, sizeof value);
    if (value >= -TWO_TO_63 && value < TWO_TO_63 && value == (double)(int64_t)value) {
        marey__text_add_i64(out, (int64_t)value);
        marey__text_add_byte(out, '.');
        return;
    }
    marey__text_add(out, digits, marey__format_double(digits, value));
}

static void add_scalar(struct marey_textbuf *out, const struct input *input)
{
    if (input->type == MAREY_INPUT_INT)
        marey__text_add_i64(out, (int64_t)input->word[0]);
    else if (input->type == MAREY_INPUT_BOOL)
        marey__text_add_c(out, input->word[0] != 0 ? "True" : "False");
    else if (input->type == MAREY_INPUT_DOUBLE)
        add_double(out, input->word[0]);
}

static void add_value(struct marey_textbuf *out, const struct input *input)
{
    marey__text_add_byte(out, '"');
    add_scalar(out, input);
    marey__text_add_byte(out, '"');
}

/* ---- lists ------------------------------------------------------------------------------ */

static void add_list_of(struct marey_textbuf *out, struct cursor cursor, const struct input *list,
                        void (*add)(struct marey_textbuf *, const struct input *))
{
    struct input item;

    marey__text_add_byte(out, '[');
    if (!list->is_cut && list->n_items <= MAX_SHOWN)
        for (uint32_t i = 0; i < list->n_items && next_head(&cursor, &item); i++) {
            if (i > 0)
                marey__text_add_c(out, ", ");
            add(out, &item);
        }
    marey__text_add_byte(out, ']');
}

static void add_dims_of(struct marey_textbuf *out, struct cursor items, const struct input *input)
{
    if (input->type == MAREY_INPUT_TENSOR_LIST)
        add_list_of(out, items, input, add_dims);
    else
        add_dims(out, input);
}

static void add_strides_of(struct marey_textbuf *out, struct cursor items,
                           const struct input *input)
{
    if (input->type == MAREY_INPUT_TENSOR_LIST)
        add_list_of(out, items, input, add_strides);
    else
        add_strides(out, input);
}

static void add_type_of(struct marey_textbuf *out, struct cursor items, const struct input *input)
{
    (void)items;
    add_type(out, input);
}

static void add_item(struct marey_textbuf *out, const struct input *item)
{
    if (item->type == MAREY_INPUT_NONE)
        marey__text_add_c(out, "None");
    else
        add_scalar(out, item);
}

/* Whether a text says what is in a list of numbers: not of a long one, nor of one with a number of
 * which the collector tells no more than its type. */
static bool is_told(struct cursor items, const struct input *list)
{
    struct input item;

    if (list->is_cut || list->n_items > MAX_SHOWN)
        return false;
    for (uint32_t i = 0; i < list->n_items && next_head(&items, &item); i++)
        if (item.type != MAREY_INPUT_INT && item.type != MAREY_INPUT_DOUBLE &&
            item.type != MAREY_INPUT_BOOL && item.type != MAREY_INPUT_NONE)
            return false;
    return true;
}

static void add_value_of(struct marey_textbuf *out, struct cursor items, const struct input *input)
{
    if (input->type != MAREY_INPUT_SCALAR_LIST) {
        add_value(out, input);
        return;
    }
    marey__text_add_byte(out, '"');
    if (is_told(items, input)) /* else nothing: "[]" is empty */
        add_list_of(out, items, input, add_item);
    marey__text_add_byte(out, '"');
}

/* Torch's members of an operator's args. */
static const struct {
    const char *key;
    void (*add)(struct marey_textbuf *out, struct cursor items, const struct input *input);
} member_table[] = {
    {"Input Dims", add_dims_of},
    {"Input Strides", add_strides_of},
    {"Input type", add_type_of},
    {"Concrete Inputs", add_value_of},
};

static void add_member(struct marey_textbuf *out, size_t member, struct cursor cursor)
{
    struct input input;
    bool is_first = true;

    marey__text_add_format(out, ", \"%s\": [", member_table[member].key);
    while (next_head(&cursor, &input)) {
        if (!is_first)
            marey__text_add_c(out, ", ");
        is_first = false;
        member_table[member].add(out, cursor, &input);
        skip_items(&cursor, &input);
    }
    marey__text_add_byte(out, ']');
}

void marey__inputs_to_json(struct marey_textbuf *out, const uint64_t *word, uint32_t n_words)
{
    const struct cursor cursor = {word, word + n_words};

    for (size_t i = 0; i < sizeof member_table / sizeof member_table[0]; i++)
        add_member(out, i, cursor);
}
