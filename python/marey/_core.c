/*
 * _core.c - the extension module: exceptions, the functions that load, the table of types.
 */
#include "_core.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

/* ---- errors ------------------------------------------------------------------- */

/* The one table from status to exception. A row with a name makes a class of MareyError
 * and, where given, the built-in one; a row without uses the built-in one itself, or
 * MareyError. */
static const struct {
    enum marey_status status;
    const char *name;
    PyObject **built_in;
    const char *doc;
} exceptions[] = {
    {MAREY_NOMEM, NULL, &PyExc_MemoryError, NULL},
    {MAREY_IO, NULL, &PyExc_OSError, NULL},
    {MAREY_FORMAT, "marey.FormatError", &PyExc_ValueError,
     "The bytes are not what they claim to be."},
    {MAREY_LIMIT, "marey.LimitError", NULL, "Larger than a cap; the message says which."},
    {MAREY_INVALID, NULL, &PyExc_ValueError, NULL},
    {MAREY_UNSUPPORTED, "marey.UnsupportedError", &PyExc_NotImplementedError,
     "This build or object cannot do it."},
    {MAREY_CHANGED, "marey.ChangedError", NULL,
     "The file behind a trace is no longer the one that was loaded."},
};

#define N_EXCEPTIONS (sizeof exceptions / sizeof exceptions[0])

PyObject *core_raise(const struct core_state *state, const struct marey_error *err)
{
    const int place = -(int)err->status;
    PyObject *type = place > 0 && place < CORE_N_STATUSES ? state->exception[place] : state->error;

    if (err->status == MAREY_NOMEM)
        return PyErr_NoMemory();

    PyObject *message =
        PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    PyObject *exception = message == NULL ? NULL : PyObject_CallOneArg(type, message);
    PyObject *status = PyLong_FromLong(err->status);
    PyObject *offset = core_int_or_none(err->offset_bytes);
    if (exception != NULL && status != NULL && offset != NULL &&
        PyObject_SetAttrString(exception, "status", status) == 0 &&
        PyObject_SetAttrString(exception, "offset", offset) == 0)
        PyErr_SetObject(type, exception);
    Py_XDECREF(offset);
    Py_XDECREF(status);
    Py_XDECREF(exception);
    Py_XDECREF(message);
    return NULL;
}

static PyObject *exception_class(const struct core_state *state, size_t i)
{
    if (exceptions[i].name == NULL)
        return Py_NewRef(*exceptions[i].built_in);
    if (exceptions[i].built_in == NULL)
        return PyErr_NewExceptionWithDoc(exceptions[i].name, exceptions[i].doc, state->error, NULL);

    PyObject *bases = PyTuple_Pack(2, state->error, *exceptions[i].built_in);
    if (bases == NULL)
        return NULL;
    PyObject *type = PyErr_NewExceptionWithDoc(exceptions[i].name, exceptions[i].doc, bases, NULL);
    Py_DECREF(bases);
    return type;
}

bool core_errors_init(PyObject *module, struct core_state *state)
{
    PyObject *members = Py_BuildValue("{sOsO}", "status", Py_None, "offset", Py_None);
    if (members == NULL)
        return false;
    state->error = PyErr_NewExceptionWithDoc(
        "marey.MareyError",
        "What libmarey refused; status is the code of its C interface, offset the place in the "
        "file or None.",
        NULL, members);
    Py_DECREF(members);
    if (state->error == NULL || PyModule_AddObjectRef(module, "MareyError", state->error) < 0)
        return false;

    for (size_t i = 0; i < N_EXCEPTIONS; i++) {
        PyObject *type = exception_class(state, i);
        state->exception[-exceptions[i].status] = type;
        if (type == NULL)
            return false;
        if (exceptions[i].name != NULL &&
            PyModule_AddObjectRef(module, strchr(exceptions[i].name, '.') + 1, type) < 0)
            return false;
    }
    return true;
}

/* ---- the library that is loaded -------------------------------------------------- */

static const char *library_path(void)
{
    Dl_info info;
    /* POSIX lets a pointer to a function become a pointer to data; C only by way of an
     * integer. */
    if (dladdr((const void *)(uintptr_t)&marey_version, &info) == 0 || info.dli_fname == NULL)
        return "?";
    return info.dli_fname;
}

/* A libmarey of another major version, or an older one, may lack what is called here. */
static bool check_library(void)
{
    int major = 0;
    int minor = 0;
    int patch = 0;
    const int n = sscanf(marey_version(), "%d.%d.%d", &major, &minor, &patch);
    const bool is_newer_or_same = minor > MAREY_VERSION_MINOR ||
                                  (minor == MAREY_VERSION_MINOR && patch >= MAREY_VERSION_PATCH);

    if (n == 3 && major == MAREY_VERSION_MAJOR && is_newer_or_same)
        return true;
    PyErr_Format(PyExc_ImportError,
                 "cannot use libmarey '%s' version %s, this package needs %d.%d.%d or later of "
                 "the same major version: remove it from the library path, or install a marey "
                 "package of its version",
                 library_path(), marey_version(), MAREY_VERSION_MAJOR, MAREY_VERSION_MINOR,
                 MAREY_VERSION_PATCH);
    return false;
}

static PyObject *module_library_path(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_DecodeFSDefault(library_path());
}

static PyObject *module_version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(marey_version());
}

static PyObject *module_table_columns(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    const char *const *names = marey_table_columns();

    for (; list != NULL && *names != NULL; names++) {
        PyObject *name = PyUnicode_FromString(*names);
        if (name == NULL || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *module_ledger_reasons(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    size_t n = 0;
    const struct marey_ledger_reason *reason = marey_ledger_reasons(&n);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *row = Py_BuildValue("(isszz)", (int)reason[i].map, reason[i].reason,
                                      reason[i].meaning, reason[i].effect, reason[i].remedy);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* ---- loading ------------------------------------------------------------------------- */

static struct marey_import_options import_options(int checks_all, Py_ssize_t n_threads)
{
    return (struct marey_import_options){
        .size = sizeof(struct marey_import_options),
        .n_threads = (size_t)n_threads,
        .check = checks_all ? MAREY_CHECK_ALL : MAREY_CHECK_FIELDS,
    };
}

static PyObject *load_paths(const struct core_state *state, const char *const *paths, size_t n,
                            const struct marey_import_options *options)
{
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    enum marey_status status;

    Py_BEGIN_ALLOW_THREADS
        status = marey_import_files(paths, n, options, &trace, &err);
    Py_END_ALLOW_THREADS

    if (status != MAREY_OK)
        return core_raise(state, &err);
    return core_trace_wrap(state, trace);
}

/* import_paths(paths, checks_all, n_threads): a tuple of what os.fsencode gives. */
static PyObject *module_import_paths(PyObject *module, PyObject *args)
{
    PyObject *list = NULL;
    int checks_all = 0;
    Py_ssize_t n_threads = 0;
    if (!PyArg_ParseTuple(args, "O!|pn", &PyTuple_Type, &list, &checks_all, &n_threads))
        return NULL;
    const struct marey_import_options options = import_options(checks_all, n_threads);

    const size_t n = (size_t)PyTuple_GET_SIZE(list);
    const char **paths = PyMem_New(const char *, n + 1);
    if (paths == NULL)
        return PyErr_NoMemory();

    PyObject *result = NULL;
    for (size_t i = 0; i < n; i++) {
        char *path = NULL;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(list, (Py_ssize_t)i), &path, NULL) < 0)
            goto done;
        paths[i] = path;
    }
    result = load_paths(PyModule_GetState(module), paths, n, &options);

done:
    PyMem_Free(paths);
    return result;
}

static PyObject *module_import_bytes(PyObject *module, PyObject *args)
{
    const struct core_state *state = PyModule_GetState(module);
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    enum marey_status status;
    Py_buffer bytes;
    int checks_all = 0;
    Py_ssize_t n_threads = 0;

    if (!PyArg_ParseTuple(args, "y*|pn", &bytes, &checks_all, &n_threads))
        return NULL;
    const struct marey_import_options options = import_options(checks_all, n_threads);

    Py_BEGIN_ALLOW_THREADS
        const struct marey_str text = {bytes.buf, (size_t)bytes.len};
        status = marey_import_bytes(text, &options, &trace, &err);
    Py_END_ALLOW_THREADS

    PyBuffer_Release(&bytes);
    if (status != MAREY_OK)
        return core_raise(state, &err);
    return core_trace_wrap(state, trace);
}

typedef enum marey_status (*list_fn)(const char *folder, char ***paths, size_t *n,
                                     struct marey_error *err);

static PyObject *list_paths(PyObject *module, PyObject *args, list_fn list_files)
{
    struct marey_error err = {0};
    char **paths = NULL;
    size_t n = 0;
    PyObject *folder = NULL;

    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &folder))
        return NULL;
    const enum marey_status status = list_files(PyBytes_AS_STRING(folder), &paths, &n, &err);
    Py_DECREF(folder);
    if (status != MAREY_OK)
        return core_raise(PyModule_GetState(module), &err);

    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list != NULL && i < n; i++) {
        PyObject *path = PyUnicode_DecodeFSDefault(paths[i]);
        if (path == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, path);
    }
    marey_import_paths_free(paths);
    return list;
}

static PyObject *module_list_folder(PyObject *module, PyObject *args)
{
    return list_paths(module, args, marey_import_list_folder);
}

static PyObject *module_list_left_out(PyObject *module, PyObject *args)
{
    return list_paths(module, args, marey_import_list_left_out);
}

static PyObject *module_list_links(PyObject *module, PyObject *args)
{
    return list_paths(module, args, marey_import_list_links);
}

/* ---- the module ------------------------------------------------------------------------- */

struct core_state *core_state_of(PyObject *object)
{
    return PyType_GetModuleState(Py_TYPE(object));
}

void core_free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef module_methods[] = {
    {"import_paths", module_import_paths, METH_VARARGS, "Load files, given as bytes."},
    {"import_bytes", module_import_bytes, METH_VARARGS, "Load a trace from memory."},
    {"list_folder", module_list_folder, METH_VARARGS, "The trace files of a folder."},
    {"list_left_out", module_list_left_out, METH_VARARGS, "Files of a folder that are not read."},
    {"list_links", module_list_links, METH_VARARGS, "Each link in a folder, and its file."},
    {"library_path", module_library_path, METH_NOARGS, "Where the loaded libmarey lies."},
    {"version", module_version, METH_NOARGS, "Version of the loaded libmarey."},
    {"table_columns", module_table_columns, METH_NOARGS, "Names that columns= takes."},
    {"ledger_reasons", module_ledger_reasons, METH_NOARGS, "What a ledger may tell of."},
    {"columns_of", core_columns_of, METH_O, "Columns of values for Arrow."},
    {"join_averages", core_join_averages, METH_O, "Averages of spans one after another as one."},
    {"arm_guard", core_arm_guard, METH_NOARGS, "The default of a signal was set again."},
    {NULL, NULL, 0, NULL},
};

/* Adding a type: a row here, its place in struct core_state, its spec in _core.h. */
static const struct {
    size_t place; /* in struct core_state */
    PyType_Spec *spec;
} types[] = {
    {offsetof(struct core_state, column_type), &core_column_spec},
    {offsetof(struct core_state, trace_type), &core_trace_spec},
    {offsetof(struct core_state, averages_type), &core_averages_spec},
    {offsetof(struct core_state, torch_view_type), &core_torch_view_spec},
    {offsetof(struct core_state, torch_averages_type), &core_torch_averages_spec},
    {offsetof(struct core_state, session_type), &core_session_spec},
    {offsetof(struct core_state, range_type), &core_range_spec},
    {offsetof(struct core_state, range_method_type), &core_range_method_spec},
    {offsetof(struct core_state, op_range_type), &core_op_range_spec},
    {offsetof(struct core_state, ranged_type), &core_ranged_spec},
    {offsetof(struct core_state, slice_type), &core_slice_spec},
    {offsetof(struct core_state, columns_type), &core_columns_spec},
    {offsetof(struct core_state, watch_type), &core_watch_spec},
};

#define N_TYPES (sizeof types / sizeof types[0])

static PyTypeObject **type_at(struct core_state *state, size_t i)
{
    return (PyTypeObject **)(void *)((char *)state + types[i].place);
}

static bool add_types(PyObject *module, struct core_state *state)
{
    for (size_t i = 0; i < N_TYPES; i++) {
        PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, types[i].spec, NULL);
        if (type == NULL)
            return false;
        *type_at(state, i) = type;
        if (PyModule_AddType(module, type) < 0)
            return false;
    }
    return core_range_types_init(state);
}

static bool add_kinds(PyObject *module, struct core_state *state)
{
    PyObject *names = PyTuple_New(MAREY_N_KINDS);
    for (int kind = 0; names != NULL && kind < MAREY_N_KINDS; kind++) {
        PyObject *name = PyUnicode_FromString(marey_kind_name((enum marey_kind)kind));
        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, kind, name);
    }
    const bool is_added = names != NULL && PyModule_AddObjectRef(module, "KINDS", names) == 0;
    state->kinds = names;
    return is_added;
}

static bool add_fields(PyObject *module)
{
    PyObject *dict = PyDict_New();
    const bool is_added = dict != NULL && core_describe_trace(dict) &&
                          core_describe_averages(dict) && core_describe_torch(dict) &&
                          core_describe_record(dict) &&
                          PyModule_AddObjectRef(module, "FIELDS", dict) == 0;
    Py_XDECREF(dict);
    return is_added;
}

static int module_exec(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);

    if (!check_library() || !core_errors_init(module, state))
        return -1;
    if (!add_types(module, state))
        return -1;
    if (!add_kinds(module, state) || !add_fields(module) || !core_event_column_names(module) ||
        !core_record_constants(module) || PyModule_AddFunctions(module, core_record_functions) < 0)
        return -1;
    if (PyModule_AddStringConstant(module, "VERSION", MAREY_VERSION_STRING) < 0)
        return -1;
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct core_state *state = PyModule_GetState(module);

    Py_VISIT(state->error);
    Py_VISIT(state->kinds);
    for (size_t i = 0; i < CORE_N_STATUSES; i++)
        Py_VISIT(state->exception[i]);
    for (size_t i = 0; i < N_TYPES; i++)
        Py_VISIT(*type_at(state, i));
    return 0;
}

static int module_clear(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);

    Py_CLEAR(state->error);
    Py_CLEAR(state->kinds);
    for (size_t i = 0; i < CORE_N_STATUSES; i++)
        Py_CLEAR(state->exception[i]);
    for (size_t i = 0; i < N_TYPES; i++)
        Py_CLEAR(*type_at(state, i));
    return 0;
}

static void module_free(void *module)
{
    (void)module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, CORE_SLOT(module_exec)},
    {0, NULL},
};

static struct PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "marey._core",
    .m_doc = "libmarey as Python sees it; use the marey package instead.",
    .m_size = sizeof(struct core_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
