/* bench_text.c -- fgs bench: large texts, parsed, checked and loaded */
#include "bench.h"
#include "bench_rows.h"

#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------- large texts -- */

/* Text in the way of a compiler's: entries of some hundred instructions. */
enum { ENTRIES = 400, ROUNDS = 24, ENTRY_ROOM = 24 * 560 + 1200 };

static char *make_text(size_t *size)
{
    static const char round[] =
        "\tld.global.f32 \t%%f%d, [%%rd4+%d];\n"
        "\tfma.rn.f32 \t%%f%d, %%f%d, 0f3F9D70A4, %%f%d;\n"
        "\tadd.s32 \t%%r%d, %%r%d, %d;\n"
        "\tmul.wide.s32 \t%%rd%d, %%r%d, 4;\n"
        "\tadd.s64 \t%%rd%d, %%rd1, %%rd%d;\n"
        "\tsetp.ge.s32 \t%%p%d, %%r%d, %%r2;\n"
        "\t@%%p%d bra \t$L__BB%d_%d;\n\n"
        "\tst.global.f32 \t[%%rd%d+%d], %%f%d;\n"
        "$L__BB%d_%d:\n";
    size_t room = (size_t)ENTRIES * ENTRY_ROOM, n = 0;
    char *t = malloc(room);
    int e, k;

    if (!t)
        return NULL;
    n += (size_t)snprintf(t, room, "//\n// a large text\n//\n\n.version 7.0\n"
                                   ".target sm_80\n.address_size 64\n\n");
    for (e = 0; e < ENTRIES; e++) {
        n += (size_t)snprintf(
            t + n, room - n,
            "\t// .globl\t_Z6kernel%dPfPKfi\n"
            ".visible .entry _Z6kernel%dPfPKfi(\n"
            "\t.param .u64 _Z6kernel%dPfPKfi_param_0,\n"
            "\t.param .u64 _Z6kernel%dPfPKfi_param_1,\n"
            "\t.param .u32 _Z6kernel%dPfPKfi_param_2\n)\n{\n"
            "\t.reg .pred \t%%p<%d>;\n\t.reg .f32 \t%%f<%d>;\n"
            "\t.reg .b32 \t%%r<%d>;\n\t.reg .b64 \t%%rd<%d>;\n\n"
            "\tld.param.u64 \t%%rd1, [_Z6kernel%dPfPKfi_param_0];\n"
            "\tld.param.u64 \t%%rd3, [_Z6kernel%dPfPKfi_param_1];\n"
            "\tld.param.u32 \t%%r2, [_Z6kernel%dPfPKfi_param_2];\n"
            "\tcvta.to.global.u64 \t%%rd4, %%rd3;\n"
            "\tmov.u32 \t%%r3, %%ctaid.x;\n\tmov.u32 \t%%r4, %%ntid.x;\n"
            "\tmov.u32 \t%%r5, %%tid.x;\n"
            "\tmad.lo.s32 \t%%r10, %%r3, %%r4, %%r5;\n",
            e, e, e, e, e, ROUNDS + 2, 2 * ROUNDS + 8, ROUNDS + 16,
            2 * ROUNDS + 16, e, e, e);
        for (k = 0; k < ROUNDS; k++)
            n += (size_t)snprintf(t + n, room - n, round, 2 * k + 1, 4 * k,
                                  2 * k + 2, 2 * k + 1, 2 * k, k + 11, k + 10,
                                  k * 7 + 1, 2 * k + 10, k + 11, 2 * k + 11,
                                  2 * k + 10, k + 1, k + 11, k + 1, e, k,
                                  2 * k + 11, 4 * k, 2 * k + 2, e, k);
        n += (size_t)snprintf(t + n, room - n, "\tret;\n\n}\n");
    }
    *size = n;
    return t;
}

/* ------------------------------------------------------------- C++ of CUDA */

/* What NVRTC makes of programs over libcu++: barriers, atomics, pipelines,
 * tuples, complex numbers, each in shapes of its own. */
static const char cuda_source[] =
    "#include <cuda/atomic>\n#include <cuda/barrier>\n"
    "#include <cuda/pipeline>\n#include <cuda/std/array>\n"
    "#include <cuda/std/complex>\n#include <cuda/std/optional>\n"
    "#include <cuda/std/tuple>\n"
    "using cuda::std::array;\nusing cuda::std::complex;\n"
    "template <int N> __device__ complex<float> sum(const float *p)\n"
    "{\n    array<complex<float>, N> a;\n"
    "    for (int k = 0; k < N; k++)\n"
    "        a[k] = complex<float>(p[k], p[N + k]);\n"
    "    complex<float> s = a[0];\n"
    "    for (int k = 1; k < N; k++)\n"
    "        s = k % 3 ? s * a[k] : s / a[k];\n    return s;\n}\n"
    "template <int N> __device__ cuda::std::optional<int> least(const int *p)\n"
    "{\n    cuda::std::optional<int> m;\n"
    "    for (int k = 0; k < N; k++)\n"
    "        if (p[k] > 0 && (!m || p[k] < *m))\n            m = p[k];\n"
    "    return m;\n}\n"
    "template <int N> __device__ void work(float *f, int *i, int *count)\n"
    "{\n"
    "    using bar_t = cuda::barrier<cuda::thread_scope_block>;\n"
    "    __shared__ alignas(16) float tile[2][N][256];\n"
    "    __shared__ alignas(bar_t) char room[sizeof(bar_t)];\n"
    "    bar_t *bar = reinterpret_cast<bar_t *>(room);\n"
    "    if (!threadIdx.x)\n        init(bar, blockDim.x);\n"
    "    __syncthreads();\n"
    "    auto pipe = cuda::make_pipeline();\n"
    "    for (int k = 0; k < N; k++) {\n"
    "        pipe.producer_acquire();\n"
    "        cuda::memcpy_async(&tile[k % 2][k][threadIdx.x],\n"
    "                           f + k * 256 + threadIdx.x,\n"
    "                           cuda::aligned_size_t<4>(4), pipe);\n"
    "        pipe.producer_commit();\n"
    "        pipe.consumer_wait();\n"
    "        bar->arrive_and_wait();\n"
    "        f[threadIdx.x] += sum<N + 2>(&tile[k % 2][k][0]).real();\n"
    "        pipe.consumer_release();\n    }\n"
    "    auto t = cuda::std::make_tuple(least<N + 3>(i),\n"
    "                                   least<N + 4>(i + N));\n"
    "    cuda::atomic_ref<int, cuda::thread_scope_device> total(*count);\n"
    "    total.fetch_add(cuda::std::get<0>(t).value_or(N),\n"
    "                    cuda::memory_order_acq_rel);\n"
    "    total.fetch_max(cuda::std::get<1>(t).value_or(0));\n}\n"
    "#define K(n) extern \"C\" __global__ \\\n"
    "void k##n(float *f, int *i, int *c) { work<n>(f, i, c); }\n"
    "K(1) K(2) K(3) K(4) K(5) K(6) K(7) K(8) K(9) K(10) K(11) K(12)\n";

/* ---------------------------------------------------------------- measure */

struct large_text {
    bool cuda;           /* by NVRTC of the program above, not made here     */
    size_t bytes;
    double check, load;  /* seconds of fgs_ptx_check, of a load              */
    char why[700];       /* it was not measured                              */
};

struct text_run {
    struct bench_device *d;
    const char *text, *entry;
    size_t size;
};

static bool check_text(void *cookie)
{
    struct text_run *r = cookie;

    return fgs_ptx_check("text", r->text, r->size, NULL, NULL, NULL) == FGS_OK;
}

static bool load_text(void *cookie)
{
    struct text_run *r = cookie;
    bool good = bench_load(r->d, r->text, r->entry);

    bench_unload(r->d);
    return good;
}

static bool measure(const struct bench_asked *a, struct bench_device *d,
                    struct large_text *out)
{
    struct text_run r = {d, NULL, NULL, 0};
    char *text = out->cuda ? compile_cuda("text", cuda_source, 90, true, NULL,
                                          out->why, sizeof out->why)
                           : make_text(&r.size);
    struct bench_time t;
    bool good;

    if (!text)
        return false;
    r.text = text;
    out->bytes = r.size = strlen(text);
    r.entry = out->cuda ? "k1" : "_Z6kernel0PfPKfi";
    good = bench_time(a, check_text, &r, &t);
    if (good) {
        out->check = t.cpu;
        good = bench_time(a, load_text, &r, &t);
        out->load = t.cpu;
    }
    if (!good)
        snprintf(out->why, sizeof out->why, "%s: error %d: %.600s",
                 d->what ? d->what : "check", d->code, d->log);
    free(text);
    return good;
}

static void print_text(const struct bench_asked *a, struct json *j,
                       const struct large_text *x)
{
    const char *name = x->cuda ? "text_c++" : "text";

    if (!a->json && x->why[0]) {
        printf("%-10s not measured: %s\n", name, x->why);
    } else if (!a->json) {
        printf("%-10s %.1f MB/s parsed and checked, %.1f MB/s loaded (%.1f MB"
               "%s)\n", name, x->bytes / x->check / 1e6,
               x->bytes / x->load / 1e6, x->bytes / 1e6,
               x->cuda ? ", NVRTC's of libcu++" : "");
    } else if (!x->why[0]) {
        json_number(j, x->cuda ? "cuda_text_bytes" : "text_bytes",
                    x->bytes);
        json_number(j, x->cuda ? "cuda_check_bytes_per_s"
                               : "check_bytes_per_s",
                    (uint64_t)(x->bytes / x->check));
        json_number(j, x->cuda ? "cuda_load_bytes_per_s"
                               : "load_bytes_per_s",
                    (uint64_t)(x->bytes / x->load));
    }
}

/* Without NVRTC the second one is not there, which is no failure. */
bool bench_text_rows(const struct bench_asked *a, struct json *j)
{
    bool good = true;

    for (int cuda = 0; cuda < 2; cuda++) {
        struct large_text x = {.cuda = cuda};
        struct bench_device d;

        if (!bench_open(&d, 1, 4096))
            snprintf(x.why, sizeof x.why, "%s: error %d", d.what, d.code);
        else
            measure(a, &d, &x);
        bench_close(&d);
        if (x.why[0] && !cuda)
            good = false;
        print_text(a, j, &x);
    }
    return good;
}
