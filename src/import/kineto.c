/*
 * kineto.c - the meaning of each phase, and what is set aside or counted on the way.
 *
 * Checklist for a new phase: a row in phase_table, a function beside the others.
 */
#include "import/kineto.h"

#include "base/json.h"
#include "trace/parts.h"

/* One record on its way into the builder. */
struct incoming {
    const struct marey_fields *fields;
    const struct marey_launch_args *launch;
    struct marey_resolved *to;
    int64_t ts_ns;
    enum marey_time ts;
    uint32_t damage; /* bits of repairs: they count if the record is used */
};

bool marey__kineto_init(struct marey_kineto *kineto, const struct marey_alloc *alloc,
                        struct marey_builder *builder)
{
    *kineto = (struct marey_kineto){.builder = builder};
    kineto->strings = marey__builder_strings(builder);
    kineto->account = marey__builder_account(builder);
    marey__text_init(&kineto->scratch, alloc);
    marey__text_init(&kineto->sound, alloc);
    marey__part_init(&kineto->part, alloc);
    return marey__names_init(&kineto->names, alloc, kineto->strings);
}

void marey__kineto_release(struct marey_kineto *kineto)
{
    if (kineto->builder == NULL)
        return;
    marey__part_release(&kineto->part);
    marey__names_release(&kineto->names);
    marey__text_release(&kineto->scratch);
    marey__text_release(&kineto->sound);
}

void marey__kineto_begin_source(struct marey_kineto *kineto, uint32_t source_idx)
{
    kineto->source_idx = source_idx;
    kineto->n_records = 0;
    kineto->n_metadata = 0;
    kineto->n_events = 0;
    kineto->n_without_phase = 0;
    marey__part_reset(&kineto->part);
    kineto->cat_name_id = MAREY_NONE;
    kineto->cat_id = marey__builder_category(kineto->builder, (struct marey_str){NULL, 0});
    for (size_t i = 0; i < MAREY_N_CACHED_TRACKS; i++)
        kineto->track[i].track_idx = MAREY_NONE;
}

static void note(struct marey_kineto *kineto, const struct incoming *in, enum marey_reason reason)
{
    in->to->is_clean = false;
    marey__account_note(kineto->account, reason, in->fields->offset);
}

/* ---- values ------------------------------------------------------------------------ */

static bool is_missing(const struct marey_value *value)
{
    return value->type == MAREY_VALUE_NONE || value->type == MAREY_VALUE_NULL;
}

/* The string id of a value's text. MAREY_NONE if it is missing. */
static uint32_t text_id(struct marey_kineto *kineto, const struct marey_value *value,
                        uint32_t *damage)
{
    if (is_missing(value))
        return MAREY_NONE;

    const struct marey_name *name =
        marey__names_get(&kineto->names, value->text, value->has_escape);
    if (name == NULL)
        return MAREY_NONE;
    *damage |= name->damage;
    return name->id;
}

/* False for a value that only looks like a number: "0.-05", "1e", "--3". Signs and zeros that JSON
 * does not have are no reason: "+5", "05", ".5". */
static bool is_number_text(struct marey_str text)
{
    size_t i = 0;
    size_t n_digits = 0;

    i += i < text.len && (text.ptr[i] == '-' || text.ptr[i] == '+');
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
        n_digits++;
    if (i < text.len && text.ptr[i] == '.')
        for (i++; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
            n_digits++;
    if (n_digits == 0)
        return false;
    if (i < text.len && (text.ptr[i] == 'e' || text.ptr[i] == 'E')) {
        i++;
        i += i < text.len && (text.ptr[i] == '-' || text.ptr[i] == '+');
        const size_t from = i;
        while (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9')
            i++;
        if (i == from)
            return false;
    }
    return i == text.len;
}

/* Quotient and remainder of nanoseconds by 1,000, printed each with its own sign: "-1.-05" is
 * -1.005 microseconds. */
static bool read_split(struct marey_str text, int64_t *ns)
{
    const char *point = memchr(text.ptr, '.', text.len);
    int64_t quotient = 0;
    int64_t rest = 0;

    if (point == NULL || point == text.ptr)
        return false;
    const struct marey_str before = {text.ptr, (size_t)(point - text.ptr)};
    const struct marey_str after = {point + 1, text.len - before.len - 1};
    if (after.len < 2 || after.len > 4 || after.ptr[0] != '-' || !is_number_text(before) ||
        !is_number_text(after) || !marey__decimal_scaled(before, 3, &quotient) ||
        !marey__decimal_scaled(after, 0, &rest) || quotient < -MAREY_TIME_LIMIT_NS)
        return false;
    *ns = quotient + rest;
    return true;
}

enum marey_time marey__kineto_time(const struct marey_value *value, int64_t *ns)
{
    const bool can_be_number =
        value->type == MAREY_VALUE_NUMBER || value->type == MAREY_VALUE_STRING;

    if (!can_be_number)
        return MAREY_TIME_NONE;
    if (!is_number_text(value->text))
        return value->type == MAREY_VALUE_NUMBER && read_split(value->text, ns) ? MAREY_TIME_OK
                                                                                : MAREY_TIME_NONE;
    if (!marey__decimal_scaled(value->text, 3, ns) || *ns > MAREY_TIME_LIMIT_NS ||
        *ns < -MAREY_TIME_LIMIT_NS)
        return MAREY_TIME_RANGE;
    return MAREY_TIME_OK;
}

/* The text that a short string means, until the scratch is used again. */
static struct marey_str spelt(struct marey_kineto *kineto, const struct marey_value *value)
{
    struct marey_textbuf *scratch = &kineto->scratch;

    if (!value->has_escape)
        return value->text;
    marey__text_reset(scratch);
    marey__json_unescape(value->text, scratch);
    kineto->names.failed |= marey__text_failed(scratch);
    return (struct marey_str){scratch->ptr, scratch->len};
}

/* A time that may be in quotes, the text that its digits mean too. */
static struct marey_value spelt_time(struct marey_kineto *kineto, const struct marey_value *value)
{
    return value->type == MAREY_VALUE_STRING && value->has_escape
               ? (struct marey_value){.text = spelt(kineto, value), .type = value->type}
               : *value;
}

/* What a string means to whoever reads it after a writer mended it. */
static struct marey_str id_text(struct marey_kineto *kineto, const struct marey_value *value)
{
    struct marey_textbuf *scratch = &kineto->scratch;

    if (value->type != MAREY_VALUE_STRING)
        return value->text;
    marey__text_reset(scratch);
    (void)marey__names_mend_utf8(value->text, scratch);
    if (value->has_escape && !scratch->failed) {
        const size_t len = scratch->len;
        if (marey__text_reserve(scratch, len) != NULL) /* so that the source does not move */
            marey__json_unescape((struct marey_str){scratch->ptr, len}, scratch);
        kineto->names.failed |= marey__text_failed(scratch);
        return (struct marey_str){scratch->ptr + len, scratch->len - len};
    }
    kineto->names.failed |= marey__text_failed(scratch);
    return (struct marey_str){scratch->ptr, scratch->len};
}

uint64_t marey__kineto_id64(struct marey_kineto *kineto, const struct marey_value *value)
{
    const struct marey_str text = id_text(kineto, value);
    uint64_t number = 0;
    bool is_integer = text.len > 0;

    for (size_t i = 0; i < text.len && is_integer; i++) {
        const unsigned char c = (unsigned char)text.ptr[i];
        is_integer = c >= '0' && c <= '9' && !__builtin_mul_overflow(number, 10, &number) &&
                     !__builtin_add_overflow(number, (uint64_t)(c - '0'), &number);
    }
    return is_integer ? number : marey__str_hash(text) | UINT64_C(1) << 63;
}

uint8_t marey__kineto_category(struct marey_kineto *kineto, const struct marey_value *cat,
                               enum marey_kind *kind)
{
    kineto->cat_damage = 0;
    const uint32_t name_id = text_id(kineto, cat, &kineto->cat_damage);

    if (name_id != kineto->cat_name_id) {
        kineto->cat_name_id = name_id;
        kineto->cat_id =
            marey__builder_category(kineto->builder, marey__intern_text(kineto->strings, name_id));
    }
    *kind = marey__builder_kind(kineto->builder, kineto->cat_id);
    return kineto->cat_id;
}

/* ---- tracks -------------------------------------------------------------------------- */

static enum marey_track_kind track_kind_of(enum marey_kind kind)
{
    if (marey_kind_is_device_operation(kind))
        return MAREY_TRACK_STREAM;
    if (kind == MAREY_KIND_DEVICE_ANNOTATION)
        return MAREY_TRACK_STREAM_NOTE;
    if (kind == MAREY_KIND_SYNC || kind == MAREY_KIND_DEVICE_EVENT)
        return MAREY_TRACK_STREAM_SYNC;
    return MAREY_TRACK_THREAD;
}

bool marey__kineto_wants_args(enum marey_kind kind)
{
    return track_kind_of(kind) != MAREY_TRACK_THREAD || kind == MAREY_KIND_RUNTIME ||
           kind == MAREY_KIND_DRIVER;
}

/* The number that an id's text spells. */
static int64_t number_of(const struct marey_kineto *kineto, uint32_t id)
{
    int64_t number = 0;
    const struct marey_str text = marey__intern_text(kineto->strings, id);

    return text.len > 0 && marey__decimal_scaled(text, 0, &number) ? number : MAREY_UNKNOWN;
}

static bool same_key(const struct marey_track_key *a, const struct marey_track_key *b)
{
    return a->kind == b->kind && a->process_id == b->process_id && a->thread_id == b->thread_id &&
           a->device == b->device && a->context == b->context && a->stream == b->stream;
}

uint32_t marey__kineto_track(struct marey_kineto *kineto, enum marey_kind kind, uint32_t process_id,
                             uint32_t thread_id, const struct marey_launch_args *launch)
{
    struct marey_track_key key = {
        .kind = track_kind_of(kind),
        .process_id = process_id,
        .thread_id = thread_id,
        .device = MAREY_UNKNOWN,
        .context = MAREY_UNKNOWN,
        .stream = MAREY_UNKNOWN,
    };

    if (key.kind != MAREY_TRACK_THREAD) {
        if (launch != NULL) {
            key.device = launch->device;
            key.context = launch->context;
            key.stream = launch->stream;
        }
        if (key.device == MAREY_UNKNOWN)
            key.device = number_of(kineto, process_id);
        if (key.stream == MAREY_UNKNOWN)
            key.stream = number_of(kineto, thread_id);
    }

    const uint64_t mixed =
        marey_name_mix((uint64_t)key.process_id << 32 | key.thread_id, (uint64_t)key.kind * 2 + 1) ^
        (uint64_t)key.device ^ (uint64_t)key.stream * 7;
    struct marey_cached_track *cached = &kineto->track[mixed % MAREY_N_CACHED_TRACKS];
    if (cached->track_idx == MAREY_NONE || !same_key(&cached->key, &key)) {
        cached->key = key;
        cached->track_idx = marey__builder_track(kineto->builder, &key);
    }
    return cached->track_idx;
}

/* ---- phases --------------------------------------------------------------------------- */

static struct marey_new_slice slice_of(const struct incoming *in)
{
    const bool has_correlation =
        in->launch != NULL && in->launch->has_correlation &&
        (in->to->kind == MAREY_KIND_RUNTIME || in->to->kind == MAREY_KIND_DRIVER ||
         marey_kind_is_device_operation(in->to->kind));

    return (struct marey_new_slice){
        .start_ns = in->ts == MAREY_TIME_OK ? in->ts_ns : MAREY_UNKNOWN,
        .dur_ns = MAREY_UNKNOWN,
        .offset = in->fields->offset,
        .correlation = has_correlation ? in->launch->correlation : 0,
        .track_idx = in->to->track_idx,
        .name_id = in->to->name_id,
        .cat_id = in->to->cat_id,
        .has_correlation = has_correlation,
    };
}

static struct marey_new_point point_of(const struct incoming *in)
{
    return (struct marey_new_point){
        .ts_ns = in->ts_ns,
        .offset = in->fields->offset,
        .track_idx = in->to->track_idx,
        .name_id = in->to->name_id,
        .cat_id = in->to->cat_id,
        .scope = in->to->scope,
    };
}

static void quarantine(struct marey_kineto *kineto, const struct incoming *in,
                       enum marey_reason reason, int64_t dur_ns)
{
    struct marey_new_slice slice = slice_of(in);

    in->to->is_clean = false;
    in->to->is_set_aside = true;
    slice.dur_ns = dur_ns;
    if (reason == MAREY_REASON_NOT_COLLECTED)
        slice.start_ns = MAREY_UNKNOWN; /* 0 is a sign there, not the zero of the source */
    marey__builder_quarantine(kineto->builder, reason, &slice);
}

static void note_missing(struct marey_kineto *kineto, const struct incoming *in, bool wants_name)
{
    if (wants_name && is_missing(&in->fields->value[MAREY_FIELD_NAME]))
        note(kineto, in, MAREY_REASON_NO_NAME);
    if (is_missing(&in->fields->value[MAREY_FIELD_TID]))
        note(kineto, in, MAREY_REASON_NO_TID);
}

/* Why a duration is unknown. */
static enum marey_reason reason_of_no_time(const struct marey_value *dur)
{
    if (dur->type == MAREY_VALUE_NON_FINITE)
        return MAREY_REASON_NON_FINITE;
    return dur->type == MAREY_VALUE_NONE ? MAREY_REASON_NO_DUR : MAREY_REASON_BAD_DUR;
}

/* Whether time 0 and duration 0 are the profiler's sign that it has no times. */
static bool is_not_collected(const struct marey_kineto *kineto, const struct incoming *in)
{
    const struct marey_str ts = in->fields->value[MAREY_FIELD_TS].text;
    return marey_kind_is_device_operation(in->to->kind) &&
           !(kineto->part.is_marked && ts.len > 0 && ts.ptr[0] == MAREY_SOURCE_MOMENT);
}

static void add_complete(struct marey_kineto *kineto, struct incoming *in)
{
    const struct marey_value dur = spelt_time(kineto, &in->fields->value[MAREY_FIELD_DUR]);
    struct marey_new_slice slice = slice_of(in);
    int64_t dur_ns = 0;
    const enum marey_time found = marey__kineto_time(&dur, &dur_ns);

    if (found == MAREY_TIME_RANGE ||
        (found == MAREY_TIME_OK && slice.start_ns > MAREY_TIME_LIMIT_NS - dur_ns)) {
        quarantine(kineto, in, MAREY_REASON_TIME_RANGE, MAREY_UNKNOWN);
        return;
    }
    if (found == MAREY_TIME_OK && dur_ns < 0) {
        quarantine(kineto, in, MAREY_REASON_NEGATIVE_DUR, dur_ns);
        return;
    }
    if (found == MAREY_TIME_OK && dur_ns == 0 && slice.start_ns == 0 &&
        is_not_collected(kineto, in)) {
        quarantine(kineto, in, MAREY_REASON_NOT_COLLECTED, 0);
        return;
    }
    if (found == MAREY_TIME_NONE)
        note(kineto, in, reason_of_no_time(&dur));
    else
        slice.dur_ns = dur_ns;
    note_missing(kineto, in, true);
    marey__builder_add_slice(kineto->builder, &slice);
}

static void add_begin(struct marey_kineto *kineto, struct incoming *in)
{
    const struct marey_new_slice slice = slice_of(in);

    note_missing(kineto, in, true);
    marey__builder_begin_slice(kineto->builder, &slice);
}

/* Whether args have a member beside those that place a record. */
static bool says_more(const struct marey_value *args)
{
    static const char *const places[] = {"device", "inDevice", "context", "inContext", "stream"};
    struct marey_json json = marey__json(args->text);
    struct marey_str key;

    if (args->type != MAREY_VALUE_OBJECT || !marey__json_enter(&json, '{'))
        return false;
    while (marey__json_key(&json, &key)) {
        size_t i = 0;
        while (i < sizeof places / sizeof places[0] && !marey__json_spells(key, places[i]))
            i++;
        if (i == sizeof places / sizeof places[0])
            return true;
        (void)marey__json_sound_raw(&json);
    }
    return false;
}

static void add_end(struct marey_kineto *kineto, struct incoming *in)
{
    if (says_more(&in->fields->value[MAREY_FIELD_ARGS]))
        note(kineto, in, MAREY_REASON_END_ARGS);
    note_missing(kineto, in, false);
    marey__builder_end_slice(kineto->builder, in->to->track_idx, in->ts_ns, in->to->name_id,
                             in->fields->offset);
}

static void add_instant(struct marey_kineto *kineto, struct incoming *in)
{
    const struct marey_new_point point = point_of(in);

    if (is_missing(&in->fields->value[MAREY_FIELD_NAME]))
        note(kineto, in, MAREY_REASON_NO_NAME);
    marey__builder_add_instant(kineto->builder, &point);
}

static void add_counter(struct marey_kineto *kineto, struct incoming *in)
{
    const struct marey_new_point point = point_of(in);

    if (is_missing(&in->fields->value[MAREY_FIELD_NAME]))
        note(kineto, in, MAREY_REASON_NO_NAME);
    marey__builder_add_counter(kineto->builder, &point);
}

/* The id of a flow is written out again, so text is kept: the top bit and its string id. */
static uint64_t flow_id(struct marey_kineto *kineto, const struct marey_value *id)
{
    const uint64_t top = UINT64_C(1) << 63;
    const uint64_t number = marey__kineto_id64(kineto, id);
    uint32_t damage = 0;

    return number < top ? marey_part_flow_id(&kineto->part, number)
                        : top | text_id(kineto, id, &damage);
}

static void add_flow(struct marey_kineto *kineto, struct incoming *in)
{
    const struct marey_new_point point = point_of(in);
    const struct marey_value *id = &in->fields->value[MAREY_FIELD_ID];
    const bool is_scalar = id->type != MAREY_VALUE_ARRAY && id->type != MAREY_VALUE_OBJECT;

    if (is_missing(id) || !is_scalar || id->text.len == 0)
        note(kineto, in, MAREY_REASON_OTHER_PHASE); /* an arrow that ties nothing */
    else
        marey__builder_add_flow(kineto->builder, &point, flow_id(kineto, id), in->to->phase);
}

/* Ids of one scope are apart from those of another: "scope/id". */
static uint32_t async_id(struct marey_kineto *kineto, const struct marey_fields *fields)
{
    const struct marey_value *scope = &fields->value[MAREY_FIELD_SCOPE];
    const struct marey_value *id = &fields->value[MAREY_FIELD_ID];
    struct marey_textbuf *scratch = &kineto->scratch;
    uint32_t damage = 0;

    if (is_missing(id))
        id = &fields->value[MAREY_FIELD_ID2];
    if (is_missing(scope))
        return text_id(kineto, id, &damage);
    marey__text_reset(scratch);
    marey__text_add_str(scratch, scope->text);
    marey__text_add_byte(scratch, '/');
    if (!is_missing(id))
        marey__text_add_str(scratch, id->text);
    if (marey__text_failed(scratch)) {
        kineto->names.failed = true;
        return MAREY_NONE;
    }
    return marey__intern(kineto->strings, (struct marey_str){scratch->ptr, scratch->len});
}

static void add_async(struct marey_kineto *kineto, struct incoming *in)
{
    const struct marey_new_point point = point_of(in);
    const bool is_begin = in->to->phase == 'b' || in->to->phase == 'S';

    marey__builder_add_async(kineto->builder, &point, async_id(kineto, in->fields),
                             is_begin ? 'b' : 'e');
}

static void add_other(struct marey_kineto *kineto, struct incoming *in)
{
    note(kineto, in, MAREY_REASON_OTHER_PHASE);
}

/* Args of metadata are kept as text: what of them is an object with a sound structure. */
static void take_sound_args(struct marey_kineto *kineto, struct incoming *in,
                            struct marey_value *args)
{
    struct marey_textbuf *sound = &kineto->sound;
    bool is_whole = false;

    if (args->type != MAREY_VALUE_OBJECT) {
        args->type = MAREY_VALUE_NONE;
        return;
    }
    const struct marey_str members =
        marey__json_sound_members(args->text, MAREY_ARGS_DEPTH, &is_whole);
    if (is_whole)
        return;
    note(kineto, in, MAREY_REASON_BAD_ARGS);
    marey__text_reset(sound);
    marey__text_add_str(sound, members);
    marey__text_add_byte(sound, '}');
    kineto->names.failed |= marey__text_failed(sound);
    args->text = (struct marey_str){sound->ptr, sound->len};
}

static void add_metadata(struct marey_kineto *kineto, struct incoming *in)
{
    struct marey_value args = in->fields->value[MAREY_FIELD_ARGS];

    take_sound_args(kineto, in, &args);
    if (marey__part_record(&kineto->part, marey__intern_text(kineto->strings, in->to->name_id),
                           &args) != MAREY_PART_KEEP) {
        in->to->is_clean = false; /* not learnt from */
        kineto->n_records--;
        return;
    }
    kineto->n_metadata++;
    const struct marey_meta_record record = {
        .source_idx = kineto->source_idx,
        .name_id = in->to->name_id,
        .process_id = in->to->process_id,
        .thread_id = in->to->thread_id,
        .args_id = is_missing(&args) ? MAREY_NONE : marey__intern(kineto->strings, args.text),
        .ts_ns = in->ts == MAREY_TIME_OK ? in->ts_ns : MAREY_UNKNOWN,
    };

    if (!is_missing(&args) && record.args_id == MAREY_NONE)
        kineto->names.failed = true;
    kineto->last_meta = record;
    marey__builder_add_meta_record(kineto->builder, &record);
}

/* An end needs no more than the process and thread of its begin, of which the category and the args
 * decide the track: where it does not tell those, it ends what was begun there last. */
static uint32_t track_of_end(struct marey_kineto *kineto, const struct incoming *in)
{
    const struct marey_resolved *to = in->to;
    struct marey_builder *builder = kineto->builder;
    const bool has_cat = !is_missing(&in->fields->value[MAREY_FIELD_CAT]);
    const uint32_t opened = marey__builder_opened_at(builder, to->process_id, to->thread_id);

    if (!has_cat && opened != MAREY_NONE)
        return opened;
    const uint32_t told =
        marey__kineto_track(kineto, to->kind, to->process_id, to->thread_id, in->launch);
    const bool is_of_kind = opened != MAREY_NONE &&
                            marey__builder_track_kind(builder, opened) == track_kind_of(to->kind);
    return is_of_kind && !marey__builder_has_open(builder, told) ? opened : told;
}

/* ---- dispatch ---------------------------------------------------------------------------- */

typedef void (*add_fn)(struct marey_kineto *kineto, struct incoming *in);

/* Phases of the format; the rest are known and not held, or unknown. */
static const struct {
    char phase;
    bool has_time; /* a record without ts cannot be placed */
    add_fn add;
} phase_table[] = {
    {'X', true, add_complete}, {'s', true, add_flow},      {'f', true, add_flow},
    {'t', true, add_flow},     {'i', true, add_instant},   {'I', true, add_instant},
    {'n', true, add_instant},  {'M', false, add_metadata}, {'C', true, add_counter},
    {'B', true, add_begin},    {'E', true, add_end},       {'b', true, add_async},
    {'e', true, add_async},    {'S', true, add_async},     {'F', true, add_async},
};

static const char other_phases[] = "TpONDPvVRc(),a";

/* Beside the damage of names: times that were read in spite of their text. */
enum { NUMBER_IN_QUOTES = 1 << 8, NUMBER_MISPRINTED = 1 << 9 };

static void note_damage(struct marey_kineto *kineto, const struct incoming *in, uint32_t damage)
{
    if ((damage & NUMBER_IN_QUOTES) != 0)
        note(kineto, in, MAREY_REASON_NUMBER_AS_TEXT);
    if ((damage & NUMBER_MISPRINTED) != 0)
        note(kineto, in, MAREY_REASON_BAD_NUMBER);
    if ((damage & MAREY_NAME_BAD_UTF8) != 0)
        note(kineto, in, MAREY_REASON_BAD_UTF8);
    if ((damage & MAREY_NAME_CONTROL) != 0)
        note(kineto, in, MAREY_REASON_CONTROL_CHAR);
    if ((damage & MAREY_NAME_BAD_ESCAPE) != 0)
        note(kineto, in, MAREY_REASON_BAD_ESCAPE);
}

static char phase_of(struct marey_kineto *kineto, const struct marey_value *ph)
{
    const struct marey_str text = spelt(kineto, ph);

    return ph->type == MAREY_VALUE_STRING && text.len == 1 ? text.ptr[0] : '\0';
}

/* Args that hold no members at all: nobody reads them. */
static bool is_no_object(const struct marey_value *args)
{
    return !is_missing(args) && args->type != MAREY_VALUE_OBJECT;
}

/* The ts, and whether one of the times is in quotes. */
static uint32_t read_times(struct marey_kineto *kineto, struct incoming *in)
{
    const struct marey_value *value = in->fields->value;
    const struct marey_value ts = spelt_time(kineto, &value[MAREY_FIELD_TS]);

    in->ts = marey__kineto_time(&ts, &in->ts_ns);
    const bool is_ts_quoted = ts.type == MAREY_VALUE_STRING && in->ts == MAREY_TIME_OK;
    const struct marey_value dur = spelt_time(kineto, &value[MAREY_FIELD_DUR]);
    const bool is_dur_quoted = dur.type == MAREY_VALUE_STRING && is_number_text(dur.text);
    return is_ts_quoted || is_dur_quoted ? NUMBER_IN_QUOTES : 0;
}

static const char *resolve(struct marey_kineto *kineto, struct incoming *in)
{
    const struct marey_value *value = in->fields->value;
    struct marey_resolved *to = in->to;
    uint32_t damage = 0;

    to->cat_id = marey__kineto_category(kineto, &value[MAREY_FIELD_CAT], &to->kind);
    damage = kineto->cat_damage;
    to->name_id = text_id(kineto, &value[MAREY_FIELD_NAME], &damage);
    to->process_id =
        marey_part_process(&kineto->part, text_id(kineto, &value[MAREY_FIELD_PID], &damage));
    to->thread_id = text_id(kineto, &value[MAREY_FIELD_TID], &damage);
    const struct marey_str scope = spelt(kineto, &value[MAREY_FIELD_S]);
    to->scope = scope.len > 0 ? (uint8_t)scope.ptr[0] : 0;
    to->track_idx = MAREY_NONE;
    damage |= read_times(kineto, in);
    for (int i = MAREY_FIELD_TS; i <= MAREY_FIELD_DUR; i++) {
        int64_t ns = 0;
        if (value[i].type != MAREY_VALUE_NUMBER || is_number_text(value[i].text))
            continue;
        if (marey__kineto_time(&value[i], &ns) == MAREY_TIME_NONE)
            return i == MAREY_FIELD_TS ? "a ts that is no number" : "a dur that is no number";
        damage |= NUMBER_MISPRINTED;
    }
    in->damage = damage;
    return NULL;
}

static void dispatch(struct marey_kineto *kineto, struct incoming *in)
{
    struct marey_resolved *to = in->to;
    const size_t n_rows = sizeof phase_table / sizeof phase_table[0];
    size_t row = 0;

    while (row < n_rows && phase_table[row].phase != to->phase)
        row++;
    if (row == n_rows) {
        if (to->phase != '\0' && strchr(other_phases, to->phase) != NULL)
            add_other(kineto, in);
        else
            quarantine(kineto, in, MAREY_REASON_UNKNOWN_PH, MAREY_UNKNOWN);
        return;
    }
    if (to->phase == 'M') {
        add_metadata(kineto, in);
        return;
    }
    kineto->n_events++;
    to->track_idx = to->phase == 'E' ? track_of_end(kineto, in)
                                     : marey__kineto_track(kineto, to->kind, to->process_id,
                                                           to->thread_id, in->launch);
    if (phase_table[row].has_time && in->ts == MAREY_TIME_NONE)
        quarantine(kineto, in, MAREY_REASON_NO_TS, MAREY_UNKNOWN);
    else if (phase_table[row].has_time && in->ts == MAREY_TIME_RANGE)
        quarantine(kineto, in, MAREY_REASON_TIME_RANGE, MAREY_UNKNOWN);
    else
        phase_table[row].add(kineto, in);
}

const char *marey__kineto_add(struct marey_kineto *kineto, const struct marey_fields *fields,
                              const struct marey_launch_args *launch)
{
    const struct marey_value *ph = &fields->value[MAREY_FIELD_PH];
    struct incoming in = {.fields = fields, .launch = launch, .to = &kineto->last};

    kineto->last = (struct marey_resolved){
        .phase = phase_of(kineto, ph),
        .name_id = MAREY_NONE,
        .process_id = MAREY_NONE,
        .thread_id = MAREY_NONE,
        .track_idx = MAREY_NONE,
        .is_clean = true,
    };
    kineto->n_records++;
    if (fields->n_members == 0) {
        in.ts = MAREY_TIME_NONE;
        quarantine(kineto, &in, MAREY_REASON_EMPTY_RECORD, MAREY_UNKNOWN);
        return NULL;
    }
    kineto->n_without_phase += kineto->last.phase == '\0';
    const char *broken = resolve(kineto, &in);
    if (broken != NULL)
        return broken;
    dispatch(kineto, &in);
    if (!in.to->is_set_aside &&
        (fields->has_broken_args || is_no_object(&fields->value[MAREY_FIELD_ARGS])))
        note(kineto, &in, MAREY_REASON_BAD_ARGS);
    if (in.damage != 0 && !in.to->is_set_aside)
        note_damage(kineto, &in, in.damage);
    return NULL;
}
