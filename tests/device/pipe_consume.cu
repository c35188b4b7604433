/* pipe_consume.cu -- consumer: a ring of tiles, a warp a role
 *
 * Tokens and parameters of the twins, ENGINE and STAGES.  A block's tiles are
 * every gridDim.x-th one; warp 0 issues, warp 1 retries, the others reverse.
 */
#include <fgs/fgs_device.cuh>

#include "../../ptx/role.cuh"

typedef fgs::ELEMENT element;
typedef fgs::pipe<element, TILE_BYTES, STAGES, fgs::engine::ENGINE> ring;

extern "C" __global__ void __launch_bounds__(THREADS)
fgs_pipe_consume(PARAMS)
{
    extern __shared__ __align__(128) unsigned char tiles[];
    __shared__ ring p;
    const fgs::u32 t = threadIdx.x, warp = t / 32;
    const fgs::u32 mine = (fgs::u32)((p_tiles - blockIdx.x + gridDim.x - 1) /
                                     gridDim.x);
    fgs::limits bound;

    bound.bound_ns = p_bound_ns;
    bound.max_tries = p_max_tries;
    bound.landing_ns = LANDING_NS;
    if (t == 0)
        fgs::note_start(p_stat);
    p.init(THREADS - 64);
    auto at = [=](fgs::u32 i) {
        return ((fgs::u64)blockIdx.x + (fgs::u64)i * gridDim.x);
    };
    if (warp == 0) {
        fgs::u32 i = 0;

        while (i < mine && p.issue(i, tiles, p_mid + at(i) * TILE_BYTES))
            i++;
        p.close();
    } else if (warp == 1) {
        ring::retrier r;

        for (fgs::u32 i = 0; i < mine; i++) {
            fgs::site here = { p_ctl, p_rec, at(i), fgs::role_consumer,
                               p_stat };

            if (!p.retry(r, i, tiles, p_mid + at(i) * TILE_BYTES, bound, here))
                break;
        }
    } else {
        for (fgs::u32 i = 0; i < mine && p.wait(i); i++) {
            for (fgs::u32 c = t - 64; c < TILE_CHUNKS; c += THREADS - 64)
                fgs::chunk_at(p_out + at(i) * TILE_BYTES, c) =
                    fgs::reversed<element>(fgs::chunk_at(
                        p.tile_at(tiles, i), TILE_CHUNKS - 1 - c));
            p.release(i);
        }
    }
    fgs::wait_upstream();
}
