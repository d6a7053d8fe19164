/*
 * known_body.h - whether a record goes a way that is known to be sound.
 *
 * Included after check_body.h.
 */
#ifndef MAREY_SRC_IMPORT_KNOWN_BODY_H
#define MAREY_SRC_IMPORT_KNOWN_BODY_H

#include "import/known.h"

/* The end first: texts of a state often begin alike. */
static inline bool is_known_text(const struct marey_known_step *step, const char *at,
                                 const char *end)
{
    const char *text = step->text;
    size_t len = step->len;

    if (len > (size_t)(end - at))
        return false;
    if (len <= 32)
        return equal32(at, text, (uint32_t)((UINT64_C(1) << len) - 1));
    if (!equal32(at + len - 32, text + len - 32, UINT32_MAX))
        return false;
    for (; len > 32; len -= 32, at += 32, text += 32)
        if (!equal32(at, text, UINT32_MAX))
            return false;
    return true;
}

/* The step that the text goes on with, which becomes the state's first; NULL if none does. */
static inline const struct marey_known_step *
find_step(struct marey_known_forms *known, uint32_t state, const char *at, const char *end)
{
    uint32_t *link = &known->first[state];

    for (int n = 0; *link != 0 && n < MAREY_KNOWN_WAYS; n++) {
        const uint32_t i = *link;
        struct marey_known_step *step = &known->step[i];
        if (!is_known_text(step, at, end)) {
            link = &step->next;
            continue;
        }
        if (n > 0) {
            *link = step->next;
            step->next = known->first[state];
            known->first[state] = i;
        }
        return step;
    }
    return NULL;
}

/* The closing quote of a plain string; NULL if it is another. */
static inline const char *pass_plain(const char *at, const char *end)
{
    uint32_t special = special32(at);

    for (; special == 0 && at < end; special = special32(at))
        at += 32;
    if (special == 0)
        return NULL;
    at += __builtin_ctz(special);
    return *at == '"' ? at : NULL;
}

static bool is_known(struct marey_known_forms *known, const char *at, const char *end)
{
    uint32_t state = 0;

    for (;;) {
        const struct marey_known_step *step = find_step(known, state, at, end);
        if (step == NULL)
            return false;
        at += step->len;
        state = step->then;
        switch (step->value) {
        case MAREY_KNOWN_END:
            return at == end;
        case MAREY_KNOWN_NUMBER:
            at = check_number(at);
            if (at == NULL)
                return false;
            break;
        case MAREY_KNOWN_STRING: {
            const char *close = pass_plain(at, end);
            if (close == NULL)
                return false;
            const uint64_t hash = marey_name_hash(at, (size_t)(close - at));
            state = marey_known_find(known, marey_known_key(state, hash))->state;
            if (state == 0) /* where no value leads */
                return false;
            at = close;
            break;
        }
        }
    }
}

/* Looks at a whole record, the short way if it can be gone. */
static void check_or_know(struct marey_checker *checker, const char *at, const char *end)
{
    checker->found = 0;
    if (is_known(checker->known, at, end))
        return;
    check_record(checker, at, end);
    if (checker->found == 0)
        marey__known_learn(checker->known, at, end);
}

#endif
