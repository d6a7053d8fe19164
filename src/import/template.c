/*
 * template.c - from one clean record to the pattern of those like it.
 *
 * Values that change from record to record become parts, everything else is glue:
 * X: name, ts, dur, args · s t f: id, ts · i C: ts, args · M: nothing at all, since some
 * writers repeat the same metadata a hundred thousand times.
 */
#include "import/walk.h"

struct piece {
    const char *from;
    const char *to;
    enum marey_part what;
};

static bool is_positive_number(const struct marey_value *value)
{
    return value->type == MAREY_VALUE_NUMBER && value->text.ptr[0] != '-';
}

/* The changing values of a record, in the order of the text; 0 if it is not one to
 * learn from. */
static size_t pieces_of(const struct marey_fields *fields, const struct marey_launch_args *launch,
                        char phase, struct piece *piece)
{
    const struct {
        enum marey_field field;
        enum marey_value_type type;
        enum marey_part what;
        bool applies;
    } rows[] = {
        {MAREY_FIELD_NAME, MAREY_VALUE_STRING, MAREY_PART_NAME, phase == 'X'},
        {MAREY_FIELD_TS, MAREY_VALUE_NUMBER, MAREY_PART_TS, phase != 'M'},
        {MAREY_FIELD_DUR, MAREY_VALUE_NUMBER, MAREY_PART_DUR, phase == 'X'},
        {MAREY_FIELD_ID, MAREY_VALUE_NUMBER, MAREY_PART_ID,
         phase == 's' || phase == 't' || phase == 'f'},
        {MAREY_FIELD_ARGS, MAREY_VALUE_OBJECT,
         launch != NULL ? MAREY_PART_LAUNCH_ARGS : MAREY_PART_ARGS, phase != 'M'},
    };
    size_t n = 0;

    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const struct marey_value *value = &fields->value[rows[row].field];
        const bool may_lack = rows[row].field == MAREY_FIELD_ARGS;
        if (!rows[row].applies || (may_lack && value->type == MAREY_VALUE_NONE))
            continue;
        if (value->type != rows[row].type ||
            (value->type == MAREY_VALUE_NUMBER && !is_positive_number(value)))
            return 0;
        const struct piece next = {value->text.ptr, value->text.ptr + value->text.len,
                                   rows[row].what};
        size_t at = n++;
        for (; at > 0 && piece[at - 1].from > next.from; at--)
            piece[at] = piece[at - 1];
        piece[at] = next;
    }
    return n;
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
    template->part[i].block = (uint16_t)*block;
    template->part[i].len = (uint16_t)len;
    template->part[i].what = (uint8_t)what;
    template->part[i].last_mask =
        in_last == MAREY_GLUE_BLOCK ? UINT64_MAX : (UINT64_C(1) << in_last) - 1;
    *block += n_blocks;
    return true;
}

/* Where the next template goes: behind the others, or once all places are taken in that of
 * a metadata record, since torch 2.13 begins a file with more of these than there are places.
 * MAREY_N_TEMPLATES if there is none. */
static uint32_t place_for(const struct marey_walk *walk, char phase)
{
    uint32_t at = walk->n_templates;

    if (at < MAREY_N_TEMPLATES || phase == 'M')
        return at;
    for (at = 0; at < MAREY_N_TEMPLATES && walk->templates[at].to.phase != 'M'; at++)
        continue;
    return at;
}

void marey__template_learn(struct marey_walk *walk, const struct marey_fields *fields,
                           const struct marey_launch_args *launch, const char *begin,
                           const char *end)
{
    const struct marey_resolved *to = &walk->kineto->last;
    struct piece piece[MAREY_TEMPLATE_PARTS];

    if (!to->is_clean || !fields->is_plain || to->phase == '\0' ||
        strchr("XstfiCM", to->phase) == NULL)
        return;
    const uint32_t place = place_for(walk, to->phase);
    if (place == MAREY_N_TEMPLATES)
        return;
    const size_t n = pieces_of(fields, launch, to->phase, piece);
    if (n == 0 && to->phase != 'M')
        return;

    struct marey_template learnt = {.to = *to, .next = place};
    size_t block = 0;
    for (size_t i = 0; i < n; i++) {
        if (!add_glue(&learnt, &block, begin, piece[i].from, piece[i].what))
            return;
        begin = piece[i].to;
    }
    if (!add_glue(&learnt, &block, begin, end, MAREY_PART_END))
        return;
    learnt.track_args = launch != NULL ? *launch
                                       : (struct marey_launch_args){.device = MAREY_UNKNOWN,
                                                                    .context = MAREY_UNKNOWN,
                                                                    .stream = MAREY_UNKNOWN};
    learnt.meta = walk->kineto->last_meta;
    walk->templates[place] = learnt;
    walk->templates[walk->predicted].next = place;
    walk->predicted = place;
    walk->n_templates += place == walk->n_templates;
}
