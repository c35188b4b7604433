/* plan_nvrtc.c -- a kernel of the user's in CUDA C++, compiled by NVRTC */
#include "plan_parts.h"
#include "program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program *program;

#define CALLS(X)                                                               \
    X(nvrtcCreateProgram, (program *, const char *, const char *, int,         \
                           const char *const *, const char *const *))          \
    X(nvrtcDestroyProgram, (program *))                                        \
    X(nvrtcGetNumSupportedArchs, (int *))                                      \
    X(nvrtcGetSupportedArchs, (int *))                                         \
    X(nvrtcCompileProgram, (program, int, const char *const *))                \
    X(nvrtcGetProgramLogSize, (program, size_t *))                             \
    X(nvrtcGetProgramLog, (program, char *))                                   \
    X(nvrtcGetPTXSize, (program, size_t *))                                    \
    X(nvrtcGetPTX, (program, char *))                                          \
    X(nvrtcGetCUBINSize, (program, size_t *))                                  \
    X(nvrtcGetCUBIN, (program, char *))

static struct {
    void *library;
#define MEMBER(name, params) int (*name) params;
    CALLS(MEMBER)
#undef MEMBER
} rtc;

static fgs_result wrong(fgs_error *err, fgs_result r, const char *file,
                        const char *text)
{
    memset(err, 0, sizeof *err);
    err->result = r;
    snprintf(err->name, sizeof err->name, "%s", fgs_result_name(r));
    snprintf(err->text, sizeof err->text, "%.300s: %.700s", file, text);
    return r;
}

/* $FGS_NVRTC, else by its names; it stays open. */
static fgs_result open_library(const char *file, fgs_error *err)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    const char *own = getenv("FGS_NVRTC"), *why = "FGS_NVRTC hides it";
    void *f;
    int i;

    if (rtc.library)
        return FGS_OK;
    for (i = 0; !rtc.library && i < 2; i++)
        if (!own || strcmp(own, "none")) {
            rtc.library = dlopen(own && *own ? own : names[i], RTLD_NOW);
            why = rtc.library ? NULL : dlerror();
        }
    if (!rtc.library)
        return wrong(err, FGS_E_UNSUPPORTED, file,
                     why ? why : "NVRTC cannot be opened");
    /* ISO C has no conversion from an object's address to a function's. */
#define FIND(name, params)                                                     \
    f = dlsym(rtc.library, #name);                                             \
    if (!f)                                                                    \
        return wrong(err, FGS_E_UNSUPPORTED, file, #name ": is missing");      \
    memcpy(&rtc.name, &f, sizeof f);
    CALLS(FIND)
#undef FIND
    return FGS_OK;
}

/* PTX for the software device; code for a GPU, whose driver may be older than
 * the compiler. */
static fgs_result result_of(program prog, bool gpu, const char *file,
                            char **out, fgs_error *err)
{
    size_t size = 0;

    *out = NULL;
    if (!(gpu ? rtc.nvrtcGetCUBINSize : rtc.nvrtcGetPTXSize)(prog, &size))
        *out = calloc(1, size + 1);
    if (!*out)
        return wrong(err, FGS_E_NOMEM, file, "no memory");
    if (!(gpu ? rtc.nvrtcGetCUBIN : rtc.nvrtcGetPTX)(prog, *out))
        return FGS_OK;
    free(*out);
    *out = NULL;
    return wrong(err, FGS_E_COMPILE, file, "NVRTC has no result");
}

static fgs_result refused(program prog, const char *file, fgs_error *err)
{
    size_t size = 0;
    char *log = NULL;

    if (!rtc.nvrtcGetProgramLogSize(prog, &size))
        log = calloc(1, size + 1);
    if (log && rtc.nvrtcGetProgramLog(prog, log))
        *log = 0;
    wrong(err, FGS_E_COMPILE, file, "does not compile");
    if (log && *log) /* which names the file itself */
        snprintf(err->text, sizeof err->text, "%.*s",
                 (int)strcspn(log, "\r"), log);
    free(log);
    return FGS_E_COMPILE;
}

/* The newest target of the compiler that a device of `cc` runs. */
static int target_of(int cc)
{
    int all[256], n, i, best = 0;

    if (rtc.nvrtcGetNumSupportedArchs(&n) || n > 256 ||
        rtc.nvrtcGetSupportedArchs(all))
        return cc;
    for (i = 0; i < n; i++)
        if (all[i] <= cc && all[i] > best)
            best = all[i];
    return best ? best : cc;
}

/* Includes are found beside the file, and the device header where this tool was
 * built or installed. */
static fgs_result compile(struct plan_parts *p, program prog, const char *file,
                          char **out, fgs_error *err)
{
    bool gpu = strcmp(p->info.provider, "sim") != 0;
    int cc = target_of((int)p->info.cc);
    char arch[64], dir[4][PROGRAM_PATH + 40], own[PROGRAM_PATH];
    const char *slash = strrchr(file, '/');
    const char *options[] = {"--std=c++17", arch,   dir[0],
                             dir[1],        dir[2], dir[3]};

    program_folder(own, sizeof own);
    snprintf(arch, sizeof arch, "--gpu-architecture=%s_%d%s",
             gpu ? "sm" : "compute", cc,
             cc == p->info.cc && (cc == 90 || cc >= 100) ? "a" : "");
    snprintf(dir[0], sizeof dir[0], "--include-path=%.*s",
             slash ? (int)(slash - file) : 1, slash ? file : ".");
    snprintf(dir[1], sizeof dir[1], "--include-path=%s/../include", own);
    snprintf(dir[2], sizeof dir[2], "--include-path=%s/../../include", own);
    snprintf(dir[3], sizeof dir[3], "--include-path=include");
    if (rtc.nvrtcCompileProgram(prog, 6, options))
        return refused(prog, file, err);
    return result_of(prog, gpu, file, out, err);
}

fgs_result plan_compile(struct plan_parts *p, const char *file,
                        const char *text, char **out, fgs_error *err)
{
    program prog = NULL;
    fgs_result r = open_library(file, err);

    *out = NULL;
    if (r < 0)
        return r;
    if (rtc.nvrtcCreateProgram(&prog, text, file, 0, NULL, NULL))
        return wrong(err, FGS_E_COMPILE, file, "nvrtcCreateProgram failed");
    r = compile(p, prog, file, out, err);
    rtc.nvrtcDestroyProgram(&prog);
    return r;
}
