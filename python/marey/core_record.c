/*
 * core_record.c - sessions, marks, counters, collectors and schedules as Python sees them.
 *
 * A session is freed when Python lets go of it or says so, but not while another thread is
 * inside one of its calls without the GIL: the last one out frees it.
 */
#include "_core.h"

#include "marey/intake.h"
#include "marey/record.h"

struct core_session {
    PyObject_HEAD struct marey_session *session; /* NULL once freed */
    int n_inside;                                /* threads in a call without the GIL */
    bool is_let_go;
};

static struct core_session *session_of(PyObject *self)
{
    return (struct core_session *)self;
}

struct marey_session *core_session_of(PyObject *self)
{
    return session_of(self)->session;
}

/* ---- what a thread records ------------------------------------------------------------ */

static bool text_of(PyObject *object, struct marey_str *text)
{
    Py_ssize_t len = 0;

    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a name is a str, not %.100s", Py_TYPE(object)->tp_name);
        return false;
    }
    text->ptr = PyUnicode_AsUTF8AndSize(object, &len);
    text->len = (size_t)len;
    return text->ptr != NULL;
}

static PyObject *record_mark(PyObject *module, PyObject *arg)
{
    (void)module;
    struct marey_str name;

    if (!text_of(arg, &name))
        return NULL;
    marey_mark_named(name);
    Py_RETURN_NONE;
}

static PyObject *record_counter(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    struct marey_str name;

    if (n_args != 2) {
        PyErr_SetString(PyExc_TypeError, "counter() takes a name and a value");
        return NULL;
    }
    if (!text_of(args[0], &name))
        return NULL;
    const double value = PyFloat_AsDouble(args[1]);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    marey_counter_named(name, value);
    Py_RETURN_NONE;
}

static PyObject *record_thread_name(PyObject *module, PyObject *arg)
{
    (void)module;
    struct marey_str name;

    if (!text_of(arg, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        marey_thread_name(name);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *record_is_recording(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(marey_is_recording());
}

/* ---- collectors, schedules -------------------------------------------------------------- */

/* collector_load(path): as os.fsencode gives it. */
static PyObject *record_collector_load(PyObject *module, PyObject *args)
{
    struct marey_error err = {0};
    PyObject *path = NULL;
    enum marey_status status;

    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = marey_collector_load(PyBytes_AS_STRING(path), &err);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    if (status != MAREY_OK)
        return core_raise(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}

/* An int of 0 to `most`; else false with an exception, as Python's own formats cut what is
 * larger. */
static bool count_of(PyObject *object, const char *what, unsigned long long most, uint64_t *count)
{
    PyObject *number = PyNumber_Index(object);
    if (number == NULL)
        return false;
    const unsigned long long value = PyLong_AsUnsignedLongLong(number);
    const bool is_out =
        PyErr_Occurred() ? PyErr_ExceptionMatches(PyExc_OverflowError) != 0 : value > most;

    if (is_out) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%s is %S, want 0 to %llu", what, number, most);
    }
    Py_DECREF(number);
    *count = value;
    return !PyErr_Occurred();
}

/* schedule_action(wait, warmup, active, repeat, skip_first, skip_first_wait, step) */
static PyObject *record_schedule_action(PyObject *module, PyObject *args)
{
    (void)module;
    static const char *const names[] = {"wait", "warmup", "active", "repeat", "skip_first", "step"};
    enum { N_COUNTS = sizeof names / sizeof names[0] };
    PyObject *given[N_COUNTS];
    uint64_t count[N_COUNTS];
    int skip_first_wait = 0;

    if (!PyArg_ParseTuple(args, "OOOOOpO", &given[0], &given[1], &given[2], &given[3], &given[4],
                          &skip_first_wait, &given[5]))
        return NULL;
    for (int i = 0; i < N_COUNTS; i++)
        if (!count_of(given[i], names[i], UINT64_MAX, &count[i]))
            return NULL;
    const struct marey_schedule schedule = {
        .wait = count[0],
        .warmup = count[1],
        .active = count[2],
        .repeat = count[3],
        .skip_first = count[4],
        .skip_first_wait = skip_first_wait != 0,
    };
    return PyLong_FromLong((long)marey_schedule_action(&schedule, count[5]));
}

/* The key and the JSON text of a member of the head; borrowed from args. */
static bool meta_of(PyObject *args, struct marey_str *key, struct marey_str *json)
{
    PyObject *key_object = NULL;
    PyObject *json_object = NULL;

    return PyArg_ParseTuple(args, "OO", &key_object, &json_object) && text_of(key_object, key) &&
           text_of(json_object, json);
}

static PyObject *record_check_meta(PyObject *module, PyObject *args)
{
    struct marey_error err = {0};
    struct marey_str key;
    struct marey_str json;

    if (!meta_of(args, &key, &json))
        return NULL;
    if (marey_check_meta(key, json, &err) != MAREY_OK)
        return core_raise(PyModule_GetState(module), &err);
    Py_RETURN_NONE;
}

/* ---- sessions ------------------------------------------------------------------------------ */

static void let_go_if_unused(struct core_session *self)
{
    struct marey_session *session = self->session;

    if (!self->is_let_go || self->n_inside > 0 || session == NULL)
        return;
    self->session = NULL;
    Py_BEGIN_ALLOW_THREADS
        marey_session_free(session);
    Py_END_ALLOW_THREADS
}

/* The session for a call, which session_leave ends; NULL with an exception if it is gone. */
static struct marey_session *session_enter(PyObject *self)
{
    if (session_of(self)->session == NULL || session_of(self)->is_let_go) {
        PyErr_SetString(PyExc_ValueError, "the session was freed");
        return NULL;
    }
    session_of(self)->n_inside++;
    return session_of(self)->session;
}

static void session_leave(PyObject *self)
{
    session_of(self)->n_inside--;
    let_go_if_unused(session_of(self));
}

/* Session(wants=0, clock=0, pool_bytes=0): starts recording. */
static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"wants", "clock", "pool_bytes", NULL};
    struct marey_session_options options = {.size = sizeof options};
    struct marey_error err = {0};
    PyObject *given_wants = NULL;
    PyObject *given_pool_bytes = NULL;
    uint64_t wants = 0;
    int clock = 0;
    enum marey_status status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OiO", names, &given_wants, &clock,
                                     &given_pool_bytes))
        return NULL;
    if (given_wants != NULL && !count_of(given_wants, "wants", UINT32_MAX, &wants))
        return NULL;
    if (given_pool_bytes != NULL &&
        !count_of(given_pool_bytes, "pool_bytes", UINT64_MAX, &options.pool_bytes))
        return NULL;
    struct core_session *self = PyObject_New(struct core_session, type);
    if (self == NULL)
        return NULL;
    self->session = NULL;
    self->n_inside = 0;
    self->is_let_go = false;
    options.wants = (uint32_t)wants;
    options.clock = (enum marey_clock)clock;

    Py_BEGIN_ALLOW_THREADS
        status = marey_session_start(&options, &self->session, &err);
    Py_END_ALLOW_THREADS
    if (status == MAREY_OK)
        return (PyObject *)self;
    core_raise(PyType_GetModuleState(type), &err);
    Py_DECREF(self);
    return NULL;
}

static void session_dealloc(PyObject *self)
{
    session_of(self)->is_let_go = true;
    let_go_if_unused(session_of(self));
    core_free_object(self);
}

static PyObject *session_stop(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    struct marey_session *session = session_enter(self);
    enum marey_status status;

    if (session == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = marey_session_stop(session, &err);
    Py_END_ALLOW_THREADS
    session_leave(self);
    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    Py_RETURN_NONE;
}

static PyObject *session_free(PyObject *self, PyObject *unused)
{
    (void)unused;
    session_of(self)->is_let_go = true;
    let_go_if_unused(session_of(self));
    Py_RETURN_NONE;
}

static PyObject *session_add_meta(PyObject *self, PyObject *args)
{
    struct marey_error err = {0};
    struct marey_str key_text;
    struct marey_str json_text;

    if (!meta_of(args, &key_text, &json_text))
        return NULL;
    struct marey_session *session = session_enter(self);
    if (session == NULL)
        return NULL;
    const enum marey_status status = marey_session_add_meta(session, key_text, json_text, &err);
    session_leave(self);
    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    Py_RETURN_NONE;
}

/* Ints, or None where they are not known. False with an exception. */
static bool intake_options_of(PyObject *rank, PyObject *world_size, long long n_let_go,
                              struct marey_intake_options *options)
{
    options->size = sizeof *options;
    options->has_rank = rank != Py_None;
    options->rank = options->has_rank ? PyLong_AsLongLong(rank) : 0;
    options->world_size = world_size != Py_None ? PyLong_AsLongLong(world_size) : 0;
    options->n_let_go = (uint64_t)n_let_go;
    return PyErr_Occurred() == NULL;
}

/* trace(rank, world_size) */
static PyObject *session_trace(PyObject *self, PyObject *args)
{
    struct marey_intake_options options = {0};
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    PyObject *rank = Py_None;
    PyObject *world_size = Py_None;
    enum marey_status status;

    if (!PyArg_ParseTuple(args, "|OO", &rank, &world_size) ||
        !intake_options_of(rank, world_size, 0, &options))
        return NULL;
    struct marey_session *session = session_enter(self);
    if (session == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = marey_session_trace(session, &options, &trace, &err);
    Py_END_ALLOW_THREADS
    session_leave(self);
    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return core_trace_wrap(core_state_of(self), trace);
}

/* The sessions of a tuple, each entered, for leave_all to leave and free; NULL with an exception if
 * one is gone or is none. */
static struct marey_session **enter_all(PyObject *tuple, PyTypeObject *type)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    struct marey_session **sessions = PyMem_New(struct marey_session *, (size_t)n + 1);
    Py_ssize_t i = 0;

    if (sessions == NULL)
        return (struct marey_session **)PyErr_NoMemory();
    for (; i < n; i++) {
        PyObject *object = PyTuple_GET_ITEM(tuple, i);
        if (Py_TYPE(object) != type)
            PyErr_Format(PyExc_TypeError, "a trace is made of sessions, not of %.100s",
                         Py_TYPE(object)->tp_name);
        sessions[i] = Py_TYPE(object) == type ? session_enter(object) : NULL;
        if (sessions[i] == NULL)
            break;
    }
    if (i == n)
        return sessions;
    while (i-- > 0)
        session_leave(PyTuple_GET_ITEM(tuple, i));
    PyMem_Free(sessions);
    return NULL;
}

static void leave_all(PyObject *tuple, struct marey_session **sessions)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        session_leave(PyTuple_GET_ITEM(tuple, i));
    PyMem_Free(sessions);
}

/* trace_sessions(sessions, rank, world_size, n_let_go): in a tuple of our own, which nobody changes
 * while the GIL is free. */
static PyObject *record_trace_sessions(PyObject *module, PyObject *args)
{
    const struct core_state *state = PyModule_GetState(module);
    struct marey_intake_options options = {0};
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    PyObject *given = NULL;
    PyObject *rank = Py_None;
    PyObject *world_size = Py_None;
    long long n_let_go = 0;
    enum marey_status status;

    if (!PyArg_ParseTuple(args, "O|OOL", &given, &rank, &world_size, &n_let_go) ||
        !intake_options_of(rank, world_size, n_let_go, &options))
        return NULL;
    PyObject *tuple = PySequence_Tuple(given);
    if (tuple == NULL)
        return NULL;
    struct marey_session **sessions = enter_all(tuple, state->session_type);
    if (sessions == NULL) {
        Py_DECREF(tuple);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        status =
            marey_sessions_trace(sessions, (size_t)PyTuple_GET_SIZE(tuple), &options, &trace, &err);
    Py_END_ALLOW_THREADS
    leave_all(tuple, sessions);
    Py_DECREF(tuple);
    if (status != MAREY_OK)
        return core_raise(state, &err);
    return core_trace_wrap(state, trace);
}

#define FIELD(member, kind) CORE_FIELD(struct marey_session_stats, member, kind)
static const struct core_field stats_fields[] = {
    FIELD(n_records, CORE_FIELD_COUNT64),  FIELD(n_lost, CORE_FIELD_COUNT64),
    FIELD(held_bytes, CORE_FIELD_COUNT64), FIELD(pool_bytes, CORE_FIELD_COUNT64),
    FIELD(start_ns, CORE_FIELD_NS),        FIELD(stop_ns, CORE_FIELD_NS),
    FIELD(first_lost_ns, CORE_FIELD_NS),   FIELD(clock_error_ns, CORE_FIELD_NS),
    FIELD(n_threads, CORE_FIELD_COUNT32),  FIELD(is_tsc, CORE_FIELD_BOOL),
    FIELD(range_cost_ns, CORE_FIELD_NS),
};
#undef FIELD

static const struct core_record stats_record =
    CORE_RECORD("session_stats", struct marey_session_stats, stats_fields);

#define FIELD(member, kind) CORE_FIELD(struct marey_session_usage, member, kind)
static const struct core_field usage_fields[] = {
    FIELD(held_bytes, CORE_FIELD_COUNT64), FIELD(n_lost, CORE_FIELD_COUNT64),
    FIELD(pool_bytes, CORE_FIELD_COUNT64), FIELD(start_ns, CORE_FIELD_NS),
    FIELD(stop_ns, CORE_FIELD_NS),
};
#undef FIELD

static const struct core_record usage_record =
    CORE_RECORD("session_usage", struct marey_session_usage, usage_fields);

bool core_describe_record(PyObject *dict)
{
    return core_record_describe(dict, &stats_record) && core_record_describe(dict, &usage_record);
}

static PyObject *session_stats(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_session_stats stats = {0};
    struct marey_session *session = session_enter(self);

    if (session == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        marey_session_get_stats(session, &stats);
    Py_END_ALLOW_THREADS
    session_leave(self);
    return core_record_tuple(&stats_record, &stats, NULL, NULL);
}

static PyObject *session_usage(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_session_usage usage = {0};
    struct marey_session *session = session_enter(self);

    if (session == NULL)
        return NULL;
    marey_session_get_usage(session, &usage);
    session_leave(self);
    return core_record_tuple(&usage_record, &usage, NULL, NULL);
}

static PyObject *session_mark(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    struct marey_session *session = session_enter(self);

    if (session == NULL)
        return NULL;
    const enum marey_status status = marey_session_mark(session, &err);
    session_leave(self);
    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    Py_RETURN_NONE;
}

static PyObject *session_end_at_mark(PyObject *self, PyObject *arg)
{
    struct marey_error err = {0};
    const int at_mark = PyObject_IsTrue(arg);
    struct marey_session *session = at_mark < 0 ? NULL : session_enter(self);

    if (session == NULL)
        return NULL;
    const enum marey_status status = marey_session_end_at_mark(session, at_mark != 0, &err);
    session_leave(self);
    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    Py_RETURN_NONE;
}

/* narrow(from_ns, until_ns); None is its own start or stop */
static PyObject *session_narrow(PyObject *self, PyObject *args)
{
    struct marey_error err = {0};
    PyObject *given[2];
    int64_t ns[2] = {MAREY_UNKNOWN, MAREY_UNKNOWN};

    if (!PyArg_ParseTuple(args, "OO", &given[0], &given[1]))
        return NULL;
    for (int i = 0; i < 2; i++) {
        if (given[i] == Py_None)
            continue;
        ns[i] = PyLong_AsLongLong(given[i]);
        if (ns[i] == -1 && PyErr_Occurred() != NULL)
            return NULL;
    }
    struct marey_session *session = session_enter(self);
    if (session == NULL)
        return NULL;
    const enum marey_status status = marey_session_narrow(session, ns[0], ns[1], &err);
    session_leave(self);
    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    Py_RETURN_NONE;
}

PyMethodDef core_record_functions[] = {
    {"mark", record_mark, METH_O, "mark(name)\n--\n\nRecord a point in time."},
    {"counter", (PyCFunction)(void (*)(void))record_counter, METH_FASTCALL,
     "counter(name, value)\n--\n\nRecord a value at a point in time."},
    {"thread_name", record_thread_name, METH_O,
     "thread_name(name)\n--\n\nName this thread in traces."},
    {"is_recording", record_is_recording, METH_NOARGS,
     "is_recording()\n--\n\nTrue while a session runs."},
    {"collector_load", record_collector_load, METH_VARARGS, "Load a collector by its path."},
    {"check_meta", record_check_meta, METH_VARARGS,
     "Raise what Session.add_meta would raise for this key and JSON text."},
    {"trace_sessions", record_trace_sessions, METH_VARARGS,
     "One trace of sessions that were recorded one after another."},
    {"schedule_action", record_schedule_action, METH_VARARGS, "What to do in a step."},
    {"keep_stderr", core_keep_stderr, METH_NOARGS, "Notices go to what is standard error now."},
    {"notice", core_notice, METH_O, "Print bytes on the standard error that was kept."},
    {"begin_guard", core_begin_guard, METH_VARARGS,
     "Write a session's trace at SIGTERM or SIGHUP."},
    {"end_guard", core_end_guard, METH_NOARGS, "True if the trace is still to be written."},
    {"leave_guard", core_leave_guard, METH_NOARGS, "The trace is written."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef session_methods[] = {
    {"stop", session_stop, METH_NOARGS, "Stop recording."},
    {"mark", session_mark, METH_NOARGS, "Note this moment."},
    {"narrow", session_narrow, METH_VARARGS, "Show a part of what was recorded."},
    {"end_at_mark", session_end_at_mark, METH_O, "Move the end to the mark, or back to the stop."},
    {"free", session_free, METH_NOARGS, "Stop, and give the records back."},
    {"add_meta", session_add_meta, METH_VARARGS, "Add a member to the trace's head."},
    {"trace", session_trace, METH_VARARGS, "A trace of what was recorded."},
    {"stats", session_stats, METH_NOARGS, "What it came to so far."},
    {"usage", session_usage, METH_NOARGS, "Of that, what takes no look at each record."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot session_slots[] = {
    {Py_tp_new, CORE_SLOT(session_new)},
    {Py_tp_dealloc, CORE_SLOT(session_dealloc)},
    {Py_tp_methods, session_methods},
    {Py_tp_doc, "A struct marey_session."},
    {0, NULL},
};

PyType_Spec core_session_spec = {
    .name = "marey._core.Session",
    .basicsize = sizeof(struct core_session),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = session_slots,
};

/* ---- constants ------------------------------------------------------------------------------- */

bool core_record_constants(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } constants[] = {
        {"WANT_RANGES", MAREY_WANT_RANGES},   {"WANT_OPS", MAREY_WANT_OPS},
        {"WANT_INPUTS", MAREY_WANT_INPUTS},   {"WANT_CPU", MAREY_WANT_CPU},
        {"SINK_VERSION", MAREY_SINK_VERSION},
    };

    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
            return false;
    return true;
}
