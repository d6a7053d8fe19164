/*
 * core_trace.c - the Trace type: columns as memoryviews, small tables as lists of tuples,
 * strings by id, export. Args, averages and torch's view have files of their own.
 */
#include "_core.h"

#include "core_arrow.h"

static struct marey_str trace_string(const void *trace, uint32_t string_id)
{
    return marey_trace_string(trace, string_id);
}

PyObject *core_trace_wrap(const struct core_state *state, struct marey_trace *trace)
{
    struct core_hold *hold = core_hold_new(trace);
    if (hold == NULL)
        return PyErr_NoMemory();
    struct core_trace *self = PyObject_New(struct core_trace, state->trace_type);
    if (self == NULL) {
        core_hold_give_back(hold);
        return NULL;
    }
    self->hold = hold;
    self->trace = trace;
    self->slices = marey_trace_slices(trace);
    self->self_ns = NULL;
    self->names = NULL;
    self->n_names = 0;
    return (PyObject *)self;
}

static void trace_free(PyObject *self)
{
    struct core_trace *object = (struct core_trace *)self;

    for (size_t i = 0; i < object->n_names; i++)
        Py_XDECREF(object->names[i]);
    PyMem_Free(object->names);
    core_hold_give_back(object->hold);
    core_free_object(self);
}

bool core_is_trace(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == trace_free;
}

/* ---- strings --------------------------------------------------------------------- */

static PyObject *trace_get_string(PyObject *self, PyObject *arg)
{
    const unsigned long id = PyLong_AsUnsignedLong(arg);
    if (id == (unsigned long)-1 && PyErr_Occurred())
        return NULL;

    /* Ids of decoded args lie past those that the trace was loaded with. */
    const struct marey_str text =
        marey_trace_string(core_trace_of(self), id < MAREY_NONE ? (uint32_t)id : MAREY_NONE);
    if (text.ptr == NULL) {
        PyErr_Format(PyExc_IndexError, "no string '%lu' in this trace", id);
        return NULL;
    }
    return core_str(text);
}

PyObject *core_trace_name(PyObject *self, uint32_t string_id)
{
    struct core_trace *object = (struct core_trace *)self;

    if (object->names == NULL) {
        const size_t n = marey_trace_n_strings(object->trace);
        object->names = PyMem_Calloc(n + 1, sizeof *object->names);
        if (object->names == NULL)
            return PyErr_NoMemory();
        object->n_names = n;
    }
    /* Strings of decoded args came later, and are no names. */
    if (string_id >= object->n_names)
        return core_str_or_none(marey_trace_string(object->trace, string_id));
    PyObject **name = &object->names[string_id];
    if (*name == NULL)
        *name = core_str(marey_trace_string(object->trace, string_id));
    return Py_XNewRef(*name);
}

static PyObject *trace_n_strings(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSize_t(marey_trace_n_strings(core_trace_of(self)));
}

/* ---- columns ---------------------------------------------------------------------- */

struct named_column {
    const char *name;
    const void *values;
    char format;
};

/* Columns of n entries by name; an entry with a NULL name ends the list. */
static PyObject *columns_by_name(PyObject *self, size_t n, const struct named_column *columns)
{
    PyObject *dict = PyDict_New();

    for (; dict != NULL && columns->name != NULL; columns++) {
        PyObject *view = core_column(self, columns->values, n, columns->format);
        if (view == NULL || PyDict_SetItemString(dict, columns->name, view) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(view);
    }
    return dict;
}

static PyObject *trace_slices(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct marey_slices slices = marey_trace_slices(core_trace_of(self));
    const struct named_column columns[] = {
        {"start_ns", slices.start_ns, 'q'}, {"dur_ns", slices.dur_ns, 'q'},
        {"name_id", slices.name_id, 'I'},   {"parent_idx", slices.parent_idx, 'I'},
        {"cat_id", slices.cat_id, 'B'},     {"flags", slices.flags, 'B'},
        {"offset", slices.offset, 'Q'},     {NULL, NULL, 0},
    };
    return columns_by_name(self, slices.n, columns);
}

const int64_t *core_trace_self_ns(PyObject *self)
{
    static const int64_t nothing;
    struct core_trace *object = (struct core_trace *)self;
    struct marey_error err = {0};
    const int64_t *self_ns = NULL;
    enum marey_status status;

    if (object->self_ns != NULL)
        return object->self_ns;
    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_self_ns(object->trace, &self_ns, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK) {
        core_raise(core_state_of(self), &err);
        return NULL;
    }
    object->self_ns = self_ns != NULL ? self_ns : &nothing;
    return object->self_ns;
}

static PyObject *trace_self_ns(PyObject *self, PyObject *unused)
{
    (void)unused;
    const int64_t *self_ns = core_trace_self_ns(self);
    return self_ns == NULL ? NULL
                           : core_column(self, self_ns, ((struct core_trace *)self)->slices.n, 'q');
}

static PyObject *trace_links(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct marey_links links = marey_trace_links(core_trace_of(self));
    const struct named_column columns[] = {
        {"slice_idx", links.slice_idx, 'I'},
        {"correlation", links.correlation, 'Q'},
        {NULL, NULL, 0},
    };
    return columns_by_name(self, links.n, columns);
}

static bool set_count(PyObject *dict, const char *name, uint64_t count)
{
    PyObject *value = PyLong_FromUnsignedLongLong(count);
    const bool is_set = value != NULL && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return is_set;
}

static PyObject *trace_owners(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    struct marey_owners owners = {0};
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_owners(core_trace_of(self), &owners, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    const struct named_column columns[] = {
        {"launch_idx", owners.launch_idx, 'I'},
        {"owner_idx", owners.owner_idx, 'I'},
        {NULL, NULL, 0},
    };
    PyObject *dict = columns_by_name(self, owners.n, columns);
    if (dict != NULL && !(set_count(dict, "n_without_launch", owners.n_without_launch) &&
                          set_count(dict, "n_without_kernel", owners.n_without_kernel) &&
                          set_count(dict, "n_before_launch", owners.n_before_launch)))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *trace_instants(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct marey_instants instants = marey_trace_instants(core_trace_of(self));
    const struct named_column columns[] = {
        {"ts_ns", instants.ts_ns, 'q'},
        {"track_idx", instants.track_idx, 'I'},
        {"name_id", instants.name_id, 'I'},
        {"cat_id", instants.cat_id, 'B'},
        {"scope", instants.scope, 'B'},
        {"offset", instants.offset, 'Q'},
        {NULL, NULL, 0},
    };
    return columns_by_name(self, instants.n, columns);
}

static PyObject *trace_counters(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct marey_counters counters = marey_trace_counters(core_trace_of(self));
    const struct named_column columns[] = {
        {"ts_ns", counters.ts_ns, 'q'},     {"track_idx", counters.track_idx, 'I'},
        {"name_id", counters.name_id, 'I'}, {"cat_id", counters.cat_id, 'B'},
        {"offset", counters.offset, 'Q'},   {NULL, NULL, 0},
    };
    return columns_by_name(self, counters.n, columns);
}

static PyObject *trace_flows(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct marey_flows flows = marey_trace_flows(core_trace_of(self));
    const struct named_column columns[] = {
        {"ts_ns", flows.ts_ns, 'q'},         {"id", flows.id, 'Q'},
        {"track_idx", flows.track_idx, 'I'}, {"label_idx", flows.label_idx, 'B'},
        {"phase", flows.phase, 'B'},         {NULL, NULL, 0},
    };
    return columns_by_name(self, flows.n, columns);
}

static PyObject *trace_memory_records(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    struct marey_memory_records records = {0};
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_memory_records(core_trace_of(self), &records, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    const struct named_column columns[] = {
        {"instant_idx", records.instant_idx, 'I'},
        {"bytes", records.bytes, 'q'},
        {"device_type", records.device_type, 'q'},
        {"device_id", records.device_id, 'q'},
        {"addr", records.addr, 'q'},
        {"total_allocated", records.total_allocated, 'q'},
        {NULL, NULL, 0},
    };
    return columns_by_name(self, records.n, columns);
}

/* ---- small tables -------------------------------------------------------------------- */

#define FIELD(member, kind) CORE_FIELD(struct marey_category, member, kind)
static const struct core_field category_fields[] = {
    FIELD(name_id, CORE_FIELD_STRING),
    FIELD(kind, CORE_FIELD_INT32),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_track, member, kind)
static const struct core_field track_fields[] = {
    FIELD(kind, CORE_FIELD_INT32),
    FIELD(source_idx, CORE_FIELD_COUNT32),
    FIELD(process_id, CORE_FIELD_STRING),
    FIELD(thread_id, CORE_FIELD_STRING),
    FIELD(device, CORE_FIELD_NS),
    FIELD(context, CORE_FIELD_NS),
    FIELD(stream, CORE_FIELD_NS),
    FIELD(first_slice, CORE_FIELD_COUNT32),
    FIELD(n_slices, CORE_FIELD_COUNT32),
    FIELD(process_name_id, CORE_FIELD_STRING),
    FIELD(thread_name_id, CORE_FIELD_STRING),
    FIELD(n_crossings, CORE_FIELD_COUNT32),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_flow_label, member, kind)
static const struct core_field flow_label_fields[] = {
    FIELD(cat_name_id, CORE_FIELD_STRING),
    FIELD(name_id, CORE_FIELD_STRING),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_async_span, member, kind)
static const struct core_field async_span_fields[] = {
    FIELD(start_ns, CORE_FIELD_NS),     FIELD(dur_ns, CORE_FIELD_NS),
    FIELD(track_idx, CORE_FIELD_INDEX), FIELD(name_id, CORE_FIELD_STRING),
    FIELD(id_text, CORE_FIELD_STRING),  FIELD(cat_id, CORE_FIELD_COUNT32),
    FIELD(offset, CORE_FIELD_COUNT64),  FIELD(end_offset, CORE_FIELD_OFFSET),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_source, member, kind)
static const struct core_field source_fields[] = {
    FIELD(path_id, CORE_FIELD_STRING),    FIELD(rank, CORE_FIELD_NS),
    FIELD(world_size, CORE_FIELD_NS),     FIELD(rank_is_assumed, CORE_FIELD_BOOL),
    FIELD(base_ns, CORE_FIELD_NS),        FIELD(size_bytes, CORE_FIELD_COUNT64),
    FIELD(n_records, CORE_FIELD_COUNT64), FIELD(n_metadata, CORE_FIELD_COUNT64),
    FIELD(is_gzip, CORE_FIELD_BOOL),      FIELD(cycle_of, CORE_FIELD_COUNT32),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_meta, member, kind)
static const struct core_field meta_fields[] = {
    FIELD(source_idx, CORE_FIELD_COUNT32),
    FIELD(key_id, CORE_FIELD_STRING),
    FIELD(json_id, CORE_FIELD_STRING),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_meta_record, member, kind)
static const struct core_field meta_record_fields[] = {
    FIELD(source_idx, CORE_FIELD_COUNT32), FIELD(name_id, CORE_FIELD_STRING),
    FIELD(process_id, CORE_FIELD_STRING),  FIELD(thread_id, CORE_FIELD_STRING),
    FIELD(args_id, CORE_FIELD_STRING),     FIELD(ts_ns, CORE_FIELD_NS),
};
#undef FIELD

#define FIELD(member, kind) CORE_FIELD(struct marey_quarantined, member, kind)
static const struct core_field quarantined_fields[] = {
    FIELD(reason, CORE_FIELD_TEXT),
    FIELD(start_ns, CORE_FIELD_NS),
    FIELD(dur_ns, CORE_FIELD_NS),
    FIELD(track_idx, CORE_FIELD_INDEX),
    FIELD(name_id, CORE_FIELD_STRING),
    FIELD(cat_id, CORE_FIELD_INDEX),
    FIELD(offset, CORE_FIELD_COUNT64),
    FIELD(correlation, CORE_FIELD_COUNT64),
    FIELD(has_correlation, CORE_FIELD_BOOL),
};
#undef FIELD

/* Adding one: a row here, an enumerator above it, a method, a NamedTuple in Python. */
enum { CATEGORY, TRACK, FLOW_LABEL, ASYNC_SPAN, SOURCE, META, META_RECORD, QUARANTINED, N_RECORDS };

static const struct core_record records[N_RECORDS] = {
    [CATEGORY] = CORE_RECORD("category", struct marey_category, category_fields),
    [TRACK] = CORE_RECORD("track", struct marey_track, track_fields),
    [FLOW_LABEL] = CORE_RECORD("flow_label", struct marey_flow_label, flow_label_fields),
    [ASYNC_SPAN] = CORE_RECORD("async_span", struct marey_async_span, async_span_fields),
    [SOURCE] = CORE_RECORD("source", struct marey_source, source_fields),
    [META] = CORE_RECORD("meta", struct marey_meta, meta_fields),
    [META_RECORD] = CORE_RECORD("meta_record", struct marey_meta_record, meta_record_fields),
    [QUARANTINED] = CORE_RECORD("quarantined", struct marey_quarantined, quarantined_fields),
};

bool core_describe_trace(PyObject *dict)
{
    for (size_t i = 0; i < N_RECORDS; i++)
        if (!core_record_describe(dict, &records[i]))
            return false;
    return true;
}

/* A method that gives a table of structs as a list of tuples. */
#define TABLE_METHOD(method, getter, item_type, record)                                            \
    static PyObject *method(PyObject *self, PyObject *unused)                                      \
    {                                                                                              \
        (void)unused;                                                                              \
        size_t n = 0;                                                                              \
        const item_type *items = getter(core_trace_of(self), &n);                                  \
        return core_record_list(&records[record], items, n, trace_string, core_trace_of(self));    \
    }

TABLE_METHOD(trace_categories, marey_trace_categories, struct marey_category, CATEGORY)
TABLE_METHOD(trace_tracks, marey_trace_tracks, struct marey_track, TRACK)
TABLE_METHOD(trace_flow_labels, marey_trace_flow_labels, struct marey_flow_label, FLOW_LABEL)
TABLE_METHOD(trace_async_spans, marey_trace_async_spans, struct marey_async_span, ASYNC_SPAN)
TABLE_METHOD(trace_sources, marey_trace_sources, struct marey_source, SOURCE)
TABLE_METHOD(trace_metas, marey_trace_metas, struct marey_meta, META)
TABLE_METHOD(trace_meta_records, marey_trace_meta_records, struct marey_meta_record, META_RECORD)
TABLE_METHOD(trace_quarantined, marey_trace_quarantined, struct marey_quarantined, QUARANTINED)

static PyObject *ledger_row(const struct marey_ledger_row *row)
{
    PyObject *examples = PyTuple_New((Py_ssize_t)row->n_examples);
    if (examples == NULL)
        return NULL;
    for (size_t i = 0; i < row->n_examples; i++) {
        PyObject *offset = PyLong_FromUnsignedLongLong(row->example_offset[i]);
        if (offset == NULL) {
            Py_DECREF(examples);
            return NULL;
        }
        PyTuple_SET_ITEM(examples, (Py_ssize_t)i, offset);
    }
    return Py_BuildValue("(isszzKN)", (int)row->map, row->reason, row->meaning, row->effect,
                         row->remedy, (unsigned long long)row->count, examples);
}

/* {reason: count} */
static PyObject *ledger_before(const struct marey_ledger *ledger)
{
    PyObject *before = PyDict_New();
    for (size_t i = 0; before != NULL && i < ledger->n_before; i++) {
        PyObject *n = PyLong_FromUnsignedLongLong(ledger->before[i].count);
        if (n == NULL || PyDict_SetItemString(before, ledger->before[i].reason, n) < 0)
            Py_CLEAR(before);
        Py_XDECREF(n);
    }
    return before;
}

static PyObject *trace_ledger(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    struct marey_ledger ledger = {0};
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_ledger(core_trace_of(self), &ledger, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    PyObject *rows = PyList_New((Py_ssize_t)ledger.n_rows);
    for (size_t i = 0; rows != NULL && i < ledger.n_rows; i++) {
        PyObject *row = ledger_row(&ledger.rows[i]);
        if (row == NULL)
            Py_CLEAR(rows);
        else
            PyList_SET_ITEM(rows, (Py_ssize_t)i, row);
    }
    return Py_BuildValue("(KKiNN)", (unsigned long long)ledger.n_read,
                         (unsigned long long)ledger.n_used, (int)ledger.checked, rows,
                         ledger_before(&ledger));
}

static PyObject *trace_grade(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    struct marey_grade grade = {.letter = 'A'};
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_grade(core_trace_of(self), &grade, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return Py_BuildValue(
        "(CzKKKK)", grade.letter, grade.because, (unsigned long long)grade.n_operations,
        (unsigned long long)grade.n_with_launch, (unsigned long long)grade.n_launches,
        (unsigned long long)grade.n_with_operation);
}

static PyObject *clock_bound(const struct marey_clock_bound *bound)
{
    return Py_BuildValue("(INNNN)", (unsigned)bound->source_idx, core_int_or_none(bound->device),
                         core_int_or_none(bound->leads_by_at_least_ns),
                         core_int_or_none(bound->lags_by_at_least_ns),
                         core_int_or_none(bound->first_at_ns));
}

static PyObject *trace_clock_bounds(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    const struct marey_clock_bound *bounds = NULL;
    size_t n = 0;
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_clock_bounds(core_trace_of(self), &bounds, &n, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *row = clock_bound(&bounds[i]);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *trace_gaps(PyObject *self, PyObject *unused)
{
    (void)unused;
    size_t n = 0;
    const struct marey_gap *gaps = marey_trace_gaps(core_trace_of(self), &n);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *row = Py_BuildValue("(ILL)", (unsigned)gaps[i].source_idx,
                                      (long long)gaps[i].start_ns, (long long)gaps[i].end_ns);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* raw_dur_ns(slice): as the file gives it. */
static PyObject *trace_raw_dur_ns(PyObject *self, PyObject *index)
{
    const struct marey_trace *trace = core_trace_of(self);
    const size_t n = marey_trace_slices(trace).n;
    const size_t i = PyLong_AsSize_t(index);

    if (PyErr_Occurred() != NULL)
        return NULL;
    if (i >= n)
        return PyErr_Format(PyExc_IndexError, "no slice %zu", i);
    return core_int_or_none(marey_trace_raw_dur_ns(trace, (uint32_t)i));
}

static PyObject *trace_check_laws(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    struct marey_law_checks laws = {0};
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_check_laws(core_trace_of(self), &laws, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return Py_BuildValue("{sNsNsNsN}", "self_sum_ns", core_int_or_none(laws.self_sum_ns),
                         "union_ns", core_int_or_none(laws.union_ns), "device_sum_ns",
                         core_int_or_none(laws.device_sum_ns), "owned_plus_unowned_ns",
                         core_int_or_none(laws.owned_plus_unowned_ns));
}

static PyObject *trace_footprint(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct marey_footprint size = marey_trace_footprint(core_trace_of(self));
    return Py_BuildValue("{sKsKsKsK}", "column_bytes", (unsigned long long)size.column_bytes,
                         "string_bytes", (unsigned long long)size.string_bytes, "lazy_bytes",
                         (unsigned long long)size.lazy_bytes, "other_bytes",
                         (unsigned long long)size.other_bytes);
}

/* ---- export ---------------------------------------------------------------------------------- */

static PyObject *trace_export_chrome_text(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct marey_error err = {0};
    struct marey_text text = {0};
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_export_chrome_text(core_trace_of(self), NULL, &text, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    return core_take_bytes(&text);
}

/* ---- the type ---------------------------------------------------------------------------------
 */

#define PLAIN(name, function)                                                                      \
    {                                                                                              \
        name, function, METH_NOARGS, NULL                                                          \
    }
#define WITH_KEYWORDS(name, function)                                                              \
    {                                                                                              \
        name, (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS, NULL          \
    }

static PyMethodDef trace_methods[] = {
    {"string", trace_get_string, METH_O, NULL},
    PLAIN("n_strings", trace_n_strings),
    PLAIN("slices", trace_slices),
    PLAIN("self_ns", trace_self_ns),
    PLAIN("links", trace_links),
    PLAIN("owners", trace_owners),
    PLAIN("instants", trace_instants),
    PLAIN("counters", trace_counters),
    PLAIN("flows", trace_flows),
    PLAIN("memory_records", trace_memory_records),
    PLAIN("categories", trace_categories),
    PLAIN("tracks", trace_tracks),
    PLAIN("flow_labels", trace_flow_labels),
    PLAIN("async_spans", trace_async_spans),
    PLAIN("sources", trace_sources),
    PLAIN("metas", trace_metas),
    PLAIN("meta_records", trace_meta_records),
    PLAIN("quarantined", trace_quarantined),
    PLAIN("ledger", trace_ledger),
    PLAIN("check_laws", trace_check_laws),
    PLAIN("grade", trace_grade),
    PLAIN("clock_bounds", trace_clock_bounds),
    PLAIN("gaps", trace_gaps),
    {"raw_dur_ns", trace_raw_dur_ns, METH_O, NULL},
    PLAIN("footprint", trace_footprint),
    {"batch", core_trace_batch, METH_VARARGS, NULL},
    {"words", core_trace_words, METH_VARARGS, NULL},
    {"select", core_trace_select, METH_VARARGS, NULL},
    {"decode_args", core_trace_decode_args, METH_O, NULL},
    {"arg_ints", core_trace_arg_ints, METH_O, NULL},
    {"arg_texts", core_trace_arg_texts, METH_O, NULL},
    {"walk_args", core_trace_walk_args, METH_VARARGS, NULL},
    {"export_chrome", core_trace_export_chrome, METH_VARARGS, NULL},
    PLAIN("export_chrome_text", trace_export_chrome_text),
    WITH_KEYWORDS("averages", core_trace_averages),
    WITH_KEYWORDS("torch_view", core_trace_torch_view),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot trace_slots[] = {
    {Py_tp_dealloc, CORE_SLOT(trace_free)},
    {Py_tp_methods, trace_methods},
    {Py_tp_doc, "A struct marey_trace."},
    {0, NULL},
};

PyType_Spec core_trace_spec = {
    .name = "marey._core.Trace",
    .basicsize = sizeof(struct core_trace),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = trace_slots,
};
