/* sort_radix.cu -- cub::BlockRadixSort, keys with their places
 *
 * 2 x 128, four a thread; out[i] = i-th word of the block's 512 in order,
 * out[1024 + i] = where it was.
 */
//: nvrtc
#include "common.cuh"
#include <cub/block/block_radix_sort.cuh>

extern "C" __global__ void run(const unsigned *in, unsigned *out)
{
    using sort = cub::BlockRadixSort<unsigned, 128, 4, unsigned>;
    __shared__ typename sort::TempStorage room;
    unsigned key[4], place[4], at = 4 * thread();

    for (int k = 0; k < 4; k++) {
        key[k] = in[at + k];
        place[k] = at + k;
    }
    sort(room).Sort(key, place);
    for (int k = 0; k < 4; k++) {
        out[at + k] = key[k];
        out[1024 + at + k] = place[k];
    }
}
