/*
 * emit.c - the path of a record: a check, a few words, one release store.
 *
 * Nothing here allocates, locks, calls the system or fails, but for a thread's first record
 * and a name's first sight. A begin reads the clock last and an end first, so that what Marey
 * itself does lies outside.
 */
#include <string.h>

#include "record/points.h"
#include "record/tls.h"

#define LIKELY(condition) __builtin_expect((condition), 1)
#define UNLIKELY(condition) __builtin_expect((condition), 0)

/* Kept out of line, so that the path of a record is short and saves no registers. */
#define RARE __attribute__((noinline, cold))

/* The words of a CPU record, or 0. */
#define CPU_WORDS(wants) (((wants)&MAREY_WANT_CPU) != 0 ? 1U : 0U)

/* Acquire pairs with the release of marey__recorder_set_wants: who sees a want also sees
 * the pool and the clock that it needs. */
static inline uint32_t wants_now(void)
{
    return atomic_load_explicit(&marey__recorder.wants, memory_order_acquire);
}

static inline void guard(struct marey_log *log)
{
    log->is_busy = true;
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void leave(struct marey_log *log)
{
    atomic_signal_fence(memory_order_seq_cst);
    log->is_busy = false;
}

/* This thread's log, guarded against what interrupts it; NULL: do not record. The log of a
 * thread that has none yet is always busy. */
RARE static struct marey_log *enter_busy(void)
{
    struct marey_log *log = marey__recorder_register();

    if (log != NULL)
        guard(log);
    else /* relaxed: a count of what the guard dropped */
        (void)atomic_fetch_add_explicit(&marey__recorder.n_guarded, 1, memory_order_relaxed);
    return log;
}

static inline struct marey_log *enter(void)
{
    struct marey_log *log = marey__log;

    if (UNLIKELY(log->is_busy))
        return enter_busy();
    guard(log);
    return log;
}

static inline uint64_t stamp_by(bool is_tsc, enum marey_record_kind kind)
{
    return marey__record_head(marey__clock_ticks(is_tsc) - marey__recorder.epoch_ticks, kind);
}

static inline uint64_t stamp(uint32_t wants, enum marey_record_kind kind)
{
    return stamp_by((wants & MAREY_HAS_TSC) != 0, kind);
}

static uint64_t cpu_stamp(void)
{
    return marey__record_head((uint64_t)marey__clock_system_ns(CLOCK_THREAD_CPUTIME_ID),
                              MAREY_RECORD_CPU);
}

static uint32_t resolve(struct marey_log *log, struct marey_site *site)
{
    const uint32_t id = marey__sites_find_c(&marey__recorder.sites, &log->cache,
                                            site->name != NULL ? site->name : "", site->scope);

    __atomic_store_n(&site->id, id, __ATOMIC_RELAXED); /* any thread finds the same */
    return id;
}

static inline uint32_t id_of(struct marey_log *log, struct marey_site *site)
{
    const uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    return LIKELY(id != 0) ? id : resolve(log, site);
}

static uint32_t id_of_name(struct marey_log *log, struct marey_str name)
{
    return marey__sites_find(&marey__recorder.sites, &log->cache, name, MAREY_SCOPE_USER);
}

/* ---- records --------------------------------------------------------------------- */

static void put_begin(struct marey_log *log, uint32_t wants, uint32_t id, uint32_t token)
{
    uint64_t *at = marey__log_room(log, 2 + CPU_WORDS(wants));

    if (at == NULL || id == 0) {
        marey__log_lose(log);
        return;
    }
    at[1] = (uint64_t)token << 32 | id;
    if (CPU_WORDS(wants) != 0)
        at[2] = cpu_stamp();
    at[0] = stamp(wants, MAREY_RECORD_BEGIN);
    marey__log_publish(log, at + 2 + CPU_WORDS(wants));
}

static void put_end(struct marey_log *log, uint32_t wants, uint32_t token, uint64_t head)
{
    uint64_t *at = marey__log_room(log, 2 + CPU_WORDS(wants));

    if (at == NULL) {
        marey__log_lose(log);
        return;
    }
    at[0] = head;
    at[1] = token;
    if (CPU_WORDS(wants) != 0)
        at[2] = cpu_stamp();
    marey__log_publish(log, at + 2 + CPU_WORDS(wants));
}

static void put_point(struct marey_log *log, uint32_t wants, enum marey_record_kind kind,
                      uint32_t id, uint64_t bits)
{
    const uint32_t n = kind == MAREY_RECORD_COUNTER ? 3 : 2;
    const uint64_t head = stamp(wants, kind);
    uint64_t *at = marey__log_room(log, n);

    if (at == NULL || id == 0) {
        marey__log_lose(log);
        return;
    }
    at[0] = head;
    at[1] = id;
    if (n == 3)
        at[2] = bits;
    marey__log_publish(log, at + n);
}

/* ---- what a program calls ---------------------------------------------------------- */

/* They read the wants anew, so that the short paths need not keep them. */
RARE static void begin_slowly(struct marey_site *site)
{
    const uint32_t wants = wants_now();
    struct marey_log *log = (wants & MAREY_WANT_RANGES) != 0 ? enter() : NULL;

    if (log == NULL)
        return;
    put_begin(log, wants, id_of(log, site), 0);
    leave(log);
}

/* The place is read under the guard: a signal handler may record until then. */
void marey_range_begin(struct marey_site *site)
{
    const uint32_t wants = wants_now();

    if (UNLIKELY((wants & MAREY_SHORT_RANGES) == 0)) {
        if (wants != 0)
            begin_slowly(site);
        return;
    }
    struct marey_log *log = marey__log;
    const uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    if (UNLIKELY(id == 0 || log->is_busy))
        goto slowly;
    guard(log);
    uint64_t *at = marey__log_at(log);
    if (UNLIKELY(!marey__log_has(log, at, 2))) {
        leave(log);
        goto slowly;
    }
    at[1] = id;
    at[0] = stamp_by(true, MAREY_RECORD_BEGIN);
    MAREY_POINT(MAREY_POINT_RECORD_WRITTEN);
    marey__log_publish(log, at + 2);
    leave(log);
    return;
slowly:
    begin_slowly(site);
}

void marey_range_begin_named(struct marey_str name, uint32_t token)
{
    const uint32_t wants = wants_now();
    struct marey_log *log = (wants & MAREY_WANT_RANGES) != 0 ? enter() : NULL;

    if (log == NULL)
        return;
    put_begin(log, wants, id_of_name(log, name), token);
    leave(log);
}

RARE static void end_slowly(uint32_t token, uint32_t wanted)
{
    const uint32_t wants = wants_now();

    if ((wants & wanted) == 0)
        return;
    const uint64_t head = stamp(wants, MAREY_RECORD_END);
    struct marey_log *log = enter();
    if (log == NULL)
        return;
    put_end(log, wants, token, head);
    leave(log);
}

static inline void end_with(uint32_t token, uint32_t short_bit, uint32_t wanted)
{
    const uint32_t wants = wants_now();

    if (UNLIKELY((wants & short_bit) == 0)) {
        if (wants != 0)
            end_slowly(token, wanted);
        return;
    }
    struct marey_log *log = marey__log;
    if (UNLIKELY(log->is_busy))
        goto slowly;
    guard(log);
    const uint64_t head = stamp_by(true, MAREY_RECORD_END);
    uint64_t *at = marey__log_at(log);
    if (UNLIKELY(!marey__log_has(log, at, 2))) {
        leave(log);
        goto slowly;
    }
    at[0] = head;
    at[1] = token;
    marey__log_publish(log, at + 2);
    leave(log);
    return;
slowly:
    end_slowly(token, wanted);
}

void marey_range_end_token(uint32_t token)
{
    end_with(token, MAREY_SHORT_RANGES, MAREY_WANT_RANGES);
}

void marey_range_end(void)
{
    end_with(0, MAREY_SHORT_RANGES, MAREY_WANT_RANGES);
}

static uint64_t bits_of(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void point(enum marey_record_kind kind, struct marey_site *site, struct marey_str name,
                  double value)
{
    const uint32_t wants = wants_now();
    struct marey_log *log = (wants & MAREY_WANT_RANGES) != 0 ? enter() : NULL;

    if (log == NULL)
        return;
    put_point(log, wants, kind, site != NULL ? id_of(log, site) : id_of_name(log, name),
              bits_of(value));
    leave(log);
}

void marey_mark(struct marey_site *site)
{
    point(MAREY_RECORD_MARK, site, (struct marey_str){NULL, 0}, 0);
}

void marey_mark_named(struct marey_str name)
{
    point(MAREY_RECORD_MARK, NULL, name, 0);
}

void marey_counter(struct marey_site *site, double value)
{
    point(MAREY_RECORD_COUNTER, site, (struct marey_str){NULL, 0}, value);
}

void marey_counter_named(struct marey_str name, double value)
{
    point(MAREY_RECORD_COUNTER, NULL, name, value);
}

bool marey_is_recording(void)
{
    return wants_now() != 0;
}

/* ---- what collectors are handed ----------------------------------------------------- */

/* The form of an operator's begin, and its words. */
static inline enum marey_record_kind kind_of_op(const struct marey_op *op)
{
    if (LIKELY(marey__fits_sequence((uint64_t)op->sequence, op->forward_thread)))
        return MAREY_RECORD_BEGIN_OP;
    return op->sequence >= 0 ? MAREY_RECORD_BEGIN_FAR : MAREY_RECORD_BEGIN;
}

#define MOST_OP_WORDS 4

/* Lines to ask for: as many as an operator and its end mostly take, which is 40 bytes without
 * inputs and 120 with them (in training); from so far ahead that there is time to bring them. */
#define OP_LINES 1
#define OP_AHEAD 1
#define INPUT_LINES 2
#define INPUTS_AHEAD 3

/* The words that lie after the head. Returns where the next one goes. */
static inline uint64_t *put_op(uint64_t *at, const struct marey_op *op, enum marey_record_kind kind,
                               uint32_t id)
{
    at[1] = (uint64_t)op->token << 32 | id;
    if (LIKELY(kind == MAREY_RECORD_BEGIN_OP)) {
        at[2] = marey__pack_sequence((uint64_t)op->sequence, op->forward_thread);
        return at + 3;
    }
    if (kind == MAREY_RECORD_BEGIN)
        return at + 2;
    at[2] = (uint64_t)op->sequence;
    at[3] = op->forward_thread;
    return at + 4;
}

static void op_begin_in(struct marey_log *log, const struct marey_op *op, uint32_t wants)
{
    const uint32_t id =
        marey__sites_find_c(&marey__recorder.sites, &log->cache, op->name, op->scope);
    uint64_t *at = marey__log_room(log, MOST_OP_WORDS + CPU_WORDS(wants));

    if (at == NULL || id == 0) {
        marey__log_lose(log);
        return;
    }
    const enum marey_record_kind kind = kind_of_op(op);
    uint64_t *after = put_op(at, op, kind, id);
    if (CPU_WORDS(wants) != 0)
        *after++ = cpu_stamp();
    at[0] = stamp(wants, kind);
    marey__log_publish(log, after);
}

RARE static void op_begin_slowly(const struct marey_op *op)
{
    const uint32_t wants = wants_now();
    struct marey_log *log = (wants & MAREY_WANTS_OP) != 0 ? enter() : NULL;

    if (log == NULL)
        return;
    op_begin_in(log, op, wants);
    leave(log);
}

/* Short: a known name, and room for any form of a begin. */
static void op_begin(const struct marey_op *op)
{
    const uint32_t wants = wants_now();

    if (UNLIKELY((wants & MAREY_SHORT_OPS) == 0)) {
        if (wants != 0)
            op_begin_slowly(op);
        return;
    }
    struct marey_log *log = marey__log;
    if (UNLIKELY(log->is_busy))
        goto slowly;
    guard(log);
    const uint32_t id = marey__sites_known(&log->cache, op->name, op->scope);
    uint64_t *at = marey__log_at(log);
    if (UNLIKELY(id == 0 || !marey__log_has(log, at, MOST_OP_WORDS))) {
        leave(log);
        goto slowly;
    }
    const enum marey_record_kind kind = kind_of_op(op);
    uint64_t *after = put_op(at, op, kind, id);
    marey__log_expect(after, OP_AHEAD, OP_LINES);
    at[0] = stamp_by(true, kind);
    marey__log_publish(log, after);
    leave(log);
    return;
slowly:
    op_begin_slowly(op);
}

/* ---- an operator whose inputs are written where they stay ----------------------------- */

/* The operator, head of the inputs, the inputs, CPU time. */
#define OPEN_WORDS (MOST_OP_WORDS + 1 + MAREY_MAX_INPUT_WORDS + 1)

static inline uint64_t *open_at(struct marey_log *log, uint64_t *at, const struct marey_op *op,
                                uint32_t id, bool is_short)
{
    const enum marey_record_kind kind = kind_of_op(op);

    log->open_kind = (uint8_t)kind;
    log->is_open_short = is_short;
    return put_op(at, op, kind, id) + 1;
}

RARE static uint64_t *op_open_slowly(const struct marey_op *op)
{
    const uint32_t wants = wants_now();
    struct marey_log *log = (wants & MAREY_WANTS_OP) != 0 ? enter() : NULL;

    if (log == NULL)
        return NULL;
    const uint32_t id =
        marey__sites_find_c(&marey__recorder.sites, &log->cache, op->name, op->scope);
    uint64_t *at = marey__log_room(log, OPEN_WORDS);
    if (at != NULL && id != 0)
        return open_at(log, at, op, id, (wants & MAREY_SHORT_OPS) != 0);
    marey__log_lose(log);
    leave(log);
    return NULL;
}

/* Leaves the log guarded until op_close. */
static uint64_t *op_open(const struct marey_op *op)
{
    const uint32_t wants = wants_now();

    if (UNLIKELY((wants & MAREY_SHORT_OPS) == 0))
        return wants != 0 ? op_open_slowly(op) : NULL;
    struct marey_log *log = marey__log;
    if (UNLIKELY(log->is_busy))
        return op_open_slowly(op);
    guard(log);
    const uint32_t id = marey__sites_known(&log->cache, op->name, op->scope);
    uint64_t *at = marey__log_at(log);
    if (LIKELY(id != 0 && marey__log_has(log, at, OPEN_WORDS)))
        return open_at(log, at, op, id, true);
    leave(log);
    return op_open_slowly(op);
}

static inline void close_at(struct marey_log *log, uint64_t *after, bool is_tsc)
{
    uint64_t *at = marey__log_at(log);

    marey__log_expect(after, INPUTS_AHEAD, INPUT_LINES);
    at[0] = stamp_by(is_tsc, (enum marey_record_kind)log->open_kind);
    marey__log_publish(log, after);
    log->open_kind = 0;
    leave(log);
}

/* What was opened in another way than the short one, with CPU time if it is still wanted. */
RARE static void op_close_slowly(struct marey_log *log, uint64_t *after)
{
    if ((wants_now() & MAREY_WANT_CPU) != 0)
        *after++ = cpu_stamp();
    close_at(log, after, marey__recorder.is_tsc);
}

/* What was open when nobody wanted it any more is written all the same: it began before. */
static void op_close(uint64_t *inputs, uint32_t n_words)
{
    struct marey_log *log = marey__log;
    uint64_t *after = inputs - 1;

    if (LIKELY(n_words > 0)) {
        inputs[-1] = marey__record_head(n_words, MAREY_RECORD_INPUTS);
        after = inputs + n_words;
    }
    if (UNLIKELY(!log->is_open_short))
        op_close_slowly(log, after);
    else
        close_at(log, after, true);
}

static void op_end(uint32_t token)
{
    end_with(token, MAREY_SHORT_OPS, MAREY_WANTS_OP);
}

static uint32_t add_text(const char *ptr, size_t len)
{
    return marey__sites_add(&marey__recorder.sites, (struct marey_str){ptr, len}, MAREY_N_SCOPES);
}

/* A collector keeps the id, so the cache is not asked. Guarded because of the lock: a signal
 * handler that records a new name would wait for its own thread. While an operator is open the
 * guard is there already, and a handler gets nothing to write into and so nothing to name. */
static uint32_t text_id(const char *ptr, size_t len)
{
    if (marey__log->open_kind != 0)
        return add_text(ptr, len);
    struct marey_log *log = enter();
    if (log == NULL)
        return 0;
    const uint32_t id = add_text(ptr, len);
    leave(log);
    return id;
}

static const struct marey_sink recorder_sink = {
    .version = MAREY_SINK_VERSION,
    .size = sizeof recorder_sink,
    .op_begin = op_begin,
    .op_end = op_end,
    .text = text_id,
    .op_open = op_open,
    .op_close = op_close,
};

const struct marey_sink *marey_recorder_sink(void)
{
    return &recorder_sink;
}
