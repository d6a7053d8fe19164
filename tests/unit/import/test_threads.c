/*
 * test_threads.c - threads fetch, inflate and scan ahead of the reader: the same trace comes out
 * as from one thread, whatever the windows cut, and they end when reading does. Run under TSan
 * too.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"
#include "import/import.h"
#include "support/expect.h"
#include "support/hash_trace.h"
#include "support/make_random.h"

#define N_RECORDS 40000

/* Larger files would take TSan minutes. */
#define MOST_TEXT_BYTES ((size_t)4 << 20)

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
    marey__text_add_c(text, is_refused ? "<{" : "{");
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

/* ---- all is checked ------------------------------------------------------------------------- */

/* What a file comes to, or the place where it is refused. */
static uint64_t outcome_of(struct marey_str bytes, const struct marey_reading *reading)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    if (marey__import_bytes(bytes, &alloc, reading, &trace, &err) != MAREY_OK)
        return (uint64_t)err.offset_bytes << 1;
    const uint64_t hash = hash_trace(trace) | 1;
    marey_trace_free(trace);
    return hash;
}

/* The reasons that a check of args counts, in a whole trace. */
static uint64_t n_damages(struct marey_str bytes)
{
    static const char *const names[] = {"non_finite", "bad_number",    "bad_escape", "control_char",
                                        "bad_utf8",   "duplicate_key", "bad_args"};
    const struct marey_alloc alloc = marey__alloc_default();
    const struct marey_reading alone = {.n_threads = 1, .checks_all = true};
    struct marey_trace *trace = NULL;
    struct marey_ledger ledger = {0};
    uint64_t n = 0;
    if (marey__import_bytes(bytes, &alloc, &alone, &trace, NULL) != MAREY_OK)
        return 0;
    EXPECT_STATUS(marey_trace_ledger(trace, &ledger, NULL), MAREY_OK);
    for (size_t i = 0; i < ledger.n_rows; i++)
        for (size_t name = 0; name < sizeof names / sizeof names[0]; name++)
            if (strcmp(ledger.rows[i].reason, names[name]) == 0)
                n += ledger.rows[i].count;
    marey_trace_free(trace);
    return n;
}

static void read_file(const char *path, struct marey_textbuf *text)
{
    enum { BLOCK_BYTES = 1 << 16 };
    const gzFile file = gzopen(path, "rb"); /* plain files too */
    int got = BLOCK_BYTES;
    EXPECT_TRUE(file != NULL);
    marey__text_reset(text);
    while (got == BLOCK_BYTES) {
        char *into = marey__text_reserve(text, BLOCK_BYTES);
        EXPECT_TRUE(into != NULL);
        got = gzread(file, into, BLOCK_BYTES);
        text->len += got > 0 ? (size_t)got : 0; /* some fixtures are cut */
    }
    (void)gzclose(file);
}

/* Bytes that are wrong in a string, in a number or anywhere, one in each 10,000. */
static void damage(struct marey_textbuf *text, uint64_t *random)
{
    static const char wrong[] = "\x01\xff\\N.\"{}e,";
    for (size_t n = text->len / 10000; n > 0; n--)
        text->ptr[make_random_below(random, text->len)] =
            wrong[make_random_below(random, sizeof wrong - 1)];
}

static void expect_same_by_threads(struct marey_str bytes)
{
    const struct marey_reading alone = {.n_threads = 1, .checks_all = true};
    const uint64_t want = outcome_of(bytes, &alone);
    for (size_t n = 2; n <= 8; n++) {
        const struct marey_reading shared = {
            .window_bytes = n % 2 == 0 ? 4096 : bytes.len / 40 + 16,
            .n_threads = n,
            .checks_all = true,
        };
        EXPECT_U64(outcome_of(bytes, &shared), want);
    }
}

static void any_number_of_threads_finds_the_same_damage(void **state)
{
    const struct marey_alloc alloc = marey__alloc_default();
    uint64_t random = make_seed("any_number_of_threads_finds_the_same_damage");
    uint64_t n_found = 0;
    struct marey_textbuf text;
    glob_t found;
    (void)state;
    marey__text_init(&text, &alloc);
    EXPECT_I64(glob(expect_data_path("*.json.gz"), 0, NULL, &found), 0);
    EXPECT_I64(glob(expect_data_path("fixtures/*.json*"), GLOB_APPEND, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        read_file(found.gl_pathv[i], &text);
        if (text.len > MOST_TEXT_BYTES)
            continue;
        expect_same_by_threads(str_of(&text));
        damage(&text, &random);
        expect_same_by_threads(str_of(&text));
        n_found += n_damages(str_of(&text));
    }
    EXPECT_TRUE(found.gl_pathc > 100);
    EXPECT_TRUE(n_found > 100);
    globfree(&found);
    marey__text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_reads_as_plain_does),
        cmocka_unit_test(any_number_of_threads_reads_the_same),
        cmocka_unit_test(cut_gzip_gives_what_it_holds),
        cmocka_unit_test(a_refused_file_ends_the_thread),
        cmocka_unit_test(any_number_of_threads_finds_the_same_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
