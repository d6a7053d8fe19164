/*
 * torch_table.h - what the files of torch's own table share.
 *
 *   torch_table   rows of averages or of events -> columns -> text
 *   torch_sort    sort_by: which attributes rows have, and their order
 *   torch_format  times, shares, memory and text as torch writes them
 */
#ifndef MAREY_SRC_EXPORT_TORCH_TABLE_H
#define MAREY_SRC_EXPORT_TORCH_TABLE_H

#include "aggregate/torch_view.h"
#include "base/text.h"
#include "marey/export.h"

/* Rows are those of key_averages(), or events dressed up as such. */
struct marey_torch_rows {
    const struct marey_torch_view *view;
    struct marey_torch_average *at;
    size_t n;
    bool is_events;
};

/* torch_sort.c: sorts rows descending by an attribute; equal ones keep their order.
 * \fails MAREY_INVALID for an attribute that rows do not have, or that has no order */
enum marey_status marey__torch_sort(struct marey_torch_rows *rows, const char *sort_by,
                                    struct marey_error *err);

/* True for an event of an allocation: its flops are None. */
bool marey__torch_is_allocation(const struct marey_torch_rows *rows, size_t i);

/* torch_format.c: characters, as Python counts them. */
size_t marey__torch_len(struct marey_str text);

/* text[:n]; a negative n leaves out that many at the end. */
struct marey_str marey__torch_head(struct marey_str text, int64_t n);

void marey__torch_add_time(struct marey_textbuf *out, double us, enum marey_time_unit unit);
void marey__torch_add_share(struct marey_textbuf *out, double us, double total_us);
void marey__torch_add_bytes(struct marey_textbuf *out, int64_t bytes);

/* The end of a path in `width` characters, "..." in front if it is cut. */
void marey__torch_add_path(struct marey_textbuf *out, struct marey_str path, uint32_t width);

#endif
