/*
 * core_slice.c - the Slice type, what Event of Python is made of: a trace, an index, and what
 * is read most often of a slice, straight from the columns.
 *
 * A program that walks over a million events makes a million of these, one after the other.
 * Texts are made once for each string of a trace (core_trace_name), so that a name is the
 * same object in all its slices.
 */
#include "_core.h"

#include <structmember.h>

struct core_slice {
    PyObject_HEAD PyObject *trace; /* of Python */
    PyObject *core;                /* what it is made of */
    unsigned int index;
};

static const struct core_slice *slice_of(PyObject *self)
{
    return (const struct core_slice *)self;
}

static const struct marey_slices *columns_of(PyObject *self)
{
    return &((const struct core_trace *)slice_of(self)->core)->slices;
}

static const struct core_state *state_of(PyObject *self)
{
    return core_state_of(slice_of(self)->core);
}

/* ---- life ------------------------------------------------------------------------ */

/* The extension's own trace behind a trace of Python; a new reference. Its type has one
 * deallocation and no subclass, which tells it quicker than the state of a module. */
static PyObject *core_behind(PyObject *trace)
{
    PyObject *core = PyObject_GetAttrString(trace, "_core");
    if (core == NULL)
        return NULL;
    if (core_is_trace(core))
        return core;
    /* What stands in for a trace that is not to be used says why. */
    PyObject *columns = PyObject_GetAttrString(core, "slices");
    if (columns == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        Py_DECREF(core);
        return NULL;
    }
    Py_XDECREF(columns);
    PyErr_Format(PyExc_TypeError, "a slice is of a trace, not of '%s'", Py_TYPE(trace)->tp_name);
    Py_DECREF(core);
    return NULL;
}

/* Slice(trace, index) */
static PyObject *slice_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"trace", "index", NULL};
    PyObject *trace = NULL;
    Py_ssize_t index = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "On", names, &trace, &index))
        return NULL;
    PyObject *core = core_behind(trace);
    if (core == NULL)
        return NULL;
    if (index < 0 || (size_t)index >= ((struct core_trace *)core)->slices.n) {
        Py_DECREF(core);
        return PyErr_Format(PyExc_IndexError, "no slice %zd", index);
    }
    struct core_slice *self = (struct core_slice *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_DECREF(core);
        return NULL;
    }
    self->trace = Py_NewRef(trace);
    self->core = core;
    self->index = (unsigned int)index;
    return (PyObject *)self;
}

static int slice_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(slice_of(self)->trace);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void slice_free(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(slice_of(self)->trace);
    Py_XDECREF(slice_of(self)->core);
    core_free_object(self);
}

/* ---- what is read ------------------------------------------------------------------ */

static PyObject *slice_name(PyObject *self, void *unused)
{
    (void)unused;
    return core_trace_name(slice_of(self)->core, columns_of(self)->name_id[slice_of(self)->index]);
}

static enum marey_kind kind_of(PyObject *self)
{
    return marey_trace_slice_kind(core_trace_of(slice_of(self)->core), slice_of(self)->index);
}

static PyObject *slice_kind(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(PyTuple_GET_ITEM(state_of(self)->kinds, kind_of(self)));
}

static PyObject *slice_is_device(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(marey_kind_is_device_operation(kind_of(self)));
}

static PyObject *slice_start_ns(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(columns_of(self)->start_ns[slice_of(self)->index]);
}

static int64_t dur_of(PyObject *self)
{
    return columns_of(self)->dur_ns[slice_of(self)->index];
}

static PyObject *slice_dur_ns(PyObject *self, void *unused)
{
    (void)unused;
    return core_int_or_none(dur_of(self));
}

static PyObject *slice_end_ns(PyObject *self, void *unused)
{
    (void)unused;
    const int64_t dur_ns = dur_of(self);
    if (dur_ns == MAREY_UNKNOWN)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(columns_of(self)->start_ns[slice_of(self)->index] + dur_ns);
}

static PyObject *slice_self_ns(PyObject *self, void *unused)
{
    (void)unused;
    if (dur_of(self) == MAREY_UNKNOWN)
        Py_RETURN_NONE;
    const int64_t *self_ns = core_trace_self_ns(slice_of(self)->core);
    return self_ns == NULL ? NULL : PyLong_FromLongLong(self_ns[slice_of(self)->index]);
}

static PyObject *slice_self_cpu_time_total(PyObject *self, void *unused)
{
    (void)unused;
    if (marey_kind_is_device_operation(kind_of(self)))
        return PyFloat_FromDouble(0);
    if (dur_of(self) == MAREY_UNKNOWN)
        Py_RETURN_NONE;
    const int64_t *self_ns = core_trace_self_ns(slice_of(self)->core);
    return self_ns == NULL ? NULL
                           : PyFloat_FromDouble((double)self_ns[slice_of(self)->index] / 1000);
}

static PyObject *slice_is_open(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(columns_of(self)->flags[slice_of(self)->index] & MAREY_SLICE_OPEN);
}

static PyObject *slice_crosses(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(columns_of(self)->flags[slice_of(self)->index] & MAREY_SLICE_CROSSES);
}

static PyObject *slice_is_async(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(columns_of(self)->flags[slice_of(self)->index] & MAREY_SLICE_ASYNC);
}

static PyGetSetDef slice_values[] = {
    {"name", slice_name, NULL, "None where the record has no name.", NULL},
    {"kind", slice_kind, NULL, "What the category means: \"op\", \"kernel\", ...", NULL},
    {"is_device", slice_is_device, NULL, "It is a device operation.", NULL},
    {"start_ns", slice_start_ns, NULL, NULL, NULL},
    {"dur_ns", slice_dur_ns, NULL, "None where the file gives no duration.", NULL},
    {"end_ns", slice_end_ns, NULL, "None where the file gives no duration.", NULL},
    {"self_ns", slice_self_ns, NULL,
     "Time in which this slice was the innermost open one of its track.", NULL},
    {"self_cpu_time_total", slice_self_cpu_time_total, NULL,
     "The same in microseconds; 0 of a device operation.", NULL},
    {"is_open", slice_is_open, NULL, "It never ended: it reaches to the end of the trace.", NULL},
    {"crosses", slice_crosses, NULL, "It outlives its parent.", NULL},
    {"is_async", slice_is_async, NULL,
     "torch marked it as asynchronous, such as a collective; of a recording, a file does not say.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef slice_members[] = {
    {"_trace", T_OBJECT_EX, offsetof(struct core_slice, trace), READONLY, NULL},
    {"index", T_UINT, offsetof(struct core_slice, index), READONLY, "Its place in the trace."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slice_slots[] = {
    {Py_tp_new, CORE_SLOT(slice_new)},
    {Py_tp_traverse, CORE_SLOT(slice_traverse)},
    {Py_tp_dealloc, CORE_SLOT(slice_free)},
    {Py_tp_getset, slice_values},
    {Py_tp_members, slice_members},
    {Py_tp_doc, "One slice of a trace; keeps it alive."},
    {0, NULL},
};

PyType_Spec core_slice_spec = {
    .name = "marey._core.Slice",
    .basicsize = sizeof(struct core_slice),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slice_slots,
};
