/*
 * core_gather.c - batches: columns of a trace at some rows, columns of values of Python; and
 * the rows of a trace whose texts are asked for.
 *
 * Rows that follow one another share the trace's columns, others are copied.
 */
#include "core_arrow.h"

#include <string.h>

/* ---- the batch ---------------------------------------------------------------------- */

struct core_batch *core_batch_new(struct core_hold *hold, size_t n_columns)
{
    struct core_batch *batch = PyMem_RawCalloc(1, sizeof *batch);
    if (batch == NULL)
        return NULL;
    atomic_init(&batch->n_refs, 1);
    batch->columns = PyMem_RawCalloc(n_columns + 1, sizeof *batch->columns);
    if (batch->columns == NULL) {
        PyMem_RawFree(batch);
        return NULL;
    }
    batch->n_columns = n_columns;
    batch->hold = hold;
    if (hold != NULL)
        (void)atomic_fetch_add_explicit(&hold->n_refs, 1, memory_order_relaxed);
    return batch;
}

struct core_batch *core_batch_keep(struct core_batch *batch)
{
    (void)atomic_fetch_add_explicit(&batch->n_refs, 1, memory_order_relaxed);
    return batch;
}

void core_batch_give_back(struct core_batch *batch)
{
    if (batch == NULL || atomic_fetch_sub_explicit(&batch->n_refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < batch->n_columns; i++)
        core_arrow_column_release(&batch->columns[i]);
    PyMem_RawFree(batch->columns);
    core_hold_give_back(batch->hold);
    PyMem_RawFree(batch);
}

/* ---- rows ---------------------------------------------------------------------------- */

/* Rows of a trace: n from `first` on, or those of index[n]. */
struct rows {
    size_t first;
    size_t n;
    const uint32_t *index; /* NULL: they follow one another */
    Py_buffer buffer;
};

static void rows_release(struct rows *rows)
{
    if (rows->index != NULL)
        PyBuffer_Release(&rows->buffer);
    rows->index = NULL;
}

static bool rows_fail(struct rows *rows)
{
    PyErr_SetString(PyExc_IndexError, "a row that is not in the trace");
    rows_release(rows);
    return false;
}

/* A pair of the first row and their number, or a buffer of 32-bit indices. */
static bool rows_init(struct rows *rows, PyObject *object, size_t n_slices)
{
    *rows = (struct rows){0};
    if (PyTuple_Check(object)) {
        Py_ssize_t first = 0;
        Py_ssize_t n = 0;
        if (!PyArg_ParseTuple(object, "nn", &first, &n))
            return false;
        rows->first = (size_t)first;
        rows->n = (size_t)n;
        if (first < 0 || n < 0 || rows->first > n_slices || rows->n > n_slices - rows->first)
            return rows_fail(rows);
        return true;
    }
    if (PyObject_GetBuffer(object, &rows->buffer, PyBUF_CONTIG_RO) < 0)
        return false;
    rows->index = rows->buffer.buf;
    rows->n = (size_t)rows->buffer.len / sizeof *rows->index;
    for (size_t i = 0; i < rows->n; i++)
        if (rows->index[i] >= n_slices)
            return rows_fail(rows);
    return true;
}

/* ---- columns of a trace ------------------------------------------------------------------ */

static void copy_values(const struct rows *rows, unsigned bits, const void *from, void *to)
{
#define COPY(type)                                                                                 \
    for (size_t i = 0; i < rows->n; i++)                                                           \
    ((type *)to)[i] = ((const type *)from)[rows->index[i]]

    if (bits == 64)
        COPY(uint64_t);
    else if (bits == 32)
        COPY(uint32_t);
    else if (bits == 16)
        COPY(uint16_t);
    else
        COPY(uint8_t);
#undef COPY
}

static void copy_bits(const struct rows *rows, const uint8_t *from, uint8_t *to)
{
    for (size_t i = 0; i < rows->n; i++)
        if (core_bit(from, rows->index[i]))
            core_bit_set(to, i);
}

/* The column at these rows; false without memory. */
static bool gather(const struct rows *rows, const struct core_arrow_column *from,
                   struct core_arrow_column *to)
{
    const unsigned bits = core_arrow_bits(from->format);

    *to = (struct core_arrow_column){.name = from->name,
                                     .format = from->format,
                                     .values = from->values,
                                     .validity = from->validity,
                                     .words = from->words};
    if (rows->index == NULL)
        return true;
    to->own_values = PyMem_RawCalloc(rows->n / 8 + 1, bits);
    to->values = to->own_values;
    if (from->validity != NULL)
        to->own_validity = PyMem_RawCalloc(core_bitmap_bytes(rows->n), 1);
    to->validity = to->own_validity;
    if (to->own_values == NULL || (from->validity != NULL && to->own_validity == NULL))
        return false;
    if (bits == 1)
        copy_bits(rows, from->values, to->own_values);
    else
        copy_values(rows, bits, from->values, to->own_values);
    if (from->validity != NULL)
        copy_bits(rows, from->validity, to->own_validity);
    return true;
}

/* batch(names, tracks, rows): a Columns object. */
PyObject *core_trace_batch(PyObject *self, PyObject *args)
{
    struct core_trace *trace = (struct core_trace *)self;
    PyObject *names = NULL;
    PyObject *tracks = NULL;
    PyObject *rows_object = NULL;
    struct rows rows;

    if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &names, &tracks, &rows_object) ||
        !rows_init(&rows, rows_object, trace->slices.n))
        return NULL;
    const size_t n = (size_t)PyTuple_GET_SIZE(names);
    struct core_batch *batch = core_batch_new(trace->hold, n);
    bool is_made = batch != NULL;
    for (size_t i = 0; is_made && i < n; i++) {
        const struct core_arrow_column *column =
            core_event_column(self, PyTuple_GET_ITEM(names, (Py_ssize_t)i), tracks);
        if (column == NULL)
            goto done;
        Py_BEGIN_ALLOW_THREADS
            is_made = gather(&rows, column, &batch->columns[i]);
        Py_END_ALLOW_THREADS
    }
    if (is_made) {
        batch->n_rows = rows.n;
        batch->first = rows.first;
        rows_release(&rows);
        return core_columns_wrap(core_state_of(self), batch);
    }
    PyErr_NoMemory();

done:
    core_batch_give_back(batch);
    rows_release(&rows);
    return NULL;
}

/* ---- rows by their texts ------------------------------------------------------------------- */

static int32_t number_at(const struct core_arrow_column *column, size_t row)
{
    switch (core_arrow_bits(column->format)) {
    case 8:
        return ((const int8_t *)column->values)[row];
    case 16:
        return ((const int16_t *)column->values)[row];
    default:
        return ((const int32_t *)column->values)[row];
    }
}

/* Keeps of index[n] those whose text is wanted; the number of them. */
static size_t keep_wanted(const struct core_arrow_column *column, const Py_buffer *wanted,
                          uint32_t *index, size_t n)
{
    const uint8_t *is_wanted = wanted->buf;
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t number = number_at(column, index[i]);
        index[n_kept] = index[i];
        n_kept += number >= 0 && number < wanted->len && is_wanted[number] != 0;
    }
    return n_kept;
}

/* words(name, tracks): the texts of a column, in the order of their numbers. */
PyObject *core_trace_words(PyObject *self, PyObject *args)
{
    PyObject *name = NULL;
    PyObject *tracks = NULL;
    if (!PyArg_ParseTuple(args, "OO", &name, &tracks))
        return NULL;
    const struct core_arrow_column *column = core_event_column(self, name, tracks);
    if (column == NULL)
        return NULL;
    if (column->words == NULL)
        return PyErr_Format(PyExc_ValueError, "the column %R has no texts", name);
    return core_words_list(column->words);
}

/* select(name, tracks, rows, wanted): those of the rows, as bytes of 32-bit indices, at which
 * the text of the column is wanted. wanted: a byte for each text. */
PyObject *core_trace_select(PyObject *self, PyObject *args)
{
    const struct core_trace *trace = (const struct core_trace *)self;
    PyObject *name = NULL;
    PyObject *tracks = NULL;
    PyObject *rows_object = NULL;
    PyObject *result = NULL;
    Py_buffer wanted;
    struct rows rows = {0};
    uint32_t *index = NULL;
    size_t n = 0;

    if (!PyArg_ParseTuple(args, "OOOy*", &name, &tracks, &rows_object, &wanted))
        return NULL;
    const struct core_arrow_column *column = core_event_column(self, name, tracks);
    if (column == NULL || !rows_init(&rows, rows_object, trace->slices.n))
        goto done;
    index = PyMem_RawMalloc((rows.n + 1) * sizeof *index);
    if (index == NULL || column->words == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
        for (size_t i = 0; i < rows.n; i++)
            index[i] = rows.index != NULL ? rows.index[i] : (uint32_t)(rows.first + i);
        n = keep_wanted(column, &wanted, index, rows.n);
    Py_END_ALLOW_THREADS
    result = PyBytes_FromStringAndSize((const char *)index, (Py_ssize_t)(n * sizeof *index));

done:
    PyMem_RawFree(index);
    rows_release(&rows);
    PyBuffer_Release(&wanted);
    return result;
}

/* ---- columns of Python's values -------------------------------------------------------------- */

/* Texts as they are, or numbered. */
static bool texts_of(struct core_arrow_column *column, PyObject *const *items, size_t n)
{
    struct core_lexicon lexicon;
    int32_t *numbers = column->own_values;
    if (!core_lexicon_init(&lexicon))
        return false;
    for (size_t i = 0; i < n; i++) {
        numbers[i] = core_lexicon_number(&lexicon, items[i]);
        if (numbers[i] == -2)
            break;
    }
    if (PyErr_Occurred() == NULL)
        column->own_words = core_lexicon_words(&lexicon);
    core_lexicon_release(&lexicon);
    return column->own_words != NULL;
}

static bool numbers_of(struct core_arrow_column *column, PyObject *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (items[i] == Py_None)
            continue;
        if (column->format[0] == 'b') {
            if (PyObject_IsTrue(items[i]) == 1)
                core_bit_set(column->own_values, i);
        } else if (column->format[0] == 'g') {
            ((double *)column->own_values)[i] = PyFloat_AsDouble(items[i]);
        } else {
            ((int64_t *)column->own_values)[i] = PyLong_AsLongLong(items[i]);
        }
        if (PyErr_Occurred() != NULL)
            return false;
    }
    return true;
}

static bool validity_of(struct core_arrow_column *column, PyObject *const *items, size_t n)
{
    bool is_whole = true;
    for (size_t i = 0; i < n; i++)
        is_whole = is_whole && items[i] != Py_None;
    if (is_whole)
        return true;
    column->own_validity = PyMem_RawCalloc(core_bitmap_bytes(n), 1);
    column->validity = column->own_validity;
    for (size_t i = 0; column->own_validity != NULL && i < n; i++)
        if (items[i] != Py_None)
            core_bit_set(column->own_validity, i);
    return column->own_validity != NULL;
}

/* A tuple of name, format and list; the format is l, g, b, i for texts that repeat or u. */
static bool column_of(struct core_arrow_column *column, PyObject *row, size_t n)
{
    static const char *const formats[] = {"l", "g", "b", "i", "u"};
    const char *name = NULL;
    const char *format = NULL;
    PyObject *list = NULL;

    if (!PyArg_ParseTuple(row, "ssO!", &name, &format, &PyList_Type, &list))
        return false;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(format, formats[i]) == 0)
            column->format = formats[i];
    if (column->format == NULL || (size_t)PyList_GET_SIZE(list) != n) {
        PyErr_SetString(PyExc_ValueError, "a column has a format and as many values as the others");
        return false;
    }
    PyObject *const *items = PySequence_Fast_ITEMS(list);
    const bool is_text = format[0] == 'u';
    column->own_name = PyMem_RawMalloc(strlen(name) + 1);
    column->own_values = PyMem_RawCalloc(n / 8 + 1, is_text ? 1 : core_arrow_bits(format));
    if (column->own_name == NULL || column->own_values == NULL || !validity_of(column, items, n)) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(column->own_name, name, strlen(name) + 1);
    column->name = column->own_name;
    column->values = is_text ? NULL : column->own_values;
    if (is_text)
        column->own_words = core_words_of(list);
    else if (format[0] == 'i' ? !texts_of(column, items, n) : !numbers_of(column, items, n))
        return false;
    column->words = column->own_words;
    return !is_text || column->words != NULL;
}

/* columns_of(rows): a Columns object of tuples of name, format and list. */
PyObject *core_columns_of(PyObject *module, PyObject *rows)
{
    if (!PyList_Check(rows))
        return PyErr_Format(PyExc_TypeError, "columns are a list of tuples");
    const size_t n_columns = (size_t)PyList_GET_SIZE(rows);
    struct core_batch *batch = core_batch_new(NULL, n_columns);
    if (batch == NULL)
        return PyErr_NoMemory();
    for (size_t i = 0; i < n_columns; i++) {
        PyObject *row = PyList_GET_ITEM(rows, (Py_ssize_t)i);
        if (i == 0 && PyTuple_Check(row) && PyTuple_GET_SIZE(row) == 3 &&
            PyList_Check(PyTuple_GET_ITEM(row, 2)))
            batch->n_rows = (size_t)PyList_GET_SIZE(PyTuple_GET_ITEM(row, 2));
        if (!PyTuple_Check(row))
            PyErr_SetString(PyExc_TypeError, "a column is a tuple");
        if (PyErr_Occurred() != NULL || !column_of(&batch->columns[i], row, batch->n_rows)) {
            core_batch_give_back(batch);
            return NULL;
        }
    }
    return core_columns_wrap(PyModule_GetState(module), batch);
}
