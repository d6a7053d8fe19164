/*
 * same_trace.h - whether two traces hold the same, by all that the public API shows of them.
 *
 *     struct difference difference = {0};
 *     if (!same_trace(a, b, &difference)) EXPECT_FAIL(difference.text);
 *
 * Ids differ from trace to trace, so texts are compared. Offsets differ too; their order
 * decides ties, so equal columns row by row say that it was kept.
 */
#ifndef MAREY_TESTS_SAME_TRACE_H
#define MAREY_TESTS_SAME_TRACE_H

#include "base/order.h"
#include "base/str.h"
#include "marey/trace.h"
#include "support/expect.h"

#include <stdio.h>
#include <stdlib.h>

struct difference {
    char text[512];
};

struct pair {
    struct marey_trace *a;
    struct marey_trace *b;
    struct difference *difference;
};

static bool differ(struct pair *pair, const char *what, size_t i)
{
    (void)snprintf(pair->difference->text, sizeof pair->difference->text,
                   "the traces differ in %s %zu", what, i);
    return false;
}

static bool same_string(const struct pair *pair, uint32_t a, uint32_t b)
{
    const struct marey_str text_a = marey_trace_string(pair->a, a);
    const struct marey_str text_b = marey_trace_string(pair->b, b);
    return (text_a.ptr == NULL) == (text_b.ptr == NULL) && marey__str_is(text_a, text_b);
}

static bool same_category(const struct pair *pair, uint32_t a, uint32_t b)
{
    size_t n = 0;
    const struct marey_category *in_a = marey_trace_categories(pair->a, &n);
    const struct marey_category *in_b = marey_trace_categories(pair->b, &n);
    return in_a[a].kind == in_b[b].kind && same_string(pair, in_a[a].name_id, in_b[b].name_id);
}

static bool same_sources(struct pair *pair)
{
    size_t n = 0;
    size_t n_b = 0;
    const struct marey_source *a = marey_trace_sources(pair->a, &n);
    const struct marey_source *b = marey_trace_sources(pair->b, &n_b);
    if (n != n_b)
        return differ(pair, "the number of sources, or", n_b);
    for (size_t i = 0; i < n; i++)
        if (a[i].rank != b[i].rank || a[i].world_size != b[i].world_size ||
            a[i].rank_is_assumed != b[i].rank_is_assumed || a[i].base_ns != b[i].base_ns ||
            a[i].n_metadata != b[i].n_metadata)
            return differ(pair, "source", i);
    return true;
}

static bool same_tracks(struct pair *pair)
{
    size_t n = 0;
    size_t n_b = 0;
    const struct marey_track *a = marey_trace_tracks(pair->a, &n);
    const struct marey_track *b = marey_trace_tracks(pair->b, &n_b);
    if (n != n_b)
        return differ(pair, "the number of tracks, or", n_b);
    for (size_t i = 0; i < n; i++)
        if (a[i].kind != b[i].kind || !same_string(pair, a[i].process_id, b[i].process_id) ||
            !same_string(pair, a[i].thread_id, b[i].thread_id) || a[i].device != b[i].device ||
            a[i].context != b[i].context || a[i].stream != b[i].stream ||
            a[i].n_slices != b[i].n_slices || a[i].n_crossings != b[i].n_crossings ||
            !same_string(pair, a[i].process_name_id, b[i].process_name_id) ||
            !same_string(pair, a[i].thread_name_id, b[i].thread_name_id))
            return differ(pair, "track", i);
    return true;
}

static bool same_slices(struct pair *pair)
{
    const struct marey_slices a = marey_trace_slices(pair->a);
    const struct marey_slices b = marey_trace_slices(pair->b);
    if (a.n != b.n)
        return differ(pair, "the number of slices, or", b.n);
    for (size_t i = 0; i < a.n; i++)
        if (a.start_ns[i] != b.start_ns[i] || a.dur_ns[i] != b.dur_ns[i] ||
            a.flags[i] != b.flags[i] || a.parent_idx[i] != b.parent_idx[i] ||
            !same_string(pair, a.name_id[i], b.name_id[i]) ||
            !same_category(pair, a.cat_id[i], b.cat_id[i]))
            return differ(pair, "slice", i);
    return true;
}

static bool same_links(struct pair *pair)
{
    const struct marey_links a = marey_trace_links(pair->a);
    const struct marey_links b = marey_trace_links(pair->b);
    if (a.n != b.n)
        return differ(pair, "the number of links, or", b.n);
    for (size_t i = 0; i < a.n; i++)
        if (a.slice_idx[i] != b.slice_idx[i] || a.correlation[i] != b.correlation[i])
            return differ(pair, "link", i);
    return true;
}

static bool same_points(struct pair *pair)
{
    const struct marey_instants a = marey_trace_instants(pair->a);
    const struct marey_instants b = marey_trace_instants(pair->b);
    if (a.n != b.n)
        return differ(pair, "the number of instants, or", b.n);
    for (size_t i = 0; i < a.n; i++)
        if (a.ts_ns[i] != b.ts_ns[i] || a.track_idx[i] != b.track_idx[i] ||
            a.scope[i] != b.scope[i] || !same_string(pair, a.name_id[i], b.name_id[i]) ||
            !same_category(pair, a.cat_id[i], b.cat_id[i]))
            return differ(pair, "instant", i);

    const struct marey_counters c = marey_trace_counters(pair->a);
    const struct marey_counters d = marey_trace_counters(pair->b);
    if (c.n != d.n)
        return differ(pair, "the number of counters, or", d.n);
    for (size_t i = 0; i < c.n; i++)
        if (c.ts_ns[i] != d.ts_ns[i] || c.track_idx[i] != d.track_idx[i] ||
            !same_string(pair, c.name_id[i], d.name_id[i]) ||
            !same_category(pair, c.cat_id[i], d.cat_id[i]))
            return differ(pair, "counter", i);
    return true;
}

/* Ids that are no integers are ids of texts, marked by the top bit. */
static bool same_flow_id(const struct pair *pair, uint64_t a, uint64_t b)
{
    const uint64_t top = UINT64_C(1) << 63;
    if ((a & top) == 0 || (b & top) == 0)
        return a == b;
    return same_string(pair, (uint32_t)(a & ~top), (uint32_t)(b & ~top));
}

static bool same_flows(struct pair *pair)
{
    const struct marey_flows a = marey_trace_flows(pair->a);
    const struct marey_flows b = marey_trace_flows(pair->b);
    size_t n = 0;
    const struct marey_flow_label *label_a = marey_trace_flow_labels(pair->a, &n);
    const struct marey_flow_label *label_b = marey_trace_flow_labels(pair->b, &n);
    if (a.n != b.n)
        return differ(pair, "the number of flows, or", b.n);
    for (size_t i = 0; i < a.n; i++)
        if (a.ts_ns[i] != b.ts_ns[i] || a.track_idx[i] != b.track_idx[i] ||
            a.phase[i] != b.phase[i] || !same_flow_id(pair, a.id[i], b.id[i]) ||
            !same_string(pair, label_a[a.label_idx[i]].cat_name_id,
                         label_b[b.label_idx[i]].cat_name_id) ||
            !same_string(pair, label_a[a.label_idx[i]].name_id, label_b[b.label_idx[i]].name_id))
            return differ(pair, "flow", i);
    return true;
}

static bool same_spans(struct pair *pair)
{
    size_t n = 0;
    size_t n_b = 0;
    const struct marey_async_span *a = marey_trace_async_spans(pair->a, &n);
    const struct marey_async_span *b = marey_trace_async_spans(pair->b, &n_b);
    if (n != n_b)
        return differ(pair, "the number of asynchronous spans, or", n_b);
    for (size_t i = 0; i < n; i++)
        if (a[i].start_ns != b[i].start_ns || a[i].dur_ns != b[i].dur_ns ||
            a[i].track_idx != b[i].track_idx || !same_string(pair, a[i].name_id, b[i].name_id) ||
            !same_string(pair, a[i].id_text, b[i].id_text) ||
            !same_category(pair, a[i].cat_id, b[i].cat_id))
            return differ(pair, "asynchronous span", i);
    return true;
}

/* The place of the next member at or behind i that does not tell of the writing; n at the end. */
static size_t next_member(const struct marey_trace *trace, size_t i)
{
    size_t n = 0;
    const struct marey_meta *meta = marey_trace_metas(trace, &n);
    while (i < n) {
        const struct marey_str key = marey_trace_string(trace, meta[i].key_id);
        if (strcmp(key.ptr, "mareyLeftOut") != 0 && strcmp(key.ptr, "mareyRepaired") != 0)
            break;
        i++;
    }
    return i;
}

static bool same_members(struct pair *pair)
{
    size_t n = 0;
    size_t n_b = 0;
    const struct marey_meta *a = marey_trace_metas(pair->a, &n);
    const struct marey_meta *b = marey_trace_metas(pair->b, &n_b);
    size_t i = next_member(pair->a, 0);
    size_t j = next_member(pair->b, 0);
    for (; i < n && j < n_b; i = next_member(pair->a, i + 1), j = next_member(pair->b, j + 1))
        if (!same_string(pair, a[i].key_id, b[j].key_id) ||
            !same_string(pair, a[i].json_id, b[j].json_id))
            return differ(pair, "member", i);
    return i < n || j < n_b ? differ(pair, "the number of members, or", n_b) : true;
}

static bool same_metadata(struct pair *pair)
{
    size_t n = 0;
    size_t n_b = 0;
    if (!same_members(pair))
        return false;
    const struct marey_meta_record *c = marey_trace_meta_records(pair->a, &n);
    const struct marey_meta_record *d = marey_trace_meta_records(pair->b, &n_b);
    if (n != n_b)
        return differ(pair, "the number of metadata records, or", n_b);
    for (size_t i = 0; i < n; i++)
        if (!same_string(pair, c[i].name_id, d[i].name_id) ||
            !same_string(pair, c[i].process_id, d[i].process_id) ||
            !same_string(pair, c[i].thread_id, d[i].thread_id) ||
            !same_string(pair, c[i].args_id, d[i].args_id) || c[i].ts_ns != d[i].ts_ns)
            return differ(pair, "metadata record", i);
    return true;
}

static bool same_quarantined(struct pair *pair)
{
    size_t n = 0;
    size_t n_b = 0;
    const struct marey_quarantined *a = marey_trace_quarantined(pair->a, &n);
    const struct marey_quarantined *b = marey_trace_quarantined(pair->b, &n_b);
    if (n != n_b)
        return differ(pair, "the number of quarantined records, or", n_b);
    for (size_t i = 0; i < n; i++)
        if (strcmp(a[i].reason, b[i].reason) != 0 || a[i].start_ns != b[i].start_ns ||
            a[i].dur_ns != b[i].dur_ns || a[i].track_idx != b[i].track_idx ||
            !same_string(pair, a[i].name_id, b[i].name_id) ||
            !same_category(pair, a[i].cat_id, b[i].cat_id))
            return differ(pair, "quarantined record", i);
    return true;
}

/* ---- args ---- */

struct hashes {
    uint64_t *hash; /* by row of the column */
    const uint32_t *order;
};

static enum marey_status note_hash(void *user, size_t i, struct marey_str args)
{
    const struct hashes *hashes = user;
    hashes->hash[hashes->order[i]] = args.ptr == NULL ? 0 : marey__str_hash(args) | 1;
    return MAREY_OK;
}

/* Hashes of the args of a column's records; the caller frees them. */
static uint64_t *hash_args(struct marey_trace *trace, const uint64_t *offset, size_t n)
{
    const struct marey_alloc alloc = marey__alloc_default();
    uint64_t *hash = calloc(n + 1, sizeof *hash);
    uint64_t *sorted = calloc(n + 1, sizeof *sorted);
    uint32_t *order = calloc(n + 1, sizeof *order);
    struct marey_error err;
    EXPECT_TRUE(hash != NULL && sorted != NULL && order != NULL);
    EXPECT_TRUE(marey__order_u64(&alloc, offset, order, n));
    for (size_t i = 0; i < n; i++)
        sorted[i] = offset[order[i]];
    struct hashes hashes = {hash, order};
    if (n > 0)
        EXPECT_OK(marey_trace_walk_args(trace, sorted, n, note_hash, &hashes, &err), &err);
    free(order);
    free(sorted);
    return hash;
}

static bool same_args_of(struct pair *pair, const char *what, const uint64_t *a, const uint64_t *b,
                         size_t n)
{
    uint64_t *hash_a = hash_args(pair->a, a, n);
    uint64_t *hash_b = hash_args(pair->b, b, n);
    size_t i = 0;
    while (i < n && hash_a[i] == hash_b[i])
        i++;
    free(hash_a);
    free(hash_b);
    return i == n ? true : differ(pair, what, i);
}

static bool same_args(struct pair *pair)
{
    size_t n = 0;
    const struct marey_async_span *span_a = marey_trace_async_spans(pair->a, &n);
    const struct marey_async_span *span_b = marey_trace_async_spans(pair->b, &n);
    uint64_t *offset = calloc(2 * n + 1, sizeof *offset);
    EXPECT_TRUE(offset != NULL);
    for (size_t i = 0; i < n; i++) {
        offset[i] = span_a[i].offset;
        offset[n + i] = span_b[i].offset;
    }
    const bool is_same =
        same_args_of(pair, "args of slice", marey_trace_slices(pair->a).offset,
                     marey_trace_slices(pair->b).offset, marey_trace_slices(pair->a).n) &&
        same_args_of(pair, "args of instant", marey_trace_instants(pair->a).offset,
                     marey_trace_instants(pair->b).offset, marey_trace_instants(pair->a).n) &&
        same_args_of(pair, "args of counter", marey_trace_counters(pair->a).offset,
                     marey_trace_counters(pair->b).offset, marey_trace_counters(pair->a).n) &&
        same_args_of(pair, "args of asynchronous span", offset, offset + n, n);
    free(offset);
    return is_same;
}

static bool same_ledger(struct pair *pair)
{
    struct marey_ledger a;
    struct marey_ledger b;
    struct marey_error err;
    EXPECT_OK(marey_trace_ledger(pair->a, &a, &err), &err);
    EXPECT_OK(marey_trace_ledger(pair->b, &b, &err), &err);
    if (a.n_rows != b.n_rows)
        return differ(pair, "the number of the ledger's rows, or", b.n_rows);
    for (size_t i = 0; i < a.n_rows; i++)
        if (strcmp(a.rows[i].reason, b.rows[i].reason) != 0 || a.rows[i].count != b.rows[i].count)
            return differ(pair, "the ledger's row", i);
    return true;
}

/* All but the ledger, which forgets what a repair has made right. */
static bool same_content(struct pair *pair)
{
    return same_sources(pair) && same_tracks(pair) && same_slices(pair) && same_links(pair) &&
           same_points(pair) && same_flows(pair) && same_spans(pair) && same_metadata(pair) &&
           same_quarantined(pair) && same_args(pair);
}

static inline bool same_trace(struct marey_trace *a, struct marey_trace *b, bool with_ledger,
                              struct difference *difference)
{
    struct pair pair = {a, b, difference};
    return same_content(&pair) && (!with_ledger || same_ledger(&pair));
}

#endif
