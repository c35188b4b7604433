/* error.h -- fill the caller's error detail */
#ifndef FGS_BASE_ERROR_H
#define FGS_BASE_ERROR_H

#include "base/compat.h"
#include <fgs/fgs.h>

/* Set result, name and text (all else to zero) and return `r`.  `err` may be
 * NULL.  The text is cut at its array's end. */
fgs_result fgs__fail(fgs_error *err, fgs_result r, const char *fmt, ...)
    FGS__PRINTF(3, 4);

/* The same for a text file's place; column 0 = not known. */
fgs_result fgs__fail_at(fgs_error *err, fgs_result r, const char *file,
                        uint32_t line, uint32_t column, const char *fmt, ...)
    FGS__PRINTF(6, 7);

/* The one sentence for memory that could not be had. */
fgs_result fgs__nomem(fgs_error *err);

/* Check an option struct's size member (style: size first).  `have` is what
 * the library knows, `least` the size of the first release.  Bytes past what
 * the library knows must be zero. */
fgs_result fgs__check_size(fgs_error *err, const char *what, const void *opts,
                           size_t size, size_t least, size_t have);

#endif
