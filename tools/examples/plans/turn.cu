/* turn.cu -- turn.ptx in CUDA C++: a kernel of one's own with the device header
 *
 * It waits for the grid that writes its input, and stores each chunk once and
 * whole, so that what comes next can take it tile by tile.
 */
#include <fgs/fgs_device.cuh>

extern "C" __global__ void turn(const fgs::chunk *in, fgs::chunk *out)
{
    unsigned tile = blockIdx.x * blockDim.x, t = threadIdx.x;
    fgs::chunk from, to;

    fgs::trigger();
    fgs::wait_upstream();
    from = fgs::load_chunk(in + tile + t);
    for (int i = 0; i < 4; i++)
        to.w[i] = from.w[3 - i];
    fgs::store_chunk(out + tile + blockDim.x - 1 - t, to);
}
