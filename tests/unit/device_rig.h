/* device_rig.h -- CUDA C++ that a test compiles, loads and launches
 *
 * The compiler is NVRTC of the tool chain or $NVRTC, run by the helper
 * build/device/compile; without either, tests skip and say why.  The device is
 * $FGS_PROVIDER, "sim" without it.
 */
#ifndef DEVICE_RIG_H
#define DEVICE_RIG_H

#include "base/compat.h"
#include "table/cu.h"

#include <fgs/fgs_sim.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define RIG_CALLS(X)                                                           \
    X(cuMemAlloc, (CUdeviceptr *, size_t))                                     \
    X(cuMemFree, (CUdeviceptr))                                                \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                             \
    X(cuMemFreeHost, (void *))                                                 \
    X(cuMemcpyHtoD, (CUdeviceptr, const void *, size_t))                       \
    X(cuMemcpyDtoH, (void *, CUdeviceptr, size_t))                             \
    X(cuMemsetD8, (CUdeviceptr, unsigned char, size_t))                        \
    X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, CUjit_option *, \
                           void **))                                           \
    X(cuModuleUnload, (CUmodule))                                              \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))             \
    X(cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int))             \
    X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **,          \
                         void **))                                             \
    X(cuMemHostGetDevicePointer, (CUdeviceptr *, void *, unsigned))            \
    X(cuStreamCreate, (CUstream *, unsigned))                                  \
    X(cuStreamDestroy, (CUstream))                                             \
    X(cuLaunchHostFunc, (CUstream, CUhostFn, void *))                          \
    X(cuCtxSynchronize, (void))                                                \
    X(cuCtxPushCurrent, (CUcontext))                                           \
    X(cuCtxPopCurrent, (CUcontext *))                                          \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                       \
    X(cuDevicePrimaryCtxRelease, (CUdevice))

static struct {
    fgs_device *dev;
    int cc;
    bool busy; /* a run that has not ended: the context may be lost */
    CUcontext ctx;
    char dir[40];
    char log[8000], *code;
    size_t code_size;
#define RIG_CALL(name, params) CUresult (*name) params;
    RIG_CALLS(RIG_CALL)
#undef RIG_CALL
} d;

#define OK(call) assert_int_equal(d.call, CUDA_SUCCESS)

static inline bool on_sim(void)
{
    const char *name = getenv("FGS_PROVIDER");

    return !name || !strcmp(name, "sim");
}

static inline const char *toolchain(void)
{
    const char *tc = getenv("TC");

    return tc ? tc : "build/toolchain/nvidia/cu13";
}

static inline const char *helper(void)
{
    return "build/device/compile";
}

/* NVRTC of the tool chain; `older`: that of the system, which also stands in
 * on a machine with a GPU and without the tool chain. */
static inline const char *nvrtc_path(bool older)
{
    static char path[600];
    const char *env = getenv("NVRTC");

    snprintf(path, sizeof path, "%s/lib/libnvrtc.so.13", toolchain());
    if (older || (!on_sim() && access(path, R_OK)))
        return "/usr/local/cuda/lib64/libnvrtc.so.13";
    return env ? env : path;
}

/* Can the compiler make strong bulk stores? */
static inline bool has_strong(void)
{
    return strcmp(nvrtc_path(false), nvrtc_path(true)) != 0;
}

static inline void need_nvrtc(bool older)
{
    const char *lib = nvrtc_path(older), *lack = NULL;

    if (access(lib, R_OK))
        lack = lib;
    else if (access(helper(), X_OK))
        lack = helper();
    if (lack) {
        print_message("no %s; make toolchain build/device/compile\n", lack);
        skip();
    }
}

static inline void read_into(const char *path, char **to, size_t *size)
{
    FILE *f = fopen(path, "rb");
    long n;

    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    rewind(f);
    free(*to);
    *to = calloc(1, (size_t)n + 1);
    assert_true(*to && fread(*to, 1, (size_t)n, f) == (size_t)n);
    *size = (size_t)n;
    fclose(f);
}

/* Is `source` taken for `arch`?  Its code is in d.code, its log in d.log.
 * `options` is a list that a NULL ends. */
static inline bool compile_by(const char *lib, const char *source,
                              const char *arch, const char *const *options)
{
    char target[60], out[80], log[80], *text = NULL;
    char *argv[64] = { (char *)helper(), (char *)lib, (char *)source, out, log,
                       target, "--std=c++17", "--include-path=include" };
    int argc = 8, status = 0;
    size_t size;
    pid_t pid;

    if (!d.dir[0]) {
        snprintf(d.dir, sizeof d.dir, P_tmpdir "/fgs-device-XXXXXX");
        assert_non_null(mkdtemp(d.dir));
    }
    snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
    snprintf(out, sizeof out, "%s/out", d.dir);
    snprintf(log, sizeof log, "%s/log", d.dir);
    for (; options && *options && argc < 63; options++)
        argv[argc++] = (char *)*options;
    pid = fork();
    if (!pid) {
        execv(helper(), argv);
        _exit(3);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    read_into(log, &text, &size);
    snprintf(d.log, sizeof d.log, "%s", text);
    free(text);
    if (!WEXITSTATUS(status))
        read_into(out, &d.code, &d.code_size);
    unlink(out);
    unlink(log);
    return !WEXITSTATUS(status);
}

static inline int close_device(void **state)
{
    CUcontext was;

    (void)state;
    if (d.ctx) {
        d.cuCtxPopCurrent(&was);
        d.cuDevicePrimaryCtxRelease(0);
    }
    if (d.dev)
        fgs_device_close(d.dev);
    free(d.code);
    if (d.dir[0])
        rmdir(d.dir);
    memset(&d, 0, sizeof d);
    return 0;
}

/* The software device becomes one of `cc`; a GPU is what it is. */
static inline void open_device(int cc)
{
    fgs_device_opts o = { .size = sizeof o,
                          .provider = on_sim() ? "sim" : NULL };
    fgs_device_info info = { .size = sizeof info };
    fgs_sim_config cfg;
    fgs_error err;

    if (d.dev && !d.busy && (d.cc == cc || !on_sim()))
        return;
    close_device(NULL);
    if (on_sim()) {
        assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_OK);
        cfg.cc = (uint32_t)cc;
        assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_OK);
    }
    if (fgs_device_open(&d.dev, &o, &err) < 0) {
        print_message("%s\n", err.text);
        exit(77);
    }
    assert_int_equal(fgs_device_get_info(d.dev, &info, &err), FGS_OK);
    d.cc = info.cc;
#define RIG_CALL(name, params)                                                 \
    {                                                                          \
        void *p = fgs_device_get_proc(d.dev, #name);                           \
        memcpy(&d.name, &p, sizeof p);                                         \
    }
    RIG_CALLS(RIG_CALL)
#undef RIG_CALL
    OK(cuDevicePrimaryCtxRetain(&d.ctx, 0));
    OK(cuCtxPushCurrent(d.ctx));
}

/* The compute capability that a name of a target is of. */
static inline int cc_of(const char *arch)
{
    return atoi(strchr(arch, '_') + 1);
}

/* A GPU runs what is for it or, without a letter, for a lower one; it takes a
 * cubin, since its driver may be older than the compiler. */
static inline bool can_run(const char *arch)
{
    open_device(cc_of(arch));
    return on_sim() || d.cc == cc_of(arch) ||
        (d.cc > cc_of(arch) && !strpbrk(arch, "af"));
}

/* Compile for `arch` ("compute_90") and load; for a GPU as a cubin of its
 * own. */
static inline CUmodule load_source(const char *source, const char *arch,
                                   const char *const *options)
{
    CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    static char log[4000];
    void *value[] = { log, (void *)(uintptr_t)sizeof log };
    char own[20];
    CUmodule m;

    open_device(cc_of(arch));
    snprintf(own, sizeof own, "sm_%s",
             strpbrk(arch, "af") ? strchr(arch, '_') + 1 : "");
    if (!own[3])
        snprintf(own, sizeof own, "sm_%d", d.cc);
    if (!compile_by(nvrtc_path(false), source, on_sim() ? arch : own, options))
        fail_msg("%s for %s: %s", source, arch, d.log);
    log[0] = 0;
    if (d.cuModuleLoadDataEx(&m, d.code, 2, option, value))
        fail_msg("%s for %s: %s", source, arch, log);
    return m;
}

static inline void launch_on(CUstream stream, CUmodule m, const char *entry,
                             unsigned blocks, unsigned threads,
                             unsigned shared, bool pdl, void **params)
{
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    };
    CUlaunchConfig config = { blocks, 1, 1, threads, 1, 1, shared, stream,
                              &attr, pdl };
    CUfunction f;

    d.busy = true;
    attr.value.programmaticStreamSerializationAllowed = 1;
    OK(cuModuleGetFunction(&f, m, entry));
    if (shared > 48 << 10)
        OK(cuFuncSetAttribute(
            f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared));
    OK(cuLaunchKernelEx(&config, f, params, NULL));
}

static inline void finish(void)
{
    if (d.cuCtxSynchronize())
        fail_msg("%s", on_sim() ? fgs_sim_last_fault() : "the GPU faults");
    d.busy = false;
}

#endif
