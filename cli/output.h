/*
 * output.h - where a result goes: standard output or a file.
 */
#ifndef MAREY_CLI_OUTPUT_H
#define MAREY_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "text.h"

/* Writes a whole result and checks that it got there. `path` NULL or "-" is
 * standard output; whoever reads it may go away early, which is no error.
 * A file appears complete under its name or not at all, and an existing one is
 * replaced only if `overwrite`. Failures are told on standard error. */
enum cli_exit output_write(const char *path, bool overwrite, const char *bytes, size_t len);

/* The same of a text that was built; takes it, also on failure. */
enum cli_exit output_text(const char *path, bool overwrite, struct text *text);

/* Whether a file can be written under a name as far as can be told before the work: false, and
 * told, where a folder is, or a file that is not to be overwritten. */
bool output_is_free(const char *path, bool overwrite);

/* Standard output piece by piece: 0 or the error number of each write, and at the end that
 * of the one that failed, or 0. */
int output_stream_write(const void *bytes, size_t len);
enum cli_exit output_stream_end(int error);

#endif
