/* dynlib.c -- a library of the toolkit, opened at run time by table */
#include "cuda/dynlib.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/stat.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* nvJitLink exports plain names, and each also as __<name>_<major>_<minor> for
 * every minor version from .0 on; either is enough. */
static void *find(void *lib, const char *name)
{
    static const char *const suffix[] = { "13_0", "12_0" };
    void *sym = dlsym(lib, name);
    char full[80];

    for (size_t i = 0; !sym && i < COUNT(suffix); i++) {
        snprintf(full, sizeof full, "__%s_%s", name, suffix[i]);
        sym = dlsym(lib, full);
    }
    return sym;
}

static void add_why(struct fgs__dynlib *d, const char *fmt, ...)
    FGS__PRINTF(2, 3);

static void add_why(struct fgs__dynlib *d, const char *fmt, ...)
{
    size_t used = strlen(d->why);
    va_list ap;

    if (used)
        used += (size_t)snprintf(d->why + used, sizeof d->why - used, "; ");
    if (used >= sizeof d->why)
        return;
    va_start(ap, fmt);
    vsnprintf(d->why + used, sizeof d->why - used, fmt, ap);
    va_end(ap);
}

/* The version's function takes int or unsigned: the same for such numbers. */
static int version_of(void *sym)
{
    int (*get)(unsigned *, unsigned *);
    unsigned major = 0, minor = 0;

    if (!sym)
        return 0;
    memcpy(&get, &sym, sizeof get);
    if (get(&major, &minor) != 0 || major > 999 || minor > 9)
        return 0;
    return (int)(major * 10 + minor);
}

/* A toolkit's update keeps major and minor version, not the file. */
static void write_build(struct fgs__dynlib *d, void *sym)
{
    struct stat st;
    Dl_info info;

    if (!sym || !dladdr(sym, &info) || !info.dli_fname ||
        stat(info.dli_fname, &st) < 0)
        return;
    snprintf(d->build, sizeof d->build, "%lld.%lld.%ld",
             (long long)st.st_size, (long long)st.st_mtim.tv_sec,
             (long)st.st_mtim.tv_nsec);
}

static int open_one(struct fgs__dynlib *d, const struct fgs__dynlib_kind *kind,
                    const char *path, void *table)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!lib) {
        const char *why = dlerror();

        add_why(d, "%s", why ? why : path);
        return 0;
    }
    for (size_t i = 0; i < kind->functions; i++) {
        void *sym = find(lib, kind->function[i].name);

        if (!sym) {
            add_why(d, "%s: no %s in it", path, kind->function[i].name);
            dlclose(lib);
            return 0;
        }
        memcpy((char *)table + kind->function[i].offset, &sym, sizeof sym);
    }
    /* Not closed again: it is large, and the next device wants it too. */
    d->found = 1;
    d->version = version_of(find(lib, kind->version));
    write_build(d, find(lib, kind->function[0].name));
    snprintf(d->library, sizeof d->library, "%s", path);
    return 1;
}

void fgs__dynlib_open(struct fgs__dynlib *out,
                      const struct fgs__dynlib_kind *kind, void *table)
{
    const char *env = getenv(kind->env);

    memset(out, 0, sizeof *out);
    if (env && !strcmp(env, "none")) {
        snprintf(out->why, sizeof out->why, "hidden by %s=none", kind->env);
        return;
    }
    if (env && *env) {
        out->asked_for = 1;
        open_one(out, kind, env, table);
        return;
    }
    for (const char *const *f = kind->file; *f; f++) {
        if (open_one(out, kind, *f, table))
            return;
    }
}
