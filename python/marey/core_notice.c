/*
 * core_notice.c - what `marey run` has to say, on the standard error that it was given.
 *
 * By its end a program may have closed descriptor 2 and opened a file that got the number, or
 * sent it to a log. So a second descriptor is kept from the beginning; a program that closes
 * all of them may have given that number away too, which the file behind it shows.
 */
#include "_core.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOWEST_KEPT 64 /* out of the way of programs that count on numbers */

static struct {
    bool is_known; /* device and inode are those of the standard error at the beginning */
    dev_t device;
    ino_t inode;
    int copy; /* -1: none */
} standard_error = {.copy = -1};

/* Who waits for the end of this stream need not wait for what the program forks. */
static void close_in_child(void)
{
    if (standard_error.copy >= 0)
        (void)close(standard_error.copy);
    standard_error.copy = -1;
}

static bool is_the_same(int descriptor)
{
    struct stat now;

    return !standard_error.is_known ||
           (fstat(descriptor, &now) == 0 && now.st_dev == standard_error.device &&
            now.st_ino == standard_error.inode);
}

/* keep_stderr(): notices go to what is standard error now. */
PyObject *core_keep_stderr(PyObject *module, PyObject *unused)
{
    struct stat now;

    (void)module;
    (void)unused;
    if (!standard_error.is_known && fstat(STDERR_FILENO, &now) == 0) {
        standard_error.is_known = true;
        standard_error.device = now.st_dev;
        standard_error.inode = now.st_ino;
        standard_error.copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, LOWEST_KEPT);
        (void)pthread_atfork(NULL, NULL, close_in_child);
    }
    Py_RETURN_NONE;
}

/* Calls nothing that takes a lock. */
void core_print_notice(const char *text, size_t len)
{
    const bool has_copy = standard_error.copy >= 0 && is_the_same(standard_error.copy);
    const int descriptor = has_copy ? standard_error.copy : STDERR_FILENO;

    if (!has_copy && !is_the_same(STDERR_FILENO))
        return;
    for (ssize_t n = 0; len > 0; text += n, len -= (size_t)n) {
        n = write(descriptor, text, len);
        if (n < 0 && errno == EINTR)
            n = 0;
        if (n < 0)
            return; /* nobody is there to be told */
    }
}

/* notice(bytes) */
PyObject *core_notice(PyObject *module, PyObject *text)
{
    (void)module;
    if (!PyBytes_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a notice is bytes");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        core_print_notice(PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text));
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}
