/*
 * info_text.c - `marey info` for people: one line a fact, the important first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "info.h"
#include "json.h"

#define LABEL_COLUMNS 13

/* Lines of a list before the rest is only counted. */
#define MAX_LINES 16

static void add_label(struct text *text, const char *label)
{
    text_add(text, "%-*s", LABEL_COLUMNS, label);
}

static void end_line(struct text *text)
{
    text_add(text, "\n");
}

static void add_number(struct text *text, uint64_t n, const char *what)
{
    text_add(text, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

static void add_string(struct text *text, const struct info *info, uint32_t string_id)
{
    text_add_name(text, marey_trace_string(info->trace, string_id));
}

static void add_more(struct text *text, size_t n_left)
{
    add_label(text, "");
    text_add(text, "and %zu more\n", n_left);
}

/* ---- files ------------------------------------------------------------------------ */

/* What stands in the same file as a source and behind it: processes, or cycles of them. */
struct contents {
    size_t n; /* with the source */
    size_t n_processes;
    uint64_t size_bytes;
};

static bool is_in_file_before(const struct info *info, size_t source_idx)
{
    const struct info_source *sources = info->sources;

    return source_idx > 0 &&
           sources[source_idx].source->path_id == sources[source_idx - 1].source->path_id;
}

static struct contents contents_of(const struct info *info, size_t source_idx)
{
    struct contents contents = {0};

    for (size_t i = source_idx; i < info->n_sources; i++) {
        if (i > source_idx && !is_in_file_before(info, i))
            break;
        contents.n++;
        contents.n_processes += info->sources[i].source->cycle_of == i;
        contents.size_bytes += info->sources[i].source->size_bytes;
    }
    return contents;
}

static void add_sizes(struct text *text, const struct info_source *source,
                      const struct contents *contents)
{
    text_add_bytes_size(text, contents->size_bytes);
    text_add(text, " of JSON");
    if (source->source->is_gzip && source->stored_bytes != MAREY_UNKNOWN) {
        text_add(text, ", ");
        text_add_bytes_size(text, (uint64_t)source->stored_bytes);
        text_add(text, " compressed");
    }
    if (contents->n == 1)
        return;
    text_add(text, ", ");
    if (contents->n_processes < contents->n)
        add_number(text, contents->n, "cycle");
    if (contents->n_processes < contents->n && contents->n_processes > 1)
        text_add(text, " of ");
    if (contents->n_processes > 1)
        text_add(text, "%zu processes", contents->n_processes);
    text_add(text, " in it");
}

static void add_rank(struct text *text, const struct info *info, uint32_t source_idx)
{
    const struct marey_source *source = info->sources[source_idx].source;

    text_add(text, "rank %" PRId64, source->rank);
    if (source->world_size != MAREY_UNKNOWN)
        text_add(text, " of %" PRId64, source->world_size);
    if (source->rank_is_assumed)
        text_add(text, " (assumed, the file does not say)");
    if (source->cycle_of != source_idx)
        text_add(text, ", a further cycle of the same process");
}

static void add_producer(struct text *text, const struct info_producer *producer)
{
    text_add(text, "%s", producer->format);
    if (!producer->torch && !producer->is_known) {
        text_add(text, ", program unknown");
        return;
    }
    if (!producer->torch)
        return;
    if (producer->since && producer->until)
        text_add(text, " of %s to %s", producer->since, producer->until);
    else if (producer->since)
        text_add(text, " of %s or later", producer->since);
    else
        text_add(text, " of %s or earlier", producer->until);
    text_add(text, ", so %s (a guess)", producer->torch);
}

static void add_recorded(struct text *text, const struct info *info, uint32_t source_idx)
{
    const char *separator = "";

    for (const struct info_flag *f = info_flags; f->key; f++) {
        if (json_integer(info_meta(info, source_idx, f->key)) == 1) {
            text_add(text, "%s%s", separator, f->word);
            separator = ", ";
        }
    }
    if (!*separator)
        text_add(text, "no flag is set");
}

static void add_versions(struct text *text, const struct info *info, uint32_t source_idx)
{
    struct text version = {0};
    struct text words = {0};
    const char *name;

    for (size_t i = 0; (name = info_version(info, source_idx, i, &version)) != NULL; i++) {
        if (version.len > 0) {
            text_add(&words, "%s%s ", words.len > 0 ? ", " : "", name);
            text_add_name(&words, (struct marey_str){version.ptr, version.len});
        }
        text->is_broken = text->is_broken || version.is_broken;
        text_release(&version);
    }
    text->is_broken = text->is_broken || words.is_broken;
    if (words.len > 0) {
        add_label(text, "  versions");
        text_add_bytes(text, words.ptr, words.len);
        end_line(text);
    }
    text_release(&words);
}

static void add_device(struct text *text, const struct info_device *device)
{
    struct text name = {0};

    json_add_string(&name, device->name);
    text_add_name(text, (struct marey_str){name.ptr, name.len});
    text_release(&name);
    if (device->n_multiprocessors != MAREY_UNKNOWN)
        text_add(text, ", %" PRId64 " multiprocessors", device->n_multiprocessors);
    if (device->memory_bytes != MAREY_UNKNOWN) {
        text_add(text, ", ");
        text_add_bytes_size(text, (uint64_t)device->memory_bytes);
    }
}

static bool is_same_kind(const struct info_device *a, const struct info_device *b)
{
    return a->n_multiprocessors == b->n_multiprocessors && a->memory_bytes == b->memory_bytes &&
           a->name.len == b->name.len &&
           (a->name.len == 0 || memcmp(a->name.ptr, b->name.ptr, a->name.len) == 0);
}

static int64_t id_of(const struct info_device *device)
{
    return device->id == MAREY_UNKNOWN ? 0 : device->id;
}

/* One line for devices of a kind whose numbers follow one another. */
static void add_devices(struct text *text, const struct info *info, uint32_t source_idx)
{
    struct marey_str rest = info_devices(info, source_idx);
    struct info_device device;
    const char *label = "  devices";
    bool has_more = info_next_device(&rest, &device);

    while (has_more) {
        const struct info_device first = device;
        int64_t last = id_of(&first);
        while ((has_more = info_next_device(&rest, &device)) && is_same_kind(&first, &device) &&
               id_of(&device) == last + 1)
            last++;
        add_label(text, label);
        label = "";
        text_add(text, "%" PRId64, id_of(&first));
        if (last != id_of(&first))
            text_add(text, " to %" PRId64 ", each", last);
        text_add(text, ": ");
        add_device(text, &first);
        end_line(text);
    }
}

static void add_steps(struct text *text, const struct info_steps *steps)
{
    if (steps->n == 0) {
        text_add(text, "none (no ProfilerStep# annotation)");
        return;
    }
    text_add(text, "%" PRIu64 ": ProfilerStep#%" PRId64, steps->n, steps->first);
    if (steps->last != steps->first)
        text_add(text, " to #%" PRId64, steps->last);
    if (steps->n_timed > 0) {
        text_add(text, ", mean ");
        text_add_duration(text, steps->sum_ns == MAREY_UNKNOWN
                                    ? MAREY_UNKNOWN
                                    : steps->sum_ns / (int64_t)steps->n_timed);
    }
}

/* What is alike in the files of a job as a rule. */
static void add_common(struct text *text, const struct info *info, uint32_t source_idx)
{
    const int64_t cost_ns = info_range_cost_ns(info, source_idx);

    add_label(text, "  written by");
    add_producer(text, &info->sources[source_idx].producer);
    end_line(text);
    add_versions(text, info, source_idx);
    add_label(text, "  recorded");
    add_recorded(text, info, source_idx);
    end_line(text);
    if (cost_ns != MAREY_UNKNOWN) {
        add_label(text, "  own cost");
        text_add(text, "%" PRId64 " ns a range at the least, for its begin and its end\n", cost_ns);
    }
    add_devices(text, info, source_idx);
}

/* The head of a source that is not the first in its file. */
static void add_place_in_file(struct text *text, const struct info *info, uint32_t source_idx)
{
    const struct marey_source *source = info->sources[source_idx].source;
    size_t number = 1;
    char label[40];

    while (is_in_file_before(info, source_idx + 1 - number))
        number++;
    snprintf(label, sizeof label, "  %s %zu", source->cycle_of == source_idx ? "process" : "cycle",
             number);
    text_add(text, "%-*s ", LABEL_COLUMNS - 1, label);
    text_add_bytes_size(text, source->size_bytes);
    text_add(text, " of JSON");
}

static void add_head(struct text *text, const struct info *info, uint32_t source_idx)
{
    const struct info_source *source = &info->sources[source_idx];

    if (is_in_file_before(info, source_idx)) {
        add_place_in_file(text, info, source_idx);
        return;
    }
    const struct contents contents = contents_of(info, source_idx);
    add_label(text, "file");
    add_string(text, info, source->source->path_id);
    text_add(text, ", ");
    add_sizes(text, source, &contents);
}

static void add_file(struct text *text, const struct info *info, uint32_t source_idx,
                     const struct text *common)
{
    const struct info_source *source = &info->sources[source_idx];

    add_head(text, info, source_idx);
    end_line(text);
    text_add_bytes(text, common->ptr, common->len);
    add_label(text, "  rank");
    add_rank(text, info, source_idx);
    end_line(text);
    add_label(text, "  records");
    text_add(text, "%" PRIu64 ", %" PRIu64 " of them metadata\n", source->source->n_records,
             source->source->n_metadata);
    add_label(text, "  steps");
    add_steps(text, &source->steps);
    end_line(text);
}

/* A file that is in all else as the first. */
static void add_further(struct text *text, const struct info *info, uint32_t source_idx)
{
    const struct info_source *source = &info->sources[source_idx];

    add_head(text, info, source_idx);
    text_add(text, ": ");
    add_rank(text, info, source_idx);
    text_add(text, "; ");
    add_number(text, source->source->n_records, "record");
    if (source->steps.n > 0) {
        text_add(text, "; steps ");
        add_steps(text, &source->steps);
    }
    text_add(text, "; else as the first");
    end_line(text);
}

static void add_files(struct text *text, const struct info *info, bool verbose)
{
    struct text first = {0};

    for (size_t i = 0; i < info->n_sources; i++) {
        struct text common = {0};
        add_common(&common, info, (uint32_t)i);
        const bool is_alike = i > 0 && !verbose && common.len == first.len &&
                              (common.len == 0 || memcmp(common.ptr, first.ptr, common.len) == 0);
        if (is_alike)
            add_further(text, info, (uint32_t)i);
        else
            add_file(text, info, (uint32_t)i, &common);
        text->is_broken = text->is_broken || common.is_broken;
        if (i > 0) {
            text_release(&common);
            continue;
        }
        first = common;
    }
    text_release(&first);
}

/* ---- the window --------------------------------------------------------------------- */

static void add_utc(struct text *text, int64_t ns)
{
    const int64_t second_ns = 1000000000;
    const time_t seconds = (time_t)(ns / second_ns);
    struct tm tm;
    char date[32] = "";

    if (ns < 0 || !gmtime_r(&seconds, &tm))
        return;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
    text_add(text, ", from %s.%09" PRId64 " UTC", date, ns % second_ns);
}

static void add_window(struct text *text, const struct info *info)
{
    bool all_have_base = info->n_sources > 0;

    for (size_t i = 0; i < info->n_sources; i++)
        all_have_base = all_have_base && info->sources[i].source->base_ns != 0;
    add_label(text, "window");
    if (info->start_ns == MAREY_UNKNOWN) {
        text_add(text, "empty: no slice\n");
        return;
    }
    text_add_duration(text, info->end_ns - info->start_ns);
    if (all_have_base)
        add_utc(text, info->start_ns);
    end_line(text);
    if (info->n_gaps == 0)
        return;
    add_label(text, "not recorded");
    if (info->is_of_several)
        text_add(text, "of one process at most ");
    text_add_duration(text, info->gaps_ns);
    text_add(text, info->is_of_several ? ", %zu %s of all" : " in %zu %s", info->n_gaps,
             info->n_gaps == 1 ? "gap" : "gaps");
    end_line(text);
}

/* ---- tracks, categories, flows --------------------------------------------------------- */

static void add_track(struct text *text, const struct info *info, const struct marey_track *track)
{
    static const char *const kinds[] = {"thread", "stream", "notes", "syncs"};

    add_label(text, "");
    if (info->n_sources > 1)
        text_add(text, "rank %" PRId64 ", ", info->sources[track->source_idx].source->rank);
    text_add(text, "%s ", kinds[track->kind]);
    if (track->kind == MAREY_TRACK_THREAD) {
        add_string(text, info, track->process_id);
        text_add(text, "/");
        add_string(text, info, track->thread_id);
        if (track->thread_name_id != MAREY_NONE) {
            text_add(text, " \"");
            add_string(text, info, track->thread_name_id);
            text_add(text, "\"");
        }
    } else {
        text_add_json_number(text, track->stream);
        text_add(text, " of device ");
        text_add_json_number(text, track->device);
    }
    text_add(text, ": ");
    add_number(text, track->n_slices, "slice");
    if (track->n_crossings > 0)
        text_add(text, ", %" PRIu32 " of them crossing", track->n_crossings);
    if (info->sources[track->source_idx].source->cycle_of != track->source_idx)
        text_add(text, ", in a further cycle");
    end_line(text);
}

static void add_tracks(struct text *text, const struct info *info)
{
    size_t n_shown = 0;
    size_t n_with_slices = 0;

    add_label(text, "tracks");
    add_number(text, info->n_threads, "thread");
    text_add(text, ", ");
    add_number(text, info->n_streams, "stream");
    text_add(text, " on ");
    add_number(text, info->n_devices, "device");
    end_line(text);
    for (size_t i = 0; i < info->n_tracks; i++) {
        if (info->tracks[i].n_slices == 0)
            continue;
        if (n_with_slices++ < MAX_LINES) {
            add_track(text, info, &info->tracks[i]);
            n_shown++;
        }
    }
    if (n_with_slices > n_shown)
        add_more(text, n_with_slices - n_shown);
}

static void add_count(struct text *text, const char **separator, uint64_t n, const char *what)
{
    if (n == 0)
        return;
    text_add(text, "%s", *separator);
    add_number(text, n, what);
    *separator = ", ";
}

static void add_categories(struct text *text, const struct info *info)
{
    const char *label = "categories";

    for (size_t i = 0; i < info->n_categories; i++) {
        const struct info_category *category = &info->categories[i];
        const char *separator = "";

        if (category->n_slices + category->n_instants + category->n_counters == 0)
            continue;
        add_label(text, label);
        label = "";
        text_add_name(text, category->name.ptr ? category->name : str_of("none"));
        text_add(text, " (%s): ", marey_kind_name(category->kind));
        add_count(text, &separator, category->n_slices, "slice");
        add_count(text, &separator, category->n_instants, "instant");
        add_count(text, &separator, category->n_counters, "counter record");
        end_line(text);
    }
}

static void add_flows(struct text *text, const struct info *info)
{
    size_t n_spans = 0;

    for (size_t i = 0; i < info->n_flows; i++) {
        add_label(text, i == 0 ? "flows" : "");
        text_add_name(text, info->flows[i].name);
        text_add(text, ": ");
        add_number(text, info->flows[i].n_ends, "end");
        end_line(text);
    }
    marey_trace_async_spans(info->trace, &n_spans);
    if (n_spans > 0) {
        add_label(text, "async spans");
        text_add(text, "%zu\n", n_spans);
    }
}

/* ---- metadata, ledger, memory -------------------------------------------------------------- */

/* Keys of all heads and tails, each once: values may hold what is nobody's business. */
static void add_meta_keys(struct text *text, const struct info *info)
{
    size_t n = 0;
    const struct marey_meta *metas = marey_trace_metas(info->trace, &n);
    struct text keys = {0};

    for (size_t i = 0; i < n; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i && is_new; j++)
            is_new = metas[j].key_id != metas[i].key_id;
        if (is_new) {
            text_add(&keys, " ");
            add_string(&keys, info, metas[i].key_id);
        }
    }
    add_label(text, "metadata");
    if (keys.is_broken)
        text->is_broken = true;
    text_add_wrapped(text, keys.ptr ? keys.ptr + 1 : "none", LABEL_COLUMNS, LABEL_COLUMNS, 88);
    text_release(&keys);
}

/* What a row counts of the writings before, by reason. */
static void add_before(struct text *text, const struct marey_ledger *ledger,
                       const struct marey_ledger_row *row)
{
    const char *separator = ": ";

    for (size_t i = 0; i < ledger->n_before; i++) {
        if (!marey_ledger_counts_before(row, &ledger->before[i]))
            continue;
        text_add(text, "%s%s %" PRIu64, separator, ledger->before[i].reason,
                 ledger->before[i].count);
        separator = ", ";
    }
}

static void add_ledger(struct text *text, const struct info *info)
{
    static const char *const maps[] = {"set aside", "repaired", "found", "noted"};
    const struct marey_ledger *ledger = &info->ledger;

    add_label(text, "ledger");
    text_add(text, "%" PRIu64 " records read, %" PRIu64 " used%s\n", ledger->n_read, ledger->n_used,
             ledger->n_rows == 0 ? ", nothing to report" : "");
    for (size_t i = 0; i < ledger->n_rows; i++) {
        const struct marey_ledger_row *row = &ledger->rows[i];
        add_label(text, "");
        text_add(text, "%s: %" PRIu64 " %s (%s", maps[row->map], row->count, row->reason,
                 row->meaning);
        add_before(text, ledger, row);
        text_add(text, ")\n");
    }
}

static void add_footprint(struct text *text, const struct info *info)
{
    const struct marey_footprint print = marey_trace_footprint(info->trace);
    const uint64_t all =
        print.column_bytes + print.string_bytes + print.lazy_bytes + print.other_bytes;

    add_label(text, "in memory");
    text_add_bytes_size(text, all);
    text_add(text, ": columns ");
    text_add_bytes_size(text, print.column_bytes);
    text_add(text, ", strings ");
    text_add_bytes_size(text, print.string_bytes);
    text_add(text, ", built later ");
    text_add_bytes_size(text, print.lazy_bytes);
    text_add(text, ", other ");
    text_add_bytes_size(text, print.other_bytes);
    end_line(text);
}

void info_as_text(const struct info *info, bool verbose, struct text *text)
{
    add_files(text, info, verbose);
    add_window(text, info);
    add_tracks(text, info);
    add_categories(text, info);
    add_flows(text, info);
    add_meta_keys(text, info);
    add_ledger(text, info);
    add_footprint(text, info);
}
