/*
 * floor_scan.c - see floor_scan.h. For x86-64 with AVX2; elsewhere there is no such floor.
 */
#include "floor_scan.h"

#ifdef __AVX2__

#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES (1U << 18)
#define KEPT_BYTES (1U << 16) /* room before a window for the record that the one before cut */
#define PAD_BYTES 256
#define MIN_RECORD_BYTES 100 /* of a complete event, so that columns have room */
#define N_NAMES 4096

struct columns {
    int64_t *ts_ns;
    int64_t *dur_ns;
    uint64_t *offset;
    uint32_t *name_id;
    uint32_t *pid;
    uint32_t *tid;
    uint32_t *correlation;
    uint8_t *category;
    size_t capacity;
    size_t n;
};

struct name {
    uint64_t hash;
    uint32_t len;
    uint32_t id;
    char *text;
};

struct half {
    int fd;
    uint64_t begin; /* records that begin in here are read */
    uint64_t end;
    struct columns columns;
    struct name name[N_NAMES];
    uint64_t n_names;
    uint64_t n_records;
    unsigned category; /* of the last record */
    bool is_first;
    bool is_ok;
    char *buffer;
};

/* Text of this many bytes, compared in one step of 32. */
struct glue {
    char text[33];
    uint8_t len;
};

#define GLUE(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct glue before_category = GLUE("  {\n    \"ph\": \"X\", \"cat\": \"");
static const struct glue before_pid = GLUE("\", \"pid\": ");
static const struct glue before_tid = GLUE(", \"tid\": ");
static const struct glue before_ts = GLUE(",\n    \"ts\": ");
static const struct glue before_dur = GLUE(", \"dur\": ");
static const struct glue before_args = GLUE(",\n    \"args\": {\n      ");
static const struct glue behind_args = GLUE("\n    }\n  }");
static const struct glue record_begin = GLUE("  {\n");
static const struct glue records_end = GLUE("  ]");
static const struct glue record_end = GLUE("\n  }");

static const struct {
    struct glue glue; /* with the key of the name */
    bool has_correlation;
} categories[] = {
    {GLUE("cpu_op\", \"name\": \""), false},
    {GLUE("python_function\", \"name\": \""), false},
    {GLUE("kernel\", \"name\": \""), true},
    {GLUE("cuda_runtime\", \"name\": \""), true},
    {GLUE("cuda_driver\", \"name\": \""), true},
    {GLUE("gpu_memcpy\", \"name\": \""), true},
    {GLUE("gpu_memset\", \"name\": \""), true},
    {GLUE("user_annotation\", \"name\": \""), false},
    {GLUE("gpu_user_annotation\", \"name\": \""), true},
};
#define N_CATEGORIES (sizeof categories / sizeof categories[0])

static struct half halves[2];

/* ---- pieces of a record ----------------------------------------------------------------- */

static inline __m256i load32(const char *at)
{
    return _mm256_loadu_si256((const __m256i_u *)(const void *)at);
}

static inline uint32_t is_byte32(const char *at, char c)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load32(at), _mm256_set1_epi8(c)));
}

/* Behind the glue, or NULL. */
static inline const char *pass(const char *at, const struct glue *glue)
{
    const uint32_t same =
        (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load32(at), load32(glue->text)));
    const uint32_t mask = (uint32_t)((UINT64_C(1) << glue->len) - 1);

    return (~same & mask) == 0 ? at + glue->len : NULL;
}

/* A quote or the end of a line; the pad behind the text holds both. */
static inline const char *find_byte(const char *at, char c)
{
    uint32_t found = is_byte32(at, c);

    for (; found == 0; found = is_byte32(at, c))
        at += 32;
    return at + __builtin_ctz(found);
}

static inline unsigned count_digits(const char *at)
{
    const __m128i from_zero =
        _mm_sub_epi8(_mm_loadu_si128((const __m128i_u *)(const void *)at), _mm_set1_epi8('0'));
    const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(from_zero, _mm_set1_epi8(9)), from_zero);

    return (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(is_digit));
}

/* The number that the n digits (at most 16) before `end` spell. */
static inline uint64_t digits_value(const char *end, unsigned n)
{
    static const char keep[32] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
                                  -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const __m128i bytes = _mm_loadu_si128((const __m128i_u *)(const void *)(end - 16));
    const __m128i mask = _mm_loadu_si128((const __m128i_u *)(const void *)(keep + n));
    const __m128i ones = _mm_and_si128(_mm_sub_epi8(bytes, _mm_set1_epi8('0')), mask);
    const __m128i tens = _mm_maddubs_epi16(ones, _mm_set1_epi16(0x010a));
    const __m128i hundreds = _mm_madd_epi16(tens, _mm_set1_epi32(0x00010064));
    const __m128i packed = _mm_packus_epi32(hundreds, hundreds);
    const __m128i halves_of_it = _mm_madd_epi16(packed, _mm_set1_epi32(0x00012710));
    const uint64_t both = (uint64_t)_mm_cvtsi128_si64(halves_of_it);

    return (both & UINT32_MAX) * UINT64_C(100000000) + (both >> 32);
}

static inline const char *read_id(const char *at, uint32_t *id)
{
    const unsigned n = count_digits(at);

    *id = (uint32_t)digits_value(at + n, n);
    return n > 0 ? at + n : NULL;
}

/* Microseconds with three decimals. */
static inline const char *read_time(const char *at, int64_t *ns)
{
    const unsigned n = count_digits(at);

    if (n == 0 || at[n] != '.')
        return NULL;
    const int64_t whole = (int64_t)digits_value(at + n, n);
    at += n;
    *ns = whole * 1000 + (at[1] * 100 + at[2] * 10 + at[3] - '0' * 111);
    return at + 4;
}

static inline uint64_t load8(const char *at)
{
    uint64_t word = 0;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t multiply_fold(uint64_t a, uint64_t b)
{
    const __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The last bytes twice rather than one by one. Names are never before the buffer's begin. */
static inline uint64_t hash_name(const char *at, size_t len)
{
    uint64_t hash = len;
    const char *last = at + len - 16;

    for (; at < last; at += 16)
        hash = multiply_fold(load8(at) ^ UINT64_C(0x9e3779b97f4a7c15), load8(at + 8) ^ hash);
    return multiply_fold(load8(last) ^ UINT64_C(0xd1b54a32d192ed03), load8(last + 8) ^ hash);
}

/* Names of one hash are taken for the same: 64 bits do not collide in a benchmark. */
static inline uint32_t name_id(struct half *half, const char *at, size_t len)
{
    const uint64_t hash = hash_name(at, len);

    for (size_t i = hash % N_NAMES;; i = (i + 1) % N_NAMES) {
        struct name *name = &half->name[i];
        if (name->hash == hash && name->len == len)
            return name->id;
        if (name->text != NULL)
            continue;
        name->text = malloc(len);
        if (name->text == NULL || half->n_names + 1 == N_NAMES)
            abort();
        memcpy(name->text, at, len);
        name->hash = hash;
        name->len = (uint32_t)len;
        name->id = (uint32_t)half->n_names++;
        return name->id;
    }
}

/* The number of `"correlation": ` in the line, 0 if there is none before the line ends. */
static inline const char *find_correlation(const char *at, uint32_t *correlation)
{
    static const struct glue key = GLUE("\"correlation\": ");

    *correlation = 0;
    for (;; at += 32) {
        uint32_t found = is_byte32(at, '"') & is_byte32(at + 1, 'c') & is_byte32(at + 3, 'r');
        for (; found != 0; found &= found - 1) {
            const char *value = pass(at + __builtin_ctz(found), &key);
            const char *next = value == NULL ? NULL : read_id(value, correlation);
            if (next != NULL)
                return next;
        }
        if (is_byte32(at, '\n') != 0)
            return at;
    }
}

/* ---- records ------------------------------------------------------------------------------- */

static inline const char *read_category(struct half *half, const char *at)
{
    for (unsigned i = 0; i <= N_CATEGORIES; i++) {
        const unsigned chosen = i == 0 ? half->category : i - 1;
        const char *next = pass(at, &categories[chosen].glue);
        if (next == NULL)
            continue;
        half->category = chosen;
        return next;
    }
    return NULL;
}

/* Behind a complete event of the layout, or NULL; so too if the two bytes after it are not
 * there. */
static inline const char *read_complete(struct half *half, const char *begin, const char *end,
                                        uint64_t offset)
{
    struct columns *columns = &half->columns;
    const size_t i = columns->n;
    const char *at = pass(begin, &before_category);

    if (at == NULL || (at = read_category(half, at)) == NULL)
        return NULL;
    const char *name = at;
    at = find_byte(at, '"');
    if (at >= end)
        return NULL;
    columns->name_id[i] = name_id(half, name, (size_t)(at - name));
    columns->category[i] = (uint8_t)half->category;
    columns->offset[i] = offset;
    if ((at = pass(at, &before_pid)) == NULL || (at = read_id(at, &columns->pid[i])) == NULL ||
        (at = pass(at, &before_tid)) == NULL || (at = read_id(at, &columns->tid[i])) == NULL ||
        (at = pass(at, &before_ts)) == NULL || (at = read_time(at, &columns->ts_ns[i])) == NULL ||
        (at = pass(at, &before_dur)) == NULL || (at = read_time(at, &columns->dur_ns[i])) == NULL ||
        (at = pass(at, &before_args)) == NULL)
        return NULL;
    columns->correlation[i] = 0;
    if (categories[half->category].has_correlation)
        at = find_correlation(at, &columns->correlation[i]);
    /* A line cannot end inside a string, so it ends where the args do. */
    at = pass(find_byte(at, '\n'), &behind_args);
    if (at == NULL || at + 2 > end)
        return NULL;
    columns->n++;
    return at;
}

static int64_t other_time(const char *at, const char *end, const char *key)
{
    int64_t ns = 0;
    const char *value = memmem(at, (size_t)(end - at), key, strlen(key));

    if (value != NULL)
        (void)read_time(value + strlen(key), &ns);
    return ns;
}

/* Any other record ends with the line that closes it. Two kinds of those of a trace are
 * complete events whose keys have another order; they are a handful. */
static const char *pass_other(struct half *half, const char *begin, const char *end)
{
    const char *at = begin;
    const char *close = NULL;

    while (close == NULL) {
        at = find_byte(at + 1, '\n');
        close = pass(at, &record_end);
        if (at + record_end.len + 2 > end)
            return NULL;
    }
    if (memcmp(begin + 8, "\"ph\": \"X\"", 9) == 0) {
        struct columns *columns = &half->columns;
        const size_t i = columns->n++;
        columns->ts_ns[i] = other_time(begin, close, "\"ts\": ");
        columns->dur_ns[i] = other_time(begin, close, "\"dur\": ");
        columns->correlation[i] = 0;
    }
    return close;
}

/* Reads the records that begin in the text. Returns where the first one begins that does not
 * end in it, or NULL if there are no more. */
static const char *read_window(struct half *half, const char *text, const char *end, uint64_t base)
{
    const char *at = text;

    for (;;) {
        const uint64_t offset = base + (uint64_t)(at - text);
        if (end - at < record_begin.len)
            return at;
        if (offset >= half->end || pass(at, &record_begin) == NULL) {
            half->is_ok = offset >= half->end || pass(at, &records_end) != NULL;
            return NULL;
        }
        const char *next = read_complete(half, at, end, offset);
        if (next == NULL)
            next = pass_other(half, at, end);
        if (next == NULL)
            return at;
        half->n_records++;
        at = next + (*next == ',') + 1; /* a comma and the end of the line */
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static const char *find_begin(const struct half *half, const char *at, size_t len)
{
    const char *key = half->is_first ? "\"traceEvents\": [\n" : "\n  {\n";
    const char *found = memmem(at, len, key, strlen(key));

    return found == NULL ? NULL : found + (half->is_first ? strlen(key) : 1);
}

static void *read_half(void *ctx)
{
    struct half *half = ctx;
    char *window = half->buffer + KEPT_BYTES;
    uint64_t offset = half->begin;
    size_t n_kept = 0;
    bool is_begun = false;

    for (;;) {
        const ssize_t n = pread(half->fd, window, WINDOW_BYTES, (off_t)offset);
        if (n <= 0)
            return NULL;
        const char *text = window - n_kept;
        const char *end = window + n;
        memset(window + n, '"', PAD_BYTES);
        memset(window + n, '\n', PAD_BYTES / 2);
        const uint64_t base = offset - n_kept;
        const char *begin = text;
        if (!is_begun && (begin = find_begin(half, text, (size_t)(end - text))) == NULL)
            return NULL;
        is_begun = true;
        const char *rest = read_window(half, begin, end, base + (uint64_t)(begin - text));
        offset += (uint64_t)n;
        if (rest == NULL || (size_t)(end - rest) > KEPT_BYTES)
            return NULL;
        n_kept = (size_t)(end - rest);
        memmove(window - n_kept, rest, n_kept);
    }
}

/* Aligned, since the kernel copies many times as slowly to where a page is entered by 1 to 31
 * bytes less than in the file. */
static void *touched(size_t n_bytes)
{
    void *memory = aligned_alloc(4096, (n_bytes + 4095) / 4096 * 4096);
    if (memory == NULL)
        abort();
    return memset(memory, 1, n_bytes);
}

static void make_columns(struct columns *columns, size_t capacity)
{
    columns->n = 0;
    if (columns->capacity >= capacity)
        return;
    columns->ts_ns = touched(capacity * sizeof *columns->ts_ns);
    columns->dur_ns = touched(capacity * sizeof *columns->dur_ns);
    columns->offset = touched(capacity * sizeof *columns->offset);
    columns->name_id = touched(capacity * sizeof *columns->name_id);
    columns->pid = touched(capacity * sizeof *columns->pid);
    columns->tid = touched(capacity * sizeof *columns->tid);
    columns->correlation = touched(capacity * sizeof *columns->correlation);
    columns->category = touched(capacity * sizeof *columns->category);
    columns->capacity = capacity;
}

static void make_half(struct half *half, int fd, uint64_t begin, uint64_t end)
{
    if (half->buffer == NULL)
        half->buffer = touched(KEPT_BYTES + WINDOW_BYTES + PAD_BYTES);
    make_columns(&half->columns, (size_t)(end - begin) / MIN_RECORD_BYTES + 1);
    for (size_t i = 0; i < N_NAMES; i++)
        free(half->name[i].text);
    memset(half->name, 0, sizeof half->name);
    half->fd = fd;
    half->begin = begin;
    half->end = end;
    half->n_names = 0;
    half->n_records = 0;
    half->is_first = begin == 0;
    half->is_ok = false;
}

bool floor_scan(const char *path, int n_threads)
{
    struct stat status;
    pthread_t thread;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &status) != 0)
        return false;
    const uint64_t size = (uint64_t)status.st_size;
    const uint64_t middle = n_threads > 1 ? size / 2 : size;
    make_half(&halves[0], fd, 0, middle);
    halves[1].n_records = 0;
    halves[1].columns.n = 0;
    halves[1].is_ok = true;
    if (n_threads > 1) {
        make_half(&halves[1], fd, middle, size);
        if (pthread_create(&thread, NULL, read_half, &halves[1]) != 0)
            abort();
    }
    (void)read_half(&halves[0]);
    if (n_threads > 1)
        (void)pthread_join(thread, NULL);
    (void)close(fd);
    return halves[0].is_ok && halves[1].is_ok;
}

struct floor_sums floor_scan_sums(void)
{
    struct floor_sums sums = {0};

    for (size_t t = 0; t < 2; t++) {
        const struct half *half = &halves[t];
        sums.records += half->n_records;
        sums.complete += half->columns.n;
        for (size_t i = 0; i < half->columns.n; i++) {
            sums.ts_sum += (uint64_t)half->columns.ts_ns[i];
            sums.dur_sum += (uint64_t)half->columns.dur_ns[i];
            sums.correlation_sum += half->columns.correlation[i];
        }
    }
    return sums;
}

#else

bool floor_scan(const char *path, int n_threads)
{
    (void)path;
    (void)n_threads;
    return false;
}

struct floor_sums floor_scan_sums(void)
{
    return (struct floor_sums){0};
}

#endif
