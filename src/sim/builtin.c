/* builtin.c -- the device's library: what PTX may call without defining it */
#include "sim/call.h"

fgs__sim_builtin fgs__sim_builtin_find(const struct fgs__ptx_func *f)
{
    (void)f;
    return NULL;
}
