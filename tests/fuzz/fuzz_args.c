/*
 * fuzz_args.c - any bytes as args: a repaired trace has the numbers of the broken one, whether all
 * was looked at or not, and nothing is left to repair; what is written is JSON in any case.
 *
 * Each line of the input is the inside of the args of a record. Its first byte chooses what kind of
 * record it is.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "import/import.h"
#include "marey/export.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_record(struct marey_textbuf *text, struct marey_str line, size_t i)
{
    static const char *const categories[] = {"cuda_runtime", "kernel", "cpu_op", "gpu_memcpy"};
    const size_t kind = line.len > 0 ? (unsigned char)line.ptr[0] % 5 : 0;

    marey__text_add_format(text, "%s{\"ph\": \"%s\", \"cat\": \"%s\", \"name\": \"n\", ",
                           i > 0 ? ",\n" : "", kind == 4 ? "M" : "X", categories[kind % 4]);
    marey__text_add_format(text, "\"pid\": 1, \"tid\": 1, \"ts\": %zu, \"dur\": 5, \"args\": {",
                           10 * i);
    if (line.len > 1)
        marey__text_add(text, line.ptr + 1, line.len - 1);
    marey__text_add_c(text, "}}");
}

/* Returns the number of records. */
static size_t add_file(struct marey_textbuf *text, const char *at, const char *end)
{
    size_t i = 0;

    marey__text_add_c(text, "{\"traceEvents\": [");
    for (; at < end; i++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        add_record(text, (struct marey_str){at, (size_t)(line_end - at)}, i);
        at = line_end + (line_end < end);
    }
    marey__text_add_c(text, "]}");
    if (marey__text_failed(text))
        abort();
    return i;
}

/* Whether args end where they should: brackets of their own can make other records of the file, and
 * heads, which are for the other targets. */
static bool has_just(struct marey_trace *trace, size_t n_records)
{
    size_t n_sources = 0;
    size_t n_quarantined = 0;
    size_t n_metas = 0;
    const struct marey_source *source = marey_trace_sources(trace, &n_sources);

    (void)marey_trace_quarantined(trace, &n_quarantined);
    (void)marey_trace_metas(trace, &n_metas);
    return n_sources == 1 && source->n_records == n_records && n_quarantined == 0 && n_metas == 0;
}

/* ---- numbers ----------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

static uint64_t of_slices(uint64_t hash, struct marey_trace *trace)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    const struct marey_links links = marey_trace_links(trace);
    size_t n_tracks = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n_tracks);

    for (size_t i = 0; i < slices.n; i++) {
        const struct marey_track *track = &tracks[marey_trace_slice_track(trace, (uint32_t)i)];
        hash = mix(mix(hash, (uint64_t)slices.start_ns[i]), (uint64_t)slices.dur_ns[i]);
        hash = mix(mix(hash, slices.parent_idx[i]), slices.flags[i]);
        hash = mix(mix(hash, (uint64_t)track->device), (uint64_t)track->stream);
        hash = mix(mix(hash, (uint64_t)track->context), (uint64_t)track->kind);
    }
    for (size_t i = 0; i < links.n; i++)
        hash = mix(mix(hash, links.slice_idx[i]), links.correlation[i]);
    return mix(hash, slices.n);
}

static uint64_t hash_numbers(struct marey_trace *trace)
{
    static const enum marey_arg args[] = {MAREY_ARG_EXTERNAL_ID, MAREY_ARG_SEQUENCE,
                                          MAREY_ARG_EVENT_IDX, MAREY_ARG_BYTES};
    const size_t n = marey_trace_slices(trace).n;
    uint64_t hash = of_slices(1, trace);

    for (size_t i = 0; i < sizeof args / sizeof args[0]; i++) {
        if (marey_trace_decode_args(trace, MAREY_ARG_BIT(args[i]), NULL) != MAREY_OK)
            abort();
        const int64_t *column = marey_trace_arg_ints(trace, args[i]);
        for (size_t slice = 0; slice < n; slice++)
            hash = mix(hash, (uint64_t)column[slice]);
    }
    return hash;
}

/* ---- the law ----------------------------------------------------------------------------------
 */

static struct marey_trace *read_text(struct marey_str text, bool checks_all)
{
    const struct marey_alloc alloc = marey__alloc_default();
    const struct marey_reading reading = {.checks_all = checks_all, .no_templates = !checks_all};
    struct marey_trace *trace = NULL;
    return marey__import_bytes(text, &alloc, &reading, &trace, NULL) == MAREY_OK ? trace : NULL;
}

static struct marey_text write_text(struct marey_trace *trace, bool repair)
{
    const struct marey_chrome_options options = {.size = sizeof options, .repair = repair};
    struct marey_text text = {0};
    size_t at = 0;

    if (marey_export_chrome_text(trace, &options, &text, NULL) != MAREY_OK)
        abort();
    size_t len = text.len;
    while (len > 0 && text.ptr[len - 1] == '\n')
        len--;
    const char *wrong = marey__json_check((struct marey_str){text.ptr, len}, &at);
    if (wrong != NULL && (repair || strcmp(wrong, "an escape of half a character") != 0))
        abort();
    return text;
}

/* What a check finds, and repairs, in the text of a file; what was met before does not count. */
static uint64_t n_mended(struct marey_trace *trace)
{
    struct marey_ledger ledger = {0};
    uint64_t n = 0;

    if (marey_trace_ledger(trace, &ledger, NULL) != MAREY_OK)
        abort();
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (ledger.rows[i].map == MAREY_LEDGER_REPAIRED || strstr(ledger.rows[i].reason, "bad_"))
            n += ledger.rows[i].count;
    return n;
}

static void expect_law(struct marey_trace *broken, bool repair, uint64_t wanted)
{
    struct marey_text text = write_text(broken, repair);
    struct marey_trace *again = read_text((struct marey_str){text.ptr, text.len}, true);

    if (again == NULL || hash_numbers(again) != wanted)
        abort();
    if (repair) {
        struct marey_text twice = write_text(again, true);
        if (n_mended(again) > 0 || twice.len != text.len ||
            memcmp(twice.ptr, text.ptr, text.len) != 0)
            abort();
        marey_text_release(&twice);
    }
    marey_trace_free(again);
    marey_text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;

    if (size == 0)
        return 0;
    marey__text_init(&text, &alloc);
    const size_t n = add_file(&text, (const char *)data, (const char *)data + size);
    const struct marey_str broken = {text.ptr, text.len};
    struct marey_trace *all = read_text(broken, true);
    struct marey_trace *fields = read_text(broken, false);
    if ((all == NULL) != (fields == NULL))
        abort();
    if (all != NULL && has_just(all, n)) {
        const uint64_t numbers = hash_numbers(all);
        if (hash_numbers(fields) != numbers)
            abort();
        expect_law(all, true, numbers);
        expect_law(all, false, numbers);
        expect_law(fields, false, numbers);
    }
    marey_trace_free(fields);
    marey_trace_free(all);
    marey__text_release(&text);
    return 0;
}
