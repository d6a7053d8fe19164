/*
 * walk_avx2.c - the scanner for x86-64 with AVX2; compiled with these sets switched on.
 */
/* In this order: the bodies are written in the words of the set above them. */
#include "import/simd_avx2.h"

#include "import/scan_body.h"

#include "import/check_body.h"

#include "import/args_body.h"

#include "import/known_body.h"

#include "import/walk.h"

#define SCANNER marey__scanner_avx2
#define SCANNER_NAME "avx2"
extern const struct marey_scanner marey__scanner_avx2;
#include "import/walk_body.h"
