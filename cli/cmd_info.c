/*
 * cmd_info.c - `marey info`: what is in a trace, at a glance.
 */
#include "command.h"
#include "info.h"
#include "input.h"
#include "message.h"
#include "output.h"

enum info_format { INFO_DEFAULT = 0, INFO_TABLE = 1, INFO_JSON = 2 };

struct info_settings {
    int format; /* enum info_format */
    const char *output;
    bool overwrite;
    bool verbose;
    struct input_reading reading;
};

static enum cli_exit run_info(const void *settings, size_t n_operands, char **operands)
{
    const struct info_settings *asked = settings;
    struct marey_error err = {.message = "cannot describe the trace: out of memory"};
    struct marey_trace *trace = NULL;
    struct info info = {0};
    struct text text = {0};

    enum cli_exit result = input_load(n_operands, operands, &asked->reading, &trace);
    if (result != CLI_DONE)
        goto done;
    if (info_collect(trace, &info, &err) != MAREY_OK) {
        message_print("%s", err.message);
        result = CLI_FAILED;
        goto done;
    }
    if (asked->format == INFO_JSON)
        info_as_json(&info, &text);
    else
        info_as_text(&info, asked->verbose, &text);
    result = output_text(asked->output, asked->overwrite, &text);

done:
    info_release(&info);
    marey_trace_free(trace);
    return result;
}

static const struct choice formats[] = {{"table", INFO_TABLE}, {"json", INFO_JSON}, {NULL, 0}};

static const struct option info_options[] = {
    {.name = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .type = OPTION_CHOICE,
     .choices = formats,
     .offset = offsetof(struct info_settings, format),
     .help = "table (default) or json"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPTION_TEXT,
     .offset = offsetof(struct info_settings, output),
     .help = "write to FILE instead of standard output"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = offsetof(struct info_settings, overwrite),
     .help = "overwrite FILE if it exists"},
    {.name = "verbose",
     .type = OPTION_FLAG,
     .offset = offsetof(struct info_settings, verbose),
     .help = "of several files all of each, also where it is as of the first"},
    INPUT_OPTION_THREADS(offsetof(struct info_settings, reading.n_threads)),
    {0},
};

const struct command command_info = {
    .name = "info",
    .summary = "tell what is in a trace",
    .operands = "FILE...",
    .description =
        "Tells at a glance what a trace holds: who may have written it and with which flags, "
        "versions, rank and devices, the window, steps, threads and streams, categories with their "
        "counts, "
        "and the ledger, which says what is not clean and what that may distort.\n\n"
        "Of the metadata it shows keys only, since values may hold an environment with secrets. "
        "FILE is as for 'marey report'.",
    .examples = "marey info trace.json.gz\twhat is in there\n"
                "marey info -f json logs/\tthe same of all ranks of a folder, for a program\n",
    .options = info_options,
    .settings_bytes = sizeof(struct info_settings),
    .min_operands = 1,
    .max_operands = OPERANDS_UNLIMITED,
    .run = run_info,
};
