/*
 * test_threads.c - many threads ask one trace for its lazy columns at once: each is built
 * once, and all threads are given the same one. Run under TSan too.
 */
#include <pthread.h>

#include "support/expect.h"
#include "support/make_trace.h"

#define N_THREADS 4
#define N_SLICES 2000

/* What one thread was given. */
struct reader {
    pthread_t thread;
    pthread_barrier_t *start;
    struct marey_trace *trace;
    unsigned number;
    enum marey_status status;
    const int64_t *self_ns;
    const uint32_t *owner_idx;
    const struct marey_ledger_row *rows;
    const int64_t *external_ids;
    int64_t sum_ns;
    uint64_t n_noted;
    uint64_t column_bytes;
};

static enum marey_status read_self(struct reader *reader)
{
    const enum marey_status status = marey_trace_self_ns(reader->trace, &reader->self_ns, NULL);
    if (status != MAREY_OK)
        return status;
    const size_t n = marey_trace_slices(reader->trace).n;
    for (size_t i = 0; i < n; i++)
        reader->sum_ns += reader->self_ns[i];
    return MAREY_OK;
}

static enum marey_status read_owners(struct reader *reader)
{
    struct marey_owners owners = {0};
    const enum marey_status status = marey_trace_owners(reader->trace, &owners, NULL);
    reader->owner_idx = owners.owner_idx;
    return status;
}

static enum marey_status read_ledger(struct reader *reader)
{
    struct marey_ledger ledger = {0};
    const enum marey_status status = marey_trace_ledger(reader->trace, &ledger, NULL);
    reader->rows = ledger.rows;
    for (size_t i = 0; i < ledger.n_rows; i++)
        reader->n_noted += ledger.rows[i].count;
    reader->column_bytes = marey_trace_footprint(reader->trace).column_bytes;
    return status;
}

static enum marey_status read_args(struct reader *reader)
{
    const uint64_t bits = MAREY_ARG_BIT(MAREY_ARG_EXTERNAL_ID);
    const enum marey_status status = marey_trace_decode_args(reader->trace, bits, NULL);
    reader->external_ids = marey_trace_arg_ints(reader->trace, MAREY_ARG_EXTERNAL_ID);
    return status;
}

/* Each thread asks for all columns, beginning with another one. */
static void *read_all(void *user)
{
    enum marey_status (*const reads[])(struct reader *) = {read_self, read_owners, read_ledger,
                                                           read_args};
    struct reader *reader = user;
    const int waited = pthread_barrier_wait(reader->start);
    (void)waited;
    for (unsigned i = 0; i < 4 && reader->status == MAREY_OK; i++)
        reader->status = reads[(reader->number + i) % 4](reader);
    return NULL;
}

static struct marey_trace *make_busy_trace(struct made_provider *provider)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = provider;
    make_thread(&make, "1", "1");
    for (int64_t i = 0; i < N_SLICES; i++) {
        make_slice(&make, "cpu_op", "aten::add", i * 100, i * 100 + 90);
        if (i < 100)
            make_args(&make, "{\"External id\": 5}");
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", i * 100 + 10, i * 100 + 20,
                  (uint64_t)i + 1);
    }
    make_stream(&make, 0, 7);
    for (int64_t i = 0; i < N_SLICES; i++)
        make_call(&make, "kernel", "k", i * 100 + 50, i * 100 + 80, (uint64_t)i + 1);
    return make_trace_end(&make);
}

static void columns_are_built_once_when_threads_race(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct marey_trace *trace = make_busy_trace(&provider);
    pthread_barrier_t start;
    EXPECT_I64(pthread_barrier_init(&start, NULL, N_THREADS), 0);
    struct reader readers[N_THREADS] = {0};
    for (unsigned i = 0; i < N_THREADS; i++) {
        readers[i].trace = trace;
        readers[i].start = &start;
        readers[i].number = i;
        EXPECT_I64(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        EXPECT_I64(pthread_join(readers[i].thread, NULL), 0);

    for (unsigned i = 0; i < N_THREADS; i++) {
        EXPECT_STATUS(readers[i].status, MAREY_OK);
        EXPECT_TRUE(readers[i].self_ns == readers[0].self_ns);
        EXPECT_TRUE(readers[i].owner_idx == readers[0].owner_idx);
        EXPECT_TRUE(readers[i].rows == readers[0].rows);
        EXPECT_TRUE(readers[i].external_ids == readers[0].external_ids);
        EXPECT_U64(readers[i].n_noted, readers[0].n_noted);
        EXPECT_TRUE(readers[i].column_bytes > 0);
        EXPECT_I64(readers[i].sum_ns, N_SLICES * (90 + 30));
    }
    EXPECT_I64(readers[0].external_ids[0], 5);
    EXPECT_U64(provider.n_walks, 1);
    (void)pthread_barrier_destroy(&start);
    marey_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_built_once_when_threads_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
