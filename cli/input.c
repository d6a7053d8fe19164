/*
 * input.c - files, folders and standard input as one trace.
 */
#include "input.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <marey/import.h>

#include "message.h"

/* The paths to import. A folder's are borrowed from its block. */
struct paths {
    const char **items;
    bool *is_found; /* [n] in a folder, not named */
    size_t n;
    size_t capacity;
    char ***folders; /* blocks of marey_import_list_folder */
    size_t n_folders;
};

static bool add_path(struct paths *paths, const char *path, bool is_found)
{
    if (paths->n == paths->capacity) {
        const size_t wanted = paths->capacity * 2 + 8;
        const char **items = realloc(paths->items, wanted * sizeof *items);
        paths->items = items ? items : paths->items;
        bool *flags = realloc(paths->is_found, wanted * sizeof *flags);
        paths->is_found = flags ? flags : paths->is_found;
        if (!items || !flags)
            return false;
        paths->capacity = wanted;
    }
    paths->items[paths->n] = path;
    paths->is_found[paths->n++] = is_found;
    return true;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum marey_status add_folder(struct paths *paths, const char *folder,
                                    struct marey_error *err)
{
    char **files = NULL;
    size_t n = 0;

    const enum marey_status status = marey_import_list_folder(folder, &files, &n, err);
    if (status != MAREY_OK)
        return status;
    paths->folders[paths->n_folders++] = files;
    for (size_t i = 0; i < n; i++) {
        if (!add_path(paths, files[i], true))
            return MAREY_NOMEM;
    }
    return MAREY_OK;
}

static void release_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->n_folders; i++)
        marey_import_paths_free(paths->folders[i]);
    free(paths->folders);
    free(paths->is_found);
    free(paths->items);
}

static enum marey_status gather(struct paths *paths, size_t n_operands, char **operands,
                                struct marey_error *err)
{
    enum marey_status status = MAREY_OK;

    paths->folders = calloc(n_operands, sizeof *paths->folders);
    if (!paths->folders)
        return MAREY_NOMEM;
    for (size_t i = 0; i < n_operands && status == MAREY_OK; i++) {
        if (is_folder(operands[i]))
            status = add_folder(paths, operands[i], err);
        else if (!add_path(paths, operands[i], false))
            status = MAREY_NOMEM;
    }
    return status;
}

/* A file of that name in a folder may be anything: what is no trace is passed over, and told.
 * A damaged trace is not, since the others would be taken for the whole job. */
static void pass_over_no_traces(struct paths *paths)
{
    size_t n = 0;

    for (size_t i = 0; i < paths->n; i++) {
        struct marey_error err = {0};
        struct marey_trace *trace = NULL;
        const bool is_none =
            paths->is_found[i] &&
            marey_import_file(paths->items[i], NULL, &trace, &err) == MAREY_FORMAT &&
            err.offset_bytes == 0;
        marey_trace_free(trace);
        if (is_none) {
            message_print("passed over: %s", err.message);
            continue;
        }
        paths->items[n] = paths->items[i];
        paths->is_found[n++] = paths->is_found[i];
    }
    paths->n = n;
}

enum cli_exit input_load(size_t n_operands, char **operands, struct marey_trace **trace)
{
    struct marey_error err = {.message = "cannot load the trace: out of memory"};
    struct paths paths = {0};

    enum marey_status status = gather(&paths, n_operands, operands, &err);
    if (status == MAREY_OK)
        status = marey_import_files(paths.items, paths.n, NULL, trace, &err);
    if (status == MAREY_FORMAT && err.offset_bytes == 0 && paths.n_folders > 0) {
        const size_t n = paths.n;
        pass_over_no_traces(&paths);
        if (paths.n > 0 && paths.n < n)
            status = marey_import_files(paths.items, paths.n, NULL, trace, &err);
        else if (paths.n == 0)
            snprintf(err.message, sizeof err.message, "cannot read '%s': no file in it is a trace",
                     operands[0]);
    }
    if (status != MAREY_OK)
        message_print("%s", err.message);
    release_paths(&paths);
    return status == MAREY_OK ? CLI_DONE : CLI_FAILED;
}
