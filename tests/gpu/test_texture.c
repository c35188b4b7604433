/* test_texture.c -- textures and surfaces on the software device and a GPU
 *
 * Each row of texture_case.h on both: the same bits.  FGS_GEN_PROVIDER names
 * the second device.  FGS_GEN_DUMP=DIR writes what the second one answered to
 * DIR/texture.bin, a record a row: name (64 bytes), count, bytes of elements
 * (u32 each), elements, points (4 words each), results (4 words each); and
 * what it said of wrong descriptors to DIR/texture.txt.  FGS_TEX_FAULT=N runs
 * the N-th wrong kernel on the second device alone and prints its error.
 */
#include "../gen/device.h"
#include "base/compat.h"
#include "texture_case.h"
#include "texture_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct side {
    struct gen_device d;
    struct texture_calls call;
    CUdeviceptr in, out, memory;
    uint32_t got[MOST_POINTS * 4];
} side[2];

static unsigned char elements[MOST_BYTES];
static uint32_t points[MOST_POINTS * 4];
static FILE *dump, *said;

static FILE *open_dump(const char *name)
{
    const char *dir = getenv("FGS_GEN_DUMP");
    char path[512];

    if (!dir)
        return NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return fopen(path, "wb");
}

static void open_sides(void)
{
    const char *second = getenv("FGS_GEN_PROVIDER");
    fgs_error err;

    for (int k = 0; k < 2; k++) {
        struct side *s = &side[k];

        if (gen_open(&s->d, k ? second ? second : "cuda" : "sim", &err) < 0 ||
            !texture_find(&s->call, s->d.dev)) {
            print_message("%s\n", err.text);
            exit(77);
        }
        assert_int_equal(s->d.push(s->d.ctx), 0);
        assert_int_equal(s->d.alloc(&s->in, sizeof points), 0);
        assert_int_equal(s->d.alloc(&s->out, sizeof points), 0);
        assert_int_equal(s->d.alloc(&s->memory, MOST_BYTES), 0);
    }
}

static void close_sides(void)
{
    CUcontext was;

    for (int k = 1; k >= 0; k--) {
        side[k].d.dealloc(side[k].in);
        side[k].d.dealloc(side[k].out);
        side[k].d.dealloc(side[k].memory);
        side[k].d.pop(&was);
        gen_close(&side[k].d);
    }
}

static int open_both(void **state)
{
    (void)state;
    setenv("FGS_SIM_CC", "90", 1);
    open_sides();
    dump = open_dump("texture.bin");
    said = open_dump("texture.txt");
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    if (dump)
        fclose(dump);
    if (said)
        fclose(said);
    close_sides();
    return 0;
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

static void write_dump(const struct texture_case *c)
{
    char name[64] = "";
    uint32_t head[2] = { c->count, (uint32_t)make_elements(c, 0) };

    if (!dump)
        return;
    snprintf(name, sizeof name, "%s", c->name);
    fwrite(name, sizeof name, 1, dump);
    fwrite(head, sizeof head, 1, dump);
    fwrite(elements, head[1], 1, dump);
    fwrite(points, 16, c->count, dump);
    fwrite(side[1].got, 16, c->count, dump);
}

/* Filtered signed bytes: hardware's 16 bits are not known to the last one. */
static bool equal(const struct texture_case *c, const uint32_t *a,
                  const uint32_t *b)
{
    bool near = c->format == S8 && c->filter;

    for (unsigned k = 0; k < 4; k++) {
        float x, y;

        memcpy(&x, &a[k], sizeof x);
        memcpy(&y, &b[k], sizeof y);
        if (a[k] != b[k] && !(near && fabsf(x - y) < 1.1f / 32767))
            return false;
    }
    return true;
}

/* How many results differ; the first of them are printed. */
static unsigned compare(const struct texture_case *c)
{
    unsigned bad = 0;

    for (unsigned n = 0; n < c->count; n++) {
        const uint32_t *p = points + 4 * n, *a = side[0].got + 4 * n;
        const uint32_t *b = side[1].got + 4 * n;

        if (equal(c, a, b))
            continue;
        if (bad++ < 3)
            print_message("  at %08x %08x %08x %08x: %08x %08x %08x %08x, "
                          "not %08x %08x %08x %08x\n", p[0], p[1], p[2], p[3],
                          a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]);
    }
    if (bad)
        print_message("%s: %u of %u differ\n", c->name, bad, c->count);
    return bad;
}

static void both_read_the_same(void **state)
{
    unsigned bad = 0, all = 0;

    (void)state;
    for (size_t k = 0; k < sizeof texture_cases / sizeof *texture_cases; k++) {
        const struct texture_case *c = &texture_cases[k];
        CUresult r[2];
        bool ran = true; /* else both must refuse to make it */

        for (unsigned n = 0; n < c->count; n++)
            texture_point(c, n, points + 4 * n);
        for (int i = 0; i < 2; i++) {
            struct object o;

            r[i] = make(&side[i], c, &o);
            ran &= !r[i];
            if (!r[i])
                r[i] = run(&side[i], c->insn, c->count, o.handle);
            unmake(&side[i], c, &o);
        }
        all += c->count;
        if (r[0] || r[1]) {
            print_message("%s: error %d here, %d there\n", c->name, (int)r[0],
                          (int)r[1]);
            bad += ran || r[0] != r[1];
            close_sides(); /* a context may have ended */
            open_sides();
        }
        if (!r[1])
            write_dump(c);
        if (!r[0] && !r[1])
            bad += compare(c);
    }
    print_message("textures: %u results, %u differ\n", all, bad);
    assert_int_equal(bad, 0);
}

static void both_say_the_same(void **state)
{
    unsigned bad = 0;

    (void)state;
    for (int k = 0; k < TEXTURE_WRONGS; k++) {
        char what[100];
        CUresult r[2];

        for (int i = 0; i < 2; i++)
            r[i] = texture_wrong(&side[i].call, side[i].memory, k, what);
        if (said)
            fprintf(said, "%s: %d\n", what, (int)r[1]);
        if (r[0] != r[1])
            print_message("%s: %d, not %d\n", what, (int)r[0], (int)r[1]);
        bad += r[0] != r[1];
    }
    assert_int_equal(bad, 0);
}

/* Kernels that end in an error, one a process. */
static const struct {
    const char *insn;
    bool surface, none;
} faults[] = {
    { T2, false, true },
    { SL("trap", "b32", "%r0") "mov.b32 %r1, 0;\n", true, false },
    { "mov.b32 %c0, 2;\nmov.b32 %c1, 0;\n" SL("trap", "b32", "%r0")
      "mov.b32 %r1, 0;\n", true, false },
    { "mov.b32 %c0, 2;\nmov.b32 %c1, 0;\n" SL("zero", "b32", "%r0")
      "mov.b32 %r1, 0;\n", true, false },
    { "mov.b32 %c0, 0;\n" T1, false, false },
    { SL("zero", "b32", "%r0") "mov.b32 %r1, 0;\n", true, true },
    { "mov.b32 %c0, 0;\nmov.b32 %c1, 0;\nmov.b32 %c2, 9;\n" TA2, false, false },
};

static void a_wrong_kernel_ends(void **state)
{
    static const struct texture_case surf = {
        "surface", "", 's', { 16, 8 }, F32, 1, 1, 0, 0, 0, 0, LOD, COUNTED,
        INTS, 32
    }, tex = {
        "texture", "", 'a', { 16, 8 }, F32, 1, 1, 0, 0, 0, 0, LOD, COUNTED,
        INTS, 32
    };
    const char *which = getenv("FGS_TEX_FAULT");
    int n = which ? atoi(which) : -1;
    struct object o;
    CUresult r;

    (void)state;
    if (n < 0 || n >= (int)(sizeof faults / sizeof *faults))
        skip();
    for (unsigned k = 0; k < 128; k++)
        points[k] = 1000;
    r = make(&side[1], faults[n].surface ? &surf : &tex, &o);
    if (!r)
        r = run(&side[1], faults[n].insn, 32,
                faults[n].none ? 0x12345 : o.handle);
    print_message("fault %d: error %d, result %08x %08x %08x %08x\n", n, (int)r,
                  side[1].got[0], side[1].got[1], side[1].got[2],
                  side[1].got[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_read_the_same),
        cmocka_unit_test(both_say_the_same),
    };
    const struct CMUnitTest fault[] = { cmocka_unit_test(a_wrong_kernel_ends) };

    if (getenv("FGS_TEX_FAULT"))
        return cmocka_run_group_tests_name("texture", fault, open_both,
                                           close_both);
    return cmocka_run_group_tests_name("texture", tests, open_both, close_both);
}
