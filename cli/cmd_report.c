/*
 * cmd_report.c - `marey report`: a table of averages.
 */
#include <inttypes.h>

#include <marey/aggregate.h>
#include <marey/export.h>

#include "command.h"
#include "input.h"
#include "message.h"
#include "output.h"
#include "report_options.h"

/* A width of the command line as the library has it: 0 there is the default. */
static uint32_t width_or(struct number width, uint32_t fallback)
{
    if (!width.is_given)
        return fallback;
    if (width.value == 0 || width.value >= MAREY_WIDTH_UNLIMITED)
        return MAREY_WIDTH_UNLIMITED;
    return (uint32_t)width.value;
}

/* ---- our table --------------------------------------------------------------- */

static struct marey_table_options table_options(const struct report_settings *report)
{
    struct marey_table_options options = {
        .size = sizeof options,
        .sort = report->sort,
        .columns = report->columns,
        .header = report->header,
        .limit = report->limit.is_given ? report->limit.value : 0,
        .time_unit = (enum marey_time_unit)report->time_unit,
        .name_width = width_or(report->name_width, 0),
        .shapes_width = width_or(report->shapes_width, 0),
        .src_width = width_or(report->src_width, 0),
    };

    if (report->format == FORMAT_CSV)
        options.format = MAREY_TABLE_CSV;
    if (report->format == FORMAT_JSON)
        options.format = MAREY_TABLE_JSON;
    if (report->layout == LAYOUT_TORCH)
        options.layout = MAREY_LAYOUT_TORCH;
    return options;
}

/* Operators without an input have no shapes either: then the head of the file says that they were
 * recorded. */
static bool says_that_it_has_shapes(const struct marey_trace *trace)
{
    const struct marey_str flag = marey_trace_meta(trace, "record_shapes");

    return flag.len == 1 && flag.ptr[0] == '1';
}

/* Else an empty column is all that shows it. */
static void tell_missing(const struct report_settings *report, const struct marey_trace *trace,
                         const struct marey_averages *averages)
{
    size_t n = 0;
    const struct marey_average *row = marey_averages_rows(averages, &n);
    bool has_stacks = n == 0;
    bool has_overloads = n == 0;
    bool has_shapes = n == 0 || says_that_it_has_shapes(trace);

    for (size_t i = 0; i < n; i++) {
        has_stacks |= marey_averages_string(averages, row[i].stack_id).len > 0;
        has_shapes |= marey_averages_string(averages, row[i].shapes_id).len > 0;
        has_overloads |= marey_averages_string(averages, row[i].overload_id).len > 0;
    }
    if (report->by_stack > 0 && !has_stacks)
        message_print("the trace has no stacks, so that '--group-by stack' changes nothing; "
                      "torch.profiler records them with_stack=True");
    if (report->by_shape && !has_shapes)
        message_print("the trace has no shapes of inputs, so that '--group-by shape' changes "
                      "nothing; torch.profiler records them with record_shapes=True, 'marey run' "
                      "with --record-shapes");
    if (report->by_overload && !has_overloads)
        message_print("the trace has no names of overloads, so that '--group-by overload' changes "
                      "nothing; torch.profiler records them if its experimental_config says "
                      "capture_overload_names=True");
}

static enum marey_status marey_report(struct marey_trace *trace,
                                      const struct report_settings *report, struct marey_text *text,
                                      struct marey_error *err)
{
    const struct marey_table_options layout = table_options(report);
    const struct marey_averages_options options = {
        .size = sizeof options,
        .by_shape = report->by_shape,
        .by_overload = report->by_overload,
        .by_rank = report->by_rank,
        .by_stack = report->by_stack,
        .percentiles = true,
        .include_python = report->with_python,
        .top_level = report->top_level,
    };
    struct marey_averages *averages = NULL;

    enum marey_status status = marey_averages_new(trace, &options, &averages, err);
    if (status == MAREY_OK)
        status = marey_table_text(averages, &layout, text, err);
    if (status == MAREY_OK)
        tell_missing(report, trace, averages);
    marey_averages_free(averages);
    return status;
}

/* ---- torch's table -------------------------------------------------------------- */

static struct marey_torch_table_options torch_table_options(const struct report_settings *report)
{
    struct marey_torch_table_options options = marey_torch_table_defaults();

    options.sort_by = report->sort;
    options.header = report->header;
    options.top_level_events_only = report->top_level;
    options.time_unit = (enum marey_time_unit)report->time_unit;
    if (report->limit.is_given)
        options.row_limit = report->limit.value;
    options.max_name_column_width = width_or(report->name_width, options.max_name_column_width);
    options.max_shapes_column_width =
        width_or(report->shapes_width, options.max_shapes_column_width);
    options.max_src_column_width = width_or(report->src_width, options.max_src_column_width);
    return options;
}

static enum marey_status torch_report(struct marey_trace *trace,
                                      const struct report_settings *report, struct marey_text *text,
                                      struct marey_error *err)
{
    const struct marey_torch_table_options layout = torch_table_options(report);
    const struct marey_torch_options options = {
        .size = sizeof options,
        .version = report->torch_version,
        .memory = report->memory,
        .flops = report->flops,
        .python_functions = report->with_python ? MAREY_KNOWN_YES : MAREY_KNOWN_AUTO,
    };
    struct marey_torch_view *view = NULL;
    struct marey_torch_averages *averages = NULL;

    enum marey_status status = marey_torch_view_new(trace, &options, &view, err);
    if (status == MAREY_OK)
        status = marey_torch_averages_new(view, report->by_shape, report->by_stack,
                                          report->by_overload, &averages, err);
    if (status == MAREY_OK)
        status = marey_torch_table_text(averages, &layout, text, err);
    marey_torch_averages_free(averages);
    marey_torch_view_free(view);
    return status;
}

/* torch's bytes have no room for the account of the trace. */
static void tell_unclean(struct marey_trace *trace)
{
    struct marey_ledger ledger = {0};
    uint64_t n_set_aside = 0;
    uint64_t n_repaired = 0;

    if (marey_trace_ledger(trace, &ledger, NULL) != MAREY_OK)
        return;
    for (size_t i = 0; i < ledger.n_rows; i++) {
        if (ledger.rows[i].map == MAREY_LEDGER_QUARANTINED)
            n_set_aside += ledger.rows[i].count;
        if (ledger.rows[i].map == MAREY_LEDGER_REPAIRED)
            n_repaired += ledger.rows[i].count;
    }
    if (n_set_aside + n_repaired > 0)
        message_print("not clean: %" PRIu64 " records read, %" PRIu64 " set aside, %" PRIu64
                      " repaired, 'marey info' tells why",
                      ledger.n_read, n_set_aside, n_repaired);
}

/* Whether nothing was set aside, repaired or found. */
static bool is_clean(struct marey_trace *trace)
{
    struct marey_ledger ledger = {0};

    if (marey_trace_ledger(trace, &ledger, NULL) != MAREY_OK)
        return false;
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (ledger.rows[i].map != MAREY_LEDGER_INFO)
            return false;
    return true;
}

/* ---- the command ------------------------------------------------------------------- */

static enum cli_exit run_report(const void *settings, size_t n_operands, char **operands)
{
    const struct report_settings *report = settings;
    struct marey_error err = {.message = "cannot make the report"};
    struct marey_trace *trace = NULL;
    struct marey_text text = {0};

    if (!report_settings_agree(&command_report, report))
        return CLI_USAGE;
    const struct input_reading reading = {
        .check = report->is_strict ? MAREY_CHECK_ALL : MAREY_CHECK_FIELDS,
        .n_threads = report->n_threads,
    };
    enum cli_exit result = input_load(n_operands, operands, &reading, &trace);
    if (result != CLI_DONE)
        goto done;

    const enum marey_status status = report->as_torch ? torch_report(trace, report, &text, &err)
                                                      : marey_report(trace, report, &text, &err);
    if (status != MAREY_OK) {
        /* The trace is what it is: what makes no sense was asked for. */
        result = status == MAREY_INVALID ? CLI_USAGE : CLI_FAILED;
        message_print("%s", err.message);
        goto done;
    }
    if (report->as_torch)
        tell_unclean(trace);
    result = output_write(report->output, report->overwrite, text.ptr, text.len);
    if (result == CLI_DONE && report->is_strict && !is_clean(trace))
        result = CLI_UNMET;

done:
    marey_text_release(&text);
    marey_trace_free(trace);
    return result;
}

const struct command command_report = {
    .name = "report",
    .summary = "print a table of averages",
    .operands = "FILE...",
    .description =
        "Reads one or more traces that torch.profiler or Kineto wrote and prints one row for each "
        "operator, annotation, runtime call and device operation: calls, self and total time, "
        "mean, median and 99th percentile, and the device time that each owns.\n\n"
        "FILE is a .json or .json.gz file, a folder with such files, or - for standard input. "
        "Several files are the ranks of one job.",
    .examples =
        "marey report trace.json.gz\twhere the time went\n"
        "marey report -g name,shape -n 10 trace.json\tthe ten costliest operators by input shape\n"
        "marey report --compat torch -s cuda_time_total trace.json\ttorch's own table\n"
        "marey report -f json logs/ > averages.json\tall ranks of a folder, for a program\n",
    .options = report_options,
    .settings_bytes = sizeof(struct report_settings),
    .min_operands = 1,
    .max_operands = OPERANDS_UNLIMITED,
    .run = run_report,
};
