/*
 * test_open.c - open ranges are found by their tokens, innermost first, however many there are.
 */
#include <stdlib.h>

#include "intake/open.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/make_random.h"

#define N_STEPS 20000
#define N_MANY 300000

static void push(struct marey_open_ranges *open, uint32_t token, uint32_t row)
{
    EXPECT_TRUE(marey__open_push(open, token, row) != NULL);
}

/* The row of the range that an end with that token ends; MAREY_NONE: none. */
static uint32_t end(struct marey_open_ranges *open, uint32_t token)
{
    bool failed = false;
    struct marey_open_range *range = marey__open_find(open, token, &failed);

    EXPECT_FALSE(failed);
    if (range == NULL)
        return MAREY_NONE;
    const uint32_t row = range->row;
    EXPECT_U64(range->token, token);
    marey__open_remove(open, range);
    return row;
}

/* The same, slowly. */
struct model {
    uint32_t token[N_STEPS];
    uint32_t row[N_STEPS];
    size_t n;
};

static uint32_t end_in_model(struct model *model, uint32_t token)
{
    size_t at = model->n;

    while (at > 0 && model->token[at - 1] != token)
        at--;
    if (at == 0)
        return MAREY_NONE;
    const uint32_t row = model->row[at - 1];
    for (; at < model->n; at++) {
        model->token[at - 1] = model->token[at];
        model->row[at - 1] = model->row[at];
    }
    model->n--;
    return row;
}

static void expect_same_list(struct marey_open_ranges *open, const struct model *model)
{
    const struct marey_open_range *range = marey__open_top(open);

    for (size_t i = model->n; i > 0; i--) {
        EXPECT_TRUE(range != NULL);
        EXPECT_U64(range->row, model->row[i - 1]);
        range = marey__open_around(open, range);
    }
    EXPECT_TRUE(range == NULL);
}

static void run_beside_model(uint64_t n_tokens, uint64_t begins_in_10)
{
    static struct model model;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_open_ranges open;
    uint64_t seed = make_seed("open ranges");

    model.n = 0;
    marey__open_init(&open, &alloc);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        const uint32_t token = (uint32_t)make_random_below(&seed, n_tokens);
        if (make_random_below(&seed, 10) < begins_in_10) {
            push(&open, token, step);
            model.token[model.n] = token;
            model.row[model.n++] = step;
        } else {
            EXPECT_U64(end(&open, token), end_in_model(&model, token));
        }
        if (step % 1000 == 0)
            expect_same_list(&open, &model);
    }
    expect_same_list(&open, &model);
    marey__open_reset(&open);
    EXPECT_TRUE(marey__open_top(&open) == NULL);
    EXPECT_U64(end(&open, 1), MAREY_NONE);
    push(&open, 1, 7);
    EXPECT_U64(end(&open, 1), 7);
    marey__open_release(&open);
}

static void open_ranges_end_as_in_a_plain_list(void **state)
{
    (void)state;
    run_beside_model(3, 5);
    run_beside_model(100, 6);
    run_beside_model(5000, 8);
}

/* Would take minutes if an end looked at all that are open. */
static void open_ranges_end_first_in_first_out(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_open_ranges open;

    marey__open_init(&open, &alloc);
    for (uint32_t i = 0; i < N_MANY; i++)
        push(&open, i, i);
    for (uint32_t i = 0; i < N_MANY; i++) {
        EXPECT_U64(end(&open, N_MANY + i), MAREY_NONE);
        EXPECT_U64(end(&open, i), i);
    }
    EXPECT_TRUE(marey__open_top(&open) == NULL);
    marey__open_release(&open);
}

static enum marey_status run_with(void *ctx, const struct marey_alloc *alloc)
{
    struct marey_open_ranges open;
    bool failed = false;

    (void)ctx;
    marey__open_init(&open, alloc);
    for (uint32_t i = 0; i < 100 && !failed; i++)
        failed = marey__open_push(&open, i, 0) == NULL;
    for (uint32_t i = 0; i < 100 && !failed; i++) {
        struct marey_open_range *range = marey__open_find(&open, i, &failed);
        if (range != NULL)
            marey__open_remove(&open, range);
    }
    marey__open_release(&open);
    return failed ? MAREY_NOMEM : MAREY_OK;
}

static void open_ranges_survive_lack_of_memory(void **state)
{
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(run_with, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_ranges_end_as_in_a_plain_list),
        cmocka_unit_test(open_ranges_end_first_in_first_out),
        cmocka_unit_test(open_ranges_survive_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
