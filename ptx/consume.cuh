/* consume.cuh -- a consumer by any engine: what the twins of ptx/ share
 *
 * Included behind a typedef `engine`.  A block loads its tile, then writes it
 * backwards; the heads of the .ptx.in files have parameters, launch, memory.
 */
#include "role.cuh"

#if WITH_PRODUCT
#error "fgs: a join of data and scales is in the PTX alone"
#endif

typedef fgs::ELEMENT element;

static_assert(element::bits == BITS && element::sentinel == SENTINEL &&
                  element::fill == FILL,
              "the tokens and the header know different sentinels");

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(PARAMS)
{
    extern __shared__ __align__(128) unsigned char tile[];
    __shared__ fgs::tile_load<element, TILE_BYTES, THREADS, engine> load;
    const fgs::u32 t = threadIdx.x;
    const fgs::u64 tile_in = blockIdx.x < p_tiles ? tile_of(p_table) : 0;
    const char *const from = p_mid + tile_in * TILE_BYTES;
    char *const out = p_out + (fgs::u64)blockIdx.x * TILE_BYTES;
    const fgs::site here = { p_ctl, p_rec, tile_in, ROLE,
                             p_stat };
    fgs::trace *const row = row_of(p_trace);
    fgs::limits bound;
    bool valid;

    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.eager_tries = EAGER_TRIES;
    bound.nap_ns = NAP_NS;
    bound.landing_ns = LANDING_NS;
    open_early(p_clear, p_trigger);
    if (blockIdx.x < p_tiles) {
        if (t == 0)
            fgs::note_start(p_stat);
        fgs::trace_start(row);
        fill_own<element>(out, p_clear);
        load.init(t);
        if constexpr (fgs::engine_is<engine>::plain)
            valid = load.wait_ordered(
                tile, from, p_flags_in ? p_flags_in + tile_in : nullptr,
                p_round, bound, here, t);
        else
            valid = load.wait(tile, from, bound, here, t);
        if (valid) {
            fgs::trace_ready(row);
            if (p_clear) {
                fgs::fill_tile<element, TILE_BYTES, THREADS>(
                    p_clear + tile_in * TILE_BYTES);
                if constexpr (fgs::target::arch >= 900)
                    fgs::proxy_fence();
                if (!WITH_SINK || p_trigger)
                    fgs::publish();
            }
            work(p_ctl, p_work_ns, p_spread_ns);
            /* My chunks of the output are the mirrored ones, backwards; bits
             * are moved, so NaN payloads stay. */
            for (fgs::u32 i = t; i < TILE_CHUNKS; i += THREADS) {
                const fgs::chunk c = fgs::reversed<element>(
                    fgs::chunk_at(tile, TILE_CHUNKS - 1 - i));

                if constexpr (WITH_RELAY)
                    fgs::store_chunk(out + 16ull * i, c);
                else
                    fgs::chunk_at(out, i) = c;
            }
            if (p_flags_out)
                fgs::set_flag(p_flags_out + blockIdx.x, p_round, t);
        }
        end_of_block(p_stat, p_trace, row ? (fgs::u32)load.again + 1 : 0);
    }
    fgs::wait_upstream();
}
