/*
 * callgrind_marks.c - lets a program under callgrind say what is to be counted. Without
 * Valgrind around it nothing happens.
 */
#include <valgrind/callgrind.h>

__attribute__((visibility("default"))) void count_begin(void);
__attribute__((visibility("default"))) void count_end(const char *name);

void count_begin(void)
{
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

/* The count of what ran since the begin is written under that name. */
void count_end(const char *name)
{
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}
