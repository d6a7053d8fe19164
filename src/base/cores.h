/*
 * cores.h - how many processors the caller may use.
 */
#ifndef MAREY_SRC_BASE_CORES_H
#define MAREY_SRC_BASE_CORES_H

#include <stddef.h>

/* Processors that the calling thread may run on, 1 or more. */
size_t marey__n_cores(void);

#endif
