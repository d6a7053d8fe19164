/*
 * count_asked.c - counts allocations by standing in for malloc, calls by a seccomp filter, and
 * faults by getrusage.
 *
 * The filter raises SIGSYS in place of each call; the handler counts it and the call returns
 * without having been made. Filters cannot be taken off a thread, hence a child process with a
 * thread for the work; the child's first thread stays free to look at the outcome.
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "count_asked.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_S 120 /* a child that hangs ends then */

/* ---- allocations ------------------------------------------------------------------------ */

/* Seen by the shared libraries of the program too. */
#define INTERPOSED __attribute__((visibility("default")))

/* What glibc itself calls them. */
extern void *__libc_malloc(size_t size_bytes);
extern void *__libc_calloc(size_t n, size_t size_bytes);
extern void *__libc_realloc(void *ptr, size_t size_bytes);
extern void *__libc_memalign(size_t alignment, size_t size_bytes);
extern void __libc_free(void *ptr);

static _Thread_local uint64_t n_allocations;

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's are reserved */

INTERPOSED void *malloc(size_t size_bytes)
{
    n_allocations++;
    return __libc_malloc(size_bytes);
}

INTERPOSED void *calloc(size_t n, size_t size_bytes)
{
    n_allocations++;
    return __libc_calloc(n, size_bytes);
}

INTERPOSED void *realloc(void *ptr, size_t size_bytes)
{
    n_allocations++;
    return __libc_realloc(ptr, size_bytes);
}

INTERPOSED void *aligned_alloc(size_t alignment, size_t size_bytes)
{
    n_allocations++;
    return __libc_memalign(alignment, size_bytes);
}

INTERPOSED int posix_memalign(void **ptr, size_t alignment, size_t size_bytes)
{
    n_allocations++;
    void *made = __libc_memalign(alignment, size_bytes);
    if (made == NULL)
        return ENOMEM;
    *ptr = made;
    return 0;
}

INTERPOSED void free(void *ptr)
{
    n_allocations++;
    __libc_free(ptr);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* ---- calls ---------------------------------------------------------------------------------- */

/* Of the child: what the handler writes. */
static volatile sig_atomic_t n_trapped;
static volatile sig_atomic_t first_trapped;

static void on_call(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    if (n_trapped == 0)
        first_trapped = info->si_syscall;
    n_trapped++;
}

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Traps the calls of this thread but for those that the counting itself needs. */
static bool trap_calls(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_getrusage),
        ALLOW(SYS_ppoll),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const struct sock_fprog program = {.len = sizeof rules / sizeof rules[0], .filter = rules};
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};

    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static uint64_t n_faults(void)
{
    struct rusage usage = {0};

    (void)getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* ---- the child --------------------------------------------------------------------------------
 */

/* Shared by both processes. */
struct shared {
    struct asked asked;
    _Atomic(bool) is_refused;
    _Atomic(bool) is_counted; /* release: what was counted; acquire by who waits for it */
    bool is_done;
};

struct task {
    const struct asked_work *work;
    struct shared *shared;
};

/* Ends with its process: to end by itself a thread would have to call the system. */
static void *run_task(void *ptr)
{
    const struct task *task = ptr;
    struct asked *asked = &task->shared->asked;

    if (task->work->prepare != NULL)
        task->work->prepare(task->work->ctx);
    if (!trap_calls()) {
        atomic_store_explicit(&task->shared->is_refused, true, memory_order_release);
        return NULL;
    }
    const uint64_t faults_before = n_faults();
    const uint64_t allocations_before = n_allocations;
    task->work->run(task->work->ctx);
    asked->n_allocations = n_allocations - allocations_before;
    asked->n_faults = n_faults() - faults_before;
    asked->n_calls = (uint64_t)n_trapped;
    asked->first_call = n_trapped > 0 ? (int64_t)first_trapped : -1;
    atomic_store_explicit(&task->shared->is_counted, true, memory_order_release);
    for (;;)
        (void)ppoll(NULL, 0, NULL, NULL);
}

static bool is_over(struct shared *shared)
{
    return atomic_load_explicit(&shared->is_counted, memory_order_acquire) ||
           atomic_load_explicit(&shared->is_refused, memory_order_acquire);
}

static _Noreturn void be_child(struct task *task)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    pthread_t thread;

    (void)alarm(LONGEST_S);
    if (pthread_create(&thread, NULL, run_task, task) != 0)
        _exit(1);
    while (!is_over(task->shared))
        (void)nanosleep(&nap, NULL);
    if (task->work->finish != NULL)
        task->shared->asked.result = task->work->finish(task->work->ctx);
    task->shared->is_done = true;
    _exit(0);
}

enum asked_outcome count_asked(const struct asked_work *work, struct asked *asked)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return ASKED_FAILED;

    struct task task = {work, shared};
    enum asked_outcome outcome = ASKED_FAILED;
    const pid_t child = fork();
    if (child == 0)
        be_child(&task);
    if (child > 0 && waitpid(child, NULL, 0) == child && shared->is_done)
        outcome = shared->is_refused ? ASKED_REFUSED : ASKED_COUNTED;
    if (outcome == ASKED_COUNTED)
        *asked = shared->asked;
    (void)munmap(shared, sizeof *shared);
    return outcome;
}
