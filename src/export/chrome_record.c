/*
 * chrome_record.c - one record as Kineto writes it, into a buffer that is used again.
 *
 * Only integers; pieces are copied in blocks of 32 bytes, which is why they are padded and
 * why a record reserves more than it needs.
 *
 * B and E come back as B and E. Readers pair them by a stack for each thread in the order
 * of the file, so the ends are written when that stack says: before the next begin at or
 * after them or before their own begins, and before a slice that never ends, which would swallow
 * them.
 */
#include "export/chrome.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "base/order.h"
#include "export/chrome_digits.h"
#include "trace/parts.h"

#define RECORD_BYTES ((size_t)1024) /* all of a record but its name, track and args */
#define BLOCK_BYTES ((size_t)1 << 20)
#define SECOND INT64_C(1000000000)
#define PREFETCH_AHEAD 8

/* Reasons whose records the model holds well enough to write them again. */
static const char *const writable_reasons[] = {"empty_record", "no_ts", "negative_dur",
                                               "not_collected"};

bool marey__chrome_can_write(const struct marey_chrome *chrome,
                             const struct marey_quarantined *quarantined)
{
    if (chrome->repairs)
        return false;
    if (strcmp(quarantined->reason, "negative_dur") == 0 && quarantined->dur_ns == MAREY_UNKNOWN)
        return false;
    for (size_t i = 0; i < sizeof writable_reasons / sizeof writable_reasons[0]; i++)
        if (strcmp(quarantined->reason, writable_reasons[i]) == 0)
            return true;
    return false;
}

enum marey_status marey__chrome_flush(struct marey_chrome *chrome, size_t least)
{
    if (marey__text_failed(&chrome->out))
        return marey__fail_nomem(chrome->err);
    if (chrome->sink == NULL || chrome->out.len < least)
        return MAREY_OK;
    if (chrome->progress != NULL)
        MAREY_TRY(
            chrome->progress(chrome->progress_ctx, chrome->n_done, chrome->list.n, chrome->err));
    const enum marey_status status =
        chrome->sink(chrome->sink_ctx, chrome->out.ptr, chrome->out.len, chrome->err);
    marey__text_reset(&chrome->out);
    return status;
}

/* ---- bytes ---- */

static inline char *put_piece(char *out, struct marey_chrome_piece piece)
{
    for (size_t at = 0; at < piece.len; at += MAREY_PIECE_PAD)
        memcpy(out + at, piece.ptr + at, MAREY_PIECE_PAD);
    return out + piece.len;
}

#define PUT(out, literal)                                                                          \
    (memcpy((out), (literal), sizeof(literal) - 1), (out) + sizeof(literal) - 1)

/* A time relative to the source's base. Seconds change rarely: their digits are kept. */
static inline char *put_ts(struct marey_chrome *chrome, char *out, int64_t ns)
{
    const int64_t relative = (int64_t)((uint64_t)ns - (uint64_t)chrome->base_ns);
    if (relative < SECOND)
        return marey_put_us(out, relative);
    const int64_t seconds = relative / SECOND;
    if (seconds != chrome->seconds) {
        chrome->seconds = seconds;
        chrome->seconds_len = marey__format_i64(chrome->seconds_text, seconds);
    }
    const uint32_t rest = (uint32_t)(relative - seconds * SECOND);
    memcpy(out, chrome->seconds_text, 16);
    out += chrome->seconds_len;
    out = marey_put_three(out, rest / 1000000);
    out = marey_put_three(out, rest / 1000 % 1000);
    return marey_put_decimals(out, rest % 1000);
}

/* Room for a record with these pieces; a comma after the record before. */
static inline char *begin_record(struct marey_chrome *chrome, size_t len)
{
    struct marey_textbuf *text = &chrome->out;
    char *out = !text->failed && text->capacity - text->len >= RECORD_BYTES + len
                    ? text->ptr + text->len
                    : marey__text_reserve(text, RECORD_BYTES + len);
    if (out == NULL || chrome->is_first) {
        chrome->is_first = false;
        return out;
    }
    return PUT(out, ",\n");
}

static void end_at(struct marey_chrome *chrome, const char *end)
{
    chrome->out.len = (size_t)(end - chrome->out.ptr);
}

static void end_record(struct marey_chrome *chrome, char *out, struct marey_str args)
{
    if (args.ptr == NULL) {
        end_at(chrome, PUT(out, "\n  }"));
        return;
    }
    end_at(chrome, PUT(out, ",\n    \"args\": "));
    if (chrome->verdict->is_clean && !chrome->scrubs)
        marey__text_add_str(&chrome->out, args);
    else
        marey__chrome_add_text(chrome, args);
    marey__text_add(&chrome->out, "\n  }", 4);
}

/* ---- records ---- */

struct common {
    enum marey_chrome_what what;
    uint8_t cat_id;
    uint32_t name_id;
    uint32_t track_idx;
};

/* From the brace to the value of "ts"; `extra` stands before the name. */
static inline char *put_common(struct marey_chrome *chrome, const struct common *common,
                               struct marey_str extra)
{
    const struct marey_chrome_piece category =
        marey__chrome_category(chrome, common->what, common->cat_id);
    const struct marey_chrome_piece name = marey__chrome_shown_name(chrome, common->name_id);
    const struct marey_chrome_piece track = marey__chrome_track(chrome, common->track_idx);
    char *out = begin_record(chrome, category.len + extra.len + name.len + track.len);
    if (out == NULL)
        return NULL;
    out = put_piece(out, category);
    if (extra.len > 0)
        memcpy(out, extra.ptr, extra.len);
    out = put_piece(out + extra.len, name);
    return put_piece(out, track);
}

static const struct marey_str nothing = {NULL, 0};

/* Whether an operation of no length begins where the times of a file of several sources do, which
 * reads as a sign that it has no times. */
static bool is_like_sign(const struct marey_chrome *chrome, size_t idx)
{
    const struct marey_slices *slices = &chrome->slices;
    return slices->start_ns[idx] == chrome->base_ns && chrome->n_sources > 1 &&
           marey_kind_is_device_operation(chrome->categories[slices->cat_id[idx]].kind);
}

static void add_slice(struct marey_chrome *chrome, size_t idx, uint32_t track,
                      struct marey_str args)
{
    const struct marey_slices *slices = &chrome->slices;
    const struct common common = {MAREY_CHROME_SLICE, slices->cat_id[idx], slices->name_id[idx],
                                  track};
    char *out = put_common(chrome, &common, nothing);
    if (out == NULL)
        return;
    if (slices->dur_ns[idx] == 0 && is_like_sign(chrome, idx))
        *out++ = MAREY_SOURCE_MOMENT;
    out = put_ts(chrome, out, slices->start_ns[idx]);
    if (slices->dur_ns[idx] != MAREY_UNKNOWN) {
        out = PUT(out, ", \"dur\": ");
        const bool is_raw = chrome->has_raw_durs && !chrome->repairs;
        out = marey_put_us(out, is_raw ? marey_trace_raw_dur_ns(chrome->trace, (uint32_t)idx)
                                       : slices->dur_ns[idx]);
    }
    end_record(chrome, out, args);
}

static bool never_ends(const struct marey_chrome *chrome, uint32_t slice_idx)
{
    return (chrome->slices.flags[slice_idx] & MAREY_SLICE_OPEN) != 0;
}

static bool says_finished(struct marey_str args)
{
    struct marey_json json = marey__json(args);
    struct marey_str key;

    if (!marey__json_enter(&json, '{'))
        return true; /* no args: nothing can be said there */
    while (marey__json_key(&json, &key)) {
        if (marey__json_spells(key, "finished"))
            return true;
        marey__json_skip(&json);
    }
    return json.failed;
}

/* As torch says that a range was open at the end: its "dur" is none that was measured. */
static void add_open_slice(struct marey_chrome *chrome, size_t idx, uint32_t track,
                           struct marey_str args)
{
    struct marey_textbuf text; /* not scratch, which the pieces use */

    if (chrome->omit_args || says_finished(args)) {
        add_slice(chrome, idx, track, args);
        return;
    }
    struct marey_json json = marey__json(args);
    const bool has_members = marey__json_enter(&json, '{') && marey__json_peek(&json) != '}';
    marey__text_init(&text, &chrome->alloc);
    marey__text_add_c(&text, "{\"finished\": false");
    marey__text_add_c(&text, has_members ? ", " : "");
    marey__text_add_str(&text, (struct marey_str){json.at, (size_t)(json.end - json.at)});
    chrome->out.failed |= marey__text_failed(&text);
    add_slice(chrome, idx, track, (struct marey_str){text.ptr, text.len});
    marey__text_release(&text);
}

/* A record that is a time and nothing more. */
static void add_point(struct marey_chrome *chrome, const struct common *common, int64_t ts_ns,
                      struct marey_str extra, struct marey_str args)
{
    char *out = put_common(chrome, common, extra);
    if (out == NULL)
        return;
    end_record(chrome, put_ts(chrome, out, ts_ns), args);
}

static void add_instant(struct marey_chrome *chrome, size_t idx, struct marey_str args)
{
    const struct marey_instants *instants = &chrome->instants;
    const struct common common = {MAREY_CHROME_INSTANT, instants->cat_id[idx],
                                  instants->name_id[idx], instants->track_idx[idx]};
    char scope[] = "\"s\": \"t\", ";
    scope[6] = (char)instants->scope[idx];
    const bool is_plain = instants->scope[idx] >= 'a' && instants->scope[idx] <= 'z';
    add_point(chrome, &common, instants->ts_ns[idx],
              is_plain ? (struct marey_str){scope, sizeof scope - 1} : nothing, args);
}

static void add_counter(struct marey_chrome *chrome, size_t idx, struct marey_str args)
{
    const struct marey_counters *counters = &chrome->counters;
    const struct common common = {MAREY_CHROME_COUNTER, counters->cat_id[idx],
                                  counters->name_id[idx], counters->track_idx[idx]};
    add_point(chrome, &common, counters->ts_ns[idx], nothing, args);
}

static void add_async(struct marey_chrome *chrome, enum marey_chrome_what what, size_t idx,
                      struct marey_str args)
{
    const struct marey_async_span *span = &chrome->spans[idx];
    const struct common common = {what, (uint8_t)span->cat_id, span->name_id, span->track_idx};
    const struct marey_str id = marey__chrome_shown_id(chrome, span->id_text);
    const int64_t ts_ns =
        what == MAREY_CHROME_ASYNC_END ? span->start_ns + span->dur_ns : span->start_ns;
    struct marey_textbuf extra; /* not scratch, which the pieces use */
    marey__text_init(&extra, &chrome->alloc);
    if (id.ptr != NULL) {
        marey__text_add_c(&extra, "\"id\": ");
        marey__chrome_add_id(&extra, id);
        marey__text_add_c(&extra, ", ");
    }
    chrome->out.failed |= marey__text_failed(&extra);
    add_point(chrome, &common, ts_ns, (struct marey_str){extra.ptr, extra.len}, args);
    marey__text_release(&extra);
}

static void add_quarantined(struct marey_chrome *chrome, size_t idx, struct marey_str args)
{
    const struct marey_quarantined *record = &chrome->quarantined[idx];
    const struct common common = {MAREY_CHROME_QUARANTINED, (uint8_t)record->cat_id,
                                  record->name_id, record->track_idx};
    if (strcmp(record->reason, "empty_record") == 0) {
        char *out = begin_record(chrome, 0);
        if (out != NULL)
            end_at(chrome, PUT(out, "  {}"));
        return;
    }
    char *out = put_common(chrome, &common, nothing);
    if (out == NULL)
        return;
    if (strcmp(record->reason, "not_collected") == 0) {
        /* 0 is no time but a sign, whatever the source's own zero is. */
        out = PUT(out, "0.000, ");
    } else if (record->start_ns != MAREY_UNKNOWN) {
        out = put_ts(chrome, out, record->start_ns);
        out = PUT(out, ", ");
    } else {
        out -= sizeof MAREY_CHROME_TS - 1; /* the end of the track's piece */
    }
    /* Without a time nor a duration a comma would dangle: null reads as missing. */
    out = PUT(out, "\"dur\": ");
    out = record->dur_ns != MAREY_UNKNOWN ? marey_put_us(out, record->dur_ns) : PUT(out, "null");
    end_record(chrome, out, args);
}

/* ---- begins and ends ---- */

static int64_t end_of(const struct marey_chrome *chrome, uint32_t slice_idx)
{
    return chrome->slices.start_ns[slice_idx] + chrome->slices.dur_ns[slice_idx];
}

/* On a device an end is placed by its own args, as a begin is: {NULL, 0} for a thread. */
static struct marey_str place_of(const struct marey_chrome *chrome, uint32_t track_idx, char *text,
                                 size_t room)
{
    const struct marey_track *track = &chrome->tracks[track_idx];
    const struct {
        const char *key;
        int64_t value;
    } members[] = {
        {"device", track->device}, {"context", track->context}, {"stream", track->stream}};
    size_t len = 0;

    if (track->kind == MAREY_TRACK_THREAD || chrome->omit_args)
        return nothing;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (members[i].value != MAREY_UNKNOWN)
            len += (size_t)snprintf(text + len, room - len, "%s\"%s\": %lld", len > 0 ? ", " : "{",
                                    members[i].key, (long long)members[i].value);
    if (len == 0)
        return nothing;
    text[len++] = '}';
    return (struct marey_str){text, len};
}

static void add_end(struct marey_chrome *chrome, uint32_t slice_idx, uint32_t track)
{
    const struct common common = {MAREY_CHROME_END, chrome->slices.cat_id[slice_idx],
                                  chrome->slices.name_id[slice_idx], track};
    char place[128];
    add_point(chrome, &common, end_of(chrome, slice_idx), nothing,
              place_of(chrome, track, place, sizeof place));
}

/* Ends what is on the track's stack and over by `ts_ns`, or began behind it, where the clock has
 * stepped back: ended later it would make another step. With `all`, whatever has an end. */
static void close_slices(struct marey_chrome *chrome, uint32_t track, int64_t ts_ns, bool all)
{
    uint32_t *top = &chrome->open_top[track];
    while (*top != MAREY_NONE) {
        const struct marey_chrome_open open = chrome->open[*top];
        const bool is_in_it = chrome->slices.start_ns[open.slice_idx] <= ts_ns &&
                              end_of(chrome, open.slice_idx) > ts_ns;
        if (never_ends(chrome, open.slice_idx) || (!all && is_in_it))
            return;
        add_end(chrome, open.slice_idx, track);
        *top = open.below;
    }
}

static bool push_open(struct marey_chrome *chrome, uint32_t slice_idx, uint32_t track)
{
    void *open = chrome->open;
    if (chrome->n_open == chrome->open_capacity &&
        !marey__grow(&chrome->alloc, &open, &chrome->open_capacity, chrome->n_open + 1,
                     sizeof *chrome->open))
        return false;
    chrome->open = open;
    chrome->open[chrome->n_open] = (struct marey_chrome_open){slice_idx, chrome->open_top[track]};
    chrome->open_top[track] = (uint32_t)chrome->n_open++;
    return true;
}

static bool make_tops(struct marey_chrome *chrome)
{
    if (chrome->open_top != NULL)
        return true;
    chrome->open_top = marey__alloc(&chrome->alloc, chrome->n_tracks, sizeof *chrome->open_top);
    for (size_t i = 0; chrome->open_top != NULL && i < chrome->n_tracks; i++)
        chrome->open_top[i] = MAREY_NONE;
    return chrome->open_top != NULL;
}

static void add_begin(struct marey_chrome *chrome, uint32_t idx, uint32_t track,
                      struct marey_str args)
{
    if (!make_tops(chrome)) {
        chrome->out.failed = true;
        return;
    }
    const struct common common = {MAREY_CHROME_BEGIN, chrome->slices.cat_id[idx],
                                  chrome->slices.name_id[idx], track};
    close_slices(chrome, track, chrome->slices.start_ns[idx], never_ends(chrome, idx));
    add_point(chrome, &common, chrome->slices.start_ns[idx], nothing, args);
    if (!push_open(chrome, idx, track))
        chrome->out.failed = true;
}

enum marey_status marey__chrome_ends(struct marey_chrome *chrome, uint32_t source_idx)
{
    size_t n = 0;
    const uint32_t *track = marey__chrome_tracks_of(chrome, source_idx, &n);
    for (size_t i = 0; i < n && chrome->open_top != NULL; i++) {
        close_slices(chrome, track[i], 0, true);
        MAREY_TRY(marey__chrome_flush(chrome, BLOCK_BYTES));
    }
    return marey__chrome_flush(chrome, BLOCK_BYTES);
}

/* ---- dispatch ---- */

/* The columns are in the order of tracks, the list is not. */
static inline void prefetch(const struct marey_chrome *chrome, size_t i)
{
    if (i >= chrome->list.n || chrome->list.ref[i].what != MAREY_CHROME_SLICE)
        return;
    const uint32_t idx = chrome->list.ref[i].idx;
    __builtin_prefetch(chrome->slices.start_ns + idx);
    __builtin_prefetch(chrome->slices.dur_ns + idx);
    __builtin_prefetch(chrome->slices.name_id + idx);
}

enum marey_status marey__chrome_record(struct marey_chrome *chrome, size_t i, struct marey_str args)
{
    const uint32_t idx = chrome->list.ref[i].idx;
    const uint32_t track = chrome->list.ref[i].track;
    prefetch(chrome, i + PREFETCH_AHEAD);
    if (chrome->scrubs)
        args = marey__chrome_shown_args(chrome, args,
                                        chrome->list.ref[i].what == MAREY_CHROME_COUNTER);
    switch ((enum marey_chrome_what)chrome->list.ref[i].what) {
    case MAREY_CHROME_SLICE:
        if (never_ends(chrome, idx))
            add_open_slice(chrome, idx, track, args);
        else
            add_slice(chrome, idx, track, args);
        break;
    case MAREY_CHROME_BEGIN:
        add_begin(chrome, idx, track, args);
        break;
    case MAREY_CHROME_INSTANT:
        add_instant(chrome, idx, args);
        break;
    case MAREY_CHROME_COUNTER:
        add_counter(chrome, idx, args);
        break;
    case MAREY_CHROME_ASYNC_BEGIN:
        add_async(chrome, MAREY_CHROME_ASYNC_BEGIN, idx, args);
        break;
    case MAREY_CHROME_ASYNC_END:
        add_async(chrome, MAREY_CHROME_ASYNC_END, idx, args);
        break;
    case MAREY_CHROME_QUARANTINED:
        add_quarantined(chrome, idx, args);
        break;
    case MAREY_CHROME_END:
    case MAREY_CHROME_FLOW:
    case MAREY_CHROME_N_WHATS:
        break;
    }
    if (chrome->out.len < BLOCK_BYTES && !chrome->out.failed)
        return MAREY_OK;
    chrome->n_done = i + 1;
    return marey__chrome_flush(chrome, BLOCK_BYTES);
}

/* An id that is no integer is the id of its text, with the top bit set. */
static char *put_flow_id(struct marey_chrome *chrome, char *out, uint64_t id, uint64_t flow_ids)
{
    const uint64_t top = UINT64_C(1) << 63;
    if (id < top) {
        id += flow_ids;
        return id < 1000000000 ? marey_put_below_1e9(out, (uint32_t)id)
                               : out + marey__format_u64(out, id);
    }
    struct marey_textbuf *scratch = &chrome->scratch;
    const struct marey_str text = marey__chrome_shown_id(chrome, (uint32_t)(id & ~top));
    marey__text_reset(scratch);
    marey__chrome_add_id(scratch, text);
    end_at(chrome, out);
    out = marey__text_reserve(&chrome->out, RECORD_BYTES + scratch->len);
    if (out == NULL || scratch->failed)
        return NULL;
    memcpy(out, scratch->ptr, scratch->len);
    return out + scratch->len;
}

static void add_flow(struct marey_chrome *chrome, size_t i, uint64_t flow_ids)
{
    const struct marey_flows *flows = &chrome->flows;
    const struct marey_chrome_piece track = marey__chrome_flow_track(chrome, flows->track_idx[i]);
    const struct marey_chrome_piece label = marey__chrome_label(chrome, flows->label_idx[i]);
    char *out = begin_record(chrome, track.len + label.len);
    if (out == NULL)
        return;
    out = PUT(out, "  {\n    \"ph\": \"");
    *out++ = (char)flows->phase[i];
    out = PUT(out, "\", \"id\": ");
    out = put_flow_id(chrome, out, flows->id[i], flow_ids);
    if (out == NULL) {
        chrome->out.failed = true;
        return;
    }
    out = PUT(out, ", ");
    out = put_piece(out, track);
    out = put_ts(chrome, out, flows->ts_ns[i]);
    out = put_piece(out, label);
    if (flows->phase[i] == 'f')
        out = PUT(out, ", \"bp\": \"e\"");
    end_at(chrome, PUT(out, "\n  }"));
}

static enum marey_status add_flows(struct marey_chrome *chrome, size_t from, size_t to,
                                   uint64_t flow_ids)
{
    for (size_t i = from; i < to; i++) {
        add_flow(chrome, i, flow_ids);
        if (chrome->out.len >= BLOCK_BYTES || chrome->out.failed)
            MAREY_TRY(marey__chrome_flush(chrome, BLOCK_BYTES));
    }
    return MAREY_OK;
}

/* The first flow on a track at or behind this one: flows stand in the order of tracks. */
static size_t first_flow(const struct marey_chrome *chrome, size_t track_idx)
{
    return marey__first_at_least(chrome->flows.track_idx, chrome->flows.n, (uint32_t)track_idx);
}

enum marey_status marey__chrome_flows(struct marey_chrome *chrome, uint32_t source_idx)
{
    const uint64_t flow_ids = chrome->n_sources < 2 ? 0 : chrome->parts.flow_ids[source_idx];
    size_t n = 0;
    const uint32_t *track = marey__chrome_tracks_of(chrome, source_idx, &n);
    for (size_t i = 0; i < n; i++)
        MAREY_TRY(add_flows(chrome, first_flow(chrome, track[i]),
                            first_flow(chrome, (size_t)track[i] + 1), flow_ids));
    return MAREY_OK;
}
