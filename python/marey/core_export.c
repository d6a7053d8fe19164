/*
 * core_export.c - Trace.export_chrome, and the Watch: who watches how far an export is, ends it,
 * and tells it on a terminal.
 *
 * The export runs without the GIL, for seconds; the library calls on_block between its blocks.
 * What is written to the Watch there and read under the GIL is atomic; nothing else of it
 * changes while an export runs. Relaxed order is enough: the numbers order nothing but themselves.
 */
#include "_core.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 160
#define NS_PER_S 1000000000
#define BETWEEN_LINES_NS 100000000

struct core_watch {
    PyObject_HEAD _Atomic(uint64_t) n_done;
    _Atomic(uint64_t) n_all;
    atomic_bool is_cancelled;
    int64_t deadline_ns;  /* CLOCK_MONOTONIC; INT64_MAX: none */
    int64_t next_line_ns; /* INT64_MAX: nothing is told */
    int terminal;         /* descriptor */
    bool has_line;        /* on the terminal, to be wiped */
    bool is_late;         /* it was ended by the deadline */
    char label[LINE_BYTES / 2];
};

static int64_t now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* ---- the terminal ------------------------------------------------------------------ */

/* A terminal that takes nothing is not waited for. */
static void put(const struct core_watch *watch, const char *text, size_t len)
{
    if (write(watch->terminal, text, len) < 0 && errno == EINTR)
        (void)!write(watch->terminal, text, len);
}

static void show_line(struct core_watch *watch, uint64_t n_done, uint64_t n_all)
{
    char line[LINE_BYTES];
    const unsigned percent = n_all == 0 ? 0 : (unsigned)(100.0 * (double)n_done / (double)n_all);
    const int len =
        snprintf(line, sizeof line, "\r\033[Kmarey: writing %s, %u %%", watch->label, percent);
    if (len > 0)
        put(watch, line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1);
    watch->has_line = true;
}

static void wipe_line(struct core_watch *watch)
{
    static const char wipe[] = "\r\033[K";
    if (watch->has_line)
        put(watch, wipe, sizeof wipe - 1);
    watch->has_line = false;
}

/* ---- between two blocks -------------------------------------------------------------- */

static enum marey_status stop(struct marey_error *err, const char *why)
{
    err->status = MAREY_LIMIT;
    err->offset_bytes = MAREY_UNKNOWN;
    (void)snprintf(err->message, sizeof err->message, "%s", why);
    return MAREY_LIMIT;
}

static enum marey_status on_block(void *ctx, uint64_t n_done, uint64_t n_all,
                                  struct marey_error *err)
{
    struct core_watch *watch = ctx;
    const int64_t now = now_ns();

    atomic_store_explicit(&watch->n_all, n_all, memory_order_relaxed);
    atomic_store_explicit(&watch->n_done, n_done, memory_order_relaxed);
    if (atomic_load_explicit(&watch->is_cancelled, memory_order_relaxed))
        return stop(err, "cancelled");
    if (now >= watch->deadline_ns) {
        watch->is_late = true;
        return stop(err, "late");
    }
    if (now >= watch->next_line_ns) {
        show_line(watch, n_done, n_all);
        watch->next_line_ns = now + BETWEEN_LINES_NS;
    }
    return MAREY_OK;
}

/* ---- the export ---------------------------------------------------------------------- */

static PyObject *raise_stopped(PyObject *self, const struct core_watch *watch, PyObject *path)
{
    PyObject *name = PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(path));
    if (name == NULL)
        return NULL;
    if (watch->is_late)
        PyErr_Format(PyExc_TimeoutError,
                     "cannot write '%U' in time: the deadline has passed, nothing of it was left;"
                     " allow more seconds in timeout_s",
                     name);
    else
        PyErr_Format(core_state_of(self)->error, "cannot write '%U': the export was cancelled",
                     name);
    Py_DECREF(name);
    return NULL;
}

/* export_chrome(path, overwrite, omit_args, compression, repair, scrub, watch) */
PyObject *core_trace_export_chrome(PyObject *self, PyObject *args)
{
    const struct core_state *state = core_state_of(self);
    struct marey_error err = {0};
    struct marey_chrome_options options = {.size = sizeof options};
    PyObject *path = NULL;
    PyObject *object = NULL;
    int overwrite = 0;
    int omit_args = 0;
    int repair = 0;
    int scrub = 0;
    enum marey_status status;

    if (!PyArg_ParseTuple(args, "O&ppi|ppO!", PyUnicode_FSConverter, &path, &overwrite, &omit_args,
                          &options.compression, &repair, &scrub, state->watch_type, &object))
        return NULL;
    struct core_watch *watch = (struct core_watch *)object;
    options.overwrite = overwrite != 0;
    options.omit_args = omit_args != 0;
    options.repair = repair != 0;
    options.scrub = scrub != 0;
    options.progress = watch == NULL ? NULL : on_block;
    options.progress_ctx = watch;

    Py_BEGIN_ALLOW_THREADS
        status = marey_export_chrome(core_trace_of(self), PyBytes_AS_STRING(path), &options, &err);
        if (watch != NULL)
            wipe_line(watch);
    Py_END_ALLOW_THREADS

    PyObject *result = NULL;
    if (status == MAREY_OK)
        result = Py_NewRef(Py_None);
    else if (status == MAREY_LIMIT && watch != NULL && (watch->is_late || watch->is_cancelled))
        raise_stopped(self, watch, path);
    else
        core_raise(state, &err);
    Py_DECREF(path);
    return result;
}

/* ---- the Watch ------------------------------------------------------------------------- */

/* Watch(label, timeout_s, terminal, quiet_s): a timeout below 0 is none, and a terminal is the
 * descriptor of one, -1 for none, on which nothing is told before quiet_s. For one export. */
static PyObject *watch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"label", "timeout_s", "terminal", "quiet_s", NULL};
    const char *label = NULL;
    double timeout_s = 0;
    double quiet_s = 0;
    int terminal = -1;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sdid", names, &label, &timeout_s, &terminal,
                                     &quiet_s))
        return NULL;
    struct core_watch *watch = (struct core_watch *)type->tp_alloc(type, 0);
    if (watch == NULL)
        return NULL;
    const double most_s = 1e9; /* decades; what is more is no deadline */
    watch->deadline_ns = timeout_s >= 0 && timeout_s < most_s
                             ? now_ns() + (int64_t)(timeout_s * NS_PER_S)
                             : INT64_MAX;
    watch->next_line_ns = terminal >= 0 ? now_ns() + (int64_t)(quiet_s * NS_PER_S) : INT64_MAX;
    watch->terminal = terminal;
    (void)snprintf(watch->label, sizeof watch->label, "%s", label);
    return (PyObject *)watch;
}

static PyObject *watch_cancel(PyObject *self, PyObject *unused)
{
    (void)unused;
    atomic_store_explicit(&((struct core_watch *)self)->is_cancelled, true, memory_order_relaxed);
    Py_RETURN_NONE;
}

/* counts(): records done and all of them; 0 of 0 before it has begun. */
static PyObject *watch_counts(PyObject *self, PyObject *unused)
{
    const struct core_watch *watch = (const struct core_watch *)self;
    (void)unused;
    const uint64_t n_done = atomic_load_explicit(&watch->n_done, memory_order_relaxed);
    const uint64_t n_all = atomic_load_explicit(&watch->n_all, memory_order_relaxed);
    return Py_BuildValue("(KK)", (unsigned long long)n_done, (unsigned long long)n_all);
}

static PyMethodDef watch_methods[] = {
    {"cancel", watch_cancel, METH_NOARGS, "Ends the export before its next block."},
    {"counts", watch_counts, METH_NOARGS, "Records done, and all of them."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot watch_slots[] = {
    {Py_tp_new, CORE_SLOT(watch_new)},
    {Py_tp_dealloc, CORE_SLOT(core_free_object)},
    {Py_tp_methods, watch_methods},
    {Py_tp_doc, "How far an export is."},
    {0, NULL},
};

PyType_Spec core_watch_spec = {
    .name = "marey._core.Watch",
    .basicsize = sizeof(struct core_watch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = watch_slots,
};
