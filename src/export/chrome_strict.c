/*
 * chrome_strict.c - JSON text of a file as text that every strict reader takes.
 *
 * The text is read the forgiving way and written anew: commas, colons and brackets where they
 * belong, scalars and strings mended (chrome_value.c), of a key that stands twice the last value,
 * since that is the one that we and other readers use, containers below a depth as a string.
 * Text that needs nothing of it stays as it is, byte by byte.
 *
 *     object  ->  { "k": value, "k": value }
 *                   ^from          ^from      entries of the open objects, a stack
 */
#include "export/chrome.h"

#include "base/json.h"

/* A record, its args, the args of a marker and the head in it lie around what is written here. */
#define MOST_DEPTH (MAREY_JSON_DEPTH - 6)

/* So many keys are compared one by one, more are looked up. */
#define FEW_KEYS 32

/* A member that was written: key and value, from the one to the other byte of the output. */
struct member {
    uint64_t key;
    size_t from;
    size_t end;
    bool is_void; /* its key came again */
};

struct strict {
    struct marey_alloc alloc;
    const char *at;
    const char *end;
    struct marey_textbuf *out;
    struct marey_textbuf key;
    struct member *member;
    size_t n_members;
    size_t capacity;
    size_t depth;
    struct marey_chrome_mended mended;
    bool is_changed; /* apart from scalars */
};

static void add_value(struct strict *strict);

static struct marey_str rest_of(const struct strict *strict)
{
    return (struct marey_str){strict->at, (size_t)(strict->end - strict->at)};
}

/* The next byte that is no white space; 0 at the end. */
static char peek(struct strict *strict)
{
    while (strict->at < strict->end && strchr(" \n\r\t", *strict->at) != NULL && *strict->at != 0)
        strict->at++;
    return strict->at < strict->end ? *strict->at : '\0';
}

/* ---- scalars ---- */

/* Half a character, which an escape can name, is no text. */
static void mend_halves(struct strict *strict, size_t from)
{
    struct marey_textbuf *out = strict->out;
    size_t wrong = 0;
    if (out->failed ||
        marey__json_check((struct marey_str){out->ptr + from, out->len - from}, &wrong) == NULL)
        return;
    marey__text_reset(&strict->key);
    marey__json_unescape((struct marey_str){out->ptr + from + 1, out->len - from - 2},
                         &strict->key);
    out->failed |= strict->key.failed;
    out->len = from;
    marey__text_add_json(out, (struct marey_str){strict->key.ptr, strict->key.len});
}

static void add_string(struct strict *strict)
{
    const size_t from = strict->out->len;
    const size_t used = marey__chrome_put_string(strict->out, rest_of(strict));
    const struct marey_str was = {strict->at, used};
    mend_halves(strict, from);
    strict->at += used;
    if (strict->out->failed)
        return;
    strict->is_changed |=
        !marey__str_is(was, (struct marey_str){strict->out->ptr + from, strict->out->len - from});
}

static void add_scalar(struct strict *strict)
{
    strict->at += marey__chrome_put_scalar(strict->out, rest_of(strict), &strict->mended.n_scalars);
}

/* ---- members ---- */

static bool push_member(struct strict *strict, uint64_t key, size_t from)
{
    void *at = strict->member;
    if (strict->n_members == strict->capacity &&
        !marey__grow(&strict->alloc, &at, &strict->capacity, strict->n_members + 1,
                     sizeof *strict->member)) {
        strict->out->failed = true;
        return false;
    }
    strict->member = at;
    strict->member[strict->n_members++] = (struct member){.key = key, .from = from};
    return true;
}

/* A key; what is none becomes one. */
static uint64_t add_key(struct strict *strict)
{
    const size_t from = strict->out->len;
    if (*strict->at == '"') {
        add_string(strict);
    } else {
        const char *key = strict->at;
        while (strict->at < strict->end && memchr(",:{}[]\" \n\r\t", *strict->at, 11) == NULL)
            strict->at++;
        marey__text_add_json(strict->out, (struct marey_str){key, (size_t)(strict->at - key)});
        strict->is_changed = true;
    }
    if (strict->out->failed)
        return 0;
    marey__text_reset(&strict->key);
    marey__json_unescape(
        (struct marey_str){strict->out->ptr + from + 1, strict->out->len - from - 2}, &strict->key);
    strict->out->failed |= strict->key.failed;
    return marey__str_hash((struct marey_str){strict->key.ptr, strict->key.len});
}

static void add_member(struct strict *strict)
{
    const size_t from = strict->out->len;
    const size_t place = strict->n_members;
    const uint64_t key = add_key(strict);
    if (strict->out->failed || !push_member(strict, key, from))
        return;
    marey__text_add(strict->out, ": ", 2);
    if (peek(strict) == ':')
        strict->at++;
    else
        strict->is_changed = true;
    add_value(strict);
    strict->member[place].end = strict->out->len;
}

/* Marks members whose key comes again; false if there is none. */
static bool void_few(struct member *member, size_t n)
{
    bool is_any = false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && !member[i].is_void; j++)
            member[i].is_void = member[i].key == member[j].key;
    for (size_t i = 0; i < n; i++)
        is_any |= member[i].is_void;
    return is_any;
}

static bool void_many(struct strict *strict, struct member *member, size_t n)
{
    struct marey_hashmap last;
    bool is_any = false;
    marey__hashmap_init(&last, &strict->alloc);
    for (size_t i = n; i > 0; i--) {
        uint32_t *place = marey__hashmap_put(&last, member[i - 1].key);
        if (place == NULL) {
            strict->out->failed = true;
            break;
        }
        member[i - 1].is_void = *place != MAREY_NONE;
        is_any |= member[i - 1].is_void;
        *place = 1;
    }
    marey__hashmap_release(&last);
    return is_any;
}

/* Writes the members that count over those that do not. */
static void close_members(struct strict *strict, size_t first, size_t from)
{
    struct marey_textbuf *out = strict->out;
    const size_t n = strict->n_members - first;
    strict->n_members = first;
    if (n < 2 || out->failed)
        return;
    struct member *member = strict->member + first;
    if (!(n <= FEW_KEYS ? void_few(member, n) : void_many(strict, member, n)))
        return;
    strict->is_changed = true;
    size_t to = from;
    for (size_t i = 0; i < n; i++) {
        const size_t len = member[i].end - member[i].from;
        if (member[i].is_void)
            continue;
        if (to > from) {
            memcpy(out->ptr + to, ", ", 2);
            to += 2;
        }
        memmove(out->ptr + to, out->ptr + member[i].from, len);
        to += len;
    }
    out->len = to;
}

/* ---- containers ---- */

/* Passes the commas before an element, or the end of the container; false at its end. */
static bool next(struct strict *strict, char close, bool is_first)
{
    size_t n_commas = 0;
    char c = peek(strict);
    for (; c == ','; c = peek(strict)) {
        n_commas++;
        strict->at++;
    }
    const bool is_end = c == '\0' || c == '}' || c == ']';
    strict->is_changed |= n_commas != (is_first || is_end ? 0 : 1) || (is_end && c != close);
    strict->at += is_end && c != '\0';
    return !is_end && !strict->out->failed;
}

static void add_container(struct strict *strict, char open)
{
    const char close = open == '{' ? '}' : ']';
    const size_t first = strict->n_members;
    bool is_first = true;
    strict->at++;
    marey__text_add_byte(strict->out, open);
    const size_t from = strict->out->len;
    for (; next(strict, close, is_first); is_first = false) {
        if (!is_first)
            marey__text_add(strict->out, ", ", 2);
        if (open == '[' && *strict->at == ':') {
            strict->at++; /* belongs nowhere */
            strict->is_changed = true;
            marey__text_add(strict->out, "null", 4);
        } else if (open == '[') {
            add_value(strict);
        } else {
            add_member(strict);
        }
    }
    if (open == '{')
        close_members(strict, first, from);
    marey__text_add_byte(strict->out, close);
}

/* What lies too deep, as its text. */
static void add_deep(struct strict *strict)
{
    size_t depth = 0;
    bool is_string = false;
    const char *from = strict->at;
    do {
        const char c = *strict->at++;
        strict->at += is_string && c == '\\' && strict->at < strict->end;
        is_string ^= c == '"';
        if (is_string)
            continue;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
    } while ((depth > 0 || is_string) && strict->at < strict->end);
    marey__text_add_json(strict->out, (struct marey_str){from, (size_t)(strict->at - from)});
    strict->is_changed = true;
}

/* \cost recursion, MOST_DEPTH deep at the most */
static void add_value(struct strict *strict)
{
    const char c = peek(strict);
    if ((c == '{' || c == '[') && strict->depth == MOST_DEPTH) {
        add_deep(strict);
    } else if (c == '{' || c == '[') {
        strict->depth++;
        add_container(strict, c);
        strict->depth--;
    } else if (c == '"') {
        add_string(strict);
    } else if (c == '\0' || c == ',' || c == ':' || c == '}' || c == ']') {
        marey__text_add(strict->out, "null", 4);
        strict->is_changed = true;
    } else {
        add_scalar(strict);
    }
}

struct marey_chrome_mended marey__chrome_add_strict(struct marey_textbuf *out,
                                                    struct marey_str json)
{
    struct strict strict = {
        .alloc = out->alloc,
        .at = json.ptr,
        .end = json.ptr + json.len,
        .out = out,
    };
    const size_t from = out->len;
    marey__text_init(&strict.key, &out->alloc);
    add_value(&strict);
    strict.mended.n_texts = strict.is_changed || peek(&strict) != '\0';
    if (strict.mended.n_texts == 0 && strict.mended.n_scalars == 0 && !out->failed) {
        out->len = from;
        marey__text_add_str(out, json);
    }
    marey__text_release(&strict.key);
    marey__dealloc(&strict.alloc, strict.member, strict.capacity, sizeof *strict.member);
    return strict.mended;
}
