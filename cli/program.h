/*
 * program.h - what kind of program a command line starts, and by which Python.
 */
#ifndef MAREY_CLI_PROGRAM_H
#define MAREY_CLI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_PATH_BYTES 1024

struct program {
    char path[PROGRAM_PATH_BYTES];        /* of the file that is executed; "" if none was found */
    char interpreter[PROGRAM_PATH_BYTES]; /* the Python that runs it; "" if that is not known */
    char cut_off; /* a letter such as I with which Python reads no PYTHONPATH; 0: none */
};

/* Looks at the words of a command line, finds the first in the path and, if it is a script,
 * reads its first lines. False, with errno, if there is no such program. */
bool program_find(struct program *program, size_t n_words, char **words);

/* Finds a file that can be executed, in the path if its name has no slash. */
bool program_in_path(const char *name, char *path);

/* The Python for what names none: MAREY_PYTHON, which the package sets when it runs the command,
 * else one beside this command, where an installed package puts both, else that of the path. */
bool program_find_python(char *path);

/* The folder of the package that was built with this command, if it runs from its build folder. */
bool program_find_built_package(char *path);

/* A file such as train.py that Python is to run: it is there, and is not named, by a path, as
 * one that is executed by its first line. Or a folder with a __main__.py in it. */
bool program_needs_python(const char *word);

/* The name of a Python: python, python3, python3.12, pypy3. */
bool program_is_python(const char *path);

#endif
