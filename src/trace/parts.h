/*
 * parts.h - the words by which several sources stand in one Chrome file.
 *
 * The list of such a file is made of parts, one a source, in the order of the sources. Each
 * begins with a metadata record, the marker:
 *
 *     {"name": "marey_source", "ph": "M", "pid": 12, "tid": 0, "args": {
 *         "source": 1,               0 is the part of the file's own head
 *         "rank": 3,                 for people; the reader takes it from the head
 *         "process": 0,              the first source of the same process, if that is known
 *         "shift_ns": 0,             the base of the file less that of the source; another one is
 *                                    not believed
 *         "flow_ids": 70,            added to the ids of arrows
 *         "pids": {"12": "7"},       as they are written -> as they were
 *         "head": {...}}}            members of the source's head and tail, but for source 0
 *
 * Other programs pass it over and see one trace whose processes and arrows do not collide.
 * For them a metadata record process_name says the rank: {"name": "rank 3: python", "marey":
 * {"name": "python"}} holds under "marey" what the args were, null where there was no such
 * record. docs/dev/design/parts.md tells why.
 *
 * A device operation with time 0 and duration 0 is one of which nothing was collected, in the times
 * of its own source. One that has this duration at the time 0 of the file is written with -0.
 *
 * export writes this and import reads it; they do not see each other.
 */
#ifndef MAREY_SRC_TRACE_PARTS_H
#define MAREY_SRC_TRACE_PARTS_H

#define MAREY_SOURCE_MARKER "marey_source"
#define MAREY_SOURCE_NAMED "process_name" /* the metadata records that say the rank */
#define MAREY_SOURCE_ORIGINAL "marey"     /* the member of their args: what these were */
#define MAREY_SOURCE_MOMENT '-'           /* what makes a time of a 0 */

#endif
