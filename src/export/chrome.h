/*
 * chrome.h - what the files of the Chrome writer share.
 *
 *   chrome_list: all records by their place in the source file ──> walk of their args
 *        ──> chrome_record: one record into `out` ──> sink (file, gzip) or memory
 *   chrome_head: members before and after, metadata records
 *   chrome_piece: texts that repeat (names, categories, tracks), escaped once
 *   chrome_value: args and members as valid JSON; chrome_number: those that are numbers
 *   chrome_strict, chrome_shown, scrub: what is written of a repaired or scrubbed trace
 *   chrome_names, chrome_ids: the numbers in place of names and ids that are scrubbed
 *   chrome_part: what marks the sources in a file of several
 */
#ifndef MAREY_SRC_EXPORT_CHROME_H
#define MAREY_SRC_EXPORT_CHROME_H

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/text.h"
#include "export/gzip.h"
#include "export/scrub.h"
#include "marey/export.h"
#include "trace/builder.h"

/* What a record of the list is. */
enum marey_chrome_what {
    MAREY_CHROME_SLICE = 0,
    MAREY_CHROME_BEGIN = 1, /* a slice that was read as B and E */
    MAREY_CHROME_INSTANT = 2,
    MAREY_CHROME_COUNTER = 3,
    MAREY_CHROME_ASYNC_BEGIN = 4,
    MAREY_CHROME_ASYNC_END = 5,
    MAREY_CHROME_QUARANTINED = 6,
    MAREY_CHROME_END = 7, /* in no list: written when its slice is over */
    MAREY_CHROME_FLOW = 8,
    MAREY_CHROME_N_WHATS = 9
};

struct marey_chrome_ref {
    uint32_t idx;        /* into the columns of its kind */
    uint32_t track : 29; /* MAREY_CHROME_NO_TRACK if it has none */
    uint32_t what : 3;   /* enum marey_chrome_what */
};

#define MAREY_CHROME_NO_TRACK ((uint32_t)0x1fffffff)

/* The list, ascending by offset. \shape [n] each */
struct marey_chrome_list {
    uint64_t *offset; /* NULL without args */
    struct marey_chrome_ref *ref;
    size_t n;
};

/* Escaped text; MAREY_PIECE_PAD readable bytes follow. NULL: not made yet. */
struct marey_chrome_piece {
    const char *ptr;
    size_t len;
};

#define MAREY_PIECE_PAD 32
#define MAREY_CHROME_TS "\"ts\": " /* how the piece of a track ends */

/* A slice from B whose E is not written yet. */
struct marey_chrome_open {
    uint32_t slice_idx;
    uint32_t below; /* MAREY_NONE at the bottom */
};

/* A process of one source of several. */
struct marey_chrome_process {
    uint32_t source_idx;
    uint32_t process_id;
    struct marey_str text;
    struct marey_str written; /* the same, or a text that no other process has */
    bool is_named;            /* a metadata record gave its name */
};

/* What a file of several sources needs; empty for one. */
struct marey_chrome_parts {
    struct marey_hashmap by_key;          /* source and process -> place in `process` */
    struct marey_chrome_process *process; /* by source, then text */
    size_t n_processes;
    size_t capacity;
    int64_t next_pid;
    uint64_t *flow_ids; /* [n_sources] added to the ids of arrows */
    uint32_t *track;    /* [n_tracks] by source, then index */
    size_t *track_from; /* [n_sources + 1] of `track` */
    size_t head_from;   /* of the members of all heads, the first whose marker is still to come */
};

/* What was mended of args and members. */
struct marey_chrome_mended {
    uint64_t n_scalars; /* that JSON does not have */
    uint64_t n_texts;   /* that were no JSON apart from scalars, or had a key twice */
};

/* Bits of a name that is scrubbed. */
enum marey_chrome_name {
    MAREY_NAME_CALL = 1,     /* of a call into the runtime */
    MAREY_NAME_NUMBERED = 2, /* shown as a number, also if it might be shown */
    MAREY_NAME_WRITTEN = 4   /* of a record that is written */
};

struct marey_chrome {
    struct marey_alloc alloc;
    struct marey_trace *trace;
    struct marey_error *err;
    bool omit_args;
    bool repairs; /* nothing is written that a strict reader refuses or we would repair */
    bool scrubs;  /* nothing that tells whose trace it is; implies repairs */
    bool is_first;
    bool has_raw_durs;
    const struct marey_args_verdict *verdict; /* of the args at hand */
    int64_t base_ns;

    struct marey_slices slices;
    struct marey_instants instants;
    struct marey_counters counters;
    struct marey_flows flows;
    const struct marey_flow_label *labels;
    const struct marey_async_span *spans;
    const struct marey_quarantined *quarantined;
    const struct marey_track *tracks;
    const struct marey_category *categories;
    const struct marey_source *sources;
    size_t n_sources;
    size_t n_spans;
    size_t n_quarantined;
    size_t n_tracks;
    size_t n_strings;

    struct marey_chrome_list list;
    uint32_t source_at; /* that is being written */
    size_t meta_from;
    struct marey_chrome_parts parts;
    struct marey_chrome_open *open;
    size_t n_open;
    size_t open_capacity;
    uint32_t *open_top; /* [n_tracks]; NULL until a slice from B is met */

    struct marey_arena arena; /* of the pieces */
    struct marey_textbuf scratch;
    struct marey_chrome_piece *name;       /* [n_strings] */
    struct marey_chrome_piece *track;      /* [n_tracks + 1] the last: no track */
    struct marey_chrome_piece *flow_track; /* [n_tracks] the same on one line */
    struct marey_chrome_piece category[MAREY_CHROME_N_WHATS][256];
    struct marey_chrome_piece label[256];
    int64_t seconds; /* the last whole seconds that were written, and their digits */
    char seconds_text[MAREY_PIECE_PAD];
    size_t seconds_len;

    struct marey_hashmap last_meta;        /* source and key -> the last member of that key */
    struct marey_chrome_piece *short_name; /* [n_strings] with paths cut; NULL unless it scrubs */
    uint8_t *name_flags;         /* [n_strings] of enum marey_chrome_name; NULL unless it scrubs */
    struct marey_scrub scrub;    /* numbers in place of what is not shown */
    struct marey_textbuf strict; /* text of the file on its way to `shown` */
    struct marey_textbuf shown;
    bool has_left_out; /* the writer makes the member; one that is read is not written again */
    bool has_repaired;

    struct marey_chrome_mended mended;
    struct marey_textbuf out;
    marey_sink_fn sink; /* NULL: out keeps all */
    void *sink_ctx;
    marey_progress_fn progress; /* NULL: nobody is told */
    void *progress_ctx;
    size_t n_done; /* records of the list that are written, as of the last full block */
};

/* chrome_list.c. False without memory. */
bool marey__chrome_list_make(struct marey_chrome *chrome);
void marey__chrome_list_release(struct marey_chrome *chrome);

/* chrome_piece.c. Makes a piece; out.failed is set without memory and the piece is empty
 * then. The inline functions below hand out what was made before. */
struct marey_chrome_piece marey__chrome_make_shown_name(struct marey_chrome *chrome,
                                                        struct marey_str text);
struct marey_chrome_piece marey__chrome_make_name(struct marey_chrome *chrome, uint32_t name_id);
struct marey_chrome_piece marey__chrome_make_category(struct marey_chrome *chrome,
                                                      enum marey_chrome_what what, uint8_t cat_id);
struct marey_chrome_piece marey__chrome_make_track(struct marey_chrome *chrome, uint32_t track_idx);
struct marey_chrome_piece marey__chrome_make_flow_track(struct marey_chrome *chrome,
                                                        uint32_t track_idx);
struct marey_chrome_piece marey__chrome_make_label(struct marey_chrome *chrome, uint8_t label_idx);

static inline struct marey_chrome_piece marey__chrome_name(struct marey_chrome *chrome,
                                                           uint32_t name_id)
{
    if (name_id < chrome->n_strings && chrome->name[name_id].ptr != NULL)
        return chrome->name[name_id];
    return marey__chrome_make_name(chrome, name_id);
}

static inline struct marey_chrome_piece
marey__chrome_category(struct marey_chrome *chrome, enum marey_chrome_what what, uint8_t cat_id)
{
    if (chrome->category[what][cat_id].ptr != NULL)
        return chrome->category[what][cat_id];
    return marey__chrome_make_category(chrome, what, cat_id);
}

static inline struct marey_chrome_piece marey__chrome_track(struct marey_chrome *chrome,
                                                            uint32_t track_idx)
{
    if (track_idx < chrome->n_tracks && chrome->track[track_idx].ptr != NULL)
        return chrome->track[track_idx];
    return marey__chrome_make_track(chrome, track_idx);
}

static inline struct marey_chrome_piece marey__chrome_flow_track(struct marey_chrome *chrome,
                                                                 uint32_t track_idx)
{
    if (chrome->flow_track[track_idx].ptr != NULL)
        return chrome->flow_track[track_idx];
    return marey__chrome_make_flow_track(chrome, track_idx);
}

static inline struct marey_chrome_piece marey__chrome_label(struct marey_chrome *chrome,
                                                            uint8_t label_idx)
{
    if (chrome->label[label_idx].ptr != NULL)
        return chrome->label[label_idx];
    return marey__chrome_make_label(chrome, label_idx);
}

/* An id as a number where its text is one, else as a string. */
void marey__chrome_add_id(struct marey_textbuf *out, struct marey_str text);

/* chrome_record.c. Writes record i of the list, then hands full blocks to the sink. */
enum marey_status marey__chrome_record(struct marey_chrome *chrome, size_t i,
                                       struct marey_str args);

/* The ends that are still due in a source, and its flows. */
enum marey_status marey__chrome_ends(struct marey_chrome *chrome, uint32_t source_idx);
enum marey_status marey__chrome_flows(struct marey_chrome *chrome, uint32_t source_idx);

/* Whether a record that was set aside can be written again; else it is counted. */
bool marey__chrome_can_write(const struct marey_chrome *chrome,
                             const struct marey_quarantined *quarantined);

/* Hands `out` on if it holds at least `least` bytes. */
enum marey_status marey__chrome_flush(struct marey_chrome *chrome, size_t least);

/* chrome_head.c. The tail comes after all records. A source's metadata records come before its
 * other records. */
enum marey_status marey__chrome_head(struct marey_chrome *chrome);
enum marey_status marey__chrome_meta_records(struct marey_chrome *chrome, uint32_t source_idx);
enum marey_status marey__chrome_tail(struct marey_chrome *chrome);

/* A member of a head, without a comma; the value of a member or the args of a metadata record. */
void marey__chrome_add_member(struct marey_chrome *chrome, const struct marey_meta *meta);
void marey__chrome_add_json(struct marey_chrome *chrome, struct marey_str text);

/* How many records of a row of the ledger that counts such are not in the file. */
uint64_t marey__chrome_left_out_of(const struct marey_chrome *chrome,
                                   const struct marey_ledger_row *row);

/* chrome_names.c: numbers for the names that are scrubbed; how one is shown. False without memory.
 */
bool marey__chrome_names_make(struct marey_chrome *chrome);
void marey__chrome_add_name(struct marey_chrome *chrome, uint32_t name_id,
                            struct marey_textbuf *out);

/* chrome_ids.c: numbers for the pids and tids that are scrubbed; puts the tracks of each source
 * in the order in which the reader of the file has them. False without memory. */
bool marey__chrome_ids_make(struct marey_chrome *chrome);
bool marey__chrome_order_shown(struct marey_chrome *chrome);

/* chrome_shown.c. False without memory. */
bool marey__chrome_shown_make(struct marey_chrome *chrome);
void marey__chrome_shown_release(struct marey_chrome *chrome);

/* Adds text of the file, mended: its scalars, and all else if it is repaired; all in any case. */
void marey__chrome_add_text(struct marey_chrome *chrome, struct marey_str text);
void marey__chrome_add_strict_text(struct marey_chrome *chrome, struct marey_str text);

/* What is written of the args of a record, {NULL, 0} if nothing; of those of a metadata record,
 * false if it is left out. \owns borrowed until the next call */
struct marey_str marey__chrome_shown_args(struct marey_chrome *chrome, struct marey_str args,
                                          bool is_counter);
bool marey__chrome_shown_meta_args(struct marey_chrome *chrome,
                                   const struct marey_meta_record *record, struct marey_str *args);

/* Whether a metadata record is written. */
bool marey__chrome_shows_record(struct marey_chrome *chrome,
                                const struct marey_meta_record *record);

/* Whether the i-th member of all heads is written, and its value. */
bool marey__chrome_shows_member(struct marey_chrome *chrome, size_t i);
/* Whether a member gives a base time that is not the one of its source: one that nobody can read,
 * or that is not the last. */
bool marey__chrome_is_bad_base(const struct marey_chrome *chrome, const struct marey_meta *meta);

/* chrome_number.c. Whether a member gives the base time; whether it spells it as JSON does not have
 * numbers, so that a number is written. */
bool marey__chrome_is_base(struct marey_str key);
bool marey__chrome_is_odd_base(const struct marey_chrome *chrome, const struct marey_meta *meta);

/* Whether a member tells ranks in quotes, by a key with escapes or in text that is no JSON. Adds
 * it, made strict, with numbers in place of those in quotes. */
bool marey__chrome_has_odd_ranks(struct marey_str key, struct marey_str text);
void marey__chrome_add_ranks(struct marey_str strict, struct marey_textbuf *out);

void marey__chrome_add_member_value(struct marey_chrome *chrome, struct marey_str key,
                                    struct marey_str text);

/* Whether the i-th member tells what was mended before and comes behind the records again, with
 * what was mended now: one of the last source. What it counts is added if so; one that counts
 * nothing, since it is of no form of ours, is a text that was mended. */
bool marey__chrome_was_mended(struct marey_chrome *chrome, size_t i,
                              struct marey_chrome_mended *before);

/* Makes the members that tell of the writing, in `scratch`; before the others are asked for. */
enum marey_status marey__chrome_own_members(struct marey_chrome *chrome);

/* The name of a record. */
struct marey_chrome_piece marey__chrome_shown_name(struct marey_chrome *chrome, uint32_t name_id);

/* The text of a category; {NULL, 0} if there is none. \owns borrowed until the next call */
struct marey_str marey__chrome_shown_category(struct marey_chrome *chrome, uint32_t string_id);

/* The text of a pid, a tid or an id; {NULL, 0} if there is none. */
struct marey_str marey__chrome_shown_id(struct marey_chrome *chrome, uint32_t string_id);

/* chrome_part.c. False without memory. */
bool marey__chrome_parts_make(struct marey_chrome *chrome);
void marey__chrome_parts_release(struct marey_chrome *chrome);

/* Which tracks have a record that is written. \shape [n tracks] */
void marey__chrome_mark_written(const struct marey_chrome *chrome, bool *is_written);

/* The tracks of a source, in the order in which the reader of the file has them. \owns borrowed
 * from the writer */
const uint32_t *marey__chrome_tracks_of(const struct marey_chrome *chrome, uint32_t source_idx,
                                        size_t *n);

/* The text of a process in the file. \owns borrowed from the trace or the writer */
struct marey_str marey__chrome_pid(struct marey_chrome *chrome, uint32_t source_idx,
                                   uint32_t process_id);

/* The record before a source's others; those that say the rank of processes without a name. */
void marey__chrome_marker(struct marey_chrome *chrome, uint32_t source_idx);
void marey__chrome_add_names(struct marey_chrome *chrome, uint32_t source_idx);

/* Adds the args of a metadata record that names a process, with the rank; false if the record
 * is another or the file has one source: nothing is added then. */
bool marey__chrome_named_args(struct marey_chrome *chrome, const struct marey_meta_record *record,
                              struct marey_str args);

/* chrome_strict.c. Adds the text as JSON that every strict reader takes, whatever it is; returns
 * what was mended. */
struct marey_chrome_mended marey__chrome_add_strict(struct marey_textbuf *out,
                                                    struct marey_str json);

/* chrome_value.c. Adds a string from its opening quote, a number or a word; returns the bytes
 * used, at least one. */
size_t marey__chrome_put_string(struct marey_textbuf *out, struct marey_str text);
size_t marey__chrome_put_scalar(struct marey_textbuf *out, struct marey_str text,
                                uint64_t *n_mended);

/* chrome_value.c. Adds JSON text that came from a file. Text that strict readers refuse is
 * mended: NaN and infinities become null, other scalars that JSON does not have strings, raw
 * control characters and wrong escapes are escaped, invalid UTF-8 becomes U+FFFD. All other
 * text stays as it is, byte by byte. Returns how many scalars were mended. */
uint64_t marey__chrome_add_value(struct marey_textbuf *out, struct marey_str json);

#endif
