/* fakertc.c -- an NVRTC made for tests: it fails where it is told to */
#include "base/compat.h"
#include "fakertc.h"

#define EXPORT __attribute__((visibility("default")))

struct _nvrtcProgram {
    char name[256], target[64];
};
typedef struct _nvrtcProgram *program;

EXPORT struct fakertc *fakertc_state(void);
EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT int nvrtcCreateProgram(program *p, const char *text, const char *name,
                              int headers, const char *const *header,
                              const char *const *include);
EXPORT int nvrtcDestroyProgram(program *p);
EXPORT int nvrtcCompileProgram(program p, int n, const char *const *option);
EXPORT int nvrtcGetPTXSize(program p, size_t *size);
EXPORT int nvrtcGetPTX(program p, char *ptx);
EXPORT int nvrtcGetProgramLogSize(program p, size_t *size);
EXPORT int nvrtcGetProgramLog(program p, char *log);
EXPORT const char *nvrtcGetErrorString(int code);

static struct fakertc state;

struct fakertc *fakertc_state(void)
{
    return &state;
}

static int result(enum fakertc_call call)
{
    return state.fails == call ? state.code : 0;
}

int nvrtcVersion(int *major, int *minor)
{
    *major = state.major ? state.major : 13;
    *minor = state.major ? state.minor : 4;
    return 0;
}

static void add(char *list, size_t size, const char *a, const char *b)
{
    size_t n = strlen(list);

    snprintf(list + n, size - n, "%s%s\n", a, b);
}

int nvrtcCreateProgram(program *p, const char *text, const char *name,
                       int headers, const char *const *header,
                       const char *const *include)
{
    int r = result(FAKERTC_CREATE);

    *p = NULL;
    if (r)
        return r;
    if (!text || !name)
        return 3;
    *p = calloc(1, sizeof **p);
    if (!*p)
        return 1;
    snprintf((*p)->name, sizeof (*p)->name, "%s", name);
    state.headers[0] = '\0';
    for (int i = 0; i < headers; i++) {
        add(state.headers, sizeof state.headers, include[i], "=");
        add(state.headers, sizeof state.headers, header[i], "");
    }
    state.live++;
    return 0;
}

int nvrtcDestroyProgram(program *p)
{
    free(*p);
    *p = NULL;
    state.live--;
    return result(FAKERTC_DESTROY);
}

int nvrtcCompileProgram(program p, int n, const char *const *option)
{
    static const char arch[] = "--gpu-architecture=";

    state.compiled++;
    state.options[0] = '\0';
    for (int i = 0; i < n; i++) {
        add(state.options, sizeof state.options, option[i], "");
        if (!strncmp(option[i], arch, sizeof arch - 1))
            snprintf(p->target, sizeof p->target, "%s",
                     option[i] + sizeof arch - 1);
    }
    return result(FAKERTC_COMPILE);
}

static const char *ptx_of(program p)
{
    static char text[512];

    if (state.ptx)
        return state.ptx;
    snprintf(text, sizeof text, "// %s for %s\n", p->name, p->target);
    return text;
}

int nvrtcGetPTXSize(program p, size_t *size)
{
    *size = strlen(ptx_of(p)) + 1;
    return result(FAKERTC_PTX_SIZE);
}

int nvrtcGetPTX(program p, char *ptx)
{
    const char *text = ptx_of(p);

    memcpy(ptx, text, strlen(text) + 1);
    return result(FAKERTC_PTX);
}

int nvrtcGetProgramLogSize(program p, size_t *size)
{
    (void)p;
    *size = state.log ? strlen(state.log) + 1 : 1;
    return result(FAKERTC_LOG_SIZE);
}

int nvrtcGetProgramLog(program p, char *log)
{
    const char *text = state.log ? state.log : "";

    (void)p;
    memcpy(log, text, strlen(text) + 1);
    return result(FAKERTC_LOG);
}

const char *nvrtcGetErrorString(int code)
{
    static const char *const text[] = {
        "NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY",
        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT",
        "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION",
        "NVRTC_ERROR_COMPILATION",
        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"
    };

    return code >= 0 && (size_t)code < sizeof text / sizeof *text ? text[code]
                                                                  : NULL;
}
