/* fakelink.c -- an nvJitLink of 13.0 made for tests: it knows PTX 9.0 alone
 *
 * It has the versioned names alone, as a library may.
 */
#include "base/compat.h"

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct nvJitLink *handle;

EXPORT int __nvJitLinkVersion_13_0(unsigned *major, unsigned *minor);
EXPORT int __nvJitLinkCreate_13_0(handle *h, uint32_t n, const char **options);
EXPORT int __nvJitLinkDestroy_13_0(handle *h);
EXPORT int __nvJitLinkAddData_13_0(handle h, int type, const void *data,
                                   size_t size, const char *name);
EXPORT int __nvJitLinkComplete_13_0(handle h);
EXPORT int __nvJitLinkGetLinkedCubinSize_13_0(handle h, size_t *size);
EXPORT int __nvJitLinkGetLinkedCubin_13_0(handle h, void *cubin);
EXPORT int __nvJitLinkGetErrorLogSize_13_0(handle h, size_t *size);
EXPORT int __nvJitLinkGetErrorLog_13_0(handle h, char *log);

int __nvJitLinkVersion_13_0(unsigned *major, unsigned *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

int __nvJitLinkCreate_13_0(handle *h, uint32_t n, const char **options)
{
    (void)n;
    (void)options;
    *h = malloc(1);
    return *h ? 0 : 6;
}

int __nvJitLinkDestroy_13_0(handle *h)
{
    free(*h);
    *h = NULL;
    return 0;
}

int __nvJitLinkAddData_13_0(handle h, int type, const void *data, size_t size,
                            const char *name)
{
    (void)h;
    (void)name;
    if (type != 2 || !size || ((const char *)data)[size - 1])
        return 3;
    return 4;
}

int __nvJitLinkComplete_13_0(handle h)
{
    (void)h;
    return 0;
}

int __nvJitLinkGetLinkedCubinSize_13_0(handle h, size_t *size)
{
    (void)h;
    *size = 0;
    return 0;
}

int __nvJitLinkGetLinkedCubin_13_0(handle h, void *cubin)
{
    (void)h;
    (void)cubin;
    return 0;
}

static const char text[] = "ptxas application ptx input, line 1; fatal   : "
                           "Unsupported .version 9.3; current version is "
                           "'9.0'\n";

int __nvJitLinkGetErrorLogSize_13_0(handle h, size_t *size)
{
    (void)h;
    *size = sizeof text;
    return 0;
}

int __nvJitLinkGetErrorLog_13_0(handle h, char *log)
{
    (void)h;
    memcpy(log, text, sizeof text);
    return 0;
}
