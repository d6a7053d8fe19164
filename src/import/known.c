/*
 * known.c - taking sound records apart into what stays and what may change.
 */
#include "import/known.h"

#include <string.h>

#include "base/json.h"

enum {
    MOST_STATES = 1 << 15,
    MOST_STEPS = 1 << 15,
    MOST_STRINGS = MAREY_KNOWN_STRINGS / 2,
    MOST_TEXT_BYTES = 1 << 22,
    MOST_RECORD_BYTES = 1 << 14
};

struct marey_known_forms *marey__known_new(const struct marey_alloc *alloc)
{
    struct marey_known_forms *known = marey__alloc_zero(alloc, 1, sizeof *known);

    if (known == NULL)
        return NULL;
    known->alloc = *alloc;
    known->n_states = 1;
    known->n_steps = 1;
    known->first = marey__alloc_zero(alloc, MOST_STATES, sizeof *known->first);
    known->step = marey__alloc(alloc, MOST_STEPS, sizeof *known->step);
    known->string = marey__alloc_zero(alloc, MAREY_KNOWN_STRINGS, sizeof *known->string);
    known->text = marey__alloc(alloc, MOST_TEXT_BYTES, 1);
    if (known->first != NULL && known->step != NULL && known->string != NULL && known->text != NULL)
        return known;
    marey__known_free(known);
    return NULL;
}

void marey__known_free(struct marey_known_forms *known)
{
    if (known == NULL)
        return;
    const struct marey_alloc alloc = known->alloc;
    marey__dealloc(&alloc, known->text, MOST_TEXT_BYTES, 1);
    marey__dealloc(&alloc, known->string, MAREY_KNOWN_STRINGS, sizeof *known->string);
    marey__dealloc(&alloc, known->step, MOST_STEPS, sizeof *known->step);
    marey__dealloc(&alloc, known->first, MOST_STATES, sizeof *known->first);
    marey__dealloc(&alloc, known, 1, sizeof *known);
}

static void forget(struct marey_known_forms *known)
{
    memset(known->first, 0, known->n_states * sizeof *known->first);
    memset(known->string, 0, MAREY_KNOWN_STRINGS * sizeof *known->string);
    known->n_states = 1;
    known->n_steps = 1;
    known->n_strings = 0;
    known->text_len = 0;
}

/* A record under way. */
struct learning {
    struct marey_known_forms *known;
    uint32_t state;
    const char *from; /* of the text up to the next value */
};

static const char *keep_text(struct marey_known_forms *known, const char *at, size_t len)
{
    char *text = known->text + known->text_len;

    memcpy(text, at, len);
    memset(text + len, 0, MAREY_NAME_PAD);
    known->text_len += len + MAREY_NAME_PAD;
    return text;
}

/* The step of the state with the text up to `to`, made if it is new. */
static struct marey_known_step *take_step(struct learning *learning, const char *to,
                                          enum marey_known_value value)
{
    struct marey_known_forms *known = learning->known;
    uint32_t *first = &known->first[learning->state];
    const size_t len = (size_t)(to - learning->from);
    uint32_t i = *first;

    for (int n = 0; i != 0 && n < MAREY_KNOWN_WAYS; n++, i = known->step[i].next)
        if (known->step[i].value == value && known->step[i].len == len &&
            memcmp(known->step[i].text, learning->from, len) == 0)
            return &known->step[i];
    struct marey_known_step *step = &known->step[known->n_steps];
    *step = (struct marey_known_step){
        .text = keep_text(known, learning->from, len),
        .len = (uint32_t)len,
        .then = value == MAREY_KNOWN_END ? 0 : (uint32_t)known->n_states++,
        .next = *first,
        .value = value,
    };
    *first = (uint32_t)known->n_steps++;
    return step;
}

static void pass_number_value(struct learning *learning, const char *at, const char *behind)
{
    learning->state = take_step(learning, at, MAREY_KNOWN_NUMBER)->then;
    learning->from = behind;
}

/* `at` is the opening quote, and belongs to the text; so does the closing one to the next. */
static void pass_string_value(struct learning *learning, const char *at, const char *close)
{
    struct marey_known_forms *known = learning->known;
    const uint32_t then = take_step(learning, at + 1, MAREY_KNOWN_STRING)->then;
    const uint64_t key = marey_known_key(then, marey_name_hash(at + 1, (size_t)(close - at - 1)));
    struct marey_known_string *place = marey_known_find(known, key);

    if (place->key == 0) {
        *place = (struct marey_known_string){key, (uint32_t)known->n_states++};
        known->n_strings++;
    }
    learning->state = place->state;
    learning->from = close;
}

static bool is_plain(const char *at, const char *close)
{
    for (; at < close; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x80 || *at == '\\')
            return false;
    return true;
}

/* The record is sound, so a quote ends what a quote begins. */
static const char *find_close(const char *at)
{
    while (*at != '"')
        at += *at == '\\' ? 2 : 1;
    return at;
}

static const char *skip_white(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

static bool is_in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Each value takes a step and up to two states, each text its padding: what fits must fit for
 * sure. */
static bool has_room(const struct marey_known_forms *known, size_t len)
{
    return known->n_states + len < MOST_STATES && known->n_steps + len < MOST_STEPS &&
           known->n_strings + len / 4 < MOST_STRINGS &&
           known->text_len + len + len / 4 * MAREY_NAME_PAD + MAREY_NAME_PAD < MOST_TEXT_BYTES;
}

static const char *pass_token(struct learning *learning, const char *at, bool in_object)
{
    if (*at == '"') {
        const char *close = find_close(at + 1);
        if (in_object && *skip_white(close + 1) != ':' && is_plain(at + 1, close))
            pass_string_value(learning, at, close);
        return close + 1;
    }
    if (*at != '-' && (*at < '0' || *at > '9'))
        return at + 1;
    const char *behind = at;
    while (is_in_number(*behind))
        behind++;
    if (in_object)
        pass_number_value(learning, at, behind);
    return behind;
}

void marey__known_learn(struct marey_known_forms *known, const char *at, const char *end)
{
    struct learning learning = {.known = known, .from = at};
    bool is_object[MAREY_JSON_DEPTH + 1] = {false};
    size_t depth = 0;

    if (end - at > MOST_RECORD_BYTES / 4)
        return;
    if (!has_room(known, (size_t)(end - at)))
        forget(known);
    while (at < end) {
        if (*at == '{' || *at == '[')
            is_object[++depth] = *at++ == '{';
        else if (*at == '}' || *at == ']')
            depth--, at++;
        else
            at = pass_token(&learning, at, is_object[depth]);
    }
    (void)take_step(&learning, end, MAREY_KNOWN_END);
}
