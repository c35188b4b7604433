/* target.c -- PTX versions and .target names */
#include "ptx/target.h"
#include "base/compat.h"

/* Last minor version of each major one (ISA 9.4 chapter 13, release notes); of
 * the first, 1.4 is the oldest that is understood. */
static const struct {
    int major, first, last;
} versions[] = {
    { 1, 4, 5 }, { 2, 0, 3 }, { 3, 0, 2 }, { 4, 0, 3 }, { 5, 0, 1 },
    { 6, 0, 5 }, { 7, 0, 8 }, { 8, 0, 8 }, { 9, 0, 5 },
};

/* The version that introduced sm_N, sm_Na, sm_Nf; 0 = there is none.  ISA 9.4
 * table of release notes; suffixes that the 13.4 assembler refuses are 0. */
static const struct {
    int cc, family, plain, a, f;
} targets[] = {
    { 10, 0, 10, 0, 0 },      { 11, 0, 10, 0, 0 },
    { 12, 0, 12, 0, 0 },      { 13, 0, 12, 0, 0 },
    { 20, 0, 20, 0, 0 },      { 21, 0, 20, 0, 0 },
    { 30, 0, 30, 0, 0 },      { 32, 0, 40, 0, 0 },
    { 35, 0, 31, 0, 0 },      { 37, 0, 41, 0, 0 },
    { 50, 0, 40, 0, 0 },      { 52, 0, 41, 0, 0 },
    { 53, 0, 42, 0, 0 },      { 60, 0, 50, 0, 0 },
    { 61, 0, 50, 0, 0 },      { 62, 0, 50, 0, 0 },
    { 70, 0, 60, 0, 0 },      { 72, 0, 61, 0, 0 },
    { 75, 0, 63, 0, 0 },      { 80, 0, 70, 0, 0 },
    { 86, 0, 71, 0, 0 },      { 87, 0, 74, 0, 0 },
    { 88, 0, 90, 0, 0 },      { 89, 0, 78, 0, 0 },
    { 90, 0, 78, 80, 0 },     { 100, 100, 86, 86, 88 },
    { 101, 101, 86, 86, 88 }, { 103, 100, 88, 88, 88 },
    { 107, 100, 94, 94, 94 }, { 110, 110, 90, 90, 90 },
    { 120, 120, 87, 87, 88 }, { 121, 120, 88, 88, 88 },
};

bool fgs__target_has_version(int major, int minor)
{
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        if (versions[i].major == major)
            return minor >= versions[i].first && minor <= versions[i].last;
    }
    return false;
}

int fgs__target_family(int cc)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (targets[i].cc == cc)
            return targets[i].family;
    }
    return 0;
}

bool fgs__target_find(const char *s, size_t n, struct fgs__target *out)
{
    int cc = 0;

    if (n >= 3 && !memcmp(s, "sm_", 3)) {
        s += 3;
        n -= 3;
    } else if (n >= 8 && !memcmp(s, "compute_", 8)) {
        s += 8;
        n -= 8;
    } else {
        return false;
    }
    out->suffix = 0;
    if (n && (s[n - 1] == 'a' || s[n - 1] == 'f'))
        out->suffix = s[--n];
    if (n < 2 || n > 3)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        cc = cc * 10 + s[i] - '0';
    }
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (targets[i].cc != cc)
            continue;
        out->cc = cc;
        out->family = targets[i].family;
        out->ptx = out->suffix == 'a' ? targets[i].a
            : out->suffix == 'f' ? targets[i].f : targets[i].plain;
        return out->ptx != 0;
    }
    return false;
}
