/* pass.c -- functions of the CUDA runtime that are one call of the driver */
#include "rt/rt.h"

#define OWN(name, forms, params)
#define CALL(name, forms, params, call)                                        \
    cudaError_t name params                                                    \
    {                                                                          \
        cudaError_t e = fgs__rt_enter();                                       \
                                                                               \
        return e ? e : fgs__rt_done(fgs__rt_cu.call);                          \
    }
#include "rt/runtime.def"
#undef OWN
#undef CALL
