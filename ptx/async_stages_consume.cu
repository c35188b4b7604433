/* async_stages_consume.cu -- consumer: cp.async, more tiles on their way
 *
 * The twin of async_stages_consume.ptx.in: its head has parameters, launch,
 * memory.  mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>
#include "role.cuh"

typedef fgs::ELEMENT element;

static_assert(element::bits == BITS && element::sentinel == SENTINEL &&
                  element::fill == FILL,
              "the tokens and the header know different sentinels");

/* My chunks of a tile, closed to a group; behind the last tile it is empty. */
FGS_FN void fill(unsigned char *stage, const char *from, fgs::u32 t, bool is)
{
    for (fgs::u32 i = t; is && i < TILE_CHUNKS; i += THREADS)
        fgs::copy_async(&fgs::chunk_at(stage, i), from + 16ull * i);
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/* My chunks have landed once; copy those again that hold a sentinel, until
 * none does.  giveup_none, or why not. */
FGS_FN fgs::u32 settle(unsigned char *stage, const char *from, fgs::u32 &again,
                       const fgs::limits &bound, const fgs::site &at,
                       fgs::u32 t)
{
    fgs::patience p;

    p.begin();
    for (p.tries = 1;; p.tries++, again++) {
        fgs::u32 bad = fgs::no_chunk, code;
        fgs::chunk bits = {};

        for (fgs::u32 i = t; i < TILE_CHUNKS; i += THREADS) {
            const fgs::chunk c = fgs::chunk_at(stage, i);

            if (!fgs::holds_sentinel<element>(c))
                continue;
            fgs::copy_async(&fgs::chunk_at(stage, i), from + 16ull * i);
            if (bad == fgs::no_chunk)
                bits = c, bad = i;
        }
        if (bad == fgs::no_chunk)
            return fgs::giveup_none;
        code = p.verdict(bound, fgs::aborted(at.control));
        if (code) {
            fgs::give_up_global<element>(from, bad, bits, code, p, at);
            return code;
        }
        p.nap(bound);
        asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;"
                     :
                     :
                     : "memory");
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(PARAMS)
{
    extern __shared__ __align__(128) unsigned char tiles[];
    __shared__ unsigned long long count;
    const fgs::u32 t = threadIdx.x;
    fgs::u32 again = 0, code = 0;
    fgs::limits bound;

    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.eager_tries = EAGER_TRIES;
    bound.nap_ns = NAP_NS;
    if (t == 0) {
        count = 0;
        if (blockIdx.x < p_tiles) {
            fgs::note_start(p_stat);
            fgs::trace_start(row_of(p_trace));
        }
    }
    if (__syncthreads_or(blockIdx.x >= p_tiles || fgs::aborted(p_ctl))) {
        fgs::wait_upstream();
        return;
    }
    for (fgs::u32 k = 0; k < KEEP_GROUPS; k++) {
        const fgs::u64 next = blockIdx.x + (fgs::u64)k * gridDim.x;

        fill(tiles + k * TILE_BYTES, p_mid + next * TILE_BYTES, t,
             next < p_tiles);
    }
    for (fgs::u32 k = 0; !code; k++) {
        const fgs::u64 tile = blockIdx.x + (fgs::u64)k * gridDim.x;
        const fgs::u64 next = tile + (fgs::u64)KEEP_GROUPS * gridDim.x;
        const fgs::u64 at = tile * TILE_BYTES;
        unsigned char *stage = tiles + k % STAGES * TILE_BYTES;
        const fgs::site here = { p_ctl, p_rec, tile, fgs::role_consumer,
                                 p_stat, k % STAGES };

        if (tile >= p_tiles)
            break;
        fill(tiles + (k + KEEP_GROUPS) % STAGES * TILE_BYTES,
             p_mid + next * TILE_BYTES, t, next < p_tiles);
        asm volatile("cp.async.wait_group %0;" : : "n"(KEEP_GROUPS) : "memory");
        code = settle(stage, p_mid + at, again, bound, here, t);
        /* First barrier: all chunks are there, or somebody gave up. */
        code = __syncthreads_or((int)code);
        if (!code)
            fgs::trace_ready(row_of(p_trace));
        for (fgs::u32 i = t; !code && i < TILE_CHUNKS; i += THREADS)
            fgs::chunk_at(p_out + at, i) = fgs::reversed<element>(
                fgs::chunk_at(stage, TILE_CHUNKS - 1 - i));
        /* Second barrier: the stage may be filled again. */
        __syncthreads();
    }
    asm volatile("cp.async.wait_all;" : : : "memory");
    if (again)
        atomicAdd(&count, again);
    __syncthreads();
    if (t == 0)
        fgs::note_again(p_stat, count);
    end_of_block(p_stat, p_trace, (fgs::u32)count + 1);
    fgs::wait_upstream();
}
