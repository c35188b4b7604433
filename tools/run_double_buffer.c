/* run_double_buffer.c -- fgs run --pipeline double-buffer: cp.async */
#include "run_pipeline.h"

enum { TILES_OF_BLOCK = 4 };

void double_buffer_run(const struct pipeline_asked *a, struct pipeline_done *d)
{
    uint64_t blocks = (a->tiles + TILES_OF_BLOCK - 1) / TILES_OF_BLOCK;
    struct pipeline_shape s = {.stem = "async_stages_consume",
                               .threads = (unsigned)a->threads};

    s.blocks = (unsigned)(a->blocks_given ? a->blocks : blocks);
    s.shared = (unsigned)(a->stages * a->tile_bytes);
    pipeline_hand_over(a, &s, d);
}
