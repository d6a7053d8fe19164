/*
 * builder.h - from records in file order to a finished trace.
 *
 * An importer (or the intake of a recording) adds what it reads; `finish` sorts the
 * slices by track and law 2's order, finds parents, applies names and base times and
 * hands out a read-only trace. Times are added as the file gives them (ns from the
 * file's own zero); the base of their source is added at the end, because some files
 * tell it last.
 *
 * Adding fails only for want of memory: the builder is then marked as failed, later
 * calls do nothing, and `finish` says so.
 */
#ifndef MAREY_SRC_TRACE_BUILDER_H
#define MAREY_SRC_TRACE_BUILDER_H

#include "base/alloc.h"
#include "base/intern.h"
#include "marey/trace.h"
#include "trace/ledger.h"

#define MAREY_OFFSET(source_idx, byte) (((uint64_t)(source_idx) << 48) | (uint64_t)(byte))
#define MAREY_OFFSET_BYTE(offset) ((offset)&UINT64_C(0xffffffffffff))
#define MAREY_OFFSET_SOURCE(offset) ((uint32_t)((offset) >> 48))

struct marey_builder;

/* What is known of the args that a walk hands over. */
struct marey_args_verdict {
    uint64_t n_cut; /* how often a structure broke so far, and what stands before was handed over */
    bool is_clean;  /* those at hand are JSON as they stand, without a key twice */
};

typedef enum marey_status (*marey_args_walk_fn)(void *ctx, const uint64_t *offsets, size_t n,
                                                marey_args_fn fn, void *user,
                                                struct marey_error *err);

/* Where args come from after the load. `walk` calls fn for each offset, ascending, and
 * may be called from one thread at a time. Args are objects whose structure is JSON; of those
 * that broke, what stands before the fault (base/json_sound.c).
 *
 * `alike` gives words by which the args of alike_bits are told: where the words are the same, so
 * are these args. NULL: the record has none of them. The words live as long as the provider. May be
 * NULL, where nothing is known of args but by reading them. */
struct marey_args_provider {
    void *ctx;
    marey_args_walk_fn walk;
    void (*release)(void *ctx);
    marey_args_walk_fn walk_raw;              /* for who finds the fault himself; NULL: as walk */
    const struct marey_args_verdict *verdict; /* NULL: nobody looks */
    const uint64_t *(*alike)(void *ctx, uint64_t offset, uint32_t *n_words);
    uint64_t alike_bits; /* of texts only */
};

struct marey_track_key {
    enum marey_track_kind kind;
    uint32_t process_id; /* string ids; MAREY_NONE if missing */
    uint32_t thread_id;
    int64_t device; /* MAREY_UNKNOWN where it does not apply */
    int64_t context;
    int64_t stream;
};

/* NULL without memory. */
struct marey_builder *marey__builder_new(const struct marey_alloc *alloc);
void marey__builder_free(struct marey_builder *builder);
bool marey__builder_failed(const struct marey_builder *builder);

/* Lets the finish use so many threads, the caller among them; else it uses no other. */
void marey__builder_use_threads(struct marey_builder *builder, size_t n_threads);

/* The table that all name ids are of. */
struct marey_intern *marey__builder_strings(struct marey_builder *builder);
struct marey_account *marey__builder_account(struct marey_builder *builder);

/* What of the text is looked at; MAREY_CHECK_FIELDS unless told. */
void marey__builder_set_checked(struct marey_builder *builder, enum marey_check checked);

/* Begins the next source: all records that follow are of it. Its index, MAREY_NONE
 * without memory or past 65,535 sources. */
uint32_t marey__builder_begin_source(struct marey_builder *builder, const char *path);

/* The current source, to be filled in (rank, base_ns, size_bytes, counts); valid until the
 * next marey__builder_begin_source. */
struct marey_source *marey__builder_source(struct marey_builder *builder);

/* Times of the current source are added as counted from its base and so many nanoseconds more. */
void marey__builder_shift_source(struct marey_builder *builder, int64_t shift_ns);

/* Times of the current source are added as counted from the Unix epoch: its base is told, no more.
 */
void marey__builder_set_absolute(struct marey_builder *builder);

/* The current source is a cycle of the process of that one, which is not behind it. Where no file
 * says so, the finish finds out. */
void marey__builder_set_cycle_of(struct marey_builder *builder, uint32_t source_idx);

/* The id of a category as the file spells it; {NULL, 0} is "no category". Past 239
 * different ones those that mean the same share an id, and the ledger says so. */
uint8_t marey__builder_category(struct marey_builder *builder, struct marey_str text);
enum marey_kind marey__builder_kind(const struct marey_builder *builder, uint8_t cat_id);

/* The index of a track of the current source, made if new; MAREY_NONE without memory. */
uint32_t marey__builder_track(struct marey_builder *builder, const struct marey_track_key *key);

enum marey_track_kind marey__builder_track_kind(const struct marey_builder *builder,
                                                uint32_t track_idx);

/* Of the current source `done` bytes of `all` have been added: makes room for the rest as if it was
 * like them, so that columns need not be moved while they grow. */
void marey__builder_expect(struct marey_builder *builder, uint64_t done, uint64_t all);

struct marey_new_slice {
    int64_t start_ns;
    int64_t dur_ns; /* >= 0, or MAREY_UNKNOWN */
    uint64_t offset;
    uint64_t correlation;
    uint32_t track_idx;
    uint32_t name_id; /* MAREY_NONE if it has none */
    uint8_t cat_id;
    bool has_correlation;
};

/* Adds a complete slice (X). */
void marey__builder_add_slice(struct marey_builder *builder, const struct marey_new_slice *slice);

/* B and E records, in file order of each track. name_id of an end may be MAREY_NONE. */
void marey__builder_begin_slice(struct marey_builder *builder, const struct marey_new_slice *slice);
void marey__builder_end_slice(struct marey_builder *builder, uint32_t track_idx, int64_t ts_ns,
                              uint32_t name_id, uint64_t offset);

/* The track of the slice of this source that began last of those that are open and were written
 * with this process and thread; MAREY_NONE: none is open. */
uint32_t marey__builder_opened_at(struct marey_builder *builder, uint32_t process_id,
                                  uint32_t thread_id);

bool marey__builder_has_open(const struct marey_builder *builder, uint32_t track_idx);

/* For who knows the rows himself: the columns of slices as they are being built, lent with room
 * for so many more. Rows are added, ended and cut by the functions of trace/lent_rows.h, and are
 * the trace's when they are taken. Until then the builder must not be given a slice. */
struct marey_lent_rows {
    int64_t *start_ns;
    int64_t *dur_ns;
    uint64_t *offset;
    uint32_t *name_id;
    uint32_t *track_idx;
    uint8_t *cat_id;
    uint8_t *flags;
    size_t n; /* with those that were there before */
    size_t capacity;
};

/* False without memory; what was lent before is taken then. Rows keep their numbers. */
bool marey__builder_lend_rows(struct marey_builder *builder, size_t n_more,
                              struct marey_lent_rows *rows);
void marey__builder_take_rows(struct marey_builder *builder, struct marey_lent_rows *rows);

struct marey_new_point {
    int64_t ts_ns;
    uint64_t offset;
    uint32_t track_idx;
    uint32_t name_id;
    uint8_t cat_id;
    uint8_t scope;
};

void marey__builder_add_instant(struct marey_builder *builder, const struct marey_new_point *point);
void marey__builder_add_counter(struct marey_builder *builder, const struct marey_new_point *point);
void marey__builder_add_flow(struct marey_builder *builder, const struct marey_new_point *point,
                             uint64_t id, char phase);

/* Asynchronous begin ('b') and end ('e'); id_text names the span. */
void marey__builder_add_async(struct marey_builder *builder, const struct marey_new_point *point,
                              uint32_t id_text, char phase);

/* A member of the head or tail, in the place of one of the source with the same key: then false. */
bool marey__builder_set_meta(struct marey_builder *builder, struct marey_str key,
                             struct marey_str json);

/* An M record. */
void marey__builder_add_meta_record(struct marey_builder *builder,
                                    const struct marey_meta_record *record);

/* A record set aside: counts the reason and keeps the row. */
void marey__builder_quarantine(struct marey_builder *builder, enum marey_reason reason,
                               const struct marey_new_slice *slice);

/* Makes the trace. Takes the provider (also on failure) and empties the builder, which
 * is still to be freed.
 * \fails MAREY_NOMEM, MAREY_LIMIT (2^32 - 1 slices or more) */
MAREY_MUST_CHECK enum marey_status marey__builder_finish(struct marey_builder *builder,
                                                         struct marey_args_provider provider,
                                                         struct marey_trace **trace,
                                                         struct marey_error *err);

/* The allocator that a trace was made with; what is derived from the trace uses it too. */
const struct marey_alloc *marey__trace_alloc(const struct marey_trace *trace);

/* What is known of the args that are walked over. */
const struct marey_args_verdict *marey__trace_args_verdict(const struct marey_trace *trace);

#endif
