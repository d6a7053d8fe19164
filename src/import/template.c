/*
 * template.c - from one clean record to the pattern of those like it.
 *
 * Values that change from record to record become parts, everything else is glue:
 * X: name, ts, dur, args · s t f: id, ts · i C: ts, args · M: nothing at all, since some
 * writers repeat the same metadata a hundred thousand times.
 *
 * Args that are read (launches and device records) are taken apart too: the correlation and
 * other integers change, device, context and stream are glue, as pid and tid are.
 */
#include "import/walk.h"

#include "base/json.h"

/* More templates than this that differ in their args only: args are then read by key. */
enum { MAX_ARGS_FORMS = 3 };

struct piece {
    const char *from;
    const char *to;
    enum marey_part what;
};

/* In the order of the text. */
struct pieces {
    size_t n;
    bool is_full;
    struct piece piece[MAREY_TEMPLATE_PARTS - 1]; /* the end of the record is a part too */
};

static void add_piece(struct pieces *pieces, struct marey_str text, enum marey_part what)
{
    if (pieces->n == MAREY_TEMPLATE_PARTS - 1) {
        pieces->is_full = true;
        return;
    }
    pieces->piece[pieces->n++] = (struct piece){text.ptr, text.ptr + text.len, what};
}

static bool is_digits(struct marey_str text)
{
    size_t i = 0;

    while (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9')
        i++;
    return i == text.len && text.len > 0 && text.len <= 15;
}

/* ---- args that are read ------------------------------------------------------------- */

/* Keys that place a record on its track; one bit for each column. */
static unsigned track_key(struct marey_str key)
{
    static const struct {
        const char *key;
        unsigned bit;
    } rows[] = {
        {"device", 1}, {"inDevice", 1}, {"context", 2}, {"inContext", 2}, {"stream", 4},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (marey__str_is_c(key, rows[i].key))
            return rows[i].bit;
    return 0;
}

/* Whether a key that ends like those that are read, or is spelt with an escape, stands in a text;
 * scan_args_rest asks the same in blocks. */
static bool may_repeat(struct marey_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\\' || (i > 0 && text.ptr[i] == '"' && text.ptr[i - 1] != '\0' &&
                                    strchr("emnt", text.ptr[i - 1]) != NULL))
            return true;
    return false;
}

/* The pieces of an args object, as far as scan_launch_args reads it: to its end, or until
 * nothing is wanted any more. False if its form is not that plain. */
static bool add_launch_pieces(struct pieces *pieces, struct marey_str args)
{
    struct marey_json json = marey__json(args);
    struct marey_str key;
    unsigned seen = 0;

    if (!marey__json_enter(&json, '{'))
        return false;
    while (seen != 15 && marey__json_key(&json, &key)) {
        const struct marey_str value = marey__json_raw(&json);
        if (json.failed || value.ptr[0] == '{' || value.ptr[0] == '[' ||
            memchr(key.ptr, '\\', key.len) != NULL)
            return false;
        if (marey__str_is_c(key, "correlation")) {
            if (!is_digits(value))
                return false;
            add_piece(pieces, value, MAREY_PART_ID);
            seen |= 8;
        } else if (track_key(key) != 0) {
            seen |= is_digits(value) ? track_key(key) : 0;
        } else if (is_digits(value)) {
            add_piece(pieces, value, MAREY_PART_DIGITS);
        }
    }
    const struct marey_str rest = {json.at, (size_t)(json.end - json.at)};
    if (seen == 15 && may_repeat(rest))
        return false;
    if (seen == 15)
        add_piece(pieces, rest, MAREY_PART_ARGS_REST);
    return !json.failed;
}

/* How many templates there are for the same kind of record on the same track. */
static unsigned count_forms(const struct marey_walk *walk)
{
    const struct marey_resolved *to = &walk->kineto->last;
    unsigned n = 0;

    for (uint32_t i = 0; i < walk->learnt->n; i++) {
        const struct marey_resolved *other = &walk->learnt->template[i].to;
        n += other->phase == to->phase && other->cat_id == to->cat_id &&
             other->track_idx == to->track_idx;
    }
    return n;
}

/* ---- records ---------------------------------------------------------------------------- */

static bool is_positive_number(const struct marey_value *value)
{
    return value->type == MAREY_VALUE_NUMBER && value->text.ptr[0] != '-';
}

static void add_args(struct pieces *pieces, const struct marey_walk *walk, struct marey_str args,
                     bool is_read)
{
    const size_t n = pieces->n;

    if (!is_read) {
        add_piece(pieces, args, MAREY_PART_ARGS);
        return;
    }
    if (count_forms(walk) < MAX_ARGS_FORMS && add_launch_pieces(pieces, args) && !pieces->is_full)
        return;
    pieces->n = n;
    pieces->is_full = false;
    add_piece(pieces, args, MAREY_PART_LAUNCH_ARGS);
}

/* The changing values of a record; false if it is not one to learn from. */
static bool take_apart(const struct marey_walk *walk, const struct marey_fields *fields,
                       bool reads_args, struct pieces *pieces)
{
    const char phase = walk->kineto->last.phase;
    const struct {
        enum marey_field field;
        enum marey_value_type type;
        enum marey_part what;
        bool applies;
    } rows[] = {
        {MAREY_FIELD_NAME, MAREY_VALUE_STRING, MAREY_PART_NAME, phase == 'X'},
        {MAREY_FIELD_TS, MAREY_VALUE_NUMBER, MAREY_PART_TS, phase != 'M'},
        {MAREY_FIELD_DUR, MAREY_VALUE_NUMBER, MAREY_PART_DUR, phase == 'X'},
        {MAREY_FIELD_ID, MAREY_VALUE_NUMBER, MAREY_PART_ID, strchr("stf", phase) != NULL},
        {MAREY_FIELD_ARGS, MAREY_VALUE_OBJECT, MAREY_PART_ARGS, phase != 'M'},
    };
    const size_t n_rows = sizeof rows / sizeof rows[0];
    const char *at = NULL;

    for (size_t round = 0; round < n_rows; round++) {
        size_t next = n_rows; /* the first one behind `at` */
        for (size_t row = 0; row < n_rows; row++) {
            const struct marey_value *value = &fields->value[rows[row].field];
            const bool is_args = rows[row].field == MAREY_FIELD_ARGS;
            if (!rows[row].applies || (is_args && value->type == MAREY_VALUE_NONE))
                continue;
            if (value->type != rows[row].type ||
                (value->type == MAREY_VALUE_NUMBER && !is_positive_number(value)))
                return false;
            if (value->text.ptr > at &&
                (next == n_rows || value->text.ptr < fields->value[rows[next].field].text.ptr))
                next = row;
        }
        if (next == n_rows)
            break;
        const struct marey_str text = fields->value[rows[next].field].text;
        if (rows[next].what == MAREY_PART_ARGS)
            add_args(pieces, walk, text, reads_args);
        else
            add_piece(pieces, text, rows[next].what);
        at = text.ptr;
    }
    return !pieces->is_full && (pieces->n > 0 || phase == 'M');
}

static bool add_glue(struct marey_template *template, size_t *block, const char *from,
                     const char *to, enum marey_part what)
{
    const size_t len = (size_t)(to - from);
    const size_t n_blocks = len == 0 ? 1 : (len + MAREY_GLUE_BLOCK - 1) / MAREY_GLUE_BLOCK;

    if (*block + n_blocks > MAREY_TEMPLATE_BLOCKS)
        return false;
    memcpy(template->glue + *block * MAREY_GLUE_BLOCK, from, len);

    const size_t in_last = len - (n_blocks - 1) * MAREY_GLUE_BLOCK;
    const uint32_t i = template->n_parts++;
    template->part[i].glue_at = (uint16_t)(*block * MAREY_GLUE_BLOCK);
    template->part[i].len = (uint16_t)len;
    template->part[i].what = (uint8_t)what;
    template->part[i].last_mask =
        in_last == MAREY_GLUE_BLOCK ? UINT64_MAX : (UINT64_C(1) << in_last) - 1;
    *block += n_blocks;
    template->reads_launch = template->reads_launch || what == MAREY_PART_LAUNCH_ARGS;
    return true;
}

/* Where the next template goes: behind the others, or once all places are taken in that of
 * a metadata record, since torch 2.13 begins a file with more of these than there are places.
 * MAREY_N_TEMPLATES if there is none. */
static uint32_t place_for(const struct marey_learnt *learnt, char phase)
{
    uint32_t at = learnt->n;

    if (at < MAREY_N_TEMPLATES || phase == 'M')
        return at;
    for (at = 0; at < MAREY_N_TEMPLATES && learnt->template[at].to.phase != 'M'; at++)
        continue;
    return at;
}

/* Glue and parts; false if they are too long. */
static bool put_together(struct marey_template *template, const struct pieces *pieces,
                         const char *begin, const char *end)
{
    size_t block = 0;

    for (size_t i = 0; i < pieces->n; i++) {
        if (!add_glue(template, &block, begin, pieces->piece[i].from, pieces->piece[i].what))
            return false;
        begin = pieces->piece[i].to;
    }
    return add_glue(template, &block, begin, end, MAREY_PART_END);
}

void marey__template_learn(struct marey_walk *walk, const struct marey_fields *fields,
                           const struct marey_launch_args *launch, const char *begin,
                           const char *end)
{
    const struct marey_resolved *to = &walk->kineto->last;
    struct marey_learnt *known = walk->learnt;
    struct pieces pieces = {0};

    if (!to->is_clean || !fields->is_plain || to->phase == '\0' ||
        strchr("XstfiCM", to->phase) == NULL)
        return;
    const uint32_t place = place_for(walk->learnt, to->phase);
    if (place == MAREY_N_TEMPLATES || !take_apart(walk, fields, launch != NULL, &pieces))
        return;

    struct marey_template learnt = {.born = known->version + 1, .to = *to, .next = {place, place}};
    if (!put_together(&learnt, &pieces, begin, end))
        return;
    learnt.is_operation = marey_kind_is_device_operation(to->kind);
    learnt.is_tied = launch != NULL && (learnt.is_operation || to->kind == MAREY_KIND_RUNTIME ||
                                        to->kind == MAREY_KIND_DRIVER);
    learnt.launch = launch != NULL ? *launch
                                   : (struct marey_launch_args){.device = MAREY_UNKNOWN,
                                                                .context = MAREY_UNKNOWN,
                                                                .stream = MAREY_UNKNOWN};
    learnt.meta = walk->kineto->last_meta;
    known->version++;
    known->template[place] = learnt;
    known->template[walk->predicted].next[0] = place;
    known->n += place == known->n;
    walk->predicted = place;
}
