/*
 * help.h - the texts made from the tables of commands and options: -h, manual
 * pages, completion.
 */
#ifndef MAREY_CLI_HELP_H
#define MAREY_CLI_HELP_H

#include "command.h"
#include "text.h"

/* The lines of a synopsis: "marey report [-s KEY] ... FILE...", wrapped. */
void help_synopsis(struct text *text, const struct command *command, size_t width);

/* What an option does, and the names that its value is made of. */
void help_option_text(struct text *text, const struct option *option);

/* `marey -h` and `marey <command> -h`. */
void help_overview(struct text *text);
void help_command(struct text *text, const struct command *command);

/* Manual pages as man(7) source; NULL is that of marey itself. */
void manual_page(struct text *text, const struct command *command);

/* What bash sources to complete commands, options and their choices. */
void completion_script(struct text *text);

#endif
