/*
 * positions.c - where in each thread's log a session begins.
 *
 * A session may be a thousandth of what its process records. What it costs to read or to let go
 * must not grow with the rest, so its beginning is kept as a chunk of each log, not only as a
 * time. Chunks before it have no record of the session: it is noted after the session's time has
 * begun. The chunk is pinned, since by its times it may be nobody's: its thread may have taken the
 * next one just before the session began and linked it after.
 */
#include "record/session.h"
#include "record/tls.h"

static size_t count_logs(void)
{
    size_t n = 0;

    for (const struct marey_log *log = marey__recorder.logs; log != NULL; log = log->next)
        n++;
    return n;
}

void marey__session_note_positions(struct marey_session *session)
{
    const struct marey_alloc alloc = marey__alloc_default();
    const size_t n_logs = count_logs();

    session->positions = marey__alloc(&alloc, n_logs, sizeof *session->positions);
    if (session->positions == NULL)
        return;
    session->positions_capacity = n_logs;
    for (struct marey_log *log = marey__recorder.logs; log != NULL; log = log->next) {
        struct marey_chunk *last = marey__log_last(log);
        if (last == NULL)
            continue;
        last->n_pins++;
        session->positions[session->n_positions++] =
            (struct marey_position){.log_serial = log->serial, .chunk = last};
    }
}

void marey__session_unpin_positions(struct marey_session *session)
{
    for (size_t i = 0; i < session->n_positions; i++)
        session->positions[i].chunk->n_pins--;
}

void marey__session_free_positions(struct marey_session *session)
{
    const struct marey_alloc alloc = marey__alloc_default();

    marey__dealloc(&alloc, session->positions, session->positions_capacity,
                   sizeof *session->positions);
}

/* Both lists have the newest log first; logs that are newer than the session or were empty then
 * have no position, logs with one are still there. */
struct marey_chunk *marey__position_in(struct marey_position_walk *walk,
                                       const struct marey_log *log)
{
    const struct marey_session *session = walk->session;

    if (walk->at < session->n_positions && session->positions[walk->at].log_serial == log->serial)
        return session->positions[walk->at++].chunk;
    return atomic_load_explicit(&log->first, memory_order_acquire);
}
