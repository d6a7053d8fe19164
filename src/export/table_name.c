/*
 * table_name.c - names cut so that different rows stay different (fixture B01).
 *
 * A name that is too long keeps both ends: "void at::native::…kernel<4, …>". Names that
 * look alike then are cut again around the place where they first differ, a few times; what
 * still looks alike gets "#1", "#2" and a legend below the table.
 *
 *   full names ──middle──> cut ──equal?──> around the difference ──equal?──> numbered
 */
#include "base/sort.h"
#include "export/display.h"
#include "export/table.h"

#define LEAST_BACK 10 /* bytes shown before a difference */
#define LEAST_WIDTH 12
#define MOST_ROUNDS 4 /* a group may fall into smaller ones that differ further on */

static struct marey_str part(const struct marey_textbuf *bytes, const size_t *end, size_t i)
{
    const size_t from = i == 0 ? 0 : end[i - 1];
    if (bytes->ptr == NULL) /* all names are empty */
        return (struct marey_str){NULL, 0};
    return (struct marey_str){bytes->ptr + from, end[i] - from};
}

struct marey_str marey__label(const struct marey_labels *labels, size_t i)
{
    return part(&labels->bytes, labels->end, i);
}

struct marey_str marey__label_full(const struct marey_labels *labels, size_t i)
{
    return part(&labels->full, labels->full_end, i);
}

/* ---- full names ---- */

static bool same_but_kind(const struct marey_average *a, const struct marey_average *b)
{
    return a->name_id == b->name_id && a->shapes_id == b->shapes_id && a->stack_id == b->stack_id &&
           a->overload_id == b->overload_id && a->rank == b->rank && a->kind != b->kind;
}

static int compare_name_ids(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_block_rows *block = ctx;
    const uint32_t id_a = block->row[a]->name_id;
    const uint32_t id_b = block->row[b]->name_id;
    return (id_a > id_b) - (id_a < id_b);
}

/* Marks rows that only their kind tells apart: it then belongs to the name. */
static void mark_kinds(const struct marey_block_rows *block, const uint32_t *order, size_t n,
                       uint32_t *needs_kind)
{
    size_t from = 0;
    for (size_t to = 1; to <= n; to++) {
        if (to < n && compare_name_ids(block, order[from], order[to]) == 0)
            continue;
        for (size_t i = from; i < to; i++)
            for (size_t j = i + 1; j < to && j < i + 64; j++)
                if (same_but_kind(block->row[order[i]], block->row[order[j]]))
                    needs_kind[order[i]] = needs_kind[order[j]] = 1;
        from = to;
    }
}

static void add_full(struct marey_labels *labels, const struct marey_table *table,
                     const struct marey_average *row, bool with_kind)
{
    const struct marey_str name = marey_averages_string(table->averages, row->name_id);
    if (name.ptr == NULL)
        marey__text_add_c(&labels->full, "(no name)");
    else
        marey__display_add(&labels->full, name);
    if (with_kind)
        marey__text_add_format(&labels->full, " (%s)", marey_kind_name(row->kind));
}

static bool make_full(struct marey_labels *labels, const struct marey_table *table,
                      const struct marey_block_rows *block, uint32_t *order)
{
    for (size_t i = 0; i < labels->n; i++)
        order[i] = (uint32_t)i;
    if (!marey__sort_indices(&labels->alloc, order, labels->n, compare_name_ids, block))
        return false;
    mark_kinds(block, order, labels->n, labels->number);
    for (size_t i = 0; i < labels->n; i++) {
        add_full(labels, table, block->row[i], labels->number[i] != 0);
        labels->full_end[i] = labels->full.len;
        labels->number[i] = 0;
    }
    return !marey__text_failed(&labels->full);
}

/* ---- groups of labels that look alike ---- */

static int compare_labels(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_labels *labels = ctx;
    const int order = marey__str_compare(marey__label(labels, a), marey__label(labels, b));
    return order != 0 ? order : (a > b) - (a < b);
}

static bool sort_labels(const struct marey_labels *labels, uint32_t *order)
{
    for (size_t i = 0; i < labels->n; i++)
        order[i] = (uint32_t)i;
    return marey__sort_indices(&labels->alloc, order, labels->n, compare_labels, labels);
}

/* The end of the group that begins at `from`, and whether its full names differ. */
static size_t group_end(const struct marey_labels *labels, const uint32_t *order, size_t from,
                        bool *differ)
{
    size_t to = from + 1;
    *differ = false;
    while (to < labels->n &&
           marey__str_is(marey__label(labels, order[from]), marey__label(labels, order[to]))) {
        *differ |= !marey__str_is(marey__label_full(labels, order[from]),
                                  marey__label_full(labels, order[to]));
        to++;
    }
    return to;
}

static size_t common_prefix(struct marey_str a, struct marey_str b)
{
    size_t at = 0;
    while (at < a.len && at < b.len && a.ptr[at] == b.ptr[at])
        at++;
    return at;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & '\x80') != 0;
}

/* Back to the start of the word that the difference lies in, at least LEAST_BACK, at most
 * half of the room, and to a whole character. */
static size_t word_start(struct marey_str text, size_t at, size_t room)
{
    const size_t most_back = room / 2 < at ? room / 2 : at;
    const size_t least_back = LEAST_BACK < most_back ? LEAST_BACK : most_back;
    size_t start = at;
    while (start > at - most_back && is_word(text.ptr[start - 1]))
        start--;
    if (at - start < least_back)
        start = at - least_back;
    while (start > 0 && start < text.len && ((unsigned char)text.ptr[start] & 0xc0) == 0x80)
        start--;
    return start;
}

/* A third of the width for the head, the rest for what lies around the difference. A
 * difference inside the head or the tail needs no more than both ends. */
static void add_around(struct marey_textbuf *out, struct marey_str full, size_t differs_at,
                       size_t width)
{
    const size_t head_width = width / 3;
    const size_t room = width - head_width - 1;
    const struct marey_str head = marey__display_head(full, head_width);
    const size_t word = word_start(full, differs_at < full.len ? differs_at : full.len, room);
    const size_t from = word > head.len ? word : head.len;
    if (differs_at <= head.len || width < LEAST_WIDTH) {
        marey__display_add_middle(out, full, width);
        return;
    }
    const struct marey_str rest = {full.ptr + from, full.len - from};
    marey__text_add_str(out, head);
    marey__text_add_c(out, from > head.len ? MAREY_ELLIPSIS : "");
    if (marey__display_width(rest) <= room)
        marey__text_add_str(out, marey__display_tail(full, room));
    else
        marey__display_add_head(out, rest, room);
}

/* Where the names of each ambiguous group part; the others stay as they are. True if there
 * is such a group. */
static bool find_differences(const struct marey_labels *labels, const uint32_t *order,
                             size_t *differs_at)
{
    bool has_some = false;
    for (size_t from = 0; from < labels->n;) {
        bool differ = false;
        const size_t to = group_end(labels, order, from, &differ);
        size_t at = SIZE_MAX;
        const struct marey_str first = marey__label_full(labels, order[from]);
        for (size_t i = from + 1; i < to && differ; i++) {
            const struct marey_str other = marey__label_full(labels, order[i]);
            const size_t common = common_prefix(first, other);
            if (!marey__str_is(first, other) && common < at)
                at = common;
        }
        for (size_t i = from; i < to && differ; i++)
            differs_at[order[i]] = at;
        has_some |= differ;
        from = to;
    }
    return has_some;
}

static void number_groups(struct marey_labels *labels, const uint32_t *order)
{
    uint32_t next = 1;
    for (size_t from = 0; from < labels->n;) {
        bool differ = false;
        const size_t to = group_end(labels, order, from, &differ);
        for (size_t i = from; i < to && differ; i++)
            labels->number[order[i]] = next++;
        from = to;
    }
}

/* ---- the three steps ---- */

static void cut_all(struct marey_labels *labels, const size_t *differs_at, size_t width)
{
    marey__text_reset(&labels->bytes);
    for (size_t i = 0; i < labels->n; i++) {
        const struct marey_str full = marey__label_full(labels, i);
        if (labels->number[i] != 0) {
            char digits[32];
            const size_t len = marey__format_u64(digits, labels->number[i]) + 2;
            marey__display_add_middle(&labels->bytes, full, width > len ? width - len : 0);
            marey__text_add_format(&labels->bytes, " #%u", (unsigned)labels->number[i]);
        } else if (differs_at[i] != SIZE_MAX) {
            add_around(&labels->bytes, full, differs_at[i], width);
        } else {
            marey__display_add_middle(&labels->bytes, full, width);
        }
        labels->end[i] = labels->bytes.len;
    }
}

static bool cut(struct marey_labels *labels, uint32_t *order, size_t *differs_at, size_t width)
{
    for (size_t i = 0; i < labels->n; i++)
        differs_at[i] = SIZE_MAX;
    bool is_ambiguous = true;
    for (int round = 0; round < MOST_ROUNDS && is_ambiguous; round++) {
        cut_all(labels, differs_at, width);
        if (marey__text_failed(&labels->bytes) || !sort_labels(labels, order))
            return false;
        is_ambiguous = round + 1 == MOST_ROUNDS || find_differences(labels, order, differs_at);
    }
    if (!is_ambiguous)
        return true;
    number_groups(labels, order);
    cut_all(labels, differs_at, width);
    return !marey__text_failed(&labels->bytes);
}

bool marey__labels_make(struct marey_labels *labels, const struct marey_table *table,
                        enum marey_block block_idx, size_t width)
{
    const struct marey_block_rows *block = &table->block[block_idx];
    const struct marey_alloc *alloc = &table->alloc;
    *labels = (struct marey_labels){.alloc = table->alloc, .n = block->n_shown};
    marey__text_init(&labels->bytes, alloc);
    marey__text_init(&labels->full, alloc);
    labels->end = marey__alloc_zero(alloc, labels->n, sizeof *labels->end);
    labels->full_end = marey__alloc_zero(alloc, labels->n, sizeof *labels->full_end);
    labels->number = marey__alloc_zero(alloc, labels->n, sizeof *labels->number);
    uint32_t *order = marey__alloc(alloc, labels->n, sizeof *order);
    size_t *differs_at = marey__alloc(alloc, labels->n, sizeof *differs_at);

    const bool done = labels->end != NULL && labels->full_end != NULL && labels->number != NULL &&
                      order != NULL && differs_at != NULL &&
                      make_full(labels, table, block, order) &&
                      cut(labels, order, differs_at, width);

    marey__dealloc(alloc, differs_at, labels->n, sizeof *differs_at);
    marey__dealloc(alloc, order, labels->n, sizeof *order);
    return done;
}

void marey__labels_release(struct marey_labels *labels)
{
    if (labels->alloc.release == NULL)
        return;
    marey__dealloc(&labels->alloc, labels->number, labels->n, sizeof *labels->number);
    marey__dealloc(&labels->alloc, labels->full_end, labels->n, sizeof *labels->full_end);
    marey__dealloc(&labels->alloc, labels->end, labels->n, sizeof *labels->end);
    marey__text_release(&labels->full);
    marey__text_release(&labels->bytes);
}
