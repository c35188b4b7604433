/* device.h -- a device of either provider, as far as the generated kernels
 * need it */
#ifndef GEN_DEVICE_H
#define GEN_DEVICE_H

#include "cuda/nvjitlink.h"
#include "table/cu.h"

#include <fgs/fgs.h>
#include <stdbool.h>

struct gen_device {
    fgs_device *dev;
    fgs_device_info info;
    CUcontext ctx;
    struct fgs__nvjitlink njl;
    char text[2048];
    CUdeviceptr in, out;
    size_t in_bytes, out_bytes;
    CUresult (*push)(CUcontext), (*pop)(CUcontext *);
    CUresult (*retain)(CUcontext *, CUdevice), (*release)(CUdevice);
    CUresult (*load)(CUmodule *, const void *, unsigned, CUjit_option *,
                     void **);
    CUresult (*unload)(CUmodule);
    CUresult (*entry)(CUfunction *, CUmodule, const char *);
    CUresult (*alloc)(CUdeviceptr *, size_t), (*dealloc)(CUdeviceptr);
    CUresult (*to_device)(CUdeviceptr, const void *, size_t);
    CUresult (*to_host)(void *, CUdeviceptr, size_t);
    CUresult (*fill)(CUdeviceptr, unsigned char, size_t);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned,
                       unsigned, unsigned, unsigned, CUstream, void **,
                       void **);
    CUresult (*wait)(void);
};

/* What a launch is. */
struct gen_launch {
    const char *text;     /* with an entry k(p_in, p_out)                     */
    unsigned ptx;         /* of the text                                      */
    unsigned blocks, threads;
    void *out;            /* what p_out holds at the end ...                  */
    size_t out_bytes;     /* ... preset with 0xcc, or, `keep`, with *out      */
    bool keep;
    bool unoptimized;     /* a driver that compiles the text does no more     */
};

fgs_result gen_open(struct gen_device *d, const char *provider, fgs_error *err);
void gen_close(struct gen_device *d);
/* Bytes that p_in points to, for all launches from here on. */
bool gen_set_in(struct gen_device *d, const void *in, size_t bytes);
/* false: d->text says why. */
bool gen_run(struct gen_device *d, const struct gen_launch *l);

#endif
