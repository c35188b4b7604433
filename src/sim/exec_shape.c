/* exec_shape.c -- how a warp's addresses lie, and whether all are inside */
#include "sim/access.h"
#include "sim/lanes.h"

#define NUMBERS                                                                \
    {                                                                          \
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,        \
        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31         \
    }
static const uint64_t number_64[LANES] = NUMBERS;
static const uint32_t number_32[LANES] = NUMBERS;

int FGS__LEVEL(fgs__sim_shape)(const uint64_t *addr, uint64_t step);
int FGS__LEVEL(fgs__sim_shape)(const uint64_t *addr, uint64_t step)
{
    uint64_t first = addr[0], run = 0, same = 0;
    unsigned shift = (unsigned)__builtin_ctzll(step);
    int l;

    /* a step is a power of two */
    for (l = 0; l < LANES; l++)
        run |= addr[l] ^ (first + (number_64[l] << shift));
    if (!run)
        return FGS__SIM_RUN;
    for (l = 0; l < LANES; l++)
        same |= addr[l] ^ first;
    return same ? FGS__SIM_SCATTER : FGS__SIM_SAME;
}

/* Offsets of 32-bit addresses from -add, all of them aligned and at most
 * `room`: their shape, or -1. */
int FGS__LEVEL(fgs__sim_offsets)(const uint32_t *addr, uint32_t add,
                                 uint32_t room, uint32_t step, uint32_t *off);
int FGS__LEVEL(fgs__sim_offsets)(const uint32_t *addr, uint32_t add,
                                 uint32_t room, uint32_t step, uint32_t *off)
{
    uint32_t first = addr[0] + add, run = 0, any = 0, most = 0;
    unsigned shift = (unsigned)__builtin_ctz(step);
    int l;

    for (l = 0; l < LANES; l++) {
        uint32_t at = addr[l] + add;

        off[l] = at;
        any |= at;
        run |= at ^ (first + (number_32[l] << shift));
        most = at > most ? at : most;
    }
    if (most > room || any & (step - 1))
        return -1;
    return run ? FGS__SIM_SCATTER : FGS__SIM_RUN;
}

/* Host places of addresses in memory that begins at `lo`; false = a lane of
 * exec is not aligned, or farther than `room` from there. */
bool FGS__LEVEL(fgs__sim_places)(const uint64_t *addr, uint32_t exec,
                                 uint64_t lo, uint64_t room, uint64_t step,
                                 char *host, char **place);
bool FGS__LEVEL(fgs__sim_places)(const uint64_t *addr, uint32_t exec,
                                 uint64_t lo, uint64_t room, uint64_t step,
                                 char *host, char **place)
{
    uint64_t base = (uint64_t)(uintptr_t)host, far = 0, odd = 0;
    uint64_t *out = (uint64_t *)(void *)place;
    int l;

    FGS__EACH
    for (l = 0; l < LANES; l++) {
        uint64_t at = addr[l] - lo;

        out[l] = base + at;
        /* the sign of either: no memory is half as large as all addresses */
        far |= (at | (room - at)) & (uint64_t)exec << (63 - number_64[l]);
        odd |= addr[l] & (step - 1) &
               (0 - ((uint64_t)exec >> number_64[l] & 1));
    }
    return !(far >> 63) && !odd;
}
