/*
 * torch_format.c - numbers and text as torch.profiler writes them.
 */
#include <math.h>

#include "export/torch_table.h"

#define US_IN_S (1000.0 * 1000.0)
#define US_IN_MS 1000.0

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

/* A byte that begins a character of UTF-8. */
static bool is_start(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t marey__torch_len(struct marey_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += is_start(text.ptr[i]);
    return n;
}

struct marey_str marey__torch_head(struct marey_str text, int64_t n)
{
    if (n < 0) {
        const int64_t len = (int64_t)marey__torch_len(text);
        n = len + n < 0 ? 0 : len + n;
    }
    size_t at = 0;
    for (; at < text.len; at++)
        if (is_start(text.ptr[at]) && n-- == 0)
            break;
    return (struct marey_str){text.ptr, at};
}

static void add_fixed(struct marey_textbuf *out, double value, int n_decimals, const char *unit)
{
    marey__text_add_fixed(out, value, n_decimals);
    marey__text_add_c(out, unit);
}

void marey__torch_add_time(struct marey_textbuf *out, double us, enum marey_time_unit unit)
{
    if (unit == MAREY_TIME_AUTO)
        unit = us >= US_IN_S ? MAREY_TIME_S : us >= US_IN_MS ? MAREY_TIME_MS : MAREY_TIME_US;
    switch (unit) {
    case MAREY_TIME_S:
        add_fixed(out, us / US_IN_S, 3, "s");
        break;
    case MAREY_TIME_MS:
        add_fixed(out, us / US_IN_MS, 3, "ms");
        break;
    case MAREY_TIME_US:
    case MAREY_TIME_AUTO:
        add_fixed(out, us, 3, "us");
        break;
    }
}

void marey__torch_add_share(struct marey_textbuf *out, double us, double total_us)
{
    if (total_us == 0)
        marey__text_add_c(out, "NaN");
    else
        add_fixed(out, us * 100.0 / total_us, 2, "%");
}

void marey__torch_add_bytes(struct marey_textbuf *out, int64_t bytes)
{
    const double size = (double)bytes;
    if (fabs(size) >= (double)GIB)
        add_fixed(out, size / (double)GIB, 2, " GB");
    else if (fabs(size) >= (double)MIB)
        add_fixed(out, size / (double)MIB, 2, " MB");
    else if (fabs(size) >= (double)KIB)
        add_fixed(out, size / (double)KIB, 2, " KB");
    else
        marey__text_add_format(out, "%lld B", (long long)bytes);
}

void marey__torch_add_path(struct marey_textbuf *out, struct marey_str path, uint32_t width)
{
    const size_t len = marey__torch_len(path);
    if (len <= width) {
        marey__text_add_str(out, path);
        return;
    }
    const bool has_dots = width > 3;
    const size_t skipped = marey__torch_head(path, (int64_t)(len - width + (has_dots ? 3 : 0))).len;
    if (has_dots)
        marey__text_add_c(out, "...");
    marey__text_add(out, path.ptr + skipped, path.len - skipped);
}
