/* map_line.h -- the line //: tensormap of tests/ptx/run
 *
 *   //: tensormap KIND of in|out KEY VALUE...
 *
 * KIND is tiled, im2col or wide; the tensor lies behind p_in or p_out.  The
 * entry has a third parameter, p_map, of 128 bytes.  Keys: type, dim, stride,
 * box, step, lower, upper, channels, pixels, mode, swizzle, interleave, fill;
 * values are the driver API's numbers, with commas between several.
 */
#ifndef MAP_LINE_H
#define MAP_LINE_H

#include "sim/device.h"

struct map_line {
    bool there, out;
    char kind; /* t i w */
    long long type[5], dim[5], stride[5], box[5], step[5], lower[5], upper[5],
        channels[5], pixels[5], mode[5], swizzle[5], interleave[5], fill[5];
    unsigned rank;
};

/* Values of a key; how many, 0 = bad. */
static unsigned map_values(const char *s, long long v[5])
{
    char *end;

    for (unsigned n = 0; n < 5; n++) {
        v[n] = strtoll(s, &end, 0);
        if (end == s)
            return 0;
        if (!*end)
            return n + 1;
        if (*end != ',')
            return 0;
        s = end + 1;
    }
    return 0;
}

/* False = it is no line of this form. */
static bool map_parse(struct map_line *m, char *s)
{
    struct {
        const char *key;
        long long *to;
    } keys[] = {
        {"type", m->type},         {"dim", m->dim},
        {"stride", m->stride},     {"box", m->box},
        {"step", m->step},         {"lower", m->lower},
        {"upper", m->upper},       {"channels", m->channels},
        {"pixels", m->pixels},     {"mode", m->mode},
        {"swizzle", m->swizzle},   {"interleave", m->interleave},
        {"fill", m->fill},
    };
    char *save = NULL, *kind = strtok_r(s, " ", &save);
    char *of = strtok_r(NULL, " ", &save), *where = strtok_r(NULL, " ", &save);

    if (!m->there)
        for (int d = 0; d < 5; d++)
            m->step[d] = m->box[d] = 1;
    if (!where || strcmp(of, "of"))
        return false;
    m->there = true;
    m->kind = *kind;
    m->out = !strcmp(where, "out");
    for (char *key; (key = strtok_r(NULL, " ", &save)); ) {
        char *value = strtok_r(NULL, " ", &save);
        unsigned k = 0, n;

        while (k < sizeof keys / sizeof *keys && strcmp(keys[k].key, key))
            k++;
        if (!value || k == sizeof keys / sizeof *keys)
            return false;
        n = map_values(value, keys[k].to);
        if (!n)
            return false;
        if (keys[k].to == m->dim)
            m->rank = n;
    }
    return true;
}

static CUresult map_encode(const struct map_line *m, CUdeviceptr at,
                           CUtensorMap *map)
{
    void *to = (void *)(uintptr_t)at;
    cuuint64_t dim[5], stride[5];
    cuuint32_t box[5], step[5];
    int lower[5], upper[5];

    for (int d = 0; d < 5; d++) {
        dim[d] = (cuuint64_t)m->dim[d];
        stride[d] = (cuuint64_t)m->stride[d];
        box[d] = (cuuint32_t)m->box[d];
        step[d] = (cuuint32_t)m->step[d];
        lower[d] = (int)m->lower[d];
        upper[d] = (int)m->upper[d];
    }
#define FIRST(name) ((unsigned)m->name[0])
    if (m->kind == 't')
        return fgs__sim_cuTensorMapEncodeTiled(
            map, FIRST(type), m->rank, to, dim, stride, box, step,
            FIRST(interleave), FIRST(swizzle), 0, FIRST(fill));
    if (m->kind == 'i')
        return fgs__sim_cuTensorMapEncodeIm2col(
            map, FIRST(type), m->rank, to, dim, stride, lower, upper,
            FIRST(channels), FIRST(pixels), step, FIRST(interleave),
            FIRST(swizzle), 0, FIRST(fill));
    return fgs__sim_cuTensorMapEncodeIm2colWide(
        map, FIRST(type), m->rank, to, dim, stride, lower[0], upper[0],
        FIRST(channels), FIRST(pixels), step, FIRST(interleave), FIRST(mode),
        FIRST(swizzle), 0, FIRST(fill));
#undef FIRST
}

#endif
