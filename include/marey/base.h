/*
 * marey/base.h - what every other header of Marey uses: version, status,
 * error, strings, memory.
 *
 *     struct marey_error err = {0};
 *     struct marey_trace *trace = NULL;
 *     if (marey_import_file("a.json.gz", NULL, &trace, &err) != MAREY_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *     marey_trace_free(trace);
 *
 * Threads: everything here is free of shared state.
 */
#ifndef MAREY_BASE_H
#define MAREY_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAREY_VERSION_MAJOR 0
#define MAREY_VERSION_MINOR 1
#define MAREY_VERSION_PATCH 0
#define MAREY_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define MAREY_API __attribute__((visibility("default")))
#define MAREY_MUST_CHECK __attribute__((warn_unused_result))
#define MAREY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define MAREY_API
#define MAREY_MUST_CHECK
#define MAREY_PRINTF(fmt, args)
#endif

/* "There is none": for indices and ids of 32 bits, and for 64-bit quantities
 * whose value is not known (law 8: unknown is never 0). */
#define MAREY_NONE UINT32_MAX
#define MAREY_UNKNOWN INT64_MIN

/* The version of the library that runs, "major.minor.patch". */
MAREY_API const char *marey_version(void);

/* What a call came to. Zero is success, failures are negative; the numbers
 * never change their meaning. */
enum marey_status {
    MAREY_OK = 0,
    MAREY_NOMEM = -1,       /* the allocator gave no memory */
    MAREY_IO = -2,          /* the system refused to open, read or write */
    MAREY_FORMAT = -3,      /* the bytes are not what they claim to be */
    MAREY_LIMIT = -4,       /* larger than a cap; the message says which */
    MAREY_INVALID = -5,     /* an argument makes no sense; nothing was changed */
    MAREY_UNSUPPORTED = -6, /* this build or this object cannot do it */
    MAREY_CHANGED = -7      /* the file behind a trace is no longer the same */
};

/* A short English name of a status, such as "out of memory". Never NULL. */
MAREY_API const char *marey_status_name(enum marey_status status);

#define MAREY_ERROR_MESSAGE_BYTES 1024

/* Why a call failed. The caller owns it, usually on the stack; every function
 * that takes one also takes NULL. Defined only after a failure. */
struct marey_error {
    enum marey_status status;
    int64_t offset_bytes; /* place in the file, or MAREY_UNKNOWN */
    char message[MAREY_ERROR_MESSAGE_BYTES];
};

/* A view of bytes that are owned elsewhere; not terminated. */
struct marey_str {
    const char *ptr;
    size_t len;
};

/* Where memory comes from. All three functions must be given together; they
 * may be called from any thread that uses the object they were given to.
 * `size_bytes` of the two that release is the size last asked for. */
struct marey_alloc {
    void *(*allocate)(void *ctx, size_t size_bytes);
    void *(*reallocate)(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes);
    void (*release)(void *ctx, void *ptr, size_t size_bytes);
    void *ctx;
};

#ifdef __cplusplus
}
#endif

#endif
