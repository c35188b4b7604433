/* buffer.h -- device memory that is handed over in tiles */
#ifndef FGS_CORE_BUFFER_H
#define FGS_CORE_BUFFER_H

#include "core/device.h"

struct fgs__buffer {
    struct fgs__obj obj;
    struct fgs__device *dev; /* a reference */
    char name[32];
    fgs_element element;
    uint32_t slots;
    uint64_t tiles, tile_bytes; /* of a slot */
    uint64_t bytes;          /* of all slots */
    CUdeviceptr ptr;
    int owned;               /* ptr is ours to free */
};

fgs_result fgs__buffer_get(struct fgs__buffer **out, const fgs_buffer *buf,
                           const char *what, fgs_error *err);

#endif
