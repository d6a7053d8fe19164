/*
 * fake_sink.c - a recorder for tests of collectors: keeps all that it is handed, as it comes.
 *
 * A shared object that tests load beside a collector and read through its plain structs. One
 * lock makes the order of the records that of the calls, over all threads. A second table of
 * functions does nothing: what a collector itself costs.
 */
#include "marey/collector.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
#define MAX_RECORDS (1U << 18)
#define MAX_WORDS (1U << 22)
#define MAX_TEXTS (1U << 12)
#define MAX_TEXT_BYTES 240

struct fake_record {
    int64_t sequence;
    uint64_t forward_thread;
    uint32_t is_end;
    uint32_t thread; /* the system's number */
    uint32_t token;
    uint32_t scope;
    uint32_t name; /* text id */
    uint32_t first_word;
    uint32_t n_words;
    uint32_t is_bad; /* what is handed over breaks the contract */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_record records[MAX_RECORDS];
static uint64_t words[MAX_WORDS];
static char texts[MAX_TEXTS][MAX_TEXT_BYTES]; /* id 0 is the empty text */
static uint32_t n_records;
static uint32_t n_words;
static uint32_t n_texts = 1;
static uint32_t n_lost;
static uint32_t n_text_calls;

/* ---- under the lock ---------------------------------------------------------------- */

static uint32_t intern(const char *ptr, size_t len)
{
    len = len < MAX_TEXT_BYTES ? len : MAX_TEXT_BYTES - 1;
    for (uint32_t id = 0; id < n_texts; id++)
        if (strlen(texts[id]) == len && memcmp(texts[id], ptr, len) == 0)
            return id;
    if (n_texts == MAX_TEXTS)
        return 0;
    memcpy(texts[n_texts], ptr, len);
    return n_texts++;
}

static struct fake_record *add_record(uint32_t token)
{
    if (n_records == MAX_RECORDS) {
        n_lost++;
        return NULL;
    }
    struct fake_record *record = &records[n_records++];
    *record = (struct fake_record){.token = token, .thread = (uint32_t)syscall(SYS_gettid)};
    return record;
}

static void keep_inputs(struct fake_record *record, const uint64_t *inputs, uint32_t n)
{
    record->first_word = n_words;
    record->is_bad = n > MAREY_MAX_INPUT_WORDS;
    if (record->is_bad || n_words + n > MAX_WORDS) {
        n_lost += !record->is_bad;
        return;
    }
    record->n_words = n;
    memcpy(&words[n_words], inputs, n * sizeof *words);
    n_words += n;
}

static void add_begin(const struct marey_op *op, const uint64_t *inputs, uint32_t n)
{
    struct fake_record *record = add_record(op->token);
    if (record == NULL)
        return;
    record->sequence = op->sequence;
    record->forward_thread = op->forward_thread;
    record->scope = op->scope;
    record->name = intern(op->name, strlen(op->name));
    keep_inputs(record, inputs, n);
}

/* ---- the sink ------------------------------------------------------------------------ */

/* One operator a thread is open at a time. */
static _Thread_local struct marey_op open_op;
static _Thread_local uint64_t open_words[MAREY_MAX_INPUT_WORDS];

static void fake_begin(const struct marey_op *op)
{
    pthread_mutex_lock(&lock);
    add_begin(op, open_words, 0);
    pthread_mutex_unlock(&lock);
}

static void fake_end(uint32_t token)
{
    pthread_mutex_lock(&lock);
    struct fake_record *record = add_record(token);
    if (record != NULL)
        record->is_end = 1;
    pthread_mutex_unlock(&lock);
}

static uint64_t *fake_open(const struct marey_op *op)
{
    open_op = *op;
    return open_words;
}

static void fake_close(uint64_t *inputs, uint32_t n)
{
    pthread_mutex_lock(&lock);
    add_begin(&open_op, inputs, n);
    pthread_mutex_unlock(&lock);
}

static uint32_t fake_text(const char *ptr, size_t len)
{
    pthread_mutex_lock(&lock);
    const uint32_t id = intern(ptr, len);
    n_text_calls++;
    pthread_mutex_unlock(&lock);
    return id;
}

static void empty_begin(const struct marey_op *op)
{
    (void)op;
}

static void empty_end(uint32_t token)
{
    (void)token;
}

static uint64_t *empty_open(const struct marey_op *op)
{
    (void)op;
    return open_words;
}

static void empty_close(uint64_t *inputs, uint32_t n)
{
    (void)inputs;
    (void)n;
}

static const struct marey_sink fake = {MAREY_SINK_VERSION, sizeof fake, fake_begin, fake_end,
                                       fake_text,          fake_open,   fake_close};
static const struct marey_sink empty = {MAREY_SINK_VERSION, sizeof empty, empty_begin, empty_end,
                                        fake_text,          empty_open,   empty_close};

/* ---- what tests call -------------------------------------------------------------------- */

SHOWN const struct marey_sink *fake_sink(void);
SHOWN const struct marey_sink *fake_empty_sink(void);
SHOWN void fake_reset(void);
SHOWN uint32_t fake_n_records(void);
SHOWN uint32_t fake_n_lost(void);
SHOWN uint32_t fake_n_text_calls(void);
SHOWN const struct fake_record *fake_records(void);
SHOWN const uint64_t *fake_words(void);
SHOWN const char *fake_text_of(uint32_t id);

const struct marey_sink *fake_sink(void)
{
    return &fake;
}

const struct marey_sink *fake_empty_sink(void)
{
    return &empty;
}

/* Texts stay, as they do in a recorder. */
void fake_reset(void)
{
    pthread_mutex_lock(&lock);
    n_records = 0;
    n_words = 0;
    n_lost = 0;
    n_text_calls = 0;
    pthread_mutex_unlock(&lock);
}

uint32_t fake_n_records(void)
{
    pthread_mutex_lock(&lock);
    const uint32_t n = n_records;
    pthread_mutex_unlock(&lock);
    return n;
}

uint32_t fake_n_lost(void)
{
    return n_lost;
}

uint32_t fake_n_text_calls(void)
{
    return n_text_calls;
}

const struct fake_record *fake_records(void)
{
    return records;
}

const uint64_t *fake_words(void)
{
    return words;
}

const char *fake_text_of(uint32_t id)
{
    return id < n_texts ? texts[id] : "?";
}
