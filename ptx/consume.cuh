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

extern "C" __global__ void __launch_bounds__(THREADS)
ENTRY(STEM)(PARAMS)
{
    extern __shared__ __align__(128) unsigned char tile[];
    __shared__ fgs::tile_load<element, TILE_BYTES, THREADS, engine> load;
    const fgs::u32 t = threadIdx.x;
    const fgs::u64 at = (fgs::u64)blockIdx.x * TILE_BYTES;
    const fgs::site here = { p_ctl, p_rec, blockIdx.x, fgs::role_consumer,
                             p_stat };
    fgs::trace *const row = row_of(p_trace);
    fgs::limits bound;

    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.eager_tries = EAGER_TRIES;
    bound.nap_ns = NAP_NS;
    bound.landing_ns = LANDING_NS;
    if (blockIdx.x < p_tiles) {
        if (t == 0)
            fgs::note_start(p_stat);
        fgs::trace_start(row);
        load.init(t);
        /* My chunks of the output are the mirrored ones, backwards; bits are
         * moved, so NaN payloads stay. */
        if (load.wait(tile, p_mid + at, bound, here, t)) {
            fgs::trace_ready(row);
            for (fgs::u32 i = t; i < TILE_CHUNKS; i += THREADS)
                fgs::chunk_at(p_out + at, i) = fgs::reversed<element>(
                    fgs::chunk_at(tile, TILE_CHUNKS - 1 - i));
        }
        end_of_block(p_stat, p_trace, row ? (fgs::u32)load.again + 1 : 0);
    }
    fgs::wait_upstream();
}
