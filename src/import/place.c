/*
 * place.c - files, standard input and memory as bytes that can be read by position.
 *
 * What cannot be read twice (standard input, pipes) is spilled to a temporary file that
 * has no name, so it vanishes with its descriptor. Its first bytes are looked at before: an
 * endless stream of something else must not fill the disk.
 */
#define _GNU_SOURCE /* O_CLOEXEC, mkostemp */
#include "import/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "import/sniff.h"

enum {
    SPILL_BLOCK_BYTES = 1 << 16,
    SNIFF_BYTES = MAREY_JUNK_LOOK_BYTES, /* enough to tell what a stream is */
};

static enum marey_status fail_system(const struct marey_place *place, const char *verb,
                                     struct marey_error *err)
{
    char reason[MAREY_REASON_BYTES];
    const char *text = marey__system_reason(errno, reason);

    return marey__fail(err, MAREY_IO, "cannot %s '%s': %s", verb, place->path, text);
}

static struct marey_place_id id_of(const struct stat *info)
{
    return (struct marey_place_id){
        .device = info->st_dev,
        .inode = info->st_ino,
        .size_bytes = info->st_size,
        .written_s = (int64_t)info->st_mtim.tv_sec,
        .written_ns = (int64_t)info->st_mtim.tv_nsec,
        .changed_s = (int64_t)info->st_ctim.tv_sec,
        .changed_ns = (int64_t)info->st_ctim.tv_nsec,
        .n_links = info->st_nlink,
    };
}

/* The time of writing can be set back, that of change cannot; but the latter also moves when
 * a name of the file goes, which leaves its bytes as they are. */
static bool same_id(const struct marey_place_id *a, const struct marey_place_id *b)
{
    return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
           a->written_s == b->written_s && a->written_ns == b->written_ns &&
           (a->n_links != b->n_links ||
            (a->changed_s == b->changed_s && a->changed_ns == b->changed_ns));
}

static ssize_t read_some(int fd, void *bytes, size_t want)
{
    ssize_t got;

    do
        got = read(fd, bytes, want);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        const ssize_t put = write(fd, bytes, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        len -= (size_t)put;
    }
    return true;
}

/* A file that is gone when its descriptor is closed. */
static int open_nameless(void)
{
    char name[] = P_tmpdir "/marey-XXXXXX";
    const int fd = mkostemp(name, O_CLOEXEC);

    if (fd >= 0)
        unlink(name);
    return fd;
}

/* Reads what there is, at the begin enough to tell what it is; *len is 0 at the end. */
static enum marey_status read_block(const struct marey_place *place, int from, bool is_begun,
                                    char *block, size_t *len, struct marey_error *err)
{
    ssize_t got = 0;

    *len = 0;
    do {
        got = read_some(from, block + *len, SPILL_BLOCK_BYTES - *len);
        if (got < 0)
            return fail_system(place, "read", err);
        *len += (size_t)got;
    } while (got > 0 && !is_begun && *len < SNIFF_BYTES);
    return MAREY_OK;
}

/* Copies all of `from` to `fd`, unless it does not begin as a trace may. */
static enum marey_status copy_stream(const struct marey_place *place, int from, int fd, char *block,
                                     struct marey_error *err)
{
    const char *what = NULL;
    bool is_begun = false;
    size_t len = 0;

    for (;;) {
        MAREY_TRY(read_block(place, from, is_begun, block, &len, err));
        if (len == 0)
            return MAREY_OK;
        if (!is_begun)
            is_begun = marey__sniff_start((struct marey_str){block, len}, &what);
        if (what != NULL && marey__sniff_behind_junk((struct marey_str){block, len}) != NULL)
            what = NULL;
        if (what != NULL)
            return marey__fail_at(err, MAREY_FORMAT, 0, "cannot read '%s' as a trace: %s",
                                  place->path, what);
        if (!write_all(fd, block, len))
            return fail_system(place, "write the temporary copy of", err);
    }
}

/* Copies all of `from` into a nameless file, which becomes the place's. */
static enum marey_status spill(struct marey_place *place, int from, struct marey_error *err)
{
    enum marey_status status = MAREY_OK;
    char *block = marey__alloc(&place->alloc, SPILL_BLOCK_BYTES, 1);
    const int fd = open_nameless();

    if (block == NULL)
        status = marey__fail_nomem(err);
    else if (fd < 0)
        status = fail_system(place, "make a temporary file for", err);
    else
        status = copy_stream(place, from, fd, block, err);

    marey__dealloc(&place->alloc, block, SPILL_BLOCK_BYTES, 1);
    if (status == MAREY_OK) {
        place->fd = fd;
        place->is_spill = true;
    } else if (fd >= 0) {
        close(fd);
    }
    return status;
}

static enum marey_status note_id(struct marey_place *place, struct marey_error *err)
{
    struct stat info;

    if (fstat(place->fd, &info) != 0)
        return fail_system(place, "read", err);
    place->id = id_of(&info);
    place->size_bytes = (uint64_t)info.st_size;
    return MAREY_OK;
}

static enum marey_status open_path(struct marey_place *place, struct marey_error *err)
{
    struct stat info;
    const int fd = open(place->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return fail_system(place, "open", err);

    enum marey_status status = MAREY_OK;
    bool is_kept = false;
    if (fstat(fd, &info) != 0) {
        status = fail_system(place, "read", err);
    } else if (S_ISDIR(info.st_mode)) {
        status = marey__fail(err, MAREY_IO,
                             "cannot read '%s': it is a folder, name the files in it", place->path);
    } else if (S_ISREG(info.st_mode)) {
        place->fd = fd;
        is_kept = true;
    } else {
        status = spill(place, fd, err);
    }
    if (!is_kept)
        close(fd);
    return status;
}

static char *copy_path(const struct marey_alloc *alloc, const char *path)
{
    const size_t len = strlen(path) + 1;
    char *copy = marey__alloc(alloc, len, 1);

    if (copy != NULL)
        memcpy(copy, path, len);
    return copy;
}

enum marey_status marey__place_open(struct marey_place *place, const struct marey_alloc *alloc,
                                    const char *path, struct marey_error *err)
{
    *place = (struct marey_place){.alloc = *alloc, .fd = -1};
    place->path = copy_path(alloc, path);
    if (place->path == NULL)
        return marey__fail_nomem(err);

    enum marey_status status =
        strcmp(path, "-") == 0 ? spill(place, STDIN_FILENO, err) : open_path(place, err);
    if (status == MAREY_OK)
        status = note_id(place, err);
    if (status != MAREY_OK)
        marey__place_close(place);
    return status;
}

enum marey_status marey__place_copy(struct marey_place *place, const struct marey_alloc *alloc,
                                    struct marey_str bytes, struct marey_error *err)
{
    size_t total = 0;

    *place = (struct marey_place){.alloc = *alloc, .fd = -1};
    if (!marey__size_add(bytes.len, MAREY_PLACE_PAD, &total))
        return marey__fail_nomem(err);
    place->path = copy_path(alloc, "(bytes)");
    place->memory = marey__alloc(alloc, total, 1);
    place->memory_len = bytes.len;
    place->size_bytes = bytes.len;
    if (place->path == NULL || place->memory == NULL) {
        marey__place_close(place);
        return marey__fail_nomem(err);
    }
    if (bytes.len > 0)
        memcpy(place->memory, bytes.ptr, bytes.len);
    memset(place->memory + bytes.len, 0, MAREY_PLACE_PAD);
    return MAREY_OK;
}

void marey__place_rest(struct marey_place *place)
{
    if (place->fd < 0 || place->is_spill)
        return;
    close(place->fd);
    place->fd = -1;
}

enum marey_status marey__place_check(struct marey_place *place, struct marey_error *err)
{
    struct stat info;

    if (place->memory != NULL || place->is_spill)
        return MAREY_OK;
    if (place->fd < 0) {
        place->fd = open(place->path, O_RDONLY | O_CLOEXEC);
        if (place->fd < 0)
            return fail_system(place, "open", err);
    }
    if (fstat(place->fd, &info) != 0)
        return fail_system(place, "read", err);

    const struct marey_place_id now = id_of(&info);
    if (!same_id(&now, &place->id))
        return marey__fail(err, MAREY_CHANGED,
                           "cannot read args from '%s': it changed since it was loaded, load "
                           "it again",
                           place->path);
    return MAREY_OK;
}

static void read_memory(const struct marey_place *place, uint64_t at, void *bytes, size_t want,
                        size_t *got)
{
    const uint64_t left = at < place->memory_len ? place->memory_len - at : 0;

    *got = left < want ? (size_t)left : want;
    if (*got > 0)
        memcpy(bytes, place->memory + at, *got);
}

enum marey_status marey__place_read(const struct marey_place *place, uint64_t at, void *bytes,
                                    size_t want, size_t *got, struct marey_error *err)
{
    if (place->memory != NULL) {
        read_memory(place, at, bytes, want, got);
        return MAREY_OK;
    }
    *got = 0;
    while (*got < want) {
        const ssize_t n = pread(place->fd, (char *)bytes + *got, want - *got, (off_t)(at + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_system(place, "read", err);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return MAREY_OK;
}

void marey__place_close(struct marey_place *place)
{
    marey__stretches_release(&place->stretches);
    if (place->fd >= 0)
        close(place->fd);
    place->fd = -1;
    if (place->memory != NULL)
        marey__dealloc(&place->alloc, place->memory, place->memory_len + MAREY_PLACE_PAD, 1);
    place->memory = NULL;
    if (place->path != NULL)
        marey__dealloc(&place->alloc, place->path, strlen(place->path) + 1, 1);
    place->path = NULL;
}
