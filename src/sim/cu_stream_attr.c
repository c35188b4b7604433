/* cu_stream_attr.c -- entry points: attributes of streams, callbacks, memory */
#include "sim/device.h"

static CUresult enter(struct fgs__sim_ctx **ctx, CUstream stream,
                      struct fgs__sim_stream **s)
{
    CUresult r = fgs__sim_enter(ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(*ctx, stream, s);
    return r ? fgs__sim_leave(r) : CUDA_SUCCESS;
}

/* ----------------------------------------------------------- attributes -- */

CUresult fgs__sim_cuStreamGetAttribute(CUstream stream, CUstreamAttrID attr,
                                       CUstreamAttrValue *value)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, stream, &s);
    unsigned int at;

    if (r)
        return r;
    r = value ? fgs__sim_attribute_find(&at, FGS__SIM_OF_STREAM, attr)
              : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        fgs__sim_attribute_get(s->attr, at, value);
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamSetAttribute(CUstream stream, CUstreamAttrID attr,
                                       const CUstreamAttrValue *value)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, stream, &s);
    CUstreamAttrValue v;
    unsigned int at;

    if (r)
        return r;
    if (!value)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    v = *value;
    r = fgs__sim_attribute_check(&at, FGS__SIM_OF_STREAM, attr, &v);
    if (!r) {
        s->attr[at].value = v;
        s->attr[at].set = true;
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamCopyAttributes(CUstream dst, CUstream src)
{
    struct fgs__sim_stream *to, *from;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, dst, &to);

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, src, &from);
    if (!r && to != from)
        memcpy(to->attr, from->attr, sizeof to->attr);
    return fgs__sim_leave(r);
}

/* There are no green contexts. */
CUresult fgs__sim_cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx,
                                    CUgreenCtx *green)
{
    CUresult r = green ? fgs__sim_cuStreamGetCtx(stream, ctx)
                       : CUDA_ERROR_INVALID_VALUE;

    if (!r)
        *green = NULL;
    return r;
}

/* ------------------------------------------------------- host functions -- */

CUresult fgs__sim_cuLaunchHostFunc_v2(CUstream stream, CUhostFn fn, void *data,
                                      unsigned int syncMode)
{
    return syncMode > CU_HOST_TASK_SPINWAIT
        ? CUDA_ERROR_INVALID_VALUE
        : fgs__sim_cuLaunchHostFunc(stream, fn, data);
}

/* Called with the context's error too, when its turn comes after a fault. */
CUresult fgs__sim_cuStreamAddCallback(CUstream stream,
                                      CUstreamCallback callback, void *data,
                                      unsigned int flags)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, stream, &s);
    struct fgs__sim_op *op;

    if (r)
        return r;
    if (!callback || flags)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    if (fgs__sim_captured(s)) /* a graph's host node has no such status */
        return fgs__sim_leave(fgs__sim_capture_refuse(s));
    op = fgs__sim_op_make(s, FGS__SIM_OP_HOST);
    if (!op)
        return fgs__sim_leave(CUDA_ERROR_OUT_OF_MEMORY);
    op->u.host.callback = callback;
    op->u.host.stream = stream;
    op->u.host.data = data;
    return fgs__sim_leave(fgs__sim_submit(op));
}

/* Managed memory is reached by host and device at any time (attribute 89), so
 * there is nothing to move or to forbid. */
CUresult fgs__sim_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr,
                                         size_t length, unsigned int flags)
{
    struct fgs__sim_alloc_info info;
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = enter(&ctx, stream, &s);

    if (r)
        return r;
    if (fgs__sim_captured(s))
        return fgs__sim_leave(fgs__sim_capture_refuse(s));
    if (!fgs__sim_mem_info(ctx->dev->mem, ptr, &info) ||
        info.kind != FGS__SIM_MEM_MANAGED || info.range.lo != ptr ||
        (length && length != info.range.hi - info.range.lo) ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
         flags != CU_MEM_ATTACH_SINGLE) ||
        (flags == CU_MEM_ATTACH_SINGLE && (s == ctx->legacy || s->thread)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        info.flags = flags;
        fgs__sim_mem_tag(ctx->dev->mem, ptr, &info);
    }
    return fgs__sim_leave(r);
}
