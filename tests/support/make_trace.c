/*
 * make_trace.c - see the header.
 */
#include "support/make_trace.h"

#include <stdlib.h>

#include "base/str.h"
#include "support/expect.h"

#define RECORD_BYTES 100

static void require(bool holds, const char *what)
{
    if (!holds)
        EXPECT_FAIL(what);
}

bool make_trace_try_begin(struct make_trace *make, const struct marey_alloc *alloc)
{
    *make = (struct make_trace){.alloc = marey__alloc_or_default(alloc), .track_idx = MAREY_NONE};
    make->builder = marey__builder_new(&make->alloc);
    if (make->builder == NULL)
        return false;
    make->source_idx = marey__builder_begin_source(make->builder, "made.json");
    return make->source_idx != MAREY_NONE;
}

void make_trace_begin(struct make_trace *make, const struct marey_alloc *alloc)
{
    require(make_trace_try_begin(make, alloc), "no memory for a trace");
}

void make_source(struct make_trace *make, int64_t rank)
{
    make->source_idx = marey__builder_begin_source(make->builder, "other.json");
    make->next_byte = 0;
    if (make->source_idx == MAREY_NONE)
        return;
    marey__builder_source(make->builder)->rank = rank;
    marey__builder_source(make->builder)->rank_is_assumed = rank == MAREY_UNKNOWN;
}

/* Without memory the builder is marked as failed, and finish says so. */
static uint32_t intern(struct make_trace *make, const char *text)
{
    return text == NULL ? MAREY_NONE : marey__intern_c(marey__builder_strings(make->builder), text);
}

void make_track(struct make_trace *make, const struct marey_track_key *key)
{
    make->track_idx = marey__builder_track(make->builder, key);
}

void make_thread(struct make_trace *make, const char *process, const char *thread)
{
    const struct marey_track_key key = {
        .kind = MAREY_TRACK_THREAD,
        .process_id = intern(make, process),
        .thread_id = intern(make, thread),
        .device = MAREY_UNKNOWN,
        .context = MAREY_UNKNOWN,
        .stream = MAREY_UNKNOWN,
    };
    make_track(make, &key);
}

void make_stream(struct make_trace *make, int64_t device, int64_t stream)
{
    const struct marey_track_key key = {
        .kind = MAREY_TRACK_STREAM,
        .process_id = intern(make, "0"),
        .thread_id = MAREY_NONE,
        .device = device,
        .context = 1,
        .stream = stream,
    };
    make_track(make, &key);
}

static struct marey_new_slice new_slice(struct make_trace *make, const char *category,
                                        const char *name, int64_t start_ns, int64_t dur_ns)
{
    const struct marey_str text =
        category == NULL ? (struct marey_str){NULL, 0} : marey__str(category);
    make->last_offset = MAREY_OFFSET(make->source_idx, make->next_byte);
    make->next_byte += RECORD_BYTES;
    return (struct marey_new_slice){
        .start_ns = start_ns,
        .dur_ns = dur_ns,
        .offset = make->last_offset,
        .track_idx = make->track_idx,
        .name_id = intern(make, name),
        .cat_id = marey__builder_category(make->builder, text),
    };
}

/* Adding to a builder or a track that could not be made is not allowed. */
static bool can_add(const struct make_trace *make)
{
    return !marey__builder_failed(make->builder) && make->track_idx != MAREY_NONE;
}

uint64_t make_timed(struct make_trace *make, const char *category, const char *name,
                    int64_t start_ns, int64_t dur_ns)
{
    const struct marey_new_slice slice = new_slice(make, category, name, start_ns, dur_ns);
    if (can_add(make))
        marey__builder_add_slice(make->builder, &slice);
    return slice.offset;
}

uint64_t make_slice(struct make_trace *make, const char *category, const char *name,
                    int64_t start_ns, int64_t end_ns)
{
    return make_timed(make, category, name, start_ns, end_ns - start_ns);
}

uint64_t make_call(struct make_trace *make, const char *category, const char *name,
                   int64_t start_ns, int64_t end_ns, uint64_t correlation)
{
    struct marey_new_slice slice = new_slice(make, category, name, start_ns, end_ns - start_ns);
    slice.correlation = correlation;
    slice.has_correlation = true;
    if (can_add(make))
        marey__builder_add_slice(make->builder, &slice);
    return slice.offset;
}

void make_begin(struct make_trace *make, const char *category, const char *name, int64_t ts_ns)
{
    const struct marey_new_slice slice = new_slice(make, category, name, ts_ns, MAREY_UNKNOWN);
    if (can_add(make))
        marey__builder_begin_slice(make->builder, &slice);
}

void make_end(struct make_trace *make, const char *name, int64_t ts_ns)
{
    make->last_offset = MAREY_OFFSET(make->source_idx, make->next_byte);
    make->next_byte += RECORD_BYTES;
    const uint32_t name_id = intern(make, name);
    if (can_add(make))
        marey__builder_end_slice(make->builder, make->track_idx, ts_ns, name_id, make->last_offset);
}

void make_args(struct make_trace *make, const char *json)
{
    struct made_provider *provider = make->provider;
    require(provider != NULL && provider->n < sizeof provider->args / sizeof *provider->args,
            "no room for args");
    provider->args[provider->n++] = (struct made_args){make->last_offset, json};
}

static const char *find_args(const struct made_provider *provider, uint64_t offset)
{
    for (size_t i = 0; i < provider->n; i++)
        if (provider->args[i].offset == offset)
            return provider->args[i].json;
    return NULL;
}

static enum marey_status walk(void *ctx, const uint64_t *offsets, size_t n, marey_args_fn fn,
                              void *user, struct marey_error *err)
{
    struct made_provider *provider = ctx;
    provider->n_walks++;
    if (provider->status != MAREY_OK) {
        if (err != NULL)
            err->status = provider->status;
        return provider->status;
    }
    for (size_t i = 0; i < n; i++) {
        require(i == 0 || offsets[i - 1] <= offsets[i], "offsets of a walk do not ascend");
        const char *json = find_args(provider, offsets[i]);
        const enum marey_status status =
            fn(user, i, json == NULL ? (struct marey_str){NULL, 0} : marey__str(json));
        if (status != MAREY_OK)
            return status;
    }
    return MAREY_OK;
}

static void release(void *ctx)
{
    struct made_provider *provider = ctx;
    provider->is_released = true;
}

enum marey_status make_trace_finish(struct make_trace *make, struct marey_trace **trace,
                                    struct marey_error *err)
{
    struct marey_args_provider provider = {0};
    if (make->provider != NULL)
        provider =
            (struct marey_args_provider){.ctx = make->provider, .walk = walk, .release = release};
    const enum marey_status status = marey__builder_finish(make->builder, provider, trace, err);
    marey__builder_free(make->builder);
    make->builder = NULL;
    return status;
}

struct marey_trace *make_trace_end(struct make_trace *make)
{
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    EXPECT_OK(make_trace_finish(make, &trace, &err), &err);
    return trace;
}

uint32_t made_slice(const struct marey_trace *trace, const char *name, int64_t start_ns)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    for (size_t i = 0; i < slices.n; i++)
        if (slices.start_ns[i] == start_ns &&
            marey__str_is_c(marey_trace_string(trace, slices.name_id[i]), name))
            return (uint32_t)i;
    EXPECT_FAIL(name);
    return MAREY_NONE;
}
