/*
 * document_part.c - sources: the end of one, the begin of the next, be it a document of its own or
 * a part of a list (trace/parts.h).
 */
#include "base/error.h"
#include "import/document_reader.h"

void marey__document_finish_source(struct marey_document *doc)
{
    struct marey_source *source = marey__builder_source(doc->builder);
    struct marey_kineto *kineto = doc->kineto;
    const uint64_t offset = MAREY_OFFSET(kineto->source_idx, 0);

    marey__members_finish(&doc->members);
    source->size_bytes =
        marey__document_byte(doc, doc->at) - doc->source_from; /* up to what follows it */
    source->is_gzip = doc->feed.is_gzip;
    source->n_records = kineto->n_records;
    source->n_metadata = kineto->n_metadata;
    source->rank_is_assumed = !doc->members.has_rank;
    if (!doc->members.has_rank) {
        source->rank = kineto->source_idx;
        marey__account_note(kineto->account, MAREY_REASON_RANK_ASSUMED, offset);
    }
    if (kineto->n_events == 0)
        marey__account_note(kineto->account, MAREY_REASON_NO_EVENTS, offset);
}

void marey__document_forget_templates(struct marey_document *doc)
{
    doc->walk.learnt->n = 0;
    doc->walk.learnt->version++;
    doc->walk.predicted = 0;
}

enum marey_status marey__document_begin_further(struct marey_document *doc, struct marey_error *err)
{
    const uint32_t source_idx = marey__builder_begin_source(doc->builder, doc->feed.place->path);

    if (source_idx == MAREY_NONE)
        return marey__builder_failed(doc->builder)
                   ? marey__fail_nomem(err)
                   : marey__fail(err, MAREY_LIMIT, "cannot read '%s': too many traces in it",
                                 doc->feed.place->path);
    marey__kineto_begin_source(doc->kineto, source_idx);
    doc->source_from = marey__document_byte(doc, doc->at);
    return MAREY_OK;
}

/* Of which process a part is, if that one has begun in this file. */
static void tell_process(struct marey_document *doc, const struct marey_part_begin *begin)
{
    const uint32_t source_idx = doc->kineto->source_idx;

    if (begin->source == 0)
        doc->parts_from = source_idx;
    if (begin->process >= 0 && begin->process <= (int64_t)source_idx - (int64_t)doc->parts_from)
        marey__builder_set_cycle_of(doc->builder, doc->parts_from + (uint32_t)begin->process);
}

enum marey_status marey__document_begin_part(struct marey_document *doc, struct marey_error *err)
{
    struct marey_kineto *kineto = doc->kineto;
    const struct marey_str marker = kineto->part.marker;
    const struct marey_part_begin begin = marey__part_read(marker);

    doc->has_parts = true;
    marey__document_forget_templates(doc);
    if (begin.source != 0) {
        marey__document_finish_source(doc);
        MAREY_TRY(marey__document_begin_further(doc, err));
        doc->members.has_rank = false;
        doc->n_broken = 0;
    }
    marey__builder_shift_source(doc->builder, begin.shift_ns);
    tell_process(doc, &begin);
    if (!marey__part_enter(&kineto->part, marker, kineto->strings, &kineto->scratch))
        return marey__fail_nomem(err);
    if (begin.source == 0)
        return MAREY_OK; /* its members stand around the list */
    const enum marey_status status = marey__members_take_all(
        &doc->members, begin.head, marey__document_offset(doc, doc->at), err);
    if (status != MAREY_FORMAT)
        return status;
    marey__document_note(doc, MAREY_REASON_BAD_METADATA, doc->at);
    return MAREY_OK;
}
