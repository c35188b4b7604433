/* stream_run.c -- the scheduler's part of streams: start, finish, free ops
 *
 * Called by the scheduler alone, with the device's lock held.
 */
#include "sim/cond.h"
#include "sim/hostfn.h"
#include "sim/trace.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool blocking(const struct fgs__sim_stream *s)
{
    return !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* The legacy default stream and the blocking ones wait for each other's
 * earlier work.  *ready_ps is raised to its end. */
static bool legacy_allows(const struct fgs__sim_op *op, uint64_t *ready_ps)
{
    const struct fgs__sim_stream *s = op->stream;
    const struct fgs__sim_stream *legacy = s->ctx->legacy;

    if (!blocking(s))
        return true;
    if (s != legacy) {
        *ready_ps = later(*ready_ps, legacy->done_ps);
        return !legacy->head || legacy->head->seq > op->seq;
    }
    for (const struct fgs__sim_stream *t = s->ctx->streams; t; t = t->next) {
        if (t == s || !blocking(t))
            continue;
        *ready_ps = later(*ready_ps, t->done_ps);
        if (t->head && t->head->seq < op->seq)
            return false;
    }
    return true;
}

/* Leave the lock for work that may take long. */
static void unlock_busy(struct fgs__sim_device *dev)
{
    dev->busy = true;
    pthread_mutex_unlock(&fgs__sim_driver.lock);
}

static void lock_busy(struct fgs__sim_device *dev)
{
    pthread_mutex_lock(&fgs__sim_driver.lock);
    dev->busy = false;
}

static void copy_now(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    const struct fgs__sim_copy_op *c = &op->u.copy;
    char *dst = c->dst.host, *src = c->src.host;

    if (!dst)
        dst = fgs__sim_mem_host(dev->mem, c->dst.va, fgs__sim_span(c, &c->dst));
    if (!src)
        src = fgs__sim_mem_host(dev->mem, c->src.va, fgs__sim_span(c, &c->src));
    if (!dst || !src) {
        fgs__sim_ctx_fault(op->stream->ctx, CUDA_ERROR_ILLEGAL_ADDRESS,
                           "a copy's memory was freed before the copy ran");
        return;
    }
    unlock_busy(dev);
    fgs__sim_copy_block(c, dst, src);
    lock_busy(dev);
}

static FGS__DEVICE_MEMORY void fill_row(char *dst, uint64_t n, uint32_t width,
                                        uint32_t value)
{
    uint16_t *half = (uint16_t *)(void *)dst;
    uint32_t *word = (uint32_t *)(void *)dst;

    if (width == 1) {
        memset(dst, (int)value, n);
    } else if (width == 2) {
        for (uint64_t i = 0; i < n; i++)
            half[i] = (uint16_t)value;
    } else {
        for (uint64_t i = 0; i < n; i++)
            word[i] = value;
    }
}

static void fill_now(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    uint64_t n = op->u.fill.count, rows = op->u.fill.rows;
    uint32_t width = op->u.fill.width;
    char *dst = fgs__sim_mem_host(dev->mem, op->u.fill.va,
                                  (rows - 1) * op->u.fill.pitch + n * width);

    if (!dst) {
        fgs__sim_ctx_fault(op->stream->ctx, CUDA_ERROR_ILLEGAL_ADDRESS,
                           "a fill's memory was freed before the fill ran");
        return;
    }
    unlock_busy(dev);
    for (uint64_t y = 0; y < rows; y++)
        fill_row(dst + y * op->u.fill.pitch, n, width, op->u.fill.value);
    lock_busy(dev);
}

/* Between two epochs: nothing runs that could look at it. */
static void free_now(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    struct fgs__sim_alloc_info info;

    if (fgs__sim_mem_info(dev->mem, op->u.free_va, &info))
        fgs__sim_mem_release(dev->mem, op->u.free_va, info.kind,
                             op->stream->ctx);
}

static uint64_t copy_ps(const struct fgs__sim_op *op)
{
    uint64_t bytes = op->u.copy.width * op->u.copy.rows * op->u.copy.planes;

    return FGS__SIM_COPY_PS +
        (op->u.copy.local ? bytes / FGS__SIM_DEVICE_BYTES_PS
                          : bytes * FGS__SIM_HOST_BYTE_PS);
}

static void start_kernel(struct fgs__sim_device *dev, struct fgs__sim_op *op,
                         uint64_t start_ps, bool deps_done)
{
    struct fgs__sim_grid *g = &op->u.kernel.grid;

    g->stream = op->stream->handle;
    g->start_ps = later(start_ps, dev->now_ps);
    atomic_store(&g->deps_done, deps_done);
    op->state = FGS__SIM_OP_TIMED;
    op->end_ps = g->start_ps;
}

/* Have the marks passed that the op waits for?  *ready_ps is raised to
 * them. */
static bool marks_allow(const struct fgs__sim_op *op, uint64_t *ready_ps)
{
    for (uint32_t i = 0; i < op->waits; i++) {
        if (!op->wait[i]->done)
            return false;
        *ready_ps = later(*ready_ps, op->wait[i]->ps);
    }
    return true;
}

/* Have the kernels ended that it was let in by before they had? */
static bool behind_over(const struct fgs__sim_op *op, uint64_t *ready_ps)
{
    for (size_t i = 0; i < op->behind.count; i++) {
        if (!op->behind.item[i]->done)
            return false;
        *ready_ps = later(*ready_ps, op->behind.item[i]->ps);
    }
    return true;
}

static void pass(struct fgs__sim_mark *m, uint64_t ps)
{
    if (m) {
        m->ps = ps;
        m->done = true;
    }
}

/* The op is its stream's head and may start.  False = not yet. */
static bool start_head(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    uint64_t ready = later(op->stream->done_ps, op->queued_ps), behind = 0;
    bool over;

    if (!legacy_allows(op, &ready) || !marks_allow(op, &ready))
        return false;
    if (op->kind == FGS__SIM_OP_WAIT && !op->u.mark->done)
        return false;
    over = behind_over(op, &behind);
    if (op->kind != FGS__SIM_OP_KERNEL) {
        if (!over)
            return false;
        ready = later(ready, behind);
    }
    if (op->kind == FGS__SIM_OP_VALUES) {
        if (!fgs__sim_values_run(dev, op))
            return false;
        ready = later(ready, dev->now_ps);
    }
    op->state = FGS__SIM_OP_TIMED;
    op->end_ps = ready;
    switch (op->kind) {
    case FGS__SIM_OP_EMPTY:
    case FGS__SIM_OP_VALUES:
        break;
    case FGS__SIM_OP_KERNEL:
        start_kernel(dev, op, ready + FGS__SIM_LAUNCH_PS, over);
        break;
    case FGS__SIM_OP_COPY:
        op->end_ps = ready + copy_ps(op);
        copy_now(dev, op);
        break;
    case FGS__SIM_OP_FILL:
        op->end_ps = ready + FGS__SIM_COPY_PS +
            op->u.fill.count * op->u.fill.rows * op->u.fill.width /
                FGS__SIM_DEVICE_BYTES_PS;
        fill_now(dev, op);
        break;
    case FGS__SIM_OP_FREE:
        free_now(dev, op);
        break;
    case FGS__SIM_OP_COND:
        op->end_ps = later(ready, dev->now_ps);
        fgs__sim_cond_step(op);
        break;
    case FGS__SIM_OP_LEASE:
        fgs__sim_lease_run(op->stream->ctx, op->u.lease.lease,
                           op->u.lease.on);
        break;
    case FGS__SIM_OP_RECORD:
        op->u.mark->ps = ready;
        op->u.mark->done = true;
        break;
    case FGS__SIM_OP_WAIT:
        op->end_ps = later(ready, op->u.mark->ps);
        break;
    case FGS__SIM_OP_HOST:
        op->state = FGS__SIM_OP_RUNNING;
        fgs__sim_hostfn_post(dev, op);
        break;
    }
    if (fgs__sim_tracing())
        fgs__sim_trace_begun(op, ready);
    return true;
}

static bool all_triggered(const struct fgs__sim_op *op)
{
    const struct fgs__sim_grid *g = &op->u.kernel.grid;

    return op->kind == FGS__SIM_OP_KERNEL &&
        (op->state == FGS__SIM_OP_RUNNING || op->state == FGS__SIM_OP_DONE) &&
        atomic_load_explicit(&g->triggered, memory_order_acquire) == g->blocks;
}

/* May the next kernel begin?  Behind an edge of launch order when all blocks
 * have begun, else when all have triggered. */
static bool lets_next(const struct fgs__sim_op *op)
{
    if (op->kind != FGS__SIM_OP_KERNEL || op->u.kernel.trigger ||
        op->u.kernel.trigger_port != CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER)
        return all_triggered(op);
    return (op->state == FGS__SIM_OP_RUNNING ||
            op->state == FGS__SIM_OP_DONE) &&
        !fgs__sim_grid_pending(&op->u.kernel.grid);
}

/* Start programmatic dependents along the queue. */
static bool start_dependents(struct fgs__sim_device *dev,
                             struct fgs__sim_stream *s)
{
    bool any = false;

    if (!dev->cfg.overlap)
        return false;
    for (struct fgs__sim_op *op = s->head; op && op->next; op = op->next) {
        struct fgs__sim_op *next = op->next;
        uint64_t ready = dev->now_ps;

        if (next->state != FGS__SIM_OP_QUEUED)
            continue;
        if (next->kind != FGS__SIM_OP_KERNEL || !next->u.kernel.programmatic ||
            !lets_next(op) || !legacy_allows(next, &ready) ||
            !marks_allow(next, &ready))
            break;
        start_kernel(dev, next, dev->now_ps, false);
        any = true;
    }
    return any;
}

/* Neither all begun nor all triggered in the next epoch. */
static bool far_from_end(const struct fgs__sim_op *op)
{
    return op->kind == FGS__SIM_OP_KERNEL &&
        op->state == FGS__SIM_OP_RUNNING &&
        fgs__sim_grid_early(&op->u.kernel.grid);
}

bool fgs__sim_streams_watch(const struct fgs__sim_device *dev)
{
    const struct fgs__sim_stream *s;
    const struct fgs__sim_op *op, *last;

    if (!dev->cfg.overlap)
        return false;
    for (const struct fgs__sim_ctx *c = dev->ctxs; c; c = c->next) {
        for (s = c->streams; s; s = s->next) {
            op = s->head;
            if (op && op->kind == FGS__SIM_OP_WAIT && op->u.mark->end &&
                !op->u.mark->done)
                return true;
            last = NULL;
            for (; op && op->state != FGS__SIM_OP_QUEUED; op = op->next)
                last = op;
            if (op && last && op->kind == FGS__SIM_OP_KERNEL &&
                op->u.kernel.programmatic && !far_from_end(last))
                return true;
        }
    }
    return false;
}

/* The events that a launch fires before its grid has ended. */
static void fire(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    const struct fgs__sim_grid *g = &op->u.kernel.grid;
    struct fgs__sim_mark *started = op->u.kernel.started;
    struct fgs__sim_mark *fired = op->u.kernel.fired;
    bool over = op->state == FGS__SIM_OP_DONE;
    bool all = dev->cfg.overlap && !fgs__sim_grid_pending(g);
    bool at_start = op->u.kernel.trigger_port ==
        CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;

    if (started && !started->done && (over || all))
        pass(started, over ? op->end_ps : dev->now_ps);
    if (fired && !fired->done &&
        (over || (dev->cfg.overlap && (at_start ? all : all_triggered(op)))))
        pass(fired, over ? op->end_ps : dev->now_ps);
}

/* Follow an op that has started. */
static void update(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    struct fgs__sim_grid *g = &op->u.kernel.grid;

    if (op->state == FGS__SIM_OP_TIMED && op->end_ps <= dev->now_ps) {
        op->state = FGS__SIM_OP_DONE;
        if (op->kind == FGS__SIM_OP_KERNEL) {
            op->state = FGS__SIM_OP_RUNNING;
            fgs__sim_grid_start(dev, g);
        }
    }
    if (op->kind == FGS__SIM_OP_COND && op->state == FGS__SIM_OP_RUNNING)
        fgs__sim_cond_next(op);
    if (op->state == FGS__SIM_OP_RUNNING && op->kind == FGS__SIM_OP_KERNEL &&
        atomic_load_explicit(&g->ended, memory_order_acquire) == g->blocks) {
        op->state = FGS__SIM_OP_DONE;
        op->end_ps = later(atomic_load(&g->end_ps), g->start_ps);
        fgs__sim_grid_remove(dev, g);
    }
    if (op->kind == FGS__SIM_OP_KERNEL)
        fire(dev, op);
}

/* A started kernel at the head has nothing before it any more in its stream;
 * in others it may. */
static void head_deps(struct fgs__sim_device *dev, struct fgs__sim_op *op)
{
    uint64_t ps = 0;

    if (op && op->kind == FGS__SIM_OP_KERNEL &&
        op->state != FGS__SIM_OP_QUEUED &&
        !atomic_load(&op->u.kernel.grid.deps_done) && behind_over(op, &ps))
        fgs__sim_grid_deps_done(dev, &op->u.kernel.grid);
}

static bool take_finished(struct fgs__sim_device *dev,
                          struct fgs__sim_stream *s)
{
    bool any = false;

    for (struct fgs__sim_op *op = s->head;
         op && op->state != FGS__SIM_OP_QUEUED; op = op->next)
        update(dev, op);
    while (s->head && s->head->state == FGS__SIM_OP_DONE) {
        struct fgs__sim_op *op = s->head;

        s->head = op->next;
        if (!s->head)
            s->tail = &s->head;
        s->done_ps = later(s->done_ps, op->end_ps);
        pass(op->over, s->done_ps);
        if (fgs__sim_tracing())
            fgs__sim_trace_ended(op);
        fgs__sim_op_free(op);
        any = true;
    }
    head_deps(dev, s->head);
    return any;
}

static bool advance(struct fgs__sim_device *dev, struct fgs__sim_stream *s)
{
    bool any = take_finished(dev, s);

    if (s->head && s->head->state == FGS__SIM_OP_QUEUED)
        any |= start_head(dev, s->head);
    any |= start_dependents(dev, s);
    return any;
}

static bool advance_ctx(struct fgs__sim_device *dev, struct fgs__sim_ctx *ctx)
{
    struct fgs__sim_stream *s, *next;
    bool any = false;

    for (s = ctx->streams; s; s = next) {
        /* After a fault only what a host function left is taken off. */
        if (atomic_load(&ctx->sticky))
            take_finished(dev, s);
        else
            any |= advance(dev, s);
        next = s->next; /* after: a copy may have let somebody in */
        if (s->destroyed && !s->head && !s->waiting)
            fgs__sim_stream_free(s);
    }
    return any;
}

void fgs__sim_streams_advance(struct fgs__sim_device *dev)
{
    bool any;

    do {
        any = false;
        for (struct fgs__sim_ctx *c = dev->ctxs; c; c = c->next)
            any |= advance_ctx(dev, c);
    } while (any);
}

uint64_t fgs__sim_streams_next(struct fgs__sim_device *dev)
{
    uint64_t least = FGS__SIM_NEVER;

    for (struct fgs__sim_ctx *c = dev->ctxs; c; c = c->next) {
        for (struct fgs__sim_stream *s = c->streams; s; s = s->next) {
            for (struct fgs__sim_op *op = s->head;
                 op && op->state != FGS__SIM_OP_QUEUED; op = op->next) {
                if (op->state == FGS__SIM_OP_TIMED && op->end_ps < least)
                    least = op->end_ps;
            }
        }
    }
    return least;
}

/* A host function that runs or has run stays, and a callback is told of the
 * error. */
static bool keep_host(struct fgs__sim_op *op)
{
    if (op->kind != FGS__SIM_OP_HOST)
        return false;
    if (op->u.host.callback && op->state == FGS__SIM_OP_QUEUED) {
        op->state = FGS__SIM_OP_RUNNING;
        fgs__sim_hostfn_post(op->stream->ctx->dev, op);
    }
    return op->state != FGS__SIM_OP_QUEUED;
}

void fgs__sim_streams_drop(struct fgs__sim_ctx *ctx)
{
    for (struct fgs__sim_stream *s = ctx->streams; s; s = s->next) {
        struct fgs__sim_op *op = s->head;

        s->head = NULL;
        s->tail = &s->head;
        while (op) {
            struct fgs__sim_op *next = op->next;

            op->next = NULL;
            /* Nobody waits for them for ever. */
            pass(op->over, 0);
            if (op->kind == FGS__SIM_OP_KERNEL) {
                pass(op->u.kernel.started, 0);
                pass(op->u.kernel.fired, 0);
                if (fgs__sim_tracing() && op->state >= FGS__SIM_OP_RUNNING)
                    fgs__sim_trace_ended(op);
            }
            if (op->kind == FGS__SIM_OP_RECORD)
                pass(op->u.mark, 0);
            if (keep_host(op)) {
                *s->tail = op; /* hostfn.c has it; it ends by itself */
                s->tail = &op->next;
            } else {
                fgs__sim_op_free(op);
            }
            op = next;
        }
    }
}
