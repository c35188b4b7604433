/* tensor.cuh -- a box, or two operands, where a tile would be a pointer
 *
 * A part of <fgs/fgs_device.cuh>.  Guide 4.6.7.
 *
 * What a pipe fills a stage with, and copies again, is `from`: a pointer to
 * bytes that lie behind each other, or such a box, which a 2-D tensor copy
 * loads row by row; or the tile and a second operand, say its scales, which has
 * a sentinel of its own and lies behind it in the stage.  Tensor copies are
 * weak in PTX; the documents promise the protocol for them too.
 */
#ifndef FGS_DEVICE_TENSOR_CUH
#define FGS_DEVICE_TENSOR_CUH

#include <fgs/device/memory.cuh>

namespace fgs {

/* RowBytes of each row of the box, a multiple of 16. */
template <u32 RowBytes> struct tensor_box {
    static_assert(RowBytes && RowBytes % 16 == 0,
                  "fgs: a box's rows are whole chunks");
    const void *map;   /* CUtensorMap in global memory, its box as this one  */
    u32 x, y;          /* first column, in elements, and row                 */
    const void *first; /* the first row in global memory                     */
    u64 pitch;         /* bytes from row to row                              */
};

/* Both in global memory, 16-byte aligned; the second Bytes of elements E. */
template <class E, u32 Bytes> struct two_operands {
    static_assert(Bytes && Bytes % 16 == 0,
                  "fgs: a second operand is whole chunks");
    const void *first, *second;
};

/* Where chunk i of a tile lies in global memory. */
FGS_FN const void *chunk_from(const void *from, u32 i)
{
    return (const char *)from + 16ull * i;
}

template <u32 Row>
FGS_FN const void *chunk_from(const tensor_box<Row> &b, u32 i)
{
    return (const char *)b.first + i / (Row / 16) * b.pitch +
           i % (Row / 16) * 16;
}

template <class E, u32 Bytes>
FGS_FN const void *chunk_from(const two_operands<E, Bytes> &o, u32 i)
{
    return chunk_from(o.first, i);
}

#define FGS_BOX(report)                                                        \
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile"             \
                 ".mbarrier::complete_tx::bytes" report                        \
                 " [%0], [%1, {%2, %3}], [%4];"                                \
                 :                                                             \
                 : "r"(to_shared(to)), "l"(to_global(map)), "r"(x), "r"(y),    \
                   "r"(to_shared(&bar))                                        \
                 : "memory")
#define FGS_BOX_REPORT(pattern) FGS_BOX(".mbarrier::report::validity::" pattern)

/* One thread, and the barrier is armed; shared memory 128-byte aligned. */
template <mechanism M, bool Report>
FGS_FN void copy_box(u64 &bar, void *to, const void *map, u32 x, u32 y)
{
    if constexpr (!Report)
        FGS_BOX("");
    else if constexpr (M == mechanism::w32)
        FGS_BOX_REPORT("per_16bytes::80000000");
    else if constexpr (M == mechanism::w16)
        FGS_BOX_REPORT("per_16bytes::8000");
    else if constexpr (M == mechanism::w8)
        FGS_BOX_REPORT("per_16bytes::80");
    else if constexpr (M == mechanism::w4)
        FGS_BOX_REPORT("per_16bytes::8");
    else
        FGS_BOX_REPORT("per_element::ff");
}
#undef FGS_BOX_REPORT
#undef FGS_BOX

template <class F> struct is_box {
    enum : bool { value = false };
};
template <u32 Row> struct is_box<tensor_box<Row>> {
    enum : bool { value = true };
};

/* The second operand; without one, bytes of no kind: f32 has to stand. */
template <class F> struct second_of {
    typedef f32 element;
    enum : u32 { bytes = 0 };
};
template <class E, u32 Bytes> struct second_of<two_operands<E, Bytes>> {
    typedef E element;
    enum : u32 { bytes = Bytes };
};

} /* namespace fgs */

#endif
