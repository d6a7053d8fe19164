/*
 * error.c - filling a struct marey_error; version and names of statuses.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *marey_version(void)
{
    return MAREY_VERSION_STRING;
}

const char *marey_status_name(enum marey_status status)
{
    switch (status) {
    case MAREY_OK:
        return "ok";
    case MAREY_NOMEM:
        return "out of memory";
    case MAREY_IO:
        return "input or output failed";
    case MAREY_FORMAT:
        return "bad format";
    case MAREY_LIMIT:
        return "too large";
    case MAREY_INVALID:
        return "invalid argument";
    case MAREY_UNSUPPORTED:
        return "not supported";
    case MAREY_CHANGED:
        return "file changed";
    }
    return "unknown status";
}

MAREY_PRINTF(4, 0)
static void fill(struct marey_error *err, enum marey_status status, int64_t offset_bytes,
                 const char *format, va_list args)
{
    err->status = status;
    err->offset_bytes = offset_bytes;
    (void)vsnprintf(err->message, sizeof err->message, format, args);
}

enum marey_status marey__fail(struct marey_error *err, enum marey_status status, const char *format,
                              ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        fill(err, status, MAREY_UNKNOWN, format, args);
        va_end(args);
    }
    return status;
}

enum marey_status marey__fail_at(struct marey_error *err, enum marey_status status,
                                 int64_t offset_bytes, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        fill(err, status, offset_bytes, format, args);
        va_end(args);
    }
    return status;
}

enum marey_status marey__fail_nomem(struct marey_error *err)
{
    return marey__fail(err, MAREY_NOMEM, "out of memory");
}

enum marey_status marey__fail_prefix(struct marey_error *err, enum marey_status status,
                                     const char *format, ...)
{
    if (err == NULL)
        return status;
    char old[MAREY_ERROR_MESSAGE_BYTES];
    memcpy(old, err->message, sizeof old);

    va_list args;
    va_start(args, format);
    const int written = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);

    const size_t len = written < 0 ? 0 : (size_t)written;
    if (len + 2 < sizeof err->message) {
        memcpy(err->message + len, ": ", 3);
        const size_t room = sizeof err->message - len - 3;
        const size_t rest = strnlen(old, sizeof old - 1);
        const size_t take = rest < room ? rest : room;
        memcpy(err->message + len + 2, old, take);
        err->message[len + 2 + take] = '\0';
    }
    err->status = status;
    return status;
}

const char *marey__system_reason(int error_number, char *buffer)
{
    /* The POSIX form: this file does not ask for GNU extensions. */
    if (strerror_r(error_number, buffer, MAREY_REASON_BYTES) != 0)
        (void)snprintf(buffer, MAREY_REASON_BYTES, "system error %d", error_number);

    /* "RFS specific error" and the like keep their capitals. */
    const bool is_word = buffer[0] >= 'A' && buffer[0] <= 'Z' && buffer[1] >= 'a';
    if (is_word)
        buffer[0] = (char)(buffer[0] - 'A' + 'a');
    return buffer;
}
