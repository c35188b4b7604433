/* test_sim_throw.c -- anything thrown at every entry point is no crash
 *
 * Each row of entry.def is called with NULLs, numbers at the edges, and handles
 * that are alive, dead, of another kind or of another context, in an order
 * drawn from a seed.  Only what would be the caller's own crash on a driver too
 * is left out: pointers to no memory, and lengths past what they point to.
 *
 * FGS_THROW_ROUNDS and FGS_THROW_SEED make it longer or another one;
 * FGS_THROW_TRACE=1 prints each call before it is made.
 */
#include "sim_calls.h"
#include "sim/form.h"

#include <stdlib.h>
#include <unistd.h>

enum { ARGS = 20, POOL = 256, AREA = 2 << 20, ROUNDS = 30, CALLS = 600,
       MEMORY = 1 << 20 };

struct row {
    const char *name;
    fgs__sim_any fn;
    const char *params;
};

static const struct row rows[] = {
#define ENTRY(name, abi, need, forms, params)                                  \
    { #name, (fgs__sim_any)fgs__sim_##name, #params },
#define FORM(fn, name, abi, forms, params)                                     \
    { #fn, (fgs__sim_any)fgs__sim_##fn, #params },
#include "table/entry.def"
#undef ENTRY
};

static uint64_t state;
static bool trace;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(fgs__sim_random(&state) % below);
}

#define PICK(list) (list)[draw(COUNT(list))]

/* ------------------------------------------------------------- the pools -- */

static uintptr_t handle[POOL], device[POOL];
static unsigned handles, devices;
static uintptr_t first;        /* address of the device                      */
static char *area[ARGS];       /* what pointers point to                     */
static void *table[ARGS][64];  /* what pointers to pointers point to         */

static void note(uintptr_t *pool, unsigned *count, uintptr_t v)
{
    if (!v)
        return;
    pool[*count < POOL ? *count : draw(POOL)] = v;
    *count += *count < POOL;
}

static const char program[] =
    HEAD ".global .u32 g[4];\n"
    ".global .texref tex;\n.global .surfref surf;\n"
    ".visible .entry k(.param .u64 p)\n{\n"
    "    .reg .u32 %r;\n    mov.u32 %r, %tid.x;\n    ret;\n}\n";

/* Sizes either fit into an area or into no memory at all. */
static uintptr_t number(void)
{
    static const uintptr_t some[] = {
        0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 32, 33, 64, 100, 255, 256,
        511, 512, 513, 1000, 1024, 1025, 4095, 4096, 65535, 65536, 2 << 20,
        (1 << 20) - 1, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff,
        (uintptr_t)1 << 40, (uintptr_t)1 << 47, INT64_MAX,
        (uintptr_t)1 << 63, UINTPTR_MAX - 1, UINTPTR_MAX, UINTPTR_MAX - 511,
    };

    return draw(3) ? draw(12) : PICK(some);
}

static uintptr_t any_handle(void)
{
    uintptr_t h = handles ? handle[draw(handles)] : 0;

    switch (draw(16)) {
    case 0: return 0;
    case 1: return draw(4);
    case 2: return number();
    case 3: return h ^ (uintptr_t)1 << draw(64);
    default: return h;
    }
}

/* What is no memory of the device's is the host's, and read and written: the
 * program's own crash where it is there no more, as after the context that gave
 * it a device pointer. */
static uintptr_t unless_gone(uintptr_t at)
{
    unsigned type;

    if (at - first < MEMORY || /* the device's, be it gone or not */
        !fgs__sim_cuPointerGetAttribute(&type,
                                        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at))
        return at;
    return 0;
}

static uintptr_t any_device(void)
{
    uintptr_t d = devices ? device[draw(devices)] : 0;

    switch (draw(12)) {
    case 0: return 0;
    case 1: return unless_gone(d + draw(64));
    case 2: return unless_gone(d ^ (uintptr_t)1 << draw(20));
    default: return unless_gone(d);
    }
}

/* ------------------------------------------------------------- arguments -- */

#include "throw_fill.h"

static uintptr_t pointer(const char *type, const char *name, unsigned n)
{
    static const char *const texts[] = {
        program, "k", "g", "tex", "surf", "", "/dev/null", "no such file",
        "cuMemAlloc", "0000:01:00.0", "{}", ".version 9.4\n",
    };
    static const unsigned options[] = { 0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12,
                                        13, 14, 15, 16, 17, 18, 19, 30, 99 };

    if (!draw(10))
        return 0;
    if (has(type, "const char *") && !strcmp(name, "path")) /* is written */
        return (uintptr_t)"/dev/null";
    if (has(type, "const char *") && !has(type, "**"))
        return (uintptr_t)PICK(texts);
    if (has(type, "**")) {
        for (unsigned i = 0; i < 63; i++)
            table[n][i] = area[(n + i % 3 + 1) % ARGS];
        table[n][63] = NULL;
        if (has(name, "extra"))
            table[n][0] = NULL;
        return (uintptr_t)table[n];
    }
    if (has(type, "CUjit_option") || has(type, "CUlibraryOption")) {
        for (unsigned i = 0; i < 64; i++)
            ((unsigned *)(void *)area[n])[i] = PICK(options);
        return (uintptr_t)area[n];
    }
    if (has(type, "const void *"))
        memcpy(area[n], program, sizeof program);
    else
        fill(area[n], type, n);
    return (uintptr_t)area[n];
}

static void nothing(void *data)
{
    (void)data;
}

static void called(CUstream s, CUresult r, void *data)
{
    (void)s, (void)r, (void)data;
}

static size_t no_shared(int threads)
{
    (void)threads;
    return 0;
}

static uintptr_t value(const char *fn, const char *type, const char *name)
{
    static const char *const plain[] = { "int", "unsigned", "size_t", "cuuint",
                                         "float", "short", "char" };

    if (has(type, "CUhostFn"))
        return draw(3) ? (uintptr_t)nothing : 0;
    if (has(type, "CUstreamCallback"))
        return draw(3) ? (uintptr_t)called : 0;
    if (has(type, "CUoccupancyB2DSize"))
        return draw(3) ? (uintptr_t)no_shared : 0;
    if (has(type, "CUdeviceptr"))
        return any_device();
    if (has(type, "CUmemLocation"))
        return draw(4) | (uintptr_t)draw(3) << 32;
    if (has(type, "CUdevice"))
        return draw(4) ? 0 : number();
    /* How much lies behind a pointer beside it. */
    if (has(name, "ount") || has(name, "num") || has(name, "dataSize") ||
        has(name, "len") || has(fn, "cuLink") || has(fn, "Register"))
        return draw(8);
    /* It may be more than the device has: all of it would fit no area. */
    if (has(fn, "cuMemAllocManaged") && !strcmp(name, "bytes"))
        return draw(AREA);
    for (unsigned i = 0; i < COUNT(plain); i++)
        if (!strncmp(type, plain[i], strlen(plain[i])))
            return number();
    if (has(type, "_") || !has(type, "CU"))
        return draw(24);
    return any_handle();
}

/* ------------------------------------------------------------- the calls -- */

typedef CUresult (*call_fn)(uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                            uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                            uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                            uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                            uintptr_t, uintptr_t, uintptr_t, uintptr_t);

struct arg {
    char type[80];
    const char *name;
    uintptr_t v;
};

/* "(CUgraph *out, unsigned int flags)" into types and names. */
static unsigned split(char *text, struct arg *arg)
{
    unsigned n = 0;
    char *save = NULL;

    text[strlen(text) - 1] = 0;
    for (char *s = strtok_r(text + 1, ",", &save); s;
         s = strtok_r(NULL, ",", &save)) {
        char *e = s + strlen(s);

        s += strspn(s, " ");
        while (e > s && e[-1] != ' ' && e[-1] != '*')
            e--;
        snprintf(arg[n].type, sizeof arg[n].type, "%.*s", (int)(e - s), s);
        arg[n++].name = e;
    }
    return n == 1 && !strcmp(arg[0].name, "void") ? 0 : n;
}

/* What a successful call wrote is used by later ones. */
static void keep_results(const struct arg *a, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uintptr_t v;

        if (!a[i].v || !has(a[i].type, "*") || has(a[i].type, "const") ||
            has(a[i].type, "**"))
            continue;
        memcpy(&v, (void *)a[i].v, sizeof v);
        if (has(a[i].type, "CUdeviceptr"))
            note(device, &devices, v);
        else if ((has(a[i].type, "CU") && v >> 62 == 1) ||
                 has(a[i].type, "Object"))
            note(handle, &handles, v);
    }
}

static void print(const struct row *r, const struct arg *a, unsigned n)
{
    printf("%s", r->name);
    for (unsigned i = 0; i < n; i++)
        printf(" %s=%#llx", a[i].name, (unsigned long long)a[i].v);
    printf("\n");
    fflush(stdout);
}

/* They wait for a value that nobody writes. */
static bool may_hang(const struct row *r)
{
    return has(r->name, "WaitValue") || has(r->name, "BatchMemOp");
}

static void throw(const struct row *r)
{
    struct arg a[ARGS] = { { .v = 0 } };
    char text[600];
    unsigned n;

    snprintf(text, sizeof text, "%s", r->params);
    n = split(text, a);
    for (unsigned i = 0; i < n; i++)
        a[i].v = has(a[i].type, "*") ? pointer(a[i].type, a[i].name, i)
                                     : value(r->name, a[i].type, a[i].name);
    if (trace)
        print(r, a, n);
    /* A function of fewer parameters finds its own where they are. */
    if (!((call_fn)r->fn)(a[0].v, a[1].v, a[2].v, a[3].v, a[4].v, a[5].v,
                          a[6].v, a[7].v, a[8].v, a[9].v, a[10].v, a[11].v,
                          a[12].v, a[13].v, a[14].v, a[15].v, a[16].v, a[17].v,
                          a[18].v, a[19].v))
        keep_results(a, n);
}

static unsigned setting(const char *name, unsigned otherwise)
{
    const char *v = getenv(name);

    return v ? (unsigned)strtoul(v, NULL, 0) : otherwise;
}

static void provide_textures(CUmodule module)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { 8, 4, 0, CU_AD_FORMAT_FLOAT, 1,
                                  CUDA_ARRAY3D_SURFACE_LDST };
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_ARRAY };
    CUDA_TEXTURE_DESC tex = { .flags = CU_TRSF_NORMALIZED_COORDINATES };
    uintptr_t v[6] = { 0 };

    OK(cuArray3DCreate((CUarray *)&v[0], &d));
    OK(cuMipmappedArrayCreate((CUmipmappedArray *)&v[1], &d, 3));
    res.res.array.hArray = (CUarray)v[0];
    OK(cuTexObjectCreate((CUtexObject *)&v[2], &res, &tex, NULL));
    OK(cuSurfObjectCreate((CUsurfObject *)&v[3], &res));
    OK(cuModuleGetTexRef((CUtexref *)&v[4], module, "tex"));
    OK(cuModuleGetSurfRef((CUsurfref *)&v[5], module, "surf"));
    for (unsigned i = 0; i < COUNT(v); i++)
        note(handle, &handles, v[i]);
}

/* Something alive of every kind. */
static void provide(void)
{
    struct sim s;
    uintptr_t v[12] = { 0 };
    CUDA_HOST_NODE_PARAMS host = { nothing, NULL };

    OK(cuCtxCreate(&s.ctx, 0, 0));
    OK(cuModuleLoadData(&s.module, program));
    v[0] = (uintptr_t)s.ctx;
    v[1] = (uintptr_t)s.module;
    v[2] = (uintptr_t)sim_func(&s, "k");
    OK(cuStreamCreate((CUstream *)&v[3], 0));
    OK(cuStreamCreate((CUstream *)&v[4], 1));
    OK(cuEventCreate((CUevent *)&v[5], 0));
    OK(cuGraphCreate((CUgraph *)&v[6], 0));
    OK(cuGraphAddHostNode((CUgraphNode *)&v[7], (CUgraph)v[6], NULL, 0, &host));
    OK(cuLibraryLoadData((CUlibrary *)&v[8], program, 0, 0, 0, 0, 0, 0));
    OK(cuLibraryGetKernel((CUkernel *)&v[9], (CUlibrary)v[8], "k"));
    OK(cuGraphInstantiateWithFlags((CUgraphExec *)&v[10], (CUgraph)v[6], 0));
    for (unsigned i = 0; i < 11; i++)
        note(handle, &handles, v[i]);
    provide_textures(s.module);
    first = sim_alloc(4096);
    note(device, &devices, first);
    note(device, &devices, sim_alloc(100));
}

static void clean(void)
{
    for (unsigned i = 0; i < handles; i++)
        fgs__sim_cuCtxDestroy((CUcontext)handle[i]);
    for (unsigned i = 0; i < handles; i++) {
        fgs__sim_cuLibraryUnload((CUlibrary)handle[i]);
        fgs__sim_cuUserObjectRelease((CUuserObject)handle[i], 1);
    }
    sim_clean();
    fgs__sim_cuDevicePrimaryCtxReset(0);
    while (!fgs__sim_cuDevicePrimaryCtxRelease(0))
        ;
    handles = devices = 0;
}

static void nothing_thrown_is_a_crash(void **unused)
{
    unsigned rounds = setting("FGS_THROW_ROUNDS", ROUNDS);
    unsigned seed = setting("FGS_THROW_SEED", 1);
    fgs_sim_config cfg = sim_config();

    (void)unused;
    trace = setting("FGS_THROW_TRACE", 0);
    cfg.memory = MEMORY;
    cfg.sms = 2;
    cfg.threads = 1;
    cfg.limit = 100000;
    OK(cuInit(0));
    for (unsigned k = 0; k < rounds; k++) {
        state = seed + k;
        sim_configure(&cfg);
        provide();
        for (unsigned c = 0; c < CALLS; c++) {
            const struct row *r = &PICK(rows);

            if (!may_hang(r))
                throw(r);
        }
        if (trace)
            printf("round of seed %u ends\n", seed + k);
        clean();
    }
}

/* Before cuInit and without a context too. */
static void zeros_are_no_crash(void **unused)
{
    (void)unused;
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < COUNT(rows); i++)
            ((call_fn)rows[i].fn)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                  0, 0, 0, 0, 0);
        sim_clean();
        OK(cuInit(0));
        if (!k)
            provide();
    }
    clean();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_are_no_crash),
        cmocka_unit_test(nothing_thrown_is_a_crash),
    };

    for (unsigned i = 0; i < ARGS; i++) {
        area[i] = calloc(1, AREA);
        if (!area[i])
            return 1;
    }
    return cmocka_run_group_tests_name("sim_throw", tests, NULL, NULL);
}
