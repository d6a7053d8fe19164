/*
 * bench_snprintf.c - Kineto's layout by snprintf. Times are split into integers: with
 * "%.3f" of a double it would take twice as long and be wrong in the last digit.
 */
#include "bench_snprintf.h"

#include <inttypes.h>
#include <stdio.h>

#define BUFFER_BYTES (1U << 20)
#define TEXT(s) (int)(s).len, (s).ptr

/* The buffer starts again when a record might not fit. */
struct output {
    char buffer[BUFFER_BYTES];
    size_t len;
    struct snprintf_result result;
};

struct place {
    struct marey_str process;
    struct marey_str thread;
    int64_t base_ns;
};

static void advance(struct output *output, int n)
{
    output->len += (size_t)n;
    output->result.n_bytes += (uint64_t)n;
    output->result.n_records++;
    if (output->len > BUFFER_BYTES - 65536)
        output->len = 0;
}

static struct place place_of(const struct marey_trace *trace, uint32_t track_idx)
{
    size_t n = 0;
    const struct marey_track *track = &marey_trace_tracks(trace, &n)[track_idx];
    const struct marey_source *source = &marey_trace_sources(trace, &n)[track->source_idx];
    return (struct place){marey_trace_string(trace, track->process_id),
                          marey_trace_string(trace, track->thread_id), source->base_ns};
}

static void write_slices(struct output *output, const struct marey_trace *trace, uint32_t track_idx)
{
    size_t n = 0;
    const struct marey_track *track = &marey_trace_tracks(trace, &n)[track_idx];
    const struct marey_category *categories = marey_trace_categories(trace, &n);
    const struct marey_slices slices = marey_trace_slices(trace);
    const struct place place = place_of(trace, track_idx);
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const struct marey_str name = marey_trace_string(trace, slices.name_id[i]);
        const struct marey_str category =
            marey_trace_string(trace, categories[slices.cat_id[i]].name_id);
        const int64_t ts = slices.start_ns[i] - place.base_ns;
        const int64_t dur = slices.dur_ns[i];
        advance(output, snprintf(output->buffer + output->len, BUFFER_BYTES - output->len,
                                 "  {\n    \"ph\": \"X\", \"cat\": \"%.*s\", \"name\": \"%.*s\", "
                                 "\"pid\": %.*s, \"tid\": %.*s,\n    \"ts\": %" PRId64 ".%03" PRId64
                                 ", \"dur\": %" PRId64 ".%03" PRId64 "\n  },\n",
                                 TEXT(category), TEXT(name), TEXT(place.process),
                                 TEXT(place.thread), ts / 1000, ts % 1000, dur / 1000, dur % 1000));
    }
}

static void write_flows(struct output *output, const struct marey_trace *trace)
{
    size_t n = 0;
    const struct marey_flows flows = marey_trace_flows(trace);
    const struct marey_flow_label *labels = marey_trace_flow_labels(trace, &n);
    for (size_t i = 0; i < flows.n; i++) {
        const struct marey_flow_label *label = &labels[flows.label_idx[i]];
        const struct marey_str category = marey_trace_string(trace, label->cat_name_id);
        const struct marey_str name = marey_trace_string(trace, label->name_id);
        const struct place place = place_of(trace, flows.track_idx[i]);
        const int64_t ts = flows.ts_ns[i] - place.base_ns;
        advance(output, snprintf(output->buffer + output->len, BUFFER_BYTES - output->len,
                                 "  {\n    \"ph\": \"%c\", \"id\": %" PRIu64 ", \"pid\": %.*s, "
                                 "\"tid\": %.*s, \"ts\": %" PRId64 ".%03" PRId64
                                 ",\n    \"cat\": \"%.*s\", "
                                 "\"name\": \"%.*s\"%s\n  },\n",
                                 flows.phase[i], flows.id[i], TEXT(place.process),
                                 TEXT(place.thread), ts / 1000, ts % 1000, TEXT(category),
                                 TEXT(name), flows.phase[i] == 'f' ? ", \"bp\": \"e\"" : ""));
    }
}

static void write_instants(struct output *output, const struct marey_trace *trace)
{
    const struct marey_instants instants = marey_trace_instants(trace);
    for (size_t i = 0; i < instants.n; i++) {
        const struct marey_str name = marey_trace_string(trace, instants.name_id[i]);
        const struct place place = place_of(trace, instants.track_idx[i]);
        const int64_t ts = instants.ts_ns[i] - place.base_ns;
        advance(output, snprintf(output->buffer + output->len, BUFFER_BYTES - output->len,
                                 "  {\n    \"ph\": \"i\", \"s\": \"t\", \"name\": \"%.*s\",\n    "
                                 "\"pid\": %.*s, \"tid\": %.*s,\n    \"ts\": %" PRId64 ".%03" PRId64
                                 "\n  },\n",
                                 TEXT(name), TEXT(place.process), TEXT(place.thread), ts / 1000,
                                 ts % 1000));
    }
}

struct snprintf_result snprintf_trace(const struct marey_trace *trace)
{
    static struct output output;
    size_t n_tracks = 0;
    (void)marey_trace_tracks(trace, &n_tracks);
    output.len = 0;
    output.result = (struct snprintf_result){0};
    for (uint32_t i = 0; i < n_tracks; i++)
        write_slices(&output, trace, i);
    write_flows(&output, trace);
    write_instants(&output, trace);
    return output.result;
}
