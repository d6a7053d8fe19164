/*
 * match_body.h - records by what is known of earlier ones: values between glue.
 *
 * Included after args_body.h by each file that compiles the scanner. Nothing here changes a
 * trace, so that threads may match ahead of the walk.
 */
#ifndef MAREY_SRC_IMPORT_MATCH_BODY_H
#define MAREY_SRC_IMPORT_MATCH_BODY_H

#include "import/known_body.h"
#include "import/walk.h"

/* ---- parts --------------------------------------------------------------------------- */

static inline bool match_glue(const char *at, const char *glue, size_t len, uint64_t last_mask)
{
    if (len <= 32)
        return equal32(at, glue, (uint32_t)last_mask);
    for (; len > MAREY_GLUE_BLOCK; len -= MAREY_GLUE_BLOCK) {
        if (!equal64(at, glue, UINT64_MAX))
            return false;
        at += MAREY_GLUE_BLOCK;
        glue += MAREY_GLUE_BLOCK;
    }
    return equal64(at, glue, last_mask);
}

/* Microseconds in plain form: no sign, no exponent, not beyond the limit. */
static const char *match_any_time(const char *at, int64_t *ns)
{
    static const int64_t power[] = {1,      10,      100,      1000,      10000,
                                    100000, 1000000, 10000000, 100000000, 1000000000};
    const unsigned n = count_digits16(at);

    if (n - 1 > 14 || (*at == '0' && n > 1)) /* none, or so many that it may not fit */
        if (n != 16 || *at == '0')
            return NULL;
    at += n;
    const uint64_t whole = value_of_digits(at, n);
    if (whole >= (uint64_t)(MAREY_TIME_LIMIT_NS / 1000))
        return NULL;
    *ns = (int64_t)whole * 1000;
    if (*at != '.')
        return at;
    const unsigned n_decimals = count_digits16(at + 1);
    if (n_decimals == 3) {
        *ns += (at[1] - '0') * 100 + (at[2] - '0') * 10 + (at[3] - '0');
        return at + 4;
    }
    if (n_decimals - 1 > 11)
        return NULL;
    at += 1 + n_decimals;
    const int64_t decimals = (int64_t)value_of_digits(at, n_decimals);
    *ns += n_decimals < 3 ? decimals * power[3 - n_decimals] : decimals / power[n_decimals - 3];
    return at;
}

/* Most writers print three decimals, older ones none. */
static inline const char *match_time(const char *at, int64_t *ns)
{
    const uint32_t ends = no_digits32(at);
    const unsigned n = (unsigned)__builtin_ctz(ends | 0x80000000U);
    const uint32_t decimals_end = ends & (ends - 1);

    if (n - 1 > 14 || *at == '0')
        return match_any_time(at, ns);
    const int64_t whole = (int64_t)value_of_digits(at + n, n);
    if (at[n] != '.') {
        *ns = whole * 1000;
        return at + n;
    }
    if ((decimals_end >> n & 0x1e) != 0x10)
        return match_any_time(at, ns);
    at += n;
    *ns = whole * 1000 + (at[1] * 100 + at[2] * 10 + at[3] - '0' * 111);
    return at + 4;
}

/* So few digits that one behind them is seen. */
static inline const char *match_digits(const char *at)
{
    const unsigned n = count_digits16(at);

    return n - 1 > 14 ? NULL : at + n;
}

static inline const char *match_id(const char *at, uint64_t *id)
{
    const char *end = match_digits(at);

    if (end != NULL)
        *id = value_of_digits(end, (unsigned)(end - at));
    return end;
}

/* A name as it is spelt; its closing quote belongs to the next glue. */
static inline const char *match_name(struct scan *scan, const char *text, const char *at,
                                     struct marey_match *found)
{
    bool has_escape = false;
    const char *close = scan_string(scan, at, &has_escape);

    if (close == NULL)
        return NULL;
    found->name_at = (uint32_t)(at - text);
    found->name_len = (uint32_t)(close - at);
    found->name_hash = marey_name_hash(at, found->name_len);
    return close;
}

/* Args whose structure is broken are for the generic way. */
static inline const char *match_launch_args(struct scan *scan, const char *at,
                                            struct marey_launch_args *launch)
{
    struct marey_value wide;

    if (*at != '{')
        return NULL;
    const char *end = scan_container(scan, at);
    if (end == NULL || !scan_launch_args(at, end, launch, &wide))
        return NULL;
    return wide.type == MAREY_VALUE_NONE ? end : NULL;
}

/* The rest of args where nothing stands that is wanted. */
static inline const char *match_args_rest(struct scan *scan, const char *at)
{
    bool may_repeat = false;
    const char *end = scan_args_rest(scan, at, &may_repeat);

    return may_repeat ? NULL : end;
}

/* The end of the record if the template fits it, else NULL. Its args go to *launch if the
 * template reads them. */
static inline const char *match_template(struct scan *scan, const struct marey_template *template,
                                         const char *text, const char *at,
                                         struct marey_match *found,
                                         struct marey_launch_args *launch)
{
    for (const struct marey_template_part *part = template->part;; part++) {
        if (!match_glue(at, template->glue + part->glue_at, part->len, part->last_mask))
            return NULL;
        at += part->len;
        switch ((enum marey_part)part->what) {
        case MAREY_PART_END:
            return at;
        case MAREY_PART_NAME:
            at = match_name(scan, text, at, found);
            break;
        case MAREY_PART_TS:
            at = match_time(at, &found->ts_ns);
            break;
        case MAREY_PART_DUR:
            at = match_time(at, &found->dur_ns);
            break;
        case MAREY_PART_ID:
            at = match_id(at, &found->id);
            break;
        case MAREY_PART_DIGITS:
            at = match_digits(at);
            break;
        case MAREY_PART_ARGS:
            at = *at == '{' ? scan_container(scan, at) : NULL;
            break;
        case MAREY_PART_ARGS_REST:
            /* No glue stands before it that would show a number which goes on. */
            at = ends_scalar(*at) ? match_args_rest(scan, at) : NULL;
            break;
        case MAREY_PART_LAUNCH_ARGS:
            at = match_launch_args(scan, at, launch);
            break;
        }
        if (at == NULL)
            return NULL;
    }
}

/* Tries the two templates that followed the last one before, then all. The end of the record
 * with *found complete, its places counted from `text`; or NULL: then only `at` is set. */
static inline const char *match_record(struct marey_walk *walk, struct scan *scan, const char *text,
                                       const char *at, struct marey_match *found,
                                       struct marey_launch_args *launch)
{
    struct marey_learnt *learnt = walk->learnt;
    struct marey_template *last = &learnt->template[walk->predicted];
    const uint32_t n_tries = learnt->n > 0 ? learnt->n + 2 : 0;

    found->at = (uint32_t)(at - text);
    found->id = 0;
    found->template_idx = MAREY_NO_TEMPLATE;
    for (uint32_t i = 0; i < n_tries; i++) {
        const uint32_t chosen = i < 2 ? last->next[i] : i - 2;
        const char *end = match_template(scan, &learnt->template[chosen], text, at, found, launch);
        if (end == NULL)
            continue;
        if (i > 0) {
            last->next[1] = last->next[0];
            last->next[0] = chosen;
        }
        walk->predicted = chosen;
        found->template_idx = chosen;
        found->end = (uint32_t)(end - text);
        return end;
    }
    return NULL;
}

/* ---- ahead of the walk ------------------------------------------------------------------- */

/* From the comma behind a record to what follows. Writers put the same few bytes between
 * all records, so these are compared first. */
static inline const char *pass_comma(struct marey_learnt *learnt, const char *at)
{
    if (equal32(at, learnt->gap, learnt->gap_mask))
        return at + learnt->gap_len;
    const char *next = skip_space(at + 1);
    const size_t len = (size_t)(next - at);
    if (len < sizeof learnt->gap && *next == '{') {
        memcpy(learnt->gap, at, len + 1); /* with the brace, so that white space ends here */
        learnt->gap_len = (uint32_t)len;
        learnt->gap_mask = (uint32_t)((UINT64_C(1) << (len + 1)) - 1);
    }
    return next;
}

/* True if the text up to the first value is that of any template. */
static bool begins_record(const struct marey_learnt *learnt, const char *at)
{
    for (uint32_t i = 0; i < learnt->n; i++) {
        const struct marey_template *template = &learnt->template[i];
        if (match_glue(at, template->glue, template->part[0].len, template->part[0].last_mask))
            return true;
    }
    return false;
}

/* The brace of the first record, as far as the text between two of them and the beginning of
 * one can tell: the walk uses what follows only if it arrives at that very place. */
static const char *find_record(const struct marey_walk *walk)
{
    const struct marey_learnt *learnt = walk->learnt;

    for (const char *at = walk->text; at < walk->end; at++) {
        at = memchr(at, learnt->gap[0], (size_t)(walk->end - at));
        if (at == NULL)
            return NULL;
        if (equal32(at, learnt->gap, learnt->gap_mask) &&
            begins_record(learnt, at + learnt->gap_len))
            return at + learnt->gap_len;
    }
    return NULL;
}

/* What is wrong anywhere in a record. Without memory the reader is left to look itself. */
static inline uint32_t look_ahead(struct marey_checker *checker, const char *at, const char *end)
{
    if (checker == NULL || checker->failed)
        return MAREY_UNCHECKED;
    check_or_know(checker, at, end);
    return checker->failed ? MAREY_UNCHECKED : checker->found;
}

static void scan_ahead(struct marey_walk *walk, struct marey_batch *batch)
{
    struct scan scan = {.end = walk->end};
    struct marey_fields fields;

    batch->n = 0;
    batch->n_launches = 0;
    batch->version = walk->learnt->version;
    const char *at = find_record(walk);
    while (at != NULL && *at == '{' && batch->n < batch->capacity) {
        struct marey_match *match = &batch->match[batch->n];
        const char *end =
            match_record(walk, &scan, walk->text, at, match, &batch->launch[batch->n_launches]);
        if (end == NULL) {
            end = scan_record(&scan, at, &fields);
            if (end == NULL)
                return;
            match->end = (uint32_t)(end - walk->text);
        } else if (walk->learnt->template[match->template_idx].reads_launch) {
            match->id = batch->n_launches++;
        }
        match->damage = look_ahead(walk->checker, at, end);
        batch->n++;
        at = *end == ',' ? end : skip_space(end);
        at = *at == ',' ? pass_comma(walk->learnt, at) : NULL;
    }
}

#endif
