/* poll_consume.cu -- consumer: each thread loads its chunks until they came
 *
 * The twin of poll_consume.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

typedef fgs::engine::poll engine;
#include "consume.cuh"
