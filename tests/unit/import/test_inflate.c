/*
 * Tests of inflate.h: what is read of a member rests on its bytes alone.
 */
#include "import/inflate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/expect.h"
#include "support/make_gzip.h"

enum { ROOM = 1 << 15, TEXT_BYTES = 12000, FIRST_BYTES = 160 };

struct member {
    unsigned char bytes[ROOM];
    size_t len;
};

struct inflated {
    unsigned char text[ROOM];
    size_t len;
    enum marey_inflate_result result;
};

static void *allocate_filled(void *ctx, size_t size_bytes)
{
    void *block = malloc(size_bytes);
    if (block != NULL)
        memset(block, *(const int *)ctx, size_bytes);
    return block;
}

static void *reallocate_none(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    (void)ctx;
    (void)ptr;
    (void)old_bytes;
    (void)new_bytes;
    return NULL;
}

static void release(void *ctx, void *ptr, size_t size_bytes)
{
    (void)ctx;
    (void)size_bytes;
    free(ptr);
}

/* Of numbers with a word before each, so that members of other words have other tables. */
static void make_member(struct member *member, const char *word)
{
    char text[TEXT_BYTES];
    size_t len = 0;
    for (int i = 0; len < sizeof text - 64; i++)
        len += (size_t)snprintf(text + len, 64, "%s%d: %d, ", word, i % 50, i);
    member->len = make_gzip(text, len, member->bytes, sizeof member->bytes);
}

static void run(struct marey_inflate *inflate, const struct member *member, struct inflated *out)
{
    struct marey_inflate_io io = {
        .in = member->bytes, .in_len = member->len, .out = out->text, .out_len = sizeof out->text};
    out->result = marey__inflate_run(inflate, &io);
    out->len = sizeof out->text - io.out_len;
}

/* In memory that holds `fill`, behind another member if there is one. */
static void inflate_in(int fill, const struct member *before, const struct member *member,
                       struct inflated *out)
{
    const struct marey_alloc alloc = {allocate_filled, reallocate_none, release, &fill};
    struct marey_inflate *inflate = marey__inflate_new(&alloc);
    EXPECT_TRUE(inflate != NULL);
    if (before != NULL) {
        run(inflate, before, out);
        EXPECT_TRUE(out->result == MAREY_INFLATE_MEMBER);
        marey__inflate_reset(inflate);
    }
    run(inflate, member, out);
    marey__inflate_free(inflate);
}

static void expect_same(const struct inflated *a, const struct inflated *b)
{
    EXPECT_I64(a->result, b->result);
    EXPECT_U64(a->len, b->len);
    EXPECT_TRUE(memcmp(a->text, b->text, a->len) == 0);
}

static void damage_is_read_alike_whatever_was_in_memory(void **state)
{
    (void)state;
    struct member other;
    struct member member;
    struct inflated zeros;
    struct inflated ones;
    struct inflated behind;
    size_t n_whole = 0;
    make_member(&other, "WHAT HAS other LETTERS");
    make_member(&member, "name");
    EXPECT_TRUE(member.len > FIRST_BYTES);
    for (size_t bit = 0; bit < FIRST_BYTES * 8; bit++) {
        member.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        inflate_in(0, NULL, &member, &zeros);
        inflate_in(0xff, NULL, &member, &ones);
        inflate_in(0x41, &other, &member, &behind);
        expect_same(&zeros, &ones);
        expect_same(&zeros, &behind);
        n_whole += zeros.result == MAREY_INFLATE_MEMBER;
        member.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    EXPECT_TRUE(n_whole < FIRST_BYTES); /* a few bits of the head mean nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_read_alike_whatever_was_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
