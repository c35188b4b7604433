/* api.h -- the driver's entry points, by table */
#ifndef FGS_CUDA_API_H
#define FGS_CUDA_API_H

#include "table/cu.h"

/* Entry points of one driver library; a missing one is NULL. */
struct fgs__cu {
    char library[256];  /* for messages: path of the library, or "sim"       */
    int version;        /* as cuDriverGetVersion has it                      */
#define ENTRY(name, abi, need, forms, params) CUresult (*name) params;
#include "table/entry.def"
#undef ENTRY
};

enum fgs__cu_id {
#define ENTRY(name, abi, need, forms, params) FGS__CU_##name,
#include "table/entry.def"
#undef ENTRY
    FGS__CU_COUNT
};

typedef CUresult (*fgs__cu_get_proc)(const char *symbol, void **pfn,
                                     int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *status);

/*
 * Fill the table: each row is asked for at the version of its signature.
 *
 * FGS_E_ENTRY  an OPEN row is missing; the text names it, the driver's version
 *              and the version that it needs
 */
fgs_result fgs__cu_fill(struct fgs__cu *cu, const char *library,
                        fgs__cu_get_proc get, fgs_error *err);

/* FGS_E_ENTRY naming the first of `count` entry points that is missing. */
fgs_result fgs__cu_need(const struct fgs__cu *cu, const enum fgs__cu_id *ids,
                        size_t count, fgs_error *err);

/* The entry point of a documented name ("cuMemAlloc"): the table's, else what
 * the driver has under that name at its own version; NULL = neither. */
void *fgs__cu_find(const struct fgs__cu *cu, const char *name);

/* A driver's version as "13.0"; `buf` holds at least 16 bytes. */
const char *fgs__cu_version_text(int version, char *buf);

/* "CUDA_ERROR_..." by the driver, or by the table where it does not know. */
const char *fgs__cu_error_name(const struct fgs__cu *cu, CUresult r);

/* The context is lost: every later call on it fails with the same error. */
int fgs__cu_sticky(CUresult r);

/*
 * The error of a failed driver call: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)
 * " and what was being done.  FGS_E_FAULT when the context is lost by it, else
 * FGS_E_DRIVER.
 */
fgs_result fgs__cu_fail(const struct fgs__cu *cu, fgs_error *err, CUresult r,
                        const char *call, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
