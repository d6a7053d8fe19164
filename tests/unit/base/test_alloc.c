/*
 * Tests of base/alloc.c: blocks of all sizes keep what is in them when they grow and shrink, and
 * large ones lie where huge pages do.
 */
#include "base/alloc.h"
#include "support/expect.h"

#define KIB ((size_t)1024)
#define HUGE_BYTES (2048 * KIB)

/* Across all borders: malloc, mapped, huge. */
static const size_t sizes[] = {
    1,          100 * KIB,  256 * KIB - 1,  256 * KIB, 700 * KIB, 1024 * KIB - 1,
    1024 * KIB, 2048 * KIB, 2048 * KIB + 1, 9000 * KIB};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 + i / 4096);
}

static void fill(unsigned char *block, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        block[i] = byte_at(i);
}

static void expect_filled(const unsigned char *block, size_t n)
{
    size_t n_wrong = 0;
    for (size_t i = 0; i < n; i++)
        n_wrong += block[i] != byte_at(i);
    EXPECT_U64(n_wrong, 0);
}

static void expect_huge_place(const void *block, size_t n)
{
#ifdef MAREY_CHECKED_ALLOC
    n = 0; /* all are malloc's */
#endif
    if (n >= HUGE_BYTES / 2)
        EXPECT_U64((uintptr_t)block % HUGE_BYTES, 0);
}

static void a_block_keeps_its_bytes_from_any_size_to_any(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    for (size_t i = 0; i < N_SIZES; i++) {
        for (size_t j = 0; j < N_SIZES; j++) {
            unsigned char *block = marey__alloc(&alloc, sizes[i], 1);
            EXPECT_TRUE(block != NULL);
            expect_huge_place(block, sizes[i]);
            fill(block, 0, sizes[i]);
            block = marey__realloc(&alloc, block, sizes[i], sizes[j], 1);
            EXPECT_TRUE(block != NULL);
            expect_filled(block, sizes[i] < sizes[j] ? sizes[i] : sizes[j]);
            fill(block, 0, sizes[j]); /* all of it can be written */
            if (j > i)
                expect_huge_place(block, sizes[j]);
            marey__dealloc(&alloc, block, sizes[j], 1);
        }
    }
}

static void a_column_that_grows_keeps_its_rows(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    void *at = NULL;
    size_t capacity = 0;
    size_t n = 0;
    for (size_t need = 16; need <= 12000 * KIB; need *= 2) {
        EXPECT_TRUE(marey__grow(&alloc, &at, &capacity, need, 1));
        EXPECT_TRUE(capacity >= need);
        expect_filled(at, n);
        fill(at, n, capacity);
        n = capacity;
        expect_huge_place(at, capacity);
    }
    marey__dealloc(&alloc, at, capacity, 1);
}

static void a_block_that_shrinks_and_grows_keeps_what_was_used(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    const size_t steps[] = {5000 * KIB, 4100 * KIB, 4097 * KIB + 7, 4200 * KIB, 2049 * KIB,
                            3000 * KIB, 1025 * KIB, 2000 * KIB,     1024 * KIB, 5000 * KIB};
    unsigned char *block = marey__alloc(&alloc, steps[0], 1);
    EXPECT_TRUE(block != NULL);
    fill(block, 0, steps[0]);
    for (size_t i = 1; i < sizeof steps / sizeof steps[0]; i++) {
        const size_t kept = steps[i] < steps[i - 1] ? steps[i] : steps[i - 1];
        block = marey__realloc(&alloc, block, steps[i - 1], steps[i], 1);
        EXPECT_TRUE(block != NULL);
        expect_filled(block, kept);
        fill(block, kept, steps[i]);
    }
    marey__dealloc(&alloc, block, 5000 * KIB, 1);
}

static void a_size_beyond_all_memory_is_refused_and_the_block_stays(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    for (size_t i = 0; i < N_SIZES; i++) {
        unsigned char *block = marey__alloc(&alloc, sizes[i], 1);
        EXPECT_TRUE(block != NULL);
        fill(block, 0, sizes[i]);
        EXPECT_TRUE(marey__realloc(&alloc, block, sizes[i], SIZE_MAX - 4096, 1) == NULL);
        EXPECT_TRUE(marey__realloc(&alloc, block, sizes[i], SIZE_MAX / 2, 1) == NULL);
        expect_filled(block, sizes[i]);
        marey__dealloc(&alloc, block, sizes[i], 1);
    }
    EXPECT_TRUE(marey__alloc(&alloc, SIZE_MAX - 4096, 1) == NULL);
    EXPECT_TRUE(marey__alloc(&alloc, SIZE_MAX / 4, 8) == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_keeps_its_bytes_from_any_size_to_any),
        cmocka_unit_test(a_column_that_grows_keeps_its_rows),
        cmocka_unit_test(a_block_that_shrinks_and_grows_keeps_what_was_used),
        cmocka_unit_test(a_size_beyond_all_memory_is_refused_and_the_block_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
