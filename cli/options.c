/*
 * options.c - parsing of command lines by tables.
 */
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "nearest.h"
#include "text.h"

bool options_read_number(const char *text, int64_t *value)
{
    char *end = NULL;
    const char *digits = text + (*text == '-');

    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *value = number;
    return true;
}

/* ---- finding an option --------------------------------------------------- */

static const struct option *find_long(const struct command *command, const char *name, size_t len)
{
    for (const struct option *o = command->options; o->name; o++) {
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    }
    return NULL;
}

static const struct option *find_letter(const struct command *command, char letter)
{
    for (const struct option *o = command->options; o->name; o++) {
        if (o->letter == letter)
            return o;
    }
    return NULL;
}

static const char *nearest_option(const struct command *command, const char *name)
{
    const char *best = NULL;
    size_t best_distance = nearest_limit(name);

    for (const struct option *o = command->options; o->name; o++) {
        const size_t distance = nearest_distance(name, o->name);
        if (distance <= best_distance && (!best || distance < best_distance)) {
            best = o->name;
            best_distance = distance;
        }
    }
    return best;
}

/* Where another program is named, the option may be one of that. */
static void tell_whose_option(const struct command *command, const char *word)
{
    if (command->stops_at_operand)
        usage_error(
            command,
            "unknown option '%s'; an option of the program stands behind its name: 'marey %s -- "
            "PROGRAM %s'",
            word, command->name, word);
    else
        usage_error(command, "unknown option '%s'", word);
}

static void tell_unknown_option(const struct command *command, const char *word)
{
    char name[64] = "";
    const size_t len = strcspn(word + 2, "=");

    if (len < sizeof name)
        memcpy(name, word + 2, len);
    const char *nearest = nearest_option(command, name);
    if (nearest)
        usage_error(command, "unknown option '--%s', did you mean '--%s'?", name, nearest);
    else
        tell_whose_option(command, word);
}

/* ---- taking a value -------------------------------------------------------- */

static bool take_number(const struct command *command, const struct option *option,
                        const char *value, void *field)
{
    struct number number = {.is_given = true};

    if (!options_read_number(value, &number.value)) {
        usage_error(command, "option '--%s' wants a whole number, not '%s'", option->name, value);
        return false;
    }
    if (number.value < option->min) {
        usage_error(command, "option '--%s' wants %" PRId64 " or more, not '%s'", option->name,
                    option->min, value);
        return false;
    }
    memcpy(field, &number, sizeof number);
    return true;
}

static bool take_choice(const struct command *command, const struct option *option,
                        const char *value, void *field)
{
    struct text names = {0};

    for (const struct choice *c = option->choices; c->name; c++) {
        if (strcmp(c->name, value) == 0) {
            memcpy(field, &c->value, sizeof c->value);
            text_release(&names);
            return true;
        }
        text_add(&names, "%s%s", c == option->choices ? "" : ", ", c->name);
    }
    usage_error(command, "option '--%s' wants one of %s, not '%s'", option->name,
                names.ptr ? names.ptr : "", value);
    text_release(&names);
    return false;
}

static bool take_value(const struct command *command, const struct option *option,
                       const char *value, void *settings)
{
    void *field = (char *)settings + option->offset;
    const bool yes = true;

    assert(value != NULL || option->type == OPTION_FLAG);
    switch (option->type) {
    case OPTION_FLAG:
        memcpy(field, &yes, sizeof yes);
        return true;
    case OPTION_TEXT:
        memcpy(field, &value, sizeof value);
        return true;
    case OPTION_NUMBER:
        return take_number(command, option, value, field);
    case OPTION_CHOICE:
        return take_choice(command, option, value, field);
    case OPTION_PARSED:
        return option->parse(command, value, settings);
    }
    return false;
}

/* ---- walking the words ------------------------------------------------------- */

/* Where the parser is in the words of the command line. */
struct walk {
    const struct command *command;
    void *settings;
    char **words;
    size_t n_words;
    size_t next; /* the first word that nobody has taken */
};

/* An option of this command: "-n", "--limit" or "--limit=5". Not "-n5": "--sort -calls" sorts down.
 */
static bool is_option(const struct command *command, const char *word)
{
    if (word[0] != '-' || word[1] == '\0')
        return false;
    if (word[1] != '-')
        return word[2] == '\0' && (word[1] == 'h' || find_letter(command, word[1]) != NULL);
    return strcmp(word, "--help") == 0 ||
           find_long(command, word + 2, strcspn(word + 2, "=")) != NULL;
}

/* The next word as the value of an option; an option is no value, unless an "=" stands before it.
 */
static bool take_next_word(struct walk *walk, const struct option *option, const char *word)
{
    if (walk->next == walk->n_words) {
        usage_error(walk->command, "option '%s' wants a value: %s", word, option->argument);
        return false;
    }
    if (is_option(walk->command, walk->words[walk->next])) {
        usage_error(walk->command,
                    "option '%s' wants a value, %s, but the option '%s' follows; if that is meant: "
                    "'--%s=%s'",
                    word, option->argument, walk->words[walk->next], option->name,
                    walk->words[walk->next]);
        return false;
    }
    return take_value(walk->command, option, walk->words[walk->next++], walk->settings);
}

static enum parse_result parse_long(struct walk *walk, const char *word)
{
    const char *equals = strchr(word, '=');
    const size_t len = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;

    if (strcmp(word, "--help") == 0)
        return PARSE_HELP;
    const struct option *option = find_long(walk->command, word + 2, len);
    if (!option) {
        tell_unknown_option(walk->command, word);
        return PARSE_ERROR;
    }
    if (!option->argument && equals) {
        usage_error(walk->command, "option '--%s' takes no value", option->name);
        return PARSE_ERROR;
    }

    bool ok;
    if (!option->argument || equals)
        ok = take_value(walk->command, option, equals ? equals + 1 : NULL, walk->settings);
    else
        ok = take_next_word(walk, option, word);
    return ok ? PARSE_OK : PARSE_ERROR;
}

/* A word such as -n5, -n 5 or several flags in one: -ab. */
static enum parse_result parse_letters(struct walk *walk, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        if (*letter == 'h')
            return PARSE_HELP;
        const struct option *option = find_letter(walk->command, *letter);
        if (!option) {
            tell_whose_option(walk->command, (const char[]){'-', *letter, '\0'});
            return PARSE_ERROR;
        }
        if (!option->argument) {
            if (!take_value(walk->command, option, NULL, walk->settings))
                return PARSE_ERROR;
            continue;
        }
        const bool ok = letter[1] ? take_value(walk->command, option, letter + 1, walk->settings)
                                  : take_next_word(walk, option, word);
        return ok ? PARSE_OK : PARSE_ERROR;
    }
    return PARSE_OK;
}

static bool operands_fit(const struct command *command, size_t n, char **operands)
{
    if (n < command->min_operands) {
        usage_error(command, "'marey %s' needs %s", command->name, command->operands);
        return false;
    }
    if (n > command->max_operands) {
        usage_error(command, "'marey %s' does not know what to do with '%s'", command->name,
                    operands[command->max_operands]);
        return false;
    }
    return true;
}

static bool is_operand(const struct command *command, const char *word)
{
    if (word[0] != '-' || word[1] == '\0')
        return true;
    return command->operand_letter != 0 && word[1] == command->operand_letter && word[2] == '\0';
}

enum parse_result options_parse(const struct command *command, size_t n_words, char **words,
                                void *settings, size_t *n_operands)
{
    struct walk walk = {
        .command = command, .settings = settings, .words = words, .n_words = n_words};
    bool options_ended = false;
    size_t n = 0;

    while (walk.next < n_words) {
        char *word = words[walk.next++];
        enum parse_result result = PARSE_OK;

        if (options_ended || is_operand(command, word)) {
            words[n++] = word;
            options_ended |= command->stops_at_operand;
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (word[1] == '-') {
            result = parse_long(&walk, word);
        } else {
            result = parse_letters(&walk, word);
        }
        if (result != PARSE_OK)
            return result;
    }
    *n_operands = n;
    return operands_fit(command, n, words) ? PARSE_OK : PARSE_ERROR;
}
