/* float.h -- what NVIDIA hardware does to floating-point values, a lane */
#ifndef FGS_SIM_FLOAT_H
#define FGS_SIM_FLOAT_H

#include "sim/lanes.h"
#include <fenv.h>

/* An f32 operation that gives a NaN gives 0x7fffffff (ISA 9.7.3). */
#define NAN_F32 __builtin_nanf("0x3fffff")

static FGS__INLINE FGS__UNUSED float fix_f32(float r)
{
    return r == r ? r : NAN_F32;
}

/* An f64 operation passes a NaN on, made quiet: which one of several was
 * asked of an H200.  One that it makes itself is the host's too. */
static FGS__INLINE FGS__UNUSED double fix_f64(double x, double r)
{
    return x == x ? r : x + x;
}

/* .ftz: a subnormal becomes a zero of its sign. */
static FGS__INLINE FGS__UNUSED float flush_f32(float x)
{
    return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x;
}

/* .sat: to [+0, 1], NaN to +0. */
static FGS__INLINE FGS__UNUSED float sat_f32(float x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}

static FGS__INLINE FGS__UNUSED double sat_f64(double x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}

/* Host's rounding mode of a PTX word; absent is rn. */
static FGS__INLINE FGS__UNUSED int host_round(unsigned mod)
{
    switch (mod) {
    case FGS__M_RZ:
    case FGS__M_RZI:
        return FE_TOWARDZERO;
    case FGS__M_RM:
    case FGS__M_RMI:
        return FE_DOWNWARD;
    case FGS__M_RP:
    case FGS__M_RPI:
        return FE_UPWARD;
    default:
        return FE_TONEAREST;
    }
}

#endif
