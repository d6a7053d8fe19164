/*
 * Tests of src/trace/processes.c and copies.c: which sources are cycles of one process, and what
 * follows for ranks, gaps and the account; which are a copy of another.
 */
#include <string.h>

#include "base/str.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/ledger.h"
#include "support/make_trace.h"

/* A source that tells no rank, with an operator from `at` on that lasts 10 ns. */
static void make_cycle(struct make_trace *make, const char *process, int64_t at)
{
    if (make->track_idx != MAREY_NONE)
        make_source(make, MAREY_UNKNOWN);
    make_thread(make, process, "1");
    make_slice(make, "cpu_op", "a", at, at + 10);
}

static void make_told(struct make_trace *make, int64_t rank, int64_t at)
{
    make_cycle(make, "7", at);
    marey__builder_source(make->builder)->rank = rank;
    marey__builder_source(make->builder)->rank_is_assumed = false;
}

static void make_head(struct make_trace *make, const char *key, const char *json)
{
    marey__builder_set_meta(make->builder, marey__str(key), marey__str(json));
}

static const struct marey_source *source_of(const struct marey_trace *trace, size_t i)
{
    size_t n = 0;
    const struct marey_source *source = marey_trace_sources(trace, &n);
    EXPECT_TRUE(i < n);
    return &source[i];
}

#define EXPECT_SOURCE(trace, i, first, its_rank)                                                   \
    do {                                                                                           \
        EXPECT_U64(source_of(trace, i)->cycle_of, first);                                          \
        EXPECT_I64(source_of(trace, i)->rank, its_rank);                                           \
    } while (0)

/* ---- cycles -------------------------------------------------------------------------------- */

static void files_of_one_process_that_lie_apart_are_its_cycles(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_cycle(&make, "7", 100);
    make_cycle(&make, "7", 0);
    make_cycle(&make, "7", 110); /* they touch */
    struct marey_trace *trace = make_trace_end(&make);

    for (size_t i = 0; i < 3; i++)
        EXPECT_SOURCE(trace, i, 0, 0);
    EXPECT_U64(ledger_count(trace, "further_cycle"), 2);
    EXPECT_U64(ledger_count(trace, "apart_in_time"), 0);
    EXPECT_U64(ledger_count(trace, "not_recorded"), 1);
    size_t n = 0;
    const struct marey_gap *gap = marey_trace_gaps(trace, &n);
    EXPECT_U64(n, 1);
    EXPECT_I64(gap->start_ns, 10);
    EXPECT_I64(gap->end_ns, 100);
    marey_trace_free(trace);
}

static void a_record_of_the_window_says_when_a_cycle_was_recorded(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_cycle(&make, "7", 5);
    make_slice(&make, "Trace", "PyTorch Profiler (0)", 0, 20);
    make_slice(&make, "cpu_op", "began before it ended", 15, 40); /* into the other's window */
    make_cycle(&make, "7", 35);
    make_slice(&make, "Trace", "PyTorch Profiler (0)", 30, 50);
    struct marey_trace *trace = make_trace_end(&make);

    EXPECT_SOURCE(trace, 1, 0, 0);
    size_t n = 0;
    const struct marey_gap *gap = marey_trace_gaps(trace, &n);
    EXPECT_U64(n, 1);
    EXPECT_I64(gap->start_ns, 20);
    EXPECT_I64(gap->end_ns, 30);
    marey_trace_free(trace);
}

/* The first ends where its wild duration is cut, so that it shares no moment with the second. */
static void a_wild_duration_does_not_part_cycles(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_cycle(&make, "7", 0);
    make_stream(&make, 0, 7);
    make_timed(&make, "kernel", "wild", 5, 90000);
    make_slice(&make, "kernel", "k", 30, 31);
    make_slice(&make, "kernel", "k", 20, 21);
    make_slice(&make, "kernel", "k", 40, 41);
    make_cycle(&make, "7", 100);
    struct marey_trace *trace = make_trace_end(&make);

    EXPECT_SOURCE(trace, 1, 0, 0);
    size_t n = 0;
    const struct marey_gap *gap = marey_trace_gaps(trace, &n);
    EXPECT_U64(n, 1);
    EXPECT_I64(gap->start_ns, 41);
    EXPECT_I64(gap->end_ns, 100);
    EXPECT_U64(ledger_count(trace, "wild_duration"), 1);
    marey_trace_free(trace);
}

static void files_that_share_a_moment_or_a_process_less_are_ranks(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_cycle(&make, "7", 0);
    make_cycle(&make, "7", 100);
    make_cycle(&make, "7", 109); /* so nothing says which of the three belong together */
    make_cycle(&make, "8", 200);
    struct marey_trace *trace = make_trace_end(&make);
    for (size_t i = 0; i < 4; i++)
        EXPECT_SOURCE(trace, i, i, (int64_t)i);
    EXPECT_U64(ledger_count(trace, "further_cycle"), 0);
    EXPECT_U64(ledger_count(trace, "not_recorded"), 0);
    EXPECT_U64(ledger_count(trace, "apart_in_time"), 2);
    marey_trace_free(trace);
}

static void cycles_are_of_the_rank_that_they_tell(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_told(&make, 1, 0);
    make_told(&make, 0, 0);
    make_told(&make, 1, 100);
    make_told(&make, 0, 100);
    make_cycle(&make, "7", 200); /* tells none */
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_SOURCE(trace, 0, 0, 1);
    EXPECT_SOURCE(trace, 1, 1, 0);
    EXPECT_SOURCE(trace, 2, 0, 1);
    EXPECT_SOURCE(trace, 3, 1, 0);
    EXPECT_SOURCE(trace, 4, 4, 2);
    EXPECT_U64(ledger_count(trace, "further_cycle"), 2);
    EXPECT_U64(ledger_count(trace, "apart_in_time"), 1);
    marey_trace_free(trace);
}

static void other_devices_or_hosts_are_other_processes(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_cycle(&make, "7", 0);
    make_head(&make, "deviceProperties", "[]");
    make_head(&make, "host_name", "\"a\"");
    make_cycle(&make, "7", 100);
    make_head(&make, "deviceProperties", "[]");
    make_head(&make, "host_name", "\"a\"");
    make_cycle(&make, "7", 200);
    make_head(&make, "deviceProperties", "[]");
    make_head(&make, "host_name", "\"b\"");
    make_cycle(&make, "7", 300);
    make_head(&make, "deviceProperties", "[{\"id\": 0}]");
    make_head(&make, "host_name", "\"a\"");
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_SOURCE(trace, 1, 0, 0);
    EXPECT_SOURCE(trace, 2, 2, 1);
    EXPECT_SOURCE(trace, 3, 3, 2);
    marey_trace_free(trace);
}

static void the_process_is_the_one_with_most_of_the_program(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (int cycle = 0; cycle < 2; cycle++) {
        make_cycle(&make, "7", 100 * cycle);
        make_slice(&make, "cuda_runtime", "cudaLaunchKernel", 100 * cycle + 2, 100 * cycle + 3);
        make_thread(&make, cycle == 0 ? "11" : "12", "1");
        make_slice(&make, "cpu_op", "of a child", 100 * cycle, 100 * cycle + 1);
        make_thread(&make, "Spans", "1");
        for (int i = 0; i < 5; i++)
            make_slice(&make, "overhead", "o", 100 * cycle + i, 100 * cycle + i + 1);
    }
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_SOURCE(trace, 1, 0, 0);
    marey_trace_free(trace);
}

/* ---- names of files: a hint, which tells apart --------------------------------------------- */

static void make_named(struct make_trace *make, const char *path, int64_t at)
{
    make->source_idx = marey__builder_begin_source(make->builder, path);
    make->next_byte = 0;
    make_thread(make, "7", "1");
    make_slice(make, "cpu_op", "a", at, at + 10);
}

static void workers_in_names_are_processes(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "log/a_7.1694128201545.pt.trace.json", "b_7.1694128201546.pt.trace.json",
        "elsewhere/a_7.1694128201547.pt.trace.json.gz", "a_7.x.pt.trace.json", ".12.pt.trace.json"};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (size_t i = 0; i < 5; i++)
        make_named(&make, paths[i], 100 * (int64_t)i);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_SOURCE(trace, 1, 1, 1);
    EXPECT_SOURCE(trace, 2, 2, 2);
    EXPECT_SOURCE(trace, 3, 1, 1);
    EXPECT_SOURCE(trace, 4, 4, 3); /* no worker in these two, which are alike */
    EXPECT_SOURCE(trace, 5, 4, 3);
    marey_trace_free(trace);
}

/* ---- ranks ------------------------------------------------------------------------------------
 */

static void a_rank_that_is_assumed_is_nobodys(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_told(&make, 1, 0);
    make_cycle(&make, "8", 5); /* its place is taken */
    make_cycle(&make, "9", 5);
    make_told(&make, 0, 5);
    make_cycle(&make, "10", 5);
    make_told(&make, 4, 5);
    struct marey_trace *trace = make_trace_end(&make);
    static const int64_t ranks[] = {1, 3, 2, 0, 5, 4};
    for (size_t i = 0; i < 6; i++)
        EXPECT_SOURCE(trace, i, i, ranks[i]);
    marey_trace_free(trace);
}

/* A profile joins the files of a loader's workers, which are of its rank. */
static void workers_of_a_program_take_no_rank_from_it(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_cycle(&make, "7", 0);
    for (int i = 0; i < 2; i++) {
        make_cycle(&make, i == 0 ? "8" : "9", 5);
        make_head(&make, "worker", "0");
        marey__builder_source(make.builder)->rank = 0;
        marey__builder_source(make.builder)->rank_is_assumed = false;
    }
    struct marey_trace *trace = make_trace_end(&make);
    for (size_t i = 0; i < 3; i++)
        EXPECT_SOURCE(trace, i, i, 0);
    marey_trace_free(trace);
}

static void what_a_file_says_of_its_parts_is_believed(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_cycle(&make, "7", 0);
    marey__builder_set_cycle_of(make.builder, 0);
    make_cycle(&make, "7", 100);
    marey__builder_set_cycle_of(make.builder, 1); /* though it looks like a cycle of the first */
    make_cycle(&make, "7", 105);
    marey__builder_set_cycle_of(make.builder, 0); /* though it overlaps the second */
    make_cycle(&make, "7", 300);                  /* another file; of told ones it is none */
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_SOURCE(trace, 0, 0, 0);
    EXPECT_SOURCE(trace, 1, 1, 1);
    EXPECT_SOURCE(trace, 2, 0, 0);
    EXPECT_SOURCE(trace, 3, 3, 2);
    marey_trace_free(trace);
}

/* ---- copies -------------------------------------------------------------------------------- */

static void make_twice(struct make_trace *make, int64_t rank, int64_t dur_ns, const char *last)
{
    make_source(make, rank);
    make_thread(make, "7", "1");
    make_slice(make, "cpu_op", last, 40, 50); /* another order */
    make_timed(make, "cpu_op", "a", 0, dur_ns);
}

static void a_source_with_the_slices_of_another_is_told(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "7", "1");
    make_slice(&make, "cpu_op", "a", 0, 10);
    make_slice(&make, "cpu_op", "b", 40, 50);
    make_twice(&make, MAREY_UNKNOWN, 10, "b"); /* that */
    make_twice(&make, MAREY_UNKNOWN, 11, "b");
    make_twice(&make, MAREY_UNKNOWN, 10, "c");
    make_twice(&make, 0, 10, "b");
    make_twice(&make, 1, 10, "b");
    make_twice(&make, 1, 10, "b"); /* and that */
    make_source(&make, MAREY_UNKNOWN);
    make_source(&make, MAREY_UNKNOWN); /* nothing twice */
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_grade grade = {0};
    EXPECT_U64(ledger_count(trace, "same_records"), 2);
    EXPECT_STATUS(marey_trace_grade(trace, &grade, NULL), MAREY_OK);
    EXPECT_U64(grade.letter, 'C');
    EXPECT_STR(grade.because, "same_records");
    marey_trace_free(trace);
}

/* A source of n slices of process `process` from the `first` of a program on, each `late_ns` late.
 */
static void make_stretch(struct make_trace *make, const char *process, int64_t late_ns, int first,
                         int n)
{
    make_source(make, MAREY_UNKNOWN);
    make_thread(make, process, "1");
    for (int i = first; i < first + n; i++)
        make_timed(make, "cpu_op", i % 3 == 0 ? "a" : "b", 10000 * (int64_t)i + late_ns,
                   500 + i % 5);
}

static uint64_t copies_of(int64_t late_ns, const char *process, int first, int n)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stretch(&make, "7", 0, 0, 40);
    make_stretch(&make, process, late_ns, first, n);
    struct marey_trace *trace = make_trace_end(&make);
    const uint64_t n_copies = ledger_count(trace, "same_records");
    marey_trace_free(trace);
    return n_copies;
}

static void a_source_with_half_of_its_slices_in_another_is_told(void **state)
{
    (void)state;
    EXPECT_U64(copies_of(0, "7", 0, 20), 1);
    EXPECT_U64(copies_of(0, "7", 24, 16), 1);
    EXPECT_U64(copies_of(0, "7", 20, 40), 1);
    EXPECT_U64(copies_of(0, "7", 20, 1000), 1); /* half of the smaller one, which comes first */
    EXPECT_U64(copies_of(0, "7", 21, 1000), 0);
    EXPECT_U64(copies_of(0, "7", -1000, 1020), 1);
    EXPECT_U64(copies_of(1, "7", 0, 40), 1);    /* another rounding */
    EXPECT_U64(copies_of(2000, "7", 0, 40), 0); /* another time */
    EXPECT_U64(copies_of(0, "8", 0, 20), 0);    /* another process */
    EXPECT_U64(copies_of(0, "7", 25, 15), 0);   /* too few to be sure */
    EXPECT_U64(copies_of(0, "7", 21, 39), 0);   /* less than half */
}

static void a_part_is_told_beside_its_whole_in_any_order_and_size(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stretch(&make, "7", 0, 0, 2000);
    make_stretch(&make, "7", 0, 0, 150000); /* the whole; so many that they are not all compared */
    make_stretch(&make, "7", 1, 100000, 50000);
    make_stretch(&make, "8", 0, 0, 100000);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_ledger ledger = {0};
    EXPECT_STATUS(marey_trace_ledger(trace, &ledger, NULL), MAREY_OK);
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (strcmp(ledger.rows[i].reason, "same_records") == 0) {
            EXPECT_U64(marey_place_of_offset(ledger.rows[i].example_offset[0]).source_idx, 1);
            EXPECT_U64(marey_place_of_offset(ledger.rows[i].example_offset[1]).source_idx, 3);
        }
    EXPECT_U64(ledger_count(trace, "same_records"), 2);
    marey_trace_free(trace);
}

static enum marey_status build_cycles(void *ctx, const struct marey_alloc *alloc)
{
    (void)ctx;
    static const char *const paths[] = {"w.1.pt.trace.json", "w.2.pt.trace.json"};
    struct make_trace make;
    struct marey_trace *trace = NULL;
    if (!make_trace_try_begin(&make, alloc)) {
        marey__builder_free(make.builder);
        return MAREY_NOMEM;
    }
    for (int i = 0; i < 2; i++) {
        const uint32_t source_idx = marey__builder_begin_source(make.builder, paths[i]);
        make.source_idx = source_idx != MAREY_NONE ? source_idx : make.source_idx;
        make_thread(&make, "7", "1");
        make_slice(&make, "cpu_op", "a", 100 * i, 100 * i + 10);
    }
    const enum marey_status status = make_trace_finish(&make, &trace, NULL);
    if (status == MAREY_OK)
        EXPECT_SOURCE(trace, 2, 1, 1);
    marey_trace_free(trace);
    return status;
}

static void processes_are_found_or_no_memory_is_said(void **state)
{
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(build_cycles, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_one_process_that_lie_apart_are_its_cycles),
        cmocka_unit_test(a_record_of_the_window_says_when_a_cycle_was_recorded),
        cmocka_unit_test(a_wild_duration_does_not_part_cycles),
        cmocka_unit_test(files_that_share_a_moment_or_a_process_less_are_ranks),
        cmocka_unit_test(cycles_are_of_the_rank_that_they_tell),
        cmocka_unit_test(other_devices_or_hosts_are_other_processes),
        cmocka_unit_test(the_process_is_the_one_with_most_of_the_program),
        cmocka_unit_test(workers_in_names_are_processes),
        cmocka_unit_test(a_rank_that_is_assumed_is_nobodys),
        cmocka_unit_test(workers_of_a_program_take_no_rank_from_it),
        cmocka_unit_test(what_a_file_says_of_its_parts_is_believed),
        cmocka_unit_test(a_source_with_the_slices_of_another_is_told),
        cmocka_unit_test(a_source_with_half_of_its_slices_in_another_is_told),
        cmocka_unit_test(a_part_is_told_beside_its_whole_in_any_order_and_size),
        cmocka_unit_test(processes_are_found_or_no_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
