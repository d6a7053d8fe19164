/*
 * tls.h - the only state of the core that outlives a call: a pointer a thread, and the
 * recorder of the process.
 *
 * There is one recorder because a collector's hooks and a thread's log are one per process
 * whatever the number of sessions; it is a variable, not an object that is handed around,
 * since a record begins in code that knows nothing but its own name.
 */
#ifndef MAREY_SRC_RECORD_TLS_H
#define MAREY_SRC_RECORD_TLS_H

#include "record/recorder.h"

/* This thread's log; before its first record, and while that is made, a log that all share and
 * that is always busy. One pointer in the initial-exec model: a larger block would keep the
 * library from being loaded late. */
extern _Thread_local struct marey_log *marey__log __attribute__((tls_model("initial-exec")));
extern struct marey_log marey__no_log;

extern struct marey_recorder marey__recorder;

#endif
