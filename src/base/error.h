/*
 * error.h - filling a struct marey_error.
 *
 * Form of a message: what failed first, the subject in single quotes, lower case,
 * no full stop, then the remedy if we know one.
 */
#ifndef MAREY_SRC_BASE_ERROR_H
#define MAREY_SRC_BASE_ERROR_H

#include <assert.h>

#include "marey/base.h"

#define MAREY_ASSERT(condition) assert(condition)

/* For functions that hold nothing: hands a failure on. */
#define MAREY_TRY(call)                                                                            \
    do {                                                                                           \
        const enum marey_status marey_try_status_ = (call);                                        \
        if (marey_try_status_ != MAREY_OK)                                                         \
            return marey_try_status_;                                                              \
    } while (0)

/* Sets status and message and returns the status; err may be NULL. */
enum marey_status marey__fail(struct marey_error *err, enum marey_status status, const char *format,
                              ...) MAREY_PRINTF(3, 4);

/* The same with a place in the file. */
enum marey_status marey__fail_at(struct marey_error *err, enum marey_status status,
                                 int64_t offset_bytes, const char *format, ...) MAREY_PRINTF(4, 5);

/* MAREY_NOMEM with its standard message. */
enum marey_status marey__fail_nomem(struct marey_error *err);

/* Puts "subject: " before a message that is already there (who knows the file name
 * adds it); returns err's status. */
enum marey_status marey__fail_prefix(struct marey_error *err, enum marey_status status,
                                     const char *format, ...) MAREY_PRINTF(3, 4);

#define MAREY_REASON_BYTES 128

/* What an error number of the system means, as a part of a message: "no such file or
 * directory". Writes into buffer[MAREY_REASON_BYTES] and returns it. */
const char *marey__system_reason(int error_number, char *buffer);

#endif
