/* bulk_retry_consume.cu -- consumer: load, retry and compute warps, scan
 *
 * The twin of bulk_retry_consume.ptx.in: its head has parameters, launch,
 * memory.  mirror: src/core/ref_reverse.c
 */
#include <fgs/fgs_device.cuh>

typedef fgs::ELEMENT element;
#if WITH_WEAK
typedef fgs::engine::bulk_weak engine;
#else
typedef fgs::engine::bulk engine;
#endif
typedef fgs::pipe<element, TILE_BYTES, STAGES_MOST, engine, BOXES, false,
                  true> ring;
#include "ring.cuh"
