/*
 * floor_scan.h - the least that a reader of our made-up traces has to do.
 *
 * A scanner by hand for one layout, that of torch 2.11 as generate_trace.c writes it. It reads
 * the file in windows, matches the fixed text between values, hashes and looks up names, and
 * stores complete events in columns. It knows no other layout, no damage, no arrows, tracks or
 * nesting. So it tells what the machine can give, beside what a reader of any trace reaches.
 */
#ifndef BENCH_FLOOR_SCAN_H
#define BENCH_FLOOR_SCAN_H

#include <stdbool.h>
#include <stdint.h>

struct floor_sums {
    uint64_t records;
    uint64_t complete;
    uint64_t ts_sum; /* of the columns, made after the time was taken; in ns */
    uint64_t dur_sum;
    uint64_t correlation_sum;
};

/* Reads the file with 1 or 2 threads, each its half into columns of its own, in memory that
 * calls before have touched. False if the file is not of the layout or not readable. */
bool floor_scan(const char *path, int n_threads);

/* Sums over what the last call stored. */
struct floor_sums floor_scan_sums(void);

#endif
