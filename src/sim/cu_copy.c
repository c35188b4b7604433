/* cu_copy.c -- entry points: copies of one to three dimensions */
#include "sim/array.h"
#include "sim/lease.h"

uint64_t fgs__sim_span(const struct fgs__sim_copy_op *c,
                       const struct fgs__sim_side *side)
{
    return (c->planes - 1) * side->slice + (c->rows - 1) * side->pitch +
        c->width;
}

FGS__DEVICE_MEMORY void fgs__sim_copy_block(const struct fgs__sim_copy_op *c,
                                            char *dst, const char *src)
{
    for (uint64_t z = 0; z < c->planes; z++) {
        for (uint64_t y = 0; y < c->rows; y++)
            memmove(dst + z * c->dst.slice + y * c->dst.pitch,
                    src + z * c->src.slice + y * c->src.pitch, c->width);
    }
}

/* A side as a call names it: device memory, or a host pointer (which may be
 * pinned), or whatever the address says. */
enum where { DEVICE, HOST, UNIFIED };

struct named {
    enum where where;
    uint64_t addr, pitch, slice;
};

/* CUDA_SUCCESS and the side; a pageable one keeps its host pointer. */
static CUresult resolve(struct fgs__sim_ctx *ctx,
                        const struct fgs__sim_copy_op *c,
                        const struct named *n, bool later,
                        struct fgs__sim_side *side, bool *host)
{
    struct fgs__sim_mem *mem = ctx->dev->mem;
    struct fgs__sim_alloc_info info;
    struct fgs__sim_range range;

    *side = (struct fgs__sim_side){ NULL, n->addr, n->pitch, n->slice };
    *host = n->where == HOST;
    if (fgs__sim_call_range(ctx, n->addr, later, &range)) {
        if (n->where == UNIFIED && fgs__sim_mem_info(mem, n->addr, &info))
            *host = info.kind == FGS__SIM_MEM_HOST ||
                info.kind == FGS__SIM_MEM_REGISTERED;
        return fgs__sim_span(c, side) <= range.hi - n->addr
            ? CUDA_SUCCESS
            : CUDA_ERROR_INVALID_VALUE;
    }
    if (n->where == DEVICE || !n->addr || fgs__sim_mem_is_device(mem, n->addr))
        return CUDA_ERROR_INVALID_VALUE;
    side->host = (char *)(uintptr_t)n->addr;
    *host = true;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_copy_line(struct fgs__sim_ctx *ctx, uint64_t dst,
                            uint64_t src, uint64_t bytes,
                            struct fgs__sim_copy_op *out)
{
    struct named to = { UNIFIED, dst, 0, 0 }, from = { UNIFIED, src, 0, 0 };
    bool dst_host, src_host;
    CUresult r;

    *out = (struct fgs__sim_copy_op){ .width = bytes, .rows = 1, .planes = 1 };
    r = bytes ? resolve(ctx, out, &to, false, &out->dst, &dst_host)
              : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = resolve(ctx, out, &from, false, &out->src, &src_host);
    if (!r)
        out->local = !dst_host && !src_host;
    return r;
}

/* Pageable memory is only looked at while the call lasts: a source is copied
 * (the driver's documented behaviour of such copies). */
CUresult fgs__sim_copy_stage(struct fgs__sim_ctx *ctx,
                             struct fgs__sim_copy_op *c)
{
    struct fgs__sim_copy_op to = *c;
    uint64_t bytes = c->width * c->rows * c->planes;

    c->staged = fgs__alloc(&ctx->dev->alloc, bytes);
    if (!c->staged)
        return CUDA_ERROR_OUT_OF_MEMORY;
    to.dst.pitch = c->width;
    to.dst.slice = c->width * c->rows;
    fgs__sim_copy_block(&to, c->staged, c->src.host);
    c->src = to.dst;
    c->src.host = c->staged;
    return CUDA_SUCCESS;
}

struct request {
    struct named dst, src;
    uint64_t width, rows, planes;
    CUstream stream;
    bool sync;    /* a call without Async */
};

/* Device to device does not wait on the host side. */
static CUresult copy(struct fgs__sim_ctx *ctx, const struct request *q)
{
    struct fgs__sim_copy_op c = { .width = q->width, .rows = q->rows,
                                  .planes = q->planes };
    bool dst_host, src_host, captured, wait;
    struct fgs__sim_stream *s;
    struct fgs__sim_op *op;
    CUresult r = fgs__sim_stream_get(ctx, q->stream, &s);

    if (r || !c.width || !c.rows || !c.planes)
        return r;
    captured = fgs__sim_captured(s);
    r = resolve(ctx, &c, &q->dst, captured, &c.dst, &dst_host);
    if (!r)
        r = resolve(ctx, &c, &q->src, captured, &c.src, &src_host);
    if (r)
        return r;
    c.local = !dst_host && !src_host;
    if (captured && q->sync)
        return fgs__sim_capture_refuse(s);
    wait = !captured && (c.dst.host || (q->sync && !c.local));
    if (c.src.host && !wait && !captured)
        r = fgs__sim_copy_stage(ctx, &c);
    op = r ? NULL : fgs__sim_op_make(s, FGS__SIM_OP_COPY);
    if (!op) {
        fgs__free(&ctx->dev->alloc, c.staged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->u.copy = c;
    r = fgs__sim_submit(op);
    return !r && wait ? fgs__sim_stream_wait(s) : r;
}

static CUresult enter_copy(const struct request *q)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    return r ? r : fgs__sim_leave(copy(ctx, q));
}

/* ------------------------------------------------------ one dimension -- */

static CUresult line(enum where to, uint64_t dst, enum where from,
                     uint64_t src, size_t bytes, CUstream stream, bool sync)
{
    struct request q = { .dst = { to, dst, 0, 0 },
                         .src = { from, src, 0, 0 },
                         .width = bytes, .rows = 1, .planes = 1,
                         .stream = stream, .sync = sync };

    return enter_copy(&q);
}

CUresult fgs__sim_cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t bytes)
{
    return line(DEVICE, dst, HOST, (uintptr_t)src, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t bytes)
{
    return line(HOST, (uintptr_t)dst, DEVICE, src, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    return line(DEVICE, dst, DEVICE, src, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    return line(UNIFIED, dst, UNIFIED, src, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src,
                                    size_t bytes, CUstream stream)
{
    return line(DEVICE, dst, HOST, (uintptr_t)src, bytes, stream, false);
}

CUresult fgs__sim_cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes,
                                    CUstream stream)
{
    return line(HOST, (uintptr_t)dst, DEVICE, src, bytes, stream, false);
}

CUresult fgs__sim_cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src,
                                    size_t bytes, CUstream stream)
{
    return line(DEVICE, dst, DEVICE, src, bytes, stream, false);
}

CUresult fgs__sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                                CUstream stream)
{
    return line(UNIFIED, dst, UNIFIED, src, bytes, stream, false);
}

/* All contexts are of the one device. */
static CUresult check_peers(CUcontext a, CUcontext b)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    if (!fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_CTX, a) ||
        !fgs__sim_handle_get(&ctx->dev->handles, FGS__SIM_KIND_CTX, b))
        r = CUDA_ERROR_INVALID_CONTEXT;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx,
                               CUdeviceptr src, CUcontext src_ctx,
                               size_t bytes)
{
    CUresult r = check_peers(dst_ctx, src_ctx);

    return r ? r : line(DEVICE, dst, DEVICE, src, bytes, NULL, true);
}

CUresult fgs__sim_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx,
                                    CUdeviceptr src, CUcontext src_ctx,
                                    size_t bytes, CUstream stream)
{
    CUresult r = check_peers(dst_ctx, src_ctx);

    return r ? r : line(DEVICE, dst, DEVICE, src, bytes, stream, false);
}

/* --------------------------------------------- two and three dimensions -- */

struct corner {
    CUmemorytype type;
    uint64_t host, device;
    uint64_t x, y, z, lod, pitch, height;
    CUarray array;
};

static bool inside(uint64_t at, uint64_t count, uint64_t most)
{
    return count <= most && at <= most - count;
}

static CUresult name_array(struct fgs__sim_ctx *ctx, struct named *n,
                           const struct corner *at, const CUDA_MEMCPY3D *c)
{
    const struct fgs__sim_array *a = fgs__sim_array_of(ctx, at->array);

    if (!a || at->lod || !inside(at->x, c->WidthInBytes, a->pitch) ||
        !inside(at->y, c->Height, a->rows) ||
        !inside(at->z, c->Depth, a->planes))
        return CUDA_ERROR_INVALID_VALUE;
    n->where = DEVICE;
    n->pitch = a->pitch;
    n->slice = a->pitch * a->rows;
    n->addr = a->va + at->z * n->slice + at->y * n->pitch + at->x;
    return CUDA_SUCCESS;
}

static CUresult name_side(struct fgs__sim_ctx *ctx, struct named *n,
                          const struct corner *at, const CUDA_MEMCPY3D *c)
{
    uint64_t pitch = at->pitch ? at->pitch : c->WidthInBytes + at->x;
    uint64_t height = at->height ? at->height : c->Height + at->y;

    if (at->type == CU_MEMORYTYPE_ARRAY)
        return name_array(ctx, n, at, c);
    if (at->type < CU_MEMORYTYPE_HOST || at->type > CU_MEMORYTYPE_UNIFIED ||
        at->lod || pitch > 0x7fffffff || c->WidthInBytes > pitch ||
        at->x > pitch - c->WidthInBytes || height > UINT64_MAX / 4 / pitch ||
        (c->Depth > 1 && (c->Height > height || at->y > height - c->Height)))
        return CUDA_ERROR_INVALID_VALUE;
    n->where = at->type == CU_MEMORYTYPE_HOST ? HOST
        : at->type == CU_MEMORYTYPE_DEVICE    ? DEVICE
                                              : UNIFIED;
    n->addr = n->where == HOST ? at->host : at->device;
    if (!n->addr) /* with an offset it would look like the host's */
        return CUDA_ERROR_INVALID_VALUE;
    if (fgs__sim_mem_is_device(ctx->dev->mem, n->addr) && n->where == UNIFIED)
        n->where = DEVICE; /* and so is what lies behind its offset */
    n->addr += (at->z * height + at->y) * pitch + at->x;
    n->pitch = pitch;
    n->slice = pitch * height;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_copy_named(struct fgs__sim_ctx *ctx, const CUDA_MEMCPY3D *c,
                             bool later, struct fgs__sim_copy_op *out)
{
    const struct corner dst = { c->dstMemoryType, (uintptr_t)c->dstHost,
                                c->dstDevice,     c->dstXInBytes,
                                c->dstY,          c->dstZ,
                                c->dstLOD,        c->dstPitch,
                                c->dstHeight,     c->dstArray };
    const struct corner src = { c->srcMemoryType, (uintptr_t)c->srcHost,
                                c->srcDevice,     c->srcXInBytes,
                                c->srcY,          c->srcZ,
                                c->srcLOD,        c->srcPitch,
                                c->srcHeight,     c->srcArray };
    struct named to, from;
    bool dst_host, src_host;
    CUresult r;

    memset(out, 0, sizeof *out);
    if (!c->WidthInBytes || !c->Height || !c->Depth ||
        c->Height > 0x7fffffff || c->Depth > 0x7fffffff)
        return CUDA_ERROR_INVALID_VALUE;
    out->width = c->WidthInBytes;
    out->rows = c->Height;
    out->planes = c->Depth;
    r = name_side(ctx, &to, &dst, c);
    if (!r)
        r = name_side(ctx, &from, &src, c);
    if (!r)
        r = resolve(ctx, out, &to, later, &out->dst, &dst_host);
    if (!r)
        r = resolve(ctx, out, &from, later, &out->src, &src_host);
    if (!r)
        out->local = !dst_host && !src_host;
    return r;
}

static CUresult block(const CUDA_MEMCPY3D *c, CUstream stream, bool sync)
{
    struct corner dst, src;
    struct fgs__sim_ctx *ctx;
    struct request q;
    CUresult r;

    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    dst = (struct corner){ c->dstMemoryType, (uintptr_t)c->dstHost,
                           c->dstDevice,     c->dstXInBytes,
                           c->dstY,          c->dstZ,
                           c->dstLOD,        c->dstPitch,
                           c->dstHeight,     c->dstArray };
    src = (struct corner){ c->srcMemoryType, (uintptr_t)c->srcHost,
                           c->srcDevice,     c->srcXInBytes,
                           c->srcY,          c->srcZ,
                           c->srcLOD,        c->srcPitch,
                           c->srcHeight,     c->srcArray };
    q = (struct request){ .width = c->WidthInBytes, .rows = c->Height,
                          .planes = c->Depth, .stream = stream, .sync = sync };
    if (!q.width || !q.rows || !q.planes)
        return CUDA_SUCCESS;
    r = fgs__sim_enter(&ctx);
    if (r)
        return r;
    r = name_side(ctx, &q.dst, &dst, c);
    if (!r)
        r = name_side(ctx, &q.src, &src, c);
    return fgs__sim_leave(r ? r : copy(ctx, &q));
}

static CUDA_MEMCPY3D flat(const CUDA_MEMCPY2D *c)
{
    return (CUDA_MEMCPY3D){
        .srcXInBytes = c->srcXInBytes, .srcY = c->srcY,
        .srcMemoryType = c->srcMemoryType, .srcHost = c->srcHost,
        .srcDevice = c->srcDevice, .srcArray = c->srcArray,
        .srcPitch = c->srcPitch, .dstXInBytes = c->dstXInBytes,
        .dstY = c->dstY, .dstMemoryType = c->dstMemoryType,
        .dstHost = c->dstHost, .dstDevice = c->dstDevice,
        .dstArray = c->dstArray, .dstPitch = c->dstPitch,
        .WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = 1
    };
}

static CUresult plane(const CUDA_MEMCPY2D *c, CUstream stream, bool sync)
{
    CUDA_MEMCPY3D full;

    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    full = flat(c);
    return block(&full, stream, sync);
}

CUresult fgs__sim_cuMemcpy2D(const CUDA_MEMCPY2D *c)
{
    return plane(c, NULL, true);
}

CUresult fgs__sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *c)
{
    return plane(c, NULL, true);
}

CUresult fgs__sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream)
{
    return plane(c, stream, false);
}

CUresult fgs__sim_cuMemcpy3D(const CUDA_MEMCPY3D *c)
{
    return block(c, NULL, true);
}

CUresult fgs__sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D *c, CUstream stream)
{
    return block(c, stream, false);
}

static CUresult peer_block(const CUDA_MEMCPY3D_PEER *c, CUstream stream,
                           bool sync)
{
    CUDA_MEMCPY3D full;
    CUresult r;

    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    r = check_peers(c->dstContext, c->srcContext);
    memcpy(&full, c, sizeof full); /* the same layout */
    return r ? r : block(&full, stream, sync);
}

CUresult fgs__sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *c)
{
    return peer_block(c, NULL, true);
}

CUresult fgs__sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c,
                                      CUstream stream)
{
    return peer_block(c, stream, false);
}
