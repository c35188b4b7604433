/* exec_shape.c -- do the addresses of a full warp follow one another? */
#include "sim/access.h"
#include "sim/lanes.h"

int FGS__LEVEL(fgs__sim_shape)(const uint64_t *addr, uint64_t step);
int FGS__LEVEL(fgs__sim_shape)(const uint64_t *addr, uint64_t step)
{
    static const uint64_t lane[LANES] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    uint64_t first = addr[0], run = 0, same = 0;
    unsigned shift = (unsigned)__builtin_ctzll(step);
    int l;

    /* a step is a power of two */
    for (l = 0; l < LANES; l++)
        run |= addr[l] ^ (first + (lane[l] << shift));
    if (!run)
        return FGS__SIM_RUN;
    for (l = 0; l < LANES; l++)
        same |= addr[l] ^ first;
    return same ? FGS__SIM_SCATTER : FGS__SIM_SAME;
}
