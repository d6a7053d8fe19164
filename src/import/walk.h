/*
 * walk.h - from the text of a list of records to the builder.
 *
 * The walk runs over one window of text and stops where the window, the list or the sense
 * of the text ends. Two ways lead through a record:
 *
 *   learned   templates: byte for byte the text between values, as an earlier record of
 *             the same kind, category, process and thread had it. A few block
 *             comparisons, then only the name, the numbers and the end of args are read.
 *   generic   any order of keys, any spacing; teaches a template if the record is clean.
 *
 * A template never guesses: all its text must match, and each value must have the plain
 * form it expects. Else the generic way decides.
 *
 * Matching needs no more than the text and the templates, so that other threads can do it
 * ahead (team.h): a batch holds what they found in a window, and the walk adds it when
 * it arrives exactly where the batch begins.
 *
 * The body exists once (walk_body.h) and is compiled for each set of primitives;
 * walk_choose.c picks one at run time.
 */
#ifndef MAREY_SRC_IMPORT_WALK_H
#define MAREY_SRC_IMPORT_WALK_H

#include "import/check.h"
#include "import/kineto.h"

/* What stands between two pieces of glue. */
enum marey_part {
    MAREY_PART_END,
    MAREY_PART_NAME,
    MAREY_PART_TS,
    MAREY_PART_DUR,
    MAREY_PART_ID,         /* of a flow, or the correlation */
    MAREY_PART_DIGITS,     /* an integer that nobody wants */
    MAREY_PART_ARGS,       /* an object, skipped */
    MAREY_PART_ARGS_REST,  /* the same from somewhere in it */
    MAREY_PART_LAUNCH_ARGS /* an object, read for correlation, device, context, stream */
};

#define MAREY_N_TEMPLATES 32
#define MAREY_TEMPLATE_PARTS 16
#define MAREY_TEMPLATE_BLOCKS 20
#define MAREY_GLUE_BLOCK 64

struct marey_template_part {
    uint16_t glue_at;   /* a whole number of blocks */
    uint16_t len;       /* of the glue */
    uint8_t what;       /* enum marey_part: the value behind the glue */
    uint64_t last_mask; /* the bytes of its last block */
};

/* A record as glue and values:
 *
 *     {"ph":"X","cat":"kernel","name":"|f|","pid":0,"tid":7,"ts":|1.5|,"dur":|2|,"args":|{}|}
 *      glue 0                          NAME  glue 1              TS glue 2  DUR glue 3  ARGS glue 4
 */
struct marey_template {
    uint64_t born; /* the version of marey_learnt with which it came */
    struct marey_resolved to;
    uint32_t n_parts;
    uint32_t next[2]; /* the templates that followed this one, the latest first */
    bool is_operation;
    bool is_tied;      /* its slices carry a correlation if the args give one */
    bool reads_launch; /* it has a LAUNCH_ARGS part; else all but the correlation is glue */
    struct marey_template_part part[MAREY_TEMPLATE_PARTS]; /* the last one ends the record */
    struct marey_meta_record meta;                         /* of a record of phase M */
    struct marey_launch_args launch; /* the args that to.track_idx belongs to */
    char glue[MAREY_TEMPLATE_BLOCKS * MAREY_GLUE_BLOCK];
};

/* What a walk has learnt of a list so far. */
struct marey_learnt {
    uint64_t version; /* grows with each template */
    uint32_t n;
    char gap[32]; /* the last text between two records, up to the brace */
    uint32_t gap_len;
    uint32_t gap_mask; /* of the bytes with the brace; all ones matches nothing yet */
    struct marey_template template[MAREY_N_TEMPLATES];
};

/* A record that nobody could match, in marey_match.template_idx. */
#define MAREY_NO_TEMPLATE UINT32_MAX

/* Nobody has looked at all of the record, in marey_match.damage. */
#define MAREY_UNCHECKED UINT32_MAX

/* What a record's values came to. Places count from the beginning of the text. */
struct marey_match {
    int64_t ts_ns;
    int64_t dur_ns;
    uint64_t id; /* of a flow, a correlation, or the index of its launch args */
    uint64_t name_hash;
    uint32_t at;  /* its opening brace */
    uint32_t end; /* behind its closing brace */
    uint32_t name_at;
    uint32_t name_len;
    uint32_t template_idx;
    uint32_t damage; /* enum marey_damage of all of it; or MAREY_UNCHECKED */
};

/* Records that follow each other in a text, matched with one version of the templates. */
struct marey_batch {
    struct marey_match *match;        /* [capacity] */
    struct marey_launch_args *launch; /* [capacity], of the templates that read them */
    size_t n;
    size_t n_launches;
    size_t capacity;
    uint64_t version;
};

enum marey_walk_stop {
    MAREY_WALK_MORE,   /* the window ends here */
    MAREY_WALK_END,    /* the list is closed; `at` is behind the bracket */
    MAREY_WALK_BROKEN, /* `fail` says where, `broken` in words what */
    MAREY_WALK_PART    /* `at` is behind the marker of a part */
};

struct marey_walk {
    const char *at;   /* behind the last whole record, or behind '[' */
    const char *text; /* the window */
    const char *end;
    uint64_t text_offset; /* source index and byte of text[0] */
    bool is_first;        /* no record was read yet */
    bool is_bare;         /* lines: no bracket ends the records, nor need commas part them */
    bool is_last_window;
    const char *fail;
    const char *broken;
    bool meets_document; /* what it is broken by begins as one */
    struct marey_kineto *kineto;
    struct marey_checker *checker; /* NULL: args are passed over */

    const struct marey_batch *batch; /* NULL: nobody was ahead */
    const char *batch_text;          /* where its places count from */
    const struct marey_match *ahead; /* of the batch's record at hand; or NULL */

    bool uses_templates;
    uint32_t predicted;
    struct marey_learnt *learnt;
};

/* The scanner, compiled for one set of primitives. */
struct marey_scanner {
    const char *name;

    /* Reads records until it stops. */
    enum marey_walk_stop (*walk)(struct marey_walk *walk);

    /* Matches the records of a text from the first that surely begins one, and looks at all of
     * each where the walk has a checker. Reads text, end and learnt of the walk, and changes no
     * more than its guesses. */
    void (*scan_ahead)(struct marey_walk *walk, struct marey_batch *batch);

    /* The value at `at`: where it ends, or NULL and *fail. Nothing at or behind `end`
     * is taken for text. */
    const char *(*value)(const char *at, const char *end, struct marey_value *value,
                         const char **fail);

    /* The args of the record that begins with '{' at `at`. NULL and *fail if it does not
     * end before `end` or is broken. */
    const char *(*args)(const char *at, const char *end, struct marey_str *args, const char **fail);

    /* Looks at all of the record from its brace `at` to `end`: checker->found is what is wrong. */
    void (*check)(struct marey_checker *checker, const char *at, const char *end);
};

/* The fastest scanner of this machine, or the portable one. */
const struct marey_scanner *marey__scanner_choose(bool portable_only);

extern const struct marey_scanner marey__scanner_portable;

/* template.c: makes a template of a record that the generic way has just read.
 * `begin` and `end` are its braces' outside. */
void marey__template_learn(struct marey_walk *walk, const struct marey_fields *fields,
                           const struct marey_launch_args *launch, const char *begin,
                           const char *end);

/* A failure closer than this to the end of a window may be for want of text. */
#define MAREY_WALK_TAIL_BYTES 64

#endif
