/*
 * walk_body.h - the loop over records: templates first, then the generic way.
 *
 * Included after simd_*.h and scan_body.h; SCANNER_NAME is the word for this build of it
 * and SCANNER the constant it defines.
 */
#ifndef MAREY_SRC_IMPORT_WALK_BODY_H
#define MAREY_SRC_IMPORT_WALK_BODY_H

#include "import/match_body.h"
#include "import/resync.h"

enum { NAMES_AHEAD = 8 };

/* ---- learned ------------------------------------------------------------------------- */

/* A matched record on its way into the builder. */
struct found {
    const struct marey_match *match;
    const struct marey_launch_args *launch;
    const char *text; /* where the places of the match count from */
    uint64_t offset;
};

static inline bool same_text(const char *a, const char *b, size_t len)
{
    for (; len > 32; len -= 32, a += 32, b += 32)
        if (!equal32(a, b, UINT32_MAX))
            return false;
    return equal32(a, b, (uint32_t)((UINT64_C(1) << len) - 1));
}

/* The id of a name, MAREY_NONE if it is damaged: the ledger is not for here. Nothing but the name
 * can be new in a record that a template fits, so ids come in the order of the generic way. */
static inline uint32_t name_of(struct marey_names *names, const struct found *found)
{
    const struct marey_str raw = {found->text + found->match->name_at, found->match->name_len};
    const uint64_t hash = found->match->name_hash;
    const size_t mask = names->n_slots - 1;
    const struct marey_name *name = &names->slot[(size_t)hash & mask];

    while (name->raw != NULL &&
           (name->hash != hash || name->len != raw.len || !same_text(name->raw, raw.ptr, raw.len)))
        name = &names->slot[((size_t)(name - names->slot) + 1) & mask];
    if (name->raw == NULL)
        name = marey__names_add(names, raw, memchr(raw.ptr, '\\', raw.len) != NULL, hash);
    return name == NULL || name->damage != 0 ? MAREY_NONE : name->id;
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
                                     const struct found *found)
{
    const struct marey_match *match = found->match;

    if (match->ts_ns > MAREY_TIME_LIMIT_NS - match->dur_ns ||
        (template->is_operation && match->ts_ns == 0 && match->dur_ns == 0))
        return false;
    struct marey_new_slice slice = {
        .start_ns = match->ts_ns,
        .dur_ns = match->dur_ns,
        .offset = found->offset,
        .correlation = match->id,
        .track_idx = template->to.track_idx,
        .name_id = name_of(&kineto->names, found),
        .cat_id = template->to.cat_id,
        .has_correlation = template->is_tied && template->launch.has_correlation,
    };
    if (slice.name_id == MAREY_NONE)
        return false;
    if (template->reads_launch) {
        slice.correlation = found->launch->correlation;
        slice.has_correlation = template->is_tied && found->launch->has_correlation;
        slice.track_idx = track_of(kineto, template, found->launch);
    }
    marey__builder_add_slice(kineto->builder, &slice);
    return true;
}

static inline bool add_matched(struct marey_walk *walk, const struct found *found)
{
    struct marey_kineto *kineto = walk->kineto;
    struct marey_template *template = &walk->learnt->template[found->match->template_idx];
    const char phase = template->to.phase;

    if (phase == 'X') {
        if (!add_matched_slice(kineto, template, found))
            return false;
    } else if (phase == 'M') {
        marey__builder_add_meta_record(kineto->builder, &template->meta);
        kineto->n_metadata++;
    } else {
        const struct marey_new_point point = {
            .ts_ns = found->match->ts_ns,
            .offset = found->offset,
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
            marey__builder_add_flow(kineto->builder, &point,
                                    marey_part_flow_id(&kineto->part, found->match->id), phase);
    }
    kineto->n_records++;
    kineto->n_events += phase != 'M';
    return true;
}

/* ---- the check -----------------------------------------------------------------------------
 */

/* Looks at a record unless somebody has done so who was ahead and found the same end. */
static void look_at(struct marey_walk *walk, const char *at, const char *end)
{
    const struct marey_match *ahead = walk->ahead;

    if (ahead != NULL && ahead->damage != MAREY_UNCHECKED && end == walk->batch_text + ahead->end)
        walk->checker->found = ahead->damage;
    else
        check_or_know(walk->checker, at, end);
}

/* What is wrong inside a record that was set aside changes nothing that is used. */
static void check_walked(struct marey_walk *walk, const char *at, const char *end, bool is_learned)
{
    look_at(walk, at, end);
    walk->kineto->damage |= walk->checker->found;
    if (walk->checker->found == 0 || (!is_learned && walk->kineto->last.is_set_aside))
        return;
    if (is_learned)
        marey__checker_begin(walk->checker); /* such a record had nothing to be noted */
    marey__checker_end(walk->checker, walk->text_offset + (uint64_t)(at - walk->text));
}

/* ---- generic --------------------------------------------------------------------------- */

static void widen_correlation(struct marey_kineto *kineto, const struct marey_value *wide,
                              struct marey_launch_args *launch)
{
    const bool is_id = (wide->type == MAREY_VALUE_NUMBER && wide->text.ptr[0] != '-') ||
                       (wide->type == MAREY_VALUE_STRING && wide->text.len > 0);

    if (!is_id)
        return;
    launch->has_correlation = true;
    launch->correlation = marey__kineto_id64(kineto, wide);
}

/* Whether a record in a list, behind which that does not go on, ends with the document: a list in
 * it lacks its bracket and has taken that of the records, so that those behind it are in it. */
static bool swallows_list(const struct marey_walk *walk, const char *at, const char *end)
{
    const char *next = skip_space(end);

    return !walk->is_bare && *next != ',' && *next != ']' &&
           marey__resync_torn(at, end, end) != NULL;
}

static const char *walk_generic(struct marey_walk *walk, struct scan *scan, const char *at,
                                bool learns)
{
    struct marey_kineto *kineto = walk->kineto;
    struct marey_fields fields;
    struct marey_launch_args launch;
    struct marey_value wide = {.type = MAREY_VALUE_NONE};
    enum marey_kind kind = MAREY_KIND_OTHER;

    /* The value of a list in a record would be looked for up to the end of the text. */
    if ((walk->is_first ? marey__resync_begins_trace(at, walk->end)
                        : marey__resync_is_document(at, walk->end)) &&
        !marey__resync_is_element(at, walk->end)) {
        walk->broken = "another document where a record is to begin";
        walk->meets_document = true;
        return stop_at(scan, at);
    }
    const char *end = scan_record(scan, at, &fields);
    if (end == NULL)
        return NULL;
    if (*end != ',' && swallows_list(walk, at, end))
        return stop_at(scan, skip_space(end));
    fields.offset = walk->text_offset + (uint64_t)(at - walk->text);
    (void)marey__kineto_category(kineto, &fields.value[MAREY_FIELD_CAT], &kind);
    const struct marey_value *args = &fields.value[MAREY_FIELD_ARGS];
    const bool has_launch = args->type == MAREY_VALUE_OBJECT && marey__kineto_wants_args(kind);
    if (has_launch) {
        fields.has_broken_args =
            !scan_launch_args(args->text.ptr, args->text.ptr + args->text.len, &launch, &wide);
        widen_correlation(kineto, &wide, &launch);
    }
    if (walk->checker != NULL)
        marey__checker_begin(walk->checker);
    const char *broken = marey__kineto_add(kineto, &fields, has_launch ? &launch : NULL);
    if (broken != NULL) {
        walk->broken = broken;
        return stop_at(scan, at);
    }
    if (learns && walk->uses_templates && wide.type == MAREY_VALUE_NONE)
        marey__template_learn(walk, &fields, has_launch ? &launch : NULL, at, end);
    if (walk->checker != NULL)
        check_walked(walk, at, end, false);
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

/* The record at `at`, the shorter way if it can be gone. */
static inline const char *walk_record(struct marey_walk *walk, struct scan *scan, const char *at)
{
    struct marey_match match;
    struct marey_launch_args launch;
    const struct found found = {&match, &launch, at,
                                walk->text_offset + (uint64_t)(at - walk->text)};
    const char *end = match_record(walk, scan, at, at, &match, &launch);

    if (end == NULL)
        return walk_generic(walk, scan, at, true);
    if (!add_matched(walk, &found))
        return walk_generic(walk, scan, at, false);
    if (walk->checker != NULL)
        check_walked(walk, at, end, true);
    return end;
}

/* A record of the batch. A template that came later, or none: what was found is void. */
static inline const char *walk_matched(struct marey_walk *walk, struct scan *scan,
                                       const struct marey_match *match)
{
    const struct marey_batch *batch = walk->batch;
    const char *at = walk->batch_text + match->at;
    const uint32_t i = match->template_idx;

    if (i >= walk->learnt->n || walk->learnt->template[i].born > batch->version)
        return walk_record(walk, scan, at);
    const bool has_launch = walk->learnt->template[i].reads_launch;
    const struct found found = {match, has_launch ? &batch->launch[match->id] : NULL,
                                walk->batch_text, walk->text_offset + (uint64_t)(at - walk->text)};
    if (!add_matched(walk, &found))
        return walk_generic(walk, scan, at, false);
    if (walk->checker != NULL)
        check_walked(walk, at, walk->batch_text + match->end, true);
    return walk->batch_text + match->end;
}

/* True if somebody has scanned the record at `at` and those behind it. */
static inline bool begins_batch(const struct marey_walk *walk, const char *at)
{
    return walk->batch != NULL && walk->batch->n > 0 &&
           at == walk->batch_text + walk->batch->match[0].at;
}

/* The text may lie in the cache of who scanned it: names are asked for some records ahead. */
static bool walk_batch(struct marey_walk *walk, struct scan *scan)
{
    const struct marey_batch *batch = walk->batch;

    for (size_t i = 0; i < batch->n; i++) {
        const struct marey_match *later =
            &batch->match[i + NAMES_AHEAD < batch->n ? i + NAMES_AHEAD : i];
        __builtin_prefetch(walk->batch_text + later->at);
        __builtin_prefetch(walk->batch_text + later->at + 64);
        walk->ahead = &batch->match[i];
        const char *end = walk_matched(walk, scan, walk->ahead);
        walk->ahead = NULL;
        if (end == NULL)
            return false;
        walk->at = end;
        walk->is_first = false;
        if (walk->kineto->part.is_pending)
            break;
    }
    return true;
}

static enum marey_walk_stop walk_list(struct marey_walk *walk)
{
    struct scan scan = {.end = walk->end};

    walk->broken = NULL;
    walk->meets_document = false;
    for (;;) {
        const char *at = *walk->at == ',' ? walk->at : skip_space(walk->at);
        if (*at == ']') {
            walk->at = at + 1;
            return MAREY_WALK_END;
        }
        if (!walk->is_first) {
            if (*at == ',')
                at = pass_comma(walk->learnt, at);
            else if (!walk->is_bare || *at != '{')
                return stop_walk(walk, at);
        }
        if (*at != '{')
            return stop_walk(walk, at);

        if (begins_batch(walk, at)) {
            if (!walk_batch(walk, &scan))
                return stop_walk(walk, scan.fail);
        } else {
            const char *end = walk_record(walk, &scan, at);
            if (end == NULL)
                return stop_walk(walk, scan.fail);
            walk->at = end;
            walk->is_first = false;
        }
        if (walk->kineto->part.is_pending)
            return MAREY_WALK_PART;
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
    .scan_ahead = scan_ahead,
    .value = value_at,
    .args = args_at,
    .check = check_or_know,
};

#endif
