/* sample.c -- reading a texture: levels, coordinates, addressing, filtering
 *
 * CUDA C++ Programming Guide, "Texture Fetching": a coordinate is scaled by
 * the size when it is normalized; a point is the element at its floor; linear
 * filtering takes half an element off, and the rest behind the floor is kept
 * in 8 bits, of which 256 is 1.
 */
#include "sim/texture.h"
#include "sim/half.h"
#include <math.h>

enum { FRACTION = 256 };       /* of an element, or of a level               */

/* One direction: two neighbours, and how much of the second. */
struct axis {
    int64_t at[2];
    bool out[2];               /* what is there is the border                */
    uint32_t part;             /* of FRACTION                                */
};

/* A number that is none is 0, and none is beyond what 64 bits hold. */
static double bounded(double x)
{
    if (x != x)
        return 0;
    return x > 0x1p40 ? 0x1p40 : x < -0x1p40 ? -0x1p40 : x;
}

/* A normalized coordinate in elements. */
static double scaled(float x, unsigned mode, uint32_t size)
{
    double whole = floor((double)x);

    if (!(fabs((double)x) < 0x1p40))
        return bounded((double)x) * size;
    if (mode == CU_TR_ADDRESS_MODE_WRAP)
        x = (float)((double)x - whole);
    else if (mode == CU_TR_ADDRESS_MODE_MIRROR)
        x = (float)(fmod(whole, 2) != 0 ? 1 - ((double)x - whole)
                                        : (double)x - whole);
    return (double)(x * (float)size);
}

/* Where an index outside lies. */
static void address(struct axis *a, unsigned k, unsigned mode, int64_t size)
{
    int64_t at = a->at[k];

    if (at >= 0 && at < size)
        return;
    switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP:
        at %= size;
        a->at[k] = at < 0 ? at + size : at;
        return;
    case CU_TR_ADDRESS_MODE_MIRROR:
        at %= 2 * size;
        at += at < 0 ? 2 * size : 0;
        a->at[k] = at < size ? at : 2 * size - 1 - at;
        return;
    case CU_TR_ADDRESS_MODE_BORDER:
        a->out[k] = true;
        return;
    default:
        a->at[k] = at < 0 ? 0 : size - 1;
    }
}

static void place(const struct fgs__sim_sample *s, unsigned d, uint32_t size,
                  bool two, struct axis *a)
{
    const struct fgs__sim_texture *t = s->t;
    unsigned mode = t->tex.addressMode[d];
    double u;

    *a = (struct axis){ { 0, 0 }, { false, false }, 0 };
    if (s->integers) {
        a->at[0] = (int64_t)(int32_t)s->coord[d] + s->offset[d];
        a->out[0] = a->at[0] < 0 || a->at[0] >= size;
        return;
    }
    /* Only normalized coordinates wrap around. */
    if (!t->normalized && mode < CU_TR_ADDRESS_MODE_BORDER)
        mode = CU_TR_ADDRESS_MODE_CLAMP;
    u = t->normalized ? scaled(bits_float(s->coord[d]), mode, size)
                      : bounded((double)bits_float(s->coord[d]));
    if (two) {
        double fine = floor(u * FRACTION + 0.5) - FRACTION / 2;
        double whole = floor(fine / FRACTION);

        a->at[0] = (int64_t)whole;
        a->part = (uint32_t)(fine - whole * FRACTION);
    } else {
        a->at[0] = (int64_t)floor(u);
    }
    a->at[0] += s->offset[d];
    a->at[1] = a->at[0] + 1;
    address(a, 0, mode, size);
    address(a, 1, mode, size);
}

static void border(const struct fgs__sim_sample *s, struct fgs__sim_texel *out)
{
    for (unsigned k = 0; k < 4; k++)
        out->v[k] = s->integers ? 0 : float_bits(s->t->tex.borderColor[k]);
}

/* One of the neighbours: bit d of `which` is the second in direction d. */
static bool fetch(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                  const struct fgs__sim_level *l, const struct axis *a,
                  unsigned which, struct fgs__sim_texel *out)
{
    const struct fgs__sim_texture *t = s->t;
    uint64_t at[3] = { 0, 0, 0 };
    const char *from;

    for (unsigned d = 0; d < t->dims; d++) {
        unsigned k = which >> d & 1;

        if (a[d].out[k]) {
            border(s, out);
            return true;
        }
        at[d] = (uint64_t)a[d].at[k];
    }
    if (t->layered)
        at[2] = s->layer;
    from = fgs__sim_global(w, l->va + at[2] * l->slice + at[1] * l->pitch +
                           at[0] * t->element, t->element);
    if (from)
        fgs__sim_texel_read(t, from, out);
    return from != NULL;
}

/* Weights are exact, and so is each product; the sum is rounded once. */
static bool filter(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                   const struct fgs__sim_level *l, const struct axis *a,
                   struct fgs__sim_texel *out)
{
    unsigned dims = s->t->dims;
    double sum[4] = { 0, 0, 0, 0 }, one = 1;
    struct fgs__sim_texel e;

    for (unsigned d = 0; d < dims; d++)
        one *= FRACTION;
    for (unsigned which = 0; which < 1u << dims; which++) {
        double part = 1;

        for (unsigned d = 0; d < dims; d++)
            part *= which >> d & 1 ? a[d].part : FRACTION - a[d].part;
        if (part == 0)
            continue;
        if (!fetch(w, s, l, a, which, &e))
            return false;
        for (unsigned k = 0; k < 4; k++)
            sum[k] += part * (double)bits_float(e.v[k]);
    }
    for (unsigned k = 0; k < 4; k++)
        out->v[k] = float_bits((float)(sum[k] / one));
    return true;
}

/* The four neighbours that a filter would take, of one component: counter-
 * clockwise from the lower left (ISA, tld4). */
static bool gather(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                   const struct fgs__sim_level *l, const struct axis *a,
                   struct fgs__sim_texel *out)
{
    static const uint8_t order[4] = { 2, 3, 1, 0 };
    struct fgs__sim_texel e;

    for (unsigned k = 0; k < 4; k++) {
        if (!fetch(w, s, l, a, order[k], &e))
            return false;
        out->v[k] = e.v[s->component];
    }
    return true;
}

static bool sample_level(struct fgs__sim_warp *w,
                         const struct fgs__sim_sample *s, uint32_t level,
                         struct fgs__sim_texel *out)
{
    const struct fgs__sim_level *l = &s->t->level[level];
    bool two = s->gather || (s->t->linear && !s->integers);
    struct axis a[3];

    for (unsigned d = 0; d < s->t->dims; d++)
        place(s, d, l->size[d], two, &a[d]);
    if (s->gather)
        return gather(w, s, l, a, out);
    return two ? filter(w, s, l, a, out) : fetch(w, s, l, a, 0, out);
}

bool fgs__sim_sample(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                     struct fgs__sim_texel *out)
{
    const struct fgs__sim_texture *t = s->t;
    double last = t->levels - 1, lod = (double)s->lod, fine;
    uint32_t level, part;
    struct fgs__sim_texel next;

    if (t->levels == 1 || s->gather || s->base)
        return sample_level(w, s, 0, out);
    lod += (double)t->tex.mipmapLevelBias;
    lod = fmin(fmax(lod, (double)t->tex.minMipmapLevelClamp),
               (double)t->tex.maxMipmapLevelClamp);
    lod = fmin(fmax(lod, 0), last);
    if (t->tex.mipmapFilterMode == CU_TR_FILTER_MODE_POINT || s->integers)
        return sample_level(w, s, (uint32_t)floor(lod + 0.5), out);
    fine = floor(lod * FRACTION + 0.5);
    level = (uint32_t)(fine / FRACTION);
    part = (uint32_t)(fine - (double)level * FRACTION);
    if (!sample_level(w, s, level, out))
        return false;
    if (!part || t->integer)
        return true;
    if (!sample_level(w, s, level + 1, &next))
        return false;
    for (unsigned k = 0; k < 4; k++)
        out->v[k] = float_bits((float)(
            ((double)(FRACTION - part) * (double)bits_float(out->v[k]) +
             (double)part * (double)bits_float(next.v[k])) / FRACTION));
    return true;
}
