/* exec_narrow.c -- cvt to and from pairs of narrow floats, and tf32 */
#include "sim/fp8.h"
#include "sim/narrow.h"

enum { D, A, B, EXTRA }; /* EXTRA: random bits, or scales                    */
enum { AUX_TO, AUX_FROM, AUX_ROUND, AUX_FLAGS };
enum { RELU = 1, PZO = 2, SATFINITE = 4, SCALED = 8, RANDOM = 16 };

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
    { FGS__T_F32, NARROW_F32, 32, 1 },
};

static uint32_t read_reg(const void *at, unsigned bits, int k)
{
    return bits == 8 ? ((const l_u8 *)at)[k]
        : bits == 16 ? ((const l_u16 *)at)[k]
                     : ((const l_u32 *)at)[k];
}

/* Element `e` (0 = low) of lane k; of two f32 the first is the high one. */
static double element(const struct fgs__sim_warp *w,
                      const struct fgs__sim_insn *i, int k, unsigned e,
                      unsigned count)
{
    unsigned from = i->aux[AUX_FROM], stride = formats[from].stride;
    int at = count == 2 && !e ? B : A;
    uint32_t v;

    if (formats[from].id == NARROW_F32)
        return (double)((const l_f32 *)fgs__sim_at(w, i->op[at]))[k];
    v = read_reg(fgs__sim_at(w, i->op[A]), stride * 2, k);
    return of_narrow((enum narrow_id)formats[from].id,
                     v >> stride * e & ((1u << stride) - 1));
}

static uint32_t convert(const struct fgs__sim_insn *i, double v,
                        const struct rounding *r)
{
    unsigned id = formats[i->aux[AUX_TO]].id;
    const struct narrow *f = &narrows[id];
    uint32_t flags = i->aux[AUX_FLAGS], code;

    if ((flags & RELU) && __builtin_signbit(v) && v == v)
        v = 0;
    code = id == NARROW_UE8M0 ? to_ue8m0(v, r) : to_narrow(f, v, r);
    if ((flags & PZO) && f->has_sign && code == 1u << (f->exp + f->man))
        code = 0;
    return id == NARROW_TF32 ? code << 13 : code;
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
                                 flags & SCALED ? 16 : 32, k);
            if (flags & SCALED)
                v *= of_narrow(NARROW_UE8M0, extra >> 8 * e & 0xff);
            r.random_bits = formats[to].id == NARROW_F16 ? 13 : 16;
            r.random = extra >> 16 * e & ((1u << r.random_bits) - 1);
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
    unsigned k, sources, round = src->mod[FGS__G_ROUND];
    bool scaled = src->mod[FGS__G_SCALED] != FGS__M_NONE;
    bool random = round == FGS__M_RS;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (to < 0 || from < 0 || formats[to].id == NARROW_F32)
        return false;
    sources = formats[from].id == NARROW_F32 ? formats[to].count : 1;
    if (src->operands != 1 + sources + scaled + random)
        return false;
    out->op[D] = fgs__sim_ref_dst(d, &src->operand[0],
                                  (enum fgs__ptx_type)src->type[0]);
    for (k = 1; k <= sources; k++)
        out->op[k] = fgs__sim_ref_of(d, &src->operand[k],
                                     (enum fgs__ptx_type)src->type[1]);
    if (scaled || random)
        out->op[EXTRA] = fgs__sim_ref_of(d, &src->operand[k],
                                         random ? FGS__T_B32 : FGS__T_B16);
    if (out->op[D] == FGS__SIM_NOREF || out->op[A] == FGS__SIM_NOREF ||
        (sources == 2 && out->op[B] == FGS__SIM_NOREF) ||
        ((scaled || random) && out->op[EXTRA] == FGS__SIM_NOREF))
        return false;
    out->aux[AUX_TO] = (uint32_t)to;
    out->aux[AUX_FROM] = (uint32_t)from;
    out->aux[AUX_ROUND] = round;
    out->aux[AUX_FLAGS] = (src->mod[FGS__G_RELU] ? RELU : 0) |
        (src->mod[FGS__G_PZO] ? PZO : 0) |
        (src->mod[FGS__G_SATFINITE] ? SATFINITE : 0) |
        (scaled ? SCALED : 0) | (random ? RANDOM : 0);
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
