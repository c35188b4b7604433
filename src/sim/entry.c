/* entry.c -- entry points by name: fgs_sim_get_proc and cuGetProcAddress */
#include "sim/device.h"

/* Any function; void (*)(void) converts to all of them. */
typedef void (*any_fn)(void);

struct entry {
    const char *name;
    int abi;
    any_fn fn;
};

static const struct entry entries[] = {
#define ENTRY(name, abi, need, params) { #name, abi, (any_fn)fgs__sim_##name },
#include "table/entry.def"
#undef ENTRY
};

static const char *const absent[] = {
#define ABSENT(name) #name,
#include "sim/absent.def"
#undef ABSENT
};

/* Versioned names with the signature of the row of the same stem. */
static const char *const versioned[] = {
    "cuDeviceTotalMem_v2", "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRelease_v2", "cuCtxCreate_v2", "cuCtxDestroy_v2",
    "cuCtxPopCurrent_v2", "cuCtxPushCurrent_v2", "cuModuleGetGlobal_v2",
    "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2",
    "cuMemGetAddressRange_v2", "cuMemHostGetDevicePointer_v2",
    "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2",
    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8_v2", "cuMemsetD32_v2", "cuStreamDestroy_v2",
    "cuEventDestroy_v2", "cuEventElapsedTime_v2", "cuGetProcAddress_v2",
};

/* From this version on a name means a function with other parameters, which
 * this device does not have. */
static const struct {
    const char *name;
    int abi;
} superseded[] = {
    { "cuCtxCreate", 11040 },      { "cuCtxGetDevice", 13000 },
    { "cuCtxSynchronize", 13000 }, { "cuStreamGetCtx", 12050 },
    { "cuLaunchHostFunc", 13010 },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Called through a pointer with other parameters: the calling conventions of
 * our platforms leave arguments to the caller. */
static CUresult not_supported(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static bool has_suffix(const char *name, size_t len, const char *suffix)
{
    size_t n = strlen(suffix);

    return len > n && !memcmp(name + len - n, suffix, n);
}

static bool equal(const char *a, const char *b, size_t len)
{
    return strlen(a) == len && !memcmp(a, b, len);
}

/* The row of a name.  Per-thread forms (_ptsz, _ptds) are the same functions:
 * a NULL stream is the legacy one there too, which only orders more. */
static const struct entry *find(const char *name)
{
    size_t len = strlen(name);

    if (has_suffix(name, len, "_ptsz") || has_suffix(name, len, "_ptds"))
        len -= 5;
    for (size_t i = 0; i < COUNT(versioned); i++) {
        if (equal(versioned[i], name, len))
            len -= 3;
    }
    for (size_t i = 0; i < COUNT(entries); i++) {
        if (equal(entries[i].name, name, len))
            return &entries[i];
    }
    return NULL;
}

static bool is_absent(const char *name)
{
    size_t len = strlen(name);

    if (has_suffix(name, len, "_ptsz") || has_suffix(name, len, "_ptds"))
        len -= 5;
    for (size_t i = 0; i < COUNT(absent); i++) {
        if (equal(absent[i], name, len))
            return true;
    }
    return false;
}

/* ISO C has no conversion from function to object pointers; POSIX does. */
static void *as_object(any_fn fn)
{
    void *p;

    memcpy(&p, &fn, sizeof p);
    return p;
}

void *fgs_sim_get_proc(const char *name)
{
    const struct entry *e = name ? find(name) : NULL;

    if (e)
        return as_object(e->fn);
    return name && is_absent(name) ? as_object((any_fn)not_supported) : NULL;
}

static CUresult answer(CUdriverProcAddressQueryResult *status,
                       CUdriverProcAddressQueryResult s)
{
    if (status)
        *status = s;
    return s == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS
                                            : CUDA_ERROR_NOT_FOUND;
}

CUresult fgs__sim_cuGetProcAddress(const char *symbol, void **pfn, int version,
                                   cuuint64_t flags,
                                   CUdriverProcAddressQueryResult *status)
{
    const struct entry *e;

    /* Flags: default, legacy stream, per-thread stream. */
    if (!symbol || !pfn || flags > 2)
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = NULL;
    e = find(symbol);
    if (e && version < e->abi)
        return answer(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    *pfn = fgs_sim_get_proc(symbol);
    for (size_t i = 0; i < COUNT(superseded); i++) {
        if (!strcmp(superseded[i].name, symbol) &&
            version >= superseded[i].abi)
            *pfn = as_object((any_fn)not_supported);
    }
    return answer(status, *pfn ? CU_GET_PROC_ADDRESS_SUCCESS
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}
