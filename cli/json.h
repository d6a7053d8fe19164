/*
 * json.h - values out of the JSON text of metadata, which the importer has
 * checked. Text that is not JSON after all reads as "there is none".
 */
#ifndef MAREY_CLI_JSON_H
#define MAREY_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <marey/base.h>

#include "text.h"

/* The value of an object's first member of that name; {NULL, 0} if none. */
struct marey_str json_member(struct marey_str object, const char *key);

/* Takes the next element off an array; false at its end. `rest` starts as the
 * array's text. */
bool json_next_element(struct marey_str *rest, struct marey_str *element);

/* An integer; MAREY_UNKNOWN for anything else. */
int64_t json_integer(struct marey_str value);

/* Appends a string's characters, its escapes resolved. Nothing for other types. */
void json_add_string(struct text *text, struct marey_str value);

#endif
