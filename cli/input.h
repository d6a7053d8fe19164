/*
 * input.h - from the operands of a command to one trace.
 */
#ifndef MAREY_CLI_INPUT_H
#define MAREY_CLI_INPUT_H

#include <stddef.h>

#include <marey/trace.h>

#include "command.h"

/* Loads files, folders (all trace files in there) and "-" (standard input) into
 * one trace, one source each. Failures are told on standard error, and which files
 * of a folder are no traces and passed over.
 * \owns gives *trace, freed by marey_trace_free */
enum cli_exit input_load(size_t n_operands, char **operands, struct marey_trace **trace);

#endif
