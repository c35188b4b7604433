/* pipe_map.c -- a tensor map in device memory, for kernels that take one */
#include "pipe.h"

#include <string.h>

/* CUtensorMap is 128 bytes, 64-byte aligned. */
enum { MAP_BYTES = 128 };
typedef int (*encode_fn)(void *map, int type, unsigned rank, void *at,
                         const unsigned long long *dims,
                         const unsigned long long *strides,
                         const unsigned *box, const unsigned *steps,
                         int interleave, int swizzle, int promotion, int fill);

bool pipe_map(struct pipe_device *d, const struct pipe_matrix *m,
              pipe_addr *map)
{
    const unsigned long long dims[] = {m->columns, m->rows};
    const unsigned long long strides[] = {m->row_bytes};
    const unsigned box[] = {m->box_columns, m->box_rows}, steps[] = {1, 1};
    _Alignas(64) unsigned char bits[MAP_BYTES];
    void *p = fgs_device_get_proc(d->dev, "cuTensorMapEncodeTiled");
    encode_fn encode;
    int r;

    if (!p) {
        snprintf(d->why, sizeof d->why,
                 "cuTensorMapEncodeTiled: not in this driver");
        return false;
    }
    memcpy(&encode, &p, sizeof encode);
    r = encode(bits, m->type, 2, (void *)(uintptr_t)m->at, dims, strides, box,
               steps, 0, 0, 0, 0);
    if (r) {
        snprintf(d->why, sizeof d->why, "cuTensorMapEncodeTiled: error %d", r);
        return false;
    }
    return pipe_memory(d, map, MAP_BYTES) && pipe_put(d, *map, bits, MAP_BYTES);
}
