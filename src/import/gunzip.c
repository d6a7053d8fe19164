/*
 * gunzip.c - inflates member after member.
 *
 * Damage ends the text: what was inflated before it is used, and whoever reads the text asks
 * at its end. Only where there is no text at all it is an error. A wrong check sum is no end: the
 * member is whole as far as can be told, and another may follow.
 */
#include "import/gunzip.h"

#include "base/error.h"

/* Byte 0 would say that the file is no trace; it may be one, and gave no byte. */
static enum marey_status fail_damaged(const struct marey_gunzip *gunzip, const char *what,
                                      struct marey_error *err)
{
    return marey__fail_at(err, MAREY_FORMAT, MAREY_UNKNOWN, "cannot read '%s': %s",
                          gunzip->place->path, what);
}

/* Ends the text where it is; `flag` says why. An error if there is none. */
static enum marey_status end_text(struct marey_gunzip *gunzip, bool *flag, const char *what,
                                  struct marey_error *err)
{
    if (gunzip->n_text == 0)
        return fail_damaged(gunzip, what, err);
    *flag = true;
    return MAREY_OK;
}

bool marey__gunzip_open(struct marey_gunzip *gunzip, const struct marey_alloc *alloc,
                        const struct marey_place *place, size_t stored_bytes)
{
    *gunzip =
        (struct marey_gunzip){.alloc = *alloc, .place = place, .stored_capacity = stored_bytes};
    gunzip->stored = marey__alloc(alloc, stored_bytes, 1);
    gunzip->inflate = marey__inflate_new(alloc);
    if (gunzip->stored != NULL && gunzip->inflate != NULL)
        return true;
    marey__gunzip_close(gunzip);
    return false;
}

void marey__gunzip_close(struct marey_gunzip *gunzip)
{
    marey__inflate_free(gunzip->inflate);
    gunzip->inflate = NULL;
    if (gunzip->stored != NULL)
        marey__dealloc(&gunzip->alloc, gunzip->stored, gunzip->stored_capacity, 1);
    gunzip->stored = NULL;
}

bool marey__gunzip_resume(struct marey_gunzip *gunzip, const struct marey_stretch *from)
{
    struct marey_inflate *inflate = marey__inflate_clone(from->inflate, &gunzip->alloc);

    if (inflate == NULL)
        return false;
    marey__inflate_free(gunzip->inflate);
    gunzip->inflate = inflate;
    gunzip->n_text = from->text_at;
    gunzip->stored_at = from->stored_at;
    gunzip->stored_from = 0;
    gunzip->stored_len = 0;
    gunzip->is_member_over = from->is_member_over;
    gunzip->is_cut = false;
    gunzip->is_damaged = false;
    return true;
}

static bool keep_state(struct marey_gunzip *gunzip)
{
    const struct marey_stretch here = {
        .text_at = gunzip->n_text,
        .stored_at = gunzip->stored_at - (gunzip->stored_len - gunzip->stored_from),
        .inflate = gunzip->inflate,
        .is_member_over = gunzip->is_member_over,
    };

    return marey__stretches_add(gunzip->kept, &here);
}

static enum marey_status refill(struct marey_gunzip *gunzip, struct marey_error *err)
{
    size_t got = 0;

    MAREY_TRY(marey__place_read(gunzip->place, gunzip->stored_at, gunzip->stored,
                                gunzip->stored_capacity, &got, err));
    gunzip->stored_at += got;
    gunzip->stored_from = 0;
    gunzip->stored_len = got;
    return MAREY_OK;
}

/* What may follow a member: another one, zeros (tapes and block devices pad), nothing. */
static enum marey_status begin_member(struct marey_gunzip *gunzip, bool *is_over,
                                      struct marey_error *err)
{
    for (;;) {
        if (gunzip->stored_from == gunzip->stored_len)
            MAREY_TRY(refill(gunzip, err));
        if (gunzip->stored_len == 0) {
            *is_over = true;
            return MAREY_OK;
        }
        if (gunzip->stored[gunzip->stored_from] != 0)
            break;
        gunzip->stored_from++;
    }
    *is_over = gunzip->stored[gunzip->stored_from] != 0x1f;
    if (*is_over)
        return end_text(gunzip, &gunzip->is_damaged, "bytes that are no gzip follow its end", err);
    marey__inflate_reset(gunzip->inflate);
    gunzip->is_member_over = false;
    return MAREY_OK;
}

/* Inflates what is stored, or finds out that it is damaged. */
static enum marey_status run(struct marey_gunzip *gunzip, struct marey_inflate_io *io,
                             struct marey_error *err)
{
    if (gunzip->stored_from == gunzip->stored_len)
        MAREY_TRY(refill(gunzip, err));
    const bool is_dry = gunzip->stored_len == 0;
    const size_t room_before = io->out_len;

    io->in = gunzip->stored + gunzip->stored_from;
    io->in_len = gunzip->stored_len - gunzip->stored_from;
    const enum marey_inflate_result result = marey__inflate_run(gunzip->inflate, io);
    gunzip->stored_from = gunzip->stored_len - io->in_len;
    gunzip->n_text += room_before - io->out_len;
    gunzip->is_member_over = result == MAREY_INFLATE_MEMBER || result == MAREY_INFLATE_BAD_SUM;
    gunzip->has_bad_sum |= result == MAREY_INFLATE_BAD_SUM;
    if (result == MAREY_INFLATE_NOMEM)
        return marey__fail_nomem(err);
    if (result == MAREY_INFLATE_DAMAGED)
        return end_text(gunzip, &gunzip->is_damaged, "its gzip data is damaged", err);
    if (is_dry && !gunzip->is_member_over && room_before == io->out_len)
        return end_text(gunzip, &gunzip->is_cut, "its gzip data ends early", err);
    return MAREY_OK;
}

enum marey_status marey__gunzip_read(struct marey_gunzip *gunzip, char *into, size_t room,
                                     size_t *got, struct marey_error *err)
{
    struct marey_inflate_io io = {.out = (unsigned char *)into, .out_len = room};

    if (gunzip->kept != NULL && marey_stretches_want(gunzip->kept, gunzip->n_text) &&
        !keep_state(gunzip))
        return marey__fail_nomem(err);
    while (io.out_len > 0 && !gunzip->is_cut && !gunzip->is_damaged) {
        if (gunzip->is_member_over) {
            bool is_over = false;
            MAREY_TRY(begin_member(gunzip, &is_over, err));
            if (is_over)
                break;
        }
        MAREY_TRY(run(gunzip, &io, err));
    }
    *got = room - io.out_len;
    return MAREY_OK;
}
