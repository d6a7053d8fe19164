/*
 * provider.c - the args of a recorded slice, written as JSON when somebody asks.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "intake/intake.h"
#include "record/tls.h"

static const uint64_t *record_at(const struct marey_recorded_args *args, uint64_t offset,
                                 uint32_t *n_after)
{
    const uint64_t word = MAREY_OFFSET_BYTE(offset) / sizeof(uint64_t);
    const uint64_t chunk_idx = word / MAREY_CHUNK_WORDS;
    const uint32_t at = (uint32_t)(word % MAREY_CHUNK_WORDS);

    if (chunk_idx >= args->snapshot.n_chunks || at >= args->snapshot.chunk[chunk_idx].n_words)
        return NULL; /* the window, which has no record */
    *n_after = args->snapshot.chunk[chunk_idx].n_words - at;
    return args->snapshot.chunk[chunk_idx].word + at;
}

static void add_member(struct marey_textbuf *text, const char *key, int64_t value)
{
    marey__text_add_c(text, text->len > 1 ? ", \"" : "\"");
    marey__text_add_c(text, key);
    marey__text_add_c(text, "\": ");
    marey__text_add_i64(text, value);
}

static void add_counter(struct marey_textbuf *text, const uint64_t *record)
{
    char digits[MAREY_NUMBER_BYTES];
    uint32_t scope = 0;
    double value = 0;

    memcpy(&value, &record[2], sizeof value);
    marey__text_add_json(text, marey__recorder_text((uint32_t)record[1], &scope));
    marey__text_add_c(text, ": ");
    if (isfinite(value))
        marey__text_add(text, digits, marey__format_double(digits, value));
    else
        marey__text_add_c(text, "null");
}

static bool is_backward(uint32_t site_id)
{
    uint32_t scope = 0;

    (void)marey__recorder_text(site_id, &scope);
    return scope == MAREY_SCOPE_BACKWARD;
}

static bool is_evaluation(uint32_t site_id)
{
    uint32_t scope = 0;
    const struct marey_str name = marey__recorder_text(site_id, &scope);

    return name.ptr != NULL && marey__str_starts(name, "autograd::engine::evaluate_function: ");
}

/* The record that carries an operator's sequence number: its own, or for what the autograd engine
 * evaluates that of the node in it, which begins next. As torch shows it. NULL: none. */
static const uint64_t *sequence_of(const uint64_t *record, uint32_t n_after)
{
    uint32_t at = marey__record_words(record);

    if (marey__record_kind(record) == MAREY_RECORD_BEGIN_OP)
        return record;
    if (!is_evaluation((uint32_t)record[1]))
        return NULL;
    while (at < n_after && (marey__record_kind(record + at) == MAREY_RECORD_INPUTS ||
                            marey__record_kind(record + at) == MAREY_RECORD_CPU))
        at += marey__record_words(record + at);
    const bool is_node = at < n_after && marey__record_kind(record + at) == MAREY_RECORD_BEGIN_OP &&
                         is_backward((uint32_t)record[at + 1]);
    return is_node ? record + at : NULL;
}

/* The id is the slice's own: what torch calls a correlation id. */
static void add_begin(struct marey_recorded_args *args, const uint64_t *record, uint32_t n_after,
                      uint64_t offset)
{
    struct marey_textbuf *text = &args->text;
    const uint32_t n = marey__record_words(record);
    const uint64_t *sequence = sequence_of(record, n_after);

    add_member(text, "External id", (int64_t)(MAREY_OFFSET_BYTE(offset) / sizeof(uint64_t)) + 1);
    if (sequence != NULL) {
        add_member(text, "Sequence number", (int64_t)sequence[2]);
        add_member(text, "Fwd thread id",
                   is_backward((uint32_t)sequence[1]) ? (int64_t)sequence[3] : 0);
    }
    if (args->has_inputs && n < n_after && marey__record_kind(record + n) == MAREY_RECORD_INPUTS)
        marey__inputs_to_json(text, record + n + 1, (uint32_t)marey__record_value(record + n));

    const uint32_t cpu_idx = marey__hashmap_get(&args->cpu_idx, offset);
    if (cpu_idx != MAREY_NONE)
        add_member(text, "Thread CPU ns", args->cpu_ns[cpu_idx]);
}

static struct marey_str args_of(struct marey_recorded_args *args, uint64_t offset)
{
    uint32_t n_after = 0;
    const uint64_t *record = record_at(args, offset, &n_after);

    if (record == NULL)
        return (struct marey_str){NULL, 0};
    marey__text_reset(&args->text);
    marey__text_add_byte(&args->text, '{');
    const enum marey_record_kind kind = marey__record_kind(record);
    if (kind == MAREY_RECORD_COUNTER)
        add_counter(&args->text, record);
    else if (kind == MAREY_RECORD_BEGIN || kind == MAREY_RECORD_BEGIN_OP)
        add_begin(args, record, n_after, offset);
    marey__text_add_byte(&args->text, '}');
    return (struct marey_str){args->text.ptr, args->text.len};
}

static enum marey_status walk(void *ctx, const uint64_t *offsets, size_t n, marey_args_fn fn,
                              void *user, struct marey_error *err)
{
    struct marey_recorded_args *args = ctx;

    for (size_t i = 0; i < n; i++) {
        const struct marey_str text = args_of(args, offsets[i]);
        if (marey__text_failed(&args->text))
            return marey__fail_nomem(err);
        MAREY_TRY(fn(user, i, text));
    }
    return MAREY_OK;
}

static void release(void *ctx)
{
    marey__recorded_free(ctx);
}

struct marey_args_provider marey__recorded_provider(struct marey_recorded_args *args)
{
    return (struct marey_args_provider){.ctx = args, .walk = walk, .release = release};
}

void marey__recorded_free(struct marey_recorded_args *args)
{
    if (args == NULL)
        return;
    const struct marey_alloc alloc = args->alloc;
    marey__snapshot_release(&args->snapshot);
    marey__hashmap_release(&args->cpu_idx);
    marey__dealloc(&alloc, args->cpu_ns, args->cpu_capacity, sizeof *args->cpu_ns);
    marey__text_release(&args->text);
    marey__session_let_go(args->session);
    marey__dealloc(&alloc, args, 1, sizeof *args);
}
