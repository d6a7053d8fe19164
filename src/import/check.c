/*
 * check.c - what is rare in a check, and how it is counted.
 */
#include "import/check.h"

#include <string.h>

#include "import/names.h"

enum { FIRST_KEYS = 64 };

static const struct {
    enum marey_damage damage;
    enum marey_reason reason;
} damage_table[MAREY_N_DAMAGES] = {
    {MAREY_DAMAGE_NON_FINITE, MAREY_REASON_NON_FINITE},
    {MAREY_DAMAGE_NUMBER, MAREY_REASON_BAD_NUMBER},
    {MAREY_DAMAGE_ESCAPE, MAREY_REASON_BAD_ESCAPE},
    {MAREY_DAMAGE_CONTROL, MAREY_REASON_CONTROL_CHAR},
    {MAREY_DAMAGE_UTF8, MAREY_REASON_BAD_UTF8},
    {MAREY_DAMAGE_DUPLICATE, MAREY_REASON_DUPLICATE_KEY},
    {MAREY_DAMAGE_SYNTAX, MAREY_REASON_BAD_ARGS},
};

struct marey_checker *marey__checker_new(const struct marey_alloc *alloc,
                                         struct marey_account *account)
{
    struct marey_checker *checker = marey__alloc_zero(alloc, 1, sizeof *checker);

    if (checker == NULL)
        return NULL;
    checker->alloc = *alloc;
    checker->account = account;
    checker->most_depth = MAREY_JSON_DEPTH;
    marey__text_init(&checker->key, alloc);
    checker->known = marey__known_new(alloc);
    if (checker->known != NULL)
        return checker;
    marey__checker_free(checker);
    return NULL;
}

void marey__checker_free(struct marey_checker *checker)
{
    if (checker == NULL)
        return;
    const struct marey_alloc alloc = checker->alloc;
    marey__known_free(checker->known);
    marey__text_release(&checker->key);
    marey__dealloc(&alloc, checker->keys, checker->keys_capacity, sizeof *checker->keys);
    marey__dealloc(&alloc, checker, 1, sizeof *checker);
}

/* ---- counting ------------------------------------------------------------------------ */

void marey__checker_begin(struct marey_checker *checker)
{
    for (size_t i = 0; i < MAREY_N_DAMAGES; i++)
        checker->before[i] = checker->account->count[damage_table[i].reason];
}

void marey__checker_end(struct marey_checker *checker, uint64_t offset)
{
    for (size_t i = 0; i < MAREY_N_DAMAGES; i++) {
        const enum marey_reason reason = damage_table[i].reason;
        const bool is_found = (checker->found & (uint32_t)damage_table[i].damage) != 0;
        if (is_found && checker->account->count[reason] == checker->before[i])
            marey__account_note(checker->account, reason, offset);
    }
}

/* ---- strings ----------------------------------------------------------------------------- */

static const char *pass_escape(struct marey_checker *checker, const char *at, const char *end)
{
    const struct marey_str rest = {at, (size_t)(end - at)};
    uint32_t damage = 0;
    const size_t len = marey__names_escape(rest, &damage);

    if ((damage & MAREY_NAME_BAD_ESCAPE) != 0)
        checker->found |= MAREY_DAMAGE_ESCAPE;
    if ((damage & MAREY_NAME_BAD_UTF8) != 0)
        checker->found |= MAREY_DAMAGE_UTF8;
    return at + len;
}

const char *marey__check_special(struct marey_checker *checker, const char *at, const char *end)
{
    size_t bad = 0;

    if (*at == '\\')
        return pass_escape(checker, at, end);
    if ((unsigned char)*at < 0x20) {
        checker->found |= MAREY_DAMAGE_CONTROL;
        return at + 1;
    }
    const size_t len = marey__names_utf8((struct marey_str){at, (size_t)(end - at)}, &bad);
    if (len == 0)
        checker->found |= MAREY_DAMAGE_UTF8;
    return at + (len > 0 ? len : bad);
}

/* ---- what is no value ----------------------------------------------------------------------- */

static bool is_non_finite(struct marey_str word)
{
    static const char *const words[] = {"NaN",      "nan", "NAN", "Infinity",
                                        "infinity", "inf", "Inf", "INF"};

    if (word.len > 0 && (word.ptr[0] == '-' || word.ptr[0] == '+')) {
        word.ptr++;
        word.len--;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (marey__str_is_c(word, words[i]))
            return true;
    return false;
}

/* Digits with what else numbers have: "01", ".5", "+1", "1.", "0.-05". */
static bool looks_like_number(struct marey_str word)
{
    static const char others[] = "+-.eE";
    bool has_digit = false;

    for (size_t i = 0; i < word.len; i++) {
        const char c = word.ptr[i];
        if (c >= '0' && c <= '9')
            has_digit = true;
        else if (c == '\0' || strchr(others, c) == NULL)
            return false;
    }
    return has_digit;
}

const char *marey__check_odd(struct marey_checker *checker, const char *at, const char *end)
{
    static const char enders[] = ",]} \n\r\t";
    struct marey_str word = {at, 0};

    while (at < end && *at != '\0' && strchr(enders, *at) == NULL && strchr("\":[{", *at) == NULL)
        at++;
    word.len = (size_t)(at - word.ptr);
    if (word.len == 0 || at == end || strchr(enders, *at) == NULL)
        return NULL;
    checker->found |= is_non_finite(word)       ? MAREY_DAMAGE_NON_FINITE
                      : looks_like_number(word) ? MAREY_DAMAGE_NUMBER
                                                : MAREY_DAMAGE_SYNTAX;
    return at;
}

/* ---- keys ------------------------------------------------------------------------------------ */

uint64_t marey__check_escaped_key(struct marey_checker *checker, struct marey_str raw)
{
    struct marey_textbuf *key = &checker->key;

    marey__text_reset(key);
    marey__json_unescape(raw, key);
    const size_t len = key->len;
    if (marey__text_reserve(key, MAREY_NAME_PAD) == NULL) {
        checker->failed = true;
        return 0;
    }
    memset(key->ptr + len, 0, MAREY_NAME_PAD); /* the hash reads whole words */
    return marey_name_hash(key->ptr, len);
}

bool marey__check_grow(struct marey_checker *checker)
{
    void *keys = checker->keys;
    const size_t n = checker->n_keys < FIRST_KEYS ? FIRST_KEYS : checker->n_keys + 1;

    if (!marey__grow(&checker->alloc, &keys, &checker->keys_capacity, n, sizeof *checker->keys)) {
        checker->failed = true;
        return false;
    }
    checker->keys = keys;
    return true;
}

static void sift_down(uint64_t *heap, size_t at, size_t n)
{
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && heap[child + 1] > heap[child])
            child++;
        if (heap[at] >= heap[child])
            return;
        const uint64_t up = heap[child];
        heap[child] = heap[at];
        heap[at] = up;
        at = child;
    }
}

/* In place, since an object may have as many keys as a record has room for. */
static void sort_keys(uint64_t *keys, size_t n)
{
    for (size_t i = n / 2; i > 0; i--)
        sift_down(keys, i - 1, n);
    for (size_t last = n; last > 1; last--) {
        const uint64_t most = keys[0];
        keys[0] = keys[last - 1];
        keys[last - 1] = most;
        sift_down(keys, 0, last - 1);
    }
}

void marey__check_keys(struct marey_checker *checker, const struct marey_open_container *object)
{
    uint64_t *keys = checker->keys + object->first_key;
    const size_t n = checker->n_keys - object->first_key;

    sort_keys(keys, n);
    for (size_t i = 1; i < n; i++) {
        if (keys[i] != keys[i - 1])
            continue;
        checker->found |= MAREY_DAMAGE_DUPLICATE;
        return;
    }
    checker->clean[object->shape % MAREY_N_SHAPES] = object->shape;
}
