/*
 * json.h - reading JSON text by cursor.
 *
 * A reader walks text that is complete in memory: args of a record, the value of a
 * metadata member. It keeps no tree. Depth is capped (MAREY_JSON_DEPTH).
 *
 *     struct marey_json json = marey__json(text);
 *     struct marey_str key;
 *     if (marey__json_enter(&json, '{'))
 *         while (marey__json_key(&json, &key))
 *             if (marey__str_is_c(key, "rank")) ok = marey__json_i64(&json, &rank);
 *             else marey__json_skip(&json);
 *     if (json.failed) ...
 */
#ifndef MAREY_SRC_BASE_JSON_H
#define MAREY_SRC_BASE_JSON_H

#include "base/str.h"
#include "base/text.h"

#define MAREY_JSON_DEPTH 256

struct marey_json {
    const char *at; /* of a reader that failed: how far it came */
    const char *end;
    bool failed;
    bool is_first; /* no comma is expected before the next element */
};

struct marey_json marey__json(struct marey_str text);

/* Behind the white space that JSON knows, at most at `end`. */
const char *marey__json_skip_white(const char *at, const char *end);

/* The first byte of the next value ('{', '[', '"', 't', '-', '1', ...), 0 at the end. */
char marey__json_peek(struct marey_json *json);

/* Enters an object or array if one is next (open is '{' or '['), else false without
 * moving. */
bool marey__json_enter(struct marey_json *json, char open);

/* In an object: the next key, raw (escapes not resolved); false at its end, which is
 * passed. */
bool marey__json_key(struct marey_json *json, struct marey_str *key);

/* In an array: true if another element follows; false at its end, which is passed. */
bool marey__json_element(struct marey_json *json);

/* The next value as raw text, passed over. */
struct marey_str marey__json_raw(struct marey_json *json);
void marey__json_skip(struct marey_json *json);

/* The next value if it is of that type, else false and it is passed over.
 * A string is given without quotes, escapes not resolved. */
bool marey__json_string(struct marey_json *json, struct marey_str *raw);
bool marey__json_i64(struct marey_json *json, int64_t *value); /* integers only */
bool marey__json_double(struct marey_json *json, double *value);

/* How a raw value spells a whole number. */
enum marey_json_whole {
    MAREY_JSON_NOT_WHOLE = 0,
    MAREY_JSON_WHOLE = 1,      /* as JSON does: 12, 1.5e3 */
    MAREY_JSON_WHOLE_TEXT = 2, /* in quotes: "12", "\\u00312" */
    MAREY_JSON_WHOLE_ODD = 3   /* as JSON does not: 012, +12 */
};

/* Reads a whole number in any of these ways; *value stays as it is if it is none, or does not fit.
 */
enum marey_json_whole marey__json_whole(struct marey_str raw, int64_t *value);

/* True if a raw string, its escapes resolved, is `text`, which is ASCII: "\\u0070h" is "ph". */
bool marey__json_spells(struct marey_str raw, const char *text);

/* Resolves escapes of a raw string into out[most], without a zero at its end; false if it has
 * anything but ASCII, or more than fits. */
bool marey__json_ascii(struct marey_str raw, char *out, size_t most, size_t *len);

/* Resolves escapes of a raw string into `out`; a lone surrogate becomes U+FFFD and
 * an unknown escape is kept as it stands. */
void marey__json_unescape(struct marey_str raw, struct marey_textbuf *out);

/* NULL if text is one JSON value and nothing else, in valid UTF-8, of no more than
 * MAREY_JSON_DEPTH containers in each other; else what is wrong, and in *at the byte where. */
const char *marey__json_check(struct marey_str text, size_t *at);

/* Length of the value that text begins with, which may stand in more text; 0 if its structure is
 * not that of JSON, or of more than most_depth containers in each other. Words that JSON does not
 * have are values, any bytes are a string. */
size_t marey__json_value_len(struct marey_str text, size_t most_depth);

/* How far that value keeps the structure of JSON: up to the first fault, the quote of a string
 * without an end, or its own end. */
size_t marey__json_sound_len(struct marey_str text);

/* As marey__json_raw, but fails where marey__json_value_len is 0, of the members of args. */
struct marey_str marey__json_sound_raw(struct marey_json *json);

/* The part of an object that keeps the structure of JSON: its brace and whole members, without
 * the brace at its end. *is_whole: nothing but that brace is missing.
 * \owns a view of the text */
struct marey_str marey__json_sound_members(struct marey_str object, size_t most_depth,
                                           bool *is_whole);

/* So many containers may lie in each other in the args of a record, which lie in the record. */
#define MAREY_ARGS_DEPTH (MAREY_JSON_DEPTH - 1)

/* Exact value of a decimal number times 10^scale, truncated toward zero below the
 * unit; exponents are legal. False if the text is no number or does not fit.
 * (scale 3 reads microseconds as nanoseconds) */
bool marey__decimal_scaled(struct marey_str text, int scale, int64_t *value);

#endif
