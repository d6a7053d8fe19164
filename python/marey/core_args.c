/*
 * core_args.c - methods of Trace that read args: decoded columns, and the JSON text of
 * many records at once.
 */
#include "_core.h"

#include <string.h>

PyObject *core_trace_decode_args(PyObject *self, PyObject *arg)
{
    struct marey_error err = {0};
    const unsigned long long bits = PyLong_AsUnsignedLongLong(arg);
    enum marey_status status;

    if (bits == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = marey_trace_decode_args(core_trace_of(self), bits, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(core_state_of(self), &err);
    Py_RETURN_NONE;
}

static bool arg_number(PyObject *arg, enum marey_arg *number)
{
    const long value = PyLong_AsLong(arg);
    if (value == -1 && PyErr_Occurred())
        return false;
    if (value < 0 || value >= MAREY_N_ARGS) {
        PyErr_Format(PyExc_ValueError, "no arg '%ld'", value);
        return false;
    }
    *number = (enum marey_arg)value;
    return true;
}

PyObject *core_trace_arg_ints(PyObject *self, PyObject *arg)
{
    enum marey_arg number;
    if (!arg_number(arg, &number))
        return NULL;
    const int64_t *values = marey_trace_arg_ints(core_trace_of(self), number);
    return core_column(self, values, marey_trace_slices(core_trace_of(self)).n, 'q');
}

PyObject *core_trace_arg_texts(PyObject *self, PyObject *arg)
{
    enum marey_arg number;
    if (!arg_number(arg, &number))
        return NULL;
    const uint32_t *values = marey_trace_arg_texts(core_trace_of(self), number);
    return core_column(self, values, marey_trace_slices(core_trace_of(self)).n, 'I');
}

/* Args collected without the GIL: the texts one after the other, and where each lies. */
struct arg_texts {
    char *bytes;
    size_t len;
    size_t capacity;
    struct {
        size_t start;
        size_t len;
        bool is_present;
    } * place;
};

static enum marey_status collect_args(void *user, size_t i, struct marey_str args)
{
    struct arg_texts *texts = user;

    if (texts->capacity - texts->len < args.len) {
        const size_t capacity = 2 * texts->capacity + args.len + 4096;
        char *bytes = PyMem_RawRealloc(texts->bytes, capacity);
        if (bytes == NULL)
            return MAREY_NOMEM;
        texts->bytes = bytes;
        texts->capacity = capacity;
    }
    if (args.len > 0)
        memcpy(texts->bytes + texts->len, args.ptr, args.len);
    texts->place[i].start = texts->len;
    texts->place[i].len = args.len;
    texts->place[i].is_present = args.ptr != NULL;
    texts->len += args.len;
    return MAREY_OK;
}

static PyObject *arg_texts_list(const struct arg_texts *texts, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *item = texts->place[i].is_present
                             ? PyBytes_FromStringAndSize(texts->bytes + texts->place[i].start,
                                                         (Py_ssize_t)texts->place[i].len)
                             : Py_NewRef(Py_None);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

/* walk_args(offsets): a buffer of 64-bit offsets, ascending; JSON text or None for each. */
PyObject *core_trace_walk_args(PyObject *self, PyObject *args)
{
    struct marey_error err = {0};
    struct arg_texts texts = {0};
    PyObject *result = NULL;
    Py_buffer offsets;
    enum marey_status status;

    if (!PyArg_ParseTuple(args, "y*", &offsets))
        return NULL;
    const size_t n = (size_t)offsets.len / sizeof(uint64_t);
    texts.place = PyMem_RawCalloc(n + 1, sizeof *texts.place);
    if (texts.place == NULL) {
        PyErr_NoMemory();
        goto done;
    }

    Py_BEGIN_ALLOW_THREADS
        status =
            marey_trace_walk_args(core_trace_of(self), offsets.buf, n, collect_args, &texts, &err);
    Py_END_ALLOW_THREADS

    if (status == MAREY_NOMEM)
        PyErr_NoMemory();
    else if (status != MAREY_OK)
        core_raise(core_state_of(self), &err);
    else
        result = arg_texts_list(&texts, n);

done:
    PyMem_RawFree(texts.place);
    PyMem_RawFree(texts.bytes);
    PyBuffer_Release(&offsets);
    return result;
}
