/*
 * bench_record.c - what recording costs: the path of a record, a session, and the way from
 * there to a table. Requests and answers as in bench_marey.c.
 *
 *     time WHAT N SESSIONS     N of what, in each of some sessions; the loops' time
 *     asked WHAT N             what N of it ask of the system (count_asked.h)
 *     session N                N empty sessions: starting and stopping
 *     beside MS                what other threads of the process work while one records nothing
 *     finish N warm|cold       N ranges, then stop, trace, averages, table
 *     export N OUT             N ranges, then the trace as a file
 *     memory N                 resident bytes of N ranges, then of their trace and table
 *
 * WHAT is a row of `whats`; floors are rows too. With the argument "cpu" times are of the
 * processor: of the thread that records. Memory is warm where a process was asked before.
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <marey/aggregate.h>
#include <marey/export.h>
#include <marey/intake.h>
#include <marey/record.h>

#include "bench_alloc.h"
#include "count_asked.h"

#define MAX_WORDS 5

static clockid_t bench_clock = CLOCK_MONOTONIC;
static struct marey_alloc warm_alloc;

static uint64_t system_ns(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
    return system_ns(bench_clock);
}

static void must(enum marey_status status, const struct marey_error *err)
{
    if (status == MAREY_OK)
        return;
    fprintf(stderr, "bench_record: %s\n", err->message);
    exit(3);
}

static struct marey_session *start(uint32_t wants)
{
    const struct marey_session_options options = {.size = sizeof options, .wants = wants};
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    must(marey_session_start(&options, &session, &err), &err);
    return session;
}

static void stop(struct marey_session *session)
{
    struct marey_error err = {0};
    must(marey_session_stop(session, &err), &err);
}

/* ---- what is timed --------------------------------------------------------------------- */

static struct marey_site range_site = MAREY_SITE("range");
static struct marey_site mark_site = MAREY_SITE("mark");
static struct marey_site counter_site = MAREY_SITE("counter");

static void run_pair(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        marey_range_begin(&range_site);
        marey_range_end();
    }
}

static void run_named(uint64_t n)
{
    static const char name[] = "a name of its own";
    for (uint64_t i = 0; i < n; i++) {
        marey_range_begin_named((struct marey_str){name, sizeof name - 1}, 0);
        marey_range_end();
    }
}

static void run_token(uint64_t n)
{
    static const char name[] = "a name of its own";
    for (uint64_t i = 0; i < n; i++) {
        marey_range_begin_named((struct marey_str){name, sizeof name - 1}, 7);
        marey_range_end_token(7);
    }
}

static void run_mark(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        marey_mark(&mark_site);
}

static void run_counter(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        marey_counter(&counter_site, 1.5);
}

static const struct marey_op op = {
    .name = "aten::addmm", .sequence = 7, .forward_thread = 1, .token = 3};

static void run_op(uint64_t n)
{
    const struct marey_sink *sink = marey_recorder_sink();
    for (uint64_t i = 0; i < n; i++) {
        sink->op_begin(&op);
        sink->op_end(3);
    }
}

/* Three matrices and two numbers. */
static void run_op_inputs(uint64_t n)
{
    const uint64_t matrix = MAREY_INPUT_HEAD(MAREY_INPUT_TENSOR, 2, 0, 1);
    const uint64_t number = MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 2);
    const uint64_t inputs[] = {matrix, 64, 64,     matrix, 64,     64, matrix,
                               64,     64, number, 1,      number, 1};
    const struct marey_sink *sink = marey_recorder_sink();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *words = sink->op_open(&op);
        if (words != NULL) {
            for (size_t k = 0; k < sizeof inputs / sizeof inputs[0]; k++)
                words[k] = inputs[k];
            sink->op_close(words, sizeof inputs / sizeof inputs[0]);
        }
        sink->op_end(3);
    }
}

/* The clock that a range reads at each end, where there is one to trust. */
static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return system_ns(CLOCK_MONOTONIC);
#endif
}

static volatile uint64_t sunk;

static void run_one_clock(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += ticks();
    sunk = sum;
}

static void run_two_clocks(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum -= ticks();
        sum += ticks();
    }
    sunk = sum;
}

static void run_two_system_clocks(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum -= system_ns(CLOCK_MONOTONIC);
        sum += system_ns(CLOCK_MONOTONIC);
    }
    sunk = sum;
}

struct what {
    const char *name;
    void (*run)(uint64_t n);
    uint32_t wants;     /* 0: no session runs */
    uint64_t n_records; /* of one */
};

static const struct what whats[] = {
    {"pair", run_pair, MAREY_WANT_RANGES, 2},
    {"named", run_named, MAREY_WANT_RANGES, 2},
    {"token", run_token, MAREY_WANT_RANGES, 2},
    {"mark", run_mark, MAREY_WANT_RANGES, 1},
    {"counter", run_counter, MAREY_WANT_RANGES, 1},
    {"op", run_op, MAREY_WANT_OPS, 2},
    {"op-inputs", run_op_inputs, MAREY_WANT_OPS | MAREY_WANT_INPUTS, 2},
    {"off", run_pair, 0, 0},
    {"off-op", run_op, 0, 0},
    {"one-clock", run_one_clock, 0, 0},
    {"two-clocks", run_two_clocks, 0, 0},
    {"two-system-clocks", run_two_system_clocks, 0, 0},
};

/* ---- requests --------------------------------------------------------------------------- */

struct request {
    char *words[MAX_WORDS];
    int n_words;
};

static const char *word(const struct request *request, int at)
{
    return at < request->n_words ? request->words[at] : "";
}

static uint64_t number(const struct request *request, int at)
{
    return strtoull(word(request, at), NULL, 10);
}

static const struct what *what_of(const struct request *request)
{
    for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++)
        if (strcmp(word(request, 1), whats[i].name) == 0)
            return &whats[i];
    fprintf(stderr, "bench_record: cannot time '%s'\n", word(request, 1));
    exit(2);
}

static uint64_t n_faults(void)
{
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* Ends the program if something is missing: what records nothing is not fast. */
static void expect_records(struct marey_session *session, uint64_t n)
{
    struct marey_session_stats stats;
    marey_session_get_stats(session, &stats);
    if (stats.n_records == n && stats.n_lost == 0)
        return;
    fprintf(stderr, "bench_record: %" PRIu64 " records, %" PRIu64 " lost, not %" PRIu64 "\n",
            stats.n_records, stats.n_lost, n);
    exit(3);
}

static void request_time(const struct request *request)
{
    const struct what *what = what_of(request);
    const uint64_t n = number(request, 2);
    const uint64_t n_sessions = number(request, 3);
    uint64_t took = 0;
    uint64_t faults = 0;

    for (uint64_t i = 0; i < n_sessions; i++) {
        struct marey_session *session = what->wants != 0 ? start(what->wants) : NULL;
        faults -= n_faults();
        took -= now_ns();
        what->run(n);
        took += now_ns();
        faults += n_faults();
        if (session != NULL) {
            stop(session);
            expect_records(session, n * what->n_records);
            marey_session_free(session);
        }
    }
    printf("{\"ns\": %" PRIu64 ", \"events\": %" PRIu64 ", \"faults\": %" PRIu64 "}\n", took,
           n * n_sessions, faults);
}

struct asking {
    const struct what *what;
    uint64_t n;
    struct marey_session *session;
};

static void prepare_asking(void *ctx)
{
    struct asking *asking = ctx;

    for (int i = 0; i < 2; i++) {
        struct marey_session *warming = start(asking->what->wants);
        asking->what->run(asking->n);
        stop(warming);
        marey_session_free(warming);
    }
    asking->session = start(asking->what->wants);
    asking->what->run(1);
}

static void run_asking(void *ctx)
{
    const struct asking *asking = ctx;
    asking->what->run(asking->n);
}

static uint64_t finish_asking(void *ctx)
{
    const struct asking *asking = ctx;
    expect_records(asking->session, (asking->n + 1) * asking->what->n_records);
    return 1;
}

static void request_asked(const struct request *request)
{
    struct asking asking = {.what = what_of(request), .n = number(request, 2)};
    const struct asked_work work = {prepare_asking, run_asking, finish_asking, &asking};
    struct asked asked = {0};

    if (count_asked(&work, &asked) != ASKED_COUNTED || asked.result != 1) {
        fprintf(stderr, "bench_record: cannot count what records ask\n");
        exit(3);
    }
    printf("{\"events\": %" PRIu64 ", \"allocations\": %" PRIu64 ", \"calls\": %" PRIu64
           ", \"faults\": %" PRIu64 "}\n",
           asking.n, asked.n_allocations, asked.n_calls, asked.n_faults);
}

static void request_session(const struct request *request)
{
    const uint64_t n = number(request, 1);
    uint64_t start_ns = 0;
    uint64_t stop_ns = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t before = now_ns();
        struct marey_session *session = start(MAREY_WANT_RANGES);
        const uint64_t between = now_ns();
        stop(session);
        const uint64_t after = now_ns();
        start_ns += between - before;
        stop_ns += after - between;
        marey_session_free(session);
    }
    printf("{\"ns\": %" PRIu64 ", \"start_ns\": %" PRIu64 ", \"stop_ns\": %" PRIu64
           ", \"sessions\": %" PRIu64 "}\n",
           start_ns + stop_ns, start_ns, stop_ns, n);
}

static uint64_t cpu_ns_of(int who)
{
    struct rusage usage;

    (void)getrusage(who, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * UINT64_C(1000000000) +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* This thread works all the while, as a program does. */
static void request_beside(const struct request *request)
{
    const uint64_t wall_ns = number(request, 1) * 1000000;
    struct marey_session *session = start(MAREY_WANT_RANGES);

    const uint64_t start_ns = system_ns(CLOCK_MONOTONIC);
    const uint64_t before_ns = cpu_ns_of(RUSAGE_SELF) - cpu_ns_of(RUSAGE_THREAD);
    while (system_ns(CLOCK_MONOTONIC) - start_ns < wall_ns)
        ;
    const uint64_t beside_ns = cpu_ns_of(RUSAGE_SELF) - cpu_ns_of(RUSAGE_THREAD) - before_ns;
    stop(session);
    marey_session_free(session);
    printf("{\"ns\": %" PRIu64 ", \"wall_ns\": %" PRIu64 "}\n", beside_ns, wall_ns);
}

/* ---- from a session to a table --------------------------------------------------------------- */

#define N_NAMES 20
#define N_INSIDE 9 /* ranges in a range */

/* In groups of ten, each a range with nine in it. */
static struct marey_session *record_ranges(uint64_t n)
{
    static struct marey_site sites[N_NAMES];
    static char names[N_NAMES][16];
    struct marey_session *session = start(MAREY_WANT_RANGES);

    for (int i = 0; i < N_NAMES; i++) {
        (void)snprintf(names[i], sizeof names[i], "range %d", i);
        sites[i] = (struct marey_site){names[i], MAREY_SCOPE_USER, 0};
    }
    for (uint64_t i = 0; i < n; i += 1 + N_INSIDE) {
        marey_range_begin(&sites[i / (1 + N_INSIDE) % N_NAMES]);
        for (uint64_t k = 1; k <= N_INSIDE; k++) {
            marey_range_begin(&sites[(i + k) % N_NAMES]);
            marey_range_end();
        }
        marey_range_end();
    }
    return session;
}

static struct marey_trace *trace_of(struct marey_session *session, bool is_warm)
{
    const struct marey_intake_options options = {.size = sizeof options,
                                                 .alloc = is_warm ? &warm_alloc : NULL};
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    must(marey_session_trace(session, &options, &trace, &err), &err);
    return trace;
}

static struct marey_averages *averages_of(struct marey_trace *trace)
{
    const struct marey_averages_options options = {.size = sizeof options, .percentiles = true};
    struct marey_error err = {0};
    struct marey_averages *averages = NULL;
    must(marey_averages_new(trace, &options, &averages, &err), &err);
    return averages;
}

static size_t table_of(struct marey_averages *averages)
{
    struct marey_error err = {0};
    struct marey_text text = {0};
    must(marey_table_text(averages, NULL, &text, &err), &err);
    const size_t len = text.len;
    marey_text_release(&text);
    return len;
}

static void request_finish(const struct request *request)
{
    const uint64_t n = number(request, 1);
    struct marey_session *session = record_ranges(n);

    const uint64_t begin = now_ns();
    stop(session);
    const uint64_t stopped = now_ns();
    struct marey_trace *trace = trace_of(session, strcmp(word(request, 2), "warm") == 0);
    const uint64_t traced = now_ns();
    struct marey_averages *averages = averages_of(trace);
    const uint64_t averaged = now_ns();
    const size_t len = table_of(averages);
    const uint64_t end = now_ns();

    printf("{\"ns\": %" PRIu64 ", \"stop_ns\": %" PRIu64 ", \"trace_ns\": %" PRIu64
           ", \"averages_ns\": %" PRIu64 ", \"table_ns\": %" PRIu64
           ", \"slices\": %zu, \"table_bytes\": %zu}\n",
           end - begin, stopped - begin, traced - stopped, averaged - traced, end - averaged,
           marey_trace_slices(trace).n, len);
    marey_averages_free(averages);
    marey_trace_free(trace);
    marey_session_free(session);
}

static void request_export(const struct request *request)
{
    const struct marey_chrome_options options = {.size = sizeof options, .overwrite = true};
    struct marey_session *session = record_ranges(number(request, 1));
    struct marey_error err = {0};

    stop(session);
    struct marey_trace *trace = trace_of(session, true);
    const uint64_t begin = now_ns();
    must(marey_export_chrome(trace, word(request, 2), &options, &err), &err);
    printf("{\"ns\": %" PRIu64 ", \"slices\": %zu}\n", now_ns() - begin,
           marey_trace_slices(trace).n);
    marey_trace_free(trace);
    marey_session_free(session);
}

/* A number of kB in /proc/self/status, in bytes; 0 if the system does not tell. */
static uint64_t status_bytes(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL)
        return 0;
    char line[256];
    uint64_t kilobytes = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            kilobytes = strtoull(line + strlen(key) + 1, NULL, 10);
    }
    (void)fclose(file);
    return kilobytes * 1024;
}

/* Meant as the first request to a process: memory that was freed may stay resident. */
static void request_memory(const struct request *request)
{
    struct marey_session_stats stats;
    const uint64_t before = status_bytes("VmRSS");
    struct marey_session *session = record_ranges(number(request, 1));
    stop(session);
    const uint64_t recorded = status_bytes("VmRSS");
    marey_session_get_stats(session, &stats);
    struct marey_trace *trace = trace_of(session, false);
    struct marey_averages *averages = averages_of(trace);
    (void)table_of(averages);

    printf("{\"ranges\": %" PRIu64 ", \"before\": %" PRIu64 ", \"recorded\": %" PRIu64
           ", \"after\": %" PRIu64 ", \"peak\": %" PRIu64 ", \"held\": %" PRIu64 "}\n",
           number(request, 1), before, recorded, status_bytes("VmRSS"), status_bytes("VmHWM"),
           stats.held_bytes);
    marey_averages_free(averages);
    marey_trace_free(trace);
    marey_session_free(session);
}

/* ---- the program ----------------------------------------------------------------------------- */

struct request_row {
    const char *name;
    void (*run)(const struct request *request);
};

static const struct request_row requests[] = {
    {"time", request_time},     {"asked", request_asked},   {"session", request_session},
    {"finish", request_finish}, {"export", request_export}, {"memory", request_memory},
    {"beside", request_beside},
};

static struct request split(char *line)
{
    struct request request = {.n_words = 0};
    char *rest = NULL;

    line[strcspn(line, "\n")] = '\0';
    for (char *at = strtok_r(line, "\t", &rest); at != NULL && request.n_words < MAX_WORDS;
         at = strtok_r(NULL, "\t", &rest))
        request.words[request.n_words++] = at;
    return request;
}

static void answer(const struct request *request)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(word(request, 0), requests[i].name) == 0) {
            requests[i].run(request);
            return;
        }
    }
    fprintf(stderr, "bench_record: unknown request '%s'\n", word(request, 0));
    exit(2);
}

int main(int argc, char **argv)
{
    static char line[16384];
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "cpu") == 0)
            bench_clock = CLOCK_THREAD_CPUTIME_ID;
    warm_alloc = recycler_alloc(recycler_new());
    while (fgets(line, sizeof line, stdin) != NULL) {
        const struct request request = split(line);
        answer(&request);
        (void)fflush(stdout);
    }
    return 0;
}
