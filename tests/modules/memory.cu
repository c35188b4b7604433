/* memory.cu -- constants, managed and static variables, malloc, local arrays
 *
 * 2 x 64, dynamic shared memory; out[i] = what all of them say of i.
 */
//: nvrtc
//: nvrtc --device-as-default-execution-space --gpu-architecture=compute_89
#include "common.cuh"

__constant__ unsigned square[4] = { 0, 1, 4, 9 };
__managed__ unsigned both = 1000;
__device__ unsigned own[2] = { 50000, 60000 };
__device__ unsigned *where = own + 1;

struct node {
    node *next;
    unsigned value;
};

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    extern __shared__ unsigned dynamic[];
    unsigned i = thread(), t = threadIdx.x, local[16], sum = 0;
    node *list = nullptr;

    dynamic[63 - t] = in[i];
    for (unsigned k = 0; k < 16; k++)
        local[in[i] + k & 15] = k * k;
    for (unsigned k = 0; k <= t % 5; k++) {
        node *n = new node{ list, k + t };
        list = n;
    }
    while (list) {
        node *n = list;
        sum += n->value;
        list = n->next;
        delete n;
    }
    char *room = (char *)malloc(24);
    for (int k = 0; k < 24; k++)
        room[k] = (char)(t + k);
    sum += *(unsigned *)(room + 8);
    free(room);
    __syncthreads();
    out[i] = dynamic[t] + square[in[i] % 4] + both + *where + sum +
        local[in[i] >> 8 & 15];
}
