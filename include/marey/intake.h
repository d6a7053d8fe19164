/*
 * marey/intake.h - from a recorded session to a trace, without text in between.
 *
 *     struct marey_trace *trace = NULL;
 *     if (marey_session_trace(session, NULL, &trace, &err) == MAREY_OK)
 *         ...                                          // averages, tables, exports
 *     marey_trace_free(trace);
 *
 * Life: a trace holds the records of its sessions for args that are read later; the sessions
 * themselves may be freed at once.
 *
 * Threads: also of a session that runs: the trace has what was published when it was made.
 */
#ifndef MAREY_INTAKE_H
#define MAREY_INTAKE_H

#include "marey/record.h"
#include "marey/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero means the defaults. */
struct marey_intake_options {
    size_t size;
    const struct marey_alloc *alloc; /* NULL: the C library's; copied */
    int64_t rank;                    /* used if has_rank */
    int64_t world_size;              /* 0: not known */
    bool has_rank;
    uint64_t n_let_go; /* cycles of the same recording that are not among the sessions any more */
};

/* Makes a trace of what the session asked for. Ranges that are open at the stop (or now)
 * reach there and are marked MAREY_SLICE_OPEN; ends whose begin lies before the start are
 * counted in the ledger, and so are losses, and cycles that were let go before.
 * \owns gives *trace, freed by marey_trace_free
 * \fails MAREY_NOMEM; MAREY_INVALID (options->size, a session of the parent process) */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_session_trace(struct marey_session *session, const struct marey_intake_options *options,
                    struct marey_trace **trace, struct marey_error *err);

/* Makes one trace of sessions that were recorded one after another: the cycles of a schedule, or
 * what a pause split. It is one source and one process, with a track for each thread; the time
 * between two sessions is a gap (marey_trace_gaps). A range that is open at the end of a session is
 * cut there, and its end in a later one counts as one whose begin lies before. Times behind the
 * first session's start are those of the system's monotonic clock. Of a member of the head that
 * several sessions have the last one counts.
 * \shape sessions[n_sessions], in order of time, n_sessions > 0; the last may still run
 * \owns gives *trace, freed by marey_trace_free
 * \fails as marey_session_trace; MAREY_INVALID: no session, or one begins before the one in front
 *        of it has stopped */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_sessions_trace(struct marey_session *const *sessions, size_t n_sessions,
                     const struct marey_intake_options *options, struct marey_trace **trace,
                     struct marey_error *err);

#ifdef __cplusplus
}
#endif

#endif
