/*
 * marey/trace.h - the model of a trace: what happened when on which track.
 *
 *     struct marey_slices s = marey_trace_slices(trace);
 *     for (size_t i = 0; i < s.n; i++)
 *         use(marey_trace_string(trace, s.name_id[i]), s.start_ns[i], s.dur_ns[i]);
 *     marey_trace_free(trace);
 *
 * Life: an importer makes a trace; from then on it is read-only. Everything
 * that a function here returns is borrowed and lives as long as the trace.
 * Columns that most users never ask for (owners, self times, decoded args)
 * are built at the first call that needs them, once.
 *
 * Threads: a trace may be read from many threads at a time; the functions that
 * take a non-const trace build a column under the trace's lock.
 *
 * Definitions: docs/dev/glossary.md and docs/numbers.md.
 */
#ifndef MAREY_TRACE_H
#define MAREY_TRACE_H

#include <stdbool.h>

#include "marey/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct marey_trace;

/* Releases a trace and everything borrowed from it. NULL is allowed. */
MAREY_API void marey_trace_free(struct marey_trace *trace);

/* ---- strings ---------------------------------------------------------- */

/* The text of an interned string. Ids are dense from 0 and in order of first
 * appearance; id 0 is the empty string. MAREY_NONE gives {NULL, 0}. */
MAREY_API struct marey_str marey_trace_string(const struct marey_trace *trace, uint32_t string_id);
MAREY_API size_t marey_trace_n_strings(const struct marey_trace *trace);

/* ---- kinds and categories --------------------------------------------- */

/* What a category means to the laws of the numbers. A file's own spelling of a
 * category stays available as text (marey_trace_category). */
enum marey_kind {
    MAREY_KIND_OTHER = 0,
    MAREY_KIND_OP = 1,                /* cpu_op, Operator */
    MAREY_KIND_ANNOTATION = 2,        /* user_annotation */
    MAREY_KIND_PYTHON = 3,            /* python_function */
    MAREY_KIND_RUNTIME = 4,           /* cuda_runtime and its like */
    MAREY_KIND_DRIVER = 5,            /* cuda_driver and its like */
    MAREY_KIND_KERNEL = 6,            /* kernel */
    MAREY_KIND_MEMCPY = 7,            /* gpu_memcpy */
    MAREY_KIND_MEMSET = 8,            /* gpu_memset */
    MAREY_KIND_DEVICE_ANNOTATION = 9, /* gpu_user_annotation: no device work */
    MAREY_KIND_SYNC = 10,             /* cuda_sync: no device work */
    MAREY_KIND_DEVICE_EVENT = 11,     /* cuda_event: no device work */
    MAREY_KIND_OVERHEAD = 12,         /* the profiler's own cost: owns nothing */
    MAREY_KIND_MEMORY = 13,           /* cpu_instant_event: [memory], [OutOfMemory] */
    MAREY_KIND_COUNTER = 14,          /* hardware_counters and its like */
    MAREY_KIND_WINDOW = 15,           /* Trace: the span that was recorded */
    MAREY_KIND_FLOW = 16,             /* ac2g, fwdbwd and their older names */
    MAREY_N_KINDS = 17
};

/* "op", "kernel", ...: the word of the glossary. Never NULL. */
MAREY_API const char *marey_kind_name(enum marey_kind kind);

/* True for kernel, memcpy and memset: a device operation (law 3). */
MAREY_API bool marey_kind_is_device_operation(enum marey_kind kind);

/* A category as the file spells it, and what it means. */
struct marey_category {
    uint32_t name_id; /* MAREY_NONE where records have no category */
    enum marey_kind kind;
};

/* \shape categories[n], indexed by cat_id of the columns; n <= 256 */
MAREY_API const struct marey_category *marey_trace_categories(const struct marey_trace *trace,
                                                              size_t *n);

/* ---- tracks ------------------------------------------------------------ */

enum marey_track_kind {
    MAREY_TRACK_THREAD = 0,      /* a host thread */
    MAREY_TRACK_STREAM = 1,      /* device operations of one stream */
    MAREY_TRACK_STREAM_NOTE = 2, /* annotations drawn on that stream */
    MAREY_TRACK_STREAM_SYNC = 3  /* synchronisation and event records there */
};

/* Where slices lie. Two records share a track when all of these are equal:
 * kind, source (a file, so host, rank and session), process, thread, device,
 * context, stream. Ids compare by their text: 7 and "7" are one.
 * Slices of a track are contiguous in the columns. */
struct marey_track {
    enum marey_track_kind kind;
    uint32_t source_idx;
    uint32_t process_id; /* string id of the pid's text; MAREY_NONE if missing */
    uint32_t thread_id;  /* string id of the tid's text; MAREY_NONE if missing */
    int64_t device;      /* MAREY_UNKNOWN on a thread */
    int64_t context;     /* MAREY_UNKNOWN where the file does not say */
    int64_t stream;
    uint32_t first_slice;
    uint32_t n_slices;
    uint32_t process_name_id; /* from the metadata; MAREY_NONE if not given */
    uint32_t thread_name_id;  /* the first name given; MAREY_NONE if not given */
    uint32_t n_crossings;     /* slices that outlive their parent */
};

/* \shape tracks[n], in the order kind, rank, process, thread, device, context,
 * stream: the same for every order of records in the file (law 6) */
MAREY_API const struct marey_track *marey_trace_tracks(const struct marey_trace *trace, size_t *n);

/* ---- slices ------------------------------------------------------------ */

enum marey_slice_flag {
    MAREY_SLICE_OPEN = 1,        /* never ended: reaches to the end of its recording */
    MAREY_SLICE_FROM_BEGIN = 2,  /* read as a B and an E record */
    MAREY_SLICE_CROSSES = 4,     /* outlives its parent */
    MAREY_SLICE_UNKNOWN_DUR = 8, /* the file gives no duration: dur_ns is MAREY_UNKNOWN */
    MAREY_SLICE_ASYNC =
        16 /* torch marked it as asynchronous; a recording only, files do not say it */
};

/* Closed intervals as columns, sorted by track and in a track by law 2's order
 * (start ascending, end descending, kind, name, file offset).
 * \shape every column has n entries
 * \units start_ns counts from the Unix epoch where the file says how, else
 *        from the file's own zero; dur_ns >= 0 or MAREY_UNKNOWN
 * parent_idx is the innermost slice open on the track when the slice begins,
 * MAREY_NONE at the top level and on every device track. */
struct marey_slices {
    size_t n;
    const int64_t *start_ns;
    const int64_t *dur_ns;
    const uint32_t *name_id;
    const uint32_t *parent_idx;
    const uint8_t *cat_id;
    const uint8_t *flags;
    const uint64_t *offset; /* source index << 48 | byte offset of the record */
};

MAREY_API struct marey_slices marey_trace_slices(const struct marey_trace *trace);

/* An offset taken apart. */
struct marey_place_in_file {
    uint32_t source_idx;
    uint64_t byte; /* of the JSON text, also where the file is compressed */
};

MAREY_API struct marey_place_in_file marey_place_of_offset(uint64_t offset);

/* A duration that cannot be (the ledger's wild_duration), as the file gives it: in the columns the
 * operation ends where the next one of its stream begins. */
struct marey_raw_dur {
    uint32_t slice_idx;
    int64_t dur_ns;
};

/* \shape raw_durs[n], slice_idx ascending */
MAREY_API const struct marey_raw_dur *marey_trace_raw_durs(const struct marey_trace *trace,
                                                           size_t *n);

/* The duration of a slice as the file gives it. \cost O(log raw durations) */
MAREY_API int64_t marey_trace_raw_dur_ns(const struct marey_trace *trace, uint32_t slice_idx);

/* A span in which nothing of a source was recorded, between two of its windows: a pause, or what
 * lies between the cycles of a schedule. */
struct marey_gap {
    uint32_t source_idx;
    int64_t start_ns;
    int64_t end_ns;
};

/* \shape gaps[n], by source, ascending, apart from one another */
MAREY_API const struct marey_gap *marey_trace_gaps(const struct marey_trace *trace, size_t *n);

/* The kind of a slice's category. */
MAREY_API enum marey_kind marey_trace_slice_kind(const struct marey_trace *trace,
                                                 uint32_t slice_idx);

/* The track of a slice. \cost O(log tracks) */
MAREY_API uint32_t marey_trace_slice_track(const struct marey_trace *trace, uint32_t slice_idx);

/* Self times of all slices by law 2: on each track every instant belongs to the
 * innermost open slice. Σ self of a track = measure of its union.
 * \shape self_ns[n of slices]; 0 for a slice of unknown duration
 * \fails MAREY_NOMEM */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_trace_self_ns(struct marey_trace *trace, const int64_t **self_ns, struct marey_error *err);

/* ---- launches and owners ------------------------------------------------ */

/* Runtime and driver calls and device operations that carry a correlation id.
 * \shape n entries, slice_idx ascending */
struct marey_links {
    size_t n;
    const uint32_t *slice_idx;
    const uint64_t *correlation;
};

MAREY_API struct marey_links marey_trace_links(const struct marey_trace *trace);

/* Who launched a device operation and who owns it (law 4): the launch is the
 * latest launch call (a runtime or driver record whose name holds launch, memcpy or
 * memset; of nested ones the outermost) with the same source and correlation that
 * began no later, else the first one; the owner is the innermost op around that call (a
 * slice of no known category stands for one), else the innermost annotation, else the call itself.
 * \shape each column has one entry for each link; MAREY_NONE for calls, and for operations whose
 * launch is not in the trace */
struct marey_owners {
    size_t n;
    const uint32_t *launch_idx;
    const uint32_t *owner_idx;
    uint64_t n_without_launch; /* device operations that nobody launched */
    uint64_t n_without_kernel; /* launch calls that led to no operation */
    uint64_t n_before_launch;  /* operations that begin before their launch */
    uint64_t n_operations;     /* all of them */
    uint64_t n_launches;
};

/* \fails MAREY_NOMEM */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_trace_owners(struct marey_trace *trace, struct marey_owners *owners, struct marey_error *err);

/* How far the clocks of a device and its host are apart at the least, by what cannot be
 * otherwise: an operation begins no earlier than its launch call, and ends no later than the first
 * call after that which waited for the whole device. Only devices of which something is proved.
 * \units ns; MAREY_UNKNOWN where nothing is */
struct marey_clock_bound {
    uint32_t source_idx;
    int64_t device;
    int64_t leads_by_at_least_ns; /* of the device before the host */
    int64_t lags_by_at_least_ns;
    int64_t first_at_ns; /* start of the earliest operation that lags */
};

/* \shape bounds[n]
 * \fails MAREY_NOMEM */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_trace_clock_bounds(struct marey_trace *trace, const struct marey_clock_bound **bounds,
                         size_t *n, struct marey_error *err);

/* ---- instants, counters, flows, asynchronous spans ----------------------- */

/* \shape n entries, in order of track, time, name, offset */
struct marey_instants {
    size_t n;
    const int64_t *ts_ns;
    const uint32_t *track_idx;
    const uint32_t *name_id;
    const uint8_t *cat_id;
    const uint8_t *scope; /* 't', 'p', 'g' as in the file, 0 if not given */
    const uint64_t *offset;
};

MAREY_API struct marey_instants marey_trace_instants(const struct marey_trace *trace);

/* Counter records; the values are args. Ordered as instants. */
struct marey_counters {
    size_t n;
    const int64_t *ts_ns;
    const uint32_t *track_idx;
    const uint32_t *name_id;
    const uint8_t *cat_id;
    const uint64_t *offset;
};

MAREY_API struct marey_counters marey_trace_counters(const struct marey_trace *trace);

/* Ends of arrows. phase: 's', 't' or 'f'. label_idx names category and name. */
struct marey_flows {
    size_t n;
    const int64_t *ts_ns;
    const uint64_t *id;
    const uint32_t *track_idx;
    const uint8_t *label_idx;
    const uint8_t *phase;
};

struct marey_flow_label {
    uint32_t cat_name_id;
    uint32_t name_id;
};

MAREY_API struct marey_flows marey_trace_flows(const struct marey_trace *trace);
MAREY_API const struct marey_flow_label *marey_trace_flow_labels(const struct marey_trace *trace,
                                                                 size_t *n);

/* Asynchronous spans (b and e records): no slices, no CPU time. dur_ns is
 * MAREY_UNKNOWN where the end is missing. id_text is the id as in the file. */
struct marey_async_span {
    int64_t start_ns;
    int64_t dur_ns;
    uint32_t track_idx;
    uint32_t name_id;
    uint32_t id_text;
    uint32_t cat_id;
    uint64_t offset;
    uint64_t end_offset; /* of the e record; UINT64_MAX if missing */
};

MAREY_API const struct marey_async_span *marey_trace_async_spans(const struct marey_trace *trace,
                                                                 size_t *n);

/* ---- sources, metadata --------------------------------------------------- */

/* One file (or one recorded session) that went into the trace. */
struct marey_source {
    uint32_t path_id;   /* string id */
    int64_t rank;       /* from distributedInfo, else assumed: a place in the list */
    int64_t world_size; /* MAREY_UNKNOWN if not given */
    bool rank_is_assumed;
    int64_t base_ns;     /* baseTimeNanoseconds, 0 if absent */
    uint64_t size_bytes; /* of the JSON text */
    uint64_t n_records;  /* elements of traceEvents */
    uint64_t n_metadata; /* records of phase M */
    bool is_gzip;
    uint32_t cycle_of; /* the first source of the same process; its own index: none is before it */
};

MAREY_API const struct marey_source *marey_trace_sources(const struct marey_trace *trace,
                                                         size_t *n);

/* A member of the file's head or tail: key and its value as JSON text. */
struct marey_meta {
    uint32_t source_idx;
    uint32_t key_id;
    uint32_t json_id;
};

/* \shape metas[n], in file order */
MAREY_API const struct marey_meta *marey_trace_metas(const struct marey_trace *trace, size_t *n);

/* JSON text of a head or tail member of the first source that has it; {NULL, 0}
 * if there is none. */
MAREY_API struct marey_str marey_trace_meta(const struct marey_trace *trace, const char *key);

/* Metadata records (phase M) as read. args_id is JSON text. */
struct marey_meta_record {
    uint32_t source_idx;
    uint32_t name_id;
    uint32_t process_id; /* string ids as in struct marey_track */
    uint32_t thread_id;
    uint32_t args_id;
    int64_t ts_ns; /* MAREY_UNKNOWN if not given */
};

MAREY_API const struct marey_meta_record *marey_trace_meta_records(const struct marey_trace *trace,
                                                                   size_t *n);

/* ---- args ------------------------------------------------------------------ */

/* Args that analyses need as columns. Adding one: a row in the table of
 * src/trace/args.c, an enumerator here. */
enum marey_arg {
    MAREY_ARG_EXTERNAL_ID = 0,      /* integer */
    MAREY_ARG_SEQUENCE = 1,         /* integer: Sequence number */
    MAREY_ARG_FORWARD_THREAD = 2,   /* integer: Fwd thread id */
    MAREY_ARG_EVENT_IDX = 3,        /* integer: Ev Idx */
    MAREY_ARG_PYTHON_ID = 4,        /* integer: Python id */
    MAREY_ARG_PYTHON_PARENT_ID = 5, /* integer: Python parent id */
    MAREY_ARG_PYTHON_MODULE_ID = 6, /* integer: Python module id */
    MAREY_ARG_INPUT_DIMS = 7,       /* JSON text */
    MAREY_ARG_INPUT_TYPES = 8,      /* JSON text: Input type */
    MAREY_ARG_INPUT_STRIDES = 9,    /* JSON text */
    MAREY_ARG_CONCRETE_INPUTS = 10, /* JSON text */
    MAREY_ARG_CALL_STACK = 11,      /* text: Call stack, innermost first, split by ';' */
    MAREY_ARG_FINISHED = 12,        /* integer: 0 where the event was still open */
    MAREY_ARG_BYTES = 13,           /* integer: bytes of a copy or of a [memory] record */
    MAREY_N_ARGS = 14
};

#define MAREY_ARG_BIT(arg) (UINT64_C(1) << (arg))

/* Decodes args into columns: one pass over the records for all bits asked for
 * that are not decoded yet.
 * \fails MAREY_NOMEM, MAREY_IO, MAREY_CHANGED (the file is not the one that was
 *        loaded); no column is half-built then
 * \cost reads the file again */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_trace_decode_args(struct marey_trace *trace, uint64_t arg_bits, struct marey_error *err);

/* Columns that marey_trace_decode_args made; NULL before it or for the other type.
 * \shape [n of slices]; integers are MAREY_UNKNOWN and texts MAREY_NONE where
 *        the record does not have the arg. Texts are string ids. */
MAREY_API const int64_t *marey_trace_arg_ints(const struct marey_trace *trace, enum marey_arg arg);
MAREY_API const uint32_t *marey_trace_arg_texts(const struct marey_trace *trace,
                                                enum marey_arg arg);

/* Called for each record asked for, in ascending order of offset. `args` is the
 * JSON text of the args object ("{...}"), {NULL, 0} if there is none; it is
 * valid during the call. A status other than MAREY_OK ends the walk. */
typedef enum marey_status (*marey_args_fn)(void *user, size_t i, struct marey_str args);

/* Walks the args of many records in one pass.
 * \shape offsets[n], ascending: values of an offset column
 * \fails what marey_trace_decode_args fails with, or what fn returned */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_trace_walk_args(struct marey_trace *trace, const uint64_t *offsets, size_t n,
                      marey_args_fn fn, void *user, struct marey_error *err);

/* ---- memory records --------------------------------------------------------- */

/* [memory] instants decoded, in the order of marey_trace_instants. */
struct marey_memory_records {
    size_t n;
    const uint32_t *instant_idx;
    const int64_t *bytes; /* signed: negative frees; MAREY_UNKNOWN if missing */
    const int64_t *device_type;
    const int64_t *device_id;
    const int64_t *addr;
    const int64_t *total_allocated;
};

/* \fails as marey_trace_decode_args */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_trace_memory_records(struct marey_trace *trace, struct marey_memory_records *records,
                           struct marey_error *err);

/* ---- the ledger --------------------------------------------------------------- */

enum marey_ledger_map {
    MAREY_LEDGER_QUARANTINED = 0, /* set aside whole, in no number */
    MAREY_LEDGER_REPAIRED = 1,    /* used after a change */
    MAREY_LEDGER_FINDING = 2,     /* wrong, and used as it is */
    MAREY_LEDGER_INFO = 3         /* normal, and counted */
};

#define MAREY_LEDGER_EXAMPLES 8

/* What a ledger may tell of. All texts are static; docs/ledger.md shows them. */
struct marey_ledger_reason {
    enum marey_ledger_map map;
    const char *reason;  /* its name, such as "negative_dur" */
    const char *meaning; /* what was met, in the plural */
    const char *effect;  /* what it does to the numbers */
    const char *remedy;  /* what can be done; NULL if nothing need be */
    char best_grade;     /* of a trace that has it: 'B', 'C', 'D'; 0 if it does not matter there */
};

/* All reasons there are. \shape reasons[n], in the order of the rows of a ledger */
MAREY_API const struct marey_ledger_reason *marey_ledger_reasons(size_t *n);

/* One reason and how often it was met; the texts are those of the reason. */
struct marey_ledger_row {
    enum marey_ledger_map map;
    const char *reason;
    const char *meaning;
    const char *effect;
    const char *remedy; /* or NULL */
    uint64_t count;
    size_t n_examples;
    uint64_t example_offset[MAREY_LEDGER_EXAMPLES];
};

/* What of a file's text was looked at. */
enum marey_check {
    MAREY_CHECK_FIELDS = 0, /* frame, records, the members that are used; the rest is passed over */
    MAREY_CHECK_ALL = 1     /* every byte of every record, args included */
};

/* The account of a trace: rows with a count above 0, in a fixed order. `before` is what its files
 * say was left out or mended when Marey wrote them, or known then to be missing: rows without
 * examples, counted together as "lost_before" and "mended_before" in `rows`.
 * \shape rows[n_rows], before[n_before] */
struct marey_ledger {
    uint64_t n_read; /* records of all sources */
    uint64_t n_used;
    enum marey_check checked; /* a recorded trace has no text: ALL */
    size_t n_rows;
    const struct marey_ledger_row *rows;
    size_t n_before;
    const struct marey_ledger_row *before;
};

/* Whether a row of a ledger is the one, "lost_before" or "mended_before", that counts a row of its
 * `before`. */
MAREY_API bool marey_ledger_counts_before(const struct marey_ledger_row *row,
                                          const struct marey_ledger_row *before);

/* How often a row of the trace's ledger was met in a source; 0 for what is of no source, such as
 * ranks that are missing. */
MAREY_API uint64_t marey_trace_row_count(const struct marey_trace *trace,
                                         const struct marey_ledger_row *row, uint32_t source_idx);

/* Builds what is missing (owners) and returns the account.
 * \fails MAREY_NOMEM */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_trace_ledger(struct marey_trace *trace, struct marey_ledger *ledger, struct marey_error *err);

/* How far the numbers of a trace can be trusted, in one letter: 'A', all that was recorded is
 * there, to 'D', so much is missing or wrong that they mislead. docs/ledger.md says how. */
struct marey_grade {
    char letter;
    const char *because;       /* the reason of the ledger that decides; NULL for 'A' */
    uint64_t n_operations;     /* of the device */
    uint64_t n_with_launch;    /* those of them whose launch is in the trace */
    uint64_t n_launches;       /* launch calls */
    uint64_t n_with_operation; /* those of them whose operation is in the trace */
};

/* \fails MAREY_NOMEM */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_trace_grade(struct marey_trace *trace, struct marey_grade *grade, struct marey_error *err);

/* A record that was set aside (law 7), for views that must show it. */
struct marey_quarantined {
    const char *reason;
    int64_t start_ns; /* MAREY_UNKNOWN if the record has none */
    int64_t dur_ns;
    uint32_t track_idx; /* MAREY_NONE if it names none */
    uint32_t name_id;
    uint32_t cat_id;
    uint64_t offset;
    uint64_t correlation; /* 0 without has_correlation */
    bool has_correlation;
};

MAREY_API const struct marey_quarantined *marey_trace_quarantined(const struct marey_trace *trace,
                                                                  size_t *n);

/* ---- size ------------------------------------------------------------------------ */

/* What a trace holds in memory.
 * \units bytes */
struct marey_footprint {
    uint64_t column_bytes; /* slices, links, flows, instants, counters */
    uint64_t string_bytes; /* interned text and its table */
    uint64_t lazy_bytes;   /* columns built later */
    uint64_t other_bytes;
};

MAREY_API struct marey_footprint marey_trace_footprint(struct marey_trace *trace);

#ifdef __cplusplus
}
#endif

#endif
