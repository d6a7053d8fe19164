/*
 * test_sites.c - a name's id is that of its bytes, whatever its pointer meant before.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "record/sites.h"
#include "support/expect.h"

static struct marey_sites sites = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct marey_name_cache cache;

static uint32_t find_c(const char *name, uint32_t scope)
{
    return marey__sites_find_c(&sites, &cache, name, scope);
}

static void sites_know_a_pointer_that_means_another_name(void **state)
{
    (void)state;
    char name[32] = "SumBackward0";
    const uint32_t sum = find_c(name, 1);
    EXPECT_U64(find_c(name, 1), sum);

    (void)snprintf(name, sizeof name, "AddmmBackward0");
    const uint32_t addmm = find_c(name, 1);
    EXPECT_TRUE(addmm != sum && addmm != 0);
    (void)snprintf(name, sizeof name, "SumBackward0");
    EXPECT_U64(find_c(name, 1), sum);

    uint32_t scope = 0;
    EXPECT_VIEW(marey__sites_text(&sites, addmm, &scope), "AddmmBackward0");
    EXPECT_U64(scope, 1);
}

/* Names of each length around the head, that differ in each of their bytes or go on. */
static void sites_tell_names_apart_by_each_byte(void **state)
{
    (void)state;
    static char name[64]; /* always the same pointer */

    for (size_t len = 1; len < 40; len++) {
        memset(name, 'a', len);
        memset(name + len, 0, 1);
        memset(name + len + 1, 'x', sizeof name - len - 1); /* what lies behind does not count */
        const uint32_t whole = find_c(name, 7);
        memset(name + len + 1, 'y', sizeof name - len - 1);
        EXPECT_U64(find_c(name, 7), whole);
        for (size_t at = 0; at < len; at++) {
            name[at] = (char)0x80;
            const uint32_t other = find_c(name, 7);
            EXPECT_TRUE(other != whole && other != 0);
            name[at] = 'a';
            EXPECT_U64(find_c(name, 7), whole);
        }
        name[len] = 'a'; /* goes on */
        name[len + 1] = '\0';
        EXPECT_TRUE(find_c(name, 7) != whole);
        name[len] = '\0'; /* and ends sooner */
        name[len - 1] = '\0';
        EXPECT_TRUE(find_c(name, 7) != whole);
    }
}

/* The end of a page may be the end of what can be read. */
static void sites_read_no_other_page(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_TRUE(pages != MAP_FAILED);
    EXPECT_I64(mprotect(pages + page, page, PROT_NONE), 0);

    for (size_t len = 1; len < 30; len++) {
        char *name = pages + page - len - 1;
        memset(name, 'n', len);
        name[len] = '\0';
        const uint32_t id = find_c(name, 0);
        EXPECT_TRUE(id != 0);
        EXPECT_U64(find_c(name, 0), id);
    }
    EXPECT_I64(munmap(pages, 2 * page), 0);
}

static void sites_keep_scopes_apart(void **state)
{
    (void)state;
    const uint32_t op = find_c("forward", 0);
    const uint32_t annotation = find_c("forward", 7);

    EXPECT_TRUE(op != annotation);
    EXPECT_U64(marey__sites_find(&sites, &cache, marey__str("forward"), 7), annotation);
    EXPECT_U64(marey__sites_add(&sites, marey__str("forward"), 0), op);
}

static void sites_keep_many_names_apart(void **state)
{
    (void)state;
    uint32_t id[3000];

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3000; i++) {
            char name[32];
            (void)snprintf(name, sizeof name, "step %d", i);
            const uint32_t found = find_c(name, 7);
            if (round == 0)
                id[i] = found;
            EXPECT_U64(found, id[i]);
        }
    uint32_t scope = 0;
    EXPECT_VIEW(marey__sites_text(&sites, id[2999], &scope), "step 2999");
}

static void sites_take_empty_and_cut_long_names(void **state)
{
    (void)state;
    char name[4000];
    uint32_t scope = 0;

    EXPECT_TRUE(find_c("", 7) != 0);
    EXPECT_VIEW(marey__sites_text(&sites, find_c("", 7), &scope), "");
    memset(name, 'x', sizeof name);
    memcpy(name + 2047, "\xc3\xa9", 2); /* half of it would be left over */
    name[sizeof name - 1] = '\0';
    const uint32_t id = marey__sites_add(&sites, marey__str(name), 7);
    EXPECT_U64(marey__sites_text(&sites, id, &scope).len, 2047);
    EXPECT_TRUE(marey__sites_text(&sites, 4000000, &scope).ptr == NULL);
}

/* A name that is known is found without the table, whatever its length, and no more of it is read
 * than counts. */
static void sites_know_long_names_as_they_do_short_ones(void **state)
{
    (void)state;
    static struct marey_sites untouched = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t n_bytes = (MAREY_NAME_BYTES / page + 1) * page;
    char *pages =
        mmap(NULL, n_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_TRUE(pages != MAP_FAILED);
    EXPECT_I64(mprotect(pages + n_bytes, page, PROT_NONE), 0);
    char *name = pages + n_bytes - (MAREY_NAME_BYTES + 1);
    memset(name, 'z', MAREY_NAME_BYTES + 1);

    const struct marey_str text = {name, n_bytes << 10};
    const uint32_t id = marey__sites_find(&sites, &cache, text, 7);
    EXPECT_TRUE(id != 0);
    EXPECT_U64(marey__sites_find(&untouched, &cache, text, 7), id);
    EXPECT_U64(marey__sites_find_c(&untouched, &cache, name, 7), id);
    EXPECT_FALSE(untouched.is_ready);
    EXPECT_I64(munmap(pages, n_bytes + page), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_know_a_pointer_that_means_another_name),
        cmocka_unit_test(sites_tell_names_apart_by_each_byte),
        cmocka_unit_test(sites_read_no_other_page),
        cmocka_unit_test(sites_keep_scopes_apart),
        cmocka_unit_test(sites_keep_many_names_apart),
        cmocka_unit_test(sites_take_empty_and_cut_long_names),
        cmocka_unit_test(sites_know_long_names_as_they_do_short_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
