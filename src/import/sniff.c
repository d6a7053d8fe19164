/*
 * sniff.c - well-known beginnings of files. Adding one: a row here.
 */
#include "import/sniff.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "import/resync.h"

static const struct {
    const char *bytes;
    size_t len;
    const char *what;
} beginning_table[] = {
    {"PK\x03\x04", 4, "it is a zip archive, unpack it first"},
    {"\x7f"
     "ELF",
     4, "it is a program or library"},
    {"\x28\xb5\x2f\xfd", 4, "it is compressed by zstd, decompress it first"},
    {"\xfd"
     "7zXZ",
     5, "it is compressed by xz, decompress it first"},
    {"BZh", 3, "it is compressed by bzip2, decompress it first"},
    {"SQLite format 3", 15, "it is an SQLite database, such as nsys writes"},
    {"\x1f\x8b", 2, "it is compressed by gzip twice, decompress it once"},
    {"\xff\xfe", 2, "it is UTF-16 text, JSON is UTF-8"},
    {"\xfe\xff", 2, "it is UTF-16 text, JSON is UTF-8"},
    {"{\0", 2, "it is UTF-16 text, JSON is UTF-8"},
    {"[\0", 2, "it is UTF-16 text, JSON is UTF-8"},
    {"\0{", 2, "it is UTF-16 text, JSON is UTF-8"},
    {"\0[", 2, "it is UTF-16 text, JSON is UTF-8"},
    {"<!", 2, "it is a page of HTML or XML"},
    {"<?", 2, "it is a page of HTML or XML"},
    {"<html", 5, "it is a page of HTML or XML"},
    {"<HTML", 5, "it is a page of HTML or XML"},
    {"<head", 5, "it is a page of HTML or XML"},
    {"<script", 7, "it is a page of HTML or XML"},
    {"<svg", 4, "it is a page of HTML or XML"},
    {"\x80\x02", 2, "it is a pickle, such as memory snapshots and checkpoints"},
    {"\x80\x04", 2, "it is a pickle, such as memory snapshots and checkpoints"},
    {"\x80\x05", 2, "it is a pickle, such as memory snapshots and checkpoints"},
    {"\x89PNG", 4, "it is a picture"},
    {"%PDF", 4, "it is a PDF document"},
};

#define TAR_MAGIC_AT 257 /* behind the name, owner and times of its first file */

/* What is well known to begin so, or NULL. */
static const char *find_kind(struct marey_str head)
{
    for (size_t i = 0; i < sizeof beginning_table / sizeof beginning_table[0]; i++)
        if (head.len >= beginning_table[i].len &&
            memcmp(head.ptr, beginning_table[i].bytes, beginning_table[i].len) == 0)
            return beginning_table[i].what;
    return NULL;
}

const char *marey__sniff_bytes(struct marey_str head)
{
    const char *kind = find_kind(head);

    if (head.len == 0)
        return "it is empty";
    if (kind != NULL)
        return kind;
    if (head.len >= TAR_MAGIC_AT + 5 && memcmp(head.ptr + TAR_MAGIC_AT, "ustar", 5) == 0)
        return "it is a tar archive, unpack it first";
    if (head.ptr[0] == '<') /* lines of a log may begin so and with a quote, too */
        return "it is a page of HTML or XML";
    if (head.ptr[0] == '"')
        return "it is a JSON string";
    for (size_t i = 0; i < head.len && i < 64; i++)
        if ((unsigned char)head.ptr[i] < 0x09)
            return "it is binary data";
    return "it is no JSON";
}

bool marey__sniff_is_wide(struct marey_str head)
{
    return head.len >= 2 && (head.ptr[0] == '{' || head.ptr[0] == '[') && head.ptr[1] == '\0';
}

bool marey__sniff_start(struct marey_str head, const char **what)
{
    size_t at = 0;
    *what = NULL;
    if (head.len >= 2 && memcmp(head.ptr, "\x1f\x8b", 2) == 0)
        return true;
    if (head.len >= 3 && memcmp(head.ptr, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (at < head.len && memchr(" \n\r\t", head.ptr[at], 4) != NULL)
        at++;
    if (at == head.len)
        return false;
    if ((head.ptr[at] != '{' && head.ptr[at] != '[') || marey__sniff_is_wide(head))
        *what = marey__sniff_bytes(head);
    return true;
}

const char *marey__sniff_list(struct marey_str head)
{
    /* torch writes [[times], [sizes]] or [[time, action, bytes, category], ...]: a list of
     * numbers comes first. */
    if (head.len > 1 && head.ptr[0] == '[' &&
        (head.ptr[1] == '-' || (head.ptr[1] >= '0' && head.ptr[1] <= '9')))
        return "it is a memory timeline (export_memory_timeline), not a trace";
    return "its list holds no records";
}

/* ---- behind junk --------------------------------------------------------------------------- */

/* Zeros and byte order marks too: what a file system or a second writer leaves. */
static const char *skip_blank(const char *at, const char *end)
{
    for (;;) {
        at = marey__json_skip_white(at, end);
        if (at < end && *at == '\0')
            at++;
        else if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
            at += 3;
        else
            return at;
    }
}

static struct marey_object_look look_at(const char *at, const char *end)
{
    const bool is_long = end - at > (ptrdiff_t)MAREY_JUNK_BYTES;

    return marey__resync_look(at, is_long ? at + MAREY_JUNK_BYTES : end);
}

/* An object with a list in which nothing or a record stands first. */
static bool begins_document(const char *at, const char *end)
{
    const struct marey_object_look look = look_at(at, end);
    const char *list = look.has_list ? marey__resync_list(at, end) : NULL;

    if (list == NULL)
        return look.is_cut && marey__resync_begins_trace(at, end);
    list = marey__json_skip_white(list, end);
    return list == end || *list == ']' || look_at(list, end).has_phase;
}

/* Or records: in a list, or one a line. */
static bool begins_trace(const char *at, const char *end)
{
    if (begins_document(at, end))
        return true;
    if (at < end && *at == '[') {
        at = marey__json_skip_white(at + 1, end);
        if (begins_document(at, end))
            return true;
    }
    return look_at(at, end).has_letter;
}

/* Indented text is in something else, such as a program. */
static const char *find_in_lines(const char *at, const char *until, const char *end, bool is_list)
{
    while (at < until) {
        at = memchr(at, '\n', (size_t)(until - at));
        if (at == NULL)
            return NULL;
        at++;
        if (*at == '{' || (*at == '[' && !is_list))
            if (is_list ? begins_document(at, end) : begins_trace(at, end))
                return at;
    }
    return NULL;
}

/* Behind a space, as a log puts what it tells; behind a quote it is in a program. */
static const char *find_in_first_line(const char *at, const char *until, const char *end)
{
    for (at++; at < until && *at != '\n'; at++)
        if (*at == '{' && at[-1] == ' ' && begins_document(at, end))
            return at;
    return NULL;
}

/* A list as JSON has them, and no word in brackets. */
static bool is_list_of_values(const char *at, const char *end)
{
    const char *value = marey__json_skip_white(at + 1, end);

    return value == end || *value == '{' || *value == ']' ||
           marey__resync_behind_values(value, end) != NULL;
}

const char *marey__sniff_behind_junk(struct marey_str head)
{
    const char *end =
        head.ptr + (head.len < MAREY_JUNK_LOOK_BYTES ? head.len : MAREY_JUNK_LOOK_BYTES);
    const char *until =
        head.len < MAREY_JUNK_BYTES ? head.ptr + head.len : head.ptr + MAREY_JUNK_BYTES;
    const char *first = marey__json_skip_white(head.ptr, end);
    const char *at = skip_blank(first, until);

    if (at > first && at < until && begins_trace(at, end))
        return at;
    if (at >= until || find_kind((struct marey_str){first, (size_t)(end - first)}) != NULL)
        return NULL;
    const bool is_list = *at == '[';
    if (*at == '{') {
        const struct marey_object_look look = look_at(at, end);
        if (look.has_phase || look.has_list || look.end == NULL)
            return NULL;
        if (marey__resync_is_document(at, end) && marey__resync_list(at, look.end) != NULL)
            return NULL; /* damaged so that it seems to end */
        at = skip_blank(look.end, end);
        if (at < end && begins_trace(at, end))
            return at;
    } else {
        if (is_list && is_list_of_values(at, end))
            return NULL;
        const char *found = find_in_first_line(at, until, end);
        if (found != NULL)
            return found;
    }
    return find_in_lines(at, until, end, is_list);
}
