/*
 * floor_hook.cpp - the least that a hook of torch costs: a pair of empty callbacks, with inputs
 * handed over and left alone, or without; and what no recorder can do without: the same that
 * reads the clock at both ends and keeps nothing. bench_hooks.py compiles it as the torch
 * collector is compiled, and loads it into the process where that is measured too.
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
void read_clock()
{
#if defined(__x86_64__)
    volatile uint64_t ticks = __rdtsc();
    (void)ticks;
#else
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
#endif
}

std::unique_ptr<at::ObserverContext> on_timed_start(const at::RecordFunction &fn) noexcept
{
    (void)fn;
    read_clock();
    return nullptr;
}

void on_timed_end(const at::RecordFunction &fn, at::ObserverContext *unused) noexcept
{
    (void)fn;
    (void)unused;
    read_clock();
}

at::CallbackHandle the_hook = at::INVALID_CALLBACK_HANDLE;

} // namespace

extern "C" __attribute__((visibility("default"))) void floor_remove(void);
extern "C" __attribute__((visibility("default"))) void floor_add(int with_inputs, int with_clock);

void floor_remove(void)
{
    if (the_hook != at::INVALID_CALLBACK_HANDLE)
        at::removeCallback(the_hook);
    the_hook = at::INVALID_CALLBACK_HANDLE;
}

void floor_add(int with_inputs, int with_clock)
{
    floor_remove();
    at::RecordFunctionCallback hook = with_clock != 0
                                          ? at::RecordFunctionCallback(on_timed_start, on_timed_end)
                                          : at::RecordFunctionCallback(on_start, on_end);
    the_hook = at::addGlobalCallback(hook.needsInputs(with_inputs != 0));
}
