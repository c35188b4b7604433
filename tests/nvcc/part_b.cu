/* part_b.cu -- separate compilation: what part_a.cu calls */
__device__ unsigned offset = 5;
__constant__ unsigned factor[2] = { 0, 3 };
static __device__ __noinline__ unsigned local(unsigned x) { return x * x; }
__device__ unsigned (*chosen)(unsigned) = local;

__device__ unsigned scale(unsigned x) { return x; }
