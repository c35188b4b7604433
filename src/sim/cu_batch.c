/* cu_batch.c -- entry points: batches of copies, copies with attributes
 *
 * What is refused, and that a batch is neither captured nor spoils a capture,
 * is what an H200 answered (driver 580).
 */
#include "sim/array.h"

static CUresult check_attr(const CUmemcpyAttributes *a)
{
    const CUmemLocationType most = CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN;

    if (!a || a->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
        a->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
        a->flags > CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE ||
        a->srcLocHint.type > most || a->dstLocHint.type > most)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Ops that are made, not yet handed over: all of a batch or none. */
struct batch {
    struct fgs__sim_ctx *ctx;
    struct fgs__sim_stream *stream;
    struct fgs__sim_op *head, **tail;
    bool wait;                 /* a destination is pageable                  */
};

/* A source that must not be read later is read now. */
static CUresult add(struct batch *b, struct fgs__sim_copy_op *c,
                    CUmemcpySrcAccessOrder order)
{
    struct fgs__sim_op *op;
    CUresult r = CUDA_SUCCESS;

    b->wait |= c->dst.host != NULL;
    if (order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL && !c->src.host)
        c->src.host = fgs__sim_mem_host(b->ctx->dev->mem, c->src.va,
                                        fgs__sim_span(c, &c->src));
    if (c->src.host && !fgs__sim_captured(b->stream))
        r = fgs__sim_copy_stage(b->ctx, c);
    op = r ? NULL : fgs__sim_op_make(b->stream, FGS__SIM_OP_COPY);
    if (!op) {
        fgs__free(&b->ctx->dev->alloc, c->staged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->u.copy = *c;
    *b->tail = op;
    b->tail = &op->next;
    return CUDA_SUCCESS;
}

static CUresult finish(struct batch *b, CUresult r)
{
    bool captured = fgs__sim_captured(b->stream);

    while (b->head) {
        struct fgs__sim_op *op = b->head;

        b->head = op->next;
        op->next = NULL;
        if (r)
            fgs__sim_op_free(op);
        else
            r = fgs__sim_submit(op);
    }
    return !r && b->wait && !captured ? fgs__sim_stream_wait(b->stream) : r;
}

/* Enter; a batch wants a stream that is not the legacy one. */
static CUresult begin(struct batch *b, CUstream stream, bool many)
{
    CUresult r = fgs__sim_enter(&b->ctx);

    if (r)
        return r;
    b->head = NULL;
    b->tail = &b->head;
    b->wait = false;
    r = fgs__sim_stream_get(b->ctx, stream, &b->stream);
    if (!r && many && b->stream == b->ctx->legacy)
        r = CUDA_ERROR_INVALID_VALUE;
    else if (!r && many && fgs__sim_captured(b->stream))
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return r ? fgs__sim_leave(r) : r;
}

/* ------------------------------------------------------------- pointers -- */

struct lines {
    const CUdeviceptr *dst, *src;
    const size_t *bytes;
    size_t count;
    const CUmemcpyAttributes *attr;
    const size_t *idx;
    size_t attrs;
};

static CUresult check_lines(const struct lines *q)
{
    CUresult r = CUDA_SUCCESS;

    if (!q->dst || !q->src || !q->bytes || !q->attr || !q->idx || !q->attrs ||
        q->attrs > q->count || q->idx[0])
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; !r && k < q->attrs; k++) {
        r = check_attr(&q->attr[k]);
        if (q->idx[k] >= q->count || (k && q->idx[k] <= q->idx[k - 1]))
            r = CUDA_ERROR_INVALID_VALUE;
    }
    return r;
}

/* *fail = the copy that is refused, SIZE_MAX where no single one is. */
static CUresult lines(const struct lines *q, CUstream stream, size_t *fail)
{
    struct fgs__sim_copy_op c;
    struct batch b;
    CUresult r = begin(&b, stream, true);
    size_t k = 0;

    if (r)
        return r;
    *fail = SIZE_MAX;
    r = check_lines(q);
    for (size_t i = 0; !r && i < q->count; i++) {
        if (k + 1 < q->attrs && q->idx[k + 1] == i)
            k++;
        r = fgs__sim_copy_line(b.ctx, q->dst[i], q->src[i], q->bytes[i], &c);
        if (r)
            *fail = i;
        else
            r = add(&b, &c, q->attr[k].srcAccessOrder);
    }
    return fgs__sim_leave(finish(&b, r));
}

CUresult fgs__sim_cuMemcpyBatchAsync_v1(CUdeviceptr *dsts, CUdeviceptr *srcs,
                                        size_t *sizes, size_t count,
                                        CUmemcpyAttributes *attrs,
                                        size_t *idxs, size_t nattrs,
                                        size_t *fail, CUstream stream)
{
    struct lines q = { dsts, srcs, sizes, count, attrs, idxs, nattrs };
    size_t none;

    return lines(&q, stream, fail ? fail : &none);
}

CUresult fgs__sim_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs,
                                     size_t *sizes, size_t count,
                                     CUmemcpyAttributes *attrs, size_t *idxs,
                                     size_t nattrs, CUstream stream)
{
    return fgs__sim_cuMemcpyBatchAsync_v1(dsts, srcs, sizes, count, attrs,
                                          idxs, nattrs, NULL, stream);
}

CUresult fgs__sim_cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src,
                                              size_t bytes,
                                              CUmemcpyAttributes *attr,
                                              CUstream stream)
{
    struct fgs__sim_copy_op c;
    struct batch b;
    CUresult r = begin(&b, stream, false);

    if (r)
        return r;
    r = check_attr(attr);
    if (!r)
        r = fgs__sim_copy_line(b.ctx, dst, src, bytes, &c);
    if (!r)
        r = add(&b, &c, attr->srcAccessOrder);
    return fgs__sim_leave(finish(&b, r));
}

/* --------------------------------------------------------------- blocks -- */

/* The other side's array says how many bytes an element has. */
static uint32_t element_of(struct fgs__sim_ctx *ctx,
                           const CUmemcpy3DOperand *o)
{
    const struct fgs__sim_array *a;

    if (o->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return 1;
    a = fgs__sim_array_of(ctx, o->op.array.array);
    return a ? a->element : 0;
}

/* A pointer's row and layer, in elements, are those of the copy where they
 * are not given. */
static bool pointer_fits(const CUmemcpy3DOperand *o,
                         const CUDA_MEMCPY3D_BATCH_OP *op)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return true;
    return o->type == CU_MEMCPY_OPERAND_TYPE_POINTER &&
        (!o->op.ptr.rowLength || o->op.ptr.rowLength >= op->extent.width) &&
        (!o->op.ptr.layerHeight || o->op.ptr.layerHeight >= op->extent.height);
}

static void name_src(CUDA_MEMCPY3D *to, const CUmemcpy3DOperand *o,
                     uint32_t element)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        to->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        to->srcArray = o->op.array.array;
        to->srcXInBytes = o->op.array.offset.x * element;
        to->srcY = o->op.array.offset.y;
        to->srcZ = o->op.array.offset.z;
    } else {
        to->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
        to->srcDevice = o->op.ptr.ptr;
        to->srcPitch = o->op.ptr.rowLength * element;
        to->srcHeight = o->op.ptr.layerHeight;
    }
}

static void name_dst(CUDA_MEMCPY3D *to, const CUmemcpy3DOperand *o,
                     uint32_t element)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        to->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        to->dstArray = o->op.array.array;
        to->dstXInBytes = o->op.array.offset.x * element;
        to->dstY = o->op.array.offset.y;
        to->dstZ = o->op.array.offset.z;
    } else {
        to->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
        to->dstDevice = o->op.ptr.ptr;
        to->dstPitch = o->op.ptr.rowLength * element;
        to->dstHeight = o->op.ptr.layerHeight;
    }
}

static bool small(size_t n)
{
    return n <= 0x7fffffff;
}

static CUresult name_block(struct fgs__sim_ctx *ctx,
                           const CUDA_MEMCPY3D_BATCH_OP *op,
                           struct fgs__sim_copy_op *c)
{
    uint32_t s = element_of(ctx, &op->src), d = element_of(ctx, &op->dst);
    uint32_t element = s > d ? s : d;
    CUDA_MEMCPY3D named = { .WidthInBytes = op->extent.width * element,
                            .Height = op->extent.height,
                            .Depth = op->extent.depth };

    if (!s || !d || !pointer_fits(&op->src, op) ||
        !pointer_fits(&op->dst, op) || !small(op->extent.width) ||
        (s != d && op->src.type == op->dst.type) ||
        op->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
        op->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
        op->flags > CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)
        return CUDA_ERROR_INVALID_VALUE;
    name_src(&named, &op->src, element);
    name_dst(&named, &op->dst, element);
    if (!small(named.srcXInBytes) || !small(named.dstXInBytes) ||
        !small(named.srcPitch) || !small(named.dstPitch))
        return CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_copy_named(ctx, &named, false, c);
}

static CUresult blocks(const CUDA_MEMCPY3D_BATCH_OP *op, size_t count,
                       unsigned long long flags, CUstream stream, bool many,
                       size_t *fail)
{
    struct fgs__sim_copy_op c;
    struct batch b;
    CUresult r = begin(&b, stream, many);

    if (r)
        return r;
    *fail = SIZE_MAX;
    if (!count || !op || flags)
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++) {
        r = name_block(b.ctx, &op[i], &c);
        if (r)
            *fail = i;
        else
            r = add(&b, &c, op[i].srcAccessOrder);
    }
    return fgs__sim_leave(finish(&b, r));
}

CUresult fgs__sim_cuMemcpy3DBatchAsync_v1(size_t count,
                                          CUDA_MEMCPY3D_BATCH_OP *ops,
                                          size_t *fail,
                                          unsigned long long flags,
                                          CUstream stream)
{
    size_t none;

    return blocks(ops, count, flags, stream, true, fail ? fail : &none);
}

CUresult fgs__sim_cuMemcpy3DBatchAsync(size_t count,
                                       CUDA_MEMCPY3D_BATCH_OP *ops,
                                       unsigned long long flags,
                                       CUstream stream)
{
    size_t none;

    return blocks(ops, count, flags, stream, true, &none);
}

CUresult fgs__sim_cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op,
                                                unsigned long long flags,
                                                CUstream stream)
{
    size_t none;

    return blocks(op, 1, flags, stream, false, &none);
}
