/*
 * walk.h - sessions on their way into a trace: intake.c walks their records, describe.c writes what
 * else a trace says of itself.
 */
#ifndef MAREY_SRC_INTAKE_WALK_H
#define MAREY_SRC_INTAKE_WALK_H

#include "intake/arrows.h"
#include "intake/intake.h"
#include "intake/open.h"

/* Ranks of one job share it: what Kineto rounds its base down to, a quarter of a year. */
#define MAREY_BASE_NS (INT64_C(7889238) * MAREY_NS_PER_S)

/* What a site id means in the trace; name_id MAREY_NONE: not asked for yet. */
struct known_site {
    uint32_t name_id;
    uint32_t wanted_by; /* the wants that show it */
    uint8_t cat_id;
    uint8_t flags; /* of its slices */
    bool is_backward;
};

struct intake {
    struct marey_alloc alloc;
    struct marey_builder *builder;
    struct marey_recorded_args *args;
    const struct marey_recorded *recorded; /* the session that is taken */
    const struct marey_snapshot *snapshot; /* its own */
    const struct marey_log_part *part;     /* the thread that is taken */
    struct marey_lent_rows rows;           /* the slices, while a session is taken */
    uint64_t start_ticks;                  /* of the session, and how long it took */
    uint64_t length_ticks;
    uint64_t first_offset; /* of the chunk that is taken */
    uint32_t wants;
    int64_t base_ns;
    uint32_t process_id;
    uint32_t thread_id;
    uint32_t track_idx;
    uint8_t op_cat;
    uint8_t annotation_cat;
    uint8_t no_cat;
    int64_t gap_ns;        /* the last loss on this thread */
    int64_t first_lost_ns; /* on any; MAREY_UNKNOWN: nothing was lost */
    uint64_t n_cut;        /* ranges that were open at the stop or in a gap */
    uint64_t n_records;
    struct known_site **sites; /* pages by id; NULL: of none there was a record */
    size_t n_sites;
    struct known_site nameless; /* of an id that is not among them */
    struct marey_hashmap named; /* serial of a log that has its name in the trace */
    struct marey_open_ranges open;
    struct marey_open_range *begun; /* whose CPU record may follow, else NULL */
    struct marey_open_range *ended; /* the same; NULL or &last_ended. Where CPU time is wanted */
    struct marey_open_range last_ended;
    struct marey_arrows arrows;
    bool failed;
};

/* The time of a record since the Unix epoch. */
static inline int64_t marey__intake_ns(const struct intake *in, uint64_t ticks)
{
    return marey__snapshot_ns(in->snapshot, ticks);
}

/* The string id of a number's text; marks the intake as failed without memory, as all below do. */
uint32_t marey__intake_number(struct intake *in, int64_t number);

/* Metadata records that viewers name rows by. */
void marey__intake_name_process(struct intake *in);
void marey__intake_name_thread(struct intake *in, const struct marey_log_part *part);

/* The span that a session recorded, as a slice of a track of such spans. */
void marey__intake_add_window(struct intake *in);

/* The head of the file that this trace may become, in Kineto's order. */
void marey__intake_add_metas(struct intake *in);

#endif
