/* histogram.cu -- privatized histogram of a buffer that fills while it runs
 *
 * The twin of histogram.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_histogram.c
 */
#include <fgs/fgs_device.cuh>
#include "role.cuh"

#define TEXT_OF(word) #word
#define TEXT(word) TEXT_OF(word)

/* Bins, then below, above, NaN. */
static __device__ fgs::u32 slot_of(float v, float width, fgs::u32 bins)
{
    const float q = __fdiv_rn(v, width);

    if (v != v)
        return bins + 2;
    if (v < 0)
        return bins;
    return q >= (float)bins ? bins + 1 : (fgs::u32)q;
}

/* The histogram's slot gets one more: of the block, or of all. */
static __device__ void count(fgs::u32 *own, fgs::u64 *all, fgs::u32 slot)
{
    if constexpr (WITH_SHARED)
        asm volatile("red.relaxed.cta.shared::cta.add.u32 [%0], 1;"
                     :
                     : "r"(fgs::to_shared(own + slot))
                     : "memory");
    else if constexpr (WITH_GLOBAL)
        asm volatile("red.relaxed." TEXT(SCOPE) ".global.add.u32 [%0], 1;"
                     :
                     : "l"(fgs::to_global(own + slot))
                     : "memory");
    else
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], 1;"
                     :
                     : "l"(fgs::to_global(all + slot))
                     : "memory");
}

/* Load a chunk until it is valid.  giveup_none, or why not. */
static __device__ fgs::u32 wait(const char *mid, fgs::u64 at, fgs::chunk &c,
                                fgs::u32 &again, const fgs::limits &bound,
                                const fgs::site &here)
{
    fgs::patience p;

    p.begin();
    for (p.tries = 1;; p.tries++, again++) {
        fgs::u32 code;

        c = fgs::load_chunk(mid + 16 * at);
        if (!fgs::holds_sentinel<fgs::f32>(c))
            return fgs::giveup_none;
        code = p.verdict(bound, fgs::aborted(here.control));
        if (code && code != fgs::giveup_other)
            fgs::give_up(here, code, (fgs::u32)(at % TILE_CHUNKS), c, p.tries,
                         p.spent);
        if (code)
            return code;
        p.nap(bound);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(const char *p_mid, fgs::u64 p_count, fgs::u64 *p_hist,
            fgs::u32 *p_private, fgs::ctl *p_ctl, fgs::rec *p_rec,
            fgs::stat *p_stat, fgs::trace *p_trace, fgs::u64 p_bound_ns,
            fgs::u64 p_max_tries, fgs::u32 p_bins, float p_width)
{
    extern __shared__ __align__(16) fgs::u32 hist[];
    __shared__ fgs::u32 repeated;
    const fgs::u32 t = threadIdx.x, slots = p_bins + 3;
    const fgs::u64 step = (fgs::u64)gridDim.x * THREADS;
    const fgs::u64 chunks = (p_count + 3) / 4;
    fgs::u32 *own = WITH_SHARED ? hist
                                : p_private + (fgs::u64)blockIdx.x * slots;
    fgs::u32 again = 0, code = 0;
    fgs::limits bound;

    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.eager_tries = EAGER_TRIES;
    bound.nap_ns = NAP_NS;
    if (t == 0) {
        fgs::note_start(p_stat);
        repeated = 0;
    }
    fgs::trace_start(row_of(p_trace));
    for (fgs::u32 i = t; WITH_PRIVATE && i < slots; i += THREADS)
        own[i] = 0;
    /* First barrier: all slots are zero before anybody counts. */
    if (__syncthreads_or(fgs::aborted(p_ctl)))
        code = fgs::giveup_other;
    for (fgs::u64 at = (fgs::u64)blockIdx.x * THREADS + t;
         !code && at < chunks; at += step) {
        const fgs::site here = { p_ctl, p_rec, at / TILE_CHUNKS,
                                 fgs::role_consumer, p_stat };
        const fgs::u64 left = p_count - 4 * at;
        fgs::chunk c;

        code = wait(p_mid, at, c, again, bound, here);
        for (fgs::u32 i = 0; !code && i < 4 && i < left; i++)
            count(own, p_hist,
                  slot_of(__uint_as_float(c.w[i]), p_width, p_bins));
    }
    if (again)
        atomicAdd(&repeated, again);
    /* Second barrier: all of the block's values are counted. */
    code = __syncthreads_or((int)code);
    for (fgs::u32 i = t; WITH_PRIVATE && !code && i < slots; i += THREADS)
        if (own[i])
            atomicAdd((unsigned long long *)p_hist + i,
                      (unsigned long long)own[i]);
    if (t == 0)
        fgs::note_again(p_stat, repeated);
    end_of_block(p_stat, p_trace, repeated + 1);
    fgs::wait_upstream();
}
