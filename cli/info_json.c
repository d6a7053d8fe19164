/*
 * info_json.c - `marey info --format json`. Names and meanings stay; members may
 * be added without a new schema number. What is not known is null.
 */
#include <inttypes.h>

#include "info.h"
#include "json.h"

/* null where the trace has no text. */
static void add_view(struct text *text, struct marey_str view)
{
    if (view.ptr)
        text_add_json_string(text, view);
    else
        text_add(text, "null");
}

static void add_string(struct text *text, const struct info *info, uint32_t string_id)
{
    add_view(text, marey_trace_string(info->trace, string_id));
}

static void add_literal(struct text *text, const char *literal)
{
    if (literal)
        text_add_json_string(text, str_of(literal));
    else
        text_add(text, "null");
}

static const char *bool_text(bool value)
{
    return value ? "true" : "false";
}

/* Starts an element of a list on a line of its own. */
static void start_element(struct text *text, size_t i)
{
    text_add(text, "%s\n    {", i == 0 ? "" : ",");
}

/* ---- sources ------------------------------------------------------------------------ */

static void add_torch(struct text *text, const struct info *info, uint32_t source_idx)
{
    struct text version = {0};

    info_torch(info, source_idx, &version);
    if (version.len > 0)
        text_add(text, "\"torch %s\"", version.ptr); /* digits and points */
    else
        add_literal(text, info->sources[source_idx].producer.torch);
    text->is_broken = text->is_broken || version.is_broken;
    text_release(&version);
}

static void add_producer(struct text *text, const struct info *info, uint32_t source_idx)
{
    const struct info_producer *producer = &info->sources[source_idx].producer;

    text_add(text, "\"written_by\": {\"format\": ");
    add_literal(text, producer->format);
    text_add(text, ", \"kineto_since\": ");
    add_literal(text, producer->since);
    text_add(text, ", \"kineto_until\": ");
    add_literal(text, producer->until);
    text_add(text, ", \"torch\": ");
    add_torch(text, info, source_idx);
    text_add(text, ", \"is_guess\": %s}", producer->is_known ? "false" : "true");
}

static void add_versions(struct text *text, const struct info *info, uint32_t source_idx)
{
    struct text version = {0};
    const char *separator = "";
    const char *name;

    text_add(text, "\"versions\": {");
    for (size_t i = 0; (name = info_version(info, source_idx, i, &version)) != NULL; i++) {
        if (version.len > 0) {
            text_add(text, "%s", separator);
            add_literal(text, name);
            text_add(text, ": ");
            text_add_json_string(text, (struct marey_str){version.ptr, version.len});
            separator = ", ";
        }
        text->is_broken = text->is_broken || version.is_broken;
        text_release(&version);
    }
    text_add(text, "}");
}

static void add_recorded(struct text *text, const struct info *info, uint32_t source_idx)
{
    const char *separator = "";

    text_add(text, "\"recorded\": [");
    for (const struct info_flag *f = info_flags; f->key; f++) {
        if (json_integer(info_meta(info, source_idx, f->key)) != 1)
            continue;
        text_add(text, "%s", separator);
        add_literal(text, f->word);
        separator = ", ";
    }
    text_add(text, "]");
}

static void add_devices(struct text *text, const struct info *info, uint32_t source_idx)
{
    struct marey_str rest = info_devices(info, source_idx);
    struct info_device device;
    const char *separator = "";

    text_add(text, "\"devices\": [");
    while (info_next_device(&rest, &device)) {
        struct text name = {0};

        json_add_string(&name, device.name);
        text_add(text, "%s{\"id\": ", separator);
        text_add_json_number(text, device.id);
        text_add(text, ", \"name\": ");
        text_add_json_string(text, (struct marey_str){name.ptr, name.len});
        text_add(text, ", \"multiprocessors\": ");
        text_add_json_number(text, device.n_multiprocessors);
        text_add(text, ", \"memory_bytes\": ");
        text_add_json_number(text, device.memory_bytes);
        text_add(text, "}");
        text_release(&name);
        separator = ", ";
    }
    text_add(text, "]");
}

static void add_steps(struct text *text, const struct info_steps *steps)
{
    const bool any = steps->n > 0;

    text_add(text, "\"steps\": {\"count\": %" PRIu64 ", \"first\": ", steps->n);
    text_add_json_number(text, any ? steps->first : MAREY_UNKNOWN);
    text_add(text, ", \"last\": ");
    text_add_json_number(text, any ? steps->last : MAREY_UNKNOWN);
    text_add(text, ", \"timed\": %" PRIu64 ", \"sum_ns\": ", steps->n_timed);
    text_add_json_number(text, steps->n_timed > 0 ? steps->sum_ns : MAREY_UNKNOWN);
    text_add(text, "}");
}

static void add_files(struct text *text, const struct info *info)
{
    text_add(text, "  \"files\": [");
    for (size_t i = 0; i < info->n_sources; i++) {
        const struct info_source *file = &info->sources[i];
        const struct marey_source *source = file->source;

        start_element(text, i);
        text_add(text, "\"path\": ");
        add_string(text, info, source->path_id);
        text_add(text, ", \"json_bytes\": %" PRIu64 ", \"stored_bytes\": ", source->size_bytes);
        text_add_json_number(text, file->stored_bytes);
        text_add(text, ", \"is_gzip\": %s, \"rank\": ", bool_text(source->is_gzip));
        text_add_json_number(text, source->rank);
        text_add(text,
                 ", \"rank_is_assumed\": %s, \"world_size\": ", bool_text(source->rank_is_assumed));
        text_add_json_number(text, source->world_size);
        text_add(text, ", \"cycle_of\": %" PRIu32 ", \"base_ns\": ", source->cycle_of);
        text_add_json_number(text, source->base_ns);
        text_add(text, ", \"records\": %" PRIu64 ", \"metadata_records\": %" PRIu64 ", ",
                 source->n_records, source->n_metadata);
        add_producer(text, info, (uint32_t)i);
        text_add(text, ", ");
        add_versions(text, info, (uint32_t)i);
        text_add(text, ", ");
        add_recorded(text, info, (uint32_t)i);
        text_add(text, ", \"range_cost_ns\": ");
        text_add_json_number(text, info_range_cost_ns(info, (uint32_t)i));
        text_add(text, ", ");
        add_devices(text, info, (uint32_t)i);
        text_add(text, ", ");
        add_steps(text, &file->steps);
        text_add(text, "}");
    }
    text_add(text, "\n  ],\n");
}

/* ---- tracks, categories, flows --------------------------------------------------------- */

static void add_window(struct text *text, const struct info *info)
{
    const bool is_known = info->start_ns != MAREY_UNKNOWN;

    text_add(text, "  \"window\": {\"start_ns\": ");
    text_add_json_number(text, info->start_ns);
    text_add(text, ", \"end_ns\": ");
    text_add_json_number(text, info->end_ns);
    text_add(text, ", \"dur_ns\": ");
    text_add_json_number(text, is_known ? info->end_ns - info->start_ns : MAREY_UNKNOWN);
    text_add(text, ", \"gaps\": %zu, \"gaps_ns\": ", info->n_gaps);
    text_add_json_number(text,
                         info->is_of_several && info->n_gaps > 0 ? MAREY_UNKNOWN : info->gaps_ns);
    text_add(text, "},\n");
}

static void add_tracks(struct text *text, const struct info *info)
{
    static const char *const kinds[] = {"thread", "stream", "stream_note", "stream_sync"};

    text_add(text, "  \"tracks\": [");
    for (size_t i = 0; i < info->n_tracks; i++) {
        const struct marey_track *track = &info->tracks[i];

        start_element(text, i);
        text_add(text, "\"kind\": \"%s\", \"file\": %" PRIu32 ", \"process\": ", kinds[track->kind],
                 track->source_idx);
        add_string(text, info, track->process_id);
        text_add(text, ", \"thread\": ");
        add_string(text, info, track->thread_id);
        text_add(text, ", \"device\": ");
        text_add_json_number(text, track->device);
        text_add(text, ", \"context\": ");
        text_add_json_number(text, track->context);
        text_add(text, ", \"stream\": ");
        text_add_json_number(text, track->stream);
        text_add(text, ", \"process_name\": ");
        add_string(text, info, track->process_name_id);
        text_add(text, ", \"thread_name\": ");
        add_string(text, info, track->thread_name_id);
        text_add(text, ", \"slices\": %" PRIu32 ", \"crossings\": %" PRIu32 "}", track->n_slices,
                 track->n_crossings);
    }
    text_add(text, "\n  ],\n");
}

static void add_categories(struct text *text, const struct info *info)
{
    text_add(text, "  \"categories\": [");
    for (size_t i = 0; i < info->n_categories; i++) {
        const struct info_category *category = &info->categories[i];

        start_element(text, i);
        text_add(text, "\"name\": ");
        add_view(text, category->name);
        text_add(text, ", \"kind\": ");
        add_literal(text, marey_kind_name(category->kind));
        text_add(text,
                 ", \"slices\": %" PRIu64 ", \"instants\": %" PRIu64 ", \"counters\": %" PRIu64 "}",
                 category->n_slices, category->n_instants, category->n_counters);
    }
    text_add(text, "\n  ],\n");
}

static void add_flows(struct text *text, const struct info *info)
{
    size_t n_spans = 0;

    text_add(text, "  \"flows\": [");
    for (size_t i = 0; i < info->n_flows; i++) {
        start_element(text, i);
        text_add(text, "\"category\": ");
        add_view(text, info->flows[i].category);
        text_add(text, ", \"name\": ");
        add_view(text, info->flows[i].name);
        text_add(text, ", \"ends\": %" PRIu64 "}", info->flows[i].n_ends);
    }
    marey_trace_async_spans(info->trace, &n_spans);
    text_add(text, "\n  ],\n  \"async_spans\": %zu,\n", n_spans);
}

/* ---- metadata, ledger, memory -------------------------------------------------------------- */

static void add_meta_keys(struct text *text, const struct info *info)
{
    size_t n = 0;
    const struct marey_meta *metas = marey_trace_metas(info->trace, &n);

    text_add(text, "  \"metadata\": [");
    for (size_t i = 0; i < n; i++) {
        start_element(text, i);
        text_add(text, "\"file\": %" PRIu32 ", \"key\": ", metas[i].source_idx);
        add_string(text, info, metas[i].key_id);
        text_add(text, ", \"bytes\": %zu}", marey_trace_string(info->trace, metas[i].json_id).len);
    }
    text_add(text, "\n  ],\n");
}

/* The same shape as in the table's JSON. */
static void add_ledger(struct text *text, const struct info *info)
{
    static const char *const maps[] = {"quarantined", "repaired", "finding", "info"};
    const struct marey_ledger *ledger = &info->ledger;
    bool is_clean = true;

    for (size_t i = 0; i < ledger->n_rows; i++)
        is_clean = is_clean && ledger->rows[i].map == MAREY_LEDGER_INFO;
    text_add(text,
             "  \"ledger\": {\"clean\": %s, \"read\": %" PRIu64 ", \"used\": %" PRIu64
             ", \"reasons\": [",
             bool_text(is_clean), ledger->n_read, ledger->n_used);
    for (size_t i = 0; i < ledger->n_rows; i++) {
        const struct marey_ledger_row *row = &ledger->rows[i];

        start_element(text, i);
        text_add(text, "\"reason\": ");
        add_literal(text, row->reason);
        text_add(text, ", \"map\": \"%s\", \"count\": %" PRIu64 ", \"meaning\": ", maps[row->map],
                 row->count);
        add_literal(text, row->meaning);
        text_add(text, "}");
    }
    text_add(text, "\n  ]},\n");
}

static void add_footprint(struct text *text, const struct info *info)
{
    const struct marey_footprint print = marey_trace_footprint(info->trace);

    text_add(text,
             "  \"footprint\": {\"column_bytes\": %" PRIu64 ", \"string_bytes\": %" PRIu64
             ", \"lazy_bytes\": %" PRIu64 ", \"other_bytes\": %" PRIu64 "}\n",
             print.column_bytes, print.string_bytes, print.lazy_bytes, print.other_bytes);
}

void info_as_json(const struct info *info, struct text *text)
{
    text_add(text, "{\n  \"schema\": 1,\n");
    add_files(text, info);
    add_window(text, info);
    text_add(text,
             "  \"threads\": %" PRIu64 ", \"streams\": %" PRIu64 ", \"devices\": %" PRIu64 ",\n",
             info->n_threads, info->n_streams, info->n_devices);
    add_tracks(text, info);
    add_categories(text, info);
    add_flows(text, info);
    add_meta_keys(text, info);
    add_ledger(text, info);
    add_footprint(text, info);
    text_add(text, "}\n");
}
