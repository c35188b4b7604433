/* video.c -- video instructions, of one, two and four parts (ISA 9.7.18) */
#include "sim/exec.h"

__extension__ typedef __int128 s128;

enum { D, A, B, C };
enum { AUX_A, AUX_B, AUX_D, AUX_FLAGS }; /* selectors and types; see facts()  */
enum { SAT = 1, WRAP = 2, SIGNED_D = 4, PO = 8 };

/* Bits of a selector's aux word: the selector, and the type's sign. */
#define SELECT(aux)    ((aux) & 0xffff)
#define IS_SIGNED(aux) ((aux) >> 16 & 1)

static int64_t extend(uint32_t v, unsigned bits, bool is_signed)
{
    uint64_t m = ((uint64_t)1 << bits) - 1, top = (uint64_t)1 << (bits - 1);

    v &= (uint32_t)m;
    return is_signed && v & top ? (int64_t)v - (int64_t)m - 1 : (int64_t)v;
}

static int64_t clamp(int64_t v, unsigned bits, bool is_signed)
{
    int64_t most = (int64_t)(((uint64_t)1 << (bits - is_signed)) - 1);
    int64_t least = is_signed ? -most - 1 : 0;

    return v > most ? most : v < least ? least : v;
}

static bool compares(unsigned cmp, int64_t a, int64_t b)
{
    switch (cmp) {
    case FGS__M_EQ:
        return a == b;
    case FGS__M_NE:
        return a != b;
    case FGS__M_LT:
        return a < b;
    case FGS__M_LE:
        return a <= b;
    case FGS__M_GT:
        return a > b;
    default:
        return a >= b;
    }
}

/* What the instruction does to a pair; shifts and vmad are no such. */
static int64_t combine(const struct fgs__ptx_insn *src, int64_t a, int64_t b)
{
    switch (src->op) {
    case FGS__OP_VADD:
    case FGS__OP_VADD2:
    case FGS__OP_VADD4:
        return a + b;
    case FGS__OP_VSUB:
    case FGS__OP_VSUB2:
    case FGS__OP_VSUB4:
        return a - b;
    case FGS__OP_VABSDIFF:
    case FGS__OP_VABSDIFF2:
    case FGS__OP_VABSDIFF4:
        return a > b ? a - b : b - a;
    case FGS__OP_VMIN:
    case FGS__OP_VMIN2:
    case FGS__OP_VMIN4:
        return a < b ? a : b;
    case FGS__OP_VMAX:
    case FGS__OP_VMAX2:
    case FGS__OP_VMAX4:
        return a > b ? a : b;
    case FGS__OP_VAVRG2:
    case FGS__OP_VAVRG4: /* a half goes away from zero: >> rounds down */
        a += b;
        return (a >= 0 ? a + 1 : a) >> 1;
    default:
        return compares(src->mod[FGS__G_CMP], a, b);
    }
}

/* --------------------------------------------------------------- scalar -- */

/* Bits and place of a scalar's part; 32 at 0 without a selector. */
static unsigned part(unsigned select, unsigned *shift)
{
    unsigned bits = !select ? 32 : FGS__SELECT_HALF(select) ? 16 : 8;

    *shift = select ? bits * FGS__SELECT_DIGIT(select, 0) : 0;
    return bits;
}

static int64_t scalar(uint32_t v, uint32_t aux)
{
    unsigned shift, bits = part(SELECT(aux), &shift);

    return extend(v >> shift, bits, IS_SIGNED(aux));
}

/* The count is clamped to 32 or wrapped.  A 33-bit value moved left by 32
 * leaves no bit; of what .sat needs, only the sign matters then. */
static int64_t shifted(const struct fgs__sim_insn *i, int64_t a, int64_t b)
{
    unsigned n = i->aux[AUX_FLAGS] & WRAP ? (unsigned)b & 31
        : b > 32 ? 32 : (unsigned)b;

    if (i->src->op == FGS__OP_VSHR)
        return a >> n;
    if (n == 32)
        return (a > 0) * ((int64_t)1 << 40) - (a < 0) * ((int64_t)1 << 40);
    return (int64_t)((uint64_t)a << n);
}

static uint32_t second(const struct fgs__sim_insn *i, int64_t v, uint32_t c)
{
    int64_t old = extend(c, 32, i->aux[AUX_FLAGS] & SIGNED_D);

    switch (i->src->mod[FGS__G_VIDEO]) {
    case FGS__M_VIDEO_ADD:
        return (uint32_t)v + c;
    case FGS__M_VIDEO_MIN:
        return (uint32_t)(v < old ? v : old);
    case FGS__M_VIDEO_MAX:
        return (uint32_t)(v > old ? v : old);
    default:
        return (uint32_t)v;
    }
}

static uint32_t video_scalar(const struct fgs__sim_insn *i, uint32_t a,
                             uint32_t b, uint32_t c)
{
    int64_t x = scalar(a, i->aux[AUX_A]), y = scalar(b, i->aux[AUX_B]), v;
    unsigned shift, bits = part(i->aux[AUX_D], &shift);
    uint32_t m = (uint32_t)(((uint64_t)1 << bits) - 1) << shift;

    v = i->src->op == FGS__OP_VSHL || i->src->op == FGS__OP_VSHR
        ? shifted(i, x, y) : combine(i->src, x, y);
    if (i->aux[AUX_FLAGS] & SAT)
        v = clamp(v, bits, i->aux[AUX_FLAGS] & SIGNED_D);
    if (i->aux[AUX_D])
        return ((uint32_t)v << shift & m) | (c & ~m);
    return second(i, v, c);
}

/* A negated product or addend is its complement plus 1; .po adds 1. */
static uint32_t video_mad(const struct fgs__sim_insn *i, uint32_t a,
                          uint32_t b, uint32_t c)
{
    const struct fgs__ptx_operand *o = i->src->operand;
    bool flip = o[1].neg != o[2].neg;
    bool is_signed = IS_SIGNED(i->aux[AUX_A]) || IS_SIGNED(i->aux[AUX_B]) ||
        flip || o[3].neg;
    s128 p = (s128)scalar(a, i->aux[AUX_A]) * scalar(b, i->aux[AUX_B]), low;
    unsigned scale = i->src->mod[FGS__G_VIDEO_SCALE];
    int64_t v;

    low = is_signed ? extend(o[3].neg ? ~c : c, 32, true) : (s128)c;
    p = (flip ? ~p : p) + low;
    p += flip || o[3].neg || i->aux[AUX_FLAGS] & PO;
    v = (int64_t)(p >> (scale == FGS__M_SHR7 ? 7 : scale ? 15 : 0));
    if (!(i->aux[AUX_FLAGS] & SAT))
        return (uint32_t)v;
    /* 64 bits of the result count, without a sign unless one took part. */
    if (!is_signed)
        return (uint64_t)v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
    return (uint32_t)clamp(v, 32, true);
}

/* ----------------------------------------------------------------- SIMD -- */

static uint32_t video_parts(const struct fgs__sim_insn *i, uint32_t a,
                            uint32_t b, uint32_t c)
{
    unsigned n = i->src->op >= FGS__OP_VADD4 ? 4 : 2, bits = 32 / n, k;
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t m = (uint32_t)(((uint64_t)1 << bits) - 1);
    bool add = i->src->mod[FGS__G_VIDEO] != FGS__M_NONE;

    for (k = 0; k < n; k++) {
        unsigned x = FGS__SELECT_DIGIT(SELECT(i->aux[AUX_A]), k) * bits;
        unsigned y = FGS__SELECT_DIGIT(SELECT(i->aux[AUX_B]), k) * bits;
        int64_t v;

        if (!(i->aux[AUX_D] >> k & 1))
            continue;
        v = combine(i->src,
                    extend((uint32_t)(both >> x), bits,
                           IS_SIGNED(i->aux[AUX_A])),
                    extend((uint32_t)(both >> y), bits,
                           IS_SIGNED(i->aux[AUX_B])));
        if (i->aux[AUX_FLAGS] & SAT)
            v = clamp(v, bits, i->aux[AUX_FLAGS] & SIGNED_D);
        if (add)
            c += (uint32_t)v;
        else
            c = (c & ~(m << k * bits)) | ((uint32_t)v & m) << k * bits;
    }
    return c;
}

/* ------------------------------------------------------------- handlers -- */

#define HANDLER(name)                                                          \
    static const struct fgs__sim_insn *run_##name(                             \
        struct fgs__sim_warp *w, const struct fgs__sim_insn *i)                \
    {                                                                          \
        uint32_t *d = fgs__sim_at(w, i->op[D]);                                \
        const uint32_t *a = fgs__sim_at(w, i->op[A]);                          \
        const uint32_t *b = fgs__sim_at(w, i->op[B]);                          \
        const uint32_t *c = fgs__sim_at(w, i->op[C]);                          \
        for (int k = 0; k < 32; k++)                                           \
            if (w->exec >> k & 1)                                              \
                d[k] = name(i, a[k], b[k], c[k]);                              \
        return i + 1;                                                          \
    }
HANDLER(video_scalar)
HANDLER(video_mad)
HANDLER(video_parts)

/* Selectors of SIMD forms are written out; a mask has a bit a part. */
static void select_parts(const struct fgs__ptx_insn *src,
                         struct fgs__sim_insn *out)
{
    const struct fgs__ptx_operand *o = src->operand;
    bool four = src->op >= FGS__OP_VADD4;
    unsigned n = FGS__SELECT_COUNT(o[0].select), k;

    if (!o[1].select)
        out->aux[AUX_A] |= four ? FGS__SELECT(0, 4, 03210)
                                : FGS__SELECT(1, 2, 010);
    if (!o[2].select)
        out->aux[AUX_B] |= four ? FGS__SELECT(0, 4, 07654)
                                : FGS__SELECT(1, 2, 032);
    out->aux[AUX_D] = o[0].select ? 0 : 15;
    for (k = 0; k < n; k++)
        out->aux[AUX_D] |= 1u << FGS__SELECT_DIGIT(o[0].select, k);
}

static bool is_signed(const struct fgs__ptx_insn *src, unsigned n)
{
    return src->type[n] == FGS__T_S32;
}

bool fgs__sim_sel_video(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_SAT, FGS__G_VIDEO, FGS__G_CMP,
                                      FGS__G_WRAP, FGS__G_PO,
                                      FGS__G_VIDEO_SCALE };
    unsigned k, first = src->types == 3; /* vset's result has no type */

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    for (k = 0; k < src->operands; k++) {
        struct fgs__ptx_operand o = src->operand[k];

        o.neg = false;
        out->op[k] = k ? fgs__sim_ref_of(d, &o, FGS__T_U32)
                       : fgs__sim_ref_dst(d, &o, FGS__T_U32);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    }
    if (src->operands == 3)
        out->op[C] = out->op[A]; /* is read, and not used */
    out->aux[AUX_A] = src->operand[1].select |
        (uint32_t)is_signed(src, first) << 16;
    out->aux[AUX_B] = src->operand[2].select |
        (uint32_t)is_signed(src, first + 1) << 16;
    out->aux[AUX_D] = src->operand[0].select;
    out->aux[AUX_FLAGS] = (src->mod[FGS__G_SAT] ? SAT : 0) |
        (src->mod[FGS__G_WRAP] == FGS__M_WRAP ? WRAP : 0) |
        (first && is_signed(src, 0) ? SIGNED_D : 0) |
        (src->mod[FGS__G_PO] ? PO : 0);
    out->run = src->op == FGS__OP_VMAD ? run_video_mad
        : src->op >= FGS__OP_VADD2     ? run_video_parts : run_video_scalar;
    if (src->op >= FGS__OP_VADD2)
        select_parts(src, out);
    return true;
}
