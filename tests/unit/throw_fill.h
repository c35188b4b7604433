/* throw_fill.h -- structures for the arguments that test_sim_throw.c throws
 *
 * Behind its pools: draw, any_handle, any_device, area and table are its own.
 */
#ifndef THROW_FILL_H
#define THROW_FILL_H

static bool has(const char *type, const char *word)
{
    return strstr(type, word) != NULL;
}

/* Where a structure has pointers, give it some; the rest is drawn. */
static void fill(char *at, const char *type, unsigned n)
{
    char *other = area[(n + 7) % ARGS];
    void **list = table[(n + 3) % ARGS];
    uint64_t word;

    for (unsigned i = 0; i < 64; i++) {
        word = draw(2) ? draw(3) : draw(3) ? any_handle() : any_device();
        if (has(type, "int"))
            word = (uint64_t)draw(64) << 32 | draw(64);
        if (has(type, "cuuint64") || has(type, "size_t"))
            word = draw(64);
        memcpy(at + 8 * i, &word, 8);
    }
#define AS(type) ((type *)(void *)at)
    if (has(type, "CUlaunchConfig")) {
        AS(CUlaunchConfig)->attrs = (void *)other;
        AS(CUlaunchConfig)->numAttrs = draw(3);
        fill(other, "CUlaunchAttribute", n + 1);
    } else if (has(type, "CUDA_KERNEL_NODE_PARAMS")) {
        AS(CUDA_KERNEL_NODE_PARAMS)->kernelParams = draw(2) ? list : NULL;
        AS(CUDA_KERNEL_NODE_PARAMS)->extra = NULL;
    } else if (has(type, "CUDA_HOST_NODE")) {
        AS(CUDA_HOST_NODE_PARAMS)->fn = NULL;
    } else if (has(type, "CUDA_BATCH_MEM")) {
        AS(CUDA_BATCH_MEM_OP_NODE_PARAMS)->paramArray = NULL;
    } else if (has(type, "CUctxCreateParams")) {
        AS(CUctxCreateParams)->execAffinityParams = (void *)other;
        AS(CUctxCreateParams)->cigParams = NULL;
    } else if (has(type, "CUgraphNodeParams")) {
        AS(CUgraphNodeParams)->type = draw(16);
        memset(&AS(CUgraphNodeParams)->u, 0, sizeof AS(CUgraphNodeParams)->u);
        for (unsigned i = 0; i < 10; i++)
            AS(CUgraphNodeParams)->u.reserved1[i] = draw(3);
        if (AS(CUgraphNodeParams)->type == CU_GRAPH_NODE_TYPE_KERNEL)
            fill(at + 16, "CUDA_KERNEL_NODE_PARAMS", n);
        else if (AS(CUgraphNodeParams)->type == CU_GRAPH_NODE_TYPE_MEMSET)
            fill(at + 16, "CUDA_MEMSET_NODE_PARAMS", n);
        else if (AS(CUgraphNodeParams)->type != 5)
            AS(CUgraphNodeParams)->u.host = (CUDA_HOST_NODE_PARAMS){ 0 };
    } else if (has(type, "CUDA_MEMCPY2D")) {
        CUDA_MEMCPY2D *c = AS(CUDA_MEMCPY2D);

        for (unsigned i = 0; i < sizeof *c / 8; i++)
            ((size_t *)(void *)c)[i] = draw(40);
        c->srcMemoryType = draw(5);
        c->dstMemoryType = draw(5);
        c->srcHost = draw(8) ? other : NULL;
        c->dstHost = draw(8) ? area[(n + 5) % ARGS] : NULL;
        c->srcDevice = any_device();
        c->dstDevice = any_device();
        c->srcArray = (CUarray)any_handle();
        c->dstArray = (CUarray)any_handle();
        if (c->srcMemoryType != 1 && c->dstMemoryType != 1) {
            c->WidthInBytes = number();
            c->Height = number();
            c->srcPitch = number();
        }
    } else if (has(type, "CUDA_MEMCPY3D")) {
        CUDA_MEMCPY3D *c = AS(CUDA_MEMCPY3D);
        uintptr_t context = any_handle();

        for (unsigned i = 0; i < sizeof *c / 8; i++)
            ((size_t *)(void *)c)[i] = draw(20);
        c->srcMemoryType = draw(5);
        c->dstMemoryType = draw(5);
        c->srcHost = draw(8) ? other : NULL;
        c->dstHost = draw(8) ? area[(n + 5) % ARGS] : NULL;
        c->srcDevice = any_device();
        c->dstDevice = any_device();
        c->srcArray = (CUarray)any_handle();
        c->dstArray = (CUarray)any_handle();
        c->reserved0 = c->reserved1 = NULL;
        if (has(type, "PEER"))
            memcpy(&c->reserved0, &context, sizeof context);
        if (c->srcMemoryType != 1 && c->dstMemoryType != 1) {
            c->Depth = number();
            c->srcHeight = number();
            c->dstPitch = number();
        }
    } else if (has(type, "CUDA_ARRAY")) {
        CUDA_ARRAY3D_DESCRIPTOR *d = AS(CUDA_ARRAY3D_DESCRIPTOR);

        *d = (CUDA_ARRAY3D_DESCRIPTOR){ draw(9), draw(9), draw(3), 0, 0, 0 };
        if (has(type, "3D")) {
            d->Format = 1u << draw(6);
            d->NumChannels = 1 + draw(4);
            d->Flags = draw(16);
        } else { /* what a depth is there */
            AS(CUDA_ARRAY_DESCRIPTOR)->Format = 1u << draw(6);
            AS(CUDA_ARRAY_DESCRIPTOR)->NumChannels = 1 + draw(4);
        }
    } else if (has(type, "CUDA_MEM_ALLOC_NODE")) {
        AS(CUDA_MEM_ALLOC_NODE_PARAMS)->accessDescs =
            draw(2) ? (void *)other : NULL;
    } else if (has(type, "CUDA_RESOURCE_DESC")) {
        AS(CUDA_RESOURCE_DESC)->resType = draw(5);
        AS(CUDA_RESOURCE_DESC)->flags = !draw(8);
        if (AS(CUDA_RESOURCE_DESC)->resType > CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
            AS(CUDA_RESOURCE_DESC)->res.linear.devPtr = any_device();
    } else if (has(type, "CUmemAllocationProp") ||
               has(type, "CUmemPoolProps")) {
        memset(at, 0, 128);
        for (unsigned i = 0; i < 4; i++)
            ((int *)(void *)at)[i] = (int)draw(3);
    }
#undef AS
}

#endif
