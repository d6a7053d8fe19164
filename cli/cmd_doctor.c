/*
 * cmd_doctor.c - `marey doctor`: which collectors can run here.
 *
 * A collector belongs to a Python and the torch in it, so that Python is asked: this process
 * becomes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "message.h"
#include "program.h"
#include "reason.h"
#include "signals.h"

struct doctor_settings {
    const char *python;
    int format;
    bool build;
};

enum doctor_format { DOCTOR_TEXT, DOCTOR_JSON };

/* Without the current folder in the path, where a folder `marey` may lie. */
static const char script[] = "import sys\n"
                             "sys.path[:] = [p for p in sys.path if p]\n"
                             "try:\n"
                             "    from marey import _doctor\n"
                             "except ImportError as error:\n"
                             "    print(f\"marey: cannot examine '{sys.executable}': {error}, "
                             "install the package with '{sys.executable} -m pip install marey'\","
                             " file=sys.stderr)\n"
                             "    sys.exit(3)\n"
                             "sys.exit(_doctor.main(sys.argv[1:]))\n";

static bool find_python(const struct doctor_settings *doctor, char *path)
{
    if (doctor->python == NULL)
        return program_find_python(path);
    return program_in_path(doctor->python, path);
}

static enum cli_exit run_doctor(const void *settings, size_t n_operands, char **operands)
{
    const struct doctor_settings *doctor = settings;
    char python[PROGRAM_PATH_BYTES];
    const char *format = doctor->format == DOCTOR_JSON ? "--format=json" : "--format=text";

    (void)n_operands;
    (void)operands;
    if (!find_python(doctor, python)) {
        message_print(doctor->python != NULL ? "cannot find the Python '%s'"
                                             : "cannot find Python in the path, name one by "
                                               "--python",
                      doctor->python);
        return CLI_FAILED;
    }
    signals_restore();
    execl(python, python, "-c", script, format, doctor->build ? "--build" : NULL, (char *)NULL);
    message_print("cannot run '%s': %s", python, reason_text(errno));
    return CLI_FAILED;
}

#define FIELD(name) offsetof(struct doctor_settings, name)

static const struct choice formats[] = {
    {"text", DOCTOR_TEXT},
    {"json", DOCTOR_JSON},
    {0},
};

static const struct option doctor_options[] = {
    {.name = "build",
     .type = OPTION_FLAG,
     .offset = FIELD(build),
     .help = "build the collectors that are compiled for the torch at hand"},
    {.name = "python",
     .argument = "PATH",
     .type = OPTION_TEXT,
     .offset = FIELD(python),
     .help = "the Python to look at. Default: the one whose package this command is, else "
             "python or python3 of the path"},
    {.name = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .type = OPTION_CHOICE,
     .choices = formats,
     .offset = FIELD(format),
     .help = "text or json"},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "say which collectors can run here",
    .operands = "",
    .description =
        "Lists each collector with its state, the reason and what to do about it. A collector "
        "hands records to the recorder: that of torch is compiled for the torch of one Python, "
        "by the C++ compiler of this machine, into a cache, when it is first needed or by "
        "--build.\n\n"
        "Exits with 0 if what is here can run or be built, with 1 if not, with 3 if --build "
        "failed.",
    .examples = "marey doctor\twhat can be recorded with this Python\n"
                "marey doctor --build\tcompile the collector of torch now\n",
    .options = doctor_options,
    .settings_bytes = sizeof(struct doctor_settings),
    .min_operands = 0,
    .max_operands = 0,
    .run = run_doctor,
};
