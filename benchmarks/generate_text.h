/*
 * generate_text.h - the text of generate_trace.c: a buffer on its way to a file,
 * numbers, keys and values, and the layouts in which Kineto puts them.
 */
#ifndef MAREY_BENCH_GENERATE_TEXT_H
#define MAREY_BENCH_GENERATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SINK_BYTES (1U << 20)
#define RECORD_BYTES (1U << 14) /* no record is longer */

/* Text on its way to a file; with file == NULL it is only counted. */
struct sink {
    FILE *file;
    char *buffer;
    size_t len;
    uint64_t total;
    uint64_t n_records;
};

/* The bytes between keys and values. */
struct layout {
    const char *name;
    const char *open;       /* before the first key of a record */
    const char *close;      /* after a record with args */
    const char *close_bare; /* after one without */
    const char *next;       /* between records */
    const char *comma;      /* between keys of one line */
    const char *line;       /* between keys of two lines */
    const char *instant;    /* after "ph": "i" */
    const char *colon;
    const char *args;      /* from the value before args to its first key */
    const char *meta_args; /* the same in records of phase M */
    const char *args_close;
    const char *after_id; /* after External id */
    const char *item;     /* between keys and elements in args */
    const char *gap;      /* the same where Kineto pads with blanks */
    const char *binding;  /* before "bp" of a flow's end */
    bool is_uniform;      /* ph, cat, name, pid, tid, ts, dur in all records; metadata first */
};

struct writer {
    struct sink sink;
    const struct layout *layout;
    uint64_t ev_idx;
};

/* The layout of that name; ends the program if there is none. */
const struct layout *find_layout(const char *name);

void sink_flush(struct sink *sink);
void put_bytes(struct sink *sink, const char *text, size_t n);
void put(struct sink *sink, const char *text);
void put_u64(struct sink *sink, uint64_t value);

/* value / 10^n_decimals, all decimals written. */
void put_fixed(struct sink *sink, uint64_t value, int n_decimals);

void put_key(struct writer *w, const char *key);
void put_text(struct writer *w, const char *key, const char *value);
void put_number(struct writer *w, const char *separator, const char *key, uint64_t value);
void put_time(struct writer *w, const char *separator, const char *key, uint64_t ns);
void open_record(struct writer *w);

/* Ends the args and the record. */
void close_record(struct writer *w);

#endif
