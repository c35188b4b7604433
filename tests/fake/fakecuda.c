/* fakecuda.c -- a libcuda made for tests, in front of the software device
 *
 * Exports cuGetProcAddress_v2, as the real one does, and fake_state.  $FAKE_CC,
 * $FAKE_DRIVER and $FAKE_ISA set the state where a test cannot.
 */
#include "fakecuda.h"
#include "base/compat.h"
#include "cuda/api.h"

#include <fgs/fgs_sim.h>
#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake *fake_state(void);
EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                                    cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *status);

static struct fake fake;
static struct fgs__cu real;
static fgs__cu_get_proc real_get;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int env_int(const char *name)
{
    const char *s = getenv(name);

    return s ? atoi(s) : 0;
}

static void start(void)
{
    void *sym = fgs_sim_get_proc("cuGetProcAddress_v2");

    fake.cc = env_int("FAKE_CC");
    fake.driver = env_int("FAKE_DRIVER");
    fake.isa = env_int("FAKE_ISA");
    if (!sym)
        abort();
    memcpy(&real_get, &sym, sizeof sym);
    if (fgs__cu_fill(&real, "the software device", real_get, NULL) < 0)
        abort();
}

struct fake *fake_state(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, start);
    return &fake;
}

/* Count a call; is it the one that fails? */
static CUresult turn(const char *name)
{
    CUresult r = CUDA_SUCCESS;

    pthread_mutex_lock(&lock);
    fake.calls++;
    if (fake.fail_at > 0 &&
        (!fake.fail_call || !strcmp(fake.fail_call, name)) &&
        --fake.fail_at == 0) {
        r = fake.fail_with;
        snprintf(fake.failed, sizeof fake.failed, "%s", name);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

static void alive(enum fake_kind kind, int delta)
{
    pthread_mutex_lock(&lock);
    fake.live[kind] += delta;
    pthread_mutex_unlock(&lock);
}

#define PASS(name, kind, delta, params, args)                                  \
    static CUresult pass_##name params                                         \
    {                                                                          \
        CUresult injected = turn(#name), r;                                    \
                                                                               \
        if (injected != CUDA_SUCCESS && (delta) >= 0)                          \
            return injected;                                                   \
        r = real.name args;                                                    \
        if (r == CUDA_SUCCESS)                                                 \
            alive(FAKE_##kind, delta);                                         \
        return injected != CUDA_SUCCESS ? injected : r;                        \
    }
#include "pass.def"
#undef PASS

/* ------------------------------------------ calls that are not handed on -- */

static CUresult fake_cuInit(unsigned int flags)
{
    CUresult r = turn("cuInit");

    if (r == CUDA_SUCCESS && fake.no_device)
        r = CUDA_ERROR_NO_DEVICE;
    return r != CUDA_SUCCESS ? r : real.cuInit(flags);
}

static CUresult fake_cuDriverGetVersion(int *version)
{
    *version = fake.driver ? fake.driver : real.version;
    return CUDA_SUCCESS;
}

static CUresult fake_cuDeviceGetCount(int *n)
{
    CUresult r = turn("cuDeviceGetCount");

    return r != CUDA_SUCCESS ? r : real.cuDeviceGetCount(n);
}

static CUresult fake_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    CUresult r = turn("cuDeviceGetName");

    (void)dev;
    if (r == CUDA_SUCCESS)
        snprintf(name, (size_t)len, "Fake GPU");
    return r;
}

static CUresult fake_cuDeviceGetAttribute(int *value, CUdevice_attribute id,
                                          CUdevice dev)
{
    CUresult r = turn("cuDeviceGetAttribute");

    if (r != CUDA_SUCCESS)
        return r;
    if (fake.cc && id == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        *value = fake.cc / 10;
    else if (fake.cc && id == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        *value = fake.cc % 10;
    else
        return real.cuDeviceGetAttribute(value, id, dev);
    return r;
}

static CUresult fake_cuCtxGetDevice(CUdevice *device)
{
    CUresult r = turn("cuCtxGetDevice");

    if (r == CUDA_SUCCESS)
        r = real.cuCtxGetDevice(device);
    if (r == CUDA_SUCCESS && fake.elsewhere)
        ++*device;
    return r;
}

static CUresult fake_cuLaunchKernelEx(const CUlaunchConfig *config,
                                      CUfunction f, void **params, void **extra)
{
    CUresult r = turn("cuLaunchKernelEx");

    if (r != CUDA_SUCCESS)
        return r;
    fake.launches++;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id !=
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            continue;
        fake.pdl_launches++;
        fake.pdl_last = fake.launches;
    }
    return real.cuLaunchKernelEx(config, f, params, extra);
}

/* ------------------------------------------------------------- modules -- */

static void put_log(unsigned count, CUjit_option *option, void **value,
                    const char *text)
{
    char *log = NULL;
    size_t size = 0;

    for (unsigned i = 0; i < count; i++) {
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER)
            log = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            size = (size_t)(uintptr_t)value[i];
    }
    if (log && size)
        snprintf(log, size, "%s", text);
}

/* The text's .version, times ten, and its line. */
static int version_of(const char *text, int *line)
{
    const char *p = strstr(text, "\n.version");
    int major, minor;

    *line = 1;
    if (!p || sscanf(p + 9, "%d.%d", &major, &minor) != 2)
        return 0;
    for (const char *q = text; q <= p; q++)
        *line += *q == '\n';
    return major * 10 + minor;
}

static void keep_refused(const char *text)
{
    size_t n = strlen(text) + 1;

    free(fake.refused);
    fake.refused = malloc(n);
    if (!fake.refused)
        abort();
    memcpy(fake.refused, text, n);
}

static CUresult fake_cuModuleLoadDataEx(CUmodule *module, const void *image,
                                        unsigned int n, CUjit_option *option,
                                        void **value)
{
    CUresult r = turn("cuModuleLoadDataEx");
    char log[160];
    int line, version;

    if (r != CUDA_SUCCESS)
        return r;
    if (fake.jit_result != CUDA_SUCCESS) {
        put_log(n, option, value, fake.jit_log ? fake.jit_log : "");
        return fake.jit_result;
    }
    version = version_of(image, &line);
    if (fake.isa && version > fake.isa) {
        snprintf(log, sizeof log,
                 "ptxas application ptx input, line %d; fatal   : Unsupported "
                 ".version %d.%d; current version is '%d.%d'\n",
                 line, version / 10, version % 10, fake.isa / 10,
                 fake.isa % 10);
        put_log(n, option, value, log);
        keep_refused(image);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    r = real.cuModuleLoadDataEx(module, image, n, option, value);
    if (r == CUDA_SUCCESS)
        alive(FAKE_MODULE, 1);
    return r;
}

/* A cubin stands for the text that was refused last: that one is loaded. */
static CUresult fake_cuModuleLoadData(CUmodule *module, const void *image)
{
    CUresult r = turn("cuModuleLoadData");

    if (r != CUDA_SUCCESS)
        return r;
    if (memcmp(image, "\177ELF", 4) || !fake.refused)
        return CUDA_ERROR_INVALID_IMAGE;
    fake.cubins++;
    r = real.cuModuleLoadData(module, fake.refused);
    if (r == CUDA_SUCCESS)
        alive(FAKE_MODULE, 1);
    return r;
}

/* ------------------------------------- calls of graphs, with edge data -- */

/* Those of driver 12.3, whose names have an older signature, too. */
enum { EDGE_DATA = 12030 };
static CUresult (*real_add)(CUgraph, const CUgraphNode *, const CUgraphNode *,
                            const CUgraphEdgeData *, size_t);
static CUresult (*real_edges)(CUgraph, CUgraphNode *, CUgraphNode *,
                              CUgraphEdgeData *, size_t *);
static CUresult (*real_info)(CUstream, CUstreamCaptureStatus *, cuuint64_t *,
                             CUgraph *, const CUgraphNode **,
                             const CUgraphEdgeData **, size_t *);

static CUresult fake_add(CUgraph graph, const CUgraphNode *from,
                         const CUgraphNode *to, const CUgraphEdgeData *data,
                         size_t count)
{
    CUresult r = turn("cuGraphAddDependencies");

    return r != CUDA_SUCCESS ? r : real_add(graph, from, to, data, count);
}

static CUresult fake_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                           CUgraphEdgeData *data, size_t *count)
{
    CUresult r = turn("cuGraphGetEdges");

    return r != CUDA_SUCCESS ? r : real_edges(graph, from, to, data, count);
}

static CUresult fake_info(CUstream stream, CUstreamCaptureStatus *status,
                          cuuint64_t *id, CUgraph *graph,
                          const CUgraphNode **deps,
                          const CUgraphEdgeData **data, size_t *count)
{
    CUresult r = turn("cuStreamGetCaptureInfo");

    return r != CUDA_SUCCESS
        ? r : real_info(stream, status, id, graph, deps, data, count);
}

/* The fake one in the place of the real one, which is kept. */
static void with_edge_data(const char *name, void **pfn)
{
    const struct {
        const char *name;
        void *keep;
        void (*fn)(void);
    } calls[] = {
        { "cuGraphAddDependencies", &real_add, (void (*)(void))fake_add },
        { "cuGraphGetEdges", &real_edges, (void (*)(void))fake_edges },
        { "cuStreamGetCaptureInfo", &real_info, (void (*)(void))fake_info },
    };

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, name) || !*pfn)
            continue;
        memcpy(calls[i].keep, pfn, sizeof *pfn);
        memcpy(pfn, &calls[i].fn, sizeof *pfn);
    }
}

/* -------------------------------------------------------------- lookup -- */

#define ROW(name, fn) { #name, (void (*)(void))fn }
static const struct {
    const char *name;
    void (*fn)(void);
} rows[] = {
#define PASS(name, kind, delta, params, args) ROW(name, pass_##name),
#include "pass.def"
#undef PASS
    ROW(cuInit, fake_cuInit),
    ROW(cuDriverGetVersion, fake_cuDriverGetVersion),
    ROW(cuDeviceGetCount, fake_cuDeviceGetCount),
    ROW(cuDeviceGetName, fake_cuDeviceGetName),
    ROW(cuDeviceGetAttribute, fake_cuDeviceGetAttribute),
    ROW(cuCtxGetDevice, fake_cuCtxGetDevice),
    ROW(cuModuleLoadData, fake_cuModuleLoadData),
    ROW(cuModuleLoadDataEx, fake_cuModuleLoadDataEx),
    ROW(cuLaunchKernelEx, fake_cuLaunchKernelEx),
    ROW(cuGetProcAddress, cuGetProcAddress_v2),
};

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    CUresult r;

    fake_state();
    *pfn = NULL;
    if (status)
        *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (fake.hide && !strcmp(fake.hide, symbol))
        return CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, symbol))
            continue;
        memcpy(pfn, &rows[i].fn, sizeof *pfn);
        if (status)
            *status = CU_GET_PROC_ADDRESS_SUCCESS;
        return CUDA_SUCCESS;
    }
    r = real_get(symbol, pfn, version, flags, status);
    if (r == CUDA_SUCCESS && version >= EDGE_DATA)
        with_edge_data(symbol, pfn);
    return r;
}
