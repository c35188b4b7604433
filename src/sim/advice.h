/* advice.h -- what a program said of its managed memory */
#ifndef FGS_SIM_ADVICE_H
#define FGS_SIM_ADVICE_H

#include "table/cu.h"
#include <stdbool.h>
#include <stdint.h>

struct fgs__sim_device;

enum {
    FGS__SIM_ADVICE_PAGE = 4096,
    FGS__SIM_NOWHERE = -2,     /* CU_DEVICE_INVALID; -1 is the host          */
    FGS__SIM_PREFETCHED = -1   /* beside the values of CUmem_advise          */
};

/* Pages [lo, hi) of the allocation `id`. */
struct fgs__sim_advised {
    uint64_t lo, hi, id;
    int preferred, prefetched; /* places: a device, -1, -2                   */
    unsigned accessors;        /* fgs__sim_accessor of each                  */
    bool read_mostly;
};

extern const struct fgs__sim_advised fgs__sim_unadvised;

static inline unsigned fgs__sim_accessor(int place)
{
    return 1u << (place + 1);
}

/* Room to advise so many ranges. */
CUresult fgs__sim_advice_room(struct fgs__sim_device *dev, size_t ranges);
/* For the pages of `at`. */
void fgs__sim_advise(struct fgs__sim_device *dev,
                     const struct fgs__sim_advised *at, int advice, int place);
/* What holds for all pages of *at. */
void fgs__sim_advice_of(const struct fgs__sim_device *dev,
                        struct fgs__sim_advised *at);
void fgs__sim_advice_free(struct fgs__sim_device *dev);

#endif
