/* exec_cvt.c -- cvt between integers and floating point
 *
 * Common pairs have a handler of their own.  All others go through three
 * steps over the lanes: read as 64-bit integer or double from a register of
 * any width, convert, write to a register of any width.
 */
#include "sim/narrow.h"

enum { CVT_D, CVT_A };
enum { AUX_ROUND, AUX_FLAGS, AUX_FROM, AUX_TO };
enum { FTZ = 1, SAT = 2, TO_INTEGRAL = 4, RELU = 8, SATFINITE = 16, PZO = 32 };
/* AUX_FROM of a half is f32, with these: it is one after reading. */
enum { WAS_F16 = 1 << 16, WAS_BF16 = 1 << 17 };

/* ---------------------------------------------------------- fast pairs -- */

MAP1(u64_u32, l_u64, l_u32, x)
MAP1(s64_s32, l_s64, l_s32, x)
MAP1(u32_u64, l_u32, l_u64, x)
MAP1(u32_u16, l_u32, l_u16, x)
MAP1(s32_s16, l_s32, l_s16, x)
MAP1(u16_u32, l_u16, l_u32, x)
MAP1(u32_u32, l_u32, l_u32, x)
MAP1(u64_u64, l_u64, l_u64, x)
MAP1(f32_s32, l_f32, l_s32, x)
MAP1(f32_u32, l_f32, l_u32, x)
MAP1(f64_s32, l_f64, l_s32, x)
MAP1(f64_u32, l_f64, l_u32, x)

/* Out of range: the nearest end; NaN: 0. */
static FGS__INLINE int32_t trunc_s32(float x)
{
    float in = x >= -0x1p31f && x < 0x1p31f ? x : 0;
    int32_t r = (int32_t)in;

    return x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : r;
}
MAP1(f16_f32, l_u16, l_f32, f16_of_float(x))
MAP1(bf16_f32, l_u16, l_f32, bf16_of_float(x))
MAP1(f32_f16, l_f32, l_u16, fix_f32(float_of_f16(x)))
MAP1(f32_bf16, l_u32, l_u16, (uint32_t)x << 16)
MAP1(rzi_s32_f32, l_s32, l_f32, trunc_s32(x))

static const struct {
    uint8_t to, from;
    uint16_t round;
    fgs__sim_fn run;
} fast[] = {
    { FGS__T_U64, FGS__T_U32, FGS__M_NONE, u64_u32 },
    { FGS__T_S64, FGS__T_U32, FGS__M_NONE, u64_u32 },
    { FGS__T_U64, FGS__T_S32, FGS__M_NONE, s64_s32 },
    { FGS__T_S64, FGS__T_S32, FGS__M_NONE, s64_s32 },
    { FGS__T_U32, FGS__T_U64, FGS__M_NONE, u32_u64 },
    { FGS__T_S32, FGS__T_U64, FGS__M_NONE, u32_u64 },
    { FGS__T_U32, FGS__T_S64, FGS__M_NONE, u32_u64 },
    { FGS__T_S32, FGS__T_S64, FGS__M_NONE, u32_u64 },
    { FGS__T_U32, FGS__T_U16, FGS__M_NONE, u32_u16 },
    { FGS__T_S32, FGS__T_U16, FGS__M_NONE, u32_u16 },
    { FGS__T_U32, FGS__T_S16, FGS__M_NONE, s32_s16 },
    { FGS__T_S32, FGS__T_S16, FGS__M_NONE, s32_s16 },
    { FGS__T_U16, FGS__T_U32, FGS__M_NONE, u16_u32 },
    { FGS__T_S16, FGS__T_U32, FGS__M_NONE, u16_u32 },
    { FGS__T_U16, FGS__T_S32, FGS__M_NONE, u16_u32 },
    { FGS__T_S16, FGS__T_S32, FGS__M_NONE, u16_u32 },
    { FGS__T_U32, FGS__T_U32, FGS__M_NONE, u32_u32 },
    { FGS__T_S32, FGS__T_U32, FGS__M_NONE, u32_u32 },
    { FGS__T_U32, FGS__T_S32, FGS__M_NONE, u32_u32 },
    { FGS__T_S32, FGS__T_S32, FGS__M_NONE, u32_u32 },
    { FGS__T_U64, FGS__T_U64, FGS__M_NONE, u64_u64 },
    { FGS__T_S64, FGS__T_U64, FGS__M_NONE, u64_u64 },
    { FGS__T_U64, FGS__T_S64, FGS__M_NONE, u64_u64 },
    { FGS__T_S64, FGS__T_S64, FGS__M_NONE, u64_u64 },
    { FGS__T_F32, FGS__T_S32, FGS__M_RN, f32_s32 },
    { FGS__T_F32, FGS__T_U32, FGS__M_RN, f32_u32 },
    { FGS__T_F64, FGS__T_S32, FGS__M_RN, f64_s32 },
    { FGS__T_F64, FGS__T_U32, FGS__M_RN, f64_u32 },
    { FGS__T_S32, FGS__T_F32, FGS__M_RZI, rzi_s32_f32 },
    { FGS__T_F16, FGS__T_F32, FGS__M_RN, f16_f32 },
    { FGS__T_BF16, FGS__T_F32, FGS__M_RN, bf16_f32 },
    { FGS__T_F32, FGS__T_F16, FGS__M_NONE, f32_f16 },
    { FGS__T_F32, FGS__T_BF16, FGS__M_NONE, f32_bf16 },
};

/* ---------------------------------------------------------- any register -- */

/* Widths of the registers stand in AUX_FROM and AUX_TO beside the types. */
#define TYPE_OF(aux) ((enum fgs__ptx_type)((aux) & 0xff))
#define REG_OF(aux)  ((aux) >> 8 & 0xff)

static uint64_t read_bits(const void *at, unsigned reg_bits, int k)
{
    switch (reg_bits) {
    case 8:
        return ((const l_u8 *)at)[k];
    case 16:
        return ((const l_u16 *)at)[k];
    case 32:
        return ((const l_u32 *)at)[k];
    default:
        return ((const l_u64 *)at)[k];
    }
}

static void write_bits(void *at, unsigned reg_bits, int k, uint64_t v)
{
    switch (reg_bits) {
    case 8:
        ((l_u8 *)at)[k] = (uint8_t)v;
        break;
    case 16:
        ((l_u16 *)at)[k] = (uint16_t)v;
        break;
    case 32:
        ((l_u32 *)at)[k] = (uint32_t)v;
        break;
    default:
        ((l_u64 *)at)[k] = v;
        break;
    }
}

/* The low bits of v as a value of an integer type, extended to 64 bits. */
static uint64_t extend(uint64_t v, enum fgs__ptx_type t)
{
    unsigned drop = 64u - fgs__ptx_types[t].bits;

    v <<= drop;
    return fgs__ptx_types[t].kind == FGS__K_SINT
        ? (uint64_t)((int64_t)v >> drop)
        : v >> drop;
}

static double as_double(uint64_t bits, enum fgs__ptx_type t)
{
    uint32_t low = (uint32_t)bits;
    float f;
    double d;

    if (t == FGS__T_F32) {
        memcpy(&f, &low, sizeof f);
        return (double)f;
    }
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t bits_of_f32(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

static uint64_t bits_of_f64(double d)
{
    uint64_t u;

    memcpy(&u, &d, sizeof u);
    return u;
}

/* .rni ... .rpi, in `imm`.  The host's mode is not asked: without SSE4.1 the
 * compiler's own rint is right in the default mode only. */
static double integral(const struct fgs__sim_insn *i, double x)
{
    switch (i->imm) {
    case FE_TOWARDZERO:
        return __builtin_trunc(x);
    case FE_DOWNWARD:
        return __builtin_floor(x);
    case FE_UPWARD:
        return __builtin_ceil(x);
    default:
        return __builtin_rint(x);
    }
}

/* -------------------------------------------------- integer destination -- */

static uint64_t least_of(enum fgs__ptx_type t)
{
    return fgs__ptx_types[t].kind == FGS__K_SINT
        ? (uint64_t)INT64_MIN >> (64 - fgs__ptx_types[t].bits)
        : 0;
}

static uint64_t most_of(enum fgs__ptx_type t)
{
    bool is_signed = fgs__ptx_types[t].kind == FGS__K_SINT;

    return UINT64_MAX >> (64 - fgs__ptx_types[t].bits + is_signed);
}

/* v, 64 bits of type `from`, clamped to what `to` can hold (.sat). */
static uint64_t clamp(uint64_t v, enum fgs__ptx_type from,
                      enum fgs__ptx_type to)
{
    bool negative = fgs__ptx_types[from].kind == FGS__K_SINT &&
        (int64_t)v < 0;

    if (negative) {
        int64_t least = (int64_t)extend(least_of(to), to);

        return (int64_t)v < least ? (uint64_t)least : v;
    }
    return v > most_of(to) ? most_of(to) : v;
}

/* ISA, cvt: a NaN gives 0, or the top bit alone when a side has 64 bits. */
static uint64_t integer_of_nan(enum fgs__ptx_type from, enum fgs__ptx_type to)
{
    unsigned bits = fgs__ptx_types[to].bits;

    if (from != FGS__T_F64 && bits != 64)
        return 0;
    return (uint64_t)1 << (bits - 1);
}

/* An integral double to an integer type, out of range the nearest end. */
static uint64_t clamp_integral(double x, enum fgs__ptx_type to)
{
    unsigned bits = fgs__ptx_types[to].bits;

    if (fgs__ptx_types[to].kind == FGS__K_SINT) {
        double end = (double)((uint64_t)1 << (bits - 1));

        if (x >= end)
            return most_of(to);
        if (x < -end)
            return least_of(to);
        return (uint64_t)(int64_t)x;
    }
    if (x <= 0)
        return 0;
    if (x >= 2 * (double)((uint64_t)1 << (bits - 1)))
        return most_of(to);
    return (uint64_t)x;
}

static uint64_t to_integer(const struct fgs__sim_insn *i, uint64_t v)
{
    enum fgs__ptx_type from = TYPE_OF(i->aux[AUX_FROM]);
    enum fgs__ptx_type to = TYPE_OF(i->aux[AUX_TO]);
    double x;

    if (fgs__ptx_types[from].kind != FGS__K_FLOAT) {
        v = extend(v, from);
        if (i->aux[AUX_FLAGS] & SAT)
            v = clamp(v, from, to);
        return extend(v, to);
    }
    x = as_double(v, from);
    if (x != x)
        return extend(integer_of_nan(from, to), to);
    if (from == FGS__T_F32 && (i->aux[AUX_FLAGS] & FTZ))
        x = __builtin_fabs(x) < 0x1p-126 ? 0 : x;
    return extend(clamp_integral(integral(i, x), to), to);
}

/* --------------------------------------------------- float destination -- */

/* NaN: between the same types without a word the bits stay; a wider type
 * passes it on to a narrower one and back; .ftz and f32 to f32 with a word
 * make the one NaN of f32 (all seen on an H200). */
static uint64_t to_f32(const struct fgs__sim_insn *i, uint64_t v)
{
    enum fgs__ptx_type from = TYPE_OF(i->aux[AUX_FROM]);
    uint32_t flags = i->aux[AUX_FLAGS];
    float r;

    if (fgs__ptx_types[from].kind == FGS__K_SINT) {
        r = (float)(int64_t)extend(v, from);
    } else if (fgs__ptx_types[from].kind == FGS__K_UINT) {
        r = (float)extend(v, from);
    } else if (from == FGS__T_F64) {
        r = (float)as_double(v, from);
        r = flags & FTZ ? flush_f32(r) : r;
    } else if (!flags) {
        return v;
    } else {
        r = fix_f32((float)as_double(v, from));
        r = flags & FTZ ? flush_f32(r) : r;
        r = flags & TO_INTEGRAL ? (float)integral(i, r) : r;
    }
    return bits_of_f32(flags & SAT ? sat_f32(r) : r);
}

static uint64_t to_f64(const struct fgs__sim_insn *i, uint64_t v)
{
    enum fgs__ptx_type from = TYPE_OF(i->aux[AUX_FROM]);
    uint32_t flags = i->aux[AUX_FLAGS];
    double r;

    if (fgs__ptx_types[from].kind == FGS__K_SINT) {
        r = (double)(int64_t)extend(v, from);
    } else if (fgs__ptx_types[from].kind == FGS__K_UINT) {
        r = (double)extend(v, from);
    } else if (from == FGS__T_F64 && !flags) {
        return v;
    } else {
        r = as_double(v, from);
        if (flags & FTZ)
            r = flush_f32(fix_f32((float)r));
        r = flags & TO_INTEGRAL ? fix_f64(r, integral(i, r)) : r;
    }
    return bits_of_f64(flags & SAT ? sat_f64(r) : r);
}

/* ---------------------------------------------------- half destination -- */

/* With the last bit set when there is more. */
static double odd_double(uint64_t magnitude, bool negative)
{
    uint64_t high = magnitude >> 11 | ((magnitude & 0x7ff) != 0);
    double r = magnitude >> 53 ? (double)high * 2048 : (double)magnitude;

    return negative ? -r : r;
}

/* An f64 NaN keeps its sign and the top of its payload (seen on an H200). */
static uint64_t half_nan(uint64_t v, bool bf)
{
    uint64_t top = bf ? 0x7fc0 | (v >> 45 & 0x7f) : 0x7e00 | (v >> 42 & 0x3ff);

    return (v >> 48 & 0x8000) | top;
}

static uint64_t to_half(const struct fgs__sim_insn *i, uint64_t v)
{
    enum fgs__ptx_type from = TYPE_OF(i->aux[AUX_FROM]);
    uint32_t flags = i->aux[AUX_FLAGS] & 0xff;
    bool bf = TYPE_OF(i->aux[AUX_TO]) == FGS__T_BF16;
    uint32_t one = bf ? 0x3f80 : 0x3c00, code;
    struct rounding r = { .mode = i->aux[AUX_FLAGS] >> 8,
                          .satfinite = (flags & SATFINITE) != 0 };
    double x;

    if (fgs__ptx_types[from].kind == FGS__K_FLOAT) {
        x = as_double(v, from);
        if (from == FGS__T_F64 && x != x && !flags)
            return half_nan(v, bf);
        /* to f16 an H200 does not flush: .rp gives the least subnormal */
        if (from == FGS__T_F32 && (flags & FTZ) && bf)
            x = __builtin_fabs(x) < 0x1p-126 ? __builtin_copysign(0, x) : x;
        x = flags & TO_INTEGRAL ? integral(i, x) : x;
    } else {
        v = extend(v, from);
        x = fgs__ptx_types[from].kind == FGS__K_SINT && (int64_t)v < 0
            ? odd_double(0 - v, true)
            : odd_double(v, false);
    }
    if ((flags & RELU) && __builtin_signbit(x) && x == x)
        x = 0;
    code = to_narrow(&narrows[bf ? NARROW_BF16 : NARROW_F16], x, &r);
    if (flags & SAT)
        code = x != x || code & 0x8000 ? 0 : code > one ? one : code;
    return (flags & PZO) && code == 0x8000 ? 0 : code;
}

/* A half as it is read: f32 of the same value.  To f64 a NaN keeps its payload
 * (seen on an H200). */
static uint64_t widened(uint32_t from, bool keep, uint64_t v)
{
    if (from & WAS_F16)
        return bits_of_f32(keep ? float_of_f16((uint32_t)v)
                                : fix_f32(float_of_f16((uint32_t)v)));
    return from & WAS_BF16 ? (uint32_t)v << 16 : v;
}

HANDLER(cvt_any)
{
    enum fgs__ptx_type to = TYPE_OF(i->aux[AUX_TO]);
    unsigned reg_a = REG_OF(i->aux[AUX_FROM]), reg_d = REG_OF(i->aux[AUX_TO]);
    const void *a = fgs__sim_at(w, i->op[CVT_A]);
    void *d = fgs__sim_at(w, i->op[CVT_D]);
    uint64_t t[LANES];
    bool keep = to == FGS__T_F64 && !(i->aux[AUX_FLAGS] & 0xff);
    int k;

    fesetround((int)i->aux[AUX_ROUND]);
    for (k = 0; k < LANES; k++) {
        uint64_t v = widened(i->aux[AUX_FROM], keep, read_bits(a, reg_a, k));

        t[k] = to == FGS__T_F32 ? to_f32(i, v)
            : to == FGS__T_F64  ? to_f64(i, v)
            : to == FGS__T_F16 || to == FGS__T_BF16
            ? to_half(i, v)
                                : to_integer(i, v);
    }
    FGS__BARRIER(t);
    fesetround(FE_TONEAREST);
    for (k = 0; k < LANES; k++)
        if (w->exec >> k & 1)
            write_bits(d, reg_d, k, t[k]);
    return i + 1;
}

/* ------------------------------------------------------------- selector -- */

static bool known_type(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src, enum fgs__ptx_type t)
{
    unsigned kind = fgs__ptx_types[t].kind;

    if (kind == FGS__K_FLOAT || kind == FGS__K_UINT || kind == FGS__K_SINT)
        return true;
    fgs__sim_decode_error(d, src, ".%s is not executed yet",
                          fgs__ptx_types[t].word);
    return false;
}

static fgs__sim_fn fast_pair(const struct fgs__ptx_insn *src, unsigned bits_d,
                             unsigned bits_a)
{
    size_t k;

    if (src->mod[FGS__G_SAT] || src->mod[FGS__G_FTZ] ||
        src->mod[FGS__G_RELU] || src->mod[FGS__G_SATFINITE] ||
        src->mod[FGS__G_PZO] ||
        bits_d != fgs__ptx_types[src->type[0]].bits ||
        bits_a != fgs__ptx_types[src->type[1]].bits)
        return NULL;
    for (k = 0; k < sizeof fast / sizeof *fast; k++)
        if (fast[k].to == src->type[0] && fast[k].from == src->type[1] &&
            fast[k].round == src->mod[FGS__G_ROUND])
            return fast[k].run;
    return NULL;
}

/* A register as wide as the type or wider (ISA 9.4.1), or a constant. */
static bool source(struct fgs__sim_decoder *d, const struct fgs__ptx_insn *src,
                   struct fgs__sim_insn *out, unsigned *bits)
{
    const struct fgs__ptx_operand *o = &src->operand[1];
    enum fgs__ptx_type t = (enum fgs__ptx_type)src->type[1];

    *bits = fgs__ptx_types[t].bits;
    if (o->kind != FGS__O_REG)
        out->op[CVT_A] = fgs__sim_ref_of(d, o, t);
    else
        out->op[CVT_A] = fgs__sim_ref_reg(d, o, bits);
    return out->op[CVT_A] != FGS__SIM_NOREF;
}

bool FGS__LEVEL(fgs__sim_sel_cvt)(struct fgs__sim_decoder *d,
                                  const struct fgs__ptx_insn *src,
                                  struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_ROUND, FGS__G_FTZ, FGS__G_SAT,
                                      FGS__G_RELU, FGS__G_SATFINITE,
                                      FGS__G_PZO };
    enum fgs__ptx_type to = (enum fgs__ptx_type)src->type[0];
    enum fgs__ptx_type from = (enum fgs__ptx_type)src->type[1];
    unsigned round = src->mod[FGS__G_ROUND], bits_d, bits_a;

    if (fgs__ptx_types[to].kind == FGS__K_PACK ||
        fgs__ptx_types[from].kind == FGS__K_PACK)
        return FGS__LEVEL(fgs__sim_sel_narrow)(d, src, out);
    if (!fgs__sim_only(d, src, groups, sizeof groups) ||
        !known_type(d, src, to) || !known_type(d, src, from) ||
        src->operands != 2 || src->types != 2 || round == FGS__M_RNA ||
        round == FGS__M_RS)
        return false;
    if (fgs__sim_reads_time(src))
        return fgs__sim_sel_cvt_time(d, src, out);
    out->op[CVT_D] = fgs__sim_ref_reg(d, &src->operand[0], &bits_d);
    if (out->op[CVT_D] == FGS__SIM_NOREF || !source(d, src, out, &bits_a))
        return false;
    if (bits_d < fgs__ptx_types[to].bits ||
        bits_a < fgs__ptx_types[from].bits || bits_d > 64 || bits_a > 64) {
        fgs__sim_decode_error(d, src, "a register is too narrow");
        return false;
    }
    out->run = fast_pair(src, bits_d, bits_a);
    if (out->run)
        return true;
    out->run = cvt_any;
    out->imm = host_round(round);
    out->aux[AUX_FLAGS] = (src->mod[FGS__G_FTZ] ? FTZ : 0) |
        (src->mod[FGS__G_SAT] ? SAT : 0) |
        (src->mod[FGS__G_RELU] ? RELU : 0) |
        (src->mod[FGS__G_SATFINITE] ? SATFINITE : 0) |
        (src->mod[FGS__G_PZO] ? PZO : 0) |
        (round >= FGS__M_RNI && round <= FGS__M_RPI ? TO_INTEGRAL : 0);
    out->aux[AUX_ROUND] = out->aux[AUX_FLAGS] & TO_INTEGRAL
        ? FE_TONEAREST
        : (uint32_t)host_round(round);
    if (to == FGS__T_F16 || to == FGS__T_BF16) {
        out->aux[AUX_ROUND] = FE_TONEAREST;
        out->aux[AUX_FLAGS] |= round << 8;
    }
    out->aux[AUX_FROM] = from | bits_a << 8;
    if (from == FGS__T_F16 || from == FGS__T_BF16)
        out->aux[AUX_FROM] = FGS__T_F32 | bits_a << 8 |
            (from == FGS__T_F16 ? WAS_F16 : WAS_BF16);
    out->aux[AUX_TO] = to | bits_d << 8;
    return true;
}
