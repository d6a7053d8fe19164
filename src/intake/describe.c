/*
 * describe.c - what a recorded trace says of itself: names, the window, the head of its file.
 */
#define _GNU_SOURCE /* the name of the process */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "intake/walk.h"
#include "record/tls.h"

uint32_t marey__intake_number(struct intake *in, int64_t number)
{
    char digits[32];
    const size_t len = marey__format_i64(digits, number);
    const uint32_t id =
        marey__intern(marey__builder_strings(in->builder), (struct marey_str){digits, len});

    in->failed |= id == MAREY_NONE;
    return id;
}

static void add_meta_record(struct intake *in, const char *name, uint32_t thread_id,
                            const char *key, struct marey_str value, bool is_text)
{
    struct marey_intern *strings = marey__builder_strings(in->builder);
    struct marey_textbuf args;

    marey__text_init(&args, &in->alloc);
    marey__text_add_format(&args, "{\"%s\": ", key);
    if (is_text)
        marey__text_add_json(&args, value);
    else
        marey__text_add_str(&args, value);
    marey__text_add_byte(&args, '}');
    const struct marey_meta_record record = {
        .name_id = marey__intern_c(strings, name),
        .process_id = in->process_id,
        .thread_id = thread_id,
        .args_id = marey__intern(strings, (struct marey_str){args.ptr, args.len}),
        .ts_ns = marey__intake_ns(in, in->snapshot->start_ticks),
    };
    in->failed |=
        marey__text_failed(&args) || record.name_id == MAREY_NONE || record.args_id == MAREY_NONE;
    marey__text_release(&args);
    if (!in->failed)
        marey__builder_add_meta_record(in->builder, &record);
}

void marey__intake_name_thread(struct intake *in, const struct marey_log_part *part)
{
    struct marey_textbuf name;
    const struct marey_str id =
        marey__intern_text(marey__builder_strings(in->builder), in->thread_id);

    marey__text_init(&name, &in->alloc);
    marey__text_add_format(&name, "thread %lld (%s)", (long long)part->thread_id, part->name);
    if (!marey__text_failed(&name))
        add_meta_record(in, "thread_name", in->thread_id, "name",
                        (struct marey_str){name.ptr, name.len}, true);
    in->failed |= marey__text_failed(&name);
    marey__text_release(&name);
    add_meta_record(in, "thread_sort_index", in->thread_id, "sort_index", id, false);
}

void marey__intake_name_process(struct intake *in)
{
    const uint32_t zero = marey__intake_number(in, 0);
    const struct marey_str id =
        marey__intern_text(marey__builder_strings(in->builder), in->process_id);

    add_meta_record(in, "process_name", zero, "name", marey__str(program_invocation_short_name),
                    true);
    add_meta_record(in, "process_labels", zero, "labels", marey__str("CPU"), true);
    add_meta_record(in, "process_sort_index", zero, "sort_index", id, false);
}

void marey__intake_add_window(struct intake *in)
{
    char name[32];
    struct marey_intern *strings = marey__builder_strings(in->builder);
    const struct marey_track_key key = {
        .kind = MAREY_TRACK_THREAD,
        .process_id = marey__intern_c(strings, "Spans"),
        .thread_id = marey__intern_c(strings, "Marey"),
        .device = MAREY_UNKNOWN,
        .context = MAREY_UNKNOWN,
        .stream = MAREY_UNKNOWN,
    };
    const int64_t start_ns = marey__intake_ns(in, in->snapshot->start_ticks);
    (void)snprintf(name, sizeof name, "Marey (%zu)", (size_t)(in->recorded - in->args->recorded));
    const struct marey_new_slice slice = {
        .start_ns = start_ns,
        .dur_ns = marey__intake_ns(in, in->snapshot->stop_ticks) - start_ns,
        .offset = marey__recorded_offset(in->recorded, in->snapshot->n_chunks, 0),
        .track_idx = marey__builder_track(in->builder, &key),
        .name_id = marey__intern_c(strings, name),
        .cat_id = marey__builder_category(in->builder, marey__str("Trace")),
    };

    in->failed |=
        slice.name_id == MAREY_NONE || key.process_id == MAREY_NONE || key.thread_id == MAREY_NONE;
    if (!in->failed)
        marey__builder_add_slice(in->builder, &slice);
}

static void add_meta(struct intake *in, const char *key, const char *format, ...)
    MAREY_PRINTF(3, 4);

static void add_meta(struct intake *in, const char *key, const char *format, ...)
{
    char json[400];
    va_list values;

    va_start(values, format);
    (void)vsnprintf(json, sizeof json, format, values);
    va_end(values);
    (void)marey__builder_set_meta(in->builder, marey__str(key), marey__str(json));
}

/* The largest of all sessions; MAREY_UNKNOWN is smaller than any. */
struct own_numbers {
    int64_t clock_error_ns;
    int64_t range_cost_ns;
};

static struct own_numbers own_numbers(const struct marey_recorded_args *args)
{
    struct own_numbers most = {MAREY_UNKNOWN, MAREY_UNKNOWN};

    for (size_t i = 0; i < args->n_recorded; i++) {
        const struct marey_recorded *recorded = &args->recorded[i];
        if (recorded->snapshot.clock_error_ns > most.clock_error_ns)
            most.clock_error_ns = recorded->snapshot.clock_error_ns;
        if (recorded->session->range_cost_ns > most.range_cost_ns)
            most.range_cost_ns = recorded->session->range_cost_ns;
    }
    return most;
}

/* Which torch is recorded, if one is. A text that needs escapes is no version. */
static void add_torch(char *json, size_t size)
{
    static const char harmless[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_";

    marey__recorder_lock();
    const char *version = marey__collector_version("torch");
    marey__recorder_unlock();
    if (version != NULL && strlen(version) < size / 2 && version[strspn(version, harmless)] == '\0')
        (void)snprintf(json, size, ", \"torch\": \"%s\"", version);
}

/* What the recorder says of the sessions, so that a file of them says it too: import's
 * take_recording reads it. whole_ns is how long it was recorded without a loss. */
static void add_own_meta(struct intake *in)
{
    const struct marey_recorded *first = &in->args->recorded[0];
    const struct marey_account *account = marey__builder_account(in->builder);
    const struct own_numbers most = own_numbers(in->args);
    char cost[60] = "";
    char torch[60] = "";
    char losses[120] = "";

    if (most.range_cost_ns != MAREY_UNKNOWN)
        (void)snprintf(cost, sizeof cost, ", \"range_cost_ns\": %lld",
                       (long long)most.range_cost_ns);

    add_torch(torch, sizeof torch);
    if (account->count[MAREY_REASON_LOST] > 0)
        (void)snprintf(losses, sizeof losses, ", \"lost\": %llu",
                       (unsigned long long)account->count[MAREY_REASON_LOST]);
    if (in->first_lost_ns != MAREY_UNKNOWN) {
        const int64_t start_ns = marey__snapshot_ns(&first->snapshot, first->snapshot.start_ticks);
        const size_t len = strlen(losses);
        (void)snprintf(losses + len, sizeof losses - len, ", \"whole_ns\": %lld",
                       (long long)(in->first_lost_ns - start_ns));
    }
    add_meta(
        in, "marey",
        "{\"version\": \"%s\"%s, \"clock\": \"%s\", \"clock_error_ns\": %lld%s, \"open\": %llu%s}",
        MAREY_VERSION_STRING, torch, first->session->is_tsc ? "tsc" : "monotonic",
        (long long)most.clock_error_ns, cost, (unsigned long long)in->n_cut, losses);
}

static struct marey_str key_of(const struct marey_session_meta *meta)
{
    return (struct marey_str){meta->key, meta->key_len};
}

static bool has_key(const struct marey_session *session, struct marey_str key)
{
    for (size_t i = 0; i < session->n_metas; i++)
        if (marey__str_is(key_of(&session->metas[i]), key))
            return true;
    return false;
}

/* Of a key that several sessions have the last one counts. Another thread may add one now. */
static void add_metas_of(struct intake *in, size_t session_idx)
{
    const struct marey_recorded_args *args = in->args;
    const struct marey_session *session = args->recorded[session_idx].session;

    for (size_t i = 0; i < session->n_metas; i++) {
        const struct marey_session_meta *meta = &session->metas[i];
        bool is_later = false;
        for (size_t k = session_idx + 1; k < args->n_recorded && !is_later; k++)
            is_later = has_key(args->recorded[k].session, key_of(meta));
        if (!is_later)
            (void)marey__builder_set_meta(in->builder, key_of(meta),
                                          (struct marey_str){meta->json, meta->json_len});
    }
}

void marey__intake_add_metas(struct intake *in)
{
    bool has_inputs = false;

    for (size_t i = 0; i < in->args->n_recorded; i++)
        has_inputs |= (in->args->recorded[i].session->wants & MAREY_WANT_INPUTS) != 0;
    add_meta(in, "schemaVersion", "1");
    add_meta(in, "deviceProperties", "[]");
    if (has_inputs)
        add_meta(in, "record_shapes", "1");
    marey__recorder_lock();
    for (size_t i = 0; i < in->args->n_recorded; i++)
        add_metas_of(in, i);
    marey__recorder_unlock();
    add_own_meta(in);
    add_meta(in, "displayTimeUnit", "\"ms\"");
    add_meta(in, "baseTimeNanoseconds", "%lld", (long long)in->base_ns);
}
