/*
 * completion.c - the script that completes command lines in bash.
 */
#include "help.h"

static void add_options(struct text *text, const struct command *command)
{
    text_add(text, "        %s) words='--help", command->name);
    for (const struct option *o = command->options; o->name; o++)
        text_add(text, " --%s", o->name);
    text_add(text, "' ;;\n");
}

/* After an option that takes one of some words, only those. */
static void add_choices(struct text *text, const struct command *command)
{
    for (const struct option *o = command->options; o->name; o++) {
        if (o->type != OPTION_CHOICE)
            continue;
        text_add(text, "        %s:--%s) words='", command->name, o->name);
        for (const struct choice *c = o->choices; c->name; c++)
            text_add(text, "%s%s", c == o->choices ? "" : " ", c->name);
        text_add(text, "' ;;\n");
    }
}

void completion_script(struct text *text)
{
    size_t n = 0;
    const struct command *const *commands = commands_all(&n);

    text_add(text, "# bash completion of marey\n"
                   "_marey()\n{\n"
                   "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                   "    local before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
                   "    COMPREPLY=()\n"
                   "    case $command:$before in\n");
    for (size_t i = 0; i < n; i++)
        add_choices(text, commands[i]);
    text_add(text, "        *)\n            case $word in\n"
                   "                -*) ;;\n"
                   "                *) [ \"$COMP_CWORD\" -gt 1 ] && return ;;\n"
                   "            esac ;;\n    esac\n"
                   "    [ \"$words\" ] || case $command in\n");
    for (size_t i = 0; i < n; i++)
        add_options(text, commands[i]);
    text_add(text, "        *) words='--help --version");
    for (size_t i = 0; i < n; i++) {
        if (!commands[i]->is_hidden)
            text_add(text, " %s", commands[i]->name);
    }
    text_add(text, "' ;;\n    esac\n"
                   "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
                   "}\n"
                   "complete -o default -F _marey marey\n");
}
