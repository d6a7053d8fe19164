/*
 * names.c - decoding new spellings, and the table of known ones.
 */
#include "import/names.h"

#include "base/json.h"

enum { FIRST_SLOTS = 1024 };

bool marey__names_init(struct marey_names *names, const struct marey_alloc *alloc,
                       struct marey_intern *strings)
{
    *names = (struct marey_names){.alloc = *alloc, .strings = strings};
    marey__arena_init(&names->arena, alloc);
    marey__text_init(&names->decoded, alloc);
    names->slot = marey__alloc_zero(alloc, FIRST_SLOTS, sizeof *names->slot);
    if (names->slot == NULL)
        return false;
    names->n_slots = FIRST_SLOTS;
    return true;
}

void marey__names_release(struct marey_names *names)
{
    if (names->alloc.release == NULL)
        return;
    marey__dealloc(&names->alloc, names->slot, names->n_slots, sizeof *names->slot);
    names->slot = NULL;
    marey__text_release(&names->decoded);
    marey__arena_release(&names->arena);
}

/* ---- decoding ------------------------------------------------------------------- */

size_t marey__names_utf8(struct marey_str text, size_t *bad)
{
    const unsigned char *at = (const unsigned char *)text.ptr;
    const unsigned char *end = at + text.len;
    const unsigned char first = *at;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t len = 0;

    *bad = 1;
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        len = 2;
    else if (first >= 0xe0 && first <= 0xef)
        len = 3;
    else if (first >= 0xf0 && first <= 0xf4)
        len = 4;
    else
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < len; i++) {
        if (at + i == end || at[i] < low || at[i] > high) {
            *bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return len;
}

bool marey__names_mend_utf8(struct marey_str text, struct marey_textbuf *out)
{
    const unsigned char *at = (const unsigned char *)text.ptr;
    const unsigned char *end = at + text.len;
    bool is_repaired = false;

    while (at < end) {
        size_t bad = 0;
        const size_t len =
            marey__names_utf8((struct marey_str){(const char *)at, (size_t)(end - at)}, &bad);
        if (len > 0) {
            marey__text_add(out, (const char *)at, len);
        } else {
            marey__text_add(out, "\xef\xbf\xbd", 3);
            is_repaired = true;
        }
        at += len > 0 ? len : bad;
    }
    return is_repaired;
}

/* The value of four hexadecimal digits, or -1. */
static int32_t hex4(const char *at, const char *end)
{
    int32_t value = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char c = at[i];
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            value = value * 16 + (c - 'A' + 10);
        else
            return -1;
    }
    return value;
}

static bool is_low_surrogate(int32_t code)
{
    return code >= 0xdc00 && code <= 0xdfff;
}

size_t marey__names_escape(struct marey_str text, uint32_t *damage)
{
    const char *at = text.ptr + 1;
    const char *end = text.ptr + text.len;
    const char kind = at < end ? *at++ : '\0';

    if (kind != 'u') {
        if (kind == '\0' || strchr("\"\\/bfnrt", kind) == NULL)
            *damage |= MAREY_NAME_BAD_ESCAPE;
        return (size_t)(at - text.ptr);
    }
    const int32_t code = hex4(at, end);
    if (code < 0) {
        *damage |= MAREY_NAME_BAD_ESCAPE;
        return (size_t)(at - text.ptr);
    }
    at += 4;
    if (code >= 0xd800 && code <= 0xdbff && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
        is_low_surrogate(hex4(at + 2, end)))
        at += 6;
    else if (code >= 0xd800 && code <= 0xdfff)
        *damage |= MAREY_NAME_BAD_UTF8;
    return (size_t)(at - text.ptr);
}

static uint32_t check_escapes(struct marey_str raw)
{
    uint32_t damage = 0;

    for (size_t i = 0; i < raw.len;)
        i += raw.ptr[i] == '\\'
                 ? marey__names_escape((struct marey_str){raw.ptr + i, raw.len - i}, &damage)
                 : 1;
    return damage;
}

static uint32_t check_bytes(struct marey_str raw, bool *is_ascii)
{
    unsigned char top = 0;
    uint32_t damage = 0;

    for (size_t i = 0; i < raw.len; i++) {
        const unsigned char c = (unsigned char)raw.ptr[i];
        top |= c;
        if (c < 0x20)
            damage = MAREY_NAME_CONTROL;
    }
    *is_ascii = top < 0x80;
    return damage;
}

/* One wrong escape shows that the writer did not escape: all back-slashes are the text's own, but
 * for those that keep a quote from ending it. */
static void keep_slashes(struct marey_str raw, struct marey_textbuf *out)
{
    for (size_t i = 0; i < raw.len; i++)
        if (raw.ptr[i] != '\\' || i + 1 == raw.len || raw.ptr[i + 1] != '"')
            marey__text_add_byte(out, raw.ptr[i]);
}

/* The text that a spelling means, interned; MAREY_NONE without memory. */
static uint32_t decode(struct marey_names *names, struct marey_str raw, bool has_escape,
                       uint32_t *damage)
{
    struct marey_textbuf *decoded = &names->decoded;
    bool is_ascii = false;

    *damage = check_bytes(raw, &is_ascii);
    if (!has_escape && is_ascii)
        return marey__intern(names->strings, raw);

    /* UTF-8 first: an escape is ASCII and cannot be part of a broken sequence. */
    marey__text_reset(decoded);
    if (marey__names_mend_utf8(raw, decoded))
        *damage |= MAREY_NAME_BAD_UTF8;
    if (has_escape) {
        const size_t from = decoded->len;
        *damage |= check_escapes(raw);
        if (marey__text_reserve(decoded, from + MAREY_NAME_PAD) == NULL)
            return MAREY_NONE;
        /* The room reserved holds the result, so its source does not move. */
        const struct marey_str source = {decoded->ptr, from};
        if ((*damage & MAREY_NAME_BAD_ESCAPE) != 0)
            keep_slashes(source, decoded);
        else
            marey__json_unescape(source, decoded);
        if (marey__text_failed(decoded))
            return MAREY_NONE;
        return marey__intern(names->strings,
                             (struct marey_str){decoded->ptr + from, decoded->len - from});
    }
    if (marey__text_failed(decoded))
        return MAREY_NONE;
    return marey__intern(names->strings, (struct marey_str){decoded->ptr, decoded->len});
}

/* ---- the table ---------------------------------------------------------------------- */

static bool grow(struct marey_names *names)
{
    const size_t n_slots = names->n_slots * 2;
    struct marey_name *slot = marey__alloc_zero(&names->alloc, n_slots, sizeof *slot);

    if (slot == NULL)
        return false;
    for (size_t i = 0; i < names->n_slots; i++) {
        if (names->slot[i].raw == NULL)
            continue;
        size_t at = (size_t)names->slot[i].hash & (n_slots - 1);
        while (slot[at].raw != NULL)
            at = (at + 1) & (n_slots - 1);
        slot[at] = names->slot[i];
    }
    marey__dealloc(&names->alloc, names->slot, names->n_slots, sizeof *slot);
    names->slot = slot;
    names->n_slots = n_slots;
    return true;
}

/* A copy that may be compared in blocks. */
static const char *keep_raw(struct marey_names *names, struct marey_str raw)
{
    char *copy = marey__arena_take_bytes(&names->arena, raw.len + MAREY_NAME_PAD);

    if (copy == NULL)
        return NULL;
    if (raw.len > 0)
        memcpy(copy, raw.ptr, raw.len);
    memset(copy + raw.len, 0, MAREY_NAME_PAD);
    return copy;
}

static const struct marey_name *fail(struct marey_names *names)
{
    names->failed = true;
    return NULL;
}

const struct marey_name *marey__names_add(struct marey_names *names, struct marey_str raw,
                                          bool has_escape, uint64_t hash)
{
    uint32_t damage = 0;

    if ((names->n + 1) * 2 > names->n_slots && !grow(names))
        return fail(names);
    const uint32_t id = decode(names, raw, has_escape, &damage);
    const char *copy = id == MAREY_NONE ? NULL : keep_raw(names, raw);
    if (copy == NULL)
        return fail(names);

    size_t at = (size_t)hash & (names->n_slots - 1);
    while (names->slot[at].raw != NULL)
        at = (at + 1) & (names->n_slots - 1);
    names->slot[at] = (struct marey_name){
        .hash = hash,
        .raw = copy,
        .len = (uint32_t)raw.len,
        .id = id,
        .damage = damage,
    };
    names->n++;
    return &names->slot[at];
}

const struct marey_name *marey__names_get(struct marey_names *names, struct marey_str raw,
                                          bool has_escape)
{
    const uint64_t hash = marey_name_hash(raw.ptr, raw.len);
    size_t at = (size_t)hash & (names->n_slots - 1);

    for (; names->slot[at].raw != NULL; at = (at + 1) & (names->n_slots - 1)) {
        const struct marey_name *name = &names->slot[at];
        if (name->hash == hash && name->len == raw.len && memcmp(name->raw, raw.ptr, raw.len) == 0)
            return name;
    }
    return marey__names_add(names, raw, has_escape, hash);
}
