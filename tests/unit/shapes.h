/* shapes.h -- tensors of boxes for plans: geometry, data, the host's mirror */
#ifndef SHAPES_H
#define SHAPES_H

#include "compose_rig.h"
#include "table/record.h"

#include <stddef.h>

/* What the texts say in numbers. */
_Static_assert(offsetof(struct fgs__ctl, abort) == 0, "abort");
_Static_assert(offsetof(struct fgs__rec, code) == 0, "code");
_Static_assert(offsetof(struct fgs__rec, role) == 4, "role");
_Static_assert(offsetof(struct fgs__rec, block) == 8, "block");
_Static_assert(offsetof(struct fgs__rec, tile) == 16, "tile");
_Static_assert(offsetof(struct fgs__rec, chunk) == 24, "chunk");
_Static_assert(offsetof(struct fgs__rec, bits0) == 32, "bits0");
_Static_assert(offsetof(struct fgs__rec, bits1) == 40, "bits1");
_Static_assert(offsetof(struct fgs__rec, tries) == 48, "tries");
_Static_assert(offsetof(struct fgs__rec, elapsed_ns) == 56, "elapsed");
_Static_assert(FGS_ROLE_CONSUMER == 3 && FGS__GIVEUP_TIME == 1, "numbers");

/* p_geom */
struct geom {
    struct { uint32_t size, pitch, box, boxes; } d[5];
};

struct map {
    _Alignas(64) unsigned char bytes[128];
};

/* A tensor, and how it is written and read.  Dimensions behind the rank are 0
 * in the cases and 1 in use. */
struct shape {
    fgs_element element;
    uint32_t rank;
    uint32_t dims[5];   /* elements */
    uint32_t seen;      /* of a row, by the reader; 0 = dims[0] */
    uint32_t pitch[4];  /* bytes */
    uint32_t write[5];  /* boxes */
    uint32_t read[5];
    uint32_t swizzle;   /* as cuTensorMapEncodeTiled has it */
    fgs_padding written, expected; /* of the writer's access, the reader's */
    int self;           /* the writer fills */
};

/* ---------------------------------------------------------------- shapes -- */

static inline uint32_t size_of(const struct shape *s)
{
    return s->element == FGS_ELEMENT_F16 ? 2 : 4;
}

static inline uint32_t seen_of(const struct shape *s)
{
    return s->seen ? s->seen : s->dims[0];
}

static inline uint32_t bytes_of(const struct shape *s)
{
    return s->rank > 1 ? s->pitch[s->rank - 2] * s->dims[s->rank - 1]
                       : (s->dims[0] * size_of(s) + 15) / 16 * 16;
}

static inline struct geom geom_of(const struct shape *s, const uint32_t *box,
                                  uint32_t width)
{
    struct geom g;

    for (uint32_t i = 0; i < 5; i++) {
        int in = i < s->rank;

        g.d[i].size = !in ? 1 : i ? s->dims[i] : width;
        g.d[i].pitch = !in ? 0 : i ? s->pitch[i - 1] : size_of(s);
        g.d[i].box = in ? box[i] : 1;
        g.d[i].boxes = (g.d[i].size + g.d[i].box - 1) / g.d[i].box;
    }
    return g;
}

static inline uint32_t boxes_of(const struct geom *g)
{
    uint32_t n = 1;

    for (int i = 0; i < 5; i++)
        n *= g->d[i].boxes;
    return n;
}

static inline uint32_t box_bytes(const struct geom *g)
{
    uint32_t n = g->d[0].pitch;

    for (int i = 0; i < 5; i++)
        n *= g->d[i].box;
    return n;
}

static inline fgs_box box_of(const struct geom *g, uint32_t rank)
{
    fgs_box b = { .rank = rank };

    for (uint32_t i = 0; i < rank; i++) {
        b.dims[i] = g->d[i].size;
        b.box[i] = g->d[i].box;
        if (i)
            b.pitch[i - 1] = g->d[i].pitch;
    }
    return b;
}

/* ---------------------------------------------------------------- mirror -- */

/* Whole numbers of -3 ... 3, zeros of both signs: twice is exact. */
static inline void make_input(const struct shape *s, unsigned char *v,
                              uint32_t seed)
{
    static const uint16_t half[] = { 0x8000, 0x0000, 0x3c00, 0xbc00,
                                     0x4000, 0xc000, 0x4200, 0xc200 };
    static const float single[] = { -0.0f, 0, 1, -1, 2, -2, 3, -3 };
    uint32_t x = seed * 2654435761u + 1;

    for (uint32_t at = 0; at < bytes_of(s); at += size_of(s)) {
        x = x * 1664525u + 1013904223u;
        if (size_of(s) == 2)
            memcpy(v + at, &half[x >> 29], 2);
        else
            memcpy(v + at, &single[x >> 29], 4);
    }
}

static inline void put_twice(uint32_t size, const unsigned char *from,
                             unsigned char *to)
{
    if (size == 2) {
        uint16_t h;

        memcpy(&h, from, 2);
        h = (uint16_t)(h & 0x7fff ? h + 0x400 : 0);
        memcpy(to, &h, 2);
    } else {
        float f;

        memcpy(&f, from, 4);
        f = f * 2 + 0.0f;
        memcpy(to, &f, 4);
    }
}

/* Box `q` as the reader has it: the tensor's part doubled, +0 elsewhere. */
static inline void mirror_box(const struct shape *s, const struct geom *g,
                              uint32_t q, const unsigned char *in,
                              unsigned char *out)
{
    uint32_t size = size_of(s), count = box_bytes(g) / size;

    memset(out, 0, box_bytes(g));
    for (uint32_t e = 0; e < count; e++) {
        uint32_t rest = e, tile = q, byte = 0;
        int inside = 1;

        for (int i = 0; i < 5; i++) {
            uint32_t c = rest % g->d[i].box +
                         tile % g->d[i].boxes * g->d[i].box;

            rest /= g->d[i].box;
            tile /= g->d[i].boxes;
            inside &= c < (i ? g->d[i].size : s->dims[0]);
            byte += c * g->d[i].pitch;
        }
        if (inside)
            put_twice(size, in + byte, out + e * size);
    }
}

#endif
