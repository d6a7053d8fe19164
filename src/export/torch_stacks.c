/*
 * torch_stacks.c - export_stacks() of torch: one line an event, root first, for flame
 * graphs.
 */
#include "base/error.h"
#include "base/str.h"
#include "export/text.h"
#include "export/torch_table.h"

static const struct {
    const char *name;
    bool is_device;
} metric_table[] = {
    {"self_cpu_time_total", false},
    {"self_cuda_time_total", true},
    {"self_xpu_time_total", true},
    {"self_privateuse1_time_total", true},
};

#define N_METRICS (sizeof metric_table / sizeof metric_table[0])

/* A line has its own use for blanks and semicolons. */
static void put_entry(struct marey_textbuf *out, struct marey_str entry)
{
    for (size_t i = 0; i < entry.len; i++) {
        const char c = entry.ptr[i];
        const bool is_special = c == ' ' || c == ';' || c == '\t' || c == '\n';
        marey__text_add_byte(out, is_special ? '_' : c);
    }
}

static void put_event(struct marey_textbuf *out, const struct marey_torch_view *view,
                      const struct marey_torch_event *event, int64_t us)
{
    for (uint32_t i = event->n_stack; i-- > 0;) {
        put_entry(out, marey_torch_view_string(view, view->stacks[event->first_stack + i]));
        marey__text_add_byte(out, i == 0 ? ' ' : ';');
    }
    marey__text_add_i64(out, us);
    marey__text_add_byte(out, '\n');
}

enum marey_status marey_torch_stacks_text(const struct marey_torch_view *view, const char *metric,
                                          struct marey_text *text, struct marey_error *err)
{
    size_t at = 0;
    while (at < N_METRICS && !marey__str_is_c(marey__str(metric), metric_table[at].name))
        at++;
    if (at == N_METRICS)
        return marey__fail(err, MAREY_INVALID,
                           "cannot export stacks: metric '%s' should be one of: "
                           "self_cpu_time_total, self_cuda_time_total, self_xpu_time_total, "
                           "self_privateuse1_time_total",
                           metric);
    size_t n = 0;
    const struct marey_torch_event *events = marey_torch_view_events(view, &n);
    struct marey_textbuf out;
    marey__public_text_begin(text, &out);
    for (size_t i = 0; i < n; i++) {
        const double us =
            metric_table[at].is_device ? events[i].self_device_us : events[i].self_cpu_us;
        if (events[i].n_stack > 0 && us >= 1)
            put_event(&out, view, &events[i], (int64_t)us);
    }
    return marey__public_text_end(&out, text, err);
}
