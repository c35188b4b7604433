/* hostfn.c -- the thread that calls host functions of streams */
#include "sim/hostfn.h"

struct fgs__sim_hostfn {
    pthread_t thread;
    pthread_cond_t more;
    struct fgs__sim_op *head, **tail;
    bool running, quit;
};

/* Set on the thread while it is inside a host function, which may not call
 * the driver. */
static _Thread_local bool inside;

bool fgs__sim_in_hostfn(void)
{
    return inside;
}

static void *caller(void *arg)
{
    struct fgs__sim_device *dev = arg;
    struct fgs__sim_hostfn *h = dev->hostfn;
    pthread_mutex_t *lock = &fgs__sim_driver.lock;

    pthread_mutex_lock(lock);
    for (;;) {
        struct fgs__sim_op *op;

        while (!h->head && !h->quit)
            pthread_cond_wait(&h->more, lock);
        op = h->head;
        if (!op)
            break;
        h->head = op->u.host.next;
        if (!h->head)
            h->tail = &h->head;
        h->running = true;
        pthread_mutex_unlock(lock);
        inside = true;
        if (op->u.host.callback)
            op->u.host.callback(
                op->u.host.stream,
                (CUresult)atomic_load(&op->stream->ctx->sticky),
                op->u.host.data);
        else
            op->u.host.fn(op->u.host.data);
        inside = false;
        pthread_mutex_lock(lock);
        h->running = false;
        op->state = FGS__SIM_OP_DONE;
        if (!op->stream) /* of no stream: a destructor, cu_user.c */
            fgs__free(&dev->alloc, op);
        dev->fresh = true;
        pthread_cond_signal(&dev->work);
    }
    pthread_mutex_unlock(lock);
    return NULL;
}

bool fgs__sim_hostfn_make(struct fgs__sim_device *dev)
{
    struct fgs__sim_hostfn *h = fgs__zalloc(&dev->alloc, sizeof *h);

    if (!h)
        return false;
    h->tail = &h->head;
    pthread_cond_init(&h->more, NULL);
    dev->hostfn = h;
    if (!pthread_create(&h->thread, NULL, caller, dev))
        return true;
    pthread_cond_destroy(&h->more);
    fgs__free(&dev->alloc, h);
    dev->hostfn = NULL;
    return false;
}

/* The lock is not held. */
void fgs__sim_hostfn_free(struct fgs__sim_device *dev)
{
    struct fgs__sim_hostfn *h = dev->hostfn;

    pthread_mutex_lock(&fgs__sim_driver.lock);
    h->quit = true;
    pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&fgs__sim_driver.lock);
    pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->more);
    fgs__free(&dev->alloc, h);
    dev->hostfn = NULL;
}

void fgs__sim_hostfn_post(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    struct fgs__sim_hostfn *h = dev->hostfn;

    op->u.host.next = NULL;
    *h->tail = op;
    h->tail = &op->u.host.next;
    pthread_cond_signal(&h->more);
}

bool fgs__sim_hostfn_busy(const struct fgs__sim_device *dev)
{
    return dev->hostfn->running || dev->hostfn->head;
}
