/*
 * torch_shapes.c - str(input_shapes) from the text of "Input Dims".
 *
 * torch's list has one entry for each input and [] for a list of tensors, though the file
 * nests their shapes: "[[2,3],[],[[4],[5]]]" is shown as "[[2, 3], [], []]".
 */
#include "aggregate/torch_view.h"
#include "base/json.h"
#include "base/str.h"

#define FIRST_VALUES 64

uint32_t *marey__torch_cache_at(struct marey_torch_build *build, struct marey_torch_cache *cache,
                                struct marey_str text)
{
    if (cache->table.n == 0 && !marey__intern_init(&cache->table, &build->alloc))
        return NULL;
    const uint32_t id = marey__intern(&cache->table, text);
    if (id == MAREY_NONE)
        return NULL;
    const size_t capacity = cache->capacity;
    if (!marey__grow(&build->alloc, (void **)&cache->value, &cache->capacity, (size_t)id + 1,
                     sizeof *cache->value))
        return NULL;
    for (size_t i = capacity; i < cache->capacity; i++)
        cache->value[i] = MAREY_NONE;
    return &cache->value[id];
}

/* One input: its sizes, or nothing if an element is itself a list. */
static void add_input(struct marey_textbuf *out, struct marey_json *json)
{
    const struct marey_str raw = marey__json_raw(json);
    struct marey_json sizes = marey__json(raw);
    const size_t before = out->len;
    marey__text_add_byte(out, '[');
    bool is_flat = marey__json_enter(&sizes, '[');
    bool is_first = true;
    while (is_flat && marey__json_element(&sizes)) {
        is_flat = marey__json_peek(&sizes) != '[';
        if (!is_first)
            marey__text_add_c(out, ", ");
        is_first = false;
        marey__text_add_str(out, marey__json_raw(&sizes));
    }
    if (!is_flat && !out->failed) {
        out->len = before;
        marey__text_add_byte(out, '[');
    }
    marey__text_add_byte(out, ']');
}

uint32_t marey__torch_shapes_of_text(struct marey_torch_build *build, struct marey_str text)
{
    uint32_t *value = marey__torch_cache_at(build, &build->shapes, text);
    if (value == NULL || *value != MAREY_NONE)
        return value == NULL ? MAREY_NONE : *value;

    struct marey_textbuf *out = &build->scratch;
    struct marey_json json = marey__json(text);
    marey__text_reset(out);
    marey__text_add_byte(out, '[');
    bool is_first = true;
    if (marey__json_enter(&json, '[')) {
        while (marey__json_element(&json)) {
            if (!is_first)
                marey__text_add_c(out, ", ");
            is_first = false;
            add_input(out, &json);
        }
    }
    marey__text_add_byte(out, ']');
    if (marey__text_failed(out))
        return MAREY_NONE;
    *value = marey__intern(&build->view->strings, (struct marey_str){out->ptr, out->len});
    return *value;
}
