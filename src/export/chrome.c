/*
 * chrome.c - a trace as Chrome JSON in Kineto's schema, to a file, a function or memory.
 *
 * The format has one head, one base time and one rank: a trace of several sources is written
 * as parts that say their own (chrome_part.c). What the model does not hold of a
 * record (members that Kineto does not write, such as tts or cname; args of E records) is
 * not in the result.
 */
#include "export/chrome.h"

#include <stdbool.h>

#include "base/error.h"
#include "export/file.h"
#include "export/text.h"
#include "trace/builder.h"

#define DEFAULT_LEVEL 1

/* ---- life ---- */

static void chrome_free(struct marey_chrome *chrome)
{
    if (chrome == NULL)
        return;
    const struct marey_alloc alloc = chrome->alloc;
    const size_t n_tracks = chrome->n_tracks;
    marey__chrome_list_release(chrome);
    marey__chrome_parts_release(chrome);
    marey__chrome_shown_release(chrome);
    marey__dealloc(&alloc, chrome->open_top, n_tracks, sizeof *chrome->open_top);
    marey__dealloc(&alloc, chrome->open, chrome->open_capacity, sizeof *chrome->open);
    marey__dealloc(&alloc, chrome->flow_track, n_tracks, sizeof *chrome->flow_track);
    marey__dealloc(&alloc, chrome->track, n_tracks + 1, sizeof *chrome->track);
    marey__dealloc(&alloc, chrome->name, chrome->n_strings, sizeof *chrome->name);
    marey__arena_release(&chrome->arena);
    marey__text_release(&chrome->scratch);
    marey__text_release(&chrome->out);
    marey__dealloc(&alloc, chrome, 1, sizeof *chrome);
}

static void borrow_columns(struct marey_chrome *chrome, struct marey_trace *trace)
{
    size_t n = 0;
    chrome->trace = trace;
    chrome->verdict = marey__trace_args_verdict(trace);
    chrome->sources = marey_trace_sources(trace, &chrome->n_sources);
    chrome->base_ns = chrome->n_sources > 0 ? chrome->sources[0].base_ns : 0;
    chrome->slices = marey_trace_slices(trace);
    size_t n_raw_durs = 0;
    (void)marey_trace_raw_durs(trace, &n_raw_durs);
    chrome->has_raw_durs = n_raw_durs > 0;
    chrome->instants = marey_trace_instants(trace);
    chrome->counters = marey_trace_counters(trace);
    chrome->flows = marey_trace_flows(trace);
    chrome->labels = marey_trace_flow_labels(trace, &n);
    chrome->spans = marey_trace_async_spans(trace, &chrome->n_spans);
    chrome->quarantined = marey_trace_quarantined(trace, &chrome->n_quarantined);
    chrome->tracks = marey_trace_tracks(trace, &chrome->n_tracks);
    chrome->categories = marey_trace_categories(trace, &n);
    chrome->n_strings = marey_trace_n_strings(trace);
}

static struct marey_chrome *chrome_new(struct marey_trace *trace, const struct marey_alloc *alloc,
                                       const struct marey_chrome_options *options,
                                       struct marey_error *err)
{
    struct marey_chrome *chrome = marey__alloc_zero(alloc, 1, sizeof *chrome);
    if (chrome == NULL)
        return NULL;
    chrome->alloc = *alloc;
    chrome->err = err;
    chrome->omit_args = options->omit_args;
    chrome->scrubs = options->scrub;
    chrome->repairs = options->repair || options->scrub;
    chrome->seconds = -1;
    marey__arena_init(&chrome->arena, alloc);
    marey__text_init(&chrome->scratch, alloc);
    marey__text_init(&chrome->strict, alloc);
    marey__text_init(&chrome->shown, alloc);
    marey__text_init(&chrome->out, alloc);
    borrow_columns(chrome, trace);
    chrome->name = marey__alloc_zero(alloc, chrome->n_strings, sizeof *chrome->name);
    chrome->track = marey__alloc_zero(alloc, chrome->n_tracks + 1, sizeof *chrome->track);
    chrome->flow_track = marey__alloc_zero(alloc, chrome->n_tracks, sizeof *chrome->flow_track);
    if (chrome->name != NULL && chrome->track != NULL && chrome->flow_track != NULL &&
        marey__chrome_shown_make(chrome) && marey__chrome_parts_make(chrome) &&
        marey__chrome_list_make(chrome))
        return chrome;
    chrome_free(chrome);
    return NULL;
}

/* ---- options ---- */

static struct marey_chrome_options read_options(const struct marey_chrome_options *from)
{
    struct marey_chrome_options options = {0};
    if (from != NULL)
        memcpy(&options, from,
               from->size > 0 && from->size < sizeof options ? from->size : sizeof options);
    if (options.compression == 0)
        options.compression = DEFAULT_LEVEL;
    return options;
}

static enum marey_status check(const struct marey_trace *trace,
                               const struct marey_chrome_options *options, struct marey_error *err)
{
    size_t n_tracks = 0;
    (void)marey_trace_tracks(trace, &n_tracks);
    if (n_tracks >= MAREY_CHROME_NO_TRACK)
        return marey__fail(err, MAREY_LIMIT, "cannot write the trace: '%zu tracks' are too many",
                           n_tracks);
    if (options->compression < 1 || options->compression > 9)
        return marey__fail(err, MAREY_INVALID,
                           "cannot compress: '%d' is no level, give 1 to 9 or 0 for the default",
                           options->compression);
    return MAREY_OK;
}

/* ---- writing ---- */

static enum marey_status begin_source(struct marey_chrome *chrome)
{
    if (chrome->n_sources > 1)
        marey__chrome_marker(chrome, chrome->source_at);
    return marey__chrome_meta_records(chrome, chrome->source_at);
}

static enum marey_status end_source(struct marey_chrome *chrome)
{
    MAREY_TRY(marey__chrome_ends(chrome, chrome->source_at));
    return marey__chrome_flows(chrome, chrome->source_at);
}

/* Ends all sources before one, and begins that. */
static enum marey_status go_to_source(struct marey_chrome *chrome, uint32_t source_idx)
{
    while (chrome->source_at < source_idx) {
        MAREY_TRY(end_source(chrome));
        chrome->source_at++;
        MAREY_TRY(begin_source(chrome));
    }
    return MAREY_OK;
}

/* A marey_args_fn. */
static enum marey_status write_record(void *user, size_t i, struct marey_str args)
{
    struct marey_chrome *chrome = user;
    if (chrome->n_sources > 1)
        MAREY_TRY(go_to_source(chrome, MAREY_OFFSET_SOURCE(chrome->list.offset[i])));
    return marey__chrome_record(chrome, i, args);
}

/* All in one walk: to begin a walk for each source would cost a window of text each time. */
static enum marey_status write_records(struct marey_chrome *chrome)
{
    const struct marey_str none = {NULL, 0};
    const uint64_t n_cut = chrome->verdict->n_cut;
    if (!chrome->omit_args && chrome->list.n > 0) {
        MAREY_TRY(marey_trace_walk_args(chrome->trace, chrome->list.offset, chrome->list.n,
                                        write_record, chrome, chrome->err));
        chrome->mended.n_texts += chrome->verdict->n_cut - n_cut;
        return MAREY_OK;
    }
    for (size_t i = 0; i < chrome->list.n; i++)
        MAREY_TRY(write_record(chrome, i, none));
    return MAREY_OK;
}

static enum marey_status write_all(struct marey_chrome *chrome)
{
    MAREY_TRY(marey__chrome_head(chrome));
    if (chrome->n_sources > 0) {
        MAREY_TRY(begin_source(chrome));
        MAREY_TRY(write_records(chrome));
        MAREY_TRY(go_to_source(chrome, (uint32_t)chrome->n_sources - 1));
        MAREY_TRY(end_source(chrome));
    }
    chrome->n_done = chrome->list.n;
    MAREY_TRY(marey__chrome_tail(chrome));
    return marey__text_failed(&chrome->out) ? marey__fail_nomem(chrome->err) : MAREY_OK;
}

/* Hands the blocks to `sink`; an error of its own ends the export. */
static enum marey_status write_through(struct marey_trace *trace,
                                       const struct marey_chrome_options *options,
                                       marey_sink_fn sink, void *sink_ctx, struct marey_error *err)
{
    struct marey_chrome *chrome = chrome_new(trace, marey__trace_alloc(trace), options, err);
    if (chrome == NULL)
        return marey__fail_nomem(err);
    chrome->sink = sink;
    chrome->sink_ctx = sink_ctx;
    chrome->progress = options->progress;
    chrome->progress_ctx = options->progress_ctx;
    const enum marey_status status = write_all(chrome);
    chrome_free(chrome);
    return status;
}

static enum marey_status into_file(void *ctx, const void *ptr, size_t len, struct marey_error *err)
{
    return marey__outfile_write(ctx, ptr, len, err);
}

static enum marey_status into_gzip(void *ctx, const void *ptr, size_t len, struct marey_error *err)
{
    return marey__gzip_write(ctx, ptr, len, err);
}

static enum marey_status write_gzip(struct marey_trace *trace,
                                    const struct marey_chrome_options *options,
                                    struct marey_outfile *file, struct marey_error *err)
{
    struct marey_gzip *gzip =
        marey__gzip_new(marey__trace_alloc(trace), options->compression, into_file, file);
    if (gzip == NULL)
        return marey__fail_nomem(err);
    enum marey_status status = write_through(trace, options, into_gzip, gzip, err);
    if (status == MAREY_OK)
        status = marey__gzip_end(gzip, err);
    marey__gzip_free(gzip);
    return status;
}

enum marey_status marey_export_chrome(struct marey_trace *trace, const char *path,
                                      const struct marey_chrome_options *options_given,
                                      struct marey_error *err)
{
    const struct marey_chrome_options options = read_options(options_given);
    struct marey_outfile file = {.fd = -1};
    MAREY_TRY(check(trace, &options, err));
    /* First the file: a folder that is not there is told before the work. */
    enum marey_status status =
        marey__outfile_open(&file, path, options.overwrite, marey__trace_alloc(trace), err);
    if (status == MAREY_OK)
        status = marey__str_ends(marey__str(path), ".gz")
                     ? write_gzip(trace, &options, &file, err)
                     : write_through(trace, &options, into_file, &file, err);
    if (status == MAREY_OK)
        status = marey__outfile_commit(&file, err);
    marey__outfile_release(&file);
    return status;
}

enum marey_status marey_export_chrome_stream(struct marey_trace *trace, marey_write_fn write,
                                             void *ctx,
                                             const struct marey_chrome_options *options_given,
                                             struct marey_error *err)
{
    const struct marey_chrome_options options = read_options(options_given);
    MAREY_TRY(check(trace, &options, err));
    return write_through(trace, &options, write, ctx, err);
}

enum marey_status marey_export_chrome_text(struct marey_trace *trace,
                                           const struct marey_chrome_options *options_given,
                                           struct marey_text *text, struct marey_error *err)
{
    const struct marey_chrome_options options = read_options(options_given);
    const struct marey_alloc alloc =
        text->alloc.allocate != NULL ? text->alloc : marey__alloc_default();
    MAREY_TRY(check(trace, &options, err));
    struct marey_chrome *chrome = chrome_new(trace, &alloc, &options, err);
    if (chrome == NULL)
        return marey__fail_nomem(err);

    marey__public_text_begin(text, &chrome->out);
    enum marey_status status = write_all(chrome);
    if (status == MAREY_OK)
        status = marey__public_text_end(&chrome->out, text, err);
    else
        marey__public_text_abandon(&chrome->out, text);
    chrome_free(chrome);
    return status;
}
