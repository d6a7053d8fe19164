/*
 * chrome_ids.c - pids and tids of a trace that is scrubbed: their numbers, the order of tracks.
 *
 * Ends that are still due and arrows are written track by track, and tracks are in the order of
 * their ids. What stands for an id stands elsewhere in it ("id 0" behind "Spans"), so the tracks
 * are put in the order in which the reader of the file has them; and so that this one gives the
 * same numbers, those are given in the order of the texts, not as they are met.
 */
#include "base/sort.h"
#include "export/chrome.h"
#include "trace/model.h"

/* ---- numbers ---- */

struct texts {
    struct marey_str *at;
    size_t n;
};

static void take(const struct marey_chrome *chrome, struct texts *texts, uint32_t string_id)
{
    const struct marey_str text = marey_trace_string(chrome->trace, string_id);
    if (text.ptr != NULL && !marey__scrub_keeps_id(text))
        texts->at[texts->n++] = text;
}

/* Only what is written, since that is all that the next writing knows. */
static void gather(struct marey_chrome *chrome, const bool *is_written, struct texts *texts)
{
    size_t n_records = 0;
    const struct marey_meta_record *record = marey_trace_meta_records(chrome->trace, &n_records);
    for (size_t t = 0; t < chrome->n_tracks; t++) {
        if (!is_written[t])
            continue;
        take(chrome, texts, chrome->tracks[t].process_id);
        take(chrome, texts, chrome->tracks[t].thread_id);
    }
    for (size_t i = 0; i < n_records; i++) {
        if (!marey__chrome_shows_record(chrome, &record[i]))
            continue;
        take(chrome, texts, record[i].process_id);
        take(chrome, texts, record[i].thread_id);
    }
}

bool marey__chrome_ids_make(struct marey_chrome *chrome)
{
    size_t n_records = 0;
    (void)marey_trace_meta_records(chrome->trace, &n_records);
    const size_t n = 2 * (chrome->n_tracks + n_records);
    bool *is_written = marey__alloc(&chrome->alloc, chrome->n_tracks + 1, sizeof *is_written);
    struct texts texts = {.at = marey__alloc(&chrome->alloc, n, sizeof *texts.at)};
    bool is_done = is_written != NULL && texts.at != NULL;
    if (is_done) {
        marey__chrome_mark_written(chrome, is_written);
        gather(chrome, is_written, &texts);
        is_done = marey__scrub_number_all(&chrome->scrub.ids, texts.at, texts.n, &chrome->alloc);
    }
    marey__dealloc(&chrome->alloc, texts.at, n, sizeof *texts.at);
    marey__dealloc(&chrome->alloc, is_written, chrome->n_tracks + 1, sizeof *is_written);
    return is_done && !chrome->out.failed;
}

/* ---- order ---- */

struct shown_track {
    const struct marey_track *track;
    uint32_t track_idx;
    struct marey_str process;
    struct marey_str thread;
};

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_shown(const void *ctx, uint32_t a, uint32_t b)
{
    const struct shown_track *x = (const struct shown_track *)ctx + a;
    const struct shown_track *y = (const struct shown_track *)ctx + b;
    int order = compare_i64(x->track->kind, y->track->kind);
    if (order == 0)
        order = marey__compare_track_ids(x->process, y->process);
    if (order == 0)
        order = marey__compare_track_ids(x->thread, y->thread);
    return order != 0 ? order : compare_i64(x->track_idx, y->track_idx);
}

/* The tracks of a source. One of which nothing is written has no ids here and takes no numbers. */
static bool order_source(struct marey_chrome *chrome, const bool *is_written, uint32_t *track_idx,
                         size_t n)
{
    struct shown_track *shown = marey__alloc(&chrome->alloc, n, sizeof *shown);
    if (shown == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct marey_track *track = &chrome->tracks[track_idx[i]];
        shown[i] = (struct shown_track){.track = track, .track_idx = track_idx[i]};
        if (!is_written[track_idx[i]])
            continue;
        shown[i].process = marey__chrome_shown_id(chrome, track->process_id);
        shown[i].thread = marey__chrome_shown_id(chrome, track->thread_id);
    }
    const bool is_done =
        marey__sort_structs(&chrome->alloc, shown, n, sizeof *shown, compare_shown, shown);
    for (size_t i = 0; i < n && is_done; i++)
        track_idx[i] = shown[i].track_idx;
    marey__dealloc(&chrome->alloc, shown, n, sizeof *shown);
    return is_done && !chrome->out.failed;
}

bool marey__chrome_order_shown(struct marey_chrome *chrome)
{
    const struct marey_chrome_parts *parts = &chrome->parts;
    bool *is_written = marey__alloc(&chrome->alloc, chrome->n_tracks + 1, sizeof *is_written);
    bool is_done = is_written != NULL;
    if (is_done)
        marey__chrome_mark_written(chrome, is_written);
    for (size_t i = 0; i < chrome->n_sources && is_done; i++)
        is_done = order_source(chrome, is_written, parts->track + parts->track_from[i],
                               parts->track_from[i + 1] - parts->track_from[i]);
    marey__dealloc(&chrome->alloc, is_written, chrome->n_tracks + 1, sizeof *is_written);
    return is_done;
}
