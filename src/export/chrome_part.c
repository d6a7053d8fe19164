/*
 * chrome_part.c - a file of several sources: its parts, and pids that do not collide.
 *
 * trace/parts.h draws what a part looks like. The first source that has a pid keeps it. In a
 * later one a number becomes the next free number, other text gets its rank; so other programs
 * do not take the threads and streams of two ranks for one.
 */
#include "export/chrome.h"

#include "base/error.h"
#include "base/json.h"
#include "base/sort.h"
#include "trace/builder.h"
#include "trace/parts.h"

#define MOST_PID (INT64_C(1) << 30)      /* larger ones are kept, but not counted on from */
#define MOST_FLOW_ID (UINT64_C(1) << 53) /* what JavaScript keeps apart */

static uint64_t key_of(uint32_t source_idx, uint32_t process_id)
{
    return (uint64_t)source_idx << 32 | process_id;
}

/* ---- gathering pids ---- */

static bool add_process(struct marey_chrome *chrome, uint32_t source_idx, uint32_t process_id)
{
    struct marey_chrome_parts *parts = &chrome->parts;
    void *at = parts->process;
    if (process_id == MAREY_NONE)
        return true;
    uint32_t *place = marey__hashmap_put(&parts->by_key, key_of(source_idx, process_id));
    if (place == NULL)
        return false;
    if (*place != MAREY_NONE)
        return true;
    *place = (uint32_t)parts->n_processes;
    if (parts->n_processes == parts->capacity &&
        !marey__grow(&chrome->alloc, &at, &parts->capacity, parts->n_processes + 1,
                     sizeof *parts->process))
        return false;
    parts->process = at;
    const struct marey_str text = marey__chrome_shown_id(chrome, process_id);
    if (text.ptr == NULL)
        return false;
    parts->process[parts->n_processes++] = (struct marey_chrome_process){
        .source_idx = source_idx,
        .process_id = process_id,
        .text = text,
    };
    return true;
}

struct marks {
    bool *is_written; /* [n_tracks] */
    size_t n_tracks;
};

static void mark(const struct marks *marks, uint32_t track_idx)
{
    if (track_idx < marks->n_tracks) /* a record may name none */
        marks->is_written[track_idx] = true;
}

static void mark_all(const struct marks *marks, const uint32_t *track_idx, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mark(marks, track_idx[i]);
}

/* Tracks of which a record is written: one of which all were left out takes no pid from another,
 * or the next writing, which does not know it, would choose others. */
void marey__chrome_mark_written(const struct marey_chrome *chrome, bool *is_written)
{
    const struct marks marks = {is_written, chrome->n_tracks};
    for (size_t t = 0; t < chrome->n_tracks; t++)
        is_written[t] = chrome->tracks[t].n_slices > 0;
    mark_all(&marks, chrome->instants.track_idx, chrome->instants.n);
    mark_all(&marks, chrome->counters.track_idx, chrome->counters.n);
    mark_all(&marks, chrome->flows.track_idx, chrome->flows.n);
    for (size_t i = 0; i < chrome->n_spans; i++)
        mark(&marks, chrome->spans[i].track_idx);
    for (size_t i = 0; i < chrome->n_quarantined; i++)
        if (marey__chrome_can_write(chrome, &chrome->quarantined[i]))
            mark(&marks, chrome->quarantined[i].track_idx);
}

static bool gather_of_tracks(struct marey_chrome *chrome)
{
    bool *is_written = marey__alloc_zero(&chrome->alloc, chrome->n_tracks + 1, sizeof *is_written);
    bool done = is_written != NULL;
    if (done)
        marey__chrome_mark_written(chrome, is_written);
    for (size_t t = 0; done && t < chrome->n_tracks; t++)
        done = !is_written[t] ||
               add_process(chrome, chrome->tracks[t].source_idx, chrome->tracks[t].process_id);
    marey__dealloc(&chrome->alloc, is_written, chrome->n_tracks + 1, sizeof *is_written);
    return done;
}

static bool gather_processes(struct marey_chrome *chrome)
{
    size_t n_records = 0;
    const struct marey_meta_record *record = marey_trace_meta_records(chrome->trace, &n_records);
    if (!gather_of_tracks(chrome))
        return false;
    for (size_t i = 0; i < n_records; i++)
        if (marey__chrome_shows_record(chrome, &record[i]) &&
            !add_process(chrome, record[i].source_idx, record[i].process_id))
            return false;
    return !chrome->out.failed;
}

static int compare_processes(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_chrome_process *process = ctx;
    if (process[a].source_idx != process[b].source_idx)
        return process[a].source_idx < process[b].source_idx ? -1 : 1;
    return marey__str_compare(process[a].text, process[b].text);
}

/* By source, then text; by_key follows. */
static bool sort_processes(struct marey_chrome *chrome)
{
    struct marey_chrome_parts *parts = &chrome->parts;
    const size_t n = parts->n_processes;
    uint32_t *order = marey__alloc(&chrome->alloc, n, sizeof *order);
    struct marey_chrome_process *sorted =
        marey__alloc(&chrome->alloc, parts->capacity, sizeof *sorted);
    bool done = order != NULL && sorted != NULL;
    for (size_t i = 0; done && i < n; i++)
        order[i] = (uint32_t)i;
    done = done && marey__sort_indices(&chrome->alloc, order, n, compare_processes, parts->process);
    for (size_t i = 0; done && i < n; i++) {
        sorted[i] = parts->process[order[i]];
        uint32_t *place =
            marey__hashmap_put(&parts->by_key, key_of(sorted[i].source_idx, sorted[i].process_id));
        MAREY_ASSERT(place != NULL); /* it is there already */
        *place = (uint32_t)i;
    }
    if (done) {
        struct marey_chrome_process *const unsorted = parts->process;
        parts->process = sorted;
        sorted = unsorted;
    }
    marey__dealloc(&chrome->alloc, sorted, parts->capacity, sizeof *sorted);
    marey__dealloc(&chrome->alloc, order, n, sizeof *order);
    return done;
}

/* ---- choosing other pids ---- */

/* Marks a text as taken; *is_new is false if it was. */
static bool take_text(struct marey_hashmap *taken, struct marey_str text, bool *is_new)
{
    uint32_t *place = marey__hashmap_put(taken, marey__str_hash(text));
    if (place == NULL)
        return false;
    *is_new = *place == MAREY_NONE;
    *place = 1;
    return true;
}

static int64_t number_of(struct marey_str text)
{
    struct marey_json json = marey__json(text);
    int64_t number = 0;
    return text.len > 0 && marey__json_i64(&json, &number) ? number : MAREY_UNKNOWN;
}

static struct marey_str keep_text(struct marey_chrome *chrome)
{
    const struct marey_textbuf *scratch = &chrome->scratch;
    char *kept = scratch->failed ? NULL : marey__arena_take_bytes(&chrome->arena, scratch->len + 1);
    if (kept == NULL)
        return (struct marey_str){NULL, 0};
    if (scratch->len > 0)
        memcpy(kept, scratch->ptr, scratch->len);
    return (struct marey_str){kept, scratch->len};
}

/* The try-th text for a pid whose own is taken. */
static void propose(struct marey_chrome *chrome, const struct marey_chrome_process *process,
                    unsigned try)
{
    struct marey_textbuf *scratch = &chrome->scratch;
    const int64_t number = number_of(process->text);
    marey__text_reset(scratch);
    if (number != MAREY_UNKNOWN) {
        marey__text_add_i64(scratch, chrome->parts.next_pid++);
        return;
    }
    marey__text_add_str(scratch, process->text);
    marey__text_add_c(scratch, " (rank ");
    marey__text_add_i64(scratch, chrome->sources[process->source_idx].rank);
    marey__text_add_c(scratch, ")");
    if (try > 0)
        marey__text_add_format(scratch, " %u", try + 1);
}

static bool choose(struct marey_chrome *chrome, struct marey_hashmap *taken,
                   struct marey_chrome_process *process)
{
    bool is_new = false;
    for (unsigned try = 0; !is_new; try++) {
        propose(chrome, process, try);
        const struct marey_str text = {chrome->scratch.ptr, chrome->scratch.len};
        if (chrome->scratch.failed || !take_text(taken, text, &is_new))
            return false;
    }
    process->written = keep_text(chrome);
    return process->written.ptr != NULL;
}

/* Texts of all pids are taken before the first other one is chosen. */
static bool choose_all(struct marey_chrome *chrome, struct marey_hashmap *taken)
{
    struct marey_chrome_parts *parts = &chrome->parts;
    for (size_t i = 0; i < parts->n_processes; i++) {
        struct marey_chrome_process *process = &parts->process[i];
        const int64_t number = number_of(process->text);
        bool is_new = false;
        if (!take_text(taken, process->text, &is_new))
            return false;
        if (is_new)
            process->written = process->text;
        if (number >= parts->next_pid && number < MOST_PID)
            parts->next_pid = number + 1;
    }
    for (size_t i = 0; i < parts->n_processes; i++)
        if (parts->process[i].written.ptr == NULL && !choose(chrome, taken, &parts->process[i]))
            return false;
    return true;
}

/* ---- ids of arrows ---- */

/* What is added to those of each source: what lies above the ids of the sources before it. */
static void place_flow_ids(struct marey_chrome *chrome)
{
    struct marey_chrome_parts *parts = &chrome->parts;
    uint64_t sum = 0;
    for (size_t i = 0; i < chrome->flows.n; i++) {
        const uint32_t source_idx = chrome->tracks[chrome->flows.track_idx[i]].source_idx;
        const uint64_t id = chrome->flows.id[i];
        if (id < MOST_FLOW_ID && id >= parts->flow_ids[source_idx])
            parts->flow_ids[source_idx] = id + 1;
    }
    for (size_t i = 0; i < chrome->n_sources; i++) {
        const uint64_t here = parts->flow_ids[i];
        const bool fits = sum + here <= MOST_FLOW_ID;
        parts->flow_ids[i] = fits ? sum : 0;
        sum += fits ? here : 0;
    }
}

/* ---- tracks by source: a loop over all of them for each source would be long ---- */

static bool order_tracks(struct marey_chrome *chrome)
{
    struct marey_chrome_parts *parts = &chrome->parts;
    const size_t n_sources = chrome->n_sources;
    parts->track = marey__alloc(&chrome->alloc, chrome->n_tracks, sizeof *parts->track);
    parts->track_from = marey__alloc_zero(&chrome->alloc, n_sources + 1, sizeof *parts->track_from);
    if (parts->track == NULL || parts->track_from == NULL)
        return false;
    for (size_t t = 0; t < chrome->n_tracks; t++)
        parts->track_from[chrome->tracks[t].source_idx]++;
    size_t sum = 0;
    for (size_t i = 0; i <= n_sources; i++) {
        const size_t here = parts->track_from[i];
        parts->track_from[i] = sum;
        sum += here;
    }
    for (size_t t = 0; t < chrome->n_tracks; t++)
        parts->track[parts->track_from[chrome->tracks[t].source_idx]++] = (uint32_t)t;
    for (size_t i = n_sources; i > 0; i--) /* each stands at its end, where the next one began */
        parts->track_from[i] = parts->track_from[i - 1];
    parts->track_from[0] = 0;
    return !chrome->scrubs || marey__chrome_order_shown(chrome);
}

const uint32_t *marey__chrome_tracks_of(const struct marey_chrome *chrome, uint32_t source_idx,
                                        size_t *n)
{
    const size_t *from = &chrome->parts.track_from[source_idx];
    *n = from[1] - from[0];
    return chrome->parts.track + from[0];
}

bool marey__chrome_parts_make(struct marey_chrome *chrome)
{
    struct marey_chrome_parts *parts = &chrome->parts;
    struct marey_hashmap taken;
    marey__hashmap_init(&parts->by_key, &chrome->alloc);
    if (!order_tracks(chrome))
        return false;
    if (chrome->n_sources < 2)
        return true;
    parts->next_pid = 1;
    parts->flow_ids = marey__alloc_zero(&chrome->alloc, chrome->n_sources, sizeof *parts->flow_ids);
    if (parts->flow_ids == NULL)
        return false;
    place_flow_ids(chrome);
    marey__hashmap_init(&taken, &chrome->alloc);
    const bool done =
        gather_processes(chrome) && sort_processes(chrome) && choose_all(chrome, &taken);
    marey__hashmap_release(&taken);
    return done;
}

void marey__chrome_parts_release(struct marey_chrome *chrome)
{
    struct marey_chrome_parts *parts = &chrome->parts;
    marey__hashmap_release(&parts->by_key);
    marey__dealloc(&chrome->alloc, parts->process, parts->capacity, sizeof *parts->process);
    marey__dealloc(&chrome->alloc, parts->flow_ids, chrome->n_sources, sizeof *parts->flow_ids);
    marey__dealloc(&chrome->alloc, parts->track_from, chrome->n_sources + 1,
                   sizeof *parts->track_from);
    marey__dealloc(&chrome->alloc, parts->track, chrome->n_tracks, sizeof *parts->track);
}

struct marey_str marey__chrome_pid(struct marey_chrome *chrome, uint32_t source_idx,
                                   uint32_t process_id)
{
    const uint32_t place =
        chrome->n_sources < 2
            ? MAREY_NONE
            : marey__hashmap_get(&chrome->parts.by_key, key_of(source_idx, process_id));
    return place == MAREY_NONE ? marey__chrome_shown_id(chrome, process_id)
                               : chrome->parts.process[place].written;
}

/* ---- the marker ---- */

static size_t first_process_of(const struct marey_chrome *chrome, uint32_t source_idx)
{
    size_t low = 0;
    size_t high = chrome->parts.n_processes;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (chrome->parts.process[middle].source_idx < source_idx)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_pids(struct marey_chrome *chrome, uint32_t source_idx)
{
    const struct marey_chrome_parts *parts = &chrome->parts;
    const char *separator = "";
    marey__text_add_c(&chrome->out, ", \"pids\": {");
    for (size_t i = first_process_of(chrome, source_idx);
         i < parts->n_processes && parts->process[i].source_idx == source_idx; i++) {
        const struct marey_chrome_process *process = &parts->process[i];
        if (process->written.ptr == process->text.ptr)
            continue;
        marey__text_add_c(&chrome->out, separator);
        marey__text_add_json(&chrome->out, process->written);
        marey__text_add_c(&chrome->out, ": ");
        marey__text_add_json(&chrome->out, process->text);
        separator = ", ";
    }
    marey__text_add_c(&chrome->out, "}");
}

/* Members stand in the order of their sources, and so are the markers written. */
static void add_head(struct marey_chrome *chrome, uint32_t source_idx)
{
    size_t n = 0;
    const struct marey_meta *meta = marey_trace_metas(chrome->trace, &n);
    const char *separator = ", \"head\": {";
    const char *end = "";
    size_t i = chrome->parts.head_from;
    while (i < n && meta[i].source_idx < source_idx)
        i++;
    for (; i < n && meta[i].source_idx == source_idx; i++) {
        if (!marey__chrome_shows_member(chrome, i))
            continue;
        marey__text_add_c(&chrome->out, separator);
        marey__chrome_add_member(chrome, &meta[i]);
        separator = ", ";
        end = "}";
    }
    chrome->parts.head_from = i;
    marey__text_add_c(&chrome->out, end);
}

void marey__chrome_marker(struct marey_chrome *chrome, uint32_t source_idx)
{
    const struct marey_chrome_parts *parts = &chrome->parts;
    const struct marey_source *source = &chrome->sources[source_idx];
    struct marey_textbuf *out = &chrome->out;
    const size_t first = first_process_of(chrome, source_idx);
    const bool has_process =
        first < parts->n_processes && parts->process[first].source_idx == source_idx;
    marey__text_add_c(out, chrome->is_first ? "  {\n    " : ",\n  {\n    ");
    chrome->is_first = false;
    marey__text_add_c(out, "\"name\": \"" MAREY_SOURCE_MARKER "\", \"ph\": \"M\", \"pid\": ");
    marey__chrome_add_id(out, has_process ? parts->process[first].written : marey__str("0"));
    marey__text_add_format(
        out, ", \"tid\": 0,\n    \"args\": {\"source\": %u, \"rank\": ", (unsigned)source_idx);
    marey__text_add_i64(out, source->rank);
    marey__text_add_format(out, ", \"process\": %u, \"shift_ns\": ", (unsigned)source->cycle_of);
    marey__text_add_i64(out, (int64_t)((uint64_t)chrome->base_ns - (uint64_t)source->base_ns));
    marey__text_add_c(out, ", \"flow_ids\": ");
    marey__text_add_u64(out, parts->flow_ids[source_idx]);
    add_pids(chrome, source_idx);
    if (source_idx > 0)
        add_head(chrome, source_idx);
    marey__text_add_c(out, "}\n  }");
}

/* ---- names of processes ---- */

static void add_rank(struct marey_chrome *chrome, uint32_t source_idx)
{
    marey__text_add_c(&chrome->scratch, "rank ");
    marey__text_add_i64(&chrome->scratch, chrome->sources[source_idx].rank);
}

/* Args as the file will have them: a name that is mended is one to who reads it again. */
static struct marey_str mended_args(struct marey_chrome *chrome, struct marey_str args)
{
    struct marey_textbuf *out = &chrome->out;
    const size_t from = out->len;

    marey__chrome_add_json(chrome, args);
    marey__text_reset(&chrome->strict);
    if (!out->failed) {
        marey__text_add(&chrome->strict, out->ptr + from, out->len - from);
        out->len = from;
    }
    out->failed |= chrome->strict.failed;
    return (struct marey_str){chrome->strict.ptr, chrome->strict.len};
}

/* The last name that is a string, as it is written; {NULL, 0} if there is none. */
static struct marey_str name_in(struct marey_str args)
{
    struct marey_json json = marey__json(args);
    struct marey_str key;
    struct marey_str name = {NULL, 0};

    (void)marey__json_enter(&json, '{');
    while (marey__json_key(&json, &key)) {
        if (marey__json_spells(key, "name"))
            (void)marey__json_string(&json, &name);
        else
            marey__json_skip(&json);
    }
    return name;
}

/* The args with the rank before the name, and what they were. */
static void add_renamed(struct marey_chrome *chrome, uint32_t source_idx, struct marey_str args)
{
    const struct marey_str mended = mended_args(chrome, args);
    const struct marey_str name = name_in(mended);

    marey__text_reset(&chrome->scratch);
    add_rank(chrome, source_idx);
    if (name.len > 0) {
        marey__text_add_c(&chrome->scratch, ": ");
        marey__json_unescape(name, &chrome->scratch);
    }
    chrome->out.failed |= chrome->scratch.failed;
    marey__text_add_c(&chrome->out, "{\"name\": ");
    marey__text_add_json(&chrome->out,
                         (struct marey_str){chrome->scratch.ptr, chrome->scratch.len});
    marey__text_add_c(&chrome->out, ", \"" MAREY_SOURCE_ORIGINAL "\": ");
    marey__text_add_str(&chrome->out, mended);
    marey__text_add_c(&chrome->out, "}");
}

bool marey__chrome_named_args(struct marey_chrome *chrome, const struct marey_meta_record *record,
                              struct marey_str args)
{
    const struct marey_str name = marey_trace_string(chrome->trace, record->name_id);
    struct marey_json json = marey__json(args);
    if (chrome->n_sources < 2 || !marey__str_is_c(name, MAREY_SOURCE_NAMED) ||
        marey__json_peek(&json) != '{')
        return false;
    const uint32_t place =
        marey__hashmap_get(&chrome->parts.by_key, key_of(record->source_idx, record->process_id));
    if (place != MAREY_NONE)
        chrome->parts.process[place].is_named = true;
    add_renamed(chrome, record->source_idx, args);
    return true;
}

void marey__chrome_add_names(struct marey_chrome *chrome, uint32_t source_idx)
{
    const struct marey_chrome_parts *parts = &chrome->parts;
    for (size_t i = first_process_of(chrome, source_idx);
         i < parts->n_processes && parts->process[i].source_idx == source_idx; i++) {
        if (parts->process[i].is_named)
            continue;
        marey__text_reset(&chrome->scratch);
        add_rank(chrome, source_idx);
        chrome->out.failed |= chrome->scratch.failed;
        marey__text_add_c(&chrome->out, chrome->is_first ? "  {\n    " : ",\n  {\n    ");
        chrome->is_first = false;
        marey__text_add_c(&chrome->out,
                          "\"name\": \"" MAREY_SOURCE_NAMED "\", \"ph\": \"M\", \"pid\": ");
        marey__chrome_add_id(&chrome->out, parts->process[i].written);
        marey__text_add_c(&chrome->out, ", \"tid\": 0,\n    \"args\": {\"name\": ");
        marey__text_add_json(&chrome->out,
                             (struct marey_str){chrome->scratch.ptr, chrome->scratch.len});
        marey__text_add_c(&chrome->out, ", \"" MAREY_SOURCE_ORIGINAL "\": null}\n  }");
    }
}
