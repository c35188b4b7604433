/* publish_produce.cu -- producer that fills its own tile before it triggers
 *
 * Tokens and parameters of the twins.  Only then it takes p_work_ns and puts
 * the results in place of the sentinels, by chunks or by a bulk copy.
 */
#include <fgs/fgs_device.cuh>

#include "../../ptx/role.cuh"

typedef fgs::ELEMENT element;

extern "C" __global__ void __launch_bounds__(THREADS)
fgs_publish_produce(PARAMS)
{
    extern __shared__ __align__(128) unsigned char tile[];
    char *const out = p_mid + (fgs::u64)blockIdx.x * TILE_BYTES;
    const float *in = p_in + (fgs::u64)blockIdx.x * TILE_ELEMS;
    fgs::u64 start;

    fgs::fill_tile<element, TILE_BYTES, THREADS>(out);
#if WITH_BULK
    fgs::publish<fgs::results::by_bulk>();
#else
    fgs::publish();
#endif
    start = fgs::now_ns();
    while (fgs::now_ns() - start < p_work_ns)
        __nanosleep(1000);
    for (fgs::u32 i = threadIdx.x; i < TILE_CHUNKS; i += THREADS) {
        float y[element::per_chunk];

        for (fgs::u32 k = 0; k < element::per_chunk; k++)
            y[k] = fgs::mul_rn(in[i * element::per_chunk + k], 2.0f);
        if constexpr (WITH_BULK)
            fgs::chunk_at(tile, i) = fgs::pack<element>(y);
        else
            fgs::store_chunk(out + 16ull * i, fgs::pack<element>(y));
    }
    if constexpr (WITH_BULK) {
        fgs::proxy_fence();
        __syncthreads();
        if (threadIdx.x == 0) {
            fgs::bulk_store(out, tile, TILE_BYTES);
            fgs::bulk_commit();
            fgs::bulk_wait();
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        fgs::note_end(p_stat);
}
