/* cu_graph_any.c -- entry points: nodes of any type by one call */
#include "sim/cond.h"

/* What is not there, semaphores of other programming interfaces, or cannot be
 * set. */
static CUresult absent(CUgraphNodeType type)
{
    return type <= CU_GRAPH_NODE_TYPE_CONDITIONAL ? CUDA_ERROR_NOT_SUPPORTED
                                                  : CUDA_ERROR_INVALID_VALUE;
}

/* Parameters that a node's own calls take too; false = another type. */
static bool with_params(CUgraphNodeParams *p, struct fgs__sim_params *q)
{
    *q = (struct fgs__sim_params){ p->type, NULL, NULL };
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        q->p = &p->u.kernel;
        q->kern = p->u.kernel.kern;
        return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        q->p = &p->u.memcpy.copyParams;
        return true;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        q->p = &p->u.memset;
        return true;
    case CU_GRAPH_NODE_TYPE_HOST:
        q->p = &p->u.host;
        return true;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        q->p = &p->u.memOp;
        return true;
    default:
        return false;
    }
}

static bool is_event(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ||
        type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
}

CUresult fgs__sim_cuGraphAddNode_v3(CUgraphNode *out, CUgraph graph,
                                    const CUgraphNode *deps,
                                    const CUgraphEdgeData *data, size_t count,
                                    CUgraphNodeParams *p)
{
    struct fgs__sim_place at = { out, graph, deps, count, data };
    struct fgs__sim_params q;
    CUevent event;

    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (with_params(p, &q))
        return fgs__sim_add_node(&at, &q, NULL);
    if (p->type == CU_GRAPH_NODE_TYPE_EMPTY)
        return fgs__sim_add_node(&at, &q, NULL);
    if (is_event(p->type)) {
        event = p->u.event.event;
        return fgs__sim_add_node(&at, &q, event ? event : (CUevent)1);
    }
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return fgs__sim_add_child(&at, p->u.graph.graph,
                                  p->u.graph.ownership ==
                                      CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return fgs__sim_add_alloc(&at, &p->u.alloc);
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return fgs__sim_add_free(&at, p->u.free.dptr);
    if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return fgs__sim_add_cond(&at, &p->u.conditional);
    return absent(p->type);
}

CUresult fgs__sim_cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph,
                                    const CUgraphNode *deps,
                                    const CUgraphEdgeData *data, size_t count,
                                    CUgraphNodeParams *p)
{
    return fgs__sim_cuGraphAddNode_v3(out, graph, deps, data, count, p);
}

CUresult fgs__sim_cuGraphAddNode(CUgraphNode *out, CUgraph graph,
                                 const CUgraphNode *deps, size_t count,
                                 CUgraphNodeParams *p)
{
    return fgs__sim_cuGraphAddNode_v3(out, graph, deps, NULL, count, p);
}

static CUresult set(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
    struct fgs__sim_params q;

    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (with_params(p, &q))
        return fgs__sim_set_params(exec, node, &q);
    if (is_event(p->type))
        return fgs__sim_set_event(exec, node, p->type, p->u.event.event);
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH && exec)
        return fgs__sim_cuGraphExecChildGraphNodeSetParams(exec, node,
                                                           p->u.graph.graph);
    return absent(p->type);
}

CUresult fgs__sim_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
    return set(NULL, node, p);
}

CUresult fgs__sim_cuGraphNodeSetParams_v2(CUgraphNode node,
                                          CUgraphNodeParams *p)
{
    return set(NULL, node, p);
}

CUresult fgs__sim_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                           CUgraphNodeParams *p)
{
    return exec ? set(exec, node, p) : CUDA_ERROR_INVALID_VALUE;
}

/* As the type's own call gives them. */
CUresult fgs__sim_cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams *p)
{
    CUgraphNodeType type;
    CUresult r = p ? fgs__sim_cuGraphNodeGetType(node, &type)
                   : CUDA_ERROR_INVALID_VALUE;

    if (r)
        return r;
    memset(p, 0, sizeof *p);
    p->type = type;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return fgs__sim_cuGraphKernelNodeGetParams_v2(node, &p->u.kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return fgs__sim_cuGraphMemcpyNodeGetParams(node,
                                                   &p->u.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return fgs__sim_cuGraphMemsetNodeGetParams(node, &p->u.memset);
    case CU_GRAPH_NODE_TYPE_HOST:
        return fgs__sim_cuGraphHostNodeGetParams(node, &p->u.host);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return fgs__sim_cuGraphBatchMemOpNodeGetParams(node, &p->u.memOp);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return fgs__sim_cuGraphChildGraphNodeGetGraph(node,
                                                      &p->u.graph.graph);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return fgs__sim_cuGraphEventRecordNodeGetEvent(node,
                                                       &p->u.event.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return fgs__sim_cuGraphEventWaitNodeGetEvent(node, &p->u.event.event);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return fgs__sim_cond_params(node, &p->u.conditional);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return fgs__sim_cuGraphMemAllocNodeGetParams(node, &p->u.alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return fgs__sim_cuGraphMemFreeNodeGetParams(node, &p->u.free.dptr);
    default:
        return CUDA_SUCCESS;
    }
}
