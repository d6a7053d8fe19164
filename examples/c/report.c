/*
 * report.c - prints the table of a trace file.
 *
 *     cc report.c $(pkg-config --cflags --libs marey) -o report
 *     ./report trace.json.gz
 */
#include <stdio.h>

#include <marey/aggregate.h>
#include <marey/export.h>
#include <marey/import.h>

int main(int argc, char **argv)
{
    const struct marey_averages_options options = {.size = sizeof options, .percentiles = true};
    const struct marey_table_options table = {.size = sizeof table, .limit = 20};
    struct marey_trace *trace = NULL;
    struct marey_averages *averages = NULL;
    struct marey_text text = {0};
    struct marey_error err;

    if (argc != 2) {
        fprintf(stderr, "usage: report FILE\n");
        return 2;
    }

    enum marey_status status = marey_import_file(argv[1], NULL, &trace, &err);
    if (status == MAREY_OK)
        status = marey_averages_new(trace, &options, &averages, &err);
    if (status == MAREY_OK)
        status = marey_table_text(averages, &table, &text, &err);

    if (status == MAREY_OK)
        fwrite(text.ptr, 1, text.len, stdout);
    else
        fprintf(stderr, "report: %s\n", err.message);

    marey_text_release(&text);
    marey_averages_free(averages);
    marey_trace_free(trace);
    return status == MAREY_OK ? 0 : 3;
}
