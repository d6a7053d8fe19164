/*
 * torch_flops.c - the FLOPs that torch counts: seven ops, from their input shapes.
 *
 * A missing, nested or malformed argument counts 0. Values are unsigned 64-bit and wrap
 * as torch's do. Adding an op: a row in formula_table and a function.
 */
#include "aggregate/torch_view.h"
#include "base/json.h"
#include "base/str.h"

#define MAX_DIMS 64

/* Sizes of one argument. */
struct shape {
    int64_t size[MAX_DIMS];
    size_t n;
    bool is_known; /* there, and a flat list of integers */
};

static void read_sizes(struct marey_json *json, struct shape *shape)
{
    *shape = (struct shape){0};
    if (!marey__json_enter(json, '['))
        return;
    shape->is_known = true;
    while (marey__json_element(json)) {
        int64_t size = 0;
        if (!marey__json_i64(json, &size) || shape->n == MAX_DIMS)
            shape->is_known = false;
        else
            shape->size[shape->n++] = size;
    }
}

/* The shapes of arguments first and first + 1. */
static void read_shapes(struct marey_str dims, size_t first, struct shape pair[2])
{
    struct marey_json json = marey__json(dims);
    pair[0] = (struct shape){0};
    pair[1] = (struct shape){0};
    if (!marey__json_enter(&json, '['))
        return;
    for (size_t i = 0; i < first + 2 && marey__json_element(&json); i++) {
        const struct marey_str raw = marey__json_raw(&json);
        struct marey_json inner = marey__json(raw);
        if (i >= first)
            read_sizes(&inner, &pair[i - first]);
    }
}

static uint64_t product(const struct shape *shape)
{
    uint64_t all = 1;
    for (size_t i = 0; i < shape->n; i++)
        all *= (uint64_t)shape->size[i];
    return all;
}

/* One operation for each element of the first argument; broadcasting is not seen. */
static uint64_t elementwise(struct marey_str dims, struct marey_str concrete)
{
    (void)concrete;
    struct shape pair[2];
    read_shapes(dims, 0, pair);
    return pair[0].is_known ? product(&pair[0]) : 0;
}

/* 2 * M * K * N of two matrices, of a batch of them if is_batch. */
static uint64_t matrix_product(struct marey_str dims, size_t first, bool is_batch)
{
    struct shape pair[2];
    read_shapes(dims, first, pair);
    if (!pair[0].is_known || !pair[1].is_known || pair[0].n == 0 || pair[1].n == 0)
        return 0;
    const uint64_t inner = (uint64_t)pair[0].size[pair[0].n - 1];
    const uint64_t batch = is_batch ? (uint64_t)pair[0].size[0] : 1;
    if (inner == 0 || batch == 0)
        return 0;
    return 2 * (product(&pair[0]) / inner / batch) * product(&pair[1]);
}

static uint64_t mm(struct marey_str dims, struct marey_str concrete)
{
    (void)concrete;
    return matrix_product(dims, 0, false);
}

static uint64_t addmm(struct marey_str dims, struct marey_str concrete)
{
    (void)concrete;
    return matrix_product(dims, 1, false);
}

static uint64_t bmm(struct marey_str dims, struct marey_str concrete)
{
    (void)concrete;
    return matrix_product(dims, 0, true);
}

static uint64_t baddbmm(struct marey_str dims, struct marey_str concrete)
{
    (void)concrete;
    return matrix_product(dims, 1, true);
}

/* Stride, padding, dilation and groups are spelled out: "[1, 1]", "2". */
struct convolution {
    struct shape stride;
    struct shape padding;
    struct shape dilation;
    int64_t groups;
};

static bool read_convolution(struct marey_str concrete, struct convolution *found)
{
    enum { STRIDE = 3, PADDING = 4, DILATION = 5, GROUPS = 6 };
    struct marey_json json = marey__json(concrete);
    *found = (struct convolution){0};
    if (!marey__json_enter(&json, '['))
        return false;
    for (size_t i = 0; i <= GROUPS && marey__json_element(&json); i++) {
        struct marey_str raw = {0};
        (void)marey__json_string(&json, &raw);
        struct marey_json inner = marey__json(raw);
        if (i == STRIDE)
            read_sizes(&inner, &found->stride);
        else if (i == PADDING)
            read_sizes(&inner, &found->padding);
        else if (i == DILATION)
            read_sizes(&inner, &found->dilation);
        else if (i == GROUPS)
            (void)marey__json_i64(&inner, &found->groups);
    }
    return found->stride.n == 2 && found->padding.n == 2 && found->dilation.n == 2 &&
           found->groups > 0 && found->stride.size[0] != 0 && found->stride.size[1] != 0;
}

static uint64_t conv2d(struct marey_str dims, struct marey_str concrete)
{
    struct shape pair[2];
    struct convolution by;
    read_shapes(dims, 0, pair);
    const struct shape *input = &pair[0];
    const struct shape *weight = &pair[1];
    if (!input->is_known || !weight->is_known || input->n != 4 || weight->n != 4 ||
        !read_convolution(concrete, &by))
        return 0;
    uint64_t all = 2 * (uint64_t)input->size[0] * (uint64_t)input->size[1];
    for (size_t axis = 0; axis < 2; axis++) {
        const uint64_t kernel = (uint64_t)weight->size[axis + 2];
        const uint64_t reach = (uint64_t)by.dilation.size[axis] * (kernel - 1);
        const int64_t room = (int64_t)((uint64_t)input->size[axis + 2] +
                                       2 * (uint64_t)by.padding.size[axis] - reach - 1);
        /* A division that overflows is undefined in C. */
        const int64_t steps = by.stride.size[axis] == -1 ? (int64_t)(0 - (uint64_t)room)
                                                         : room / by.stride.size[axis];
        all *= kernel * ((uint64_t)steps + 1);
    }
    return all * (uint64_t)weight->size[0] / (uint64_t)by.groups;
}

static const struct {
    const char *name;
    uint64_t (*count)(struct marey_str dims, struct marey_str concrete);
} formula_table[] = {
    {"", NULL},
    {"aten::add", elementwise},
    {"aten::mul", elementwise},
    {"aten::mm", mm},
    {"aten::addmm", addmm},
    {"aten::bmm", bmm},
    {"aten::baddbmm", baddbmm},
    {"aten::conv2d", conv2d},
};

uint8_t marey__torch_flops_formula(struct marey_str name)
{
    for (size_t i = 1; i < sizeof formula_table / sizeof formula_table[0]; i++)
        if (marey__str_is_c(name, formula_table[i].name))
            return (uint8_t)i;
    return 0;
}

uint64_t marey__torch_flops(uint8_t formula, struct marey_str dims, struct marey_str concrete)
{
    return formula == 0 ? 0 : formula_table[formula].count(dims, concrete);
}
