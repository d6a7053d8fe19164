/*
 * bench_snprintf.h - the peer of the export rows: the writer that one would write first.
 */
#ifndef MAREY_BENCH_SNPRINTF_H
#define MAREY_BENCH_SNPRINTF_H

#include <marey/trace.h>

struct snprintf_result {
    uint64_t n_records;
    uint64_t n_bytes;
};

/* Formats the fields (not the args) of all slices, flows and instants, one snprintf a
 * record, into a buffer that is used again and again. */
struct snprintf_result snprintf_trace(const struct marey_trace *trace);

#endif
