/*
 * generate_run.c - makes a training run up: forward with Python frames, backward on
 * the autograd thread, an optimizer, kernels on two streams. Only the order of calls
 * and the random generator decide; the same seed gives the same run.
 */
#include "generate_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ops texts ------------------------------------------------------------------ */

static uint32_t find_op(const char *name, size_t len)
{
    for (uint32_t i = 0; i < COUNT(op_table); i++) {
        if (strlen(op_table[i].name) == len && memcmp(op_table[i].name, name, len) == 0)
            return i;
    }
    fprintf(stderr, "operator: '%.*s'\n", (int)len, name);
    die("an ops text names an operator that has no row");
}

/* Reads siblings up to ')' or the end; returns the first node, -1 if there is none. */
static int parse_ops(struct program *program, const char **text)
{
    int first = -1;
    int last = -1;
    while (**text != '\0' && **text != ')') {
        const char *name = *text;
        const size_t len = strcspn(name, "(),!@~");
        if (program->n_nodes == MAX_NODES)
            die("too many operators in the ops texts");
        const int at = program->n_nodes++;
        struct node *node = &program->nodes[at];
        *node = (struct node){.op = find_op(name, len), .first_child = -1, .next = -1};
        for (*text += len; **text != '\0' && strchr("!@~", **text) != NULL; ++*text) {
            node->launches |= **text == '!';
            node->differentiable |= **text == '@';
            node->allocates |= **text == '~';
        }
        if (**text == '(') {
            ++*text;
            node->first_child = parse_ops(program, text);
            ++*text;
        }
        *text += **text == ',';
        if (first < 0)
            first = at;
        else
            program->nodes[last].next = at;
        last = at;
    }
    return first;
}

void program_init(struct program *program)
{
    program->n_nodes = 0;
    for (size_t i = 0; i < N_MODULES; i++) {
        const char *forward = module_table[i].forward_ops;
        const char *backward = module_table[i].backward_ops;
        program->forward[i] = parse_ops(program, &forward);
        program->backward[i] = parse_ops(program, &backward);
    }
    for (size_t i = 0; i < COUNT(optimizer_ops); i++) {
        const char *text = optimizer_ops[i];
        program->optimizer[i] = parse_ops(program, &text);
    }
}

/* ---- time and chance -------------------------------------------------------------- */

uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint32_t random_below(struct run *run, uint32_t n)
{
    run->random += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mix(run->random) >> 32) * n >> 32);
}

void run_begin(struct run *run)
{
    run->random = run->seed;
    run->now_ns = START_NS;
    run->stream_ns[0] = run->stream_ns[1] = START_NS;
    run->external_id = run->python_id = run->sequence = run->allocated = 1;
    run->correlation = 50000;
    run->python_parent = 0;
    run->n_pending = 0;
    run->in_autograd = false;
}

static void pass_time(struct run *run, uint32_t at_least_ns, uint32_t spread_ns)
{
    run->now_ns += at_least_ns + random_below(run, spread_ns);
}

/* Adds an event that begins now; returns its place, since the array may move. */
static size_t begin(struct run *run, enum kind kind, uint32_t name, uint32_t number)
{
    struct step *step = &run->step;
    if (step->n == step->capacity) {
        step->capacity = step->capacity == 0 ? 16384 : 2 * step->capacity;
        step->events = realloc(step->events, step->capacity * sizeof *step->events);
        if (step->events == NULL)
            die("out of memory");
    }
    step->events[step->n] = (struct event){.kind = kind,
                                           .name = name,
                                           .number = number,
                                           .is_autograd = run->in_autograd,
                                           .start_ns = run->now_ns};
    return step->n++;
}

static void end(struct run *run, size_t at)
{
    run->step.events[at].end_ns = run->now_ns;
}

/* What an operator launches: rows of launch_table for copies, else a kernel. */
static uint32_t launch_kind(struct run *run, const char *op)
{
    if (strcmp(op, "aten::_local_scalar_dense") == 0)
        return LAUNCH_MEMCPY;
    if (strcmp(op, "aten::zero_") == 0)
        return LAUNCH_MEMSET;
    return random_below(run, LAUNCH_MEMCPY);
}

/* A launch call on this thread and its operation on a stream. */
static void launch(struct run *run, uint32_t op, uint32_t number, uint64_t external_id)
{
    const bool is_comm = strcmp(op_table[op].name, "record_param_comms") == 0;
    const uint64_t correlation = run->correlation;
    const uint32_t call = launch_kind(run, op_table[op].name);
    run->correlation += 1 + random_below(run, 30);
    size_t at = begin(run, KIND_RUNTIME, call, number);
    run->step.events[at].id = correlation;
    run->step.events[at].other_id = external_id;
    pass_time(run, 2500, 6000);
    end(run, at);

    uint64_t *stream_ns = &run->stream_ns[is_comm];
    const uint64_t earliest = run->now_ns + 1000 + random_below(run, 2000);
    const uint64_t start = *stream_ns > earliest ? *stream_ns + 600 : earliest;
    const uint32_t variant = op * 5 + random_below(run, 2);
    const uint32_t name = is_comm ? COMM_KERNEL : variant % (uint32_t)COUNT(kernel_names);
    at = begin(run, KIND_DEVICE, call < LAUNCH_MEMCPY ? name : NOT_A_KERNEL + call, number);
    struct event *operation = &run->step.events[at];
    operation->start_ns = start;
    operation->end_ns = start + 900 + random_below(run, 12000);
    operation->id = correlation;
    operation->other_id = external_id;
    operation->sequence = is_comm ? 30 : 7;
    *stream_ns = operation->end_ns;
}

static void allocate(struct run *run)
{
    const size_t at = begin(run, KIND_MEMORY, 0, 0);
    const uint64_t bytes = (uint64_t)(1 + random_below(run, 4096)) * 512;
    run->allocated += bytes;
    run->step.events[at].end_ns = run->now_ns;
    run->step.events[at].id = bytes;
    run->step.events[at].other_id = run->allocated;
}

/* Runs an operator and all inside it. Depth is that of an ops text. */
static void run_op(struct run *run, int node_idx, uint32_t number, uint64_t sequence)
{
    const struct node *node = &run->program->nodes[node_idx];
    const size_t at = begin(run, KIND_OP, node->op, number);
    const uint64_t external_id = run->external_id++;
    run->step.events[at].id = external_id;
    if (node->differentiable) {
        run->step.events[at].sequence = sequence;
        run->step.events[at].is_forward = !run->in_autograd;
    }
    pass_time(run, 300, 1200);
    if (node->allocates && random_below(run, 4) == 0)
        allocate(run);
    for (int child = node->first_child; child >= 0; child = run->program->nodes[child].next) {
        run_op(run, child, number, sequence);
        pass_time(run, 100, 500);
    }
    if (node->launches)
        launch(run, node->op, number, external_id);
    pass_time(run, 200, 800);
    end(run, at);
}

static void run_ops(struct run *run, int first, uint32_t number, uint64_t sequence)
{
    for (int node = first; node >= 0; node = run->program->nodes[node].next) {
        run_op(run, node, number, sequence);
        pass_time(run, 300, 1500);
    }
}

static size_t begin_python(struct run *run, uint32_t name, uint32_t number, uint64_t *parent)
{
    const size_t at = begin(run, KIND_PYTHON, name, number);
    *parent = run->python_parent;
    run->step.events[at].id = run->python_id;
    run->step.events[at].other_id = *parent;
    run->python_parent = run->python_id++;
    pass_time(run, 200, 900);
    return at;
}

static void end_python(struct run *run, size_t at, uint64_t parent)
{
    run->python_parent = parent;
    pass_time(run, 100, 400);
    end(run, at);
}

static void call_python(struct run *run)
{
    uint64_t outer = 0;
    uint64_t inner = 0;
    const size_t at = begin_python(run, random_below(run, COUNT(python_functions)), 0, &outer);
    const size_t in = begin_python(run, random_below(run, COUNT(python_functions)), 0, &inner);
    end_python(run, in, inner);
    end_python(run, at, outer);
}

static void run_module(struct run *run, int module, uint32_t number)
{
    uint64_t outer = 0;
    uint64_t middle = 0;
    uint64_t inner = 0;
    const size_t frame = begin_python(run, (uint32_t)module, number, &outer);
    run->step.events[frame].is_module = true;
    const size_t forward = begin_python(run, FORWARD_FRAME(module), 0, &middle);
    call_python(run);
    const size_t builtin = begin_python(run, BUILTIN_FRAME(module), 0, &inner);
    const uint64_t sequence = run->sequence++;
    run_ops(run, run->program->forward[module], number, sequence);
    end_python(run, builtin, inner);
    end_python(run, forward, middle);
    end_python(run, frame, outer);
    if (run->n_pending < MAX_PENDING)
        run->pending[run->n_pending++] = (struct pending){module, number, sequence};
}

static void run_backward(struct run *run)
{
    run->in_autograd = true;
    pass_time(run, 20000, 5000);
    while (run->n_pending > 0) {
        const struct pending *pending = &run->pending[--run->n_pending];
        run_ops(run, run->program->backward[pending->module], pending->number, pending->sequence);
    }
    run->in_autograd = false;
    pass_time(run, 20000, 5000);
}

static void run_optimizer(struct run *run)
{
    const size_t at = begin(run, KIND_ANNOTATION, 1, 0);
    run->step.events[at].id = run->external_id++;
    const size_t first = run->step.n;
    pass_time(run, 1000, 500);
    for (uint32_t i = 0; i < 40 * run->n_layers; i++) {
        call_python(run);
        const uint32_t op = random_below(run, COUNT(optimizer_ops));
        run_ops(run, run->program->optimizer[op], i % 4, 0);
    }
    end(run, at);

    /* The same range as the device saw it, around the kernels of stream 7. */
    uint64_t start = 0;
    uint64_t stop = 0;
    for (size_t i = first; i < run->step.n; i++) {
        const struct event *event = &run->step.events[i];
        if (event->kind != KIND_DEVICE || event->sequence != 7)
            continue;
        start = start == 0 ? event->start_ns : start;
        stop = event->end_ns;
    }
    const uint64_t id = run->step.events[at].id;
    const size_t range = begin(run, KIND_ANNOTATION, 1, 0);
    run->step.events[range].id = id;
    run->step.events[range].is_device_range = true;
    run->step.events[range].start_ns = start - 1;
    run->step.events[range].end_ns = stop + 1;
}

void run_step(struct run *run, uint32_t step)
{
    run->step.n = 0;
    uint64_t parent = 0;
    const size_t annotation = begin(run, KIND_ANNOTATION, 0, step);
    run->step.events[annotation].id = run->external_id++;
    pass_time(run, 1000, 500);
    const size_t frame = begin_python(run, (uint32_t)COUNT(python_functions) - 5, 0, &parent);
    run_module(run, EMBEDDING, 0);
    for (uint32_t layer = 0; layer < run->n_layers; layer++) {
        for (uint32_t i = 0; i < COUNT(block_modules); i++)
            run_module(run, block_modules[i], layer * (uint32_t)COUNT(block_modules) + i);
    }
    run_module(run, CROSS_ENTROPY, 0);
    run_backward(run);
    run_optimizer(run);
    end_python(run, frame, parent);
    end(run, annotation);
    pass_time(run, 30000, 10000);
}
