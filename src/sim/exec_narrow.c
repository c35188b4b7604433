/* exec_narrow.c -- cvt to and from pairs of narrow floats, and tf32 */
#include "sim/fp8.h"
#include "sim/narrow.h"

enum { D, A, B, EXTRA, C, E }; /* EXTRA: random bits, or scales; the sources of
                                  .x4 are A, B, C, E, the first on top        */
enum { AUX_TO, AUX_FROM, AUX_ROUND, AUX_FLAGS };
enum { RELU = 1, PZO = 2, SATFINITE = 4, SCALED = 8, RANDOM = 16,
       DIVIDE = 32, ONE_SCALE = 64 };
enum { FIXED = NARROW_COUNT }; /* s2f6: no float                             */

static const struct {
    uint8_t type, id, stride, count;
} formats[] = {
    { FGS__T_F16X2, NARROW_F16, 16, 2 },
    { FGS__T_BF16X2, NARROW_BF16, 16, 2 },
    { FGS__T_TF32, NARROW_TF32, 32, 1 },
    { FGS__T_E5M2X2, NARROW_E5M2, 8, 2 },
    { FGS__T_E4M3X2, NARROW_E4M3, 8, 2 },
    { FGS__T_E3M2X2, NARROW_E3M2, 8, 2 },
    { FGS__T_E2M3X2, NARROW_E2M3, 8, 2 },
    { FGS__T_E2M1X2, NARROW_E2M1, 4, 2 },
    { FGS__T_UE5M3X2, NARROW_UE5M3, 8, 2 },
    { FGS__T_UE8M0X2, NARROW_UE8M0, 8, 2 },
    { FGS__T_S2F6X2, FIXED, 8, 2 },
    { FGS__T_E5M2X4, NARROW_E5M2, 8, 4 },
    { FGS__T_E4M3X4, NARROW_E4M3, 8, 4 },
    { FGS__T_E3M2X4, NARROW_E3M2, 8, 4 },
    { FGS__T_E2M3X4, NARROW_E2M3, 8, 4 },
    { FGS__T_E2M1X4, NARROW_E2M1, 4, 4 },
    { FGS__T_F32, NARROW_F32, 32, 1 },
};

static uint32_t read_reg(const void *at, unsigned bits, int k)
{
    return bits == 8 ? ((const l_u8 *)at)[k]
        : bits == 16 ? ((const l_u16 *)at)[k]
                     : ((const l_u32 *)at)[k];
}

/* Two's complement with 6 bits behind the point.  MAX_NORM is 127/64 and keeps
 * its sign; a NaN is the positive one (ISA, cvt, .satfinite). */
static uint32_t to_fixed(double v, const struct rounding *r)
{
    double x = __builtin_fabs(v) * 64;

    x = r->mode == FGS__M_RZ ? __builtin_trunc(x) : __builtin_rint(x);
    x = x < 127 ? x : 127;
    return (uint32_t)(int32_t)(__builtin_signbit(v) && v == v ? -x : x) & 0xff;
}

/* Element `e` (0 = low) of lane k; of two f32 the first is the high one. */
static double element(const struct fgs__sim_warp *w,
                      const struct fgs__sim_insn *i, int k, unsigned e,
                      unsigned count)
{
    unsigned from = i->aux[AUX_FROM], stride = formats[from].stride;
    static const uint8_t fours[] = { E, C, B, A };
    int at = count == 4 ? fours[e] : count == 2 && !e ? B : A;
    uint32_t v;

    if (formats[from].id == NARROW_F32)
        return (double)((const l_f32 *)fgs__sim_at(w, i->op[at]))[k];
    v = read_reg(fgs__sim_at(w, i->op[A]), stride * 2, k);
    if (formats[from].id == FIXED)
        return (double)(int8_t)(v >> 8 * e) * 0x1p-6;
    return of_narrow((enum narrow_id)formats[from].id,
                     v >> stride * e & ((1u << stride) - 1));
}

static uint32_t convert(const struct fgs__sim_insn *i, double v,
                        const struct rounding *r)
{
    unsigned id = formats[i->aux[AUX_TO]].id;
    const struct narrow *f;
    uint32_t flags = i->aux[AUX_FLAGS], code;

    if ((flags & RELU) && __builtin_signbit(v) && v == v)
        v = 0;
    if (id == FIXED)
        return to_fixed(v, r);
    f = &narrows[id];
    code = id == NARROW_UE8M0 ? to_ue8m0(v, r) : to_narrow(f, v, r);
    if ((flags & PZO) && f->has_sign && code == 1u << (f->exp + f->man))
        code = 0;
    return id == NARROW_TF32 ? code << 13 : code;
}

/* Divided by the scale where the result is narrow, and multiplied by it where
 * the source is.  With one scale for all, subnormals of f32 are 0 (ISA, cvt,
 * "subnormal numbers"; those of f16 are no subnormals of f32). */
static double scaled(const struct fgs__sim_insn *i, double v, uint32_t scale)
{
    double by = of_narrow(NARROW_UE8M0, scale & 0xff);

    if ((i->aux[AUX_FLAGS] & ONE_SCALE) && __builtin_fabs(v) < 0x1p-126)
        v = __builtin_copysign(0, v);
    return i->aux[AUX_FLAGS] & DIVIDE ? v / by : v * by;
}

/* The random bits of an element.  ISA, cvt: f16 has 13 of its half of rbits,
 * bf16 all 16.  Of four elements the upper two share the upper half and the
 * lower two the lower one; those of e2m1 share the upper or the lower byte of
 * both halves. */
static void random_of(struct rounding *r, unsigned to, unsigned e,
                      uint32_t bits)
{
    r->random_bits = formats[to].id == NARROW_F16 ? 13 : 16;
    if (formats[to].count == 4)
        e /= 2;
    if (formats[to].type == FGS__T_E2M1X4)
        r->random = (bits >> (16 + 8 * e) & 0xff) << 8 | (bits >> 8 * e & 0xff);
    else
        r->random = bits >> 16 * e & ((1u << r->random_bits) - 1);
}

HANDLER(cvt_narrow)
{
    unsigned to = i->aux[AUX_TO], stride = formats[to].stride;
    unsigned count = formats[to].count, bits = stride * count, e;
    uint32_t flags = i->aux[AUX_FLAGS], t[LANES];
    void *d = fgs__sim_at(w, i->op[D]);
    int k;

    for (k = 0; k < LANES; k++) {
        t[k] = 0;
        for (e = 0; e < count; e++) {
            struct rounding r = { .mode = i->aux[AUX_ROUND],
                                  .satfinite = (flags & SATFINITE) != 0 };
            double v = element(w, i, k, e, count);
            uint32_t extra = 0;

            if (flags & (SCALED | RANDOM))
                extra = read_reg(fgs__sim_at(w, i->op[EXTRA]),
                                 flags & ONE_SCALE ? 8
                                 : flags & SCALED  ? 16 : 32, k);
            if (flags & SCALED)
                v = scaled(i, v, flags & ONE_SCALE ? extra : extra >> 8 * e);
            if (flags & RANDOM)
                random_of(&r, to, e, extra);
            t[k] |= convert(i, v, &r) << stride * e;
        }
    }
    for (k = 0; k < LANES; k++) {
        if (!(w->exec >> k & 1))
            continue;
        if (bits == 8)
            ((l_u8 *)d)[k] = (uint8_t)t[k];
        else if (bits == 16)
            ((l_u16 *)d)[k] = (uint16_t)t[k];
        else
            ((l_u32 *)d)[k] = t[k];
    }
    return i + 1;
}

/* The two pairs that programs use most. */
#define PAIR_OF(name, TO)                                                      \
    MAP2(name, l_u32, l_f32, l_f32,                                            \
         (uint32_t)TO(x) << 16 | (uint32_t)TO(y))
PAIR_OF(f16x2_rn, f16_of_float)
PAIR_OF(bf16x2_rn, bf16_of_float)

#define FP8_OF(name, TO)                                                       \
    MAP2(name, l_u16, l_f32, l_f32, TO(x) << 8 | TO(y))
FP8_OF(e4m3x2_rn, e4m3_of_float)
FP8_OF(e5m2x2_rn, e5m2_of_float)
MAP1(f16x2_e4m3, l_u32, l_u16,
     f16_of_e4m3(x & 0xffu) | f16_of_e4m3(x >> 8) << 16)
MAP1(f16x2_e5m2, l_u32, l_u16,
     f16_of_e5m2(x & 0xffu) | f16_of_e5m2(x >> 8) << 16)

/* The assembler makes .rna of integers for sm_80 to sm_90: half a unit is added
 * to what is finite, and .satfinite steps back by one unit from all the rest,
 * NaNs too.  A NaN keeps its sign and what fits of its payload, which may be
 * nothing (so seen on an H200). */
static inline uint32_t tf32_of(uint32_t u)
{
    return (u + ((u & 0x7fffffff) < 0x7f800000 ? 0x1000 : 0)) & 0xffffe000;
}

static inline uint32_t tf32_finite(uint32_t u)
{
    return u - ((u & 0x7fffffff) >= 0x7f800000 ? 0x2000 : 0);
}

MAP1(tf32_rna, l_u32, l_u32, tf32_of(x))
MAP1(tf32_rna_satfinite, l_u32, l_u32, tf32_finite(tf32_of(x)))

/* The handler of a form that has one of its own; NULL = the general one. */
static fgs__sim_fn fast_of(unsigned to, unsigned from, uint32_t flags)
{
    if (from == FGS__T_F32 && flags == SATFINITE)
        return to == FGS__T_E4M3X2 ? e4m3x2_rn
            : to == FGS__T_E5M2X2  ? e5m2x2_rn : NULL;
    if (flags)
        return NULL;
    if (to == FGS__T_F16X2)
        return from == FGS__T_F32    ? f16x2_rn
            : from == FGS__T_E4M3X2  ? f16x2_e4m3
            : from == FGS__T_E5M2X2  ? f16x2_e5m2 : NULL;
    return to == FGS__T_BF16X2 && from == FGS__T_F32 ? bf16x2_rn : NULL;
}

static int format_of(unsigned type)
{
    size_t k;

    for (k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].type == type)
            return (int)k;
    return -1;
}

bool FGS__LEVEL(fgs__sim_sel_narrow)(struct fgs__sim_decoder *d,
                                     const struct fgs__ptx_insn *src,
                                     struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_ROUND, FGS__G_RELU, FGS__G_PZO,
                                      FGS__G_SATFINITE, FGS__G_SCALED };
    int to = format_of(src->type[0]), from = format_of(src->type[1]);
    static const uint8_t places[] = { A, B, C, E };
    unsigned k, sources, round = src->mod[FGS__G_ROUND];
    unsigned scale = src->mod[FGS__G_SCALED];
    bool random = round == FGS__M_RS, down;
    const struct fgs__ptx_operand *o = src->operand + 1;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (to < 0 || from < 0 || formats[to].id == NARROW_F32)
        return false;
    sources = formats[from].id == NARROW_F32 ? formats[to].count : 1;
    if (src->operands != 1 + (sources == 4 ? 1 : sources) + (scale || random))
        return false;
    down = formats[from].id == NARROW_F32 || formats[from].stride > 8;
    o = o->kind == FGS__O_VEC ? o->child : o;
    out->op[D] = fgs__sim_ref_dst(d, &src->operand[0],
                                  (enum fgs__ptx_type)src->type[0]);
    if (out->op[D] == FGS__SIM_NOREF)
        return false;
    for (k = 0; k < sources; k++) {
        out->op[places[k]] = fgs__sim_ref_of(d, &o[k], (enum fgs__ptx_type)
                                             src->type[1]);
        if (out->op[places[k]] == FGS__SIM_NOREF)
            return false;
    }
    if (scale || random) {
        out->op[EXTRA] = fgs__sim_ref_of(
            d, &src->operand[src->operands - 1],
            random ? FGS__T_B32 : scale == FGS__M_SCALED_N1 ? FGS__T_B8
                                                            : FGS__T_B16);
        if (out->op[EXTRA] == FGS__SIM_NOREF)
            return false;
    }
    out->aux[AUX_TO] = (uint32_t)to;
    out->aux[AUX_FROM] = (uint32_t)from;
    out->aux[AUX_ROUND] = round;
    out->aux[AUX_FLAGS] = (src->mod[FGS__G_RELU] ? RELU : 0) |
        (src->mod[FGS__G_PZO] ? PZO : 0) |
        (src->mod[FGS__G_SATFINITE] ? SATFINITE : 0) |
        (scale ? SCALED : 0) | (random ? RANDOM : 0) |
        (scale && down ? DIVIDE : 0) |
        (scale == FGS__M_SCALED_N1 ? ONE_SCALE : 0);
    if (round == FGS__M_RN)
        out->run = fast_of(src->type[0], src->type[1], out->aux[AUX_FLAGS]);
    else if (round == FGS__M_RNA)
        out->run = out->aux[AUX_FLAGS] ? tf32_rna_satfinite : tf32_rna;
    else
        out->run = NULL;
    if (!out->run)
        out->run = cvt_narrow;
    return true;
}
