/*
 * program.c - finds the Python behind a command line: it is named, or the first line of a
 * console script names it.
 */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 512

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool program_is_python(const char *path)
{
    const char *name = base_name(path);
    const size_t len = strncmp(name, "python", 6) == 0 ? 6 : strncmp(name, "pypy", 4) == 0 ? 4 : 0;

    return len > 0 && strspn(name + len, "0123456789.t") == strlen(name + len);
}

static bool is_executable(const char *path)
{
    struct stat st;
    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool copy_path(char *path, const char *text, size_t len)
{
    if (len >= PROGRAM_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path, text, len);
    path[len] = '\0';
    return true;
}

static bool join_path(char *path, const char *folder, size_t len, const char *name)
{
    const size_t name_len = strlen(name);

    if (len + 1 + name_len >= PROGRAM_PATH_BYTES)
        return false;
    memcpy(path, folder, len);
    path[len] = '/';
    memcpy(path + len + 1, name, name_len + 1);
    return true;
}

bool program_in_path(const char *name, char *path)
{
    if (strchr(name, '/')) {
        if (!copy_path(path, name, strlen(name)) || access(path, F_OK) != 0)
            return false;
        errno = EACCES;
        return is_executable(path);
    }
    const char *folders = getenv("PATH");
    for (const char *folder = folders ? folders : "/usr/bin:/bin"; *folder;) {
        const size_t len = strcspn(folder, ":");
        if (join_path(path, len > 0 ? folder : ".", len > 0 ? len : 1, name) && is_executable(path))
            return true;
        folder += len + (folder[len] == ':');
    }
    errno = ENOENT;
    return false;
}

/* The path of a file by its place from the folder of this command. */
static bool join_own_folder(const char *name, char *path)
{
    char self[PROGRAM_PATH_BYTES];
    const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    if (len <= 0)
        return false;
    self[len] = '\0';
    const char *slash = strrchr(self, '/');
    return slash && join_path(path, self, (size_t)(slash - self), name);
}

static bool find_beside(const char *name, char *path)
{
    return join_own_folder(name, path) && is_executable(path);
}

bool program_find_built_package(char *path)
{
    return join_own_folder("../python/marey/__init__.py", path) && access(path, F_OK) == 0 &&
           join_own_folder("../python", path);
}

bool program_find_python(char *path)
{
    const char *named = getenv("MAREY_PYTHON");

    return (named && program_in_path(named, path)) || find_beside("python", path) ||
           find_beside("python3", path) || program_in_path("python", path) ||
           program_in_path("python3", path);
}

/* ---- options of Python ---------------------------------------------------------------- */

/* The letter of -I, -E or -S in words of options such as -bI; 0 if there is none. */
static char find_cut_off(size_t n_words, char **words)
{
    for (size_t i = 0; i < n_words && words[i][0] == '-' && words[i][1] != '\0'; i++) {
        if (words[i][1] == '-') {
            if (strcmp(words[i], "--check-hash-based-pycs") == 0)
                i++;
            continue;
        }
        for (const char *letter = words[i] + 1; *letter; letter++) {
            if (strchr("IES", *letter))
                return *letter;
            if (strchr("cm", *letter))
                return 0; /* the program begins here */
            if (strchr("WX", *letter)) {
                i += letter[1] == '\0';
                break;
            }
        }
    }
    return 0;
}

/* ---- scripts ----------------------------------------------------------------------------- */

/* Takes the next word off a line; its length, 0 at the end. */
static size_t next_word(const char **line, const char **word)
{
    *line += strspn(*line, " \t");
    *word = *line;
    const size_t len = strcspn(*line, " \t\r\n");
    *line += len;
    return len;
}

/* "#!/usr/bin/env -S python3 -I" and its like. */
static void read_interpreter(struct program *program, const char *line)
{
    char found[PROGRAM_PATH_BYTES] = "";
    const char *word = NULL;
    size_t len = next_word(&line, &word);

    if (len == 0 || !copy_path(found, word, len))
        return;
    if (strcmp(base_name(found), "env") == 0) {
        do
            len = next_word(&line, &word);
        while (len > 0 && (word[0] == '-' || memchr(word, '=', len)));
        if (len == 0 || !copy_path(found, word, len))
            return;
    }
    if (!program_is_python(found) || !program_in_path(found, program->interpreter)) {
        program->interpreter[0] = '\0';
        return;
    }
    char option[64];
    char *options[] = {option};
    while ((len = next_word(&line, &word)) > 0 && len < sizeof option) {
        memcpy(option, word, len);
        option[len] = '\0';
        if (program->cut_off == 0)
            program->cut_off = find_cut_off(1, options);
    }
}

/* pip writes `'''exec' "/a long path/python" "$0" "$@"` below "#!/bin/sh" where the path does
 * not fit the first line. */
static void read_exec(struct program *program, const char *line)
{
    static const char exec[] = "'''exec' ";

    if (strncmp(line, exec, sizeof exec - 1) != 0)
        return;
    line += sizeof exec - 1;
    const bool is_quoted = *line == '"';
    line += is_quoted;
    const size_t len = strcspn(line, is_quoted ? "\"\n" : " \n");
    char found[PROGRAM_PATH_BYTES];
    if (!copy_path(found, line, len) || !program_is_python(found) ||
        !program_in_path(found, program->interpreter))
        program->interpreter[0] = '\0';
}

/* False if it has no first line that tells who runs it. */
static bool read_head(const char *path, char head[HEAD_BYTES + 1])
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    head[fread(head, 1, HEAD_BYTES, file)] = '\0';
    fclose(file);
    return strncmp(head, "#!", 2) == 0;
}

/* Python runs the __main__.py in it. A command of the name comes first. */
static bool is_folder_of_program(const char *word)
{
    char path[PROGRAM_PATH_BYTES];

    return join_path(path, word, strlen(word), "__main__.py") && access(path, F_OK) == 0 &&
           !program_in_path(word, path);
}

bool program_needs_python(const char *word)
{
    char head[HEAD_BYTES + 1] = "";
    const size_t len = strlen(word);

    if (is_folder_of_program(word))
        return true;
    if (len <= 3 || strcmp(word + len - 3, ".py") != 0 || access(word, F_OK) != 0)
        return false;
    return !strchr(word, '/') || !is_executable(word) || !read_head(word, head);
}

static void read_script(struct program *program)
{
    char head[HEAD_BYTES + 1] = "";

    if (!read_head(program->path, head))
        return;
    const char *second = strchr(head, '\n');
    read_interpreter(program, head + 2);
    if (program->interpreter[0] == '\0' && second)
        read_exec(program, second + 1);
}

bool program_find(struct program *program, size_t n_words, char **words)
{
    *program = (struct program){.cut_off = 0};
    if (!program_in_path(words[0], program->path)) {
        program->path[0] = '\0';
        return false;
    }
    if (program_is_python(words[0])) {
        memcpy(program->interpreter, program->path, sizeof program->path);
        program->cut_off = find_cut_off(n_words - 1, words + 1);
    } else {
        read_script(program);
    }
    return true;
}
