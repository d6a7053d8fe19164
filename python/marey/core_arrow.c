/*
 * core_arrow.c - the Arrow C data interface over a batch, and the Columns object of Python.
 *
 * Each ArrowSchema and ArrowArray, child and dictionary has a part of its own, which holds a
 * reference to the batch: a consumer may move children out and release them apart.
 */
#include "core_arrow.h"

#include <string.h>

/* The structs as the specification of the Arrow C data interface gives them. */
#define ARROW_FLAG_NULLABLE 2

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

/* ---- schemas ------------------------------------------------------------------- */

struct schema_part {
    struct core_batch *batch;
    struct ArrowSchema *children;
    struct ArrowSchema **pointers;
    struct ArrowSchema dictionary;
};

static void schema_release(struct ArrowSchema *schema)
{
    struct schema_part *part = schema->private_data;

    for (int64_t i = 0; i < schema->n_children; i++)
        if (part->children[i].release != NULL)
            part->children[i].release(&part->children[i]);
    if (part->dictionary.release != NULL)
        part->dictionary.release(&part->dictionary);
    core_batch_give_back(part->batch);
    PyMem_RawFree(part->children);
    PyMem_RawFree(part->pointers);
    PyMem_RawFree(part);
    schema->release = NULL;
}

/* A schema without children; false without memory. */
static bool schema_begin(struct ArrowSchema *schema, struct core_batch *batch, const char *format,
                         const char *name)
{
    struct schema_part *part = PyMem_RawCalloc(1, sizeof *part);
    if (part == NULL)
        return false;
    part->batch = core_batch_keep(batch);
    *schema = (struct ArrowSchema){
        .format = format, .name = name, .release = schema_release, .private_data = part};
    return true;
}

static bool schema_of_column(struct ArrowSchema *schema, struct core_batch *batch,
                             const struct core_arrow_column *column)
{
    if (!schema_begin(schema, batch, column->format, column->name))
        return false;
    schema->flags = ARROW_FLAG_NULLABLE;
    if (column->words == NULL || column->values == NULL)
        return true;
    struct schema_part *part = schema->private_data;
    if (!schema_begin(&part->dictionary, batch, "u", ""))
        return false;
    schema->dictionary = &part->dictionary;
    return true;
}

static bool schema_children(struct ArrowSchema *schema, struct core_batch *batch)
{
    struct schema_part *part = schema->private_data;

    part->children = PyMem_RawCalloc(batch->n_columns + 1, sizeof *part->children);
    part->pointers = PyMem_RawCalloc(batch->n_columns + 1, sizeof(struct ArrowSchema *));
    if (part->children == NULL || part->pointers == NULL)
        return false;
    schema->children = part->pointers;
    for (size_t i = 0; i < batch->n_columns; i++) {
        part->pointers[i] = &part->children[i];
        schema->n_children++;
        if (!schema_of_column(part->pointers[i], batch, &batch->columns[i]))
            return false;
    }
    return true;
}

/* A struct with a member for each column; false without memory, and nothing to release. */
static bool schema_of(struct ArrowSchema *schema, struct core_batch *batch)
{
    if (!schema_begin(schema, batch, "+s", ""))
        return false;
    if (schema_children(schema, batch))
        return true;
    schema->release(schema);
    return false;
}

/* ---- arrays ------------------------------------------------------------------------ */

struct array_part {
    struct core_batch *batch;
    struct ArrowArray *children;
    struct ArrowArray **pointers;
    struct ArrowArray dictionary;
    const void *buffers[3];
};

static void array_release(struct ArrowArray *array)
{
    struct array_part *part = array->private_data;

    for (int64_t i = 0; i < array->n_children; i++)
        if (part->children[i].release != NULL)
            part->children[i].release(&part->children[i]);
    if (part->dictionary.release != NULL)
        part->dictionary.release(&part->dictionary);
    core_batch_give_back(part->batch);
    PyMem_RawFree(part->children);
    PyMem_RawFree(part->pointers);
    PyMem_RawFree(part);
    array->release = NULL;
}

static bool array_begin(struct ArrowArray *array, struct core_batch *batch, size_t n,
                        int64_t n_buffers)
{
    struct array_part *part = PyMem_RawCalloc(1, sizeof *part);
    if (part == NULL)
        return false;
    part->batch = core_batch_keep(batch);
    *array = (struct ArrowArray){.length = (int64_t)n,
                                 .n_buffers = n_buffers,
                                 .buffers = part->buffers,
                                 .release = array_release,
                                 .private_data = part};
    return true;
}

static bool array_of_words(struct ArrowArray *array, struct core_batch *batch,
                           const struct core_words *words)
{
    if (!array_begin(array, batch, words->n, 3))
        return false;
    array->buffers[1] = words->ends;
    array->buffers[2] = words->bytes;
    return true;
}

static bool array_of_column(struct ArrowArray *array, struct core_batch *batch,
                            const struct core_arrow_column *column)
{
    const bool is_text = column->values == NULL;

    if (is_text ? !array_of_words(array, batch, column->words)
                : !array_begin(array, batch, batch->n_rows, 2))
        return false;
    array->buffers[0] = column->validity;
    if (column->validity != NULL)
        array->null_count = -1; /* not counted */
    if (is_text)
        return true;
    array->buffers[1] = column->values;
    array->offset = (int64_t)batch->first;
    if (column->words == NULL)
        return true;
    struct array_part *part = array->private_data;
    if (!array_of_words(&part->dictionary, batch, column->words))
        return false;
    array->dictionary = &part->dictionary;
    return true;
}

static bool array_children(struct ArrowArray *array, struct core_batch *batch)
{
    struct array_part *part = array->private_data;

    part->children = PyMem_RawCalloc(batch->n_columns + 1, sizeof *part->children);
    part->pointers = PyMem_RawCalloc(batch->n_columns + 1, sizeof(struct ArrowArray *));
    if (part->children == NULL || part->pointers == NULL)
        return false;
    array->children = part->pointers;
    for (size_t i = 0; i < batch->n_columns; i++) {
        part->pointers[i] = &part->children[i];
        array->n_children++;
        if (!array_of_column(part->pointers[i], batch, &batch->columns[i]))
            return false;
    }
    return true;
}

static bool array_of(struct ArrowArray *array, struct core_batch *batch)
{
    if (!array_begin(array, batch, batch->n_rows, 1))
        return false;
    if (array_children(array, batch))
        return true;
    array->release(array);
    return false;
}

/* ---- the stream: one array, then the end --------------------------------------------- */

#define OUT_OF_MEMORY 12 /* ENOMEM, as the interface wants it */

struct stream_part {
    struct core_batch *batch;
    bool is_done;
};

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct stream_part *part = stream->private_data;
    return schema_of(out, part->batch) ? 0 : OUT_OF_MEMORY;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream_part *part = stream->private_data;
    if (part->is_done) {
        *out = (struct ArrowArray){0};
        return 0;
    }
    if (!array_of(out, part->batch))
        return OUT_OF_MEMORY;
    part->is_done = true;
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "cannot make the columns: out of memory";
}

static void stream_release(struct ArrowArrayStream *stream)
{
    struct stream_part *part = stream->private_data;
    core_batch_give_back(part->batch);
    PyMem_RawFree(part);
    stream->release = NULL;
}

static bool stream_of(struct ArrowArrayStream *stream, struct core_batch *batch)
{
    struct stream_part *part = PyMem_RawCalloc(1, sizeof *part);
    if (part == NULL)
        return false;
    part->batch = core_batch_keep(batch);
    *stream = (struct ArrowArrayStream){.get_schema = stream_schema,
                                        .get_next = stream_next,
                                        .get_last_error = stream_error,
                                        .release = stream_release,
                                        .private_data = part};
    return true;
}

/* ---- capsules ---------------------------------------------------------------------------- */

/* A capsule that nobody consumed releases what it has. */
#define CAPSULE(kind, type, capsule_name)                                                          \
    static void kind##_capsule_free(PyObject *capsule)                                             \
    {                                                                                              \
        struct type *item = PyCapsule_GetPointer(capsule, capsule_name);                           \
        if (item->release != NULL)                                                                 \
            item->release(item);                                                                   \
        PyMem_RawFree(item);                                                                       \
    }                                                                                              \
    static PyObject *kind##_capsule(struct core_batch *batch)                                      \
    {                                                                                              \
        struct type *item = PyMem_RawCalloc(1, sizeof *item);                                      \
        if (item == NULL || !kind##_of(item, batch)) {                                             \
            PyMem_RawFree(item);                                                                   \
            return PyErr_NoMemory();                                                               \
        }                                                                                          \
        PyObject *capsule = PyCapsule_New(item, capsule_name, kind##_capsule_free);                \
        if (capsule == NULL) {                                                                     \
            item->release(item);                                                                   \
            PyMem_RawFree(item);                                                                   \
        }                                                                                          \
        return capsule;                                                                            \
    }

CAPSULE(schema, ArrowSchema, "arrow_schema")
CAPSULE(array, ArrowArray, "arrow_array")
CAPSULE(stream, ArrowArrayStream, "arrow_array_stream")

/* ---- the Columns object ------------------------------------------------------------------ */

struct core_columns {
    PyObject_HEAD struct core_batch *batch;
};

static struct core_batch *batch_of(PyObject *self)
{
    return ((struct core_columns *)self)->batch;
}

PyObject *core_columns_wrap(const struct core_state *state, struct core_batch *batch)
{
    struct core_columns *self = PyObject_New(struct core_columns, state->columns_type);
    if (self == NULL) {
        core_batch_give_back(batch);
        return NULL;
    }
    self->batch = batch;
    return (PyObject *)self;
}

static void columns_free(PyObject *self)
{
    core_batch_give_back(batch_of(self));
    core_free_object(self);
}

/* What a consumer would rather have is not looked at, as the protocol allows. */
static bool read_request(PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = NULL;
    return PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &requested) != 0;
}

static PyObject *columns_schema(PyObject *self, PyObject *unused)
{
    (void)unused;
    return schema_capsule(batch_of(self));
}

static PyObject *columns_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    if (!read_request(args, kwargs))
        return NULL;
    PyObject *schema = schema_capsule(batch_of(self));
    PyObject *array = schema == NULL ? NULL : array_capsule(batch_of(self));
    if (array == NULL) {
        Py_XDECREF(schema);
        return NULL;
    }
    return Py_BuildValue("(NN)", schema, array);
}

static PyObject *columns_stream(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return read_request(args, kwargs) ? stream_capsule(batch_of(self)) : NULL;
}

static Py_ssize_t columns_len(PyObject *self)
{
    return (Py_ssize_t)batch_of(self)->n_rows;
}

static PyObject *columns_names(PyObject *self, void *unused)
{
    (void)unused;
    const struct core_batch *batch = batch_of(self);
    PyObject *names = PyTuple_New((Py_ssize_t)batch->n_columns);

    for (size_t i = 0; names != NULL && i < batch->n_columns; i++) {
        PyObject *name = PyUnicode_FromString(batch->columns[i].name);
        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
    }
    return names;
}

/* parts(i): format, first row, values as bytes or None, validity as bytes or None, words as
 * list or None. The views begin where the column does, and keep the batch. */
static PyObject *columns_parts(PyObject *self, PyObject *arg)
{
    const struct core_batch *batch = batch_of(self);
    const size_t i = PyLong_AsSize_t(arg);

    if (PyErr_Occurred() != NULL)
        return NULL;
    if (i >= batch->n_columns)
        return PyErr_Format(PyExc_IndexError, "no column %zu", i);
    const struct core_arrow_column *column = &batch->columns[i];
    const size_t n = batch->first + batch->n_rows;
    const size_t n_bytes = (n * core_arrow_bits(column->format) + 7) / 8;
    PyObject *values = column->values == NULL ? Py_NewRef(Py_None)
                                              : core_column(self, column->values, n_bytes, 'B');
    PyObject *validity = column->validity == NULL
                             ? Py_NewRef(Py_None)
                             : core_column(self, column->validity, (n + 7) / 8, 'B');
    PyObject *words = core_words_list(column->words);
    if (values == NULL || validity == NULL || words == NULL) {
        Py_XDECREF(values);
        Py_XDECREF(validity);
        Py_XDECREF(words);
        return NULL;
    }
    return Py_BuildValue("(snNNN)", column->format, (Py_ssize_t)batch->first, values, validity,
                         words);
}

#define WITH_KEYWORDS(name, function, doc)                                                         \
    {                                                                                              \
        name, (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS, doc           \
    }

static PyMethodDef columns_methods[] = {
    {"__arrow_c_schema__", columns_schema, METH_NOARGS, "Arrow's PyCapsule protocol."},
    WITH_KEYWORDS("__arrow_c_array__", columns_array, "Arrow's PyCapsule protocol."),
    WITH_KEYWORDS("__arrow_c_stream__", columns_stream, "Arrow's PyCapsule protocol."),
    {"parts", columns_parts, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef columns_values[] = {
    {"names", columns_names, NULL, "Names of the columns.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot columns_slots[] = {
    {Py_tp_dealloc, CORE_SLOT(columns_free)},
    {Py_tp_methods, columns_methods},
    {Py_tp_getset, columns_values},
    {Py_sq_length, CORE_SLOT(columns_len)},
    {Py_tp_doc, "Columns for whoever speaks Arrow: pyarrow, polars, DuckDB, pandas."},
    {0, NULL},
};

PyType_Spec core_columns_spec = {
    .name = "marey._core.Columns",
    .basicsize = sizeof(struct core_columns),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = columns_slots,
};
