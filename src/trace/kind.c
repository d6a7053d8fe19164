/*
 * kind.c - what the categories of files mean.
 *
 * One table for all ages of Kineto: today's names, those of 2021 (capitalised) and the
 * names of other back ends. Compared without regard to case. Adding one: a row here.
 */
#include "base/str.h"
#include "trace/model.h"

static const struct {
    const char *text;
    enum marey_kind kind;
} category_table[] = {
    {"cpu_op", MAREY_KIND_OP},
    {"operator", MAREY_KIND_OP},
    {"hpu_op", MAREY_KIND_OP},
    {"user_annotation", MAREY_KIND_ANNOTATION},
    {"user annotation", MAREY_KIND_ANNOTATION},
    {"python_function", MAREY_KIND_PYTHON},
    {"python", MAREY_KIND_PYTHON},
    {"cuda_runtime", MAREY_KIND_RUNTIME},
    {"runtime", MAREY_KIND_RUNTIME},
    {"hip_runtime", MAREY_KIND_RUNTIME},
    {"xpu_runtime", MAREY_KIND_RUNTIME},
    {"mtia_runtime", MAREY_KIND_RUNTIME},
    {"glow_runtime", MAREY_KIND_RUNTIME},
    {"privateuse1_runtime", MAREY_KIND_RUNTIME},
    {"cuda_driver", MAREY_KIND_DRIVER},
    {"xpu_driver", MAREY_KIND_DRIVER},
    {"privateuse1_driver", MAREY_KIND_DRIVER},
    {"kernel", MAREY_KIND_KERNEL},
    {"gpu_memcpy", MAREY_KIND_MEMCPY},
    {"memcpy", MAREY_KIND_MEMCPY},
    {"gpu_memset", MAREY_KIND_MEMSET},
    {"memset", MAREY_KIND_MEMSET},
    {"gpu_user_annotation", MAREY_KIND_DEVICE_ANNOTATION},
    {"cuda_sync", MAREY_KIND_SYNC},
    {"xpu_sync", MAREY_KIND_SYNC},
    {"cuda_event", MAREY_KIND_DEVICE_EVENT},
    {"overhead", MAREY_KIND_OVERHEAD},
    {"cpu_instant_event", MAREY_KIND_MEMORY},
    {"hardware_counters", MAREY_KIND_COUNTER},
    {"mtia_counters", MAREY_KIND_COUNTER},
    {"xpu_scope_profiler", MAREY_KIND_COUNTER},
    {"trace", MAREY_KIND_WINDOW},
    {"ac2g", MAREY_KIND_FLOW},
    {"fwdbwd", MAREY_KIND_FLOW},
    {"async", MAREY_KIND_FLOW},
    {"async_gpu", MAREY_KIND_FLOW},
    {"async_cpu_to_gpu", MAREY_KIND_FLOW},
    {"forward_backward", MAREY_KIND_FLOW},
};

static const char *const kind_names[MAREY_N_KINDS] = {
    [MAREY_KIND_OTHER] = "other",
    [MAREY_KIND_OP] = "op",
    [MAREY_KIND_ANNOTATION] = "annotation",
    [MAREY_KIND_PYTHON] = "python",
    [MAREY_KIND_RUNTIME] = "runtime",
    [MAREY_KIND_DRIVER] = "driver",
    [MAREY_KIND_KERNEL] = "kernel",
    [MAREY_KIND_MEMCPY] = "memcpy",
    [MAREY_KIND_MEMSET] = "memset",
    [MAREY_KIND_DEVICE_ANNOTATION] = "device annotation",
    [MAREY_KIND_SYNC] = "sync",
    [MAREY_KIND_DEVICE_EVENT] = "device event",
    [MAREY_KIND_OVERHEAD] = "overhead",
    [MAREY_KIND_MEMORY] = "memory",
    [MAREY_KIND_COUNTER] = "counter",
    [MAREY_KIND_WINDOW] = "window",
    [MAREY_KIND_FLOW] = "flow",
};

enum marey_kind marey__kind_of_category(struct marey_str text)
{
    for (size_t i = 0; i < sizeof category_table / sizeof category_table[0]; i++)
        if (marey__str_is_caseless(text, category_table[i].text))
            return category_table[i].kind;
    return MAREY_KIND_OTHER;
}

uint8_t marey__kind_rank(enum marey_kind kind)
{
    if (kind == MAREY_KIND_WINDOW)
        return 0;
    if (kind == MAREY_KIND_ANNOTATION)
        return 1;
    if (kind == MAREY_KIND_PYTHON)
        return 2;
    return kind == MAREY_KIND_RUNTIME || kind == MAREY_KIND_DRIVER ? 4 : 3;
}

const char *marey__category_of_kind(enum marey_kind kind)
{
    for (size_t i = 0; i < sizeof category_table / sizeof category_table[0]; i++)
        if (category_table[i].kind == kind)
            return category_table[i].text;
    return "other";
}

/* What torch itself marks by record_function. */
static const char *const mark_prefixes[] = {
    "ProfilerStep#",        "enumerate(DataLoader)#",          "Optimizer.step#",
    "Optimizer.zero_grad#", "DistributedDataParallel.forward",
};

bool marey__name_is_mark(struct marey_str name)
{
    for (size_t i = 0; i < sizeof mark_prefixes / sizeof mark_prefixes[0]; i++)
        if (marey__str_starts(name, mark_prefixes[i]))
            return true;
    return false;
}

const char *marey_kind_name(enum marey_kind kind)
{
    return (unsigned)kind < MAREY_N_KINDS ? kind_names[kind] : "other";
}

bool marey_kind_is_device_operation(enum marey_kind kind)
{
    return kind == MAREY_KIND_KERNEL || kind == MAREY_KIND_MEMCPY || kind == MAREY_KIND_MEMSET;
}
