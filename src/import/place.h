/*
 * place.h - where the bytes of a source are: a file, standard input, memory.
 *
 * A place is read by position as often as needed: first by the load, later by the
 * provider of args. A file is known by device, inode, size and time of change; when any
 * of them differs the answer is MAREY_CHANGED.
 */
#ifndef MAREY_SRC_IMPORT_PLACE_H
#define MAREY_SRC_IMPORT_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "import/stretch.h"

struct marey_place_id {
    dev_t device;
    ino_t inode;
    off_t size_bytes;
    int64_t written_s;
    int64_t written_ns;
    int64_t changed_s;
    int64_t changed_ns;
    nlink_t n_links;
};

struct marey_place {
    struct marey_alloc alloc;
    char *path;    /* as given, for messages and for opening again */
    int fd;        /* -1: memory, or a file that is closed between uses */
    bool is_spill; /* standard input, kept in a file without a name */
    struct marey_place_id id;
    char *memory; /* a copy of the bytes, followed by zeros */
    size_t memory_len;
    uint64_t size_bytes;              /* as stored, so of the gzip file where it is one */
    struct marey_stretches stretches; /* of a gzip file, once it is loaded */
};

/* Zero bytes that follow a place in memory, so that it can be scanned where it lies. */
#define MAREY_PLACE_PAD 256

/* Opens a file, or "-". What cannot be read twice is copied to a file without a name, if it
 * begins as a trace may.
 * \fails MAREY_IO, MAREY_FORMAT (such a stream begins as no trace does), MAREY_NOMEM */
enum marey_status marey__place_open(struct marey_place *place, const struct marey_alloc *alloc,
                                    const char *path, struct marey_error *err);

/* Copies bytes. \fails MAREY_NOMEM */
enum marey_status marey__place_copy(struct marey_place *place, const struct marey_alloc *alloc,
                                    struct marey_str bytes, struct marey_error *err);

/* Lets the descriptor go; the next use opens the file again by its path. Does nothing to
 * memory and to standard input. */
void marey__place_rest(struct marey_place *place);

/* Opens again what rests and checks that nothing changed.
 * \fails MAREY_IO, MAREY_CHANGED */
enum marey_status marey__place_check(struct marey_place *place, struct marey_error *err);

/* Reads up to `want` bytes at a position; *got is less only at the end.
 * \fails MAREY_IO */
enum marey_status marey__place_read(const struct marey_place *place, uint64_t at, void *bytes,
                                    size_t want, size_t *got, struct marey_error *err);

void marey__place_close(struct marey_place *place);

#endif
