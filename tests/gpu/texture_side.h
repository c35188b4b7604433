/* texture_side.h -- a device with textures: make a row's, run its kernel
 */
#ifndef TEXTURE_SIDE_H
#define TEXTURE_SIDE_H

#include "../gen/device.h"
#include "base/compat.h"
#include "texture_case.h"
#include "texture_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct side {
    struct gen_device d;
    struct texture_calls call;
    CUdeviceptr in, out, memory;
    uint32_t got[MOST_POINTS * 4];
};

static unsigned char elements[MOST_BYTES];
static uint32_t points[MOST_POINTS * 4];

static void open_side(struct side *s, const char *provider)
{
    fgs_error err;

    if (gen_open(&s->d, provider, &err) < 0 ||
        !texture_find(&s->call, s->d.dev)) {
        print_message("%s\n", err.text);
        exit(77);
    }
    assert_int_equal(s->d.push(s->d.ctx), 0);
    assert_int_equal(s->d.alloc(&s->in, sizeof points), 0);
    assert_int_equal(s->d.alloc(&s->out, sizeof points), 0);
    assert_int_equal(s->d.alloc(&s->memory, MOST_BYTES), 0);
}

static void close_side(struct side *s)
{
    CUcontext was;

    s->d.dealloc(s->in);
    s->d.dealloc(s->out);
    s->d.dealloc(s->memory);
    s->d.pop(&was);
    gen_close(&s->d);
}

/* ------------------------------------------------------------- resources -- */

struct object {
    CUarray array;
    CUmipmappedArray mipmap;
    unsigned long long handle;
};

/* Level `level` into `elements`; its bytes. */
static size_t make_elements(const struct texture_case *c, unsigned level)
{
    unsigned bytes = texture_component(c->format);
    size_t n = c->channels;

    for (int d = 0; d < 3; d++) {
        unsigned size = c->size[d] >> (d < 2 || c->kind == 'm' ? level : 0);

        n *= size ? size : 1;
    }
    assert_true(n * bytes <= MOST_BYTES);
    for (size_t k = 0; k < n; k++) {
        uint32_t v = texture_element(c, (unsigned)k, level);

        memcpy(elements + k * bytes, &v, bytes);
    }
    return n * bytes;
}

static CUresult fill(struct side *s, const struct texture_case *c, CUarray a,
                     unsigned level)
{
    CUDA_MEMCPY3D m = { 0 };
    size_t rows = c->size[1] >> level, planes = c->size[2];

    make_elements(c, level);
    m.WidthInBytes = (size_t)(c->size[0] >> level ? c->size[0] >> level : 1) *
        c->channels * texture_component(c->format);
    m.Height = rows ? rows : 1;
    m.Depth = planes ? planes : 1;
    m.srcMemoryType = CU_MEMORYTYPE_HOST;
    m.srcHost = elements;
    m.srcPitch = m.WidthInBytes;
    m.srcHeight = m.Height;
    m.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    m.dstArray = a;
    return s->call.copy(&m);
}

static CUresult make_array(struct side *s, const struct texture_case *c,
                           struct object *o, CUDA_RESOURCE_DESC *res)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        c->size[0], c->size[1], c->size[2], c->format, c->channels,
        c->kind == 'y' ? CUDA_ARRAY3D_LAYERED
            : c->kind == 's' ? CUDA_ARRAY3D_SURFACE_LDST
            : strstr(c->insn, "tld4") ? CUDA_ARRAY3D_TEXTURE_GATHER : 0
    };
    CUresult r;

    if (c->kind != 'm') {
        res->resType = CU_RESOURCE_TYPE_ARRAY;
        r = s->call.array(&o->array, &d);
        res->res.array.hArray = o->array;
        return r ? r : fill(s, c, o->array, 0);
    }
    res->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    r = s->call.mipmap(&o->mipmap, &d, c->levels);
    res->res.mipmap.hMipmappedArray = o->mipmap;
    for (unsigned k = 0; !r && k < c->levels; k++) {
        CUarray a;

        r = s->call.level(&a, o->mipmap, k);
        if (!r)
            r = fill(s, c, a, k);
    }
    return r;
}

static CUresult make_memory(struct side *s, const struct texture_case *c,
                            CUDA_RESOURCE_DESC *res)
{
    size_t bytes = make_elements(c, 0);

    if (c->kind == 'l') {
        res->resType = CU_RESOURCE_TYPE_LINEAR;
        res->res.linear.devPtr = s->memory;
        res->res.linear.format = c->format;
        res->res.linear.numChannels = c->channels;
        res->res.linear.sizeInBytes = bytes;
    } else {
        res->resType = CU_RESOURCE_TYPE_PITCH2D;
        res->res.pitch2D.devPtr = s->memory;
        res->res.pitch2D.format = c->format;
        res->res.pitch2D.numChannels = c->channels;
        res->res.pitch2D.width = c->size[0];
        res->res.pitch2D.height = c->size[1];
        res->res.pitch2D.pitchInBytes = bytes / c->size[1];
    }
    return s->d.to_device(s->memory, elements, bytes);
}

static CUresult make(struct side *s, const struct texture_case *c,
                     struct object *o)
{
    CUDA_RESOURCE_DESC res = { 0 };
    CUDA_TEXTURE_DESC tex = { 0 };
    CUresult r;

    memset(o, 0, sizeof *o);
    r = c->kind == 'l' || c->kind == 'p' ? make_memory(s, c, &res)
                                         : make_array(s, c, o, &res);
    if (r)
        return r;
    if (c->kind == 's')
        return s->call.surface(&o->handle, &res);
    for (int d = 0; d < 3; d++)
        tex.addressMode[d] = c->address;
    for (int k = 0; k < 4; k++)
        tex.borderColor[k] = 0.25f * (float)(k + 1) - 0.1f;
    tex.filterMode = c->filter;
    tex.flags = c->flags;
    tex.mipmapFilterMode = c->mip;
    tex.mipmapLevelBias = c->bias;
    tex.minMipmapLevelClamp = c->least;
    tex.maxMipmapLevelClamp = c->most;
    return s->call.texture(&o->handle, &res, &tex, NULL);
}

static void unmake(struct side *s, const struct texture_case *c,
                   struct object *o)
{
    if (o->handle)
        (c->kind == 's' ? s->call.no_surface : s->call.no_texture)(o->handle);
    if (o->array)
        s->call.no_array(o->array);
    if (o->mipmap)
        s->call.no_mipmap(o->mipmap);
}

/* ---------------------------------------------------------------- kernel -- */

static void make_text(char *out, size_t size, const char *insn)
{
    snprintf(out, size,
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 p_in, .param .u64 p_out,\n"
             ".param .u64 p_tex, .param .u32 p_n)\n{\n"
             ".reg .b32 %%c<4>, %%r<4>, %%t, %%b, %%n;\n"
             ".reg .b64 %%in, %%out, %%tex;\n.reg .pred %%p;\n"
             "ld.param.u64 %%in, [p_in];\nld.param.u64 %%out, [p_out];\n"
             "ld.param.u64 %%tex, [p_tex];\nld.param.u32 %%n, [p_n];\n"
             "mov.u32 %%t, %%tid.x;\nmov.u32 %%b, %%ctaid.x;\n"
             "mad.lo.u32 %%t, %%b, 32, %%t;\nsetp.ge.u32 %%p, %%t, %%n;\n"
             "@%%p exit;\nmad.wide.u32 %%in, %%t, 16, %%in;\n"
             "mad.wide.u32 %%out, %%t, 16, %%out;\n"
             "ld.global.v4.b32 {%%c0, %%c1, %%c2, %%c3}, [%%in];\n%s"
             "st.global.v4.b32 [%%out], {%%r0, %%r1, %%r2, %%r3};\nret;\n}\n",
             insn);
}

static CUresult run(struct side *s, const char *insn, unsigned count,
                    unsigned long long handle)
{
    void *params[] = { &s->in, &s->out, &handle, &count };
    char text[2048];
    CUmodule mod;
    CUfunction f;
    CUresult r, end;

    make_text(text, sizeof text, insn);
    r = s->d.load(&mod, text, 0, NULL, NULL);
    if (r)
        return r;
    r = s->d.to_device(s->in, points, count * 16);
    if (!r)
        r = s->d.fill(s->out, 0xcc, count * 16);
    if (!r)
        r = s->d.entry(&f, mod, "k");
    if (!r)
        r = s->d.launch(f, (count + 31) / 32, 1, 1, 32, 1, 1, 0, NULL, params,
                        NULL);
    if (!r)
        r = s->d.wait();
    if (!r)
        r = s->d.to_host(s->got, s->out, count * 16);
    end = s->d.unload(mod);
    return r ? r : end;
}

/* Kernels that end in an error, one a context; what an H200 said of them.  It
 * says nothing of another shape: the software device does. */
static const struct {
    const char *insn;
    bool surface, none;
    int said;
} faults[] = {
    { T2, false, true, 700 },
    { SL("trap", "b32", "%r0") "mov.b32 %r1, 0;\n", true, false, 700 },
    { "mov.b32 %c0, 2;\nmov.b32 %c1, 0;\n" SL("trap", "b32", "%r0")
      "mov.b32 %r1, 0;\n", true, false, 716 },
    { "mov.b32 %c0, 2;\nmov.b32 %c1, 0;\n" SL("zero", "b32", "%r0")
      "mov.b32 %r1, 0;\n", true, false, 716 },
    { "mov.b32 %c0, 0;\n" T1, false, false, 0 },
    { SL("zero", "b32", "%r0") "mov.b32 %r1, 0;\n", true, true, 700 },
    { "mov.b32 %c0, 0;\nmov.b32 %c1, 0;\nmov.b32 %c2, 9;\n" TA2, false, false,
      0 },
};

static CUresult run_fault(struct side *s, int n)
{
    static const struct texture_case surf = {
        "surface", "", 's', { 16, 8 }, F32, 1, 1, 0, 0, 0, 0, LOD, COUNTED,
        INTS, 32
    }, tex = {
        "texture", "", 'a', { 16, 8 }, F32, 1, 1, 0, 0, 0, 0, LOD, COUNTED,
        INTS, 32
    };
    struct object o;
    CUresult r;

    for (unsigned k = 0; k < 128; k++)
        points[k] = 1000;
    r = make(s, faults[n].surface ? &surf : &tex, &o);
    return r ? r : run(s, faults[n].insn, 32,
                       faults[n].none ? 0x12345 : o.handle);
}

/* A number for the results of a row: those of an H200 are in texture_h200.h. */
static uint64_t results_hash(const struct side *s, unsigned count)
{
    uint64_t h = 0xcbf29ce484222325ull;

    for (unsigned k = 0; k < 4 * count; k++)
        h = (h ^ s->got[k]) * 0x100000001b3ull;
    return h;
}

#endif
