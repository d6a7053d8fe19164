/*
 * intake.h - what the files of the intake share.
 *
 * An offset of a recorded slice is the place of its record in the session's chunks, in bytes
 * as they would lie one after another: thread by thread, ascending in time.
 */
#ifndef MAREY_SRC_INTAKE_INTAKE_H
#define MAREY_SRC_INTAKE_INTAKE_H

#include "base/hashmap.h"
#include "base/text.h"
#include "marey/intake.h"
#include "record/session.h"
#include "trace/builder.h"

/* Where the args of a recorded trace come from. */
struct marey_recorded_args {
    struct marey_alloc alloc;
    struct marey_session *session; /* held */
    struct marey_snapshot snapshot;
    bool has_inputs;              /* the session asked for them */
    struct marey_hashmap cpu_idx; /* offset of a slice -> its place in cpu_ns */
    int64_t *cpu_ns;              /* [n_cpu] the thread's CPU time within a slice */
    size_t n_cpu;
    size_t cpu_capacity;
    struct marey_textbuf text;
};

/* \owns takes the args: the provider's release frees them */
struct marey_args_provider marey__recorded_provider(struct marey_recorded_args *args);
void marey__recorded_free(struct marey_recorded_args *args);

/* The args of an operator's inputs as members of a JSON object, each after a comma:
 * "Input Dims", "Input Strides", "Input type", "Concrete Inputs", as torch writes them. */
void marey__inputs_to_json(struct marey_textbuf *out, const uint64_t *word, uint32_t n_words);

static inline uint64_t marey__recorded_offset(size_t chunk_idx, uint32_t word_idx)
{
    return MAREY_OFFSET(0, ((uint64_t)chunk_idx * MAREY_CHUNK_WORDS + word_idx) * sizeof(uint64_t));
}

#endif
