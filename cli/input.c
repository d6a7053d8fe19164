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
struct input_paths {
    const char **items;
    bool *is_found; /* [n] in a folder, not named */
    size_t n;
    size_t first_kept; /* those before it cannot be read */
    size_t capacity;
    char ***folders; /* blocks of marey_import_list_folder */
    size_t n_folders;
};

static bool add_path(struct input_paths *paths, const char *path, bool is_found)
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

/* A name that is not as torch's own may be a trace all the same. */
static enum marey_status tell_left_out(const char *folder, struct marey_error *err)
{
    char **files = NULL;
    size_t n = 0;

    const enum marey_status status = marey_import_list_left_out(folder, &files, &n, err);
    if (status != MAREY_OK)
        return status;
    if (n == 1)
        message_print(
            "passed over: '%s': others in the folder end in .pt.trace.json(.gz), as those "
            "of torch do, name it to read it",
            files[0]);
    else if (n > 1)
        message_print("passed over: '%s' and %zu more: others in the folder end in "
                      ".pt.trace.json(.gz), as those of torch do, name them to read them",
                      files[0], n - 1);
    marey_import_paths_free(files);
    return MAREY_OK;
}

/* A link to a file beside it is no second file. */
static enum marey_status tell_links(const char *folder, struct marey_error *err)
{
    char **files = NULL;
    size_t n = 0;

    const enum marey_status status = marey_import_list_links(folder, &files, &n, err);
    if (status != MAREY_OK)
        return status;
    if (n == 2)
        message_print("passed over: '%s', a link to '%s'", files[0], files[1]);
    else if (n > 2)
        message_print("passed over: '%s', a link to '%s', and %zu more %s", files[0], files[1],
                      n / 2 - 1, n == 4 ? "link" : "links");
    marey_import_paths_free(files);
    return MAREY_OK;
}

static enum marey_status add_folder(struct input_paths *paths, const char *folder,
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
    const enum marey_status told = tell_links(folder, err);
    return told == MAREY_OK ? tell_left_out(folder, err) : told;
}

static void release_paths(struct input_paths *paths)
{
    for (size_t i = 0; i < paths->n_folders; i++)
        marey_import_paths_free(paths->folders[i]);
    free(paths->folders);
    free(paths->is_found);
    free(paths->items);
}

static enum marey_status gather(struct input_paths *paths, size_t n_operands, char **operands,
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

/* Whether one of the paths can be read alone. Standard input can be read once, so it is taken
 * to be. */
static enum marey_status try_path(const struct input_paths *paths, size_t i,
                                  struct marey_error *err)
{
    struct marey_trace *trace = NULL;

    if (strcmp(paths->items[i], "-") == 0)
        return MAREY_OK;
    const enum marey_status status = marey_import_file(paths->items[i], NULL, &trace, err);
    marey_trace_free(trace);
    return status;
}

/* A file of that name in a folder may be anything: what is no trace is passed over, and told.
 * A damaged trace is not, since the others would be taken for the whole job. */
static bool pass_over(const struct input_paths *paths, size_t i, enum marey_status status,
                      const struct marey_error *err)
{
    if (!paths->is_found[i] || status != MAREY_FORMAT || err->offset_bytes != 0)
        return false;
    message_print("passed over: %s", err->message);
    return true;
}

static void pass_over_no_traces(struct input_paths *paths)
{
    size_t n = 0;

    for (size_t i = 0; i < paths->n; i++) {
        struct marey_error err = {0};
        if (pass_over(paths, i, try_path(paths, i, &err), &err))
            continue;
        paths->items[n] = paths->items[i];
        paths->is_found[n++] = paths->is_found[i];
    }
    paths->n = n;
}

static struct marey_import_options import_options(const struct input_reading *reading)
{
    return (struct marey_import_options){
        .size = sizeof(struct marey_import_options),
        .n_threads = reading->n_threads.is_given ? (size_t)reading->n_threads.value : 0,
        .check = reading->check,
    };
}

enum cli_exit input_load(size_t n_operands, char **operands, const struct input_reading *reading,
                         struct marey_trace **trace)
{
    const struct marey_import_options options = import_options(reading);
    struct marey_error err = {.message = "cannot load the trace: out of memory"};
    struct input_paths paths = {0};

    enum marey_status status = gather(&paths, n_operands, operands, &err);
    if (status == MAREY_OK)
        status = marey_import_files(paths.items, paths.n, &options, trace, &err);
    if (status == MAREY_FORMAT && err.offset_bytes == 0 && paths.n_folders > 0) {
        const size_t n = paths.n;
        pass_over_no_traces(&paths);
        if (paths.n > 0 && paths.n < n)
            status = marey_import_files(paths.items, paths.n, &options, trace, &err);
        else if (paths.n == 0)
            snprintf(err.message, sizeof err.message, "cannot read '%s': no file in it is a trace",
                     operands[0]);
    }
    if (status != MAREY_OK)
        message_print("%s", err.message);
    release_paths(&paths);
    return status == MAREY_OK ? CLI_DONE : CLI_FAILED;
}

/* ---- with what cannot be read ---------------------------------------------------------- */

static void add_unread(struct input_examined *examined, const char *const *paths, size_t n_paths,
                       const struct marey_error *err)
{
    struct input_unread *unread = &examined->unread[examined->n_unread++];

    *unread = (struct input_unread){.paths = paths, .n_paths = n_paths, .err = *err};
}

/* Keeps apart what cannot be read alone. The paths that remain stand in the first places, those
 * set apart behind them, since what is unread borrows them. */
static bool set_apart(struct input_examined *examined)
{
    struct input_paths *paths = examined->paths;
    const char **kept = calloc(paths->n, sizeof *kept);
    size_t n_kept = 0;
    size_t n_apart = 0;

    if (!kept)
        return false;
    for (size_t i = 0; i < paths->n; i++) {
        struct marey_error err = {0};
        const enum marey_status status = try_path(paths, i, &err);
        if (status == MAREY_OK) {
            kept[n_kept++] = paths->items[i];
        } else if (!pass_over(paths, i, status, &err)) {
            paths->items[n_apart] = paths->items[i];
            add_unread(examined, &paths->items[n_apart++], 1, &err);
        }
    }
    if (n_kept > 0)
        memcpy(paths->items + n_apart, kept, n_kept * sizeof *kept);
    paths->first_kept = n_apart;
    paths->n = n_apart + n_kept;
    free(kept);
    return true;
}

static enum marey_status load_kept(struct input_examined *examined, struct number n_threads,
                                   struct marey_error *err)
{
    const struct marey_import_options options =
        import_options(&(struct input_reading){.check = MAREY_CHECK_ALL, .n_threads = n_threads});
    const struct input_paths *paths = examined->paths;

    return marey_import_files(paths->items + paths->first_kept, paths->n - paths->first_kept,
                              &options, &examined->trace, err);
}

static bool examine(size_t n_operands, char **operands, struct number n_threads,
                    struct input_examined *examined)
{
    struct marey_error err = {.message = "cannot load the trace: out of memory"};
    struct input_paths *paths = examined->paths;
    const char *const *all = (const char *const *)operands;

    enum marey_status status = gather(paths, n_operands, operands, &err);
    examined->unread = calloc(paths->n + 1, sizeof *examined->unread);
    if (!examined->unread)
        return false;
    if (status == MAREY_OK)
        status = load_kept(examined, n_threads, &err);
    if (status == MAREY_OK)
        return true;
    if (paths->n > 1 && status != MAREY_NOMEM) {
        const size_t n = paths->n;
        if (!set_apart(examined))
            return false;
        if (paths->n == paths->first_kept)
            status = MAREY_OK; /* nothing is left to load */
        else if (paths->n - paths->first_kept < n)
            status = load_kept(examined, n_threads, &err);
    }
    if (status != MAREY_OK || (examined->n_unread == 0 && !examined->trace))
        add_unread(examined, all, n_operands, &err);
    return status != MAREY_NOMEM;
}

bool input_examine(size_t n_operands, char **operands, struct number n_threads,
                   struct input_examined *examined)
{
    *examined = (struct input_examined){.paths = calloc(1, sizeof(struct input_paths))};
    const bool is_done = examined->paths && examine(n_operands, operands, n_threads, examined);

    if (!is_done)
        message_print("cannot load the trace: out of memory");
    return is_done;
}

void input_release(struct input_examined *examined)
{
    marey_trace_free(examined->trace);
    free(examined->unread);
    if (examined->paths)
        release_paths(examined->paths);
    free(examined->paths);
}
