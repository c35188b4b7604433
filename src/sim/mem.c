/* mem.c -- device memory: addresses, allocations, and their backing
 *
 * Device addresses come from a reserved range that the host cannot touch; the
 * bytes lie in a second mapping of the same size, so that address and host
 * pointer differ by a constant.  Both are only committed where touched.  Pinned
 * host memory keeps its own address (unified addressing) and stands in the
 * same sorted table.
 *
 * Allocations are aligned to 512 bytes and end exactly where they were asked
 * to end; at least one guard of 512 bytes lies between two of them, and an
 * address is reused as late as possible, so that a stale pointer finds
 * nothing.
 */
#include "sim/device.h"
#include <pthread.h>
#include <sys/mman.h>

enum { ALIGN = FGS__SIM_ALLOC_ALIGN, PAGE = 4096 };
/* Address space for every byte of memory: room for late reuse. */
enum { SPACE = 2 };
/* A hint only: the same addresses in each run make runs comparable. */
#define BASE_HINT ((void *)0x200000000000ull)

struct item {
    struct fgs__sim_alloc_info info;
    uint64_t span; /* bytes that it counts for and keeps mapped */
};

struct fgs__sim_mem {
    /* Read by each access, written seldom: no word beside it may be, in the
     * same cache line, one that is written often, as a lock is. */
    char before[64];
    atomic_uint generation;
    char behind[64];
    const fgs_allocator *alloc;
    pthread_rwlock_t lock; /* item[]: readers are the SMs */
    struct item *item;     /* sorted by address */
    size_t count, cap;
    char *reserve, *backing;
    uint64_t space;        /* bytes of both */
    uint64_t next;         /* offset where the next one is tried first */
    uint64_t total, used;
    uint64_t ids;
};

static void *map(void *hint, uint64_t bytes, int prot)
{
    void *p = mmap(hint, bytes, prot,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

CUresult fgs__sim_mem_make(struct fgs__sim_mem **out, uint64_t bytes,
                           const fgs_allocator *a)
{
    struct fgs__sim_mem *mem = fgs__zalloc(a, sizeof *mem);

    *out = NULL;
    if (!mem)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mem->alloc = a;
    mem->total = bytes;
    mem->space = (bytes * SPACE + PAGE - 1) / PAGE * PAGE;
    mem->reserve = map(BASE_HINT, mem->space, PROT_NONE);
    if (!mem->reserve)
        goto free_mem;
    mem->backing = map(NULL, mem->space, PROT_READ | PROT_WRITE);
    if (!mem->backing)
        goto unmap;
    if (pthread_rwlock_init(&mem->lock, NULL))
        goto unmap_backing;
    *out = mem;
    return CUDA_SUCCESS;
unmap_backing:
    munmap(mem->backing, mem->space);
unmap:
    munmap(mem->reserve, mem->space);
free_mem:
    fgs__free(a, mem);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Has it an address of the host, in a mapping of its own? */
static bool is_host(enum fgs__sim_memkind kind)
{
    return kind == FGS__SIM_MEM_HOST || kind == FGS__SIM_MEM_MANAGED;
}

void fgs__sim_mem_free(struct fgs__sim_mem *mem)
{
    if (!mem)
        return;
    for (size_t i = 0; i < mem->count; i++) {
        if (is_host(mem->item[i].info.kind))
            munmap(mem->item[i].info.range.host, mem->item[i].span);
    }
    pthread_rwlock_destroy(&mem->lock);
    munmap(mem->backing, mem->space);
    munmap(mem->reserve, mem->space);
    fgs__free(mem->alloc, mem->item);
    fgs__free(mem->alloc, mem);
}

/* Index of the first allocation that ends above addr. */
static size_t lower(const struct fgs__sim_mem *mem, uint64_t addr)
{
    size_t lo = 0, hi = mem->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (mem->item[mid].info.range.hi <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool holds(const struct fgs__sim_mem *mem, size_t i, uint64_t addr)
{
    return i < mem->count && mem->item[i].info.range.lo <= addr;
}

bool fgs__sim_mem_info(struct fgs__sim_mem *mem, uint64_t addr,
                       struct fgs__sim_alloc_info *out)
{
    size_t i;
    bool found;

    pthread_rwlock_rdlock(&mem->lock);
    i = lower(mem, addr);
    found = holds(mem, i, addr) &&
        (mem->item[i].info.kind != FGS__SIM_MEM_GRAPH ||
         mem->item[i].info.access || mem->item[i].info.flags);
    if (found)
        *out = mem->item[i].info;
    pthread_rwlock_unlock(&mem->lock);
    return found;
}

static bool joins(const struct item *a, const struct item *b)
{
    return b->info.kind == FGS__SIM_MEM_MAPPED && b->info.access &&
        a->info.range.hi == b->info.range.lo &&
        a->info.range.host + (a->info.range.hi - a->info.range.lo) ==
            b->info.range.host;
}

/* Neighbours that are mapped behind each other are one range. */
static void widen(const struct fgs__sim_mem *mem, size_t i,
                  struct fgs__sim_range *out)
{
    size_t first = i, last = i;

    while (first > 0 && mem->item[first - 1].info.access &&
           joins(&mem->item[first - 1], &mem->item[first]))
        first--;
    while (last + 1 < mem->count &&
           joins(&mem->item[last], &mem->item[last + 1]))
        last++;
    out->lo = mem->item[first].info.range.lo;
    out->host = mem->item[first].info.range.host;
    out->hi = mem->item[last].info.range.hi;
}

bool fgs__sim_mem_find(struct fgs__sim_mem *mem, uint64_t addr,
                       struct fgs__sim_range *out)
{
    size_t i;
    bool found;

    pthread_rwlock_rdlock(&mem->lock);
    i = lower(mem, addr);
    found = holds(mem, i, addr);
    if (found && mem->item[i].info.kind == FGS__SIM_MEM_MAPPED) {
        found = mem->item[i].info.access;
        if (found)
            widen(mem, i, out);
    } else if (found && mem->item[i].info.kind == FGS__SIM_MEM_GRAPH &&
               !mem->item[i].info.access) {
        found = false;
    } else if (found) {
        *out = mem->item[i].info.range;
    }
    pthread_rwlock_unlock(&mem->lock);
    return found;
}

uint32_t fgs__sim_mem_generation(struct fgs__sim_mem *mem)
{
    return atomic_load_explicit(&mem->generation, memory_order_acquire);
}

char *fgs__sim_mem_host(struct fgs__sim_mem *mem, uint64_t addr,
                        uint64_t bytes)
{
    struct fgs__sim_range r;

    if (!fgs__sim_mem_find(mem, addr, &r) || bytes > r.hi - addr)
        return NULL;
    return r.host + (addr - r.lo);
}

void fgs__sim_mem_usage(struct fgs__sim_mem *mem, uint64_t *avail,
                        uint64_t *total)
{
    pthread_rwlock_rdlock(&mem->lock);
    *avail = mem->total - mem->used;
    *total = mem->total;
    pthread_rwlock_unlock(&mem->lock);
}

/* Put an item at its place; the caller holds the lock and has reserved. */
static void insert(struct fgs__sim_mem *mem, const struct item *it)
{
    size_t i = lower(mem, it->info.range.lo);

    memmove(&mem->item[i + 1], &mem->item[i],
            (mem->count - i) * sizeof *mem->item);
    mem->item[i] = *it;
    mem->item[i].info.id = ++mem->ids;
    mem->count++;
    atomic_fetch_add_explicit(&mem->generation, 1, memory_order_release);
}

/* First gap of `span` bytes at an offset in [from, to); space = none.  A gap
 * has a guard before its end, as the span covers. */
static uint64_t find_gap(const struct fgs__sim_mem *mem, uint64_t from,
                         uint64_t to, uint64_t span, uint64_t align)
{
    uint64_t base = (uint64_t)(uintptr_t)mem->reserve;
    uint64_t at = (from + align - 1) / align * align;

    for (size_t i = lower(mem, base + at); at <= to && to - at >= span; i++) {
        const struct item *it;
        uint64_t lo;

        if (i >= mem->count || mem->item[i].info.range.lo >= base + to)
            return at;
        it = &mem->item[i];
        lo = it->info.range.lo > base ? it->info.range.lo - base : 0;
        if (lo >= at + span)
            return at;
        at = it->info.range.lo - base + it->span;
        at = (at + align - 1) / align * align;
    }
    return mem->space;
}

static CUresult place(struct fgs__sim_mem *mem, struct item *it,
                      uint64_t bytes, uint64_t align)
{
    uint64_t off = find_gap(mem, mem->next, mem->space, it->span, align);

    if (off == mem->space) /* wrap: the oldest freed addresses come first */
        off = find_gap(mem, 0, mem->space, it->span, align);
    if (off == mem->space)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mem->next = off + it->span;
    it->info.range.lo = (uint64_t)(uintptr_t)mem->reserve + off;
    it->info.range.hi = it->info.range.lo + bytes;
    it->info.range.host = mem->backing + off;
    return CUDA_SUCCESS;
}

CUresult fgs__sim_mem_alloc(struct fgs__sim_mem *mem, uint64_t bytes,
                            uint64_t align, enum fgs__sim_memkind kind,
                            const void *owner, struct fgs__sim_range *out)
{
    bool host = is_host(kind);
    uint64_t unit = host ? PAGE : ALIGN;
    struct item it = { .info = { .kind = kind, .owner = owner } };
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    void *items;

    if (bytes > UINT64_MAX / 4)
        return r;
    it.span = (bytes + unit - 1) / unit * unit + (host ? 0 : ALIGN);
    pthread_rwlock_wrlock(&mem->lock);
    items = mem->item;
    if (!fgs__vec_reserve(mem->alloc, &items, &mem->cap, mem->count,
                          sizeof *mem->item))
        goto unlock;
    mem->item = items;
    if (host) {
        it.info.range.host = map(NULL, it.span, PROT_READ | PROT_WRITE);
        if (!it.info.range.host)
            goto unlock;
        it.info.range.lo = (uint64_t)(uintptr_t)it.info.range.host;
        it.info.range.hi = it.info.range.lo + bytes;
    } else {
        if (it.span - ALIGN > mem->total - mem->used)
            goto unlock;
        r = place(mem, &it, bytes, align > ALIGN ? align : ALIGN);
        if (r)
            goto unlock;
        mem->used += it.span - ALIGN;
    }
    insert(mem, &it);
    *out = it.info.range;
    r = CUDA_SUCCESS;
unlock:
    pthread_rwlock_unlock(&mem->lock);
    return r;
}

/* Give the pages inside [at, at + bytes) back.  A page that the range only
 * touches stays: its other bytes belong to somebody else. */
static void forget(char *at, uint64_t bytes)
{
    uintptr_t lo = ((uintptr_t)at + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t hi = ((uintptr_t)at + bytes) & ~(uintptr_t)(PAGE - 1);

    if (lo < hi)
        madvise((void *)lo, hi - lo, MADV_DONTNEED);
}

/* Pages that were given back read as zero; the edges may be another's. */
void fgs__sim_mem_zero(const struct fgs__sim_range *range)
{
    uint64_t bytes = range->hi - range->lo;
    uintptr_t at = (uintptr_t)range->host, end = at + bytes;
    uintptr_t lo = (at + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t hi = end & ~(uintptr_t)(PAGE - 1);

    if (lo >= hi) {
        memset(range->host, 0, bytes);
        return;
    }
    memset(range->host, 0, lo - at);
    forget(range->host, bytes);
    memset((void *)hi, 0, end - hi);
}

static void remove_at(struct fgs__sim_mem *mem, size_t i)
{
    struct item it = mem->item[i];

    memmove(&mem->item[i], &mem->item[i + 1],
            (mem->count - i - 1) * sizeof *mem->item);
    mem->count--;
    atomic_fetch_add_explicit(&mem->generation, 1, memory_order_release);
    if (is_host(it.info.kind)) {
        munmap(it.info.range.host, it.span);
    } else if (it.span) {
        if (it.info.pool)
            it.info.pool->used -= it.span - ALIGN;
        mem->used -= it.span - ALIGN;
        forget(it.info.range.host, it.span);
    }
}

bool fgs__sim_mem_release(struct fgs__sim_mem *mem, uint64_t addr,
                          enum fgs__sim_memkind kind, const void *owner)
{
    size_t i;
    bool found;

    pthread_rwlock_wrlock(&mem->lock);
    i = lower(mem, addr);
    found = holds(mem, i, addr) && mem->item[i].info.range.lo == addr &&
        mem->item[i].info.kind == kind && mem->item[i].info.owner == owner;
    if (found)
        remove_at(mem, i);
    pthread_rwlock_unlock(&mem->lock);
    return found;
}

void fgs__sim_mem_release_owner(struct fgs__sim_mem *mem, const void *owner)
{
    pthread_rwlock_wrlock(&mem->lock);
    for (size_t i = mem->count; i-- > 0;) {
        if (mem->item[i].info.owner == owner)
            remove_at(mem, i);
    }
    pthread_rwlock_unlock(&mem->lock);
}

/* ------------------------------------------ memory of another's making -- */

/* Insert an item without bytes of ours; the caller holds the lock. */
static CUresult adopt(struct fgs__sim_mem *mem,
                      const struct fgs__sim_alloc_info *info, CUresult taken)
{
    struct item it = { .info = *info };
    size_t i = lower(mem, info->range.lo);
    void *items = mem->item;

    if (i < mem->count && mem->item[i].info.range.lo < info->range.hi)
        return taken;
    if (!fgs__vec_reserve(mem->alloc, &items, &mem->cap, mem->count,
                          sizeof *mem->item))
        return CUDA_ERROR_OUT_OF_MEMORY;
    mem->item = items;
    insert(mem, &it);
    return CUDA_SUCCESS;
}

CUresult fgs__sim_mem_register(struct fgs__sim_mem *mem, uint64_t addr,
                               uint64_t bytes, unsigned int flags,
                               const void *owner)
{
    struct fgs__sim_alloc_info info = {
        .range = { addr, addr + bytes, (char *)(uintptr_t)addr },
        .kind = FGS__SIM_MEM_REGISTERED, .owner = owner, .flags = flags
    };
    CUresult r;

    pthread_rwlock_wrlock(&mem->lock);
    r = adopt(mem, &info, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    pthread_rwlock_unlock(&mem->lock);
    return r;
}

CUresult fgs__sim_mem_map(struct fgs__sim_mem *mem,
                          const struct fgs__sim_alloc_info *info)
{
    CUresult r;

    pthread_rwlock_wrlock(&mem->lock);
    r = adopt(mem, info, CUDA_ERROR_INVALID_VALUE);
    pthread_rwlock_unlock(&mem->lock);
    return r;
}

void fgs__sim_mem_unmap(struct fgs__sim_mem *mem, uint64_t lo, uint64_t hi)
{
    pthread_rwlock_wrlock(&mem->lock);
    for (size_t i = lower(mem, lo);
         i < mem->count && mem->item[i].info.range.lo < hi;)
        remove_at(mem, i);
    pthread_rwlock_unlock(&mem->lock);
}

void fgs__sim_mem_access(struct fgs__sim_mem *mem, uint64_t lo, uint64_t hi,
                         bool access)
{
    pthread_rwlock_wrlock(&mem->lock);
    for (size_t i = lower(mem, lo);
         i < mem->count && mem->item[i].info.range.lo < hi; i++)
        mem->item[i].info.access = access;
    atomic_fetch_add_explicit(&mem->generation, 1, memory_order_release);
    pthread_rwlock_unlock(&mem->lock);
}

void fgs__sim_mem_tag(struct fgs__sim_mem *mem, uint64_t addr,
                      const struct fgs__sim_alloc_info *with)
{
    size_t i;

    pthread_rwlock_wrlock(&mem->lock);
    i = lower(mem, addr);
    if (holds(mem, i, addr)) {
        struct fgs__sim_alloc_info *info = &mem->item[i].info;

        if (with->pool && !info->pool) {
            with->pool->used += mem->item[i].span - ALIGN;
            if (with->pool->used > with->pool->high)
                with->pool->high = with->pool->used;
        }
        info->flags = with->flags;
        info->pool = with->pool;
        info->going = with->going;
    }
    pthread_rwlock_unlock(&mem->lock);
}

bool fgs__sim_mem_is_device(const struct fgs__sim_mem *mem, uint64_t addr)
{
    return addr - (uint64_t)(uintptr_t)mem->reserve < mem->space;
}

bool fgs__sim_mem_count(struct fgs__sim_mem *mem, int64_t bytes)
{
    bool ok;

    pthread_rwlock_wrlock(&mem->lock);
    ok = bytes < 0 || (uint64_t)bytes <= mem->total - mem->used;
    if (ok)
        mem->used += (uint64_t)bytes;
    pthread_rwlock_unlock(&mem->lock);
    return ok;
}
