/*
 * Tests of src/import/resync.c: how far it looks for what it finds.
 */
#include "import/resync.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "support/expect.h"

#define RECORD "{\"ph\":\"X\",\"name\":\"a\"}"

/* n brackets that no list ends with, since what follows is cut, and then one that it does. */
static struct marey_str write_brackets(struct marey_textbuf *text, size_t n)
{
    marey__text_reset(text);
    marey__text_add_c(text, "{\"ph\":\"X\",,,");
    for (size_t i = 0; i < n; i++)
        marey__text_add_c(text, "],\"a\":[1");
    marey__text_add_c(text, "],}]}");
    EXPECT_FALSE(marey__text_failed(text));
    return (struct marey_str){text->ptr, text->len};
}

/* How many bytes before the end of such text the list ends; 0: nowhere. */
static size_t list_end_of(struct marey_textbuf *text, size_t n)
{
    const struct marey_str damaged = write_brackets(text, n);
    const char *end = damaged.ptr + damaged.len;
    const char *list_end = marey__resync_list_end(damaged.ptr, end);

    EXPECT_TRUE(damaged.len < (size_t)1 << 20); /* a longer tail is none */
    return list_end == NULL ? 0 : (size_t)(end - list_end);
}

/* The last bracket is found behind any that are not too many; each of these is tried in vain, and
 * reads to the end. */
static void a_list_end_is_tried_in_vain_so_often_only(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;

    marey__text_init(&text, &alloc);
    for (size_t n = 1; n < 1000; n += 111)
        EXPECT_U64(list_end_of(&text, n), 2);
    EXPECT_U64(list_end_of(&text, 20000), 0);
    marey__text_release(&text);
}

/* A reader that looks for the nearer of two looks for neither beyond. */
static void what_begins_is_looked_for_so_far_only(void **state)
{
    (void)state;
    static const char lines[] = "x\n}," RECORD "\n" RECORD "\n{\"traceEvents\":[";
    const char *end = lines + sizeof lines - 1;
    const char *record = lines + 4;
    const char *line = record + sizeof RECORD;
    const char *document = line + sizeof RECORD;

    EXPECT_TRUE(marey__resync_record(lines, lines + 3, end, true) == record);
    EXPECT_TRUE(marey__resync_record(lines, lines + 2, end, true) == NULL);
    EXPECT_TRUE(marey__resync_unquoted(lines, record + 1, end) == record);
    EXPECT_TRUE(marey__resync_unquoted(lines, record, end) == NULL);
    EXPECT_TRUE(marey__resync_line(lines, line, end) == line);
    EXPECT_TRUE(marey__resync_line(lines, line - 1, end) == NULL);
    EXPECT_TRUE(marey__resync_document(lines, document + 1, end) == document);
    EXPECT_TRUE(marey__resync_document(lines, document, end) == NULL);
}

/* A list that lacks its bracket takes that of the records, and the object around it their end. */
static void a_record_in_an_object_that_ends_with_the_text_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ptrdiff_t at; /* -1: nowhere */
    } rows[] = {
        {"{\"a\":{\"b\":[[1],\n" RECORD "," RECORD "\n]}", 16},
        {"{\"a\":{\"b\":[[1],\n" RECORD "," RECORD "\n]}\n", 16},
        {"{\"a\":{\"b\":[[1],\n" RECORD "," RECORD "\n]}{\"traceEvents\":[", 16},
        {"{\"a\":{\"b\":[[1],\n" RECORD "," RECORD "\n],\"c\":1}", 16},
        {"{\"a\":{\"b\":[" RECORD "]},,}", -1},
        {"{\"a\":{\"b\":[" RECORD "]}}", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = rows[i].text;
        const char *end = text + strlen(text);
        const char *record = marey__resync_torn(text, end, end);
        EXPECT_I64(record == NULL ? -1 : record - text, rows[i].at);
    }
}

/* n objects that begin as a document does and have no list, behind one that has it. */
static bool finds_owner(struct marey_textbuf *text, size_t n)
{
    marey__text_reset(text);
    marey__text_add_c(text, "x{\"schemaVersion\":1,\"a\":[");
    for (size_t i = 0; i < n; i++)
        marey__text_add_c(text, "{\"traceName\":[{}]},");
    marey__text_add_c(text, "{}],\"traceEvents\":[");
    EXPECT_FALSE(marey__text_failed(text));
    const char *owner = marey__resync_owner(text->ptr, text->ptr + text->len);
    EXPECT_TRUE(owner == NULL || owner == text->ptr + 1);
    return owner != NULL;
}

static void who_has_a_list_is_tried_so_often_only(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_textbuf text;

    marey__text_init(&text, &alloc);
    EXPECT_TRUE(finds_owner(&text, 0));
    EXPECT_TRUE(finds_owner(&text, 63));
    EXPECT_FALSE(finds_owner(&text, 64));
    marey__text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_end_is_tried_in_vain_so_often_only),
        cmocka_unit_test(what_begins_is_looked_for_so_far_only),
        cmocka_unit_test(a_record_in_an_object_that_ends_with_the_text_is_found),
        cmocka_unit_test(who_has_a_list_is_tried_so_often_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
