/*
 * json_sound.c - how far text keeps the structure of JSON.
 *
 * What reads args one by one must agree on where broken ones end, whoever reads them: the load,
 * the columns, the writer. This is the rule:
 *
 *     {"a": 1, "b": [2 3], "c": 4}
 *      ------>                        what counts: whole members before the first fault
 *
 * Structure is quotes, colons, commas and brackets. Any word may stand for a value (NaN, 01, nil)
 * and any byte in a string: those are mended where they stand.
 */
#include "base/json.h"

struct sound {
    const char *at;
    const char *end;
    size_t most_depth;
    size_t depth;
    char close[MAREY_JSON_DEPTH]; /* of the containers that are open */
};

static bool is_next(const struct sound *sound, char byte)
{
    return sound->at < sound->end && *sound->at == byte;
}

static void skip_space(struct sound *sound)
{
    while (is_next(sound, ' ') || is_next(sound, '\n') || is_next(sound, '\t') ||
           is_next(sound, '\r'))
        sound->at++;
}

static bool pass_string(struct sound *sound)
{
    if (!is_next(sound, '"'))
        return false;
    const char *at = sound->at + 1;
    for (; at < sound->end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < sound->end;
    if (at >= sound->end)
        return false;
    sound->at = at + 1;
    return true;
}

/* What a byte is to a word. */
enum { WITHIN, ENDS_IT, BREAKS_IT };

static const unsigned char of_word[256] = {
    [','] = ENDS_IT,   [']'] = ENDS_IT,   ['}'] = ENDS_IT,   [' '] = ENDS_IT,
    ['\n'] = ENDS_IT,  ['\r'] = ENDS_IT,  ['\t'] = ENDS_IT,  ['"'] = BREAKS_IT,
    [':'] = BREAKS_IT, ['['] = BREAKS_IT, ['{'] = BREAKS_IT, ['\0'] = BREAKS_IT,
};

static bool pass_word(struct sound *sound)
{
    const char *at = sound->at;

    while (at < sound->end && of_word[(unsigned char)*at] == WITHIN)
        at++;
    const bool is_word =
        at > sound->at && at < sound->end && of_word[(unsigned char)*at] == ENDS_IT;
    sound->at = at;
    return is_word;
}

/* A key and its colon. */
static bool pass_key(struct sound *sound)
{
    skip_space(sound);
    if (!pass_string(sound))
        return false;
    skip_space(sound);
    if (!is_next(sound, ':'))
        return false;
    sound->at++;
    return true;
}

/* Passes the bracket, and the key of the first value if there is one. */
static bool open_container(struct sound *sound, bool *is_empty)
{
    const char close = *sound->at == '{' ? '}' : ']';

    if (sound->depth == sound->most_depth)
        return false;
    sound->close[sound->depth++] = close;
    sound->at++;
    skip_space(sound);
    *is_empty = is_next(sound, close);
    return *is_empty || close == ']' || pass_key(sound);
}

/* A string, a word, or what opens a container up to its end or its first such value. */
static bool pass_first(struct sound *sound)
{
    bool is_empty = false;

    while (!is_empty) {
        skip_space(sound);
        if (is_next(sound, '"'))
            return pass_string(sound);
        if (!is_next(sound, '{') && !is_next(sound, '['))
            return pass_word(sound);
        if (!open_container(sound, &is_empty))
            return false;
    }
    return true;
}

/* After a value: the ends of containers, then what leads to the next value of one that is open. */
static bool pass_to_next(struct sound *sound, bool *is_over)
{
    skip_space(sound);
    while (sound->depth > 0 && is_next(sound, sound->close[sound->depth - 1])) {
        sound->at++;
        sound->depth--;
        if (sound->depth > 0)
            skip_space(sound);
    }
    *is_over = sound->depth == 0;
    if (*is_over)
        return true;
    if (!is_next(sound, ','))
        return false;
    sound->at++;
    return sound->close[sound->depth - 1] == ']' || pass_key(sound);
}

/* A whole value; nothing behind it is passed. */
static bool pass_value(struct sound *sound)
{
    bool is_over = false;

    while (!is_over) {
        if (!pass_first(sound))
            return false;
        is_over = sound->depth == 0;
        if (!is_over && !pass_to_next(sound, &is_over))
            return false;
    }
    return true;
}

size_t marey__json_value_len(struct marey_str text, size_t most_depth)
{
    struct sound sound; /* not all of it: the brackets need no beginning */

    if (text.len == 0)
        return 0;
    sound.at = text.ptr;
    sound.end = text.ptr + text.len;
    sound.most_depth = most_depth;
    sound.depth = 0;
    return pass_value(&sound) ? (size_t)(sound.at - text.ptr) : 0;
}

size_t marey__json_sound_len(struct marey_str text)
{
    struct sound sound; /* as above */

    sound.at = text.ptr;
    sound.end = text.ptr + text.len;
    sound.most_depth = MAREY_JSON_DEPTH;
    sound.depth = 0;
    (void)pass_value(&sound);
    return (size_t)(sound.at - text.ptr);
}

struct marey_str marey__json_sound_raw(struct marey_json *json)
{
    (void)marey__json_peek(json); /* to the value */
    const struct marey_str rest = {json->at, (size_t)(json->end - json->at)};
    const size_t len = json->failed ? 0 : marey__json_value_len(rest, MAREY_ARGS_DEPTH - 1);

    json->failed = len == 0;
    json->at = len == 0 ? json->end : json->at + len;
    return (struct marey_str){len == 0 ? NULL : rest.ptr, len};
}

struct marey_str marey__json_sound_members(struct marey_str object, size_t most_depth,
                                           bool *is_whole)
{
    struct sound sound = {
        .at = object.ptr + 1, .end = object.ptr + object.len, .most_depth = most_depth - 1};
    size_t len = 1;

    skip_space(&sound);
    *is_whole = is_next(&sound, '}');
    while (!*is_whole && pass_key(&sound) && pass_value(&sound)) {
        len = (size_t)(sound.at - object.ptr);
        skip_space(&sound);
        *is_whole = is_next(&sound, '}');
        if (!is_next(&sound, ','))
            break;
        sound.at++;
    }
    *is_whole = *is_whole && sound.at + 1 == sound.end;
    return (struct marey_str){object.ptr, len};
}
