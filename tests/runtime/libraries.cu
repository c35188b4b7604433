// libraries.cu -- Thrust sorts and sums, CUB scans
#include "check.h"
#include <cub/device/device_scan.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <vector>

static const int n = 10000;

static void sums(const unsigned *from, unsigned *to)
{
    size_t bytes = 0;
    void *room;

    OK(cub::DeviceScan::InclusiveSum(NULL, bytes, from, to, n));
    OK(cudaMalloc(&room, bytes));
    OK(cub::DeviceScan::InclusiveSum(room, bytes, from, to, n));
    OK(cudaFree(room));
}

int main()
{
    thrust::device_vector<unsigned> v(n), w(n);
    std::vector<unsigned> h(n);

    thrust::sequence(v.rbegin(), v.rend());
    thrust::sort(v.begin(), v.end());
    thrust::copy(v.begin(), v.end(), h.begin());
    for (int i = 0; i < n; i++)
        TRUE_(h[i] == (unsigned)i);
    TRUE_(thrust::reduce(v.begin(), v.end()) == n / 2 * (n - 1u));
    sums(thrust::raw_pointer_cast(v.data()),
         thrust::raw_pointer_cast(w.data()));
    thrust::copy(w.begin(), w.end(), h.begin());
    for (unsigned i = 0; i < n; i++)
        TRUE_(h[i] == i * (i + 1) / 2);
    OK(cudaGetLastError());
    puts("ok");
}
