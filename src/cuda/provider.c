/* provider.c -- libcuda by dlopen, or the software device */
#include "cuda/provider.h"
#include "base/error.h"

#include <dlfcn.h>
#include <fgs/fgs_sim.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static fgs__cu_get_proc as_get_proc(void *sym)
{
    fgs__cu_get_proc get;

    memcpy(&get, &sym, sizeof get);
    return get;
}

/*
 * The library stays open to the end of the process: a driver that has started
 * threads cannot be unloaded.
 */
static fgs_result open_libcuda(struct fgs__cu *cu, fgs_error *err)
{
    const char *env = getenv("FGS_LIBCUDA");
    const char *path = env && *env ? env : "libcuda.so.1";
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL), *sym;
    const char *why;

    if (!lib) {
        why = dlerror();
        /* dlerror starts with the path on most failures, not on all. */
        if (why && !strncmp(why, path, strlen(path)))
            return fgs__fail(err, FGS_E_NODRIVER, "%s%s",
                             env && *env ? "FGS_LIBCUDA: " : "", why);
        return fgs__fail(err, FGS_E_NODRIVER, "%s: %s", path,
                         why ? why : "cannot be opened");
    }
    sym = dlsym(lib, "cuGetProcAddress_v2");
    if (!sym) {
        dlclose(lib);
        return fgs__fail(err, FGS_E_ENTRY,
                         "%s: no cuGetProcAddress_v2 in it: not a CUDA driver "
                         "library, or one older than 12.0",
                         path);
    }
    return fgs__cu_fill(cu, path, as_get_proc(sym), err);
}

static fgs_result open_sim(struct fgs__cu *cu, fgs_error *err)
{
    void *sym = fgs_sim_get_proc("cuGetProcAddress_v2");
    fgs_sim_config cfg = { .size = sizeof cfg };
    fgs_result r = fgs_sim_config_get(&cfg, err);

    /* cuInit has no words for it: only this call names the bad variable. */
    if (r < 0)
        return r;
    if (!sym)
        return fgs__fail(err, FGS_E_ENTRY,
                         "cuGetProcAddress_v2: not in the software device");
    return fgs__cu_fill(cu, "the software device", as_get_proc(sym), err);
}

static const struct fgs__provider providers[] = {
    { "cuda", "driver", 1, open_libcuda, NULL },
    { "sim", "sim", 0, open_sim, fgs_sim_last_fault },
};

const struct fgs__provider *fgs__provider_find(const char *name, fgs_error *err)
{
    char list[128] = "";

    for (size_t i = 0; i < COUNT(providers); i++) {
        size_t n = strlen(list);

        if (!strcmp(providers[i].name, name))
            return &providers[i];
        snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "",
                 providers[i].name);
    }
    fgs__fail(err, FGS_E_INVAL, "no provider is named \"%s\"; there are: %s",
              name, list);
    return NULL;
}
