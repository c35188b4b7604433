/* mirror.h -- what the programs of this folder compute, in C */
#ifndef MODULES_MIRROR_H
#define MODULES_MIRROR_H

#include <stdint.h>
#include <string.h>

enum { WORDS = 4096 };

/* in: WORDS random words; out: WORDS words, zero before. */
typedef void mirror_fn(const uint32_t *in, void *out);

#define MODULE(name, ...) mirror_fn mirror_##name;
#include "modules.def"
#undef MODULE

/* As in common.cuh. */
static inline float unit(uint32_t w)
{
    return (float)(w >> 8) * 0x1p-24f;
}

static inline int small(uint32_t w)
{
    return (int)(w >> 28) - 8;
}

#endif
