/*
 * doctor_repair.c - `marey doctor --repair OUT`: the trace as a file that every reader takes.
 */
#include <inttypes.h>
#include <string.h>

#include <marey/export.h>

#include "doctor.h"
#include "message.h"

/* What the file of a trace cannot say again, in one line. */
static void tell(const struct diagnosis *diagnosis, const char *path)
{
    const uint64_t n_set_aside = diagnosis_count(diagnosis, MAREY_LEDGER_QUARANTINED);
    const uint64_t n_repaired = diagnosis_count(diagnosis, MAREY_LEDGER_REPAIRED);
    uint64_t n_findings = 0;

    for (size_t i = 0; i < diagnosis->ledger.n_rows; i++) {
        const struct marey_ledger_row *row = &diagnosis->ledger.rows[i];
        if (row->map == MAREY_LEDGER_FINDING && marey_chrome_mends(row))
            n_findings += row->count;
    }
    message_print("wrote '%s': %" PRIu64 " record%s left out, %" PRIu64 " repaired, %" PRIu64
                  " finding%s mended",
                  path, n_set_aside, n_set_aside == 1 ? "" : "s", n_repaired, n_findings,
                  n_findings == 1 ? "" : "s");
}

enum cli_exit diagnosis_repair(const struct diagnosis *diagnosis, const char *path, bool scrub,
                               bool overwrite)
{
    const struct marey_chrome_options options = {
        .size = sizeof options,
        .overwrite = overwrite,
        .repair = true,
        .scrub = scrub,
    };
    struct marey_error err = {.message = "cannot write the trace: out of memory"};

    if (diagnosis->input->trace == NULL) {
        message_print("cannot write '%s': there is no trace to repair", path);
        return CLI_FAILED;
    }
    if (marey_export_chrome(diagnosis->input->trace, path, &options, &err) != MAREY_OK) {
        message_print("%s", err.message);
        return CLI_FAILED;
    }
    tell(diagnosis, path);
    return CLI_DONE;
}
