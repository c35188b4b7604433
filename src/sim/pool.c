/* pool.c -- the threads that run the SMs of an epoch
 *
 * The scheduler thread opens an epoch, takes SMs itself and closes it; a
 * helper that comes in time takes SMs too.  Nobody waits for a helper that
 * has not come (it may not even have a core), only for one that is inside.
 *
 * Each takes its own SMs first, the same in each epoch: their registers are in
 * its core's cache.  Then it takes what others have not come to.
 *
 * Epochs follow each other within microseconds, and a thread that sleeps is
 * late by tens of them: where each has a core of its own, they spin a while
 * before they sleep.
 */
#include "sim/cluster.h"
#include "sim/device.h"
#include <sched.h>

/* Pauses before a thread sleeps: some 50 us. */
enum { SPINS = 1000 };

struct fgs__sim_pool {
    struct fgs__sim_device *dev;
    pthread_mutex_t lock;
    pthread_cond_t go, done;
    pthread_t *thread;
    uint32_t threads;          /* helpers                                    */
    uint32_t spins;            /* SPINS, or 0 = there are too few cores      */
    atomic_uint inside;        /* these two are only written with the lock   */
    atomic_uint epoch;
    bool open, quit;
    /* of the epoch */
    uint64_t until;
    struct fgs__sim_sm **member; /* all SMs, those of a group together       */
    struct group {
        uint32_t first, count;
    } *due;                    /* with something to do                       */
    uint32_t due_count;
    uint32_t *head;            /* of each SM's group                         */
    atomic_bool *taken;        /* of each of due[]                           */
    atomic_uint helpers;       /* that have begun: their numbers             */
};

/* Run a group that nobody has taken. */
static void take_one(struct fgs__sim_pool *p, uint32_t i)
{
    if (!atomic_exchange_explicit(&p->taken[i], true, memory_order_relaxed))
        fgs__sim_sm_run(&p->member[p->due[i].first], p->due[i].count,
                        p->until);
}

static void take(struct fgs__sim_pool *p, uint32_t who)
{
    uint32_t i;

    for (i = 0; i < p->due_count; i++)
        if (p->member[p->due[i].first]->id % (p->threads + 1) == who)
            take_one(p, i);
    for (i = 0; i < p->due_count; i++)
        take_one(p, i);
}

/* Until `at` is another value than `v`, or it takes too long. */
static void spin(const struct fgs__sim_pool *p, const atomic_uint *at,
                 uint32_t v)
{
    for (uint32_t k = 0; k < p->spins; k++) {
        if (atomic_load_explicit(at, memory_order_relaxed) != v)
            return;
        __builtin_ia32_pause();
    }
}

static void *helper(void *arg)
{
    struct fgs__sim_pool *p = arg;
    uint32_t who = atomic_fetch_add(&p->helpers, 1) + 1;
    uint32_t seen = 0;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->quit && (!p->open || p->epoch == seen))
            pthread_cond_wait(&p->go, &p->lock);
        if (p->quit)
            break;
        seen = p->epoch;
        p->inside++;
        pthread_mutex_unlock(&p->lock);
        take(p, who);
        pthread_mutex_lock(&p->lock);
        if (!--p->inside)
            pthread_cond_signal(&p->done);
        if (p->quit || p->epoch != seen)
            continue;
        pthread_mutex_unlock(&p->lock);
        spin(p, &p->epoch, seen);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ----------------------------------------------------------------- groups --
 * SMs that hold blocks of one cluster are run together; so are those of which
 * each shares a cluster with the next.  head[] is the least SM of a group. */

static uint32_t head_of(const struct fgs__sim_pool *p, uint32_t i)
{
    while (p->head[i] != i)
        i = p->head[i];
    return i;
}

static void join_clusters(struct fgs__sim_pool *p)
{
    for (struct fgs__sim_cluster *c = p->dev->clusters; c; c = c->next) {
        uint32_t first = UINT32_MAX;

        for (uint32_t k = 0; k < c->size; k++) {
            uint32_t sm;

            if (!c->slot[k])
                continue;
            sm = head_of(p, c->slot[k]->sm->id);
            if (first == UINT32_MAX)
                first = sm;
            p->head[first < sm ? sm : first] = first < sm ? first : sm;
            first = first < sm ? first : sm;
        }
    }
}

static void add_group(struct fgs__sim_pool *p, uint32_t head, uint32_t *at)
{
    struct fgs__sim_device *dev = p->dev;
    struct group g = { *at, 0 };
    bool due = false;

    for (uint32_t i = head; i < dev->cfg.sms; i++) {
        if (i != head && (!dev->clusters || head_of(p, i) != head))
            continue;
        p->member[(*at)++] = &dev->sm[i];
        due |= dev->sm[i].wake_ps < p->until;
        g.count++;
        if (!dev->clusters)
            break;
    }
    if (!due)
        return;
    atomic_store_explicit(&p->taken[p->due_count], false, memory_order_relaxed);
    p->due[p->due_count++] = g;
}

static void make_groups(struct fgs__sim_pool *p)
{
    struct fgs__sim_device *dev = p->dev;
    uint32_t at = 0;

    p->due_count = 0;
    for (uint32_t i = 0; i < dev->cfg.sms; i++) {
        dev->sm[i].now_ps = dev->now_ps;
        p->head[i] = i;
    }
    join_clusters(p);
    for (uint32_t i = 0; i < dev->cfg.sms; i++)
        if (p->head[i] == i)
            add_group(p, i, &at);
}

void fgs__sim_pool_epoch(struct fgs__sim_device *dev, uint64_t until)
{
    struct fgs__sim_pool *p = dev->pool;
    bool alone;

    p->until = until;
    make_groups(p);
    alone = !p->threads || p->due_count < 2;
    if (!alone) {
        pthread_mutex_lock(&p->lock);
        p->open = true;
        p->epoch++;
        pthread_cond_broadcast(&p->go);
        pthread_mutex_unlock(&p->lock);
    }
    take(p, 0);
    if (!alone) {
        pthread_mutex_lock(&p->lock);
        p->open = false;
        while (p->inside && p->spins) {
            uint32_t inside = p->inside;

            pthread_mutex_unlock(&p->lock);
            spin(p, &p->inside, inside);
            pthread_mutex_lock(&p->lock);
            if (p->inside == inside)
                break;
        }
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
    p->spins = want <= cores() ? SPINS : 0;
    p->due = fgs__alloc_array(a, dev->cfg.sms, sizeof *p->due);
    p->member = fgs__alloc_array(a, dev->cfg.sms, sizeof *p->member);
    p->head = fgs__alloc_array(a, dev->cfg.sms, sizeof *p->head);
    p->taken = fgs__alloc_array(a, dev->cfg.sms, sizeof *p->taken);
    p->thread = fgs__alloc_array(a, want, sizeof *p->thread);
    if (!p->due || !p->member || !p->head || !p->taken || !p->thread)
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
    fgs__free(a, p->taken);
    fgs__free(a, p->head);
    fgs__free(a, p->member);
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
    fgs__free(&dev->alloc, p->taken);
    fgs__free(&dev->alloc, p->head);
    fgs__free(&dev->alloc, p->member);
    fgs__free(&dev->alloc, p->due);
    fgs__free(&dev->alloc, p);
    dev->pool = NULL;
}
