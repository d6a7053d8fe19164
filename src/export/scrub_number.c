/*
 * scrub_number.c - the number of a text, by its hash.
 */
#include "export/scrub_number.h"

#include "base/sort.h"
#include "export/scrub_form.h"

void marey__scrub_numbers_init(struct marey_scrub_numbers *numbers, const struct marey_alloc *alloc)
{
    marey__hashmap_init(&numbers->by_text, alloc);
    numbers->width = 1;
}

void marey__scrub_numbers_release(struct marey_scrub_numbers *numbers)
{
    marey__hashmap_release(&numbers->by_text);
}

uint32_t marey__scrub_number(struct marey_scrub_numbers *numbers, struct marey_str text)
{
    const uint32_t next = (uint32_t)numbers->by_text.n;
    uint32_t *number = marey__hashmap_put(&numbers->by_text, marey__str_hash(text));
    if (number == NULL)
        return MAREY_NONE;
    if (*number == MAREY_NONE)
        *number = next;
    return *number;
}

static int compare_texts(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_str *text = ctx;
    return marey__str_compare(text[a], text[b]);
}

bool marey__scrub_number_all(struct marey_scrub_numbers *numbers, struct marey_str *text, size_t n,
                             const struct marey_alloc *alloc)
{
    marey__scrub_numbers_release(numbers);
    marey__scrub_numbers_init(numbers, alloc);
    if (!marey__sort_structs(alloc, text, n, sizeof *text, compare_texts, text))
        return false;
    for (size_t i = 0; i < n; i++)
        if (marey__scrub_number(numbers, text[i]) == MAREY_NONE)
            return false;
    for (size_t rest = numbers->by_text.n; rest > 10; rest = (rest + 9) / 10)
        numbers->width++;
    return true;
}

void marey__scrub_add_number(struct marey_scrub_numbers *numbers, const char *word,
                             struct marey_str text, struct marey_textbuf *out)
{
    const uint32_t number = marey__scrub_number(numbers, text);
    if (number == MAREY_NONE)
        out->failed = true;
    else
        marey__text_add_format(out, "%s %0*u", word, numbers->width, (unsigned)number);
}

bool marey__scrub_is_number(struct marey_str text, const char *word)
{
    const size_t len = strlen(word);
    size_t at = len + 1;
    if (!marey__str_starts(text, word) || text.len <= at || text.ptr[len] != ' ')
        return false;
    while (at < text.len && marey__form_is_digit(text.ptr[at]))
        at++;
    return at == text.len;
}
