/*
 * commands.c - the list of commands, made from commands.def.
 */
#include "command.h"

#include <string.h>

#include "nearest.h"

static const struct command *const all_commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.def"
#undef COMMAND
};

static const size_t n_commands = sizeof all_commands / sizeof *all_commands;

const struct command *const *commands_all(size_t *n)
{
    *n = n_commands;
    return all_commands;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < n_commands; i++) {
        if (strcmp(all_commands[i]->name, name) == 0)
            return all_commands[i];
    }
    return NULL;
}

const struct command *command_nearest(const char *name)
{
    const struct command *best = NULL;
    size_t best_distance = nearest_limit(name);

    for (size_t i = 0; i < n_commands; i++) {
        const size_t distance = nearest_distance(name, all_commands[i]->name);
        if (distance <= best_distance && (!best || distance < best_distance)) {
            best = all_commands[i];
            best_distance = distance;
        }
    }
    return best;
}
