/*
 * chrome_head.c - what stands around the records.
 *
 *     {
 *       "schemaVersion": 1, ...            members in their order, but for traceName
 *       "mareyLeftOut": {"unknown_ph": 2}, what is not written, now or before (trace/written.h)
 *       "traceEvents": [
 *       metadata records, records, flows
 *       ],
 *       "mareyMended": {"scalars": 3},     only if args had scalars that are no JSON; "texts" too
 *       "traceName": "..."
 *     }
 *
 * Nothing is added to a file that lacks a member: what is read back is what was read.
 */
#include "export/chrome.h"

#include "base/error.h"
#include "base/json.h"

#define LAST_MEMBER "traceName"

/* ---- members ---- */

/* A value without an end becomes a string: it keeps its text, and the file stays whole. Another
 * that is no JSON, apart from its scalars, is mended: a reader would end there, and lose what
 * follows. */
void marey__chrome_add_json(struct marey_chrome *chrome, struct marey_str text)
{
    struct marey_json json = marey__json(text);
    marey__json_skip(&json);
    size_t wrong = 0;
    if (!chrome->repairs && (json.failed || marey__json_peek(&json) != '\0')) {
        marey__text_add_json(&chrome->out, text);
        return;
    }
    const size_t from = chrome->out.len;
    const struct marey_chrome_mended before = chrome->mended;
    marey__chrome_add_text(chrome, text);
    if (chrome->repairs || chrome->out.failed ||
        marey__json_check((struct marey_str){chrome->out.ptr + from, chrome->out.len - from},
                          &wrong) == NULL)
        return;
    chrome->out.len = from;
    chrome->mended = before;
    marey__chrome_add_strict_text(chrome, text);
}

static bool is_last_member(const struct marey_chrome *chrome, const struct marey_meta *meta,
                           bool is_final)
{
    return is_final && chrome->n_sources < 2 &&
           marey__str_is_c(marey_trace_string(chrome->trace, meta->key_id), LAST_MEMBER);
}

void marey__chrome_add_member(struct marey_chrome *chrome, const struct marey_meta *meta)
{
    marey__text_add_json(&chrome->out, marey_trace_string(chrome->trace, meta->key_id));
    marey__text_add_c(&chrome->out, ": ");
    if (marey__chrome_is_bad_base(chrome, meta) || marey__chrome_is_odd_base(chrome, meta))
        marey__text_add_i64(&chrome->out, chrome->sources[meta->source_idx].base_ns);
    else
        marey__chrome_add_member_value(chrome, marey_trace_string(chrome->trace, meta->key_id),
                                       marey_trace_string(chrome->trace, meta->json_id));
}

/* ---- what is left out ---- */

uint64_t marey__chrome_left_out_of(const struct marey_chrome *chrome,
                                   const struct marey_ledger_row *row)
{
    if (row->map != MAREY_LEDGER_QUARANTINED)
        return row->count; /* held nowhere */
    uint64_t n = row->count;
    for (size_t i = 0; i < chrome->n_quarantined; i++)
        n -= n > 0 && strcmp(chrome->quarantined[i].reason, row->reason) == 0 &&
             marey__chrome_can_write(chrome, &chrome->quarantined[i]);
    return n;
}

/* ---- metadata records ---- */

static void add_id(struct marey_chrome *chrome, const char *key, struct marey_str text)
{
    if (text.ptr == NULL)
        return;
    marey__text_add_c(&chrome->out, key);
    marey__chrome_add_id(&chrome->out, text);
}

static void add_meta_record(struct marey_chrome *chrome, const struct marey_meta_record *record)
{
    struct marey_textbuf *out = &chrome->out;
    struct marey_str args;
    if (!marey__chrome_shown_meta_args(chrome, record, &args))
        return;
    marey__text_add_c(out, chrome->is_first ? "  {\n    " : ",\n  {\n    ");
    chrome->is_first = false;
    const struct marey_chrome_piece name = marey__chrome_name(chrome, record->name_id);
    marey__text_add(out, name.ptr, name.len);
    marey__text_add_c(out, "\"ph\": \"M\"");
    if (record->ts_ns != MAREY_UNKNOWN) {
        marey__text_add_c(out, ", \"ts\": ");
        marey__text_add_us(out, (int64_t)((uint64_t)record->ts_ns - (uint64_t)chrome->base_ns));
    }
    add_id(chrome,
           ", \"pid\": ", marey__chrome_pid(chrome, record->source_idx, record->process_id));
    add_id(chrome, ", \"tid\": ", marey__chrome_shown_id(chrome, record->thread_id));
    if (args.ptr != NULL) {
        marey__text_add_c(out, ",\n    \"args\": ");
        if (!marey__chrome_named_args(chrome, record, args))
            marey__chrome_add_json(chrome, args);
    }
    marey__text_add_c(out, "\n  }");
}

/* ---- head and tail ---- */

enum marey_status marey__chrome_head(struct marey_chrome *chrome)
{
    size_t n_metas = 0;
    const struct marey_meta *meta = marey_trace_metas(chrome->trace, &n_metas);
    MAREY_TRY(marey__chrome_own_members(chrome));
    marey__text_add_c(&chrome->out, "{\n");
    for (size_t i = 0; i < n_metas; i++) {
        if (meta[i].source_idx > 0 || is_last_member(chrome, &meta[i], i + 1 == n_metas) ||
            !marey__chrome_shows_member(chrome, i))
            continue;
        marey__text_add_c(&chrome->out, "  ");
        marey__chrome_add_member(chrome, &meta[i]);
        marey__text_add_c(&chrome->out, ",\n");
    }
    marey__text_add(&chrome->out, chrome->scratch.ptr, chrome->scratch.len);
    marey__text_add_c(&chrome->out, "  \"traceEvents\": [\n");
    chrome->is_first = true;
    return MAREY_OK;
}

enum marey_status marey__chrome_meta_records(struct marey_chrome *chrome, uint32_t source_idx)
{
    size_t n = 0;
    const struct marey_meta_record *record = marey_trace_meta_records(chrome->trace, &n);
    for (; chrome->meta_from < n && record[chrome->meta_from].source_idx == source_idx;
         chrome->meta_from++)
        add_meta_record(chrome, &record[chrome->meta_from]);
    if (chrome->n_sources > 1)
        marey__chrome_add_names(chrome, source_idx);
    return marey__chrome_flush(chrome, 0);
}

/* What was mended, now and in the writings before this one. */
static void add_mended(struct marey_chrome *chrome)
{
    size_t n_metas = 0;
    struct marey_chrome_mended mended = chrome->mended;
    bool has_member = mended.n_scalars > 0 || mended.n_texts > 0;
    (void)marey_trace_metas(chrome->trace, &n_metas);
    for (size_t i = 0; i < n_metas; i++)
        has_member |= marey__chrome_was_mended(chrome, i, &mended);
    if (!has_member)
        return;
    marey__text_add_c(&chrome->out, ",\n  \"mareyMended\": {\"scalars\": ");
    marey__text_add_u64(&chrome->out, mended.n_scalars);
    if (mended.n_texts > 0) {
        marey__text_add_c(&chrome->out, ", \"texts\": ");
        marey__text_add_u64(&chrome->out, mended.n_texts);
    }
    marey__text_add_c(&chrome->out, "}");
}

enum marey_status marey__chrome_tail(struct marey_chrome *chrome)
{
    size_t n_metas = 0;
    const struct marey_meta *meta = marey_trace_metas(chrome->trace, &n_metas);
    marey__text_add_c(&chrome->out, "\n  ]");
    add_mended(chrome);
    if (n_metas > 0 && is_last_member(chrome, &meta[n_metas - 1], true) &&
        marey__chrome_shows_member(chrome, n_metas - 1)) {
        marey__text_add_c(&chrome->out, ",\n  ");
        marey__chrome_add_member(chrome, &meta[n_metas - 1]);
    }
    marey__text_add_c(&chrome->out, "\n}\n");
    return marey__chrome_flush(chrome, 0);
}
