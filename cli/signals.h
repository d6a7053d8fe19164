/*
 * signals.h - signals that the command ignores, and how a program finds them that it becomes.
 */
#ifndef MAREY_CLI_SIGNALS_H
#define MAREY_CLI_SIGNALS_H

/* From now on a reader that went away, and a file size limit, are errors of write. */
void signals_ignore(void);

/* As they were before: ignored signals stay so in a program that is executed. */
void signals_restore(void);

#endif
