/*
 * cmd_doctor.c - `marey doctor`: what is wrong with a trace, or which collectors can run here.
 *
 * A collector belongs to a Python and the torch in it, so that Python is asked: this process
 * becomes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "doctor.h"
#include "message.h"
#include "output.h"
#include "program.h"
#include "reason.h"
#include "signals.h"

struct doctor_settings {
    const char *python;
    const char *output;
    const char *repaired; /* where the repaired trace goes; NULL: nowhere */
    int format;
    struct number n_threads;
    bool build;
    bool is_strict;
    bool overwrite;
    bool scrub;
};

enum doctor_format { DOCTOR_TEXT, DOCTOR_JSON };

/* ---- collectors ------------------------------------------------------------------- */

#define BUILT_PACKAGE "MAREY_BUILT_PACKAGE"

/* Without the current folder in the path, where a folder `marey` may lie. A command that was not
 * installed has its package in its build folder; an installed one comes first. */
static const char script[] =
    "import os, sys\n"
    "sys.path[:] = [p for p in sys.path if p]\n"
    "built = os.environ.pop('" BUILT_PACKAGE "', None)\n"
    "if built:\n"
    "    sys.path.append(built)\n"
    "try:\n"
    "    from marey import _doctor\n"
    "except ImportError as error:\n"
    "    print(f\"marey: cannot examine '{sys.executable}': {error}, install the package in "
    "Marey's source folder with '{sys.executable} -m pip install .' or name another Python by "
    "--python\","
    " file=sys.stderr)\n"
    "    sys.exit(3)\n"
    "sys.exit(_doctor.main(sys.argv[1:]))\n";

static bool find_python(const struct doctor_settings *doctor, char *path)
{
    if (doctor->python == NULL)
        return program_find_python(path);
    return program_in_path(doctor->python, path);
}

static enum cli_exit list_collectors(const struct doctor_settings *doctor)
{
    char python[PROGRAM_PATH_BYTES];
    char package[PROGRAM_PATH_BYTES];
    const char *format = doctor->format == DOCTOR_JSON ? "--format=json" : "--format=text";

    if (!find_python(doctor, python)) {
        message_print(doctor->python != NULL ? "cannot find the Python '%s'"
                                             : "cannot find Python in the path, name one by "
                                               "--python",
                      doctor->python);
        return CLI_FAILED;
    }
    if (program_find_built_package(package))
        (void)setenv(BUILT_PACKAGE, package, 1);
    signals_restore();
    execl(python, python, "-c", script, format, doctor->build ? "--build" : NULL, (char *)NULL);
    message_print("cannot run '%s': %s", python, reason_text(errno));
    return CLI_FAILED;
}

/* ---- traces ------------------------------------------------------------------------- */

static enum cli_exit examine_traces(const struct doctor_settings *doctor, size_t n_operands,
                                    char **operands)
{
    struct marey_error err = {.message = "cannot examine the trace: out of memory"};
    struct input_examined examined = {0};
    struct diagnosis diagnosis = {0};
    struct text text = {0};
    enum cli_exit repaired = CLI_DONE;
    enum cli_exit result = CLI_FAILED;

    /* Asked before the work; the library asks again when it takes the name. */
    if (doctor->repaired != NULL && !output_is_free(doctor->repaired, doctor->overwrite))
        goto done;
    if (!input_examine(n_operands, operands, doctor->n_threads, &examined))
        goto done;
    if (diagnosis_make(&examined, &diagnosis, &err) != MAREY_OK) {
        message_print("%s", err.message);
        goto done;
    }
    if (doctor->repaired != NULL)
        repaired = diagnosis_repair(&diagnosis, doctor->repaired, doctor->scrub, doctor->overwrite);
    if (doctor->format == DOCTOR_JSON)
        diagnosis_as_json(&diagnosis, &text);
    else
        diagnosis_as_text(&diagnosis, doctor->is_strict, &text);
    result = output_text(doctor->output, doctor->overwrite, &text);
    if (result == CLI_DONE)
        result = repaired == CLI_DONE ? diagnosis_exit(&diagnosis, doctor->is_strict) : CLI_FAILED;

done:
    input_release(&examined);
    return result;
}

/* ---- the command ---------------------------------------------------------------------- */

/* The option that was given and belongs to the other form, or NULL. */
static const char *foreign_option(const struct doctor_settings *doctor, bool has_file)
{
    if (has_file)
        return doctor->build ? "--build" : doctor->python != NULL ? "--python" : NULL;
    return doctor->is_strict            ? "--strict"
           : doctor->output != NULL     ? "--output"
           : doctor->repaired != NULL   ? "--repair"
           : doctor->scrub              ? "--scrub"
           : doctor->overwrite          ? "--force"
           : doctor->n_threads.is_given ? "--threads"
                                        : NULL;
}

static enum cli_exit run_doctor(const void *settings, size_t n_operands, char **operands)
{
    const struct doctor_settings *doctor = settings;
    const bool has_file = n_operands > 0;
    const char *foreign = foreign_option(doctor, has_file);

    if (foreign != NULL) {
        usage_error(&command_doctor,
                    has_file ? "option '%s' is about collectors, leave it or the files out"
                             : "option '%s' is about traces, name a file",
                    foreign);
        return CLI_USAGE;
    }
    if (doctor->scrub && doctor->repaired == NULL) {
        usage_error(&command_doctor, "option '--scrub' is for --repair OUT");
        return CLI_USAGE;
    }
    if (doctor->repaired != NULL && strcmp(doctor->repaired, "-") == 0) {
        usage_error(&command_doctor, "option '--repair' wants a file: what is found goes to "
                                     "standard output");
        return CLI_USAGE;
    }
    return has_file ? examine_traces(doctor, n_operands, operands) : list_collectors(doctor);
}

#define FIELD(name) offsetof(struct doctor_settings, name)

static const struct choice formats[] = {
    {"text", DOCTOR_TEXT},
    {"json", DOCTOR_JSON},
    {0},
};

static const struct option doctor_options[] = {
    {.name = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .type = OPTION_CHOICE,
     .choices = formats,
     .offset = FIELD(format),
     .help = "text (default) or json"},
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = FIELD(is_strict),
     .help = "exit with 1 also where slices cross and nothing else is found"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPTION_TEXT,
     .offset = FIELD(output),
     .help = "write what is found to FILE instead of standard output"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = FIELD(overwrite),
     .help = "overwrite FILE of --output and OUT of --repair if they exist"},
    {.name = "repair",
     .argument = "OUT",
     .type = OPTION_TEXT,
     .offset = FIELD(repaired),
     .help = "write the trace to OUT as Chrome JSON that every reader takes: records that were set "
             "aside are left out, what was repaired stays repaired; compressed if OUT ends in .gz"},
    {.name = "scrub",
     .type = OPTION_FLAG,
     .offset = FIELD(scrub),
     .help = "with --repair: leave out what tells whose trace it is (environment, host, user, "
             "paths, unknown members and args)"},
    INPUT_OPTION_THREADS(FIELD(n_threads)),
    {.name = "build",
     .type = OPTION_FLAG,
     .offset = FIELD(build),
     .help = "without files: build the collectors that are compiled for the torch at hand"},
    {.name = "python",
     .argument = "PATH",
     .type = OPTION_TEXT,
     .offset = FIELD(python),
     .help = "without files: the Python to look at. Default: the one whose package this command "
             "is, else python or python3 of the path"},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "say what is wrong with a trace, or which collectors can run here",
    .operands = "[FILE...]",
    .description =
        "With files: reads them and tells, reason by reason, what was set aside, what was repaired "
        "and what was found, where in the file, what it does to the numbers and what can be done; "
        "what is normal stands apart. Then come both sides of two laws (self times of a track add "
        "up to the time in which it is busy; device time is owned, or of operations whose launch "
        "is not in the trace), and a verdict. FILE is as for 'marey report', so that several files "
        "are the ranks of one job and make one trace. A file that cannot be read is told of apart "
        "and does not keep the others from being examined.\n\n"
        "Exits with 0 if all is well, with 1 if something was set aside, repaired or found, with 3 "
        "if a file cannot be read. Slices that cross are what torch writes in any case: where they "
        "are all that is found, it exits with 0 unless --strict is given; 'exit' in JSON is the "
        "status under --strict.\n\n"
        "With --repair, OUT counts in its head what was left out and what was mended, by reason; a "
        "later doctor tells of it ('lost_before') and gives no better grade than FILE has. "
        "Several files, or traces behind one another in a file, become one file, as with 'marey "
        "convert'. What is found is told in any case; the exit status is that of FILE, or 3 if OUT "
        "cannot be written.\n\n"
        "Without a file: lists each collector with its state, the reason and what to do about it. "
        "A collector hands records to the recorder: that of torch is compiled for the torch of one "
        "Python, by the C++ compiler of this machine, into a cache, when it is first needed or by "
        "--build. Exits with 0 if what is here can run or be built, with 1 if not, with 3 if "
        "--build failed.",
    .examples =
        "marey doctor trace.json.gz\tis it whole, and what does it do to the numbers\n"
        "marey doctor -f json logs/\tthe same of all ranks of a folder, for a program\n"
        "marey doctor --repair fixed.json.gz cut.json.gz\tmake a file that others can read\n"
        "marey doctor --repair shown.json.gz --scrub mine.json.gz\t"
        "and that may be shown to others\n"
        "marey doctor\twhat can be recorded with this Python\n"
        "marey doctor --build\tcompile the collector of torch now\n",
    .options = doctor_options,
    .settings_bytes = sizeof(struct doctor_settings),
    .min_operands = 0,
    .max_operands = OPERANDS_UNLIMITED,
    .run = run_doctor,
};
