/*
 * test_threads.c - many threads record while others start, stop, read and free sessions, and
 * while signals interrupt them. Nothing is lost without being counted. Run under TSan too.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "record/session.h"
#include "record/tls.h"
#include "support/expect.h"

#define N_THREADS 8

static struct marey_site range = MAREY_SITE("range");
static struct marey_site in_handler = MAREY_SITE("handler");

/* ---- a million ranges while one reads --------------------------------------------- */

struct writer {
    pthread_t thread;
    int n_ranges;
};

static void *write_ranges(void *arg)
{
    const struct writer *writer = arg;

    for (int i = 0; i < writer->n_ranges; i++) {
        marey_range_begin(&range);
        marey_range_end();
    }
    return NULL;
}

static uint64_t count_once(struct marey_session *session)
{
    struct marey_session_stats stats;
    marey_session_get_stats(session, &stats);
    return stats.n_records + stats.n_lost;
}

static void expect_all_counted(uint64_t pool_bytes, int n_ranges, bool may_lose)
{
    const struct marey_session_options options = {.size = sizeof options, .pool_bytes = pool_bytes};
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    struct writer writer[N_THREADS];
    uint64_t seen = 0;

    EXPECT_OK(marey_session_start(&options, &session, &err), &err);
    for (int i = 0; i < N_THREADS; i++) {
        writer[i].n_ranges = n_ranges / N_THREADS;
        EXPECT_I64(pthread_create(&writer[i].thread, NULL, write_ranges, &writer[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        const uint64_t now = count_once(session);
        EXPECT_TRUE(may_lose || now >= seen); /* what was read once stays */
        seen = now;
    }
    for (int i = 0; i < N_THREADS; i++)
        EXPECT_I64(pthread_join(writer[i].thread, NULL), 0);
    EXPECT_OK(marey_session_stop(session, &err), &err);

    struct marey_session_stats stats;
    marey_session_get_stats(session, &stats);
    EXPECT_U64(stats.n_records + stats.n_lost, 2 * (uint64_t)n_ranges);
    EXPECT_TRUE(may_lose == (stats.n_lost > 0));
    marey_session_free(session);
}

static void ranges_of_eight_threads_are_all_there(void **state)
{
    (void)state;
    expect_all_counted(UINT64_C(256) << 20, 1000000, false);
}

static void ranges_of_eight_threads_are_counted_when_they_are_lost(void **state)
{
    (void)state;
    expect_all_counted(UINT64_C(2) << 20, 400000, true);
}

/* ---- sessions come and go meanwhile -------------------------------------------------- */

static atomic_bool goes_on;

static void *write_until_told(void *unused)
{
    (void)unused;
    while (atomic_load_explicit(&goes_on, memory_order_relaxed)) {
        marey_range_begin(&range);
        marey_range_begin_named(marey__str("named"), 7);
        marey_range_end_token(7);
        marey_range_end();
    }
    return NULL;
}

static void *start_and_stop(void *unused)
{
    (void)unused;
    for (int i = 0; i < 60; i++) {
        struct marey_session *session = NULL;
        if (marey_session_start(NULL, &session, NULL) != MAREY_OK)
            return NULL;
        (void)count_once(session);
        (void)marey_session_stop(session, NULL);
        (void)count_once(session);
        marey_session_free(session);
    }
    return NULL;
}

static void sessions_come_and_go_while_threads_record(void **state)
{
    (void)state;
    pthread_t writer[3];
    pthread_t starter[2];

    atomic_store(&goes_on, true);
    for (int i = 0; i < 3; i++)
        EXPECT_I64(pthread_create(&writer[i], NULL, write_until_told, NULL), 0);
    for (int i = 0; i < 2; i++)
        EXPECT_I64(pthread_create(&starter[i], NULL, start_and_stop, NULL), 0);
    for (int i = 0; i < 2; i++)
        EXPECT_I64(pthread_join(starter[i], NULL), 0);
    atomic_store(&goes_on, false);
    for (int i = 0; i < 3; i++)
        EXPECT_I64(pthread_join(writer[i], NULL), 0);
    EXPECT_FALSE(marey_is_recording());
}

/* ---- threads that end ------------------------------------------------------------------ */

static void records_of_ended_threads_stay_and_their_logs_go(void **state)
{
    (void)state;
    struct marey_session *session = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_session_start(NULL, &session, &err), &err);
    for (int i = 0; i < 40; i++) {
        struct writer writer = {.n_ranges = 10};
        EXPECT_I64(pthread_create(&writer.thread, NULL, write_ranges, &writer), 0);
        EXPECT_I64(pthread_join(writer.thread, NULL), 0);
    }
    EXPECT_OK(marey_session_stop(session, &err), &err);
    struct marey_session_stats stats;
    marey_session_get_stats(session, &stats);
    EXPECT_U64(stats.n_records, 800);
    EXPECT_U64(stats.n_threads, 40);
    marey_session_free(session);

    size_t n_ended = 0;
    marey__recorder_lock();
    for (struct marey_log *log = marey__recorder.logs; log != NULL; log = log->next)
        n_ended += atomic_load(&log->has_ended);
    marey__recorder_unlock();
    EXPECT_U64(n_ended, 0);
}

static void losses_of_ended_threads_are_not_forgotten(void **state)
{
    (void)state;
    const struct marey_session_options small = {.size = sizeof small,
                                                .pool_bytes = 2 * MAREY_CHUNK_BYTES};
    struct marey_session *session = NULL;
    struct marey_session *other = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_session_start(&small, &session, &err), &err);
    for (int i = 0; i < 20; i++) {
        struct writer writer = {.n_ranges = 10};
        EXPECT_I64(pthread_create(&writer.thread, NULL, write_ranges, &writer), 0);
        EXPECT_I64(pthread_join(writer.thread, NULL), 0);
    }
    EXPECT_OK(marey_session_stop(session, &err), &err);
    struct marey_session_stats before;
    marey_session_get_stats(session, &before);
    EXPECT_TRUE(before.n_lost > 0);
    EXPECT_U64(before.n_lost + before.n_records, 400);

    EXPECT_OK(marey_session_start(&small, &other, &err), &err);
    marey_session_free(other);
    struct marey_session_stats after;
    marey_session_get_stats(session, &after);
    EXPECT_U64(after.n_lost, before.n_lost);
    marey_session_free(session);
}

static pthread_barrier_t has_recorded;
static pthread_barrier_t may_end;

static void *write_and_idle(void *arg)
{
    (void)write_ranges(arg);
    (void)pthread_barrier_wait(&has_recorded);
    (void)pthread_barrier_wait(&may_end);
    return NULL;
}

/* Threads that live on keep a chunk each, more of them than the bound of the next session has. */
static void idle_threads_take_nothing_from_a_later_session(void **state)
{
    (void)state;
    const struct marey_session_options small = {.size = sizeof small,
                                                .pool_bytes = 4 * MAREY_CHUNK_BYTES};
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    struct writer writer[20];
    struct marey_session_stats stats;

    EXPECT_I64(pthread_barrier_init(&has_recorded, NULL, 21), 0);
    EXPECT_I64(pthread_barrier_init(&may_end, NULL, 21), 0);
    EXPECT_OK(marey_session_start(NULL, &session, &err), &err);
    for (int i = 0; i < 20; i++) {
        writer[i].n_ranges = 1;
        EXPECT_I64(pthread_create(&writer[i].thread, NULL, write_and_idle, &writer[i]), 0);
    }
    (void)pthread_barrier_wait(&has_recorded);
    marey_session_free(session);

    for (int is_after = 0; is_after < 2; is_after++) { /* their end */
        struct writer own = {.n_ranges = 2 * (int)(MAREY_CHUNK_WORDS / 4)};
        EXPECT_OK(marey_session_start(&small, &session, &err), &err);
        EXPECT_I64(pthread_create(&own.thread, NULL, write_ranges, &own), 0);
        EXPECT_I64(pthread_join(own.thread, NULL), 0);
        marey_session_get_stats(session, &stats);
        EXPECT_U64(stats.n_lost, 0);
        EXPECT_U64(stats.n_records, 2 * (uint64_t)own.n_ranges);
        EXPECT_U64(stats.held_bytes, 2 * MAREY_CHUNK_BYTES);
        EXPECT_U64(stats.pool_bytes, small.pool_bytes);
        own.n_ranges = 20 * (int)(MAREY_CHUNK_WORDS / 4); /* the bound holds all the same */
        (void)write_ranges(&own);
        marey_session_get_stats(session, &stats);
        EXPECT_TRUE(stats.n_lost > 0);
        marey_session_free(session);
        if (is_after == 0) {
            (void)pthread_barrier_wait(&may_end);
            for (int i = 0; i < 20; i++)
                EXPECT_I64(pthread_join(writer[i].thread, NULL), 0);
        }
    }
    (void)pthread_barrier_destroy(&has_recorded);
    (void)pthread_barrier_destroy(&may_end);
}

static pthread_key_t key;
static struct marey_site at_end = MAREY_SITE("at the end");

/* Made after the recorder's key, so it runs after the recorder's; asks to be called again. */
static void record_at_end(void *ptr)
{
    marey_mark(&at_end);
    (void)pthread_setspecific(key, ptr);
}

static void *write_and_record_at_end(void *unused)
{
    (void)unused;
    marey_mark(&at_end);
    (void)pthread_setspecific(key, &key);
    return NULL;
}

static size_t count_logs(void)
{
    size_t n = 0;

    marey__recorder_lock();
    for (const struct marey_log *log = marey__recorder.logs; log != NULL; log = log->next)
        n++;
    marey__recorder_unlock();
    return n;
}

/* Each of the marks is there or counted, and no log stays behind for a thread that is gone. */
static void records_of_a_threads_destructors_are_there_or_counted(void **state)
{
    (void)state;
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    const size_t n_logs = count_logs();

    EXPECT_OK(marey_session_start(NULL, &session, &err), &err);
    EXPECT_I64(pthread_key_create(&key, record_at_end), 0);
    for (int i = 0; i < 40; i++) {
        pthread_t thread;
        EXPECT_I64(pthread_create(&thread, NULL, write_and_record_at_end, NULL), 0);
        EXPECT_I64(pthread_join(thread, NULL), 0);
    }
    EXPECT_OK(marey_session_stop(session, &err), &err);
    struct marey_session_stats stats;
    marey_session_get_stats(session, &stats);
    EXPECT_U64(stats.n_threads, 40);
    EXPECT_TRUE(stats.n_records >= 80); /* the thread's own, and that of the first round */
    EXPECT_U64((stats.n_records + stats.n_lost) % 40, 0);
    marey_session_free(session);
    EXPECT_U64(count_logs(), n_logs);
    EXPECT_I64(pthread_key_delete(key), 0);
}

/* ---- signals ------------------------------------------------------------------------------ */

static void handle(int number)
{
    const int former = errno;

    (void)number;
    marey_range_begin(&in_handler);
    marey_range_begin_named(marey__str("in a handler"), 3);
    marey_range_end_token(3);
    marey_range_end();
    errno = former;
}

static void *send_signals(void *arg)
{
    const pthread_t *target = arg;

    for (int i = 0; i < 3000; i++)
        (void)pthread_kill(*target, SIGUSR1);
    atomic_store(&goes_on, false);
    return NULL;
}

/* The handler interrupts a record at any place: it is dropped and counted there, and whole
 * elsewhere. Each of its four records is one or the other. */
static void records_of_signal_handlers_are_whole_or_counted(void **state)
{
    (void)state;
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    struct sigaction action = {.sa_handler = handle};
    pthread_t self = pthread_self();
    pthread_t sender;
    uint64_t n_ranges = 0;

    EXPECT_I64(sigaction(SIGUSR1, &action, NULL), 0);
    EXPECT_OK(marey_session_start(NULL, &session, &err), &err);
    atomic_store(&goes_on, true);
    handle(0); /* a thread's first record, and a name's, are not for handlers */
    EXPECT_I64(pthread_create(&sender, NULL, send_signals, &self), 0);
    for (; atomic_load_explicit(&goes_on, memory_order_relaxed); n_ranges++) {
        marey_range_begin(&range);
        marey_range_end();
    }
    EXPECT_I64(pthread_join(sender, NULL), 0);
    EXPECT_OK(marey_session_stop(session, &err), &err);
    (void)signal(SIGUSR1, SIG_DFL);

    struct marey_session_stats stats;
    marey_session_get_stats(session, &stats);
    EXPECT_U64((stats.n_records + stats.n_lost - 2 * n_ranges) % 4, 0);
    EXPECT_TRUE(stats.n_records + stats.n_lost > 2 * n_ranges);
    marey_session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_eight_threads_are_all_there),
        cmocka_unit_test(ranges_of_eight_threads_are_counted_when_they_are_lost),
        cmocka_unit_test(sessions_come_and_go_while_threads_record),
        cmocka_unit_test(records_of_ended_threads_stay_and_their_logs_go),
        cmocka_unit_test(losses_of_ended_threads_are_not_forgotten),
        cmocka_unit_test(idle_threads_take_nothing_from_a_later_session),
        cmocka_unit_test(records_of_a_threads_destructors_are_there_or_counted),
        cmocka_unit_test(records_of_signal_handlers_are_whole_or_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
