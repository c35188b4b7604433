/* cu_reference.c -- entry points: texture and surface references
 *
 * Codes and rules are those of the driver's documentation; a handle that is
 * none is an INVALID_VALUE there.
 */
#include "sim/reference.h"

enum { PARAM_TR_DEFAULT = -1 }; /* CU_PARAM_TR_DEFAULT                       */

static struct fgs__sim_reference *make(struct fgs__sim_ctx *ctx)
{
    const fgs_allocator *a = &ctx->dev->alloc;
    struct fgs__sim_reference *ref = fgs__zalloc(a, sizeof *ref);

    if (!ref)
        return NULL;
    ref->handle = fgs__sim_handle_make(&ctx->dev->handles, a,
                                       FGS__SIM_KIND_REFERENCE, ref);
    if (!ref->handle) {
        fgs__free(a, ref);
        return NULL;
    }
    /* Without normalized coordinates the only mode, says the text. */
    for (int d = 0; d < 3; d++)
        ref->tex.addressMode[d] = CU_TR_ADDRESS_MODE_CLAMP;
    ref->ctx = ctx;
    ref->next = ctx->references;
    ctx->references = ref;
    return ref;
}

static void drop(struct fgs__sim_reference **at)
{
    struct fgs__sim_reference *ref = *at;
    struct fgs__sim_device *dev = ref->ctx->dev;

    *at = ref->next;
    fgs__sim_handle_free(&dev->handles, ref->handle);
    fgs__free(&dev->alloc, ref);
}

void fgs__sim_references_free(struct fgs__sim_ctx *ctx,
                              const struct fgs__sim_module *m)
{
    struct fgs__sim_reference **at = &ctx->references;

    while (*at) {
        if (!m || (*at)->module == m)
            drop(at);
        else
            at = &(*at)->next;
    }
}

CUresult fgs__sim_reference_enter(struct fgs__sim_reference **ref,
                                  const void *handle, bool surface)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    *ref = fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_REFERENCE,
                               handle);
    return *ref && (*ref)->ctx == ctx && (*ref)->surface == surface
        ? CUDA_SUCCESS : fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
}

/* ------------------------------------------------------------- launches -- */

void fgs__sim_bound_free(const fgs_allocator *a, struct fgs__sim_bound *b)
{
    while (b) {
        struct fgs__sim_bound *next = b->next;

        fgs__free(a, b);
        b = next;
    }
}

/* An error of its own = nothing a kernel could read: no format, an array that
 * is gone. */
static CUresult bind(const struct fgs__sim_reference *ref,
                     struct fgs__sim_texture *t)
{
    CUresult r;

    CUDA_RESOURCE_DESC res = ref->res;

    if (res.resType == CU_RESOURCE_TYPE_LINEAR) {
        res.res.linear.format = ref->format;
        res.res.linear.numChannels = ref->channels;
    }
    t->ctx = ref->ctx;
    t->surface = ref->surface;
    r = fgs__sim_texture_bind(ref->ctx, t, &res);
    return r || ref->surface ? r : fgs__sim_texture_sampler(t, &ref->tex);
}

/* One that is not bound is an object that is none to the kernel that uses it;
 * others of the module do not mind.  What is read in no known way refuses the
 * launch. */
CUresult fgs__sim_references_bind(const struct fgs__sim_module *m,
                                  struct fgs__sim_bound **out)
{
    const fgs_allocator *a = &m->ctx->dev->alloc;

    for (const struct fgs__sim_reference *ref = m->ctx->references; ref;
         ref = ref->next) {
        struct fgs__sim_bound *b;
        CUresult r;

        if (ref->module != m || !ref->bound)
            continue;
        b = fgs__zalloc(a, sizeof *b);
        if (!b)
            return CUDA_ERROR_OUT_OF_MEMORY;
        r = bind(ref, &b->t);
        if (r) {
            fgs__free(a, b);
            if (r == CUDA_ERROR_NOT_SUPPORTED)
                return r;
            continue;
        }
        b->va = ref->var->address;
        b->next = *out;
        *out = b;
    }
    return CUDA_SUCCESS;
}

/* By name, in the kernel itself. */
bool fgs__sim_references_used(const struct fgs__sim_func *f)
{
    for (uint32_t n = 0; n < f->func->insn_count; n++) {
        const struct fgs__ptx_insn *i = &f->func->insn[n];

        for (uint32_t k = 0; k < i->operands; k++)
            if (i->operand[k].kind == FGS__O_ADDR && i->operand[k].sym &&
                i->operand[k].sym->kind == FGS__SYM_VAR &&
                i->operand[k].sym->opaque)
                return true;
    }
    return false;
}

/* -------------------------------------------------- where they come from -- */

static CUresult of_module(struct fgs__sim_ctx *ctx, CUmodule mod,
                          const char *name, bool surface, uintptr_t *out)
{
    struct fgs__sim_module *m = fgs__sim_module_of(ctx, mod);
    const struct fgs__ptx_sym *v = m ? fgs__ptx_find_var(m->ptx, name) : NULL;
    struct fgs__sim_reference *ref = ctx->references;

    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!v || !v->address ||
        v->opaque != (surface ? FGS__OPAQUE_SURFREF : FGS__OPAQUE_TEXREF))
        return CUDA_ERROR_NOT_FOUND;
    while (ref && (ref->module != m || ref->var != v))
        ref = ref->next;
    if (!ref) {
        ref = make(ctx);
        if (!ref)
            return CUDA_ERROR_OUT_OF_MEMORY;
        ref->module = m;
        ref->var = v;
        ref->surface = surface;
    }
    *out = ref->handle;
    return CUDA_SUCCESS;
}

static CUresult named(CUmodule mod, const char *name, bool surface, void *out)
{
    struct fgs__sim_ctx *ctx;
    uintptr_t handle;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = !out || !name ? CUDA_ERROR_INVALID_VALUE
                      : of_module(ctx, mod, name, surface, &handle);
    if (!r)
        memcpy(out, &handle, sizeof handle);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuModuleGetTexRef(CUtexref *ref, CUmodule mod,
                                    const char *name)
{
    return named(mod, name, false, ref);
}

CUresult fgs__sim_cuModuleGetSurfRef(CUsurfref *ref, CUmodule mod,
                                     const char *name)
{
    return named(mod, name, true, ref);
}

/* No kernel can use one that belongs to no module. */
CUresult fgs__sim_cuTexRefCreate(CUtexref *out)
{
    struct fgs__sim_reference *ref;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!out)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    ref = make(ctx);
    if (!ref)
        return fgs__sim_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *out = (CUtexref)ref->handle;
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* A module's goes with its module alone. */
CUresult fgs__sim_cuTexRefDestroy(CUtexref handle)
{
    struct fgs__sim_reference *ref, **at;
    CUresult r = fgs__sim_reference_enter(&ref, handle, false);

    if (r)
        return r;
    if (ref->module)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    for (at = &ref->ctx->references; *at != ref; at = &(*at)->next)
        ;
    drop(at);
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* A kernel names its references itself: there is nothing to add. */
CUresult fgs__sim_cuParamSetTexRef(CUfunction func, int unit, CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = fgs__sim_reference_enter(&ref, handle, false);

    if (r)
        return r;
    if (!fgs__sim_func_of(ref->ctx, func))
        return fgs__sim_leave(CUDA_ERROR_INVALID_HANDLE);
    return fgs__sim_leave(unit == PARAM_TR_DEFAULT && ref->module
                              ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ------------------------------------------------------------ resources -- */

CUresult fgs__sim_reference_take(struct fgs__sim_reference *ref,
                                 const CUDA_RESOURCE_DESC *res, uint64_t given)
{
    struct fgs__sim_texture t = { .surface = ref->surface };
    CUresult r = fgs__sim_texture_bind(ref->ctx, &t, res);

    if (r)
        return r;
    ref->res = *res;
    ref->given = given;
    ref->bound = true;
    if (res->resType != CU_RESOURCE_TYPE_LINEAR) {
        ref->format = t.format;
        ref->channels = t.channels;
    }
    return CUDA_SUCCESS;
}

static CUresult take_array(struct fgs__sim_reference *ref, CUarray array)
{
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_ARRAY };
    struct fgs__sim_array *a = fgs__sim_array_of(ref->ctx, array);

    if (!a || (ref->surface && !(a->desc.Flags & CUDA_ARRAY3D_SURFACE_LDST)))
        return CUDA_ERROR_INVALID_VALUE;
    res.res.array.hArray = array;
    return fgs__sim_reference_take(ref, &res, 0);
}

CUresult fgs__sim_cuTexRefSetArray(CUtexref handle, CUarray array,
                                   unsigned int flags)
{
    struct fgs__sim_reference *ref;
    CUresult r = fgs__sim_reference_enter(&ref, handle, false);

    if (r)
        return r;
    return fgs__sim_leave(flags == CU_TRSA_OVERRIDE_FORMAT
                              ? take_array(ref, array)
                              : CUDA_ERROR_INVALID_VALUE);
}

CUresult fgs__sim_cuSurfRefSetArray(CUsurfref handle, CUarray array,
                                    unsigned int flags)
{
    struct fgs__sim_reference *ref;
    CUresult r = fgs__sim_reference_enter(&ref, handle, true);

    if (r)
        return r;
    return fgs__sim_leave(flags ? CUDA_ERROR_INVALID_VALUE
                                : take_array(ref, array));
}

/* The texture begins where one may; the program adds the rest of the way. The
 * format may be said later: until then any is taken. */
static CUresult take_linear(struct fgs__sim_reference *ref, size_t *offset,
                            uint64_t ptr, size_t bytes)
{
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_LINEAR };
    uint64_t align = fgs__sim_texture_align(), off = align ? ptr % align : 0;
    CUresult r;

    if ((off && !offset) ||
        (ref->channels && bytes / ref->channels /
         fgs__sim_component(ref->format) > fgs__sim_linear_width()))
        return CUDA_ERROR_INVALID_VALUE;
    res.res.linear.devPtr = ptr - off;
    res.res.linear.sizeInBytes = bytes + off;
    res.res.linear.format =
        ref->channels ? ref->format : CU_AD_FORMAT_UNSIGNED_INT8;
    res.res.linear.numChannels = ref->channels ? ref->channels : 1;
    r = fgs__sim_reference_take(ref, &res, ptr);
    if (!r && offset)
        *offset = (size_t)off;
    return r;
}

CUresult fgs__sim_cuTexRefSetAddress(size_t *offset, CUtexref handle,
                                     CUdeviceptr ptr, size_t bytes)
{
    struct fgs__sim_reference *ref;
    CUresult r = fgs__sim_reference_enter(&ref, handle, false);

    return r ? r : fgs__sim_leave(take_linear(ref, offset, ptr, bytes));
}

CUresult fgs__sim_cuTexRefSetAddress2D(CUtexref handle,
                                       const CUDA_ARRAY_DESCRIPTOR *desc,
                                       CUdeviceptr ptr, size_t pitch)
{
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_PITCH2D };
    struct fgs__sim_reference *ref;
    CUresult r = fgs__sim_reference_enter(&ref, handle, false);

    if (r)
        return r;
    if (!desc)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    res.res.pitch2D.devPtr = ptr;
    res.res.pitch2D.format = desc->Format;
    res.res.pitch2D.numChannels = desc->NumChannels;
    res.res.pitch2D.width = desc->Width;
    res.res.pitch2D.height = desc->Height;
    res.res.pitch2D.pitchInBytes = pitch;
    return fgs__sim_leave(fgs__sim_reference_take(ref, &res, ptr));
}

CUresult fgs__sim_cuTexRefSetAddress2D_v3(CUtexref handle,
                                          const CUDA_ARRAY_DESCRIPTOR *desc,
                                          CUdeviceptr ptr, size_t pitch)
{
    return fgs__sim_cuTexRefSetAddress2D(handle, desc, ptr, pitch);
}

static CUresult give_array(const struct fgs__sim_reference *ref, CUarray *out)
{
    if (!out || !ref->bound || ref->res.resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    *out = ref->res.res.array.hArray;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cuTexRefGetArray(CUarray *out, CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = fgs__sim_reference_enter(&ref, handle, false);

    return r ? r : fgs__sim_leave(give_array(ref, out));
}

CUresult fgs__sim_cuSurfRefGetArray(CUarray *out, CUsurfref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = fgs__sim_reference_enter(&ref, handle, true);

    return r ? r : fgs__sim_leave(give_array(ref, out));
}

CUresult fgs__sim_cuTexRefGetAddress(CUdeviceptr *out, CUtexref handle)
{
    struct fgs__sim_reference *ref;
    CUresult r = fgs__sim_reference_enter(&ref, handle, false);

    if (r)
        return r;
    if (!out || !ref->bound || !ref->given)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    *out = ref->given;
    return fgs__sim_leave(CUDA_SUCCESS);
}
