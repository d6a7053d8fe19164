/*
 * clock.c - is the time stamp counter to be trusted, and where is it on the system's clock.
 */
#include "base/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define N_BRACKETS 64

#if defined(__x86_64__)
/* CPUID 8000_0007h, EDX bit 8: the counter runs at one rate in all states. */
static bool is_invariant(void)
{
    unsigned int eax = 0;
    unsigned int ebx = 0;
    unsigned int ecx = 0;
    unsigned int edx = 0;

    return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & 1U << 8) != 0;
}

/* The kernel leaves the counter when it finds it unsteady or out of step between cores. */
static bool is_kernel_clock(void)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char name[16] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    const ssize_t n = read(fd, name, sizeof name - 1);
    (void)close(fd);
    return n > 0 && strncmp(name, "tsc\n", 4) == 0;
}

bool marey__clock_has_tsc(void)
{
    return is_invariant() && is_kernel_clock();
}
#else
bool marey__clock_has_tsc(void)
{
    return false;
}
#endif

struct marey_clock_pair marey__clock_pair(bool is_tsc)
{
    struct marey_clock_pair best = {0};
    int64_t best_ns = INT64_MAX;

    for (int i = 0; i < N_BRACKETS; i++) {
        const int64_t before_ns = marey__clock_system_ns(CLOCK_MONOTONIC);
        const uint64_t before = marey__clock_ticks(is_tsc);
        const int64_t monotonic_ns = marey__clock_system_ns(CLOCK_MONOTONIC);
        const int64_t epoch_ns = marey__clock_system_ns(CLOCK_REALTIME);
        const uint64_t after = marey__clock_ticks(is_tsc);
        const int64_t after_ns = marey__clock_system_ns(CLOCK_MONOTONIC);
        /* Not by ticks: who is preempted outside of them would seem sure, and tell a wide bound. */
        const int64_t width_ns = after_ns - before_ns;
        if (after < before || width_ns >= best_ns)
            continue;
        best_ns = width_ns;
        best = (struct marey_clock_pair){
            .ticks = before + (after - before) / 2,
            .monotonic_ns = monotonic_ns,
            .epoch_ns = epoch_ns,
            .width_ns = width_ns,
        };
    }
    return best;
}

struct marey_clock_line marey__clock_line(const struct marey_clock_pair *from,
                                          const struct marey_clock_pair *to)
{
    struct marey_clock_line line = {
        .ticks = from->ticks,
        .epoch_ns = from->epoch_ns,
        .ns_per_tick = UINT64_C(1) << MAREY_CLOCK_SHIFT,
    };
    const int64_t ns = to->monotonic_ns - from->monotonic_ns;

    if (to->ticks > from->ticks && ns > 0)
        line.ns_per_tick =
            (uint64_t)(((marey_wide)(uint64_t)ns << MAREY_CLOCK_SHIFT) / (to->ticks - from->ticks));
    return line;
}
