/*
 * str.h - small work on views of bytes.
 */
#ifndef MAREY_SRC_BASE_STR_H
#define MAREY_SRC_BASE_STR_H

#include <stdbool.h>
#include <string.h>

#include "marey/base.h"

static inline struct marey_str marey__str(const char *text)
{
    return (struct marey_str){text, strlen(text)};
}

static inline bool marey__str_is(struct marey_str a, struct marey_str b)
{
    /* A view of some bytes has a pointer. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
     */
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool marey__str_is_c(struct marey_str a, const char *b)
{
    return marey__str_is(a, marey__str(b));
}

/* ASCII letters count as equal in both cases. */
bool marey__str_is_caseless(struct marey_str a, const char *b);

bool marey__str_starts(struct marey_str text, const char *prefix);
bool marey__str_ends(struct marey_str text, const char *suffix);

/* True if `part` occurs in `text`; caseless compares ASCII letters alike. */
bool marey__str_holds(struct marey_str text, const char *part);
bool marey__str_holds_caseless(struct marey_str text, const char *part);

/* Byte order, the shorter first among equals: <0, 0, >0. */
int marey__str_compare(struct marey_str a, struct marey_str b);

uint64_t marey__str_hash(struct marey_str text);

#endif
