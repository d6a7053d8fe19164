/*
 * points.h - places between two steps of the lock-free paths, where a test holds a thread while
 * another looks. Nothing in a build without MAREY_TEST_POINTS.
 */
#ifndef MAREY_SRC_RECORD_POINTS_H
#define MAREY_SRC_RECORD_POINTS_H

enum marey_test_point {
    MAREY_POINT_POP_LOOKED,    /* pool: the link below the top is read, the top not yet changed */
    MAREY_POINT_CHUNK_LEFT,    /* log: the left chunk is counted, the place is still in it */
    MAREY_POINT_PLACE_MOVED,   /* log: the place is in the next chunk, which is not linked */
    MAREY_POINT_RECORD_WRITTEN /* emit: the words are there, the place is not moved */
};

/* Of the test; may block. */
void marey__test_point(enum marey_test_point point);

#ifdef MAREY_TEST_POINTS
#define MAREY_POINT(point) marey__test_point(point)
#else
#define MAREY_POINT(point) ((void)0)
#endif

#endif
