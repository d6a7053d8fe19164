/*
 * input.c - files, folders and standard input as one trace.
 */
#include "input.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <marey/import.h>

#include "message.h"

/* The paths to import. A folder's are borrowed from its block. */
struct paths {
    const char **items;
    size_t n;
    size_t capacity;
    char ***folders; /* blocks of marey_import_list_folder */
    size_t n_folders;
};

static bool add_path(struct paths *paths, const char *path)
{
    if (paths->n == paths->capacity) {
        const size_t wanted = paths->capacity * 2 + 8;
        const char **grown = realloc(paths->items, wanted * sizeof *grown);
        if (!grown)
            return false;
        paths->items = grown;
        paths->capacity = wanted;
    }
    paths->items[paths->n++] = path;
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
        if (!add_path(paths, files[i]))
            return MAREY_NOMEM;
    }
    return MAREY_OK;
}

static void release_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->n_folders; i++)
        marey_import_paths_free(paths->folders[i]);
    free(paths->folders);
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
        else if (!add_path(paths, operands[i]))
            status = MAREY_NOMEM;
    }
    return status;
}

enum cli_exit input_load(size_t n_operands, char **operands, struct marey_trace **trace)
{
    struct marey_error err = {.message = "cannot load the trace: out of memory"};
    struct paths paths = {0};

    enum marey_status status = gather(&paths, n_operands, operands, &err);
    if (status == MAREY_OK)
        status = marey_import_files(paths.items, paths.n, NULL, trace, &err);
    if (status != MAREY_OK)
        message_print("%s", err.message);
    release_paths(&paths);
    return status == MAREY_OK ? CLI_DONE : CLI_FAILED;
}
