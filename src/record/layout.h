/*
 * layout.h - what a thread writes: 64-bit words, one record after another.
 *
 *     63                               8 7      0
 *     [ ticks since the recorder's epoch ][ kind ]   every record but INPUTS and CPU
 *
 *     BEGIN     [ticks|1] [token  << 32 | site id]
 *     BEGIN_OP  [ticks|2] [token  << 32 | site id] [forward thread << 40 | sequence]
 *     END       [ticks|3] [token]
 *     MARK      [ticks|4] [site id]
 *     COUNTER   [ticks|5] [site id] [bits of a double]
 *     INPUTS    [n    |6] n words as in collector.h; of the BEGIN before it
 *     CPU       [ns   |7] the thread's CPU time; of the BEGIN or END before it
 *     GAP       [ticks|8] [n records lost since then] [ticks of the last of them]
 *     BEGIN_FAR [ticks|9] [token  << 32 | site id] [sequence] [forward thread]
 *
 * 56 bits of ticks are 228 days at 3.66 GHz. A record never spans two chunks, and what belongs to
 * a BEGIN is published with it. A sequence number of 40 bits is one node of autograd a microsecond
 * for twelve days, and torch counts threads from 1; where one of them is larger after all, the
 * operator begins with BEGIN_FAR.
 *
 * Checklist for a new kind: a number here, its length in marey__record_words, its meaning in
 * intake's table.
 */
#ifndef MAREY_SRC_RECORD_LAYOUT_H
#define MAREY_SRC_RECORD_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum marey_record_kind {
    MAREY_RECORD_BEGIN = 1,
    MAREY_RECORD_BEGIN_OP = 2,
    MAREY_RECORD_END = 3,
    MAREY_RECORD_MARK = 4,
    MAREY_RECORD_COUNTER = 5,
    MAREY_RECORD_INPUTS = 6,
    MAREY_RECORD_CPU = 7,
    MAREY_RECORD_GAP = 8,
    MAREY_RECORD_BEGIN_FAR = 9
};

static inline uint64_t marey__record_head(uint64_t value, enum marey_record_kind kind)
{
    return value << 8 | (uint64_t)kind;
}

static inline enum marey_record_kind marey__record_kind(const uint64_t *record)
{
    return (enum marey_record_kind)(record[0] & 0xff);
}

/* A BEGIN of any form. */
static inline bool marey__record_is_begin(const uint64_t *record)
{
    const enum marey_record_kind kind = marey__record_kind(record);

    return kind == MAREY_RECORD_BEGIN || kind == MAREY_RECORD_BEGIN_OP ||
           kind == MAREY_RECORD_BEGIN_FAR;
}

/* Ticks since the epoch, or what stands in their place. */
static inline uint64_t marey__record_value(const uint64_t *record)
{
    return record[0] >> 8;
}

/* The length of a record. */
static inline uint32_t marey__record_words(const uint64_t *record)
{
    switch (marey__record_kind(record)) {
    case MAREY_RECORD_BEGIN:
    case MAREY_RECORD_END:
    case MAREY_RECORD_MARK:
        return 2;
    case MAREY_RECORD_BEGIN_OP:
    case MAREY_RECORD_COUNTER:
    case MAREY_RECORD_GAP:
        return 3;
    case MAREY_RECORD_BEGIN_FAR:
        return 4;
    case MAREY_RECORD_INPUTS:
        return 1 + (uint32_t)marey__record_value(record);
    case MAREY_RECORD_CPU:
        return 1;
    }
    return 1;
}

/* The bits of a sequence number in BEGIN_OP; above them those of the thread. */
#define MAREY_SEQUENCE_BITS 40
#define MAREY_FORWARD_THREAD_BITS (64 - MAREY_SEQUENCE_BITS)

/* Both of them in one word. Only where they fit. */
static inline uint64_t marey__pack_sequence(uint64_t sequence, uint64_t thread)
{
    return thread << MAREY_SEQUENCE_BITS | sequence;
}

/* A negative sequence number, which stands for none, does not fit either. */
static inline bool marey__fits_sequence(uint64_t sequence, uint64_t thread)
{
    return (sequence >> MAREY_SEQUENCE_BITS | thread >> MAREY_FORWARD_THREAD_BITS) == 0;
}

/* Autograd's number of an operator. False: it has none. */
static inline bool marey__record_sequence(const uint64_t *record, uint64_t *sequence,
                                          uint64_t *thread)
{
    const enum marey_record_kind kind = marey__record_kind(record);

    if (kind != MAREY_RECORD_BEGIN_OP && kind != MAREY_RECORD_BEGIN_FAR)
        return false;
    const bool is_far = kind == MAREY_RECORD_BEGIN_FAR;
    *sequence = is_far ? record[2] : record[2] & ((UINT64_C(1) << MAREY_SEQUENCE_BITS) - 1);
    *thread = is_far ? record[3] : record[2] >> MAREY_SEQUENCE_BITS;
    return true;
}

/* A gap concerns a session if it lies in its time with some part. How many of the records were the
 * session's own is not told here but by what the thread had lost at both of its ends. */
static inline bool marey__gap_concerns(const uint64_t *gap, uint64_t start_ticks,
                                       uint64_t stop_ticks)
{
    return gap[2] >= start_ticks && marey__record_value(gap) < stop_ticks;
}

/* Where a gap begins within a session. */
static inline uint64_t marey__gap_start(const uint64_t *gap, uint64_t start_ticks)
{
    return marey__record_value(gap) > start_ticks ? marey__record_value(gap) : start_ticks;
}

#endif
