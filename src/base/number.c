/*
 * number.c - integers and fixed-point decimals to text and back, without doubles; doubles to text.
 *
 * marey__format_*: two digits at a time from a table.
 * marey__decimal_scaled: decimal text times a power of ten as int64, exact.
 */
#include "base/json.h"

#include <stdio.h>

static const char two_digits[] = "00010203040506070809101112131415161718192021222324"
                                 "25262728293031323334353637383940414243444546474849"
                                 "50515253545556575859606162636465666768697071727374"
                                 "75767778798081828384858687888990919293949596979899";

size_t marey__format_u64(char *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(digits + at, two_digits + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(digits + at, two_digits + 2 * value, 2);
    } else {
        digits[--at] = (char)('0' + value);
    }
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
}

size_t marey__format_i64(char *out, int64_t value)
{
    const size_t sign = value < 0;
    out[0] = '-';
    return sign + marey__format_u64(out + sign, magnitude(value));
}

size_t marey__format_us(char *out, int64_t ns)
{
    const uint64_t all = magnitude(ns);
    const uint64_t rest = all % 1000;
    const size_t sign = ns < 0;
    out[0] = '-';
    size_t len = sign + marey__format_u64(out + sign, all / 1000);
    out[len++] = '.';
    out[len++] = (char)('0' + rest / 100);
    memcpy(out + len, two_digits + 2 * (rest % 100), 2);
    return len + 2;
}

size_t marey__put_point(char *number)
{
    const size_t n_before = strspn(number, "+-0123456789eE");
    char *rest = number + n_before;
    const size_t n_point = strcspn(rest, "+-0123456789eE");

    if (n_point > 0) {
        rest[0] = '.';
        memmove(rest + 1, rest + n_point, strlen(rest + n_point) + 1);
    }
    return strlen(number);
}

/* A program may have set a locale: it is the program's, so it is not changed, and asking it for
 * its point would be a race with who does. */
size_t marey__format_double(char *out, double value)
{
    const int len = snprintf(out, MAREY_NUMBER_BYTES, "%.17g", value);
    return value - value == 0 ? marey__put_point(out) : (size_t)len;
}

struct decimal {
    bool is_negative;
    bool has_digits;
    uint64_t digits;  /* the first 19 significant digits */
    int n_digits;     /* how many of them are kept */
    int64_t exponent; /* value = digits * 10^exponent */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void take_digit(struct decimal *number, char c, bool is_fraction)
{
    number->has_digits = true;
    if (number->n_digits >= 19) {
        number->exponent += is_fraction ? 0 : 1;
        return;
    }
    number->digits = number->digits * 10 + (uint64_t)(c - '0');
    number->n_digits += number->digits != 0;
    number->exponent -= is_fraction;
}

static bool read_exponent(const char **at, const char *end, int64_t *exponent)
{
    const char *p = *at + 1;
    bool is_negative = false;
    if (p < end && (*p == '+' || *p == '-'))
        is_negative = *p++ == '-';
    if (p == end || !is_digit(*p))
        return false;
    int64_t value = 0;
    for (; p < end && is_digit(*p); p++)
        if (value < 1000000)
            value = value * 10 + (*p - '0');
    *exponent += is_negative ? -value : value;
    *at = p;
    return true;
}

static bool read_decimal(struct marey_str text, struct decimal *number)
{
    const char *p = text.ptr;
    const char *end = text.ptr + text.len;
    if (p < end && (*p == '-' || *p == '+'))
        number->is_negative = *p++ == '-';
    for (; p < end && is_digit(*p); p++)
        take_digit(number, *p, false);
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p); p++)
            take_digit(number, *p, true);
    if (p < end && (*p == 'e' || *p == 'E') && !read_exponent(&p, end, &number->exponent))
        return false;
    return p == end && number->has_digits;
}

/* Scales by 10^exponent, dropping what falls below the unit; false on overflow. */
static bool scale_digits(uint64_t digits, int64_t exponent, uint64_t *value)
{
    if (digits == 0) {
        *value = 0;
        return true;
    }
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(digits, UINT64_C(10), &digits))
            return false;
    for (; exponent < 0 && digits > 0; exponent++)
        digits /= 10;
    *value = digits;
    return true;
}

bool marey__decimal_scaled(struct marey_str text, int scale, int64_t *value)
{
    struct decimal number = {0};
    if (text.len == 0 || !read_decimal(text, &number))
        return false;
    uint64_t scaled = 0;
    if (!scale_digits(number.digits, number.exponent + scale, &scaled))
        return false;
    const uint64_t limit = (uint64_t)INT64_MAX;
    if (scaled > limit)
        return false;
    *value = number.is_negative ? -(int64_t)scaled : (int64_t)scaled;
    return true;
}
