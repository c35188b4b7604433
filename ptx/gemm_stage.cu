/* gemm_stage.cu -- 64x16 tiles of a product: full and empty barriers
 *
 * The twin of gemm_stage.ptx.in: its head has parameters, launch, memory.  The
 * ring is fgs::pipe where the input holds sentinels, else `turns` below, which
 * has its calls.  mirror: src/core/ref_gemm.c
 */
#include "product.cuh"

typedef fgs::f16 element;
typedef fgs::tensor_box<256> box;

enum : fgs::u32 { COPIERS = 128, BOX = 16384, COLUMN_STEP = 4096 };

/* A ring whose boxes are there when their bytes are: nobody looks at them. */
struct turns {
    struct retrier {};

    fgs::u64 full[STAGES_MOST], empty[STAGES_MOST];
    fgs::u32 ring;

    __device__ void init(fgs::u32 arrivals, fgs::u32 t, fgs::u32 stages,
                         const fgs::ctl *)
    {
        if (t == 0) {
            for (fgs::u32 s = 0; s < STAGES_MOST; s++) {
                fgs::barrier_init(full[s], 1);
                fgs::barrier_init(empty[s], arrivals);
            }
            ring = stages;
            /* what the tensor copies' proxy will see of the barriers */
            asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
        }
        __syncthreads();
    }

    /* Warp 0.  Before the first box of a stage nobody has it. */
    __device__ bool issue(fgs::u32 i, void *tiles, const box &from)
    {
        fgs::u32 s = i % ring;

        while (i >= ring && !fgs::barrier_done(empty[s], i / ring - 1))
            ;
        __syncwarp();
        if (threadIdx.x == 0)
            fgs::issue_tile<element, BOX, fgs::engine::bulk_weak>(
                full[s], (char *)tiles + s * BOX, from);
        __syncwarp();
        return true;
    }

    __device__ void close() {}

    /* Nobody's role here. */
    __device__ bool retry(retrier &, fgs::u32, void *, const box &,
                          const fgs::limits &, const fgs::site &)
    {
        return false;
    }

    __device__ bool wait(fgs::u32 i)
    {
        while (!fgs::barrier_done(full[i % ring], i / ring))
            ;
        return true;
    }

    __device__ void *tile_at(void *tiles, fgs::u32 i) const
    {
        return (char *)tiles + i % ring * BOX;
    }

    /* The box is used: one arrival a warp, or of each thread. */
    __device__ void release_warp(fgs::u32 i)
    {
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        if (WITH_WARP)
            __syncwarp();
        if (WITH_THREAD || threadIdx.x % 32 == 0)
            fgs::barrier_arrive(empty[i % ring]);
    }
};

template <bool Report> struct engine_by {
    typedef fgs::engine::bulk_weak type;
};
template <> struct engine_by<true> {
    typedef fgs::engine::report type;
};
template <bool Sentinel> struct ring_of {
    typedef turns type;
};
template <> struct ring_of<true> {
    typedef fgs::pipe<element, BOX, STAGES_MOST, engine_by<WITH_REPORT>::type,
                      1, false, true> type;
};
typedef ring_of<WITH_SENTINEL>::type ring;

/* What the block's tiles are, for each role. */
struct shape {
    fgs::u32 rows, columns, steps;

    __device__ fgs::u32 items() const { return rows * columns; }

    __device__ box from(const void *map, const char *in, fgs::u32 item,
                        fgs::u32 k) const
    {
        const fgs::u32 y = item / columns * 64;

        return { map, k * 128, y,
                 in + (fgs::u64)y * (steps * 256) + k * 256, steps * 256 };
    }
};

/* Warp 0 fills stages; its first lane issues. */
static __device__ void fill(ring &p, void *tiles, const shape &s,
                            const void *map, const char *in)
{
    fgs::u32 i = 0;
    bool go = true;

    for (fgs::u32 item = blockIdx.x; go && item < s.items(); item += gridDim.x)
        for (fgs::u32 k = 0; go && k < s.steps; k++, i++)
            go = p.issue(i, tiles, s.from(map, in, item, k));
    p.close();
}

/* Warp 1 sees them land; a tile of the record is a box. */
static __device__ void look_after(ring &p, void *tiles, const shape &s,
                                  const void *map, const char *in,
                                  const fgs::limits &bound, fgs::site here)
{
    ring::retrier r;
    fgs::u32 i = 0;
    bool go = true;

    for (fgs::u32 item = blockIdx.x; go && item < s.items(); item += gridDim.x)
        for (fgs::u32 k = 0; go && k < s.steps; k++, i++) {
            here.tile = (fgs::u64)(item / s.columns) * s.steps + k;
            go = p.retry(r, i, tiles, s.from(map, in, item, k), bound, here);
        }
}

/* Extra time, for trials. */
static __device__ void work(fgs::u64 ns)
{
    const fgs::u64 start = fgs::now_ns();

    while (ns && fgs::now_ns() - start < ns)
        __nanosleep(NAP_LAST_NS);
}

/* Four warps, 16 rows of the box each. */
static __device__ bool multiply(ring &p, void *tiles, const shape &s,
                                const char *weights, char *out, fgs::u64 ns,
                                fgs::u64 leak)
{
    const fgs::u32 lane = threadIdx.x % 32;
    product<WITH_WGMMA> c;
    fgs::u32 i = 0;

    c.init(threadIdx.x - COPIERS);
    for (fgs::u32 item = blockIdx.x; item < s.items(); item += gridDim.x) {
        const fgs::u32 row = item / s.columns, column = item % s.columns;
        const char *own = weights + lane * 16 +
                          (fgs::u64)column * s.steps * COLUMN_STEP;

        c.clear();
        for (fgs::u32 k = 0; k < s.steps; k++, i++) {
            /* what does not depend on the box comes before the wait for it */
            c.load(own + (fgs::u64)k * COLUMN_STEP);
            if (!p.wait(i))
                return false;
            c.add(p.tile_at(tiles, i));
            p.release_warp(i);
        }
        work(ns);
        {
            const fgs::u64 at = (fgs::u64)(row * 64 + c.row()) *
                                    (s.columns * 32) +
                                column * 32 + c.half() * 16;

            const fgs::chunk mine = c.chunk_of_mine();

            if (at != leak)
                fgs::store_chunk(out + at, mine);
        }
    }
    return true;
}

extern "C" __global__ void __launch_bounds__(256, WITH_REGS ? 4 : 1)
ENTRY(STEM)(const void *p_map, const char *p_in, const char *p_weights,
            char *p_out, fgs::u32 p_rows, fgs::u32 p_columns,
            fgs::u32 p_steps, fgs::ctl *p_ctl, fgs::rec *p_rec,
            fgs::stat *p_stat, fgs::u64 p_bound_ns, fgs::u64 p_max_tries,
            fgs::u64 p_work_ns, fgs::u64 p_leak)
{
    extern __shared__ __align__(128) unsigned char tiles[];
    __shared__ ring p;
    const fgs::u32 t = threadIdx.x;
    const shape s = { p_rows, p_columns, p_steps };
    fgs::limits bound;
    fgs::u32 stages;

    fgs::trigger();
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(stages));
    stages /= BOX;
    stages = stages > STAGES_MOST ? STAGES_MOST : stages ? stages : 1;
    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.nap_ns = NAP_LAST_NS;
    bound.first_ns = NAP_FIRST_NS;
    bound.landing_ns = LANDING_NS;
    if (t == 0 && blockIdx.x < s.items())
        fgs::note_start(p_stat);
    p.init(WITH_SENTINEL ? ARRIVALS - 1 : ARRIVALS, t, stages, p_ctl);
    if (t < COPIERS) {
        if constexpr (WITH_REGS)
            asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t < 32)
            fill(p, tiles, s, p_map, p_in);
        else if (WITH_SENTINEL && t < 64)
            look_after(p, tiles, s, p_map, p_in, bound,
                       { p_ctl, p_rec, 0, fgs::role_consumer, p_stat });
    } else {
        if constexpr (WITH_REGS)
            asm volatile("setmaxnreg.inc.sync.aligned.u32 88;");
        if (multiply(p, tiles, s, p_weights, p_out, p_work_ns, p_leak) &&
            p_stat && blockIdx.x < s.items()) {
            meet();
            if (t == COPIERS)
                fgs::note_end(p_stat);
        }
    }
    fgs::wait_upstream();
}
