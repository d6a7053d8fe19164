/*
 * cmd_run.c - `marey run`: starts a program so that it is recorded, and becomes it.
 *
 * The program is executed as it would be without us: same words, same process. What makes
 * each Python in it record is a folder at the head of PYTHONPATH, whose sitecustomize.py the
 * interpreter imports before any code of the program, and variables MAREY_RUN_…, which tell
 * what was asked for. Processes that the program starts inherit all. Which folder that is,
 * the package says: the interpreter is asked first, so that it is known to have the package.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "message.h"
#include "program.h"
#include "reason.h"
#include "signals.h"
#include "text.h"

struct run_settings {
    const char *output;
    const char *sort;
    struct number limit;
    bool overwrite;
    bool with_shapes;
    bool no_table;
};

/* ---- where the trace goes ----------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool folder_can_be_written(const char *folder)
{
    if (access(folder, W_OK | X_OK) == 0)
        return true;
    message_print("cannot write to '%s': %s, name another place with --output", folder,
                  reason_text(errno));
    return false;
}

/* Length without the '/' that a folder's name may end with. */
static size_t bare_length(const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    return len;
}

static bool parent_can_be_written(const char *path)
{
    char *folder = strndup(path, bare_length(path));

    if (!folder) {
        message_print("cannot start: out of memory");
        return false;
    }
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    const bool can_be_written = folder_can_be_written(slash ? folder : ".");
    free(folder);
    return can_be_written;
}

/* Told now rather than after hours of training. */
static bool output_can_be_written(const struct run_settings *run)
{
    if (!run->output || is_folder(run->output))
        return folder_can_be_written(run->output ? run->output : ".");
    if (!run->overwrite && access(run->output, F_OK) == 0) {
        message_print("cannot write '%s': file exists, use --force to overwrite it", run->output);
        return false;
    }
    return parent_can_be_written(run->output);
}

/* A name that ends with '/' is that of a folder: it is made, but not those that it stands in. */
static bool make_folder(const struct run_settings *run)
{
    const char *path = run->output;

    if (!path || path[bare_length(path)] != '/' || mkdir(path, 0777) == 0)
        return true;
    const int error = errno;
    if (is_folder(path))
        return true; /* it was there, or another rank has made it */
    message_print("cannot make the folder '%s': %s", path, reason_text(error));
    return false;
}

/* ---- what the program is told ---------------------------------------------------------------- */

/* Sets MAREY_RUN_<name>, or takes away what an outer `marey run` has set. */
static bool tell(const char *name, const char *value)
{
    char variable[32];

    snprintf(variable, sizeof variable, "MAREY_RUN_%s", name);
    return (value ? setenv(variable, value, 1) : unsetenv(variable)) == 0;
}

static bool tell_options(const struct run_settings *run)
{
    char pid[24];
    char limit[24];
    char flags[64];
    char *folder = getcwd(NULL, 0);

    if (!folder) {
        message_print("cannot tell the current folder: %s", reason_text(errno));
        return false;
    }
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    snprintf(limit, sizeof limit, "%" PRId64, run->limit.value);
    snprintf(flags, sizeof flags, "%s%s%s", run->no_table ? "" : "table,",
             run->with_shapes ? "shapes," : "", run->overwrite ? "force," : "");
    const bool is_told = tell("PID", pid) && tell("FOLDER", folder) &&
                         tell("OUTPUT", run->output) && tell("SORT", run->sort) &&
                         tell("LIMIT", run->limit.is_given ? limit : NULL) &&
                         tell("FLAGS", flags) && tell("SCRIPT", NULL);
    free(folder);
    if (!is_told)
        message_print("cannot start: out of memory");
    return is_told;
}

/* ---- what the interpreter is asked --------------------------------------------------------- */

/* Writes "ready" and the folder, "absent" and why, or "refused" and why: two lines, to a
 * descriptor of its own, since the program's sitecustomize may print. */
static const char question[] =
    "import os, sys\n"
    "sys.path[:] = [p for p in sys.path if p]\n"
    "try:\n"
    "    from marey import _run\n"
    "    answer = _run.answer()\n"
    "except ImportError as error:\n"
    "    answer = 'absent', str(error)\n"
    "os.write(int(sys.argv[1]), '\\n'.join(answer).encode(errors='backslashreplace'))\n";

struct answer {
    char word[16];
    char text[1024];
};

static void read_line(FILE *stream, char *line, size_t size)
{
    if (!fgets(line, (int)size, stream))
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

static void ask_in_child(const char *interpreter, const int *ends)
{
    char descriptor[16];
    const int nowhere = open("/dev/null", O_RDWR);

    snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
    (void)close(ends[0]);
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; standard++)
        if (nowhere >= 0 && standard != ends[1])
            (void)dup2(nowhere, standard);
    execl(interpreter, interpreter, "-c", question, descriptor, (char *)NULL);
    _exit(127);
}

static bool ask(const char *interpreter, struct answer *answer)
{
    int ends[2];

    if (pipe(ends) != 0)
        return false;
    const pid_t pid = fork();
    if (pid == 0)
        ask_in_child(interpreter, ends);
    (void)close(ends[1]);
    FILE *stream = fdopen(ends[0], "r");
    if (stream) {
        read_line(stream, answer->word, sizeof answer->word);
        read_line(stream, answer->text, sizeof answer->text);
        fclose(stream);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && stream && answer->word[0] != '\0';
}

static enum cli_exit find_folder(const char *interpreter, struct answer *answer)
{
    if (!ask(interpreter, answer)) {
        message_print("cannot ask '%s' for the package marey: it does not run", interpreter);
        return CLI_FAILED;
    }
    if (strcmp(answer->word, "ready") == 0)
        return CLI_DONE;
    if (strcmp(answer->word, "refused") == 0) {
        usage_error(&command_run, "%s", answer->text);
        return CLI_USAGE;
    }
    message_print("cannot record a program of '%s': %s, install the package in "
                  "Marey's source folder with '%s -m pip install .'",
                  interpreter, answer->text, interpreter);
    return CLI_FAILED;
}

static bool put_folder_first(const char *folder)
{
    const char *former = getenv("PYTHONPATH");
    struct text path = {0};

    text_add(&path, "%s%s%s", folder, former && *former ? ":" : "", former ? former : "");
    const bool is_set = !path.is_broken && setenv("PYTHONPATH", path.ptr, 1) == 0;
    text_release(&path);
    if (!is_set)
        message_print("cannot start: out of memory");
    return is_set;
}

/* ---- the program --------------------------------------------------------------------------- */

/* `-m module`, and a script, are run by Python. */
static bool wants_python(const char *word)
{
    return strcmp(word, "-m") == 0 || program_needs_python(word);
}

static char **complete_words(size_t n_words, char **words, char *python)
{
    const size_t n_before = wants_python(words[0]) ? 1 : 0;
    char **all = calloc(n_words + 2, sizeof *all);

    if (!all || (n_before == 1 && !program_find_python(python))) {
        message_print(all ? "cannot find Python in the path, name it before '%s'"
                          : "cannot start '%s': out of memory",
                      words[0]);
        free(all);
        return NULL;
    }
    all[0] = python;
    memcpy(all + n_before, words, n_words * sizeof *words);
    return all;
}

/* Not a part of its caller: both keep whole paths, and a frame has a limit. Called once. */
__attribute__((noinline)) static enum cli_exit start(const struct run_settings *run, size_t n_words,
                                                     char **words)
{
    static struct program program;
    struct answer answer = {.word = ""};

    if (!program_find(&program, n_words, words)) {
        message_print("cannot run '%s': %s", words[0], reason_text(errno));
        return CLI_FAILED;
    }
    if (program.cut_off != 0) {
        message_print("cannot record '%s': with -%c Python reads no PYTHONPATH, by which it is "
                      "reached; leave it out",
                      words[0], program.cut_off);
        return CLI_FAILED;
    }
    /* Of a shell script or another launcher the usual Python is asked. */
    if (program.interpreter[0] == '\0' && !program_find_python(program.interpreter)) {
        message_print("cannot find Python in the path, which '%s' is expected to run", words[0]);
        return CLI_FAILED;
    }
    if (!tell_options(run))
        return CLI_FAILED;
    const enum cli_exit result = find_folder(program.interpreter, &answer);
    if (result != CLI_DONE)
        return result;
    if (!put_folder_first(answer.text) || !make_folder(run))
        return CLI_FAILED;
    signals_restore();
    execvp(words[0], words);
    message_print("cannot run '%s': %s", words[0], reason_text(errno));
    return CLI_FAILED;
}

static enum cli_exit run_run(const void *settings, size_t n_operands, char **operands)
{
    const struct run_settings *run = settings;
    char python[PROGRAM_PATH_BYTES];

    if (run->limit.is_given && run->limit.value == 0) {
        usage_error(&command_run, "'--limit 0' shows nothing, use --no-table, or -1 for all rows");
        return CLI_USAGE;
    }
    if (n_operands == 1 && strcmp(operands[0], "-m") == 0) {
        usage_error(&command_run, "no module behind '-m', write 'marey run -m MODULE [ARG...]'");
        return CLI_USAGE;
    }
    if (run->output && strcmp(run->output, "-") == 0) {
        usage_error(&command_run, "'--output -' is no file: standard output is the program's");
        return CLI_USAGE;
    }
    if (!output_can_be_written(run))
        return CLI_FAILED;
    char **words = complete_words(n_operands, operands, python);
    if (!words)
        return CLI_FAILED;
    const enum cli_exit result = start(run, n_operands + (words[0] == python), words);
    free(words);
    return result;
}

#define FIELD(name) offsetof(struct run_settings, name)

static const struct option run_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "PATH",
     .type = OPTION_TEXT,
     .offset = FIELD(output),
     .help = "write the trace to PATH, compressed if its name ends in .gz; a folder takes files "
             "of the usual names, and is made if PATH ends in '/'. Other processes than the first "
             "put their rank or number "
             "before the ending. Default: marey-SCRIPT-PID.json.gz here, with -rankN before "
             "the ending where there are ranks"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = FIELD(overwrite),
     .help = "overwrite PATH if it exists"},
    {.name = "record-shapes",
     .type = OPTION_FLAG,
     .offset = FIELD(with_shapes),
     .help = "record shapes and types of the inputs of operators"},
    {.name = "sort",
     .letter = 's',
     .argument = "KEY",
     .type = OPTION_TEXT,
     .offset = FIELD(sort),
     .help = "sort the table by KEY, as 'marey report' does"},
    {.name = "limit",
     .letter = 'n',
     .argument = "N",
     .type = OPTION_NUMBER,
     .offset = FIELD(limit),
     .min = -1,
     .help = "show N rows of each block, -1: all. Default: 40"},
    {.name = "no-table",
     .type = OPTION_FLAG,
     .offset = FIELD(no_table),
     .help = "print no table, only where the trace is"},
    {0},
};

const struct command command_run = {
    .name = "run",
    .summary = "record a program",
    .operands = "[--] PROGRAM [ARG...]",
    .description =
        "Starts a program and records it from its first line to its end: operators of torch, and "
        "the ranges that the program marks. At the end a table and the place of the trace are "
        "printed on standard error; what the program itself prints stays as it is, and so does "
        "its exit status.\n\n"
        "PROGRAM is a Python with its words, a console script such as torchrun, a script whose "
        "name ends in .py, a folder with a __main__.py, or -m and a module; the last three are run "
        "by the Python beside this "
        "command, else by that of the path. The program need not know of Marey, and may use "
        "marey.profile and torch.profiler itself. Python programs that it starts are recorded "
        "too, each into a file of its own: every rank of a job. Workers of a DataLoader have "
        "none.\n\n"
        "An exception, sys.exit, an interrupt (SIGINT) and a termination (SIGTERM, SIGHUP) leave a "
        "whole "
        "trace of what was recorded until then; os._exit, SIGKILL and a program that replaces "
        "itself do not; of these only os._exit is told. What a process forks without starting "
        "another program is not recorded. "
        "The Python of the program must have the package marey, and torch's collector is "
        "built at its first use.",
    .examples = "marey run train.py --epochs 1\trecord a script\n"
                "marey run --record-shapes -o run.json.gz -m package.train\ta module, with shapes\n"
                "marey run -- python -u train.py\tas that Python runs it\n"
                "marey run -- torchrun --nproc-per-node 2 train.py\ta file for each rank\n",
    .options = run_options,
    .settings_bytes = sizeof(struct run_settings),
    .min_operands = 1,
    .max_operands = OPERANDS_UNLIMITED,
    .stops_at_operand = true,
    .operand_letter = 'm',
    .run = run_run,
};
