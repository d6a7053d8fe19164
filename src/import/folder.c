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
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/sort.h"
#include "base/text.h"
#include "marey/import.h"

struct name {
    size_t start; /* in the text of the listing */
    dev_t device;
    ino_t inode;
    bool has_file; /* the two above are known: no link into nothing */
    bool is_link;
    uint32_t same_as; /* the name by which its file is known: mostly its own */
};

/* Names of a folder: their texts one after another, each with its zero. */
struct listing {
    struct marey_alloc alloc;
    struct marey_textbuf text;
    struct name *name; /* [n] */
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

static bool add_name(struct listing *listing, int dir_fd, struct marey_str text)
{
    void *at = listing->name;
    struct stat file;
    struct stat entry;

    if (!marey__grow(&listing->alloc, &at, &listing->capacity, listing->n + 1,
                     sizeof *listing->name))
        return false;
    listing->name = at;
    struct name *name = &listing->name[listing->n];
    *name = (struct name){.start = listing->text.len, .same_as = (uint32_t)listing->n};
    name->has_file = fstatat(dir_fd, text.ptr, &file, 0) == 0;
    name->is_link =
        fstatat(dir_fd, text.ptr, &entry, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(entry.st_mode);
    if (name->has_file) {
        name->device = file.st_dev;
        name->inode = file.st_ino;
    }
    listing->n++;
    marey__text_add(&listing->text, text.ptr, text.len + 1);
    listing->has_kineto = listing->has_kineto || is_kineto_name(text);
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
        if (is_trace_name(name) && entry->d_name[0] != '.' &&
            !add_name(listing, dirfd(dir), name)) {
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
    return listing->text.ptr + listing->name[i].start;
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

static int compare_ids(const struct name *a, const struct name *b)
{
    if (a->has_file != b->has_file)
        return a->has_file ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->inode != b->inode ? (a->inode < b->inode ? -1 : 1) : 0;
}

/* Names of one file lie together, the one by which it is known first. */
static int compare_files(const void *ctx, uint32_t a, uint32_t b)
{
    const struct listing *listing = ctx;
    const struct name *name = listing->name;
    const int order = compare_ids(&name[a], &name[b]);

    if (order != 0)
        return order;
    if (is_taken(listing, a) != is_taken(listing, b))
        return is_taken(listing, a) ? -1 : 1;
    if (name[a].is_link != name[b].is_link)
        return name[a].is_link ? 1 : -1;
    return compare_names(ctx, a, b);
}

/* A link to a file beside it, as latest.json, makes no second file. */
static bool find_links(struct listing *listing)
{
    struct name *name = listing->name;
    uint32_t *indices = marey__alloc(&listing->alloc, listing->n, sizeof *indices);

    if (indices == NULL)
        return false;
    for (size_t i = 0; i < listing->n; i++)
        indices[i] = (uint32_t)i;
    const bool is_done =
        marey__sort_indices(&listing->alloc, indices, listing->n, compare_files, listing);
    for (size_t i = 1; i < listing->n && is_done; i++)
        if (name[indices[i]].has_file && compare_ids(&name[indices[i]], &name[indices[i - 1]]) == 0)
            name[indices[i]].same_as = name[indices[i - 1]].same_as;
    marey__dealloc(&listing->alloc, indices, listing->n, sizeof *indices);
    return is_done;
}

enum part {
    PART_TAKEN,
    PART_LEFT_OUT,
    PART_LINKS,
};

static enum part part_of(const struct listing *listing, size_t i)
{
    if (listing->name[i].same_as != i)
        return PART_LINKS;
    return is_taken(listing, i) ? PART_TAKEN : PART_LEFT_OUT;
}

/* Sorted indices of the names of a part; behind each link the name of its file.
 * \owns gives *kept, of 2 * listing->n elements */
static bool choose(const struct listing *listing, enum part part, uint32_t **kept, size_t *n_kept)
{
    uint32_t *indices = marey__alloc(&listing->alloc, 2 * listing->n, sizeof *indices);
    size_t n = 0;

    if (indices == NULL)
        return false;
    for (size_t i = 0; i < listing->n; i++)
        if (part_of(listing, i) == part)
            indices[n++] = (uint32_t)i;
    if (!marey__sort_indices(&listing->alloc, indices, n, compare_names, listing)) {
        marey__dealloc(&listing->alloc, indices, 2 * listing->n, sizeof *indices);
        return false;
    }
    for (size_t i = n; part == PART_LINKS && i-- > 0;) {
        indices[2 * i + 1] = listing->name[indices[i]].same_as;
        indices[2 * i] = indices[i];
    }
    *kept = indices;
    *n_kept = part == PART_LINKS ? 2 * n : n;
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

static enum marey_status list_names(const char *folder, enum part part, char ***paths, size_t *n,
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
    const bool is_chosen = find_links(&listing) && choose(&listing, part, &kept, &n_kept);
    char **joined = is_chosen ? join(&listing, folder, kept, n_kept) : NULL;
    if (joined == NULL) {
        status = marey__fail_nomem(err);
        goto done;
    }
    *paths = joined;
    *n = n_kept;

done:
    if (kept != NULL)
        marey__dealloc(&listing.alloc, kept, 2 * listing.n, sizeof *kept);
    marey__dealloc(&listing.alloc, listing.name, listing.capacity, sizeof *listing.name);
    marey__text_release(&listing.text);
    return status;
}

enum marey_status marey_import_list_folder(const char *folder, char ***paths, size_t *n,
                                           struct marey_error *err)
{
    return list_names(folder, PART_TAKEN, paths, n, err);
}

enum marey_status marey_import_list_left_out(const char *folder, char ***paths, size_t *n,
                                             struct marey_error *err)
{
    return list_names(folder, PART_LEFT_OUT, paths, n, err);
}

enum marey_status marey_import_list_links(const char *folder, char ***paths, size_t *n,
                                          struct marey_error *err)
{
    return list_names(folder, PART_LINKS, paths, n, err);
}

void marey_import_paths_free(char **paths)
{
    if (paths == NULL)
        return;

    const struct marey_alloc alloc = marey__alloc_default();
    size_t *block = (size_t *)(void *)paths - 1;
    marey__dealloc(&alloc, block, block[0], 1);
}
