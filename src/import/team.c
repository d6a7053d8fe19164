/*
 * team.c - windows between the threads that fill them and the reader.
 *
 *     n_given_back <= n_taken <= n_fetched
 *
 * A window belongs to the thread that fills it, time after time. The queue tells which window holds
 * a number's text. Counters, flags and the queue change under the lock. A window's bytes are
 * touched by one side at a time, without it: by its owner until it is ready, then by the reader.
 */
#include "import/team.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"

enum {
    WINDOWS_EACH = 3,    /* 2 at least: the reader holds one while it asks for the next */
    PAD_BYTES = 256,     /* zeros behind the text, which the scanner reads */
    BYTES_A_RECORD = 64, /* room for so many records; the reader scans what is behind */
    LEAST_RECORDS = 16,
    LINE_BYTES = 64,
};

/* One that works: a thread, or the reader while it waits. */
struct member {
    struct marey_team *team;
    pthread_t thread;
    struct marey_walk walk;
    struct marey_learnt learnt; /* a copy, with guesses of its own */
    struct marey_window window[WINDOWS_EACH];
    struct marey_window *unused[WINDOWS_EACH]; /* the latest is taken first */
    size_t n_unused;
    char *blocks; /* of all its windows: large enough to go back to the system at the end */
};

struct marey_team {
    struct marey_alloc alloc;
    struct marey_team_plan plan;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct marey_window **queue; /* [queue_len], by number modulo it */
    size_t queue_len;
    uint64_t n_fetched; /* or being fetched */
    uint64_t n_taken;
    uint64_t n_given_back;
    bool is_over; /* nothing is left to fetch */
    bool is_stopping;
    struct marey_learnt learnt;
    struct member *member; /* [plan.n_threads]; the first is the reader */
    size_t n_started;
};

static size_t records_of(const struct marey_team *team)
{
    return team->plan.window_bytes / BYTES_A_RECORD + LEAST_RECORDS;
}

/* Room, text and zeros; what is found in the text lies behind them. */
static size_t text_bytes(const struct marey_team *team)
{
    return (MAREY_WINDOW_ROOM + team->plan.window_bytes + PAD_BYTES + LINE_BYTES - 1) / LINE_BYTES *
           LINE_BYTES;
}

/* Whole lines, since the kernel copies a fifth as fast to a text that is 1 to 31 bytes further in
 * its page than in the file's. */
static size_t block_bytes(const struct marey_team *team)
{
    const size_t found_bytes =
        records_of(team) * (sizeof(struct marey_match) + sizeof(struct marey_launch_args));

    return text_bytes(team) + (found_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* ---- work ------------------------------------------------------------------------------- */

static bool can_fetch(const struct member *member)
{
    const struct marey_team *team = member->team;

    return !team->is_over && member->n_unused > 0;
}

static void fetch(const struct marey_team *team, struct marey_window *window, uint64_t number)
{
    const struct marey_team_plan *plan = &team->plan;
    const size_t room = plan->window_bytes;

    window->len = 0;
    window->status = marey__place_read(plan->place, number * room, window->text, room, &window->len,
                                       &window->err);
    window->is_last = window->status != MAREY_OK || window->len < room;
    memset(window->text + window->len, 0, PAD_BYTES);
}

static void scan(struct member *member, struct marey_window *window)
{
    struct marey_walk *walk = &member->walk;

    window->batch.n = 0;
    if (window->status != MAREY_OK || member->learnt.n == 0)
        return;
    walk->text = window->text;
    walk->end = window->text + window->len;
    walk->learnt = &member->learnt;
    member->team->plan.scanner->scan_ahead(walk, &window->batch);
}

static void copy_learnt(struct marey_learnt *to, const struct marey_learnt *from)
{
    memcpy(to, from, offsetof(struct marey_learnt, template));
    memcpy(to->template, from->template, from->n * sizeof *from->template);
}

/* Makes the next window ready; called, and returns, under the lock. */
static void make_window(struct member *member)
{
    struct marey_team *team = member->team;
    const uint64_t number = team->n_fetched++;
    struct marey_window *window = member->unused[--member->n_unused];

    team->queue[number % team->queue_len] = window;
    (void)pthread_mutex_unlock(&team->lock);
    fetch(team, window, number);

    (void)pthread_mutex_lock(&team->lock);
    team->is_over = team->is_over || window->is_last;
    if (member->learnt.version != team->learnt.version) {
        copy_learnt(&member->learnt, &team->learnt);
        member->walk.predicted = 0;
    }
    (void)pthread_mutex_unlock(&team->lock);
    scan(member, window);

    (void)pthread_mutex_lock(&team->lock);
    window->is_ready = true;
    (void)pthread_cond_broadcast(&team->changed);
}

static void *work(void *ctx)
{
    struct member *member = ctx;
    struct marey_team *team = member->team;

    (void)pthread_mutex_lock(&team->lock);
    while (!team->is_stopping) {
        if (can_fetch(member))
            make_window(member);
        else
            (void)pthread_cond_wait(&team->changed, &team->lock);
    }
    (void)pthread_mutex_unlock(&team->lock);
    return NULL;
}

/* ---- the reader's side -------------------------------------------------------------------- */

/* The next window if it is ready. */
static struct marey_window *ready_window(const struct marey_team *team)
{
    if (team->n_taken == team->n_fetched)
        return NULL;
    struct marey_window *window = team->queue[team->n_taken % team->queue_len];
    return window->is_ready ? window : NULL;
}

enum marey_status marey__team_take(struct marey_team *team, struct marey_window **window,
                                   struct marey_error *err)
{
    struct marey_window *next = NULL;

    (void)pthread_mutex_lock(&team->lock);
    while ((next = ready_window(team)) == NULL) {
        if (can_fetch(&team->member[0]))
            make_window(&team->member[0]);
        else
            (void)pthread_cond_wait(&team->changed, &team->lock);
    }
    team->n_taken++;
    next->is_ready = false;
    (void)pthread_mutex_unlock(&team->lock);

    *window = next;
    if (next->status != MAREY_OK && err != NULL)
        *err = next->err;
    return next->status;
}

void marey__team_give_back(struct marey_team *team)
{
    (void)pthread_mutex_lock(&team->lock);
    struct marey_window *window = team->queue[team->n_given_back++ % team->queue_len];
    struct member *owner = &team->member[window->owner_idx];
    owner->unused[owner->n_unused++] = window;
    (void)pthread_cond_broadcast(&team->changed);
    (void)pthread_mutex_unlock(&team->lock);
}

void marey__team_teach(struct marey_team *team, const struct marey_learnt *learnt)
{
    (void)pthread_mutex_lock(&team->lock);
    if (team->learnt.version != learnt->version)
        copy_learnt(&team->learnt, learnt);
    (void)pthread_mutex_unlock(&team->lock);
}

/* ---- life ----------------------------------------------------------------------------------- */

/* room | text | zeros | matches | launch args */
static void window_init(const struct marey_team *team, struct marey_window *window, char *block)
{
    struct marey_batch *batch = &window->batch;
    void *found = block + text_bytes(team);

    window->text = block + MAREY_WINDOW_ROOM;
    batch->capacity = records_of(team);
    batch->match = found;
    batch->launch = (void *)(batch->match + batch->capacity);
}

static bool member_init(struct marey_team *team, size_t member_idx)
{
    struct member *member = &team->member[member_idx];

    member->team = team;
    member->blocks = marey__alloc(&team->alloc, WINDOWS_EACH, block_bytes(team));
    if (member->blocks == NULL)
        return false;
    if (team->plan.checks_all) {
        member->walk.checker = marey__checker_new(&team->alloc, NULL);
        if (member->walk.checker == NULL)
            return false;
    }
    for (size_t i = 0; i < WINDOWS_EACH; i++) {
        window_init(team, &member->window[i], member->blocks + i * block_bytes(team));
        member->window[i].owner_idx = member_idx;
        member->unused[member->n_unused++] = &member->window[i];
    }
    return true;
}

static bool make_room(struct marey_team *team)
{
    team->queue_len = team->plan.n_threads * WINDOWS_EACH;
    team->queue = marey__alloc(&team->alloc, team->queue_len, sizeof(struct marey_window *));
    team->member = marey__alloc_zero(&team->alloc, team->plan.n_threads, sizeof *team->member);
    if (team->queue == NULL || team->member == NULL)
        return false;
    for (size_t i = 0; i < team->plan.n_threads; i++)
        if (!member_init(team, i))
            return false;
    return true;
}

static void start_threads(struct marey_team *team)
{
    for (size_t i = 1; i < team->plan.n_threads; i++) {
        if (!marey__thread_start(&team->member[i].thread, work, &team->member[i]))
            break;
        team->n_started = i;
    }
}

static void release(struct marey_team *team)
{
    const struct marey_alloc alloc = team->alloc;

    for (size_t i = 0; i < team->plan.n_threads && team->member != NULL; i++) {
        marey__checker_free(team->member[i].walk.checker);
        marey__dealloc(&alloc, team->member[i].blocks, WINDOWS_EACH, block_bytes(team));
    }
    marey__dealloc(&alloc, team->member, team->plan.n_threads, sizeof *team->member);
    marey__dealloc(&alloc, team->queue, team->queue_len, sizeof(struct marey_window *));
    marey__dealloc(&alloc, team, 1, sizeof *team);
}

static bool make_lock(struct marey_team *team)
{
    if (pthread_mutex_init(&team->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&team->changed, NULL) == 0)
        return true;
    (void)pthread_mutex_destroy(&team->lock);
    return false;
}

bool marey__team_new(const struct marey_alloc *alloc, const struct marey_team_plan *plan,
                     struct marey_team **team)
{
    struct marey_team *made = marey__alloc_zero(alloc, 1, sizeof *made);

    *team = NULL;
    if (made == NULL)
        return false;
    made->alloc = *alloc;
    made->plan = *plan;
    const bool has_room = make_room(made);
    if (!has_room || !make_lock(made)) {
        release(made);
        return has_room;
    }
    start_threads(made);
    if (made->n_started > 0)
        *team = made;
    else
        marey__team_free(made);
    return true;
}

void marey__team_free(struct marey_team *team)
{
    if (team == NULL)
        return;
    (void)pthread_mutex_lock(&team->lock);
    team->is_stopping = true;
    (void)pthread_cond_broadcast(&team->changed);
    (void)pthread_mutex_unlock(&team->lock);
    for (size_t i = 1; i <= team->n_started; i++)
        (void)pthread_join(team->member[i].thread, NULL);
    (void)pthread_cond_destroy(&team->changed);
    (void)pthread_mutex_destroy(&team->lock);
    release(team);
}
