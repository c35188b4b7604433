/* cub_histogram.cu -- CUB's DeviceHistogram for fgs bench histogram
 *
 * A shared object of its own (`make cub`), which the bench opens where it is:
 * CUB is host code over the CUDA runtime, and nothing else here needs nvcc.
 * The runtime works in the context that is current.
 */
#include <cub/device/device_histogram.cuh>

#include <stdint.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

/* With temp NULL the bytes that it needs; else the counts of `bins` bins from
 * 0 on, in stream order.  Counts of 32 bits: CUB's are fastest so. */
EXPORT int fgs_cub_histogram(void *temp, size_t *bytes, const float *in,
                             uint32_t *counts, uint32_t bins, float width,
                             uint32_t count, void *stream)
{
    return (int)cub::DeviceHistogram::HistogramEven(
        temp, *bytes, in, counts, (int)bins + 1, 0.0f, width * (float)bins,
        (int)count, (cudaStream_t)stream);
}

EXPORT const char *fgs_cub_error(int code)
{
    return cudaGetErrorString((cudaError_t)code);
}
