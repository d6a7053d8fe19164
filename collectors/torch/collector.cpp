/*
 * collector.cpp - torch's operators and ranges -> the recorder, by a global RecordFunction hook.
 *
 * It is compiled where it runs, against the headers of the torch at hand, by
 * python/marey/_build.py: another torch has other layouts. It sees ATen/record_function.h and
 * what that includes, never torch/extension.h, and of Marey only the sink.
 *
 * The hook is global, so that it sees every thread: autograd's, a DataLoader's, plain ones of
 * Python. It never holds the GIL and must not wait for it.
 */
#include <ATen/record_function.h>
#include <torch/version.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>

#include "marey/collector.h"

#include "inputs.h"

#ifndef MAREY_BUILT_FOR
#define MAREY_BUILT_FOR "torch " TORCH_VERSION
#endif

namespace
{

/* Written under the recorder's lock before a hook is added, which publishes it to the threads
 * that find the hook: torch's own lock is between. Relaxed, since nothing else depends on it. */
std::atomic<const marey_sink *> the_sink{nullptr};

marey::TextIds the_texts;

/* Start and end are handed the same object. Objects that live at once are hundreds of bytes
 * apart, so the lowest bit is free; it keeps the token from being 0, which others use. */
uint32_t token_of(const at::RecordFunction &fn)
{
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&fn) >> 4) | 1U;
}

/* torch marks its collectives as asynchronous before they begin, and those are user scopes. Others
 * are not asked, which would be a call for each. */
uint32_t scope_of(const at::RecordFunction &fn)
{
    const uint32_t scope = static_cast<uint32_t>(fn.scope());
    const bool is_async = fn.scope() == at::RecordScope::USER_SCOPE && fn.isAsync();
    return is_async ? scope | MAREY_SCOPE_ASYNC : scope;
}

/* All of an operator but its inputs. */
inline marey_op op_of(const at::RecordFunction &fn)
{
    marey_op op;
    op.name = fn.name();
    op.sequence = fn.seqNr();
    op.forward_thread =
        fn.scope() == at::RecordScope::BACKWARD_FUNCTION ? fn.forwardThreadId() : fn.threadId();
    op.token = token_of(fn);
    op.scope = scope_of(fn);
    return op;
}

/* In a program the caches hold other things each time a hook runs, and each line of code and page
 * of it is brought anew. So the hooks lie beside each other, and what they call lies in them:
 * accessors of torch that test a kind once more are no calls and no tests then. */
#define HOOK __attribute__((hot, flatten))

HOOK std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction &fn) noexcept
{
    const marey_op op = op_of(fn);
    the_sink.load(std::memory_order_relaxed)->op_begin(&op);
    return nullptr;
}

/* Whether what lies at `at` is of the frame that the RecordFunction is a part of, or one next to
 * it. */
bool is_beside(const at::RecordFunction &fn, const void *at)
{
    constexpr uintptr_t MOST_BYTES = 2048;
    return reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(&fn) + MOST_BYTES <
           2 * MOST_BYTES;
}

/* The stack of an interpreter, which lies on the heap, may hold more than the arguments; they are
 * the last ones. Who calls an operator from C++ lays out just the arguments, beside the
 * RecordFunction. How many there are is not asked for then: it is told by the operator's schema,
 * which is in none of the caches. */
marey::Inputs arguments(const at::RecordFunction &fn)
{
    const marey::Inputs stack = fn.inputs();
    if (is_beside(fn, stack.data()))
        return stack;
    const size_t n = fn.num_inputs();
    return n < stack.size() ? marey::Inputs(stack.end() - n, n) : stack;
}

HOOK std::unique_ptr<at::ObserverContext>
on_start_with_inputs(const at::RecordFunction &fn) noexcept
{
    const marey_sink *const sink = the_sink.load(std::memory_order_relaxed);
    const marey_op op = op_of(fn);
    uint64_t *const words = sink->op_open(&op);
    if (words == nullptr)
        return nullptr;
    sink->op_close(words, marey::write_inputs(sink, &the_texts, words, arguments(fn)));
    return nullptr;
}

HOOK void on_end(const at::RecordFunction &fn, at::ObserverContext *unused) noexcept
{
    (void)unused;
    the_sink.load(std::memory_order_relaxed)->op_end(token_of(fn));
}

/* Of all scopes, or of what the program marks itself if no operator is wanted. */
at::RecordFunctionCallback make_hook(uint32_t wants)
{
    const bool with_inputs = (wants & MAREY_WANT_INPUTS) != 0;
    at::RecordFunctionCallback hook(with_inputs ? on_start_with_inputs : on_start, on_end);
    hook.needsInputs(with_inputs);
    if ((wants & MAREY_WANT_OPS) == 0)
        hook.scopes({at::RecordScope::USER_SCOPE});
    return hook;
}

constexpr uint32_t WANTS_A_HOOK = MAREY_WANT_OPS | MAREY_WANT_RANGES;
constexpr uint32_t CHANGES_A_HOOK = WANTS_A_HOOK | MAREY_WANT_INPUTS;

/* Under the recorder's lock. */
at::CallbackHandle the_hook = at::INVALID_CALLBACK_HANDLE;
uint32_t the_wants = 0;

void remove_hook()
{
    if (the_hook != at::INVALID_CALLBACK_HANDLE)
        at::removeCallback(the_hook);
    the_hook = at::INVALID_CALLBACK_HANDLE;
    the_wants = 0;
}

/* There is no exchange of one hook for another. The old one goes first: operators that begin
 * in between, a microsecond or so, are not seen; with both in place they would be twice. */
void set_hook(const marey_sink *sink, uint32_t wants)
{
    wants &= CHANGES_A_HOOK;
    if ((wants & WANTS_A_HOOK) == 0)
        wants = 0;
    if (wants == the_wants && sink == the_sink.load(std::memory_order_relaxed))
        return;

    remove_hook();
    if (wants == 0)
        return;
    if (the_sink.exchange(sink, std::memory_order_relaxed) != sink)
        the_texts.forget();
    the_hook = at::addGlobalCallback(make_hook(wants));
    the_wants = wants;
}

void say(char *why, size_t why_bytes, const char *text)
{
    if (why != nullptr && why_bytes > 0)
        std::snprintf(why, why_bytes, "%s", text);
}

/* That it was loaded at all means that torch's libraries are there; that they are the ones
 * which it was built for is compared before loading, by its name. */
int probe(char *why, size_t why_bytes)
{
    say(why, why_bytes, "");
    return 0;
}

int update(const marey_sink *sink, uint32_t wants, char *why, size_t why_bytes)
{
    try {
        if (wants != 0 &&
            (sink == nullptr || sink->version != MAREY_SINK_VERSION || sink->size < sizeof *sink)) {
            say(why, why_bytes,
                "the recorder is of another version than the torch collector, build it anew with "
                "'marey doctor --build'");
            return -1;
        }
        set_hook(sink, wants);
        return 0;
    } catch (const std::exception &error) {
        say(why, why_bytes, error.what());
    } catch (...) {
        say(why, why_bytes, "torch threw something that is no exception of the standard library");
    }
    return -1;
}

const marey_collector self = {MAREY_SINK_VERSION, sizeof self, "torch",
                              MAREY_BUILT_FOR,    probe,       update};

} // namespace

extern "C" __attribute__((visibility("default"))) const marey_collector *marey_collector(void);

const struct marey_collector *marey_collector(void)
{
    return &self;
}
