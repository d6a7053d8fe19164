/*
 * chrome_names.c - how names are shown where a trace is scrubbed, so that its numbers stay.
 *
 * Of slices of one interval and kind without ids the one with the smaller name is around the other
 * (law 2), so that what stands for names has to be in their order: numbers are given in the order
 * of the texts, as many digits each. Where a number, or a file in place of a path, is not in order
 * with another name, both become numbers; that may bring others out of order, so it is done again.
 *
 *     a/b < m      "scrubbed 0" > "m", so "m" is a number too:      scrubbed 0 < scrubbed 1
 */
#include "export/chrome.h"
#include "trace/model.h"

/* After so many rounds all that is of one interval is numbered. */
#define MOST_ROUNDS 8

static struct marey_str text_of(const struct marey_chrome *chrome, uint32_t name_id)
{
    return marey_trace_string(chrome->trace, name_id);
}

static enum marey_scrub_how how_of(const struct marey_chrome *chrome, uint32_t name_id)
{
    const uint8_t flags = chrome->name_flags[name_id];
    if ((flags & MAREY_NAME_NUMBERED) != 0)
        return (flags & MAREY_NAME_CALL) != 0 ? MAREY_SCRUB_NUMBERED_CALL : MAREY_SCRUB_NUMBERED;
    return (flags & MAREY_NAME_CALL) != 0 ? MAREY_SCRUB_CALL : MAREY_SCRUB_ANY;
}

void marey__chrome_add_name(struct marey_chrome *chrome, uint32_t name_id,
                            struct marey_textbuf *out)
{
    marey__scrub_name(&chrome->scrub, text_of(chrome, name_id), how_of(chrome, name_id), out);
}

/* ---- which names there are ---- */

static void mark(struct marey_chrome *chrome, uint32_t name_id, unsigned flags)
{
    if (name_id < chrome->n_strings)
        chrome->name_flags[name_id] |= (uint8_t)(flags | MAREY_NAME_WRITTEN);
}

static void mark_names(struct marey_chrome *chrome)
{
    const struct marey_slices *slices = &chrome->slices;
    size_t n = 0;
    const struct marey_flow_label *label = marey_trace_flow_labels(chrome->trace, &n);
    for (size_t i = 0; i < slices->n; i++) {
        const enum marey_kind kind = chrome->categories[slices->cat_id[i]].kind;
        const bool is_call = kind == MAREY_KIND_RUNTIME || kind == MAREY_KIND_DRIVER;
        mark(chrome, slices->name_id[i], is_call ? MAREY_NAME_CALL : 0);
    }
    for (size_t i = 0; i < chrome->instants.n; i++)
        mark(chrome, chrome->instants.name_id[i], 0);
    for (size_t i = 0; i < chrome->counters.n; i++)
        mark(chrome, chrome->counters.name_id[i], 0);
    for (size_t i = 0; i < chrome->n_spans; i++)
        mark(chrome, chrome->spans[i].name_id, 0);
    for (size_t i = 0; i < n; i++)
        mark(chrome, label[i].name_id, 0);
}

/* ---- numbers ---- */

static bool number_names(struct marey_chrome *chrome)
{
    const size_t n = chrome->n_strings;
    struct marey_str *text = marey__alloc(&chrome->alloc, n, sizeof *text);
    size_t n_texts = 0;
    if (text == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        n_texts += (chrome->name_flags[i] & MAREY_NAME_WRITTEN) != 0 &&
                   marey__scrub_is_numbered(text_of(chrome, i), how_of(chrome, i), &text[n_texts]);
    const bool is_done =
        marey__scrub_number_all(&chrome->scrub.names, text, n_texts, &chrome->alloc);
    marey__dealloc(&chrome->alloc, text, n, sizeof *text);
    return is_done;
}

/* ---- order ---- */

/* Whether the names of two slices decide which of them is around the other, the first one. */
static bool is_by_name(const struct marey_chrome *chrome, size_t first, size_t second)
{
    const struct marey_slices *slices = &chrome->slices;
    const uint32_t a = slices->name_id[first];
    const uint32_t b = slices->name_id[second];
    return slices->start_ns[first] == slices->start_ns[second] &&
           slices->dur_ns[first] == slices->dur_ns[second] && slices->dur_ns[first] > 0 && a != b &&
           a < chrome->n_strings && b < chrome->n_strings &&
           marey__kind_rank(chrome->categories[slices->cat_id[first]].kind) ==
               marey__kind_rank(chrome->categories[slices->cat_id[second]].kind) &&
           marey__str_compare(text_of(chrome, a), text_of(chrome, b)) < 0;
}

static bool is_in_order(struct marey_chrome *chrome, uint32_t a, uint32_t b)
{
    marey__text_reset(&chrome->shown);
    marey__text_reset(&chrome->strict);
    marey__chrome_add_name(chrome, a, &chrome->shown);
    marey__chrome_add_name(chrome, b, &chrome->strict);
    chrome->out.failed |= chrome->shown.failed || chrome->strict.failed;
    return marey__str_compare((struct marey_str){chrome->shown.ptr, chrome->shown.len},
                              (struct marey_str){chrome->strict.ptr, chrome->strict.len}) < 0;
}

/* Whether there were names out of order, or at all with `all`. They are to be numbered. */
static bool mark_disorder(struct marey_chrome *chrome, bool all)
{
    const uint32_t *name_id = chrome->slices.name_id;
    bool is_any = false;
    for (size_t t = 0; t < chrome->n_tracks; t++) {
        const struct marey_track *track = &chrome->tracks[t];
        const size_t end = (size_t)track->first_slice + track->n_slices;
        for (size_t i = (size_t)track->first_slice + 1; i < end; i++) {
            if (!is_by_name(chrome, i - 1, i) ||
                (!all && is_in_order(chrome, name_id[i - 1], name_id[i])))
                continue;
            mark(chrome, name_id[i - 1], MAREY_NAME_NUMBERED);
            mark(chrome, name_id[i], MAREY_NAME_NUMBERED);
            is_any = true;
        }
    }
    return is_any;
}

bool marey__chrome_names_make(struct marey_chrome *chrome)
{
    chrome->name_flags = marey__alloc_zero(&chrome->alloc, chrome->n_strings, 1);
    if (chrome->name_flags == NULL)
        return false;
    mark_names(chrome);
    for (int round = 0; number_names(chrome); round++) {
        const bool is_last = round == MOST_ROUNDS;
        if (round > MOST_ROUNDS || !mark_disorder(chrome, is_last))
            return !chrome->out.failed;
    }
    return false;
}
