/* bench_cub.h -- CUB's DeviceHistogram out of a shared object: `make cub` */
#ifndef FGS_TOOL_BENCH_CUB_H
#define FGS_TOOL_BENCH_CUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_cub {
    void *library; /* stays open: its runtime has state of the process       */
    int (*histogram)(void *temp, size_t *bytes, const float *in,
                     uint32_t *counts, uint32_t bins, float width,
                     uint32_t count, void *stream);
    const char *(*error)(int code);
};

/* False: why says what is lacking. */
bool bench_cub_open(struct bench_cub *c, const char *provider, char *why,
                    size_t room);
/* Is the code of a call good?  Else why. */
bool bench_cub_good(const struct bench_cub *c, int code, char *why,
                    size_t room);

#endif
