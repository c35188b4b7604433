/* dynlib.h -- a library of the toolkit, opened at run time by table */
#ifndef FGS_CUDA_DYNLIB_H
#define FGS_CUDA_DYNLIB_H

#include "base/compat.h"

#include <stddef.h>

/* What became of a library.  `found` = its functions are set; else `why` says
 * why there is none. */
struct fgs__dynlib {
    int found;
    int asked_for;     /* the environment names the file                     */
    int version;       /* times ten: 134 = 13.4; 0 = unknown or none         */
    char library[256];
    char why[512];
    char build[64];    /* tells builds of one version apart                  */
};

struct fgs__dynlib_function {
    const char *name;
    size_t offset;     /* of the pointer, in the table that is filled        */
};

struct fgs__dynlib_kind {
    const char *env;          /* names a file in place of `file`; its value
                                 "none" hides the library                    */
    const char *const *file;  /* tried in this order; ends with NULL         */
    const char *version;      /* name of int f(&major, &minor)               */
    const struct fgs__dynlib_function *function;
    size_t functions;
};

/* Fill `table` from the first library that has all functions.  Never fails:
 * what was not found is said in out->why. */
void fgs__dynlib_open(struct fgs__dynlib *out,
                      const struct fgs__dynlib_kind *kind, void *table);

#endif
