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
        const uint64_t n_lost = atomic_load_explicit(&log->n_lost, memory_order_relaxed);
        if (last == NULL && n_lost == 0)
            continue;
        if (last != NULL)
            last->n_pins++;
        session->positions[session->n_positions++] =
            (struct marey_position){.log_serial = log->serial, .chunk = last, .n_lost = n_lost};
    }
}

void marey__session_note_losses(struct marey_session *session)
{
    const struct marey_alloc alloc = marey__alloc_default();

    for (const struct marey_log *log = marey__recorder.logs; log != NULL; log = log->next) {
        const uint64_t n_lost = atomic_load_explicit(&log->n_lost, memory_order_relaxed);
        void *losses = session->losses;
        if (n_lost == 0)
            continue;
        if (!marey__grow(&alloc, &losses, &session->losses_capacity, session->n_losses + 1,
                         sizeof *session->losses))
            return;
        session->losses = losses;
        session->losses[session->n_losses++] =
            (struct marey_losses){.log_serial = log->serial, .n_lost = n_lost};
    }
    session->knows_losses = true;
}

void marey__session_unpin_positions(struct marey_session *session)
{
    for (size_t i = 0; i < session->n_positions; i++)
        if (session->positions[i].chunk != NULL)
            session->positions[i].chunk->n_pins--;
}

void marey__session_free_positions(struct marey_session *session)
{
    const struct marey_alloc alloc = marey__alloc_default();

    marey__dealloc(&alloc, session->positions, session->positions_capacity,
                   sizeof *session->positions);
    marey__dealloc(&alloc, session->losses, session->losses_capacity, sizeof *session->losses);
}

/* What the thread had lost when the session stopped, or has until now. */
static uint64_t lost_until(struct marey_position_walk *walk, const struct marey_log *log)
{
    const struct marey_session *session = walk->session;

    if (!session->knows_losses)
        return atomic_load_explicit(&log->n_lost, memory_order_relaxed);
    while (walk->at_losses < session->n_losses &&
           session->losses[walk->at_losses].log_serial > log->serial)
        walk->at_losses++;
    const struct marey_losses *losses = &session->losses[walk->at_losses];
    return walk->at_losses < session->n_losses && losses->log_serial == log->serial ? losses->n_lost
                                                                                    : 0;
}

/* All lists have the newest log first. Logs that are newer than the session or were empty then
 * have no position; of those that have one some may be gone. */
struct marey_position marey__position_in(struct marey_position_walk *walk,
                                         const struct marey_log *log)
{
    const struct marey_session *session = walk->session;
    struct marey_position here = {.log_serial = log->serial};
    const uint64_t n_lost = lost_until(walk, log);

    while (walk->at < session->n_positions && session->positions[walk->at].log_serial > log->serial)
        walk->at++;
    if (walk->at < session->n_positions && session->positions[walk->at].log_serial == log->serial)
        here = session->positions[walk->at];
    if (here.chunk == NULL)
        here.chunk = atomic_load_explicit(&log->first, memory_order_acquire);
    here.n_lost = n_lost > here.n_lost ? n_lost - here.n_lost : 0;
    return here;
}
