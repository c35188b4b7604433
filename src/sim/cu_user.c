/* cu_user.c -- entry points: objects of the program that graphs hold
 *
 * A reference belongs to the program or to a graph, its copies, instantiated
 * ones and their launches that still run.  When the last one is dropped the
 * thread of host functions calls the destructor.
 */
#include "sim/graph.h"
#include "sim/hostfn.h"

static struct fgs__sim_user *user_of(struct fgs__sim_device *dev,
                                     CUuserObject handle)
{
    return fgs__sim_handle_get(&dev->handles, FGS__SIM_KIND_USER, handle);
}

static void drop(struct fgs__sim_device *dev, struct fgs__sim_user *u,
                 uint64_t count)
{
    struct fgs__sim_user **at = &dev->users;

    u->refs -= count;
    if (u->refs)
        return;
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    fgs__sim_handle_free(&dev->handles, u->handle);
    fgs__sim_hostfn_post(dev, u->last); /* hostfn.c frees it */
    fgs__free(&dev->alloc, u);
}

void fgs__sim_user_objects_free(struct fgs__sim_device *dev)
{
    while (dev->users) {
        struct fgs__sim_user *u = dev->users;

        dev->users = u->next;
        fgs__free(&dev->alloc, u->last);
        fgs__free(&dev->alloc, u);
    }
}

/* ---------------------------------------------------------------- owners -- */

/* Room for one more kind of object. */
static bool reserve(struct fgs__sim_device *dev, struct fgs__sim_users *to)
{
    void *items = to->item;

    if (!fgs__vec_reserve(&dev->alloc, &items, &to->cap, to->count,
                          sizeof *to->item))
        return false;
    to->item = items;
    return true;
}

static bool hold(struct fgs__sim_device *dev, struct fgs__sim_users *to,
                 struct fgs__sim_user *u, uint64_t count)
{
    size_t i = 0;

    while (i < to->count && to->item[i].user != u)
        i++;
    if (i == to->count) {
        if (!reserve(dev, to))
            return false;
        to->item[i].user = u;
        to->item[i].count = 0;
        to->count++;
    }
    to->item[i].count += count;
    return true;
}

/* A copy holds one reference of each, however many the first graph has. */
bool fgs__sim_users_copy(struct fgs__sim_device *dev,
                         struct fgs__sim_users *to,
                         const struct fgs__sim_users *from)
{
    for (size_t i = 0; i < from->count; i++) {
        if (!hold(dev, to, from->item[i].user, 1))
            return false;
        from->item[i].user->refs++;
    }
    return true;
}

void fgs__sim_users_drop(struct fgs__sim_device *dev,
                         struct fgs__sim_users *users)
{
    for (size_t i = 0; i < users->count; i++)
        drop(dev, users->item[i].user, users->item[i].count);
    fgs__free(&dev->alloc, users->item);
    memset(users, 0, sizeof *users);
}

void fgs__sim_op_users_drop(struct fgs__sim_device *dev,
                            struct fgs__sim_op *op)
{
    if (!op->users)
        return;
    fgs__sim_users_drop(dev, op->users);
    fgs__free(&dev->alloc, op->users);
}

/* ---------------------------------------------------------- entry points -- */

CUresult fgs__sim_cuUserObjectCreate(CUuserObject *out, void *ptr,
                                     CUhostFn destroy, unsigned int refs,
                                     unsigned int flags)
{
    struct fgs__sim_user *u;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    if (!out || !destroy || !refs || refs > INT32_MAX ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    u = fgs__zalloc(&ctx->dev->alloc, sizeof *u);
    if (u)
        u->last = fgs__sim_op_make(ctx->legacy, FGS__SIM_OP_HOST);
    if (u && u->last)
        u->handle = fgs__sim_handle_make(&ctx->dev->handles, &ctx->dev->alloc,
                                         FGS__SIM_KIND_USER, u);
    if (!u || !u->handle) {
        if (u)
            fgs__free(&ctx->dev->alloc, u->last);
        fgs__free(&ctx->dev->alloc, u);
        return fgs__sim_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    u->last->stream = NULL; /* no context's */
    u->last->u.host.fn = destroy;
    u->last->u.host.data = ptr;
    u->refs = refs;
    u->next = ctx->dev->users;
    ctx->dev->users = u;
    *out = (CUuserObject)u->handle;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    struct fgs__sim_user *u;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    u = user_of(ctx->dev, object);
    if (u && count && count <= INT32_MAX)
        u->refs += count;
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

/* What graphs hold is not the program's to release. */
static uint64_t held_by_graphs(const struct fgs__sim_device *dev,
                               const struct fgs__sim_user *u)
{
    uint64_t n = 0;

    for (const struct fgs__sim_ctx *c = dev->ctxs; c; c = c->next) {
        for (const struct fgs__sim_graph *g = c->graphs; g; g = g->next) {
            for (size_t i = 0; i < g->users.count; i++) {
                if (g->users.item[i].user == u)
                    n += g->users.item[i].count;
            }
        }
    }
    return n;
}

CUresult fgs__sim_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    struct fgs__sim_user *u;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter_calm(&ctx);

    if (r)
        return r;
    u = user_of(ctx->dev, object);
    if (u && count && count <= u->refs - held_by_graphs(ctx->dev, u))
        drop(ctx->dev, u, count);
    else
        r = CUDA_ERROR_INVALID_VALUE;
    return fgs__sim_leave(r);
}

/* New references, or with MOVE the program's. */
CUresult fgs__sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object,
                                          unsigned int count,
                                          unsigned int flags)
{
    bool move = flags == CU_GRAPH_USER_OBJECT_MOVE;
    struct fgs__sim_user *u;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);

    if (r)
        return r;
    u = user_of(ctx->dev, object);
    if (!u || !count || count > INT32_MAX || (flags && !move) ||
        (move && count > u->refs - held_by_graphs(ctx->dev, u)))
        r = CUDA_ERROR_INVALID_VALUE;
    else if (!hold(ctx->dev, &g->users, u, count))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    else if (!move)
        u->refs += count;
    return fgs__sim_leave(r);
}

CUresult fgs__sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object,
                                           unsigned int count)
{
    struct fgs__sim_user *u;
    struct fgs__sim_graph *g;
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_own_graph(&ctx, graph, &g);
    size_t i = 0;

    if (r)
        return r;
    u = user_of(ctx->dev, object);
    while (i < g->users.count && g->users.item[i].user != u)
        i++;
    if (!u || !count || i == g->users.count ||
        count > g->users.item[i].count)
        return fgs__sim_leave(CUDA_ERROR_INVALID_VALUE);
    g->users.item[i].count -= count;
    if (!g->users.item[i].count)
        g->users.item[i] = g->users.item[--g->users.count];
    drop(ctx->dev, u, count);
    return fgs__sim_leave(CUDA_SUCCESS);
}
