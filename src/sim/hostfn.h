/* hostfn.h -- host functions in streams, by a thread of their own: hostfn.c */
#ifndef FGS_SIM_HOSTFN_H
#define FGS_SIM_HOSTFN_H

#include "sim/device.h"

bool fgs__sim_hostfn_make(struct fgs__sim_device *dev);
void fgs__sim_hostfn_free(struct fgs__sim_device *dev);
void fgs__sim_hostfn_post(struct fgs__sim_device *dev, struct fgs__sim_op *op);
bool fgs__sim_hostfn_busy(const struct fgs__sim_device *dev);

#endif
