/* cu_reference_mip.c -- entry points: levels and borders of texture references
 *
 * What an H200's driver lets pass and refuses; a handle of 0 is an
 * INVALID_HANDLE here.
 */
#include "sim/reference.h"

/* Enter and find it; the lock is held only after CUDA_SUCCESS. */
static CUresult enter(struct fgs__sim_reference **ref, CUtexref handle)
{
    return handle ? fgs__sim_reference_enter(ref, handle, false)
                  : CUDA_ERROR_INVALID_HANDLE;
}

/* A setter and a getter of one field. */
#define FIELD(name, set_type, get_type, field, valid)                          \
    CUresult fgs__sim_cuTexRefSet##name(CUtexref handle, set_type v)           \
    {                                                                          \
        struct fgs__sim_reference *ref;                                        \
        CUresult r = enter(&ref, handle);                                      \
                                                                               \
        if (r)                                                                 \
            return r;                                                          \
        if (!(valid))                                                          \
            return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);                   \
        ref->tex.field = v;                                                    \
        return fgs__sim_leave(CUDA_SUCCESS);                                   \
    }                                                                          \
                                                                               \
    CUresult fgs__sim_cuTexRefGet##name(get_type *out, CUtexref handle)        \
    {                                                                          \
        struct fgs__sim_reference *ref;                                        \
        CUresult r = enter(&ref, handle);                                      \
                                                                               \
        if (r)                                                                 \
            return r;                                                          \
        if (!out)                                                              \
            return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);                   \
        *out = (get_type)ref->tex.field;                                       \
        return fgs__sim_leave(CUDA_SUCCESS);                                   \
    }

FIELD(MipmapFilterMode, CUfilter_mode, CUfilter_mode, mipmapFilterMode,
      v <= CU_TR_FILTER_MODE_LINEAR)
FIELD(MipmapLevelBias, float, float, mipmapLevelBias, true)
FIELD(MaxAnisotropy, unsigned int, int, maxAnisotropy, true)

CUresult fgs__sim_cuTexRefSetMipmapLevelClamp(CUtexref handle, float least,
                                              float most)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    ref->tex.minMipmapLevelClamp = least;
    ref->tex.maxMipmapLevelClamp = most;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexRefGetMipmapLevelClamp(float *least, float *most,
                                              CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!least || !most)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    *least = ref->tex.minMipmapLevelClamp;
    *most = ref->tex.maxMipmapLevelClamp;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexRefSetBorderColor(CUtexref handle, float *color)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!color)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(ref->tex.borderColor, color, sizeof ref->tex.borderColor);
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuTexRefGetBorderColor(float *color, CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!color)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(color, ref->tex.borderColor, sizeof ref->tex.borderColor);
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* With and without the flag it has its array's format. */
CUresult fgs__sim_cuTexRefSetMipmappedArray(CUtexref handle,
                                            CUmipmappedArray array,
                                            unsigned int flags)
{
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY };
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!fgs__sim_mipmap_of(ref->ctx, array))
        return fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
    if (flags & ~(unsigned)CU_TRSA_OVERRIDE_FORMAT)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    res.res.mipmap.hMipmappedArray = array;
    return fgs__sim_leave(fgs__sim_reference_take(ref, &res, 0));
}

CUresult fgs__sim_cuTexRefGetMipmappedArray(CUmipmappedArray *out,
                                            CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = enter(&ref, handle);

    if (r)
        return r;
    if (!out || !ref->bound ||
        ref->res.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    *out = ref->res.res.mipmap.hMipmappedArray;
    return fgs__sim_leave(CUDA_SUCCESS);
}
