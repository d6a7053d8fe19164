/*
 * count_asked.h - what a piece of work asks of its surroundings: allocations, calls into the
 * system, page faults.
 *
 *     struct asked asked;
 *     const struct asked_work work = {.prepare = warm_up, .run = record, .ctx = &recording};
 *     if (count_asked(&work, &asked) == ASKED_COUNTED)
 *         printf("%llu allocations\n", (unsigned long long)asked.n_allocations);
 *
 * A program that links this file has an allocator that counts; glibc's own does the work.
 * Not for programs that are instrumented or run under Valgrind.
 */
#ifndef MAREY_BENCH_COUNT_ASKED_H
#define MAREY_BENCH_COUNT_ASKED_H

#include <stdint.h>

struct asked_work {
    void (*prepare)(void *ctx);    /* what is not counted; NULL: nothing */
    void (*run)(void *ctx);        /* on the same thread */
    uint64_t (*finish)(void *ctx); /* on another thread, free to ask again; NULL: nothing */
    void *ctx;
};

struct asked {
    uint64_t n_allocations; /* and releases, of the thread that ran */
    uint64_t n_calls;       /* into the system; none of them was let through */
    uint64_t n_faults;      /* of pages, minor and major */
    int64_t first_call;     /* the number of the first call; negative: none */
    uint64_t result;        /* of finish */
};

enum asked_outcome {
    ASKED_COUNTED = 0,
    ASKED_REFUSED = 1, /* the system allows no seccomp filter, so calls cannot be counted */
    ASKED_FAILED = 2   /* no child process, or it ended early */
};

/* Runs the work on a thread of a child process and counts. */
enum asked_outcome count_asked(const struct asked_work *work, struct asked *asked);

#endif
