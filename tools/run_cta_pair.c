/* run_cta_pair.c -- fgs run --pipeline cta-pair: clusters of two blocks */
#include "run_pipeline.h"

#include <inttypes.h>

/* Boxes have rows of 256 f32. */
enum { ROW_BYTES = 1024, BOX_MOST = 256 };

int cta_pair_check(struct pipeline_asked *a)
{
    if (a->tile_bytes % ROW_BYTES || a->tile_bytes > ROW_BYTES * BOX_MOST)
        return usage_error("run", "--tile: %" PRIu64 ": a box has 1 to 256 "
                           "rows of 1024 bytes", a->tile_bytes);
    return -1;
}

void cta_pair_run(const struct pipeline_asked *a, struct pipeline_done *d)
{
    struct pipeline_shape s = {.stem = "report_pair_consume",
                               .threads = (unsigned)a->threads,
                               .row_bytes = ROW_BYTES};

    s.blocks = (unsigned)(a->tiles + 1) & ~1u;
    s.shared = (unsigned)a->tile_bytes;
    pipeline_hand_over(a, &s, d);
}
