/* convert.cuh -- float to packed elements that never hold the sentinel
 *
 * A part of <fgs/fgs_device.cuh>.  Guide 4.6.4.3.
 *
 * By element type, round-to-nearest-even where nothing else is said:
 *   f32            as it is, but -0
 *   f16 bf16       too large becomes infinity; NaN 0x7fff
 *   e4m3 e5m2      too large and infinity the greatest finite; NaN 0x7f
 *   e2m1           the same; NaN +6
 *   ue8m0          up to a power of two, 2^-127 to 2^127; x <= 0 is code 0,
 *                  what is above and NaN 0xFE
 *   ue5m3          x <= 0 is 0; what is above and NaN the greatest, 0xFE
 *   x8 meta4       to 0..254, 0..14; NaN 0
 *   i32 i16 i8 i8ff  to the signed range; NaN 0; then away from the sentinel
 * All targets give the same bits: where one lacks the instruction, minifloat
 * below stands for it.  No function here flushes subnormals, whatever -ftz
 * says, and none touches memory.
 */
#ifndef FGS_DEVICE_CONVERT_CUH
#define FGS_DEVICE_CONVERT_CUH

#include <fgs/device/element.cuh>

namespace fgs {

FGS_FN u32 bits_of(float v) { return (u32)__float_as_int(v); }

/* A product that is never flushed. */
FGS_FN float mul_rn(float a, float b)
{
    float r;

    asm("mul.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

/*
 * The code of a number without its sign in a format of Man bits of mantissa
 * and an exponent of bias Bias; what is above becomes Max.
 *
 * m  bits of |v|, no NaN
 *
 * The bits of a float, shifted and rebased, are the code of a normal number.
 * Below the least normal one, the addition of a float whose last bit is the
 * format's least subnormal rounds in its place.
 */
template <u32 Man, u32 Bias, u32 Max> FGS_FN u32 minifloat(u32 m)
{
    constexpr u32 shift = 23 - Man;
    constexpr u32 magic = (127 + 23 + 1 - Bias - Man) << 23;
    u32 big, small, code;
    float sum;

    big = ((m + (1u << (shift - 1)) - 1 + (m >> shift & 1)) >> shift) -
          ((127 - Bias) << Man);
    asm("add.rn.f32 %0, %1, %2;"
        : "=f"(sum)
        : "f"(__int_as_float((int)m)), "f"(__int_as_float((int)magic)));
    small = bits_of(sum) - magic;
    code = m < (128 - Bias) << 23 ? small : big;
    return code < Max ? code : Max;
}

/* The same with a sign on top of Width bits; a NaN is the code Nan. */
template <u32 Man, u32 Bias, u32 Max, u32 Nan, u32 Width>
FGS_FN u32 signed_minifloat(float v)
{
    u32 u = bits_of(v), m = u & 0x7fffffffu;
    u32 code = minifloat<Man, Bias, Max>(m) | u >> 31 << (Width - 1);

    return m > 0x7f800000u ? Nan : code;
}

FGS_FN u32 code_ue8m0(float v)
{
    u32 u = bits_of(v), m = u & 0x7fffffu, e = u >> 23;
    /* Code 0 is 2^-127, a subnormal float with its top bit set. */
    u32 code = e + (e ? m != 0 : m > 0x400000u);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return 0xfe;
    return (int)u <= 0 ? 0 : code < 0xfe ? code : 0xfe;
}

FGS_FN u32 code_ue5m3(float v)
{
    u32 u = bits_of(v);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return 0xfe;
    return (int)u <= 0 ? 0 : minifloat<3, 15, 0xfe>(u);
}

/* To the nearest integer; NaN is 0, what is out of range the nearest end. */
FGS_FN u32 code_unsigned(float v, u32 most)
{
    u32 r;

    asm("cvt.rni.u32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r < most ? r : most;
}

FGS_FN u32 code_signed(float v, int least, int most)
{
    int r;

    asm("cvt.rni.s32.f32 %0, %1;" : "=r"(r) : "f"(v));
    r = r < most ? r : most;
    return (u32)(r > least ? r : least);
}

/*
 * How 32 / E::bits floats become one word; canonicalize comes after, but for
 * words that are `canonical` already.  To be specialized for types of one's
 * own.
 */
template <class E> struct conversion {
    static_assert(same<E, void>::value,
                  "fgs: no conversion from float to this element type; "
                  "specialize fgs::conversion for it");
};

template <> struct conversion<f32> {
    enum : bool { canonical = true };
    static FGS_FN u32 word(const float *v)
    {
        return bits_of(canonicalize(v[0]));
    }
};

/* Two floats to halves of a word, the second on top, by one instruction. */
#define FGS_PAIR(how, type, v)                                                 \
    asm("cvt.rn" how "." type "x2.f32 %0, %2, %1;"                             \
        : "=r"(w)                                                              \
        : "f"((v)[0]), "f"((v)[1]))

template <> struct conversion<f16> {
    enum : bool { canonical = target::pzo };
    static FGS_FN u32 word(const float *v)
    {
        u32 w;

        if constexpr (target::pzo)
            FGS_PAIR(".pzo", "f16", v);
        else if constexpr (target::arch >= 800)
            FGS_PAIR("", "f16", v);
        else
            asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1;"
                " cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
                : "=r"(w)
                : "f"(v[0]), "f"(v[1]));
        return w;
    }
};

template <> struct conversion<bf16> {
    enum : bool { canonical = target::pzo };
    static FGS_FN u32 word(const float *v)
    {
        u32 w;

        if constexpr (target::pzo)
            FGS_PAIR(".pzo", "bf16", v);
        else if constexpr (target::arch >= 800)
            FGS_PAIR("", "bf16", v);
        else
            w = signed_minifloat<7, 127, 0x7f80, 0x7fff, 16>(v[0]) |
                signed_minifloat<7, 127, 0x7f80, 0x7fff, 16>(v[1]) << 16;
        return w;
    }
};
#undef FGS_PAIR

/* Four floats to bytes of a word, by two instructions. */
#define FGS_QUAD(how, type, v)                                                 \
    asm("{ .reg .b16 l, h; cvt.rn.satfinite" how "." type "x2.f32 l, %2, %1;"  \
        " cvt.rn.satfinite" how "." type "x2.f32 h, %4, %3;"                   \
        " mov.b32 %0, {l, h}; }"                                               \
        : "=r"(w)                                                              \
        : "f"((v)[0]), "f"((v)[1]), "f"((v)[2]), "f"((v)[3]))

template <> struct conversion<e4m3> {
    enum : bool { canonical = target::pzo };
    static FGS_FN u32 word(const float *v)
    {
        u32 w = 0;

        if constexpr (target::pzo)
            FGS_QUAD(".pzo", "e4m3", v);
        else if constexpr (target::fp8)
            FGS_QUAD("", "e4m3", v);
        else
            for (u32 i = 0; i < 4; i++)
                w |= signed_minifloat<3, 7, 0x7e, 0x7f, 8>(v[i]) << 8 * i;
        return w;
    }
};

template <> struct conversion<e5m2> {
    enum : bool { canonical = target::pzo };
    static FGS_FN u32 word(const float *v)
    {
        u32 w = 0;

        if constexpr (target::pzo)
            FGS_QUAD(".pzo", "e5m2", v);
        else if constexpr (target::fp8)
            FGS_QUAD("", "e5m2", v);
        else
            for (u32 i = 0; i < 4; i++)
                w |= signed_minifloat<2, 15, 0x7b, 0x7f, 8>(v[i]) << 8 * i;
        return w;
    }
};
#undef FGS_QUAD

/* Eight floats to nibbles of a word, a byte an instruction. */
#define FGS_OCTET(how, v)                                                      \
    asm("{ .reg .b8 a, b, c, d;"                                               \
        " cvt.rn.satfinite" how ".e2m1x2.f32 a, %2, %1;"                       \
        " cvt.rn.satfinite" how ".e2m1x2.f32 b, %4, %3;"                       \
        " cvt.rn.satfinite" how ".e2m1x2.f32 c, %6, %5;"                       \
        " cvt.rn.satfinite" how ".e2m1x2.f32 d, %8, %7;"                       \
        " mov.b32 %0, {a, b, c, d}; }"                                         \
        : "=r"(w)                                                              \
        : "f"((v)[0]), "f"((v)[1]), "f"((v)[2]), "f"((v)[3]), "f"((v)[4]),     \
          "f"((v)[5]), "f"((v)[6]), "f"((v)[7]))

template <> struct conversion<e2m1> {
    enum : bool { canonical = target::pzo };
    static FGS_FN u32 word(const float *v)
    {
        u32 w = 0;

        if constexpr (target::pzo)
            FGS_OCTET(".pzo", v);
        else if constexpr (target::fp4)
            FGS_OCTET("", v);
        else
            for (u32 i = 0; i < 8; i++)
                w |= signed_minifloat<1, 1, 0x7, 0x7, 4>(v[i]) << 4 * i;
        return w;
    }
};
#undef FGS_OCTET

/* A word of codes that are made one by one. */
#define FGS_BY_CODE(E, never_sentinel, code)                                   \
    template <> struct conversion<E> {                                         \
        enum : bool { canonical = never_sentinel };                            \
        static FGS_FN u32 word(const float *v)                                 \
        {                                                                      \
            u32 w = 0;                                                         \
                                                                               \
            for (u32 i = 0; i < E::per_word; i++)                              \
                w |= (code & E::ones) << E::bits * i;                          \
            return w;                                                          \
        }                                                                      \
    };
FGS_BY_CODE(ue8m0, true, code_ue8m0(v[i]))
FGS_BY_CODE(ue5m3, true, code_ue5m3(v[i]))
FGS_BY_CODE(x8, true, code_unsigned(v[i], 254))
FGS_BY_CODE(meta4, true, code_unsigned(v[i], 14))
FGS_BY_CODE(i32, false, code_signed(v[i], -0x7fffffff - 1, 0x7fffffff))
FGS_BY_CODE(i16, false, code_signed(v[i], -0x8000, 0x7fff))
FGS_BY_CODE(i8, false, code_signed(v[i], -0x80, 0x7f))
FGS_BY_CODE(i8ff, false, code_signed(v[i], -0x80, 0x7f))
#undef FGS_BY_CODE

/* 32 / E::bits floats to one word without sentinels; but with
 * saturate::refuse an integer may be one (holds_sentinel). */
template <class E, saturate S = saturate::refuse>
FGS_FN u32 convert_word(const float *v)
{
    u32 w = conversion<E>::word(v);

    if constexpr (conversion<E>::canonical)
        return w;
    else
        return canonicalize<E, S>(w);
}

/* One float to one code, in the low E::bits bits, by the same rules. */
template <class E, saturate S = saturate::refuse> FGS_FN u32 convert(float x)
{
    float v[E::per_word] = { x };

    return convert_word<E, S>(v) & E::ones;
}

} /* namespace fgs */

#endif
