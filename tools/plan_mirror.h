/* plan_mirror.h -- what must come of a plan, reckoned on the host */
#ifndef FGS_TOOL_PLAN_MIRROR_H
#define FGS_TOOL_PLAN_MIRROR_H

#include "plan.h"

/* Of a buffer: its bytes, and of each tile whether they are known. */
struct plan_mirrored {
    unsigned char *data;
    unsigned char *known;
    uint64_t known_tiles;
    bool written, read; /* by a stage                                       */
};

struct plan_mirror {
    const struct plan_file *f;
    struct plan_mirrored *buffers;
};

/*
 * Inputs from the plan's seed, then every stage once, in an order in which what
 * it reads is there.  A tile that a kernel without mirror has a hand in is not
 * known.  false = no memory; free it either way.
 */
bool plan_mirror_make(struct plan_mirror *m, const struct plan_file *f);
void plan_mirror_free(struct plan_mirror *m);

/* A result of the plan: written by a stage and read by none. */
bool plan_mirror_is_result(const struct plan_mirrored *b);

#endif
