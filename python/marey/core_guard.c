/*
 * core_guard.c - a trace also for a process that is terminated.
 *
 * A handler of Python runs when the main thread comes back to the interpreter, which a
 * process that hangs in C never does; it would outlive the SIGTERM that is to end it, or the
 * SIGHUP of a terminal that is closed. So the
 * handler is one of C that wakes a thread of its own, and that thread writes the trace without
 * the GIL, prints the table, and then lets the signal do what it would have done. Python still
 * sees the default disposition. A program that sets its own takes the place of this one; that
 * it sets the default again is told by arm_guard, since nobody else sees it.
 *
 * Program and thread may both come to the end; the first takes the session, the other waits.
 */
#include "_core.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "marey/aggregate.h"
#include "marey/export.h"
#include "marey/intake.h"

#define PATIENCE_S 10

enum guard_state {
    GUARD_ABSENT = 0,  /* nothing is to be written */
    GUARD_ON = 1,      /* a signal writes the trace */
    GUARD_PROGRAM = 2, /* the program writes it at its end */
    GUARD_THREAD = 3,  /* the thread writes it */
    GUARD_LEFT = 4     /* it is written */
};

static struct {
    pid_t pid;                     /* of the process that is guarded, not of one that it forks */
    volatile sig_atomic_t number;  /* of the signal that came first */
    volatile sig_atomic_t is_over; /* the program has come to its end: it writes the trace */
    sem_t asked;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum guard_state state; /* under the lock */
    PyObject *holder;       /* keeps the session */
    struct marey_session *session;
    char *path;       /* of the trace */
    char *other_path; /* where there is a file of that name and it may not be overwritten */
    bool overwrite;
    long long rank; /* negative: not known */
    long long world_size;
    char *header; /* of the table; NULL: no table */
    char *name;   /* of the program that is told to have recorded nothing; NULL: none is */
    char *sort;
    long long limit;
} guard = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

static const int guarded_signals[] = {SIGTERM, SIGHUP};

/* By this thread, as the one that the signal met may be waiting in the handler. */
static void die(int number)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)signal(number, SIG_DFL);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void)kill(getpid(), number);
}

/* The program ends where the signal met it, while the trace is written. But what the thread was
 * about may be a lock that the writer needs, so there is an end to the patience. */
static void wait_for_the_end(void)
{
    const struct timespec moment = {.tv_nsec = 10000000};

    for (int i = 0; i < PATIENCE_S * 100 && guard.is_over == 0; i++)
        (void)nanosleep(&moment, NULL);
}

/* Calls only what is safe in a handler. */
static void on_signal(int number)
{
    const int error = errno;

    if (getpid() != guard.pid) {
        die(number);
    } else {
        guard.number = guard.number == 0 ? number : guard.number;
        (void)sem_post(&guard.asked);
        wait_for_the_end();
    }
    errno = error;
}

/* Not a part of its caller, which keeps a whole message too: a frame has a limit. */
__attribute__((noinline)) static void say(const char *what, const char *text, const char *end)
{
    char line[MAREY_ERROR_MESSAGE_BYTES + 64];

    (void)snprintf(line, sizeof line, "marey: terminated, %s%s%s\n", what, text, end);
    core_print_notice(line, strlen(line));
}

/* The one that the program prints at its end. */
static void print_table(struct marey_trace *trace)
{
    const struct marey_averages_options options = {.size = sizeof options, .percentiles = true};
    const struct marey_table_options layout = {
        .size = sizeof layout, .sort = guard.sort, .limit = guard.limit, .header = guard.header};
    struct marey_averages *averages = NULL;
    struct marey_text text = {0};

    if (guard.header != NULL && marey_averages_new(trace, &options, &averages, NULL) == MAREY_OK &&
        marey_table_text(averages, &layout, &text, NULL) == MAREY_OK)
        core_print_notice(text.ptr, text.len);
    marey_text_release(&text);
    marey_averages_free(averages);
}

static void write_trace(void)
{
    const struct marey_chrome_options options = {.size = sizeof options,
                                                 .overwrite = guard.overwrite};
    const struct marey_intake_options intake = {
        .size = sizeof intake,
        .rank = guard.rank,
        .world_size = guard.world_size > 0 ? guard.world_size : 0,
        .has_rank = guard.rank >= 0,
    };
    const bool is_free = guard.overwrite || access(guard.path, F_OK) != 0;
    const char *path = is_free ? guard.path : guard.other_path;
    struct marey_session_stats stats = {0};
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};

    (void)marey_session_stop(guard.session, &err);
    marey_session_get_stats(guard.session, &stats);
    if (stats.n_records == 0) {
        if (guard.name != NULL)
            say("'", guard.name, "' recorded nothing itself, and there is no trace of it");
        return;
    }
    if (marey_session_trace(guard.session, &intake, &trace, &err) == MAREY_OK &&
        marey_export_chrome(trace, path, &options, &err) == MAREY_OK) {
        print_table(trace); /* after the trace, for whoever sends SIGTERM does not wait long */
        say("wrote '", path, "'");
    } else {
        say("and no trace is written: ", err.message, "");
    }
    marey_trace_free(trace);
}

static void *guard_thread(void *unused)
{
    (void)unused;
    while (sem_wait(&guard.asked) != 0)
        ; /* interrupted */
    (void)pthread_mutex_lock(&guard.lock);
    const bool is_ours = guard.state == GUARD_ON;
    if (is_ours)
        guard.state = GUARD_THREAD;
    while (guard.state == GUARD_PROGRAM)
        (void)pthread_cond_wait(&guard.changed, &guard.lock);
    (void)pthread_mutex_unlock(&guard.lock);
    if (is_ours)
        write_trace();
    die(guard.number);
    return NULL;
}

/* Signals are left to the other threads, which the program knows. */
static int start_thread(void)
{
    pthread_t thread;
    sigset_t all;
    sigset_t former;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    const int error = pthread_create(&thread, NULL, guard_thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (error == 0)
        (void)pthread_detach(thread);
    return error;
}

/* A signal that is ignored, or that somebody handles, is none of ours. */
static int set_handler(int number)
{
    struct sigaction former;
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    (void)sigemptyset(&ours.sa_mask);
    if (sigaction(number, NULL, &former) != 0)
        return errno;
    if ((former.sa_flags & SA_SIGINFO) != 0 || former.sa_handler != SIG_DFL)
        return 0;
    return sigaction(number, &ours, NULL) != 0 ? errno : 0;
}

static int set_handlers(void)
{
    int error = 0;

    for (size_t i = 0; i < sizeof guarded_signals / sizeof guarded_signals[0] && error == 0; i++)
        error = set_handler(guarded_signals[i]);
    return error;
}

/* NULL stays NULL. */
static bool copy(char **to, const char *text)
{
    *to = text == NULL ? NULL : strdup(text);
    return text == NULL || *to != NULL;
}

/* begin_guard(session, path, other_path, overwrite, rank, world_size, header, sort, limit, name):
 * from now on a SIGTERM or SIGHUP writes the trace of the session, and prints a table if it has a
 * header, or tells that nothing was recorded if it has a name. */
PyObject *core_begin_guard(PyObject *module, PyObject *args)
{
    const struct core_state *state = PyModule_GetState(module);
    PyObject *session = NULL;
    const char *path = NULL;
    const char *other_path = NULL;
    const char *header = NULL;
    const char *sort = NULL;
    const char *name = NULL;
    int overwrite = 0;

    if (!PyArg_ParseTuple(args, "O!yypLLzzLz", state->session_type, &session, &path, &other_path,
                          &overwrite, &guard.rank, &guard.world_size, &header, &sort, &guard.limit,
                          &name))
        return NULL;
    if (guard.state != GUARD_ABSENT) {
        PyErr_SetString(PyExc_RuntimeError, "this process is guarded already");
        return NULL;
    }
    guard.overwrite = overwrite != 0;
    if (!copy(&guard.path, path) || !copy(&guard.other_path, other_path) ||
        !copy(&guard.header, header) || !copy(&guard.sort, sort) || !copy(&guard.name, name))
        return PyErr_NoMemory();
    guard.holder = Py_NewRef(session);
    guard.session = core_session_of(session);
    guard.pid = getpid();
    guard.state = GUARD_ON;
    int error = sem_init(&guard.asked, 0, 0) != 0 ? errno : start_thread();
    if (error == 0)
        error = set_handlers();
    if (error != 0) {
        errno = error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

/* arm_guard(): the program has set the default disposition. */
PyObject *core_arm_guard(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (guard.pid == getpid())
        (void)set_handlers();
    Py_RETURN_NONE;
}

/* end_guard(): True if the program writes the trace now; a signal waits for it. Does not come
 * back if a signal was first. */
PyObject *core_end_guard(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    guard.is_over = guard.pid == getpid();
    (void)pthread_mutex_lock(&guard.lock);
    while (guard.state == GUARD_THREAD) {
        Py_BEGIN_ALLOW_THREADS(void)
            pthread_cond_wait(&guard.changed, &guard.lock);
        Py_END_ALLOW_THREADS
    }
    const bool is_ours = guard.state == GUARD_ON && guard.pid == getpid();
    if (is_ours)
        guard.state = GUARD_PROGRAM;
    (void)pthread_mutex_unlock(&guard.lock);
    return PyBool_FromLong(is_ours);
}

/* leave_guard(): the trace is written. */
PyObject *core_leave_guard(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    (void)pthread_mutex_lock(&guard.lock);
    if (guard.state == GUARD_PROGRAM)
        guard.state = GUARD_LEFT;
    (void)pthread_cond_broadcast(&guard.changed);
    (void)pthread_mutex_unlock(&guard.lock);
    Py_CLEAR(guard.holder);
    Py_RETURN_NONE;
}
