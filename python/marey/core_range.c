/*
 * core_range.c - ranges that a Python program marks: record_function, the callable that it
 * makes of a decorated function, and the type that stands in for torch's fast ranges.
 *
 * A range begins and ends some hundred times for each time that it is read, so that all is
 * decided when the object is made: the name as UTF-8, and a token. The end finds the innermost
 * open range of its thread with that token; one object may therefore be entered again before
 * it was left (recursion), and on several threads at a time, without a stack of its own.
 * Tokens start in the upper half so that they do not meet those of other sources of ranges.
 */
#include "_core.h"

#include <structmember.h>

#include "marey/record.h"

struct named_range {
    PyObject *name; /* holds text */
    struct marey_str text;
    uint32_t token;
    uint32_t scope; /* of an OpRange */
};

struct core_range {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct named_range range;
    PyObject *args; /* torch's, kept for who asks; NULL: none */
};

/* A decorated function. */
struct core_ranged {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct named_range range;
    PyObject *function;
    PyObject *members; /* __dict__, which functools.update_wrapper fills */
    PyObject *weak_references;
};

/* The GIL guards it. */
static uint32_t last_token;

static uint32_t new_token(void)
{
    return UINT32_C(0x80000000) | ++last_token;
}

static bool set_name(struct named_range *range, PyObject *name)
{
    Py_ssize_t len = 0;

    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "the name of a range is a str, not %.100s",
                     Py_TYPE(name)->tp_name);
        return false;
    }
    const char *text = PyUnicode_AsUTF8AndSize(name, &len);
    if (text == NULL)
        return false;
    range->name = Py_NewRef(name);
    range->text = (struct marey_str){text, (size_t)len};
    range->token = new_token();
    return true;
}

static inline void begin(const struct named_range *range)
{
    marey_range_begin_named(range->text, range->token);
}

static inline void end(const struct named_range *range)
{
    marey_range_end_token(range->token);
}

static struct named_range *range_of(PyObject *self)
{
    return &((struct core_range *)self)->range;
}

static PyObject *range_call(PyObject *self, PyObject *const *args, size_t n_args,
                            PyObject *keywords);

/* ---- making one ------------------------------------------------------------------- */

#define MAX_ARGUMENTS 3

/* Arguments by place or by name; NULL where not given. names ends with a NULL. */
static bool take_arguments(PyTypeObject *type, PyObject *const *args, size_t n_args,
                           PyObject *keywords, const char *const *names, PyObject **values)
{
    const size_t n_keywords = keywords == NULL ? 0 : (size_t)PyTuple_GET_SIZE(keywords);
    size_t n_names = 0;

    while (names[n_names] != NULL)
        values[n_names++] = NULL;
    if (n_args > n_names) {
        PyErr_Format(PyExc_TypeError, "%s takes at most %zu arguments, %zu given", type->tp_name,
                     n_names, n_args);
        return false;
    }
    for (size_t i = 0; i < n_args; i++)
        values[i] = args[i];
    for (size_t i = 0; i < n_keywords; i++) {
        PyObject *keyword = PyTuple_GET_ITEM(keywords, (Py_ssize_t)i);
        size_t place = n_args;
        while (place < n_names && PyUnicode_CompareWithASCIIString(keyword, names[place]) != 0)
            place++;
        if (place == n_names) {
            PyErr_Format(PyExc_TypeError, "%s has no argument %R here", type->tp_name, keyword);
            return false;
        }
        values[place] = args[n_args + i];
    }
    if (values[0] == NULL)
        PyErr_Format(PyExc_TypeError, "%s needs a name", type->tp_name);
    return values[0] != NULL;
}

static struct core_range *make_range(PyTypeObject *type, PyObject *name)
{
    struct core_range *self = PyObject_New(struct core_range, type);
    if (self == NULL)
        return NULL;
    self->vectorcall = range_call;
    self->range = (struct named_range){.name = NULL};
    self->args = NULL;
    if (!set_name(&self->range, name))
        Py_CLEAR(self);
    return self;
}

static PyObject *make_range_with_args(PyTypeObject *type, PyObject *name, PyObject *args)
{
    struct core_range *self = make_range(type, name);

    if (self != NULL)
        self->args = Py_XNewRef(args);
    return (PyObject *)self;
}

/* What most callers give needs no parsing: one name. */
static PyObject *new_range(PyObject *self, PyObject *const *args, size_t n_args, PyObject *keywords)
{
    static const char *const names[] = {"name", "args", NULL};
    PyTypeObject *type = (PyTypeObject *)self;
    PyObject *values[MAX_ARGUMENTS];

    if (keywords == NULL && PyVectorcall_NARGS(n_args) == 1)
        return (PyObject *)make_range(type, args[0]);
    if (!take_arguments(type, args, (size_t)PyVectorcall_NARGS(n_args), keywords, names, values))
        return NULL;
    return make_range_with_args(type, values[0], values[1]);
}

/* True for {"scope": "user_scope"}, which tells torch's type that the range is an annotation. */
static bool says_user_scope(PyObject *keyword_values)
{
    if (keyword_values == NULL || !PyDict_Check(keyword_values))
        return false;
    PyObject *scope = PyDict_GetItemString(keyword_values, "scope");
    return scope != NULL && PyUnicode_Check(scope) &&
           PyUnicode_CompareWithASCIIString(scope, "user_scope") == 0;
}

static PyObject *make_op_range(PyTypeObject *type, PyObject *name, PyObject *keyword_values)
{
    struct core_range *self = make_range(type, name);

    if (self != NULL)
        self->range.scope =
            says_user_scope(keyword_values) ? MAREY_SCOPE_USER : MAREY_SCOPE_FUNCTION;
    return (PyObject *)self;
}

static PyObject *new_op_range(PyObject *self, PyObject *const *args, size_t n_args,
                              PyObject *keywords)
{
    static const char *const names[] = {"name", "input_values", "keyword_values", NULL};
    PyTypeObject *type = (PyTypeObject *)self;
    PyObject *values[MAX_ARGUMENTS];

    if (!take_arguments(type, args, (size_t)PyVectorcall_NARGS(n_args), keywords, names, values))
        return NULL;
    return make_op_range(type, values[0], values[2]);
}

/* For who calls the constructor past the vectorcall. torch.compile also takes a type without
 * one of its own for a class written in Python, and would look for Python code in its
 * methods. */
static PyObject *range_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "args", NULL};
    PyObject *name = NULL;
    PyObject *torchs_args = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, &name, &torchs_args))
        return NULL;
    return make_range_with_args(type, name, torchs_args);
}

static PyObject *op_range_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "input_values", "keyword_values", NULL};
    PyObject *name = NULL;
    PyObject *unused = NULL;
    PyObject *keyword_values = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO", names, &name, &unused, &keyword_values))
        return NULL;
    return make_op_range(type, name, keyword_values);
}

static void range_free(PyObject *self)
{
    Py_XDECREF(range_of(self)->name);
    Py_XDECREF(((struct core_range *)self)->args);
    core_free_object(self);
}

static PyObject *range_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<%s %R>", Py_TYPE(self)->tp_name, range_of(self)->name);
}

static PyObject *range_get_name(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(range_of(self)->name);
}

static PyObject *range_get_args(PyObject *self, void *unused)
{
    PyObject *args = ((struct core_range *)self)->args;

    (void)unused;
    return Py_NewRef(args == NULL ? Py_None : args);
}

static PyObject *range_get_run_callbacks_on_exit(PyObject *self, void *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_TRUE;
}

/* ---- record_function -----------------------------------------------------------------
 *
 * A with statement takes __enter__ and __exit__ from the type and binds each to the object,
 * which costs more than both records. Here the binding is the object itself: called with
 * nothing it enters, with the three values of __exit__ it leaves, with one it decorates.
 * A RangeMethod in the type's dict is what binds so.
 */

static PyObject *range_enter(PyObject *self)
{
    begin(range_of(self));
    return Py_NewRef(self);
}

static PyObject *range_exit(PyObject *self)
{
    end(range_of(self));
    Py_RETURN_NONE;
}

/* What is to be made of a function depends on its kind, which Python code tells. */
static PyObject *range_decorate(PyObject *self, PyObject *function)
{
    PyObject *module = PyImport_ImportModule("marey._ranges");
    if (module == NULL)
        return NULL;
    PyObject *result =
        PyObject_CallMethod(module, "decorate", "OO", range_of(self)->name, function);
    Py_DECREF(module);
    return result;
}

static PyObject *range_call(PyObject *self, PyObject *const *args, size_t n_args,
                            PyObject *keywords)
{
    if (keywords == NULL || PyTuple_GET_SIZE(keywords) == 0) {
        switch (PyVectorcall_NARGS(n_args)) {
        case 0:
            return range_enter(self);
        case 1:
            return range_decorate(self, args[0]);
        case 3:
            return range_exit(self);
        default:
            break;
        }
    }
    PyErr_SetString(PyExc_TypeError, "a range decorates one function");
    return NULL;
}

struct range_method {
    PyObject_HEAD vectorcallfunc vectorcall;
    bool is_exit;
};

static PyObject *range_method_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return Py_NewRef(object == NULL ? self : object);
}

/* record_function.__enter__(range), as contextlib's ExitStack calls it. */
static PyObject *range_method_call(PyObject *self, PyObject *const *args, size_t n_args,
                                   PyObject *keywords)
{
    const bool is_exit = ((struct range_method *)self)->is_exit;
    const struct core_state *state = core_state_of(self);

    if (keywords != NULL || PyVectorcall_NARGS(n_args) != (is_exit ? 4 : 1) ||
        !Py_IS_TYPE(args[0], state->range_type)) {
        PyErr_SetString(PyExc_TypeError, is_exit ? "__exit__ takes a range and three values"
                                                 : "__enter__ takes a range");
        return NULL;
    }
    return is_exit ? range_exit(args[0]) : range_enter(args[0]);
}

static PyMemberDef range_method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct range_method, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot range_method_slots[] = {
    {Py_tp_dealloc, CORE_SLOT(core_free_object)},
    {Py_tp_call, CORE_SLOT(PyVectorcall_Call)},
    {Py_tp_descr_get, CORE_SLOT(range_method_get)},
    {Py_tp_members, range_method_members},
    {Py_tp_doc, "__enter__ or __exit__ of record_function."},
    {0, NULL},
};

PyType_Spec core_range_method_spec = {
    .name = "marey._core.RangeMethod",
    .basicsize = sizeof(struct range_method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = range_method_slots,
};

static bool add_range_method(const struct core_state *state, const char *name, bool is_exit)
{
    struct range_method *method = PyObject_New(struct range_method, state->range_method_type);
    if (method == NULL)
        return false;
    method->vectorcall = range_method_call;
    method->is_exit = is_exit;
    const int failed =
        PyObject_SetAttrString((PyObject *)state->range_type, name, (PyObject *)method);
    Py_DECREF(method);
    return failed == 0;
}

bool core_range_types_init(const struct core_state *state)
{
    state->range_type->tp_vectorcall = new_range;
    state->op_range_type->tp_vectorcall = new_op_range;
    return add_range_method(state, "__enter__", false) && add_range_method(state, "__exit__", true);
}

static PyMemberDef range_offsets[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct core_range, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef range_members[] = {
    {"name", range_get_name, NULL, "What the range is called.", NULL},
    {"args", range_get_args, NULL, "What was given as args; it is recorded nowhere.", NULL},
    {"run_callbacks_on_exit", range_get_run_callbacks_on_exit, NULL,
     "True, as torch has it: a range ends where it is left.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef op_range_members[] = {
    {"name", range_get_name, NULL, "What the range is called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot range_slots[] = {
    {Py_tp_new, CORE_SLOT(range_new)},
    {Py_tp_dealloc, CORE_SLOT(range_free)},
    {Py_tp_repr, CORE_SLOT(range_repr)},
    {Py_tp_call, CORE_SLOT(PyVectorcall_Call)},
    {Py_tp_members, range_offsets},
    {Py_tp_getset, range_members},
    {Py_tp_doc,
     "record_function(name, args=None)\n--\n\n"
     "A range of the program under a name: a context manager and a decorator.\n\n"
     "Of a decorated generator or coroutine each stretch in which its body runs is a range.\n"
     "args is torch's, and recorded nowhere."},
    {0, NULL},
};

PyType_Spec core_range_spec = {
    .name = "marey.record_function",
    .basicsize = sizeof(struct core_range),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = range_slots,
};

/* ---- the stand-in for torch._C._profiler._RecordFunctionFast ------------------------------ */

static PyObject *op_range_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct named_range *range = range_of(self);
    const struct marey_op op = {
        .name = range->text.ptr,
        .sequence = -1,
        .token = range->token,
        .scope = range->scope,
    };
    marey_recorder_sink()->op_begin(&op);
    Py_RETURN_NONE;
}

static PyObject *op_range_exit(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)args;
    (void)n_args;
    marey_recorder_sink()->op_end(range_of(self)->token);
    Py_RETURN_NONE;
}

static PyMethodDef op_range_methods[] = {
    {"__enter__", op_range_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))op_range_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot op_range_slots[] = {
    {Py_tp_new, CORE_SLOT(op_range_new)},
    {Py_tp_dealloc, CORE_SLOT(range_free)},
    {Py_tp_repr, CORE_SLOT(range_repr)},
    {Py_tp_methods, op_range_methods},
    {Py_tp_getset, op_range_members},
    {Py_tp_doc, "OpRange(name, input_values=None, keyword_values=None)\n--\n\n"
                "A range of the kind of an operator; the values are not recorded."},
    {0, NULL},
};

PyType_Spec core_op_range_spec = {
    .name = "marey._core.OpRange",
    .basicsize = sizeof(struct core_range),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = op_range_slots,
};

/* ---- a decorated function ----------------------------------------------------------------- */

static struct core_ranged *ranged_of(PyObject *self)
{
    return (struct core_ranged *)self;
}

static PyObject *ranged_vectorcall(PyObject *self, PyObject *const *args, size_t n_args,
                                   PyObject *keywords)
{
    const struct core_ranged *ranged = ranged_of(self);

    if (!core_stack_has_room())
        return NULL;
    begin(&ranged->range);
    PyObject *result = PyObject_Vectorcall(ranged->function, args, n_args, keywords);
    end(&ranged->range);
    return result;
}

static PyObject *ranged_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "function", NULL};
    PyObject *name = NULL;
    PyObject *function = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", names, &name, &function))
        return NULL;
    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError, "record_function decorates a function, not %.100s",
                     Py_TYPE(function)->tp_name);
        return NULL;
    }
    struct core_ranged *self = (struct core_ranged *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = ranged_vectorcall;
    self->function = Py_NewRef(function);
    if (!set_name(&self->range, name))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int ranged_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(ranged_of(self)->function);
    Py_VISIT(ranged_of(self)->members);
    return 0;
}

/* The name stays: who still calls a cleared object gets an error of Python, not a crash. */
static int ranged_clear(PyObject *self)
{
    PyObject *function = ranged_of(self)->function;

    if (function != NULL && function != Py_None) {
        ranged_of(self)->function = Py_NewRef(Py_None);
        Py_DECREF(function);
    }
    Py_CLEAR(ranged_of(self)->members);
    return 0;
}

static void ranged_free(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    /* A function that was decorated many times over is freed without as deep a stack. */
    Py_TRASHCAN_BEGIN(self, ranged_free);
    if (ranged_of(self)->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    Py_CLEAR(ranged_of(self)->function);
    Py_CLEAR(ranged_of(self)->members);
    Py_CLEAR(ranged_of(self)->range.name);
    core_free_object(self);
    Py_TRASHCAN_END;
}

/* In a class it binds as a function does. */
static PyObject *ranged_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || object == Py_None)
        return Py_NewRef(self);
    return PyMethod_New(self, object);
}

/* Pickled and copied by its name, as a function is. */
static PyObject *ranged_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyObject *ranged_copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *ranged_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<%R in the range %R>", ranged_of(self)->function,
                                ranged_of(self)->range.name);
}

static PyMethodDef ranged_methods[] = {
    {"__reduce__", ranged_reduce, METH_NOARGS, NULL},
    {"__copy__", ranged_copy, METH_NOARGS, NULL},
    {"__deepcopy__", ranged_copy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef ranged_getters[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef ranged_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct core_ranged, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct core_ranged, members), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct core_ranged, weak_references), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot ranged_slots[] = {
    {Py_tp_new, CORE_SLOT(ranged_new)},
    {Py_tp_dealloc, CORE_SLOT(ranged_free)},
    {Py_tp_traverse, CORE_SLOT(ranged_traverse)},
    {Py_tp_clear, CORE_SLOT(ranged_clear)},
    {Py_tp_call, CORE_SLOT(PyVectorcall_Call)},
    {Py_tp_descr_get, CORE_SLOT(ranged_get)},
    {Py_tp_repr, CORE_SLOT(ranged_repr)},
    {Py_tp_methods, ranged_methods},
    {Py_tp_getset, ranged_getters},
    {Py_tp_members, ranged_members},
    {Py_tp_doc, "A function whose calls are ranges."},
    {0, NULL},
};

PyType_Spec core_ranged_spec = {
    .name = "marey._core.RangedFunction",
    .basicsize = sizeof(struct core_ranged),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = ranged_slots,
};
