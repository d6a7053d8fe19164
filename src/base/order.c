/*
 * order.c - least-significant-digit radix sort, 11 bits a pass; passes in which all keys
 * agree are left out.
 */
#include "base/order.h"

#include <string.h>

#define DIGIT_BITS 11
#define N_DIGITS ((size_t)1 << DIGIT_BITS)

static size_t digit(uint64_t key, unsigned shift)
{
    return (size_t)(key >> shift) & (N_DIGITS - 1);
}

/* Scatters `in` into `out` by one digit; false if all keys have the same one. */
static bool pass(const uint64_t *key, const uint32_t *in, uint32_t *out, size_t n, unsigned shift,
                 uint32_t *count)
{
    memset(count, 0, N_DIGITS * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[digit(key[i], shift)]++;
    if (count[digit(key[0], shift)] == n)
        return false;
    uint32_t at = 0;
    for (size_t d = 0; d < N_DIGITS; d++) {
        const uint32_t here = count[d];
        count[d] = at;
        at += here;
    }
    for (size_t i = 0; i < n; i++)
        out[count[digit(key[in[i]], shift)]++] = in[i];
    return true;
}

bool marey__order_u64(const struct marey_alloc *alloc, const uint64_t *key, uint32_t *order,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    if (n < 2)
        return true;

    uint32_t *spare = marey__alloc(alloc, n, sizeof *spare);
    uint32_t *count = marey__alloc(alloc, N_DIGITS, sizeof *count);
    const bool has_room = spare != NULL && count != NULL;
    if (has_room) {
        uint32_t *in = order;
        uint32_t *out = spare;
        for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
            if (!pass(key, in, out, n, shift, count))
                continue;
            uint32_t *swap = in;
            in = out;
            out = swap;
        }
        if (in != order)
            memcpy(order, in, n * sizeof *order);
    }
    marey__dealloc(alloc, count, N_DIGITS, sizeof *count);
    marey__dealloc(alloc, spare, n, sizeof *spare);
    return has_room;
}

size_t marey__first_at_least(const uint32_t *ascending, size_t n, uint32_t value)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ascending[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
