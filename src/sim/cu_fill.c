/* cu_fill.c -- entry points: fills of one and two dimensions */
#include "sim/lease.h"

CUresult fgs__sim_fill_check(struct fgs__sim_ctx *ctx, struct fgs__sim_op *op,
                             bool later)
{
    uint64_t width = op->u.fill.width, row, room;
    struct fgs__sim_range range;

    if (width != 1 && width != 2 && width != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (op->u.fill.va % width ||
        !fgs__sim_call_range(ctx, op->u.fill.va, later, &range))
        return CUDA_ERROR_INVALID_VALUE;
    room = range.hi - op->u.fill.va;
    if (op->u.fill.count > room / width)
        return CUDA_ERROR_INVALID_VALUE;
    row = op->u.fill.count * width;
    if (op->u.fill.rows > 1 &&
        (op->u.fill.pitch < row || op->u.fill.pitch % width ||
         op->u.fill.rows - 1 > (room - row) / op->u.fill.pitch))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

struct fill {
    CUdeviceptr dst;
    size_t pitch, count, rows;
    uint32_t value, width;
    CUstream stream;
    bool sync;
};

static CUresult fill(const struct fill *f)
{
    struct fgs__sim_stream *s;
    struct fgs__sim_op *op;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    r = fgs__sim_stream_get(ctx, f->stream, &s);
    if (r || !f->count || !f->rows)
        goto leave;
    if (f->sync && fgs__sim_captured(s)) {
        r = fgs__sim_capture_refuse(s);
        goto leave;
    }
    r = CUDA_ERROR_OUT_OF_MEMORY;
    op = fgs__sim_op_make(s, FGS__SIM_OP_FILL);
    if (!op)
        goto leave;
    op->u.fill.va = f->dst;
    op->u.fill.count = f->count;
    op->u.fill.rows = f->rows;
    op->u.fill.pitch = f->pitch;
    op->u.fill.value = f->value;
    op->u.fill.width = f->width;
    r = fgs__sim_fill_check(ctx, op, fgs__sim_captured(op->stream));
    if (r)
        fgs__sim_op_free(op);
    else
        r = fgs__sim_submit(op);
leave:
    return fgs__sim_leave(r);
}

static CUresult line(CUdeviceptr dst, uint32_t value, uint32_t width,
                     size_t count, CUstream stream, bool sync)
{
    struct fill f = { dst, 0, count, 1, value, width, stream, sync };

    return fill(&f);
}

static CUresult plane(CUdeviceptr dst, size_t pitch, uint32_t value,
                      uint32_t unit, size_t width, size_t height,
                      CUstream stream, bool sync)
{
    struct fill f = { dst, pitch, width, height, value, unit, stream, sync };

    return fill(&f);
}

CUresult fgs__sim_cuMemsetD8(CUdeviceptr dst, unsigned char value,
                             size_t count)
{
    return line(dst, value, 1, count, NULL, true);
}

CUresult fgs__sim_cuMemsetD8Async(CUdeviceptr dst, unsigned char value,
                                  size_t count, CUstream stream)
{
    return line(dst, value, 1, count, stream, false);
}

CUresult fgs__sim_cuMemsetD2D8(CUdeviceptr dst, size_t pitch,
                               unsigned char value, size_t width,
                               size_t height)
{
    return plane(dst, pitch, value, 1, width, height, NULL, true);
}

CUresult fgs__sim_cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch,
                                    unsigned char value, size_t width,
                                    size_t height, CUstream stream)
{
    return plane(dst, pitch, value, 1, width, height, stream, false);
}

CUresult fgs__sim_cuMemsetD16(CUdeviceptr dst, unsigned short value,
                              size_t count)
{
    return line(dst, value, 2, count, NULL, true);
}

CUresult fgs__sim_cuMemsetD16Async(CUdeviceptr dst, unsigned short value,
                                   size_t count, CUstream stream)
{
    return line(dst, value, 2, count, stream, false);
}

CUresult fgs__sim_cuMemsetD2D16(CUdeviceptr dst, size_t pitch,
                                unsigned short value, size_t width,
                                size_t height)
{
    return plane(dst, pitch, value, 2, width, height, NULL, true);
}

CUresult fgs__sim_cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch,
                                     unsigned short value, size_t width,
                                     size_t height, CUstream stream)
{
    return plane(dst, pitch, value, 2, width, height, stream, false);
}

CUresult fgs__sim_cuMemsetD32(CUdeviceptr dst, unsigned int value,
                              size_t count)
{
    return line(dst, value, 4, count, NULL, true);
}

CUresult fgs__sim_cuMemsetD32Async(CUdeviceptr dst, unsigned int value,
                                   size_t count, CUstream stream)
{
    return line(dst, value, 4, count, stream, false);
}

CUresult fgs__sim_cuMemsetD2D32(CUdeviceptr dst, size_t pitch,
                                unsigned int value, size_t width,
                                size_t height)
{
    return plane(dst, pitch, value, 4, width, height, NULL, true);
}

CUresult fgs__sim_cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch,
                                     unsigned int value, size_t width,
                                     size_t height, CUstream stream)
{
    return plane(dst, pitch, value, 4, width, height, stream, false);
}
