/*
 * intake.h - what the files of the intake share.
 *
 * An offset of a recorded slice is the place of its record in the sessions' chunks, in bytes
 * as they would lie one after another: session by session, thread by thread, ascending in time.
 * Behind the chunks of a session one place is left for its window, which has no record.
 */
#ifndef MAREY_SRC_INTAKE_INTAKE_H
#define MAREY_SRC_INTAKE_INTAKE_H

#include "base/hashmap.h"
#include "base/text.h"
#include "marey/intake.h"
#include "record/session.h"
#include "trace/builder.h"

/* A session that went into a trace. */
struct marey_recorded {
    struct marey_session *session; /* held; NULL: not taken yet */
    struct marey_snapshot snapshot;
    size_t first_chunk; /* the place of its first chunk among those of all sessions */
};

/* Where the args of a recorded trace come from. */
struct marey_recorded_args {
    struct marey_alloc alloc;
    struct marey_recorded *recorded; /* [n_recorded], ascending in time */
    size_t n_recorded;
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

/* Of a word of a session's chunk. */
static inline uint64_t marey__recorded_offset(const struct marey_recorded *recorded,
                                              size_t chunk_idx, uint32_t word_idx)
{
    const uint64_t place = (uint64_t)recorded->first_chunk + chunk_idx;
    return MAREY_OFFSET(0, (place * MAREY_CHUNK_WORDS + word_idx) * sizeof(uint64_t));
}

#endif
