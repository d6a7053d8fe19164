/*
 * test_threads.c - threads fetch, inflate and scan ahead of the reader: the same trace comes out
 * as from one thread, whatever the windows cut, and they end when reading does. Run under TSan
 * too.
 */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"
#include "import/import.h"
#include "support/expect.h"
#include "support/hash_trace.h"

#define N_RECORDS 40000

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Records whose args hardly compress, so that the file is large enough for a thread. */
static void make_text(struct marey_textbuf *text, bool is_refused)
{
    uint64_t state = 88172645463325252u;
    marey__text_add_c(text, is_refused ? "{}{" : "{");
    marey__text_add_c(text, "\"traceEvents\":[");
    for (size_t i = 0; i < N_RECORDS; i++) {
        marey__text_add_format(
            text, "%s{\"ph\":\"X\",\"name\":\"op%zu\",\"pid\":1,\"tid\":%zu,\"ts\":%zu,\"dur\":5,",
            i > 0 ? "," : "", i % 7, i % 3, 10 * i);
        marey__text_add_format(text, "\"args\":{\"x\":\"%016llx%016llx\"}}",
                               (unsigned long long)next_random(&state),
                               (unsigned long long)next_random(&state));
    }
    marey__text_add_c(text, "]}");
    EXPECT_FALSE(marey__text_failed(text));
}

/* Two gzip members, cut in the middle of a record. */
static void compress_text(const struct marey_textbuf *text, struct marey_textbuf *out)
{
    const size_t half = text->len / 2;
    for (int part = 0; part < 2; part++) {
        z_stream stream = {0};
        const int gzip = 15 + 16;
        EXPECT_I64(deflateInit2(&stream, 1, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_in = (unsigned char *)text->ptr + (part == 0 ? 0 : half);
        stream.avail_in = (unsigned)(part == 0 ? half : text->len - half);
        const size_t room = deflateBound(&stream, stream.avail_in);
        stream.next_out = (unsigned char *)marey__text_reserve(out, room);
        stream.avail_out = (unsigned)room;
        EXPECT_I64(deflate(&stream, Z_FINISH), Z_STREAM_END);
        out->len += room - stream.avail_out;
        (void)deflateEnd(&stream);
    }
    EXPECT_TRUE(out->len > ((size_t)1 << 20));
}

static struct marey_str str_of(const struct marey_textbuf *text)
{
    return (struct marey_str){text->ptr, text->len};
}

struct texts {
    struct marey_textbuf plain;
    struct marey_textbuf gzip;
};

static void make_texts(struct texts *texts, bool is_refused)
{
    const struct marey_alloc alloc = marey__alloc_default();
    marey__text_init(&texts->plain, &alloc);
    marey__text_init(&texts->gzip, &alloc);
    make_text(&texts->plain, is_refused);
    compress_text(&texts->plain, &texts->gzip);
}

static void release_texts(struct texts *texts)
{
    marey__text_release(&texts->gzip);
    marey__text_release(&texts->plain);
}

static void gzip_reads_as_plain_does(void **state)
{
    (void)state;
    struct texts texts;
    struct marey_trace *plain = NULL;
    struct marey_trace *gzip = NULL;
    make_texts(&texts, false);
    EXPECT_STATUS(marey_import_bytes(str_of(&texts.plain), NULL, &plain, NULL), MAREY_OK);
    EXPECT_STATUS(marey_import_bytes(str_of(&texts.gzip), NULL, &gzip, NULL), MAREY_OK);

    const struct marey_slices a = marey_trace_slices(plain);
    const struct marey_slices b = marey_trace_slices(gzip);
    EXPECT_U64(a.n, N_RECORDS);
    EXPECT_U64(b.n, a.n);
    EXPECT_TRUE(memcmp(a.start_ns, b.start_ns, a.n * sizeof *a.start_ns) == 0);
    EXPECT_TRUE(memcmp(a.offset, b.offset, a.n * sizeof *a.offset) == 0);
    EXPECT_TRUE(memcmp(a.name_id, b.name_id, a.n * sizeof *a.name_id) == 0);
    EXPECT_STATUS(marey_trace_decode_args(gzip, MAREY_ARG_BIT(MAREY_ARG_EXTERNAL_ID), NULL),
                  MAREY_OK);

    marey_trace_free(gzip);
    marey_trace_free(plain);
    release_texts(&texts);
}

static uint64_t hash_of(struct marey_str bytes, const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    EXPECT_STATUS(marey__import_bytes(bytes, &alloc, reading, &trace, NULL), MAREY_OK);
    const uint64_t hash = hash_trace(trace);
    marey_trace_free(trace);
    return hash;
}

static void any_number_of_threads_reads_the_same(void **state)
{
    (void)state;
    struct texts texts;
    const struct marey_reading alone = {.n_threads = 1};
    make_texts(&texts, false);
    const uint64_t want = hash_of(str_of(&texts.plain), &alone);
    for (size_t n = 2; n < 9; n += n) {
        const struct marey_reading shared = {.n_threads = n, .window_bytes = 3000};
        EXPECT_U64(hash_of(str_of(&texts.plain), &shared), want);
        EXPECT_U64(hash_of(str_of(&texts.gzip), &(struct marey_reading){.n_threads = n}),
                   hash_of(str_of(&texts.gzip), &alone));
    }
    release_texts(&texts);
}

static void cut_gzip_gives_what_it_holds(void **state)
{
    (void)state;
    struct texts texts;
    struct marey_trace *trace = NULL;
    struct marey_error err;
    make_texts(&texts, false);
    const struct marey_str cut = {texts.gzip.ptr, texts.gzip.len - 100};
    EXPECT_OK(marey_import_bytes(cut, NULL, &trace, &err), &err);
    EXPECT_TRUE(marey_trace_slices(trace).n > N_RECORDS / 2);
    EXPECT_TRUE(marey_trace_slices(trace).n < N_RECORDS);
    marey_trace_free(trace);
    release_texts(&texts);
}

static void a_refused_file_ends_the_thread(void **state)
{
    (void)state;
    struct texts texts;
    struct marey_trace *trace = NULL;
    make_texts(&texts, true);
    EXPECT_STATUS(marey_import_bytes(str_of(&texts.gzip), NULL, &trace, NULL), MAREY_FORMAT);
    release_texts(&texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_reads_as_plain_does),
        cmocka_unit_test(any_number_of_threads_reads_the_same),
        cmocka_unit_test(cut_gzip_gives_what_it_holds),
        cmocka_unit_test(a_refused_file_ends_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
