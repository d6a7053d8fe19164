/*
 * chrome_digits.h - nanoseconds as microseconds with three decimals, three digits at a time.
 *
 * Inline, because it is half of the cost of a record. `out` needs 32 bytes of room; bytes
 * past the result may be overwritten.
 */
#ifndef MAREY_SRC_EXPORT_CHROME_DIGITS_H
#define MAREY_SRC_EXPORT_CHROME_DIGITS_H

#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* clang-format changes its mind about these at every run. */
/* clang-format off */
#define MAREY_ONES(h) h "0" h "1" h "2" h "3" h "4" h "5" h "6" h "7" h "8" h "9"
#define MAREY_TENS(h)                                                                              \
    MAREY_ONES(h "0") MAREY_ONES(h "1") MAREY_ONES(h "2") MAREY_ONES(h "3") MAREY_ONES(h "4")      \
    MAREY_ONES(h "5") MAREY_ONES(h "6") MAREY_ONES(h "7") MAREY_ONES(h "8") MAREY_ONES(h "9")

/* ".000.001 … .999": three digits with and without the point before them. */
static const char marey_thousand[4001] =
    MAREY_TENS(".0") MAREY_TENS(".1") MAREY_TENS(".2") MAREY_TENS(".3") MAREY_TENS(".4")
    MAREY_TENS(".5") MAREY_TENS(".6") MAREY_TENS(".7") MAREY_TENS(".8") MAREY_TENS(".9");
/* clang-format on */

/* "ddd" */
static inline char *marey_put_three(char *out, uint32_t below_1000)
{
    memcpy(out, marey_thousand + 4 * below_1000 + 1, 3);
    return out + 3;
}

/* ".ddd" */
static inline char *marey_put_decimals(char *out, uint32_t below_1000)
{
    memcpy(out, marey_thousand + 4 * below_1000, 4);
    return out + 4;
}

/* Without leading zeros. */
static inline char *marey_put_short(char *out, uint32_t below_1000)
{
    const uint32_t zeros = (uint32_t)(below_1000 < 100) + (uint32_t)(below_1000 < 10);
    memcpy(out, marey_thousand + 4 * below_1000 + 1 + zeros, 3);
    return out + 3 - zeros;
}

static inline char *marey_put_below_1e6(char *out, uint32_t value)
{
    if (value < 1000)
        return marey_put_short(out, value);
    return marey_put_three(marey_put_short(out, value / 1000), value % 1000);
}

static inline char *marey_put_below_1e9(char *out, uint32_t value)
{
    if (value < 1000)
        return marey_put_short(out, value);
    return marey_put_three(marey_put_below_1e6(out, value / 1000), value % 1000);
}

/* A duration: most are below a second. */
static inline char *marey_put_us(char *out, int64_t ns)
{
    if (ns < 0 || ns >= 1000000000)
        return out + marey__format_us(out, ns);
    const uint32_t value = (uint32_t)ns;
    return marey_put_decimals(marey_put_below_1e6(out, value / 1000), value % 1000);
}

#endif
