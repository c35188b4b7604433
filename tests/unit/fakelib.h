/* fakelib.h -- point FGS_LIBCUDA at the libcuda made for tests */
#ifndef FAKELIB_H
#define FAKELIB_H

#include "../fake/fakecuda.h"
#include "base/compat.h"

#include <dlfcn.h>
#include <unistd.h>

/* It lies beside the test, in fake/. */
static inline const char *fakelib_path(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    char *slash;

    if (n < 0)
        abort();
    path[n] = '\0';
    slash = strrchr(path, '/');
    snprintf(slash + 1, 32, "fake/fakecuda.so");
    return path;
}

/* Its state, reset to plain forwarding; where it was not carried along with
 * the test, the test is skipped. */
static inline struct fake *fakelib_use(void)
{
    void *lib = dlopen(fakelib_path(), RTLD_NOW | RTLD_LOCAL);
    fake_state_fn get;
    struct fake *f;
    void *sym;

    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(77);
    }
    sym = dlsym(lib, "fake_state");
    if (!sym)
        abort();
    memcpy(&get, &sym, sizeof get);
    f = get();
    free(f->refused);
    memset(f, 0, sizeof *f);
    setenv("FGS_LIBCUDA", fakelib_path(), 1);
    return f;
}

static inline long fakelib_live(const struct fake *f)
{
    long n = 0;

    for (int i = 0; i < FAKE_KINDS; i++)
        n += labs(f->live[i]);
    return n;
}

#endif
