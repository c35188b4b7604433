/* cross.c -- behind which event do grids of two streams overlap?
 *
 * A driver may fire a programmatic or a launch completion event as late as the
 * end of the grid (driver 580 does so with the first, outside graphs), so each
 * is tried, once an fgs_device, by ptx/overlap_probe.ptx.in:
 *
 *   stream 0   gate, until the host has enqueued the rest
 *              first, fires the event; until it sees the second, or in vain
 *   stream 1   waits for the event; second
 *
 * The gate makes the answer independent of how fast the host is.  All waits are
 * bounded.  A device that other work fills answers no, which is safe.
 */
#include "core/device.h"
#include "text/text.h"

enum {
    GATE_NS = 1000000000, /* a host that is slower than this hears no        */
    BOUND_NS = 2000000,   /* the H200's second grid came after 6 us          */
    TRIES = 2             /* where other work was in the way                 */
};

/* Words that host and kernels share. */
enum { GO, GATED, SECOND, SEEN, WORDS };

struct probe {
    struct fgs__device *d;
    struct fgs__overlap *out;
    CUmodule module;
    CUfunction function;
    CUstream stream[2];
    CUevent event;
    volatile uint32_t *word; /* pinned                                       */
    CUdeviceptr at;
};

/* 0 after a failed call, which *out tells of. */
static int good(struct probe *p, CUresult r, const char *call)
{
    if (r == CUDA_SUCCESS)
        return 1;
    snprintf(p->out->why, sizeof p->out->why, "%s failed: %s", call,
             fgs__cu_error_name(&p->d->cu, r));
    return 0;
}

static int load(struct probe *p)
{
    const struct fgs__cu *cu = &p->d->cu;
    struct fgs__text text;
    fgs_error err;
    int ok;

    if (fgs__text_load(&text, "overlap_probe", p->d->cc, NULL, NULL,
                       &p->d->alloc, &err) < 0) {
        snprintf(p->out->why, sizeof p->out->why, "no kernel: %.120s",
                 err.text);
        return 0;
    }
    ok = good(p, cu->cuModuleLoadDataEx(&p->module, text.text, 0, NULL, NULL),
              "cuModuleLoadDataEx");
    fgs__text_free(&text);
    if (!ok) {
        p->module = NULL;
        return 0;
    }
    ok = good(p, cu->cuModuleGetFunction(&p->function, p->module,
                                         "fgs_overlap_probe"),
              "cuModuleGetFunction");
    /* Loaded at its first launch it would wait for what runs. */
    return ok && (!cu->cuFuncLoad ||
                  good(p, cu->cuFuncLoad(p->function), "cuFuncLoad"));
}

static int acquire(struct probe *p)
{
    const struct fgs__cu *cu = &p->d->cu;
    void *word = NULL;

    if (!good(p, cu->cuMemHostAlloc(&word, WORDS * sizeof *p->word,
                                    CU_MEMHOSTALLOC_DEVICEMAP),
              "cuMemHostAlloc"))
        return 0;
    p->word = word;
    if (!good(p, cu->cuMemHostGetDevicePointer(&p->at, word, 0),
              "cuMemHostGetDevicePointer"))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!good(p, cu->cuStreamCreate(&p->stream[i], CU_STREAM_NON_BLOCKING),
                  "cuStreamCreate")) {
            p->stream[i] = NULL;
            return 0;
        }
    }
    if (good(p, cu->cuEventCreate(&p->event, CU_EVENT_DISABLE_TIMING),
             "cuEventCreate"))
        return 1;
    p->event = NULL;
    return 0;
}

/* All that was enqueued has ended. */
static int drain(struct probe *p)
{
    int ok = 1;

    for (int i = 0; i < 2; i++) {
        if (p->stream[i] && !good(p, p->d->cu.cuStreamSynchronize(p->stream[i]),
                                  "cuStreamSynchronize"))
            ok = 0;
    }
    return ok;
}

static void release(struct probe *p)
{
    struct fgs__device *d = p->d;

    if (p->event)
        fgs__device_lost(d, d->cu.cuEventDestroy(p->event), "cuEventDestroy",
                         "event of a probe");
    for (int i = 0; i < 2; i++) {
        if (p->stream[i])
            fgs__device_lost(d, d->cu.cuStreamDestroy(p->stream[i]),
                             "cuStreamDestroy", "stream of a probe");
    }
    if (p->word)
        fgs__device_lost(d, d->cu.cuMemFreeHost((void *)(uintptr_t)p->word),
                         "cuMemFreeHost", "words of a probe");
    if (p->module)
        fgs__device_lost(d, d->cu.cuModuleUnload(p->module), "cuModuleUnload",
                         "kernel of a probe");
}

/* -------------------------------------------------------------- launches -- */

static int launch(struct probe *p, int stream, int poll, int tell,
                  uint64_t bound, CUlaunchAttribute *attr)
{
    uint64_t a_poll = poll < 0 ? 0 : p->at + (unsigned)poll * sizeof *p->word;
    uint64_t a_tell = p->at + (unsigned)tell * sizeof *p->word;
    void *params[] = { &a_poll, &a_tell, &bound };
    CUlaunchConfig c = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                         .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
                         .hStream = p->stream[stream], .attrs = attr,
                         .numAttrs = attr != NULL };

    return good(p, p->d->cu.cuLaunchKernelEx(&c, p->function, params, NULL),
                "cuLaunchKernelEx");
}

static int try_once(struct probe *p, enum fgs__cross_id cross)
{
    CUlaunchAttribute attr = {
        .id = fgs__launch_attr_find(fgs__crosses[cross].attr)->id
    };
    int ok;

    /* Both attributes have the same layout. */
    attr.value.programmaticEvent.event = p->event;
    for (int i = 0; i < WORDS; i++)
        p->word[i] = 0;
    ok = launch(p, 0, GO, GATED, GATE_NS, NULL) &&
        launch(p, 0, SECOND, SEEN, BOUND_NS, &attr) &&
        good(p, p->d->cu.cuStreamWaitEvent(p->stream[1], p->event, 0),
             "cuStreamWaitEvent") &&
        launch(p, 1, -1, SECOND, BOUND_NS, NULL);
    p->word[GO] = 1;
    ok &= drain(p);
    p->out->yes = ok && p->word[SEEN];
    return ok;
}

static int have_calls(struct probe *p)
{
    fgs_error err;

    if (FGS__NEED(p->d, &err, FGS__CU_cuModuleLoadDataEx,
                  FGS__CU_cuModuleGetFunction, FGS__CU_cuModuleUnload,
                  FGS__CU_cuMemHostAlloc, FGS__CU_cuMemFreeHost,
                  FGS__CU_cuMemHostGetDevicePointer, FGS__CU_cuStreamCreate,
                  FGS__CU_cuStreamDestroy, FGS__CU_cuStreamSynchronize,
                  FGS__CU_cuStreamWaitEvent, FGS__CU_cuEventCreate,
                  FGS__CU_cuEventDestroy, FGS__CU_cuLaunchKernelEx) >= 0)
        return 1;
    snprintf(p->out->why, sizeof p->out->why, "%.150s", err.text);
    return 0;
}

const struct fgs__overlap *fgs__device_overlap(struct fgs__device *d,
                                               enum fgs__cross_id cross)
{
    struct probe p = { .d = d, .out = &d->overlap[cross] };

    if (p.out->known)
        return p.out;
    p.out->why[0] = '\0';
    p.out->yes = 0;
    p.out->known = have_calls(&p) && load(&p) && acquire(&p);
    for (int i = 0; p.out->known && !p.out->yes && i < TRIES; i++)
        p.out->known = try_once(&p, cross);
    release(&p);
    if (p.out->known)
        fgs__log(&d->log, FGS__LOG_CROSS, "grids %s behind a %s",
                 p.out->yes ? "overlap" : "do not overlap",
                 fgs__crosses[cross].name);
    else
        fgs__log(&d->log, FGS__LOG_CROSS_FAILED,
                 "whether grids overlap behind a %s is not known: %s",
                 fgs__crosses[cross].name, p.out->why);
    return p.out;
}
