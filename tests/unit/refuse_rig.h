/* refuse_rig.h -- plans of the application's kernels that compose refuses
 *
 * Nothing is launched: there are no such kernels.
 */
#ifndef REFUSE_RIG_H
#define REFUSE_RIG_H

#include "compose_rig.h"

/* No such function: a plan that is refused never asks the driver for it. */
#define NO_FUNCTION ((CUfunction)(uintptr_t)16)

/* A stage of the application's, which reads `from` and writes `to`. */
static inline fgs_stage_desc *own_stage(struct net *n, const char *name,
                                        fgs_buffer *from, fgs_buffer *to,
                                        uint32_t blocks)
{
    fgs_stage_desc *s = net_stage(n, name, NULL, from, NULL, to);

    s->function = NO_FUNCTION;
    s->grid[0] = blocks;
    s->grid[1] = s->grid[2] = 1;
    s->block[0] = s->block[1] = s->block[2] = 1;
    return s;
}

/* A buffer in tiles of a chunk, as boxes need it. */
static inline fgs_buffer *chunk_buffer(struct net *n, const char *name,
                                       uint64_t tiles)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .tiles = tiles,
                          .tile_bytes = 16 };
    fgs_error err;

    RIG_OK(fgs_buffer_make(&n->b[n->buffers], n->dev, &d, &err), err);
    return n->b[n->buffers++];
}

static inline fgs_error refused_for(struct net *n, fgs_result want,
                                    const char *words)
{
    fgs_error err = { .result = FGS_OK };
    fgs_result r = net_compose(n, &err);

    if (r != want || !strstr(err.text, words))
        print_error("%s: %s\n", fgs_result_name(r), err.text);
    assert_null(n->plan);
    assert_int_equal(r, want);
    assert_int_equal(err.result, want);
    assert_non_null(strstr(err.text, words));
    return err;
}

#endif
