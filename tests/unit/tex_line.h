/* tex_line.h -- the lines //: texture and //: surface of tests/ptx/run
 *
 *   //: texture KIND KEY VALUE...
 *   //: surface KIND KEY VALUE...
 *
 * KIND is array, layered, cube, stack (of cubes), mipmap, linear or pitch.
 * Each line is one more parameter of the entry, .u64, behind p_in and p_out.
 * An array is filled with what lies behind p_in from byte `at` on, level behind
 * level; linear and pitch name the memory there.  What a surface holds at the
 * end is copied behind p_out from byte `back` on.  Keys with commas between
 * values:
 *
 *   size W{,H{,D or layers}}   at BYTES     back BYTES   pitch BYTES
 *   format u8|u16|u32|s8|s16|s32|f16|f32    channels N   levels N
 *   address N,N,N   filter N   flags N   mip N   lod BIAS,MIN,MAX
 *   border R,G,B,A
 *
 * A word that belongs to the driver API has the API's number.  With `ref NAME`
 * the object is not a parameter but what the .texref or .surfref NAME holds.
 */
#ifndef TEX_LINE_H
#define TEX_LINE_H

#include "sim/array.h"

enum { TEX_LINES = 4 };

struct tex_line {
    bool surface;
    char kind;                 /* a y(layered) c s(tack) m l p               */
    char ref[40];
    double size[4], at[4], back[4], pitch[4], channels[4], levels[4];
    double address[4], filter[4], flags[4], mip[4], lod[4], border[4];
    unsigned dims, format;
    bool has_back;
    CUarray array;
    CUmipmappedArray mipmap;
    unsigned long long object;
};

static unsigned tex_values(const char *s, double v[4])
{
    char *end;

    for (unsigned n = 0; n < 4; n++) {
        v[n] = strtod(s, &end);
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

static bool tex_format(const char *s, unsigned *out)
{
    static const struct {
        const char *word;
        unsigned format;
    } list[] = {
        { "u8", CU_AD_FORMAT_UNSIGNED_INT8 },
        { "u16", CU_AD_FORMAT_UNSIGNED_INT16 },
        { "u32", CU_AD_FORMAT_UNSIGNED_INT32 },
        { "s8", CU_AD_FORMAT_SIGNED_INT8 },
        { "s16", CU_AD_FORMAT_SIGNED_INT16 },
        { "s32", CU_AD_FORMAT_SIGNED_INT32 },
        { "f16", CU_AD_FORMAT_HALF },
        { "f32", CU_AD_FORMAT_FLOAT },
    };

    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        if (!strcmp(list[k].word, s)) {
            *out = list[k].format;
            return true;
        }
    return false;
}

/* False = it is no line of this form. */
static bool tex_parse(struct tex_line *t, bool surface, char *s)
{
    struct {
        const char *key;
        double *to;
    } keys[] = {
        { "size", t->size },       { "at", t->at },
        { "back", t->back },       { "pitch", t->pitch },
        { "channels", t->channels }, { "levels", t->levels },
        { "address", t->address }, { "filter", t->filter },
        { "flags", t->flags },     { "mip", t->mip },
        { "lod", t->lod },         { "border", t->border },
    };
    char *save = NULL, *kind = strtok_r(s, " ", &save);

    memset(t, 0, sizeof *t);
    t->surface = surface;
    t->channels[0] = t->levels[0] = 1;
    t->format = CU_AD_FORMAT_FLOAT;
    t->lod[2] = 99;
    t->kind = !strcmp(kind, "layered") ? 'y' : *kind;
    for (char *key; (key = strtok_r(NULL, " ", &save)); ) {
        char *value = strtok_r(NULL, " ", &save);
        unsigned k = 0, n;

        if (value && !strcmp(key, "ref")) {
            snprintf(t->ref, sizeof t->ref, "%s", value);
            continue;
        }
        if (value && !strcmp(key, "format") && tex_format(value, &t->format))
            continue;
        while (k < sizeof keys / sizeof *keys && strcmp(keys[k].key, key))
            k++;
        if (!value || k == sizeof keys / sizeof *keys)
            return false;
        n = tex_values(value, keys[k].to);
        if (!n)
            return false;
        if (keys[k].to == t->size)
            t->dims = n;
        t->has_back |= keys[k].to == t->back;
    }
    return t->dims && strchr("aycsmlp", t->kind);
}

static CUresult tex_copy(CUarray a, CUdeviceptr mem, bool in, size_t *bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUDA_MEMCPY3D c = { 0 };
    CUresult r = fgs__sim_cuArray3DGetDescriptor(&d, a);

    if (r)
        return r;
    c.WidthInBytes = d.Width * d.NumChannels * fgs__sim_component(d.Format);
    c.Height = d.Height ? d.Height : 1;
    c.Depth = d.Depth ? d.Depth : 1;
    *bytes = c.WidthInBytes * c.Height * c.Depth;
    c.srcMemoryType = in ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_ARRAY;
    c.dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
    c.srcDevice = in ? mem : 0;
    c.dstDevice = in ? 0 : mem;
    c.srcArray = in ? NULL : a;
    c.dstArray = in ? a : NULL;
    c.srcPitch = c.dstPitch = c.WidthInBytes;
    c.srcHeight = c.dstHeight = c.Height;
    return fgs__sim_cuMemcpy3D(&c);
}

static CUresult tex_memory(struct tex_line *t, CUdeviceptr in,
                           CUDA_RESOURCE_DESC *res)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        (size_t)t->size[0], (size_t)t->size[1], (size_t)t->size[2], t->format,
        (unsigned)t->channels[0],
        (t->kind == 'y' || t->kind == 's' ? CUDA_ARRAY3D_LAYERED : 0u) |
            (t->kind == 'c' || t->kind == 's' ? CUDA_ARRAY3D_CUBEMAP : 0u) |
            (t->surface ? CUDA_ARRAY3D_SURFACE_LDST : 0u)
    };
    CUdeviceptr from = in + (CUdeviceptr)t->at[0];
    size_t bytes;
    CUresult r;

    if (t->kind == 'y' && t->dims == 2) { /* W and layers */
        d.Depth = d.Height;
        d.Height = 0;
    }
    if (t->kind == 'm') {
        res->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        r = fgs__sim_cuMipmappedArrayCreate(&t->mipmap, &d,
                                            (unsigned)t->levels[0]);
        for (unsigned k = 0; !r && k < t->levels[0]; k++, from += bytes) {
            bytes = 0;
            r = fgs__sim_cuMipmappedArrayGetLevel(&t->array, t->mipmap, k);
            if (!r)
                r = tex_copy(t->array, from, true, &bytes);
        }
        res->res.mipmap.hMipmappedArray = t->mipmap;
        return r;
    }
    r = fgs__sim_cuArray3DCreate(&t->array, &d);
    res->res.array.hArray = t->array;
    return r ? r : tex_copy(t->array, from, true, &bytes);
}

static CUresult tex_make(struct tex_line *t, CUdeviceptr in)
{
    CUDA_RESOURCE_DESC res = { 0 };
    CUDA_TEXTURE_DESC tex = { 0 };
    CUresult r = CUDA_SUCCESS;

    if (t->kind == 'l') {
        res.resType = CU_RESOURCE_TYPE_LINEAR;
        res.res.linear.devPtr = in + (CUdeviceptr)t->at[0];
        res.res.linear.format = t->format;
        res.res.linear.numChannels = (unsigned)t->channels[0];
        res.res.linear.sizeInBytes = (size_t)t->size[0] *
            (unsigned)t->channels[0] * fgs__sim_component(t->format);
    } else if (t->kind == 'p') {
        res.resType = CU_RESOURCE_TYPE_PITCH2D;
        res.res.pitch2D.devPtr = in + (CUdeviceptr)t->at[0];
        res.res.pitch2D.format = t->format;
        res.res.pitch2D.numChannels = (unsigned)t->channels[0];
        res.res.pitch2D.width = (size_t)t->size[0];
        res.res.pitch2D.height = (size_t)t->size[1];
        res.res.pitch2D.pitchInBytes = (size_t)t->pitch[0];
    } else {
        r = tex_memory(t, in, &res);
    }
    if (r)
        return r;
    if (t->surface)
        return fgs__sim_cuSurfObjectCreate(&t->object, &res);
    for (int k = 0; k < 3; k++)
        tex.addressMode[k] = (unsigned)t->address[k];
    for (int k = 0; k < 4; k++)
        tex.borderColor[k] = (float)t->border[k];
    tex.filterMode = (unsigned)t->filter[0];
    tex.flags = (unsigned)t->flags[0];
    tex.mipmapFilterMode = (unsigned)t->mip[0];
    tex.mipmapLevelBias = (float)t->lod[0];
    tex.minMipmapLevelClamp = (float)t->lod[1];
    tex.maxMipmapLevelClamp = (float)t->lod[2];
    return fgs__sim_cuTexObjectCreate(&t->object, &res, &tex, NULL);
}

/* What a surface holds, behind p_out. */
static CUresult tex_back(struct tex_line *t, CUdeviceptr out)
{
    size_t bytes;

    return t->has_back ? tex_copy(t->array, out + (CUdeviceptr)t->back[0],
                                  false, &bytes) : CUDA_SUCCESS;
}

#endif
