/*
 * cmd_help.c - `marey help`: help, manual pages and completion on request.
 * The build makes the installed pages with it.
 */
#include "command.h"
#include "help.h"
#include "message.h"
#include "output.h"

struct help_settings {
    bool as_manual;
    bool as_completion;
};

static enum cli_exit run_help(const void *settings, size_t n_operands, char **operands)
{
    const struct help_settings *help = settings;
    const struct command *command = NULL;
    struct text text = {0};

    if (n_operands == 1) {
        command = command_find(operands[0]);
        if (!command) {
            usage_error(&command_help, "unknown command '%s'", operands[0]);
            return CLI_USAGE;
        }
    }
    if (help->as_completion)
        completion_script(&text);
    else if (help->as_manual)
        manual_page(&text, command);
    else if (command)
        help_command(&text, command);
    else
        help_overview(&text);
    return output_text(NULL, false, &text);
}

static const struct option help_options[] = {
    {.name = "man",
     .type = OPTION_FLAG,
     .offset = offsetof(struct help_settings, as_manual),
     .help = "print the manual page instead, as man(7) source"},
    {.name = "completion",
     .type = OPTION_FLAG,
     .offset = offsetof(struct help_settings, as_completion),
     .help = "print the completion script for bash instead"},
    {0},
};

const struct command command_help = {
    .name = "help",
    .summary = "explain a command",
    .operands = "[COMMAND]",
    .description =
        "Prints what 'marey -h' or 'marey COMMAND -h' prints, or the source of the manual "
        "page.",
    .examples = "marey help --man report | man -l -\tread the manual of an uninstalled marey\n",
    .options = help_options,
    .settings_bytes = sizeof(struct help_settings),
    .max_operands = 1,
    .is_hidden = true,
    .run = run_help,
};
