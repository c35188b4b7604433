/* rms_gemv.c -- compile, run and check rms_gemv.cu on a GPU or without one
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
struct attr {
    unsigned id;
    char pad[4];
    union {
        int allowed;
        char size[64];
    } value;
};
struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct attr *attrs;
    unsigned count;
};
enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6 };

#define CALLS(X)                                                               \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                \
    X(cuCtxPushCurrent, (void *))                                              \
    X(cuDevicePrimaryCtxRelease, (int))                                        \
    X(cuMemAlloc, (ptr *, size_t))                                             \
    X(cuMemsetD8, (ptr, unsigned char, size_t))                                \
    X(cuMemcpyHtoD, (ptr, const void *, size_t))                               \
    X(cuMemcpyDtoH, (void *, ptr, size_t))                                     \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                             \
    X(cuMemHostGetDevicePointer, (ptr *, void *, unsigned))                    \
    X(cuModuleLoadData, (void **, const void *))                               \
    X(cuModuleGetFunction, (void **, void *, const char *))                    \
    X(cuLaunchKernelEx, (const struct config *, void *, void **, void **))     \
    X(cuCtxSynchronize, (void))

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

static void launch(void *module, const char *name, unsigned blocks,
                   unsigned shared, int dependent, void **params)
{
    struct attr attr = { PROGRAMMATIC_STREAM_SERIALIZATION, { 0 }, { 1 } };
    struct config c = { { blocks, 1, 1 }, { THREADS, 1, 1 }, shared, NULL,
                        &attr, (unsigned)dependent };
    void *f;

    OK(cu.cuModuleGetFunction(&f, module, name));
    OK(cu.cuLaunchKernelEx(&c, f, params, NULL));
}

static const uint32_t *run(const char *code, int cc)
{
    ptr a = put(x, sizeof x), g = put(gain, sizeof gain), m = put(w, sizeof w);
    ptr mid = put(NULL, ROWS * WIDTH * 2), to = put(NULL, sizeof out);
    ptr ctl = put(NULL, 64), rec;
    uint64_t bound = 2000000000;
    void *module, *host;

    OK(cu.cuMemHostAlloc(&host, 64, 0));
    OK(cu.cuMemHostGetDevicePointer(&rec, host, 0));
    memset(host, 0, 64);
    OK(cu.cuModuleLoadData(&module, code));
    launch(module, "rms", ROWS, 0, 0, (void *[]){ &a, &g, &mid });
    launch(module, "gemv", ROWS * ROWS_OUT / OUTPUTS, WIDTH * 2, cc >= 90,
           (void *[]){ &mid, &m, &to, &ctl, &rec, &bound });
    OK(cu.cuCtxSynchronize());
    OK(cu.cuMemcpyDtoH(out, to, sizeof out));
    return host;
}

int main(int argc, char **argv)
{
    fgs_device_opts o = { .size = sizeof o };
    fgs_device_info info = { .size = sizeof info };
    fgs_device *dev;
    fgs_error err;
    const uint32_t *rec;
    double worst;
    void *ctx;
    char *code;

    if (fgs_device_open(&dev, &o, &err) < 0 ||
        fgs_device_get_info(dev, &info, &err) < 0)
        die("device", err.text);
    fprintf(stderr, "device %s: %s\n", info.provider, info.name);
#define CALL(name, params) BIND(cu.name, fgs_device_get_proc(dev, #name));
    CALLS(CALL)
#undef CALL
    OK(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cu.cuCtxPushCurrent(ctx));
    code = compile(argc > 1 ? argv[1] : "tools/examples/rms_gemv.cu",
                   argc > 2 ? argv[2] : "include", info.cc,
                   strcmp(info.provider, "sim"));
    make_data();
    rec = run(code, info.cc);
    if (rec[0])
        die("gemv", "a row kept its sentinel");
    worst = check();
    printf("%d rows of %d, %d outputs each: within %.4f\n", ROWS, WIDTH,
           ROWS_OUT, worst);
    OK(cu.cuDevicePrimaryCtxRelease(0));
    fgs_device_close(dev);
    return !(worst < 0.05);
}
