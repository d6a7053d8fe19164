/*
 * torch_names.c - what torch makes of the names of records.
 *
 * A name goes through the C++ demangler, "ProfilerStep#12" becomes "ProfilerStep*", and
 * with captured overload names "aten::add.Tensor" is the op "aten::add" and "Tensor".
 *
 * The demangler is the C++ library's, found when it is needed: the core links no C++.
 * Without it names stay as they are.
 */
#include <dlfcn.h>
#include <string.h>

#include "aggregate/torch_view.h"
#include "base/error.h"
#include "base/str.h"

#define STEP_PREFIX "ProfilerStep#"
#define STEP_NAME "ProfilerStep*"

/* Events of these names are none: torch drops them, or handles them apart. */
static const char *const skipped_names[] = {
    "[memory]",
    "[OutOfMemory]",
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
};

typedef char *(*demangle_fn)(const char *mangled, char *buffer, size_t *size, int *status);

struct demangler {
    void *library;
    demangle_fn demangle;
};

/* A function pointer is copied as bytes: C has no conversion. */
static struct demangler open_demangler(void)
{
    struct demangler found = {.library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL)};
    void *symbol = found.library == NULL ? NULL : dlsym(found.library, "__cxa_demangle");
    if (symbol != NULL)
        memcpy(&found.demangle, &symbol, sizeof symbol);
    return found;
}

static void close_demangler(struct demangler *demangler)
{
    if (demangler->library != NULL)
        (void)dlclose(demangler->library);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "space::op.overload": the length of the op, or that of the whole name if it is none. */
static size_t op_length(struct marey_str name)
{
    size_t at = 0;
    while (at < name.len && is_word(name.ptr[at]))
        at++;
    if (at == 0 || at + 2 >= name.len || name.ptr[at] != ':' || name.ptr[at + 1] != ':')
        return name.len;
    size_t dot = at + 2;
    while (dot < name.len && is_word(name.ptr[dot]))
        dot++;
    if (dot == at + 2 || dot + 1 >= name.len || name.ptr[dot] != '.')
        return name.len;
    for (size_t i = dot + 1; i < name.len; i++)
        if (!is_word(name.ptr[i]))
            return name.len;
    return dot;
}

/* A dot in the name of one of torch's own ops proves that overloads were captured. */
static bool has_overloads(const struct marey_torch_build *build)
{
    for (size_t i = 0; i < build->n_rows; i++) {
        if (build->rows[i].kind != MAREY_KIND_OP)
            continue;
        const struct marey_str name = marey_trace_string(build->trace, build->rows[i].name_idx);
        if (marey__str_starts(name, "aten::") && op_length(name) < name.len)
            return true;
    }
    return false;
}

/* A single character is a type to the demangler, so torch leaves it alone. */
static uint32_t demangled(struct marey_torch_build *build, const struct demangler *demangler,
                          struct marey_str name)
{
    struct marey_intern *strings = &build->view->strings;
    if (name.len <= 1 || demangler->demangle == NULL || memchr(name.ptr, '\0', name.len) != NULL)
        return marey__intern(strings, name);
    marey__text_reset(&build->scratch);
    marey__text_add_str(&build->scratch, name);
    marey__text_add_byte(&build->scratch, '\0');
    if (marey__text_failed(&build->scratch))
        return MAREY_NONE;
    int status = -1;
    char *text = demangler->demangle(build->scratch.ptr, NULL, NULL, &status);
    const bool is_mangled = text != NULL && status == 0;
    const uint32_t id = is_mangled ? marey__intern_c(strings, text) : marey__intern(strings, name);
    if (text != NULL)
        marey__release_foreign(text);
    return id;
}

static bool set_name(struct marey_torch_build *build, const struct demangler *demangler,
                     uint32_t name_idx, bool is_op)
{
    struct marey_torch_name *name = &build->name[name_idx];
    struct marey_str text = marey_trace_string(build->trace, name_idx % (uint32_t)build->n_names);
    struct marey_str overload = {"", 0};
    for (size_t i = 0; i < sizeof skipped_names / sizeof skipped_names[0]; i++)
        name->is_skipped = name->is_skipped || marey__str_is_c(text, skipped_names[i]);
    if (is_op && build->has_overloads) {
        const size_t len = op_length(text);
        if (len < text.len)
            overload = (struct marey_str){text.ptr + len + 1, text.len - len - 1};
        text.len = len;
    }
    if (is_op)
        name->flops = marey__torch_flops_formula(text);

    struct marey_intern *strings = &build->view->strings;
    name->trace_name_id = demangled(build, demangler, text);
    name->overload_id = marey__intern(strings, overload);
    name->name_id = name->trace_name_id;
    if (name->trace_name_id != MAREY_NONE &&
        marey__str_starts(marey__intern_text(strings, name->trace_name_id), STEP_PREFIX))
        name->name_id = marey__intern_c(strings, STEP_NAME);
    return name->name_id != MAREY_NONE && name->overload_id != MAREY_NONE;
}

/* A name that torch gives itself. */
static bool set_plain_name(struct marey_torch_build *build, uint32_t name_idx, const char *text)
{
    const uint32_t id = marey__intern_c(&build->view->strings, text);
    build->name[name_idx] = (struct marey_torch_name){.name_id = id, .trace_name_id = id};
    return id != MAREY_NONE;
}

enum marey_status marey__torch_name_rows(struct marey_torch_build *build, struct marey_error *err)
{
    const size_t n = build->n_names; /* ops have the upper half of the table */
    build->has_overloads = has_overloads(build);
    struct demangler demangler = open_demangler();
    bool has_room = set_plain_name(build, MAREY_TORCH_MEMORY_NAME(build), skipped_names[0]) &&
                    set_plain_name(build, MAREY_TORCH_FAILURE_NAME(build), skipped_names[1]);
    for (size_t i = 0; i < build->n_rows && has_room; i++) {
        struct marey_torch_row *row = &build->rows[i];
        const bool is_op = row->kind == MAREY_KIND_OP;
        if (is_op)
            row->name_idx += (uint32_t)n;
        if (build->name[row->name_idx].name_id == MAREY_NONE)
            has_room = set_name(build, &demangler, row->name_idx, is_op);
        row->is_hidden = has_room && build->name[row->name_idx].is_skipped;
    }
    close_demangler(&demangler);
    return has_room ? MAREY_OK : marey__fail_nomem(err);
}
