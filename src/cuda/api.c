/* api.c -- the driver's entry points, by table */
#include "cuda/api.h"
#include "base/error.h"

#include <stdarg.h>

enum need { OPEN, USE, NONE };

static const struct {
    const char *name;
    int abi;
    enum need need;
    size_t offset;
} rows[FGS__CU_COUNT] = {
#define ENTRY(name, abi, need, forms, params)                                  \
    { #name, abi, need, offsetof(struct fgs__cu, name) },
#include "table/entry.def"
#undef ENTRY
};

/* ISO C has no conversion between object and function pointers; POSIX (dlsym)
 * has the same representation for both. */
_Static_assert(sizeof(void *) == sizeof(CUresult (*)(void)),
               "function and object pointers differ");

const char *fgs__cu_version_text(int version, char *buf)
{
    snprintf(buf, 16, "%d.%d", version / 1000, version % 1000 / 10);
    return buf;
}

static void *slot_get(const struct fgs__cu *cu, int row)
{
    void *fn;

    memcpy(&fn, (const char *)cu + rows[row].offset, sizeof fn);
    return fn;
}

static fgs_result missing(const struct fgs__cu *cu, int row, fgs_error *err)
{
    char have[16], since[16];

    return fgs__fail(err, FGS_E_ENTRY,
                     "%s: not in this driver (%s, %s), needed since %s",
                     rows[row].name, cu->library,
                     fgs__cu_version_text(cu->version, have),
                     fgs__cu_version_text(rows[row].abi, since));
}

fgs_result fgs__cu_fill(struct fgs__cu *cu, const char *library,
                        fgs__cu_get_proc get, fgs_error *err)
{
    memset(cu, 0, sizeof *cu);
    snprintf(cu->library, sizeof cu->library, "%s", library);
    for (int i = 0; i < FGS__CU_COUNT; i++) {
        CUdriverProcAddressQueryResult status = 0;
        void *fn = NULL;

        if (get(rows[i].name, &fn, rows[i].abi, 0, &status) != CUDA_SUCCESS)
            fn = NULL;
        memcpy((char *)cu + rows[i].offset, &fn, sizeof fn);
    }
    if (cu->cuDriverGetVersion &&
        cu->cuDriverGetVersion(&cu->version) != CUDA_SUCCESS)
        cu->version = 0;
    for (int i = 0; i < FGS__CU_COUNT; i++) {
        if (rows[i].need == OPEN && !slot_get(cu, i))
            return missing(cu, i, err);
    }
    return FGS_OK;
}

fgs_result fgs__cu_need(const struct fgs__cu *cu, const enum fgs__cu_id *ids,
                        size_t count, fgs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!slot_get(cu, ids[i]))
            return missing(cu, ids[i], err);
    }
    return FGS_OK;
}

void *fgs__cu_find(const struct fgs__cu *cu, const char *name)
{
    CUdriverProcAddressQueryResult status = 0;
    void *fn = NULL;

    for (int i = 0; i < FGS__CU_COUNT; i++) {
        if (!strcmp(rows[i].name, name))
            return slot_get(cu, i);
    }
    if (cu->cuGetProcAddress(name, &fn, cu->version, 0, &status) !=
        CUDA_SUCCESS)
        return NULL;
    return fn;
}

const char *fgs__cu_error_name(const struct fgs__cu *cu, CUresult r)
{
    const char *name = NULL;

    if (cu->cuGetErrorName && cu->cuGetErrorName(r, &name) == CUDA_SUCCESS &&
        name)
        return name;
    switch ((int)r) {
#define CURES(id, value, text)                                                 \
    case value:                                                                \
        return #id;
#include "table/curesult.def"
#undef CURES
    default:
        return "CUDA_ERROR_?";
    }
}

int fgs__cu_sticky(CUresult r)
{
    /* 700 and what surrounds it: faults of a kernel.  701 is a launch that was
     * refused, 704 ... 712 are about peers, contexts and registrations. */
    return r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_LAUNCH_TIMEOUT ||
        ((int)r >= 714 && (int)r <= CUDA_ERROR_LAUNCH_FAILED);
}

fgs_result fgs__cu_fail(const struct fgs__cu *cu, fgs_error *err, CUresult r,
                        const char *call, const char *fmt, ...)
{
    fgs_result result = fgs__cu_sticky(r) ? FGS_E_FAULT : FGS_E_DRIVER;
    const char *name = fgs__cu_error_name(cu, r);
    char what[sizeof err->text];
    va_list ap;

    if (!err)
        return result;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    fgs__fail(err, result, "%s: %s (%d): %s", call, name, (int)r, what);
    snprintf(err->name, sizeof err->name, "%s", name);
    err->driver = (int32_t)r;
    return result;
}
