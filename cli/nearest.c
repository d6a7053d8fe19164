/*
 * nearest.c - the edit distance with swaps (optimal string alignment).
 */
#include "nearest.h"

#include <stdint.h>
#include <string.h>

#define MAX_LETTERS 63

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
    const size_t a_len = strlen(a);
    const size_t b_len = strlen(b);
    size_t rows[3][MAX_LETTERS + 1];

    if (a_len > MAX_LETTERS || b_len > MAX_LETTERS)
        return SIZE_MAX;

    /* Of the table of distances between all prefixes, three rows are alive. */
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            const size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller(replaced, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

size_t nearest_limit(const char *word)
{
    const size_t third = strlen(word) / 3;

    return third > 1 ? third : 1;
}
