/*
 * walk_body.h - the loop over records: templates first, then the generic way.
 *
 * Included after simd_*.h and scan_body.h; SCANNER_NAME is the word for this build of it
 * and SCANNER the constant it defines.
 */
#ifndef MAREY_SRC_IMPORT_WALK_BODY_H
#define MAREY_SRC_IMPORT_WALK_BODY_H

#include "import/walk.h"

/* ---- learned ------------------------------------------------------------------------- */

/* What a template's values came to. */
struct matched {
    int64_t ts_ns;
    int64_t dur_ns;
    uint64_t id;
    uint32_t name_id;
    struct marey_launch_args launch;
};

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
static inline const char *match_time(const char *at, int64_t *ns)
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

static inline bool same_text(const char *a, const char *b, size_t len)
{
    for (; len > 32; len -= 32, a += 32, b += 32)
        if (!equal32(a, b, UINT32_MAX))
            return false;
    return equal32(a, b, (uint32_t)((UINT64_C(1) << len) - 1));
}

/* A name without escapes and damage; its closing quote belongs to the next glue. */
static inline const char *match_name(struct scan *scan, struct marey_names *names, const char *at,
                                     uint32_t *name_id)
{
    bool has_escape = false;
    const char *close = scan_string(scan, at, &has_escape);

    if (close == NULL || has_escape)
        return NULL;
    const size_t len = (size_t)(close - at);
    const uint64_t hash = marey_name_hash(at, len);
    const size_t mask = names->n_slots - 1;
    const struct marey_name *name = &names->slot[(size_t)hash & mask];
    while (name->raw != NULL &&
           (name->hash != hash || name->len != len || !same_text(name->raw, at, len)))
        name = &names->slot[((size_t)(name - names->slot) + 1) & mask];
    if (name->raw == NULL) {
        name = marey__names_add(names, (struct marey_str){at, len}, false, hash);
        if (name == NULL)
            return NULL;
    }
    if (name->damage != 0)
        return NULL;
    *name_id = name->id;
    return close;
}

/* Read by key, args must end where counting brackets ends them: the generic way does both,
 * and broken text must not depend on the way. */
static inline const char *match_launch_args(struct scan *scan, const char *at,
                                            struct marey_launch_args *launch)
{
    struct marey_value wide;

    if (*at != '{')
        return NULL;
    const char *end = scan_container(scan, at);
    if (end == NULL || scan_launch_args(scan, at, launch, &wide) != end)
        return NULL;
    return wide.type == MAREY_VALUE_NONE ? end : NULL;
}

/* The end of the record if the template fits it, else NULL. */
static inline const char *match(struct scan *scan, struct marey_names *names,
                                const struct marey_template *template, const char *at,
                                struct matched *found)
{
    for (uint32_t i = 0; i < template->n_parts; i++) {
        const char *glue = template->glue + (size_t) template->part[i].block * MAREY_GLUE_BLOCK;
        const size_t len = template->part[i].len;
        if (!match_glue(at, glue, len, template->part[i].last_mask))
            return NULL;
        at += len;
        switch ((enum marey_part) template->part[i].what) {
        case MAREY_PART_END:
            return at;
        case MAREY_PART_NAME:
            at = match_name(scan, names, at, &found->name_id);
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
            at = ends_scalar(*at) ? scan_to_close(scan, at, true, 1) : NULL;
            break;
        case MAREY_PART_LAUNCH_ARGS:
            at = match_launch_args(scan, at, &found->launch);
            break;
        }
        if (at == NULL)
            return NULL;
    }
    return NULL;
}

/* The track of a record whose args were read by key. */
static inline uint32_t track_of(struct marey_kineto *kineto, struct marey_template *template,
                                const struct marey_launch_args *launch)
{
    const struct marey_launch_args *known = &template->launch;

    if (!template->is_operation && template->is_tied)
        return template->to.track_idx; /* a thread */
    if (known->device != launch->device || known->stream != launch->stream ||
        known->context != launch->context) {
        template->to.track_idx = marey__kineto_track(
            kineto, template->to.kind, template->to.process_id, template->to.thread_id, launch);
        template->launch = *launch;
    }
    return template->to.track_idx;
}

/* False if the record must be looked at by the generic way after all. */
static inline bool add_matched_slice(struct marey_kineto *kineto, struct marey_template *template,
                                     const struct matched *found, uint64_t offset)
{
    if (found->ts_ns > MAREY_TIME_LIMIT_NS - found->dur_ns ||
        (template->is_operation && found->ts_ns == 0 && found->dur_ns == 0))
        return false;
    struct marey_new_slice slice = {
        .start_ns = found->ts_ns,
        .dur_ns = found->dur_ns,
        .offset = offset,
        .correlation = found->id,
        .track_idx = template->to.track_idx,
        .name_id = found->name_id,
        .cat_id = template->to.cat_id,
        .has_correlation = template->is_tied && template->launch.has_correlation,
    };
    if (template->reads_launch) {
        slice.correlation = found->launch.correlation;
        slice.has_correlation = template->is_tied && found->launch.has_correlation;
        slice.track_idx = track_of(kineto, template, &found->launch);
    }
    marey__builder_add_slice(kineto->builder, &slice);
    return true;
}

static inline bool add_matched(struct marey_kineto *kineto, struct marey_template *template,
                               const struct matched *found, uint64_t offset)
{
    const char phase = template->to.phase;

    if (phase == 'X') {
        if (!add_matched_slice(kineto, template, found, offset))
            return false;
    } else if (phase == 'M') {
        marey__builder_add_meta_record(kineto->builder, &template->meta);
        kineto->n_metadata++;
    } else {
        const struct marey_new_point point = {
            .ts_ns = found->ts_ns,
            .offset = offset,
            .track_idx = template->to.track_idx,
            .name_id = template->to.name_id,
            .cat_id = template->to.cat_id,
            .scope = template->to.scope,
        };
        if (phase == 'C')
            marey__builder_add_counter(kineto->builder, &point);
        else if (phase == 'i')
            marey__builder_add_instant(kineto->builder, &point);
        else
            marey__builder_add_flow(kineto->builder, &point, found->id, phase);
    }
    kineto->n_records++;
    kineto->n_events += phase != 'M';
    return true;
}

/* Tries the two templates that followed the last one before, then all. */
static inline const char *walk_learned(struct marey_walk *walk, struct scan *scan, const char *at)
{
    struct marey_template *last = &walk->templates[walk->predicted];
    struct marey_names *names = &walk->kineto->names;
    struct matched found;
    const uint32_t n_tries = walk->n_templates + 2;

    found.id = 0;
    for (uint32_t i = 0; i < n_tries; i++) {
        const uint32_t chosen = i < 2 ? last->next[i] : i - 2;
        struct marey_template *template = &walk->templates[chosen];
        const char *end = match(scan, names, template, at, &found);
        if (end == NULL)
            continue;
        if (i > 0) {
            last->next[1] = last->next[0];
            last->next[0] = chosen;
        }
        walk->predicted = chosen;
        const uint64_t offset = walk->text_offset + (uint64_t)(at - walk->text);
        return add_matched(walk->kineto, template, &found, offset) ? end : NULL;
    }
    return NULL;
}

/* ---- generic --------------------------------------------------------------------------- */

static void widen_correlation(const struct marey_value *wide, struct marey_launch_args *launch)
{
    const bool is_id = (wide->type == MAREY_VALUE_NUMBER && wide->text.ptr[0] != '-') ||
                       (wide->type == MAREY_VALUE_STRING && wide->text.len > 0);

    if (!is_id)
        return;
    launch->has_correlation = true;
    launch->correlation = marey__kineto_id64(wide);
}

static const char *walk_generic(struct marey_walk *walk, struct scan *scan, const char *at)
{
    struct marey_kineto *kineto = walk->kineto;
    struct marey_fields fields;
    struct marey_launch_args launch;
    struct marey_value wide = {.type = MAREY_VALUE_NONE};
    enum marey_kind kind = MAREY_KIND_OTHER;
    const char *end = scan_record(scan, at, &fields);

    if (end == NULL)
        return NULL;
    fields.offset = walk->text_offset + (uint64_t)(at - walk->text);
    (void)marey__kineto_category(kineto, &fields.value[MAREY_FIELD_CAT], &kind);
    const struct marey_value *args = &fields.value[MAREY_FIELD_ARGS];
    const bool has_launch = args->type == MAREY_VALUE_OBJECT && marey__kineto_wants_args(kind);
    if (has_launch) {
        const char *args_end = scan_launch_args(scan, args->text.ptr, &launch, &wide);
        if (args_end == NULL)
            return NULL;
        if (args_end != args->text.ptr + args->text.len)
            return stop_at(scan, args_end);
        widen_correlation(&wide, &launch);
    }
    const char *broken = marey__kineto_add(kineto, &fields, has_launch ? &launch : NULL);
    if (broken != NULL) {
        walk->broken = broken;
        return stop_at(scan, at);
    }
    if (walk->uses_templates && wide.type == MAREY_VALUE_NONE)
        marey__template_learn(walk, &fields, has_launch ? &launch : NULL, at, end);
    return end;
}

/* ---- the list ---------------------------------------------------------------------------- */

static enum marey_walk_stop stop_walk(struct marey_walk *walk, const char *fail)
{
    walk->fail = fail < walk->end ? fail : walk->end;
    if (walk->broken == NULL && !walk->is_last_window &&
        walk->end - walk->fail < MAREY_WALK_TAIL_BYTES)
        return MAREY_WALK_MORE;
    return MAREY_WALK_BROKEN;
}

/* From the comma behind a record to what follows. Writers put the same few bytes between
 * all records, so these are compared first. */
static inline const char *pass_comma(struct marey_walk *walk, const char *at)
{
    if (equal32(at, walk->gap, walk->gap_mask))
        return at + walk->gap_len;
    const char *next = skip_space(at + 1);
    const size_t len = (size_t)(next - at);
    if (len < sizeof walk->gap && *next == '{') {
        memcpy(walk->gap, at, len + 1); /* with the brace, so that white space ends here */
        walk->gap_len = (uint32_t)len;
        walk->gap_mask = (uint32_t)((UINT64_C(1) << (len + 1)) - 1);
    }
    return next;
}

static enum marey_walk_stop walk_list(struct marey_walk *walk)
{
    struct scan scan = {.end = walk->end};

    walk->broken = NULL;
    for (;;) {
        const char *at = *walk->at == ',' ? walk->at : skip_space(walk->at);
        if (*at == ']') {
            walk->at = at + 1;
            return MAREY_WALK_END;
        }
        if (!walk->is_first) {
            if (*at != ',')
                return stop_walk(walk, at);
            at = pass_comma(walk, at);
        }
        if (*at != '{')
            return stop_walk(walk, at);

        const char *end = walk->n_templates > 0 ? walk_learned(walk, &scan, at) : NULL;
        if (end == NULL)
            end = walk_generic(walk, &scan, at);
        if (end == NULL)
            return stop_walk(walk, scan.fail);
        walk->at = end;
        walk->is_first = false;
    }
}

/* ---- for the document and the provider ----------------------------------------------------- */

static const char *value_at(const char *at, const char *end, struct marey_value *value,
                            const char **fail)
{
    struct scan scan = {.end = end};
    const char *next = scan_value(&scan, at, value);

    if (next == NULL)
        *fail = scan.fail;
    return next;
}

static const char *args_at(const char *at, const char *end, struct marey_str *args,
                           const char **fail)
{
    struct scan scan = {.end = end};
    struct marey_fields fields;

    *fail = at;
    if (*at != '{')
        return NULL;
    const char *next = scan_record(&scan, at, &fields);
    if (next == NULL) {
        *fail = scan.fail;
        return NULL;
    }
    const struct marey_value *value = &fields.value[MAREY_FIELD_ARGS];
    *args = value->type == MAREY_VALUE_OBJECT ? value->text : (struct marey_str){NULL, 0};
    return next;
}

const struct marey_scanner SCANNER = {
    .name = SCANNER_NAME,
    .walk = walk_list,
    .value = value_at,
    .args = args_at,
};

#endif
