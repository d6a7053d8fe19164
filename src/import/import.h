/*
 * import.h - the public functions with the choices that tests make.
 */
#ifndef MAREY_SRC_IMPORT_IMPORT_H
#define MAREY_SRC_IMPORT_IMPORT_H

#include "import/document.h"
#include "marey/import.h"

/* As marey_import_files and marey_import_bytes. */
enum marey_status marey__import_files(const char *const *paths, size_t n,
                                      const struct marey_alloc *alloc,
                                      const struct marey_reading *reading,
                                      struct marey_trace **trace, struct marey_error *err);
enum marey_status marey__import_bytes(struct marey_str bytes, const struct marey_alloc *alloc,
                                      const struct marey_reading *reading,
                                      struct marey_trace **trace, struct marey_error *err);

#endif
