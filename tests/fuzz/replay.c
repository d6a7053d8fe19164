/*
 * replay.c - runs a fuzz target once for each file of the named folders: the corpora as a
 * normal test, by any compiler.
 *
 *     replay-<target> FOLDER…
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t n_failed;

static void check(bool is_good, size_t number, const char *path)
{
    printf("%s %zu - %s\n", is_good ? "ok" : "not ok", number, path);
    fflush(stdout);
    n_failed += !is_good;
}

/* Runs the target on one file. The bytes lie in a block of their exact size, so that a
 * sanitizer sees a read past the end. */
static bool replay_file(const char *path)
{
    bool is_read = false;
    uint8_t *bytes = malloc(LARGEST);
    uint8_t *exact = NULL;
    size_t len = 0;
    FILE *file = fopen(path, "rb");
    if (bytes == NULL || file == NULL)
        goto done;
    len = fread(bytes, 1, LARGEST, file);
    exact = malloc(len == 0 ? 1 : len);
    if (ferror(file) || exact == NULL)
        goto done;
    memcpy(exact, bytes, len);
    is_read = true;
done:
    if (file != NULL)
        fclose(file);
    free(bytes);
    if (is_read)
        (void)LLVMFuzzerTestOneInput(exact, len);
    free(exact);
    return is_read;
}

static size_t replay_folder(const char *folder, size_t number)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            check(replay_file(path), ++number, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return number;
}

int main(int argc, char **argv)
{
    size_t n = 0;
    for (int i = 1; i < argc; i++)
        n = replay_folder(argv[i], n);
    printf("1..%zu\n", n);
    if (n == 0)
        fprintf(stderr, "replay: no file to replay\n");
    return n == 0 || n_failed != 0;
}
