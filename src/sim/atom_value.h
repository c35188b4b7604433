/* atom_value.h -- what atom and red make of the old value and an operand */
#ifndef FGS_SIM_ATOM_VALUE_H
#define FGS_SIM_ATOM_VALUE_H

#include "sim/half.h"

/* Subnormals: atom.add.f32 on global memory flushes them, on shared memory and
 * with .noftz it does not (ISA 9.7.15, atom; the assembler's code shows it). */
static inline uint32_t atom_add_f32(uint32_t a, uint32_t b, bool keep)
{
    float x = bits_float(a), y = bits_float(b);

    x = keep ? x + y : flush_f32(flush_f32(x) + flush_f32(y));
    return x != x ? 0x7fffffffu : float_bits(x);
}

static inline bool atom_is_nan(uint64_t v)
{
    return v << 1 > 0xffe0000000000000ull;
}

/* Asked of an H200: global memory keeps an old NaN as it is, unless the
 * operand is one; shared memory prefers the old one.  Else what is passed on
 * becomes quiet, and a new NaN is negative.  A NaN in its low word alone goes
 * on as it is in global memory: 0x7ff0000000000001 does, 0xfff4000000000001
 * does not; what lies between was not asked. */
static inline uint64_t atom_add_f64(uint64_t old, uint64_t b, bool shared)
{
    uint64_t quiet = 1ull << 51;
    double sum;

    if (atom_is_nan(b) && !(shared && atom_is_nan(old)))
        return shared || b << 12 >> 44 ? b | quiet : b;
    if (atom_is_nan(old))
        return shared ? old | quiet : old;
    sum = bits_double(old) + bits_double(b);
    return sum == sum ? double_bits(sum) : 0xfff8000000000000ull;
}

static inline bool atom_is_bf16(unsigned type)
{
    return type == FGS__T_BF16 || type == FGS__T_BF16X2;
}

/* One f16 or bf16.  The sum of two in single precision is rounded twice, which
 * does no harm: 24 bits are at least 2 * 11 + 2.  A minimum is the operand
 * that is no NaN, and -0 is below +0. */
static inline uint16_t atom_half(unsigned op, bool brain, uint32_t old,
                                 uint32_t b)
{
    float x = brain ? float_of_bf16(old) : float_of_f16(old);
    float y = brain ? float_of_bf16(b) : float_of_f16(b);
    bool less = y < x || (y == x && (b & 0x8000) > (old & 0x8000));

    if (op == FGS__M_ATOM_ADD)
        return brain ? bf16_of_float(x + y) : f16_of_float(x + y);
    if (x != x && y != y)
        return NAN_HALF;
    if (x != x || y != y)
        return (uint16_t)(x != x ? b : old);
    return (uint16_t)(less == (op == FGS__M_ATOM_MIN) ? b : old);
}

static inline uint16_t atom_value_16(unsigned op, unsigned type, uint16_t old,
                                     uint16_t b, bool keep)
{
    (void)keep;
    return atom_half(op, atom_is_bf16(type), old, b);
}

static inline uint32_t atom_value_32(unsigned op, unsigned type, uint32_t old,
                                     uint32_t b, bool keep)
{
    bool less = type == FGS__T_S32 ? (int32_t)b < (int32_t)old : b < old;
    bool brain = atom_is_bf16(type);

    if (fgs__ptx_types[type].kind == FGS__K_PACK)
        return atom_half(op, brain, old & 0xffff, b & 0xffff) |
               (uint32_t)atom_half(op, brain, old >> 16, b >> 16) << 16;
    switch (op) {
    case FGS__M_ATOM_ADD: /* f32 only: integers have a host instruction */
        return atom_add_f32(old, b, keep);
    case FGS__M_ATOM_MIN:
        return less ? b : old;
    case FGS__M_ATOM_MAX:
        return less ? old : b;
    case FGS__M_ATOM_INC:
        return old >= b ? 0 : old + 1;
    default: /* dec */
        return old == 0 || old > b ? b : old - 1;
    }
}

static inline uint64_t atom_value_64(unsigned op, unsigned type, uint64_t old,
                                     uint64_t b, bool keep)
{
    bool less = type == FGS__T_S64 ? (int64_t)b < (int64_t)old : b < old;

    switch (op) {
    case FGS__M_ATOM_ADD: /* f64 has no .noftz: kept is what is shared */
        return atom_add_f64(old, b, keep);
    case FGS__M_ATOM_MIN:
        return less ? b : old;
    default: /* max */
        return less ? old : b;
    }
}

#endif
