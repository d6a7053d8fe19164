/*
 * hash_trace.c - every column goes through the same mixing, in order.
 */
#include "support/hash_trace.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

static uint64_t mix_text(uint64_t hash, const struct marey_trace *trace, uint32_t id)
{
    const struct marey_str text = marey_trace_string(trace, id);

    for (size_t i = 0; i < text.len; i++)
        hash = mix(hash, (unsigned char)text.ptr[i]);
    return mix(hash, text.len);
}

static uint64_t of_slices(uint64_t hash, const struct marey_trace *trace)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    const struct marey_links links = marey_trace_links(trace);

    for (size_t i = 0; i < slices.n; i++) {
        hash = mix(hash, (uint64_t)slices.start_ns[i]);
        hash = mix(hash, (uint64_t)slices.dur_ns[i]);
        hash = mix_text(hash, trace, slices.name_id[i]);
        hash = mix(hash, slices.name_id[i]);
        hash = mix(hash, slices.parent_idx[i]);
        hash = mix(hash, slices.offset[i]);
        hash = mix(hash, (uint64_t)slices.cat_id[i] << 8 | slices.flags[i]);
        hash = mix(hash, marey_trace_slice_track(trace, (uint32_t)i));
    }
    for (size_t i = 0; i < links.n; i++)
        hash = mix(mix(hash, links.slice_idx[i]), links.correlation[i]);
    return hash;
}

static uint64_t of_points(uint64_t hash, const struct marey_trace *trace)
{
    const struct marey_instants instants = marey_trace_instants(trace);
    const struct marey_counters counters = marey_trace_counters(trace);
    const struct marey_flows flows = marey_trace_flows(trace);

    for (size_t i = 0; i < instants.n; i++) {
        hash = mix(mix(hash, (uint64_t)instants.ts_ns[i]), instants.offset[i] ^ instants.scope[i]);
        hash = mix_text(hash, trace, instants.name_id[i]);
    }
    for (size_t i = 0; i < counters.n; i++)
        hash = mix(mix(hash, (uint64_t)counters.ts_ns[i]), counters.offset[i]);
    for (size_t i = 0; i < flows.n; i++)
        hash = mix(mix(mix(hash, (uint64_t)flows.ts_ns[i]), flows.id[i]), flows.track_idx[i]);
    return hash;
}

static uint64_t mix_ledger_row(uint64_t hash, const struct marey_ledger_row *row)
{
    hash = mix(hash, row->count);
    for (size_t i = 0; i < row->n_examples; i++)
        hash = mix(hash, row->example_offset[i]);
    return hash;
}

static uint64_t of_rest(uint64_t hash, struct marey_trace *trace)
{
    struct marey_ledger ledger = {0};
    size_t n = 0;

    const struct marey_meta_record *record = marey_trace_meta_records(trace, &n);
    for (size_t i = 0; i < n; i++)
        hash = mix_text(mix_text(hash, trace, record[i].args_id), trace, record[i].thread_id);
    const struct marey_meta *meta = marey_trace_metas(trace, &n);
    for (size_t i = 0; i < n; i++)
        hash = mix_text(mix_text(hash, trace, meta[i].key_id), trace, meta[i].json_id);
    const struct marey_track *track = marey_trace_tracks(trace, &n);
    for (size_t i = 0; i < n; i++)
        hash = mix(mix(mix(hash, track[i].kind), (uint64_t)track[i].stream), track[i].n_slices);
    const struct marey_source *source = marey_trace_sources(trace, &n);
    hash = mix(mix(mix(hash, source->n_records), source->n_metadata), source->size_bytes);
    if (marey_trace_ledger(trace, &ledger, NULL) != MAREY_OK)
        return 0;
    for (size_t i = 0; i < ledger.n_rows; i++)
        hash = mix_ledger_row(hash, &ledger.rows[i]);
    return hash;
}

static uint64_t of_spans(uint64_t hash, const struct marey_trace *trace)
{
    size_t n = 0;
    const struct marey_async_span *span = marey_trace_async_spans(trace, &n);

    for (size_t i = 0; i < n; i++) {
        hash = mix(mix(hash, (uint64_t)span[i].start_ns), (uint64_t)span[i].dur_ns);
        hash = mix(mix_text(hash, trace, span[i].id_text), span[i].end_offset);
    }
    return hash;
}

uint64_t hash_trace(struct marey_trace *trace)
{
    return of_rest(of_spans(of_points(of_slices(1, trace), trace), trace), trace);
}
