/*
 * kineto.h - what records mean: fields to the builder, reason by reason.
 *
 * The scanner hands over one record at a time. It keeps what the record resolved to
 * (`last`), from which the walk learns to recognise the next one like it.
 */
#ifndef MAREY_SRC_IMPORT_KINETO_H
#define MAREY_SRC_IMPORT_KINETO_H

#include "import/fields.h"
#include "import/names.h"
#include "import/part.h"
#include "trace/builder.h"

/* Times of a record lie within ± this, so that start, end and base can be added. */
#define MAREY_TIME_LIMIT_NS (INT64_C(1) << 62)

/* What a record came to. */
struct marey_resolved {
    char phase;
    uint8_t cat_id;
    enum marey_kind kind;
    uint32_t name_id;
    uint32_t process_id;
    uint32_t thread_id;
    uint32_t track_idx;
    uint8_t scope;
    bool is_clean;     /* added as it stands: nothing noted, nothing set aside */
    bool is_set_aside; /* by what itself says */
};

#define MAREY_N_CACHED_TRACKS 64

struct marey_cached_track {
    struct marey_track_key key;
    uint32_t track_idx; /* MAREY_NONE: free */
};

struct marey_kineto {
    struct marey_builder *builder;
    struct marey_intern *strings;
    struct marey_account *account;
    uint32_t source_idx;
    struct marey_names names;
    struct marey_textbuf scratch;
    struct marey_textbuf
        sound; /* args of the last metadata, as far as they are: a part reads them */
    struct marey_cached_track track[MAREY_N_CACHED_TRACKS];
    uint32_t cat_name_id; /* of the category looked up last */
    uint8_t cat_id;
    uint32_t cat_damage;
    uint64_t n_records; /* of this source, all of them */
    uint64_t n_metadata;
    uint64_t n_events;        /* all others that have a known phase */
    uint64_t n_without_phase; /* members, but none of them a ph */
    uint32_t damage;          /* enum marey_damage that a check found in any record of any source */
    struct marey_resolved last;
    struct marey_meta_record last_meta; /* if it was of phase M */
    struct marey_file_part part;
};

/* False without memory. */
bool marey__kineto_init(struct marey_kineto *kineto, const struct marey_alloc *alloc,
                        struct marey_builder *builder);
void marey__kineto_release(struct marey_kineto *kineto);

/* Begins a source: counts are 0 and tracks are new. */
void marey__kineto_begin_source(struct marey_kineto *kineto, uint32_t source_idx);

/* Adds one record. launch holds what its args say where marey__kineto_wants_args.
 * Returns NULL, or in words why the record is no JSON after all. */
const char *marey__kineto_add(struct marey_kineto *kineto, const struct marey_fields *fields,
                              const struct marey_launch_args *launch);

/* True if a record of this category gets ids from its args. */
bool marey__kineto_wants_args(enum marey_kind kind);

/* The category of a record. */
uint8_t marey__kineto_category(struct marey_kineto *kineto, const struct marey_value *cat,
                               enum marey_kind *kind);

/* The track of a record; launch may be NULL. MAREY_NONE without memory. */
uint32_t marey__kineto_track(struct marey_kineto *kineto, enum marey_kind kind, uint32_t process_id,
                             uint32_t thread_id, const struct marey_launch_args *launch);

/* An id as 64 bits: integers that fit as they are, every other text by its hash with the
 * top bit set, so that it does not depend on what was read before. */
uint64_t marey__kineto_id64(struct marey_kineto *kineto, const struct marey_value *value);

/* Microseconds as text to nanoseconds. */
enum marey_time {
    MAREY_TIME_OK,
    MAREY_TIME_NONE, /* no number */
    MAREY_TIME_RANGE /* a number beyond MAREY_TIME_LIMIT_NS */
};
enum marey_time marey__kineto_time(const struct marey_value *value, int64_t *ns);

#endif
