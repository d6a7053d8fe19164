/*
 * walk_portable.c - the scanner for any machine.
 */
/* In this order: the bodies are written in the words of the set above them. */
#include "import/simd_portable.h"

#include "import/scan_body.h"

#include "import/check_body.h"

#include "import/args_body.h"

#include "import/known_body.h"

#include "import/walk.h"

#define SCANNER marey__scanner_portable
#define SCANNER_NAME "portable"
#include "import/walk_body.h"
