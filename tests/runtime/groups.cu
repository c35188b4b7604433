// groups.cu -- cooperative launches, clusters, occupancy, printf, attributes
#include "check.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void reduce(int *sums, int *out)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block_tile<32> warp =
        cg::tiled_partition<32>(cg::this_thread_block());
    int v = (int)grid.thread_rank();

    for (int d = 16; d; d /= 2)
        v += warp.shfl_down(v, d);
    if (!warp.thread_rank())
        atomicAdd(&sums[blockIdx.x], v);
    grid.sync();
    if (!grid.thread_rank()) {
        int all = 0;

        for (unsigned i = 0; i < gridDim.x; i++)
            all += sums[i];
        *out = all;
        printf("%u threads, sum %d\n", (unsigned)grid.size(), all);
    }
}

__global__ void large(int *p)
{
    extern __shared__ int s[];

    s[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

// Each block shows its neighbour's number.
__global__ void neighbours(int *p)
{
    __shared__ int mine;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();

    mine = (int)blockIdx.x;
    cluster.sync();
    p[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
    cluster.sync();
}

static void clusters(int *p)
{
    cudaLaunchAttribute a = {};
    cudaLaunchConfig_t c = {};
    int out[8], most, active;

    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = 4;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    c.gridDim = dim3(8);
    c.blockDim = dim3(1);
    c.attrs = &a;
    c.numAttrs = 1;
    OK(cudaOccupancyMaxPotentialClusterSize(&most, neighbours, &c));
    TRUE_(most >= 4);
    OK(cudaOccupancyMaxActiveClusters(&active, neighbours, &c));
    TRUE_(active > 0);
    OK(cudaLaunchKernelEx(&c, neighbours, p));
    OK(cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        TRUE_(out[i] == i / 4 * 4 + (i + 1) % 4);
    c.gridDim = dim3(6); // no multiple of 4
    TRUE_(cudaLaunchKernelEx(&c, neighbours, p) != cudaSuccess);
    TRUE_(cudaGetLastError() != cudaSuccess);
}

int main()
{
    int *p, out, blocks;
    void *args[2];
    int *sums;
    cudaFuncAttributes fa;
    const char *name;

    OK(cudaMalloc(&p, 4096));
    OK(cudaMalloc(&sums, 64 * sizeof *sums));
    OK(cudaMemset(sums, 0, 64 * sizeof *sums));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, 128, 0));
    TRUE_(blocks > 0);
    args[0] = &sums;
    args[1] = &p;
    OK(cudaLaunchCooperativeKernel((const void *)reduce, dim3(4), dim3(128),
                                   args, 0, 0));
    OK(cudaMemcpy(&out, p, sizeof out, cudaMemcpyDeviceToHost));
    TRUE_(out == 511 * 512 / 2);
    OK(cudaFuncGetAttributes(&fa, large));
    TRUE_(fa.maxThreadsPerBlock >= 256 && fa.sharedSizeBytes == 0);
    OK(cudaFuncGetName(&name, large));
    TRUE_(strstr(name, "large"));
    large<<<1, 256, 100 << 10>>>(p);
    IS(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(
        large, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    large<<<1, 256, 100 << 10>>>(p);
    OK(cudaGetLastError());
    OK(cudaMemcpy(&out, p + 3, sizeof out, cudaMemcpyDeviceToHost));
    TRUE_(out == 252);
    clusters(p);
    puts("ok");
}
