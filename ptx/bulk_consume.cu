/* bulk_consume.cu -- consumer: bulk copy, scanned in shared memory
 *
 * The twin of bulk_consume.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

#if WITH_WEAK
typedef fgs::engine::bulk_weak engine;
#else
typedef fgs::engine::bulk engine;
#endif
#include "consume.cuh"
