/*
 * hash_trace.h - all that a trace says, in one number: equal traces, equal numbers.
 */
#ifndef MAREY_TESTS_HASH_TRACE_H
#define MAREY_TESTS_HASH_TRACE_H

#include "marey/trace.h"

/* Slices, links, points, flows, spans, metadata, tracks, the ledger. */
uint64_t hash_trace(struct marey_trace *trace);

#endif
