/* cu_tensor.c -- entry points: tensor maps
 *
 * The driver's documentation of each call is the list of its rules; they stand
 * in tensor_map.c, since a kernel can change a map too.
 */
#include "sim/device.h"
#include "sim/tensor.h"

/* CUtensorMapSwizzle as the two fields of a map. */
static const struct {
    uint8_t swizzle, atom;
} swizzles[] = {
    {FGS__TENSOR_SW_NONE, FGS__TENSOR_ATOM_16},
    {FGS__TENSOR_SW_32, FGS__TENSOR_ATOM_16},
    {FGS__TENSOR_SW_64, FGS__TENSOR_ATOM_16},
    {FGS__TENSOR_SW_128, FGS__TENSOR_ATOM_16},
    {FGS__TENSOR_SW_128, FGS__TENSOR_ATOM_32},
    {FGS__TENSOR_SW_128, FGS__TENSOR_ATOM_32_FLIP},
    {FGS__TENSOR_SW_128, FGS__TENSOR_ATOM_64},
};

struct common {
    CUtensorMap *map;
    unsigned int type, rank, interleave, swizzle, promotion, fill;
    void *address;
    const cuuint64_t *dims, *strides;
    const cuuint32_t *steps;
};

static uint8_t byte_of(unsigned int v)
{
    return (uint8_t)(v > UINT8_MAX ? UINT8_MAX : v);
}

/* What all three calls have; a rule or NULL. */
static const char *take_common(struct fgs__tensor *t, const struct common *c,
                               uint32_t cc)
{
    *t = (struct fgs__tensor){.address = (uintptr_t)c->address,
                              .rank = c->rank,
                              .type = byte_of(c->type),
                              .interleave = byte_of(c->interleave),
                              .promotion = byte_of(c->promotion),
                              .fill = byte_of(c->fill)};
    if (!c->map || (uintptr_t)c->map % 64)
        return "the map is not at a multiple of 64 bytes";
    if (!c->rank || c->rank > FGS__TENSOR_RANK)
        return "the rank is not in 1 ... 5";
    if (!c->dims || (!c->strides && c->rank > 1) || !c->steps)
        return "an array is missing";
    if (c->swizzle >= sizeof swizzles / sizeof *swizzles)
        return "there is no such swizzle";
    t->swizzle = swizzles[c->swizzle].swizzle;
    t->atom = swizzles[c->swizzle].atom;
    if (cc < 100 && (t->atom || c->type >= FGS__TENSOR_U4))
        return "packed elements and units of more than 16 bytes need compute "
               "capability 10.0";
    for (uint32_t d = 0; d < FGS__TENSOR_RANK; d++) {
        bool used = d < c->rank;

        t->dim[d] = used ? c->dims[d] : 1;
        t->stride[d] = used && d ? c->strides[d - 1] : 0;
        t->step[d] = used ? byte_of(c->steps[d]) : 1;
        t->box[d] = 1;
    }
    return NULL;
}

static CUresult end(const struct common *c, const struct fgs__tensor *t,
                    const char *rule, const char *call)
{
    if (!rule)
        rule = fgs__tensor_rule(t);
    if (rule) {
        fgs__sim_refuse(call, rule);
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    }
    fgs__tensor_write(t, c->map);
    return fgs__sim_leave(CUDA_SUCCESS);
}

/* The device's compute capability; tensor maps begin with `least`. */
static CUresult enter(uint32_t least, uint32_t *cc)
{
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);

    if (r)
        return r;
    *cc = ctx->dev->cfg.cc;
    return *cc < least ? fgs__sim_leave(CUDA_ERROR_NOT_SUPPORTED)
                       : CUDA_SUCCESS;
}

CUresult fgs__sim_cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill)
{
    struct common c = {map,       type,    rank,    interleave, swizzle,
                       promotion, fill,    address, dims,       strides,
                       steps};
    struct fgs__tensor t;
    const char *rule;
    uint32_t cc;
    CUresult r = enter(90, &cc);

    if (r)
        return r;
    rule = take_common(&t, &c, cc);
    if (!rule && !box)
        rule = "an array is missing";
    for (uint32_t d = 0; !rule && d < rank; d++)
        t.box[d] = (uint16_t)(box[d] > 256 ? 257 : box[d]);
    return end(&c, &t, rule, "cuTensorMapEncodeTiled");
}

static int16_t corner(int v)
{
    return (int16_t)v;
}

static bool is_corner(int v)
{
    return v >= INT16_MIN && v <= INT16_MAX;
}

static const char *take_column(struct fgs__tensor *t, const int *lower,
                               const int *upper, uint32_t sides,
                               cuuint32_t channels, cuuint32_t pixels)
{
    if (!lower || !upper)
        return "an array is missing";
    for (uint32_t d = 0; d < sides; d++) {
        if (!is_corner(lower[d]) || !is_corner(upper[d]))
            return "a corner of the pixel box is out of its range";
        t->lower[d] = corner(lower[d]);
        t->upper[d] = corner(upper[d]);
    }
    t->channels = (uint16_t)(channels > 256 ? 257 : channels);
    t->pixels = (uint16_t)(pixels > 1024 ? 1025 : pixels);
    return NULL;
}

CUresult fgs__sim_cuTensorMapEncodeIm2col(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *dims, const cuuint64_t *strides, const int *lower,
    const int *upper, cuuint32_t channels, cuuint32_t pixels,
    const cuuint32_t *steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill)
{
    struct common c = {map,       type,    rank,    interleave, swizzle,
                       promotion, fill,    address, dims,       strides,
                       steps};
    struct fgs__tensor t;
    const char *rule;
    uint32_t cc;
    CUresult r = enter(90, &cc);

    if (r)
        return r;
    rule = take_common(&t, &c, cc);
    t.kind = FGS__TENSOR_IM2COL;
    if (!rule && rank < 3)
        rule = "the rank is not in 3 ... 5";
    if (!rule)
        rule = take_column(&t, lower, upper, rank - 2, channels, pixels);
    return end(&c, &t, rule, "cuTensorMapEncodeIm2col");
}

CUresult fgs__sim_cuTensorMapEncodeIm2colWide(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *dims, const cuuint64_t *strides, int lower, int upper,
    cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
    CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill)
{
    struct common c = {map,       type,    rank,    interleave, swizzle,
                       promotion, fill,    address, dims,       strides,
                       steps};
    struct fgs__tensor t;
    const char *rule;
    uint32_t cc;
    CUresult r = enter(100, &cc);

    if (r)
        return r;
    rule = take_common(&t, &c, cc);
    t.kind = FGS__TENSOR_IM2COL_WIDE;
    if (!rule && mode > 1)
        rule = "there is no such mode";
    if (!rule && rank < 3)
        rule = "the rank is not in 3 ... 5";
    if (!rule) /* W128 ignores the number of pixels */
        rule = take_column(&t, &lower, &upper, 1, channels, mode ? 128
                                                                 : pixels);
    return end(&c, &t, rule, "cuTensorMapEncodeIm2colWide");
}

CUresult fgs__sim_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    struct common c = {.map = map};
    struct fgs__tensor t = {0};
    const char *rule = NULL;
    uint32_t cc;
    CUresult r = enter(90, &cc);

    if (r)
        return r;
    if (!map || (uintptr_t)map % 64)
        rule = "the map is not at a multiple of 64 bytes";
    else if (!fgs__tensor_read(&t, map))
        rule = "this is no tensor map of this device's driver";
    t.address = (uintptr_t)address;
    return end(&c, &t, rule, "cuTensorMapReplaceAddress");
}
