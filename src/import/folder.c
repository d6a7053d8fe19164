/*
 * folder.c - which files of a folder are traces, by their names.
 *
 * The strings lie behind the pointers in one block, so freeing is one call:
 *
 *     | size | path 0 | path 1 | ... | "a/x.json\0" "a/y.json.gz\0" ... |
 *            ^ what the caller holds
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "base/text.h"
#include "marey/import.h"

/* Names of a folder: their texts one after another, each with its zero. */
struct listing {
    struct marey_alloc alloc;
    struct marey_textbuf text;
    size_t *start; /* [n] of text */
    size_t n;
    size_t capacity;
    bool has_kineto; /* any name ends as torch ends them */
};

static bool is_kineto_name(struct marey_str name)
{
    return marey__str_ends(name, ".pt.trace.json") || marey__str_ends(name, ".pt.trace.json.gz");
}

static bool is_trace_name(struct marey_str name)
{
    return marey__str_ends(name, ".json") || marey__str_ends(name, ".json.gz");
}

static bool add_name(struct listing *listing, struct marey_str name)
{
    void *start = listing->start;

    if (!marey__grow(&listing->alloc, &start, &listing->capacity, listing->n + 1,
                     sizeof *listing->start))
        return false;
    listing->start = start;
    listing->start[listing->n++] = listing->text.len;
    marey__text_add(&listing->text, name.ptr, name.len + 1);
    listing->has_kineto = listing->has_kineto || is_kineto_name(name);
    return !marey__text_failed(&listing->text);
}

static enum marey_status fail_folder(const char *folder, struct marey_error *err)
{
    char reason[MAREY_REASON_BYTES];

    return marey__fail(err, MAREY_IO, "cannot list '%s': %s", folder,
                       marey__system_reason(errno, reason));
}

static enum marey_status read_folder(struct listing *listing, const char *folder,
                                     struct marey_error *err)
{
    enum marey_status status = MAREY_OK;
    DIR *dir = opendir(folder);

    if (dir == NULL)
        return fail_folder(folder, err);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL)
            break;
        const struct marey_str name = marey__str(entry->d_name);
        if (is_trace_name(name) && entry->d_name[0] != '.' && !add_name(listing, name)) {
            status = marey__fail_nomem(err);
            goto done;
        }
    }
    if (errno != 0)
        status = fail_folder(folder, err);

done:
    closedir(dir);
    return status;
}

static const char *name_at(const struct listing *listing, uint32_t i)
{
    return listing->text.ptr + listing->start[i];
}

static int compare_names(const void *ctx, uint32_t a, uint32_t b)
{
    return strcmp(name_at(ctx, a), name_at(ctx, b));
}

/* Whether a name is taken, where torch's own names leave out all others: in a folder into which
 * torch writes, other JSON is mostly no trace, or all ranks once more. */
static bool is_taken(const struct listing *listing, size_t i)
{
    return !listing->has_kineto || is_kineto_name(marey__str(name_at(listing, (uint32_t)i)));
}

/* Sorted indices of the names that are taken, or of all others.
 * \owns gives *kept, of listing->n elements */
static bool choose(const struct listing *listing, bool wants_taken, uint32_t **kept, size_t *n_kept)
{
    uint32_t *indices = marey__alloc(&listing->alloc, listing->n, sizeof *indices);
    size_t n = 0;

    if (indices == NULL)
        return false;
    for (size_t i = 0; i < listing->n; i++)
        if (is_taken(listing, i) == wants_taken)
            indices[n++] = (uint32_t)i;
    if (!marey__sort_indices(&listing->alloc, indices, n, compare_names, listing)) {
        marey__dealloc(&listing->alloc, indices, listing->n, sizeof *indices);
        return false;
    }
    *kept = indices;
    *n_kept = n;
    return true;
}

/* The block that the caller gets; NULL without memory. */
static char **join(const struct listing *listing, const char *folder, const uint32_t *kept,
                   size_t n)
{
    const size_t folder_len = strlen(folder);
    const bool has_slash = folder_len > 0 && folder[folder_len - 1] == '/';
    size_t size = sizeof(size_t) + n * sizeof(char *);

    for (size_t i = 0; i < n; i++)
        size += folder_len + 1 + strlen(name_at(listing, kept[i])) + 1;
    size_t *block = marey__alloc(&listing->alloc, size, 1);
    if (block == NULL)
        return NULL;
    block[0] = size;

    char **paths = (char **)(block + 1);
    char *out = (char *)(paths + n);
    for (size_t i = 0; i < n; i++) {
        const char *name = name_at(listing, kept[i]);
        const size_t name_len = strlen(name);
        paths[i] = out;
        memcpy(out, folder, folder_len);
        out += folder_len;
        if (!has_slash)
            *out++ = '/';
        memcpy(out, name, name_len + 1);
        out += name_len + 1;
    }
    return paths;
}

static enum marey_status list_names(const char *folder, bool wants_taken, char ***paths, size_t *n,
                                    struct marey_error *err)
{
    struct listing listing = {.alloc = marey__alloc_default()};
    uint32_t *kept = NULL;
    size_t n_kept = 0;

    marey__text_init(&listing.text, &listing.alloc);
    enum marey_status status = read_folder(&listing, folder, err);
    if (status != MAREY_OK)
        goto done;
    if (listing.n == 0) {
        status = marey__fail(err, MAREY_INVALID,
                             "cannot read '%s': no name in it ends in .json or .json.gz", folder);
        goto done;
    }
    char **joined =
        choose(&listing, wants_taken, &kept, &n_kept) ? join(&listing, folder, kept, n_kept) : NULL;
    if (joined == NULL) {
        status = marey__fail_nomem(err);
        goto done;
    }
    *paths = joined;
    *n = n_kept;

done:
    if (kept != NULL)
        marey__dealloc(&listing.alloc, kept, listing.n, sizeof *kept);
    marey__dealloc(&listing.alloc, listing.start, listing.capacity, sizeof *listing.start);
    marey__text_release(&listing.text);
    return status;
}

enum marey_status marey_import_list_folder(const char *folder, char ***paths, size_t *n,
                                           struct marey_error *err)
{
    return list_names(folder, true, paths, n, err);
}

enum marey_status marey_import_list_left_out(const char *folder, char ***paths, size_t *n,
                                             struct marey_error *err)
{
    return list_names(folder, false, paths, n, err);
}

void marey_import_paths_free(char **paths)
{
    if (paths == NULL)
        return;

    const struct marey_alloc alloc = marey__alloc_default();
    size_t *block = (size_t *)(void *)paths - 1;
    marey__dealloc(&alloc, block, block[0], 1);
}
