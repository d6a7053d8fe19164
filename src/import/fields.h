/*
 * fields.h - one record as pieces of text, before anybody knows what they mean.
 */
#ifndef MAREY_SRC_IMPORT_FIELDS_H
#define MAREY_SRC_IMPORT_FIELDS_H

#include <stdbool.h>

#include "marey/base.h"

/* The keys of a record that mean something to us; the row order of field_of_key. */
enum marey_field {
    MAREY_FIELD_PH,
    MAREY_FIELD_CAT,
    MAREY_FIELD_NAME,
    MAREY_FIELD_PID,
    MAREY_FIELD_TID,
    MAREY_FIELD_TS,
    MAREY_FIELD_DUR,
    MAREY_FIELD_ARGS,
    MAREY_FIELD_ID,
    MAREY_FIELD_ID2,   /* an object: ids that are local to a process */
    MAREY_FIELD_S,     /* the scope of an instant */
    MAREY_FIELD_SCOPE, /* the scope of an id */
    MAREY_N_FIELDS
};

enum marey_value_type {
    MAREY_VALUE_NONE = 0,
    MAREY_VALUE_STRING, /* without its quotes, escapes as they stand */
    MAREY_VALUE_NUMBER,
    MAREY_VALUE_OBJECT,
    MAREY_VALUE_ARRAY,
    MAREY_VALUE_NULL,
    MAREY_VALUE_BOOL,
    MAREY_VALUE_NON_FINITE /* NaN, inf and their like, which JSON does not have */
};

struct marey_value {
    struct marey_str text;
    enum marey_value_type type;
    bool has_escape;
};

struct marey_fields {
    uint64_t offset; /* source index and byte, as in the columns */
    unsigned n_members;
    bool is_plain; /* no unknown key, no key twice: fit to learn from */
    bool
        has_broken_args; /* of a launch or a device record: what is wanted of them may be missing */
    struct marey_value value[MAREY_N_FIELDS];
};

/* What the args of a device operation or a launch say. */
struct marey_launch_args {
    int64_t device; /* MAREY_UNKNOWN if not given */
    int64_t context;
    int64_t stream;
    uint64_t correlation;
    bool has_correlation;
};

#endif
