/* async_consume.cu -- consumer: cp.async of each thread, scanned by it
 *
 * The twin of async_consume.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

typedef fgs::engine::async engine;
#include "consume.cuh"
