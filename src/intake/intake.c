/*
 * intake.c - the records of sessions, thread by thread, become slices, instants and counters.
 *
 * Sessions come one after another: nothing of one is open in the next.
 *
 * Begins and ends find each other by their tokens: the innermost open range with the end's
 * token. A range that is open at the stop, or when records were lost, is cut there.
 */
#include "intake/walk.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "record/tls.h"
#include "trace/lent_rows.h"

/* So much more than expected before columns move after all. */
#define SPARE_ROOM 1.02

/* More slices than this do not begin in a chunk. */
#define MOST_IN_CHUNK (MAREY_CHUNK_WORDS / 2)

/* Sites of a page. A trace has a few of those that a process ever had, which grow with its steps.
 */
#define PAGE_BITS 8
#define PAGE_SITES (UINT32_C(1) << PAGE_BITS)

/* ---- names ------------------------------------------------------------------------- */

static size_t n_pages(const struct intake *in)
{
    return (in->n_sites + PAGE_SITES - 1) >> PAGE_BITS;
}

static struct known_site *new_page(struct intake *in, uint32_t site_id)
{
    struct known_site *page = marey__alloc(&in->alloc, PAGE_SITES, sizeof *page);

    in->sites[site_id >> PAGE_BITS] = page;
    for (size_t i = 0; page != NULL && i < PAGE_SITES; i++)
        page[i] = (struct known_site){.name_id = MAREY_NONE};
    return page;
}

static void know_site(struct intake *in, struct known_site *site, uint32_t site_id)
{
    uint32_t scope = MAREY_SCOPE_USER;
    const struct marey_str text = marey__recorder_text(site_id, &scope);
    const uint8_t flags = (scope & MAREY_SCOPE_ASYNC) != 0 ? MAREY_SLICE_ASYNC : 0;
    scope &= ~(uint32_t)MAREY_SCOPE_ASYNC;
    const bool is_user = scope == MAREY_SCOPE_USER;

    *site = (struct known_site){
        .name_id = marey__intern(marey__builder_strings(in->builder), text),
        .wanted_by = is_user ? MAREY_WANT_RANGES | MAREY_WANT_OPS : MAREY_WANT_OPS,
        .cat_id = is_user ? in->annotation_cat : in->op_cat,
        .flags = flags,
        .is_backward = scope == MAREY_SCOPE_BACKWARD,
    };
    in->failed |= site->name_id == MAREY_NONE;
}

/* Of an id that no record had before. */
static __attribute__((noinline)) const struct known_site *new_site(struct intake *in,
                                                                   uint32_t site_id)
{
    if (site_id >= in->n_sites)
        return &in->nameless;
    struct known_site *page = in->sites[site_id >> PAGE_BITS];
    if (page == NULL)
        page = new_page(in, site_id);
    if (page == NULL) {
        in->failed = true;
        return &in->nameless;
    }
    struct known_site *site = &page[site_id & (PAGE_SITES - 1)];
    know_site(in, site, site_id);
    return site;
}

static inline const struct known_site *site_of(struct intake *in, uint32_t site_id)
{
    struct known_site *page = site_id < in->n_sites ? in->sites[site_id >> PAGE_BITS] : NULL;

    if (__builtin_expect(page != NULL, true)) {
        const struct known_site *site = &page[site_id & (PAGE_SITES - 1)];
        if (__builtin_expect(site->name_id != MAREY_NONE, true))
            return site;
    }
    return new_site(in, site_id);
}

/* ---- ranges ------------------------------------------------------------------------- */

/* Both ends of an arrow are told by autograd's number. */
static void note_arrow(struct intake *in, const uint64_t *record, const struct known_site *site,
                       int64_t start_ns)
{
    uint64_t sequence = 0;
    uint64_t thread = 0;

    if (marey__record_sequence(record, &sequence, &thread))
        in->failed |= !marey__arrows_add(&in->arrows, sequence, thread, site->is_backward, start_ns,
                                         in->track_idx);
}

/* The row of a range that begins with `record`. end_ns MAREY_UNKNOWN: where it ends is not known
 * yet. */
static inline uint32_t add_row(struct intake *in, const uint64_t *record,
                               const struct known_site *site, uint64_t offset, int64_t end_ns)
{
    const int64_t start_ns = marey__intake_ns(in, marey__record_value(record));
    const struct marey_lent_slice slice = {
        .start_ns = start_ns,
        .end_ns = end_ns,
        .offset = offset,
        .name_id = site->name_id,
        .track_idx = in->track_idx,
        .cat_id = site->cat_id,
        .flags = site->flags,
    };

    in->n_records++;
    if (marey__record_kind(record) != MAREY_RECORD_BEGIN)
        note_arrow(in, record, site, start_ns);
    return marey__rows_add(&in->rows, &slice);
}

static inline void begin_range(struct intake *in, const uint64_t *record, uint64_t offset)
{
    const struct known_site *site = site_of(in, (uint32_t)record[1]);
    const bool is_wanted = (in->wants & site->wanted_by) != 0;
    const uint32_t row = is_wanted ? add_row(in, record, site, offset, MAREY_UNKNOWN) : MAREY_NONE;

    in->begun = marey__open_push(&in->open, (uint32_t)(record[1] >> 32), row);
    in->failed |= in->begun == NULL;
}

/* A range whose end is the next record of its thread, which is half of them and more: nothing lies
 * inside, and it need not be looked for. */
static inline void take_leaf(struct intake *in, const uint64_t *record, const uint64_t *end,
                             uint64_t offset)
{
    const struct known_site *site = site_of(in, (uint32_t)record[1]);

    if ((in->wants & site->wanted_by) != 0)
        (void)add_row(in, record, site, offset, marey__intake_ns(in, marey__record_value(end)));
}

static void cut_range(struct intake *in, const struct marey_open_range *range, int64_t end_ns)
{
    if (range->row == MAREY_NONE || in->failed) /* without memory there may be no rows */
        return;
    in->n_cut++;
    marey__rows_cut(&in->rows, range->row, end_ns);
}

/* What lies inside an ended range and was open when records were lost has ended too. */
static void drop_doubtful_inside(struct intake *in, const struct marey_open_range *ended)
{
    struct marey_open_range *range = marey__open_top(&in->open);

    while (range != NULL && range != ended) {
        struct marey_open_range *around = marey__open_around(&in->open, range);
        if (range->lost_ns != MAREY_UNKNOWN) {
            cut_range(in, range, range->lost_ns);
            marey__open_remove(&in->open, range);
        }
        range = around;
    }
}

/* Without a token it may be the end of a range whose begin was lost. */
static inline void end_row(struct intake *in, const struct marey_open_range *range,
                           const uint64_t *record)
{
    if (__builtin_expect(range->lost_ns != MAREY_UNKNOWN, false) && range->token == 0)
        cut_range(in, range, range->lost_ns);
    else if (range->row != MAREY_NONE)
        marey__rows_end(&in->rows, range->row, marey__intake_ns(in, marey__record_value(record)));
}

static inline void end_range(struct intake *in, const uint64_t *record, uint64_t offset)
{
    struct marey_open_range *range = marey__open_find(&in->open, (uint32_t)record[1], &in->failed);

    if (__builtin_expect(range == NULL, false)) {
        marey__account_note(marey__builder_account(in->builder), MAREY_REASON_BEGAN_BEFORE, offset);
        return;
    }
    if (in->gap_ns != MAREY_UNKNOWN)
        drop_doubtful_inside(in, range);
    if ((in->wants & MAREY_WANT_CPU) != 0) {
        in->last_ended = *range;
        in->ended = &in->last_ended;
    }
    end_row(in, range, record);
    marey__open_remove(&in->open, range);
}

static void cut_open(struct intake *in, int64_t end_ns)
{
    struct marey_open_range *range = marey__open_top(&in->open);

    for (; range != NULL; range = marey__open_around(&in->open, range))
        cut_range(in, range, range->lost_ns != MAREY_UNKNOWN ? range->lost_ns : end_ns);
    marey__open_reset(&in->open);
}

/* ---- points ---------------------------------------------------------------------------- */

static void add_point(struct intake *in, const uint64_t *record, uint64_t offset)
{
    const struct marey_new_point point = {
        .ts_ns = marey__intake_ns(in, marey__record_value(record)),
        .offset = offset,
        .track_idx = in->track_idx,
        .name_id = site_of(in, (uint32_t)record[1])->name_id,
        .cat_id = in->no_cat,
        .scope = 't',
    };

    if ((in->wants & MAREY_WANT_RANGES) == 0)
        return;
    in->n_records++;
    if (marey__record_kind(record) == MAREY_RECORD_MARK)
        marey__builder_add_instant(in->builder, &point);
    else
        marey__builder_add_counter(in->builder, &point);
}

static void note_gap(struct intake *in, uint64_t ticks)
{
    in->gap_ns = marey__intake_ns(in, ticks);
    if (in->first_lost_ns == MAREY_UNKNOWN || in->gap_ns < in->first_lost_ns)
        in->first_lost_ns = in->gap_ns;
    struct marey_open_range *range = marey__open_top(&in->open);
    for (; range != NULL; range = marey__open_around(&in->open, range))
        if (range->lost_ns == MAREY_UNKNOWN)
            range->lost_ns = in->gap_ns;
}

/* A gap may reach over the session's ends and hold losses of others. */
static void take_gap(struct intake *in, const uint64_t *gap)
{
    const uint64_t start = in->snapshot->start_ticks;

    if (in->part->n_lost > 0 && marey__gap_concerns(gap, start, in->snapshot->stop_ticks))
        note_gap(in, marey__gap_start(gap, start));
}

/* ---- CPU time ---------------------------------------------------------------------------- */

static void add_cpu(struct intake *in, const struct marey_open_range *range, int64_t now_ns)
{
    struct marey_recorded_args *args = in->args;
    void *grown = args->cpu_ns;

    if (range->cpu_ns == MAREY_UNKNOWN || range->row == MAREY_NONE)
        return;
    uint32_t *place = marey__hashmap_put(&args->cpu_idx, in->rows.offset[range->row]);
    if (place == NULL || !marey__grow(&args->alloc, &grown, &args->cpu_capacity, args->n_cpu + 1,
                                      sizeof *args->cpu_ns)) {
        in->failed = true;
        return;
    }
    args->cpu_ns = grown;
    *place = (uint32_t)args->n_cpu;
    args->cpu_ns[args->n_cpu++] = now_ns - range->cpu_ns;
}

static void take_cpu(struct intake *in, const uint64_t *record)
{
    const int64_t now_ns = (int64_t)marey__record_value(record);

    if ((in->wants & MAREY_WANT_CPU) == 0)
        return;
    if (in->begun != NULL)
        in->begun->cpu_ns = now_ns;
    else if (in->ended != NULL)
        add_cpu(in, in->ended, now_ns);
}

/* ---- threads ------------------------------------------------------------------------------- */

static void lend_rows(struct intake *in, size_t n_more)
{
    marey__builder_take_rows(in->builder, &in->rows);
    in->failed |= !marey__builder_lend_rows(in->builder, n_more, &in->rows);
}

static inline bool is_in_time(const struct intake *in, const uint64_t *record)
{
    return marey__record_value(record) - in->start_ticks < in->length_ticks;
}

/* Those of ranges are told by their row; the rest is rare. */
static void take_other(struct intake *in, const uint64_t *record, uint64_t offset)
{
    switch (marey__record_kind(record)) {
    case MAREY_RECORD_CPU:
        take_cpu(in, record);
        return;
    case MAREY_RECORD_GAP:
        take_gap(in, record);
        break;
    case MAREY_RECORD_MARK:
    case MAREY_RECORD_COUNTER:
        if (is_in_time(in, record))
            add_point(in, record, offset);
        break;
    case MAREY_RECORD_INPUTS:
    case MAREY_RECORD_BEGIN:
    case MAREY_RECORD_BEGIN_OP:
    case MAREY_RECORD_BEGIN_FAR:
    case MAREY_RECORD_END:
        return;
    }
    in->begun = NULL;
    in->ended = NULL;
}

/* A begin's words, with its inputs. */
static inline uint32_t begin_words(const uint64_t *record, uint32_t n_words)
{
    const enum marey_record_kind kind = marey__record_kind(record);
    const uint32_t n = kind == MAREY_RECORD_BEGIN ? 2 : kind == MAREY_RECORD_BEGIN_OP ? 3 : 4;

    if (n < n_words && marey__record_kind(record + n) == MAREY_RECORD_INPUTS)
        return n + marey__record_words(record + n);
    return n;
}

/* The words of a begin, and of its end where that follows; n_words are left in the chunk. */
static inline uint32_t take_begin(struct intake *in, const uint64_t *record, uint32_t n_words,
                                  uint64_t offset)
{
    const uint32_t n = begin_words(record, n_words);
    const uint64_t *end = record + n;

    in->begun = NULL;
    in->ended = NULL;
    if (n < n_words && marey__record_kind(end) == MAREY_RECORD_END && end[1] == record[1] >> 32 &&
        is_in_time(in, record) && is_in_time(in, end)) {
        take_leaf(in, record, end, offset);
        return n + marey__record_words(end);
    }
    if (is_in_time(in, record))
        begin_range(in, record, offset);
    return n;
}

/* A record's words. */
static inline uint32_t take_record(struct intake *in, const uint64_t *record, uint32_t n_words,
                                   uint64_t offset)
{
    const enum marey_record_kind kind = marey__record_kind(record);

    if (kind == MAREY_RECORD_END) {
        in->begun = NULL;
        in->ended = NULL;
        if (is_in_time(in, record))
            end_range(in, record, offset);
        return 2;
    }
    if (marey__record_is_begin(record))
        return take_begin(in, record, n_words, offset);
    if (kind != MAREY_RECORD_INPUTS)
        take_other(in, record, offset);
    return marey__record_words(record);
}

/* Rows are lent anew where the slices of the chunk might not find room. */
static void take_chunk(struct intake *in, size_t chunk_idx)
{
    const struct marey_chunk_part *chunk = &in->snapshot->chunk[chunk_idx];
    const uint64_t offset = marey__recorded_offset(in->recorded, chunk_idx, 0);

    if (!marey__rows_have_room(&in->rows, MOST_IN_CHUNK))
        lend_rows(in, in->rows.n / 2 + MOST_IN_CHUNK);
    for (uint32_t at = 0; at < chunk->n_words && !in->failed;)
        at +=
            take_record(in, chunk->word + at, chunk->n_words - at, offset + at * sizeof(uint64_t));
}

/* In the first session in which the thread recorded. */
static void name_once(struct intake *in, const struct marey_log_part *part)
{
    uint32_t *is_named = marey__hashmap_put(&in->named, part->log_serial);

    in->failed |= is_named == NULL;
    if (in->failed || *is_named != MAREY_NONE)
        return;
    *is_named = 1;
    marey__intake_name_thread(in, part);
}

static void take_thread(struct intake *in, const struct marey_log_part *part)
{
    const uint64_t n_before = in->n_records;

    in->thread_id = marey__intake_number(in, part->thread_id);
    if (in->failed)
        return;
    in->track_idx = marey__builder_track(in->builder, &(struct marey_track_key){
                                                          .kind = MAREY_TRACK_THREAD,
                                                          .process_id = in->process_id,
                                                          .thread_id = in->thread_id,
                                                          .device = MAREY_UNKNOWN,
                                                          .context = MAREY_UNKNOWN,
                                                          .stream = MAREY_UNKNOWN,
                                                      });
    in->gap_ns = MAREY_UNKNOWN;
    in->part = part;
    for (size_t i = 0; i < part->n_chunks && !in->failed; i++)
        take_chunk(in, part->first_chunk + i);

    int64_t end_ns = marey__intake_ns(in, in->snapshot->stop_ticks);
    if (part->is_losing) {
        note_gap(in, part->open_lost_ticks);
        end_ns = in->gap_ns;
    }
    if (part->n_lost > 0)
        marey__account_add(marey__builder_account(in->builder), MAREY_REASON_LOST, part->n_lost,
                           marey__recorded_offset(in->recorded, part->first_chunk, 0));
    cut_open(in, end_ns);
    if (in->n_records > n_before)
        name_once(in, part);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void note_session(struct intake *in)
{
    struct marey_account *account = marey__builder_account(in->builder);

    const uint64_t offset = marey__recorded_offset(in->recorded, 0, 0);

    marey__account_add(account, MAREY_REASON_LOST, in->snapshot->n_guarded, offset);
    if (in->snapshot->clock_error_ns > MAREY_CLOCK_LIMIT_NS)
        marey__account_note(account, MAREY_REASON_CLOCK_UNSURE, offset);
}

static void choose_session(struct intake *in, size_t session_idx)
{
    in->recorded = &in->args->recorded[session_idx];
    in->snapshot = &in->recorded->snapshot;
    in->wants = in->recorded->session->wants;
    in->start_ticks = in->snapshot->start_ticks;
    in->length_ticks =
        in->snapshot->stop_ticks > in->start_ticks ? in->snapshot->stop_ticks - in->start_ticks : 0;
}

/* How many ranges a thread's records will be, if its chunks are like the one in their middle. */
static double expected_ranges(const struct marey_snapshot *snapshot,
                              const struct marey_log_part *part)
{
    const struct marey_chunk_part *chunk = &snapshot->chunk[part->first_chunk];
    const struct marey_chunk_part *sample = &chunk[part->n_chunks / 2];
    size_t n_begins = 0;
    size_t n_words = 0;

    for (size_t i = 0; i < part->n_chunks; i++)
        n_words += chunk[i].n_words;
    if (part->n_chunks == 0 || sample->n_words == 0)
        return 0;
    for (uint32_t at = 0; at < sample->n_words; at += marey__record_words(sample->word + at))
        n_begins += marey__record_is_begin(sample->word + at);
    return (double)n_begins * (double)n_words / sample->n_words;
}

/* Columns that grow are moved, and touch pages that are not used in the end. What is never used
 * is never touched. */
static void make_room(struct intake *in)
{
    double n = 1; /* the window */

    for (size_t i = 0; i < in->snapshot->n_parts; i++)
        n += expected_ranges(in->snapshot, &in->snapshot->part[i]);
    lend_rows(in, (size_t)(n * SPARE_ROOM) + MOST_IN_CHUNK);
}

/* The oldest thread first, whose number is the least as a rule: then the slices of a session are
 * in the order of a trace as they come. */
static void take_session(struct intake *in)
{
    make_room(in);
    for (size_t i = in->snapshot->n_parts; i-- > 0 && !in->failed;)
        take_thread(in, &in->snapshot->part[i]);
    marey__builder_take_rows(in->builder, &in->rows);
    marey__intake_add_window(in);
    note_session(in);
}

static bool prepare(struct intake *in, const struct marey_intake_options *options)
{
    const uint32_t source_idx = marey__builder_begin_source(in->builder, "");

    in->n_sites = marey__recorder_n_sites();
    in->sites = marey__alloc_zero(&in->alloc, n_pages(in), sizeof(struct known_site *));
    if (source_idx == MAREY_NONE || in->sites == NULL)
        return false;
    marey__builder_set_absolute(in->builder);
    in->first_lost_ns = MAREY_UNKNOWN;
    marey__arrows_init(&in->arrows, &in->alloc);
    marey__open_init(&in->open, &in->alloc);
    marey__hashmap_init(&in->named, &in->alloc);
    in->base_ns = in->snapshot->line.epoch_ns - in->snapshot->line.epoch_ns % MAREY_BASE_NS;
    struct marey_source *source = marey__builder_source(in->builder);
    source->base_ns = in->base_ns;
    source->rank = options->has_rank ? options->rank : 0;
    source->rank_is_assumed = !options->has_rank;
    if (options->world_size > 0)
        source->world_size = options->world_size;
    in->process_id = marey__intake_number(in, (int64_t)getpid());
    in->op_cat = marey__builder_category(in->builder, marey__str("cpu_op"));
    in->annotation_cat = marey__builder_category(in->builder, marey__str("user_annotation"));
    in->nameless = (struct known_site){.wanted_by = MAREY_WANT_RANGES | MAREY_WANT_OPS,
                                       .cat_id = in->annotation_cat};
    in->no_cat = marey__builder_category(in->builder, (struct marey_str){NULL, 0});
    return !in->failed;
}

static bool take_all(struct intake *in, const struct marey_intake_options *options)
{
    const size_t n_sessions = in->args->n_recorded;

    choose_session(in, 0);
    if (!prepare(in, options))
        return false;
    marey__account_add(marey__builder_account(in->builder), MAREY_REASON_LET_GO, options->n_let_go,
                       marey__recorded_offset(in->recorded, 0, 0));
    marey__intake_name_process(in);
    for (size_t i = 0; i < n_sessions && !in->failed; i++) {
        choose_session(in, i);
        take_session(in);
    }
    in->failed = in->failed || !marey__arrows_draw(&in->arrows, in->builder);
    if (!in->failed)
        marey__intake_add_metas(in);
    marey__builder_source(in->builder)->n_records = in->n_records + n_sessions;
    return !in->failed;
}

static struct marey_recorded_args *new_args(size_t n_sessions, const struct marey_alloc *alloc)
{
    struct marey_recorded_args *args = marey__alloc_zero(alloc, 1, sizeof *args);

    if (args == NULL)
        return NULL;
    args->alloc = *alloc;
    marey__text_init(&args->text, alloc);
    marey__hashmap_init(&args->cpu_idx, alloc);
    args->recorded = marey__alloc_zero(alloc, n_sessions, sizeof *args->recorded);
    args->n_recorded = n_sessions;
    if (args->recorded != NULL)
        return args;
    args->n_recorded = 0;
    marey__recorded_free(args);
    return NULL;
}

/* The next session's records. The system's calendar clock may be set between two sessions, so
 * where a session lies behind the first is told by the clock that only goes forward. */
static enum marey_status hold_session(struct marey_recorded_args *args, size_t session_idx,
                                      struct marey_session *session, struct marey_error *err)
{
    struct marey_recorded *recorded = &args->recorded[session_idx];
    const struct marey_recorded *before = session_idx > 0 ? recorded - 1 : NULL;

    marey__session_hold(session);
    recorded->session = session;
    MAREY_TRY(marey__session_snapshot(session, &args->alloc, &recorded->snapshot, err));
    if (before == NULL)
        return MAREY_OK;
    if (recorded->snapshot.start_ticks < before->snapshot.stop_ticks)
        return marey__fail(err, MAREY_INVALID,
                           "session %zu begins before the one in front of it has stopped, give "
                           "them in order of time, without any twice",
                           session_idx);
    recorded->first_chunk = before->first_chunk + before->snapshot.n_chunks + 1;
    const struct marey_clock_pair *first = &args->recorded[0].session->start;
    recorded->snapshot.line.epoch_ns =
        first->epoch_ns + (session->start.monotonic_ns - first->monotonic_ns);
    return MAREY_OK;
}

static void release(struct intake *in)
{
    marey__hashmap_release(&in->named);
    for (size_t i = 0; in->sites != NULL && i < n_pages(in); i++)
        marey__dealloc(&in->alloc, in->sites[i], PAGE_SITES, sizeof *in->sites[i]);
    marey__dealloc(&in->alloc, in->sites, n_pages(in), sizeof(struct known_site *));
    marey__open_release(&in->open);
    marey__arrows_release(&in->arrows);
    marey__builder_free(in->builder);
}

static enum marey_status check_options(const struct marey_intake_options *options,
                                       struct marey_error *err)
{
    if (options != NULL && options->size != sizeof *options)
        return marey__fail(err, MAREY_INVALID,
                           "intake options of %zu bytes, want %zu: compiled with another header",
                           options->size, sizeof *options);
    return MAREY_OK;
}

enum marey_status marey_sessions_trace(struct marey_session *const *sessions, size_t n_sessions,
                                       const struct marey_intake_options *options,
                                       struct marey_trace **trace, struct marey_error *err)
{
    const struct marey_intake_options defaults = {.size = sizeof defaults};

    MAREY_TRY(check_options(options, err));
    if (n_sessions == 0)
        return marey__fail(err, MAREY_INVALID, "a trace of no session, want one at least");
    if (options == NULL)
        options = &defaults;
    struct intake in = {.alloc = marey__alloc_or_default(options->alloc)};
    enum marey_status status = MAREY_NOMEM;

    in.args = new_args(n_sessions, &in.alloc);
    if (in.args == NULL)
        return marey__fail_nomem(err);
    for (size_t i = 0; i < n_sessions; i++) {
        status = hold_session(in.args, i, sessions[i], err);
        if (status != MAREY_OK)
            goto done;
    }
    in.builder = marey__builder_new(&in.alloc);
    if (in.builder == NULL || !take_all(&in, options)) {
        status = marey__fail_nomem(err);
        goto done;
    }
    marey__builder_set_checked(in.builder, MAREY_CHECK_ALL); /* there is no text to be wrong */
    const struct marey_args_provider provider = marey__recorded_provider(in.args);
    in.args = NULL;
    status = marey__builder_finish(in.builder, provider, trace, err);
done:
    marey__recorded_free(in.args);
    release(&in);
    return status;
}

enum marey_status marey_session_trace(struct marey_session *session,
                                      const struct marey_intake_options *options,
                                      struct marey_trace **trace, struct marey_error *err)
{
    return marey_sessions_trace(&session, 1, options, trace, err);
}
