/*
 * reason.h - system errors in the words of our messages.
 */
#ifndef MAREY_CLI_REASON_H
#define MAREY_CLI_REASON_H

/* "no such file or directory" and the like: lower case, the same in every
 * locale. Valid until the next call. */
const char *reason_text(int error_number);

#endif
