/*
 * scrub.c - the tables of what is kept, and how values are looked at.
 *
 * Adding a member: a row here, and in docs/scrub.md if it is of another sort than those.
 */
#include "export/scrub.h"

#include "base/json.h"
#include "export/scrub_form.h"
#include "trace/ledger.h"
#include "trace/model.h"

/* What may stand in the strings of a value. Numbers, true, false and null always may. */
enum sort {
    SORT_NUMBERS = MAREY_FORM_NUMBERS,
    SORT_UNIT = MAREY_FORM_UNIT,
    SORT_TYPE = MAREY_FORM_TYPE,
    SORT_DEVICE = MAREY_FORM_DEVICE,
    SORT_BACKEND = MAREY_FORM_BACKEND,
    SORT_COLLECTIVE = MAREY_FORM_COLLECTIVE,
    SORT_SYNC = MAREY_FORM_SYNC,
    SORT_KERNEL_BACKEND = MAREY_FORM_KERNEL_BACKEND,
    SORT_STACK = MAREY_N_FORMS, /* frames, with their files as far as the package */
    SORT_TIE,                   /* what ties records to others: a number, else "id N" */
    SORT_COUNTS,                /* an object of numbers by reason: the members of it need no row */
    SORT_HIDDEN /* "scrubbed" for any value: that the member is there tells the torch version */
};

struct row {
    const char *key;
    enum sort sort;
};

/* Members of heads, and of objects in them. */
static const struct row head_table[] = {
    {"schemaVersion", SORT_NUMBERS},
    {"displayTimeUnit", SORT_UNIT},
    {"baseTimeNanoseconds", SORT_NUMBERS},
    {"record_shapes", SORT_NUMBERS},
    {"profile_memory", SORT_NUMBERS},
    {"with_stack", SORT_NUMBERS},
    {"with_flops", SORT_NUMBERS},
    {"with_modules", SORT_NUMBERS},
    {"host_name", SORT_HIDDEN},
    {"trace_id", SORT_HIDDEN},
    {"cupti_version", SORT_NUMBERS},
    {"cuda_runtime_version", SORT_NUMBERS},
    {"cuda_driver_version", SORT_NUMBERS},
    {"roctracer_version", SORT_NUMBERS},
    {"hip_runtime_version", SORT_NUMBERS},
    {"hip_driver_version", SORT_NUMBERS},
    /* devices */
    {"deviceProperties", SORT_NUMBERS},
    {"computeProperties", SORT_NUMBERS},
    {"id", SORT_NUMBERS},
    {"name", SORT_DEVICE},
    {"totalGlobalMem", SORT_NUMBERS},
    {"computeMajor", SORT_NUMBERS},
    {"computeMinor", SORT_NUMBERS},
    {"major", SORT_NUMBERS},
    {"minor", SORT_NUMBERS},
    {"maxThreadsPerBlock", SORT_NUMBERS},
    {"maxThreadsPerMultiprocessor", SORT_NUMBERS},
    {"regsPerBlock", SORT_NUMBERS},
    {"warpSize", SORT_NUMBERS},
    {"sharedMemPerBlock", SORT_NUMBERS},
    {"numSms", SORT_NUMBERS},
    {"regsPerMultiprocessor", SORT_NUMBERS},
    {"sharedMemPerMultiprocessor", SORT_NUMBERS},
    {"sharedMemPerBlockOptin", SORT_NUMBERS},
    {"maxSharedMemoryPerMultiProcessor", SORT_NUMBERS},
    /* the job */
    {"distributedInfo", SORT_NUMBERS},
    {"rank", SORT_NUMBERS},
    {"world_size", SORT_NUMBERS},
    {"backend", SORT_BACKEND},
    {"nccl_version", SORT_NUMBERS},
    {"pg_count", SORT_NUMBERS},
    {"pg_config", SORT_NUMBERS},
    {"pg_name", SORT_NUMBERS},
    {"pg_size", SORT_NUMBERS},
    {"ranks", SORT_NUMBERS},
    {"backend_config", SORT_BACKEND},
    /* ours */
    {"marey", SORT_COUNTS},
    {"mareyLeftOut", SORT_COUNTS},
    {"mareyRepaired", SORT_COUNTS},
    {"mareyMended", SORT_COUNTS},
};

static const struct row args_table[] = {
    {"External id", SORT_TIE},
    {"external id", SORT_TIE},
    {"external ts", SORT_NUMBERS},
    {"Ev Idx", SORT_NUMBERS},
    {"Profiler Event Index", SORT_NUMBERS},
    {"Record function id", SORT_TIE},
    {"Sequence number", SORT_NUMBERS},
    {"Fwd thread id", SORT_TIE},
    {"Python id", SORT_TIE},
    {"Python parent id", SORT_TIE},
    {"Python module id", SORT_TIE},
    {"Python thread", SORT_TIE},
    {"Trace iteration", SORT_NUMBERS},
    {"Op count", SORT_NUMBERS},
    {"finished", SORT_NUMBERS},
    {"Input Dims", SORT_NUMBERS},
    {"Input Strides", SORT_NUMBERS},
    {"Input type", SORT_TYPE},
    {"Concrete Inputs", SORT_NUMBERS},
    {"Call stack", SORT_STACK},
    {"correlation", SORT_TIE},
    {"cbid", SORT_NUMBERS},
    {"cid", SORT_NUMBERS},
    {"device", SORT_TIE},
    {"context", SORT_TIE},
    {"stream", SORT_TIE},
    {"fromDevice", SORT_TIE},
    {"inDevice", SORT_TIE},
    {"toDevice", SORT_TIE},
    {"fromContext", SORT_TIE},
    {"inContext", SORT_TIE},
    {"toContext", SORT_TIE},
    {"queued", SORT_NUMBERS},
    {"grid", SORT_NUMBERS},
    {"block", SORT_NUMBERS},
    {"shared memory", SORT_NUMBERS},
    {"registers per thread", SORT_NUMBERS},
    {"blocks per SM", SORT_NUMBERS},
    {"warps per SM", SORT_NUMBERS},
    {"est. achieved occupancy %", SORT_NUMBERS},
    {"theoretical occupancy %", SORT_NUMBERS},
    {"graph id", SORT_TIE},
    {"graph node id", SORT_TIE},
    {"priority", SORT_NUMBERS},
    {"bytes", SORT_NUMBERS},
    {"size", SORT_NUMBERS},
    {"memory bandwidth (GB/s)", SORT_NUMBERS},
    {"cuda_sync_kind", SORT_SYNC},
    {"wait_on_stream", SORT_TIE},
    {"wait_on_cuda_event_id", SORT_TIE},
    {"wait_on_cuda_event_record_corr_id", SORT_TIE},
    {"Addr", SORT_NUMBERS},
    {"Device Id", SORT_NUMBERS},
    {"Device Type", SORT_NUMBERS},
    {"Bytes", SORT_NUMBERS},
    {"Total Allocated", SORT_NUMBERS},
    {"Total Reserved", SORT_NUMBERS},
    {"Collective name", SORT_COLLECTIVE},
    {"dtype", SORT_TYPE},
    {"In msg nelems", SORT_NUMBERS},
    {"Out msg nelems", SORT_NUMBERS},
    {"In split size", SORT_NUMBERS},
    {"Out split size", SORT_NUMBERS},
    {"Group size", SORT_NUMBERS},
    {"Process Group Name", SORT_NUMBERS},
    {"Process Group Ranks", SORT_NUMBERS},
    {"Global rank start", SORT_NUMBERS},
    {"Global rank stride", SORT_NUMBERS},
    {"Rank", SORT_NUMBERS},
    {"Src Rank", SORT_NUMBERS},
    {"Dst Rank", SORT_NUMBERS},
    {"Seq", SORT_NUMBERS},
    {"num_warps", SORT_NUMBERS},
    {"num_stages", SORT_NUMBERS},
    {"kernel_backend", SORT_KERNEL_BACKEND},
    {"sort_index", SORT_NUMBERS},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct row *find_row(enum marey_scrub_place place, struct marey_str key)
{
    const struct row *table = place == MAREY_SCRUB_HEAD ? head_table : args_table;
    const size_t n = place == MAREY_SCRUB_HEAD ? COUNT(head_table) : COUNT(args_table);
    for (size_t i = 0; i < n; i++)
        if (marey__json_spells(key, table[i].key))
            return &table[i];
    return NULL;
}

/* ---- strings ---- */

/* What is on its way from a text of JSON to `out`. */
struct scrubber {
    struct marey_scrub *scrub;
    enum marey_scrub_place place;
    struct marey_json json;
    struct marey_textbuf *out;
};

/* Adds a string of a value, empty if it may not be shown. */
static void add_string(struct scrubber *scrubber, enum sort sort, struct marey_str raw)
{
    struct marey_textbuf *out = scrubber->out;
    struct marey_textbuf text;
    struct marey_textbuf shown;
    marey__text_init(&text, &out->alloc);
    marey__text_init(&shown, &out->alloc);
    marey__json_unescape(raw, &text);
    const struct marey_str value = {text.ptr, text.len};
    if (sort == SORT_STACK)
        marey__scrub_stack(value, &shown);
    else if (sort == SORT_TIE)
        marey__scrub_id(scrubber->scrub, value, &shown);
    else if (sort < SORT_STACK && marey__form_takes((enum marey_form)sort, value))
        marey__text_add_str(&shown, value);
    out->failed |= text.failed || shown.failed;
    marey__text_add_json(out, (struct marey_str){shown.ptr, shown.len});
    marey__text_release(&shown);
    marey__text_release(&text);
}

/* ---- values ---- */

static bool add_members(struct scrubber *scrubber, enum sort around);

static bool add_object(struct scrubber *scrubber)
{
    return add_members(scrubber, SORT_NUMBERS);
}

/* Adds "scrubbed" for any value but the empty text, which tells readers as much as no member. */
static void add_hidden(struct scrubber *scrubber)
{
    const struct marey_str raw = marey__json_raw(&scrubber->json);
    marey__text_add_c(scrubber->out, marey__str_is_c(raw, "\"\"") ? "\"\"" : "\"scrubbed\"");
}

/* Adds the next value as far as it may be shown. */
static void add_value(struct scrubber *scrubber, enum sort sort)
{
    struct marey_json *json = &scrubber->json;
    struct marey_textbuf *out = scrubber->out;
    struct marey_str raw;
    const char first = marey__json_peek(json);
    const char *separator = "[";
    if (sort == SORT_HIDDEN) {
        add_hidden(scrubber);
    } else if (first == '"') {
        (void)marey__json_string(json, &raw);
        add_string(scrubber, sort, raw);
    } else if (first == '{') {
        if (!add_object(scrubber))
            marey__text_add_c(out, "{}");
    } else if (marey__json_enter(json, '[')) {
        while (marey__json_element(json)) {
            marey__text_add_c(out, separator);
            add_value(scrubber, sort);
            separator = ", ";
        }
        marey__text_add_c(out, *separator == '[' ? "[]" : "]");
    } else {
        raw = marey__json_raw(json);
        marey__text_add_str(out, raw.ptr != NULL ? raw : marey__str("null"));
    }
}

/* Members that are numbers: a reason of the ledger, or what the recorder counts. */
static bool is_count(struct marey_str key, bool is_number)
{
    static const char *const others[] = {"clock_error_ns", "range_cost_ns", "open",
                                         "lost",           "whole_ns",      "scalars"};
    bool is_known = false;
    for (size_t i = 0; i < MAREY_N_REASONS && !is_known; i++)
        is_known = marey__json_spells(key, marey__reason_name((enum marey_reason)i));
    for (size_t i = 0; i < COUNT(others) && !is_known; i++)
        is_known = marey__json_spells(key, others[i]);
    return is_number && is_known;
}

static bool keeps(enum marey_scrub_place place, enum sort around, struct marey_str key, char first,
                  enum sort *sort)
{
    const struct row *row = find_row(place, key);
    const bool is_number = marey__form_is_digit(first) || first == '-';
    *sort = row != NULL ? row->sort : SORT_NUMBERS;
    if (around == SORT_COUNTS)
        return is_count(key, is_number);
    return row != NULL || (place == MAREY_SCRUB_COUNTER && is_number);
}

/* Adds a key: one of a row as it is, one that somebody chose for a value of a counter as a name. */
static void add_key(enum marey_scrub_place place, struct marey_str key, size_t number,
                    struct marey_textbuf *out)
{
    static const char scrubbed[] = "scrubbed ";
    struct marey_textbuf text;
    marey__text_init(&text, &out->alloc);
    marey__json_unescape(key, &text);
    const struct marey_str name = {text.ptr, text.len};
    if (place == MAREY_SCRUB_COUNTER && find_row(place, key) == NULL &&
        (!marey__scrub_is_harmless(name) || marey__str_starts(name, scrubbed)))
        marey__text_add_format(out, "\"%s%zu\": ", scrubbed, number);
    else {
        marey__text_add_json(out, name);
        marey__text_add_c(out, ": ");
    }
    out->failed |= text.failed;
    marey__text_release(&text);
}

static bool add_members(struct scrubber *scrubber, enum sort around)
{
    const enum marey_scrub_place place = scrubber->place;
    struct marey_json *json = &scrubber->json;
    struct marey_textbuf *out = scrubber->out;
    struct marey_str key;
    size_t number = 0;
    if (!marey__json_enter(json, '{'))
        return false;
    while (marey__json_key(json, &key)) {
        enum sort sort = SORT_NUMBERS;
        if (!keeps(place, around, key, marey__json_peek(json), &sort)) {
            marey__json_skip(json);
            continue;
        }
        marey__text_add_c(out, number == 0 ? "{" : ", ");
        add_key(place, key, number++, out);
        if (sort == SORT_COUNTS && marey__json_peek(json) == '{') {
            if (!add_members(scrubber, SORT_COUNTS))
                marey__text_add_c(out, "{}");
        } else {
            add_value(scrubber, sort);
        }
    }
    if (number == 0)
        return false;
    marey__text_add_c(out, "}");
    return true;
}

bool marey__scrub_object(struct marey_scrub *scrub, enum marey_scrub_place place,
                         struct marey_str text, struct marey_textbuf *out)
{
    struct scrubber scrubber = {scrub, place, marey__json(text), out};
    return add_object(&scrubber);
}

bool marey__scrub_member(struct marey_scrub *scrub, struct marey_str key, struct marey_str text,
                         struct marey_textbuf *out)
{
    const struct row *row = find_row(MAREY_SCRUB_HEAD, key);
    struct scrubber scrubber = {scrub, MAREY_SCRUB_HEAD, marey__json(text), out};
    if (row == NULL)
        return false;
    if (row->sort == SORT_COUNTS)
        return add_members(&scrubber, SORT_COUNTS);
    add_value(&scrubber, row->sort);
    return true;
}

/* ---- metadata records ---- */

static bool is_numbered(struct marey_str text, const char *word)
{
    const size_t len = strlen(word);
    return marey__str_starts(text, word) &&
           marey__form_takes(MAREY_FORM_NUMBERS,
                             (struct marey_str){text.ptr + len, text.len - len}) &&
           text.len < len + 24;
}

/* What PyTorch and Python call threads of their own, behind "thread 12"; digits may follow. */
static bool is_known_thread(struct marey_str text)
{
    static const char *const names[] = {
        " (python",          " (pt_autograd_",    " (pt_main_thread",  " (pt_nccl_watchdg",
        " (pt_nccl_heartbt", " (pt_nccl_monitor", " (pt_gloo_runloop", " (pt_data_worker",
        " (pt_data_pin",     " (pt_tcpstore",     " (pt_tcpstore_uv",  " (pt_elastic",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (is_numbered(text, names[i]))
            return true;
    return false;
}

/* "thread 12 (pt_autograd_0)": names of threads are chosen by whoever starts them. */
static void add_thread_name(struct marey_str text, struct marey_textbuf *shown)
{
    size_t number_len = 0;
    if (is_numbered(text, "stream ") || is_numbered(text, "Stream ") ||
        is_numbered(text, "Device ")) {
        marey__text_add_str(shown, text);
        return;
    }
    marey__text_add_c(shown, "thread");
    if (!marey__str_starts(text, "thread "))
        return;
    while (7 + number_len < text.len && marey__form_is_digit(text.ptr[7 + number_len]))
        number_len++;
    marey__text_add(shown, text.ptr + 6, number_len > 0 ? number_len + 1 : 0);
    const struct marey_str rest = {text.ptr + 7 + number_len, text.len - 7 - number_len};
    if (is_known_thread(rest))
        marey__text_add_str(shown, rest);
}

static void add_process_name(struct marey_str text, struct marey_textbuf *shown)
{
    const bool is_python = is_numbered(text, "python");
    marey__text_add_str(shown,
                        is_python || is_numbered(text, "MTIA ") ? text : marey__str("process"));
}

static void add_labels(struct marey_str text, struct marey_textbuf *shown)
{
    if (marey__str_is_c(text, "CPU") || is_numbered(text, "GPU ") || is_numbered(text, "MTIA "))
        marey__text_add_str(shown, text);
}

static const struct {
    const char *record;
    const char *member;
    void (*add)(struct marey_str text, struct marey_textbuf *shown);
} meta_table[] = {
    {"process_name", "name", add_process_name}, {"thread_name", "name", add_thread_name},
    {"process_labels", "labels", add_labels},   {"process_sort_index", NULL, NULL},
    {"thread_sort_index", NULL, NULL},
};

/* {"name": ...} with the text of that member as it may be shown. */
static bool add_named(const char *member, void (*add)(struct marey_str, struct marey_textbuf *),
                      struct marey_str text, struct marey_textbuf *out)
{
    struct marey_json json = marey__json(text);
    struct marey_str key;
    struct marey_str raw = {NULL, 0};
    struct marey_textbuf was;
    struct marey_textbuf shown;
    if (!marey__json_enter(&json, '{'))
        return false;
    while (marey__json_key(&json, &key)) {
        if (marey__json_spells(key, member))
            (void)marey__json_string(&json, &raw);
        else
            marey__json_skip(&json);
    }
    marey__text_init(&was, &out->alloc);
    marey__text_init(&shown, &out->alloc);
    marey__json_unescape(raw, &was);
    add((struct marey_str){was.ptr, was.len}, &shown);
    out->failed |= was.failed || shown.failed;
    marey__text_add_format(out, "{\"%s\": ", member);
    marey__text_add_json(out, (struct marey_str){shown.ptr, shown.len});
    marey__text_add_c(out, "}");
    marey__text_release(&shown);
    marey__text_release(&was);
    return true;
}

bool marey__scrub_meta_args(struct marey_scrub *scrub, struct marey_str name, struct marey_str text,
                            struct marey_textbuf *out)
{
    for (size_t i = 0; i < COUNT(meta_table); i++) {
        if (!marey__str_is_c(name, meta_table[i].record))
            continue;
        return meta_table[i].add != NULL
                   ? add_named(meta_table[i].member, meta_table[i].add, text, out)
                   : marey__scrub_object(scrub, MAREY_SCRUB_ARGS, text, out);
    }
    return false;
}

/* ---- ids and categories ---- */

/* What the reader takes for a number somewhere: "7.0", "+5", " 1e2 ", true. Digits and signs alone
 * are none yet: an address of the net, a date. */
static bool is_read_as_number(struct marey_str text)
{
    int64_t ignored = 0;
    while (text.len > 0 && text.ptr[0] == ' ')
        text = (struct marey_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return marey__str_is_c(text, "true") || marey__str_is_c(text, "false") ||
           marey__decimal_scaled(text, 0, &ignored);
}

/* Decimal, or hexadecimal behind 0x. */
static bool is_integer(struct marey_str text)
{
    if (text.len == 0)
        return false;
    const size_t sign = text.len > 1 && text.ptr[0] == '-';
    const struct marey_str digits = {text.ptr + sign, text.len - sign};
    return digits.len > 0 && digits.len <= 20 && marey__form_is_digit(digits.ptr[0]) &&
           digits.ptr[digits.len - 1] != 'e' && marey__form_is_number(digits);
}

void marey__scrub_category(struct marey_scrub *scrub, struct marey_str text,
                           struct marey_textbuf *out)
{
    /* They tell the device. */
    static const char *const prefixes[] = {"xpu_", "mtia_", "hpu_", "privateuse1_"};
    if (text.len == 0 || marey__kind_of_category(text) != MAREY_KIND_OTHER) {
        marey__text_add_str(out, text);
        return;
    }
    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (marey__str_starts(text, prefixes[i])) {
            const size_t len = strlen(prefixes[i]);
            marey__text_add_c(out, prefixes[i]);
            text = (struct marey_str){text.ptr + len, text.len - len};
        }
    marey__scrub_add_number(&scrub->categories, "category", text, out);
}

bool marey__scrub_keeps_id(struct marey_str text)
{
    static const char *const words[] = {"", "Spans", "Traces", "PyTorch Profiler",
                                        "Trace PyTorch Profiler"};
    bool is_kept = is_integer(text) || is_read_as_number(text) || is_numbered(text, "stream ");
    for (size_t i = 0; i < COUNT(words) && !is_kept; i++)
        is_kept = marey__str_is_c(text, words[i]);
    return is_kept;
}

void marey__scrub_id(struct marey_scrub *scrub, struct marey_str text, struct marey_textbuf *out)
{
    if (marey__scrub_keeps_id(text))
        marey__text_add_str(out, text);
    else
        marey__scrub_add_number(&scrub->ids, "id", text, out);
}

/* ---- life ---- */

void marey__scrub_init(struct marey_scrub *scrub, const struct marey_alloc *alloc)
{
    marey__scrub_numbers_init(&scrub->ids, alloc);
    marey__scrub_numbers_init(&scrub->names, alloc);
    marey__scrub_numbers_init(&scrub->categories, alloc);
}

void marey__scrub_release(struct marey_scrub *scrub)
{
    marey__scrub_numbers_release(&scrub->ids);
    marey__scrub_numbers_release(&scrub->names);
    marey__scrub_numbers_release(&scrub->categories);
}
