/*
 * test_interleavings.c - a thread is held between two steps of a lock-free path while another
 * looks or acts: what must not be seen is not seen. Run under TSan too.
 */
#include <pthread.h>
#include <semaphore.h>

#include "record/points.h"
#include "record/session.h"
#include "record/tls.h"
#include "support/expect.h"

static struct marey_site range = MAREY_SITE("range");

/* ---- holding a thread ------------------------------------------------------------------ */

static _Thread_local int held_at = -1; /* the point at which this thread stops, once */
static sem_t is_held;
static sem_t may_go;

void marey__test_point(enum marey_test_point point)
{
    if (held_at != (int)point)
        return;
    held_at = -1;
    (void)sem_post(&is_held);
    (void)sem_wait(&may_go);
}

struct held {
    pthread_t thread;
    enum marey_test_point point;
    void (*run)(void *arg);
    void *arg;
};

static void *run_held(void *arg)
{
    const struct held *held = arg;

    held_at = (int)held->point;
    held->run(held->arg);
    return NULL;
}

static void hold(struct held *held)
{
    EXPECT_I64(sem_init(&is_held, 0, 0), 0);
    EXPECT_I64(sem_init(&may_go, 0, 0), 0);
    EXPECT_I64(pthread_create(&held->thread, NULL, run_held, held), 0);
    EXPECT_I64(sem_wait(&is_held), 0);
}

static void let_go(struct held *held)
{
    EXPECT_I64(sem_post(&may_go), 0);
    EXPECT_I64(pthread_join(held->thread, NULL), 0);
}

/* ---- the pool's stack -------------------------------------------------------------------- */

struct taking {
    struct marey_pool *pool;
    struct marey_chunk *taken;
};

static void take(void *arg)
{
    struct taking *taking = arg;
    taking->taken = marey__pool_take(taking->pool);
}

/* A is held having read that B lies below A. Meanwhile both are taken and A comes back: the top
 * looks as it did, but B is somebody's. */
static void pool_gives_no_chunk_twice_when_a_top_comes_back(void **state)
{
    (void)state;
    struct marey_pool pool;
    EXPECT_TRUE(marey__pool_init(&pool, UINT64_C(4) * MAREY_CHUNK_BYTES));
    marey__pool_touch(&pool, 2);

    struct taking taking = {.pool = &pool};
    struct held held = {.point = MAREY_POINT_POP_LOOKED, .run = take, .arg = &taking};
    hold(&held);
    struct marey_chunk *a = marey__pool_take(&pool);
    struct marey_chunk *b = marey__pool_take(&pool);
    marey__pool_give(&pool, a);
    let_go(&held);

    EXPECT_TRUE(taking.taken == a);
    struct marey_chunk *c = marey__pool_take(&pool);
    EXPECT_TRUE(c != NULL && c != a && c != b);
    marey__pool_release(&pool);
}

/* ---- a reader beside a writer --------------------------------------------------------------- */

/* Records ranges until the thread was held and let go, and one more. */
static void record_until_held(void *arg)
{
    int *n_before = arg;

    while (held_at >= 0) {
        ++*n_before;
        marey_range_begin(&range);
        marey_range_end();
    }
    marey_range_begin(&range);
    marey_range_end();
}

static uint64_t count_now(struct marey_session *session)
{
    struct marey_session_stats stats;
    marey_session_get_stats(session, &stats);
    EXPECT_U64(stats.n_lost, 0);
    return stats.n_records;
}

/* While the thread is held its last begin is not there, all before it is. */
static void expect_whole_records(enum marey_test_point point)
{
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    int n_ranges = 0;
    struct held held = {.point = point, .run = record_until_held, .arg = &n_ranges};

    EXPECT_OK(marey_session_start(NULL, &session, &err), &err);
    hold(&held);
    const uint64_t seen = count_now(session);
    EXPECT_TRUE(seen == 2 * (uint64_t)n_ranges - 2 || seen == 2 * (uint64_t)n_ranges - 1);
    EXPECT_U64(count_now(session), seen);
    let_go(&held);
    EXPECT_U64(count_now(session), 2 * (uint64_t)n_ranges + 2);
    marey_session_free(session);
}

static void reader_sees_no_record_that_is_not_published(void **state)
{
    (void)state;
    marey_range_begin(&range); /* the site has its id, so the short path is taken */
    marey_range_end();
    struct marey_session *session = NULL;
    EXPECT_OK(marey_session_start(NULL, &session, NULL), NULL);
    marey_range_begin(&range);
    marey_range_end();
    marey_session_free(session);
    if (!marey__recorder.is_tsc)
        EXPECT_SKIP("without a time stamp counter there is no short path");
    expect_whole_records(MAREY_POINT_RECORD_WRITTEN);
}

/* The first chunk of a thread, and the turn from one to the next. */
static void record_two_chunks(void *arg)
{
    const enum marey_test_point point = (enum marey_test_point)held_at;
    int *n_before = arg;

    held_at = -1;
    marey_range_begin(&range);
    marey_range_end();
    ++*n_before;
    held_at = (int)point;
    record_until_held(arg);
}

static void expect_whole_turn(enum marey_test_point point)
{
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    int n_ranges = 0;
    struct held held = {.point = point, .run = record_two_chunks, .arg = &n_ranges};

    EXPECT_OK(marey_session_start(NULL, &session, &err), &err);
    hold(&held);
    const uint64_t seen = count_now(session); /* a chunk holds whole pairs */
    EXPECT_U64(seen, 2 * (uint64_t)n_ranges - 2);
    EXPECT_TRUE(n_ranges > (int)(MAREY_CHUNK_WORDS / 4));
    let_go(&held);
    EXPECT_U64(count_now(session), 2 * (uint64_t)n_ranges + 2);
    marey_session_free(session);
}

static void reader_sees_all_of_a_chunk_that_is_left(void **state)
{
    (void)state;
    expect_whole_turn(MAREY_POINT_CHUNK_LEFT);
}

static void reader_sees_all_of_a_chunk_whose_next_is_not_linked(void **state)
{
    (void)state;
    expect_whole_turn(MAREY_POINT_PLACE_MOVED);
}

static void reader_sees_nothing_of_a_first_chunk_that_is_not_linked(void **state)
{
    (void)state;
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    int n_ranges = 0;
    struct held held = {
        .point = MAREY_POINT_PLACE_MOVED, .run = record_until_held, .arg = &n_ranges};

    EXPECT_OK(marey_session_start(NULL, &session, &err), &err);
    hold(&held);
    EXPECT_U64(count_now(session), 0);
    let_go(&held);
    EXPECT_U64(count_now(session), 4);
    marey_session_free(session);
}

/* The thread has taken its next chunk just before the session began, and links it after: the chunk
 * in which the session begins has nothing of it, and nobody else needs it. */
static void session_keeps_the_chunk_it_begins_in(void **state)
{
    (void)state;
    struct marey_session *session[3] = {NULL, NULL, NULL};
    struct marey_error err = {0};
    int n_ranges = 0;
    struct held held = {
        .point = MAREY_POINT_PLACE_MOVED, .run = record_two_chunks, .arg = &n_ranges};

    EXPECT_OK(marey_session_start(NULL, &session[0], &err), &err);
    hold(&held);
    EXPECT_OK(marey_session_start(NULL, &session[1], &err), &err);
    marey_session_free(session[0]);
    let_go(&held);
    EXPECT_OK(marey_session_start(NULL, &session[2], &err), &err);
    marey_session_free(session[2]);
    EXPECT_U64(count_now(session[1]), 4);

    const uint64_t n = MAREY_CHUNK_WORDS / 4; /* into the chunk that was given back last */
    for (uint64_t i = 0; i < n; i++) {
        marey_range_begin(&range);
        marey_range_end();
    }
    EXPECT_U64(count_now(session[1]), 4 + 2 * n);
    marey_session_free(session[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_gives_no_chunk_twice_when_a_top_comes_back),
        cmocka_unit_test(reader_sees_no_record_that_is_not_published),
        cmocka_unit_test(reader_sees_all_of_a_chunk_that_is_left),
        cmocka_unit_test(reader_sees_all_of_a_chunk_whose_next_is_not_linked),
        cmocka_unit_test(reader_sees_nothing_of_a_first_chunk_that_is_not_linked),
        cmocka_unit_test(session_keeps_the_chunk_it_begins_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
