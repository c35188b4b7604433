/* part_a.cu -- separate compilation: the kernel; part_b.cu has the rest
 *
 * 64 threads; out[t] = 3 * t + 5, then through a pointer that part_b.cu sets.
 */
extern __device__ unsigned scale(unsigned x);
extern __device__ unsigned offset;
extern __constant__ unsigned factor[2];
extern __device__ unsigned (*chosen)(unsigned);
static __device__ unsigned local(unsigned x) { return x; }

extern "C" __global__ void run(unsigned *out)
{
    unsigned t = threadIdx.x;

    out[t] = scale(local(t)) * factor[1] + offset;
    out[64 + t] = chosen(t);
}
