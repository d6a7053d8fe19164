/*
 * marey/collector.h - how a collector hands records to the one recorder of a process.
 *
 * A collector watches something (torch's operators, CUPTI, Python's frames) and is a
 * shared object of its own, compiled where it runs. It links nothing of Marey: it exports
 * one function that describes it, and is handed a table of functions, the sink.
 *
 *     static int update(const struct marey_sink *sink, uint32_t wants, char *why, size_t
 * why_bytes); static const struct marey_collector self = {MAREY_SINK_VERSION, sizeof self, "torch",
 * ..., update}; const struct marey_collector *marey_collector(void) { return &self; }
 *
 * Life: a collector stays loaded until the process ends, since a framework may call a hook
 * once more after it was removed. `update` is called under the recorder's lock whenever the
 * union of what the running sessions want changes; with 0 all hooks are to be removed.
 *
 * Threads: the functions of a sink may be called from any thread and from signal handlers;
 * none of them blocks, allocates or calls the system, but for the first record of a thread
 * and the first sight of a name. They never fail: what cannot be stored is counted as lost.
 *
 * This header includes nothing of Marey's, compiles as C17 and as C++14, and is part of the
 * package: the key of a compiled collector holds MAREY_SINK_VERSION.
 */
#ifndef MAREY_COLLECTOR_H
#define MAREY_COLLECTOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAREY_SINK_VERSION 1

/* What the running sessions want, as bits of `wants`. */
enum marey_want {
    MAREY_WANT_RANGES = 1, /* what the program marks itself: ranges, marks, counters */
    MAREY_WANT_OPS = 2,    /* operators of the framework, and the ranges that the program marks */
    MAREY_WANT_INPUTS = 4, /* shapes, types and strides of an operator's inputs */
    MAREY_WANT_CPU = 8     /* the thread's CPU time beside the clock */
};

/* What a range is, by torch's numbers of RecordScope where it has one. */
enum marey_scope {
    MAREY_SCOPE_FUNCTION = 0, /* an operator */
    MAREY_SCOPE_BACKWARD = 1, /* an autograd node */
    MAREY_SCOPE_TORCHSCRIPT = 2,
    MAREY_SCOPE_KERNEL_DTYPE = 3,
    MAREY_SCOPE_CUSTOM_CLASS = 4,
    MAREY_SCOPE_BUILD_FEATURE = 5,
    MAREY_SCOPE_LITE_INTERPRETER = 6,
    MAREY_SCOPE_USER = 7, /* what the program marks itself */
    MAREY_SCOPE_STATIC_OP = 8,
    MAREY_SCOPE_STATIC_MODEL = 9,
    MAREY_N_SCOPES = 10,

    /* Beside a scope: torch marks the range as asynchronous, such as a collective that works behind
     * the program's back. */
    MAREY_SCOPE_ASYNC = 0x40
};

/* ---- inputs of an operator -------------------------------------------------
 *
 * One head word an input, then its words:
 *
 *     63            32 31            16 15       8 7      0
 *     [ dtype text id ][ number of items ][ n dims ][ type  ]
 *
 *     TENSOR  n dims sizes; with MAREY_INPUT_STRIDES in type as many strides
 *     INT, BOOL       one word: the value
 *     DOUBLE          one word: its bits
 *     LIST            `number of items` inputs; with MAREY_INPUT_CUT in type they are left out
 *     others          nothing
 */
enum marey_input_type {
    MAREY_INPUT_NONE = 0,   /* None and what has no type to show */
    MAREY_INPUT_TENSOR = 1, /* a defined tensor; its dtype by text id */
    MAREY_INPUT_UNDEFINED = 2,
    MAREY_INPUT_INT = 3,
    MAREY_INPUT_DOUBLE = 4,
    MAREY_INPUT_BOOL = 5,
    MAREY_INPUT_STRING = 6, /* the text itself is not kept */
    MAREY_INPUT_TENSOR_LIST = 7,
    MAREY_INPUT_SCALAR_LIST = 8,
    MAREY_INPUT_GENERIC_LIST = 9,
    MAREY_INPUT_OTHER = 10, /* the dtype text says what */

    MAREY_INPUT_TYPE_MASK = 0x3f,
    MAREY_INPUT_STRIDES = 0x40,
    MAREY_INPUT_CUT = 0x80
};

/* More words than this are cut by the collector, at an input's border. */
#define MAREY_MAX_INPUT_WORDS 240

#define MAREY_INPUT_HEAD(type, n_dims, n_items, text_id)                                           \
    ((uint64_t)(uint8_t)(type) | (uint64_t)(uint8_t)(n_dims) << 8 |                                \
     (uint64_t)(uint16_t)(n_items) << 16 | (uint64_t)(uint32_t)(text_id) << 32)

/* An operator that begins. The name is read during the call; its pointer need not stay the
 * same, nor mean the same the next time. */
struct marey_op {
    const char *name;
    int64_t sequence;        /* autograd's sequence number, negative: none */
    uint64_t forward_thread; /* of a backward node the thread of its forward operator, of others
                                this thread; both as torch numbers them */
    uint32_t token;          /* finds the end: any number that the end repeats */
    uint32_t scope;          /* enum marey_scope, with MAREY_SCOPE_ASYNC or without */
};

/* The functions of the recorder. `size` grows with the version. */
struct marey_sink {
    uint32_t version; /* MAREY_SINK_VERSION of the recorder */
    uint32_t size;
    void (*op_begin)(const struct marey_op *op);
    void (*op_end)(uint32_t token);
    /* The id of a text for the inputs; the same text has the same id. \cost a lock; keep it */
    uint32_t (*text)(const char *ptr, size_t len);

    /* An operator with inputs, in two steps: they are written where they stay.
     *
     *     uint64_t *words = sink->op_open(&op);
     *     if (words != NULL)
     *         sink->op_close(words, write_inputs(words));
     *
     * NULL: it is not recorded, and there is nothing to close. Else there is room for
     * MAREY_MAX_INPUT_WORDS; until the close, which must come, the thread calls nothing else of
     * the sink but `text`, and what else records on it is dropped. The operator begins when it
     * is closed. */
    uint64_t *(*op_open)(const struct marey_op *op);
    void (*op_close)(uint64_t *inputs, uint32_t n_words);
};

/* What a collector says of itself. */
struct marey_collector {
    uint32_t version; /* MAREY_SINK_VERSION it was compiled for */
    uint32_t size;
    const char *name;
    const char *built_for; /* what it was compiled against, such as "torch 2.13.0" */

    /* 0 if it can run here; else it writes the reason and the remedy into why[why_bytes]. */
    int (*probe)(char *why, size_t why_bytes);

    /* Sets, changes or removes the hooks so that `wants` is recorded. 0, or the reason as
     * above; nothing is hooked then. \owns keeps the sink, which lives as long as the process */
    int (*update)(const struct marey_sink *sink, uint32_t wants, char *why, size_t why_bytes);
};

/* The one function that a collector exports, by this name. */
#define MAREY_COLLECTOR_ENTRY "marey_collector"
typedef const struct marey_collector *(*marey_collector_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
