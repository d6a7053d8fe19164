/*
 * session.h - a session, for its own files and for the intake: what was recorded between two
 * moments.
 */
#ifndef MAREY_SRC_RECORD_SESSION_H
#define MAREY_SRC_RECORD_SESSION_H

#include "record/recorder.h"

struct marey_session_meta {
    char *key;
    char *json;
    size_t key_len;
    size_t json_len;
};

/* Where in a thread's log a session begins: nothing of it lies before this chunk. */
struct marey_position {
    uint64_t log_serial;
    struct marey_chunk *chunk; /* pinned; NULL: the log was empty */
    uint64_t n_lost;           /* records that the thread had lost until then */
};

/* What a thread had lost when a session stopped. */
struct marey_losses {
    uint64_t log_serial;
    uint64_t n_lost;
};

struct marey_session {
    struct marey_session *next; /* in the recorder's list */
    uint32_t n_refs;            /* the user and each trace; under the recorder's lock */
    uint32_t generation;
    uint32_t wants;
    bool is_running;
    bool is_tsc;
    uint64_t epoch_ticks;
    struct marey_clock_pair start;   /* of what it shows, as the next */
    struct marey_clock_pair stop;    /* its end, which may be the mark */
    struct marey_clock_pair mark;    /* without one: the start */
    struct marey_clock_pair started; /* where it began to record, and stopped */
    struct marey_clock_pair stopped;
    int64_t clock_error_ns;           /* set at the stop */
    int64_t range_cost_ns;            /* measured at the start; MAREY_UNKNOWN */
    uint64_t n_guarded_before;        /* at the start */
    uint64_t n_guarded;               /* at the stop, since the start */
    struct marey_position *positions; /* in the order of the logs; none of a log that was empty */
    size_t n_positions;
    size_t positions_capacity;
    struct marey_losses *losses; /* at the stop, of threads that lost any, in the same order */
    size_t n_losses;
    size_t losses_capacity;
    bool knows_losses; /* it has stopped and noted all of them */
    struct marey_session_meta *metas;
    size_t n_metas;
    size_t metas_capacity;
};

/* What one thread had published when the snapshot was taken. */
struct marey_log_part {
    uint64_t log_serial;
    int64_t thread_id;
    char name[MAREY_THREAD_NAME_BYTES];
    size_t first_chunk; /* in the snapshot's chunks */
    size_t n_chunks;
    uint64_t n_lost;          /* records of the session */
    bool is_losing;           /* when the session ended */
    uint64_t open_lost_ticks; /* since then; within the session */
};

struct marey_chunk_part {
    const uint64_t *word;
    uint32_t n_words;
};

/* The session's records, stable while the session is held. */
struct marey_snapshot {
    struct marey_alloc alloc;
    struct marey_log_part *part; /* a thread each */
    size_t n_parts;
    size_t parts_capacity;
    struct marey_chunk_part *chunk;
    size_t n_chunks;
    size_t chunks_capacity;
    uint64_t start_ticks; /* since the epoch, as in records: begins from here on */
    uint64_t stop_ticks;  /* and before here */
    struct marey_clock_line line;
    int64_t clock_error_ns;
    uint64_t n_guarded;
    bool is_running;
};

/* \fails MAREY_NOMEM, MAREY_INVALID: of the parent process */
enum marey_status marey__session_snapshot(struct marey_session *session,
                                          const struct marey_alloc *alloc,
                                          struct marey_snapshot *snapshot, struct marey_error *err);
void marey__snapshot_release(struct marey_snapshot *snapshot);

/* The time of a record, since the Unix epoch. */
static inline int64_t marey__snapshot_ns(const struct marey_snapshot *snapshot,
                                         uint64_t record_ticks)
{
    return marey__clock_line_ns(&snapshot->line, record_ticks);
}

/* Records that met a guard, on any thread, since the session began. */
uint64_t marey__session_count_guarded(const struct marey_session *session);

/* positions.c: notes where the session begins in each log, so that no reader has to walk over what
 * is older; without memory it begins in each log's first chunk. Under the lock, once its time has
 * begun. */
void marey__session_note_positions(struct marey_session *session);

/* Notes what each thread has lost; without memory later losses count as the session's too. Under
 * the lock, when its time is over. */
void marey__session_note_losses(struct marey_session *session);
void marey__session_unpin_positions(struct marey_session *session); /* under the lock */
void marey__session_free_positions(struct marey_session *session);

/* Goes through a session's positions beside the recorder's logs. */
struct marey_position_walk {
    const struct marey_session *session;
    size_t at;
    size_t at_losses;
};

/* Of each log in the order of the list: the chunk in which the session begins, NULL for a log that
 * is empty, and how many records the thread lost in it. */
struct marey_position marey__position_in(struct marey_position_walk *walk,
                                         const struct marey_log *log);

/* meta.c: frees what was added to the head. */
void marey__session_free_metas(struct marey_session *session);

/* Holds the session's records for a trace, and lets go. */
void marey__session_hold(struct marey_session *session);
void marey__session_let_go(struct marey_session *session);

#endif
