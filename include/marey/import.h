/*
 * marey/import.h - from files to a trace.
 *
 *     struct marey_trace *trace = NULL;
 *     enum marey_status s = marey_import_file("a.pt.trace.json.gz", NULL, &trace, &err);
 *
 * Reads what torch.profiler, Kineto, its TensorBoard plug-in, Chrome and Perfetto
 * write as JSON: an object with traceEvents or a bare array, gzip or plain.
 * Times are read exactly from the decimal text.
 *
 * The trace keeps files open and reads args from them when asked, of a .gz from the last of the
 * states of the inflater that it kept, one of 90 KB for each 32 MiB of text; a file
 * that changed meanwhile is an error (MAREY_CHANGED), not a wrong answer.
 *
 * Caps: 512 MiB for one record or one member, behind which nothing is read (truncated; MAREY_LIMIT
 * if no record stands before it); 65,535 files, 256 TiB of text each (MAREY_LIMIT, and the message
 * says which); times of a record within ±2^62 ns, others are set aside (time_range). Nesting of
 * values is not capped here, that of args is.
 *
 * Threads: calls on different traces are independent. A call reads a file of some size with several
 * threads of its own, which end with it and take no signals; the trace does not depend on their
 * number. The allocator may be called by them.
 */
#ifndef MAREY_IMPORT_H
#define MAREY_IMPORT_H

#include "marey/base.h"
#include "marey/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct marey_import_options {
    size_t size;                     /* sizeof(struct marey_import_options) */
    const struct marey_alloc *alloc; /* NULL: the C library's; borrowed while the trace lives */
    size_t n_threads; /* the caller's among them; 1: no other; 0: one for each processor that the
                         caller may run on, up to 8; 64 at most */
    enum marey_check check; /* how much is looked at; \cost ALL takes up to as long again */
};

/* Reads one file. "-" is standard input (kept in a temporary file).
 * \owns gives *trace, freed by marey_trace_free
 * \fails MAREY_IO, MAREY_FORMAT (no trace: err->offset_bytes is 0; or damaged: err says where),
 *        MAREY_LIMIT, MAREY_NOMEM; *trace is untouched then */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_import_file(const char *path, const struct marey_import_options *options,
                  struct marey_trace **trace, struct marey_error *err);

/* Reads several files into one trace, one source each (the ranks of a job).
 * \shape paths[n], n >= 1
 * \fails as marey_import_file, and MAREY_INVALID for a file that is named twice */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_import_files(const char *const *paths, size_t n, const struct marey_import_options *options,
                   struct marey_trace **trace, struct marey_error *err);

/* Reads a trace from memory.
 * \owns copies the bytes, since args are read from them later */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_import_bytes(struct marey_str bytes, const struct marey_import_options *options,
                   struct marey_trace **trace, struct marey_error *err);

/* The trace files of a folder: names that end in .json or .json.gz and, where any
 * name ends in .pt.trace.json(.gz), only those; sorted by name. Of several names of one file,
 * as of a link to a file beside it, one.
 * \owns gives *paths (n strings in one block), freed by marey_import_paths_free
 * \fails MAREY_IO, MAREY_INVALID (none in there), MAREY_NOMEM */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_import_list_folder(const char *folder, char ***paths, size_t *n, struct marey_error *err);

/* What marey_import_list_folder leaves out of a folder where any name ends in
 * .pt.trace.json(.gz): the others that end in .json or .json.gz, sorted by name. They may be
 * traces, so whoever reads the folder tells of them. *n may be 0.
 * \owns as marey_import_list_folder
 * \fails as marey_import_list_folder */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_import_list_left_out(const char *folder, char ***paths, size_t *n, struct marey_error *err);

/* The further names of files of a folder, which neither of the two above gives: *n is even, behind
 * each name stands the one that they give. *n may be 0.
 * \owns as marey_import_list_folder
 * \fails as marey_import_list_folder */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_import_list_links(const char *folder, char ***paths, size_t *n, struct marey_error *err);
MAREY_API void marey_import_paths_free(char **paths);

#ifdef __cplusplus
}
#endif

#endif
