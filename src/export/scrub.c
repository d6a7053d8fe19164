/*
 * scrub.c - the tables of what is kept, and how values are looked at.
 *
 * Adding a member: a row here, and in docs/scrub.md if it is of another sort than those.
 */
#include "export/scrub.h"

#include "base/json.h"

/* What may stand in the strings of a value. Numbers, true, false and null always may. */
enum sort {
    SORT_NUMBERS, /* nothing but numbers and what is around them: "[1, 2]", "0x7f", "True" */
    SORT_WORDS,   /* a name that others chose: "NVIDIA H100 80GB HBM3", "allreduce" */
    SORT_TYPES,   /* names of types: "c10::BFloat16", "cpu:gloo,cuda:gloo" */
    SORT_STACK,   /* frames, with their files as far as the package */
    SORT_COUNTS   /* an object of numbers by reason: the members of it need no row */
};

struct row {
    const char *key;
    enum sort sort;
};

/* Members of heads, and of objects in them. */
static const struct row head_table[] = {
    {"schemaVersion", SORT_NUMBERS},
    {"displayTimeUnit", SORT_WORDS},
    {"baseTimeNanoseconds", SORT_NUMBERS},
    {"record_shapes", SORT_NUMBERS},
    {"profile_memory", SORT_NUMBERS},
    {"with_stack", SORT_NUMBERS},
    {"with_flops", SORT_NUMBERS},
    {"with_modules", SORT_NUMBERS},
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
    {"name", SORT_WORDS},
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
    {"backend", SORT_WORDS},
    {"nccl_version", SORT_NUMBERS},
    {"pg_count", SORT_NUMBERS},
    {"pg_config", SORT_NUMBERS},
    {"pg_name", SORT_NUMBERS},
    {"pg_size", SORT_NUMBERS},
    {"ranks", SORT_NUMBERS},
    {"backend_config", SORT_TYPES},
    /* ours */
    {"marey", SORT_COUNTS},
    {"mareyLeftOut", SORT_COUNTS},
    {"mareyRepaired", SORT_COUNTS},
    {"mareyMended", SORT_COUNTS},
};

static const struct row args_table[] = {
    {"External id", SORT_NUMBERS},
    {"external id", SORT_NUMBERS},
    {"external ts", SORT_NUMBERS},
    {"Ev Idx", SORT_NUMBERS},
    {"Profiler Event Index", SORT_NUMBERS},
    {"Record function id", SORT_NUMBERS},
    {"Sequence number", SORT_NUMBERS},
    {"Fwd thread id", SORT_NUMBERS},
    {"Python id", SORT_NUMBERS},
    {"Python parent id", SORT_NUMBERS},
    {"Python module id", SORT_NUMBERS},
    {"Python thread", SORT_NUMBERS},
    {"Trace iteration", SORT_NUMBERS},
    {"Op count", SORT_NUMBERS},
    {"finished", SORT_NUMBERS},
    {"Input Dims", SORT_NUMBERS},
    {"Input Strides", SORT_NUMBERS},
    {"Input type", SORT_TYPES},
    {"Concrete Inputs", SORT_NUMBERS},
    {"Call stack", SORT_STACK},
    {"correlation", SORT_NUMBERS},
    {"cbid", SORT_NUMBERS},
    {"cid", SORT_NUMBERS},
    {"device", SORT_NUMBERS},
    {"context", SORT_NUMBERS},
    {"stream", SORT_NUMBERS},
    {"fromDevice", SORT_NUMBERS},
    {"inDevice", SORT_NUMBERS},
    {"toDevice", SORT_NUMBERS},
    {"fromContext", SORT_NUMBERS},
    {"inContext", SORT_NUMBERS},
    {"toContext", SORT_NUMBERS},
    {"queued", SORT_NUMBERS},
    {"grid", SORT_NUMBERS},
    {"block", SORT_NUMBERS},
    {"shared memory", SORT_NUMBERS},
    {"registers per thread", SORT_NUMBERS},
    {"blocks per SM", SORT_NUMBERS},
    {"warps per SM", SORT_NUMBERS},
    {"est. achieved occupancy %", SORT_NUMBERS},
    {"theoretical occupancy %", SORT_NUMBERS},
    {"graph id", SORT_NUMBERS},
    {"graph node id", SORT_NUMBERS},
    {"priority", SORT_NUMBERS},
    {"bytes", SORT_NUMBERS},
    {"size", SORT_NUMBERS},
    {"memory bandwidth (GB/s)", SORT_NUMBERS},
    {"cuda_sync_kind", SORT_WORDS},
    {"wait_on_stream", SORT_NUMBERS},
    {"wait_on_cuda_event_id", SORT_NUMBERS},
    {"wait_on_cuda_event_record_corr_id", SORT_NUMBERS},
    {"Addr", SORT_NUMBERS},
    {"Device Id", SORT_NUMBERS},
    {"Device Type", SORT_NUMBERS},
    {"Bytes", SORT_NUMBERS},
    {"Total Allocated", SORT_NUMBERS},
    {"Total Reserved", SORT_NUMBERS},
    {"Collective name", SORT_WORDS},
    {"dtype", SORT_TYPES},
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
    {"kernel_backend", SORT_WORDS},
    {"sort_index", SORT_NUMBERS},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct row *find_row(enum marey_scrub_place place, struct marey_str key)
{
    const struct row *table = place == MAREY_SCRUB_HEAD ? head_table : args_table;
    const size_t n = place == MAREY_SCRUB_HEAD ? COUNT(head_table) : COUNT(args_table);
    for (size_t i = 0; i < n; i++)
        if (marey__str_is_c(key, table[i].key))
            return &table[i];
    return NULL;
}

/* ---- strings ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Digits, perhaps with an exponent; or 0x and up to 16 hexadecimal digits; or a word that stands
 * for a value. */
static bool is_number_word(struct marey_str word)
{
    static const char *const words[] = {"True", "False", "None", "true", "false",
                                        "null", "nan",   "inf",  "e"};
    size_t n_digits = 0;
    for (size_t i = 0; i < COUNT(words); i++)
        if (marey__str_is_c(word, words[i]))
            return true;
    if (word.len > 2 && word.len <= 18 && word.ptr[0] == '0' && word.ptr[1] == 'x') {
        for (size_t i = 2; i < word.len; i++)
            if (!is_digit(word.ptr[i]) && !is_one_of(word.ptr[i], "abcdefABCDEF"))
                return false;
        return true;
    }
    while (n_digits < word.len && is_digit(word.ptr[n_digits]))
        n_digits++;
    return n_digits == word.len || (n_digits + 1 == word.len && word.ptr[n_digits] == 'e');
}

/* Four numbers with points between them: an address. */
static bool has_address(struct marey_str text)
{
    size_t n_points = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '.')
            n_points++;
        else if (!is_digit(text.ptr[i]))
            n_points = 0;
        if (n_points == 3)
            return true;
    }
    return false;
}

static bool are_numbers(struct marey_str text)
{
    size_t at = 0;
    if (has_address(text))
        return false;
    while (at < text.len) {
        size_t len = 0;
        while (at + len < text.len &&
               (is_digit(text.ptr[at + len]) || is_letter(text.ptr[at + len])))
            len++;
        if (len > 20 || (len > 0 && !is_number_word((struct marey_str){text.ptr + at, len})))
            return false;
        if (len == 0 && !is_one_of(text.ptr[at], "[](){},;: .+-"))
            return false;
        at += len > 0 ? len : 1;
    }
    return true;
}

static bool has_only(struct marey_str text, const char *others, size_t most)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_digit(text.ptr[i]) && !is_letter(text.ptr[i]) && !is_one_of(text.ptr[i], others))
            return false;
    return text.len <= most;
}

/* Adds a string of a value, empty if it may not be shown. */
static void add_string(enum sort sort, struct marey_str raw, struct marey_textbuf *out)
{
    struct marey_textbuf text;
    struct marey_textbuf shown;
    marey__text_init(&text, &out->alloc);
    marey__text_init(&shown, &out->alloc);
    marey__json_unescape(raw, &text);
    const struct marey_str value = {text.ptr, text.len};
    if (sort == SORT_STACK)
        marey__scrub_paths(value, &shown);
    else if (sort == SORT_WORDS   ? has_only(value, " _-.()", 64)
             : sort == SORT_TYPES ? has_only(value, "_:<>,()*& ", 64)
                                  : are_numbers(value))
        marey__text_add_str(&shown, value);
    out->failed |= text.failed || shown.failed;
    marey__text_add_json(out, (struct marey_str){shown.ptr, shown.len});
    marey__text_release(&shown);
    marey__text_release(&text);
}

/* ---- paths ---- */

static bool ends_path(char c)
{
    return is_one_of(c, " \t\r\n\"'`;,()<>[]{}|=:") || c == '\0';
}

/* The part behind the folder of packages, else behind the last slash. */
static struct marey_str in_package(struct marey_str path)
{
    static const char *const folders[] = {"site-packages/", "dist-packages/"};
    size_t from = 0;
    for (size_t i = 0; i < path.len; i++) {
        const struct marey_str rest = {path.ptr + i, path.len - i};
        for (size_t j = 0; j < COUNT(folders); j++)
            if (marey__str_starts(rest, folders[j]))
                return (struct marey_str){rest.ptr + strlen(folders[j]),
                                          rest.len - strlen(folders[j])};
        if (path.ptr[i] == '/' || path.ptr[i] == '\\')
            from = i + 1;
    }
    return (struct marey_str){path.ptr + from, path.len - from};
}

/* A path from the root, from home or from a parent; "C:" has been copied when its rest comes. */
static bool is_path(struct marey_str word)
{
    const bool has_slash = word.len > 0 && (memchr(word.ptr, '/', word.len) != NULL ||
                                            memchr(word.ptr, '\\', word.len) != NULL);
    return has_slash && word.len > 1 && is_one_of(word.ptr[0], "/\\~.");
}

static size_t word_len(struct marey_str text)
{
    size_t len = 0;
    while (len < text.len && !ends_path(text.ptr[len]))
        len++;
    return len;
}

/* An address of the web ends with white space or a quote. */
static size_t url_len(struct marey_str text)
{
    size_t len = 0;
    while (len < text.len && !is_one_of(text.ptr[len], " \t\r\n\"'`<>") && text.ptr[len] != '\0')
        len++;
    return len;
}

void marey__scrub_paths(struct marey_str text, struct marey_textbuf *out)
{
    for (size_t at = 0; at < text.len;) {
        const struct marey_str rest = {text.ptr + at, text.len - at};
        const size_t len = word_len(rest);
        const struct marey_str word = {rest.ptr, len};
        if (len > 0 &&
            marey__str_starts((struct marey_str){rest.ptr + len, rest.len - len}, "://")) {
            marey__text_add_c(out, "url");
            at += url_len(rest);
        } else if (is_path(word)) {
            marey__text_add_str(out, in_package(word));
            at += len;
        } else {
            marey__text_add(out, rest.ptr, len > 0 ? len : 1);
            at += len > 0 ? len : 1;
        }
    }
}

/* ---- values ---- */

static bool add_object(enum marey_scrub_place place, struct marey_json *json,
                       struct marey_textbuf *out);

/* Adds the next value as far as it may be shown. */
static void add_value(enum marey_scrub_place place, enum sort sort, struct marey_json *json,
                      struct marey_textbuf *out)
{
    struct marey_str raw;
    const char first = marey__json_peek(json);
    const char *separator = "[";
    if (first == '"') {
        (void)marey__json_string(json, &raw);
        add_string(sort, raw, out);
    } else if (first == '{') {
        if (!add_object(place, json, out))
            marey__text_add_c(out, "{}");
    } else if (marey__json_enter(json, '[')) {
        while (marey__json_element(json)) {
            marey__text_add_c(out, separator);
            add_value(place, sort, json, out);
            separator = ", ";
        }
        marey__text_add_c(out, *separator == '[' ? "[]" : "]");
    } else {
        raw = marey__json_raw(json);
        marey__text_add_str(out, raw.ptr != NULL ? raw : marey__str("null"));
    }
}

/* Members that are numbers, by any key that looks like a reason. */
static bool is_count(struct marey_str key, char first)
{
    return (is_digit(first) || first == '-') && has_only(key, "_", 32);
}

static bool keeps(enum marey_scrub_place place, enum sort around, struct marey_str key, char first,
                  enum sort *sort)
{
    const struct row *row = find_row(place, key);
    *sort = row != NULL ? row->sort : SORT_NUMBERS;
    if (around == SORT_COUNTS)
        return is_count(key, first);
    return row != NULL || (place == MAREY_SCRUB_COUNTER && (is_digit(first) || first == '-'));
}

static bool add_members(enum marey_scrub_place place, enum sort around, struct marey_json *json,
                        struct marey_textbuf *out)
{
    struct marey_str key;
    const char *separator = "{";
    if (!marey__json_enter(json, '{'))
        return false;
    while (marey__json_key(json, &key)) {
        enum sort sort = SORT_NUMBERS;
        if (!keeps(place, around, key, marey__json_peek(json), &sort)) {
            marey__json_skip(json);
            continue;
        }
        marey__text_add_c(out, separator);
        marey__text_add_c(out, "\"");
        marey__text_add_str(out, key);
        marey__text_add_c(out, "\": ");
        if (sort == SORT_COUNTS && marey__json_peek(json) == '{') {
            if (!add_members(place, SORT_COUNTS, json, out))
                marey__text_add_c(out, "{}");
        } else {
            add_value(place, sort, json, out);
        }
        separator = ", ";
    }
    if (*separator == '{')
        return false;
    marey__text_add_c(out, "}");
    return true;
}

static bool add_object(enum marey_scrub_place place, struct marey_json *json,
                       struct marey_textbuf *out)
{
    return add_members(place, SORT_NUMBERS, json, out);
}

bool marey__scrub_object(enum marey_scrub_place place, struct marey_str text,
                         struct marey_textbuf *out)
{
    struct marey_json json = marey__json(text);
    return add_object(place, &json, out);
}

bool marey__scrub_member(struct marey_str key, struct marey_str text, struct marey_textbuf *out)
{
    const struct row *row = find_row(MAREY_SCRUB_HEAD, key);
    struct marey_json json = marey__json(text);
    if (row == NULL)
        return false;
    if (row->sort != SORT_COUNTS)
        add_value(MAREY_SCRUB_HEAD, row->sort, &json, out);
    else if (!add_members(MAREY_SCRUB_HEAD, SORT_COUNTS, &json, out))
        marey__text_add_c(out, "{}");
    return true;
}

/* ---- metadata records ---- */

static bool is_numbered(struct marey_str text, const char *word)
{
    const size_t len = strlen(word);
    return marey__str_starts(text, word) &&
           are_numbers((struct marey_str){text.ptr + len, text.len - len}) && text.len < len + 24;
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
    while (7 + number_len < text.len && is_digit(text.ptr[7 + number_len]))
        number_len++;
    marey__text_add(shown, text.ptr + 6, number_len > 0 ? number_len + 1 : 0);
    const struct marey_str rest = {text.ptr + 7 + number_len, text.len - 7 - number_len};
    if (marey__str_starts(rest, " (pt_") && has_only(rest, "_ ()", 24))
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
        if (marey__str_is_c(key, member))
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

bool marey__scrub_meta_args(struct marey_str name, struct marey_str text, struct marey_textbuf *out)
{
    for (size_t i = 0; i < COUNT(meta_table); i++) {
        if (!marey__str_is_c(name, meta_table[i].record))
            continue;
        return meta_table[i].add != NULL
                   ? add_named(meta_table[i].member, meta_table[i].add, text, out)
                   : marey__scrub_object(MAREY_SCRUB_ARGS, text, out);
    }
    return false;
}

/* ---- names and ids ---- */

/* Decimal, or hexadecimal behind 0x. */
static bool is_integer(struct marey_str text)
{
    const size_t sign = text.len > 1 && text.ptr[0] == '-';
    const struct marey_str digits = {text.ptr + sign, text.len - sign};
    return digits.len > 0 && digits.len <= 20 && is_digit(digits.ptr[0]) &&
           digits.ptr[digits.len - 1] != 'e' && is_number_word(digits);
}

bool marey__scrub_keeps_name(enum marey_kind kind)
{
    static const bool keeps_of[MAREY_N_KINDS] = {
        [MAREY_KIND_OP] = true,           [MAREY_KIND_RUNTIME] = true, [MAREY_KIND_DRIVER] = true,
        [MAREY_KIND_KERNEL] = true,       [MAREY_KIND_MEMCPY] = true,  [MAREY_KIND_MEMSET] = true,
        [MAREY_KIND_SYNC] = true,         [MAREY_KIND_MEMORY] = true,  [MAREY_KIND_OVERHEAD] = true,
        [MAREY_KIND_DEVICE_EVENT] = true,
    };
    return (unsigned)kind < MAREY_N_KINDS && keeps_of[kind];
}

void marey__scrub_id(struct marey_str text, uint32_t string_id, struct marey_textbuf *out)
{
    static const char *const words[] = {"", "Spans", "Traces", "PyTorch Profiler",
                                        "Trace PyTorch Profiler"};
    bool is_kept = is_integer(text) || is_numbered(text, "stream ");
    for (size_t i = 0; i < COUNT(words) && !is_kept; i++)
        is_kept = marey__str_is_c(text, words[i]);
    if (is_kept)
        marey__text_add_str(out, text);
    else
        marey__text_add_format(out, "id %u", (unsigned)string_id);
}
