/* bench_cub.c -- CUB's DeviceHistogram out of a shared object: `make cub` */
#include "bench_cub.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(void)
{
    const char *own = getenv("FGS_CUB");

    return own && *own ? own : "build/cub/libfgs_cub.so";
}

static bool find(struct bench_cub *c, const char *name, void *fn, char *why,
                 size_t room)
{
    void *symbol = dlsym(c->library, name);

    memcpy(fn, &symbol, sizeof symbol);
    if (!symbol)
        snprintf(why, room, "%s has no %s", path_of(), name);
    return symbol;
}

bool bench_cub_open(struct bench_cub *c, const char *provider, char *why,
                    size_t room)
{
    memset(c, 0, sizeof *c);
    /* the runtime would look for a driver of its own */
    if (!strcmp(provider, "sim")) {
        snprintf(why, room, "CUB launches by the CUDA runtime, which does not "
                 "run on the software device");
        return false;
    }
    c->library = dlopen(path_of(), RTLD_NOW | RTLD_LOCAL);
    if (!c->library) {
        snprintf(why, room, "%s; `make cub` makes it with nvcc, FGS_CUB names "
                 "it elsewhere", dlerror());
        return false;
    }
    return find(c, "fgs_cub_histogram", &c->histogram, why, room) &&
           find(c, "fgs_cub_error", &c->error, why, room);
}

bool bench_cub_good(const struct bench_cub *c, int code, char *why, size_t room)
{
    if (code)
        snprintf(why, room, "CUB: error %d, %s", code, c->error(code));
    return !code;
}
