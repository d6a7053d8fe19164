/*
 * chrome_shown.c - what of a trace is written when it is repaired or scrubbed.
 *
 * Text of the file goes through chrome_strict first, which bounds its depth, then through
 * scrub's lists. Without either it is written as ever (chrome_value.c).
 */
#include "export/chrome.h"

#include "base/error.h"
#include "base/json.h"
#include "trace/written.h"

#define OWN_SCRUBBED "mareyScrubbed"
#define OWN_MENDED "mareyMended"

/* ---- text of the file ---- */

static void count_mended(struct marey_chrome *chrome, struct marey_chrome_mended mended)
{
    chrome->mended.n_scalars += mended.n_scalars;
    chrome->mended.n_texts += mended.n_texts;
}

void marey__chrome_add_text(struct marey_chrome *chrome, struct marey_str text)
{
    if (chrome->repairs)
        count_mended(chrome, marey__chrome_add_strict(&chrome->out, text));
    else
        chrome->mended.n_scalars += marey__chrome_add_value(&chrome->out, text);
}

void marey__chrome_add_strict_text(struct marey_chrome *chrome, struct marey_str text)
{
    count_mended(chrome, marey__chrome_add_strict(&chrome->out, text));
}

static struct marey_str view_of(struct marey_chrome *chrome, const struct marey_textbuf *text)
{
    chrome->out.failed |= text->failed;
    return (struct marey_str){text->ptr, text->len};
}

/* The text in a form that the cursor reads to its end. */
static struct marey_str make_strict(struct marey_chrome *chrome, struct marey_str text)
{
    marey__text_reset(&chrome->strict);
    count_mended(chrome, marey__chrome_add_strict(&chrome->strict, text));
    return view_of(chrome, &chrome->strict);
}

struct marey_str marey__chrome_shown_args(struct marey_chrome *chrome, struct marey_str args,
                                          bool is_counter)
{
    if (!chrome->scrubs || args.ptr == NULL)
        return args;
    const struct marey_str strict = make_strict(chrome, args);
    marey__text_reset(&chrome->shown);
    const bool is_any =
        marey__scrub_object(&chrome->scrub, is_counter ? MAREY_SCRUB_COUNTER : MAREY_SCRUB_ARGS,
                            strict, &chrome->shown);
    const struct marey_str shown = view_of(chrome, &chrome->shown);
    return is_any ? shown : (struct marey_str){NULL, 0};
}

bool marey__chrome_shown_meta_args(struct marey_chrome *chrome,
                                   const struct marey_meta_record *record, struct marey_str *args)
{
    *args = marey_trace_string(chrome->trace, record->args_id);
    if (!chrome->scrubs)
        return true;
    if (args->ptr == NULL)
        return false;
    const struct marey_str strict = make_strict(chrome, *args);
    marey__text_reset(&chrome->shown);
    const bool is_any = marey__scrub_meta_args(
        &chrome->scrub, marey_trace_string(chrome->trace, record->name_id), strict, &chrome->shown);
    *args = view_of(chrome, &chrome->shown);
    return is_any;
}

bool marey__chrome_shows_record(struct marey_chrome *chrome, const struct marey_meta_record *record)
{
    const struct marey_chrome_mended mended = chrome->mended; /* counted when it is written */
    struct marey_str args;
    const bool is_shown = marey__chrome_shown_meta_args(chrome, record, &args);
    chrome->mended = mended;
    return is_shown;
}

/* ---- members of heads ---- */

bool marey__chrome_shown_make(struct marey_chrome *chrome)
{
    size_t n = 0;
    const struct marey_meta *meta = marey_trace_metas(chrome->trace, &n);
    marey__hashmap_init(&chrome->last_meta, &chrome->alloc);
    marey__scrub_init(&chrome->scrub, &chrome->alloc);
    for (size_t i = 0; chrome->repairs && i < n; i++) {
        uint32_t *last = marey__hashmap_put(&chrome->last_meta,
                                            (uint64_t)meta[i].source_idx << 32 | meta[i].key_id);
        if (last == NULL)
            return false;
        *last = (uint32_t)i;
    }
    if (!chrome->scrubs)
        return true;
    chrome->short_name =
        marey__alloc_zero(&chrome->alloc, chrome->n_strings, sizeof *chrome->short_name);
    return chrome->short_name != NULL && marey__chrome_names_make(chrome) &&
           marey__chrome_ids_make(chrome);
}

void marey__chrome_shown_release(struct marey_chrome *chrome)
{
    marey__dealloc(&chrome->alloc, chrome->name_flags, chrome->n_strings, 1);
    marey__dealloc(&chrome->alloc, chrome->short_name, chrome->n_strings,
                   sizeof *chrome->short_name);
    marey__hashmap_release(&chrome->last_meta);
    marey__scrub_release(&chrome->scrub);
    marey__text_release(&chrome->shown);
    marey__text_release(&chrome->strict);
}

/* {"scalars": 3, "texts": 1}; false for anything else. */
static bool read_mended(struct marey_str text, struct marey_chrome_mended *mended)
{
    struct marey_json json = marey__json(text);
    struct marey_str key;
    if (!marey__json_enter(&json, '{'))
        return false;
    while (marey__json_key(&json, &key)) {
        int64_t n = 0;
        if (!marey__json_i64(&json, &n) || n < 0)
            return false;
        if (marey__str_is_c(key, "scalars"))
            mended->n_scalars += (uint64_t)n;
        else if (marey__str_is_c(key, "texts"))
            mended->n_texts += (uint64_t)n;
        else
            return false;
    }
    return !json.failed;
}

bool marey__chrome_was_mended(struct marey_chrome *chrome, size_t i,
                              struct marey_chrome_mended *before)
{
    size_t n = 0;
    const struct marey_meta *meta = &marey_trace_metas(chrome->trace, &n)[i];
    struct marey_chrome_mended mended = {0};
    if (meta->source_idx + 1 != chrome->n_sources ||
        !marey__str_is_c(marey_trace_string(chrome->trace, meta->key_id), OWN_MENDED))
        return false;
    if (!read_mended(marey_trace_string(chrome->trace, meta->json_id), &mended))
        mended = (struct marey_chrome_mended){.n_texts = 1}; /* ours stands in its place */
    before->n_scalars += mended.n_scalars;
    before->n_texts += mended.n_texts;
    return true;
}

/* Members that the writer makes itself, or that would be taken for the list. */
static bool is_own(const struct marey_chrome *chrome, struct marey_str key)
{
    return marey__str_is_c(key, "traceEvents") || marey__str_is_c(key, OWN_MENDED) ||
           (chrome->scrubs && marey__str_is_c(key, OWN_SCRUBBED));
}

bool marey__chrome_is_bad_base(const struct marey_chrome *chrome, const struct marey_meta *meta)
{
    const struct marey_source *source = &chrome->sources[meta->source_idx];
    struct marey_str text = marey_trace_string(chrome->trace, meta->json_id);
    int64_t base_ns = 0;
    if (!marey__chrome_is_base(marey_trace_string(chrome->trace, meta->key_id)))
        return false;
    if (text.len > 1 && text.ptr[0] == '"')
        text = (struct marey_str){text.ptr + 1, text.len - 2};
    const bool is_number = marey__decimal_scaled(text, 0, &base_ns);
    return is_number ? base_ns != source->base_ns
                     : source->base_ns != 0 || !marey__str_is_c(text, "null");
}

bool marey__chrome_shows_member(struct marey_chrome *chrome, size_t i)
{
    size_t n = 0;
    const struct marey_meta *meta = &marey_trace_metas(chrome->trace, &n)[i];
    const struct marey_str key = marey_trace_string(chrome->trace, meta->key_id);
    struct marey_chrome_mended before = {0};
    if (marey__chrome_was_mended(chrome, i, &before) ||
        marey__written_read(key, marey_trace_string(chrome->trace, meta->json_id), NULL) ||
        (marey__chrome_is_bad_base(chrome, meta) && chrome->sources[meta->source_idx].base_ns == 0))
        return false;
    if ((chrome->has_left_out && marey__str_is_c(key, MAREY_WRITTEN_LEFT_OUT)) ||
        (chrome->has_repaired && marey__str_is_c(key, MAREY_WRITTEN_REPAIRED)))
        return false;
    if (!chrome->repairs)
        return true;
    if (marey__hashmap_get(&chrome->last_meta, (uint64_t)meta->source_idx << 32 | meta->key_id) !=
            i ||
        is_own(chrome, key))
        return false;
    if (!chrome->scrubs)
        return true;
    const struct marey_chrome_mended mended = chrome->mended; /* counted when it is written */
    const struct marey_str text =
        make_strict(chrome, marey_trace_string(chrome->trace, meta->json_id));
    marey__text_reset(&chrome->shown);
    const bool is_shown = marey__scrub_member(&chrome->scrub, key, text, &chrome->shown);
    chrome->mended = mended;
    (void)view_of(chrome, &chrome->shown); /* only for want of memory */
    return is_shown;
}

void marey__chrome_add_member_value(struct marey_chrome *chrome, struct marey_str key,
                                    struct marey_str text)
{
    if (marey__chrome_has_odd_ranks(key, text)) {
        const struct marey_str strict = make_strict(chrome, text);
        marey__text_reset(&chrome->shown);
        marey__chrome_add_ranks(strict, &chrome->shown);
        text = view_of(chrome, &chrome->shown);
    }
    if (chrome->scrubs)
        (void)marey__scrub_member(&chrome->scrub, key, make_strict(chrome, text), &chrome->out);
    else
        marey__chrome_add_json(chrome, text);
}

/* ---- what was repaired ---- */

bool marey_chrome_mends(const struct marey_ledger_row *row)
{
    static const char *const findings[] = {
        "truncated",     "bad_gzip",           "bad_metadata", "joined_documents",
        "name_mismatch", "clock_stepped_back", "bad_args",     "bad_dur"};
    if (row->map == MAREY_LEDGER_REPAIRED)
        return true;
    for (size_t i = 0; i < sizeof findings / sizeof findings[0]; i++)
        if (strcmp(row->reason, findings[i]) == 0)
            return true;
    return false;
}

/* What the file shows again as it was, unless it is written for strict readers. */
static bool is_shown_again(enum marey_reason reason)
{
    return reason == MAREY_REASON_DUPLICATE_KEY || reason == MAREY_REASON_WILD_DURATION;
}

/* How often a reason was met that the file does not show any more. */
static uint64_t count_now(const struct marey_chrome *chrome, const struct marey_ledger *ledger,
                          enum marey_reason reason)
{
    const struct marey_ledger_row *row = NULL;
    for (size_t i = 0; i < ledger->n_rows && row == NULL; i++)
        if (ledger->rows[i].reason == marey__reason_name(reason))
            row = &ledger->rows[i];
    if (row == NULL)
        return 0;
    if (marey__written_is_left_out(reason))
        return marey__chrome_left_out_of(chrome, row);
    if (reason == MAREY_REASON_LET_GO) /* no text shows what is not there */
        return row->count;
    return marey_chrome_mends(row) && (chrome->repairs || !is_shown_again(reason)) ? row->count : 0;
}

static uint64_t count_before(const struct marey_ledger *ledger, enum marey_reason reason)
{
    for (size_t i = 0; i < ledger->n_before; i++)
        if (ledger->before[i].reason == marey__reason_name(reason))
            return ledger->before[i].count;
    return 0;
}

/* What is in the file again at times: half a character of UTF-16 in args, which convert keeps as it
 * is, while all other text that is no UTF-8 becomes U+FFFD. */
static bool may_be_shown_again(enum marey_reason reason)
{
    return reason == MAREY_REASON_CLOCK_STEPPED_BACK || reason == MAREY_REASON_NAME_MISMATCH ||
           reason == MAREY_REASON_BAD_METADATA || reason == MAREY_REASON_BAD_UTF8;
}

/* That is not counted anew each time it is written. */
static uint64_t count_all(const struct marey_chrome *chrome, const struct marey_ledger *ledger,
                          enum marey_reason reason)
{
    const uint64_t now = count_now(chrome, ledger, reason);
    const uint64_t before = count_before(ledger, reason);
    if (!may_be_shown_again(reason))
        return now + before;
    return now > before ? now : before;
}

/* Adds a member of counts by reason, of now and of the writings before; false if there are none. */
static bool add_counts(struct marey_chrome *chrome, const struct marey_ledger *ledger,
                       const char *key, bool is_left_out)
{
    bool is_any = false;
    for (int i = 0; i < MAREY_N_REASONS; i++) {
        const enum marey_reason reason = (enum marey_reason)i;
        const uint64_t n = count_all(chrome, ledger, reason);
        if (n == 0 || marey__written_is_left_out(reason) != is_left_out)
            continue;
        if (is_any)
            marey__text_add_c(&chrome->scratch, ", ");
        else
            marey__text_add_format(&chrome->scratch, "  \"%s\": {", key);
        marey__text_add_format(&chrome->scratch, "\"%s\": ", marey__reason_name(reason));
        marey__text_add_u64(&chrome->scratch, n);
        is_any = true;
    }
    if (is_any)
        marey__text_add_c(&chrome->scratch, "},\n");
    return is_any;
}

enum marey_status marey__chrome_own_members(struct marey_chrome *chrome)
{
    struct marey_ledger ledger;
    MAREY_TRY(marey_trace_ledger(chrome->trace, &ledger, chrome->err));
    marey__text_reset(&chrome->scratch);
    chrome->has_left_out = add_counts(chrome, &ledger, MAREY_WRITTEN_LEFT_OUT, true);
    chrome->has_repaired = add_counts(chrome, &ledger, MAREY_WRITTEN_REPAIRED, false);
    if (chrome->scrubs)
        marey__text_add_c(&chrome->scratch, "  \"" OWN_SCRUBBED "\": 1,\n");
    chrome->out.failed |= chrome->scratch.failed;
    return MAREY_OK;
}

/* ---- names and ids: they stand beside args, which are in `shown` ---- */

struct marey_chrome_piece marey__chrome_shown_name(struct marey_chrome *chrome, uint32_t name_id)
{
    if (!chrome->scrubs || name_id >= chrome->n_strings)
        return marey__chrome_name(chrome, name_id);
    struct marey_chrome_piece *piece = &chrome->short_name[name_id];
    if (piece->ptr == NULL) {
        marey__text_reset(&chrome->strict);
        marey__chrome_add_name(chrome, name_id, &chrome->strict);
        *piece = marey__chrome_make_shown_name(chrome, view_of(chrome, &chrome->strict));
    }
    return *piece;
}

struct marey_str marey__chrome_shown_category(struct marey_chrome *chrome, uint32_t string_id)
{
    const struct marey_str text = marey_trace_string(chrome->trace, string_id);
    if (!chrome->scrubs || text.ptr == NULL)
        return text;
    marey__text_reset(&chrome->strict);
    marey__scrub_category(&chrome->scrub, text, &chrome->strict);
    return view_of(chrome, &chrome->strict);
}

struct marey_str marey__chrome_shown_id(struct marey_chrome *chrome, uint32_t string_id)
{
    const struct marey_str text = marey_trace_string(chrome->trace, string_id);
    if (!chrome->scrubs || text.ptr == NULL)
        return text;
    marey__text_reset(&chrome->strict);
    marey__scrub_id(&chrome->scrub, text, &chrome->strict);
    const struct marey_str shown = view_of(chrome, &chrome->strict);
    char *kept =
        chrome->strict.failed ? NULL : marey__arena_take_bytes(&chrome->arena, shown.len + 1);
    chrome->out.failed |= kept == NULL;
    if (kept == NULL)
        return (struct marey_str){NULL, 0};
    if (shown.len > 0)
        memcpy(kept, shown.ptr, shown.len);
    return (struct marey_str){kept, shown.len};
}
