/* consume.cuh -- a consumer by any engine: what the twins of ptx/ share
 *
 * Included behind a typedef `engine`.  A block loads its tile, then writes it
 * backwards; the heads of the .ptx.in files have parameters, launch, memory.
 */
#include "role.cuh"

typedef fgs::ELEMENT element;

static_assert(element::bits == BITS && element::sentinel == SENTINEL &&
                  element::fill == FILL,
              "the tokens and the header know different sentinels");

#if WITH_PRODUCT
typedef fgs::ue8m0 second_element;
#else
typedef element second_element;
#endif

typedef fgs::tile_load<element, TILE_BYTES, THREADS, engine> first_load;
/* Of one input there is no second one; a type has to stand for it. */
typedef fgs::tile_load<second_element, WITH_JOIN ? SECOND_BYTES : TILE_BYTES,
                       THREADS, engine> second_load;

enum : bool {
    waits_for_flags = WITH_JOIN && !fgs::engine_is<engine>::plain,
    by_copies = fgs::engine_is<engine>::report || fgs::engine_is<engine>::bulk
};

/* All threads: an input's tile is there.  Plain by its flag or the grids. */
template <class L>
static __device__ bool take(L &load, unsigned char *tile, const char *from,
                            const fgs::u32 *flag, fgs::u32 round,
                            const fgs::limits &bound, const fgs::site &at)
{
    const fgs::u32 t = threadIdx.x;

    if constexpr (fgs::engine_is<engine>::plain)
        return load.wait_ordered(tile, from, flag, round, bound, at, t);
    else
        return load.wait(tile, from, bound, at, t);
}

/* All threads, of a join that looks for sentinels: an input that has flags is
 * there.  What follows may read it by the async proxy. */
static __device__ bool flag_is_set(const fgs::u32 *flag, fgs::u32 round,
                                   const fgs::limits &bound,
                                   const fgs::site &at)
{
    fgs::u32 code = 0;

    if (!flag)
        return true;
    if (threadIdx.x == 0) {
        fgs::patience p;

        code = fgs::settle_flag(flag, round, p, bound, at);
        if constexpr (by_copies)
            fgs::proxy_fence();
    }
    return !__syncthreads_or((int)code);
}

/* x times its scale; -0, the sentinel, becomes +0. */
static __device__ fgs::u32 scaled(fgs::u32 x, fgs::u32 s)
{
    return fgs::bits_of(__fadd_rn(times_power(x, s), 0.0f));
}

/* Chunk i of the output is the mirrored one, backwards; bits are moved, so NaN
 * payloads stay, but where data are multiplied by their scales. */
static __device__ fgs::chunk result(unsigned char *tile, fgs::u32 i)
{
    const fgs::u32 from = TILE_CHUNKS - 1 - i;
    fgs::chunk c;

    if constexpr (WITH_TURNS)
        c = fgs::chunk_at(tile + i % 2 * TILE_BYTES, from);
    else
        c = fgs::chunk_at(tile, from);
    if constexpr (WITH_PRODUCT) {
        const fgs::u32 s = tile[TILE_BYTES + (from * 16 >> SCALE_SHIFT)];

#pragma unroll
        for (int k = 0; k < 4; k++)
            c.w[k] = scaled(c.w[k], s);
    }
    return fgs::reversed<element>(c);
}

/* All threads: sentinels into what was read, where the plan asks for it; behind
 * the last one the dependent grid may start. */
static __device__ void clear(char *tile, bool last, fgs::u64 chosen)
{
    fgs::fill_tile<element, TILE_BYTES, THREADS>(tile);
    if constexpr (fgs::target::arch >= 900)
        fgs::proxy_fence();
    if ((!WITH_SINK || chosen) && last)
        fgs::publish();
}

/* All threads: tile `item` of the output; false = somebody gave up.  Thread 0
 * counts what was repeated. */
static __device__ bool consume(PARAMS, fgs::u64 item, fgs::u32 &again)
{
    extern __shared__ __align__(128) unsigned char tile[];
    __shared__ first_load load;
    __shared__ second_load more;
    const fgs::u32 t = threadIdx.x;
    const fgs::u64 tile_in = tile_of(p_table, item);
    const fgs::u32 *const flag = p_flags_in ? p_flags_in + tile_in : nullptr;
    const fgs::u32 *const flag2 = p_flags_in2 ? p_flags_in2 + tile_in : nullptr;
    char *const out = p_out + item * TILE_BYTES;
    const fgs::site here = { p_ctl, p_rec, tile_in, ROLE, p_stat };
    const fgs::site there = { p_ctl, p_rec, tile_in, ROLE, p_stat, 1 };
    fgs::limits bound;

    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.eager_tries = EAGER_TRIES;
    bound.nap_ns = NAP_NS;
    bound.landing_ns = LANDING_NS;
    load.init(t);
    if constexpr (WITH_JOIN)
        more.init(t);
    if constexpr (waits_for_flags) {
        if (p_grids)
            fgs::wait_upstream();
        if (!flag_is_set(flag, p_round, bound, here) ||
            !flag_is_set(flag2, p_round, bound, there))
            return false;
    }
    /* Who gave up leaves at once, so that no way leads on to the tile. */
    if (!take(load, tile, p_mid + tile_in * TILE_BYTES, flag, p_round, bound,
              here)) {
        again += (fgs::u32)load.again;
        return false;
    }
    if constexpr (WITH_JOIN) {
        /* The scan of the first tile precedes the copy of the second. */
        if constexpr (by_copies)
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        if (!take(more, tile + TILE_BYTES, p_mid2 + tile_in * SECOND_BYTES,
                  flag2, p_round, bound, there)) {
            again += (fgs::u32)load.again + (fgs::u32)more.again;
            return false;
        }
    }
    if (item == blockIdx.x)
        fgs::trace_ready(row_of(p_trace));
    if (p_clear)
        clear(p_clear + tile_in * TILE_BYTES,
              !WITH_LOOP || item + gridDim.x >= p_tiles, p_trigger);
    work(p_ctl, p_work_ns, p_spread_ns);
    for (fgs::u32 i = t; i < TILE_CHUNKS; i += THREADS) {
        const fgs::chunk c = result(tile, i);

        if constexpr (WITH_RELAY)
            fgs::store_chunk(out + 16ull * i, c);
        else
            fgs::chunk_at(out, i) = c;
    }
    if (p_flags_out)
        fgs::set_flag(p_flags_out + item, p_round, t);
    again += (fgs::u32)load.again + (WITH_JOIN ? (fgs::u32)more.again : 0);
    if constexpr (WITH_LOOP) {
        /* The next copies write, through the async proxy, what all threads
         * have read through the generic one. */
        if constexpr (by_copies)
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        __syncthreads();
        load.end(t);
        if constexpr (WITH_JOIN)
            more.end(t);
    }
    return true;
}

/* A loop or a join keeps more in registers: left to itself ptxas takes 32 and
 * spills.  So many blocks an SM are meant to fit, of 48 registers a thread, or
 * 64.  A loop of a join is told engine.def's number itself: four blocks would
 * leave it 64, and of more than 1024 threads an SM ptxas takes no word for
 * sm_107a. */
#if WITH_LOOP && WITH_JOIN
#define BOUNDS __maxnreg__(56)
#elif WITH_LOOP || WITH_JOIN
#define REGISTERS_OF_LOOP (fgs::engine_is<engine>::bulk ? 64 : 48)
#define BLOCKS_OF_LOOP (65536 / REGISTERS_OF_LOOP / THREADS)
#define BOUNDS                                                                 \
    __launch_bounds__(THREADS, BLOCKS_OF_LOOP > 1024 / THREADS                 \
                                   ? 1024 / THREADS                            \
                                   : BLOCKS_OF_LOOP)
#else
#define BOUNDS __launch_bounds__(THREADS)
#endif

extern "C" __global__ void BOUNDS
ENTRY(STEM)(PARAMS)
{
    const fgs::u64 step = gridDim.x;
    fgs::u32 again = 0;

    open_early(p_clear, p_trigger);
    if (blockIdx.x < p_tiles) {
        if (threadIdx.x == 0)
            fgs::note_start(p_stat);
        fgs::trace_start(row_of(p_trace));
        fill_own<element>(p_out, p_tiles, p_clear);
        /* see scale_produce.cu for the break */
        for (fgs::u64 i = blockIdx.x; i < p_tiles; i += step) {
            if (!consume(ARGUMENTS, i, again) || !WITH_LOOP)
                break;
        }
        end_of_block(p_stat, p_trace, p_trace ? again + 1 : 0);
    }
    fgs::wait_upstream();
}
