/*
 * scrub_form.h - the forms of values that tell nothing of who made a trace.
 *
 * A form is a closed list of words and the signs between them, or numbers. What is of no form is
 * not shown.
 */
#ifndef MAREY_SRC_EXPORT_SCRUB_FORM_H
#define MAREY_SRC_EXPORT_SCRUB_FORM_H

#include "base/str.h"

enum marey_form {
    MAREY_FORM_NUMBERS = 0,        /* "[1, 2]", "0x7f", "True" */
    MAREY_FORM_UNIT = 1,           /* "ms" */
    MAREY_FORM_TYPE = 2,           /* "c10::BFloat16", "std::vector<long>" */
    MAREY_FORM_DEVICE = 3,         /* "NVIDIA A100-SXM4-80GB" */
    MAREY_FORM_BACKEND = 4,        /* "nccl", "cpu:gloo,cuda:nccl" */
    MAREY_FORM_COLLECTIVE = 5,     /* "_allgather_base" */
    MAREY_FORM_SYNC = 6,           /* "Stream Wait Event" */
    MAREY_FORM_KERNEL_BACKEND = 7, /* "triton" */
    MAREY_N_FORMS = 8
};

/* Whether the text is of the form; the empty text is of each. */
bool marey__form_takes(enum marey_form form, struct marey_str text);

/* Digits, perhaps with an exponent; 0x and up to 16 hexadecimal digits; or a word that stands
 * for a value (True, nan). The empty text is one. */
bool marey__form_is_number(struct marey_str word);

/* An address of the net or of a device: four numbers with points between them; hexadecimal ones
 * with colons that are no name of C++ (2001:db8::1, fe80::abcd, 00:1a:2b:3c:4d:5e, but not
 * c10::add). */
bool marey__form_has_address(struct marey_str text);

static inline bool marey__form_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool marey__form_is_alnum(char c)
{
    return marey__form_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool marey__form_is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* How many bytes from `from` on are letters, digits or one of `others`. */
static inline size_t marey__form_run(struct marey_str text, size_t from, const char *others)
{
    size_t len = 0;
    while (from + len < text.len && (marey__form_is_alnum(text.ptr[from + len]) ||
                                     marey__form_is_one_of(text.ptr[from + len], others)))
        len++;
    return len;
}

#endif
