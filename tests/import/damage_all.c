/*
 * damage_all.c - one trace, cut short and changed again and again: what still loads keeps the laws,
 * and is the same to the last column whoever reads it.
 *
 *     damage-all FILE N_CUTS N_FLIPS
 *
 * FILE is cut at N_CUTS random bytes, and N_FLIPS times one random bit of it is turned over; if it
 * is a .gz, the text inside too. Each damaged text is read by one thread and by several, and the
 * traces are compared. MAREY_TEST_SEED changes the seed. Ends with 1 at the first that fails, and
 * says which.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <marey/aggregate.h>

#include "import/import.h"
#include "support/hash_trace.h"
#include "support/make_random.h"

enum {
    FEW_WINDOW_BYTES = 4096, /* so that small files have windows for several threads too */
    MOST_BYTES = 1 << 26,
};

struct work {
    const char *name;
    uint64_t random;
    size_t n_read;
    size_t n_loaded;
};

static struct marey_str read_file(const char *path)
{
    static char bytes[MOST_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "cannot read '%s'\n", path);
        exit(2);
    }
    const size_t len = fread(bytes, 1, MOST_BYTES, file);
    (void)fclose(file);
    return (struct marey_str){bytes, len};
}

/* The text inside of a .gz; {NULL, 0} if it is none. */
static struct marey_str inflate_file(const char *path, struct marey_str raw)
{
    if (raw.len < 2 || memcmp(raw.ptr, "\x1f\x8b", 2) != 0)
        return (struct marey_str){NULL, 0};
    static char text[MOST_BYTES];
    gzFile file = gzopen(path, "rb");
    if (file == NULL)
        exit(2);
    const int len = gzread(file, text, MOST_BYTES);
    (void)gzclose(file);
    return (struct marey_str){text, len > 0 ? (size_t)len : 0};
}

static _Noreturn void fail(const struct work *work, const char *what, const char *how, size_t at)
{
    (void)printf("%s: %s: %s at byte %zu\n", work->name, what, how, at);
    exit(1);
}

/* All of the trace, or 0 if it is refused. */
static uint64_t read_once(struct work *work, struct marey_str text, size_t n_threads,
                          const char *how, size_t at)
{
    const struct marey_alloc alloc = marey__alloc_default();
    const struct marey_reading reading = {.n_threads = n_threads,
                                          .window_bytes = n_threads > 1 ? FEW_WINDOW_BYTES : 0};
    struct marey_law_checks laws = {0};
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    const enum marey_status status = marey__import_bytes(text, &alloc, &reading, &trace, &err);

    if (status == MAREY_FORMAT)
        return 0;
    if (status != MAREY_OK)
        fail(work, err.message, how, at);
    if (n_threads == 1) {
        if (marey_trace_check_laws(trace, &laws, &err) != MAREY_OK)
            fail(work, err.message, how, at);
        if (laws.self_sum_ns != laws.union_ns)
            fail(work, "self times do not add up to the union", how, at);
        if (laws.device_sum_ns != laws.owned_plus_unowned_ns)
            fail(work, "device time does not add up", how, at);
    }
    const uint64_t hash = hash_trace(trace) | 1;
    marey_trace_free(trace);
    return hash;
}

/* How far damaged gzip data can be inflated depends on the windows by some bytes: such files are
 * read, and not compared. */
static void try_text(struct work *work, struct marey_str text, bool is_compared, const char *how,
                     size_t at)
{
    /* A block of its size, so that a sanitizer sees what is read behind it. */
    char *bytes = malloc(text.len > 0 ? text.len : 1);
    if (bytes == NULL)
        exit(2);
    memcpy(bytes, text.ptr, text.len);
    const struct marey_str exact = {bytes, text.len};
    const size_t n_threads = 2 + (size_t)make_random_below(&work->random, 3);
    const uint64_t one = read_once(work, exact, 1, how, at);
    const uint64_t several = read_once(work, exact, n_threads, how, at);

    if (is_compared && one != several)
        fail(work, "one thread and several read different traces", how, at);
    work->n_read++;
    work->n_loaded += one != 0;
    free(bytes);
}

static void damage(struct work *work, struct marey_str text, bool is_gzip, size_t n_cuts,
                   size_t n_flips)
{
    char *bytes = malloc(text.len);
    if (bytes == NULL)
        exit(2);
    memcpy(bytes, text.ptr, text.len);
    for (size_t i = 0; i < n_cuts; i++) {
        const size_t at = (size_t)make_random_below(&work->random, text.len);
        try_text(work, (struct marey_str){bytes, at}, !is_gzip, "cut", at);
    }
    for (size_t i = 0; i < n_flips; i++) {
        const size_t at = (size_t)make_random_below(&work->random, text.len);
        const char was = bytes[at];
        bytes[at] = (char)(was ^ (1 << make_random_below(&work->random, 8)));
        try_text(work, (struct marey_str){bytes, text.len}, !is_gzip, "bit turned over", at);
        bytes[at] = was;
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        (void)fprintf(stderr, "usage: damage-all FILE N_CUTS N_FLIPS\n");
        return 2;
    }
    struct work work = {.name = argv[1], .random = make_seed(argv[1])};
    const size_t n_cuts = (size_t)strtoul(argv[2], NULL, 10);
    const size_t n_flips = (size_t)strtoul(argv[3], NULL, 10);
    const struct marey_str raw = read_file(argv[1]);
    const struct marey_str text = inflate_file(argv[1], raw);

    damage(&work, raw, text.ptr != NULL, n_cuts, n_flips);
    if (text.ptr != NULL)
        damage(&work, text, false, n_cuts, n_flips);
    (void)printf("%s: %zu damaged, %zu of them load\n", work.name, work.n_read, work.n_loaded);
    return 0;
}
