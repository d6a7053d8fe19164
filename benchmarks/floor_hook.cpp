/*
 * floor_hook.cpp - the least that a hook of torch costs: a pair of empty callbacks, with inputs
 * handed over and left alone, or without; and what no recorder can do without: the same that
 * reads the clock at both ends and keeps nothing, and one that writes the clock, the pointer to
 * the name and the sizes of tensors into a small buffer of its own, which no reader could
 * use: nothing tells names that moved, types, strides, scalars or threads. bench_hooks.py compiles
 * it as the torch collector is compiled, and loads it into the process where that is measured too.
 */
#include <ATen/record_function.h>

#include <time.h>

#include <cstdint>
#include <memory>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace
{

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction &fn) noexcept
{
    (void)fn;
    return nullptr;
}

void on_end(const at::RecordFunction &fn, at::ObserverContext *unused) noexcept
{
    (void)fn;
    (void)unused;
}

/* The counter that Marey reads too, or the system's clock. */
uint64_t read_clock()
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_nsec);
#endif
}

volatile uint64_t last_clock;

constexpr size_t N_WORDS = 8192; /* the chunk of a log */
constexpr size_t MOST_WORDS = 256;
uint64_t words[N_WORDS];
size_t n_words;

/* Sizes of tensors that are there, as many as there is room for. */
uint64_t *put_sizes(uint64_t *at, const uint64_t *end, const at::RecordFunction &fn)
{
    for (const c10::IValue &value : fn.inputs()) {
        if (!value.isTensor() || !value.toTensor().defined())
            continue;
        for (const int64_t size : value.toTensor().sizes())
            if (at < end)
                *at++ = static_cast<uint64_t>(size);
    }
    return at;
}

std::unique_ptr<at::ObserverContext> on_timed_start(const at::RecordFunction &fn) noexcept
{
    (void)fn;
    last_clock = read_clock();
    return nullptr;
}

void on_timed_end(const at::RecordFunction &fn, at::ObserverContext *unused) noexcept
{
    (void)fn;
    (void)unused;
    last_clock = read_clock();
}

std::unique_ptr<at::ObserverContext> on_start_with_sizes(const at::RecordFunction &fn) noexcept
{
    if (n_words + MOST_WORDS > N_WORDS)
        n_words = 0;
    uint64_t *at = words + n_words;
    *at++ = read_clock();
    *at++ = reinterpret_cast<uint64_t>(fn.name());
    n_words = static_cast<size_t>(put_sizes(at, at + MOST_WORDS - 4, fn) - words);
    return nullptr;
}

void on_end_with_sizes(const at::RecordFunction &fn, at::ObserverContext *unused) noexcept
{
    (void)fn;
    (void)unused;
    words[n_words++] = read_clock();
}

/* floor_add's numbers. */
at::RecordFunctionCallback make_hook(int kind)
{
    if (kind == 2)
        return at::RecordFunctionCallback(on_start_with_sizes, on_end_with_sizes);
    if (kind == 1)
        return at::RecordFunctionCallback(on_timed_start, on_timed_end);
    return at::RecordFunctionCallback(on_start, on_end);
}

at::CallbackHandle the_hook = at::INVALID_CALLBACK_HANDLE;

} // namespace

extern "C" __attribute__((visibility("default"))) void floor_remove(void);
extern "C" __attribute__((visibility("default"))) void floor_add(int with_inputs, int kind);

void floor_remove(void)
{
    if (the_hook != at::INVALID_CALLBACK_HANDLE)
        at::removeCallback(the_hook);
    the_hook = at::INVALID_CALLBACK_HANDLE;
}

/* kind 0: empty; 1: reads the clock; 2: writes clock, pointer to the name and sizes. */
void floor_add(int with_inputs, int kind)
{
    floor_remove();
    the_hook = at::addGlobalCallback(make_hook(kind).needsInputs(with_inputs != 0));
}
