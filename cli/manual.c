/*
 * manual.c - manual pages in the man(7) language.
 *
 * No date stands in them: the same source gives the same bytes.
 */
#include "help.h"

#include <ctype.h>
#include <string.h>

#define SYNOPSIS_WIDTH 76

/* Text that must come out as it is: backslashes, dashes that are not hyphens,
 * and a first character that would start a request. */
static void add_literal(struct text *text, const char *literal, size_t len)
{
    bool at_start = text->len == 0 || text->ptr[text->len - 1] == '\n';

    for (size_t i = 0; i < len; i++) {
        const char c = literal[i];
        if (at_start && (c == '.' || c == '\''))
            text_add(text, "\\&");
        if (c == '\\')
            text_add(text, "\\e");
        else if (c == '-')
            text_add(text, "\\-");
        else if (c == '\'')
            text_add(text, "\\(aq");
        else
            text_add_bytes(text, &c, 1);
        at_start = c == '\n';
    }
}

static void add_text(struct text *text, const char *string)
{
    add_literal(text, string, strlen(string));
}

/* Paragraphs parted by empty lines. */
static void add_paragraphs(struct text *text, const char *paragraphs)
{
    for (const char *p = paragraphs; *p;) {
        const char *end = strstr(p, "\n\n");
        const size_t len = end ? (size_t)(end - p) : strlen(p);

        if (p != paragraphs)
            text_add(text, ".PP\n");
        add_literal(text, p, len);
        text_add(text, "\n");
        p += len + (end ? 2 : 0);
    }
}

static void add_heading(struct text *text, const char *name)
{
    text_add(text, ".TH \"MAREY");
    if (name) {
        text_add(text, "\\-");
        for (const char *c = name; *c; c++)
            text_add(text, "%c", toupper((unsigned char)*c));
    }
    text_add(text, "\" 1 \"\" \"marey %s\" \"Marey\"\n", MAREY_VERSION_STRING);
}

static void add_option(struct text *text, const struct option *option)
{
    struct text words = {0};

    text_add(text, ".TP\n.B ");
    if (option->letter)
        text_add(text, "\\-%c, ", option->letter);
    text_add(text, "\\-\\-");
    add_text(text, option->name);
    if (option->argument) {
        text_add(text, " ");
        add_text(text, option->argument);
    }
    text_add(text, "\n");
    help_option_text(&words, option);
    if (words.is_broken)
        text->is_broken = true;
    else
        add_paragraphs(text, words.ptr);
    text_release(&words);
}

static void add_examples(struct text *text, const char *line)
{
    text_add(text, ".SH EXAMPLES\n");
    while (*line) {
        const size_t call_len = strcspn(line, "\t");
        const char *what = line + call_len + 1;
        const size_t what_len = strcspn(what, "\n");

        text_add(text, ".TP\n.B ");
        add_literal(text, line, call_len);
        text_add(text, "\n");
        add_literal(text, what, what_len);
        text_add(text, "\n");
        line = what + what_len + (what[what_len] == '\n');
    }
}

static void add_exit_status(struct text *text)
{
    text_add(text, ".SH EXIT STATUS\n"
                   ".TP\n.B 0\ndone\n"
                   ".TP\n.B 1\nthe asked condition is not met\n"
                   ".TP\n.B 2\nwrong usage\n"
                   ".TP\n.B 3\ncould not do it\n");
}

static void command_page(struct text *text, const struct command *command)
{
    struct text synopsis = {0};

    add_heading(text, command->name);
    text_add(text, ".SH NAME\nmarey\\-%s \\- ", command->name);
    add_text(text, command->summary);
    text_add(text, "\n.SH SYNOPSIS\n.nf\n");
    help_synopsis(&synopsis, command, SYNOPSIS_WIDTH);
    if (synopsis.is_broken)
        text->is_broken = true;
    else
        add_text(text, synopsis.ptr);
    text_release(&synopsis);

    text_add(text, ".fi\n.SH DESCRIPTION\n");
    add_paragraphs(text, command->description);
    text_add(text, ".SH OPTIONS\n");
    for (const struct option *o = command->options; o->name; o++)
        add_option(text, o);
    text_add(text, ".TP\n.B \\-h, \\-\\-help\nprint a short form of this page\n");
    if (command->examples)
        add_examples(text, command->examples);
    add_exit_status(text);
    text_add(text, ".SH SEE ALSO\n.BR marey (1)\n");
}

static void overview_page(struct text *text)
{
    size_t n = 0;
    const struct command *const *commands = commands_all(&n);

    add_heading(text, NULL);
    text_add(text, ".SH NAME\nmarey \\- a profiler for PyTorch\n"
                   ".SH SYNOPSIS\n.nf\n"
                   "marey <command> [options] [FILE...]\nmarey \\-\\-version\n.fi\n"
                   ".SH DESCRIPTION\n"
                   "Reads the traces that torch.profiler and Kineto write and says where the\n"
                   "time went. Results go to standard output, everything else to standard\n"
                   "error. An existing file is never overwritten unasked.\n"
                   ".SH COMMANDS\n");
    for (size_t i = 0; i < n; i++) {
        if (commands[i]->is_hidden)
            continue;
        text_add(text, ".TP\n.BR marey\\-%s (1)\n", commands[i]->name);
        add_text(text, commands[i]->summary);
        text_add(text, "\n");
    }
    text_add(text, ".SH OPTIONS\n"
                   ".TP\n.B \\-h, \\-\\-help\nprint a short form of this page\n"
                   ".TP\n.B \\-\\-version\nprint the version\n");
    add_exit_status(text);
}

void manual_page(struct text *text, const struct command *command)
{
    if (command)
        command_page(text, command);
    else
        overview_page(text);
}
