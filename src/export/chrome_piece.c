/*
 * chrome_piece.c - what repeats from record to record, escaped once.
 *
 *     {                                                    <- category piece, from here
 *       "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7,
 *       ------------------------->  <- name piece ---->  <- track piece, to
 *       "ts": 12.345, "dur": 1.000,
 *       ----->  here
 */
#include "export/chrome.h"

static const char *const phase_of[MAREY_CHROME_N_WHATS] = {
    [MAREY_CHROME_SLICE] = "X",       [MAREY_CHROME_BEGIN] = "B",
    [MAREY_CHROME_INSTANT] = "i",     [MAREY_CHROME_COUNTER] = "C",
    [MAREY_CHROME_ASYNC_BEGIN] = "b", [MAREY_CHROME_ASYNC_END] = "e",
    [MAREY_CHROME_QUARANTINED] = "X", [MAREY_CHROME_END] = "E",
    [MAREY_CHROME_FLOW] = "",
};

/* Keeps what `scratch` holds as a piece. */
static struct marey_chrome_piece keep(struct marey_chrome *chrome)
{
    struct marey_textbuf *scratch = &chrome->scratch;
    const size_t len = scratch->len;
    size_t padded = 0;
    char *kept = NULL;
    if (!marey__text_failed(scratch) && marey__size_add(len, MAREY_PIECE_PAD, &padded))
        kept = marey__arena_take_bytes(&chrome->arena, padded);
    if (kept == NULL) {
        static const char nothing[MAREY_PIECE_PAD];
        chrome->out.failed = true;
        return (struct marey_chrome_piece){nothing, 0};
    }
    if (len > 0)
        memcpy(kept, scratch->ptr, len);
    memset(kept + len, 0, MAREY_PIECE_PAD);
    return (struct marey_chrome_piece){kept, len};
}

static struct marey_str text_of(const struct marey_chrome *chrome, uint32_t string_id)
{
    return marey_trace_string(chrome->trace, string_id);
}

struct marey_chrome_piece marey__chrome_make_shown_name(struct marey_chrome *chrome,
                                                        struct marey_str text)
{
    marey__text_reset(&chrome->scratch);
    marey__text_add_c(&chrome->scratch, "\"name\": ");
    marey__text_add_json(&chrome->scratch, text);
    marey__text_add_c(&chrome->scratch, ", ");
    return keep(chrome);
}

struct marey_chrome_piece marey__chrome_make_name(struct marey_chrome *chrome, uint32_t name_id)
{
    if (name_id >= chrome->n_strings) /* MAREY_NONE: it has no name */
        return (struct marey_chrome_piece){"", 0};
    struct marey_chrome_piece *piece = &chrome->name[name_id];
    if (piece->ptr == NULL)
        *piece = marey__chrome_make_shown_name(chrome, text_of(chrome, name_id));
    return *piece;
}

struct marey_chrome_piece marey__chrome_make_category(struct marey_chrome *chrome,
                                                      enum marey_chrome_what what, uint8_t cat_id)
{
    struct marey_chrome_piece *piece = &chrome->category[what][cat_id];
    if (piece->ptr == NULL) {
        const struct marey_str text =
            marey__chrome_shown_category(chrome, chrome->categories[cat_id].name_id);
        marey__text_reset(&chrome->scratch);
        marey__text_add_format(&chrome->scratch, "  {\n    \"ph\": \"%s\", ", phase_of[what]);
        if (text.ptr != NULL) {
            marey__text_add_c(&chrome->scratch, "\"cat\": ");
            marey__text_add_json(&chrome->scratch, text);
            marey__text_add_c(&chrome->scratch, ", ");
        } else if (what == MAREY_CHROME_END) {
            /* Without, it would end what was begun last there, also on a device. */
            marey__text_add_c(&chrome->scratch, "\"cat\": \"\", ");
        }
        *piece = keep(chrome);
    }
    return *piece;
}

/* A number stays one if its text is how JSON writes an integer. */
void marey__chrome_add_id(struct marey_textbuf *out, struct marey_str text)
{
    const size_t sign = text.len > 0 && text.ptr[0] == '-';
    bool is_integer =
        text.len > sign && text.len < 32 && (text.ptr[sign] != '0' || text.len == sign + 1);
    for (size_t i = sign; i < text.len && is_integer; i++)
        is_integer = text.ptr[i] >= '0' && text.ptr[i] <= '9';
    if (is_integer)
        marey__text_add_str(out, text);
    else
        marey__text_add_json(out, text);
}

static void add_track(struct marey_chrome *chrome, uint32_t track_idx, const char *end)
{
    struct marey_textbuf *scratch = &chrome->scratch;
    marey__text_reset(scratch);
    if (track_idx < chrome->n_tracks) {
        const struct marey_str process = marey__chrome_pid(
            chrome, chrome->tracks[track_idx].source_idx, chrome->tracks[track_idx].process_id);
        const struct marey_str thread =
            marey__chrome_shown_id(chrome, chrome->tracks[track_idx].thread_id);
        if (process.ptr != NULL) {
            marey__text_add_c(scratch, "\"pid\": ");
            marey__chrome_add_id(scratch, process);
            marey__text_add_c(scratch, thread.ptr != NULL ? ", " : ",");
        }
        if (thread.ptr != NULL) {
            marey__text_add_c(scratch, "\"tid\": ");
            marey__chrome_add_id(scratch, thread);
            marey__text_add_c(scratch, ",");
        }
    }
    marey__text_add_c(scratch, end);
}

struct marey_chrome_piece marey__chrome_make_track(struct marey_chrome *chrome, uint32_t track_idx)
{
    const uint32_t at = track_idx < chrome->n_tracks ? track_idx : (uint32_t)chrome->n_tracks;
    if (chrome->track[at].ptr == NULL) {
        add_track(chrome, track_idx, "\n    " MAREY_CHROME_TS);
        chrome->track[at] = keep(chrome);
    }
    return chrome->track[at];
}

struct marey_chrome_piece marey__chrome_make_flow_track(struct marey_chrome *chrome,
                                                        uint32_t track_idx)
{
    if (chrome->flow_track[track_idx].ptr == NULL) {
        add_track(chrome, track_idx, " " MAREY_CHROME_TS);
        chrome->flow_track[track_idx] = keep(chrome);
    }
    return chrome->flow_track[track_idx];
}

static void add_label_member(struct marey_chrome *chrome, const char *start, struct marey_str text)
{
    if (text.ptr == NULL)
        return;
    marey__text_add_c(&chrome->scratch, start);
    marey__text_add_json(&chrome->scratch, text);
}

struct marey_chrome_piece marey__chrome_make_label(struct marey_chrome *chrome, uint8_t label_idx)
{
    struct marey_chrome_piece *piece = &chrome->label[label_idx];
    if (piece->ptr == NULL) {
        const struct marey_flow_label *label = &chrome->labels[label_idx];
        const bool has_category = text_of(chrome, label->cat_name_id).ptr != NULL;
        marey__text_reset(&chrome->scratch);
        add_label_member(
            chrome, ",\n    \"cat\": ", marey__chrome_shown_category(chrome, label->cat_name_id));
        struct marey_str name = text_of(chrome, label->name_id);
        if (chrome->scrubs && name.ptr != NULL) {
            marey__text_reset(&chrome->strict);
            marey__chrome_add_name(chrome, label->name_id, &chrome->strict);
            chrome->out.failed |= chrome->strict.failed;
            name = (struct marey_str){chrome->strict.ptr, chrome->strict.len};
        }
        add_label_member(chrome, has_category ? ", \"name\": " : ",\n    \"name\": ", name);
        *piece = keep(chrome);
    }
    return *piece;
}
