/*
 * core_stack.c - whether the C stack has room for one more call.
 *
 * A decorated function is C between two functions of Python, so that recursion through it
 * takes C stack, which Python up to 3.11 does not watch: a program that has raised the
 * recursion limit would crash where it did not without us. What is deeper than all before is
 * measured in strides, so that the usual call is one comparison.
 */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "_core.h"

#include <pthread.h>

#define STRIDE_BYTES ((uintptr_t)16 << 10)
#define SPARE_BYTES ((uintptr_t)256 << 10)

struct stack {
    uintptr_t low;
    uintptr_t size_bytes; /* 0: not known */
};

static _Thread_local struct stack stack;
static _Thread_local bool is_measured;
static _Thread_local uintptr_t has_room_to = UINTPTR_MAX; /* down to this address */

static void measure(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size_bytes = 0;

    is_measured = true;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &size_bytes) == 0)
        stack = (struct stack){(uintptr_t)low, size_bytes};
    (void)pthread_attr_destroy(&attributes);
}

/* Elsewhere than on the thread's own stack, as in a coroutine of C, nothing is known. */
static bool has_room_at(uintptr_t at)
{
    if (!is_measured)
        measure();
    const uintptr_t left_bytes = at - stack.low;
    if (at < stack.low || left_bytes >= stack.size_bytes)
        return true;
    const uintptr_t spare_bytes =
        stack.size_bytes / 4 < SPARE_BYTES ? stack.size_bytes / 4 : SPARE_BYTES;
    if (left_bytes < spare_bytes)
        return false;
    const uintptr_t step = left_bytes - spare_bytes;
    has_room_to = at - (step < STRIDE_BYTES ? step : STRIDE_BYTES);
    return true;
}

bool core_stack_has_room(void)
{
    const char here = 0;
    const uintptr_t at = (uintptr_t)&here;

    if (at >= has_room_to)
        return true;
    if (has_room_to == UINTPTR_MAX) { /* the first call of a thread measures nothing */
        has_room_to = at - STRIDE_BYTES;
        return true;
    }
    if (has_room_at(at))
        return true;
    PyErr_SetString(PyExc_RecursionError,
                    "maximum recursion depth exceeded, the C stack of the thread is full");
    return false;
}
