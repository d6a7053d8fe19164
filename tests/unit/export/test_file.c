/*
 * Tests of files that appear whole or not at all: export/file.c, gzip and
 * marey_export_chrome.
 */
#include "base/alloc.h"
#include "export/file.h"
#include "export/gzip.h"
#include "make_table.h"
#include "marey/import.h"
#include "same_trace.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/marey-test-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static const char *in_folder(const char *name)
{
    static char path[4][512];
    static unsigned next;
    char *buffer = path[next++ % 4];
    (void)snprintf(buffer, sizeof path[0], "%s/%s", folder, name);
    return buffer;
}

/* How many entries the folder has; removes them. */
static size_t empty_folder(void)
{
    size_t n = 0;
    DIR *open = opendir(folder);
    EXPECT_TRUE(open != NULL);
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const char *path = in_folder(entry->d_name);
        EXPECT_TRUE(unlink(path) == 0 || rmdir(path) == 0);
        n++;
    }
    closedir(open);
    return n;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)empty_folder();
    return rmdir(folder);
}

static void write_old(const char *path)
{
    FILE *file = fopen(path, "w");
    EXPECT_TRUE(file != NULL && fputs("old", file) >= 0 && fclose(file) == 0);
}

static void expect_file(const char *path, const char *want)
{
    char bytes[256] = {0};
    FILE *file = fopen(path, "r");
    EXPECT_TRUE(file != NULL);
    const size_t len = fread(bytes, 1, sizeof bytes - 1, file);
    EXPECT_BYTES(bytes, len, want);
    EXPECT_TRUE(fclose(file) == 0);
}

/* Writes "new" to a path, whole. */
static enum marey_status write_new(const char *path, bool overwrite, struct marey_error *err)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_outfile file;
    enum marey_status status = marey__outfile_open(&file, path, overwrite, &alloc, err);
    if (status == MAREY_OK)
        status = marey__outfile_write(&file, "new", 3, err);
    if (status == MAREY_OK)
        status = marey__outfile_commit(&file, err);
    marey__outfile_release(&file);
    return status;
}

static void file_appears_at_the_end(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    const char *path = in_folder("a.json");
    struct marey_error err = {0};
    struct marey_outfile file;
    EXPECT_OK(marey__outfile_open(&file, path, false, &alloc, &err), &err);
    EXPECT_OK(marey__outfile_write(&file, "ne", 2, &err), &err);
    EXPECT_TRUE(access(path, F_OK) != 0);
    EXPECT_OK(marey__outfile_write(&file, "w", 1, &err), &err);
    EXPECT_OK(marey__outfile_commit(&file, &err), &err);
    expect_file(path, "new");
    marey__outfile_release(&file);
    EXPECT_U64(empty_folder(), 1);
}

static void file_that_is_given_up_leaves_nothing(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_error err = {0};
    struct marey_outfile file;
    EXPECT_OK(marey__outfile_open(&file, in_folder("a.json"), false, &alloc, &err), &err);
    EXPECT_OK(marey__outfile_write(&file, "part", 4, &err), &err);
    marey__outfile_release(&file);
    EXPECT_U64(empty_folder(), 0);
}

static void file_is_overwritten_only_if_asked(void **state)
{
    (void)state;
    char message[512];
    struct marey_error err = {0};
    const char *path = in_folder("a.json");
    write_old(path);
    EXPECT_STATUS(write_new(path, false, &err), MAREY_IO);
    (void)snprintf(
        message, sizeof message,
        "cannot write '%s': it exists, set the option `overwrite` or choose another name", path);
    EXPECT_STR(err.message, message);
    expect_file(path, "old");
    EXPECT_OK(write_new(path, true, &err), &err);
    expect_file(path, "new");
    EXPECT_U64(empty_folder(), 1);
}

/* Somebody else wrote the name meanwhile: theirs stays. */
static void file_that_came_meanwhile_stays(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_error err = {0};
    struct marey_outfile file;
    const char *path = in_folder("a.json");
    EXPECT_OK(marey__outfile_open(&file, path, false, &alloc, &err), &err);
    EXPECT_OK(marey__outfile_write(&file, "new", 3, &err), &err);
    write_old(path);
    EXPECT_STATUS(marey__outfile_commit(&file, &err), MAREY_IO);
    EXPECT_HOLDS(err.message, "it exists, set the option");
    marey__outfile_release(&file);
    expect_file(path, "old");
    EXPECT_U64(empty_folder(), 1);
}

static void places_that_cannot_be_are_told(void **state)
{
    (void)state;
    struct marey_error err = {0};
    EXPECT_STATUS(write_new(in_folder("no/a.json"), false, &err), MAREY_IO);
    EXPECT_HOLDS(err.message, "/no/a.json': ");
    EXPECT_HOLDS(err.message, ", make the folder first");
    EXPECT_STATUS(write_new(folder, true, &err), MAREY_IO);
    EXPECT_HOLDS(err.message, "it is a folder, give a file name");
    EXPECT_STATUS(write_new("", true, &err), MAREY_IO);
    EXPECT_STR(err.message, "cannot write '': a file needs a name");

    /* Renaming would replace the device by a file. */
    EXPECT_TRUE(mkfifo(in_folder("pipe"), 0600) == 0);
    EXPECT_STATUS(write_new(in_folder("pipe"), true, &err), MAREY_IO);
    EXPECT_HOLDS(err.message, "it is not a regular file");
    EXPECT_U64(empty_folder(), 1);
}

/* ---- whole exports ---- */

static struct marey_trace *recorded(void)
{
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    EXPECT_OK(marey_import_file(expect_data_path("cpu_mlp_train.json.gz"), NULL, &trace, &err),
              &err);
    return trace;
}

/* A disk that is full, as a limit on the size of files: the old file stays, nothing else. */
static void full_disk_keeps_the_old_file(void **state)
{
    (void)state;
    static const char *const names[] = {"a.json", "a.json.gz"};
    struct marey_trace *trace = recorded();
    struct rlimit old;
    EXPECT_TRUE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    EXPECT_TRUE(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    for (size_t i = 0; i < 2; i++) {
        const struct marey_chrome_options options = {.size = sizeof options, .overwrite = true};
        const struct rlimit small = {4096, old.rlim_max};
        struct marey_error err = {0};
        const char *path = in_folder(names[i]);
        write_old(path);
        EXPECT_TRUE(setrlimit(RLIMIT_FSIZE, &small) == 0);
        const enum marey_status status = marey_export_chrome(trace, path, &options, &err);
        EXPECT_TRUE(setrlimit(RLIMIT_FSIZE, &old) == 0);
        EXPECT_STATUS(status, MAREY_IO);
        EXPECT_HOLDS(err.message, "raise the file size limit");
        expect_file(path, "old");
        EXPECT_U64(empty_folder(), 1);
    }
    marey_trace_free(trace);
}

static void export_compresses_what_ends_in_gz(void **state)
{
    (void)state;
    struct marey_trace *trace = recorded();
    struct marey_error err = {0};
    struct marey_text text = {0};
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &text, &err), &err);
    char *back = malloc(text.len + 1);
    EXPECT_TRUE(back != NULL);
    for (int level = 0; level <= 9; level++) {
        const struct marey_chrome_options options = {
            .size = sizeof options, .overwrite = true, .compression = level};
        const char *path = in_folder("a.json.gz");
        EXPECT_OK(marey_export_chrome(trace, path, &options, &err), &err);
        struct stat info;
        EXPECT_TRUE(stat(path, &info) == 0 && (size_t)info.st_size < text.len / 4);
        gzFile file = gzopen(path, "rb");
        EXPECT_TRUE(file != NULL);
        EXPECT_I64(gzread(file, back, (unsigned)text.len + 1), (int64_t)text.len);
        EXPECT_TRUE(memcmp(back, text.ptr, text.len) == 0);
        EXPECT_I64(gzclose(file), Z_OK);
    }
    const struct marey_chrome_options wrong = {.size = sizeof wrong, .compression = 10};
    EXPECT_STATUS(marey_export_chrome(trace, in_folder("b.json"), &wrong, &err), MAREY_INVALID);
    EXPECT_STR(err.message, "cannot compress: '10' is no level, give 1 to 9 or 0 for the default");
    EXPECT_U64(empty_folder(), 1);
    free(back);
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* A trace reads its args from the file that it is written over. */
static void export_may_replace_its_own_source(void **state)
{
    (void)state;
    const struct marey_chrome_options options = {.size = sizeof options, .overwrite = true};
    struct marey_error err = {0};
    struct marey_trace *trace = recorded();
    struct marey_trace *copy = NULL;
    struct marey_trace *again = NULL;
    struct difference difference = {0};
    const char *path = in_folder("a.json");
    EXPECT_OK(marey_export_chrome(trace, path, NULL, &err), &err);
    EXPECT_OK(marey_import_file(path, NULL, &copy, &err), &err);
    EXPECT_OK(marey_export_chrome(copy, path, &options, &err), &err);
    EXPECT_OK(marey_import_file(path, NULL, &again, &err), &err);
    if (!same_trace(trace, again, true, &difference))
        EXPECT_FAIL(difference.text);
    EXPECT_U64(empty_folder(), 1);
    marey_trace_free(again);
    marey_trace_free(copy);
    marey_trace_free(trace);
}

/* ---- gzip ---- */

struct bytes {
    unsigned char at[1 << 16];
    size_t len;
    size_t limit; /* the sink fails when it would hold more */
};

static enum marey_status keep(void *ctx, const void *ptr, size_t len, struct marey_error *err)
{
    struct bytes *bytes = ctx;
    (void)err;
    if (bytes->len + len > bytes->limit)
        return MAREY_IO;
    memcpy(bytes->at + bytes->len, ptr, len);
    bytes->len += len;
    return MAREY_OK;
}

static void gzip_writes_one_member_however_it_is_fed(void **state)
{
    (void)state;
    static struct bytes whole;
    static struct bytes parts;
    static char text[40000];
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_error err = {0};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i * i % 23);
    whole = (struct bytes){.limit = sizeof whole.at};
    parts = (struct bytes){.limit = sizeof parts.at};

    struct marey_gzip *gzip = marey__gzip_new(&alloc, 1, keep, &whole);
    EXPECT_TRUE(gzip != NULL);
    EXPECT_OK(marey__gzip_write(gzip, text, sizeof text, &err), &err);
    EXPECT_OK(marey__gzip_end(gzip, &err), &err);
    marey__gzip_free(gzip);

    gzip = marey__gzip_new(&alloc, 1, keep, &parts);
    EXPECT_TRUE(gzip != NULL);
    EXPECT_OK(marey__gzip_write(gzip, text, 0, &err), &err);
    for (size_t i = 0; i < sizeof text; i += 1000)
        EXPECT_OK(marey__gzip_write(gzip, text + i, 1000, &err), &err);
    EXPECT_OK(marey__gzip_end(gzip, &err), &err);
    marey__gzip_free(gzip);

    const struct bytes *each[] = {&whole, &parts};
    for (size_t i = 0; i < 2; i++) {
        static unsigned char back[sizeof text + 1];
        z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)each[i]->at,
                           .avail_in = (unsigned)each[i]->len,
                           .next_out = back,
                           .avail_out = sizeof back};
        EXPECT_I64(inflateInit2(&stream, 15 + 16), Z_OK);
        EXPECT_I64(inflate(&stream, Z_FINISH), Z_STREAM_END);
        EXPECT_U64(stream.total_out, sizeof text);
        EXPECT_U64(stream.avail_in, 0);
        EXPECT_TRUE(memcmp(back, text, sizeof text) == 0);
        EXPECT_I64(inflateEnd(&stream), Z_OK);
    }
}

static void gzip_hands_on_what_the_sink_fails_with(void **state)
{
    (void)state;
    static struct bytes bytes;
    const struct marey_alloc alloc = marey__alloc_default();
    bytes = (struct bytes){.limit = 0};
    struct marey_gzip *gzip = marey__gzip_new(&alloc, 9, keep, &bytes);
    EXPECT_TRUE(gzip != NULL);
    /* zlib writes its header at once, ISA-L with the first block. */
    enum marey_status status = marey__gzip_write(gzip, "x", 1, NULL);
    if (status == MAREY_OK)
        status = marey__gzip_end(gzip, NULL);
    EXPECT_STATUS(status, MAREY_IO);
    marey__gzip_free(gzip);
    marey__gzip_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_appears_at_the_end),
        cmocka_unit_test(file_that_is_given_up_leaves_nothing),
        cmocka_unit_test(file_is_overwritten_only_if_asked),
        cmocka_unit_test(file_that_came_meanwhile_stays),
        cmocka_unit_test(places_that_cannot_be_are_told),
        cmocka_unit_test(full_disk_keeps_the_old_file),
        cmocka_unit_test(export_compresses_what_ends_in_gz),
        cmocka_unit_test(export_may_replace_its_own_source),
        cmocka_unit_test(gzip_writes_one_member_however_it_is_fed),
        cmocka_unit_test(gzip_hands_on_what_the_sink_fails_with),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
