/* cu_cluster.c -- entry points and rules: clusters of a launch
 *
 * Every launch that an H200 (driver 580) refuses because of its cluster gets
 * INVALID_CLUSTER_SIZE: a grid that the cluster does not divide, dimensions of
 * which one is 0, more than 8 blocks without the function's consent or more
 * than 16 at all, others than the function requires, none where it wants some,
 * more than its .maxclusterrank.  Three times 0 is as good as not given.  A
 * device below compute capability 9.0 has no clusters but those of one block:
 * there the same result is our choice, none was at hand to ask.
 */
#include "sim/cluster.h"
#include "sim/graph.h"

static bool is_set(const uint32_t dim[3])
{
    return dim[0] && dim[1] && dim[2];
}

static bool any_set(const uint32_t dim[3])
{
    return dim[0] || dim[1] || dim[2];
}

bool fgs__sim_cluster_attr(struct fgs__sim_ask *ask, unsigned int id,
                           const CUlaunchAttributeValue *v)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        ask->dim[0] = v->clusterDim.x;
        ask->dim[1] = v->clusterDim.y;
        ask->dim[2] = v->clusterDim.z;
        return true;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        ask->preferred[0] = v->clusterDim.x;
        ask->preferred[1] = v->clusterDim.y;
        ask->preferred[2] = v->clusterDim.z;
        return true;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        ask->policy = v->clusterSchedulingPolicyPreference;
        return true;
    case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
        ask->portable = v->portableClusterSizeMode;
        return true;
    case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
        ask->shared_mode = v->sharedMemoryMode;
        return true;
    default:
        return false;
    }
}

/* Most blocks of a cluster of the function. */
static uint32_t most_blocks(const struct fgs__sim_func *f,
                            const struct fgs__sim_ask *ask)
{
    bool consent = f->non_portable;
    uint32_t most;

    if (ask->portable)
        consent = ask->portable ==
            CU_LAUNCH_PORTABLE_CLUSTER_MODE_ALLOW_NON_PORTABLE;
    most = consent ? FGS__SIM_CLUSTER_MOST : FGS__SIM_CLUSTER_PORTABLE;
    if (f->func->maxclusterrank && f->func->maxclusterrank < most)
        most = f->func->maxclusterrank;
    return f->module->ctx->dev->cfg.cc < 90 ? 1 : most;
}

/* Blocks of a cluster, 0 = too many. */
static uint32_t size_of(const uint32_t dim[3], uint32_t most)
{
    uint64_t n = (uint64_t)dim[0] * dim[1];

    return n > most || n * dim[2] > most ? 0 : (uint32_t)(n * dim[2]);
}

static bool divides(const uint32_t dim[3], const uint32_t of[3])
{
    return of[0] % dim[0] == 0 && of[1] % dim[1] == 0 && of[2] % dim[2] == 0;
}

static bool fits(const struct fgs__sim_func *f, const struct fgs__sim_grid *g,
                 uint32_t size)
{
    return fgs__sim_cluster_fits(&f->module->ctx->dev->cfg, f->code,
                                 g->threads, g->shared_bytes, size);
}

/* The dimensions that hold, those of the launch or of the function; {1,1,1}
 * for neither. */
static CUresult choose(const struct fgs__sim_func *f,
                       const struct fgs__sim_ask *ask, uint32_t out[3],
                       bool *given)
{
    static const uint32_t one[3] = { 1, 1, 1 };
    const uint32_t *dim = one;

    *given = any_set(ask->dim) || any_set(f->cluster);
    if (any_set(ask->dim))
        dim = ask->dim;
    else if (any_set(f->cluster))
        dim = f->cluster;
    else if (f->func->explicitcluster || any_set(ask->preferred))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (!is_set(dim) ||
        (any_set(f->cluster) && memcmp(dim, f->cluster, sizeof f->cluster)))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    memcpy(out, dim, 3 * sizeof *out);
    return CUDA_SUCCESS;
}

/* The larger clusters that the launch prefers are taken where they fit, or
 * not, as the seed has it: the device may do either. */
static CUresult prefer(const struct fgs__sim_func *f,
                       const struct fgs__sim_ask *ask, struct fgs__sim_grid *g)
{
    uint64_t rng = g->rng;
    uint32_t size;

    if (!any_set(ask->preferred))
        return CUDA_SUCCESS;
    if (!is_set(ask->preferred) || !divides(g->cluster, ask->preferred) ||
        !divides(ask->preferred, g->grid) ||
        ask->preferred[2] != g->cluster[2])
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    size = size_of(ask->preferred, most_blocks(f, ask));
    if (!size)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (fits(f, g, size) && fgs__sim_random(&rng) & 1) {
        memcpy(g->cluster, ask->preferred, sizeof g->cluster);
        g->cluster_size = size;
    }
    return CUDA_SUCCESS;
}

CUresult fgs__sim_cluster_apply(const struct fgs__sim_func *f,
                                const struct fgs__sim_ask *ask,
                                struct fgs__sim_grid *g)
{
    uint32_t policy = ask->policy ? ask->policy : f->cluster_policy;
    CUresult r = choose(f, ask, g->cluster, &g->explicit_cluster);

    if (r)
        return r;
    g->cluster_size = size_of(g->cluster, most_blocks(f, ask));
    if (!g->cluster_size || !divides(g->cluster, g->grid) ||
        !fits(f, g, g->cluster_size))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    g->spread = policy == CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
    return prefer(f, ask, g);
}

/* ------------------------------------------------------ function attributes */

bool fgs__sim_cluster_get(const struct fgs__sim_func *f,
                          CUfunction_attribute attrib, int *value)
{
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *value = f->func->explicitcluster;
        return true;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value =
            (int)f->cluster[attrib - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        return true;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = f->non_portable;
        return true;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = (int)f->cluster_policy;
        return true;
    default:
        return false;
    }
}

CUresult fgs__sim_cluster_set(struct fgs__sim_func *f,
                              CUfunction_attribute attrib, int value)
{
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        /* What the text requires cannot be changed. */
        if (value < 0 || f->func->reqcluster[0])
            return CUDA_ERROR_INVALID_VALUE;
        f->cluster[attrib - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] =
            (uint32_t)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        f->non_portable = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value < 0 || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
            return CUDA_ERROR_INVALID_VALUE;
        f->cluster_policy = (uint32_t)value;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* --------------------------------------------------------------- occupancy */

static CUresult read_config(struct fgs__sim_ask *ask, struct fgs__sim_grid *g,
                            const struct fgs__sim_func *f,
                            const CUlaunchConfig *c)
{
    CUresult r = CUDA_SUCCESS;
    uint64_t threads = (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;

    if (!threads || threads > fgs__sim_max_threads(f) ||
        (c->numAttrs && !c->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < c->numAttrs && !r; i++) {
        CUlaunchAttributeValue v = c->attrs[i].value;
        unsigned int at;

        if (fgs__sim_cluster_attr(ask, c->attrs[i].id, &v))
            r = fgs__sim_attribute_check(&at, FGS__SIM_OF_LAUNCH,
                                         c->attrs[i].id, &v);
    }
    if (!r && c->sharedMemBytes > fgs__sim_max_dynamic(f, ask->shared_mode))
        r = CUDA_ERROR_INVALID_VALUE;
    g->threads = (uint32_t)threads;
    g->shared_bytes = f->code->shared_bytes + c->sharedMemBytes;
    return r;
}

static CUresult occupancy(int *out, CUfunction func, const CUlaunchConfig *c,
                          bool potential)
{
    struct fgs__sim_ask ask = { .policy = 0 };
    struct fgs__sim_grid g = { .threads = 0 };
    struct fgs__sim_ctx *ctx;
    CUresult r = fgs__sim_enter(&ctx);
    struct fgs__sim_func *f;
    uint32_t dim[3], fit, size, most;
    bool given;

    if (r)
        return r;
    f = fgs__sim_func_of(ctx, func);
    if (!f || !out || !c)
        return fgs__sim_leave(f ? CUDA_ERROR_INVALID_VALUE
                                : CUDA_ERROR_INVALID_HANDLE);
    r = read_config(&ask, &g, f, c);
    if (!r)
        r = choose(f, &ask, dim, &given);
    if (r)
        return fgs__sim_leave(r);
    most = most_blocks(f, &ask);
    size = size_of(dim, most);
    /* An H200 refuses what only the consent is missing for, and says 0 to what
     * can never be. */
    if (!size && !f->non_portable)
        return fgs__sim_leave(CUDA_ERROR_INVALID_CLUSTER_SIZE);
    fit = fgs__sim_fit(&ctx->dev->cfg, f->code, g.threads, g.shared_bytes) *
        ctx->dev->cfg.sms;
    if (potential)
        *out = (int)(fit < most ? fit : most);
    else
        *out = given && size ? (int)(fit / size) : 0;
    return fgs__sim_leave(CUDA_SUCCESS);
}

CUresult fgs__sim_cuOccupancyMaxPotentialClusterSize(
    int *clusterSize, CUfunction func, const CUlaunchConfig *config)
{
    return occupancy(clusterSize, func, config, true);
}

CUresult fgs__sim_cuOccupancyMaxActiveClusters(int *numClusters,
                                               CUfunction func,
                                               const CUlaunchConfig *config)
{
    return occupancy(numClusters, func, config, false);
}

/* ------------------------------------------------------ nodes of a graph -- */

static CUresult ask_of_node(struct fgs__sim_ctx *ctx, struct fgs__sim_op *op,
                            const struct fgs__sim_ask *ask)
{
    struct fgs__sim_func *f = fgs__sim_func_of(ctx, op->u.kernel.func);
    struct fgs__sim_grid was = { .id = 0 };
    CUresult r;

    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    if (ask->shared_mode && op->u.kernel.grid.dynamic_bytes >
                                fgs__sim_max_dynamic(f, ask->shared_mode))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(was.cluster, op->u.kernel.grid.cluster, sizeof was.cluster);
    was.cluster_size = op->u.kernel.grid.cluster_size;
    was.explicit_cluster = op->u.kernel.grid.explicit_cluster;
    r = fgs__sim_cluster_apply(f, ask, &op->u.kernel.grid);
    if (!r) {
        op->u.kernel.ask = *ask;
        return r;
    }
    memcpy(op->u.kernel.grid.cluster, was.cluster, sizeof was.cluster);
    op->u.kernel.grid.cluster_size = was.cluster_size;
    op->u.kernel.grid.explicit_cluster = was.explicit_cluster;
    return r;
}

CUresult fgs__sim_cluster_keep(struct fgs__sim_ctx *ctx,
                               struct fgs__sim_op *op,
                               const struct fgs__sim_op *from)
{
    if (op->kind != FGS__SIM_OP_KERNEL || from->kind != op->kind)
        return CUDA_SUCCESS;
    return ask_of_node(ctx, op, &from->u.kernel.ask);
}

CUresult fgs__sim_cluster_node_set(struct fgs__sim_ctx *ctx,
                                   struct fgs__sim_node *n,
                                   CUkernelNodeAttrID attr,
                                   const CUkernelNodeAttrValue *value)
{
    struct fgs__sim_ask ask = n->op->u.kernel.ask;

    return fgs__sim_cluster_attr(&ask, attr, value)
        ? ask_of_node(ctx, n->op, &ask)
        : CUDA_SUCCESS;
}

bool fgs__sim_cluster_node_get(const struct fgs__sim_node *n,
                               CUkernelNodeAttrID attr,
                               CUkernelNodeAttrValue *value)
{
    const struct fgs__sim_ask *ask = &n->op->u.kernel.ask;
    const uint32_t *dim = attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
                              ? ask->dim
                              : ask->preferred;

    memset(value, 0, sizeof *value);
    switch (attr) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        value->clusterDim.x = dim[0];
        value->clusterDim.y = dim[1];
        value->clusterDim.z = dim[2];
        return true;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        value->clusterSchedulingPolicyPreference = ask->policy;
        return true;
    case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
        value->portableClusterSizeMode = ask->portable;
        return true;
    case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
        value->sharedMemoryMode = ask->shared_mode;
        return true;
    default:
        return false;
    }
}
