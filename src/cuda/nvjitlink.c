/* nvjitlink.c -- PTX that is newer than the driver, made into a cubin */
#include "cuda/nvjitlink.h"
#include "base/error.h"
#include "table/table.h"

#include <dlfcn.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { SUCCESS = 0, INPUT_PTX = 2 };

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define ROW(member, name, params)                                              \
    { name, offsetof(struct fgs__nvjitlink, member) },
    FGS__NVJITLINK(ROW)
#undef ROW
};

/* The library exports plain names, and each also as __<name>_<major>_<minor>
 * for every minor version from .0 on; either is enough. */
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

static int version_of(void *lib)
{
    int (*get)(unsigned *, unsigned *);
    void *sym = find(lib, "nvJitLinkVersion");
    unsigned major = 0, minor = 0;

    if (!sym)
        return 0;
    memcpy(&get, &sym, sizeof get);
    if (get(&major, &minor) != SUCCESS || major > 999 || minor > 9)
        return 0;
    return (int)(major * 10 + minor);
}

static int open_one(struct fgs__nvjitlink *n, const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    size_t used = strlen(n->why);

    if (!lib) {
        const char *why = dlerror();

        snprintf(n->why + used, sizeof n->why - used, "%s%s",
                 used ? "; " : "", why ? why : path);
        return 0;
    }
    for (size_t i = 0; i < COUNT(functions); i++) {
        void *sym = find(lib, functions[i].name);

        if (!sym) {
            snprintf(n->why + used, sizeof n->why - used, "%s%s: no %s in it",
                     used ? "; " : "", path, functions[i].name);
            dlclose(lib);
            return 0;
        }
        memcpy((char *)n + functions[i].offset, &sym, sizeof sym);
    }
    /* Not closed again: it is large, and the next device wants it too. */
    n->found = 1;
    n->version = version_of(lib);
    n->isa = fgs__isa_of_cuda(n->version * 100);
    snprintf(n->library, sizeof n->library, "%s", path);
    return 1;
}

void fgs__nvjitlink_open(struct fgs__nvjitlink *n)
{
    static const char *const names[] = { "libnvJitLink.so.13",
                                         "libnvJitLink.so.12" };
    const char *env = getenv("FGS_NVJITLINK");

    memset(n, 0, sizeof *n);
    if (env && !strcmp(env, "none")) {
        snprintf(n->why, sizeof n->why, "hidden by FGS_NVJITLINK=none");
        return;
    }
    if (env && *env) {
        n->asked_for = 1;
        open_one(n, env);
        return;
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        if (open_one(n, names[i]))
            return;
    }
}

static void get_log(const struct fgs__nvjitlink *n, fgs__njl_handle h,
                    const fgs_allocator *a, char *log, size_t log_size)
{
    size_t size = 0;
    char *all;

    log[0] = '\0';
    if (n->log_size(h, &size) != SUCCESS || !size)
        return;
    all = fgs__alloc(a, size + 1);
    if (!all)
        return;
    if (n->log(h, all) == SUCCESS) {
        all[size] = '\0';
        snprintf(log, log_size, "%s", all);
    }
    fgs__free(a, all);
}

static fgs_result get_cubin(const struct fgs__nvjitlink *n, fgs__njl_handle h,
                            const fgs_allocator *a, struct fgs__cubin *out)
{
    if (n->cubin_size(h, &out->size) != SUCCESS || !out->size)
        return FGS_E_JIT;
    out->data = fgs__alloc(a, out->size);
    if (!out->data)
        return FGS_E_NOMEM;
    if (n->cubin(h, out->data) == SUCCESS)
        return FGS_OK;
    fgs__free(a, out->data);
    out->data = NULL;
    return FGS_E_JIT;
}

fgs_result fgs__nvjitlink_assemble(const struct fgs__nvjitlink *n,
                                   const char *text, size_t len,
                                   const char *name, const char *arch,
                                   const fgs_allocator *a,
                                   struct fgs__cubin *out, char *log,
                                   size_t log_size)
{
    fgs__njl_handle h = NULL;
    const char *options[1];
    char option[32];
    fgs_result r;
    int code;

    memset(out, 0, sizeof *out);
    log[0] = '\0';
    snprintf(option, sizeof option, "-arch=%s", arch);
    options[0] = option;
    code = n->create(&h, 1, options);
    /* The NUL behind the text counts as part of it. */
    if (code == SUCCESS)
        code = n->add_data(h, INPUT_PTX, text, len + 1, name);
    if (code == SUCCESS)
        code = n->complete(h);
    if (code == SUCCESS) {
        r = get_cubin(n, h, a, out);
    } else {
        if (h)
            get_log(n, h, a, log, log_size);
        r = strstr(log, "Unsupported .version") ? FGS_E_PTXVERSION : FGS_E_JIT;
        if (!log[0])
            snprintf(log, log_size, "nvJitLink result %d for %s", code, option);
    }
    if (h)
        n->destroy(&h);
    return r;
}
