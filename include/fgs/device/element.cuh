/* element.cuh -- element types, their sentinels, what keeps away from them
 *
 * A part of <fgs/fgs_device.cuh>.  Guide 4.6.4.1 and 4.6.4.3, tables 15, 16.
 *
 * An element type is a tag: fgs::f32, f16, bf16, e4m3, e5m2, e2m1, ue8m0,
 * ue5m3, x8 (8 bits, never 0xFF), meta4 (4 bits, never 0xF), i32, i16, i8,
 * i8ff (8 bits signed, never -1).  A type of one's own is one line,
 *
 *     struct fixed : fgs::element<16, 0x8000u, fgs::mechanism::w16,
 *                                 fgs::rule::never_sentinel> {};
 *
 * and, if floats are to be converted to it, an fgs::conversion<fixed>
 * (convert.cuh).  Elements lie packed, little-endian: the lower index in the
 * lower bits, nibbles too.  A word below is 32 bits of packed elements.
 * Names here are never all capitals: those are left to -D.
 */
#ifndef FGS_DEVICE_ELEMENT_CUH
#define FGS_DEVICE_ELEMENT_CUH

#ifndef __CUDACC__
#error "fgs_device.cuh is for nvcc and NVRTC; host code includes <fgs/fgs.h>"
#endif
#if __cplusplus < 201703L
#error "fgs_device.cuh needs C++17: --std=c++17"
#endif

#define FGS_FN __device__ __forceinline__

namespace fgs {

typedef unsigned u32;
typedef unsigned long long u64;

/* What the code is compiled for.  The host's part of a compilation by nvcc
 * has no target: everything is there, and nothing of it is used. */
struct target {
    enum : u32 {
#ifdef __CUDA_ARCH__
        arch = __CUDA_ARCH__,
#else
        arch = 0xffffffffu,
#endif
        /* What an f or an a of the target's name adds. */
#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
        family = __CUDA_ARCH_FAMILY_SPECIFIC__,
#elif defined(__CUDA_ARCH__)
        family = 0,
#else
        family = 1070,
#endif
        /* Release of the compiler, which settles the PTX ISA version. */
        cuda = __CUDACC_VER_MAJOR__ * 10 + __CUDACC_VER_MINOR__
    };
    enum : bool {
        pdl = arch >= 900,       /* griddepcontrol                          */
        bulk = arch >= 900,      /* cp.async.bulk                           */
        strong = cuda >= 133,    /* its .relaxed.gpu ... .b128              */
        async = arch >= 800,     /* cp.async, mbarrier                      */
        fp8 = arch >= 890,       /* cvt to e4m3x2, e5m2x2                   */
        fp4 = family >= 1000,    /* cvt to e2m1x2                           */
        report = family == 1070, /* bulk copies that report validity        */
        pzo = family == 1070     /* cvt...pzo                               */
    };
};

static_assert(target::arch >= 700, "fgs: the memory model that the protocol "
                                   "rests on begins with sm_70");

/* Report mechanisms of bulk copies (table 15). */
enum class mechanism { disabled, w32, w16, w8, w4, each_ff };

/* The word behind ".mbarrier::report::". */
__host__ __device__ constexpr const char *qualifier(mechanism m)
{
    switch (m) {
    case mechanism::w32:
        return "validity::per_16bytes::80000000";
    case mechanism::w16:
        return "validity::per_16bytes::8000";
    case mechanism::w8:
        return "validity::per_16bytes::80";
    case mechanism::w4:
        return "validity::per_16bytes::8";
    case mechanism::each_ff:
        return "validity::per_element::ff";
    default:
        return "disabled";
    }
}

/* The pattern that `m` looks for in elements of `bits` bits. */
__host__ __device__ constexpr u32 pattern(mechanism m, u32 bits)
{
    return m == mechanism::w32 && bits == 32 ? 0x80000000u
         : m == mechanism::w16 && bits == 16 ? 0x8000u
         : m == mechanism::w8 && bits == 8   ? 0x80u
         : m == mechanism::w4 && bits == 4   ? 0x8u
         : m == mechanism::each_ff && bits == 8 ? 0xffu
         : m == mechanism::each_ff && bits == 4 ? 0xfu
                                                : 0;
}

/* How a producer keeps away from the sentinel (4.6.4.3). */
enum class rule {
    neg0_to_pos0,  /* -0 becomes +0                                         */
    never_nan,     /* a NaN, all ones, becomes the greatest finite number   */
    never_ones,    /* all ones becomes one less                             */
    never_sentinel /* an integer: as the caller chooses, enum saturate      */
};

/* Where an integer goes that would be the sentinel. */
enum class saturate {
    refuse, /* it stays; the caller looks with holds_sentinel, gives up     */
    up,     /* the next greater value                                       */
    down    /* the next smaller one; there is none below a minimum          */
};

template <u32 Bits, u32 Pattern, mechanism M, rule R> struct element {
    static_assert(Bits == 4 || Bits == 8 || Bits == 16 || Bits == 32,
                  "fgs: an element has 4, 8, 16 or 32 bits");
    static_assert(pattern(M, Bits) == Pattern && Pattern,
                  "fgs: this report mechanism looks for another pattern than "
                  "this sentinel in elements of this width (table 16)");

    /* Enumerators, not variables: those would be in every module. */
    enum : u32 {
        bits = Bits,
        sentinel = Pattern,
        ones = 0xffffffffu >> (32 - Bits),
        unit = 0xffffffffu / ones, /* 1 in every field                      */
        fill = sentinel * unit,    /* of a 32-bit lane                      */
        high = unit << (Bits - 1),
        low = ~high,
        per_word = 32 / Bits,
        per_chunk = 128 / Bits,
        report = (u32)M,
        keeps = (u32)R
    };
};

/*     type   bits sentinel     mechanism rule */
#define FGS_ELEMENTS(X)                                                        \
    X(f32,    32,  0x80000000u, w32,      neg0_to_pos0)                        \
    X(f16,    16,  0x8000u,     w16,      neg0_to_pos0)                        \
    X(bf16,   16,  0x8000u,     w16,      neg0_to_pos0)                        \
    X(e4m3,   8,   0x80u,       w8,       neg0_to_pos0)                        \
    X(e5m2,   8,   0x80u,       w8,       neg0_to_pos0)                        \
    X(e2m1,   4,   0x8u,        w4,       neg0_to_pos0)                        \
    X(ue8m0,  8,   0xffu,       each_ff,  never_nan)                           \
    X(ue5m3,  8,   0xffu,       each_ff,  never_nan)                           \
    X(x8,     8,   0xffu,       each_ff,  never_ones)                          \
    X(meta4,  4,   0xfu,        each_ff,  never_ones)                          \
    X(i32,    32,  0x80000000u, w32,      never_sentinel)                      \
    X(i16,    16,  0x8000u,     w16,      never_sentinel)                      \
    X(i8,     8,   0x80u,       w8,       never_sentinel)                      \
    X(i8ff,   8,   0xffu,       each_ff,  never_sentinel)

#define FGS_ELEMENT(type, bits, sentinel, mech, keeps)                         \
    struct type : element<bits, sentinel, mechanism::mech, rule::keeps> {};
FGS_ELEMENTS(FGS_ELEMENT)
#undef FGS_ELEMENT

template <class A, class B> struct same {
    enum : bool { value = false };
};
template <class A> struct same<A, A> {
    enum : bool { value = true };
};

template <class...> struct make_void { typedef void type; };
template <class E, class = void> struct has_sentinel {
    enum : bool { value = false };
};
template <class E>
struct has_sentinel<E, typename make_void<decltype(E::sentinel),
                                          decltype(E::report)>::type> {
    enum : bool { value = true };
};

/* The columns of E's row that are not numbers. */
template <class E> __host__ __device__ constexpr mechanism mechanism_of()
{
    return (mechanism)E::report;
}

template <class E> __host__ __device__ constexpr rule rule_of()
{
    return (rule)E::keeps;
}

/* A tile: whole chunks of an element type that has a sentinel. */
template <class E, u32 Bytes> struct tile_shape {
    static_assert(has_sentinel<E>::value,
                  "fgs: this element type states no sentinel; use a tag of "
                  "namespace fgs or derive from fgs::element");
    static_assert(Bytes > 0 && Bytes % 16 == 0,
                  "fgs: a tile is a multiple of 16 bytes, whole chunks");
    static_assert(Bytes < 1u << 20,
                  "fgs: a barrier counts fewer than 2^20 bytes of a copy");
    enum : u32 { chunks = Bytes / 16 };
};

template <u32 Threads> struct block_shape {
    static_assert(Threads % 32 == 0 && Threads > 0,
                  "fgs: the threads of a block are a multiple of 32, whole "
                  "warps");
    static_assert(Threads <= 1024, "fgs: a block has 1024 threads at most");
    enum : u32 { threads = Threads };
};

/* ---- sentinels in packed bits; any thread, no memory ------------------- */

/* Bit 0 of each field of `w` that holds the sentinel. */
template <class E> FGS_FN u32 sentinel_fields(u32 w)
{
    static_assert(has_sentinel<E>::value,
                  "fgs: this element type states no sentinel; use a tag of "
                  "namespace fgs or derive from fgs::element");
    if constexpr (E::bits == 32) {
        return w == E::sentinel;
    } else {
        u32 x = w ^ E::fill; /* 0 where it is; the sum's top bit says if not */

        return (~(((x & E::low) + E::low) | x) & E::high) >> (E::bits - 1);
    }
}

template <class E> FGS_FN bool holds_sentinel(u32 w)
{
    return sentinel_fields<E>(w) != 0;
}

/*
 * `w` without sentinels: each element that is one becomes what E's rule says,
 * every other one stays as it is, NaN payloads included (4.6.4.3).
 */
template <class E, saturate S = saturate::refuse>
FGS_FN u32 canonicalize(u32 w)
{
    static_assert(has_sentinel<E>::value,
                  "fgs: this element type states no sentinel; use a tag of "
                  "namespace fgs or derive from fgs::element");
    static_assert(S != saturate::down || rule_of<E>() != rule::never_sentinel ||
                      (u32)E::sentinel == E::ones,
                  "fgs: this sentinel is the least value, nothing is below "
                  "it: saturate up or refuse");
    if constexpr (rule_of<E>() == rule::neg0_to_pos0) {
        /* The top bit stays where a bit below it is set. */
        return w & (E::low | ((w & E::low) + E::low));
    } else if constexpr (rule_of<E>() == rule::never_sentinel &&
                         S == saturate::refuse) {
        return w;
    } else {
        constexpr bool up =
            rule_of<E>() == rule::never_sentinel && S == saturate::up;
        constexpr u32 to = (up ? E::sentinel + 1 : E::sentinel - 1) & E::ones;

        return w ^ (sentinel_fields<E>(w) * (E::sentinel ^ to));
    }
}

/* The chapter's form for one float: -0 + +0 is +0 in round-to-nearest, no
 * other number changes.  Never flushed, whatever -ftz says: a flushed
 * negative subnormal would be the sentinel. */
FGS_FN float canonicalize(float v)
{
    float r;

    asm("add.rn.f32 %0, %1, 0f00000000;" : "=f"(r) : "f"(v));
    return r;
}

} /* namespace fgs */

#endif
