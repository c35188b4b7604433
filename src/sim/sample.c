/* sample.c -- reading a texture: levels, coordinates, addressing, weights
 *
 * CUDA C++ Programming Guide, "Texture Fetching": a coordinate is scaled by
 * the size when it is normalized; a point is the element at its floor; linear
 * filtering takes half an element off, and the rest behind the floor is kept
 * in 8 bits, of which 256 is 1.  What is cut and what is rounded, and how, is
 * what gave each bit of the answers of an H200; where it answered nothing, the
 * place says so.
 */
#include "sim/texture.h"
#include "sim/half.h"
#include <math.h>

enum {
    FRACTION = 256,            /* of an element, or of a level               */
    GRID = 1 << 21             /* of a normalized coordinate                 */
};

/* One direction: two neighbours, and how much of the second. */
struct axis {
    int64_t at[2];
    bool out[2];               /* what is there is the border                */
    uint32_t part;             /* of FRACTION                                */
};

/* What is no number is 0, and so is a subnormal one; none is beyond what 64
 * bits hold. */
static double bounded(double x)
{
    if (!(fabs(x) >= 0x1p-126))
        return 0;
    return x > 0x1p40 ? 0x1p40 : x < -0x1p40 ? -0x1p40 : x;
}

/* A normalized coordinate in elements: it is cut to 21 bits behind the point
 * first, so that just below an edge may be before it. */
static double scaled(float x, uint32_t size)
{
    double fine = floor(bounded((double)x) * GRID) / GRID;

    return fine * size;
}

/* A row is a plane of height 1 that is read at 0: a filter takes one half of
 * what lies before it, which a border in y shows. */
static unsigned dims_of(const struct fgs__sim_texture *t)
{
    return t->dims < 2 ? 2 : t->dims;
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
        if (t->mipmapped)
            address(a, 0, CU_TR_ADDRESS_MODE_CLAMP, size);
        a->out[0] = a->at[0] < 0 || a->at[0] >= size;
        return;
    }
    /* Only normalized coordinates wrap around. */
    if (!t->normalized && mode < CU_TR_ADDRESS_MODE_BORDER)
        mode = CU_TR_ADDRESS_MODE_CLAMP;
    u = t->cube ? s->way[d] * size
        : t->normalized ? scaled(bits_float(s->coord[d]), size)
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
    if (!t->seamless || !two) {
        address(a, 0, mode, size);
        address(a, 1, mode, size);
    }
    /* One element has one weight, which three dimensions show. */
    if (a->at[0] == a->at[1])
        a->part = 0;
}

/* One of the neighbours: bit d of `which` is the second in direction d. */
static bool fetch(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                  const struct fgs__sim_level *l, const struct axis *a,
                  unsigned which, struct fgs__sim_texel *out)
{
    const struct fgs__sim_texture *t = s->t;
    int64_t at[3] = { 0, 0, 0 };
    uint32_t face = s->layer % 6;
    const char *from;

    for (unsigned d = 0; d < dims_of(t); d++) {
        unsigned k = which >> d & 1;

        if (a[d].out[k]) {
            if (s->integers)
                *out = (struct fgs__sim_texel){ { 0, 0, 0, 0 } };
            else
                fgs__sim_texel_border(t, out);
            return true;
        }
        at[d] = a[d].at[k];
    }
    if (t->layered || t->cube)
        at[2] = s->layer;
    if (t->seamless) {
        fgs__sim_cube_beside(&face, at, l->size[0]);
        at[2] += (int64_t)face - s->layer % 6;
    }
    from = fgs__sim_global(w, l->va + (uint64_t)at[2] * l->slice +
                           (uint64_t)at[1] * l->pitch +
                           (uint64_t)at[0] * t->element, t->element);
    if (from)
        fgs__sim_texel_read(t, from, out);
    return from != NULL;
}

/* The weights of a level's neighbours, whose sum is `all`.  They are shared
 * out by z, then by x, then by y; of two halves the second in x is given the
 * larger. */
static void weigh(const struct axis *a, unsigned dims, uint32_t all,
                  uint32_t weight[8])
{
    uint32_t z = dims > 2 ? (all * a[2].part + FRACTION / 2) / FRACTION : 0;
    uint32_t y = a[1].part;

    for (unsigned k = 0; k < 2; k++) {
        uint32_t plane = k ? z : all - z;
        uint32_t x1 = (plane * a[0].part + FRACTION / 2) / FRACTION;
        uint32_t x0 = plane - x1;
        uint32_t y1 = (x1 * y + FRACTION / 2) / FRACTION;
        uint32_t y0 = (x0 * y + FRACTION / 2 - 1) / FRACTION;

        weight[4 * k] = x0 - y0;
        weight[4 * k + 1] = x1 - y1;
        weight[4 * k + 2] = y0;
        weight[4 * k + 3] = y1;
    }
}

/* Which neighbour lies behind a corner of a face; 8 = none. */
static unsigned corner_of(const struct fgs__sim_level *l, const struct axis *a)
{
    unsigned corner = 0;

    for (unsigned d = 0; d < 2; d++) {
        if (a[d].at[0] >= 0 && a[d].at[1] < l->size[d])
            return 8;
        corner |= (unsigned)(a[d].at[1] >= l->size[d]) << d;
    }
    return corner;
}

/* Three faces meet at a corner: the weight of the element that there is none
 * goes to the other three, and what a third leaves over to the face's own. */
static void share_corner(const struct fgs__sim_level *l, const struct axis *a,
                         uint32_t weight[8])
{
    unsigned corner = corner_of(l, a);
    uint32_t third;

    if (corner > 3)
        return;
    third = (weight[corner] + 1) / 3;
    weight[corner ^ 1] += third;
    weight[corner ^ 2] += third;
    weight[corner ^ 3] += weight[corner] - 2 * third;
    weight[corner] = 0;
}

static void places(const struct fgs__sim_sample *s,
                   const struct fgs__sim_level *l, bool two, struct axis *a)
{
    for (unsigned d = 0; d < dims_of(s->t); d++)
        place(s, d, l->size[d], two, &a[d]);
}

/* The neighbours in a level that have a weight, into the mix. */
static bool add_level(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                      uint32_t level, uint32_t all, struct fgs__sim_mix *mix)
{
    const struct fgs__sim_level *l = &s->t->level[level];
    struct axis a[3] = { { { 0, 0 }, { false, false }, 0 } };
    unsigned quad = mix->count ? mix->quad[mix->count - 1] + 1u : 0;
    uint32_t weight[8];

    places(s, l, s->t->linear, a);
    weigh(a, dims_of(s->t), all, weight);
    if (s->t->seamless)
        share_corner(l, a, weight);
    for (unsigned k = 0; k < 8; k++) {
        if (!weight[k])
            continue;
        if (!fetch(w, s, l, a, k, &mix->of[mix->count]))
            return false;
        mix->quad[mix->count] = (uint8_t)(quad + k / 4);
        mix->weight[mix->count++] = weight[k];
    }
    return true;
}

/* What a gather has for the element that there is none: a mean of the three
 * that meet at the corner. */
static bool mean(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                 const struct axis *a, unsigned corner,
                 struct fgs__sim_texel *out)
{
    const struct fgs__sim_level *l = &s->t->level[0];
    struct fgs__sim_mix mix = { .count = 3, .weight = { 85, 85, 86 } };

    for (unsigned k = 0; k < 3; k++)
        if (!fetch(w, s, l, a, corner ^ (k + 1), &mix.of[k]))
            return false;
    fgs__sim_texel_mix(s->t, &mix, out);
    return true;
}

/* The four neighbours that a filter would take, of one component: counter-
 * clockwise from the lower left (ISA, tld4). */
static bool gather(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                   struct fgs__sim_texel *out)
{
    static const uint8_t order[4] = { 2, 3, 1, 0 };
    struct fgs__sim_texel e;
    struct axis a[3];

    places(s, &s->t->level[0], true, a);
    for (unsigned k = 0; k < 4; k++) {
        bool corner = s->t->seamless &&
            corner_of(&s->t->level[0], a) == order[k];

        if (corner ? !mean(w, s, a, order[k], &e)
                   : !fetch(w, s, &s->t->level[0], a, order[k], &e))
            return false;
        out->v[k] = e.v[s->component];
    }
    return true;
}

static bool point(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                  uint32_t level, struct fgs__sim_texel *out)
{
    const struct fgs__sim_level *l = &s->t->level[level];
    struct axis a[3];

    places(s, l, false, a);
    return fetch(w, s, l, a, 0, out);
}

/* By integers: no filter, no border; a level or layer that is not there reads
 * as 0, and so does an element, but that of a mipmapped array is the nearest.
 * A row that is no linear memory reads as 0 everywhere: what hardware takes
 * for linear memory there is none. */
static bool fetch_integers(struct fgs__sim_warp *w,
                           const struct fgs__sim_sample *s,
                           struct fgs__sim_texel *out)
{
    const struct fgs__sim_texture *t = s->t;
    int32_t level = (int32_t)s->lod;

    *out = (struct fgs__sim_texel){ { 0, 0, 0, 0 } };
    if (level < 0 || (uint32_t)level >= t->levels || s->layer >= t->layers ||
        (t->dims == 1 && !t->layered && !t->fetched))
        return true;
    return point(w, s, (uint32_t)level, out);
}

/* The level in 256ths.  The bias and the bounds are cut to these; a level of
 * its own has no bias, but the bounds (tex, tex.base). */
static uint32_t choose_level(const struct fgs__sim_sample *s)
{
    const CUDA_TEXTURE_DESC *tex = &s->t->tex;
    double lod = 0, most = FRACTION * (double)(s->t->levels - 1);

    if (s->level)
        lod = trunc(bounded((double)s->lod) * FRACTION) +
            trunc(bounded((double)tex->mipmapLevelBias) * FRACTION);
    lod = fmax(lod, floor((double)tex->minMipmapLevelClamp * FRACTION));
    lod = fmin(lod, floor((double)tex->maxMipmapLevelClamp * FRACTION));
    return (uint32_t)fmin(fmax(lod, 0), most);
}

bool fgs__sim_sample(struct fgs__sim_warp *w, const struct fgs__sim_sample *s,
                     struct fgs__sim_texel *out)
{
    const struct fgs__sim_texture *t = s->t;
    bool mixed = t->tex.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR &&
        t->levels > 1 && !t->integer;
    struct fgs__sim_mix mix = { .count = 0 };
    uint32_t fine, level, part;

    if (s->gather)
        return gather(w, s, out);
    if (s->integers)
        return fetch_integers(w, s, out);
    fine = choose_level(s);
    level = (mixed ? fine : fine + FRACTION / 2) / FRACTION;
    part = mixed ? fine % FRACTION : 0;
    if (!t->linear && !mixed)
        return point(w, s, level, out);
    if (!add_level(w, s, level, FRACTION - part, &mix) ||
        (part && !add_level(w, s, level + 1, part, &mix)))
        return false;
    fgs__sim_texel_mix(t, &mix, out);
    return true;
}
