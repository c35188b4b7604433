/* entry.c -- entry points by name: fgs_sim_get_proc and cuGetProcAddress */
#include "sim/form.h"

_Thread_local bool fgs__sim_per_thread;

static const char *const absent[] = {
#define ABSENT(name) #name,
#include "sim/absent.def"
#undef ABSENT
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Called through a pointer with other parameters: the calling conventions of
 * our platforms leave arguments to the caller. */
static CUresult not_supported(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static const struct fgs__sim_form *find(const char *symbol)
{
    const struct fgs__sim_form *f = fgs__sim_forms;

    while (f->symbol && strcmp(f->symbol, symbol))
        f++;
    return f->symbol ? f : NULL;
}

static bool is_absent(const char *symbol)
{
    for (size_t i = 0; i < COUNT(absent); i++) {
        if (!strcmp(absent[i], symbol))
            return true;
    }
    return false;
}

/* ISO C has no conversion from function to object pointers; POSIX does. */
static void *as_object(fgs__sim_any fn)
{
    void *p;

    memcpy(&p, &fn, sizeof p);
    return p;
}

void *fgs_sim_get_proc(const char *name)
{
    const struct fgs__sim_form *f = name ? find(name) : NULL;

    if (f)
        return as_object(f->fn);
    return name && is_absent(name) ? as_object((fgs__sim_any)not_supported)
                                   : NULL;
}

const char *fgs_sim_symbol(size_t i, int *present)
{
    const struct fgs__sim_form *f = fgs__sim_forms;

    /* A form without a symbol of its own begins with '@' (forms.awk). */
    for (; f->symbol; f++) {
        if (f->symbol[0] != '@' && !i--)
            break;
    }
    if (present)
        *present = f->symbol != NULL;
    if (f->symbol)
        return f->symbol;
    return i < COUNT(absent) ? absent[i] : NULL;
}

static CUresult answer(CUdriverProcAddressQueryResult *status,
                       CUdriverProcAddressQueryResult s)
{
    if (status)
        *status = s;
    return s == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS
                                            : CUDA_ERROR_NOT_FOUND;
}

/* The newest form of a documented name that a program written for `version`
 * knows; *known: the name has forms at all. */
static const struct fgs__sim_form *newest(const char *name, int version,
                                          bool per_thread, bool *known)
{
    const struct fgs__sim_form *best = NULL;

    for (const struct fgs__sim_form *f = fgs__sim_forms; f->symbol; f++) {
        if (strcmp(f->name, name))
            continue;
        *known = true;
        if (f->abi > version)
            continue;
        if (!best || f->abi > best->abi ||
            (f->abi == best->abi && per_thread && f->per_thread))
            best = f;
    }
    return best;
}

CUresult fgs__sim_cuGetProcAddress(const char *symbol, void **pfn, int version,
                                   cuuint64_t flags,
                                   CUdriverProcAddressQueryResult *status)
{
    const struct fgs__sim_form *f;
    bool known = false;

    /* Flags: default, legacy stream, per-thread stream. */
    if (!symbol || !pfn || flags > 2)
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = NULL;
    f = newest(symbol, version, flags == 2, &known);
    if (known && !f)
        return answer(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    if (f)
        *pfn = as_object(f->fn);
    else
        *pfn = fgs_sim_get_proc(symbol);
    return answer(status, *pfn ? CU_GET_PROC_ADDRESS_SUCCESS
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

CUresult fgs__sim_cuGetProcAddress_v1(const char *symbol, void **pfn,
                                      int version, cuuint64_t flags)
{
    return fgs__sim_cuGetProcAddress(symbol, pfn, version, flags, NULL);
}
