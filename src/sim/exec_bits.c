/* exec_bits.c -- fields of bits, permutations, 24-bit and dot products */
#include "sim/lanes.h"

enum { AUX_FACT }; /* lop3: the table; prmt: the mode                         */

static FGS__INLINE int32_t low24_s(int32_t x)
{
    return (int32_t)((uint32_t)x << 8) >> 8;
}

#define LOW24_U(x) ((uint64_t)((x) & 0xffffffu))
#define LOW24_S(x) ((int64_t)low24_s(x))

static FGS__INLINE int32_t clamp_s32(int64_t v)
{
    return (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

/* .lo and .hi are the low 32 of 48 bits and the high 32 of them. */
#define MUL24(t, T, L)                                                         \
    MAP2(mul24_lo_##t, T, T, T, L(x) * L(y))                                   \
    MAP2(mul24_hi_##t, T, T, T, L(x) * L(y) >> 16)                             \
    MAP3(mad24_lo_##t, T, T, T, T,                                             \
         (uint32_t)(L(x) * L(y)) + (uint32_t)z)                                \
    MAP3(mad24_hi_##t, T, T, T, T,                                             \
         (uint32_t)(L(x) * L(y) >> 16) + (uint32_t)z)
MUL24(u32, l_u32, LOW24_U)
MUL24(s32, l_s32, LOW24_S)
MAP3(mad24_hi_sat_s32, l_s32, l_s32, l_s32, l_s32,
     clamp_s32((int32_t)(LOW24_S(x) * LOW24_S(y) >> 16) + (int64_t)z))

/* |a - b| + c, wrapping. */
#define SAD(t, T, U)                                                           \
    MAP3(sad_##t, T, T, T, T,                                                  \
         (U)z + (x < y ? (U)y - (U)x : (U)x - (U)y))
SAD(u16, l_u16, uint32_t)
SAD(s16, l_s16, uint32_t)
SAD(u32, l_u32, uint32_t)
SAD(s32, l_s32, uint32_t)
SAD(u64, l_u64, uint64_t)
SAD(s64, l_s64, uint64_t)

/* ------------------------------------------------------------- fields -- */

/* The low n bits; n may be the width or more. */
static FGS__INLINE uint32_t ones_32(uint32_t n)
{
    return n < 32 ? (1u << (n & 31)) - 1 : UINT32_MAX;
}

static FGS__INLINE uint64_t ones_64(uint32_t n)
{
    return n < 64 ? ((uint64_t)1 << (n & 63)) - 1 : UINT64_MAX;
}

/* Places and lengths are 0..255 (ISA); what more means was seen on an H200:
 * with 32 bits the rest is cut off, with 64 it is a large number. */
#define COUNT(N, v) (N == 32 ? (v) & 255 : (v) < 255 ? (v) : 255)

/* The field of z bits at y, above it zeros or the sign, which is the top bit
 * of the value when the field passes it (ISA 9.7.1.19). */
#define BFE(N)                                                                 \
    static FGS__INLINE uint##N##_t field_##N(uint##N##_t x, uint32_t at,       \
                                             uint32_t len, int is_signed)      \
    {                                                                          \
        uint32_t end = at + len - 1;                                           \
        uint32_t top = end < N - 1 ? end : N - 1;                              \
        uint##N##_t mask = ones_##N(len);                                      \
        uint##N##_t low = at < N ? x >> (at & (N - 1)) : 0;                    \
        uint##N##_t sign =                                                     \
            is_signed && len && (x >> (top & (N - 1)) & 1) ? ~mask : 0;        \
        uint##N##_t above = at < N ? ~ones_##N(N - at) : ~(uint##N##_t)0;      \
        low |= is_signed && len && (x >> (top & (N - 1)) & 1) ? above : 0;     \
        return (low & mask) | sign;                                            \
    }                                                                          \
    MAP3(bfe_u##N, l_u##N, l_u##N, l_u32, l_u32,                               \
         field_##N(x, COUNT(N, y), COUNT(N, z), 0))                            \
    MAP3(bfe_s##N, l_u##N, l_u##N, l_u32, l_u32,                               \
         field_##N(x, COUNT(N, y), COUNT(N, z), 1))
BFE(32)
BFE(64)

/* x without what lies below its sign; the highest bit of it, or all ones. */
#define FIND(name, N, T, FLIP)                                                 \
    static FGS__INLINE uint32_t name##_one(uint##N##_t x)                      \
    {                                                                          \
        uint##N##_t v = FLIP;                                                  \
        return v ? N - 1 -                                                     \
                (N == 64 ? (uint32_t)__builtin_clzll(v)                        \
                         : (uint32_t)__builtin_clz((uint32_t)v))               \
                 : UINT32_MAX;                                                 \
    }                                                                          \
    static FGS__INLINE uint32_t name##_shift(uint32_t at)                      \
    {                                                                          \
        return at == UINT32_MAX ? at : N - 1 - at;                             \
    }                                                                          \
    MAP1(name, l_u32, T, name##_one(x))                                        \
    MAP1(name##_amt, l_u32, T, name##_shift(name##_one(x)))
FIND(bfind_u32, 32, l_u32, x)
FIND(bfind_s32, 32, l_u32, x >> 31 ? ~x : x)
FIND(bfind_u64, 64, l_u64, x)
FIND(bfind_s64, 64, l_u64, x >> 63 ? ~x : x)

static FGS__INLINE uint32_t brev(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}
MAP1(brev_32, l_u32, l_u32, brev(x))
MAP1(brev_64, l_u64, l_u64,
     (uint64_t)brev((uint32_t)x) << 32 | brev((uint32_t)(x >> 32)))

/* bmsk a, b: b bits from position a up (ISA 9.7.1.25). */
static FGS__INLINE uint32_t mask_clamp(uint32_t at, uint32_t n)
{
    return at < 32 ? ones_32(n) << (at & 31) : 0;
}
MAP2(bmsk_clamp, l_u32, l_u32, l_u32, mask_clamp(x, y))
MAP2(bmsk_wrap, l_u32, l_u32, l_u32, mask_clamp(x & 31, y & 31))

/* szext a, b: the low b bits, extended. */
static FGS__INLINE uint32_t extended(uint32_t x, uint32_t n, int is_signed)
{
    uint32_t mask = ones_32(n);
    uint32_t sign = n ? x >> ((n < 32 ? n - 1 : 31) & 31) & 1 : 0;

    return (x & mask) | (is_signed && sign ? ~mask : 0);
}
MAP2(szext_clamp_u32, l_u32, l_u32, l_u32, extended(x, y, 0))
MAP2(szext_clamp_s32, l_u32, l_u32, l_u32, extended(x, y, 1))
MAP2(szext_wrap_u32, l_u32, l_u32, l_u32, extended(x, y & 31, 0))
MAP2(szext_wrap_s32, l_u32, l_u32, l_u32, extended(x, y & 31, 1))

/* The n-th set bit of x from bit `at` up (n > 0) or down (n < 0) (ISA
 * 9.7.1.24); all ones when there is none. */
static uint32_t nth_set(uint32_t x, uint32_t at, int32_t n)
{
    int32_t step = n < 0 ? -1 : 1, k;
    int64_t left = n < 0 ? -(int64_t)n : n;

    if (n == INT32_MIN)
        return 0; /* as an H200 */
    if (at > 31)
        return UINT32_MAX;
    if (!n)
        return x >> at & 1 ? at : UINT32_MAX;
    for (k = (int32_t)at; k >= 0 && k < 32; k += step)
        if ((x >> k & 1) && !--left)
            return (uint32_t)k;
    return UINT32_MAX;
}
MAP3(fns_b32, l_u32, l_u32, l_u32, l_s32, nth_set(x, y, z))

/* --------------------------------------------------- bytes, functions -- */

#define BYTE(at) (v >> 8 * (at) & 0xff)

static FGS__INLINE uint32_t pick_byte(uint64_t v, uint32_t sel)
{
    uint32_t b = (uint32_t)BYTE(sel & 7);

    return sel & 8 ? (b & 0x80 ? 0xff : 0) : b;
}

static FGS__INLINE uint32_t permuted(uint64_t v, uint32_t sel)
{
    return pick_byte(v, sel) | pick_byte(v, sel >> 4) << 8 |
        pick_byte(v, sel >> 8) << 16 | pick_byte(v, sel >> 12) << 24;
}
#define PAIR(x, y) ((uint64_t)(y) << 32 | (x))
MAP3(prmt, l_u32, l_u32, l_u32, l_u32, permuted(PAIR(x, y), z))

/* Selectors of the modes, a digit a byte (ISA 9.7.9.7). */
static const uint16_t prmt_modes[6][4] = {
    { 0x3210, 0x4321, 0x5432, 0x6543 }, /* f4e */
    { 0x5670, 0x6701, 0x7012, 0x0123 }, /* b4e */
    { 0x0000, 0x1111, 0x2222, 0x3333 }, /* rc8 */
    { 0x3210, 0x3211, 0x3222, 0x3333 }, /* ecl */
    { 0x0000, 0x1110, 0x2210, 0x3210 }, /* ecr */
    { 0x1010, 0x3232, 0x1010, 0x3232 }, /* rc16 */
};
MAP3(prmt_mode, l_u32, l_u32, l_u32, l_u32,
     permuted(PAIR(x, y), prmt_modes[i->aux[AUX_FACT]][z & 3]))

/* Bit (a << 2 | b << 1 | c) of the table, for all bits at once. */
static FGS__INLINE uint32_t lut(uint32_t t, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m[8], k;

    for (k = 0; k < 8; k++)
        m[k] = 0u - (t >> k & 1);
    return (~a & ~b & ((~c & m[0]) | (c & m[1]))) |
        (~a & b & ((~c & m[2]) | (c & m[3]))) |
        (a & ~b & ((~c & m[4]) | (c & m[5]))) |
        (a & b & ((~c & m[6]) | (c & m[7])));
}
MAP3(lop3_b32, l_u32, l_u32, l_u32, l_u32, lut(i->aux[AUX_FACT], x, y, z))

/* lop3.or and .and: a predicate beside it, (d != 0) op q; operands 4 and 5,
 * the flip of q in aux[1], .and in aux[2]. */
HANDLER(lop3_bool)
{
    FGS__ALIGN(64) l_u32 t[LANES];
    uint32_t q = *(const l_u32 *)fgs__sim_at(w, i->op[5]) ^ i->aux[1];
    uint32_t p = 0;
    int k;

    lop3_b32_all(t, LANE_PTR(w, i->op[1]), LANE_PTR(w, i->op[2]),
                 LANE_PTR(w, i->op[3]), i);
    for (k = 0; k < LANES; k++)
        p |= (uint32_t)(t[k] != 0) << k;
    put_mask(w, i->op[4], i->aux[2] ? p & q : p | q);
    blend(LANE_PTR(w, i->op[0]), t, w->exec, sizeof(l_u32));
    return i + 1;
}

#define FUNNEL_L(n) (uint32_t)(PAIR(x, y) << (n) >> 32)
#define FUNNEL_R(n) (uint32_t)(PAIR(x, y) >> (n))
MAP3(shf_l_wrap, l_u32, l_u32, l_u32, l_u32, FUNNEL_L(z & 31))
MAP3(shf_r_wrap, l_u32, l_u32, l_u32, l_u32, FUNNEL_R(z & 31))
MAP3(shf_l_clamp, l_u32, l_u32, l_u32, l_u32, FUNNEL_L(z < 32 ? z : 32))
MAP3(shf_r_clamp, l_u32, l_u32, l_u32, l_u32, FUNNEL_R(z < 32 ? z : 32))

MAP1(cnot_16, l_u16, l_u16, !x)
MAP1(cnot_32, l_u32, l_u32, !x)
MAP1(cnot_64, l_u64, l_u64, !x)

/* -------------------------------------------------------- dot products -- */

#define U8(v, n)  ((uint32_t)(v) >> 8 * (n) & 0xff)
#define S8(v, n)  ((uint32_t)(int32_t)(int8_t)U8(v, n))
#define U16(v, n) ((uint32_t)(v) >> 16 * (n) & 0xffff)
#define S16(v, n) ((uint32_t)(int32_t)(int16_t)U16(v, n))
#define DOT(t, A, B, A2)                                                       \
    MAP3(dp4a_##t, l_u32, l_u32, l_u32, l_u32,                                 \
         z + A(x, 0) * B(y, 0) + A(x, 1) * B(y, 1) + A(x, 2) * B(y, 2) +       \
             A(x, 3) * B(y, 3))                                                \
    MAP3(dp2a_lo_##t, l_u32, l_u32, l_u32, l_u32,                              \
         z + A2(x, 0) * B(y, 0) + A2(x, 1) * B(y, 1))                          \
    MAP3(dp2a_hi_##t, l_u32, l_u32, l_u32, l_u32,                              \
         z + A2(x, 0) * B(y, 2) + A2(x, 1) * B(y, 3))
DOT(uu, U8, U8, U16)
DOT(us, U8, S8, U16)
DOT(su, S8, U8, S16)
DOT(ss, S8, S8, S16)

/* ------------------------------------------------------------- selector -- */

/* The type of each operand: T the instruction's, else fixed. */
enum { T = 0, U32 = FGS__T_U32, S32 = FGS__T_S32 };
static const struct {
    uint16_t op;
    uint8_t count;
    uint8_t type[4];
} operands[] = {
    { FGS__OP_MUL24, 3, { T, T, T } },
    { FGS__OP_MAD24, 4, { T, T, T, T } },
    { FGS__OP_SAD, 4, { T, T, T, T } },
    { FGS__OP_BFE, 4, { T, T, U32, U32 } },
    { FGS__OP_BFIND, 2, { U32, T } },
    { FGS__OP_BREV, 2, { T, T } },
    { FGS__OP_BMSK, 3, { U32, U32, U32 } },
    { FGS__OP_SZEXT, 3, { U32, U32, U32 } },
    { FGS__OP_FNS, 4, { U32, U32, U32, S32 } },
    { FGS__OP_PRMT, 4, { U32, U32, U32, U32 } },
    { FGS__OP_SHF, 4, { U32, U32, U32, U32 } },
    { FGS__OP_CNOT, 2, { T, T } },
    { FGS__OP_DP4A, 4, { U32, U32, U32, U32 } },
    { FGS__OP_DP2A, 4, { U32, U32, U32, U32 } },
};

#define SAD_ROW(t, T) { FGS__OP_SAD, FGS__T_##T, 0, sad_##t },
#define FIND_ROWS(t, T)                                                        \
    { FGS__OP_BFIND, FGS__T_##T, 0, bfind_##t },                               \
    { FGS__OP_BFIND, FGS__T_##T, FGS__M_SHIFTAMT, bfind_##t##_amt },
static const struct lane_row rows[] = {
    { FGS__OP_MUL24, FGS__T_U32, FGS__M_LO, mul24_lo_u32 },
    { FGS__OP_MUL24, FGS__T_U32, FGS__M_HI, mul24_hi_u32 },
    { FGS__OP_MUL24, FGS__T_S32, FGS__M_LO, mul24_lo_s32 },
    { FGS__OP_MUL24, FGS__T_S32, FGS__M_HI, mul24_hi_s32 },
    { FGS__OP_MAD24, FGS__T_U32, FGS__M_LO, mad24_lo_u32 },
    { FGS__OP_MAD24, FGS__T_U32, FGS__M_HI, mad24_hi_u32 },
    { FGS__OP_MAD24, FGS__T_S32, FGS__M_LO, mad24_lo_s32 },
    { FGS__OP_MAD24, FGS__T_S32, FGS__M_HI, mad24_hi_s32 },
    { FGS__OP_MAD24, FGS__T_S32, FGS__M_SAT, mad24_hi_sat_s32 },
    SAD_ROW(u16, U16)
    SAD_ROW(s16, S16)
    SAD_ROW(u32, U32)
    SAD_ROW(s32, S32)
    SAD_ROW(u64, U64)
    SAD_ROW(s64, S64)
    { FGS__OP_BFE, FGS__T_U32, 0, bfe_u32 },
    { FGS__OP_BFE, FGS__T_S32, 0, bfe_s32 },
    { FGS__OP_BFE, FGS__T_U64, 0, bfe_u64 },
    { FGS__OP_BFE, FGS__T_S64, 0, bfe_s64 },
    FIND_ROWS(u32, U32)
    FIND_ROWS(s32, S32)
    FIND_ROWS(u64, U64)
    FIND_ROWS(s64, S64)
    { FGS__OP_BREV, FGS__T_B32, 0, brev_32 },
    { FGS__OP_BREV, FGS__T_B64, 0, brev_64 },
    { FGS__OP_BMSK, FGS__T_B32, FGS__M_CLAMP, bmsk_clamp },
    { FGS__OP_BMSK, FGS__T_B32, FGS__M_WRAP, bmsk_wrap },
    { FGS__OP_SZEXT, FGS__T_U32, FGS__M_CLAMP, szext_clamp_u32 },
    { FGS__OP_SZEXT, FGS__T_S32, FGS__M_CLAMP, szext_clamp_s32 },
    { FGS__OP_SZEXT, FGS__T_U32, FGS__M_WRAP, szext_wrap_u32 },
    { FGS__OP_SZEXT, FGS__T_S32, FGS__M_WRAP, szext_wrap_s32 },
    { FGS__OP_FNS, FGS__T_B32, 0, fns_b32 },
    { FGS__OP_PRMT, FGS__T_B32, 0, prmt },
    { FGS__OP_CNOT, FGS__T_B16, 0, cnot_16 },
    { FGS__OP_CNOT, FGS__T_B32, 0, cnot_32 },
    { FGS__OP_CNOT, FGS__T_B64, 0, cnot_64 },
};

/* By the signs of both factors and which bytes of the second. */
static const fgs__sim_fn dots[3][2][2] = {
    { { dp4a_uu, dp4a_us }, { dp4a_su, dp4a_ss } },
    { { dp2a_lo_uu, dp2a_lo_us }, { dp2a_lo_su, dp2a_lo_ss } },
    { { dp2a_hi_uu, dp2a_hi_us }, { dp2a_hi_su, dp2a_hi_ss } },
};

static fgs__sim_fn pick(const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    unsigned mode = src->mod[FGS__G_PRMT], wrap = src->mod[FGS__G_WRAP];
    bool left = src->mod[FGS__G_SHF] == FGS__M_SHF_L;
    unsigned dot = src->op == FGS__OP_DP4A             ? 0
        : src->mod[FGS__G_WIDTH] == FGS__M_LO ? 1
                                              : 2;

    switch (src->op) {
    case FGS__OP_SHF:
        if (wrap == FGS__M_WRAP)
            return left ? shf_l_wrap : shf_r_wrap;
        return left ? shf_l_clamp : shf_r_clamp;
    case FGS__OP_PRMT:
        if (!mode)
            return prmt;
        out->aux[AUX_FACT] = mode - FGS__M_F4E;
        return prmt_mode;
    case FGS__OP_DP4A:
    case FGS__OP_DP2A:
        return dots[dot][src->type[0] == FGS__T_S32]
                   [src->type[1] == FGS__T_S32];
    default:
        return find_row(rows, sizeof rows / sizeof *rows, src->op,
                        src->type[0],
                        src->mod[FGS__G_SAT] ? src->mod[FGS__G_SAT]
                            : src->mod[FGS__G_SHIFTAMT]
                            ? src->mod[FGS__G_SHIFTAMT]
                            : src->mod[FGS__G_WIDTH] ? src->mod[FGS__G_WIDTH]
                                                     : wrap);
    }
}

/* bfi d, a, b, c, e: a's low e bits over b's from bit c up.  Of c above 255,
 * which the ISA leaves open, an H200 takes 8 bits, of .b64 all. */
#define BFI(N)                                                                 \
    static FGS__INLINE uint##N##_t insert_##N(uint##N##_t a, uint##N##_t b,    \
                                              uint32_t at, uint32_t len)       \
    {                                                                          \
        uint##N##_t mask =                                                     \
            at < N ? ones_##N(len) << (at & (N - 1)) : 0;                      \
        return (b & ~mask) | ((a << (at & (N - 1))) & mask);                   \
    }                                                                          \
    HANDLER(bfi_##N)                                                           \
    {                                                                          \
        FGS__ALIGN(64) l_u##N t[LANES];                                        \
        const l_u##N *a = LANE_PTR(w, i->op[1]);                               \
        const l_u##N *b = LANE_PTR(w, i->op[2]);                               \
        const l_u32 *at = LANE_PTR(w, i->op[3]);                               \
        const l_u32 *len = LANE_PTR(w, i->op[4]);                              \
        int k;                                                                 \
        FGS__EACH                                                              \
        for (k = 0; k < LANES; k++)                                            \
            t[k] = insert_##N(a[k], b[k], N == 64 ? at[k] : at[k] & 255,       \
                              COUNT(N, len[k]));                               \
        blend(LANE_PTR(w, i->op[0]), t, w->exec, sizeof(l_u##N));              \
        return i + 1;                                                          \
    }
BFI(32)
BFI(64)

static bool take(struct fgs__sim_decoder *d, const struct fgs__ptx_insn *src,
                 struct fgs__sim_insn *out, unsigned count,
                 const uint8_t *types)
{
    unsigned k;

    for (k = 0; k < count; k++) {
        enum fgs__ptx_type t =
            (enum fgs__ptx_type)(types[k] ? types[k] : src->type[0]);

        out->op[k] = k ? fgs__sim_ref_of(d, &src->operand[k], t)
                       : fgs__sim_ref_dst(d, &src->operand[0], t);
        if (out->op[k] == FGS__SIM_NOREF)
            return false;
    }
    return true;
}

static bool select_bfi(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       struct fgs__sim_insn *out)
{
    static const uint8_t types[] = { T, T, T, U32, U32 };

    out->run = src->type[0] == FGS__T_B32 ? bfi_32 : bfi_64;
    return src->operands == 5 && take(d, src, out, 5, types);
}

static bool select_lop3(struct fgs__sim_decoder *d,
                        const struct fgs__ptx_insn *src,
                        struct fgs__sim_insn *out)
{
    static const uint8_t types[] = { U32, U32, U32, U32 };
    const struct fgs__ptx_operand *o = &src->operand[0];
    struct fgs__ptx_insn plain = *src;
    struct fgs__ptx_operand list[4];
    unsigned logic = src->mod[FGS__G_BOOL];

    if (src->operands != (logic ? 6 : 5) ||
        src->operand[4].kind != FGS__O_INT)
        return false;
    memcpy(list, o, sizeof list);
    if (o->kind == FGS__O_PAIR)
        list[0] = o->child[0];
    plain.operand = list;
    out->aux[AUX_FACT] = (uint32_t)src->operand[4].imm & 255;
    out->run = logic ? lop3_bool : lop3_b32;
    if (!take(d, &plain, out, 4, types))
        return false;
    if (!logic)
        return true;
    out->aux[2] = logic == FGS__M_BOOL_AND;
    out->op[4] = fgs__sim_ref_dst(d, &o->child[1], FGS__T_PRED);
    out->op[5] = fgs__sim_ref_pred(d, &src->operand[5], &out->aux[1]);
    return out->op[4] != FGS__SIM_NOREF && out->op[5] != FGS__SIM_NOREF;
}

bool FGS__LEVEL(fgs__sim_sel_bits)(struct fgs__sim_decoder *d,
                                   const struct fgs__ptx_insn *src,
                                   struct fgs__sim_insn *out)
{
    static const uint8_t groups[] = { FGS__G_WIDTH, FGS__G_SAT,
                                      FGS__G_SHIFTAMT, FGS__G_WRAP, FGS__G_SHF,
                                      FGS__G_PRMT, FGS__G_BOOL };
    size_t k, n = sizeof operands / sizeof *operands;

    if (!fgs__sim_only(d, src, groups, sizeof groups))
        return false;
    if (src->op == FGS__OP_BFI)
        return select_bfi(d, src, out);
    if (src->op == FGS__OP_LOP3)
        return select_lop3(d, src, out);
    for (k = 0; k < n && operands[k].op != src->op; k++)
        ;
    if (k == n || src->operands != operands[k].count)
        return false;
    out->run = pick(src, out);
    return out->run && take(d, src, out, operands[k].count, operands[k].type);
}
