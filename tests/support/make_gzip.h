/*
 * make_gzip.h - text as gzip data, for tests of readers.
 */
#ifndef MAREY_TESTS_MAKE_GZIP_H
#define MAREY_TESTS_MAKE_GZIP_H

#include <stddef.h>

/* Writes one gzip member and returns its length. Ends the case if it has no room. */
size_t make_gzip(const char *text, size_t len, unsigned char *out, size_t room);

#endif
