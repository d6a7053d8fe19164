/*
 * command.h - what a command of `marey` is.
 *
 * A command is a file cmd_<name>.c that defines `const struct command
 * command_<name>`, and one row in commands.def. Parsing, -h, the manual and
 * the completion are made from it. Adding one: those two, a case folder in
 * tests/command, a line in CHANGELOG.md.
 */
#ifndef MAREY_CLI_COMMAND_H
#define MAREY_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/* What the process exits with; scripts rely on the numbers. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_UNMET = 1, /* the asked condition is not met: a regression, a finding */
    CLI_USAGE = 2, /* the command line makes no sense */
    CLI_FAILED = 3 /* the command line makes sense and cannot be done */
};

struct command {
    const char *name;
    const char *summary;          /* one line, imperative, no full stop */
    const char *operands;         /* as in the synopsis: "FILE..."; "" if none */
    const char *description;      /* paragraphs, parted by empty lines */
    const char *examples;         /* lines "command<TAB>what it does" */
    const struct option *options; /* ended by a row without a name */
    size_t settings_bytes;        /* of the struct that the options fill in */
    size_t min_operands;
    size_t max_operands;
    bool is_hidden;        /* not in `marey -h` */
    bool stops_at_operand; /* what follows the first operand are operands, as in time(1) */
    char operand_letter;   /* a word such as -m that is an operand, not an option; 0: none */

    /* Does it. Settings start as zeros, which means the defaults. */
    enum cli_exit (*run)(const void *settings, size_t n_operands, char **operands);
};

#define OPERANDS_UNLIMITED ((size_t)-1)

#define COMMAND(name) extern const struct command command_##name;
#include "commands.def"
#undef COMMAND

/* \shape commands[n], in the order of commands.def */
const struct command *const *commands_all(size_t *n);

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);

/* The command whose name is nearest, or NULL if none is near. */
const struct command *command_nearest(const char *name);

#endif
