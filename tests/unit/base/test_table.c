/*
 * Tests of base/intern.c, hashmap.c, sort.c, order.c, arena.c, alloc.c: the tables that
 * everything stands on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/intern.h"
#include "base/order.h"
#include "base/sort.h"
#include "base/str.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/make_trace.h"

/* ---- intern ---- */

static void intern_gives_dense_ids_in_order(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_intern table;
    char text[32];

    EXPECT_TRUE(marey__intern_init(&table, &alloc));
    EXPECT_U64(marey__intern_c(&table, ""), 0);
    EXPECT_U64(marey__intern_find(&table, marey__str("no")), MAREY_NONE);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 5000; i++) {
            (void)snprintf(text, sizeof text, "name %u", i);
            EXPECT_U64(marey__intern_c(&table, text), i);
        }
    }
    EXPECT_U64(table.n, 5001);
    EXPECT_VIEW(marey__intern_text(&table, 4999), "name 4999");
    EXPECT_U64(marey__intern_find(&table, marey__str("name 7")), 7);
    EXPECT_TRUE(marey__intern_text(&table, 5001).ptr == NULL);
    EXPECT_TRUE(marey__intern_text(&table, MAREY_NONE).ptr == NULL);
    EXPECT_TRUE(marey__intern_bytes(&table) > 5000 * 8);
    marey__intern_release(&table);
    marey__intern_release(&table);
}

static void intern_keeps_texts_with_zero_bytes_and_long_ones(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_intern table;
    static char large[300000];

    memset(large, 'x', sizeof large);
    EXPECT_TRUE(marey__intern_init(&table, &alloc));
    const uint32_t a = marey__intern(&table, (struct marey_str){"a\0b", 3});
    const uint32_t b = marey__intern(&table, (struct marey_str){"a\0c", 3});
    const struct marey_str kept = marey__intern_text(&table, a);
    EXPECT_TRUE(a != b);
    const uint32_t c = marey__intern(&table, (struct marey_str){large, sizeof large});
    EXPECT_U64(marey__intern_text(&table, c).len, sizeof large);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(large, sizeof large, "%d", i);
        (void)marey__intern_c(&table, large);
    }
    EXPECT_TRUE(marey__intern_text(&table, a).ptr == kept.ptr); /* stays where it is */
    EXPECT_TRUE(memcmp(kept.ptr, "a\0b", 3) == 0);
    marey__intern_release(&table);
}

static enum marey_status intern_many(void *ctx, const struct marey_alloc *alloc)
{
    (void)ctx;
    struct marey_intern table;
    enum marey_status status = MAREY_NOMEM;
    char text[32];

    if (!marey__intern_init(&table, alloc))
        goto done;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        if (marey__intern_c(&table, text) == MAREY_NONE)
            goto done;
    }
    status = MAREY_OK;

done:
    marey__intern_release(&table);
    return status;
}

static void intern_survives_want_of_memory(void **state)
{
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(intern_many, NULL) > 5);
}

/* ---- hash map ---- */

static void hashmap_finds_what_was_put(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_hashmap map;

    marey__hashmap_init(&map, &alloc);
    EXPECT_U64(marey__hashmap_get(&map, 1), MAREY_NONE);
    /* Keys that differ in high bits only, in low bits only, and 0. */
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t *place = marey__hashmap_put(&map, (uint64_t)i << (i % 3 * 21));
        EXPECT_TRUE(place != NULL);
        *place = *place == MAREY_NONE ? i : *place;
    }
    for (uint32_t i = 0; i < 3000; i++) {
        const uint64_t key = (uint64_t)i << (i % 3 * 21);
        const uint32_t value = marey__hashmap_get(&map, key);
        EXPECT_U64((uint64_t)value << (value % 3 * 21), key);
    }
    EXPECT_U64(marey__hashmap_get(&map, UINT64_MAX), MAREY_NONE);
    marey__hashmap_release(&map);
    marey__hashmap_release(&map);
}

static enum marey_status put_many(void *ctx, const struct marey_alloc *alloc)
{
    (void)ctx;
    enum marey_status status = MAREY_OK;
    struct marey_hashmap map;
    marey__hashmap_init(&map, alloc);
    for (uint32_t i = 0; i < 500 && status == MAREY_OK; i++) {
        uint32_t *place = marey__hashmap_put(&map, i);
        if (place == NULL)
            status = MAREY_NOMEM;
        else
            *place = i;
    }
    marey__hashmap_release(&map);
    return status;
}

static void hashmap_survives_want_of_memory(void **state)
{
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(put_many, NULL) > 5);
}

/* ---- sort and order ---- */

static int compare_keys(const void *ctx, uint32_t a, uint32_t b)
{
    const uint64_t *keys = ctx;
    return keys[a] < keys[b] ? -1 : keys[a] > keys[b];
}

/* True if order is a permutation that sorts keys and keeps equal ones in their order. */
static bool is_stable_order(const uint64_t *keys, const uint32_t *order, size_t n, uint8_t *seen)
{
    memset(seen, 0, n);
    for (size_t i = 0; i < n; i++) {
        if (order[i] >= n || seen[order[i]])
            return false;
        seen[order[i]] = 1;
        if (i > 0 && (keys[order[i - 1]] > keys[order[i]] ||
                      (keys[order[i - 1]] == keys[order[i]] && order[i - 1] > order[i])))
            return false;
    }
    return true;
}

static void fill_keys(uint64_t *keys, size_t n, uint32_t form, uint64_t *seed)
{
    static const uint64_t spans[] = {2, 100, 65536, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < n; i++) {
        keys[i] = make_random_below(seed, spans[form % 5]);
        if (form >= 5 && form < 10) /* sorted runs */
            keys[i] = (i % (n / 4 + 1)) * 3 + keys[i] % 3;
        if (form >= 10) /* downwards */
            keys[i] = n - i;
    }
}

static void sorts_are_stable(void **state)
{
    (void)state;
    enum { MOST = 3000 };
    static uint64_t keys[MOST];
    static int64_t halves[MOST];
    static uint32_t order[MOST];
    static uint8_t seen[MOST];
    const struct marey_alloc alloc = marey__alloc_default();
    uint64_t seed = make_seed("sort");

    for (uint32_t round = 0; round < 220; round++) {
        const size_t n = round < 40 ? round : make_random_below(&seed, MOST);
        fill_keys(keys, n, round % 11, &seed);
        for (size_t i = 0; i < n; i++)
            order[i] = (uint32_t)i;
        EXPECT_TRUE(marey__sort_indices(&alloc, order, n, compare_keys, keys));
        EXPECT_TRUE(is_stable_order(keys, order, n, seen));
        for (size_t i = 0; i < n; i++) {
            halves[i] = (int64_t)(keys[i] / 2); /* pairs of keys are alike */
            order[i] = (uint32_t)i;
        }
        EXPECT_TRUE(marey__sort_by_key(&alloc, order, n, halves, compare_keys, keys));
        EXPECT_TRUE(is_stable_order(keys, order, n, seen));
        memset(order, 0xff, sizeof order);
        EXPECT_TRUE(marey__order_u64(&alloc, keys, order, n));
        EXPECT_TRUE(is_stable_order(keys, order, n, seen));
    }
}

static void first_at_least_agrees_with_a_walk(void **state)
{
    (void)state;
    uint32_t ascending[40];
    uint64_t seed = make_seed("first_at_least");
    for (uint32_t round = 0; round < 200; round++) {
        const size_t n = round % 40;
        for (size_t i = 0; i < n; i++)
            ascending[i] = (i == 0 ? 1 : ascending[i - 1]) + (uint32_t)make_random_below(&seed, 3);
        for (uint32_t value = 0; value < 85; value++) {
            size_t first = 0;
            while (first < n && ascending[first] < value)
                first++;
            EXPECT_U64(marey__first_at_least(ascending, n, value), first);
        }
    }
}

static enum marey_status sort_some(void *ctx, const struct marey_alloc *alloc)
{
    (void)ctx;
    uint64_t keys[200];
    uint32_t order[200];
    for (uint32_t i = 0; i < 200; i++) {
        keys[i] = i * 7919 % 200;
        order[i] = i;
    }
    return marey__sort_indices(alloc, order, 200, compare_keys, keys) &&
                   marey__order_u64(alloc, keys, order, 200)
               ? MAREY_OK
               : MAREY_NOMEM;
}

static void sorts_survive_want_of_memory(void **state)
{
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(sort_some, NULL) > 1);
}

/* ---- arena and sizes ---- */

static void arena_gives_aligned_memory_that_stays(void **state)
{
    (void)state;
    struct alloc_fail heap = {0};
    const struct marey_alloc alloc = alloc_fail_make(&heap);
    struct marey_arena arena;
    uint32_t *numbers[200];

    marey__arena_init(&arena, &alloc);
    for (uint32_t i = 0; i < 200; i++) {
        char *bytes = marey__arena_take_bytes(&arena, 1 + i % 7);
        EXPECT_TRUE(bytes != NULL);
        memset(bytes, 0x5a, 1 + i % 7);
        numbers[i] = marey__arena_take(&arena, (i % 50 + 1) * sizeof **numbers);
        EXPECT_TRUE(numbers[i] != NULL);
        EXPECT_U64((uintptr_t)numbers[i] % _Alignof(max_align_t), 0);
        numbers[i][0] = i;
    }
    char *large = marey__arena_take_bytes(&arena, 1000000);
    EXPECT_TRUE(large != NULL);
    memset(large, 1, 1000000);
    EXPECT_TRUE(marey__arena_take_bytes(&arena, 0) != NULL);
    for (uint32_t i = 0; i < 200; i++)
        EXPECT_U64(numbers[i][0], i);
    EXPECT_TRUE(arena.held_bytes >= 1000000);
    EXPECT_TRUE(marey__arena_take(&arena, SIZE_MAX - 8) == NULL);
    marey__arena_release(&arena);
    EXPECT_U64(heap.n_live, 0);
}

static void sizes_overflow_to_false(void **state)
{
    (void)state;
    size_t result = 3;
    EXPECT_TRUE(marey__size_add(SIZE_MAX - 1, 1, &result));
    EXPECT_U64(result, SIZE_MAX);
    EXPECT_FALSE(marey__size_add(SIZE_MAX, 1, &result));
    EXPECT_TRUE(marey__size_mul(SIZE_MAX / 8, 8, &result));
    EXPECT_FALSE(marey__size_mul(SIZE_MAX / 8 + 1, 8, &result));
}

static void alloc_refuses_sizes_that_overflow(void **state)
{
    (void)state;
    struct alloc_fail heap = {0};
    const struct marey_alloc alloc = alloc_fail_make(&heap);
    void *ptr = NULL;
    size_t capacity = 0;

    EXPECT_TRUE(marey__alloc(&alloc, SIZE_MAX / 4, 8) == NULL);
    EXPECT_TRUE(marey__alloc_zero(&alloc, SIZE_MAX / 4, 8) == NULL);
    EXPECT_FALSE(marey__grow(&alloc, &ptr, &capacity, SIZE_MAX / 4, 8));
    EXPECT_TRUE(ptr == NULL && capacity == 0);
    EXPECT_U64(heap.n_requests, 0);

    void *empty = marey__alloc(&alloc, 0, 8);
    EXPECT_TRUE(empty != NULL);
    marey__dealloc(&alloc, empty, 0, 8);
    marey__dealloc(&alloc, NULL, 5, 8);
    EXPECT_U64(heap.n_live, 0);
}

static void default_alloc_keeps_bytes_across_sizes(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    /* Small and mapped blocks, up and down across the border. */
    const size_t sizes[] = {10, 1000, 5 << 20, 9 << 20, (4 << 20) - 1, 4 << 20, 7, 6 << 20};
    unsigned char *ptr = marey__alloc(&alloc, sizes[0], 1);
    EXPECT_TRUE(ptr != NULL);
    memcpy(ptr, "0123456", 7);
    for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *moved = marey__realloc(&alloc, ptr, sizes[i - 1], sizes[i], 1);
        EXPECT_TRUE(moved != NULL);
        ptr = moved;
        EXPECT_TRUE(memcmp(ptr, "0123456", 7) == 0);
        ptr[sizes[i] - 1] = ptr[sizes[i] - 1] == '6' ? '6' : 1;
    }
    marey__dealloc(&alloc, ptr, sizes[sizeof sizes / sizeof *sizes - 1], 1);

    unsigned char *zero = marey__alloc_zero(&alloc, 5 << 20, 1);
    EXPECT_TRUE(zero != NULL && zero[0] == 0 && zero[(5 << 20) - 1] == 0);
    marey__dealloc(&alloc, zero, 5 << 20, 1);
}

#ifndef MAREY_CHECKED_ALLOC
/* Its end is not left to small pages, as long as that makes it little larger. */
static void default_alloc_rounds_large_blocks_to_whole_huge_pages(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    const size_t huge = (size_t)2 << 20;
    unsigned char *block = marey__alloc(&alloc, 1000000, 8);
    EXPECT_TRUE(block != NULL);
    EXPECT_U64((uintptr_t)block % huge, 0);
    EXPECT_I64(msync(block + 4 * huge - 4096, 4096, MS_ASYNC), 0); /* it is mapped */
    block[4 * huge - 1] = 1;
    marey__dealloc(&alloc, block, 1000000, 8);
    EXPECT_I64(msync(block + 4 * huge - 4096, 4096, MS_ASYNC), -1); /* and gone */
}
#endif

static void grow_doubles_and_keeps(void **state)
{
    (void)state;
    struct alloc_fail heap = {.fail_at = 3, .fail_after = true};
    const struct marey_alloc alloc = alloc_fail_make(&heap);
    void *ptr = NULL;
    size_t capacity = 0;

    EXPECT_TRUE(marey__grow(&alloc, &ptr, &capacity, 1, 4));
    EXPECT_TRUE(capacity >= 1);
    ((uint32_t *)ptr)[0] = 42;
    const size_t first = capacity;
    EXPECT_TRUE(marey__grow(&alloc, &ptr, &capacity, first + 1, 4));
    EXPECT_TRUE(capacity >= 2 * first);
    const size_t second = capacity;
    EXPECT_FALSE(marey__grow(&alloc, &ptr, &capacity, second + 1, 4));
    EXPECT_U64(capacity, second);
    EXPECT_U64(((uint32_t *)ptr)[0], 42);
    marey__dealloc(&alloc, ptr, capacity, 4);
    EXPECT_U64(heap.n_live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intern_gives_dense_ids_in_order),
        cmocka_unit_test(intern_keeps_texts_with_zero_bytes_and_long_ones),
        cmocka_unit_test(intern_survives_want_of_memory),
        cmocka_unit_test(hashmap_finds_what_was_put),
        cmocka_unit_test(hashmap_survives_want_of_memory),
        cmocka_unit_test(sorts_are_stable),
        cmocka_unit_test(first_at_least_agrees_with_a_walk),
        cmocka_unit_test(sorts_survive_want_of_memory),
        cmocka_unit_test(arena_gives_aligned_memory_that_stays),
        cmocka_unit_test(sizes_overflow_to_false),
        cmocka_unit_test(alloc_refuses_sizes_that_overflow),
        cmocka_unit_test(default_alloc_keeps_bytes_across_sizes),
#ifndef MAREY_CHECKED_ALLOC
        cmocka_unit_test(default_alloc_rounds_large_blocks_to_whole_huge_pages),
#endif
        cmocka_unit_test(grow_doubles_and_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
