/* pool.c -- the threads that run the SMs of an epoch
 *
 * The scheduler thread opens an epoch, runs SMs itself and closes it; a helper
 * that comes in time runs SMs too.  Nobody waits for a helper that has not come
 * (it may not even have a core), only for one that is inside.
 *
 * Each takes its own SMs first, the same in each epoch: their registers are in
 * its core's cache.  Then it takes others' SMs that nobody has at the moment,
 * each for one turn of its blocks: who is disturbed does less of the epoch, and
 * keeps the others waiting for a turn at most.
 *
 * Epochs follow each other within microseconds, and a thread that sleeps is
 * late by tens of them: where each has a core of its own, they spin a while
 * before they sleep, and nobody takes the lock but to sleep and to wake.
 */
#include "sim/cluster.h"
#include "sim/device.h"
#include <sched.h>

/* Pauses before a thread sleeps: some 100 us. */
enum { SPINS = 2000 };

/* Mean length of a turn.  Not too short: at each one the warps' registers come
 * into the first cache anew. */
enum {
    TURN_PS = 1000 * FGS__SIM_PS_PER_NS,
    CHECK_PS = 40 * FGS__SIM_PS_PER_NS /* of mode check                      */
};

struct fgs__sim_pool {
    struct fgs__sim_device *dev;
    pthread_mutex_t lock;      /* of go and done                             */
    pthread_cond_t go, done;
    pthread_t *thread;
    uint32_t threads;          /* helpers                                    */
    uint32_t spins;            /* SPINS, or 0 = there are too few cores      */
    uint64_t turn_ps;
    atomic_uint epoch;         /* odd = open                                 */
    atomic_uint inside;        /* helpers that may look at the epoch         */
    atomic_uint asleep;        /* helpers that wait for go                   */
    atomic_bool awaited;       /* the scheduler waits for done               */
    atomic_bool quit;
    /* of the epoch */
    uint64_t until;
    struct fgs__sim_sm **member; /* all SMs, those of a group together       */
    struct group {
        uint32_t first, count;
        atomic_bool taken;
        atomic_uint_fast64_t at; /* device time that it has come to          */
    } *due;                    /* with something to do                       */
    uint32_t due_count;
    uint32_t *head;            /* of each SM's group                         */
    atomic_uint helpers;       /* that have begun: their numbers             */
};

/* Of the groups that nobody has: of this thread's own the one that it has come
 * furthest with, whose registers its cache holds; of all, the one furthest
 * behind.  NULL = none. */
static struct group *choose(const struct fgs__sim_pool *p, uint32_t who,
                            bool own)
{
    struct group *best = NULL;
    uint64_t best_at = 0;

    for (uint32_t i = 0; i < p->due_count; i++) {
        struct group *g = &p->due[i];
        uint64_t at = atomic_load_explicit(&g->at, memory_order_relaxed);

        if (own && p->member[g->first]->id % (p->threads + 1) != who)
            continue;
        if (at < p->until && (!best || (own ? at > best_at : at < best_at)) &&
            !atomic_load_explicit(&g->taken, memory_order_relaxed)) {
            best_at = at;
            best = g;
        }
    }
    return best;
}

/* One turn, unless somebody was faster. */
static void run_turn(struct fgs__sim_pool *p, struct group *g)
{
    struct fgs__sim_sm **sm = &p->member[g->first];

    if (atomic_exchange_explicit(&g->taken, true, memory_order_acquire))
        return;
    if (sm[0]->now_ps < p->until)
        fgs__sim_sm_turn(sm, g->count, p->until, p->turn_ps);
    atomic_store_explicit(&g->at, sm[0]->now_ps, memory_order_relaxed);
    atomic_store_explicit(&g->taken, false, memory_order_release);
}

static void run_turns(struct fgs__sim_pool *p, uint32_t who)
{
    struct group *g;

    while ((g = choose(p, who, true)) || (g = choose(p, who, false)))
        run_turn(p, g);
}

/* ----------------------------------------------------------------- helpers --
 * Who enters and who closes each write one word and then read the other's, in
 * one order for all: either the helper sees that the epoch is closed, or the
 * scheduler sees that it is inside.  The same for who sleeps and who wakes. */

static bool opened(const struct fgs__sim_pool *p, uint32_t seen)
{
    uint32_t epoch = atomic_load(&p->epoch);

    return epoch & 1 && epoch != seen;
}

static void sleep_until_opened(struct fgs__sim_pool *p, uint32_t seen)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->asleep, 1);
    while (!opened(p, seen) && !atomic_load(&p->quit))
        pthread_cond_wait(&p->go, &p->lock);
    atomic_fetch_sub(&p->asleep, 1);
    pthread_mutex_unlock(&p->lock);
}

static void await_opened(struct fgs__sim_pool *p, uint32_t seen)
{
    for (uint32_t k = 0; k < p->spins; k++) {
        if (opened(p, seen) || atomic_load(&p->quit))
            return;
        __builtin_ia32_pause();
    }
    sleep_until_opened(p, seen);
}

static void leave(struct fgs__sim_pool *p)
{
    if (atomic_fetch_sub(&p->inside, 1) != 1 || !atomic_load(&p->awaited))
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
}

static void *helper(void *arg)
{
    struct fgs__sim_pool *p = arg;
    uint32_t who = atomic_fetch_add(&p->helpers, 1) + 1;
    uint32_t seen = 0;

    while (await_opened(p, seen), !atomic_load(&p->quit)) {
        atomic_fetch_add(&p->inside, 1);
        seen = atomic_load(&p->epoch);
        if (seen & 1)
            run_turns(p, who);
        leave(p);
    }
    return NULL;
}

static void wake(struct fgs__sim_pool *p)
{
    if (!atomic_load(&p->asleep))
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->go);
    pthread_mutex_unlock(&p->lock);
}

static void await_all_left(struct fgs__sim_pool *p)
{
    for (uint32_t k = 0; k < p->spins; k++) {
        if (!atomic_load(&p->inside))
            return;
        __builtin_ia32_pause();
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->awaited, true);
    while (atomic_load(&p->inside))
        pthread_cond_wait(&p->done, &p->lock);
    atomic_store(&p->awaited, false);
    pthread_mutex_unlock(&p->lock);
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
    struct group *g = &p->due[p->due_count];
    bool due = false;

    g->first = *at;
    g->count = 0;

    for (uint32_t i = head; i < dev->cfg.sms; i++) {
        if (i != head && (!dev->clusters || head_of(p, i) != head))
            continue;
        p->member[(*at)++] = &dev->sm[i];
        due |= dev->sm[i].wake_ps < p->until;
        g->count++;
        if (!dev->clusters)
            break;
    }
    if (!due)
        return;
    atomic_store_explicit(&g->taken, false, memory_order_relaxed);
    atomic_store_explicit(&g->at, dev->now_ps, memory_order_relaxed);
    p->due_count++;
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
        atomic_fetch_add(&p->epoch, 1);
        wake(p);
    }
    run_turns(p, 0);
    if (!alone) {
        atomic_fetch_add(&p->epoch, 1);
        await_all_left(p);
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
    atomic_store(&p->quit, true);
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
    p->turn_ps = dev->cfg.mode ? CHECK_PS : TURN_PS;
    p->due = fgs__alloc_array(a, dev->cfg.sms, sizeof *p->due);
    p->member = fgs__alloc_array(a, dev->cfg.sms, sizeof *p->member);
    p->head = fgs__alloc_array(a, dev->cfg.sms, sizeof *p->head);
    p->thread = fgs__alloc_array(a, want, sizeof *p->thread);
    if (!p->due || !p->member || !p->head || !p->thread)
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
    fgs__free(&dev->alloc, p->head);
    fgs__free(&dev->alloc, p->member);
    fgs__free(&dev->alloc, p->due);
    fgs__free(&dev->alloc, p);
    dev->pool = NULL;
}
