/*
 * Tests of states of the inflater: a later look at args goes on from the last one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "import/feed.h"
#include "read_text.h"
#include "support/alloc_fail.h"
#include "support/make_gzip.h"
#include "support/make_random.h"

enum { N_RECORDS = 12000, STRETCH_BYTES = 1 << 16, WINDOW_BYTES = 1 << 12 };

struct packed {
    struct marey_textbuf text;
    unsigned char *bytes;
    size_t len;
};

/* A trace in two members, which part in the middle of a record. */
static int make_packed(void **state)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct packed *packed = calloc(1, sizeof *packed);
    uint64_t seed = 1;
    marey__text_init(&packed->text, &alloc);
    marey__text_add_c(&packed->text, "{\"traceEvents\":[");
    for (int i = 0; i < N_RECORDS; i++)
        marey__text_add_format(&packed->text,
                               "%s{\"ph\":\"X\",\"name\":\"n%u\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                               "\"dur\":1,\"args\":{\"k\":%d,\"more\":%u}}",
                               i == 0 ? "" : ",", (unsigned)make_random_below(&seed, 100), i, i,
                               (unsigned)make_random(&seed));
    marey__text_add_c(&packed->text, "]}");
    const size_t half = packed->text.len / 2 + 7;
    packed->bytes = malloc(packed->text.len);
    packed->len = make_gzip(packed->text.ptr, half, packed->bytes, packed->text.len);
    packed->len += make_gzip(packed->text.ptr + half, packed->text.len - half,
                             packed->bytes + packed->len, packed->text.len - packed->len);
    *state = packed;
    return 0;
}

static int release_packed(void **state)
{
    struct packed *packed = *state;
    free(packed->bytes);
    marey__text_release(&packed->text);
    free(packed);
    return 0;
}

static enum marey_status expect_k(void *user, size_t i, struct marey_str args)
{
    char begin[32];
    (void)i;
    (void)snprintf(begin, sizeof begin, "{\"k\":%zu,", *(const size_t *)user);
    EXPECT_TRUE(marey__str_starts(args, begin));
    return MAREY_OK;
}

/* One look at a time, in any order, with and without threads. */
static void args_are_found_in_any_order(void **state)
{
    const struct packed *packed = *state;
    uint64_t seed = make_seed(__func__);
    for (size_t n_threads = 1; n_threads <= 3; n_threads++) {
        const struct marey_reading reading = {
            .window_bytes = WINDOW_BYTES, .n_threads = n_threads, .stretch_bytes = STRETCH_BYTES};
        struct marey_trace *trace =
            read_bytes_as((const char *)packed->bytes, packed->len, &reading);
        const struct marey_slices slices = marey_trace_slices(trace);
        struct marey_error err = {0};
        EXPECT_U64(slices.n, N_RECORDS);
        for (int look = 0; look < 60; look++) {
            size_t i = (size_t)make_random_below(&seed, N_RECORDS);
            EXPECT_OK(marey_trace_walk_args(trace, &slices.offset[i], 1, expect_k, &i, &err), &err);
        }
        size_t first = 0;
        EXPECT_OK(marey_trace_walk_args(trace, &slices.offset[0], 1, expect_k, &first, &err), &err);
        marey_trace_free(trace);
    }
}

static void read_all(struct marey_feed *feed)
{
    struct marey_error err = {0};
    while (!feed->is_end)
        EXPECT_OK(marey__feed_next(feed, feed->text + feed->len, &err), &err);
}

/* What lies before the state is gone: nothing of it is read. */
static void a_look_reads_one_stretch(void **state)
{
    const struct packed *packed = *state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_place place;
    struct marey_stretches kept;
    struct marey_feed feed;
    struct marey_error err = {0};
    const struct marey_str bytes = {(const char *)packed->bytes, packed->len};
    EXPECT_OK(marey__place_copy(&place, &alloc, bytes, &err), &err);
    marey__stretches_init(&kept, &alloc, STRETCH_BYTES);
    const struct marey_feed_plan load = {
        .window_bytes = WINDOW_BYTES, .n_threads = 1, .kept = &kept};
    EXPECT_OK(marey__feed_open(&feed, &alloc, &place, &load, &err), &err);
    read_all(&feed);
    marey__feed_close(&feed);
    EXPECT_TRUE(kept.n >= packed->text.len / (STRETCH_BYTES + WINDOW_BYTES) - 1 && kept.n > 8);

    const struct marey_feed_plan look = {
        .window_bytes = WINDOW_BYTES, .n_threads = 1, .known = &kept};
    for (size_t i = kept.n; i-- > 0;) {
        const struct marey_stretch *stretch = marey__stretches_find(&kept, kept.stretch[i].text_at);
        EXPECT_TRUE(stretch == &kept.stretch[i]);
        const uint64_t wanted = stretch->text_at + STRETCH_BYTES / 2;
        const char *at = NULL;
        if (wanted >= packed->text.len)
            continue;
        memset(place.memory + 2, 0, (size_t)stretch->stored_at - 2);
        EXPECT_OK(marey__feed_open(&feed, &alloc, &place, &look, &err), &err);
        EXPECT_OK(marey__feed_seek(&feed, wanted, &at, &err), &err);
        EXPECT_TRUE(memcmp(at, packed->text.ptr + wanted, 8) == 0);
        marey__feed_close(&feed);
        memcpy(place.memory, packed->bytes, packed->len);
    }
    EXPECT_TRUE(marey__stretches_find(&kept, 1) == NULL);
    marey__stretches_release(&kept);
    marey__place_close(&place);
}

static enum marey_status load(void *ctx, const struct marey_alloc *alloc)
{
    const struct packed *packed = ctx;
    const struct marey_reading reading = {
        .window_bytes = 1 << 16, .n_threads = 1, .stretch_bytes = 1 << 18};
    struct marey_trace *trace = NULL;
    struct marey_error err;
    const enum marey_status status =
        marey__import_bytes((struct marey_str){(const char *)packed->bytes, packed->len}, alloc,
                            &reading, &trace, &err);
    marey_trace_free(trace);
    return status;
}

static void lack_of_memory_is_told(void **state)
{
    EXPECT_TRUE(alloc_fail_sweep(load, *state) > 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(args_are_found_in_any_order),
        cmocka_unit_test(a_look_reads_one_stretch),
        cmocka_unit_test(lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, make_packed, release_packed);
}
