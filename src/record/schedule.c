/*
 * schedule.c - what to do during a step, and the sessions that come of it.
 *
 * Source of the rules: torch.profiler.schedule and the transitions of torch.profiler.profile.
 */
#include <stdio.h>

#include "base/error.h"
#include "record/session.h"

/* No program reaches the end of a phase that does not fit. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

enum marey_action marey_schedule_action(const struct marey_schedule *schedule, uint64_t step)
{
    const uint64_t n = add(add(schedule->wait, schedule->warmup), schedule->active);

    if (step < schedule->skip_first || schedule->active == 0)
        return MAREY_ACTION_NONE;
    step -= schedule->skip_first;
    if (schedule->skip_first_wait)
        step = add(step, schedule->wait);
    if (schedule->repeat > 0 && step / n >= schedule->repeat)
        return MAREY_ACTION_NONE;

    const uint64_t at = step % n;
    if (at < schedule->wait)
        return MAREY_ACTION_NONE;
    if (at < add(schedule->wait, schedule->warmup))
        return MAREY_ACTION_WARMUP;
    return at < n - 1 ? MAREY_ACTION_RECORD : MAREY_ACTION_RECORD_AND_SAVE;
}

struct marey_cycles {
    struct marey_schedule schedule;
    struct marey_session_options options;
    marey_ready_fn ready;
    void *user;
    struct marey_session *session; /* of the running cycle, NULL between cycles */
    struct marey_session *warming; /* hooks are in place, records are not kept */
    uint32_t token; /* of the range of a step; schedules on one thread have each their own */
    uint64_t step;
    uint64_t n_cycles;
    enum marey_action action;
};

static void begin_step(const struct marey_cycles *cycles)
{
    char name[40];
    const int len =
        snprintf(name, sizeof name, "ProfilerStep#%llu", (unsigned long long)cycles->step);

    marey_range_begin_named((struct marey_str){name, (size_t)len}, cycles->token);
}

static bool is_recording(enum marey_action action)
{
    return action == MAREY_ACTION_RECORD || action == MAREY_ACTION_RECORD_AND_SAVE;
}

/* A warm-up is a session of its own that is thrown away: hooks, names and pool are warm when
 * the cycle's own begins. */
static enum marey_status enter_action(struct marey_cycles *cycles, enum marey_action action,
                                      struct marey_error *err)
{
    if (action == MAREY_ACTION_WARMUP && cycles->warming == NULL)
        return marey_session_start(&cycles->options, &cycles->warming, err);
    if (is_recording(action) && cycles->session == NULL)
        return marey_session_start(&cycles->options, &cycles->session, err);
    return MAREY_OK;
}

static void end_warming(struct marey_cycles *cycles)
{
    marey_session_free(cycles->warming);
    cycles->warming = NULL;
}

static void deliver(struct marey_cycles *cycles)
{
    bool keep = false;

    if (cycles->session == NULL)
        return;
    (void)marey_session_stop(cycles->session, NULL);
    if (cycles->ready != NULL)
        cycles->ready(cycles->user, cycles->session, cycles->n_cycles, &keep);
    cycles->n_cycles++;
    if (!keep)
        marey_session_free(cycles->session);
    cycles->session = NULL;
}

enum marey_status marey_cycles_start(const struct marey_schedule *schedule,
                                     const struct marey_session_options *options,
                                     marey_ready_fn ready, void *user, struct marey_cycles **cycles,
                                     struct marey_error *err)
{
    const struct marey_alloc alloc = marey__alloc_default();

    if (schedule->active == 0)
        return marey__fail(err, MAREY_INVALID, "a schedule needs at least one active step");
    struct marey_cycles *made = marey__alloc_zero(&alloc, 1, sizeof *made);
    if (made == NULL)
        return marey__fail_nomem(err);
    made->schedule = *schedule;
    made->options =
        options != NULL ? *options : (struct marey_session_options){.size = sizeof made->options};
    /* Even and below 2^31: those of torch's collector are odd, Python's above. */
    made->token = 0x40000000U | ((uint32_t)((uintptr_t)made >> 4) & 0x3ffffffeU);
    made->ready = ready;
    made->user = user;
    made->action = marey_schedule_action(schedule, 0);
    const enum marey_status status = enter_action(made, made->action, err);
    if (status != MAREY_OK) {
        marey__dealloc(&alloc, made, 1, sizeof *made);
        return status;
    }
    begin_step(made);
    *cycles = made;
    return MAREY_OK;
}

enum marey_status marey_cycles_step(struct marey_cycles *cycles, struct marey_error *err)
{
    const enum marey_action former = cycles->action;

    marey_range_end_token(cycles->token);
    cycles->step++;
    cycles->action = marey_schedule_action(&cycles->schedule, cycles->step);
    if (former == MAREY_ACTION_RECORD_AND_SAVE)
        deliver(cycles);
    const enum marey_status status = enter_action(cycles, cycles->action, err);
    if (cycles->action != MAREY_ACTION_WARMUP)
        end_warming(cycles);
    begin_step(cycles);
    return status;
}

void marey_cycles_finish(struct marey_cycles *cycles)
{
    const struct marey_alloc alloc = marey__alloc_default();

    if (cycles == NULL)
        return;
    marey_range_end_token(cycles->token);
    end_warming(cycles);
    deliver(cycles);
    marey__dealloc(&alloc, cycles, 1, sizeof *cycles);
}
