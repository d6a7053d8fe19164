/*
 * sniff.c - well-known beginnings of files. Adding one: a row here.
 */
#include "import/sniff.h"

#include <string.h>

#include "base/str.h"

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
    {"<", 1, "it is a page of HTML or XML"},
    {"\x80\x02", 2, "it is a pickle, such as memory snapshots and checkpoints"},
    {"\x80\x04", 2, "it is a pickle, such as memory snapshots and checkpoints"},
    {"\x80\x05", 2, "it is a pickle, such as memory snapshots and checkpoints"},
    {"\x89PNG", 4, "it is a picture"},
    {"%PDF", 4, "it is a PDF document"},
    {"\"", 1, "it is a JSON string"},
};

const char *marey__sniff_bytes(struct marey_str head)
{
    if (head.len == 0)
        return "it is empty";
    for (size_t i = 0; i < sizeof beginning_table / sizeof beginning_table[0]; i++)
        if (head.len >= beginning_table[i].len &&
            memcmp(head.ptr, beginning_table[i].bytes, beginning_table[i].len) == 0)
            return beginning_table[i].what;
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
