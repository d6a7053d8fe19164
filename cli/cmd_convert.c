/*
 * cmd_convert.c - `marey convert`: a trace in another form.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <marey/export.h>

#include "command.h"
#include "input.h"
#include "message.h"
#include "output.h"
#include "text.h"

struct convert_settings {
    bool overwrite;
    bool omit_args;
    bool scrub;
    struct number compression;
    struct input_reading reading;
};

static enum marey_status write_block(void *ctx, const void *bytes, size_t len,
                                     struct marey_error *err)
{
    int *write_error = ctx;

    (void)err; /* output_stream_end tells it */
    *write_error = output_stream_write(bytes, len);
    return *write_error == 0 ? MAREY_OK : MAREY_IO;
}

static enum cli_exit write_to_standard_output(struct marey_trace *trace,
                                              const struct convert_settings *convert)
{
    const struct marey_chrome_options options = {
        .size = sizeof options,
        .omit_args = convert->omit_args,
        .scrub = convert->scrub,
    };
    struct marey_error err = {.message = "cannot convert the trace"};
    int write_error = 0;

    if (marey_export_chrome_stream(trace, write_block, &write_error, &options, &err) == MAREY_OK ||
        write_error != 0)
        return output_stream_end(write_error);
    message_print("%s", err.message);
    return CLI_FAILED;
}

static enum cli_exit write_to_file(struct marey_trace *trace, const char *path,
                                   const struct convert_settings *convert)
{
    const struct marey_chrome_options options = {
        .size = sizeof options,
        .overwrite = convert->overwrite,
        .omit_args = convert->omit_args,
        .scrub = convert->scrub,
        .compression = (int)convert->compression.value,
    };
    struct marey_error err = {.message = "cannot convert the trace"};

    if (marey_export_chrome(trace, path, &options, &err) == MAREY_OK)
        return CLI_DONE;
    message_print("%s", err.message);
    return CLI_FAILED;
}

/* Whether a row is about what OUT does not show as IN did, or about what was lost before. */
static bool is_told(const struct marey_ledger_row *row)
{
    static const char *const others[] = {"lost",        "lost_before",   "not_collected",
                                         "other_phase", "unmatched_end", "end_args"};

    if (row->map == MAREY_LEDGER_QUARANTINED || marey_chrome_mends(row))
        return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(row->reason, others[i]) == 0)
            return true;
    return false;
}

/* One line if IN was damaged or something is left out. */
static void tell(struct marey_trace *trace)
{
    struct marey_ledger ledger = {0};
    struct text counts = {0};

    if (marey_trace_ledger(trace, &ledger, NULL) != MAREY_OK)
        return;
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (is_told(&ledger.rows[i]))
            text_add(&counts, "%s%s %" PRIu64, counts.len > 0 ? ", " : "", ledger.rows[i].reason,
                     ledger.rows[i].count);
    if (counts.len > 0 && !counts.is_broken)
        message_print("what was read is not clean: %s; 'marey doctor' explains it, also of what "
                      "was written",
                      counts.ptr);
    text_release(&counts);
}

static bool is_standard_output(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static enum cli_exit run_convert(const void *settings, size_t n_operands, char **operands)
{
    const struct convert_settings *convert = settings;
    const char *path = operands[n_operands - 1];
    struct marey_trace *trace = NULL;

    if (convert->compression.value > 9) {
        usage_error(&command_convert, "option '--level' wants 1 to 9");
        return CLI_USAGE;
    }
    /* Asked before the work; the library asks again when it takes the name. */
    if (!is_standard_output(path) && !output_is_free(path, convert->overwrite))
        return CLI_FAILED;
    /* What OUT mends of args is counted in its head, as --repair counts it. */
    const struct input_reading reading = {
        .check = convert->omit_args ? MAREY_CHECK_FIELDS : MAREY_CHECK_ALL,
        .n_threads = convert->reading.n_threads,
    };
    enum cli_exit result = input_load(n_operands - 1, operands, &reading, &trace);
    if (result == CLI_DONE && is_standard_output(path))
        result = write_to_standard_output(trace, convert);
    else if (result == CLI_DONE)
        result = write_to_file(trace, path, convert);
    if (result == CLI_DONE)
        tell(trace);
    marey_trace_free(trace);
    return result;
}

static const struct option convert_options[] = {
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = offsetof(struct convert_settings, overwrite),
     .help = "overwrite OUT if it exists"},
    {.name = "omit-args",
     .type = OPTION_FLAG,
     .offset = offsetof(struct convert_settings, omit_args),
     .help = "leave out the args of all records: smaller, and no longer the same trace"},
    {.name = "scrub",
     .type = OPTION_FLAG,
     .offset = offsetof(struct convert_settings, scrub),
     .help = "leave out what tells whose trace it is (environment, host, user, paths, unknown "
             "members and args); names of operators and kernels stay"},
    {.name = "level",
     .argument = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct convert_settings, compression),
     .min = 1,
     .help = "compress .gz with level N, 1 (fast, default) to 9 (small)"},
    INPUT_OPTION_THREADS(offsetof(struct convert_settings, reading.n_threads)),
    {0},
};

const struct command command_convert = {
    .name = "convert",
    .summary = "write a trace as Chrome JSON",
    .operands = "IN... OUT",
    .description =
        "Reads one or more traces and writes them as Chrome JSON in Kineto's schema, which "
        "chrome://tracing, "
        "Perfetto and other readers of PyTorch traces open. OUT is compressed if its name ends in "
        ".gz; - is standard output. OUT appears complete or not at all.\n\n"
        "IN is as for 'marey report'. Several files are the ranks of one job: OUT holds all of "
        "them, "
        "and marey reads it as it reads the files. Other programs see one trace whose processes "
        "have their rank before their name and pids that do not collide.\n\n"
        "OUT is as near to IN as valid JSON can be: records that were set aside are written again "
        "where their text can be, and args keep what strict readers may refuse, such as a key "
        "twice; of args that are no JSON it has what stands before the first fault. 'marey doctor "
        "--repair' "
        "writes for strict readers.\n\n"
        "Not written are records whose text is no JSON or in which the file ends, ends without a "
        "begin, records of a phase that no table needs, args of an end that say more than its "
        "place, and members of a record that Kineto does not write, such as tts or cname. What OUT "
        "cannot show of IN is counted in "
        "its head, so that every later reading tells of it; if there is anything of the kind, one "
        "line on standard error says so.",
    .examples =
        "marey convert trace.json trace.json.gz\tcompress a trace\n"
        "marey convert logs/ job.json.gz\tall ranks of a folder in one file\n"
        "marey convert --scrub mine.json.gz shown.json.gz\tmake a trace that may be shown\n"
        "zstd -dc trace.json.zst | marey convert - trace.json.gz\tfrom another compressor\n",
    .options = convert_options,
    .settings_bytes = sizeof(struct convert_settings),
    .min_operands = 2,
    .max_operands = OPERANDS_UNLIMITED,
    .run = run_convert,
};
