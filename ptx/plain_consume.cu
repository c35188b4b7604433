/* plain_consume.cu -- consumer: waits for the grid or a flag, then loads
 *
 * The twin of plain_consume.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

typedef fgs::engine::plain engine;
#include "consume.cuh"
