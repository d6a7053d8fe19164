/*
 * Tests of joined averages: those of parts that lie one after another are those of the whole, but
 * for what needs the calls themselves.
 */
#include "make_table.h"
#include "support/alloc_fail.h"
#include "support/make_random.h"

enum { N_PARTS = 4, PART_NS = 10000, RECORDED_NS = 8000 };

static const char exact_columns[] =
    "name,kind,calls,timed,self,self_share,total,mean,min,max,device_self,device_total";

/* What one session recorded: random ops in each other, some calls with a kernel. */
static void add_part(struct make_trace *make, uint64_t seed, int part)
{
    static const char *const names[] = {"a", "b", "c", "only in 0", "only in 1"};
    uint64_t random = seed * N_PARTS + (uint64_t)part;
    const int64_t at_ns = (int64_t)part * PART_NS;

    make_thread(make, "Spans", "Marey");
    make_slice(make, "Trace", "Marey", at_ns, at_ns + RECORDED_NS);
    for (int64_t i = 0; i < 20; i++) {
        const size_t which = make_random_below(&random, part < 2 ? 4 + (uint64_t)part : 3);
        const int64_t start_ns = at_ns + i * 400;
        const uint64_t id = (uint64_t)part * 100 + (uint64_t)i + 1;
        const int64_t dur_ns = 100 + (int64_t)make_random_below(&random, 290);
        make_thread(make, "1", "1");
        make_slice(make, "cpu_op", names[which], start_ns, start_ns + dur_ns);
        make_slice(make, "cpu_op", names[make_random_below(&random, 3)], start_ns + 10,
                   start_ns + 20 + (int64_t)make_random_below(&random, 70));
        if (make_random_below(&random, 3) > 0)
            continue;
        make_call(make, "cuda_runtime", "cudaLaunchKernel", start_ns + 12, start_ns + 14, id);
        make_stream(make, 0, 7);
        make_call(make, "kernel", "k", start_ns + 15, start_ns + 390, id);
    }
}

static struct marey_trace *trace_of_parts(uint64_t seed, int from, int to)
{
    struct make_trace make;

    make_trace_begin(&make, NULL);
    for (int i = from; i < to; i++)
        add_part(&make, seed, i);
    return make_trace_end(&make);
}

static struct marey_averages *averages_of(struct marey_trace *trace, bool percentiles)
{
    const struct marey_averages_options options = {.size = sizeof options,
                                                   .percentiles = percentiles};
    struct marey_averages *averages = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_averages_new(trace, &options, &averages, &err), &err);
    return averages;
}

static struct marey_averages *join(struct marey_averages *const *parts, size_t n)
{
    struct marey_averages *joined = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_averages_join(parts, n, &joined, &err), &err);
    return joined;
}

static struct marey_text text_of(struct marey_averages *averages, enum marey_table_format format,
                                 const char *columns)
{
    const struct marey_table_options options = {
        .size = sizeof options, .format = format, .columns = columns};
    struct marey_text text = {0};
    struct marey_error err = {0};

    EXPECT_OK(marey_table_text(averages, &options, &text, &err), &err);
    return text;
}

static void expect_same_csv(struct marey_averages *a, struct marey_averages *b)
{
    struct marey_text x = text_of(a, MAREY_TABLE_CSV, exact_columns);
    struct marey_text y = text_of(b, MAREY_TABLE_CSV, exact_columns);

    EXPECT_STR(x.ptr, y.ptr);
    marey_text_release(&x);
    marey_text_release(&y);
}

static void expect_same_totals(const struct marey_averages *a, const struct marey_averages *b)
{
    const struct marey_totals x = marey_averages_totals(a);
    const struct marey_totals y = marey_averages_totals(b);

    EXPECT_I64(x.host_self_ns, y.host_self_ns);
    EXPECT_I64(x.device_sum_ns, y.device_sum_ns);
    EXPECT_I64(x.device_busy_ns, y.device_busy_ns);
    EXPECT_I64(x.unowned_ns, y.unowned_ns);
    EXPECT_U64(x.n_devices, y.n_devices);
}

/* All at once, and one after another as a long run does it. */
static void joined_parts_are_the_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 30; seed++) {
        struct marey_averages *part[N_PARTS];
        struct marey_averages *running = NULL;
        for (int i = 0; i < N_PARTS; i++) {
            struct marey_trace *trace = trace_of_parts(seed, i, i + 1);
            struct marey_averages *both[2];
            struct marey_averages *own = averages_of(trace, true);
            both[0] = running != NULL ? running : own;
            both[1] = own;
            part[i] = join(&own, 1);
            running = join(both, both[0] == own ? 1 : 2);
            if (both[0] != own)
                marey_averages_free(both[0]);
            marey_averages_free(own);
            marey_trace_free(trace); /* nothing is borrowed */
        }
        struct marey_averages *joined = join(part, N_PARTS);
        struct marey_trace *whole_trace = trace_of_parts(seed, 0, N_PARTS);
        struct marey_averages *whole = averages_of(whole_trace, true);

        expect_same_csv(joined, whole);
        expect_same_csv(running, whole);
        expect_same_totals(joined, whole);
        expect_same_totals(running, whole);
        for (int i = 0; i < N_PARTS; i++)
            marey_averages_free(part[i]);
        marey_averages_free(joined);
        marey_averages_free(running);
        marey_averages_free(whole);
        marey_trace_free(whole_trace);
    }
}

static const struct marey_average *row_of(const struct marey_averages *averages, const char *name)
{
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n);

    for (size_t i = 0; i < n; i++)
        if (marey__str_is_c(marey_averages_string(averages, rows[i].name_id), name))
            return &rows[i];
    EXPECT_FAIL(name);
    return NULL;
}

/* A row that one part has alone keeps its percentiles; others have none. */
static void joined_parts_forget_percentiles(void **state)
{
    (void)state;
    struct marey_trace *traces[2] = {trace_of_parts(3, 0, 1), trace_of_parts(3, 2, 3)};
    struct marey_averages *parts[2] = {averages_of(traces[0], true), averages_of(traces[1], true)};
    struct marey_averages *joined = join(parts, 2);

    EXPECT_I64(row_of(joined, "a")->p50_ns, MAREY_UNKNOWN);
    EXPECT_I64(row_of(joined, "only in 0")->p50_ns, row_of(parts[0], "only in 0")->p50_ns);
    EXPECT_TRUE(row_of(joined, "only in 0")->p99_ns > 0);
    EXPECT_U64(row_of(joined, "a")->first_slice, MAREY_NONE);
    EXPECT_TRUE(marey_averages_trace(joined) == NULL);
    for (int i = 0; i < 2; i++) {
        marey_averages_free(parts[i]);
        marey_trace_free(traces[i]);
    }
    marey_averages_free(joined);
}

/* Half of the time was not recorded; one part had a slice without an end. */
static void joined_parts_tell_what_they_are_of(void **state)
{
    (void)state;
    struct marey_averages *parts[3];
    struct marey_trace *traces[3];

    for (int i = 0; i < 3; i++) {
        struct make_trace make;
        const int64_t at_ns = i * 2000;
        make_trace_begin(&make, NULL);
        make_thread(&make, "Spans", "Marey");
        make_slice(&make, "Trace", "Marey", at_ns, at_ns + 1000);
        make_thread(&make, "1", "1");
        make_slice(&make, "cpu_op", "a", at_ns, at_ns + 1000);
        if (i > 0)
            make_begin(&make, "cpu_op", "b", at_ns + 900);
        traces[i] = make_trace_end(&make);
        parts[i] = averages_of(traces[i], false);
    }
    struct marey_averages *joined = join(parts, 3);
    struct marey_text text = text_of(joined, MAREY_TABLE_JSON, "name");
    EXPECT_HOLDS(text.ptr, "{\"reason\": \"unclosed_begin\", \"map\": \"finding\", \"count\": 2, ");
    EXPECT_HOLDS(text.ptr, "{\"reason\": \"not_recorded\", \"map\": \"info\", \"count\": 2, ");
    EXPECT_HOLDS(text.ptr, "\"tracks\": null, \"slices\": 5, \"window_ns\": 5000, "
                           "\"not_recorded_ns\": 2000, \"busiest_thread_ns\": null}");
    marey_text_release(&text);
    text = text_of(joined, MAREY_TABLE_TEXT, NULL);
    EXPECT_HOLDS(text.ptr, "not clean (");
    EXPECT_HOLDS(text.ptr, "window 5.000us (not recorded: 2.000us in 2 gaps), 5 slices\n");
    EXPECT_TRUE(strstr(text.ptr, "Busiest") == NULL);
    marey_text_release(&text);
    for (int i = 0; i < 3; i++) {
        marey_averages_free(parts[i]);
        marey_trace_free(traces[i]);
    }
    marey_averages_free(joined);
}

static void joined_parts_are_grouped_alike(void **state)
{
    (void)state;
    const struct marey_averages_options top = {.size = sizeof top, .top_level = true};
    struct marey_trace *trace = trace_of_parts(1, 0, 1);
    struct marey_averages *parts[2] = {averages_of(trace, false), NULL};
    struct marey_averages *joined = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_averages_new(trace, &top, &parts[1], &err), &err);
    EXPECT_STATUS(marey_averages_join(parts, 2, &joined, &err), MAREY_INVALID);
    EXPECT_STR(err.message, "cannot join averages that are grouped in different ways");
    EXPECT_STATUS(marey_averages_join(parts, 0, &joined, &err), MAREY_INVALID);
    EXPECT_TRUE(joined == NULL);
    marey_averages_free(parts[0]);
    marey_averages_free(parts[1]);
    marey_trace_free(trace);
}

/* The parts too: joined averages use the allocator of their first part. */
static enum marey_status make_joined(void *ctx, const struct marey_alloc *alloc)
{
    struct make_trace make;
    struct marey_trace *trace = NULL;
    struct marey_averages *parts[2] = {NULL, NULL};
    struct marey_averages *joined = NULL;
    struct marey_error err = {0};
    enum marey_status status = MAREY_NOMEM;

    (void)ctx;
    if (!make_trace_try_begin(&make, alloc)) {
        marey__builder_free(make.builder);
        return MAREY_NOMEM;
    }
    add_part(&make, 1, 0);
    status = make_trace_finish(&make, &trace, &err);
    for (int i = 0; i < 2 && status == MAREY_OK; i++)
        status = marey_averages_new(trace, NULL, &parts[i], &err);
    if (status == MAREY_OK)
        status = marey_averages_join(parts, 2, &joined, &err);
    marey_averages_free(joined);
    marey_averages_free(parts[0]);
    marey_averages_free(parts[1]);
    marey_trace_free(trace);
    return status;
}

static void joined_parts_survive_lack_of_memory(void **state)
{
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(make_joined, NULL) > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_parts_are_the_whole),
        cmocka_unit_test(joined_parts_forget_percentiles),
        cmocka_unit_test(joined_parts_tell_what_they_are_of),
        cmocka_unit_test(joined_parts_are_grouped_alike),
        cmocka_unit_test(joined_parts_survive_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
