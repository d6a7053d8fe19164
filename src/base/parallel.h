/*
 * parallel.h - threads of our own, and loops that several of them share.
 */
#ifndef MAREY_SRC_BASE_PARALLEL_H
#define MAREY_SRC_BASE_PARALLEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Starts a thread that takes no signals: those are for the threads of the program.
 * \fails false where none can be had */
bool marey__thread_start(pthread_t *thread, void *(*run)(void *), void *ctx);

/* A part of a loop: the indices from `from` to before `to`. False without memory. */
typedef bool (*marey_range_fn)(void *ctx, size_t from, size_t to);

/* Calls fn for parts of [0, n), of `grain` indices each, by up to n_threads threads, the caller
 * among them. In which order is not said. Threads that cannot be had are done without. \fails false
 * if any call did; not all parts may have been called then \threads fn is called by several at once
 * if n > grain and n_threads > 1 */
bool marey__parallel(size_t n_threads, size_t n, size_t grain, marey_range_fn fn, void *ctx);

#endif
