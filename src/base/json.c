/*
 * json.c - the cursor over complete JSON text.
 */
#include "base/json.h"

#include "base/error.h"

#include <stdlib.h>

struct marey_json marey__json(struct marey_str text)
{
    return (struct marey_json){
        .at = text.ptr,
        .end = text.ptr == NULL ? NULL : text.ptr + text.len,
        .is_first = true,
    };
}

const char *marey__json_skip_white(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

static void skip_space(struct marey_json *json)
{
    json->at = marey__json_skip_white(json->at, json->end);
}

char marey__json_peek(struct marey_json *json)
{
    skip_space(json);
    return json->failed || json->at >= json->end ? '\0' : *json->at;
}

/* Stops all further reading: nothing follows a failure. */
static bool fail(struct marey_json *json)
{
    json->failed = true;
    json->end = json->at;
    return false;
}

bool marey__json_enter(struct marey_json *json, char open)
{
    if (marey__json_peek(json) != open)
        return false;
    json->at++;
    json->is_first = true;
    return true;
}

/* Passes the comma before an element, or the end of the container. */
static bool next(struct marey_json *json, char close)
{
    const char c = marey__json_peek(json);
    if (c == close) {
        json->at++;
        json->is_first = false;
        return false;
    }
    if (!json->is_first) {
        if (c != ',')
            return fail(json);
        json->at++;
    }
    json->is_first = false;
    return marey__json_peek(json) != '\0' ? true : fail(json);
}

/* The text between the quotes; json stands after the closing one. */
static bool pass_string(struct marey_json *json, struct marey_str *raw)
{
    if (marey__json_peek(json) != '"')
        return fail(json);
    const char *from = ++json->at;
    while (json->at < json->end && *json->at != '"')
        json->at += *json->at == '\\' && json->at + 1 < json->end ? 2 : 1;
    if (json->at >= json->end)
        return fail(json);
    *raw = (struct marey_str){from, (size_t)(json->at - from)};
    json->at++;
    return true;
}

bool marey__json_key(struct marey_json *json, struct marey_str *key)
{
    if (!next(json, '}') || !pass_string(json, key))
        return false;
    if (marey__json_peek(json) != ':')
        return fail(json);
    json->at++;
    return true;
}

bool marey__json_element(struct marey_json *json)
{
    return next(json, ']');
}

static void pass_container(struct marey_json *json)
{
    char close[MAREY_JSON_DEPTH];
    size_t depth = 0;
    struct marey_str ignored;
    do {
        const char c = marey__json_peek(json);
        if (c == '\0') {
            (void)fail(json);
        } else if (c == '"') {
            (void)pass_string(json, &ignored);
        } else if (c == '{' || c == '[') {
            if (depth == MAREY_JSON_DEPTH)
                (void)fail(json);
            else
                close[depth++] = c == '{' ? '}' : ']';
            json->at += !json->failed;
        } else if (c == '}' || c == ']') {
            if (close[--depth] != c)
                (void)fail(json);
            json->at += !json->failed;
        } else {
            json->at++;
        }
    } while (depth > 0 && !json->failed);
    json->is_first = false;
}

static void pass_scalar(struct marey_json *json)
{
    while (json->at < json->end && *json->at != ',' && *json->at != '}' && *json->at != ']' &&
           *json->at != ' ' && *json->at != '\n' && *json->at != '\t' && *json->at != '\r')
        json->at++;
}

struct marey_str marey__json_raw(struct marey_json *json)
{
    struct marey_str ignored;
    const char c = marey__json_peek(json);
    const char *from = json->at;
    if (c == '"')
        (void)pass_string(json, &ignored);
    else if (c == '{' || c == '[')
        pass_container(json);
    else if (c == '\0' || c == ',' || c == '}' || c == ']' || c == ':')
        (void)fail(json);
    else
        pass_scalar(json);
    if (json->failed)
        return (struct marey_str){NULL, 0};
    return (struct marey_str){from, (size_t)(json->at - from)};
}

void marey__json_skip(struct marey_json *json)
{
    (void)marey__json_raw(json);
}

bool marey__json_string(struct marey_json *json, struct marey_str *raw)
{
    if (marey__json_peek(json) == '"')
        return pass_string(json, raw);
    marey__json_skip(json);
    return false;
}

bool marey__json_i64(struct marey_json *json, int64_t *value)
{
    const struct marey_str raw = marey__json_raw(json);
    for (size_t i = 0; i < raw.len; i++)
        if (raw.ptr[i] == '.' || raw.ptr[i] == 'e' || raw.ptr[i] == 'E')
            return false;
    return raw.len > 0 && marey__decimal_scaled(raw, 0, value);
}

/* strtod also takes hexadecimal, which JSON does not have. */
static bool is_decimal(struct marey_str raw)
{
    for (size_t i = 0; i < raw.len; i++)
        if (raw.ptr[i] == '\0' || strchr("0123456789+-.eE", raw.ptr[i]) == NULL)
            return false;
    return raw.len > 0;
}

bool marey__json_double(struct marey_json *json, double *value)
{
    const struct marey_str raw = marey__json_raw(json);
    char copy[64];
    if (raw.len >= sizeof copy || !is_decimal(raw))
        return false;
    MAREY_ASSERT(raw.ptr != NULL); /* a decimal has a digit */
    memcpy(copy, raw.ptr, raw.len);
    copy[raw.len] = '\0';
    char *stop = NULL;
    const double parsed = strtod(copy, &stop);
    if (stop != copy + raw.len || parsed - parsed != 0)
        return false;
    *value = parsed;
    return true;
}

static const char plain_escapes[] = "\"\\/bfnrt";
static const char meant_by_escapes[] = "\"\\/\b\f\n\r\t";

static bool hex4(const char *ptr, const char *end, uint32_t *value)
{
    if (end - ptr < 4)
        return false;
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) {
        const char c = ptr[i];
        uint32_t digit = 0;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A') + 10;
        else
            return false;
        sum = sum * 16 + digit;
    }
    *value = sum;
    return true;
}

/* The character at raw.ptr[*at], which is passed; -1 if it is no ASCII. */
static int next_ascii(struct marey_str raw, size_t *at)
{
    const char *from = raw.ptr + *at;
    uint32_t code = 0;

    if (*from != '\\' || *at + 1 == raw.len) {
        *at += 1;
        return (unsigned char)*from < 0x80 ? *from : -1;
    }
    *at += 2;
    const char *known = from[1] == '\0' ? NULL : strchr(plain_escapes, from[1]);
    if (known != NULL)
        return meant_by_escapes[known - plain_escapes];
    if (from[1] != 'u' || !hex4(from + 2, raw.ptr + raw.len, &code) || code >= 0x80)
        return -1;
    *at += 4;
    return (int)code;
}

bool marey__json_spells(struct marey_str raw, const char *text)
{
    size_t at = 0;

    if (raw.len <= strlen(text)) /* an escape is longer than what it means */
        return marey__str_is_c(raw, text);
    for (; *text != '\0'; text++)
        if (at == raw.len || next_ascii(raw, &at) != *text)
            return false;
    return at == raw.len;
}

bool marey__json_ascii(struct marey_str raw, char *out, size_t most, size_t *len)
{
    size_t at = 0;

    for (*len = 0; at < raw.len; (*len)++) {
        const int c = *len < most ? next_ascii(raw, &at) : -1;
        if (c < 0)
            return false;
        out[*len] = (char)c;
    }
    return true;
}

static void add_code_point(struct marey_textbuf *out, uint32_t code)
{
    if (code < 0x80) {
        marey__text_add_byte(out, (char)code);
    } else if (code < 0x800) {
        marey__text_add_byte(out, (char)(0xc0 | (code >> 6)));
        marey__text_add_byte(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        marey__text_add_byte(out, (char)(0xe0 | (code >> 12)));
        marey__text_add_byte(out, (char)(0x80 | ((code >> 6) & 0x3f)));
        marey__text_add_byte(out, (char)(0x80 | (code & 0x3f)));
    } else {
        marey__text_add_byte(out, (char)(0xf0 | (code >> 18)));
        marey__text_add_byte(out, (char)(0x80 | ((code >> 12) & 0x3f)));
        marey__text_add_byte(out, (char)(0x80 | ((code >> 6) & 0x3f)));
        marey__text_add_byte(out, (char)(0x80 | (code & 0x3f)));
    }
}

/* `at` stands after "\u"; returns where reading goes on. */
static const char *unescape_code(const char *at, const char *end, struct marey_textbuf *out)
{
    uint32_t code = 0;
    if (!hex4(at, end, &code)) {
        marey__text_add(out, "\\u", 2);
        return at;
    }
    at += 4;
    if (code >= 0xd800 && code < 0xdc00) {
        uint32_t low = 0;
        if (end - at >= 6 && at[0] == '\\' && at[1] == 'u' && hex4(at + 2, end, &low) &&
            low >= 0xdc00 && low < 0xe000) {
            add_code_point(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
            return at + 6;
        }
        code = 0xfffd;
    } else if (code >= 0xdc00 && code < 0xe000) {
        code = 0xfffd;
    }
    add_code_point(out, code);
    return at;
}

void marey__json_unescape(struct marey_str raw, struct marey_textbuf *out)
{
    const char *at = raw.ptr;
    const char *end = raw.ptr == NULL ? NULL : raw.ptr + raw.len;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        if (slash == NULL || slash + 1 == end) {
            marey__text_add(out, at, (size_t)(end - at));
            return;
        }
        marey__text_add(out, at, (size_t)(slash - at));
        at = slash + 2;
        const char c = slash[1];
        const char *known = c == '\0' ? NULL : strchr(plain_escapes, c);
        if (known != NULL)
            marey__text_add_byte(out, meant_by_escapes[known - plain_escapes]);
        else if (c == 'u')
            at = unescape_code(at, end, out);
        else
            marey__text_add(out, slash, 2);
    }
}
