/* test_sim_threads.c -- many host threads in many contexts and in one
 *
 * Each thread draws from the list of actions; an action uses one family of
 * calls and looks at what came of it.  Half of the threads share a context, the
 * others have one each, and some actions make more.  What races is found by
 * TSan; FGS_STRESS_ROUNDS and FGS_STRESS_THREADS make it longer.
 */
#include "sim_calls.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 6, ROUNDS = 24, MOST = 64, N = 256 };

static const char text[] =
    HEAD AFFINE
    ".visible .entry stop()\n{\n    trap;\n}\n"
    ".global .u32 seen = 7;\n";
static const char part_a[] =
    HEAD ".extern .func (.param .b32 o) twice(.param .b32 i);\n"
    ".visible .entry both(.param .u64 p_x)\n{\n"
    "    .reg .u64 %x;\n    .reg .u32 %v;\n"
    "    ld.param.u64 %x, [p_x];\n    ld.global.u32 %v, [%x];\n"
    "    { .param .b32 i; .param .b32 o;\n"
    "      st.param.b32 [i], %v;\n      call (o), twice, (i);\n"
    "      ld.param.b32 %v, [o]; }\n"
    "    st.global.u32 [%x], %v;\n    ret;\n}\n";
static const char part_b[] =
    HEAD ".visible .func (.param .b32 o) twice(.param .b32 i)\n{\n"
    "    .reg .u32 %v;\n    ld.param.b32 %v, [i];\n"
    "    add.u32 %v, %v, %v;\n    st.param.b32 [o], %v;\n    ret;\n}\n";

struct worker {
    pthread_t thread;
    unsigned id, rounds;
    uint64_t rng;
    CUcontext ctx;
    CUmodule module;
    CUfunction affine;
    const char *failed; /* the first call that did, NULL = none              */
    int line, result;
};

/* cmocka's assertions belong to its own thread. */
#define TRY(w, call)                                                           \
    do {                                                                       \
        int result_ = (int)fgs__sim_##call;                                    \
        if (result_ && !(w)->failed) {                                         \
            (w)->failed = #call;                                               \
            (w)->line = __LINE__;                                              \
            (w)->result = result_;                                             \
        }                                                                      \
        if (result_)                                                           \
            return;                                                            \
    } while (0)
#define SURE(w, holds)                                                         \
    do {                                                                       \
        if (!(holds) && !(w)->failed) {                                        \
            (w)->failed = #holds;                                              \
            (w)->line = __LINE__;                                              \
        }                                                                      \
    } while (0)

static unsigned draw(struct worker *w, unsigned below)
{
    return (unsigned)(fgs__sim_random(&w->rng) % below);
}

static CUresult affine(CUfunction f, CUstream stream, CUdeviceptr x,
                       uint32_t mul, uint32_t add)
{
    void *params[] = { &x, &mul, &add };

    return fgs__sim_cuLaunchKernel(f, N / 32, 1, 1, 32, 1, 1, 0, stream, params,
                                   NULL);
}
#define fgs__sim_affine affine

static bool all_are(const uint32_t *v, uint32_t want)
{
    for (unsigned i = 0; i < N; i++)
        if (v[i] != want)
            return false;
    return true;
}

/* --------------------------------------------------------------- actions -- */

static void stream_orders_its_work(struct worker *w)
{
    uint32_t v[N], k = draw(w, 1000);
    CUdeviceptr x;
    CUstream s;

    TRY(w, cuStreamCreate(&s, draw(w, 2)));
    TRY(w, cuMemAlloc(&x, sizeof v));
    TRY(w, cuMemsetD32Async(x, k, N, s));
    TRY(w, affine(w->affine, s, x, 3, 1));
    TRY(w, affine(w->affine, s, x, 2, 5));
    TRY(w, cuMemcpyDtoHAsync(v, x, sizeof v, s));
    TRY(w, cuStreamSynchronize(s));
    SURE(w, all_are(v, (k * 3 + 1) * 2 + 5));
    TRY(w, cuStreamDestroy(s));
    TRY(w, cuMemFree(x));
}

static void events_order_two_streams(struct worker *w)
{
    uint32_t v[N], k = draw(w, 1000);
    CUdeviceptr x;
    CUstream s, t;
    CUevent e, f;
    float ms;

    TRY(w, cuStreamCreate(&s, 1));
    TRY(w, cuStreamCreate(&t, 1));
    TRY(w, cuEventCreate(&e, 0));
    TRY(w, cuEventCreate(&f, 0));
    TRY(w, cuMemAlloc(&x, sizeof v));
    TRY(w, cuMemsetD32Async(x, k, N, s));
    TRY(w, affine(w->affine, s, x, 7, 1));
    TRY(w, cuEventRecord(e, s));
    TRY(w, cuStreamWaitEvent(t, e, 0));
    TRY(w, affine(w->affine, t, x, 1, 9));
    TRY(w, cuEventRecord(f, t));
    TRY(w, cuEventSynchronize(f));
    TRY(w, cuEventElapsedTime(&ms, e, f));
    TRY(w, cuMemcpyDtoH(v, x, sizeof v));
    SURE(w, all_are(v, k * 7 + 10));
    TRY(w, cuEventDestroy(e));
    TRY(w, cuEventDestroy(f));
    TRY(w, cuStreamDestroy(s));
    TRY(w, cuStreamDestroy(t));
    TRY(w, cuMemFree(x));
}

static void module_comes_and_goes(struct worker *w)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr g;
    size_t bytes;
    uint32_t v = 0;

    TRY(w, cuModuleLoadData(&m, text));
    TRY(w, cuModuleGetFunction(&f, m, "affine"));
    TRY(w, cuModuleGetGlobal(&g, &bytes, m, "seen"));
    TRY(w, cuMemcpyDtoH(&v, g, sizeof v));
    SURE(w, v == 7 && bytes == 4);
    TRY(w, cuModuleUnload(m));
}

static void memory_of_all_kinds(struct worker *w)
{
    CUdeviceptr d, managed, pooled;
    uint32_t *host;

    TRY(w, cuMemAlloc(&d, 4 * N + draw(w, 100000)));
    TRY(w, cuMemAllocManaged(&managed, 4 * N, CU_MEM_ATTACH_GLOBAL));
    TRY(w, cuMemHostAlloc((void **)&host, 4 * N, 0));
    TRY(w, cuMemAllocAsync(&pooled, 4 * N, NULL));
    for (unsigned i = 0; i < N; i++)
        host[i] = w->id;
    TRY(w, cuMemcpyHtoD(d, host, 4 * N));
    TRY(w, cuMemcpyDtoD(managed, d, 4 * N));
    TRY(w, cuMemcpyDtoD(pooled, managed, 4 * N));
    TRY(w, affine(w->affine, NULL, pooled, 1, 1));
    TRY(w, cuMemcpyDtoH(host, pooled, 4 * N));
    SURE(w, all_are(host, w->id + 1));
    TRY(w, cuMemFreeAsync(pooled, NULL));
    TRY(w, cuMemFreeHost(host));
    TRY(w, cuMemFree(managed));
    TRY(w, cuMemFree(d));
}

static void graph_runs_again(struct worker *w)
{
    uint32_t v[N], mul = 1, add = 1 + draw(w, 9);
    CUdeviceptr x;
    void *params[] = { &x, &mul, &add };
    CUDA_KERNEL_NODE_PARAMS k = { .func = w->affine, .gridDimX = N / 32,
                                  .gridDimY = 1, .gridDimZ = 1,
                                  .blockDimX = 32, .blockDimY = 1,
                                  .blockDimZ = 1, .kernelParams = params };
    CUgraph g;
    CUgraphNode a, b;
    CUgraphExec e;
    CUstream s;

    TRY(w, cuMemAlloc(&x, sizeof v));
    TRY(w, cuMemsetD32(x, 0, N));
    /* Behind the fill, which the legacy stream has. */
    TRY(w, cuStreamCreate(&s, 0));
    TRY(w, cuGraphCreate(&g, 0));
    TRY(w, cuGraphAddKernelNode_v2(&a, g, NULL, 0, &k));
    TRY(w, cuGraphAddKernelNode_v2(&b, g, &a, 1, &k));
    TRY(w, cuGraphInstantiateWithFlags(&e, g, 0));
    for (unsigned i = 0; i < 3; i++)
        TRY(w, cuGraphLaunch(e, s));
    TRY(w, cuStreamSynchronize(s));
    TRY(w, cuMemcpyDtoH(v, x, sizeof v));
    SURE(w, all_are(v, 6 * add));
    TRY(w, cuGraphExecDestroy(e));
    TRY(w, cuGraphDestroy(g));
    TRY(w, cuStreamDestroy(s));
    TRY(w, cuMemFree(x));
}

static void capture_of_a_thread(struct worker *w)
{
    uint32_t v[N];
    CUdeviceptr x;
    CUgraph g;
    CUgraphExec e;
    CUstream s;

    TRY(w, cuMemAlloc(&x, sizeof v));
    TRY(w, cuStreamCreate(&s, 1));
    /* A global one would forbid the other threads their calls. */
    TRY(w, cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    TRY(w, cuMemsetD32Async(x, 5, N, s));
    TRY(w, affine(w->affine, s, x, 2, 1));
    TRY(w, cuStreamEndCapture(s, &g));
    TRY(w, cuGraphInstantiateWithFlags(&e, g, 0));
    TRY(w, cuGraphLaunch(e, s));
    TRY(w, cuStreamSynchronize(s));
    TRY(w, cuMemcpyDtoH(v, x, sizeof v));
    SURE(w, all_are(v, 11));
    TRY(w, cuGraphExecDestroy(e));
    TRY(w, cuGraphDestroy(g));
    TRY(w, cuStreamDestroy(s));
    TRY(w, cuMemFree(x));
}

static void library_and_its_kernel(struct worker *w)
{
    uint32_t v[N];
    CUlibrary lib;
    CUkernel k;
    CUfunction f;
    CUdeviceptr x;

    TRY(w, cuLibraryLoadData(&lib, text, NULL, NULL, 0, NULL, NULL, 0));
    TRY(w, cuLibraryGetKernel(&k, lib, "affine"));
    TRY(w, cuKernelGetFunction(&f, k));
    TRY(w, cuMemAlloc(&x, sizeof v));
    TRY(w, cuMemsetD32(x, 4, N));
    TRY(w, affine(f, NULL, x, 4, 4));
    TRY(w, cuMemcpyDtoH(v, x, sizeof v));
    SURE(w, all_are(v, 20));
    TRY(w, cuLibraryUnload(lib));
    TRY(w, cuMemFree(x));
}

static void texts_are_linked(struct worker *w)
{
    CUlinkState state;
    CUmodule m;
    CUfunction f;
    CUdeviceptr x;
    void *image;
    size_t bytes;
    uint32_t v = 21;
    void *params[] = { &x };

    TRY(w, cuLinkCreate(0, NULL, NULL, &state));
    TRY(w, cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)part_a,
                         sizeof part_a, "a", 0, NULL, NULL));
    TRY(w, cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)part_b,
                         sizeof part_b, "b", 0, NULL, NULL));
    TRY(w, cuLinkComplete(state, &image, &bytes));
    TRY(w, cuModuleLoadData(&m, image));
    TRY(w, cuLinkDestroy(state));
    TRY(w, cuModuleGetFunction(&f, m, "both"));
    TRY(w, cuMemAlloc(&x, 4));
    TRY(w, cuMemcpyHtoD(x, &v, 4));
    TRY(w, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    TRY(w, cuMemcpyDtoH(&v, x, 4));
    SURE(w, v == 42);
    TRY(w, cuModuleUnload(m));
    TRY(w, cuMemFree(x));
}

static void map_is_made(struct worker *w)
{
    FGS__ALIGN(64) CUtensorMap map;
    cuuint64_t dims[2] = { 64, 64 }, strides[1] = { 256 };
    cuuint32_t box[2] = { 16, 16 }, steps[2] = { 1, 1 };
    CUdeviceptr x;

    TRY(w, cuMemAlloc(&x, 64 * 256));
    TRY(w, cuTensorMapEncodeTiled(&map, 7, 2, (void *)(uintptr_t)x, dims,
                                  strides, box, steps, 0, 0, 0, 0));
    TRY(w, cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)x));
    TRY(w, cuMemFree(x));
}

static void count_up(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

static void host_is_called(struct worker *w)
{
    atomic_int calls = 0;
    CUstream s;

    TRY(w, cuStreamCreate(&s, 1));
    TRY(w, cuLaunchHostFunc(s, count_up, &calls));
    TRY(w, cuLaunchHostFunc(s, count_up, &calls));
    TRY(w, cuStreamSynchronize(s));
    SURE(w, atomic_load(&calls) == 2);
    TRY(w, cuStreamDestroy(s));
}

/* A fault stays in its context, whatever the others do meanwhile. */
static void context_faults_alone(struct worker *w)
{
    CUcontext ctx;
    CUmodule m;
    CUfunction f;
    CUdeviceptr x;

    TRY(w, cuCtxCreate(&ctx, 0, 0));
    TRY(w, cuModuleLoadData(&m, text));
    TRY(w, cuModuleGetFunction(&f, m, "stop"));
    TRY(w, cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    SURE(w, fgs__sim_cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    SURE(w, fgs__sim_cuMemAlloc(&x, 4) == CUDA_ERROR_LAUNCH_FAILED);
    SURE(w, fgs_sim_last_fault()[0]);
    TRY(w, cuCtxDestroy(ctx));
}

static void queries(struct worker *w)
{
    int n;
    size_t bytes, total;
    void *fn;
    const char *name;
    CUdriverProcAddressQueryResult found;

    TRY(w, cuDeviceGetAttribute(&n, 1, 0));
    TRY(w, cuMemGetInfo(&bytes, &total));
    TRY(w, cuGetProcAddress("cuMemAlloc", &fn, 12000, 0, &found));
    TRY(w, cuGetErrorName(CUDA_ERROR_NOT_FOUND, &name));
    TRY(w, cuFuncGetAttribute(&n, 0, w->affine));
    TRY(w, cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, w->affine, 128, 0));
    SURE(w, n > 0 && bytes <= total);
}

static void (*const actions[])(struct worker *w) = {
    stream_orders_its_work, events_order_two_streams, module_comes_and_goes,
    memory_of_all_kinds, graph_runs_again, capture_of_a_thread,
    library_and_its_kernel, texts_are_linked, map_is_made, host_is_called,
    context_faults_alone, queries,
};

/* ----------------------------------------------------------- the threads -- */

static void work(struct worker *w)
{
    TRY(w, cuCtxSetCurrent(w->ctx));
    TRY(w, cuModuleLoadData(&w->module, text));
    TRY(w, cuModuleGetFunction(&w->affine, w->module, "affine"));
    for (unsigned i = 0; i < w->rounds && !w->failed; i++)
        actions[draw(w, COUNT(actions))](w);
    TRY(w, cuModuleUnload(w->module));
}

static void *start(void *data)
{
    struct worker *w = data;
    bool own = !w->ctx;

    if (own && fgs__sim_cuCtxCreate(&w->ctx, 0, 0)) {
        w->failed = "cuCtxCreate";
        return NULL;
    }
    work(w);
    if (own)
        fgs__sim_cuCtxDestroy(w->ctx);
    return NULL;
}

static unsigned setting(const char *name, unsigned otherwise)
{
    const char *v = getenv(name);

    return v ? (unsigned)strtoul(v, NULL, 0) : otherwise;
}

static void threads_do_everything_at_once(void **unused)
{
    unsigned rounds = setting("FGS_STRESS_ROUNDS", ROUNDS);
    unsigned threads = setting("FGS_STRESS_THREADS", THREADS);
    unsigned seed = setting("FGS_STRESS_SEED", 1);
    static struct worker workers[MOST];
    fgs_sim_config cfg = sim_config();
    CUcontext shared;

    (void)unused;
    cfg.sms = 4;
    cfg.threads = 2;
    OK(cuInit(0));
    sim_configure(&cfg);
    OK(cuCtxCreate(&shared, 0, 0));
    for (unsigned i = 0; i < threads && i < MOST; i++) {
        struct worker *w = &workers[i];

        *w = (struct worker){ .id = i, .rounds = rounds, .rng = seed + i,
                              .ctx = i % 2 ? shared : NULL };
        assert_int_equal(pthread_create(&w->thread, NULL, start, w), 0);
    }
    for (unsigned i = 0; i < threads && i < MOST; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < threads && i < MOST; i++)
        if (workers[i].failed)
            fail_msg("thread %u, line %d: %s gave %d %s", i, workers[i].line,
                     workers[i].failed, workers[i].result,
                     fgs_sim_last_fault());
    OK(cuCtxDestroy(shared));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_everything_at_once),
    };

    return cmocka_run_group_tests_name("sim_threads", tests, NULL, NULL);
}
