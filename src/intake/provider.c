/*
 * provider.c - the args of a recorded slice, written as JSON when somebody asks.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "intake/intake.h"
#include "record/tls.h"

/* The session that a place among all chunks belongs to: the last that begins no later. */
static const struct marey_recorded *recorded_at(const struct marey_recorded_args *args,
                                                uint64_t place)
{
    size_t low = 0;
    size_t high = args->n_recorded;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (args->recorded[middle].first_chunk <= place)
            low = middle;
        else
            high = middle;
    }
    return &args->recorded[low];
}

/* A record, its session, and how many words follow from it on in its chunk. */
struct found_record {
    const struct marey_recorded *recorded;
    const uint64_t *word; /* NULL: the window, which has no record */
    uint32_t n_after;
};

static struct found_record record_at(const struct marey_recorded_args *args, uint64_t offset)
{
    const uint64_t word = MAREY_OFFSET_BYTE(offset) / sizeof(uint64_t);
    const uint64_t place = word / MAREY_CHUNK_WORDS;
    const uint32_t at = (uint32_t)(word % MAREY_CHUNK_WORDS);
    struct found_record found = {.recorded = recorded_at(args, place)};
    const struct marey_snapshot *snapshot = &found.recorded->snapshot;
    const uint64_t chunk_idx = place - found.recorded->first_chunk;

    if (chunk_idx >= snapshot->n_chunks || at >= snapshot->chunk[chunk_idx].n_words)
        return found;
    found.n_after = snapshot->chunk[chunk_idx].n_words - at;
    found.word = snapshot->chunk[chunk_idx].word + at;
    return found;
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

/* The record of the node in what the autograd engine evaluates, which begins next. NULL: none. */
static const uint64_t *node_in(const uint64_t *record, uint32_t n_after)
{
    uint32_t at = marey__record_words(record);

    while (at < n_after && (marey__record_kind(record + at) == MAREY_RECORD_INPUTS ||
                            marey__record_kind(record + at) == MAREY_RECORD_CPU))
        at += marey__record_words(record + at);
    const bool is_node = at < n_after && marey__record_is_begin(record + at) &&
                         is_backward((uint32_t)record[at + 1]);
    return is_node ? record + at : NULL;
}

/* An operator's sequence number is its own, or for what the autograd engine evaluates that of the
 * node in it. As torch shows it. */
static void add_sequence(struct marey_textbuf *text, const uint64_t *record, uint32_t n_after)
{
    uint64_t sequence = 0;
    uint64_t thread = 0;

    if (!marey__record_sequence(record, &sequence, &thread)) {
        record = is_evaluation((uint32_t)record[1]) ? node_in(record, n_after) : NULL;
        if (record == NULL || !marey__record_sequence(record, &sequence, &thread))
            return;
    }
    add_member(text, "Sequence number", (int64_t)sequence);
    add_member(text, "Fwd thread id", is_backward((uint32_t)record[1]) ? (int64_t)thread : 0);
}

/* The inputs of the operator that begins there. NULL: it has none, or the session did not want
 * them. */
static const uint64_t *inputs_after(const struct found_record *found, uint32_t *n_words)
{
    const uint32_t n = marey__record_words(found->word);
    const uint64_t *inputs = found->word + n;

    if ((found->recorded->session->wants & MAREY_WANT_INPUTS) == 0 ||
        !marey__record_is_begin(found->word) || n >= found->n_after ||
        marey__record_kind(inputs) != MAREY_RECORD_INPUTS)
        return NULL;
    *n_words = (uint32_t)marey__record_value(inputs);
    return inputs + 1;
}

/* The id is the slice's own: what torch calls a correlation id. */
static void add_begin(struct marey_recorded_args *args, const struct found_record *found,
                      uint64_t offset)
{
    const uint64_t *record = found->word;
    const uint32_t n_after = found->n_after;
    struct marey_textbuf *text = &args->text;
    uint32_t n_words = 0;
    const uint64_t *inputs = inputs_after(found, &n_words);

    add_member(text, "External id", (int64_t)(MAREY_OFFSET_BYTE(offset) / sizeof(uint64_t)) + 1);
    add_sequence(text, record, n_after);
    if (inputs != NULL)
        marey__inputs_to_json(text, inputs, n_words);

    const uint32_t cpu_idx = marey__hashmap_get(&args->cpu_idx, offset);
    if (cpu_idx != MAREY_NONE)
        add_member(text, "Thread CPU ns", args->cpu_ns[cpu_idx]);
}

static struct marey_str args_of(struct marey_recorded_args *args, uint64_t offset)
{
    const struct found_record found = record_at(args, offset);

    if (found.word == NULL)
        return (struct marey_str){NULL, 0};
    marey__text_reset(&args->text);
    marey__text_add_byte(&args->text, '{');
    if (marey__record_kind(found.word) == MAREY_RECORD_COUNTER)
        add_counter(&args->text, found.word);
    else if (marey__record_is_begin(found.word))
        add_begin(args, &found, offset);
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

/* An operator's inputs alone tell what is said of them; a recording has no stacks. */
#define ALIKE_BITS                                                                                 \
    (MAREY_ARG_BIT(MAREY_ARG_INPUT_DIMS) | MAREY_ARG_BIT(MAREY_ARG_INPUT_TYPES) |                  \
     MAREY_ARG_BIT(MAREY_ARG_INPUT_STRIDES) | MAREY_ARG_BIT(MAREY_ARG_CONCRETE_INPUTS) |           \
     MAREY_ARG_BIT(MAREY_ARG_CALL_STACK))

static const uint64_t *alike(void *ctx, uint64_t offset, uint32_t *n_words)
{
    const struct found_record found = record_at(ctx, offset);

    return found.word != NULL ? inputs_after(&found, n_words) : NULL;
}

static void release(void *ctx)
{
    marey__recorded_free(ctx);
}

struct marey_args_provider marey__recorded_provider(struct marey_recorded_args *args)
{
    return (struct marey_args_provider){
        .ctx = args, .walk = walk, .release = release, .alike = alike, .alike_bits = ALIKE_BITS};
}

void marey__recorded_free(struct marey_recorded_args *args)
{
    if (args == NULL)
        return;
    const struct marey_alloc alloc = args->alloc;
    marey__hashmap_release(&args->cpu_idx);
    marey__dealloc(&alloc, args->cpu_ns, args->cpu_capacity, sizeof *args->cpu_ns);
    marey__text_release(&args->text);
    for (size_t i = 0; i < args->n_recorded && args->recorded[i].session != NULL; i++) {
        marey__snapshot_release(&args->recorded[i].snapshot);
        marey__session_let_go(args->recorded[i].session);
    }
    marey__dealloc(&alloc, args->recorded, args->n_recorded, sizeof *args->recorded);
    marey__dealloc(&alloc, args, 1, sizeof *args);
}
