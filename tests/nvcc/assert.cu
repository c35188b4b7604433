/* assert.cu -- an assertion that does not hold: the launch faults
 *
 * 64 threads; thread 7 fails.
 */
#include <assert.h>

extern "C" __global__ void run(unsigned *out)
{
    assert(threadIdx.x != 7);
    out[threadIdx.x] = 1;
}
