/* role.cuh -- entry and parameters of the twins, param.def in CUDA C++ */
#define ENTRY_OF(stem) fgs_##stem
#define ENTRY(stem) ENTRY_OF(stem)

#define PARAMS                                                                 \
    const float *p_in, char *p_mid, char *p_out, fgs::u64 p_tiles,             \
        fgs::ctl *p_ctl, fgs::rec *p_rec, fgs::stat *p_stat,                   \
        fgs::trace *p_trace, const fgs::u32 *p_flags_in,                       \
        fgs::u32 *p_flags_out, const fgs::u32 *p_table, char *p_clear,         \
        fgs::u64 p_bound_ns, fgs::u64 p_max_tries, fgs::u64 p_work_ns,         \
        fgs::u64 p_spread_ns, char *p_mid2, const fgs::u32 *p_flags_in2,       \
        fgs::u64 p_trigger, fgs::u64 p_fault_tile, fgs::u32 p_fault_chunk,     \
        fgs::u32 p_round, fgs::u32 p_grids

#define ARGUMENTS                                                              \
    p_in, p_mid, p_out, p_tiles, p_ctl, p_rec, p_stat, p_trace, p_flags_in,    \
        p_flags_out, p_table, p_clear, p_bound_ns, p_max_tries, p_work_ns,     \
        p_spread_ns, p_mid2, p_flags_in2, p_trigger, p_fault_tile,             \
        p_fault_chunk, p_round, p_grids

/* Thread 0's row of the trace. */
static __device__ fgs::trace *row_of(fgs::trace *rows)
{
    return rows && threadIdx.x == 0 ? rows + blockIdx.x : nullptr;
}

/* The tile that the block reads (a producer: and writes). */
static __device__ fgs::u64 tile_of(const fgs::u32 *table,
                                   fgs::u64 i = blockIdx.x)
{
    fgs::u32 tile;

    if (!table)
        return i;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(tile)
                 : "l"(fgs::to_global(table + i)));
    return tile;
}

/* x times the ue8m0 scale s, 2^(s - 127), rounded once; 0xff is a NaN: who does
 * not wait for scales may find one. */
static __device__ float times_power(fgs::u32 x, fgs::u32 s)
{
    const fgs::u32 power = s ? s << 23 : 0x00400000;

    return fgs::mul_rn(__uint_as_float(x),
                       __uint_as_float(s == 0xff ? 0x7fffffff : power));
}

/* All threads, extra time for trials: p_work_ns, and of p_spread_ns the part
 * that a hash of the block's index makes of it.  Thread 0 spends it, the block
 * waits for it; an abort ends it. */
static __device__ void work(const fgs::ctl *c, fgs::u64 ns, fgs::u64 spread)
{
    fgs::u32 hash = blockIdx.x * 0x9e3779b9u;
    fgs::u64 start, spent = 0;

    hash ^= hash >> 16;
    ns += __umul64hi((fgs::u64)hash << 32, spread);
    if (!ns)
        return;
    if (threadIdx.x == 0) {
        start = fgs::now_ns();
        for (; spent < ns && !fgs::aborted(c); spent = fgs::now_ns() - start)
            __nanosleep(ns - spent < NAP_NS ? (fgs::u32)(ns - spent) : NAP_NS);
    }
    __syncthreads();
}

/* The beginning of a kernel whose output was filled before: the dependent grid
 * may start, but for one that clears something first; a consumer's where the
 * plan chose it.  With 2 a fence hands on what a grid before filled. */
static __device__ void open_early(const char *clear, fgs::u64 chosen)
{
    if (!WITH_EARLY || clear || threadIdx.x != 0 ||
        (WITH_SINK && !chosen))
        return;
    if (chosen > 1)
        fgs::hand_on();
    else
        fgs::trigger();
}

/* All threads: the block fills its own tiles, then triggers (4.6.4.2); with
 * something to clear the trigger stands behind that. */
template <class E>
static __device__ void fill_own(char *out, fgs::u64 tiles, const char *clear)
{
    if constexpr (WITH_SELF) {
        for (fgs::u64 i = blockIdx.x; i < tiles; i += gridDim.x) {
            fgs::fill_tile<E, TILE_BYTES, THREADS>(out + i * TILE_BYTES);
            if (!WITH_LOOP)
                break;
        }
        if (clear)
            __syncthreads();
        else
            fgs::publish<WITH_BULK ? fgs::results::by_bulk
                                   : fgs::results::by_chunk>();
    }
}

/* All threads, behind the block's last store. */
static __device__ void end_of_block(fgs::stat *stats, fgs::trace *rows,
                                    fgs::u32 tries)
{
    if (!stats && !rows)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        fgs::note_end(stats);
    fgs::trace_end(row_of(rows), tries);
}
