/* kernels.h -- one kernel at a time on a device, for the tests of ptx/
 *
 * Buffers of TILES tiles, a control block and a record; launches are the
 * driver's own, so that each kernel is seen alone.  The device is the software
 * device, or what FGS_PROVIDER names.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "within.h"
#include "core/ref.h"
#include "table/cu.h"
#include "table/record.h"
#include "text/text.h"

enum {
    TILES = 20,
    WORDS = TILES * FGS__TILE_ELEMS,
    BYTES = TILES * FGS__TILE_BYTES,
    TRACE_ROWS = 2 * TILES,
    SENTINEL = (int)0x80000000u
};

static struct {
    fgs_device *dev;
    CUcontext ctx;
    CUdeviceptr in, mid, out, last, ctl, stat, trace, flags, table;
    struct fgs__rec *rec; /* host memory that the device sees at drec */
    CUdeviceptr drec;
#define ENTRY(name, abi, need, forms, params) CUresult (*name) params;
#include "table/entry.def"
#undef ENTRY
} g;

static uint32_t host_in[WORDS], host_mid[WORDS], host_out[WORDS];

#define OK(call) assert_int_equal(g.call, CUDA_SUCCESS)

static inline int open_device(void **state)
{
    const char *provider = getenv("FGS_PROVIDER");
    fgs_device_opts opts = { .size = sizeof opts,
                             .provider = provider ? provider : "sim" };
    fgs_error err;
    int dev;

    (void)state;
    if (fgs_device_open(&g.dev, &opts, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
#define ENTRY(name, abi, need, forms, params)                                  \
    {                                                                          \
        void *p = fgs_device_get_proc(g.dev, #name);                           \
        memcpy(&g.name, &p, sizeof p);                                         \
    }
#include "table/entry.def"
#undef ENTRY
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&g.ctx, dev));
    OK(cuCtxPushCurrent(g.ctx));
    OK(cuMemAlloc(&g.in, BYTES));
    OK(cuMemAlloc(&g.mid, BYTES));
    OK(cuMemAlloc(&g.out, BYTES));
    OK(cuMemAlloc(&g.ctl, sizeof(struct fgs__ctl)));
    OK(cuMemAlloc(&g.stat, FGS__ROLE_COUNT * sizeof(struct fgs__stat)));
    OK(cuMemAlloc(&g.trace, TRACE_ROWS * sizeof(struct fgs__trace)));
    OK(cuMemAlloc(&g.last, BYTES));
    OK(cuMemAlloc(&g.flags, TILES * sizeof(uint32_t)));
    OK(cuMemAlloc(&g.table, TILES * sizeof(uint32_t)));
    OK(cuMemHostAlloc((void **)&g.rec, sizeof *g.rec,
                      CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer(&g.drec, g.rec, 0));
    return 0;
}

static inline int close_device(void **state)
{
    int dev;

    (void)state;
    g.cuMemFree(g.in);
    g.cuMemFree(g.mid);
    g.cuMemFree(g.out);
    g.cuMemFree(g.ctl);
    g.cuMemFree(g.stat);
    g.cuMemFree(g.trace);
    g.cuMemFree(g.last);
    g.cuMemFree(g.flags);
    g.cuMemFree(g.table);
    g.cuMemFreeHost(g.rec);
    g.cuCtxPopCurrent(&g.ctx);
    g.cuDeviceGet(&dev, 0);
    g.cuDevicePrimaryCtxRelease(dev);
    fgs_device_close(g.dev);
    return 0;
}

/* The arguments of a launch; zero is what a kernel that is alone needs. */
struct args {
    uint64_t tiles, bound_ns, max_tries, work_ns, fault_tile;
    uint32_t fault_chunk;
    uint32_t grid, block; /* 0 = a block a tile, 256 threads */
    uint32_t shared;      /* dynamic bytes; 0 = a tile       */
    CUdeviceptr mid2;     /* second operand                  */
    CUdeviceptr flags_in2; /* its flags                      */
    uint32_t grids;        /* a join waits for those before  */
    int pdl;
    int unseen; /* no statistics are kept */
    int traced; /* rows at g.trace */
    uint64_t spread_ns;
    uint32_t round; /* 0 = 1 */
    int flags_in, flags_out; /* at g.flags */
    int tabled; /* g.table */
    CUdeviceptr clear, mid, out; /* mid, out: 0 = g.mid, g.out */
};

/* The statistics are kept by role. */
static inline void launch_function(CUstream stream, CUfunction f,
                                   fgs_role role, struct args a)
{
    struct fgs__args all = {
        .p_in = g.in, .p_mid = a.mid ? a.mid : g.mid,
        .p_out = a.out ? a.out : g.out, .p_tiles = a.tiles,
        .p_ctl = g.ctl, .p_rec = g.drec,
        .p_stat = a.unseen ? 0 : g.stat + role * sizeof(struct fgs__stat),
        .p_trace = a.traced ? g.trace : 0,
        .p_bound_ns = a.bound_ns, .p_max_tries = a.max_tries,
        .p_mid2 = a.mid2, .p_flags_in2 = a.flags_in2,
        .p_grids = a.grids,
        .p_work_ns = a.work_ns, .p_fault_tile = a.fault_tile,
        .p_fault_chunk = a.fault_chunk, .p_round = a.round ? a.round : 1,
        .p_spread_ns = a.spread_ns, .p_clear = a.clear,
        .p_flags_in = a.flags_in ? g.flags : 0,
        .p_flags_out = a.flags_out ? g.flags : 0,
        .p_table = a.tabled ? g.table : 0
    };
    void *params[] = {
#define PARAM(name, type, meaning) &all.name,
#include "table/param.def"
#undef PARAM
    };
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    };
    CUlaunchConfig c = { .gridDimY = 1, .gridDimZ = 1, .blockDimY = 1,
                         .blockDimZ = 1, .attrs = &attr };

    attr.value.programmaticStreamSerializationAllowed = 1;
    c.gridDimX = a.grid ? a.grid : (unsigned)a.tiles;
    c.blockDimX = a.block ? a.block : FGS__BLOCK_THREADS;
    c.numAttrs = a.pdl ? 1 : 0;
    c.hStream = stream;
    c.sharedMemBytes = a.shared ? a.shared : FGS__TILE_BYTES;
    OK(cuLaunchKernelEx(&c, f, params, NULL));
}

static inline void launch_in(CUstream stream, const fgs_kernel *k,
                             struct args a)
{
    fgs_kernel_info info = { .size = sizeof info };

    assert_int_equal(fgs_kernel_get_info(k, &info), FGS_OK);
    launch_function(stream, fgs_kernel_get_function(k),
                    fgs__variant_find(info.stem)->role, a);
}

static inline void launch(const fgs_kernel *k, struct args a)
{
    launch_in(NULL, k, a);
}

/* In which language kernels are made here. */
static fgs_language language;

static inline fgs_kernel *make_as(fgs_kernel_desc desc)
{
    fgs_kernel *k = NULL;
    fgs_error err;

    desc.size = sizeof desc;
    desc.language = language;
    if (fgs_kernel_make(&k, g.dev, &desc, &err) < 0)
        fail_msg("%s", err.text);
    return k;
}

static inline fgs_kernel *make(fgs_role role, fgs_engine engine, uint32_t weak,
                               const char *stem)
{
    return make_as((fgs_kernel_desc){ .role = role, .engine = engine,
                                      .weak = weak, .stem = stem });
}

/* A consumer of each kind that the device can run. */
static const struct kind {
    const char *name;
    fgs_engine engine;
    uint32_t weak;
} kinds[] = {
    { "report", FGS_ENGINE_REPORT, 0 },
    { "bulk", FGS_ENGINE_BULK, 0 },
    { "bulk weak", FGS_ENGINE_BULK, 1 },
    { "poll", FGS_ENGINE_POLL, 0 },
    { "async", FGS_ENGINE_ASYNC, 0 },
};
/* It looks for no sentinels. */
static const struct kind plain_kind = {
    "plain", FGS_ENGINE_PLAIN, 0
};
enum { CHECKS = sizeof kinds / sizeof kinds[0], KINDS = CHECKS + 1 };

/* Those that check, then plain. */
static inline const struct kind *kind_at(int i)
{
    return i < CHECKS ? &kinds[i] : &plain_kind;
}

/* Of a kind; NULL where the device has no such engine. */
static inline fgs_kernel *make_kind(int i, fgs_kernel_desc desc)
{
    desc.engine = kind_at(i)->engine;
    desc.weak = kind_at(i)->weak;
    return fgs_device_can(g.dev, desc.engine, NULL) < 0 ? NULL : make_as(desc);
}

static inline fgs_kernel *consumer(const struct kind *k)
{
    if (fgs_device_can(g.dev, k->engine, NULL) < 0)
        return NULL;
    return make(FGS_ROLE_CONSUMER, k->engine, k->weak, NULL);
}

#define EACH_CONSUMER(i, k)                                                    \
    for (size_t i = 0; i < CHECKS; i++)                                        \
        for (fgs_kernel *k = consumer(&kinds[i]); k;                           \
             fgs_kernel_free(k), k = NULL)

static inline void put(CUdeviceptr to, const void *from, size_t bytes)
{
    OK(cuMemcpyHtoD(to, from, bytes));
}

static inline void get(void *to, CUdeviceptr from, size_t bytes)
{
    OK(cuMemcpyDtoH(to, from, bytes));
}

static inline struct fgs__ctl get_ctl(void)
{
    struct fgs__ctl c;

    get(&c, g.ctl, sizeof c);
    return c;
}

/* The same while another stream runs. */
static inline struct fgs__stat get_stat_in(CUstream stream, fgs_role role)
{
    struct fgs__stat s;

    OK(cuMemcpyDtoHAsync(&s, g.stat + role * sizeof s, sizeof s, stream));
    OK(cuStreamSynchronize(stream));
    return s;
}

static inline struct fgs__stat get_stat(fgs_role role)
{
    return get_stat_in(NULL, role);
}

/* Zeros of both signs, subnormals, ends of ranges, infinities, NaNs with
 * payload, and noise.  Where `clean`, no word is the sentinel. */
static inline void make_words(uint32_t *w, int clean)
{
    static const uint32_t special[] = {
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff,
        0x00800000, 0x7effffff, 0x7f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
        0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xff800001, 0x3f800000,
    };
    uint64_t x = 88172645463325252u;

    for (uint32_t i = 0; i < WORDS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        w[i] = (uint32_t)(x >> 32);
        if ((x & 7) == 0)
            w[i] = special[(x >> 8) % (sizeof special / sizeof special[0])];
        if (clean && w[i] == (uint32_t)SENTINEL)
            w[i] = 0;
    }
}

static inline int reset(void **state)
{
    struct fgs__ctl zero = { 0 };

    (void)state;
    make_words(host_in, 0);
    put(g.in, host_in, BYTES);
    memset(host_out, 0xee, BYTES);
    put(g.out, host_out, BYTES);
    put(g.ctl, &zero, sizeof zero);
    OK(cuMemsetD8(g.stat, 0, FGS__ROLE_COUNT * sizeof(struct fgs__stat)));
    OK(cuMemsetD8(g.flags, 0, TILES * sizeof(uint32_t)));
    OK(cuMemsetD8(g.trace, 0x77, TRACE_ROWS * sizeof(struct fgs__trace)));
    memset(g.rec, 0, sizeof *g.rec);
    return 0;
}

static inline void same(const uint32_t *got, const uint32_t *want,
                        uint32_t words, const char *what)
{
    for (uint32_t i = 0; i < words; i++) {
        if (got[i] != want[i])
            fail_msg("%s: word %u is 0x%08x, not 0x%08x", what, i, got[i],
                     want[i]);
    }
}

/* init, producer, consumer in one stream as the guide launches them. */
/* Until all is launched the device has no work, so that producer and consumer
 * run at once however slow this thread is. */
static atomic_int may_go;

static inline void wait_until_all_is_launched(void *data)
{
    (void)data;
    while (!atomic_load(&may_go))
        usleep(100);
}

static inline void hold_launches(void)
{
    atomic_store(&may_go, 0);
    OK(cuLaunchHostFunc(NULL, wait_until_all_is_launched, NULL));
}

static inline void finish_launches(void)
{
    atomic_store(&may_go, 1);
    OK(cuCtxSynchronize());
}

static inline void hand_over(fgs_kernel *producer, fgs_kernel *k, struct args a)
{
    fgs_kernel *init = make(FGS_ROLE_INIT, FGS_ENGINE_AUTO, 0, NULL);

    hold_launches();
    launch(init, (struct args){ .tiles = a.tiles });
    launch(producer, a);
    a.pdl = 1;
    launch(k, a);
    finish_launches();
    fgs_kernel_free(init);
}

#endif
