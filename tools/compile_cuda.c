/* compile_cuda.c -- CUDA C++ of others, by NVRTC and the headers beside it */
#include "bench_rows.h"

#include "program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTIONS = 24, PATHS = 3 };

struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char **,
                  const char **);
    int (*compile)(void *, int, const char **);
    int (*destroy)(void **);
    int (*log_size)(void *, size_t *), (*log)(void *, char *);
    int (*ptx_size)(void *, size_t *), (*ptx)(void *, char *);
    int (*cubin_size)(void *, size_t *), (*cubin)(void *, char *);
};

/* The folder above bin/, where the tool chain's ptxas lies; "" = none. */
static void toolkit(char dir[PROGRAM_PATH])
{
    char *cut;

    dir[0] = 0;
    if (!program_find("ptxas", dir))
        return;
    for (int i = 0; i < 2; i++) {
        cut = strrchr(dir, '/');
        if (cut)
            *cut = 0;
    }
}

static bool find(void *lib, struct nvrtc *n)
{
    const struct {
        void *to;
        const char *name;
    } rows[] = {
        {&n->create, "nvrtcCreateProgram"},
        {&n->compile, "nvrtcCompileProgram"},
        {&n->destroy, "nvrtcDestroyProgram"},
        {&n->log_size, "nvrtcGetProgramLogSize"},
        {&n->log, "nvrtcGetProgramLog"},
        {&n->ptx_size, "nvrtcGetPTXSize"},
        {&n->ptx, "nvrtcGetPTX"},
        {&n->cubin_size, "nvrtcGetCUBINSize"},
        {&n->cubin, "nvrtcGetCUBIN"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *p = dlsym(lib, rows[i].name);

        if (!p)
            return false;
        memcpy(rows[i].to, &p, sizeof p);
    }
    return true;
}

/* $FGS_NVRTC, the tool chain's, the system's.  It stays open. */
static bool open_nvrtc(struct nvrtc *n, const char *kit)
{
    char own[PROGRAM_PATH + 32];
    const char *paths[] = {getenv("FGS_NVRTC"), own, "libnvrtc.so.13",
                           "libnvrtc.so.12",
                           "/usr/local/cuda/lib64/libnvrtc.so"};

    snprintf(own, sizeof own, "%s/lib/libnvrtc.so.13", kit);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        void *lib = paths[i] && *paths[i] ? dlopen(paths[i], RTLD_NOW) : NULL;

        if (lib && find(lib, n))
            return true;
    }
    return false;
}

/* The folder that has cuda/pipeline, as CUDA 13 (cccl/) or 12 have it. */
static bool find_headers(const char *kit, char paths[PATHS][PROGRAM_PATH + 64])
{
    const char *roots[] = {kit, "/usr/local/cuda"};

    for (size_t i = 0; i < 2; i++) {
        for (int plain = 0; plain < 2; plain++) {
            snprintf(paths[1], PROGRAM_PATH + 64, "--include-path=%s/include%s",
                     roots[i], plain ? "" : "/cccl");
            snprintf(paths[2], PROGRAM_PATH + 64, "%s/cuda/pipeline",
                     paths[1] + sizeof "--include-path=" - 1);
            snprintf(paths[0], PROGRAM_PATH + 64, "--include-path=%s/include",
                     roots[i]);
            if (!access(paths[2], R_OK))
                return true;
        }
    }
    return false;
}

static void *take(const struct nvrtc *n, void *prog, bool ptx)
{
    size_t size = 0;
    char *code = NULL;

    if (!(ptx ? n->ptx_size : n->cubin_size)(prog, &size))
        code = calloc(1, size + 1);
    if (code && (ptx ? n->ptx : n->cubin)(prog, code)) {
        free(code);
        code = NULL;
    }
    return code;
}

/* The first line of the log that says "error". */
static void tell_log(const struct nvrtc *n, void *prog, char *why, size_t room)
{
    size_t size = 0;
    char *log, *at;

    snprintf(why, room, "NVRTC refuses it");
    if (n->log_size(prog, &size) || !(log = calloc(1, size + 1)))
        return;
    if (!n->log(prog, log)) {
        at = strstr(log, "error");
        at = at ? at : log;
        snprintf(why, room, "NVRTC: %.*s", (int)strcspn(at, "\n"), at);
    }
    free(log);
}

void *compile_cuda(const char *name, const char *source, int32_t cc, bool ptx,
                   const char *const *options, char *why, size_t room)
{
    char kit[PROGRAM_PATH], paths[PATHS][PROGRAM_PATH + 64], arch[40];
    const char *argv[OPTIONS] = {arch, "--std=c++17", paths[0], paths[1]};
    struct nvrtc n;
    void *prog = NULL, *code = NULL;
    int argc = 4;

    toolkit(kit);
    if (!open_nvrtc(&n, kit)) {
        snprintf(why, room, "no NVRTC: make toolchain, or FGS_NVRTC");
        return NULL;
    }
    if (!find_headers(kit, paths)) {
        snprintf(why, room, "no libcu++ headers (cuda/pipeline) in %s/include "
                            "or /usr/local/cuda/include", *kit ? kit : ".");
        return NULL;
    }
    /* The software device takes PTX for any target below its own. */
    snprintf(arch, sizeof arch, "--gpu-architecture=%s_%d",
             ptx ? "compute" : "sm", ptx && cc > 90 ? 90 : (int)cc);
    for (; options && *options && argc < OPTIONS; options++)
        argv[argc++] = *options;
    if (n.create(&prog, source, name, 0, NULL, NULL)) {
        snprintf(why, room, "NVRTC makes no program");
        return NULL;
    }
    if (n.compile(prog, argc, argv))
        tell_log(&n, prog, why, room);
    else
        code = take(&n, prog, ptx);
    n.destroy(&prog);
    return code;
}
