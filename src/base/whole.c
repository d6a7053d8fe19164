/*
 * whole.c - whole numbers where a writer may have spelt them in ways of its own.
 */
#include "base/json.h"

#define MOST_ESCAPED 64 /* characters of a number of which some are escaped */

/* Whether a number that has been read has no digit below one: 12, 1.50e3, 300e-2. */
static bool is_whole(struct marey_str text)
{
    int64_t exponent = 0;
    size_t len = 0; /* without the exponent */

    while (len < text.len && text.ptr[len] != 'e' && text.ptr[len] != 'E')
        len++;
    if (len < text.len) {
        const size_t from = len + 1 + (len + 1 < text.len && text.ptr[len + 1] == '+');
        if (!marey__decimal_scaled((struct marey_str){text.ptr + from, text.len - from}, 0,
                                   &exponent))
            return false;
    }
    const char *point = memchr(text.ptr, '.', len);
    const size_t point_at = point != NULL ? (size_t)(point - text.ptr) : len;
    size_t last = len; /* behind the last digit that is not 0 */
    while (last > 0 && (text.ptr[last - 1] < '1' || text.ptr[last - 1] > '9'))
        last--;
    const int64_t n_behind = (int64_t)last - (int64_t)point_at - (last > point_at);
    return last == 0 || n_behind <= exponent;
}

enum marey_json_whole marey__json_whole(struct marey_str raw, int64_t *value)
{
    const bool is_text = raw.len > 1 && raw.ptr[0] == '"' && raw.ptr[raw.len - 1] == '"';
    struct marey_str number = is_text ? (struct marey_str){raw.ptr + 1, raw.len - 2} : raw;
    char plain[MOST_ESCAPED];
    int64_t read = 0;
    size_t wrong = 0;

    if (is_text && memchr(number.ptr, '\\', number.len) != NULL) {
        if (!marey__json_ascii(number, plain, sizeof plain, &number.len))
            return MAREY_JSON_NOT_WHOLE;
        number.ptr = plain;
    }
    if (!marey__decimal_scaled(number, 0, &read) || !is_whole(number))
        return MAREY_JSON_NOT_WHOLE;
    *value = read;
    if (is_text)
        return MAREY_JSON_WHOLE_TEXT;
    return marey__json_check(number, &wrong) == NULL ? MAREY_JSON_WHOLE : MAREY_JSON_WHOLE_ODD;
}
