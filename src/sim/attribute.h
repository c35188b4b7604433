/* attribute.h -- launch attributes of streams, kernel nodes and launches */
#ifndef FGS_SIM_ATTRIBUTE_H
#define FGS_SIM_ATTRIBUTE_H

#include "table/cu.h"
#include <stdbool.h>

/* What was set for a stream or a kernel node: attribute.c. */
enum {
#define SATTR(id, where, good) FGS__SIM_ATTR_##id,
#include "sim/attribute.def"
#undef SATTR
    FGS__SIM_ATTRS
};
enum { FGS__SIM_OF_STREAM = 1, FGS__SIM_OF_NODE = 2, FGS__SIM_OF_LAUNCH = 4 };
struct fgs__sim_stream_attr {
    CUlaunchAttributeValue value;
    bool set;
};
/* Which one an id is; an error where it is not valid there. */
CUresult fgs__sim_attribute_find(unsigned int *at, unsigned int where,
                                 unsigned int id);
/* The same, and is the value good?  It is clamped where that is the rule. */
CUresult fgs__sim_attribute_check(unsigned int *at, unsigned int where,
                                  unsigned int id, CUlaunchAttributeValue *v);
/* The value, or the default where none was set. */
void fgs__sim_attribute_get(const struct fgs__sim_stream_attr *a,
                            unsigned int at, CUlaunchAttributeValue *v);

#endif
