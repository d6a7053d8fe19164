/*
 * help.c - what -h prints.
 */
#include "help.h"

#include <string.h>

#define HELP_WIDTH 88
#define OPTION_COLUMN 28

/* ---- synopsis ----------------------------------------------------------------- */

/* One part such as "[-s KEY]", on a new line if it does not fit. */
static void add_part(struct text *text, const char *part, size_t *column, size_t indent,
                     size_t width)
{
    const size_t len = strlen(part);

    if (*column + 1 + len > width && *column > indent) {
        text_add(text, "\n");
        text_add_spaces(text, indent);
        *column = indent;
    } else {
        text_add(text, " ");
        *column += 1;
    }
    text_add(text, "%s", part);
    *column += len;
}

static void add_option_part(struct text *part, const struct option *option)
{
    text_add(part, "[--%s", option->name);
    if (option->argument)
        text_add(part, " %s", option->argument);
    text_add(part, "]");
}

void help_synopsis(struct text *text, const struct command *command, size_t width)
{
    const size_t indent = strlen("marey ") + strlen(command->name);
    size_t column = indent;

    text_add(text, "marey %s", command->name);
    for (const struct option *o = command->options; o->name; o++) {
        struct text part = {0};

        add_option_part(&part, o);
        if (part.is_broken)
            text->is_broken = true;
        else
            add_part(text, part.ptr, &column, indent + 1, width);
        text_release(&part);
    }
    if (command->operands[0])
        add_part(text, command->operands, &column, indent + 1, width);
    text_add(text, "\n");
}

void help_option_text(struct text *text, const struct option *option)
{
    text_add(text, "%s", option->help);
    if (!option->names)
        return;
    for (const char *const *name = option->names(); *name; name++)
        text_add(text, "%s%s", name == option->names() ? " " : ", ", *name);
}

/* ---- -h of a command ------------------------------------------------------------ */

static void add_option(struct text *text, const struct option *option)
{
    const size_t start = text->len;

    if (option->letter)
        text_add(text, "  -%c, --%s", option->letter, option->name);
    else
        text_add(text, "      --%s", option->name);
    if (option->argument)
        text_add(text, " %s", option->argument);

    const size_t column = text->len - start;
    if (column + 2 > OPTION_COLUMN) {
        text_add(text, "\n");
        text_add_spaces(text, OPTION_COLUMN);
    } else {
        text_add_spaces(text, OPTION_COLUMN - column);
    }

    struct text words = {0};
    help_option_text(&words, option);
    if (words.is_broken)
        text->is_broken = true;
    else
        text_add_wrapped(text, words.ptr, OPTION_COLUMN, OPTION_COLUMN, HELP_WIDTH);
    text_release(&words);
}

static const struct option help_option = {.name = "help", .letter = 'h', .help = "print this help"};

void help_command(struct text *text, const struct command *command)
{
    text_add(text, "usage: ");
    help_synopsis(text, command, HELP_WIDTH);
    text_add(text, "\n");
    text_add_wrapped(text, command->description, 0, 0, HELP_WIDTH);

    text_add(text, "\noptions:\n");
    for (const struct option *o = command->options; o->name; o++)
        add_option(text, o);
    add_option(text, &help_option);

    if (command->examples)
        text_add(text, "\nexamples:\n");
    for (const char *line = command->examples; line && *line;) {
        const size_t call_len = strcspn(line, "\t");
        const char *what = line + call_len + 1;
        const size_t what_len = strcspn(what, "\n");

        text_add(text, "  %.*s\n      %.*s\n", (int)call_len, line, (int)what_len, what);
        line = what + what_len + (what[what_len] == '\n');
    }
}

/* ---- marey -h ---------------------------------------------------------------------- */

void help_overview(struct text *text)
{
    size_t n = 0;
    const struct command *const *commands = commands_all(&n);

    text_add(text,
             "usage: marey <command> [options] [FILE...]\n"
             "       marey --version\n\n"
             "A profiler for PyTorch: records programs, reads traces, says where the time went.\n\n"
             "commands:\n");
    for (size_t i = 0; i < n; i++) {
        if (!commands[i]->is_hidden)
            text_add(text, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    text_add(text,
             "\n'marey <command> -h' explains a command, 'marey help --man' prints a manual.\n"
             "Exit status: 0 done, 1 an asked condition is not met, 2 wrong usage,\n"
             "3 could not do it.\n");
}
