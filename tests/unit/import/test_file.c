/*
 * Tests of places, feeds, provider and folder: files of all kinds, and what happens when
 * they change, end early or are not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read_text.h"
#include "support/alloc_fail.h"
#include "support/make_gzip.h"

/* A folder that lives as long as a test. */
struct folder {
    char *path;
    char file[256][128];
    size_t n;
};

static int make_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof *folder);
    folder->path = strdup("/tmp/marey-file-XXXXXX");
    *state = folder;
    return mkdtemp(folder->path) == NULL;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    for (size_t i = 0; i < folder->n; i++)
        remove(folder->file[i]);
    const int failed = rmdir(folder->path);
    free(folder->path);
    free(folder);
    return failed;
}

static const char *put_file(struct folder *folder, const char *name, const void *bytes, size_t len)
{
    char *path = folder->file[folder->n];
    snprintf(path, sizeof folder->file[0], "%s/%s", folder->path, name);
    FILE *file = fopen(path, "wb");
    EXPECT_TRUE(file != NULL);
    EXPECT_U64(fwrite(bytes, 1, len, file), len);
    EXPECT_I64(fclose(file), 0);
    folder->n++;
    return path;
}

static const char *put_text(struct folder *folder, const char *name, const char *text)
{
    return put_file(folder, name, text, strlen(text));
}

static struct marey_trace *read_file(const char *path)
{
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    EXPECT_OK(marey_import_file(path, NULL, &trace, &err), &err);
    return trace;
}

static const char two_records[] =
    LIST("{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"k\":1}},"
         "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1},"
         "{\"args\":{\"k\":\"}\"},\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":9,"
         "\"dur\":1}");

/* ---- args ------------------------------------------------------------------------------ */

struct seen {
    size_t n;
    char text[8][64];
};

static enum marey_status see(void *user, size_t i, struct marey_str args)
{
    struct seen *seen = user;
    EXPECT_U64(i, seen->n);
    snprintf(seen->text[seen->n++], sizeof seen->text[0], "%.*s", (int)args.len,
             args.ptr == NULL ? "" : args.ptr);
    return MAREY_OK;
}

static void expect_args(struct marey_trace *trace)
{
    struct seen seen = {0};
    struct marey_error err = {0};
    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_OK(marey_trace_walk_args(trace, slices.offset, slices.n, see, &seen, &err), &err);
    EXPECT_U64(seen.n, 3);
    EXPECT_STR(seen.text[0], "{\"k\":1}");
    EXPECT_STR(seen.text[1], "");
    EXPECT_STR(seen.text[2], "{\"k\":\"}\"}");
}

static void args_come_from_every_kind_of_place(void **state)
{
    struct folder *folder = *state;
    unsigned char packed[1024];
    const size_t len = make_gzip(two_records, strlen(two_records), packed, sizeof packed);
    struct marey_trace *trace = read_file(put_text(folder, "plain", two_records));
    expect_args(trace);
    expect_args(trace);
    marey_trace_free(trace);
    trace = read_file(put_file(folder, "packed", packed, len));
    expect_args(trace);
    expect_args(trace);
    marey_trace_free(trace);
    const struct marey_reading reading = {0};
    trace = read_bytes_as(two_records, strlen(two_records), &reading);
    expect_args(trace);
    marey_trace_free(trace);
    trace = read_bytes_as((const char *)packed, len, &reading);
    expect_args(trace);
    marey_trace_free(trace);
}

static void a_changed_file_is_an_error_not_an_answer(void **state)
{
    struct folder *folder = *state;
    const char *path = put_text(folder, "a.json", two_records);
    struct marey_trace *trace = read_file(path);
    const struct marey_slices slices = marey_trace_slices(trace);
    struct seen seen = {0};
    struct marey_error err = {0};
    FILE *file = fopen(path, "ab");
    EXPECT_TRUE(file != NULL && fputc('\n', file) == '\n' && fclose(file) == 0);
    EXPECT_STATUS(marey_trace_walk_args(trace, slices.offset, slices.n, see, &seen, &err),
                  MAREY_CHANGED);
    EXPECT_HOLDS(err.message, "it changed since it was loaded");
    EXPECT_U64(seen.n, 0);
    marey_trace_free(trace);
}

/* The time of writing is put back, as some tools do. */
static void a_file_changed_in_place_is_noticed(void **state)
{
    struct folder *folder = *state;
    const char *path = put_text(folder, "a.json", two_records);
    struct marey_trace *trace = read_file(path);
    const struct marey_slices slices = marey_trace_slices(trace);
    struct seen seen = {0};
    struct stat before;
    EXPECT_I64(stat(path, &before), 0);
    FILE *file = fopen(path, "rb+");
    EXPECT_TRUE(file != NULL && fseek(file, 3, SEEK_SET) == 0 && fputc(' ', file) == ' ' &&
                fclose(file) == 0);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    EXPECT_I64(utimensat(AT_FDCWD, path, times, 0), 0);
    EXPECT_STATUS(marey_trace_walk_args(trace, slices.offset, slices.n, see, &seen, NULL),
                  MAREY_CHANGED);
    marey_trace_free(trace);
}

/* The name may be taken by another file: the trace holds on to the one it read. */
static void a_replaced_file_is_still_read(void **state)
{
    struct folder *folder = *state;
    const char *path = put_text(folder, "a.json", two_records);
    struct marey_trace *trace = read_file(path);
    EXPECT_I64(remove(path), 0);
    expect_args(trace);
    (void)put_text(folder, "a.json", "other text");
    folder->n--;
    expect_args(trace);
    marey_trace_free(trace);
}

/* ---- gzip ------------------------------------------------------------------------------ */

static enum marey_status status_of(const char *path, struct marey_error *err)
{
    struct marey_trace *trace = NULL;
    const enum marey_status status = marey_import_file(path, NULL, &trace, err);
    marey_trace_free(trace);
    return status;
}

static void gzip_members_are_read_one_after_another(void **state)
{
    struct folder *folder = *state;
    unsigned char packed[2048];
    size_t len = make_gzip(two_records, 100, packed, sizeof packed);
    len +=
        make_gzip(two_records + 100, strlen(two_records) - 100, packed + len, sizeof packed - len);
    memset(packed + len, 0, 512); /* block devices pad with zeros */
    struct marey_trace *trace = read_file(put_file(folder, "two.dat", packed, len));
    size_t n = 0;
    EXPECT_U64(marey_trace_slices(trace).n, 3);
    EXPECT_TRUE(marey_trace_sources(trace, &n)->is_gzip);
    EXPECT_U64(marey_trace_sources(trace, &n)->size_bytes, strlen(two_records));
    marey_trace_free(trace);
    trace = read_file(put_file(folder, "padded", packed, len + 512));
    EXPECT_U64(marey_trace_slices(trace).n, 3);
    marey_trace_free(trace);
}

static void cut_gzip_is_read_as_far_as_it_goes(void **state)
{
    struct folder *folder = *state;
    unsigned char packed[2048];
    const size_t len = make_gzip(two_records, strlen(two_records), packed, sizeof packed);
    struct marey_trace *trace = read_file(put_file(folder, "cut", packed, len - 4));
    EXPECT_U64(marey_trace_slices(trace).n, 3);
    EXPECT_U64(ledger_count(trace, "truncated"), 1);
    EXPECT_U64(ledger_count(trace, "partial"), 0);
    marey_trace_free(trace);
    trace = read_file(put_file(folder, "shorter", packed, len - 12));
    EXPECT_U64(ledger_count(trace, "truncated"), 1);
    marey_trace_free(trace);
}

static void damaged_gzip_is_read_as_far_as_it_goes(void **state)
{
    struct folder *folder = *state;
    unsigned char packed[2048];
    const size_t len = make_gzip(two_records, strlen(two_records), packed, sizeof packed);
    packed[len] = 'x'; /* no gzip */
    struct marey_trace *trace = read_file(put_file(folder, "tail", packed, len + 1));
    EXPECT_U64(marey_trace_slices(trace).n, 3);
    EXPECT_U64(ledger_count(trace, "bad_gzip"), 1);
    EXPECT_U64(ledger_count(trace, "truncated"), 0);
    expect_args(trace);
    marey_trace_free(trace);
    packed[len - 6] ^= 1; /* of the check sum */
    trace = read_file(put_file(folder, "sum", packed, len));
    EXPECT_U64(marey_trace_slices(trace).n, 3);
    EXPECT_U64(ledger_count(trace, "bad_gzip"), 1);
    struct marey_grade grade = {0};
    EXPECT_STATUS(marey_trace_grade(trace, &grade, NULL), MAREY_OK);
    EXPECT_U64(grade.letter, 'C'); /* any byte may be another */
    EXPECT_TRUE(strcmp(grade.because, "bad_gzip") == 0);
    expect_args(trace);
    marey_trace_free(trace);
}

/* The sum or the length of the first of two members, with zeros between them or none. */
static void a_member_behind_a_wrong_sum_is_read(void **state)
{
    struct folder *folder = *state;
    for (size_t i = 0; i < 4; i++) {
        unsigned char packed[4096] = {0};
        size_t len = make_gzip(two_records, 100, packed, sizeof packed);
        packed[len - (i % 2 == 0 ? 8 : 1)] ^= 1;
        len += i / 2 * 7;
        len += make_gzip(two_records + 100, strlen(two_records) - 100, packed + len,
                         sizeof packed - len);
        struct marey_trace *trace = read_file(put_file(folder, "sums", packed, len));
        EXPECT_U64(marey_trace_slices(trace).n, 3);
        EXPECT_U64(ledger_count(trace, "bad_gzip"), 1);
        EXPECT_U64(ledger_count(trace, "truncated"), 0);
        expect_args(trace);
        marey_trace_free(trace);
    }
}

/* A second member that begins with a block of an unknown type. */
static void text_before_damage_is_used(void **state)
{
    struct folder *folder = *state;
    static const unsigned char bad[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff};
    unsigned char packed[2048];
    const size_t len = make_gzip(two_records, 100, packed, sizeof packed);
    memcpy(packed + len, bad, sizeof bad);
    struct marey_trace *trace = read_file(put_file(folder, "half", packed, len + sizeof bad));
    EXPECT_TRUE(marey_trace_slices(trace).n > 0);
    EXPECT_U64(ledger_count(trace, "bad_gzip"), 1);
    EXPECT_U64(ledger_count(trace, "truncated"), 1);
    marey_trace_free(trace);
}

static void gzip_without_any_text_is_an_error(void **state)
{
    struct folder *folder = *state;
    unsigned char packed[2048];
    struct marey_error err = {0};
    (void)make_gzip(two_records, strlen(two_records), packed, sizeof packed);
    EXPECT_STATUS(status_of(put_file(folder, "cut", packed, 10), &err), MAREY_FORMAT);
    EXPECT_HOLDS(err.message, "its gzip data ends early");
    EXPECT_I64(err.offset_bytes, MAREY_UNKNOWN);
    memset(packed + 10, 0xff, 20);
    EXPECT_STATUS(status_of(put_file(folder, "bad", packed, 30), &err), MAREY_FORMAT);
    EXPECT_HOLDS(err.message, "its gzip data is damaged");
}

static void gzip_in_gzip_is_named(void **state)
{
    struct folder *folder = *state;
    unsigned char packed[2048];
    unsigned char twice[2048];
    struct marey_error err = {0};
    const size_t len = make_gzip(two_records, strlen(two_records), packed, sizeof packed);
    const size_t twice_len = make_gzip((const char *)packed, len, twice, sizeof twice);
    EXPECT_STATUS(status_of(put_file(folder, "twice", twice, twice_len), &err), MAREY_FORMAT);
    EXPECT_HOLDS(err.message, "compressed by gzip twice, decompress it once");
}

/* ---- several, none, odd ones ------------------------------------------------------------ */

static void several_files_are_sources_of_one_trace(void **state)
{
    struct folder *folder = *state;
    const char *paths[] = {
        put_text(folder, "r1",
                 "{\"traceEvents\":[" X("a", "1", "1") "],\"distributedInfo\":{"
                                                       "\"rank\":1},\"baseTimeNanoseconds\":1000}"),
        put_text(folder, "r?", LIST(X("a", "1", "1") "," X("b", "2", "1")))};
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    EXPECT_OK(marey_import_files(paths, 2, NULL, &trace, &err), &err);
    size_t n = 0;
    const struct marey_source *sources = marey_trace_sources(trace, &n);
    EXPECT_U64(n, 2);
    EXPECT_I64(sources[0].rank, 1);
    EXPECT_I64(sources[1].rank, 0); /* its place in the list is the rank of the other */
    EXPECT_TRUE(sources[1].rank_is_assumed);
    EXPECT_VIEW(marey_trace_string(trace, sources[1].path_id), paths[1]);
    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_U64(slices.n, 3);
    EXPECT_I64(slices.start_ns[2], 2000);
    EXPECT_U64(MAREY_OFFSET_SOURCE(slices.offset[0]), 1);
    (void)marey_trace_tracks(trace, &n);
    EXPECT_U64(n, 2);
    marey_trace_free(trace);
}

/* Files past the number we keep open are opened again for their args. */
static void many_files_rest_between_uses(void **state)
{
    struct folder *folder = *state;
    char names[200][8];
    const char *paths[200];
    for (size_t i = 0; i < 200; i++) {
        (void)snprintf(names[i], sizeof names[i], "m%zu", i);
        paths[i] = put_text(folder, names[i], two_records);
    }
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    EXPECT_OK(marey_import_files(paths, 200, NULL, &trace, &err), &err);
    const int next_fd = dup(0);
    EXPECT_TRUE(next_fd < 150);
    close(next_fd);
    const uint64_t offset = MAREY_OFFSET(199, 16);
    struct seen seen = {0};
    EXPECT_OK(marey_trace_walk_args(trace, &offset, 1, see, &seen, &err), &err);
    EXPECT_STR(seen.text[0], "{\"k\":1}");
    marey_trace_free(trace);
}

static void a_file_named_twice_is_refused(void **state)
{
    struct folder *folder = *state;
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    const char *file = put_text(folder, "file", two_records);
    const char *other = put_text(folder, "other", two_records);
    char detour[128];
    (void)snprintf(detour, sizeof detour, "%s/./file", folder->path);
    const char *paths[] = {file, other, detour};
    EXPECT_STATUS(marey_import_files(paths, 3, NULL, &trace, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message, "/./file': it is the same file as '");
    EXPECT_TRUE(trace == NULL);
    EXPECT_OK(marey_import_files(paths, 2, NULL, &trace, &err), &err);
    marey_trace_free(trace);
}

static void standard_input_is_kept(void **state)
{
    struct folder *folder = *state;
    const int kept = dup(STDIN_FILENO);
    FILE *file = freopen(put_text(folder, "input", two_records), "rb", stdin);
    EXPECT_TRUE(file != NULL);
    struct marey_trace *trace = read_file("-");
    expect_args(trace);
    marey_trace_free(trace);
    EXPECT_TRUE(dup2(kept, STDIN_FILENO) == STDIN_FILENO);
    close(kept);
}

static void what_cannot_be_read_says_why(void **state)
{
    struct folder *folder = *state;
    struct marey_error err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/none.json", folder->path);
    EXPECT_STATUS(status_of(path, &err), MAREY_IO);
    EXPECT_HOLDS(err.message, "cannot open '");
    EXPECT_HOLDS(err.message, "none.json': no such file");
    EXPECT_STATUS(status_of(folder->path, &err), MAREY_IO);
    EXPECT_HOLDS(err.message, "it is a folder");
    EXPECT_STATUS(status_of(put_text(folder, "empty", ""), &err), MAREY_FORMAT);
    EXPECT_HOLDS(err.message, "it is empty");
    struct marey_trace *trace = NULL;
    EXPECT_STATUS(marey_import_files(NULL, 0, NULL, &trace, &err), MAREY_INVALID);
}

/* ---- folders ------------------------------------------------------------------------------ */

static void folders_list_their_traces(void **state)
{
    struct folder *folder = *state;
    struct marey_error err = {0};
    char **paths = NULL;
    size_t n = 0;
    EXPECT_STATUS(marey_import_list_folder(folder->path, &paths, &n, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message, "no name in it ends in .json");
    (void)put_text(folder, "b.json.gz", "");
    (void)put_text(folder, "a.json", "");
    (void)put_text(folder, "a.jsonl", "");
    (void)put_text(folder, ".c.json", "");
    EXPECT_OK(marey_import_list_folder(folder->path, &paths, &n, &err), &err);
    EXPECT_U64(n, 2);
    EXPECT_HOLDS(paths[0], "/a.json");
    EXPECT_HOLDS(paths[1], "/b.json.gz");
    marey_import_paths_free(paths);
    EXPECT_OK(marey_import_list_left_out(folder->path, &paths, &n, &err), &err);
    EXPECT_U64(n, 0);
    marey_import_paths_free(paths);

    (void)put_text(folder, "z.1.pt.trace.json", "");
    (void)put_text(folder, "y.2.pt.trace.json.gz", "");
    EXPECT_OK(marey_import_list_folder(folder->path, &paths, &n, &err), &err);
    EXPECT_U64(n, 2);
    EXPECT_HOLDS(paths[0], "/y.2.pt.trace.json.gz");
    EXPECT_HOLDS(paths[1], "/z.1.pt.trace.json");
    marey_import_paths_free(paths);
    EXPECT_OK(marey_import_list_left_out(folder->path, &paths, &n, &err), &err);
    EXPECT_U64(n, 2);
    EXPECT_HOLDS(paths[0], "/a.json");
    EXPECT_HOLDS(paths[1], "/b.json.gz");
    marey_import_paths_free(paths);
    marey_import_paths_free(NULL);
    EXPECT_STATUS(marey_import_list_folder("/no/such/folder", &paths, &n, &err), MAREY_IO);
}

static void a_file_in_a_folder_has_one_name(void **state)
{
    struct folder *folder = *state;
    struct marey_error err = {0};
    char **paths = NULL;
    size_t n = 0;
    (void)put_text(folder, "b.json", "");
    char path[128];
    static const char *const links[] = {"a.json", "c.json", "d.pt.trace.json"};
    (void)snprintf(path, sizeof path, "%s/none.json", folder->path);
    EXPECT_TRUE(symlink("nothing", path) == 0);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder->path, links[i]);
        EXPECT_TRUE(symlink("b.json", path) == 0);
        EXPECT_OK(marey_import_list_folder(folder->path, &paths, &n, &err), &err);
        EXPECT_U64(n, i < 2 ? 2 : 1); /* a link into nothing is told when it is read */
        EXPECT_HOLDS(paths[0], i < 2 ? "/b.json" : "/d.pt.trace.json"); /* torch's names go first */
        marey_import_paths_free(paths);
        EXPECT_OK(marey_import_list_links(folder->path, &paths, &n, &err), &err);
        EXPECT_U64(n, 2 * i + 2);
        EXPECT_HOLDS(paths[0], "/a.json");
        EXPECT_HOLDS(paths[1], i < 2 ? "/b.json" : "/d.pt.trace.json");
        marey_import_paths_free(paths);
    }
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder->path, links[i]);
        EXPECT_TRUE(unlink(path) == 0);
    }
    (void)snprintf(path, sizeof path, "%s/none.json", folder->path);
    EXPECT_TRUE(unlink(path) == 0);
}

/* ---- memory --------------------------------------------------------------------------------- */

static enum marey_status import_and_walk(void *ctx, const struct marey_alloc *alloc)
{
    const struct marey_reading reading = {.window_bytes = 64};
    const char *const *paths = ctx;
    struct marey_trace *trace = NULL;
    struct seen seen = {0};
    enum marey_status status = marey__import_files(paths, 2, alloc, &reading, &trace, NULL);
    if (status == MAREY_OK) {
        const uint64_t offset = MAREY_OFFSET(1, 16);
        status = marey_trace_walk_args(trace, &offset, 1, see, &seen, NULL);
    }
    marey_trace_free(trace);
    return status;
}

static void no_memory_leaves_nothing_behind(void **state)
{
    struct folder *folder = *state;
    unsigned char packed[2048];
    const size_t len = make_gzip(two_records, strlen(two_records), packed, sizeof packed);
    static const char text[] = LIST(X("caf\xc3\xa9\\n", "1", "1") "," X("b", "1", "1"));
    const char *plain[] = {put_text(folder, "plain", text), put_text(folder, "plain2", text)};
    const char *gz[] = {put_file(folder, "gz", packed, len), put_file(folder, "gz2", packed, len)};
    /* One interval twice: ids are read while the trace is put in order. */
    static const char tied[] = LIST("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"ts\":1,"
                                    "\"dur\":2,\"args\":{\"External id\":1}},"
                                    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,"
                                    "\"dur\":2,\"args\":{\"External id\":\"\\u0032\"}}");
    const char *ties[] = {put_text(folder, "tied", tied), put_text(folder, "tied2", tied)};
    EXPECT_TRUE(alloc_fail_sweep(import_and_walk, ties) > alloc_fail_sweep(import_and_walk, plain));
    EXPECT_TRUE(alloc_fail_sweep(import_and_walk, plain) > 20);
    EXPECT_TRUE(alloc_fail_sweep(import_and_walk, gz) > 20);
}

/* What is too long to be held ends the text, at one place whatever the windows are: what stands
 * before it is read. */
static void what_is_too_long_ends_the_text(void **state)
{
    static const struct {
        const char *before;
        const char *behind;
        enum marey_status status;
        uint64_t n_partial;
    } rows[] = {
        {"[" X("a", "1", "2") "," X("a", "1", "2") ",{\"name\":\"", "\"}," X("a", "1", "2") "]",
         MAREY_OK, 1},
        {"{\"traceEvents\":[" X("a", "1", "2") "," X("a", "1", "2") "],\"a\":\"", "\"}", MAREY_OK,
         0},
        {"{\"a\":\"", "\",\"traceEvents\":[" X("a", "1", "2") "]}", MAREY_LIMIT, 0},
    };
    struct folder *folder = *state;
    const struct marey_alloc alloc = marey__alloc_default();
    static char text[40000];
    for (size_t i = 0; i < 4 * sizeof rows / sizeof rows[0]; i++) {
        const size_t row = i / 4;
        const size_t n_before = strlen(rows[row].before);
        memset(text, 'x', sizeof text);
        memcpy(text, rows[row].before, n_before);
        memcpy(text + sizeof text - strlen(rows[row].behind), rows[row].behind,
               strlen(rows[row].behind));
        const char *path = put_file(folder, "long", text, sizeof text);
        struct marey_reading reading = {.window_bytes = i % 2 == 0 ? 512 : 2000,
                                        .longest_bytes = 1 << 14,
                                        .n_threads = 1 + i % 4 / 2};
        struct marey_trace *trace = NULL;
        struct marey_error err = {0};
        EXPECT_STATUS(marey__import_files(&path, 1, &alloc, &reading, &trace, &err),
                      rows[row].status);
        if (trace == NULL) {
            EXPECT_HOLDS(err.message, "a record or member of more than");
            continue;
        }
        EXPECT_U64(marey_trace_slices(trace).n, 2);
        EXPECT_U64(ledger_count(trace, "truncated"), 1);
        EXPECT_U64(ledger_count(trace, "partial"), rows[row].n_partial);
        marey_trace_free(trace);
        reading.longest_bytes = 0;
        EXPECT_OK(marey__import_files(&path, 1, &alloc, &reading, &trace, &err), &err);
        EXPECT_U64(ledger_count(trace, "truncated"), 0);
        marey_trace_free(trace);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(args_come_from_every_kind_of_place),
        CASE(a_changed_file_is_an_error_not_an_answer),
        CASE(a_file_changed_in_place_is_noticed),
        CASE(a_replaced_file_is_still_read),
        CASE(gzip_members_are_read_one_after_another),
        CASE(cut_gzip_is_read_as_far_as_it_goes),
        CASE(damaged_gzip_is_read_as_far_as_it_goes),
        CASE(a_member_behind_a_wrong_sum_is_read),
        CASE(what_is_too_long_ends_the_text),
        CASE(text_before_damage_is_used),
        CASE(gzip_without_any_text_is_an_error),
        CASE(gzip_in_gzip_is_named),
        CASE(several_files_are_sources_of_one_trace),
        CASE(many_files_rest_between_uses),
        CASE(a_file_named_twice_is_refused),
        CASE(standard_input_is_kept),
        CASE(what_cannot_be_read_says_why),
        CASE(folders_list_their_traces),
        CASE(a_file_in_a_folder_has_one_name),
        CASE(no_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
