/* rms_gemv.c -- an application with kernels of its own that embeds fgsync
 *
 * It has its context, its stream, its memory, and two kernels that NVRTC makes
 * of rms_gemv.cu with the device header; `embed` hands them to a plan, which
 * launches them so that a block of gemv starts as soon as its row is there.
 * Runs on a GPU or without one.
 *
 * usage: rms_gemv [SOURCE [INCLUDE]]   default tools/examples/rms_gemv.cu,
 *                                      include
 *
 * NVRTC is $FGS_NVRTC or libnvrtc.so.13; the device is $FGS_PROVIDER's.
 * exit 0 right, 1 wrong, 77 no compiler
 */
#include <dlfcn.h>
#include <fgs/fgs.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, WIDTH = 1024, ROWS_OUT = 128, OUTPUTS = 32, THREADS = 128 };

/* What cuda.h says of the calls below. */
typedef unsigned long long ptr;

#define CALLS(X)                                                               \
    X(cuCtxCreate, (CUcontext *, unsigned, int))                               \
    X(cuCtxDestroy, (CUcontext))                                               \
    X(cuStreamCreate, (CUstream *, unsigned))                                  \
    X(cuMemAlloc, (ptr *, size_t))                                             \
    X(cuMemsetD8, (ptr, unsigned char, size_t))                                \
    X(cuMemcpyHtoD, (ptr, const void *, size_t))                               \
    X(cuMemcpyDtoH, (void *, ptr, size_t))                                     \
    X(cuModuleLoadData, (void **, const void *))                               \
    X(cuModuleGetFunction, (CUfunction *, void *, const char *))

static struct {
#define CALL(name, params) int (*name) params;
    CALLS(CALL)
#undef CALL
} cu;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "rms_gemv: %s: %s\n", what, why);
    exit(1);
}

#define OK(call) ((call) ? die(#call, "failed") : (void)0)

static void *must(void *p, const char *what)
{
    if (!p)
        die(what, "not there");
    return p;
}

/* dlsym and fgs_device_get_proc give objects; POSIX makes them functions. */
#define BIND(to, from)                                                         \
    do {                                                                       \
        void *found = must(from, #to);                                         \
        memcpy(&(to), &found, sizeof found);                                   \
    } while (0)

static char *read_text(const char *path)
{
    FILE *f = must(fopen(path, "rb"), path);
    char *text = must(calloc(1, 1 << 16), "memory");

    if (!fread(text, 1, (1 << 16) - 1, f))
        die(path, "empty");
    fclose(f);
    return text;
}

/* The newest target of the compiler that a device of `cc` runs. */
static int target_of(void *lib, int cc)
{
    int (*count)(int *), (*list)(int *), all[256], n, best = 0;

    BIND(count, dlsym(lib, "nvrtcGetNumSupportedArchs"));
    BIND(list, dlsym(lib, "nvrtcGetSupportedArchs"));
    OK(count(&n) || n > 256 || list(all));
    for (int i = 0; i < n; i++)
        best = all[i] <= cc && all[i] > best ? all[i] : best;
    return best;
}

/* PTX for the software device; for a GPU a cubin, which a driver older than
 * the compiler takes too. */
static char *compile(const char *path, const char *include, int cc, int gpu)
{
    const char *name = getenv("FGS_NVRTC");
    void *lib = dlopen(name ? name : "libnvrtc.so.13", RTLD_NOW), *program;
    int (*create)(void **, const char *, const char *, int, char **, char **);
    int (*make)(void *, int, const char **), (*text)(void *, char *);
    int (*size)(void *, size_t *);
    char arch[60], where[600], width[40], rows[40], *out;
    const char *option[] = { "--std=c++17", arch, where, width, rows };
    size_t n = 0;
    int bad;

    if (!lib) {
        fprintf(stderr, "rms_gemv: %s\n", dlerror());
        exit(77);
    }
    cc = target_of(lib, cc);
    snprintf(arch, sizeof arch, "--gpu-architecture=%s_%d%s",
             gpu ? "sm" : "compute", cc, cc == 107 ? "a" : "");
    snprintf(where, sizeof where, "--include-path=%s", include);
    snprintf(width, sizeof width, "-DWIDTH=%d", WIDTH);
    snprintf(rows, sizeof rows, "-DROWS_OUT=%d", ROWS_OUT);
    BIND(create, dlsym(lib, "nvrtcCreateProgram"));
    BIND(make, dlsym(lib, "nvrtcCompileProgram"));
    OK(create(&program, read_text(path), path, 0, NULL, NULL));
    bad = make(program, 5, option);
    BIND(size, dlsym(lib, bad   ? "nvrtcGetProgramLogSize"
                          : gpu ? "nvrtcGetCUBINSize"
                                : "nvrtcGetPTXSize"));
    BIND(text, dlsym(lib, bad   ? "nvrtcGetProgramLog"
                          : gpu ? "nvrtcGetCUBIN"
                                : "nvrtcGetPTX"));
    OK(size(program, &n));
    out = must(calloc(1, n + 1), "memory");
    OK(text(program, out));
    if (bad)
        die(path, out);
    return out;
}

static float x[ROWS * WIDTH], gain[WIDTH], w[ROWS_OUT * WIDTH];
static float out[ROWS * ROWS_OUT];

static void make_data(void)
{
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)((i * 7919 + i / WIDTH) % 2001 - 1000) / 500;
    for (int i = 0; i < WIDTH; i++)
        gain[i] = 0.5f + (float)(i % 17) / 16;
    for (int i = 0; i < ROWS_OUT * WIDTH; i++)
        w[i] = (float)((i * 523 + i / 31) % 1999 - 999) / 4000;
}

/* The greatest difference from the same in double. */
static double check(void)
{
    double worst = 0;

    for (int r = 0; r < ROWS; r++) {
        double mean = 0, scale;

        for (int i = 0; i < WIDTH; i++)
            mean += (double)x[r * WIDTH + i] * x[r * WIDTH + i] / WIDTH;
        scale = 1 / sqrt(mean + 1e-5);
        for (int o = 0; o < ROWS_OUT; o++) {
            double sum = 0, off;

            for (int i = 0; i < WIDTH; i++)
                sum += w[o * WIDTH + i] * x[r * WIDTH + i] * scale * gain[i];
            off = fabs(sum - out[r * ROWS_OUT + o]);
            worst = off > worst || off != off ? off : worst;
        }
    }
    return worst;
}

static ptr put(const void *from, size_t bytes)
{
    ptr at;

    OK(cu.cuMemAlloc(&at, bytes));
    OK(from ? cu.cuMemcpyHtoD(at, from, bytes) : cu.cuMemsetD8(at, 0, bytes));
    return at;
}

/* The device's memory, the stream and the kernels: the application's own. */
struct app {
    ptr x, gain, w, mid, out;
    CUstream stream;
    CUfunction rms, gemv;
};

static void prepare(struct app *a, const char *code)
{
    void *module;

    a->x = put(x, sizeof x);
    a->gain = put(gain, sizeof gain);
    a->w = put(w, sizeof w);
    a->mid = put(NULL, ROWS * WIDTH * 2);
    a->out = put(NULL, sizeof out);
    OK(cu.cuStreamCreate(&a->stream, 1));
    OK(cu.cuModuleLoadData(&module, code));
    OK(cu.cuModuleGetFunction(&a->rms, module, "rms"));
    OK(cu.cuModuleGetFunction(&a->gemv, module, "gemv"));
}

static void must_be_ok(fgs_result r, const fgs_error *err)
{
    if (r < 0)
        die(fgs_result_name(r), err->text);
}

static fgs_buffer *wrap(fgs_device *dev, const char *name, fgs_element e,
                        ptr at, uint64_t tiles, uint64_t tile_bytes)
{
    fgs_buffer_desc d = { .size = sizeof d, .name = name, .element = e,
                          .tiles = tiles, .tile_bytes = tile_bytes,
                          .pointer = at, .pointer_bytes = tiles * tile_bytes };
    fgs_buffer *b;
    fgs_error err;

    must_be_ok(fgs_buffer_make(&b, dev, &d, &err), &err);
    return b;
}

/* All that fgsync takes: who reads and writes what, tile by tile. */
static void embed(fgs_device *dev, const struct app *a, uint32_t rounds)
{
    enum { BLOCKS = ROWS * ROWS_OUT / OUTPUTS, BY_SENTINEL = 1 << 4 };
    static uint32_t row_of[BLOCKS];
    fgs_buffer *in = wrap(dev, "x", FGS_ELEMENT_F32, a->x, ROWS, WIDTH * 4);
    fgs_buffer *mid = wrap(dev, "y", FGS_ELEMENT_BF16, a->mid, ROWS, WIDTH * 2);
    fgs_buffer *to = wrap(dev, "out", FGS_ELEMENT_F32, a->out, BLOCKS,
                          OUTPUTS * 4);
    fgs_arg rms_args[] = { { .kind = FGS_ARG_BUFFER, .buffer = in },
                           { .value = &a->gain, .bytes = 8 },
                           { .kind = FGS_ARG_BUFFER, .buffer = mid } };
    fgs_arg gemv_args[] = { { .kind = FGS_ARG_BUFFER, .buffer = mid },
                            { .value = &a->w, .bytes = 8 },
                            { .kind = FGS_ARG_BUFFER, .buffer = to },
                            { .kind = FGS_ARG_CTL }, { .kind = FGS_ARG_REC },
                            { .kind = FGS_ARG_BOUND_NS } };
    fgs_access rms_uses[] = { { .buffer = in },
                              { .buffer = mid, .write = 1,
                                .can = BY_SENTINEL } };
    fgs_access gemv_uses[] = { { .buffer = mid, .can = BY_SENTINEL,
                                 .table = row_of, .tables = BLOCKS },
                               { .buffer = to, .write = 1 } };
    fgs_stage_desc stages[] = {
        { .size = sizeof *stages, .name = "rms", .function = a->rms,
          .args = rms_args, .arg_count = 3, .accesses = rms_uses,
          .access_count = 2, .grid = { ROWS, 1, 1 },
          .block = { THREADS, 1, 1 }, .triggers = FGS_TRIGGERS_FILLED },
        { .size = sizeof *stages, .name = "gemv", .function = a->gemv,
          .args = gemv_args, .arg_count = 6, .accesses = gemv_uses,
          .access_count = 2, .grid = { BLOCKS, 1, 1 },
          .block = { THREADS, 1, 1 }, .shared_bytes = WIDTH * 2,
          .waits = FGS_WAITS_LAST } };
    fgs_plan_spec spec = { .size = sizeof spec, .stages = stages,
                           .stage_count = 2, .bound_ns = 2000000000 };
    fgs_edge_info edge = { .size = sizeof edge };
    fgs_plan *plan;
    fgs_error err;

    for (uint32_t b = 0; b < BLOCKS; b++)
        row_of[b] = b * OUTPUTS / ROWS_OUT;
    must_be_ok(fgs_plan_compose(&plan, dev, &spec, &err), &err);
    must_be_ok(fgs_plan_get_edge(plan, 0, &edge, &err), &err);
    fprintf(stderr, "gemv behind rms by %s (%s)\n", fgs_order_name(edge.taken),
            edge.form);
    must_be_ok(fgs_plan_run(plan, a->stream, rounds, &err), &err);
    must_be_ok(fgs_plan_wait(plan, &err), &err);
    fgs_plan_free(plan);
    fgs_buffer_free(to);
    fgs_buffer_free(mid);
    fgs_buffer_free(in);
}

int main(int argc, char **argv)
{
    fgs_device_opts o = { .size = sizeof o };
    fgs_device_info info = { .size = sizeof info };
    fgs_device *any, *dev;
    struct app app;
    fgs_error err;
    double worst;
    char *code;

    /* Here the driver's calls come from the library, so that the software
     * device does too; an application that links libcuda has them. */
    must_be_ok(fgs_device_open(&any, &o, &err), &err);
    must_be_ok(fgs_device_get_info(any, &info, &err), &err);
    fprintf(stderr, "device %s: %s\n", info.provider, info.name);
#define CALL(name, params) BIND(cu.name, fgs_device_get_proc(any, #name));
    CALLS(CALL)
#undef CALL
    OK(cu.cuCtxCreate(&o.context, 0, info.ordinal));
    o.provider = info.provider;
    must_be_ok(fgs_device_open(&dev, &o, &err), &err);
    code = compile(argc > 1 ? argv[1] : "tools/examples/rms_gemv.cu",
                   argc > 2 ? argv[2] : "include", info.cc,
                   strcmp(info.provider, "sim"));
    make_data();
    prepare(&app, code);
    embed(dev, &app, 3);
    OK(cu.cuMemcpyDtoH(out, app.out, sizeof out));
    worst = check();
    printf("%d rows of %d, %d outputs each: within %.4f\n", ROWS, WIDTH,
           ROWS_OUT, worst);
    fgs_device_close(dev);
    OK(cu.cuCtxDestroy(o.context));
    fgs_device_close(any);
    return !(worst < 0.05);
}
