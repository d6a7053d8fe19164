/*
 * report_options.h - what `marey report` was asked for.
 */
#ifndef MAREY_CLI_REPORT_OPTIONS_H
#define MAREY_CLI_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <marey/aggregate.h>

#include "options.h"

enum report_format { FORMAT_DEFAULT = 0, FORMAT_TABLE = 1, FORMAT_CSV = 2, FORMAT_JSON = 3 };
enum report_layout { LAYOUT_DEFAULT = 0, LAYOUT_MAREY = 1, LAYOUT_TORCH = 2 };

/* All zero is what `marey report FILE` means. Enumerators of the library are
 * kept as int where OPTION_CHOICE fills them in. */
struct report_settings {
    const char *sort;
    const char *columns;
    const char *header;
    const char *output;
    struct number limit;
    struct number name_width;
    struct number shapes_width;
    struct number src_width;
    struct number n_threads;
    int format;    /* enum report_format */
    int layout;    /* enum report_layout */
    int time_unit; /* enum marey_time_unit */
    bool top_level;
    bool with_python;
    bool overwrite;
    bool is_strict;

    bool by_shape;
    bool by_overload;
    bool by_rank;
    uint32_t by_stack;

    bool as_torch;
    int32_t torch_version; /* 213 is 2.13; 0: guessed */
    enum marey_known memory;
    enum marey_known flops;
    bool profiled_is_given;
};

extern const struct option report_options[];

/* Checks what no single option can know. Tells what is wrong by usage_error. */
bool report_settings_agree(const struct command *command, const struct report_settings *settings);

#endif
