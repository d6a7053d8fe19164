/*
 * core_averages.c - the Averages type: rows as tuples, totals, tables.
 */
#include "_core.h"

/* Averages belong to one thread at a time: `lock` is taken without the GIL, so that a
 * thread that waits for it does not stop the one that holds it. */
struct core_averages {
    PyObject_HEAD PyObject *trace; /* borrowed from by the averages; None: joined */
    struct marey_averages *averages;
    PyThread_type_lock lock;
};

static struct marey_averages *averages_of(PyObject *self)
{
    return ((struct core_averages *)self)->averages;
}

static struct marey_str averages_string(const void *averages, uint32_t string_id)
{
    return marey_averages_string(averages, string_id);
}

#define FIELD(member, kind) CORE_FIELD(struct marey_average, member, kind)
static const struct core_field average_fields[] = {
    FIELD(name_id, CORE_FIELD_STRING),     FIELD(kind, CORE_FIELD_INT32),
    FIELD(shapes_id, CORE_FIELD_STRING),   FIELD(stack_id, CORE_FIELD_STRING),
    FIELD(overload_id, CORE_FIELD_STRING), FIELD(first_slice, CORE_FIELD_INDEX),
    FIELD(n_calls, CORE_FIELD_COUNT64),    FIELD(n_timed, CORE_FIELD_COUNT64),
    FIELD(self_ns, CORE_FIELD_NS),         FIELD(total_ns, CORE_FIELD_NS),
    FIELD(sum_ns, CORE_FIELD_NS),          FIELD(min_ns, CORE_FIELD_NS),
    FIELD(max_ns, CORE_FIELD_NS),          FIELD(p50_ns, CORE_FIELD_NS),
    FIELD(p99_ns, CORE_FIELD_NS),          FIELD(device_self_ns, CORE_FIELD_NS),
    FIELD(device_total_ns, CORE_FIELD_NS), FIELD(n_device_operations, CORE_FIELD_COUNT64),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_totals, member, kind)
static const struct core_field totals_fields[] = {
    FIELD(host_self_ns, CORE_FIELD_NS),   FIELD(python_self_ns, CORE_FIELD_NS),
    FIELD(device_sum_ns, CORE_FIELD_NS),  FIELD(device_busy_ns, CORE_FIELD_NS),
    FIELD(unowned_ns, CORE_FIELD_NS),     FIELD(overhead_ns, CORE_FIELD_NS),
    FIELD(n_devices, CORE_FIELD_COUNT64),
};
#undef FIELD

static const struct core_record average_record =
    CORE_RECORD("average", struct marey_average, average_fields);
static const struct core_record totals_record =
    CORE_RECORD("totals", struct marey_totals, totals_fields);

bool core_describe_averages(PyObject *dict)
{
    return core_record_describe(dict, &average_record) &&
           core_record_describe(dict, &totals_record);
}

/* ---- life ---------------------------------------------------------------------- */

static PyObject *averages_wrap(const struct core_state *state, PyObject *trace,
                               struct marey_averages *averages)
{
    struct core_averages *self = PyObject_New(struct core_averages, state->averages_type);
    if (self == NULL) {
        marey_averages_free(averages);
        return NULL;
    }
    self->trace = Py_NewRef(trace);
    self->averages = averages;
    self->lock = PyThread_allocate_lock();
    if (self->lock == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void averages_free(PyObject *self)
{
    struct core_averages *object = (struct core_averages *)self;

    if (object->lock != NULL)
        PyThread_free_lock(object->lock);
    marey_averages_free(object->averages);
    Py_DECREF(object->trace);
    core_free_object(self);
}

PyObject *core_trace_averages(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"by_shape",  "by_overload", "by_stack", "percentiles", "include_python",
                            "top_level", "join_steps",  "by_event", NULL};
    struct marey_error err = {0};
    struct marey_averages *averages = NULL;
    enum marey_status status;
    int by_shape = 0;
    int by_overload = 0;
    unsigned int by_stack = 0;
    int percentiles = 0;
    int include_python = 0;
    int top_level = 0;
    int join_steps = 0;
    int by_event = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$ppIppppp", names, &by_shape, &by_overload,
                                     &by_stack, &percentiles, &include_python, &top_level,
                                     &join_steps, &by_event))
        return NULL;
    const struct marey_averages_options options = {
        .size = sizeof options,
        .by_shape = by_shape != 0,
        .by_overload = by_overload != 0,
        .by_stack = by_stack,
        .percentiles = percentiles != 0,
        .include_python = include_python != 0,
        .top_level = top_level != 0,
        .join_steps = join_steps != 0,
        .by_event = by_event != 0,
    };

    Py_BEGIN_ALLOW_THREADS
        status = marey_averages_new(core_trace_of(self), &options, &averages, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return averages_wrap(core_state_of(self), self, averages);
}

/* join_averages(parts): they are only read, and a tuple of ours keeps them alive. */
PyObject *core_join_averages(PyObject *module, PyObject *given)
{
    const struct core_state *state = PyModule_GetState(module);
    struct marey_error err = {0};
    struct marey_averages *averages = NULL;
    enum marey_status status = MAREY_OK;
    PyObject *tuple = PySequence_Tuple(given);

    if (tuple == NULL)
        return NULL;
    const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    struct marey_averages **parts = PyMem_New(struct marey_averages *, (size_t)n + 1);
    for (Py_ssize_t i = 0; i < n && parts != NULL; i++) {
        PyObject *part = PyTuple_GET_ITEM(tuple, i);
        if (Py_TYPE(part) != state->averages_type) {
            PyErr_Format(PyExc_TypeError, "averages are joined, not %.100s",
                         Py_TYPE(part)->tp_name);
            goto done;
        }
        parts[i] = averages_of(part);
    }
    if (parts == NULL) {
        (void)PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
        status = marey_averages_join(parts, (size_t)n, &averages, &err);
    Py_END_ALLOW_THREADS
    if (status != MAREY_OK)
        (void)core_raise(state, &err);
done:
    PyMem_Free(parts);
    Py_DECREF(tuple);
    return averages != NULL ? averages_wrap(state, Py_None, averages) : NULL;
}

/* ---- methods --------------------------------------------------------------------- */

static PyObject *averages_rows(PyObject *self, PyObject *unused)
{
    (void)unused;
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages_of(self), &n);
    return core_record_list(&average_record, rows, n, averages_string, averages_of(self));
}

static PyObject *averages_totals(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct marey_totals totals = marey_averages_totals(averages_of(self));
    return core_record_tuple(&totals_record, &totals, averages_string, averages_of(self));
}

static PyObject *averages_table(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"format",       "layout",    "sort",      "limit",
                            "columns",      "header",    "time_unit", "name_width",
                            "shapes_width", "src_width", NULL};
    const struct core_averages *object = (const struct core_averages *)self;
    struct marey_error err = {0};
    struct marey_text text = {0};
    struct marey_table_options options = {.size = sizeof options};
    enum marey_status status;
    int format = 0;
    int layout = 0;
    int time_unit = 0;
    long long limit = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$iizLzziIII", names, &format, &layout,
                                     &options.sort, &limit, &options.columns, &options.header,
                                     &time_unit, &options.name_width, &options.shapes_width,
                                     &options.src_width))
        return NULL;
    options.format = (enum marey_table_format)format;
    options.layout = (enum marey_table_layout)layout;
    options.time_unit = (enum marey_time_unit)time_unit;
    options.limit = limit;

    Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(object->lock, WAIT_LOCK);
        status = marey_table_text(object->averages, &options, &text, &err);
        PyThread_release_lock(object->lock);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return core_take_text(&text);
}

static PyMethodDef averages_methods[] = {
    {"rows", averages_rows, METH_NOARGS, NULL},
    {"totals", averages_totals, METH_NOARGS, NULL},
    {"table", (PyCFunction)(void (*)(void))averages_table, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot averages_slots[] = {
    {Py_tp_dealloc, CORE_SLOT(averages_free)},
    {Py_tp_methods, averages_methods},
    {Py_tp_doc, "A struct marey_averages; keeps its trace, if it has one, alive."},
    {0, NULL},
};

PyType_Spec core_averages_spec = {
    .name = "marey._core.Averages",
    .basicsize = sizeof(struct core_averages),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = averages_slots,
};
