/*
 * message.c - lines on standard error, in one write each.
 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

/* Room for a message of the library (1 KiB) and our own words; the rest is cut. */
#define MESSAGE_BYTES 3072

MAREY_PRINTF(1, 0)
static void print_line(const char *format, va_list args)
{
    char line[MESSAGE_BYTES] = "marey: ";
    const size_t prefix_len = strlen(line);

    vsnprintf(line + prefix_len, sizeof line - prefix_len, format, args);
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
    fprintf(stderr, "%s\n", line);
}

void message_print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_line(format, args);
    va_end(args);
}

void usage_error(const struct command *command, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_line(format, args);
    va_end(args);
    if (command)
        message_print("see 'marey %s -h'", command->name);
    else
        message_print("see 'marey -h'");
}
