/* sentinel_fill.cu -- init: fill a buffer with the sentinel by chunks
 *
 * The twin of sentinel_fill.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_fill.c
 */
#include <fgs/fgs_device.cuh>

#define ENTRY_OF(stem) fgs_##stem
#define ENTRY(stem) ENTRY_OF(stem)

typedef fgs::ELEMENT element;

static_assert(element::fill == FILL && element::sentinel == SENTINEL,
              "the tokens and the header know different sentinels");

extern "C" __global__ void
ENTRY(STEM)(const void *p_in, char *p_mid, void *p_out, fgs::u64 p_tiles,
            fgs::ctl *p_ctl, fgs::rec *p_rec, fgs::u64 p_bound_ns,
            fgs::u64 p_max_tries, fgs::u64 p_work_ns, fgs::u64 p_fault_tile,
            fgs::u32 p_fault_chunk)
{
    fgs::u64 step = (fgs::u64)gridDim.x * blockDim.x;
    fgs::u64 chunks = p_tiles * TILE_CHUNKS;

    for (fgs::u64 i = (fgs::u64)blockIdx.x * blockDim.x + threadIdx.x;
         i < chunks; i += step)
        fgs::store_chunk(p_mid + 16 * i, fgs::sentinels<element>());
}
