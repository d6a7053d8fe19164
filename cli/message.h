/*
 * message.h - what the command says on standard error.
 */
#ifndef MAREY_CLI_MESSAGE_H
#define MAREY_CLI_MESSAGE_H

#include <marey/base.h>

struct command;

/* Prints "marey: <message>" as one line. Control characters that came with a
 * name or a file are shown as '?': a trace must not drive the terminal. */
void message_print(const char *format, ...) MAREY_PRINTF(1, 2);

/* The same, and where help is. */
void usage_error(const struct command *command, const char *format, ...) MAREY_PRINTF(2, 3);

#endif
