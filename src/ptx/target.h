/* target.h -- PTX versions and .target names */
#ifndef FGS_PTX_TARGET_H
#define FGS_PTX_TARGET_H

#include "ptx/module.h"

struct fgs__target {
    int cc;       /* sm_107a = 107                                           */
    int ptx;      /* lowest PTX version that knows the name                  */
    int family;   /* cc of the family's first member, 0 = none               */
    char suffix;  /* 'a', 'f' or 0                                           */
};

bool fgs__target_has_version(int major, int minor);
bool fgs__target_find(const char *s, size_t n, struct fgs__target *out);
/* The family of a compute capability, 0 = none. */
int fgs__target_family(int cc);

#endif
