/* provider.h -- where the driver's entry points come from */
#ifndef FGS_CUDA_PROVIDER_H
#define FGS_CUDA_PROVIDER_H

#include "cuda/api.h"

struct fgs__provider {
    const char *name;      /* in options, $FGS_PROVIDER, fgs_device_info     */
    const char *assembler; /* who turns PTX into code: "driver", "sim"       */
    int cubins;            /* loads cubins: nvJitLink can help               */
    /* Fill the table.  FGS_E_NODRIVER names the library and the reason. */
    fgs_result (*open)(struct fgs__cu *cu, fgs_error *err);
    /* A sentence about the last kernel fault; NULL = it has none to offer. */
    const char *(*fault_text)(void);
};

/* The row of a name; NULL and FGS_E_INVAL listing all names when there is
 * none. */
const struct fgs__provider *fgs__provider_find(const char *name,
                                               fgs_error *err);

#endif
