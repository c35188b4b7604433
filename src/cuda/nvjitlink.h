/* nvjitlink.h -- PTX that is newer than the driver, made into a cubin
 *
 * A driver's assembler refuses text above its own ISA version.  nvJitLink is
 * the same assembler as a library with a version of its own; the driver loads
 * the cubin that it makes.
 */
#ifndef FGS_CUDA_NVJITLINK_H
#define FGS_CUDA_NVJITLINK_H

#include "base/alloc.h"
#include "cuda/dynlib.h"

/* What is used of nvJitLink.h, declared here so that no toolkit is needed. */
typedef struct nvJitLink *fgs__njl_handle;

/*   member      name                         parameters */
#define FGS__NVJITLINK(X)                                                      \
    X(create,     "nvJitLinkCreate",                                           \
      (fgs__njl_handle *, uint32_t, const char **))                            \
    X(destroy,    "nvJitLinkDestroy",            (fgs__njl_handle *))          \
    X(add_data,   "nvJitLinkAddData",                                          \
      (fgs__njl_handle, int, const void *, size_t, const char *))              \
    X(complete,   "nvJitLinkComplete",           (fgs__njl_handle))            \
    X(cubin_size, "nvJitLinkGetLinkedCubinSize", (fgs__njl_handle, size_t *))  \
    X(cubin,      "nvJitLinkGetLinkedCubin",     (fgs__njl_handle, void *))    \
    X(log_size,   "nvJitLinkGetErrorLogSize",    (fgs__njl_handle, size_t *))  \
    X(log,        "nvJitLinkGetErrorLog",        (fgs__njl_handle, char *))

struct fgs__nvjitlink {
#define FGS__NVJITLINK_MEMBER(member, name, params) int (*member) params;
    FGS__NVJITLINK(FGS__NVJITLINK_MEMBER)
#undef FGS__NVJITLINK_MEMBER
    struct fgs__dynlib lib;
    int isa;           /* highest PTX ISA that it takes, times ten           */
};

/* Look for libnvJitLink.so.13, .12 or $FGS_NVJITLINK ("none" hides all).
 * Never fails: what was not found is said in lib.why. */
void fgs__nvjitlink_open(struct fgs__nvjitlink *n);

struct fgs__cubin {
    void *data; /* of the allocator */
    size_t size;
};

/*
 * Assemble PTX text for "-arch=<arch>" ("sm_90").  `log` gets the library's
 * error log, cut at its end.
 *
 * FGS_E_PTXVERSION  the text is newer than the library
 * FGS_E_JIT         refused for another reason; `log` says why
 * FGS_E_NOMEM
 */
fgs_result fgs__nvjitlink_assemble(const struct fgs__nvjitlink *n,
                                   const char *text, size_t len,
                                   const char *name, const char *arch,
                                   const fgs_allocator *a,
                                   struct fgs__cubin *out, char *log,
                                   size_t log_size);

#endif
