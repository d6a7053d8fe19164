/*
 * floor_hook.cpp - the least that a hook of torch costs: a pair of empty callbacks, with inputs
 * handed over and left alone, or without. bench_hooks.py compiles it as the torch collector is
 * compiled, and loads it into the process where that is measured too.
 */
#include <ATen/record_function.h>

#include <memory>

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

at::CallbackHandle the_hook = at::INVALID_CALLBACK_HANDLE;

} // namespace

extern "C" __attribute__((visibility("default"))) void floor_remove(void);
extern "C" __attribute__((visibility("default"))) void floor_add(int with_inputs);

void floor_remove(void)
{
    if (the_hook != at::INVALID_CALLBACK_HANDLE)
        at::removeCallback(the_hook);
    the_hook = at::INVALID_CALLBACK_HANDLE;
}

void floor_add(int with_inputs)
{
    floor_remove();
    the_hook = at::addGlobalCallback(
        at::RecordFunctionCallback(on_start, on_end).needsInputs(with_inputs != 0));
}
