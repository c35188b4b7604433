/* mem.h -- allocations of the device, and whose they are */
#ifndef FGS_SIM_MEM_H
#define FGS_SIM_MEM_H

#include "sim/sim.h"

enum fgs__sim_memkind {
    FGS__SIM_MEM_DEVICE, /* cuMemAlloc                                       */
    FGS__SIM_MEM_MODULE, /* a module's variable                              */
    FGS__SIM_MEM_HOST,   /* cuMemHostAlloc: same address on both sides       */
    FGS__SIM_MEM_MANAGED, /* cuMemAllocManaged: the same                     */
    FGS__SIM_MEM_REGISTERED, /* the program's own host memory                */
    FGS__SIM_MEM_POOL,   /* cuMemAllocAsync                                  */
    FGS__SIM_MEM_MAPPED, /* cuMemMap                                         */
    FGS__SIM_MEM_ARRAY,  /* of an array: no pointer of the program           */
    FGS__SIM_MEM_COND,   /* the value of conditional nodes: cond.h           */
    FGS__SIM_MEM_GRAPH   /* of a graph: there while `access` is, lease.c     */
};

struct fgs__sim_mempool {
    struct fgs__sim_mempool *next;
    uintptr_t handle;          /* 0 = destroyed                              */
    uint64_t used, high;       /* bytes of its allocations                   */
    uint64_t reserved_high, max, threshold;
    int reuse[3];
};

struct fgs__sim_alloc_info {
    struct fgs__sim_range range;
    enum fgs__sim_memkind kind;
    const void *owner; /* context */
    uint64_t id;       /* no other allocation has it                         */
    unsigned int flags; /* as they were asked for; of GRAPH: booked          */
    bool going;        /* a free of it is in a stream                        */
    bool access;       /* of MAPPED and GRAPH                                */
    struct fgs__sim_mempool *pool;
    void *vmm;         /* of MAPPED: what is mapped                          */
};

CUresult fgs__sim_mem_make(struct fgs__sim_mem **out, uint64_t bytes,
                           const fgs_allocator *a);
void fgs__sim_mem_free(struct fgs__sim_mem *mem);
CUresult fgs__sim_mem_alloc(struct fgs__sim_mem *mem, uint64_t bytes,
                            uint64_t align, enum fgs__sim_memkind kind,
                            const void *owner, struct fgs__sim_range *out);
/* The program's memory [addr, addr + bytes). */
CUresult fgs__sim_mem_register(struct fgs__sim_mem *mem, uint64_t addr,
                               uint64_t bytes, unsigned int flags,
                               const void *owner);
/* Set what the caller of an allocation wants to find again; addr is its
 * begin. */
void fgs__sim_mem_tag(struct fgs__sim_mem *mem, uint64_t addr,
                      const struct fgs__sim_alloc_info *with);
/* Does the address belong to the device, allocated or not? */
bool fgs__sim_mem_is_device(const struct fgs__sim_mem *mem, uint64_t addr);
/* Map an item of another's making; take those in [lo, hi) away. */
CUresult fgs__sim_mem_map(struct fgs__sim_mem *mem,
                          const struct fgs__sim_alloc_info *info);
void fgs__sim_mem_unmap(struct fgs__sim_mem *mem, uint64_t lo, uint64_t hi);
void fgs__sim_mem_access(struct fgs__sim_mem *mem, uint64_t lo, uint64_t hi,
                         bool access);
/* Count bytes that have no address; false = there are not so many. */
bool fgs__sim_mem_count(struct fgs__sim_mem *mem, int64_t bytes);
/* Zero an allocation of device memory; what nobody touched is not committed. */
void fgs__sim_mem_zero(const struct fgs__sim_range *range);
/* The allocation that begins at `addr`; false = none of this kind. */
bool fgs__sim_mem_release(struct fgs__sim_mem *mem, uint64_t addr,
                          enum fgs__sim_memkind kind, const void *owner);
void fgs__sim_mem_release_owner(struct fgs__sim_mem *mem, const void *owner);
bool fgs__sim_mem_info(struct fgs__sim_mem *mem, uint64_t addr,
                       struct fgs__sim_alloc_info *out);
/* Host bytes of [addr, addr + bytes), NULL when no allocation holds all. */
char *fgs__sim_mem_host(struct fgs__sim_mem *mem, uint64_t addr,
                        uint64_t bytes);
void fgs__sim_mem_usage(struct fgs__sim_mem *mem, uint64_t *free,
                        uint64_t *total);

#endif
