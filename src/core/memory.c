/* memory.c -- memory, events and streams of a plan */
#include "core/compose.h"

enum { STATS_ROUNDS = 256 };

static fgs_result failed(struct fgs__plan *p, fgs_error *err, CUresult r,
                         const char *call, const char *what)
{
    return fgs__device_fail(p->dev, err, r, call, "%s of the plan", what);
}

static fgs_result device_memory(struct fgs__plan *p, CUdeviceptr *out,
                                uint64_t bytes, const char *what,
                                fgs_error *err)
{
    CUresult r = p->dev->cu.cuMemAlloc(out, (size_t)bytes);

    if (r == CUDA_SUCCESS)
        return FGS_OK;
    *out = 0;
    return failed(p, err, r, "cuMemAlloc", what);
}

static fgs_result host_memory(struct fgs__plan *p, void *out, uint64_t bytes,
                              unsigned flags, const char *what, fgs_error *err)
{
    void *at = NULL;
    CUresult r = p->dev->cu.cuMemHostAlloc(&at, (size_t)bytes, flags);

    if (r != CUDA_SUCCESS)
        at = NULL;
    memcpy(out, &at, sizeof at);
    return at ? FGS_OK : failed(p, err, r, "cuMemHostAlloc", what);
}

static fgs_result new_event(struct fgs__plan *p, CUevent *out, unsigned flags,
                            const char *what, fgs_error *err)
{
    CUresult r = p->dev->cu.cuEventCreate(out, flags);

    if (r == CUDA_SUCCESS)
        return FGS_OK;
    *out = NULL;
    return failed(p, err, r, "cuEventCreate", what);
}

/* ---------------------------------------------------------------- parts -- */

static fgs_result control(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r;
    CUresult c;

    p->ctl_bytes = sizeof(struct fgs__ctl) +
        (p->level ? p->stages * sizeof(struct fgs__stat) : 0);
    r = device_memory(p, &p->ctl, p->ctl_bytes, "control block", err);
    if (r >= 0)
        r = host_memory(p, &p->rec, p->stages * sizeof *p->rec,
                        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP,
                        "record", err);
    if (r < 0)
        return r;
    memset(p->rec, 0, p->stages * sizeof *p->rec);
    c = p->dev->cu.cuMemHostGetDevicePointer(&p->rec_dev, p->rec, 0);
    if (c != CUDA_SUCCESS)
        return failed(p, err, c, "cuMemHostGetDevicePointer", "record");
    if (!p->level)
        return FGS_OK;
    r = host_memory(p, &p->stats, STATS_ROUNDS * p->ctl_bytes,
                    CU_MEMHOSTALLOC_PORTABLE, "statistics", err);
    if (r >= 0)
        p->stats_rounds = STATS_ROUNDS;
    return r;
}

static fgs_result trace(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r;

    if (p->level < 2)
        return FGS_OK;
    for (uint32_t i = 0; i < p->stages; i++) {
        const struct fgs__stage *s = &p->stage[i];

        p->stage[i].trace_at = p->trace_rows;
        p->trace_rows += (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
    }
    r = device_memory(p, &p->trace, p->trace_rows * sizeof(fgs_trace_row),
                      "trace", err);
    if (r >= 0)
        r = host_memory(p, &p->trace_host,
                        p->trace_rows * sizeof(fgs_trace_row),
                        CU_MEMHOSTALLOC_PORTABLE, "trace", err);
    return r;
}

/* Flags count rounds, so they begin at 0 and are never cleared. */
static fgs_result flags(struct fgs__plan *p, fgs_error *err)
{
    uint64_t tiles = 0;
    fgs_result r;
    CUresult c;

    for (uint32_t i = 0; i < p->uses; i++)
        tiles += p->use[i].flagged ? (p->use[i].room + 3) & ~3ull : 0;
    if (!tiles)
        return FGS_OK;
    p->flag_bytes = tiles * 4;
    r = device_memory(p, &p->flags, p->flag_bytes, "flags", err);
    if (r < 0)
        return r;
    c = p->dev->cu.cuMemsetD8Async(p->flags, 0, (size_t)p->flag_bytes, NULL);
    if (c == CUDA_SUCCESS)
        c = p->dev->cu.cuStreamSynchronize(NULL);
    if (c != CUDA_SUCCESS)
        return failed(p, err, c, "cuMemsetD8Async", "flags");
    tiles = 0;
    for (uint32_t i = 0; i < p->uses; i++) {
        if (!p->use[i].flagged)
            continue;
        p->use[i].flags = p->flags + tiles * 4;
        tiles += (p->use[i].room + 3) & ~3ull;
    }
    return FGS_OK;
}

static fgs_result tables(struct fgs__plan *p, fgs_error *err)
{
    uint64_t bytes = 0;
    fgs_result r;

    for (uint32_t i = 0; i < p->stages; i++) {
        for (uint32_t j = 0; j < p->stage[i].accesses; j++)
            bytes += 4ull * p->stage[i].access[j].tables;
    }
    if (!bytes)
        return FGS_OK;
    r = device_memory(p, &p->tables, bytes, "tile tables", err);
    bytes = 0;
    for (uint32_t i = 0; r >= 0 && i < p->stages; i++) {
        for (uint32_t j = 0; r >= 0 && j < p->stage[i].accesses; j++) {
            struct fgs__access *a = &p->stage[i].access[j];
            CUresult c;

            if (!a->table)
                continue;
            a->table_dev = p->tables + bytes;
            bytes += 4ull * a->tables;
            c = p->dev->cu.cuMemcpyHtoD(a->table_dev, a->table,
                                        4 * (size_t)a->tables);
            if (c != CUDA_SUCCESS)
                r = failed(p, err, c, "cuMemcpyHtoD", "tile table");
        }
    }
    if (r >= 0) { /* staged is not there: see buffer.c */
        CUresult c = p->dev->cu.cuStreamSynchronize(NULL);

        if (c != CUDA_SUCCESS)
            r = failed(p, err, c, "cuStreamSynchronize", "tile tables");
    }
    return r;
}

static fgs_result events(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = new_event(p, &p->start, CU_EVENT_DEFAULT, "start event",
                             err);

    if (r >= 0)
        r = new_event(p, &p->end, CU_EVENT_DEFAULT, "end event", err);
    for (uint32_t i = 0; r >= 0 && i < p->events; i++)
        r = new_event(p, &p->event[i].event, CU_EVENT_DISABLE_TIMING,
                      p->event[i].what, err);
    if (r >= 0 && p->side != FGS__NOWHERE) {
        CUresult c = p->dev->cu.cuStreamCreate(&p->stream[p->side],
                                               CU_STREAM_NON_BLOCKING);

        if (c != CUDA_SUCCESS) {
            p->stream[p->side] = NULL;
            r = failed(p, err, c, "cuStreamCreate", "stream of fills");
        }
    }
    return r;
}

/* Entry points that not every plan calls. */
static fgs_result need(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = FGS_OK;
    int words = 0, copied = 0;

    for (uint32_t i = 0; i < p->uses; i++)
        words |= p->use[i].sentinel && p->use[i].fill != FGS_FILL_SELF &&
            p->use[i].fill != FGS_FILL_KERNEL;
    for (uint32_t i = 0; i < p->stages; i++) {
        for (uint32_t j = 0; j < p->stage[i].accesses; j++)
            copied |= p->stage[i].access[j].tables != 0;
    }
    if (p->events)
        r = FGS__NEED(p->dev, err, FGS__CU_cuStreamWaitEvent,
                      FGS__CU_cuEventRecord, FGS__CU_cuStreamCreate,
                      FGS__CU_cuStreamDestroy);
    if (r >= 0 && words)
        r = FGS__NEED(p->dev, err, FGS__CU_cuMemsetD32Async);
    if (r >= 0 && copied)
        r = FGS__NEED(p->dev, err, FGS__CU_cuMemcpyHtoD);
    if (r >= 0)
        r = FGS__NEED(p->dev, err, FGS__CU_cuMemsetD8Async,
                      FGS__CU_cuStreamSynchronize);
    return r;
}

fgs_result fgs__plan_acquire(struct fgs__plan *p, fgs_error *err)
{
    fgs_result r = need(p, err);

    if (r >= 0)
        r = control(p, err);
    if (r >= 0)
        r = trace(p, err);
    if (r >= 0)
        r = flags(p, err);
    if (r >= 0)
        r = tables(p, err);
    if (r >= 0)
        r = events(p, err);
    return r;
}

/* -------------------------------------------------------------- release -- */

static void free_device(struct fgs__plan *p, CUdeviceptr *at, const char *what)
{
    if (*at)
        fgs__device_lost(p->dev, p->dev->cu.cuMemFree(*at), "cuMemFree", what);
    *at = 0;
}

static void free_event(struct fgs__plan *p, CUevent *e, const char *what)
{
    if (*e)
        fgs__device_lost(p->dev, p->dev->cu.cuEventDestroy(*e),
                         "cuEventDestroy", what);
    *e = NULL;
}

static void free_host(struct fgs__plan *p, void *at, const char *what)
{
    if (at)
        fgs__device_lost(p->dev, p->dev->cu.cuMemFreeHost(at), "cuMemFreeHost",
                         what);
}

void fgs__plan_release(struct fgs__plan *p)
{
    struct fgs__device *d = p->dev;

    if (p->side != FGS__NOWHERE && p->stream && p->stream[p->side])
        fgs__device_lost(d, d->cu.cuStreamDestroy(p->stream[p->side]),
                         "cuStreamDestroy", "stream of fills");
    for (uint32_t i = 0; i < p->events; i++)
        free_event(p, &p->event[i].event, p->event[i].what);
    free_event(p, &p->end, "end event");
    free_event(p, &p->start, "start event");
    free_host(p, p->trace_host, "trace");
    free_host(p, p->stats, "statistics");
    free_host(p, p->rec, "record");
    free_device(p, &p->tables, "tile tables");
    free_device(p, &p->flags, "flags");
    free_device(p, &p->trace, "trace");
    free_device(p, &p->ctl, "control block");
}

void fgs__plan_drop(struct fgs__plan *p)
{
    const fgs_allocator *a = &p->dev->alloc;

    for (uint32_t i = 0; p->stage && i < p->stages; i++) {
        struct fgs__stage *s = &p->stage[i];

        for (uint32_t j = 0; s->access && j < s->accesses; j++)
            fgs__free(a, s->access[j].table);
        fgs__free(a, s->access);
        fgs__free(a, s->blob);
        fgs__free(a, s->params);
    }
    fgs__free(a, p->stage);
    fgs__free(a, p->use);
    fgs__free(a, p->edge);
    fgs__free(a, p->ring);
    fgs__free(a, p->place);
    fgs__free(a, p->op);
    fgs__free(a, p->stream);
    fgs__free(a, p->event);
    fgs__free(a, p->patch);
    fgs__maps_free(p);
    fgs__free(a, p->gnode);
    fgs__free(a, p);
}

/* Allocating may wait for the device, so it is done only for more rounds than
 * any run had before. */
fgs_result fgs__plan_grow(struct fgs__plan *p, uint32_t rounds, fgs_error *err)
{
    struct fgs__device *d = p->dev;
    void *stats;
    CUresult r;

    if (!p->level || rounds <= p->stats_rounds)
        return FGS_OK;
    r = d->cu.cuMemHostAlloc(&stats, (size_t)(rounds * p->ctl_bytes),
                             CU_MEMHOSTALLOC_PORTABLE);
    if (r != CUDA_SUCCESS)
        return fgs__device_fail(d, err, r, "cuMemHostAlloc",
                                "statistics of %u rounds", rounds);
    fgs__device_lost(d, d->cu.cuMemFreeHost(p->stats), "cuMemFreeHost",
                     "statistics");
    p->stats = stats;
    p->stats_rounds = rounds;
    return FGS_OK;
}
