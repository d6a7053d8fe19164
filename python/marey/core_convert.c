/*
 * core_convert.c - results of libmarey as Python objects: strings, integers with an
 * unknown, columns as memoryviews, structs as tuples by tables of fields.
 */
#include "_core.h"

#include <string.h>

/* ---- single values ---------------------------------------------------------- */

PyObject *core_str(struct marey_str text)
{
    return PyUnicode_DecodeUTF8(text.ptr == NULL ? "" : text.ptr, (Py_ssize_t)text.len, "replace");
}

PyObject *core_str_or_none(struct marey_str text)
{
    if (text.ptr == NULL)
        Py_RETURN_NONE;
    return core_str(text);
}

PyObject *core_int_or_none(int64_t value)
{
    if (value == MAREY_UNKNOWN)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(value);
}

PyObject *core_index_or_none(uint32_t index)
{
    if (index == MAREY_NONE)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(index);
}

PyObject *core_take_text(struct marey_text *text)
{
    PyObject *result = core_str((struct marey_str){text->ptr, text->len});
    marey_text_release(text);
    return result;
}

PyObject *core_take_bytes(struct marey_text *text)
{
    PyObject *result = PyBytes_FromStringAndSize(text->ptr, (Py_ssize_t)text->len);
    marey_text_release(text);
    return result;
}

/* ---- structs as tuples ---------------------------------------------------------- */

static PyObject *field_value(const struct core_field *field, const void *item,
                             core_string_fn string, const void *object)
{
    const void *at = (const char *)item + field->offset;

    switch (field->kind) {
    case CORE_FIELD_STRING:
        return core_str_or_none(string(object, *(const uint32_t *)at));
    case CORE_FIELD_INDEX:
        return core_index_or_none(*(const uint32_t *)at);
    case CORE_FIELD_COUNT32:
        return PyLong_FromUnsignedLong(*(const uint32_t *)at);
    case CORE_FIELD_COUNT64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case CORE_FIELD_OFFSET:
        if (*(const uint64_t *)at == UINT64_MAX)
            Py_RETURN_NONE;
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case CORE_FIELD_NS:
        return core_int_or_none(*(const int64_t *)at);
    case CORE_FIELD_INT64:
        return PyLong_FromLongLong(*(const int64_t *)at);
    case CORE_FIELD_INT32:
        return PyLong_FromLong(*(const int32_t *)at);
    case CORE_FIELD_DOUBLE:
        return PyFloat_FromDouble(*(const double *)at);
    case CORE_FIELD_BOOL:
        return PyBool_FromLong(*(const bool *)at);
    case CORE_FIELD_TEXT:
        return PyUnicode_FromString(*(const char *const *)at);
    }
    Py_UNREACHABLE();
}

PyObject *core_record_tuple(const struct core_record *record, const void *item,
                            core_string_fn string, const void *object)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)record->n_fields);
    if (tuple == NULL)
        return NULL;

    for (size_t i = 0; i < record->n_fields; i++) {
        PyObject *value = field_value(&record->fields[i], item, string, object);
        if (value == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, value);
    }
    return tuple;
}

PyObject *core_record_list(const struct core_record *record, const void *items, size_t n,
                           core_string_fn string, const void *object)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    if (list == NULL)
        return NULL;

    for (size_t i = 0; i < n; i++) {
        const void *item = (const char *)items + i * record->size;
        PyObject *tuple = core_record_tuple(record, item, string, object);
        if (tuple == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, tuple);
    }
    return list;
}

bool core_record_describe(PyObject *dict, const struct core_record *record)
{
    PyObject *names = PyTuple_New((Py_ssize_t)record->n_fields);
    if (names == NULL)
        return false;

    for (size_t i = 0; i < record->n_fields; i++) {
        PyObject *name = PyUnicode_FromString(record->fields[i].name);
        if (name == NULL) {
            Py_DECREF(names);
            return false;
        }
        PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
    }
    const int failed = PyDict_SetItemString(dict, record->name, names);
    Py_DECREF(names);
    return failed == 0;
}

/* ---- columns ----------------------------------------------------------------------- */

/* The exporter behind a memoryview: it holds the owner of the memory. */
struct core_column {
    PyObject_HEAD PyObject *owner;
    const void *values;
    Py_ssize_t n;
    Py_ssize_t item_bytes;
    char format[2];
};

static int column_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct core_column *column = (struct core_column *)self;

    if (flags & PyBUF_WRITABLE) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "columns of a trace are read-only");
        return -1;
    }
    view->obj = Py_NewRef(self);
    view->buf = (void *)(uintptr_t)column->values;
    view->len = column->n * column->item_bytes;
    view->readonly = 1;
    view->itemsize = column->item_bytes;
    view->format = (flags & PyBUF_FORMAT) ? column->format : NULL;
    view->ndim = 1;
    view->shape = (flags & PyBUF_ND) ? &column->n : NULL;
    view->strides = (flags & PyBUF_STRIDES) ? &column->item_bytes : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    return 0;
}

static void column_free(PyObject *self)
{
    Py_XDECREF(((struct core_column *)self)->owner);
    core_free_object(self);
}

static PyType_Slot column_slots[] = {
    {Py_tp_dealloc, CORE_SLOT(column_free)},
    {Py_bf_getbuffer, CORE_SLOT(column_get_buffer)},
    {Py_tp_doc, "Memory of a trace, for memoryview."},
    {0, NULL},
};

PyType_Spec core_column_spec = {
    .name = "marey._core.Column",
    .basicsize = sizeof(struct core_column),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = column_slots,
};

static Py_ssize_t item_bytes_of(char format)
{
    switch (format) {
    case 'q':
    case 'Q':
        return 8;
    case 'I':
        return 4;
    default:
        return 1;
    }
}

PyObject *core_column(PyObject *owner, const void *values, size_t n, char format)
{
    static const uint64_t nothing;

    if (values == NULL && n > 0)
        Py_RETURN_NONE;

    struct core_column *column =
        PyObject_New(struct core_column, core_state_of(owner)->column_type);
    if (column == NULL)
        return NULL;
    column->owner = Py_NewRef(owner);
    column->values = n > 0 ? values : &nothing;
    column->n = (Py_ssize_t)n;
    column->item_bytes = item_bytes_of(format);
    column->format[0] = format;
    column->format[1] = '\0';

    PyObject *view = PyMemoryView_FromObject((PyObject *)column);
    Py_DECREF(column);
    return view;
}
