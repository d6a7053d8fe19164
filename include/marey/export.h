/*
 * marey/export.h - from a trace or its averages to text.
 *
 *     struct marey_table_options options = {.size = sizeof options};
 *     struct marey_text text = {0};
 *     if (marey_table_text(averages, &options, &text, &err) == MAREY_OK)
 *         fwrite(text.ptr, 1, text.len, stdout);
 *     marey_text_release(&text);
 *
 * A file appears complete under its name or not at all: it is written beside it
 * and renamed.
 *
 * Threads: calls on different objects are independent.
 */
#ifndef MAREY_EXPORT_H
#define MAREY_EXPORT_H

#include "marey/aggregate.h"
#include "marey/base.h"
#include "marey/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Text in memory, made by the functions here. All zero is empty. What it holds already is
 * replaced and its memory is used again; an alloc given beforehand is kept. */
struct marey_text {
    char *ptr; /* len bytes and a terminating zero */
    size_t len;
    size_t capacity;
    struct marey_alloc alloc; /* filled in by the function that makes the text */
};

MAREY_API void marey_text_release(struct marey_text *text);

enum marey_table_format {
    MAREY_TABLE_TEXT = 0,
    MAREY_TABLE_CSV = 1, /* raw nanoseconds, one header line */
    MAREY_TABLE_JSON = 2 /* {"schema": 1, ...}, raw nanoseconds */
};

enum marey_table_layout {
    MAREY_LAYOUT_MAREY = 0, /* ours: a block of host rows, a block of device rows */
    MAREY_LAYOUT_TORCH = 1  /* torch's columns with our numbers */
};

enum marey_time_unit {
    MAREY_TIME_AUTO = 0,
    MAREY_TIME_US = 1,
    MAREY_TIME_MS = 2,
    MAREY_TIME_S = 3
};

/* Widths: 0 is the default, MAREY_WIDTH_UNLIMITED no cap. */
#define MAREY_WIDTH_UNLIMITED UINT32_MAX

struct marey_table_options {
    size_t size;
    enum marey_table_format format;
    enum marey_table_layout layout;
    const char *sort;    /* torch's sort_by, or a column's name; NULL: the default order.
                            Numbers go down, texts up; "+key" goes up, "-key" down */
    int64_t limit;       /* rows of a block; 0: 40 in text, all in csv and json; -1: all */
    const char *columns; /* names separated by commas, those of csv and json (self_ns) too,
                            or "all"; NULL: those that fit 120, in csv and json all */
    const char *header;  /* a line above the table; NULL: none */
    enum marey_time_unit time_unit;
    uint32_t name_width;
    uint32_t shapes_width;
    uint32_t src_width;
};

/* The table of averages.
 * \fails MAREY_INVALID for an unknown sort key or column (the message lists the
 *        nearest), MAREY_NOMEM; *text is untouched then
 * \owns gives *text, released by marey_text_release */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_table_text(struct marey_averages *averages, const struct marey_table_options *options,
                 struct marey_text *text, struct marey_error *err);

/* The names that `columns` takes, in order; NULL ends the list. */
MAREY_API const char *const *marey_table_columns(void);

/* torch's EventList.table(), byte for byte. */
struct marey_torch_table_options {
    size_t size;
    const char *sort_by;              /* NULL: unsorted */
    int64_t row_limit;                /* -1: all; 0: none */
    uint32_t max_src_column_width;    /* torch's default is 75; MAREY_WIDTH_UNLIMITED is None */
    uint32_t max_name_column_width;   /* 55 */
    uint32_t max_shapes_column_width; /* 80 */
    const char *header;
    bool top_level_events_only;
    enum marey_time_unit time_unit;
};

/* The defaults of torch: no sort, 100 rows, widths 75, 55, 80. */
MAREY_API struct marey_torch_table_options marey_torch_table_defaults(void);

/* key_averages(...).table(...).
 * \fails MAREY_INVALID for a key that torch's rows do not have */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_torch_table_text(const struct marey_torch_averages *averages,
                       const struct marey_torch_table_options *options, struct marey_text *text,
                       struct marey_error *err);

/* events().table(...): the same of single events. */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_torch_events_table_text(const struct marey_torch_view *view,
                              const struct marey_torch_table_options *options,
                              struct marey_text *text, struct marey_error *err);

/* export_stacks(path, metric): what torch would write.
 * metric is "self_cpu_time_total" or "self_cuda_time_total" (xpu, privateuse1 alike) */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_torch_stacks_text(const struct marey_torch_view *view, const char *metric,
                        struct marey_text *text, struct marey_error *err);

/* Told between two blocks of an export, on the caller's thread, how many records are written.
 * Another status than MAREY_OK ends the export, which returns it with what the function left in
 * *err. \since 0.1 */
typedef enum marey_status (*marey_progress_fn)(void *ctx, uint64_t n_done, uint64_t n_all,
                                               struct marey_error *err);

struct marey_chrome_options {
    size_t size;
    bool overwrite;  /* else an existing file is MAREY_IO with a remedy */
    int compression; /* gzip level 1..9 for paths that end in .gz; 0: the default (1) */
    bool omit_args;  /* leave args out: quicker and smaller, and no longer the same trace */
    bool repair;     /* write only what every strict reader takes and we would not repair: records
                        that were set aside are left out, args are JSON without a key twice; the
                        head's members "mareyLeftOut" and "mareyRepaired" (what
                        marey_chrome_mends) count by reason */
    bool scrub;      /* leave out what tells whose trace it is, and repair (docs/scrub.md) */
    marey_progress_fn progress; /* called about every MiB of text; NULL: none. Of a file and a
                                   stream; text in memory is made in one go */
    void *progress_ctx;
};

/* Writes Chrome JSON in Kineto's schema; gzip if path ends in ".gz". options may be NULL.
 * Reading it again gives the same trace. Records that the model does not hold (unknown
 * phases, ends without a begin) are counted in the head's member "mareyLeftOut". What is
 * written is JSON also where the file was not: NaN and infinities in args become null, other
 * scalars that JSON does not have (000, .5) strings, counted in the member "mareyMended"
 * behind the records ("scalars"; "texts" are args and members that `repair` mended in another
 * way), with what such a member of the last source counted before.
 * A trace of several sources becomes one file, which is read back as several; other programs
 * see one trace in which pids and arrows of the sources do not collide.
 * \fails MAREY_IO (nothing is left behind, an old file is as it was), MAREY_NOMEM,
 *        what decoding args fails with, the status of `progress`
 * \cost holds the trace's lock while it writes records: who needs args or a lazy column of the
 *       same trace waits */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_export_chrome(struct marey_trace *trace, const char *path,
                    const struct marey_chrome_options *options, struct marey_error *err);

/* Whether the file that `repair` writes does not show a row of the ledger any more: all that was
 * repaired, and findings about the text of the file. The head's "mareyRepaired" counts those. */
MAREY_API bool marey_chrome_mends(const struct marey_ledger_row *row);

/* Takes the next bytes of an export, borrowed for the call. Another status than MAREY_OK
 * ends the export, which returns it with what the function left in *err. */
typedef enum marey_status (*marey_write_fn)(void *ctx, const void *bytes, size_t len,
                                            struct marey_error *err);

/* The same, handed to `write` in blocks of about 1 MiB from a buffer that is used again:
 * for standard output, sockets, other compressors. options may be NULL; those about files
 * mean nothing. `write` is called on the caller's thread.
 * \fails as above, or with the status of `write`; what was handed over before then is the
 *        beginning of a file */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_export_chrome_stream(struct marey_trace *trace, marey_write_fn write, void *ctx,
                           const struct marey_chrome_options *options, struct marey_error *err);

/* The same as text in memory. options may be NULL; those about files mean nothing.
 * \fails as above; *text is untouched then, or empty if it held memory before
 * \cost the whole file in memory */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_export_chrome_text(struct marey_trace *trace, const struct marey_chrome_options *options,
                         struct marey_text *text, struct marey_error *err);

#ifdef __cplusplus
}
#endif

#endif
