/*
 * recorder.c - threads come and go, hooks follow what is wanted.
 */
#define _GNU_SOURCE /* names of threads and of the process */
#include "record/recorder.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "record/session.h"
#include "record/tls.h"

struct marey_log marey__no_log = {.is_busy = true};
_Thread_local struct marey_log *marey__log __attribute__((tls_model("initial-exec"))) =
    &marey__no_log;

/* Set while this thread's log is made, so that a signal handler does not make another. */
static _Thread_local volatile bool is_registering __attribute__((tls_model("initial-exec")));

/* How often the destructor below ran on this thread. */
static _Thread_local volatile uint32_t n_ends __attribute__((tls_model("initial-exec")));

/* A thread's destructors run in rounds, as long as one of them sets its key again. The log ends in
 * the second: what others record in the first is kept. Later records are dropped and counted: a
 * log that was made for them might never end. */
#define LAST_ROUND 2

struct marey_recorder marey__recorder = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .sites = {.lock = PTHREAD_MUTEX_INITIALIZER},
    .feeder_wakes = PTHREAD_COND_INITIALIZER,
    .once = PTHREAD_ONCE_INIT,
};

/* Release pairs with the acquire of marey__recorder_recycle: what the thread wrote is whole. */
static void at_end_of_thread(void *ptr)
{
    struct marey_log *log = ptr;

    if (++n_ends < LAST_ROUND && pthread_setspecific(marey__recorder.end_of_thread, log) == 0)
        return;
    n_ends = LAST_ROUND;
    marey__log = &marey__no_log;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&log->has_ended, true, memory_order_release);
}

static void prepare_process(void)
{
    (void)pthread_key_create(&marey__recorder.end_of_thread, at_end_of_thread);
    marey__fork_prepare_process();
}

void marey__recorder_lock(void)
{
    (void)pthread_once(&marey__recorder.once, prepare_process);
    (void)pthread_mutex_lock(&marey__recorder.lock);
}

void marey__recorder_unlock(void)
{
    (void)pthread_mutex_unlock(&marey__recorder.lock);
}

/* ---- threads ----------------------------------------------------------------------- */

struct marey_log *marey__recorder_register(void)
{
    const struct marey_alloc alloc = marey__alloc_default();

    if (marey__log != &marey__no_log || is_registering || n_ends >= LAST_ROUND)
        return NULL;
    is_registering = true;
    atomic_signal_fence(memory_order_seq_cst);

    struct marey_log *log = marey__alloc_zero(&alloc, 1, sizeof *log);
    if (log != NULL) {
        log->thread_id = (int64_t)syscall(SYS_gettid);
        (void)pthread_getname_np(pthread_self(), log->name, sizeof log->name);
        marey__recorder_lock();
        log->serial = ++marey__recorder.n_logs;
        log->next = marey__recorder.logs;
        marey__recorder.logs = log;
        marey__recorder_unlock();
        (void)pthread_setspecific(marey__recorder.end_of_thread, log);
        marey__log = log;
    }
    atomic_signal_fence(memory_order_seq_cst);
    is_registering = false;
    return log;
}

void marey__recorder_forget_thread(void)
{
    marey__log = &marey__no_log;
    n_ends = 0;
    (void)pthread_setspecific(marey__recorder.end_of_thread, NULL);
}

void marey_thread_name(struct marey_str name)
{
    struct marey_log *log = marey__log;
    size_t len = name.len < MAREY_THREAD_NAME_BYTES ? name.len : MAREY_THREAD_NAME_BYTES - 1;

    if (log == &marey__no_log)
        log = marey__recorder_register();
    if (log == NULL)
        return;
    while (len < name.len && len > 0 && (name.ptr[len] & 0xc0) == 0x80)
        len--; /* no half of a character */
    marey__recorder_lock();
    memset(log->name, 0, sizeof log->name);
    if (len > 0)
        memcpy(log->name, name.ptr, len);
    marey__recorder_unlock();
}

/* ---- names, for readers --------------------------------------------------------------- */

/* The log of a thread that has none is busy already. */
static bool guard_thread(void)
{
    if (marey__log->is_busy)
        return false;
    marey__log->is_busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static void leave_thread(bool is_guarded)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (is_guarded)
        marey__log->is_busy = false;
}

struct marey_str marey__recorder_text(uint32_t site_id, uint32_t *scope)
{
    const bool is_guarded = guard_thread();
    const struct marey_str text = marey__sites_text(&marey__recorder.sites, site_id, scope);

    leave_thread(is_guarded);
    return text;
}

uint32_t marey__recorder_n_sites(void)
{
    const bool is_guarded = guard_thread();
    const uint32_t n = marey__sites_count(&marey__recorder.sites);

    leave_thread(is_guarded);
    return n;
}

/* ---- hooks ---------------------------------------------------------------------------- */

static bool tell(struct marey_loaded_collector *loaded, uint32_t wants, char *why, size_t why_bytes)
{
    if (loaded->wants == wants)
        return true;
    if (loaded->collector->update(marey_recorder_sink(), wants, why, why_bytes) != 0)
        return false;
    loaded->wants = wants;
    return true;
}

/* With the bits that follow from them, so that a record tests one. */
static uint32_t complete_wants(uint32_t wants, bool is_tsc)
{
    if (wants == 0 || !is_tsc)
        return wants;
    wants |= MAREY_HAS_TSC;
    if ((wants & MAREY_WANT_CPU) == 0) {
        wants |= (wants & MAREY_WANT_RANGES) != 0 ? MAREY_SHORT_RANGES : 0;
        wants |= (wants & MAREY_WANTS_OP) != 0 ? MAREY_SHORT_OPS : 0;
    }
    return wants;
}

/* Release pairs with the acquire of wants_now. */
static void store_wants(struct marey_recorder *recorder, uint32_t wants)
{
    atomic_store_explicit(&recorder->wants, complete_wants(wants, recorder->is_tsc),
                          memory_order_release);
}

/* A want is set before the hooks come and taken away after they went. */
enum marey_status marey__recorder_set_wants(uint32_t wants, struct marey_error *err)
{
    struct marey_recorder *recorder = &marey__recorder;
    const uint32_t former = marey__recorder_wants();
    char why[MAREY_ERROR_MESSAGE_BYTES / 2] = "";

    store_wants(recorder, former | wants);
    for (uint32_t i = 0; i < recorder->n_collectors; i++) {
        if (tell(&recorder->collector[i], wants, why, sizeof why))
            continue;
        char unused[sizeof why] = "";
        for (uint32_t k = 0; k <= i; k++)
            (void)tell(&recorder->collector[k], former, unused, sizeof unused);
        store_wants(recorder, former);
        return marey__fail(err, MAREY_UNSUPPORTED, "cannot record with '%s': %s",
                           recorder->collector[i].collector->name, why);
    }
    store_wants(recorder, wants);
    return MAREY_OK;
}

uint32_t marey__recorder_wants(void)
{
    return atomic_load_explicit(&marey__recorder.wants, memory_order_relaxed) &
           ~(uint32_t)MAREY_TOLD_WANTS;
}
