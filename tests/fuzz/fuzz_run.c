/* fuzz_run.c -- libFuzzer: execute any text that the loader accepts
 *
 * The texts are those of tests/ptx/run: the lines //: launch, shared, cluster,
 * in and tensormap say how.  A kernel may end, fault or reach the limit of
 * instructions; what must not happen is anything to this process.
 */
#include "base/compat.h"
#include "map_line.h"
#include "ptx/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { BYTES = 1 << 14, THREADS = 1 << 11 };

struct how {
    unsigned grid[3], block[3], cluster[3], shared;
    unsigned char in[BYTES];
    size_t used;
    struct map_line map;
};

static const char *read_size(const char *s, unsigned out[3])
{
    char *end;

    for (int d = 0; d < 3; d++)
        out[d] = 1;
    for (int d = 0; d < 3; d++) {
        out[d] = (unsigned)strtoul(s, &end, 10);
        s = end;
        if (*s != ',')
            break;
        s++;
    }
    return s;
}

/* "u32 1 0x2 3*4": roughly as test_ptx_files reads it. */
static void read_values(struct how *h, const char *s)
{
    unsigned width = 0;
    char kind = 0;

    if (sscanf(s, " %c%u", &kind, &width) != 2 || width > 64)
        return;
    width /= 8;
    s += strspn(s, " ");
    for (s += strcspn(s, " "); *s; ) {
        char *end;
        uint64_t v = strtoull(s, &end, 0), times = 1;

        if (end == s)
            return;
        if (kind == 'f' && width >= 4 && strncmp(s + strspn(s, " "), "0x", 2)) {
            double d = strtod(s, &end);
            float f = strtof(s, &end);

            memcpy(&v, &d, 8);
            if (width == 4)
                memcpy(&v, &f, 4);
        }
        if (*end == '*')
            times = strtoull(end + 1, &end, 10);
        for (; times && h->used + 8 < BYTES; times--, h->used += width)
            memcpy(h->in + h->used, &v, 8);
        s = end;
    }
}

static void read_line(struct how *h, char *s)
{
    const char *x;

    s += strspn(s, " ");
    if (!strncmp(s, "launch ", 7)) {
        x = read_size(s + 7, h->grid);
        if (!strncmp(x, " x ", 3))
            read_size(x + 3, h->block);
    } else if (!strncmp(s, "cluster ", 8)) {
        read_size(s + 8, h->cluster);
    } else if (!strncmp(s, "shared ", 7)) {
        h->shared = (unsigned)strtoul(s + 7, NULL, 10);
    } else if (!strncmp(s, "in ", 3)) {
        read_values(h, s + 3);
    } else if (!strncmp(s, "tensormap ", 10)) {
        if (!map_parse(&h->map, s + 10))
            h->map.there = false;
    }
}

static void read_how(struct how *h, const char *text)
{
    memset(h, 0, sizeof *h);
    for (int d = 0; d < 3; d++)
        h->grid[d] = h->block[d] = 1;
    for (const char *s = text, *end; *s; s = *end ? end + 1 : end) {
        char line[400];

        end = s + strcspn(s, "\n");
        if (strncmp(s, "//:", 3) || end - s >= (long)sizeof line)
            continue;
        snprintf(line, sizeof line, "%.*s", (int)(end - s - 3), s + 3);
        read_line(h, line);
    }
}

/* Too many threads would only take long. */
static bool is_small(const struct how *h)
{
    uint64_t n = 1;

    for (int d = 0; d < 3; d++) {
        if (!h->grid[d] || h->grid[d] > THREADS || h->block[d] > THREADS)
            return false;
        n *= (uint64_t)h->grid[d] * (h->block[d] ? h->block[d] : 1);
        if (n > THREADS)
            return false;
    }
    return h->shared <= 1 << 18;
}

static void launch(CUfunction f, struct how *h, CUdeviceptr in, CUdeviceptr out)
{
    FGS__ALIGN(64) CUtensorMap map[4] = { 0 };
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig c = { h->grid[0], h->grid[1], h->grid[2], h->block[0],
                         h->block[1], h->block[2], h->shared, NULL, &attr,
                         !!h->cluster[0] };
    size_t at, bytes;
    unsigned char block[4096] = { 0 };
    void *params[64];

    if (h->map.there)
        map_encode(&h->map, h->map.out ? out : in, map);
    params[0] = &in;
    params[1] = &out;
    params[2] = map;
    for (unsigned i = 0; i < 64; i++) {
        if (fgs__sim_cuFuncGetParamInfo(f, i, &at, &bytes))
            break;
        /* A mutated parameter may be larger than what lies there. */
        if (bytes > (i < 2 ? 8 : i == 2 ? sizeof map : 0))
            params[i] = block;
        if (bytes > sizeof block || i == 63)
            return;
    }
    attr.value.clusterDim.x = h->cluster[0];
    attr.value.clusterDim.y = h->cluster[1];
    attr.value.clusterDim.z = h->cluster[2];
    fgs__sim_cuFuncSetAttribute(
        f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    fgs__sim_cuLaunchKernelEx(&c, f, params, NULL);
}

/* The name of an entry, NULL = the loader refuses the text. */
static bool entry_name(const char *text, char *name, size_t size)
{
    struct fgs__ptx_diags d;
    struct fgs__ptx_module *m;
    bool found = false;

    fgs__ptx_diags_init(&d, &fgs__malloc);
    if (!fgs__ptx_load(&m, text, strlen(text), &fgs__malloc, &d))
        for (const struct fgs__ptx_func *k = m->funcs; k; k = k->next)
            if (k->entry && strlen(k->name) < size) {
                snprintf(name, size, "%s", k->name);
                found = true;
            }
    fgs__ptx_free(m);
    fgs__ptx_diags_free(&d);
    return found;
}

/* A context of its own keeps the device from one text to the next. */
static void open_device(void)
{
    static CUcontext keep;
    fgs_sim_config cfg;

    if (keep)
        return;
    if (fgs__sim_cuInit(0) || fgs_sim_config_get(&cfg, NULL))
        abort();
    cfg.limit = 20000;
    cfg.sms = 4;
    cfg.threads = 1;
    cfg.memory = 1 << 26;
    if (fgs_sim_config_set(&cfg, NULL) || fgs__sim_cuCtxCreate(&keep, 0, 0))
        abort();
}

static void run(const char *text, const char *name)
{
    static struct how h;
    CUcontext ctx;
    CUmodule mod;
    CUfunction f;
    CUdeviceptr in, out;

    read_how(&h, text);
    if (!is_small(&h))
        return;
    open_device();
    if (fgs__sim_cuCtxCreate(&ctx, 0, 0))
        abort();
    fgs__sim_cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 20);
    if (!fgs__sim_cuModuleLoadData(&mod, text) &&
        !fgs__sim_cuModuleGetFunction(&f, mod, name)) {
        if (fgs__sim_cuMemAlloc(&in, BYTES) || fgs__sim_cuMemAlloc(&out, BYTES))
            abort();
        fgs__sim_cuMemcpyHtoD(in, h.in, BYTES);
        fgs__sim_cuMemsetD8(out, 0, BYTES);
        launch(f, &h, in, out);
        /* A fault has words. */
        if (fgs__sim_cuCtxSynchronize() && !fgs_sim_last_fault()[0])
            abort();
    }
    fgs__sim_cuCtxDestroy(ctx);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1), name[256];

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (entry_name(text, name, sizeof name))
        run(text, name);
    free(text);
    return 0;
}
