/* fakecuda.h -- what a test turns on a libcuda made for tests */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include "table/cu.h"

enum fake_kind {
    FAKE_NOTHING,
    FAKE_CONTEXT,
    FAKE_MODULE,
    FAKE_MEMORY,
    FAKE_HOST,
    FAKE_EVENT,
    FAKE_STREAM,
    FAKE_PUSHED, /* contexts pushed and not popped */
    FAKE_KINDS
};

/*
 * Zero is a driver that forwards everything to the software device.  A call
 * that gives something back (free, destroy, pop ...) does its work and then
 * reports the failure, as the driver's documentation allows; all others fail
 * without effect.
 */
struct fake {
    int fail_at;          /* the n-th call from now on fails; 0 = none       */
    CUresult fail_with;
    const char *fail_call; /* count only calls of this name; NULL = all      */
    char failed[64];      /* the call that did fail                          */
    long calls;
    long live[FAKE_KINDS];
    const char *hide;     /* entry point that this driver lacks              */
    int driver;           /* version, 13000; 0 = the software device's       */
    int isa;              /* highest PTX ISA, times ten; 0 = any             */
    int cc;               /* 90; 0 = the software device's                   */
    int no_device;        /* cuInit: CUDA_ERROR_NO_DEVICE                    */
    int elsewhere;        /* cuCtxGetDevice names another device             */
    CUresult jit_result;  /* cuModuleLoadDataEx answers this and ...         */
    const char *jit_log;  /* ... this error log                              */
    char *refused;        /* text that was refused for its version           */
    long cubins;          /* cubins loaded                                   */
    long launches;
    long pdl_launches;    /* launches with programmatic serialization ...    */
    long pdl_last;        /* ... and the number of the last one              */
};

/* The fake's state; exported as "fake_state". */
typedef struct fake *(*fake_state_fn)(void);

#endif
