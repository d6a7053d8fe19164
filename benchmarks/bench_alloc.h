/*
 * bench_alloc.h - an allocator that keeps what is released and hands it out again.
 *
 * Touching a page for the first time costs up to 22 µs on a virtual machine, more than
 * filling it. With this allocator the second of two equal runs finds all its memory
 * touched: its time is the "warm" figure. The library's own allocator gives the "cold" one.
 */
#ifndef MAREY_BENCH_ALLOC_H
#define MAREY_BENCH_ALLOC_H

#include <marey/base.h>

struct recycler;

/* Ends the program without memory. The recycler lives until the program ends. */
struct recycler *recycler_new(void);
struct marey_alloc recycler_alloc(struct recycler *recycler);

#endif
