/*
 * chrome_number.c - the numbers of a head that decide about all others: base time, rank, world
 * size. A reader of ours takes them in quotes and with slips of their writer, and counts that; so
 * they are written as the numbers that they were read as, also where nothing else is repaired.
 */
#include "export/chrome.h"

#include "base/json.h"

#define BASE "baseTimeNanoseconds"
#define DISTRIBUTED "distributedInfo"

bool marey__chrome_is_base(struct marey_str key)
{
    return marey__str_is_c(key, BASE);
}

bool marey__chrome_is_odd_base(const struct marey_chrome *chrome, const struct marey_meta *meta)
{
    int64_t base_ns = 0;
    const enum marey_json_whole spelt =
        marey__json_whole(marey_trace_string(chrome->trace, meta->json_id), &base_ns);
    return marey__chrome_is_base(marey_trace_string(chrome->trace, meta->key_id)) &&
           (spelt == MAREY_JSON_WHOLE_TEXT || spelt == MAREY_JSON_WHOLE_ODD);
}

/* What a key spells that tells a rank; NULL for any other. */
static const char *number_key(struct marey_str key)
{
    if (marey__json_spells(key, "rank"))
        return "rank";
    return marey__json_spells(key, "world_size") ? "world_size" : NULL;
}

bool marey__chrome_has_odd_ranks(struct marey_str key, struct marey_str text)
{
    struct marey_json json = marey__json(text);
    struct marey_str member;
    int64_t number = 0;
    size_t wrong = 0;
    if (!marey__str_is_c(key, DISTRIBUTED) || !marey__json_enter(&json, '{'))
        return false;
    if (marey__json_check(text, &wrong) != NULL)
        return true;
    while (marey__json_key(&json, &member)) {
        const char *spelt = number_key(member);
        const enum marey_json_whole whole = marey__json_whole(marey__json_raw(&json), &number);
        if (spelt != NULL && (whole == MAREY_JSON_WHOLE_TEXT || !marey__str_is_c(member, spelt)))
            return true;
    }
    return false;
}

void marey__chrome_add_ranks(struct marey_str strict, struct marey_textbuf *out)
{
    struct marey_json json = marey__json(strict);
    struct marey_str key;
    const char *separator = "{";
    (void)marey__json_enter(&json, '{');
    while (marey__json_key(&json, &key)) {
        const char *spelt = number_key(key);
        const struct marey_str raw = marey__json_raw(&json);
        int64_t number = 0;
        marey__text_add_c(out, separator);
        marey__text_add_byte(out, '"');
        marey__text_add_str(out, spelt != NULL ? marey__str(spelt) : key);
        marey__text_add_c(out, "\": ");
        if (spelt != NULL && marey__json_whole(raw, &number) == MAREY_JSON_WHOLE_TEXT)
            marey__text_add_i64(out, number);
        else
            marey__text_add_str(out, raw);
        separator = ", ";
    }
    marey__text_add_c(out, separator[0] == '{' ? "{}" : "}");
}
