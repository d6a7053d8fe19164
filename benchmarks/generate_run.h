/*
 * generate_run.h - a made-up training run, step by step, for generate_trace.c.
 */
#ifndef MAREY_BENCH_GENERATE_RUN_H
#define MAREY_BENCH_GENERATE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "generate_model.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define BASE_NS UINT64_C(1790857026000000000)
#define START_NS UINT64_C(4962963200000000) /* counted from BASE_NS */

/* NOT_A_KERNEL + the launch is the name of a copy. */
#define NOT_A_KERNEL 1000U

enum kind { KIND_OP, KIND_ANNOTATION, KIND_PYTHON, KIND_RUNTIME, KIND_DEVICE, KIND_MEMORY };

struct event {
    enum kind kind;
    uint32_t name;    /* index into the table of its kind */
    uint32_t number;  /* of the module, step or call site */
    bool is_autograd; /* on the autograd thread */
    bool is_module;   /* a Python function that is nn.Module: Class_number */
    bool is_forward;  /* an op with a sequence number: forward or backward */
    bool is_device_range;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t id;       /* External id, Python id, correlation, bytes */
    uint64_t other_id; /* Python parent id, External id of a launch, total allocated */
    uint64_t sequence; /* 0: none; stream of a device operation */
};

/* A step has some ten thousand events; the array grows once or twice in a run. */
struct step {
    struct event *events;
    size_t n;
    size_t capacity;
};

/* An operator of an ops text. */
struct node {
    uint32_t op;
    int first_child; /* -1: none */
    int next;
    bool launches;
    bool differentiable;
    bool allocates;
};

#define MAX_NODES 512
#define MAX_PENDING 4096

struct program {
    struct node nodes[MAX_NODES];
    int n_nodes;
    int forward[N_MODULES];
    int backward[N_MODULES];
    int optimizer[COUNT(optimizer_ops)];
};

/* A module whose backward is still to come. */
struct pending {
    int module;
    uint32_t number;
    uint64_t sequence;
};

struct run {
    const struct program *program;
    struct step step;
    uint64_t seed;
    uint64_t random;
    uint64_t now_ns;
    uint64_t stream_ns[2];
    uint64_t external_id;
    uint64_t python_id;
    uint64_t python_parent;
    uint64_t correlation;
    uint64_t sequence;
    uint64_t allocated;
    bool in_autograd;
    uint32_t n_layers;
    struct pending pending[MAX_PENDING];
    size_t n_pending;
};

/* Python names: python_functions, then the frames of the modules. */
#define FORWARD_FRAME(module) ((uint32_t)(COUNT(python_functions) + 2U * (uint32_t)(module)))
#define BUILTIN_FRAME(module) (FORWARD_FRAME(module) + 1)

/* Prints what went wrong and ends the program. */
_Noreturn void die(const char *what);

/* A number that depends on x alone (splitmix64). */
uint64_t mix(uint64_t x);

/* Reads the ops texts of the model. */
void program_init(struct program *program);

/* Goes back to the first step. The caller set program, seed and n_layers. */
void run_begin(struct run *run);

/* Makes the next step up: run->step holds its events in the order in which they begin. */
void run_step(struct run *run, uint32_t step);

#endif
