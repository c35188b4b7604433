/* join_rig.h -- two inputs of a join on a device, for its tests */
#ifndef FGS_TEST_JOIN_RIG_H
#define FGS_TEST_JOIN_RIG_H

#include "kernels_both.h"

static CUdeviceptr second, second_flags; /* the other input, its flags */
static uint32_t host_second[WORDS], want[WORDS];
/* Freed at the end: to unload code synchronizes. */
static fgs_kernel *fill, *produce;

/* By hand: chunk c is the mirrored one of the input whose turn it is. */
static inline void join(uint32_t *out, const uint32_t *a, const uint32_t *b,
                        uint32_t tiles)
{
    for (uint32_t i = 0; i < tiles * FGS__TILE_ELEMS; i++) {
        uint32_t tile = i / FGS__TILE_ELEMS, word = i % FGS__TILE_ELEMS;

        out[i] = (word / 4 % 2 ? b : a)[tile * FGS__TILE_ELEMS +
                                        FGS__TILE_ELEMS - 1 - word];
    }
}

static inline int start(void **state)
{
    reset(state);
    OK(cuMemsetD8(second_flags, 0, TILES * sizeof(uint32_t)));
    return 0;
}

static inline int open_all(void **state)
{
    int bad = open_device(state);

    if (bad)
        return bad;
    OK(cuMemAlloc(&second, BYTES));
    OK(cuMemAlloc(&second_flags, TILES * sizeof(uint32_t)));
    fill = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);
    produce = make(FGS_ROLE_PRODUCER, FGS_ENGINE_AUTO, 0, NULL);
    return 0;
}

static inline int close_all(void **state)
{
    fgs_kernel_free(fill);
    fgs_kernel_free(produce);
    g.cuMemFree(second);
    g.cuMemFree(second_flags);
    return close_device(state);
}

#define T(f) cmocka_unit_test_setup(f, start)
#endif
