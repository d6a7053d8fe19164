/*
 * report_options.c - the options of `marey report`.
 */
#include "report_options.h"

#include <stdio.h>
#include <string.h>

#include <marey/export.h>

#include "command.h"
#include "input.h"
#include "message.h"

/* ---- values with a grammar of their own --------------------------------------- */

/* Calls take for each word between commas, until one is refused. */
static bool each_word(const struct command *command, const char *list,
                      struct report_settings *report,
                      bool (*take)(const struct command *, const char *, struct report_settings *))
{
    for (const char *p = list;; p++) {
        char word[64] = "";
        const size_t len = strcspn(p, ",");

        /* A word that does not fit is none that we know; cut, it stays unknown. */
        memcpy(word, p, len < sizeof word ? len : sizeof word - 1);
        if (!take(command, word, report))
            return false;
        p += len;
        if (*p == '\0')
            return true;
    }
}

#define DEFAULT_DEPTH 5

static bool take_group(const struct command *command, const char *word,
                       struct report_settings *report)
{
    int64_t depth = 0;

    if (strcmp(word, "name") == 0)
        return true;
    if (strcmp(word, "shape") == 0 || strcmp(word, "shapes") == 0) {
        report->by_shape = true;
        return true;
    }
    if (strcmp(word, "overload") == 0) {
        report->by_overload = true;
        return true;
    }
    if (strcmp(word, "rank") == 0) {
        report->by_rank = true;
        return true;
    }
    if (strcmp(word, "stack") == 0) {
        report->by_stack = DEFAULT_DEPTH;
        return true;
    }
    if (strncmp(word, "stack:", 6) == 0 && options_read_number(word + 6, &depth) && depth > 0 &&
        depth <= INT32_MAX) {
        report->by_stack = (uint32_t)depth;
        return true;
    }
    if (strncmp(word, "stack", 5) == 0)
        usage_error(command, "cannot group by '%s', give a depth from 1: stack:5", word);
    else
        usage_error(command, "cannot group by '%s', use name, shape, stack:N, overload or rank",
                    word);
    return false;
}

static bool parse_group_by(const struct command *command, const char *value, void *settings)
{
    return each_word(command, value, settings, take_group);
}

static bool take_profiled(const struct command *command, const char *word,
                          struct report_settings *report)
{
    if (strcmp(word, "memory") == 0) {
        report->memory = MAREY_KNOWN_YES;
    } else if (strcmp(word, "flops") == 0) {
        report->flops = MAREY_KNOWN_YES;
    } else if (strcmp(word, "none") == 0) {
        report->memory = MAREY_KNOWN_NO;
        report->flops = MAREY_KNOWN_NO;
    } else {
        usage_error(command, "option '--profiled' wants memory, flops or none, not '%s'", word);
        return false;
    }
    return true;
}

static bool parse_profiled(const struct command *command, const char *value, void *settings)
{
    struct report_settings *report = settings;

    report->profiled_is_given = true;
    return each_word(command, value, report, take_profiled);
}

/* "2.13", "2.13.0", "2.13.0+cpu": major and minor count. */
static bool read_version(const char *text, int32_t *version)
{
    int major = 0;
    int minor = 0;
    int used = 0;

    if (sscanf(text, "%1d.%2d%n", &major, &minor, &used) != 2 || major < 1 || minor < 0)
        return false;
    if (text[used] != '\0' && text[used] != '.' && text[used] != '+' && text[used] != 'a')
        return false;
    *version = major * 100 + minor;
    return true;
}

static bool parse_compat(const struct command *command, const char *value, void *settings)
{
    struct report_settings *report = settings;
    const size_t len = strcspn(value, "=");

    if (len != strlen("torch") || memcmp(value, "torch", len) != 0) {
        usage_error(command, "option '--compat' wants torch or torch=VERSION, not '%s'", value);
        return false;
    }
    report->as_torch = true;
    if (value[len] == '=' && !read_version(value + len + 1, &report->torch_version)) {
        usage_error(command,
                    "cannot read the torch version '%s', write it as 2.13; 2.4 is the oldest",
                    value + len + 1);
        return false;
    }
    return true;
}

/* ---- what fits together ----------------------------------------------------------- */

static bool agree_under_compat(const struct command *command, const struct report_settings *report)
{
    const char *option = NULL;

    if (report->format == FORMAT_CSV || report->format == FORMAT_JSON)
        option = report->format == FORMAT_CSV ? "--format csv" : "--format json";
    else if (report->layout != LAYOUT_DEFAULT)
        option = "--layout";
    else if (report->columns)
        option = "--columns";
    else if (report->by_rank)
        option = "--group-by rank";
    if (option) {
        usage_error(command, "'--compat torch' prints torch's own table, '%s' cannot change it",
                    option);
        return false;
    }
    return true;
}

static bool agree_without_compat(const struct command *command,
                                 const struct report_settings *report)
{
    const bool is_table = report->format == FORMAT_DEFAULT || report->format == FORMAT_TABLE;

    if (report->profiled_is_given) {
        usage_error(command, "'--profiled' means something only with '--compat torch'");
        return false;
    }
    if (report->limit.is_given && report->limit.value == 0) {
        usage_error(command, "'--limit 0' shows nothing, use -1 for all rows");
        return false;
    }
    if (!is_table && (report->time_unit != 0 || report->header || report->layout)) {
        usage_error(command, "'%s' is for tables, csv and json hold plain nanoseconds",
                    report->header      ? "--header"
                    : report->time_unit ? "--time-unit"
                                        : "--layout");
        return false;
    }
    return true;
}

bool report_settings_agree(const struct command *command, const struct report_settings *settings)
{
    return settings->as_torch ? agree_under_compat(command, settings)
                              : agree_without_compat(command, settings);
}

/* ---- the table ------------------------------------------------------------------- */

static const struct choice formats[] = {
    {"table", FORMAT_TABLE}, {"csv", FORMAT_CSV}, {"json", FORMAT_JSON}, {NULL, 0}};

static const struct choice layouts[] = {
    {"marey", LAYOUT_MAREY}, {"torch", LAYOUT_TORCH}, {NULL, 0}};

static const struct choice time_units[] = {
    {"us", MAREY_TIME_US}, {"ms", MAREY_TIME_MS}, {"s", MAREY_TIME_S}, {NULL, 0}};

#define FIELD(name) offsetof(struct report_settings, name)

const struct option report_options[] = {
    {.name = "sort",
     .letter = 's',
     .argument = "KEY",
     .type = OPTION_TEXT,
     .offset = FIELD(sort),
     .help = "sort by KEY, numbers downwards, texts upwards: a name that torch's sort_by takes "
             "(self_cpu_time_total, cuda_time_total, count, ...) or a column of --columns; "
             "+KEY sorts upwards, -KEY downwards. "
             "Default: self device time if there is any, else self time; "
             "under --compat torch the order of first appearance, as torch's unsorted table"},
    {.name = "group-by",
     .letter = 'g',
     .argument = "KEYS",
     .type = OPTION_PARSED,
     .parse = parse_group_by,
     .help = "one row for each combination of KEYS, separated by commas: name (always), shape "
             "(input shapes), stack:N (innermost N entries of the call stack, 5 without N), "
             "overload, rank"},
    {.name = "limit",
     .letter = 'n',
     .argument = "N",
     .type = OPTION_NUMBER,
     .offset = FIELD(limit),
     .min = -1,
     .help = "show N rows of each block, -1: all. Default: 40, in csv and json all; "
             "100 under --compat torch"},
    {.name = "top-level",
     .type = OPTION_FLAG,
     .offset = FIELD(top_level),
     .help = "only what nothing else on its thread encloses"},
    {.name = "python",
     .type = OPTION_FLAG,
     .offset = FIELD(with_python),
     .help = "rows for Python functions too; their time counts in any case"},
    {.name = "name-width",
     .argument = "N",
     .type = OPTION_NUMBER,
     .offset = FIELD(name_width),
     .help = "cut names at N columns, 0: never. Default: what is left of 120 columns; "
             "55 under --compat torch"},
    {.name = "shapes-width",
     .argument = "N",
     .type = OPTION_NUMBER,
     .offset = FIELD(shapes_width),
     .help = "cut input shapes at N columns, 0: never. Default: as for names; "
             "80 under --compat torch"},
    {.name = "src-width",
     .argument = "N",
     .type = OPTION_NUMBER,
     .offset = FIELD(src_width),
     .help = "cut entries of stacks at N columns, 0: never. Default: as for names; "
             "75 under --compat torch"},
    {.name = "header",
     .argument = "TEXT",
     .type = OPTION_TEXT,
     .offset = FIELD(header),
     .help = "a line above the table"},
    {.name = "time-unit",
     .argument = "UNIT",
     .type = OPTION_CHOICE,
     .choices = time_units,
     .offset = FIELD(time_unit),
     .help = "us, ms or s for all times. Default: what suits each"},
    {.name = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .type = OPTION_CHOICE,
     .choices = formats,
     .offset = FIELD(format),
     .help = "table (default), csv or json; the last two give plain nanoseconds"},
    {.name = "columns",
     .letter = 'c',
     .argument = "NAMES",
     .type = OPTION_TEXT,
     .offset = FIELD(columns),
     .names = marey_table_columns,
     .help = "columns by name, separated by commas, or all. Default: those that fit 120 columns, "
             "in csv and json all. The names in csv and json (self_ns, self_percent) are taken "
             "too. Names:"},
    {.name = "layout",
     .argument = "LAYOUT",
     .type = OPTION_CHOICE,
     .choices = layouts,
     .offset = FIELD(layout),
     .help = "marey (default): a block of host rows and a block of device rows; "
             "torch: torch's columns with our numbers"},
    {.name = "compat",
     .argument = "torch[=VERSION]",
     .type = OPTION_PARSED,
     .parse = parse_compat,
     .help = "print the table that torch.profiler itself prints, byte for byte, with its own "
             "definitions. VERSION, 2.4 or later, tells which torch wrote the file. "
             "Default: 2.13 if the head of the file has host_name, else 2.11"},
    {.name = "profiled",
     .argument = "WHAT",
     .type = OPTION_PARSED,
     .parse = parse_profiled,
     .help = "with --compat torch: memory, flops (or both, by a comma) were recorded although the "
             "file does not say so; none: neither. Default: the file's own flags, and memory "
             "where there are memory records"},
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = FIELD(is_strict),
     .help = "look at every byte of every record, and exit with 1 if anything was set aside, "
             "repaired or found; the table is printed in any case"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPTION_TEXT,
     .offset = FIELD(output),
     .help = "write to FILE instead of standard output"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = FIELD(overwrite),
     .help = "overwrite FILE if it exists"},
    INPUT_OPTION_THREADS(FIELD(n_threads)),
    {0},
};
