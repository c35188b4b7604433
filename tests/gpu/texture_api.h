/* texture_api.h -- calls for textures, and descriptors that are wrong */
#ifndef TEXTURE_API_H
#define TEXTURE_API_H

#include "table/cu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct texture_calls {
    CUresult (*array)(CUarray *, const CUDA_ARRAY3D_DESCRIPTOR *);
    CUresult (*no_array)(CUarray);
    CUresult (*copy)(const CUDA_MEMCPY3D *);
    CUresult (*mipmap)(CUmipmappedArray *, const CUDA_ARRAY3D_DESCRIPTOR *,
                       unsigned);
    CUresult (*level)(CUarray *, CUmipmappedArray, unsigned);
    CUresult (*no_mipmap)(CUmipmappedArray);
    CUresult (*texture)(CUtexObject *, const CUDA_RESOURCE_DESC *,
                        const CUDA_TEXTURE_DESC *,
                        const CUDA_RESOURCE_VIEW_DESC *);
    CUresult (*no_texture)(CUtexObject);
    CUresult (*surface)(CUsurfObject *, const CUDA_RESOURCE_DESC *);
    CUresult (*no_surface)(CUsurfObject);
    CUresult (*view)(CUDA_RESOURCE_VIEW_DESC *, CUtexObject);
    CUresult (*resource)(CUDA_RESOURCE_DESC *, CUtexObject);
};

static bool texture_find(struct texture_calls *c, fgs_device *dev)
{
    const struct {
        void *fn;
        const char *name;
    } list[] = {
        { &c->array, "cuArray3DCreate" },
        { &c->no_array, "cuArrayDestroy" },
        { &c->copy, "cuMemcpy3D" },
        { &c->mipmap, "cuMipmappedArrayCreate" },
        { &c->level, "cuMipmappedArrayGetLevel" },
        { &c->no_mipmap, "cuMipmappedArrayDestroy" },
        { &c->texture, "cuTexObjectCreate" },
        { &c->no_texture, "cuTexObjectDestroy" },
        { &c->surface, "cuSurfObjectCreate" },
        { &c->no_surface, "cuSurfObjectDestroy" },
        { &c->view, "cuTexObjectGetResourceViewDesc" },
        { &c->resource, "cuTexObjectGetResourceDesc" },
    };

    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        void *p = fgs_device_get_proc(dev, list[k].name);

        if (!p)
            return false;
        memcpy(list[k].fn, &p, sizeof p);
    }
    return true;
}

/* A good texture or surface, spoiled in the k-th way, and what the driver of an
 * H200 says of it. */
#define WRONGS(X)                                                              \
    X("linear", 0, (void)linear)                                               \
    X("linear at +256", 1, linear->res.linear.devPtr += 256)                   \
    X("linear at +16", 1, linear->res.linear.devPtr += 16)                     \
    X("linear at +4", 1, linear->res.linear.devPtr += 4)                       \
    X("linear at 0", 1, linear->res.linear.devPtr = 0)                         \
    X("linear of 0 bytes", 0, linear->res.linear.sizeInBytes = 0)              \
    X("linear of 3 bytes", 0, linear->res.linear.sizeInBytes = 3)              \
    X("linear of 1003 bytes", 0, linear->res.linear.sizeInBytes = 1003)        \
    X("linear of 2^29 bytes", 0, linear->res.linear.sizeInBytes = 1u << 29)    \
    X("linear of 2^31 bytes", 0, linear->res.linear.sizeInBytes = 1u << 31)    \
    X("linear beyond its memory", 0, linear->res.linear.sizeInBytes = 1 << 22) \
    X("linear x3", 1, linear->res.linear.numChannels = 3)                      \
    X("linear x0", 1, linear->res.linear.numChannels = 0)                      \
    X("linear format 7", 1, linear->res.linear.format = 7)                     \
    X("linear flags", 1, linear->flags = 1)                                    \
    X("linear, linear filter", 0, (linear->flags = 0, tex->filterMode = 1))    \
    X("linear normalized", 0, (linear->flags = 0, tex->flags = 2))             \
    X("linear wrapped", 0, (linear->flags = 0, tex->addressMode[0] = 0))       \
    X("linear viewed", 0, (linear->flags = 0, *viewed = true))                 \
    X("pitch", 0, *which = pitch)                                              \
    X("pitch at +256", 1, (*which = pitch, pitch->res.pitch2D.devPtr += 256))  \
    X("pitch at +32", 1, (*which = pitch, pitch->res.pitch2D.devPtr += 32))    \
    X("pitch of 48", 1,                                                        \
      (*which = pitch, pitch->res.pitch2D.pitchInBytes = 48))                  \
    X("pitch of 144", 1,                                                       \
      (*which = pitch, pitch->res.pitch2D.pitchInBytes = 144))                 \
    X("pitch of 160", 0,                                                       \
      (*which = pitch, pitch->res.pitch2D.pitchInBytes = 160))                 \
    X("pitch of 32", 0,                                                        \
      (*which = pitch, pitch->res.pitch2D.pitchInBytes = 32))                  \
    X("pitch of 0", 0, (*which = pitch, pitch->res.pitch2D.pitchInBytes = 0))  \
    X("pitch, no rows", 0, (*which = pitch, pitch->res.pitch2D.height = 0))    \
    X("pitch, no width", 0, (*which = pitch, pitch->res.pitch2D.width = 0))    \
    X("pitch, 65001 rows", 1,                                                  \
      (*which = pitch, pitch->res.pitch2D.height = 65001))                     \
    X("pitch beyond", 0, (*which = pitch, pitch->res.pitch2D.height = 60000))  \
    X("pitch x3", 1, (*which = pitch, pitch->res.pitch2D.numChannels = 3))     \
    X("pitch normalized", 0, (*which = pitch, tex->flags = 2))                 \
    X("pitch u32 linear", 0,                                                   \
      (*which = pitch, pitch->res.pitch2D.format = 3, tex->filterMode = 1))    \
    X("pitch u8 int linear", 0,                                                \
      (*which = pitch, pitch->res.pitch2D.format = 1, tex->flags = 1,          \
        tex->filterMode = 1))                                                  \
    X("pitch u8 linear", 0,                                                    \
      (*which = pitch, pitch->res.pitch2D.format = 1, tex->filterMode = 1))    \
    X("array", 0, *which = array)                                              \
    X("array none", 1, (*which = array, array->res.array.hArray = NULL))       \
    X("array flags", 1, (*which = array, array->flags = 1))                    \
    X("array mode 4", 1, (*which = array, tex->addressMode[1] = 4))            \
    X("array mode 4 unused", 0, (*which = array, tex->addressMode[2] = 4))     \
    X("array filter 2", 1, (*which = array, tex->filterMode = 2))              \
    X("array mip filter 2", 1, (*which = array, tex->mipmapFilterMode = 2))    \
    X("array mip filter 1", 0, (*which = array, tex->mipmapFilterMode = 1))    \
    X("array unnormalized wrap", 0, (*which = array, tex->addressMode[0] = 0)) \
    X("array unnormalized mirror", 0,                                          \
      (*which = array, tex->addressMode[0] = 2))                               \
    X("array flags 4", 0, (*which = array, tex->flags = 4))                    \
    X("array flags 8", 0, (*which = array, tex->flags = 8))                    \
    X("array flags 0x80", 1, (*which = array, tex->flags = 0x80))              \
    X("array srgb of f32", 0, (*which = array, tex->flags = 0x10))             \
    X("array aniso 4", 0, (*which = array, tex->maxAnisotropy = 4))            \
    X("array aniso 99", 0, (*which = array, tex->maxAnisotropy = 99))          \
    X("array clamp turned", 0,                                                 \
      (*which = array, tex->minMipmapLevelClamp = 5,                           \
        tex->maxMipmapLevelClamp = 1))                                         \
    X("array viewed", 1, (*which = array, *viewed = true))                     \
    X("array view format 1", 1,                                                \
      (*which = array, *viewed = true, view->format = 1))                      \
    X("array view u32", 1, (*which = array, *viewed = true, view->format = 7)) \
    X("array view f32", 0,                                                     \
      (*which = array, *viewed = true, view->format = 22))                     \
    X("array view width", 1,                                                   \
      (*which = array, *viewed = true, view->width = 8))                       \
    X("array view level", 1,                                                   \
      (*which = array, *viewed = true, view->lastMipmapLevel = 1))             \
    X("array view layer", 1,                                                   \
      (*which = array, *viewed = true, view->lastLayer = 1))                   \
    X("resource type 4", 1, (*which = array, array->resType = 4))              \
    X("mipmap", 0, *which = mipmap)                                            \
    X("mipmap unnormalized", 0, (*which = mipmap, tex->flags = 0))             \
    X("mipmap none", 1,                                                        \
      (*which = mipmap, mipmap->res.mipmap.hMipmappedArray = NULL))            \
    X("no tex", 1, *none = 1)                                                  \
    X("no out", 1, *none = 2)                                                  \
    X("no resource", 1, *none = 3)                                             \
    X("surface of array", 0, (*which = array, *none = 4))                      \
    X("surface of plain array", 0, (*which = plain, *none = 4))                \
    X("surface of linear", 1, *none = 4)                                       \
    X("surface of pitch", 1, (*which = pitch, *none = 4))                      \
    X("surface of mipmap", 1, (*which = mipmap, *none = 4))                    \
    X("surface of none", 1,                                                    \
      (*which = array, *none = 4, array->res.array.hArray = NULL))             \
    X("destroy 0", 0, *none = 5)                                               \
    X("destroy 12345", 0, *none = 6)                                           \
    X("view of none", 0, (*which = array, *none = 7))                          \
    X("resource of none", 1, *none = 8)                                        \
    X("surface destroy 12345", 0, *none = 9)                                   \
    X("level 9", 1, *none = 10)                                                \
    X("level of none", 400, *none = 11)                                        \
    X("30 levels", 0, *none = 12)                                              \
    X("0 levels", 0, *none = 13)                                               \
    X("destroy a level", 0, *none = 14)

enum {
    TEXTURE_WRONGS = 0
#define ONE(what, said, how) + 1
    WRONGS(ONE)
#undef ONE
};

struct texture_good {
    CUDA_RESOURCE_DESC linear, pitch, array, plain, mipmap;
    CUarray a, p, level;
    CUmipmappedArray m;
};

static CUresult texture_goods(const struct texture_calls *c,
                              CUdeviceptr memory, struct texture_good *g)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 16, 8, 0, CU_AD_FORMAT_FLOAT, 1,
                                  CUDA_ARRAY3D_SURFACE_LDST };
    CUresult r;

    memset(g, 0, sizeof *g);
    g->linear.resType = CU_RESOURCE_TYPE_LINEAR;
    g->linear.res.linear.devPtr = memory;
    g->linear.res.linear.format = CU_AD_FORMAT_FLOAT;
    g->linear.res.linear.numChannels = 1;
    g->linear.res.linear.sizeInBytes = 1024;
    g->pitch.resType = CU_RESOURCE_TYPE_PITCH2D;
    g->pitch.res.pitch2D.devPtr = memory;
    g->pitch.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    g->pitch.res.pitch2D.numChannels = 1;
    g->pitch.res.pitch2D.width = 12;
    g->pitch.res.pitch2D.height = 4;
    g->pitch.res.pitch2D.pitchInBytes = 64;
    r = c->array(&g->a, &d);
    d.Flags = 0;
    if (!r)
        r = c->array(&g->p, &d);
    if (!r)
        r = c->mipmap(&g->m, &d, 3);
    if (!r)
        r = c->level(&g->level, g->m, 1);
    g->array.res.array.hArray = g->a;
    g->plain.res.array.hArray = g->p;
    g->mipmap.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    g->mipmap.res.mipmap.hMipmappedArray = g->m;
    return r;
}

static CUresult texture_try(const struct texture_calls *c, int none,
                            const CUDA_RESOURCE_DESC *res,
                            const CUDA_TEXTURE_DESC *tex,
                            const CUDA_RESOURCE_VIEW_DESC *view,
                            const struct texture_good *g)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    CUDA_RESOURCE_VIEW_DESC v;
    CUDA_RESOURCE_DESC rd;
    unsigned long long t = 0;
    CUmipmappedArray m = NULL;
    CUarray a;
    CUresult r;

    switch (none) {
    case 4:
        r = c->surface(&t, res);
        if (!r)
            c->no_surface(t);
        return r;
    case 5:
        return c->no_texture(0);
    case 6:
        return c->no_texture(12345);
    case 7:
        r = c->texture(&t, res, tex, NULL);
        if (r)
            return r;
        r = c->view(&v, t);
        c->no_texture(t);
        return r;
    case 8:
        return c->resource(&rd, 12345);
    case 9:
        return c->no_surface(12345);
    case 10:
        return c->level(&a, g->m, 9);
    case 11:
        return c->level(&a, NULL, 0);
    case 12:
    case 13:
        r = c->mipmap(&m, &d, none == 12 ? 30 : 0);
        if (!r)
            c->no_mipmap(m);
        return r;
    case 14:
        return c->no_array(g->level);
    default:
        r = c->texture(none == 2 ? NULL : &t, none == 3 ? NULL : res,
                       none == 1 ? NULL : tex, view);
        if (!r)
            c->no_texture(t);
        return r;
    }
}

static int texture_said(int k)
{
    static const int answers[] = {
#define ONE(what, said, how) said,
        WRONGS(ONE)
#undef ONE
    };

    return answers[k];
}

static CUresult texture_wrong(const struct texture_calls *c,
                              CUdeviceptr memory, int k, char what[100])
{
    CUDA_TEXTURE_DESC tex_ = { .addressMode = { 1, 1, 1 }, .flags = 0,
                               .maxMipmapLevelClamp = 9 };
    CUDA_RESOURCE_VIEW_DESC view_ = { .width = 16, .height = 8 };
    CUDA_TEXTURE_DESC *tex = &tex_;
    CUDA_RESOURCE_VIEW_DESC *view = &view_;
    struct texture_good g;
    CUresult r = texture_goods(c, memory, &g);
    CUDA_RESOURCE_DESC *linear = &g.linear, *pitch = &g.pitch;
    CUDA_RESOURCE_DESC *array = &g.array, *plain = &g.plain;
    CUDA_RESOURCE_DESC *mipmap = &g.mipmap, *chosen = linear;
    CUDA_RESOURCE_DESC **which = &chosen;
    bool use_view = false, *viewed = &use_view;
    int none_ = 0, *none = &none_, n = 0;

    snprintf(what, 100, "setup");
    if (r)
        return r;
#define ONE(text, said, how)                                                   \
    if (n++ == k) {                                                            \
        if (!strncmp(text, "mipmap", 6))                                       \
            tex->flags = 2;                                                    \
        how;                                                                   \
        snprintf(what, 100, "%s", text);                                       \
    }
    WRONGS(ONE)
#undef ONE
    r = texture_try(c, none_, chosen, tex, use_view ? view : NULL, &g);
    c->no_array(g.a);
    c->no_array(g.p);
    c->no_mipmap(g.m);
    return r;
}

#endif
