/*
 * reason.c - system errors in lower case.
 */
#include "reason.h"

#include <stdio.h>
#include <string.h>

const char *reason_text(int error_number)
{
    static char text[128];

    /* The command never calls setlocale, so these are the words of the C locale. */
    snprintf(text, sizeof text, "%s", strerror(error_number));
    if (text[0] >= 'A' && text[0] <= 'Z' && !(text[1] >= 'A' && text[1] <= 'Z'))
        text[0] = (char)(text[0] - 'A' + 'a');
    return text;
}
