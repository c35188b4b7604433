/* sort.cu -- bitonic sort, block scan, histogram with shared atomics
 *
 * 64 threads; out[t] sorted, out[64 + t] inclusive scan, out[128 + b] counts.
 */
extern "C" __global__ void run(unsigned *out)
{
    __shared__ unsigned v[64], sum[64], bin[16];
    unsigned t = threadIdx.x, x = t * 2654435761u >> 20;

    v[t] = x;
    sum[t] = x;
    if (t < 16)
        bin[t] = 0;
    __syncthreads();
    atomicAdd(&bin[x % 16], 1);
    for (unsigned k = 2; k <= 64; k *= 2)
        for (unsigned j = k / 2; j; j /= 2) {
            unsigned o = t ^ j;

            if (o > t && (v[t] > v[o]) == !(t & k)) {
                unsigned s = v[t];

                v[t] = v[o];
                v[o] = s;
            }
            __syncthreads();
        }
    for (unsigned d = 1; d < 64; d *= 2) {
        unsigned y = t >= d ? sum[t - d] : 0;

        __syncthreads();
        sum[t] += y;
        __syncthreads();
    }
    out[t] = v[t];
    out[64 + t] = sum[t];
    if (t < 16)
        out[128 + t] = bin[t];
}
