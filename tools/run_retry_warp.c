/* run_retry_warp.c -- fgs run --pipeline retry-warp: a warp a role (4.6.7) */
#include "run_pipeline.h"

#include <inttypes.h>

enum { TILES_OF_BLOCK = 8 };

int retry_warp_check(struct pipeline_asked *a)
{
    if (a->threads < 96)
        return usage_error("run", "--threads: %" PRIu64 ": a warp to load, one "
                           "to retry, one to compute are 96", a->threads);
    return -1;
}

void retry_warp_run(const struct pipeline_asked *a, struct pipeline_done *d)
{
    uint64_t blocks = (a->tiles + TILES_OF_BLOCK - 1) / TILES_OF_BLOCK;
    struct pipeline_shape s = {.stem = "bulk_retry_consume",
                               .threads = (unsigned)a->threads};

    if (a->engine == FGS_ENGINE_REPORT)
        s.stem = "report_retry_consume";
    else
        s.weak = "bulk_retry_weak_consume";
    s.blocks = (unsigned)(a->blocks_given ? a->blocks : blocks);
    s.shared = (unsigned)(a->stages * a->tile_bytes);
    pipeline_hand_over(a, &s, d);
}
