/*
 * make_op.h - an operator with inputs, as a collector writes it.
 */
#ifndef MAREY_TESTS_MAKE_OP_H
#define MAREY_TESTS_MAKE_OP_H

#include <string.h>

#include "marey/record.h"

/* False: it is not recorded. */
static inline bool make_op_begin(const struct marey_op *op, const uint64_t *inputs,
                                 uint32_t n_words)
{
    const struct marey_sink *sink = marey_recorder_sink();
    uint64_t *words = sink->op_open(op);

    if (words == NULL)
        return false;
    memcpy(words, inputs, n_words * sizeof *inputs);
    sink->op_close(words, n_words);
    return true;
}

#endif
