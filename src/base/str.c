/*
 * str.c - comparing, searching and hashing views of bytes.
 */
#define _GNU_SOURCE /* memmem */
#include "base/str.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool equal_caseless(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

bool marey__str_is_caseless(struct marey_str a, const char *b)
{
    const size_t len = strlen(b);
    return a.len == len && equal_caseless(a.ptr, b, len);
}

bool marey__str_starts(struct marey_str text, const char *prefix)
{
    const size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.ptr, prefix, len) == 0;
}

bool marey__str_ends(struct marey_str text, const char *suffix)
{
    const size_t len = strlen(suffix);
    return text.len >= len && memcmp(text.ptr + text.len - len, suffix, len) == 0;
}

bool marey__str_holds(struct marey_str text, const char *part)
{
    const size_t len = strlen(part);
    return len == 0 || (text.len >= len && memmem(text.ptr, text.len, part, len) != NULL);
}

bool marey__str_holds_caseless(struct marey_str text, const char *part)
{
    const size_t len = strlen(part);
    for (size_t i = 0; i + len <= text.len; i++)
        if (equal_caseless(text.ptr + i, part, len))
            return true;
    return false;
}

int marey__str_compare(struct marey_str a, struct marey_str b)
{
    const size_t len = a.len < b.len ? a.len : b.len;
    const int order = len == 0 ? 0 : memcmp(a.ptr, b.ptr, len);
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

static uint64_t load(const char *ptr, size_t len)
{
    uint64_t word = 0;
    memcpy(&word, ptr, len);
    return word;
}

__extension__ typedef unsigned __int128 wide;

static uint64_t mix(uint64_t a, uint64_t b)
{
    const wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two multiplies for each 16 bytes; the constants are digits of pi, odd. */
uint64_t marey__str_hash(struct marey_str text)
{
    const uint64_t k0 = UINT64_C(0x243f6a8885a308d3);
    const uint64_t k1 = UINT64_C(0x13198a2e03707345);
    const char *ptr = text.ptr;
    size_t len = text.len;
    uint64_t hash = k0 ^ text.len;
    while (len >= 16) {
        hash = mix(load(ptr, 8) ^ k1 ^ hash, load(ptr + 8, 8) ^ k0);
        ptr += 16;
        len -= 16;
    }
    if (len >= 8)
        return mix(mix(load(ptr, 8) ^ hash, k1), load(ptr + 8, len - 8) ^ k0 ^ hash);
    return mix((len > 0 ? load(ptr, len) : 0) ^ k1, hash ^ k1);
}
