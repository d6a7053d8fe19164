/*
 * output.c - results to standard output or to a file.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"
#include "reason.h"

/* Returns 0 or the error number. */
static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        const ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

bool output_is_free(const char *path, bool overwrite)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return true;
    if (S_ISDIR(st.st_mode))
        message_print("cannot write '%s': it is a folder, give a file name", path);
    else if (!overwrite)
        message_print("cannot write '%s': file exists, use --force to overwrite it", path);
    return overwrite && !S_ISDIR(st.st_mode);
}

int output_stream_write(const void *bytes, size_t len)
{
    return write_all(STDOUT_FILENO, bytes, len);
}

enum cli_exit output_stream_end(int error)
{
    /* Some file systems tell only now that there is no room. */
    if (error == 0 && close(STDOUT_FILENO) != 0)
        error = errno;
    if (error == 0 || error == EPIPE)
        return CLI_DONE;
    message_print("cannot write to standard output: %s", reason_text(error));
    return CLI_FAILED;
}

/* Devices and pipes have no name to take: they are written in place. */
static bool is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int write_in_place(const char *path, const char *bytes, size_t len)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;

    int error = write_all(fd, bytes, len);
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error == EPIPE ? 0 : error;
}

/* link, unlike rename, fails if the name is taken meanwhile. */
static int give_name(const char *temporary, const char *path, bool overwrite)
{
    if (overwrite)
        return rename(temporary, path) == 0 ? 0 : errno;
    if (link(temporary, path) == 0)
        return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;

    /* A file system without links: the check and the renaming are two steps. */
    if (access(path, F_OK) == 0)
        return EEXIST;
    return rename(temporary, path) == 0 ? 0 : errno;
}

static int write_file(const char *path, bool overwrite, const char *bytes, size_t len)
{
    const size_t temporary_bytes = strlen(path) + 32;
    char *temporary = malloc(temporary_bytes);
    int fd = -1;
    int error = 0;

    if (!temporary)
        return ENOMEM;
    snprintf(temporary, temporary_bytes, "%s.%ld.tmp", path, (long)getpid());

    /* Asked early, so that the answer does not depend on room for a copy. */
    if (!overwrite && access(path, F_OK) == 0) {
        error = EEXIST;
        goto done;
    }
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        error = errno;
        goto done;
    }
    error = write_all(fd, bytes, len);
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0)
        error = give_name(temporary, path, overwrite);

done:
    if (fd >= 0)
        unlink(temporary);
    free(temporary);
    return error;
}

enum cli_exit output_write(const char *path, bool overwrite, const char *bytes, size_t len)
{
    int error;

    if (!path || strcmp(path, "-") == 0)
        return output_stream_end(output_stream_write(bytes, len));
    if (is_special(path))
        error = write_in_place(path, bytes, len);
    else
        error = write_file(path, overwrite, bytes, len);
    if (error == 0)
        return CLI_DONE;
    message_print("cannot write '%s': %s%s", path, reason_text(error),
                  error == EEXIST ? ", use --force to overwrite it" : "");
    return CLI_FAILED;
}

enum cli_exit output_text(const char *path, bool overwrite, struct text *text)
{
    enum cli_exit result = CLI_FAILED;

    if (text->is_broken)
        message_print("cannot build the result: out of memory");
    else
        result = output_write(path, overwrite, text->ptr, text->len);
    text_release(text);
    return result;
}
