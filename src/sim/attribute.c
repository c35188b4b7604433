/* attribute.c -- launch attributes of streams, kernel nodes and launches
 *
 * One check for all three.  What is only kept changes nothing here: there is
 * no cache to set aside and no link to share, host threads wait in one way,
 * and in one domain fences order more than they have to.
 */
#include "sim/device.h"

enum { S = FGS__SIM_OF_STREAM, N = FGS__SIM_OF_NODE, L = FGS__SIM_OF_LAUNCH };

static const struct row {
    unsigned int id, where;
} rows[] = {
#define SATTR(id, where, good) { CU_LAUNCH_ATTRIBUTE_##id, where },
#include "sim/attribute.def"
#undef SATTR
};

static bool good_value(unsigned int at, const CUlaunchAttributeValue *v)
{
    switch (at) {
#define SATTR(id, where, good) \
    case FGS__SIM_ATTR_##id:   \
        return good;
#include "sim/attribute.def"
#undef SATTR
    default:
        return false;
    }
}

CUresult fgs__sim_attribute_find(unsigned int *at, unsigned int where,
                                 unsigned int id)
{
    for (unsigned int k = 0; k < FGS__SIM_ATTRS; k++) {
        if (rows[k].id != id)
            continue;
        *at = k;
        if (rows[k].where & where)
            return CUDA_SUCCESS;
        /* A driver's words for what it knows and does not take there. */
        return where == S ? CUDA_ERROR_INVALID_VALUE
                          : CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult fgs__sim_attribute_check(unsigned int *at, unsigned int where,
                                  unsigned int id, CUlaunchAttributeValue *v)
{
    CUresult r = fgs__sim_attribute_find(at, where, id);

    if (r)
        return r;
    if (!good_value(*at, v))
        return CUDA_ERROR_INVALID_VALUE;
    if (*at == FGS__SIM_ATTR_PRIORITY) /* clamped, as at a stream's creation */
        v->priority = fgs__sim_priority(v->priority);
    /* Kernels do not change nodes here: function attribute 16 is 0. */
    if (*at == FGS__SIM_ATTR_DEVICE_UPDATABLE_KERNEL_NODE &&
        v->deviceUpdatableKernelNode.deviceUpdatable)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

void fgs__sim_attribute_get(const struct fgs__sim_stream_attr *a,
                            unsigned int at, CUlaunchAttributeValue *v)
{
    if (a[at].set) {
        *v = a[at].value;
        return;
    }
    memset(v, 0, sizeof *v);
    if (at == FGS__SIM_ATTR_SYNCHRONIZATION_POLICY)
        v->syncPolicy = CU_SYNC_POLICY_AUTO;
    if (at == FGS__SIM_ATTR_MEM_SYNC_DOMAIN_MAP)
        v->memSyncDomainMap.remote = 1;
}
