/*
 * _core.h - what the files of the CPython extension share.
 *
 * The extension converts arguments, calls libmarey and converts results; what the
 * results mean is said in Python. Every object of libmarey has a Python object of its
 * own that frees it and holds a reference to the object it borrows from.
 *
 * The GIL is released around every call that may take long or may wait for the lock of a
 * trace. No code of libmarey that runs without it touches a PyObject.
 */
#ifndef MAREY_PYTHON_CORE_H
#define MAREY_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "marey/aggregate.h"
#include "marey/base.h"
#include "marey/export.h"
#include "marey/import.h"
#include "marey/trace.h"

#include <stdbool.h>
#include <stddef.h>

/* One more than the largest -status. */
#define CORE_N_STATUSES 8

struct core_state {
    PyObject *error;                      /* MareyError */
    PyObject *exception[CORE_N_STATUSES]; /* by -status */
    PyTypeObject *column_type;
    PyTypeObject *trace_type;
    PyTypeObject *averages_type;
    PyTypeObject *torch_view_type;
    PyTypeObject *torch_averages_type;
    PyTypeObject *session_type;
    PyTypeObject *range_type;
    PyTypeObject *range_method_type;
    PyTypeObject *op_range_type;
    PyTypeObject *ranged_type;
    PyTypeObject *slice_type;
    PyTypeObject *columns_type;
    PyTypeObject *watch_type;
    PyObject *kinds; /* KINDS, the names of enum marey_kind */
};

struct core_hold;

struct core_trace {
    PyObject_HEAD struct core_hold *hold; /* counts who needs the trace, see core_arrow.h */
    struct marey_trace *trace;            /* of the hold */
    struct marey_slices slices;
    const int64_t *self_ns; /* NULL until asked for */
    PyObject **names;       /* [n_names] by string id, NULL until asked for; NULL: none yet */
    size_t n_names;
};

struct core_state *core_state_of(PyObject *object);

/* ---- errors ------------------------------------------------------------- */

/* Sets the exception of a failure; always NULL. */
PyObject *core_raise(const struct core_state *state, const struct marey_error *err);
bool core_errors_init(PyObject *module, struct core_state *state);

/* ---- conversion of results ---------------------------------------------- */

PyObject *core_str(struct marey_str text);
PyObject *core_str_or_none(struct marey_str text);
PyObject *core_int_or_none(int64_t value);    /* None for MAREY_UNKNOWN */
PyObject *core_index_or_none(uint32_t index); /* None for MAREY_NONE */

/* The text as str, or as bytes; releases it. */
PyObject *core_take_text(struct marey_text *text);
PyObject *core_take_bytes(struct marey_text *text);

/* A read-only memoryview of values[n] that keeps `owner` alive. format is 'q', 'Q', 'I'
 * or 'B' as in the struct module. None for NULL values where n is not 0. */
PyObject *core_column(PyObject *owner, const void *values, size_t n, char format);

/* How a member of a C struct becomes a Python value. */
enum core_field_kind {
    CORE_FIELD_STRING,  /* uint32_t id of a string: str, None for MAREY_NONE */
    CORE_FIELD_INDEX,   /* uint32_t: int, None for MAREY_NONE */
    CORE_FIELD_COUNT32, /* uint32_t: int */
    CORE_FIELD_COUNT64, /* uint64_t: int */
    CORE_FIELD_OFFSET,  /* uint64_t: int, None for UINT64_MAX */
    CORE_FIELD_NS,      /* int64_t: int, None for MAREY_UNKNOWN */
    CORE_FIELD_INT64,   /* int64_t: int */
    CORE_FIELD_INT32,   /* int32_t or an enum: int */
    CORE_FIELD_DOUBLE,  /* double: float */
    CORE_FIELD_BOOL,    /* bool */
    CORE_FIELD_TEXT     /* const char *: str */
};

struct core_field {
    const char *name;
    size_t offset;
    enum core_field_kind kind;
};

/* Resolves string ids of a struct; the object is a trace, averages or a view. */
typedef struct marey_str (*core_string_fn)(const void *object, uint32_t string_id);

/* A C struct as Python sees it: a tuple with one value for each field. */
struct core_record {
    const char *name;
    size_t size;
    const struct core_field *fields;
    size_t n_fields;
};

PyObject *core_record_tuple(const struct core_record *record, const void *item,
                            core_string_fn string, const void *object);

/* items[n] as a list of tuples. */
PyObject *core_record_list(const struct core_record *record, const void *items, size_t n,
                           core_string_fn string, const void *object);

/* Adds record->name -> names of its fields to a dict. */
bool core_record_describe(PyObject *dict, const struct core_record *record);

#define CORE_FIELD(type, member, kind)                                                             \
    {                                                                                              \
#member, offsetof(type, member), kind                                                      \
    }
#define CORE_RECORD(name, type, fields)                                                            \
    {                                                                                              \
        name, sizeof(type), fields, sizeof(fields) / sizeof(fields)[0]                             \
    }

/* A function as the value of a slot: ISO C has no other way than by an integer. */
#define CORE_SLOT(function) ((void *)(uintptr_t)(function))

/* ---- types ------------------------------------------------------------------ */

extern PyType_Spec core_column_spec;
extern PyType_Spec core_trace_spec;
extern PyType_Spec core_averages_spec;
extern PyType_Spec core_torch_view_spec;
extern PyType_Spec core_torch_averages_spec;
extern PyType_Spec core_session_spec;
extern PyType_Spec core_range_spec;
extern PyType_Spec core_range_method_spec;
extern PyType_Spec core_op_range_spec;
extern PyType_Spec core_ranged_spec;
extern PyType_Spec core_slice_spec;
extern PyType_Spec core_columns_spec;
extern PyType_Spec core_watch_spec;

/* What no slot can set. */
bool core_range_types_init(const struct core_state *state);

static inline struct marey_trace *core_trace_of(PyObject *self)
{
    return ((struct core_trace *)self)->trace;
}

bool core_is_trace(PyObject *object);

/* The text of a string as str, the same object each time; None for MAREY_NONE. */
PyObject *core_trace_name(PyObject *self, uint32_t string_id);

/* Self times of all slices; NULL, with an exception, if they cannot be made. */
const int64_t *core_trace_self_ns(PyObject *self);

/* A Trace object that owns the trace; frees it on failure. */
PyObject *core_trace_wrap(const struct core_state *state, struct marey_trace *trace);

/* Methods of Trace that have files of their own. */
PyObject *core_trace_decode_args(PyObject *self, PyObject *arg);
PyObject *core_trace_arg_ints(PyObject *self, PyObject *arg);
PyObject *core_trace_arg_texts(PyObject *self, PyObject *arg);
PyObject *core_trace_walk_args(PyObject *self, PyObject *args);
PyObject *core_trace_averages(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_join_averages(PyObject *module, PyObject *given);
PyObject *core_trace_torch_view(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_trace_export_chrome(PyObject *self, PyObject *args);
PyObject *core_trace_batch(PyObject *self, PyObject *args);
PyObject *core_trace_words(PyObject *self, PyObject *args);
PyObject *core_trace_select(PyObject *self, PyObject *args);

bool core_describe_trace(PyObject *dict);
bool core_describe_averages(PyObject *dict);
bool core_describe_torch(PyObject *dict);
bool core_describe_record(PyObject *dict);

PyObject *core_columns_of(PyObject *module, PyObject *rows);
bool core_event_column_names(PyObject *module);

/* Functions of the module that record. */
extern PyMethodDef core_record_functions[];
bool core_record_constants(PyObject *module);

/* Of a Session; borrowed. */
struct marey_session *core_session_of(PyObject *self);

PyObject *core_begin_guard(PyObject *module, PyObject *args);
PyObject *core_keep_stderr(PyObject *module, PyObject *unused);
PyObject *core_notice(PyObject *module, PyObject *text);
void core_print_notice(const char *text, size_t len);
PyObject *core_arm_guard(PyObject *module, PyObject *unused);
PyObject *core_end_guard(PyObject *module, PyObject *unused);
PyObject *core_leave_guard(PyObject *module, PyObject *unused);

/* False, with a RecursionError, if the C stack of the thread is all but full. */
bool core_stack_has_room(void);

/* Deallocation of an object without references but its type. */
void core_free_object(PyObject *self);

#endif
