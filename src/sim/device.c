/* device.c -- boot and halt of the device, and its scheduler thread
 *
 * The scheduler turns between two phases: with the lock it moves streams,
 * hands out blocks and tells waiting host threads; without the lock an epoch
 * of device time runs on all SMs.  Between epochs nothing runs.
 *
 * An idle device begins new work when a host thread waits for some, or a short
 * host time after it came in (a host may poll mapped memory and never call):
 * so a chain of launches is enqueued as a whole, as it would be behind the
 * latency of a real launch.  With one thread that time is long and the device
 * stops again when nobody waits: then a run does not depend on how fast the
 * host enqueues, and can be repeated exactly.
 */
#include "sim/advice.h"
#include "sim/device.h"
#include "sim/hostfn.h"
#include "sim/isa.h"
#include "sim/trace.h"
#include <time.h>
#include <unistd.h>

enum { GRACE_MS = 1, GRACE_ONE_THREAD_MS = 200 };

static bool repeatable(const struct fgs__sim_device *dev)
{
    return dev->cfg.threads == 1;
}

static void tell_waiters(struct fgs__sim_device *dev)
{
    struct fgs__sim_waiter **at = &dev->waiters;
    bool any = false;

    while (*at) {
        struct fgs__sim_waiter *w = *at;

        if (!w->done(w)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->over = true;
        any = true;
    }
    if (any)
        pthread_cond_broadcast(&dev->over);
}

/* May the clock go on?  See the head of this file. */
static bool may_run(struct fgs__sim_device *dev)
{
    if (dev->waiters && !repeatable(dev))
        dev->free_run = true;
    return dev->waiters || dev->free_run;
}

/* Length of an epoch while blocks wait for a place: twice the one before, as
 * long as none becomes free.  Longest while one grid has the SMs for itself
 * and gives its places on: nothing can end that somebody waits for. */
static uint64_t stride(struct fgs__sim_device *dev)
{
    uint64_t ended = fgs__sim_sms_ended(dev);
    bool one = !dev->grids->next && fgs__sim_grid_early(dev->grids);
    uint64_t most = one ? FGS__SIM_LONG_PS : FGS__SIM_EPOCH_PS;

    if (ended != dev->stride_ended || !dev->stride_ps)
        dev->stride_ps = FGS__SIM_SLICE_PS;
    else if (dev->stride_ps < most)
        dev->stride_ps *= 2;
    dev->stride_ended = ended;
    return dev->stride_ps < most ? dev->stride_ps : most;
}

/* One epoch, or a jump to the next event.  False = nothing to do. */
static bool step(struct fgs__sim_device *dev)
{
    uint64_t event = fgs__sim_streams_next(dev);
    uint64_t wake = fgs__sim_sms_next(dev);
    uint64_t first = event < wake ? event : wake;
    uint64_t until;

    if (first == FGS__SIM_NEVER)
        return false;
    if (first > dev->now_ps)
        dev->now_ps = first;
    if (wake > dev->now_ps)
        return true; /* an op begins or ends now */
    until = dev->now_ps + FGS__SIM_EPOCH_PS;
    if (fgs__sim_streams_watch(dev))
        until = dev->now_ps + FGS__SIM_SLICE_PS;
    else if (fgs__sim_grids_wait(dev))
        until = dev->now_ps + stride(dev);
    if (event > dev->now_ps && event < until)
        until = event;
    dev->busy = true;
    pthread_mutex_unlock(&fgs__sim_driver.lock);
    fgs__sim_pool_epoch(dev, until);
    pthread_mutex_lock(&fgs__sim_driver.lock);
    dev->busy = false;
    dev->now_ps = until;
    dev->epochs++;
    return true;
}

static void sweep_faulted(struct fgs__sim_device *dev)
{
    for (struct fgs__sim_ctx *c = dev->ctxs; c; c = c->next) {
        if (!atomic_load(&c->sticky))
            continue;
        fgs__sim_sms_drop(dev, c);
        fgs__sim_streams_drop(c);
    }
}

/* Everything that can be done without device time. */
static void serial_phase(struct fgs__sim_device *dev)
{
    dev->fresh = false;
    sweep_faulted(dev);
    fgs__sim_streams_advance(dev);
    fgs__sim_grids_dispatch(dev);
    tell_waiters(dev);
}

static bool has_work(const struct fgs__sim_device *dev)
{
    for (const struct fgs__sim_ctx *c = dev->ctxs; c; c = c->next) {
        for (const struct fgs__sim_stream *s = c->streams; s; s = s->next) {
            if (s->head)
                return true;
        }
    }
    return false;
}

static void set_deadline(struct fgs__sim_device *dev)
{
    struct timespec *t = &dev->grace_end;
    int ms = repeatable(dev) ? GRACE_ONE_THREAD_MS : GRACE_MS;

    clock_gettime(CLOCK_MONOTONIC, t);
    t->tv_nsec += ms * 1000000l;
    t->tv_sec += t->tv_nsec / 1000000000l;
    t->tv_nsec %= 1000000000l;
}

/* Nobody waits: sleep until somebody does, or the grace time is over. */
static void stand_by(struct fgs__sim_device *dev)
{
    pthread_mutex_t *lock = &fgs__sim_driver.lock;

    if (!has_work(dev)) {
        dev->grace = false;
        fgs__sim_sms_trim(dev);
        fgs__sim_trace_flush();
        pthread_cond_wait(&dev->work, lock);
        return;
    }
    if (!dev->grace || (dev->fresh && repeatable(dev)))
        set_deadline(dev);
    dev->grace = true;
    dev->fresh = false;
    if (!pthread_cond_timedwait(&dev->work, lock, &dev->grace_end))
        return;
    if (!dev->fresh || !repeatable(dev)) {
        dev->free_run = true;
        dev->grace = false;
    }
}

/* The host may store a value that a stream waits for, and tells nobody. */
static void sleep_a_little(struct fgs__sim_device *dev)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += 100000;
    t.tv_sec += t.tv_nsec / 1000000000l;
    t.tv_nsec %= 1000000000l;
    pthread_cond_timedwait(&dev->work, &fgs__sim_driver.lock, &t);
}

/* Nothing happens by device time alone: idle, or a host function runs, or the
 * kernels wait for each other for ever. */
static void rest(struct fgs__sim_device *dev)
{
    if (dev->fresh)
        return;
    if (!fgs__sim_hostfn_busy(dev) && fgs__sim_grids_stuck(dev))
        return;
    if (!has_work(dev)) {
        dev->free_run = false;
        fgs__sim_sms_trim(dev);
        fgs__sim_trace_flush();
    }
    dev->epochs++;
    tell_waiters(dev);
    if (may_run(dev) && fgs__sim_values_wait(dev))
        sleep_a_little(dev);
    else if (may_run(dev))
        pthread_cond_wait(&dev->work, &fgs__sim_driver.lock);
}

static void *scheduler(void *arg)
{
    struct fgs__sim_device *dev = arg;

    pthread_mutex_lock(&fgs__sim_driver.lock);
    while (!dev->quit) {
        if (dev->pausers) {
            pthread_cond_broadcast(&dev->idle);
            pthread_cond_wait(&dev->work, &fgs__sim_driver.lock);
            continue;
        }
        if (!may_run(dev)) {
            stand_by(dev);
            continue;
        }
        serial_phase(dev);
        if (dev->pausers || !may_run(dev))
            continue;
        if (!step(dev))
            rest(dev);
    }
    pthread_mutex_unlock(&fgs__sim_driver.lock);
    return NULL;
}

static bool conds_make(struct fgs__sim_device *dev)
{
    pthread_condattr_t attr;

    if (pthread_condattr_init(&attr))
        return false;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&dev->work, &attr);
    pthread_condattr_destroy(&attr);
    pthread_cond_init(&dev->over, NULL);
    pthread_cond_init(&dev->idle, NULL);
    return true;
}

static void conds_free(struct fgs__sim_device *dev)
{
    pthread_cond_destroy(&dev->work);
    pthread_cond_destroy(&dev->over);
    pthread_cond_destroy(&dev->idle);
}

CUresult fgs__sim_device_boot(struct fgs__sim_device **out)
{
    struct fgs__sim_driver *d = &fgs__sim_driver;
    struct fgs__sim_device *dev = fgs__zalloc(&d->alloc, sizeof *dev);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

    *out = NULL;
    if (!dev)
        return r;
    dev->cfg = d->cfg;
    dev->alloc = d->alloc;
    dev->now_ps = FGS__SIM_BOOT_PS;
    fgs__sim_isa_knob(dev->cfg.vectors);
    if (!conds_make(dev))
        goto free_dev;
    r = fgs__sim_mem_make(&dev->mem, dev->cfg.memory, &dev->alloc);
    if (r)
        goto free_conds;
    r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!fgs__sim_threads_make(dev))
        goto free_mem;
    if (!fgs__sim_sms_make(dev))
        goto free_key;
    if (!fgs__sim_pool_make(dev))
        goto free_sms;
    if (!fgs__sim_hostfn_make(dev))
        goto free_pool;
    if (pthread_create(&dev->thread, NULL, scheduler, dev))
        goto free_hostfn;
    fgs__sim_trace_boot();
    *out = dev;
    return CUDA_SUCCESS;
free_hostfn: /* its thread needs the lock to end */
    pthread_mutex_unlock(&d->lock);
    fgs__sim_hostfn_free(dev);
    pthread_mutex_lock(&d->lock);
free_pool:
    fgs__sim_pool_free(dev);
free_sms:
    fgs__sim_sms_free(dev);
free_key:
    fgs__sim_threads_free(dev);
free_mem:
    fgs__sim_mem_free(dev->mem);
free_conds:
    conds_free(dev);
free_dev:
    fgs__free(&d->alloc, dev);
    return r;
}

/* Without the lock's owner: nobody else knows the device any more, and its
 * threads need the lock to end. */
void fgs__sim_device_halt(struct fgs__sim_device *dev)
{
    fgs_allocator a = dev->alloc;

    dev->quit = true;
    pthread_cond_broadcast(&dev->work);
    pthread_mutex_unlock(&fgs__sim_driver.lock);
    pthread_join(dev->thread, NULL);
    fgs__sim_hostfn_free(dev);
    fgs__sim_pool_free(dev);
    fgs__sim_trace_flush();
    pthread_mutex_lock(&fgs__sim_driver.lock);
    fgs__sim_threads_free(dev);
    fgs__sim_clusters_sweep(dev);
    fgs__sim_sms_free(dev);
    fgs__sim_user_objects_free(dev);
    fgs__sim_vmm_free(dev);
    fgs__sim_mem_free(dev->mem);
    fgs__sim_pools_free(dev);
    fgs__sim_advice_free(dev);
    fgs__sim_handles_free(&dev->handles, &a);
    conds_free(dev);
    fgs__free(&a, dev);
}
