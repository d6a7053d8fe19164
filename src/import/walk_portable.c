/*
 * walk_portable.c - the scanner for any machine.
 */
#include "import/scan_body.h"
#include "import/simd_portable.h"
#include "import/walk.h"

#define SCANNER marey__scanner_portable
#define SCANNER_NAME "portable"
#include "import/walk_body.h"
