/* rms_gemv.cu -- an RMS norm and the matrix-vector products of its rows
 *
 * y = x * gain / sqrt(mean(x^2) + 1e-5), in bf16, and out = W y, a row of x
 * at a time.  The rows are the tiles: a block of gemv takes its row as soon
 * as the block of rms that makes it is through, while others still work.
 * WIDTH numbers a row, ROWS_OUT of W, by -D; blocks of 128 threads.
 */
#include <fgs/fgs_device.cuh>

typedef fgs::bf16 element;

enum : fgs::u32 {
    threads = 128,
    tile_bytes = WIDTH * element::bits / 8,
    chunks = tile_bytes / 16,
    outputs = 32 /* of a block of gemv */
};
static_assert(ROWS_OUT % outputs == 0, "whole blocks of gemv");

static __device__ float sum_of_warp(float v)
{
    for (int d = 16; d; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

/* Producer.  grid: a block a row.  It fills its own tile before it triggers,
 * so no kernel before it has to (4.6.4.2). */
extern "C" __global__ void __launch_bounds__(threads)
rms(const float *x, const float *gain, char *mid)
{
    __shared__ float part[threads / 32];
    char *const tile = mid + (fgs::u64)blockIdx.x * tile_bytes;
    const float *row = x + (fgs::u64)blockIdx.x * WIDTH;
    float sum = 0, scale;

    fgs::fill_tile<element, tile_bytes, threads>(tile);
    fgs::publish();

    for (fgs::u32 i = threadIdx.x; i < WIDTH; i += threads)
        sum += row[i] * row[i];
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (float p : part)
        sum += p;
    scale = rsqrtf(sum / WIDTH + 1e-5f);

    /* The thread that stores a chunk need not be the one that filled it: the
     * barrier in publish is between. */
    for (fgs::u32 c = threadIdx.x; c < chunks; c += threads) {
        float y[element::per_chunk];

        for (fgs::u32 k = 0; k < element::per_chunk; k++) {
            fgs::u32 i = c * element::per_chunk + k;

            y[k] = row[i] * scale * gain[i];
        }
        fgs::store_chunk(tile + 16 * c, fgs::pack<element>(y));
    }
}

/* Consumer.  grid: ROWS_OUT / 32 blocks a row of x; a warp an output. */
extern "C" __global__ void __launch_bounds__(threads)
gemv(const char *mid, const float *w, float *out, fgs::ctl *ctl,
     fgs::rec *rec, fgs::u64 bound_ns)
{
    extern __shared__ __align__(128) unsigned char tile[];
    __shared__ fgs::tile_load<element, tile_bytes, threads> load;
    const fgs::u32 row = blockIdx.x / (ROWS_OUT / outputs);
    const fgs::u32 first = blockIdx.x % (ROWS_OUT / outputs) * outputs;
    const fgs::site here = { ctl, rec, row, fgs::role_consumer };
    fgs::limits bound;

    bound.bound_ns = bound_ns;
    load.init();
    if (load.wait(tile, mid + (fgs::u64)row * tile_bytes, bound, here))
        for (fgs::u32 o = first + threadIdx.x / 32; o < first + outputs;
             o += threads / 32) {
            const unsigned short *y = (const unsigned short *)tile;
            float sum = 0;

            for (fgs::u32 i = threadIdx.x % 32; i < WIDTH; i += 32)
                sum += w[(fgs::u64)o * WIDTH + i] *
                       __int_as_float(y[i] << 16);
            sum = sum_of_warp(sum);
            if (threadIdx.x % 32 == 0)
                out[(fgs::u64)row * ROWS_OUT + o] = sum;
        }
    fgs::wait_upstream();
}
