/* fuzz_map.c -- libFuzzer: tensor maps of any arguments, and copies by them */
#include "base/compat.h"
#include "sim/device.h"
#include "take.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { TENSOR = 1 << 16, RANKS = 5 };

/* %s: rank, mode, coordinates, offsets. */
static const char pattern[] =
    ".version 8.6\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .align 64 .b8 map[128],\n"
    "    .param .align 8 .b8 at[40])\n{\n"
    "    .shared .align 1024 .b8 s[32768];\n    .shared .align 8 .b64 bar;\n"
    "    .reg .b64 %%m, %%t;\n    .reg .b32 %%c<5>;\n    .reg .b16 %%h<4>;\n"
    "    mov.b64 %%m, map;\n    cvta.param.u64 %%m, %%m;\n"
    "    ld.param.b32 %%c0, [at];\n    ld.param.b32 %%c1, [at+4];\n"
    "    ld.param.b32 %%c2, [at+8];\n    ld.param.b32 %%c3, [at+12];\n"
    "    ld.param.b32 %%c4, [at+16];\n    ld.param.b16 %%h0, [at+20];\n"
    "    ld.param.b16 %%h1, [at+22];\n    ld.param.b16 %%h2, [at+24];\n"
    "    mbarrier.init.shared.b64 [bar], 1;\n"
    "    cp.async.bulk.tensor.%s.shared::cluster.global%s\n"
    "        .mbarrier::complete_tx::bytes [s], [%%m, {%s}], [bar]%s;\n"
    "    nanosleep.u32 100000;\n"
    "    cp.async.bulk.tensor.%s.global.shared::cta%s.bulk_group\n"
    "        [%%m, {%s}], [s];\n"
    "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n"
    "    ret;\n}\n";

static CUmodule made[RANKS][2];

static CUmodule load(unsigned rank, bool im2col)
{
    static const char *const dim[] = { "1d", "2d", "3d", "4d", "5d" };
    static const char *const at[] = { "%c0", "%c0, %c1", "%c0, %c1, %c2",
                                      "%c0, %c1, %c2, %c3",
                                      "%c0, %c1, %c2, %c3, %c4" };
    static const char *const off[] = { "", "", ", {%h0}", ", {%h0, %h1}",
                                       ", {%h0, %h1, %h2}" };
    char text[2048];

    if (made[rank][im2col])
        return made[rank][im2col];
    snprintf(text, sizeof text, pattern, dim[rank], im2col ? ".im2col" : "",
             at[rank], im2col ? off[rank] : "", dim[rank],
             im2col ? ".im2col_no_offs" : "", at[rank]);
    return fgs__sim_cuModuleLoadData(&made[rank][im2col], text)
        ? NULL : made[rank][im2col];
}

static CUresult encode(struct bytes *b, CUdeviceptr at, CUtensorMap *map,
                       bool im2col)
{
    cuuint64_t dim[RANKS], stride[RANKS];
    cuuint32_t box[RANKS], step[RANKS];
    int lower[RANKS], upper[RANKS];
    unsigned v[8];

    at += take(b, 1);
    for (int d = 0; d < RANKS; d++) {
        dim[d] = take_number(b);
        stride[d] = take_number(b) * (take(b, 1) % 4 ? 16 : 1);
        box[d] = (cuuint32_t)take_number(b);
        step[d] = take(b, 1) % 4 ? 1 : (cuuint32_t)take_number(b);
        lower[d] = (int8_t)take(b, 1);
        upper[d] = (int8_t)take(b, 1);
    }
    for (int i = 0; i < 8; i++)
        v[i] = (unsigned)take(b, 1) % 18;
    if (!im2col)
        return fgs__sim_cuTensorMapEncodeTiled(
            map, v[0], v[1] % 7, (void *)(uintptr_t)at, dim, stride, box, step,
            v[2] % 4, v[3] % 8, v[4] % 5, v[5] % 3);
    return fgs__sim_cuTensorMapEncodeIm2col(
        map, v[0], v[1] % 7, (void *)(uintptr_t)at, dim, stride, lower, upper,
        box[0], box[1], step, v[2] % 4, v[3] % 8, v[4] % 5, v[5] % 3);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    FGS__ALIGN(64) static CUtensorMap map;
    static CUcontext ctx;
    static CUdeviceptr at;
    struct bytes b = { data, size };
    bool im2col = take(&b, 1) % 4 == 0;
    unsigned rank = (unsigned)take(&b, 1) % RANKS;
    uint32_t where[10];
    void *params[] = { &map, where };
    fgs_sim_config cfg;
    CUfunction f;
    CUmodule m;

    if (!ctx) {
        if (fgs__sim_cuInit(0) || fgs_sim_config_get(&cfg, NULL))
            abort();
        cfg.sms = 1;
        cfg.threads = 1;
        cfg.limit = 20000;
        if (fgs_sim_config_set(&cfg, NULL))
            abort();
    }
    if (!ctx && (fgs__sim_cuCtxCreate(&ctx, 0, 0) ||
                 fgs__sim_cuMemAlloc(&at, TENSOR)))
        abort();
    if (im2col && rank < 2)
        rank = 2;
    if (encode(&b, at, &map, im2col))
        return 0;
    for (int i = 0; i < 10; i++)
        where[i] = (uint32_t)(take(&b, 1) % 4 ? take(&b, 1) % 8
                                              : take_number(&b));
    m = load(rank, im2col);
    if (!m || fgs__sim_cuModuleGetFunction(&f, m, "k"))
        abort();
    fgs__sim_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    if (fgs__sim_cuCtxSynchronize()) {
        if (!fgs_sim_last_fault()[0])
            abort();
        fgs__sim_cuCtxDestroy(ctx); /* it keeps the error */
        memset(made, 0, sizeof made);
        ctx = NULL;
    }
    return 0;
}
