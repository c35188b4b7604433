/* report_retry_consume.cu -- consumer: load, retry and compute warps
 *
 * The twin of report_retry_consume.ptx.in: its head has parameters, launch,
 * memory.  mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

typedef fgs::ELEMENT element;
typedef fgs::pipe<element, TILE_BYTES, STAGES_MOST, fgs::engine::report,
                  BOXES, WITH_EACH, true, STAGE_BYTES - TILE_BYTES> ring;
#include "ring.cuh"
