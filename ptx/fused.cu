/* fused.cu -- producer and consumer blocks in one persistent kernel
 *
 * The twin of fused.ptx.in: its head has parameters, launch, memory.  A warp
 * scans what a bulk copy brought, where the template has all threads do it.
 * mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

#define ENTRY_OF(stem) fgs_##stem
#define ENTRY(stem) ENTRY_OF(stem)

typedef fgs::f32 element;

/* Thread 0 waits until the tile was consumed as often as it was made. */
static __device__ fgs::u32 wait_free(const fgs::u32 *ready, fgs::u32 round,
                                     const fgs::limits &bound,
                                     const fgs::site &at)
{
    fgs::patience p;

    p.begin();
    for (p.tries = 1;; p.tries++) {
        fgs::u32 flag, code;

        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(flag)
                     : "l"(fgs::to_global(ready))
                     : "memory");
        if (flag >= round)
            return fgs::giveup_none;
        code = p.verdict(bound, fgs::aborted(at.control));
        if (code && code != fgs::giveup_other)
            fgs::give_up(at, code, fgs::no_chunk, fgs::chunk{}, p.tries,
                         p.spent);
        if (code)
            return code;
        p.nap(bound);
    }
}

/* The tile in shared memory, without sentinels; called by all. */
static __device__ fgs::u32 load(unsigned char *tile, const char *from,
                                fgs::u64 &bar, fgs::u32 &phase,
                                fgs::u64 &again, const fgs::limits &bound,
                                const fgs::site &at)
{
    const fgs::u32 t = threadIdx.x;
    fgs::u32 code = fgs::giveup_none;
    fgs::patience p;

    p.begin();
    if constexpr (WITH_POLL) {
        code = fgs::poll_tile<element, TILE_BYTES, THREADS>(tile, from, again,
                                                            p, bound, at, t);
    } else if (t < (WITH_REPORT ? 1 : 32)) {
        p.tries = 1;
        if constexpr (WITH_REPORT) {
            typedef fgs::engine::report engine;

            fgs::issue_tile<element, TILE_BYTES, engine>(bar, tile, from);
            code = fgs::settle_report<element, TILE_BYTES>(
                bar, tile, from, phase, p, bound, at);
        } else {
            typedef fgs::engine::bulk engine;

            if (t == 0)
                fgs::issue_tile<element, TILE_BYTES, engine>(bar, tile, from);
            code = fgs::settle_scan<element, TILE_BYTES, engine>(
                bar, tile, from, phase, p, bound, at);
        }
        again += t == 0 ? p.tries - 1 : 0;
    }
    return __syncthreads_or((int)code);
}

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(const char *p_in, char *p_mid, char *p_out, fgs::u64 p_out_step,
            fgs::u64 p_tiles, fgs::u32 *p_ready, fgs::ctl *p_ctl,
            fgs::rec *p_rec, fgs::stat *p_stat, fgs::stat *p_made,
            fgs::u64 p_bound_ns, fgs::u64 p_max_tries, fgs::u64 p_work_ns,
            fgs::u32 p_rounds, fgs::u32 p_producers)
{
    extern __shared__ __align__(128) unsigned char tile[];
    __shared__ fgs::u64 bar;
    __shared__ unsigned long long repeated;
    const fgs::u32 t = threadIdx.x, b = blockIdx.x;
    const bool makes = b < p_producers;
    const fgs::u64 step = makes ? p_producers : gridDim.x - p_producers;
    fgs::u32 code = 0, phase = 0;
    fgs::u64 again = 0;
    fgs::limits bound;

    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.eager_tries = EAGER_TRIES;
    bound.nap_ns = NAP_NS;
    bound.landing_ns = LANDING_NS;
    if (t == 0) {
        repeated = 0;
        if constexpr (WITH_REPORT)
            fgs::barrier_init_v1(bar, 1);
        else if constexpr (WITH_SCAN)
            fgs::barrier_init(bar, 1);
        if (!makes)
            fgs::note_start(p_stat);
    }
    code = __syncthreads_or(fgs::aborted(p_ctl));
    for (fgs::u32 round = 0; !code && round < p_rounds; round++) {
        for (fgs::u64 k = makes ? b : b - p_producers; !code && k < p_tiles;
             k += step) {
            const fgs::site here = { p_ctl, p_rec, k,
                                     makes ? fgs::role_producer
                                           : fgs::role_consumer,
                                     p_stat, round };
            char *mine = p_mid + k * TILE_BYTES;

            if (makes) {
                const fgs::u64 from = (k + (p_rounds - 1 - round) % p_tiles) %
                                      p_tiles;
                fgs::u64 start;

                if (t == 0)
                    code = wait_free(p_ready + k, round, bound, here);
                code = __syncthreads_or((int)code);
                start = fgs::now_ns();
                while (!code && fgs::now_ns() - start < p_work_ns)
                    ;
                for (fgs::u32 i = t; !code && i < TILE_CHUNKS; i += THREADS) {
                    const float4 v = ((const float4 *)(p_in + from *
                                                       TILE_BYTES))[i];
                    const float twice[] = { v.x + v.x, v.y + v.y, v.z + v.z,
                                            v.w + v.w };

                    fgs::store_chunk(mine + 16 * i,
                                     fgs::pack<element>(twice));
                }
                continue;
            }
            code = load(tile, mine, bar, phase, again, bound, here);
            if (code)
                break;
            for (fgs::u32 i = t; i < TILE_CHUNKS; i += THREADS)
                fgs::chunk_at(p_out + round * p_out_step + k * TILE_BYTES, i) =
                    fgs::reversed<element>(
                        fgs::chunk_at(tile, TILE_CHUNKS - 1 - i));
            /* The last reader fills the tile again, then lets the producer
             * on. */
            fgs::fill_tile<element, TILE_BYTES, THREADS>(mine, t);
            if constexpr (WITH_COPY)
                fgs::proxy_fence();
            __syncthreads();
            if (t == 0)
                asm volatile("st.release.gpu.global.u32 [%0], %1;"
                             :
                             : "l"(fgs::to_global(p_ready + k)),
                               "r"(round + 1)
                             : "memory");
        }
    }
    if (again)
        atomicAdd(&repeated, again);
    __syncthreads();
    if (t == 0 && makes)
        fgs::note_end(p_made);
    if (t == 0 && !makes)
        fgs::note_again(p_stat, repeated);
}
