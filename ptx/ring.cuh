/* ring.cuh -- a consumer with a ring of stages: what the twins of ptx/ share
 *
 * Included behind a typedef `ring`, an fgs::pipe.  Warp 0 loads, warp 1
 * retries, the others write tiles, or their products with a stage's scales,
 * backwards; the heads of the .ptx.in files have parameters, launch, memory.
 */
#include "role.cuh"

static_assert(element::bits == BITS && element::sentinel == SENTINEL &&
                  element::fill == FILL,
              "the tokens and the header know different sentinels");
static_assert(THREADS >= 96, "a warp to load, one to retry, one to compute");

#if WITH_SCALED
typedef fgs::two_operands<fgs::ue8m0, SCALE_BYTES> source;

static __device__ source source_of(const char *mid, const char *mid2,
                                   fgs::u64 k)
{
    return { mid + k * TILE_BYTES, mid2 + k * SCALE_BYTES };
}
#else
static __device__ const char *source_of(const char *mid, const char *,
                                        fgs::u64 k)
{
    return mid + k * TILE_BYTES;
}
#endif

/* Chunk i of the output is the mirrored one of a stage, backwards. */
static __device__ fgs::chunk result(void *stage, fgs::u32 i)
{
    const fgs::u32 from = TILE_CHUNKS - 1 - i;
    fgs::chunk c = fgs::chunk_at(stage, from);

#if WITH_SCALED
    const fgs::u32 s = ((const unsigned char *)stage)[TILE_BYTES + from];

#pragma unroll
    for (int k = 0; k < 4; k++)
        c.w[k] = fgs::bits_of(times_power(c.w[k], s));
#endif
    return fgs::reversed<element>(c);
}

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(PARAMS)
{
    extern __shared__ __align__(128) unsigned char tiles[];
    __shared__ ring p;
    const fgs::u32 t = threadIdx.x, warp = t / 32;
    const fgs::u64 step = gridDim.x;
    fgs::limits bound;
    fgs::u32 stages, i = 0;
    fgs::u64 k = blockIdx.x;

    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(stages));
    stages /= STAGE_BYTES;
    stages = stages > STAGES_MOST ? STAGES_MOST : stages ? stages : 1;
    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.nap_ns = NAP_LAST_NS;
    bound.first_ns = NAP_FIRST_NS;
    bound.landing_ns = LANDING_NS;
    if (t == 0)
        fgs::note_start(p_stat);
    fgs::trace_start(row_of(p_trace));
    /* One arrival stands for a compute warp. */
    p.init(WORKER_WARPS, t, stages, p_ctl);
    if (warp == 0) {
        while (k < p_tiles &&
               p.issue(i, tiles, source_of(p_mid, p_mid2, k))) {
            k += step;
            i++;
        }
        p.close();
    } else if (warp == 1) {
        ring::retrier r;

        for (; k < p_tiles; k += step, i++) {
            fgs::site here = { p_ctl, p_rec, k, fgs::role_consumer,
                               p_stat };

            if (!p.retry(r, i, tiles, source_of(p_mid, p_mid2, k), bound,
                         here))
                break;
        }
    } else {
        for (; k < p_tiles && p.wait(i); k += step, i++) {
            if (t == 64 && i == 0)
                fgs::trace_ready(p_trace ? p_trace + blockIdx.x : nullptr);
            for (fgs::u32 c = t - 64; c < TILE_CHUNKS; c += WORKERS)
                fgs::chunk_at(p_out + k * TILE_BYTES, c) =
                    result(p.tile_at(tiles, i), c);
            p.release_warp(i);
        }
    }
    end_of_block(p_stat, p_trace, p.again + 1);
    fgs::wait_upstream();
}
