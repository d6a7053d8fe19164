/*
 * input.h - from the operands of a command to one trace.
 */
#ifndef MAREY_CLI_INPUT_H
#define MAREY_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <marey/trace.h>

#include "command.h"
#include "options.h"

/* How operands are read. All zero: the fields of each record, by all processors. */
struct input_reading {
    enum marey_check check;
    struct number n_threads;
};

/* The row of an option table for how many threads read. */
#define INPUT_OPTION_THREADS(at)                                                                   \
    {                                                                                              \
        .name = "threads", .argument = "N", .type = OPTION_NUMBER, .offset = (at), .min = 1,       \
        .help = "read FILE with N threads; what is found is the same. Default: one for each "      \
                "processor, up to 8"                                                               \
    }

/* Loads files, folders (all trace files in there) and "-" (standard input) into
 * one trace, one source each. Failures are told on standard error, and which files
 * of a folder are no traces and passed over.
 * \owns gives *trace, freed by marey_trace_free */
enum cli_exit input_load(size_t n_operands, char **operands, const struct input_reading *reading,
                         struct marey_trace **trace);

/* Files that cannot be read, and why: one, or all of them where together they make no trace. */
struct input_unread {
    const char *const *paths; /* borrowed from the operands and the folders */
    size_t n_paths;
    struct marey_error err;
};

/* What the operands come to when it is asked what is wrong with them. */
struct input_examined {
    struct marey_trace *trace; /* of all files that can be read; NULL if there are none */
    struct input_unread *unread;
    size_t n_unread;
    struct input_paths *paths;
};

/* As input_load with all of each record looked at, but a file that cannot be read is kept apart and
 * its reason with it, and the others make the trace. Tells on standard error only which files of a
 * folder are passed over. \owns fills *examined, released by input_release; false without memory,
 * and that was told */
bool input_examine(size_t n_operands, char **operands, struct number n_threads,
                   struct input_examined *examined);
void input_release(struct input_examined *examined);

#endif
