/*
 * file.h - a file that appears complete under its name or not at all.
 *
 *     struct marey_outfile file;
 *     status = marey__outfile_open(&file, path, overwrite, &alloc, err);
 *     if (status == MAREY_OK) status = marey__outfile_write(&file, ptr, len, err);
 *     if (status == MAREY_OK) status = marey__outfile_commit(&file, err);
 *     marey__outfile_release(&file);
 *
 * Bytes go to "<path>.<unique>.tmp" in the same folder, which is renamed at the end;
 * release without commit removes it. There is no fsync: the promise is about readers and
 * full disks, not about power cuts.
 */
#ifndef MAREY_SRC_EXPORT_FILE_H
#define MAREY_SRC_EXPORT_FILE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "marey/base.h"

struct marey_outfile {
    struct marey_alloc alloc;
    const char *path; /* borrowed until release */
    char *temporary_path;
    size_t temporary_bytes;
    int fd; /* -1: not open */
    bool overwrite;
    bool is_there; /* the temporary file exists */
};

/* \fails MAREY_IO: no such folder, exists and overwrite is false, not a regular file;
 *        MAREY_NOMEM. Release in any case. */
MAREY_MUST_CHECK enum marey_status marey__outfile_open(struct marey_outfile *file, const char *path,
                                                       bool overwrite,
                                                       const struct marey_alloc *alloc,
                                                       struct marey_error *err);
MAREY_MUST_CHECK enum marey_status marey__outfile_write(struct marey_outfile *file, const void *ptr,
                                                        size_t len, struct marey_error *err);

/* Closes and renames. \fails MAREY_IO */
MAREY_MUST_CHECK enum marey_status marey__outfile_commit(struct marey_outfile *file,
                                                         struct marey_error *err);
void marey__outfile_release(struct marey_outfile *file);

#endif
