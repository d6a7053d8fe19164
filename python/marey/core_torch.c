/*
 * core_torch.c - torch's own view of a trace: its events, its averages, its tables.
 *
 * Views and their averages are read-only once made, so any thread may use them.
 */
#include "_core.h"

struct core_torch_view {
    PyObject_HEAD PyObject *trace; /* borrowed from by the view */
    struct marey_torch_view *view;
};

struct core_torch_averages {
    PyObject_HEAD PyObject *view; /* borrowed from by the averages */
    struct marey_torch_averages *averages;
};

static struct marey_torch_view *view_of(PyObject *self)
{
    return ((struct core_torch_view *)self)->view;
}

static struct marey_str view_string(const void *view, uint32_t string_id)
{
    return marey_torch_view_string(view, string_id);
}

/* ---- records ------------------------------------------------------------------------ */

#define FIELD(member, kind) CORE_FIELD(struct marey_torch_event, member, kind)
static const struct core_field event_fields[] = {
    FIELD(id, CORE_FIELD_INT64),
    FIELD(name_id, CORE_FIELD_STRING),
    FIELD(trace_name_id, CORE_FIELD_STRING),
    FIELD(overload_id, CORE_FIELD_STRING),
    FIELD(shapes_id, CORE_FIELD_STRING),
    FIELD(slice_idx, CORE_FIELD_INDEX),
    FIELD(start_us, CORE_FIELD_DOUBLE),
    FIELD(end_us, CORE_FIELD_DOUBLE),
    FIELD(thread, CORE_FIELD_INT64),
    FIELD(forward_thread, CORE_FIELD_NS),
    FIELD(sequence, CORE_FIELD_INT64),
    FIELD(python_id, CORE_FIELD_INT64),
    FIELD(parent_idx, CORE_FIELD_INDEX),
    FIELD(first_kernel, CORE_FIELD_COUNT32),
    FIELD(n_kernels, CORE_FIELD_COUNT32),
    FIELD(first_stack, CORE_FIELD_COUNT32),
    FIELD(n_stack, CORE_FIELD_COUNT32),
    FIELD(cpu_memory, CORE_FIELD_INT64),
    FIELD(device_memory, CORE_FIELD_INT64),
    FIELD(self_cpu_memory, CORE_FIELD_INT64),
    FIELD(self_device_memory, CORE_FIELD_INT64),
    FIELD(flops, CORE_FIELD_COUNT64),
    FIELD(cpu_total_us, CORE_FIELD_DOUBLE),
    FIELD(self_cpu_us, CORE_FIELD_DOUBLE),
    FIELD(device_total_us, CORE_FIELD_DOUBLE),
    FIELD(self_device_us, CORE_FIELD_DOUBLE),
    FIELD(device_type, CORE_FIELD_INT32),
    FIELD(device_index, CORE_FIELD_INT32),
    FIELD(is_async, CORE_FIELD_BOOL),
    FIELD(is_user_annotation, CORE_FIELD_BOOL),
    FIELD(is_python_function, CORE_FIELD_BOOL),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_torch_kernel, member, kind)
static const struct core_field kernel_fields[] = {
    FIELD(name_id, CORE_FIELD_STRING),
    FIELD(device, CORE_FIELD_INT32),
    FIELD(dur_us, CORE_FIELD_DOUBLE),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_torch_average, member, kind)
static const struct core_field average_fields[] = {
    FIELD(name_id, CORE_FIELD_STRING),
    FIELD(overload_id, CORE_FIELD_STRING),
    FIELD(shapes_id, CORE_FIELD_STRING),
    FIELD(first_stack, CORE_FIELD_COUNT32),
    FIELD(n_stack, CORE_FIELD_COUNT32),
    FIELD(first_event, CORE_FIELD_INDEX),
    FIELD(count, CORE_FIELD_COUNT64),
    FIELD(cpu_total_us, CORE_FIELD_DOUBLE),
    FIELD(self_cpu_us, CORE_FIELD_DOUBLE),
    FIELD(device_total_us, CORE_FIELD_DOUBLE),
    FIELD(self_device_us, CORE_FIELD_DOUBLE),
    FIELD(cpu_memory, CORE_FIELD_INT64),
    FIELD(device_memory, CORE_FIELD_INT64),
    FIELD(self_cpu_memory, CORE_FIELD_INT64),
    FIELD(self_device_memory, CORE_FIELD_INT64),
    FIELD(flops, CORE_FIELD_COUNT64),
    FIELD(device_type, CORE_FIELD_INT32),
    FIELD(has_parent, CORE_FIELD_BOOL),
    FIELD(is_async, CORE_FIELD_BOOL),
    FIELD(is_user_annotation, CORE_FIELD_BOOL),
};
#undef FIELD

static const struct core_record event_record =
    CORE_RECORD("torch_event", struct marey_torch_event, event_fields);
static const struct core_record kernel_record =
    CORE_RECORD("torch_kernel", struct marey_torch_kernel, kernel_fields);
static const struct core_record average_record =
    CORE_RECORD("torch_average", struct marey_torch_average, average_fields);

bool core_describe_torch(PyObject *dict)
{
    return core_record_describe(dict, &event_record) &&
           core_record_describe(dict, &kernel_record) &&
           core_record_describe(dict, &average_record);
}

/* ---- the view --------------------------------------------------------------------------- */

PyObject *core_trace_torch_view(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"version", "memory", "flops", "python_functions", NULL};
    const struct core_state *state = core_state_of(self);
    struct marey_error err = {0};
    struct marey_torch_options options = {.size = sizeof options};
    struct marey_torch_view *view = NULL;
    enum marey_status status;
    int version = 0;
    int memory = 0;
    int flops = 0;
    int python_functions = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$iiii", names, &version, &memory, &flops,
                                     &python_functions))
        return NULL;
    options.version = version;
    options.memory = (enum marey_known)memory;
    options.flops = (enum marey_known)flops;
    options.python_functions = (enum marey_known)python_functions;

    Py_BEGIN_ALLOW_THREADS
        status = marey_torch_view_new(core_trace_of(self), &options, &view, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(state, &err);
    struct core_torch_view *object = PyObject_New(struct core_torch_view, state->torch_view_type);
    if (object == NULL) {
        marey_torch_view_free(view);
        return NULL;
    }
    object->trace = Py_NewRef(self);
    object->view = view;
    return (PyObject *)object;
}

static void view_free(PyObject *self)
{
    marey_torch_view_free(view_of(self));
    Py_DECREF(((struct core_torch_view *)self)->trace);
    core_free_object(self);
}

/* options(): what was taken, as (version, memory, flops, python_functions). */
static PyObject *view_options(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct marey_torch_options options = marey_torch_view_options(view_of(self));
    return Py_BuildValue("(iiii)", (int)options.version, (int)options.memory, (int)options.flops,
                         (int)options.python_functions);
}

static PyObject *view_n_events(PyObject *self, PyObject *unused)
{
    (void)unused;
    size_t n = 0;
    (void)marey_torch_view_events(view_of(self), &n);
    return PyLong_FromSize_t(n);
}

/* The n-th event as a tuple; the fields are decoded when somebody looks at an event. */
static PyObject *view_event(PyObject *self, PyObject *arg)
{
    size_t n = 0;
    const struct marey_torch_event *events = marey_torch_view_events(view_of(self), &n);
    const size_t i = PyLong_AsSize_t(arg);

    if (i == (size_t)-1 && PyErr_Occurred())
        return NULL;
    if (i >= n) {
        PyErr_Format(PyExc_IndexError, "no event '%zu' in this view", i);
        return NULL;
    }
    return core_record_tuple(&event_record, &events[i], view_string, view_of(self));
}

/* parents(): for each event the index of its parent or None. */
static PyObject *view_parents(PyObject *self, PyObject *unused)
{
    (void)unused;
    size_t n = 0;
    const struct marey_torch_event *events = marey_torch_view_events(view_of(self), &n);
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *parent = core_index_or_none(events[i].parent_idx);
        if (parent == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, parent);
    }
    return list;
}

/* device_types(): torch's numbers of those that occur, ascending. */
static PyObject *view_device_types(PyObject *self, PyObject *unused)
{
    (void)unused;
    size_t n = 0;
    const struct marey_torch_event *events = marey_torch_view_events(view_of(self), &n);
    uint64_t seen = 0;
    for (size_t i = 0; i < n; i++)
        seen |= UINT64_C(1) << ((unsigned int)events[i].device_type & 63U);

    PyObject *list = PyList_New(0);
    for (int type = 0; list != NULL && type < 64; type++) {
        if (!(seen >> type & 1U))
            continue;
        PyObject *number = PyLong_FromLong(type);
        if (number == NULL || PyList_Append(list, number) < 0)
            Py_CLEAR(list);
        Py_XDECREF(number);
    }
    return list;
}

/* True if first + n lies in a table of n_all entries. */
static bool range_is_inside(unsigned int first, unsigned int n, size_t n_all)
{
    if ((size_t)first + n <= n_all)
        return true;
    PyErr_Format(PyExc_IndexError, "no entries '%u' to '%zu' in this view", first,
                 (size_t)first + n);
    return false;
}

static PyObject *view_kernels(PyObject *self, PyObject *args)
{
    unsigned int first = 0;
    unsigned int n = 0;
    size_t n_all = 0;
    const struct marey_torch_kernel *kernels = marey_torch_view_kernels(view_of(self), &n_all);

    if (!PyArg_ParseTuple(args, "II", &first, &n) || !range_is_inside(first, n, n_all))
        return NULL;
    if (n == 0)
        return PyList_New(0);
    return core_record_list(&kernel_record, kernels + first, n, view_string, view_of(self));
}

static PyObject *view_stack(PyObject *self, PyObject *args)
{
    unsigned int first = 0;
    unsigned int n = 0;
    size_t n_all = 0;
    const uint32_t *entries = marey_torch_view_stacks(view_of(self), &n_all);

    if (!PyArg_ParseTuple(args, "II", &first, &n) || !range_is_inside(first, n, n_all))
        return NULL;
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (unsigned int i = 0; list != NULL && i < n; i++) {
        PyObject *entry = core_str(marey_torch_view_string(view_of(self), entries[first + i]));
        if (entry == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, entry);
    }
    return list;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Arguments of torch's table(); widths of UINT32_MAX are None. */
static bool parse_table_options(PyObject *args, PyObject *kwargs,
                                struct marey_torch_table_options *options)
{
    static char *names[] = {"sort_by", "row_limit", "src_width", "name_width", "shapes_width",
                            "header",  "top_level", "time_unit", NULL};
    long long row_limit = 0;
    int top_level = 0;
    int time_unit = 0;

    *options = marey_torch_table_defaults();
    row_limit = options->row_limit;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "|$zLIIIzpi", names, &options->sort_by, &row_limit,
            &options->max_src_column_width, &options->max_name_column_width,
            &options->max_shapes_column_width, &options->header, &top_level, &time_unit))
        return false;
    options->row_limit = row_limit;
    options->top_level_events_only = top_level != 0;
    options->time_unit = (enum marey_time_unit)time_unit;
    return true;
}

static PyObject *view_table(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct marey_error err = {0};
    struct marey_text text = {0};
    struct marey_torch_table_options options;
    enum marey_status status;

    if (!parse_table_options(args, kwargs, &options))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = marey_torch_events_table_text(view_of(self), &options, &text, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return core_take_text(&text);
}

static PyObject *view_stacks_text(PyObject *self, PyObject *args)
{
    struct marey_error err = {0};
    struct marey_text text = {0};
    const char *metric = NULL;
    enum marey_status status;

    if (!PyArg_ParseTuple(args, "s", &metric))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = marey_torch_stacks_text(view_of(self), metric, &text, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return core_take_bytes(&text);
}

static PyObject *view_averages(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"by_shape", "by_stack", "by_overload", NULL};
    const struct core_state *state = core_state_of(self);
    struct marey_error err = {0};
    struct marey_torch_averages *averages = NULL;
    enum marey_status status;
    int by_shape = 0;
    unsigned int by_stack = 0;
    int by_overload = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$pIp", names, &by_shape, &by_stack,
                                     &by_overload))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = marey_torch_averages_new(view_of(self), by_shape != 0, by_stack, by_overload != 0,
                                          &averages, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(state, &err);
    struct core_torch_averages *object =
        PyObject_New(struct core_torch_averages, state->torch_averages_type);
    if (object == NULL) {
        marey_torch_averages_free(averages);
        return NULL;
    }
    object->view = Py_NewRef(self);
    object->averages = averages;
    return (PyObject *)object;
}

#define WITH_KEYWORDS(name, function)                                                              \
    {                                                                                              \
        name, (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS, NULL          \
    }

static PyMethodDef view_methods[] = {
    {"options", view_options, METH_NOARGS, NULL},
    {"n_events", view_n_events, METH_NOARGS, NULL},
    {"event", view_event, METH_O, NULL},
    {"parents", view_parents, METH_NOARGS, NULL},
    {"device_types", view_device_types, METH_NOARGS, NULL},
    {"kernels", view_kernels, METH_VARARGS, NULL},
    {"stack", view_stack, METH_VARARGS, NULL},
    WITH_KEYWORDS("table", view_table),
    {"stacks_text", view_stacks_text, METH_VARARGS, NULL},
    WITH_KEYWORDS("averages", view_averages),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot view_slots[] = {
    {Py_tp_dealloc, CORE_SLOT(view_free)},
    {Py_tp_methods, view_methods},
    {Py_tp_doc, "A struct marey_torch_view; keeps its trace alive."},
    {0, NULL},
};

PyType_Spec core_torch_view_spec = {
    .name = "marey._core.TorchView",
    .basicsize = sizeof(struct core_torch_view),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = view_slots,
};

/* ---- averages of the view ---------------------------------------------------------------------
 */

static void averages_free(PyObject *self)
{
    struct core_torch_averages *object = (struct core_torch_averages *)self;

    marey_torch_averages_free(object->averages);
    Py_DECREF(object->view);
    core_free_object(self);
}

static PyObject *averages_rows(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct core_torch_averages *object = (const struct core_torch_averages *)self;
    size_t n = 0;
    const struct marey_torch_average *rows = marey_torch_averages_rows(object->averages, &n);
    return core_record_list(&average_record, rows, n, view_string, view_of(object->view));
}

static PyObject *averages_table(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const struct core_torch_averages *object = (const struct core_torch_averages *)self;
    struct marey_error err = {0};
    struct marey_text text = {0};
    struct marey_torch_table_options options;
    enum marey_status status;

    if (!parse_table_options(args, kwargs, &options))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = marey_torch_table_text(object->averages, &options, &text, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return core_take_text(&text);
}

static PyMethodDef averages_methods[] = {
    {"rows", averages_rows, METH_NOARGS, NULL},
    WITH_KEYWORDS("table", averages_table),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot averages_slots[] = {
    {Py_tp_dealloc, CORE_SLOT(averages_free)},
    {Py_tp_methods, averages_methods},
    {Py_tp_doc, "A struct marey_torch_averages; keeps its view alive."},
    {0, NULL},
};

PyType_Spec core_torch_averages_spec = {
    .name = "marey._core.TorchAverages",
    .basicsize = sizeof(struct core_torch_averages),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = averages_slots,
};
