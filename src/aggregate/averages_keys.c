/*
 * averages_keys.c - shapes, stacks and overloads as texts of their own.
 *
 * Each distinct text of the file is rewritten once and interned in the averages' own
 * table, so two spellings of one value are one key.
 */
#include "aggregate/averages_parts.h"
#include "base/error.h"
#include "base/json.h"

uint32_t marey__own_string(struct marey_own_strings *strings, struct marey_str text)
{
    if (text.len == 0)
        return 0;
    const uint32_t id = marey__intern(&strings->table, text);
    if (id == MAREY_NONE || strings->n_trace >= MAREY_NONE - (size_t)id)
        return MAREY_NONE;
    return (uint32_t)(strings->n_trace + id);
}

bool marey__split_overload(struct marey_str name, struct marey_str *op, struct marey_str *overload)
{
    size_t dot = 0;
    size_t n_dots = 0;
    bool is_qualified = false;

    for (size_t i = 0; i < name.len; i++) {
        if (i > 0 && name.ptr[i] == ':' && name.ptr[i - 1] == ':')
            is_qualified = true;
        if (is_qualified && name.ptr[i] == '.') {
            dot = i;
            n_dots++;
        }
    }
    if (n_dots != 1 || dot + 1 == name.len)
        return false;
    *op = (struct marey_str){name.ptr, dot};
    *overload = (struct marey_str){name.ptr + dot + 1, name.len - dot - 1};
    return true;
}

/* ---- shapes ------------------------------------------------------------------ */

/* JSON text as Python prints a list: no white space but one space after a comma.
 * Strings stay as they are. */
static void add_as_python(struct marey_textbuf *out, struct marey_str json)
{
    bool is_in_string = false;

    for (size_t i = 0; i < json.len; i++) {
        const char byte = json.ptr[i];
        if (is_in_string) {
            marey__text_add_byte(out, byte);
            if (byte == '\\' && i + 1 < json.len)
                marey__text_add_byte(out, json.ptr[++i]);
            else if (byte == '"')
                is_in_string = false;
            continue;
        }
        if (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r')
            continue;
        marey__text_add_byte(out, byte);
        if (byte == ',')
            marey__text_add_byte(out, ' ');
        is_in_string = byte == '"';
    }
}

/* Interns what was built; MAREY_NONE without memory. */
static uint32_t take_text(struct marey_averages_work *work, const struct marey_textbuf *text)
{
    if (marey__text_failed(text))
        return MAREY_NONE;
    return marey__own_string(&work->strings, (struct marey_str){text->ptr, text->len});
}

/* Files of 2021 write the shapes as text in quotes: the value is the same. */
static uint32_t shapes_text(struct marey_averages_work *work, struct marey_str json)
{
    struct marey_textbuf inner;
    struct marey_textbuf out;
    marey__text_init(&inner, &work->alloc);
    marey__text_init(&out, &work->alloc);

    struct marey_json cursor = marey__json(json);
    struct marey_str raw = {NULL, 0};
    if (marey__json_peek(&cursor) == '"' && marey__json_string(&cursor, &raw)) {
        marey__json_unescape(raw, &inner);
        json = (struct marey_str){inner.ptr, inner.len};
    }
    if (!marey__text_failed(&inner))
        add_as_python(&out, json);
    const uint32_t id = marey__text_failed(&inner) ? MAREY_NONE : take_text(work, &out);

    marey__text_release(&out);
    marey__text_release(&inner);
    return id;
}

uint32_t marey__key_shapes(struct marey_key_texts *texts, uint32_t slice_idx)
{
    const uint32_t trace_id = texts->dims[slice_idx];
    if (trace_id == MAREY_NONE)
        return 0;

    uint32_t *place = marey__hashmap_put(&texts->shapes_of, trace_id);
    if (place == NULL)
        return MAREY_NONE;
    if (*place == MAREY_NONE)
        *place = shapes_text(texts->work, marey_trace_string(texts->work->trace, trace_id));
    return *place;
}

/* ---- stacks ------------------------------------------------------------------ */

/* The first n entries of a Call stack arg. */
static uint32_t call_stack_text(struct marey_averages_work *work, struct marey_str stack)
{
    uint32_t n_entries = 0;
    size_t len = 0;

    for (; len < stack.len; len++)
        if (stack.ptr[len] == ';' && ++n_entries == work->options.by_stack)
            break;
    return marey__own_string(&work->strings, (struct marey_str){stack.ptr, len});
}

/* The first n names of the Python functions around a slice, from `python` outwards. */
static uint32_t python_stack_text(struct marey_key_texts *texts, uint32_t python)
{
    struct marey_averages_work *work = texts->work;
    struct marey_textbuf out;
    marey__text_init(&out, &work->alloc);

    uint32_t at = python;
    for (uint32_t i = 0; i < work->options.by_stack && at != MAREY_NONE; i++) {
        if (i > 0)
            marey__text_add_byte(&out, ';');
        marey__text_add_str(&out, marey_trace_string(work->trace, work->slices.name_id[at]));
        at = texts->python_of[at];
    }
    const uint32_t id = take_text(work, &out);
    marey__text_release(&out);
    return id;
}

uint32_t marey__key_stack(struct marey_key_texts *texts, uint32_t slice_idx)
{
    struct marey_averages_work *work = texts->work;
    const uint32_t trace_id = texts->call_stacks[slice_idx];

    if (trace_id != MAREY_NONE) {
        uint32_t *place = marey__hashmap_put(&texts->stack_of, trace_id);
        if (place == NULL)
            return MAREY_NONE;
        if (*place == MAREY_NONE)
            *place = call_stack_text(work, marey_trace_string(work->trace, trace_id));
        return *place;
    }
    const uint32_t python = texts->python_of[slice_idx];
    if (python == MAREY_NONE)
        return 0;
    if (texts->python_stack[python] == MAREY_NONE)
        texts->python_stack[python] = python_stack_text(texts, python);
    return texts->python_stack[python];
}

/* The nearest Python function around each slice: the parent's, if the parent is none. */
static void find_python(struct marey_key_texts *texts)
{
    const struct marey_averages_work *work = texts->work;

    for (size_t i = 0; i < work->slices.n; i++) {
        const uint32_t parent = work->slices.parent_idx[i];
        texts->python_stack[i] = MAREY_NONE;
        if (parent == MAREY_NONE)
            texts->python_of[i] = MAREY_NONE;
        else if (work->kind_of[work->slices.cat_id[parent]] == MAREY_KIND_PYTHON)
            texts->python_of[i] = parent;
        else
            texts->python_of[i] = texts->python_of[parent];
    }
}

enum marey_status marey__key_texts_init(struct marey_key_texts *texts,
                                        struct marey_averages_work *work)
{
    *texts = (struct marey_key_texts){.work = work};
    marey__hashmap_init(&texts->shapes_of, &work->alloc);
    marey__hashmap_init(&texts->stack_of, &work->alloc);

    if (work->options.by_shape)
        texts->dims = marey_trace_arg_texts(work->trace, MAREY_ARG_INPUT_DIMS);
    if (work->options.by_stack == 0)
        return MAREY_OK;

    texts->call_stacks = marey_trace_arg_texts(work->trace, MAREY_ARG_CALL_STACK);
    texts->python_of = marey__alloc(&work->alloc, work->slices.n, sizeof *texts->python_of);
    texts->python_stack = marey__alloc(&work->alloc, work->slices.n, sizeof *texts->python_stack);
    if (texts->python_of == NULL || texts->python_stack == NULL)
        return marey__fail_nomem(work->err);
    find_python(texts);
    return MAREY_OK;
}

void marey__key_texts_release(struct marey_key_texts *texts)
{
    const struct marey_averages_work *work = texts->work;

    marey__dealloc(&work->alloc, texts->python_stack, work->slices.n, sizeof *texts->python_stack);
    marey__dealloc(&work->alloc, texts->python_of, work->slices.n, sizeof *texts->python_of);
    marey__hashmap_release(&texts->stack_of);
    marey__hashmap_release(&texts->shapes_of);
}
