/* cu_value.c -- entry points: streams wait for values in memory, and write
 *
 * A batch is one op; its items take effect in order, between epochs.  While
 * one waits the scheduler looks again after each epoch, and when nothing else
 * runs after a short host time: the host may store the value itself.
 */
#include "sim/graph.h"

enum { MOST_ITEMS = 256 };

static bool is_wait(const CUstreamBatchMemOpParams *p)
{
    return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
        p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

static bool is_wide(const CUstreamBatchMemOpParams *p)
{
    if (p->operation == CU_STREAM_MEM_OP_ATOMIC_REDUCTION)
        return p->atomicReduction.dataType ==
            CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64;
    return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
        p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

static CUdeviceptr address(const CUstreamBatchMemOpParams *p)
{
    return p->operation == CU_STREAM_MEM_OP_ATOMIC_REDUCTION
        ? p->atomicReduction.address
        : p->waitValue.address;
}

/* --------------------------------------------------------------- checks -- */

static CUresult check_address(struct fgs__sim_ctx *ctx, CUdeviceptr va,
                              uint64_t bytes)
{
    struct fgs__sim_range range;

    if (va % bytes || !fgs__sim_mem_find(ctx->dev->mem, va, &range) ||
        range.hi - va < bytes)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult check_reduction(const CUstreamBatchMemOpParams *p)
{
    unsigned int op = p->atomicReduction.reductionOp;
    unsigned int type = p->atomicReduction.dataType;

    return !p->atomicReduction.flags &&
            (op == CU_STREAM_ATOMIC_REDUCTION_OP_ADD ||
             op == CU_STREAM_ATOMIC_REDUCTION_OP_AND ||
             op == CU_STREAM_ATOMIC_REDUCTION_OP_OR) &&
            (type == CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32 ||
             type == CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64)
        ? CUDA_SUCCESS
        : CUDA_ERROR_INVALID_VALUE;
}

/* Remote writes cannot be flushed: no device writes here (attribute 98). */
static CUresult check_item(struct fgs__sim_ctx *ctx,
                           const CUstreamBatchMemOpParams *p)
{
    CUresult r = CUDA_SUCCESS;

    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        if (p->waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (p->waitValue.flags > CU_STREAM_WAIT_VALUE_NOR)
            return CUDA_ERROR_INVALID_VALUE;
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        if (p->writeValue.flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
            return CUDA_ERROR_INVALID_VALUE;
        break;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return CUDA_ERROR_NOT_SUPPORTED;
    case CU_STREAM_MEM_OP_BARRIER: /* items are in order as they are */
        return p->memoryBarrier.flags > CU_STREAM_MEMORY_BARRIER_TYPE_GPU
            ? CUDA_ERROR_INVALID_VALUE
            : CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_ATOMIC_REDUCTION:
        r = check_reduction(p);
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return r ? r : check_address(ctx, address(p), is_wide(p) ? 8 : 4);
}

CUresult fgs__sim_values_op(struct fgs__sim_ctx *ctx, struct fgs__sim_op **op,
                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p || !p->paramArray || !p->count || p->count > MOST_ITEMS || p->flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < p->count; i++) {
        CUresult r = check_item(ctx, &p->paramArray[i]);

        if (r)
            return r;
    }
    *op = fgs__sim_op_make(ctx->legacy, FGS__SIM_OP_VALUES);
    if (!*op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (fgs__sim_values_copy(*op, p->paramArray, p->count))
        return CUDA_SUCCESS;
    fgs__sim_op_free(*op);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

bool fgs__sim_values_copy(struct fgs__sim_op *op,
                          const CUstreamBatchMemOpParams *item, uint32_t count)
{
    const fgs_allocator *a = &op->stream->ctx->dev->alloc;

    op->u.values.item = fgs__alloc_array(a, count, sizeof *item);
    if (!op->u.values.item)
        return false;
    memcpy(op->u.values.item, item, count * sizeof *item);
    op->u.values.count = count;
    op->u.values.done = 0;
    return true;
}

/* ------------------------------------------------------------- execution -- */

static bool holds_32(uint32_t now, const CUstreamBatchMemOpParams *p)
{
    uint32_t v = (uint32_t)p->waitValue.value64;

    switch (p->waitValue.flags) {
    case CU_STREAM_WAIT_VALUE_GEQ: /* around the wrap, as documented */
        return (int32_t)(now - v) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == v;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & v) != 0;
    default:
        return (uint32_t)~(now | v) != 0;
    }
}

static bool holds_64(uint64_t now, const CUstreamBatchMemOpParams *p)
{
    uint64_t v = p->waitValue.value64;

    switch (p->waitValue.flags) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return (int64_t)(now - v) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == v;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & v) != 0;
    default:
        return ~(now | v) != 0;
    }
}

/* Host threads may touch the word at the same time.  False = it waits. */
#define RUN_ITEM(bits)                                                         \
    static FGS__DEVICE_MEMORY bool run_##bits(                                 \
        void *at, const CUstreamBatchMemOpParams *p)                           \
    {                                                                          \
        _Atomic uint##bits##_t *word = at;                                     \
        uint##bits##_t v = (uint##bits##_t)p->atomicReduction.value;           \
                                                                               \
        if (is_wait(p))                                                        \
            return holds_##bits(atomic_load(word), p);                         \
        if (p->operation != CU_STREAM_MEM_OP_ATOMIC_REDUCTION)                 \
            atomic_store(word, (uint##bits##_t)p->writeValue.value64);         \
        else if (p->atomicReduction.reductionOp ==                             \
                 CU_STREAM_ATOMIC_REDUCTION_OP_ADD)                            \
            atomic_fetch_add(word, v);                                         \
        else if (p->atomicReduction.reductionOp ==                             \
                 CU_STREAM_ATOMIC_REDUCTION_OP_AND)                            \
            atomic_fetch_and(word, v);                                         \
        else                                                                   \
            atomic_fetch_or(word, v);                                          \
        return true;                                                           \
    }
RUN_ITEM(32)
RUN_ITEM(64)

bool fgs__sim_values_run(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    for (; op->u.values.done < op->u.values.count; op->u.values.done++) {
        const CUstreamBatchMemOpParams *p =
            &op->u.values.item[op->u.values.done];
        bool wide = is_wide(p);
        void *at;

        if (p->operation == CU_STREAM_MEM_OP_BARRIER)
            continue;
        at = fgs__sim_mem_host(dev->mem, address(p), wide ? 8 : 4);
        if (!at) {
            fgs__sim_ctx_fault(op->stream->ctx, CUDA_ERROR_ILLEGAL_ADDRESS,
                               "the memory of a value that a stream waits "
                               "for or writes was freed before");
            return false;
        }
        if (wide ? !run_64(at, p) : !run_32(at, p))
            return false;
    }
    return true;
}

bool fgs__sim_values_wait(const struct fgs__sim_device *dev)
{
    for (const struct fgs__sim_ctx *c = dev->ctxs; c; c = c->next) {
        for (const struct fgs__sim_stream *s = c->streams; s; s = s->next) {
            if (s->head && s->head->kind == FGS__SIM_OP_VALUES &&
                s->head->state == FGS__SIM_OP_QUEUED)
                return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------- entry points -- */

static CUresult submit(CUstream stream, CUstreamBatchMemOpParams *items,
                       unsigned int count, unsigned int flags)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = { NULL, count, items, flags };
    struct fgs__sim_stream *s;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_op *op;

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, stream, &s);
    if (!r)
        r = fgs__sim_values_op(ctx, &op, &p);
    if (!r) {
        op->stream = s;
        r = fgs__sim_submit(op);
    }
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                        CUstreamBatchMemOpParams *items,
                                        unsigned int flags)
{
    return submit(stream, items, count, flags);
}

/* The first version has no barriers and reductions. */
CUresult fgs__sim_cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                     CUstreamBatchMemOpParams *items,
                                     unsigned int flags)
{
    for (unsigned int i = 0; items && i < count && i < MOST_ITEMS; i++) {
        if (items[i].operation == CU_STREAM_MEM_OP_BARRIER ||
            items[i].operation == CU_STREAM_MEM_OP_ATOMIC_REDUCTION)
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    return submit(stream, items, count, flags);
}

static CUresult one(CUstream stream, CUstreamBatchMemOpType type,
                    CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    CUstreamBatchMemOpParams p = { .operation = type };

    /* Waits and writes have the same members. */
    p.waitValue.address = addr;
    p.waitValue.value64 = value;
    p.waitValue.flags = flags;
    return submit(stream, &p, 1, 0);
}

#define VALUE_CALL(name, type, bits)                                           \
    CUresult fgs__sim_##name(CUstream stream, CUdeviceptr addr,                \
                             cuuint##bits##_t value, unsigned int flags)       \
    {                                                                          \
        return one(stream, CU_STREAM_MEM_OP_##type, addr, value, flags);       \
    }
VALUE_CALL(cuStreamWaitValue32, WAIT_VALUE_32, 32)
VALUE_CALL(cuStreamWaitValue64, WAIT_VALUE_64, 64)
VALUE_CALL(cuStreamWriteValue32, WRITE_VALUE_32, 32)
VALUE_CALL(cuStreamWriteValue64, WRITE_VALUE_64, 64)
VALUE_CALL(cuStreamWaitValue32_v2, WAIT_VALUE_32, 32)
VALUE_CALL(cuStreamWaitValue64_v2, WAIT_VALUE_64, 64)
VALUE_CALL(cuStreamWriteValue32_v2, WRITE_VALUE_32, 32)
VALUE_CALL(cuStreamWriteValue64_v2, WRITE_VALUE_64, 64)
