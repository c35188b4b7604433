/* linked.c -- a program of the driver API that knows nothing of fgsync
 *
 * It declares what it needs of cuda.h, is linked with -lcuda, adds two vectors
 * and runs a chain of programmatic dependents.  Exit 0 = both right.
 */
#include <stdio.h>
#include <string.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUmodule, *CUfunction, *CUstream;
typedef struct {
    int id;
    int pad;
    union {
        char bytes[64];
        int allowed;
    } value;
} attribute;
typedef struct {
    unsigned int grid[3], block[3], shared;
    CUstream stream;
    attribute *attrs;
    unsigned int count;
} config;

CUresult cuInit(unsigned int flags);
CUresult cuDeviceGet(CUdevice *dev, int ordinal);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice dev);
CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);
CUresult cuCtxDestroy_v2(CUcontext ctx);
CUresult cuModuleLoadData(CUmodule *mod, const void *image);
CUresult cuModuleGetFunction(CUfunction *f, CUmodule mod, const char *name);
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr p);
CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy,
                        unsigned int gz, unsigned int bx, unsigned int by,
                        unsigned int bz, unsigned int shared, CUstream stream,
                        void **params, void **extra);
CUresult cuLaunchKernelEx(const config *c, CUfunction f, void **params,
                          void **extra);

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c,\n"
    "    .param .u32 n)\n{\n"
    "    .reg .pred %p;\n    .reg .u32 %i, %t, %k, %n;\n"
    "    .reg .u64 %a, %b, %c, %o;\n    .reg .f32 %x, %y;\n"
    "    mov.u32 %i, %ctaid.x;\n    mov.u32 %k, %ntid.x;\n"
    "    mov.u32 %t, %tid.x;\n    mad.lo.u32 %i, %i, %k, %t;\n"
    "    ld.param.u32 %n, [n];\n    setp.ge.u32 %p, %i, %n;\n"
    "    @%p bra L_end;\n"
    "    ld.param.u64 %a, [a];\n    ld.param.u64 %b, [b];\n"
    "    ld.param.u64 %c, [c];\n    mul.wide.u32 %o, %i, 4;\n"
    "    add.u64 %a, %a, %o;\n    add.u64 %b, %b, %o;\n"
    "    add.u64 %c, %c, %o;\n"
    "    ld.global.f32 %x, [%a];\n    ld.global.f32 %y, [%b];\n"
    "    add.f32 %x, %x, %y;\n    st.global.f32 [%c], %x;\n"
    "L_end:\n    ret;\n}\n"
    ".visible .entry twice(.param .u64 a)\n{\n"
    "    .reg .u32 %t, %v;\n    .reg .u64 %a;\n"
    "    griddepcontrol.launch_dependents;\n"
    "    ld.param.u64 %a, [a];\n    mov.u32 %t, %tid.x;\n"
    "    mad.wide.u32 %a, %t, 4, %a;\n"
    "    griddepcontrol.wait;\n"
    "    ld.global.u32 %v, [%a];\n    mad.lo.u32 %v, %v, 2, 1;\n"
    "    st.global.u32 [%a], %v;\n    ret;\n}\n";

#define DO(call)                                                               \
    do {                                                                       \
        CUresult r_ = call;                                                    \
        if (r_) {                                                              \
            fprintf(stderr, "%s: %d\n", #call, r_);                            \
            return 1;                                                          \
        }                                                                      \
    } while (0)

enum { N = 1000, THREADS = 64, CHAIN = 10 };

static int add_vectors(CUmodule mod)
{
    static float a[N], b[N], c[N];
    CUdeviceptr da, db, dc;
    CUfunction f;
    unsigned int n = N;
    void *params[] = { &da, &db, &dc, &n };
    int i;

    for (i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)i;
    }
    DO(cuModuleGetFunction(&f, mod, "vadd"));
    DO(cuMemAlloc_v2(&da, sizeof a));
    DO(cuMemAlloc_v2(&db, sizeof b));
    DO(cuMemAlloc_v2(&dc, sizeof c));
    DO(cuMemcpyHtoD_v2(da, a, sizeof a));
    DO(cuMemcpyHtoD_v2(db, b, sizeof b));
    DO(cuLaunchKernel(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params,
                      NULL));
    DO(cuMemcpyDtoH_v2(c, dc, sizeof c));
    for (i = 0; i < N; i++) {
        if (c[i] != 1.5f * (float)i) {
            fprintf(stderr, "c[%d] is %g\n", i, (double)c[i]);
            return 1;
        }
    }
    DO(cuMemFree_v2(da));
    DO(cuMemFree_v2(db));
    DO(cuMemFree_v2(dc));
    return 0;
}

static int run_chain(CUmodule mod)
{
    attribute pdl = { 6, 0, { "" } };
    config c = { { 1, 1, 1 }, { THREADS, 1, 1 }, 0, NULL, &pdl, 1 };
    unsigned int v[THREADS], i;
    CUdeviceptr d;
    void *params[] = { &d };
    CUfunction f;

    memset(v, 0, sizeof v);
    pdl.value.allowed = 1;
    DO(cuModuleGetFunction(&f, mod, "twice"));
    DO(cuStreamCreate(&c.stream, 1));
    DO(cuMemAlloc_v2(&d, sizeof v));
    DO(cuMemcpyHtoD_v2(d, v, sizeof v));
    for (i = 0; i < CHAIN; i++)
        DO(cuLaunchKernelEx(&c, f, params, NULL));
    DO(cuStreamSynchronize(c.stream));
    DO(cuMemcpyDtoH_v2(v, d, sizeof v));
    for (i = 0; i < THREADS; i++) {
        if (v[i] != (1u << CHAIN) - 1) {
            fprintf(stderr, "v[%u] is %u\n", i, v[i]);
            return 1;
        }
    }
    DO(cuMemFree_v2(d));
    DO(cuStreamDestroy_v2(c.stream));
    return 0;
}

int main(void)
{
    CUdevice dev;
    CUcontext ctx;
    CUmodule mod;
    int sms;

    DO(cuInit(0));
    DO(cuDeviceGet(&dev, 0));
    DO(cuDeviceGetAttribute(&sms, 16, dev));
    DO(cuCtxCreate_v2(&ctx, 0, dev));
    DO(cuModuleLoadData(&mod, text));
    if (add_vectors(mod) || run_chain(mod))
        return 1;
    DO(cuCtxDestroy_v2(ctx));
    printf("%d SMs\n", sms);
    return 0;
}
