/* mufu.c -- the table of mufu.h */
#include "sim/mufu.h"

const struct fgs__mufu fgs__mufu[] = {
#define MUFU(c0, c1, c2) { c0, c1, c2 },
#include "sim/mufu.def"
#undef MUFU
};
_Static_assert(sizeof fgs__mufu / sizeof fgs__mufu[0] == FGS__MUFU_COUNT,
               "a table has another number of rows");
