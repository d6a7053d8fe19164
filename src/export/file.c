/*
 * file.c - write beside, then rename.
 */
#define _GNU_SOURCE /* renameat2 */
#include "export/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"

#define MOST_TRIES 64
#define SUFFIX_BYTES 40

/* What to do about a refusal, where we know. */
static const struct {
    int error;
    const char *remedy;
} remedies[] = {
    {ENOENT, "make the folder first"},
    {EACCES, "choose a folder you may write to"},
    {EROFS, "choose another folder"},
    {ENOSPC, "free some space or choose another disk"},
    {EDQUOT, "free some space or choose another disk"},
    {EFBIG, "raise the file size limit (ulimit -f); .gz is smaller"},
    {ENAMETOOLONG, "choose a shorter name"},
};

static enum marey_status fail_io(struct marey_error *err, const char *path, int error)
{
    const char *remedy = NULL;
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (remedies[i].error == error)
            remedy = remedies[i].remedy;
    char reason[MAREY_REASON_BYTES];
    const char *text = marey__system_reason(error, reason);
    if (remedy == NULL)
        return marey__fail(err, MAREY_IO, "cannot write '%s': %s", path, text);
    return marey__fail(err, MAREY_IO, "cannot write '%s': %s, %s", path, text, remedy);
}

static enum marey_status fail_exists(struct marey_error *err, const char *path)
{
    return marey__fail(
        err, MAREY_IO,
        "cannot write '%s': it exists, set the option `overwrite` or choose another name", path);
}

/* An existing target must be a regular file: a rename would replace a device such as
 * /dev/null by a file. */
static enum marey_status check_target(const struct marey_outfile *file, struct marey_error *err)
{
    struct stat info;
    if (stat(file->path, &info) != 0)
        return MAREY_OK;
    if (S_ISDIR(info.st_mode))
        return marey__fail(err, MAREY_IO, "cannot write '%s': it is a folder, give a file name",
                           file->path);
    if (!S_ISREG(info.st_mode))
        return marey__fail(err, MAREY_IO, "cannot write '%s': it is not a regular file",
                           file->path);
    return file->overwrite ? MAREY_OK : fail_exists(err, file->path);
}

/* Unique enough that two writers rarely meet; O_EXCL decides. */
static int create_beside(struct marey_outfile *file)
{
    struct timespec now = {0};
    for (unsigned try = 0; try < MOST_TRIES; try++) {
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)snprintf(file->temporary_path, file->temporary_bytes, "%s.%lx-%lx.tmp", file->path,
                       (unsigned long)getpid(), (unsigned long)now.tv_nsec + try);
        const int fd = open(file->temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

enum marey_status marey__outfile_open(struct marey_outfile *file, const char *path, bool overwrite,
                                      const struct marey_alloc *alloc, struct marey_error *err)
{
    *file = (struct marey_outfile){.alloc = *alloc, .path = path, .fd = -1, .overwrite = overwrite};
    if (path[0] == '\0')
        return marey__fail(err, MAREY_IO, "cannot write '': a file needs a name");
    MAREY_TRY(check_target(file, err));
    if (!marey__size_add(strlen(path), SUFFIX_BYTES, &file->temporary_bytes))
        return marey__fail_nomem(err);
    file->temporary_path = marey__alloc(alloc, file->temporary_bytes, 1);
    if (file->temporary_path == NULL)
        return marey__fail_nomem(err);
    file->fd = create_beside(file);
    if (file->fd < 0)
        return fail_io(err, path, errno);
    file->is_there = true;
    return MAREY_OK;
}

enum marey_status marey__outfile_write(struct marey_outfile *file, const void *ptr, size_t len,
                                       struct marey_error *err)
{
    const char *at = ptr;
    while (len > 0) {
        const ssize_t written = write(file->fd, at, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_io(err, file->path, errno);
        at += written;
        len -= (size_t)written;
    }
    return MAREY_OK;
}

/* Renames without replacing; file systems that cannot do so in one step get a check
 * before. 0, or -1 with errno. */
static int rename_to_new(const char *from, const char *to)
{
    const int result = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
    if (result == 0 || (errno != EINVAL && errno != ENOSYS))
        return result;
    if (access(to, F_OK) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

enum marey_status marey__outfile_commit(struct marey_outfile *file, struct marey_error *err)
{
    const int closed = close(file->fd);
    file->fd = -1;
    /* On Linux the descriptor is gone after EINTR, and nothing was lost. */
    if (closed != 0 && errno != EINTR)
        return fail_io(err, file->path, errno);
    const int renamed = file->overwrite ? rename(file->temporary_path, file->path)
                                        : rename_to_new(file->temporary_path, file->path);
    if (renamed != 0)
        return errno == EEXIST ? fail_exists(err, file->path) : fail_io(err, file->path, errno);
    file->is_there = false;
    return MAREY_OK;
}

void marey__outfile_release(struct marey_outfile *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    if (file->is_there)
        (void)unlink(file->temporary_path);
    if (file->alloc.release != NULL)
        marey__dealloc(&file->alloc, file->temporary_path, file->temporary_bytes, 1);
    *file = (struct marey_outfile){.fd = -1};
}
