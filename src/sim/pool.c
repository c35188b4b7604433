/* pool.c -- the threads that run the SMs of an epoch
 *
 * The scheduler thread opens an epoch, takes SMs itself and closes it; a
 * helper that comes in time takes SMs too.  Nobody waits for a helper that
 * has not come (it may not even have a core), only for one that is inside.
 */
#include "sim/device.h"
#include <sched.h>

struct fgs__sim_pool {
    struct fgs__sim_device *dev;
    pthread_mutex_t lock;
    pthread_cond_t go, done;
    pthread_t *thread;
    uint32_t threads;          /* helpers                                    */
    uint32_t inside;
    uint64_t epoch;
    bool open, quit;
    /* of the epoch */
    uint64_t until;
    uint32_t *due;             /* SMs with something to do                   */
    uint32_t due_count;
    atomic_uint next;
};

static void take(struct fgs__sim_pool *p)
{
    for (;;) {
        uint32_t i =
            atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);

        if (i >= p->due_count)
            return;
        fgs__sim_sm_run(&p->dev->sm[p->due[i]], p->until);
    }
}

static void *helper(void *arg)
{
    struct fgs__sim_pool *p = arg;
    uint64_t seen = 0;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->quit && (!p->open || p->epoch == seen))
            pthread_cond_wait(&p->go, &p->lock);
        if (p->quit)
            break;
        seen = p->epoch;
        p->inside++;
        pthread_mutex_unlock(&p->lock);
        take(p);
        pthread_mutex_lock(&p->lock);
        if (!--p->inside)
            pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void fgs__sim_pool_epoch(struct fgs__sim_device *dev, uint64_t until)
{
    struct fgs__sim_pool *p = dev->pool;
    bool alone;

    p->until = until;
    p->due_count = 0;
    for (uint32_t i = 0; i < dev->cfg.sms; i++) {
        dev->sm[i].now_ps = dev->now_ps;
        if (dev->sm[i].wake_ps < until)
            p->due[p->due_count++] = i;
    }
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    alone = !p->threads || p->due_count < 2;
    if (!alone) {
        pthread_mutex_lock(&p->lock);
        p->open = true;
        p->epoch++;
        pthread_cond_broadcast(&p->go);
        pthread_mutex_unlock(&p->lock);
    }
    take(p);
    if (!alone) {
        pthread_mutex_lock(&p->lock);
        p->open = false;
        while (p->inside)
            pthread_cond_wait(&p->done, &p->lock);
        pthread_mutex_unlock(&p->lock);
    }
}

static uint32_t cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);

    return n > 0 ? (uint32_t)n : 1;
}

static void stop(struct fgs__sim_pool *p, uint32_t started)
{
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->go);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(p->thread[i], NULL);
}

bool fgs__sim_pool_make(struct fgs__sim_device *dev)
{
    const fgs_allocator *a = &dev->alloc;
    uint32_t want = dev->cfg.threads ? dev->cfg.threads : cores();
    struct fgs__sim_pool *p = fgs__zalloc(a, sizeof *p);
    uint32_t i = 0;

    if (!p)
        return false;
    if (want > dev->cfg.sms)
        want = dev->cfg.sms;
    p->dev = dev;
    p->threads = want - 1;
    p->due = fgs__alloc_array(a, dev->cfg.sms, sizeof *p->due);
    p->thread = fgs__alloc_array(a, want, sizeof *p->thread);
    if (!p->due || !p->thread)
        goto free_arrays;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->go, NULL);
    pthread_cond_init(&p->done, NULL);
    for (; i < p->threads; i++) {
        if (pthread_create(&p->thread[i], NULL, helper, p))
            goto stop;
    }
    dev->pool = p;
    return true;
stop:
    stop(p, i);
    pthread_cond_destroy(&p->go);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
free_arrays:
    fgs__free(a, p->thread);
    fgs__free(a, p->due);
    fgs__free(a, p);
    return false;
}

void fgs__sim_pool_free(struct fgs__sim_device *dev)
{
    struct fgs__sim_pool *p = dev->pool;

    stop(p, p->threads);
    pthread_cond_destroy(&p->go);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    fgs__free(&dev->alloc, p->thread);
    fgs__free(&dev->alloc, p->due);
    fgs__free(&dev->alloc, p);
    dev->pool = NULL;
}
