/* fgs_device.cuh -- the protocol's steps for kernels of one's own
 *
 * Guide 4.6.  For CUDA C++17 by nvcc and NVRTC, sm_70 to sm_107a; includes
 * nothing but its own parts, fgs/device/NAME.cuh.  NVRTC finds them in an
 * --include-path, or takes them by these names from nvrtcCreateProgram.
 *
 *   element.cuh  element types: bits, sentinel, fill, report mechanism;
 *                canonicalize, holds_sentinel                     (4.6.4.1)
 *   convert.cuh  float to elements that never hold the sentinel   (4.6.4.3)
 *   memory.cuh   store_chunk, bulk_store, pack, fill_tile, publish, trigger,
 *                wait_upstream, give_up, aborted                  (4.6.4.2)
 *   tensor.cuh   tensor_box: a box of a matrix as a tile; two_operands: a
 *                tile with its scales                             (4.6.7)
 *   engine.cuh   engines, limits of a wait, barriers              (4.6.3)
 *   load.cuh     tile_load: one tile for a block                  (4.6.4.4)
 *   pipe.cuh     pipe: a ring of tiles, roles as calls            (4.6.7)
 *
 * A producer and a consumer of f16 tiles of 4 KB, blocks of 256 threads; a
 * kernel before them has filled `mid`:
 *
 *     __global__ void produce(const float *in, char *mid)
 *     {
 *         fgs::trigger();
 *         float v[8];                       // a chunk a thread
 *         ...
 *         fgs::store_chunk(mid + 4096ull * blockIdx.x + 16 * threadIdx.x,
 *                          fgs::pack<fgs::f16>(v));
 *     }
 *
 *     __global__ void consume(const char *mid, fgs::ctl *ctl, fgs::rec *rec)
 *     {
 *         extern __shared__ __align__(128) unsigned char tile[];
 *         __shared__ fgs::tile_load<fgs::f16, 4096, 256> load;
 *         fgs::site at = { ctl, rec, blockIdx.x, fgs::role_consumer };
 *         fgs::limits bound;
 *
 *         bound.bound_ns = 2000000000;
 *         load.init();
 *         if (load.wait(tile, mid + 4096ull * blockIdx.x, bound, at))
 *             ...
 *         fgs::wait_upstream();
 *     }
 *
 * What the compiler can see of a misuse is an error with a sentence that
 * begins "fgs:".
 */
#ifndef FGS_DEVICE_CUH
#define FGS_DEVICE_CUH

#include <fgs/device/element.cuh>
#include <fgs/device/convert.cuh>
#include <fgs/device/memory.cuh>
#include <fgs/device/tensor.cuh>
#include <fgs/device/engine.cuh>
#include <fgs/device/load.cuh>
#include <fgs/device/pipe.cuh>

#endif
