/* cube.c -- directions as faces of a cube and places on them
 *
 * The assembler divides a direction by its largest component, with the
 * approximate reciprocal, and the texture unit does so again: of equal
 * components z is before y, and y before x.  The faces are +x, -x, +y, -y, +z,
 * -z, and turned as all APIs have them.  An H200's answers show this.
 */
#include "sim/texture.h"
#include "sim/approx.h"

#include <math.h>

/* The way over a face: which component goes along it and along its rows, and
 * which sign they have. */
static const struct face {
    uint8_t major, s, t;
    int8_t sign, s_sign, t_sign;
} faces[6] = {
    { 0, 2, 1, 1, -1, -1 }, { 0, 2, 1, -1, 1, -1 },
    { 1, 0, 2, 1, 1, 1 },   { 1, 0, 2, -1, 1, -1 },
    { 2, 0, 1, 1, 1, -1 },  { 2, 0, 1, -1, -1, -1 },
};

/* In 2^-21 of the face's width, cut; the middle where it is no number. */
static double along(double part, double major)
{
    double half = 1 << 20, x = part / major;

    if (isinf(part) && isinf(major))
        x = part > 0 ? 1 : -1;
    if (x != x)
        x = 0;
    if (x == 1 && major < 1) /* whose reciprocal is taken for 1 */
        x = part;
    return (floor(x * half) + half) / (2 * half);
}

/* Subnormal ones are 0; what is no number is less than that. */
void fgs__sim_cube_place(struct fgs__sim_sample *s)
{
    float v[3], size[3], most, by;
    const struct face *f;
    unsigned k;

    for (k = 0; k < 3; k++)
        v[k] = bits_float(s->coord[k]);
    most = fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fabsf(v[2]));
    by = raw_rcp(most);
    for (k = 0; k < 3; k++) {
        v[k] *= by;
        if (fabsf(v[k]) < 0x1p-126f)
            v[k] = 0;
        size[k] = v[k] == v[k] ? fabsf(v[k]) : -1;
    }
    if (size[2] >= size[0] && size[2] >= size[1])
        k = 2;
    else
        k = size[1] >= size[0];
    most = size[k];
    k = 2 * k + (v[k] < 0);
    f = &faces[k];
    s->layer += k;
    s->way[0] = along((double)v[f->s] * f->s_sign, (double)most);
    s->way[1] = along((double)v[f->t] * f->t_sign, (double)most);
}

bool fgs__sim_cube_beside(uint32_t *face, int64_t at[2], int64_t size)
{
    const struct face *f = &faces[*face];
    bool out[2] = { at[0] < 0 || at[0] >= size, at[1] < 0 || at[1] >= size };
    int64_t v[3];
    unsigned k;

    if (!out[0] && !out[1])
        return true;
    if (out[0] && out[1])
        return false;
    /* The cube goes from -size to size: elements are 2 wide. */
    v[f->major] = f->sign * (size - 1);
    v[f->s] = f->s_sign * (2 * at[0] + 1 - size);
    v[f->t] = f->t_sign * (2 * at[1] + 1 - size);
    k = out[0] ? f->s : f->t;
    f = &faces[*face = 2 * k + (v[k] < 0)];
    at[0] = (f->s_sign * v[f->s] + size - 1) / 2;
    at[1] = (f->t_sign * v[f->t] + size - 1) / 2;
    return true;
}
