/*
 * generate_trace.c - writes a trace file such as torch.profiler writes of the
 * training of a small GPT, of any size, for benchmarks.
 *
 *     generate_trace OUT.json SIZE_MB [--seed N] [--layout kineto|minified|newest]
 *
 * run_step makes a step up (an array of events in the order in which they begin),
 * and this file writes it as torch does (2.11, or 2.13 with --layout newest). As in a
 * real file the records are written in sections: operators of the autograd thread, memory
 * records, operators of the main thread, Python functions, launches and kernels.
 * So each section makes the same run up again, from the same seed, and writes only
 * its own records; a first pass that writes nothing finds how many steps are needed.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate_run.h"
#include "generate_text.h"

#define PID 430
#define MAIN_TID 430
#define AUTOGRAD_TID 464
#define N_SMS 132

void die(const char *what)
{
    fprintf(stderr, "generate_trace: %s\n", what);
    exit(3);
}

/* ---- records --------------------------------------------------------------------- */

/* A complete record up to and with the opening of args. */
static void open_complete(struct writer *w, const char *category, const char *name, uint64_t tid,
                          const struct event *event)
{
    const struct layout *layout = w->layout;
    const bool on_device = event->kind == KIND_DEVICE || event->is_device_range;
    open_record(w);
    put_text(w, "ph", "X");
    put(&w->sink, layout->comma);
    put_text(w, "cat", category);
    put(&w->sink, layout->comma);
    put_text(w, "name", name);
    put_number(w, layout->comma, "pid", on_device ? 0 : PID);
    put_number(w, layout->comma, "tid", tid);
    put_time(w, layout->line, "ts", event->start_ns);
    put_time(w, layout->comma, "dur", event->end_ns - event->start_ns);
    put(&w->sink, layout->args);
}

static void put_flow(struct writer *w, const char *phase, const char *name, uint64_t id,
                     uint64_t pid, uint64_t tid, uint64_t ts_ns)
{
    const struct layout *layout = w->layout;
    open_record(w);
    put_text(w, "ph", phase);
    put_number(w, layout->comma, "id", id);
    put_number(w, layout->comma, "pid", pid);
    put_number(w, layout->comma, "tid", tid);
    put_time(w, layout->comma, "ts", ts_ns);
    put(&w->sink, layout->line);
    put_text(w, "cat", name);
    put(&w->sink, layout->comma);
    put_text(w, "name", name);
    if (*phase == 'f') {
        put(&w->sink, layout->binding);
        put_text(w, "bp", "e");
    }
    put(&w->sink, *phase == 'f' ? layout->close : layout->close_bare);
}

static void put_ev_idx(struct writer *w, const char *separator)
{
    put_number(w, separator, "Ev Idx", w->ev_idx++);
}

/* ---- operators ------------------------------------------------------------------- */

/* A list "[768, 3]" without the blanks where the layout has none. */
static void put_list(struct writer *w, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text != ' ' || w->layout->item[1] != '\0')
            put_bytes(&w->sink, text, 1);
    }
}

static const struct shape_row *shape_of(const struct event *event, size_t input)
{
    const uint64_t site = event->name * UINT64_C(131) + event->number % 10 * 17 + input;
    return &shape_table[mix(site) % COUNT(shape_table)];
}

enum input_list { CONCRETE_INPUTS, INPUT_TYPE, INPUT_STRIDES, INPUT_DIMS };

static const char *scalar_of(const struct event *event, size_t input)
{
    static const char *const scalars[] = {"0",    "1",   "-1",    "False",
                                          "True", "768", "1e-05", "0.10000000000000001"};
    return scalars[mix(event->name * 7 + input) % COUNT(scalars)];
}

static const char *type_of(char letter)
{
    switch (letter) {
    case 'F':
        return "float";
    case 'B':
        return "c10::BFloat16";
    case 'L':
        return "long int";
    case 'S':
        return "Scalar";
    case 'I':
        return "ScalarList";
    case 'G':
        return "TensorList";
    default:
        return "";
    }
}

static void put_input(struct writer *w, const struct event *event, size_t input,
                      enum input_list list)
{
    const char letter = op_table[event->name].inputs[input];
    const struct shape_row *shape = shape_of(event, input);
    if (list == CONCRETE_INPUTS || list == INPUT_TYPE) {
        put(&w->sink, "\"");
        if (list == INPUT_TYPE)
            put(&w->sink, type_of(letter));
        else if (letter == 'S')
            put(&w->sink, scalar_of(event, input));
        else if (letter == 'I')
            put(&w->sink, shape->dims);
        put(&w->sink, "\"");
        return;
    }
    const char *text = list == INPUT_DIMS ? shape->dims : shape->strides;
    if (letter == 'G') {
        put(&w->sink, "[");
        for (int i = 0; i < 6; i++) {
            put(&w->sink, i == 0 ? "" : w->layout->item);
            put_list(w, text);
        }
        put(&w->sink, "]");
    } else {
        put_list(w, letter == 'F' || letter == 'B' || letter == 'L' ? text : "[]");
    }
}

static void put_inputs(struct writer *w, const struct event *event)
{
    static const char *const keys[] = {"Concrete Inputs", "Input type", "Input Strides",
                                       "Input Dims"};
    const size_t n = strlen(op_table[event->name].inputs);
    for (size_t list = 0; n > 0 && list < COUNT(keys); list++) {
        put(&w->sink, w->layout->item);
        put_key(w, keys[list]);
        put(&w->sink, "[");
        for (size_t input = 0; input < n; input++) {
            put(&w->sink, input == 0 ? "" : w->layout->item);
            put_input(w, event, input, (enum input_list)list);
        }
        put(&w->sink, "]");
    }
}

static void put_op(struct writer *w, const struct event *event)
{
    const struct layout *layout = w->layout;
    const uint64_t tid = event->is_autograd ? AUTOGRAD_TID : MAIN_TID;
    open_complete(w, "cpu_op", op_table[event->name].name, tid, event);
    put_number(w, "", "External id", event->id);
    const char *separator = layout->after_id;
    if (event->sequence != 0) {
        put_number(w, separator, "Sequence number", event->sequence);
        put_number(w, layout->item, "Fwd thread id", event->is_forward ? 0 : 1);
        separator = layout->item;
    }
    put_number(w, separator, "Record function id", 0);
    put_inputs(w, event);
    put_ev_idx(w, layout->item);
    close_record(w);
    if (event->sequence != 0)
        put_flow(w, event->is_forward ? "s" : "f", "fwdbwd", event->sequence, PID, tid,
                 event->start_ns);
}

static void put_annotation(struct writer *w, const struct event *event)
{
    char name[64] = "Optimizer.step#AdamW.step";
    if (event->name == 0)
        (void)snprintf(name, sizeof name, "ProfilerStep#%" PRIu32, event->number);
    if (event->is_device_range) {
        open_complete(w, "gpu_user_annotation", name, 7, event);
        put_number(w, "", "External id", event->id);
    } else {
        open_complete(w, "user_annotation", name, MAIN_TID, event);
        put_number(w, "", "External id", event->id);
        put_number(w, w->layout->after_id, "Record function id", 0);
        put_ev_idx(w, w->layout->item);
    }
    close_record(w);
}

/* ---- Python, memory, device --------------------------------------------------------- */

static void put_python(struct writer *w, const struct event *event)
{
    const struct layout *layout = w->layout;
    char name[160];
    const uint32_t frame = event->name - (uint32_t)COUNT(python_functions);
    if (event->is_module)
        (void)snprintf(name, sizeof name, "nn.Module: %s_%" PRIu32,
                       module_table[event->name].class_name, event->number);
    else if (event->name < COUNT(python_functions))
        (void)snprintf(name, sizeof name, "%s", python_functions[event->name]);
    else
        (void)snprintf(name, sizeof name, "%s",
                       frame % 2 == 0 ? module_table[frame / 2].forward
                                      : module_table[frame / 2].builtin);
    open_complete(w, "python_function", name, MAIN_TID, event);
    if (event->other_id == 0) {
        put_key(w, "Python parent id");
        put(&w->sink, "null");
    } else {
        put_number(w, "", "Python parent id", event->other_id);
    }
    put_number(w, layout->item, "Python id", event->id);
    if (event->is_module)
        put_number(w, layout->item, "Python module id", event->number);
    put_ev_idx(w, layout->item);
    close_record(w);
}

static void put_memory(struct writer *w, const struct event *event)
{
    const struct layout *layout = w->layout;
    open_record(w);
    put_text(w, "ph", "i");
    put(&w->sink, layout->instant);
    put_text(w, "cat", "cpu_instant_event");
    put(&w->sink, layout->comma);
    put_text(w, "s", "t");
    put(&w->sink, layout->comma);
    put_text(w, "name", "[memory]");
    put_number(w, layout->line, "pid", PID);
    put_number(w, layout->comma, "tid", event->is_autograd ? AUTOGRAD_TID : MAIN_TID);
    put_time(w, layout->line, "ts", event->start_ns);
    put(&w->sink, layout->args);
    put_number(w, "", "Total Reserved", UINT64_C(85899345920));
    put_number(w, layout->item, "Total Allocated", event->other_id);
    put_number(w, layout->item, "Bytes", event->id);
    put_number(w, layout->item, "Device Id", 0);
    put_number(w, layout->item, "Device Type", 1);
    put_number(w, layout->item, "Addr", UINT64_C(139749243224064) + event->other_id);
    put(&w->sink, layout->item);
    put_key(w, "finished");
    put(&w->sink, "false");
    put_ev_idx(w, layout->item);
    close_record(w);
}

static void put_launch(struct writer *w, const struct event *event)
{
    const struct launch_row *row = &launch_table[event->name];
    const uint64_t tid = event->is_autograd ? AUTOGRAD_TID : MAIN_TID;
    open_complete(w, row->category, row->name, tid, event);
    put_number(w, "", "External id", event->other_id);
    put_number(w, w->layout->gap, "cbid", row->cbid);
    put_number(w, w->layout->item, "correlation", event->id);
    close_record(w);
    put_flow(w, "s", "ac2g", event->id, PID, tid, event->start_ns);
}

static void put_triple(struct writer *w, const char *key, uint64_t x)
{
    put(&w->sink, w->layout->gap);
    put_key(w, key);
    put(&w->sink, "[");
    put_u64(&w->sink, x);
    put(&w->sink, w->layout->item);
    put(&w->sink, "1");
    put(&w->sink, w->layout->item);
    put(&w->sink, "1]");
}

static void put_kernel_args(struct writer *w, uint64_t site)
{
    const char *gap = w->layout->gap;
    const uint64_t blocks = 1 + mix(site) % 16384;
    const uint64_t threads = 64U << mix(site + 1) % 4;
    put_number(w, gap, "registers per thread", 16 + mix(site + 2) % 200);
    put_number(w, gap, "shared memory", mix(site + 3) % 3 == 0 ? 49152 : 0);
    put(&w->sink, gap);
    put_key(w, "blocks per SM");
    put_fixed(&w->sink, blocks * 1000000 / N_SMS, 6);
    put(&w->sink, gap);
    put_key(w, "warps per SM");
    put_fixed(&w->sink, blocks * (threads / 32) * 1000000 / N_SMS, 6);
    put_triple(w, "grid", blocks);
    put_triple(w, "block", threads);
    put_number(w, gap, "est. achieved occupancy %", blocks > 2000 ? 100 : blocks / 20);
}

static void put_device(struct writer *w, const struct event *event)
{
    const struct layout *layout = w->layout;
    const bool is_kernel = event->name < NOT_A_KERNEL;
    const bool is_memset = event->name == NOT_A_KERNEL + LAUNCH_MEMSET;
    if (is_kernel)
        open_complete(w, "kernel", kernel_names[event->name], event->sequence, event);
    else
        open_complete(w, is_memset ? "gpu_memset" : "gpu_memcpy",
                      is_memset ? "Memset (Device)" : "Memcpy DtoH (Device -> Pinned)",
                      event->sequence, event);
    put_number(w, "", "External id", event->other_id);
    if (is_kernel)
        put_number(w, layout->gap, "queued", 0);
    put_number(w, is_kernel ? layout->item : layout->gap, "device", 0);
    put_number(w, layout->item, "context", 1);
    put_number(w, layout->gap, "stream", event->sequence);
    put_number(w, layout->item, "correlation", event->id);
    if (is_kernel) {
        put_kernel_args(w, event->name * UINT64_C(97) + event->number % 10);
    } else {
        put_number(w, layout->gap, "bytes", 4);
        put(&w->sink, layout->item);
        put_key(w, "memory bandwidth (GB/s)");
        put_fixed(&w->sink, 4 * 1000000 / (event->end_ns - event->start_ns), 6);
    }
    close_record(w);
    put_flow(w, "f", "ac2g", event->id, 0, event->sequence, event->start_ns);
}

/* ---- head and tail ----------------------------------------------------------------- */

static void put_head(struct writer *w)
{
    static const char *const lines[] = {
        "{",
        "\"schemaVersion\": 1,",
        "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\", "
        "\"totalGlobalMem\": 150109880320, \"computeMajor\": 9, \"computeMinor\": 0, "
        "\"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048, "
        "\"regsPerBlock\": 65536, \"warpSize\": 32, \"sharedMemPerBlock\": 49152, \"numSms\": 132, "
        "\"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, "
        "\"sharedMemPerMultiprocessor\": 233472}],",
        "\"trace_id\": \"8DC21DDFC1D440FCBA236178DBEBAD48\",",
        "\"with_stack\": 1,",
        "\"profile_memory\": 1,",
        "\"cuda_driver_version\": 13000,",
        "\"record_shapes\": 1,",
        "\"with_modules\": 1,",
        "\"cupti_version\": 130001,",
        "\"with_flops\": 1,",
        "\"cuda_runtime_version\": 13000,",
        "\"distributedInfo\": {\"backend\": \"nccl\", "
        "\"rank\": 0, \"world_size\": 8, \"pg_count\": 1},",
        "\"displayTimeUnit\": \"ms\","};
    const bool is_minified = w->layout->item[1] == '\0';
    for (size_t i = 0; i < COUNT(lines); i++) {
        put(&w->sink, lines[i]);
        put(&w->sink, is_minified ? "" : "\n  ");
    }
    put_number(w, "", "baseTimeNanoseconds", BASE_NS);
    put(&w->sink, is_minified ? "," : ",\n  ");
    put_key(w, "traceEvents");
    put(&w->sink, is_minified ? "[" : "[\n");
}

/* One record of phase M; value is JSON text. */
static void put_metadata(struct writer *w, const char *name, uint64_t pid, uint64_t tid,
                         const char *key, const char *value)
{
    const struct layout *layout = w->layout;
    open_record(w);
    put_text(w, layout->is_uniform ? "ph" : "name", layout->is_uniform ? "M" : name);
    put(&w->sink, layout->comma);
    put_text(w, layout->is_uniform ? "name" : "ph", layout->is_uniform ? name : "M");
    put_time(w, layout->comma, "ts", START_NS);
    put_number(w, layout->comma, "pid", pid);
    put_number(w, layout->comma, "tid", tid);
    put(&w->sink, layout->meta_args);
    put_key(w, key);
    put(&w->sink, value);
    close_record(w);
}

static void put_all_metadata(struct writer *w)
{
    char value[32];
    for (uint64_t process = 0; process < 17; process++) {
        const uint64_t pid = process == 0 ? PID : process - 1;
        put_metadata(w, "process_name", pid, 0, "name", "\"python3\"");
        (void)snprintf(value, sizeof value, "\"GPU %" PRIu64 "\"", pid);
        put_metadata(w, "process_labels", pid, 0, "labels", process == 0 ? "\"CPU\"" : value);
        (void)snprintf(value, sizeof value, "%" PRIu64, process == 0 ? pid : 5000000 + pid);
        put_metadata(w, "process_sort_index", pid, 0, "sort_index", value);
    }
    put_metadata(w, "thread_name", 0, 7, "name", "\"stream 7 \"");
    put_metadata(w, "thread_sort_index", 0, 7, "sort_index", "7");
    put_metadata(w, "thread_name", 0, 30, "name", "\"stream 30 \"");
    put_metadata(w, "thread_sort_index", 0, 30, "sort_index", "30");
    put_metadata(w, "thread_name", PID, MAIN_TID, "name", "\"thread 430 (python3)\"");
    put_metadata(w, "thread_sort_index", PID, MAIN_TID, "sort_index", "430");
    put_metadata(w, "thread_name", PID, AUTOGRAD_TID, "name", "\"thread 464 (pt_autograd_0)\"");
    put_metadata(w, "thread_sort_index", PID, AUTOGRAD_TID, "sort_index", "464");
}

static void put_mark(struct writer *w, const char *name, const char *pid, const char *tid,
                     uint64_t ts_ns)
{
    const struct layout *layout = w->layout;
    open_record(w);
    if (!layout->is_uniform) {
        put_text(w, "name", name);
        put(&w->sink, layout->comma);
    }
    put_text(w, "ph", "i");
    put(&w->sink, layout->instant);
    put_text(w, "s", "g");
    put(&w->sink, layout->line);
    if (layout->is_uniform) {
        put_text(w, "name", name);
        put(&w->sink, layout->comma);
    }
    put_text(w, "pid", pid);
    put(&w->sink, layout->comma);
    put_text(w, "tid", tid);
    put_time(w, layout->comma, "ts", ts_ns);
    put(&w->sink, layout->close_bare);
}

/* The record of what was recorded, all with text for pid and tid. */
static void put_span(struct writer *w, uint64_t start_ns, uint64_t end_ns)
{
    const struct layout *layout = w->layout;
    const char *name = "PyTorch Profiler (0)";
    open_record(w);
    put_text(w, "ph", "X");
    put(&w->sink, layout->comma);
    put_text(w, "cat", "Trace");
    if (layout->is_uniform) {
        put(&w->sink, layout->comma);
        put_text(w, "name", name);
    } else {
        put_time(w, layout->comma, "ts", start_ns);
        put_time(w, layout->comma, "dur", end_ns - start_ns);
    }
    put(&w->sink, layout->line);
    put_text(w, "pid", "Spans");
    put(&w->sink, layout->comma);
    put_text(w, "tid", "PyTorch Profiler");
    if (layout->is_uniform) {
        put_time(w, layout->comma, "ts", start_ns);
        put_time(w, layout->comma, "dur", end_ns - start_ns);
    } else {
        put(&w->sink, layout->line);
        put_text(w, "name", name);
    }
    put(&w->sink, layout->args);
    put_number(w, "", "Op count", 0);
    close_record(w);
}

static void put_tail(struct writer *w, uint64_t end_ns)
{
    const struct layout *layout = w->layout;
    const uint64_t start_ns = START_NS - 500000;
    put_span(w, start_ns, end_ns);
    put_mark(w, "Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", start_ns);
    put_mark(w, "Record Window End", "", "", end_ns + 40000000);
    put(&w->sink, layout->item[1] == '\0' ? "]," : "\n  ],\n  ");
    put_text(w, "traceName", "/tmp/generated.json");
    put(&w->sink, layout->item[1] == '\0' ? "}" : "\n}");
    sink_flush(&w->sink);
}

/* ---- sections ----------------------------------------------------------------------- */

enum section { AUTOGRAD_OPS, MEMORY, MAIN_OPS, PYTHON, DEVICE, N_SECTIONS };

static enum section section_of(const struct event *event)
{
    switch (event->kind) {
    case KIND_OP:
        return event->is_autograd ? AUTOGRAD_OPS : MAIN_OPS;
    case KIND_ANNOTATION:
        return event->is_device_range ? DEVICE : MAIN_OPS;
    case KIND_PYTHON:
        return PYTHON;
    case KIND_RUNTIME:
        return DEVICE;
    case KIND_DEVICE:
        return DEVICE;
    case KIND_MEMORY:
        return MEMORY;
    }
    return N_SECTIONS;
}

static void put_event(struct writer *w, const struct event *event)
{
    switch (event->kind) {
    case KIND_OP:
        put_op(w, event);
        break;
    case KIND_ANNOTATION:
        put_annotation(w, event);
        break;
    case KIND_PYTHON:
        put_python(w, event);
        break;
    case KIND_RUNTIME:
        put_launch(w, event);
        break;
    case KIND_DEVICE:
        put_device(w, event);
        break;
    case KIND_MEMORY:
        put_memory(w, event);
        break;
    }
}

/* The number of steps whose records have at least size_bytes together. */
static uint32_t count_steps(struct run *run, struct writer w, uint64_t size_bytes)
{
    w.ev_idx = 100000;
    uint32_t n_steps = 0;
    run_begin(run);
    while (n_steps == 0 || w.sink.total + w.sink.len < size_bytes) {
        run_step(run, n_steps++);
        for (size_t i = 0; i < run->step.n; i++)
            put_event(&w, &run->step.events[i]);
    }
    return n_steps;
}

static void put_trace(struct writer *w, struct run *run, uint32_t n_steps)
{
    put_head(w);
    if (w->layout->is_uniform)
        put_all_metadata(w);
    for (int section = 0; section < N_SECTIONS; section++) {
        run_begin(run);
        for (uint32_t step = 0; step < n_steps; step++) {
            run_step(run, step);
            for (size_t i = 0; i < run->step.n; i++) {
                if (section_of(&run->step.events[i]) == (enum section)section)
                    put_event(w, &run->step.events[i]);
            }
        }
    }
    if (!w->layout->is_uniform)
        put_all_metadata(w);
    put_tail(w, run->now_ns);
}

int main(int argc, char **argv)
{
    static struct program program;
    static struct run run;
    static char buffer[SINK_BYTES];
    struct writer w = {.sink = {.buffer = buffer}, .layout = find_layout("kineto")};
    run.seed = 1;
    for (int i = 3; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            run.seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--layout") == 0)
            w.layout = find_layout(argv[i + 1]);
        else
            die("unknown option: --seed N, --layout kineto|minified|newest");
    }
    const double size_mb = argc > 2 ? strtod(argv[2], NULL) : 0.0;
    if (argc % 2 == 0 || size_mb <= 0.0)
        die("usage: generate_trace OUT.json SIZE_MB [--seed N] [--layout NAME]");

    program_init(&program);
    run.program = &program;
    run.n_layers = size_mb < 20.0 ? 1 : 12; /* a step is some 0.4 or 4 MB */
    const uint32_t n_steps = count_steps(&run, w, (uint64_t)(size_mb * 1e6));
    w.sink.file = fopen(argv[1], "wb");
    if (w.sink.file == NULL)
        die("cannot open the output file");
    put_trace(&w, &run, n_steps);
    if (fclose(w.sink.file) != 0)
        die("cannot write the trace: disk full?");
    printf("%s: %" PRIu64 " bytes, %" PRIu64 " records, %" PRIu32 " steps, layout %s, seed %" PRIu64
           "\n",
           argv[1], w.sink.total, w.sink.n_records, n_steps, w.layout->name, run.seed);
    free(run.step.events);
    return 0;
}
