/*
 * main.c - the command `marey`: finds the command, parses its options, runs it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "help.h"
#include "message.h"
#include "nearest.h"
#include "output.h"
#include "signals.h"

static enum cli_exit print_version(void)
{
    struct text text = {0};

    text_add(&text, "marey %s\n", marey_version());
    return output_text(NULL, false, &text);
}

static enum cli_exit print_overview(void)
{
    struct text text = {0};

    help_overview(&text);
    return output_text(NULL, false, &text);
}

static enum cli_exit run_command(const struct command *command, size_t n_words, char **words)
{
    struct text text = {0};
    enum cli_exit result = CLI_USAGE;
    size_t n_operands = 0;

    /* Settings start as zeros, which means the defaults. */
    void *settings = calloc(1, command->settings_bytes);
    if (!settings) {
        message_print("cannot start: out of memory");
        return CLI_FAILED;
    }
    switch (options_parse(command, n_words, words, settings, &n_operands)) {
    case PARSE_OK:
        result = command->run(settings, n_operands, words);
        break;
    case PARSE_HELP:
        help_command(&text, command);
        result = output_text(NULL, false, &text);
        break;
    case PARSE_ERROR:
        break;
    }
    free(settings);
    return result;
}

/* The word that was probably meant in the place of the command, or NULL. */
static const char *nearest_word(const char *word)
{
    const struct command *command = command_nearest(word);

    if (command)
        return command->name;
    if (nearest_distance(word, "--version") <= nearest_limit(word))
        return "--version";
    return nearest_distance(word, "--help") <= nearest_limit(word) ? "--help" : NULL;
}

static enum cli_exit refuse(const char *word)
{
    const char *nearest = nearest_word(word);
    const char *kind = word[0] == '-' ? "option" : "command";

    if (access(word, F_OK) == 0)
        usage_error(NULL, "unknown command '%s', for its table use 'marey report %s'", word, word);
    else if (nearest)
        usage_error(NULL, "unknown %s '%s', did you mean '%s'?", kind, word, nearest);
    else
        usage_error(NULL, "unknown %s '%s'", kind, word);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    signals_ignore();
    if (argc < 2) {
        usage_error(NULL, "no command given");
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0)
        return (int)print_version();
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return (int)print_overview();

    const struct command *command = command_find(word);
    if (!command)
        return (int)refuse(word);
    return (int)run_command(command, (size_t)argc - 2, argv + 2);
}
