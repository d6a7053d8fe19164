/*
 * core_arrow.h - columns as they are handed out through the Arrow C data interface.
 *
 *     core_columns.c  makes columns of a trace, once for each column and trace
 *     core_words.c    their texts
 *     core_gather.c   a batch: columns of some rows, or of values of Python
 *     core_arrow.c    the structs and capsules of Arrow over a batch
 *
 * Life: a core_hold is the trace with the columns made of it; a core_batch is what was asked
 * for. Both count their references, and whoever gives back the last one frees them: the
 * Python object, or a consumer of Arrow on any thread, with or without the GIL, before or
 * after the Python object and even the interpreter are gone. So neither has a PyObject.
 *
 * Threads: a column is made and published under the GIL, and is read-only from then on. Two
 * threads that ask for the same one at the same time may both make it, while the GIL is
 * released; the first to finish is kept. A reference is a relaxed increment by a holder of
 * another one; giving one back is acquire/release, so that whoever frees sees the last use
 * of all others.
 */
#ifndef MAREY_PYTHON_CORE_ARROW_H
#define MAREY_PYTHON_CORE_ARROW_H

#include "_core.h"

#include <stdatomic.h>

/* Texts one after the other: text i is bytes[ends[i] .. ends[i + 1]). */
struct core_words {
    size_t n;
    int32_t *ends; /* [n + 1] */
    char *bytes;
};

/* One column. What it owns, freed with it, is in the own_ members; the others may borrow from
 * the trace or another column. */
struct core_arrow_column {
    const char *name;
    const char *format;             /* of Arrow: l L i I s c g b, or u for texts that are words */
    const void *values;             /* by row; NULL for u */
    const uint8_t *validity;        /* a bit each, 0: null; NULL: there is none */
    const struct core_words *words; /* of codes or of u; else NULL */
    bool is_made;
    char *own_name;
    void *own_values;
    uint8_t *own_validity;
    struct core_words *own_words;
};

void core_arrow_column_release(struct core_arrow_column *column);

/* Bits of a value in a column of this format: 1, 8, 16, 32, 64; 0 for texts. */
unsigned core_arrow_bits(const char *format);

/* Bytes of a bitmap. */
static inline size_t core_bitmap_bytes(size_t n)
{
    return n / 8 + 1;
}

static inline bool core_bit(const uint8_t *bits, size_t i)
{
    return (bits[i / 8] >> (i % 8) & 1) != 0;
}

static inline void core_bit_clear(uint8_t *bits, size_t i)
{
    bits[i / 8] &= (uint8_t) ~(1U << (i % 8));
}

static inline void core_bit_set(uint8_t *bits, size_t i)
{
    bits[i / 8] |= (uint8_t)(1U << (i % 8));
}

/* Texts being numbered: equal ones have one number. */
struct core_lexicon {
    PyObject *numbers; /* dict: text -> number */
};

bool core_lexicon_init(struct core_lexicon *lexicon);
void core_lexicon_release(struct core_lexicon *lexicon);

/* The number of a str, -1 of None; -2 with an exception. */
int32_t core_lexicon_number(struct core_lexicon *lexicon, PyObject *text);

/* The texts in the order of their numbers; NULL with an exception. */
struct core_words *core_lexicon_words(const struct core_lexicon *lexicon);

/* texts[n], a sequence of str and None, None as an empty one; NULL with an exception. */
struct core_words *core_words_of(PyObject *texts);
void core_words_free(struct core_words *words);

/* As a list of str; None for NULL. */
PyObject *core_words_list(const struct core_words *words);

/* ---- a trace and its columns ---------------------------------------------------- */

#define CORE_N_EVENT_COLUMNS 19

struct core_hold {
    atomic_size_t n_refs;
    struct marey_trace *trace;
    struct core_arrow_column columns[CORE_N_EVENT_COLUMNS];
};

/* With one reference. \owns takes the trace, also on failure. NULL without memory. */
struct core_hold *core_hold_new(struct marey_trace *trace);
void core_hold_give_back(struct core_hold *hold);

/* The column of all slices, made at the first call. tracks: a tuple for each track, with its
 * label, process, thread, device, stream and rank. NULL with an exception. */
const struct core_arrow_column *core_event_column(PyObject *trace, PyObject *name,
                                                  PyObject *tracks);

/* ---- a batch ------------------------------------------------------------------------ */

struct core_batch {
    atomic_size_t n_refs;
    struct core_hold *hold; /* NULL: it borrows nothing */
    size_t n_rows;
    size_t first; /* rows of the columns that come before */
    size_t n_columns;
    struct core_arrow_column *columns;
};

struct core_batch *core_batch_new(struct core_hold *hold, size_t n_columns);
struct core_batch *core_batch_keep(struct core_batch *batch);
void core_batch_give_back(struct core_batch *batch);

/* The Columns object of a batch. \owns takes the reference, also on failure. */
PyObject *core_columns_wrap(const struct core_state *state, struct core_batch *batch);

#endif
