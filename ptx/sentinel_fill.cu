/* sentinel_fill.cu -- init: fill a buffer with the sentinel by chunks
 *
 * The twin of sentinel_fill.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_fill.c
 */
#include <fgs/fgs_device.cuh>

#include "role.cuh"

typedef fgs::ELEMENT element;

static_assert(element::fill == FILL && element::sentinel == SENTINEL,
              "the tokens and the header know different sentinels");

extern "C" __global__ void
ENTRY(STEM)(PARAMS)
{
    fgs::u64 step = (fgs::u64)gridDim.x * blockDim.x;
    fgs::u64 chunks = p_tiles * TILE_CHUNKS;

    if (threadIdx.x == 0)
        fgs::note_start(p_stat);
    fgs::trace_start(row_of(p_trace));
    for (fgs::u64 i = (fgs::u64)blockIdx.x * blockDim.x + threadIdx.x;
         i < chunks; i += step)
        fgs::store_chunk(p_mid + 16 * i, fgs::sentinels<element>());
    end_of_block(p_stat, p_trace, 0);
}
