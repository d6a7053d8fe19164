/*
 * options.h - tables of options: they drive parsing, -h, manual, completion.
 *
 *     static const struct option options[] = {
 *         {.name = "limit", .letter = 'n', .argument = "N", .type = OPTION_NUMBER,
 *          .offset = offsetof(struct settings, limit), .help = "show N rows"},
 *         {0}};
 */
#ifndef MAREY_CLI_OPTIONS_H
#define MAREY_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;

enum option_type {
    OPTION_FLAG = 0,   /* bool */
    OPTION_TEXT = 1,   /* const char * */
    OPTION_NUMBER = 2, /* struct number */
    OPTION_CHOICE = 3, /* int, one of choices */
    OPTION_PARSED = 4  /* whatever parse makes of the value */
};

/* A number that may not have been given. */
struct number {
    bool is_given;
    int64_t value;
};

/* A word that an option takes. Value 0 is kept for "not given". */
struct choice {
    const char *name;
    int value;
};

struct option {
    const char *name;     /* long, without dashes; NULL ends the table */
    char letter;          /* short form, one meaning in all commands; 0: none */
    const char *argument; /* its word in the help; NULL for a flag */
    enum option_type type;
    size_t offset;                /* in the settings of the command */
    const struct choice *choices; /* ended by a row without a name */
    int64_t min;                  /* of a number */
    const char *help;

    /* Names that the value is made of, for the help; NULL ends the list. */
    const char *const *(*names)(void);

    /* Returns false after it has told, by usage_error, what is wrong. */
    bool (*parse)(const struct command *command, const char *value, void *settings);
};

enum parse_result {
    PARSE_OK = 0,
    PARSE_HELP = 1, /* -h was given: nothing else counts */
    PARSE_ERROR = 2 /* told by usage_error */
};

/* Parses the words after the command's name. Options and operands may be mixed, unless the
 * command stops at an operand; "--" ends the options. Operands are gathered at the front of words.
 * \shape words[n_words]; *n_operands of them are operands afterwards */
enum parse_result options_parse(const struct command *command, size_t n_words, char **words,
                                void *settings, size_t *n_operands);

/* Reads a whole decimal number; false if the text is anything else. */
bool options_read_number(const char *text, int64_t *value);

#endif
