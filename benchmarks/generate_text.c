/*
 * generate_text.c - text for generate_trace.c. The buffer has room for a record
 * when one is opened, so that putting bytes needs no check.
 */
#include "generate_text.h"

#include <string.h>

#include "generate_run.h"

void sink_flush(struct sink *sink)
{
    if (sink->file != NULL && fwrite(sink->buffer, 1, sink->len, sink->file) != sink->len)
        die("cannot write the trace: disk full?");
    sink->total += sink->len;
    sink->len = 0;
}

void put_bytes(struct sink *sink, const char *text, size_t n)
{
    memcpy(sink->buffer + sink->len, text, n);
    sink->len += n;
}

void put(struct sink *sink, const char *text)
{
    put_bytes(sink, text, strlen(text));
}

void put_u64(struct sink *sink, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put_bytes(sink, digits + at, sizeof digits - at);
}

void put_fixed(struct sink *sink, uint64_t value, int n_decimals)
{
    char decimals[8];
    for (int i = n_decimals - 1; i >= 0; i--) {
        decimals[i] = (char)('0' + value % 10);
        value /= 10;
    }
    put_u64(sink, value);
    put(sink, ".");
    put_bytes(sink, decimals, (size_t)n_decimals);
}

static const struct layout layouts[] = {
    {"kineto", "  {\n    ", "\n  }", "\n  }", ",\n", ", ", ",\n    ", ", ", ": ",
     ",\n    \"args\": {\n      ", ",\n    \"args\": {\n      ", "\n    }", ",", ", ", ",      ",
     ", ", false},
    {"minified", "{", "}", "}", ",", ",", ",", ",", ":", ",\"args\":{", ",\"args\":{", "}", ",",
     ",", ",", ",", false},
    {"newest", "  {\n    ", "\n  }", "\n    \n  }", ",\n", ",\n    ", ",\n    ", ",\n    \n    ",
     ": ", "\n    ,\n    \"args\": {\n      ", ",\n    \"args\": {\n      ", "\n    }", ",", ", ",
     ",      ", "\n    , ", true},
};

const struct layout *find_layout(const char *name)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        if (strcmp(layouts[i].name, name) == 0)
            return &layouts[i];
    }
    die("unknown layout: kineto, minified or newest");
}

void put_key(struct writer *w, const char *key)
{
    put(&w->sink, "\"");
    put(&w->sink, key);
    put(&w->sink, "\"");
    put(&w->sink, w->layout->colon);
}

void put_text(struct writer *w, const char *key, const char *value)
{
    put_key(w, key);
    put(&w->sink, "\"");
    put(&w->sink, value);
    put(&w->sink, "\"");
}

void put_number(struct writer *w, const char *separator, const char *key, uint64_t value)
{
    put(&w->sink, separator);
    put_key(w, key);
    put_u64(&w->sink, value);
}

void put_time(struct writer *w, const char *separator, const char *key, uint64_t ns)
{
    put(&w->sink, separator);
    put_key(w, key);
    put_fixed(&w->sink, ns, 3);
}

void open_record(struct writer *w)
{
    if (w->sink.len > SINK_BYTES - RECORD_BYTES)
        sink_flush(&w->sink);
    if (w->sink.n_records++ > 0)
        put(&w->sink, w->layout->next);
    put(&w->sink, w->layout->open);
}

void close_record(struct writer *w)
{
    put(&w->sink, w->layout->args_close);
    put(&w->sink, w->layout->close);
}
