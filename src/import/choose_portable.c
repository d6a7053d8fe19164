/*
 * choose_portable.c - machines for which there is one scanner only.
 */
#include "import/walk.h"

const struct marey_scanner *marey__scanner_choose(bool portable_only)
{
    (void)portable_only;
    return &marey__scanner_portable;
}
