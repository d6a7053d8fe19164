/*
 * args.c - args as columns, decoded when first asked for.
 *
 * One walk over the records in file order fills all columns asked for. It takes args as they stand
 * and ends at the first fault, as marey__json_sound_members does. Those that a provider can tell to
 * be alike before they are read are read once for all slices that have the same. Adding an arg: a
 * row in arg_table, an enumerator in marey/trace.h, a word in the glossary.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/order.h"
#include "trace/alike.h"
#include "trace/model.h"
#include "trace/rows.h"

enum arg_type { ARG_INT, ARG_TEXT, ARG_INT_LISTS };

static const struct {
    const char *key;
    enum arg_type type;
} arg_table[MAREY_N_ARGS] = {
    [MAREY_ARG_EXTERNAL_ID] = {"External id", ARG_INT},
    [MAREY_ARG_SEQUENCE] = {"Sequence number", ARG_INT},
    [MAREY_ARG_FORWARD_THREAD] = {"Fwd thread id", ARG_INT},
    [MAREY_ARG_EVENT_IDX] = {"Ev Idx", ARG_INT},
    [MAREY_ARG_PYTHON_ID] = {"Python id", ARG_INT},
    [MAREY_ARG_PYTHON_PARENT_ID] = {"Python parent id", ARG_INT},
    [MAREY_ARG_PYTHON_MODULE_ID] = {"Python module id", ARG_INT},
    [MAREY_ARG_INPUT_DIMS] = {"Input Dims", ARG_INT_LISTS},
    [MAREY_ARG_INPUT_TYPES] = {"Input type", ARG_TEXT},
    [MAREY_ARG_INPUT_STRIDES] = {"Input Strides", ARG_INT_LISTS},
    [MAREY_ARG_CONCRETE_INPUTS] = {"Concrete Inputs", ARG_TEXT},
    [MAREY_ARG_CALL_STACK] = {"Call stack", ARG_TEXT},
    [MAREY_ARG_FINISHED] = {"finished", ARG_INT},
    [MAREY_ARG_BYTES] = {"bytes", ARG_INT},
};

struct decoding {
    struct marey_trace *trace;
    const uint32_t *order; /* slice index by rank of its offset */
    uint64_t bits;
    uint64_t read_bits; /* those of the present walk */
    int64_t *ints[MAREY_N_ARGS];
    uint32_t *texts[MAREY_N_ARGS];
    struct marey_intern table;
    uint32_t first_id;
    struct marey_textbuf scratch;
};

/* The arg of a key, MAREY_N_ARGS if it is none of ours. Old files write "external id". */
static int find_arg(struct marey_str key)
{
    for (int arg = 0; arg < MAREY_N_ARGS; arg++)
        if (marey__json_spells(key, arg_table[arg].key))
            return arg;
    return marey__json_spells(key, "external id") ? MAREY_ARG_EXTERNAL_ID : MAREY_N_ARGS;
}

/* An integer, plain or in quotes; true and false are 1 and 0. A number with a fraction is
 * none: cutting it would be a guess. */
static int64_t read_int(struct marey_json *json, struct marey_textbuf *scratch)
{
    struct marey_str raw = marey__json_sound_raw(json);
    int64_t value = MAREY_UNKNOWN;
    if (raw.len >= 2 && raw.ptr[0] == '"')
        raw = (struct marey_str){raw.ptr + 1, raw.len - 2};
    if (raw.len > 0 && memchr(raw.ptr, '\\', raw.len) != NULL) {
        marey__text_reset(scratch);
        marey__json_unescape(raw, scratch);
        raw = (struct marey_str){scratch->ptr, scratch->len};
    }
    if (marey__str_is_c(raw, "true"))
        return 1;
    if (marey__str_is_c(raw, "false"))
        return 0;
    struct marey_json number = marey__json(raw);
    const bool is_number = raw.len > 0 && marey__json_i64(&number, &value);
    return is_number && marey__json_peek(&number) == '\0' ? value : MAREY_UNKNOWN;
}

/* Behind the integer that JSON has at `at`; NULL if it has none there. */
static const char *pass_integer(const char *at, const char *end)
{
    at += *at == '-';
    const char *digits = at;

    while (at < end && *at >= '0' && *at <= '9')
        at++;
    const bool goes_on = at < end && *at == '-';
    return at == digits || goes_on || (*digits == '0' && at > digits + 1) ? NULL : at;
}

/* Adds a text that has the structure of JSON as integers in lists, "[[2, 3], []]" however it is
 * spaced; false if it holds anything else, which is no size. It may lie at the begin of `out`. */
static bool add_int_lists(struct marey_textbuf *out, struct marey_str text)
{
    const bool is_own = text.ptr == out->ptr;
    char *to = marey__text_reserve(out, 2 * text.len + 1);
    if (to == NULL)
        return false;
    const char *at = is_own ? out->ptr : text.ptr;
    const char *end = at + text.len;
    const char *from = to;

    while (at < end) {
        if (*at == '[' || *at == ']' || *at == ',') {
            *to++ = *at;
            if (*at++ == ',')
                *to++ = ' ';
        } else if (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') {
            at++;
        } else {
            const char *behind = pass_integer(at, end);
            if (behind == NULL)
                return false;
            while (at < behind)
                *to++ = *at++;
        }
    }
    out->len += (size_t)(to - from);
    return true;
}

int64_t marey__args_int(struct marey_str args, enum marey_arg arg, struct marey_textbuf *scratch)
{
    struct marey_json json = marey__json(args);
    struct marey_str key;
    int64_t found = MAREY_UNKNOWN;
    if (args.ptr == NULL || !marey__json_enter(&json, '{'))
        return MAREY_UNKNOWN;
    while (marey__json_key(&json, &key)) {
        if (find_arg(key) != (int)arg) {
            (void)marey__json_sound_raw(&json);
            continue;
        }
        const int64_t value = read_int(&json, scratch);
        if (!json.failed)
            found = value;
    }
    return found;
}

/* A string's own text, or the raw JSON of anything else, as an id of the late table; MAREY_NONE if
 * it is not of its type. False without memory. */
static bool read_text(struct decoding *decoding, enum arg_type type, struct marey_json *json,
                      uint32_t *id)
{
    struct marey_textbuf *scratch = &decoding->scratch;
    struct marey_str text = marey__json_sound_raw(json);
    *id = MAREY_NONE;
    if (json->failed)
        return true;
    marey__text_reset(scratch);
    if (text.ptr[0] == '"') {
        marey__json_unescape((struct marey_str){text.ptr + 1, text.len - 2}, scratch);
        text = (struct marey_str){scratch->ptr, scratch->len};
    }
    if (type == ARG_INT_LISTS && text.len > 0) {
        const size_t from = scratch->len;
        if (!add_int_lists(scratch, text))
            return !scratch->failed;
        text = (struct marey_str){scratch->ptr + from, scratch->len - from};
    }
    if (scratch->failed)
        return false;
    const uint32_t place = marey__intern(&decoding->table, text);
    *id = place == MAREY_NONE ? MAREY_NONE : decoding->first_id + place;
    return place != MAREY_NONE;
}

/* A value that is cut by a fault leaves what an earlier member said. False without memory. */
static bool take_value(struct decoding *decoding, int arg, uint32_t slice, struct marey_json *json)
{
    if (arg_table[arg].type == ARG_INT) {
        const int64_t value = read_int(json, &decoding->scratch);
        if (!json->failed)
            decoding->ints[arg][slice] = value;
        return !decoding->scratch.failed;
    }
    uint32_t id = MAREY_NONE;
    if (!read_text(decoding, arg_table[arg].type, json, &id))
        return false;
    if (!json->failed)
        decoding->texts[arg][slice] = id;
    return true;
}

static enum marey_status decode_record(void *user, size_t i, struct marey_str args)
{
    struct decoding *decoding = user;
    const uint32_t slice = decoding->order[i];
    struct marey_json json = marey__json(args);
    struct marey_str key;
    if (!marey__json_enter(&json, '{'))
        return MAREY_OK;
    while (marey__json_key(&json, &key)) {
        const int arg = find_arg(key);
        if (arg == MAREY_N_ARGS || (decoding->read_bits & MAREY_ARG_BIT(arg)) == 0)
            (void)marey__json_sound_raw(&json);
        else if (!take_value(decoding, arg, slice, &json))
            return MAREY_NOMEM;
    }
    return MAREY_OK;
}

static bool allocate_columns(struct decoding *decoding)
{
    const struct marey_trace *trace = decoding->trace;
    const size_t n = trace->slices.n;
    for (int arg = 0; arg < MAREY_N_ARGS; arg++) {
        if ((decoding->bits & MAREY_ARG_BIT(arg)) == 0)
            continue;
        if (arg_table[arg].type == ARG_INT) {
            int64_t *column = marey__alloc(&trace->alloc, n, sizeof *column);
            decoding->ints[arg] = column;
            if (column == NULL)
                return false;
            for (size_t i = 0; i < n; i++)
                column[i] = MAREY_UNKNOWN;
        } else {
            uint32_t *column = marey__alloc(&trace->alloc, n, sizeof *column);
            decoding->texts[arg] = column;
            if (column == NULL)
                return false;
            for (size_t i = 0; i < n; i++)
                column[i] = MAREY_NONE;
        }
    }
    return true;
}

static enum marey_status walk(struct marey_trace *trace, marey_args_walk_fn from_provider,
                              const uint64_t *offsets, size_t n, marey_args_fn fn, void *user,
                              struct marey_error *err)
{
    if (from_provider != NULL)
        return from_provider(trace->provider.ctx, offsets, n, fn, user, err);
    for (size_t i = 0; i < n; i++)
        MAREY_TRY(fn(user, i, (struct marey_str){NULL, 0}));
    return MAREY_OK;
}

/* Ids of late strings go on where the last table ended. */
static uint32_t next_string_id(const struct marey_trace *trace)
{
    if (trace->n_late == 0)
        return (uint32_t)trace->strings.n;
    const struct marey_late_strings *last = &trace->late[trace->n_late - 1];
    return last->first_id + (uint32_t)last->table.n;
}

static void publish(struct decoding *decoding)
{
    struct marey_trace *trace = decoding->trace;
    for (int arg = 0; arg < MAREY_N_ARGS; arg++) {
        if ((decoding->bits & MAREY_ARG_BIT(arg)) == 0)
            continue;
        trace->arg_int[arg] = decoding->ints[arg];
        trace->arg_text[arg] = decoding->texts[arg];
        decoding->ints[arg] = NULL;
        decoding->texts[arg] = NULL;
    }
    trace->decoded_bits |= decoding->bits;
    /* Each pass decodes at least one arg for good, so there is a place for its table. */
    trace->late[trace->n_late++] = (struct marey_late_strings){decoding->table, decoding->first_id};
    decoding->table = (struct marey_intern){0};
}

/* decode_record finds a fault itself. */
static enum marey_status walk_raw(struct decoding *decoding, const uint64_t *offsets, size_t n,
                                  struct marey_error *err)
{
    struct marey_trace *trace = decoding->trace;
    const struct marey_args_provider *provider = &trace->provider;

    return walk(trace, provider->walk_raw != NULL ? provider->walk_raw : provider->walk, offsets, n,
                decode_record, decoding, err);
}

/* ---- args that are told to be alike ----------------------------------------------- */

/* As those of another slice. */
static void copy_texts(struct decoding *decoding, uint32_t from, uint32_t to)
{
    for (int arg = 0; arg < MAREY_N_ARGS; arg++)
        if ((decoding->read_bits & MAREY_ARG_BIT(arg)) != 0)
            decoding->texts[arg][to] = decoding->texts[arg][from];
}

static enum marey_status read_one(struct decoding *decoding, uint32_t slice,
                                  struct marey_error *err)
{
    struct marey_trace *trace = decoding->trace;

    decoding->order = &slice;
    const enum marey_status status = walk_raw(decoding, &trace->slices.offset[slice], 1, err);
    decoding->order = NULL;
    return status;
}

static enum marey_status read_alike(struct decoding *decoding, struct marey_alike *alike,
                                    struct marey_error *err)
{
    const struct marey_trace *trace = decoding->trace;
    const struct marey_args_provider *provider = &trace->provider;

    for (size_t i = 0; i < trace->slices.n; i++) {
        uint32_t n_words = 0;
        const uint64_t *word = provider->alike(provider->ctx, trace->slices.offset[i], &n_words);
        if (word == NULL)
            continue;
        uint32_t *first = marey__alike_put(alike, word, n_words);
        if (first == NULL)
            return MAREY_NOMEM;
        if (*first != MAREY_NONE) {
            copy_texts(decoding, *first, (uint32_t)i);
            continue;
        }
        *first = (uint32_t)i;
        MAREY_TRY(read_one(decoding, (uint32_t)i, err));
    }
    return MAREY_OK;
}

static enum marey_status decode_alike(struct decoding *decoding, struct marey_error *err)
{
    struct marey_alike alike;

    marey__alike_init(&alike, &decoding->trace->alloc);
    const enum marey_status status = read_alike(decoding, &alike, err);
    marey__alike_release(&alike);
    return status;
}

/* ---- the others --------------------------------------------------------------------- */

static enum marey_status decode_each(struct decoding *decoding, struct marey_error *err)
{
    struct marey_trace *trace = decoding->trace;
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n = trace->slices.n;
    uint32_t *order = marey__alloc(alloc, n, sizeof *order);
    uint64_t *offsets = marey__alloc(alloc, n, sizeof *offsets);
    enum marey_status status = MAREY_NOMEM;

    if (order != NULL && offsets != NULL &&
        marey__order_u64(alloc, trace->slices.offset, order, n)) {
        for (size_t i = 0; i < n; i++)
            offsets[i] = trace->slices.offset[order[i]];
        decoding->order = order;
        status = walk_raw(decoding, offsets, n, err);
    }
    marey__dealloc(alloc, offsets, n, sizeof *offsets);
    marey__dealloc(alloc, order, n, sizeof *order);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------ */

static enum marey_status decode_all(struct decoding *decoding, struct marey_error *err)
{
    const struct marey_args_provider *provider = &decoding->trace->provider;
    const uint64_t alike = provider->alike != NULL ? decoding->bits & provider->alike_bits : 0;

    if (!allocate_columns(decoding))
        return MAREY_NOMEM;
    decoding->read_bits = alike;
    if (alike != 0)
        MAREY_TRY(decode_alike(decoding, err));
    decoding->read_bits = decoding->bits & ~alike;
    return decoding->read_bits != 0 ? decode_each(decoding, err) : MAREY_OK;
}

static enum marey_status decode(struct marey_trace *trace, uint64_t bits, struct marey_error *err)
{
    const size_t n = trace->slices.n;
    const struct marey_alloc *alloc = &trace->alloc;
    struct decoding decoding = {.trace = trace, .bits = bits, .first_id = next_string_id(trace)};
    marey__text_init(&decoding.scratch, alloc);
    enum marey_status status =
        marey__intern_init(&decoding.table, alloc) ? decode_all(&decoding, err) : MAREY_NOMEM;

    if (status == MAREY_NOMEM)
        status = marey__fail_nomem(err);
    if (status == MAREY_OK)
        publish(&decoding);
    for (int arg = 0; arg < MAREY_N_ARGS; arg++) {
        marey__dealloc(alloc, decoding.ints[arg], n, sizeof *decoding.ints[arg]);
        marey__dealloc(alloc, decoding.texts[arg], n, sizeof *decoding.texts[arg]);
    }
    marey__intern_release(&decoding.table);
    marey__text_release(&decoding.scratch);
    return status;
}

enum marey_status marey_trace_decode_args(struct marey_trace *trace, uint64_t arg_bits,
                                          struct marey_error *err)
{
    const uint64_t all = MAREY_ARG_BIT(MAREY_N_ARGS) - 1;
    if ((arg_bits & ~all) != 0)
        return marey__fail(err, MAREY_INVALID, "unknown arg in 0x%llx",
                           (unsigned long long)arg_bits);
    (void)pthread_mutex_lock(&trace->lock);
    const uint64_t missing = arg_bits & ~trace->decoded_bits;
    const enum marey_status status = missing != 0 ? decode(trace, missing, err) : MAREY_OK;
    (void)pthread_mutex_unlock(&trace->lock);
    return status;
}

const int64_t *marey_trace_arg_ints(const struct marey_trace *trace, enum marey_arg arg)
{
    return (unsigned)arg < MAREY_N_ARGS ? trace->arg_int[arg] : NULL;
}

const uint32_t *marey_trace_arg_texts(const struct marey_trace *trace, enum marey_arg arg)
{
    return (unsigned)arg < MAREY_N_ARGS ? trace->arg_text[arg] : NULL;
}

enum marey_status marey_trace_walk_args(struct marey_trace *trace, const uint64_t *offsets,
                                        size_t n, marey_args_fn fn, void *user,
                                        struct marey_error *err)
{
    (void)pthread_mutex_lock(&trace->lock);
    const enum marey_status status = walk(trace, trace->provider.walk, offsets, n, fn, user, err);
    (void)pthread_mutex_unlock(&trace->lock);
    return status;
}
