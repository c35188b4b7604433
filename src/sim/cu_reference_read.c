/* cu_reference_read.c -- entry points: how a texture reference is read */
#include "sim/reference.h"

/* Enter and find it; the lock is held only after CUDA_SUCCESS. */
static CUresult enter(struct fgs__sim_reference **ref, CUtexref handle)
{
    return fgs__sim_reference_enter(ref, handle, false);
}

/* Memory is read in any format; an array, and memory in two dimensions, in
 * that of their descriptor: the format is said before, or the same again. */
static CUresult take_format(struct fgs__sim_reference *ref, unsigned format,
                            unsigned channels)
{
    if (format >= CU_AD_FORMAT_UNORM_INT_101010_2)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!fgs__sim_component(format) ||
        (channels != 1 && channels != 2 && channels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    if (ref->bound && ref->res.resType != CU_RESOURCE_TYPE_LINEAR &&
        (format != ref->format || channels != ref->channels))
        return ref->res.resType == CU_RESOURCE_TYPE_PITCH2D
            ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    ref->format = format;
    ref->channels = channels;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuTexRefSetFormat(CUtexref handle, CUarray_format format,
                                    int channels)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    return r ? r
             : fgs__sim_leave(take_format(ref, format, (unsigned)channels));
}

CUresult fgs__sim_cuTexRefGetFormat(CUarray_format *format, int *channels,
                                    CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!format || !channels || !ref->channels)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    *format = ref->format;
    *channels = (int)ref->channels;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexRefSetAddressMode(CUtexref handle, int dim,
                                         CUaddress_mode mode)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (dim < 0 || dim > 2 || mode > CU_TR_ADDRESS_MODE_BORDER)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    ref->tex.addressMode[dim] = mode;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexRefGetAddressMode(CUaddress_mode *out, CUtexref handle,
                                         int dim)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!out || dim < 0 || dim > 2)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    *out = ref->tex.addressMode[dim];
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexRefSetFilterMode(CUtexref handle, CUfilter_mode mode)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (mode > CU_TR_FILTER_MODE_LINEAR)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    ref->tex.filterMode = mode;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexRefGetFilterMode(CUfilter_mode *out, CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!out)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    *out = ref->tex.filterMode;
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* Those that a reference has; two that are none are let pass (an H200). */
CUresult fgs__sim_cuTexRefSetFlags(CUtexref handle, unsigned int flags)
{
    const unsigned known = CU_TRSF_READ_AS_INTEGER |
        CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
        CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | 4 | 8;
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (flags & ~known)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    ref->tex.flags = flags;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexRefGetFlags(unsigned int *out, CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!out)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    *out = ref->tex.flags;
    return fgs__sim_leave(CUDA_SUCCESS);
}
