/*
 * text.c - the public text object.
 */
#include "export/text.h"

#include "base/error.h"

void marey_text_release(struct marey_text *text)
{
    if (text->alloc.release != NULL)
        marey__dealloc(&text->alloc, text->ptr, text->capacity, 1);
    *text = (struct marey_text){.alloc = text->alloc};
}

void marey__public_text_begin(struct marey_text *text, struct marey_textbuf *out)
{
    if (text->alloc.allocate == NULL)
        text->alloc = marey__alloc_default();
    marey__text_init(out, &text->alloc);
    out->ptr = text->ptr;
    out->capacity = text->capacity;
    text->ptr = NULL;
    text->len = 0;
    text->capacity = 0;
}

enum marey_status marey__public_text_end(struct marey_textbuf *out, struct marey_text *text,
                                         struct marey_error *err)
{
    if (marey__text_move(out, &text->ptr, &text->len, &text->capacity))
        return MAREY_OK;
    marey__text_release(out);
    return marey__fail_nomem(err);
}

void marey__public_text_abandon(struct marey_textbuf *out, struct marey_text *text)
{
    marey__text_reset(out);
    marey__text_add_byte(out, '\0');
    if (!marey__text_move(out, &text->ptr, &text->len, &text->capacity))
        marey__text_release(out);
    text->len = 0;
}
