/*
 * scrub_number.h - numbers in place of texts that are not shown.
 *
 * A text gets the next number when it is first asked for, "id 3" as any other: texts that were
 * different stay so, those that were the same stay one, and scrubbing what was scrubbed, in the
 * same order, changes nothing.
 */
#ifndef MAREY_SRC_EXPORT_SCRUB_NUMBER_H
#define MAREY_SRC_EXPORT_SCRUB_NUMBER_H

#include "base/hashmap.h"
#include "base/text.h"

struct marey_scrub_numbers {
    struct marey_hashmap by_text; /* hash of the text -> its number */
    int width;                    /* digits at the least */
};

void marey__scrub_numbers_init(struct marey_scrub_numbers *numbers,
                               const struct marey_alloc *alloc);
void marey__scrub_numbers_release(struct marey_scrub_numbers *numbers);

/* Forgets all numbers and gives these texts, which it sorts by their bytes, theirs in that order,
 * as many digits each: so that "<word> N" are in the order of what they stand for. False without
 * memory. */
bool marey__scrub_number_all(struct marey_scrub_numbers *numbers, struct marey_str *text, size_t n,
                             const struct marey_alloc *alloc);

/* Gives the text the next number, unless it has one. MAREY_NONE without memory. */
uint32_t marey__scrub_number(struct marey_scrub_numbers *numbers, struct marey_str text);

/* Adds "<word> N"; out->failed is set without memory. */
void marey__scrub_add_number(struct marey_scrub_numbers *numbers, const char *word,
                             struct marey_str text, struct marey_textbuf *out);

/* Whether the text is "<word> N" and so stands for another already. */
bool marey__scrub_is_number(struct marey_str text, const char *word);

#endif
