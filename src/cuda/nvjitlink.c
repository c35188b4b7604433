/* nvjitlink.c -- PTX that is newer than the driver, made into a cubin */
#include "cuda/nvjitlink.h"
#include "base/error.h"
#include "table/table.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { SUCCESS = 0, INPUT_PTX = 2 };

static const struct fgs__dynlib_function functions[] = {
#define ROW(member, name, params)                                              \
    { name, offsetof(struct fgs__nvjitlink, member) },
    FGS__NVJITLINK(ROW)
#undef ROW
};

void fgs__nvjitlink_open(struct fgs__nvjitlink *n)
{
    static const char *const files[] = { "libnvJitLink.so.13",
                                         "libnvJitLink.so.12", NULL };
    static const struct fgs__dynlib_kind kind = {
        "FGS_NVJITLINK", files, "nvJitLinkVersion", functions,
        COUNT(functions)
    };

    memset(n, 0, sizeof *n);
    fgs__dynlib_open(&n->lib, &kind, n);
    if (n->lib.found)
        n->isa = fgs__isa_of_cuda(n->lib.version * 100);
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
