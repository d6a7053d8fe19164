/*
 * test_pool.c - chunks of a bounded pool, and how often it is looked after.
 */
#include "record/pool.h"
#include "record/recorder.h"
#include "support/expect.h"

#define CHUNKS(n) ((uint64_t)(n)*MAREY_CHUNK_BYTES)

static void pool_gives_no_more_than_its_bound(void **state)
{
    (void)state;
    struct marey_pool pool;
    EXPECT_TRUE(marey__pool_init(&pool, CHUNKS(3)));

    struct marey_chunk *chunk[3];
    for (int i = 0; i < 3; i++)
        chunk[i] = marey__pool_take(&pool);
    EXPECT_TRUE(chunk[0] != NULL && chunk[1] != NULL && chunk[2] != NULL);
    EXPECT_TRUE(marey__pool_take(&pool) == NULL);
    marey__pool_give(&pool, chunk[1]);
    EXPECT_TRUE(marey__pool_take(&pool) == chunk[1]);
    EXPECT_TRUE(marey__pool_take(&pool) == NULL);
    marey__pool_release(&pool);
}

static void pool_gives_more_when_the_bound_is_raised(void **state)
{
    (void)state;
    struct marey_pool pool;
    EXPECT_TRUE(marey__pool_init(&pool, CHUNKS(1)));

    EXPECT_TRUE(marey__pool_take(&pool) != NULL);
    EXPECT_TRUE(marey__pool_take(&pool) == NULL);
    marey__pool_set_bound(&pool, CHUNKS(2), 0);
    EXPECT_U64(marey__pool_bound(&pool), CHUNKS(2));
    EXPECT_TRUE(marey__pool_take(&pool) != NULL);
    EXPECT_TRUE(marey__pool_take(&pool) == NULL);

    marey__pool_set_bound(&pool, CHUNKS(1), 2); /* those two do not count */
    EXPECT_U64(marey__pool_bound(&pool), CHUNKS(1));
    EXPECT_TRUE(marey__pool_take(&pool) != NULL);
    EXPECT_TRUE(marey__pool_take(&pool) == NULL);
    marey__pool_release(&pool);
}

static void pool_hands_out_what_was_touched_first(void **state)
{
    (void)state;
    struct marey_pool pool;
    EXPECT_TRUE(marey__pool_init(&pool, CHUNKS(8)));

    EXPECT_U64(marey__pool_touch(&pool, 3), 3);
    EXPECT_U64(marey__pool_touch(&pool, 4), 1);
    EXPECT_U64(marey__pool_touch(&pool, 4), 0);
    EXPECT_U64(atomic_load(&pool.n_free), 4);
    for (int i = 0; i < 4; i++)
        EXPECT_TRUE(marey__pool_take(&pool) != NULL);
    EXPECT_U64(atomic_load(&pool.n_fresh), 4);
    EXPECT_U64(atomic_load(&pool.n_free), 0);
    EXPECT_TRUE(marey__pool_take(&pool) != NULL);
    EXPECT_U64(atomic_load(&pool.n_fresh), 5);
    marey__pool_release(&pool);
}

#define MS INT64_C(1000000)

/* 128 chunks are touched ahead; a nap is right that leaves 32 of them to be touched again. */
static void naps_of_the_feeder_follow_what_threads_use(void **state)
{
    (void)state;
    EXPECT_I64(marey__feeder_nap_ns(10 * MS, 128), 10 * MS); /* the first look touches them all */
    EXPECT_I64(marey__feeder_nap_ns(10 * MS, 0), 20 * MS);
    EXPECT_I64(marey__feeder_nap_ns(10 * MS, 1), 20 * MS); /* no more than twice the last one */
    EXPECT_I64(marey__feeder_nap_ns(20 * MS, 0), 40 * MS);
    EXPECT_I64(marey__feeder_nap_ns(40 * MS, 0), 50 * MS);
    EXPECT_I64(marey__feeder_nap_ns(50 * MS, 0), 50 * MS);
    EXPECT_I64(marey__feeder_nap_ns(40 * MS, 32), 40 * MS);
    EXPECT_I64(marey__feeder_nap_ns(40 * MS, 64), 20 * MS);
    EXPECT_I64(marey__feeder_nap_ns(20 * MS, 24), 20 * MS * 32 / 24);
    EXPECT_I64(marey__feeder_nap_ns(50 * MS, UINT32_MAX), 10 * MS);
}

static void pool_keeps_its_chunks_when_it_is_trimmed(void **state)
{
    (void)state;
    struct marey_pool pool;
    struct marey_chunk *chunk[6];
    EXPECT_TRUE(marey__pool_init(&pool, CHUNKS(6)));

    for (int i = 0; i < 6; i++) {
        chunk[i] = marey__pool_take(&pool);
        chunk[i]->word[9] = 7;
    }
    for (int i = 0; i < 6; i++)
        marey__pool_give(&pool, chunk[i]);
    marey__pool_trim(&pool, 2);

    size_t n_warm = 0;
    for (int i = 0; i < 6; i++) {
        struct marey_chunk *taken = marey__pool_take(&pool);
        EXPECT_TRUE(taken != NULL);
        n_warm += taken->word[9] == 7;
        if (i < 2)
            EXPECT_TRUE(taken->word[9] == 7); /* the warm ones come first */
    }
    EXPECT_U64(n_warm, 2);
    marey__pool_release(&pool);
}

static void pool_of_no_bytes_has_one_chunk(void **state)
{
    (void)state;
    struct marey_pool pool;
    EXPECT_TRUE(marey__pool_init(&pool, 0));
    EXPECT_TRUE(marey__pool_take(&pool) != NULL);
    EXPECT_TRUE(marey__pool_take(&pool) == NULL);
    marey__pool_release(&pool);
    EXPECT_TRUE(marey__pool_default_bytes() <= UINT64_C(1) << 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_gives_no_more_than_its_bound),
        cmocka_unit_test(pool_gives_more_when_the_bound_is_raised),
        cmocka_unit_test(pool_hands_out_what_was_touched_first),
        cmocka_unit_test(naps_of_the_feeder_follow_what_threads_use),
        cmocka_unit_test(pool_keeps_its_chunks_when_it_is_trimmed),
        cmocka_unit_test(pool_of_no_bytes_has_one_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
