/* memory.cu -- constants, managed and static variables, dynamic shared memory
 *
 * 64 threads; out[t] = what all of them say of t.
 */
__constant__ unsigned square[4] = { 0, 1, 4, 9 };
__managed__ unsigned shared_with_host = 1000;
static __device__ unsigned own[2] = { 50000, 60000 };
__device__ unsigned *where = own + 1;

template <typename T> __device__ T &at(T *p, int i) { return p[i]; }

extern "C" __global__ void run(unsigned *out)
{
    extern __shared__ unsigned dynamic[];
    unsigned t = threadIdx.x;

    dynamic[63 - t] = t;
    __syncthreads();
    out[t] = at(dynamic, t) + 100 * at(square, t % 4) + shared_with_host +
        *where;
    __syncthreads();
    if (t == 0)
        shared_with_host++;
}
