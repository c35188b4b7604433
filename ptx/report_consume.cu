/* report_consume.cu -- consumer: bulk copy that reports validity
 *
 * The twin of report_consume.ptx.in: its head has parameters, launch, memory.
 * mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

typedef fgs::engine::report engine;
#include "consume.cuh"
