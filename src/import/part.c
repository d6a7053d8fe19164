/*
 * part.c - reads what marks the parts of a file. Text that is no marker is a record like any
 * other.
 */
#include "import/part.h"

#include "base/json.h"
#include "import/kineto.h"
#include "trace/parts.h"

void marey__part_init(struct marey_file_part *part, const struct marey_alloc *alloc)
{
    *part = (struct marey_file_part){.is_marked = false};
    marey__hashmap_init(&part->process, alloc);
}

void marey__part_release(struct marey_file_part *part)
{
    marey__hashmap_release(&part->process);
}

void marey__part_reset(struct marey_file_part *part)
{
    const struct marey_alloc alloc = part->process.alloc;

    marey__part_release(part);
    marey__part_init(part, &alloc);
}

/* The value of a member; {NULL, 0} if the object does not have it. */
static struct marey_str find(struct marey_str object, const char *key)
{
    struct marey_json json = marey__json(object);
    struct marey_str value = {NULL, 0};
    struct marey_str found;

    if (!marey__json_enter(&json, '{'))
        return value;
    while (marey__json_key(&json, &found)) {
        if (marey__json_spells(found, key))
            value = marey__json_raw(&json);
        else
            marey__json_skip(&json);
    }
    return value;
}

static int64_t find_integer(struct marey_str object, const char *key)
{
    struct marey_json json = marey__json(find(object, key));
    int64_t number = 0;

    return marey__json_i64(&json, &number) ? number : MAREY_UNKNOWN;
}

enum marey_part_record marey__part_record(struct marey_file_part *part, struct marey_str name,
                                          struct marey_value *args)
{
    if (args->type != MAREY_VALUE_OBJECT)
        return MAREY_PART_KEEP;
    if (marey__str_is_c(name, MAREY_SOURCE_MARKER)) {
        if (find_integer(args->text, "source") == MAREY_UNKNOWN)
            return MAREY_PART_KEEP;
        part->is_pending = true;
        part->marker = args->text;
        return MAREY_PART_MARKER;
    }
    if (!part->is_marked || !marey__str_is_c(name, MAREY_SOURCE_NAMED))
        return MAREY_PART_KEEP;

    const struct marey_str original = find(args->text, MAREY_SOURCE_ORIGINAL);
    if (original.ptr == NULL)
        return MAREY_PART_KEEP;
    if (original.len == 0 || original.ptr[0] != '{') /* null; what else was no object is none now */
        return MAREY_PART_ADDED;
    args->text = original;
    return MAREY_PART_KEEP;
}

static uint32_t intern_raw(struct marey_intern *strings, struct marey_textbuf *scratch,
                           struct marey_str raw)
{
    marey__text_reset(scratch);
    marey__json_unescape(raw, scratch);
    if (marey__text_failed(scratch))
        return MAREY_NONE;
    return marey__intern(strings, (struct marey_str){scratch->ptr, scratch->len});
}

static bool take_pids(struct marey_file_part *part, struct marey_intern *strings,
                      struct marey_textbuf *scratch, struct marey_str pids)
{
    struct marey_json json = marey__json(pids);
    struct marey_str written;
    struct marey_str was;

    if (!marey__json_enter(&json, '{'))
        return true;
    while (marey__json_key(&json, &written)) {
        if (!marey__json_string(&json, &was))
            continue;
        const uint32_t written_id = intern_raw(strings, scratch, written);
        const uint32_t was_id = intern_raw(strings, scratch, was);
        uint32_t *place = marey__hashmap_put(&part->process, written_id);
        if (written_id == MAREY_NONE || was_id == MAREY_NONE || place == NULL)
            return false;
        *place = was_id;
    }
    return true;
}

struct marey_part_begin marey__part_read(struct marey_str marker)
{
    const int64_t shift_ns = find_integer(marker, "shift_ns");

    return (struct marey_part_begin){
        .source = find_integer(marker, "source"),
        .process = find_integer(marker, "process"),
        .shift_ns =
            shift_ns < -MAREY_TIME_LIMIT_NS || shift_ns > MAREY_TIME_LIMIT_NS ? 0 : shift_ns,
        .head = find(marker, "head"),
    };
}

bool marey__part_enter(struct marey_file_part *part, struct marey_str marker,
                       struct marey_intern *strings, struct marey_textbuf *scratch)
{
    const int64_t flow_ids = find_integer(marker, "flow_ids");

    marey__part_reset(part);
    part->is_marked = true;
    part->flow_ids = flow_ids > 0 ? (uint64_t)flow_ids : 0;
    return take_pids(part, strings, scratch, find(marker, "pids"));
}
