/* access.c -- where the lanes of a memory instruction point to
 *
 * Most instructions of a full warp access neighbours or one place: then one
 * bounds check serves all lanes.  The others are checked lane by lane against
 * the segment (an allocation, the block's shared memory ...) that the lane
 * before was in.
 */
#include "sim/access.h"
#include "sim/cluster.h"
#include "sim/latency.h"

/* Memory that is contiguous on the host: addresses [lo, hi) as the
 * instruction writes them. */
struct segment {
    uint64_t lo, hi;
    char *host;
    uint64_t lane_step; /* local memory: host bytes from lane to lane */
    uint64_t latency_ps;
    bool shared, read_only;
};

static bool segment_holds(const struct segment *s, uint64_t addr,
                          uint64_t bytes)
{
    return addr >= s->lo && addr < s->hi && s->hi - addr >= bytes;
}

static char *segment_at(const struct segment *s, uint64_t addr, int lane)
{
    return s->host + (addr - s->lo) + s->lane_step * (uint64_t)lane;
}

/* An allocation that a warp of this SM found since the last one was made or
 * freed: new warps need no lock. */
static bool sm_range(struct fgs__sim_sm *sm, uint32_t generation,
                     uint64_t addr, struct fgs__sim_range *out)
{
    const struct fgs__sim_range *r = sm->range;
    const struct fgs__sim_range *end = r + sizeof sm->range / sizeof *r;

    if (sm->range_gen != generation) {
        memset(sm->range, 0, sizeof sm->range);
        sm->range_gen = generation;
    }
    for (; r != end; r++)
        if (addr >= r->lo && addr < r->hi) {
            *out = *r;
            return true;
        }
    if (!fgs__sim_mem_find(sm->mem, addr, out))
        return false;
    sm->range[sm->range_next++ % (sizeof sm->range / sizeof *r)] = *out;
    return true;
}

/* The warp's cached allocations are good as long as none was made or freed:
 * the last one that was accessed, and the one before, for what is read here
 * and written there. */
static bool global_range(struct fgs__sim_warp *w, uint64_t addr)
{
    uint32_t generation = fgs__sim_mem_generation(w->sm->mem);
    struct fgs__sim_range last = w->cache;

    if (FGS__UNLIKELY(generation != w->cache_gen)) {
        w->cache = w->before = (struct fgs__sim_range){0, 0, NULL};
        w->cache_gen = generation;
    } else if (addr >= last.lo && addr < last.hi) {
        return true;
    } else if (addr >= w->before.lo && addr < w->before.hi) {
        w->cache = w->before;
        w->before = last;
        return true;
    } else {
        w->before = last;
    }
    if (sm_range(w->sm, generation, addr, &w->cache))
        return true;
    w->cache = (struct fgs__sim_range){0, 0, NULL};
    return false;
}

char *fgs__sim_global(struct fgs__sim_warp *w, uint64_t addr, uint32_t bytes)
{
    if (!global_range(w, addr) || w->cache.hi - addr < bytes)
        return NULL;
    return w->cache.host + (addr - w->cache.lo);
}

static bool segment_global(struct fgs__sim_warp *w, uint64_t addr,
                           struct segment *s)
{
    if (!global_range(w, addr))
        return false;
    *s = (struct segment){.lo = w->cache.lo,
                          .hi = w->cache.hi,
                          .host = w->cache.host,
                          .latency_ps = FGS__SIM_GLOBAL_PS};
    return true;
}

/* Shared memory of the running block, as .shared{::cta} means it. */
static bool segment_shared(const struct fgs__sim_block *b, uint64_t addr,
                           struct segment *s)
{
    *s = (struct segment){.host = (char *)b->shared,
                          .lo = b->shared_base,
                          .hi = b->shared_base + b->grid->window_bytes,
                          .latency_ps = FGS__SIM_SHARED_PS,
                          .shared = true};
    return addr >= s->lo && addr < s->hi;
}

/* The same of the block that the address in the cluster's window names. */
static bool segment_cluster(struct fgs__sim_warp *w, uint64_t window,
                            uint64_t addr, struct segment *s)
{
    uint64_t shared = addr - window;
    uint32_t rank = shared >> 32 ? UINT32_MAX : fgs__sim_rank_of(shared);
    const char *why;
    const struct fgs__sim_block *b = fgs__sim_peer(w->block, rank, &why);

    if (!b)
        return false;
    *s = (struct segment){.host = (char *)b->shared,
                          .lo = window + b->shared_base,
                          .latency_ps = b == w->block ? FGS__SIM_SHARED_PS
                                                      : FGS__SIM_REMOTE_PS,
                          .shared = true};
    s->hi = s->lo + b->grid->window_bytes;
    return addr < s->hi;
}

/* The segment that holds `addr` of a state space whose addresses begin at
 * `window` (0 unless generic). */
static bool segment_of(struct fgs__sim_warp *w, unsigned space, uint64_t window,
                       uint64_t addr, struct segment *s)
{
    const struct fgs__sim_grid *g = w->block->grid;
    uint64_t bytes;

    switch (space) {
    case FGS__SIM_SHARED:
        return segment_shared(w->block, addr, s);
    case FGS__SIM_CLUSTER:
        return segment_cluster(w, window, addr, s);
    case FGS__SIM_PARAM:
        bytes = g->code->param_bytes;
        /* Never written: read_only is looked at first. */
        *s = (struct segment){.host = (char *)(uintptr_t)g->params,
                              .latency_ps = FGS__SIM_PARAM_PS,
                              .read_only = true};
        break;
    case FGS__SIM_LOCAL:
        bytes = fgs__sim_local_bytes(g);
        *s = (struct segment){.host = (char *)w->local,
                              .lane_step = bytes,
                              .latency_ps = FGS__SIM_LOCAL_PS};
        break;
    default:
        return segment_global(w, addr, s);
    }
    s->lo = window;
    s->hi = window + bytes;
    return addr >= s->lo && addr < s->hi;
}

static bool segment_find(struct fgs__sim_warp *w, unsigned space, uint64_t addr,
                         struct segment *s)
{
    static const struct {
        uint64_t window;
        unsigned space;
    } windows[] = {
        {FGS__SIM_SHARED_WINDOW, FGS__SIM_CLUSTER},
        {FGS__SIM_LOCAL_WINDOW, FGS__SIM_LOCAL},
        {FGS__SIM_PARAM_WINDOW, FGS__SIM_PARAM},
    };

    if (space != FGS__SIM_GENERIC)
        return segment_of(w, space, 0, addr, s);
    for (size_t n = 0; n < sizeof windows / sizeof *windows; n++)
        if (addr - windows[n].window < FGS__SIM_WINDOW_BYTES)
            return segment_of(w, windows[n].space, windows[n].window, addr, s);
    return segment_global(w, addr, s);
}

char *fgs__sim_generic(struct fgs__sim_warp *w, int lane, uint64_t addr,
                       uint64_t bytes)
{
    struct segment s;

    if (!segment_find(w, FGS__SIM_GENERIC, addr, &s) ||
        !segment_holds(&s, addr, bytes))
        return NULL;
    return segment_at(&s, addr, lane);
}

/* ---------------------------------------------------------------- faults -- */

static const char *space_text(unsigned space)
{
    switch (space) {
    case FGS__SIM_SHARED:
        return "the block's shared memory";
    case FGS__SIM_PARAM:
        return "the kernel's parameters";
    case FGS__SIM_LOCAL:
        return "the thread's local memory";
    case FGS__SIM_GLOBAL:
        return "any allocation";
    default:
        return "any allocation or window";
    }
}

/* An address in the cluster's window that no block holds: says why. */
static bool outside_cluster(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i, int lane,
                            unsigned space, uint64_t addr, uint64_t bytes)
{
    bool generic = space == FGS__SIM_GENERIC;
    struct fgs__sim_block *owner;
    uint32_t at;

    if (generic ? addr - FGS__SIM_SHARED_WINDOW >= FGS__SIM_WINDOW_BYTES ||
                      !w->block->cluster
                : space != FGS__SIM_CLUSTER)
        return false;
    return !fgs__sim_cluster_offset(w, i, lane, addr, generic, bytes, 1,
                                    "data accessed", &owner, &at);
}

/* A lane's access of `bytes` at `addr` as a host address; NULL after a
 * fault.  *s is the segment of the lane before, or empty. */
static char *lane_find(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       bool write, int lane, uint64_t addr, struct segment *s)
{
    uint32_t bytes = i->aux[FGS__SIM_AUX_BYTES];
    unsigned space = i->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_SPACE_MASK;

    if (FGS__UNLIKELY(addr & (bytes - 1))) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                            "address 0x%llx is not a multiple of the %u bytes "
                            "accessed",
                            (unsigned long long)addr, bytes);
        return NULL;
    }
    if (FGS__UNLIKELY(!segment_holds(s, addr, bytes)) &&
        (!segment_find(w, space, addr, s) || !segment_holds(s, addr, bytes))) {
        if (outside_cluster(w, i, lane, space, addr, bytes))
            return NULL;
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                            "%u bytes at address 0x%llx are not inside %s",
                            bytes, (unsigned long long)addr, space_text(space));
        return NULL;
    }
    if (FGS__UNLIKELY(write && s->read_only)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_INVALID_ADDRESS_SPACE, lane,
                            "address 0x%llx is a kernel parameter: it cannot "
                            "be written",
                            (unsigned long long)addr);
        return NULL;
    }
    if (FGS__UNLIKELY(s->lane_step &&
                      i->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_NOT_LOCAL)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_INVALID_ADDRESS_SPACE, lane,
                            "address 0x%llx is local memory, which has no "
                            "atomic operations",
                            (unsigned long long)addr);
        return NULL;
    }
    return segment_at(s, addr, lane);
}

/* ---------------------------------------------------------------- access -- */

/* The lanes' addresses; `buf` is used when they are not a register as is.  A
 * 32-bit base and its offset are added in 32 bits (seen on an H200). */
static const uint64_t *addresses(const struct fgs__sim_warp *w,
                                 const struct fgs__sim_insn *i, uint64_t *buf)
{
    const void *base = fgs__sim_at(w, i->op[FGS__SIM_ADDR]);
    uint64_t offset = (uint64_t)i->imm;

    if (i->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_ADDR32)
        for (int l = 0; l < 32; l++)
            buf[l] = ((const uint32_t *)base)[l] + (uint32_t)offset;
    else if (offset)
        for (int l = 0; l < 32; l++)
            buf[l] = ((const uint64_t *)base)[l] + offset;
    else
        return base;
    return buf;
}

bool fgs__sim_access_find(struct fgs__sim_warp *w,
                          const struct fgs__sim_insn *i, bool write,
                          struct fgs__sim_access *acc)
{
    uint32_t bytes = i->aux[FGS__SIM_AUX_BYTES];
    struct segment s = {.lo = 0};
    int lane = fgs__sim_lane(w->exec);
    uint64_t buf[32], first;
    const uint64_t *addr = addresses(w, i, buf);

    acc->shape = FGS__SIM_SCATTER;
    if (i->aux[FGS__SIM_AUX_SPACE] & FGS__SIM_UNIFORM)
        acc->shape = FGS__SIM_SAME;
    else if (w->exec == UINT32_MAX)
        acc->shape = (enum fgs__sim_shape)w->sm->shapes->of(addr, bytes);
    /* The first lane stands for all where their accesses have one shape. */
    first = addr[lane];
    acc->lane[lane] = lane_find(w, i, write, lane, first, &s);
    if (!acc->lane[lane])
        return false;
    acc->latency_ps = s.latency_ps;
    acc->shared = s.shared;
    if (acc->shape == FGS__SIM_SAME && !s.lane_step) {
        acc->lane[0] = acc->lane[lane];
        return true;
    }
    if (acc->shape == FGS__SIM_RUN && !s.lane_step &&
        segment_holds(&s, first, 32ull * bytes))
        return true;
    acc->shape = FGS__SIM_SCATTER;
    if (!s.lane_step &&
        w->sm->shapes->places(addr, w->exec, s.lo, s.hi - s.lo - bytes, bytes,
                              s.host, acc->lane))
        return true;
    for (uint32_t m = w->exec & (w->exec - 1); m; m &= m - 1) {
        lane = fgs__sim_lane(m);
        acc->lane[lane] = lane_find(w, i, write, lane, addr[lane], &s);
        if (!acc->lane[lane])
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- shared -- */

bool fgs__sim_shared_offset(struct fgs__sim_warp *w,
                            const struct fgs__sim_insn *i, int lane,
                            uint64_t addr, bool generic, uint64_t bytes,
                            uint32_t align, const char *what, uint32_t *out)
{
    uint64_t offset = generic ? addr - FGS__SIM_SHARED_WINDOW : addr;
    uint64_t size = w->block->grid->window_bytes;
    uint64_t base = w->block->shared_base;

    if (generic && offset >= FGS__SIM_WINDOW_BYTES) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_INVALID_ADDRESS_SPACE, lane,
                            "the %s at generic address 0x%llx is not in "
                            "shared memory",
                            what, (unsigned long long)addr);
        return false;
    }
    if (offset >= base)
        offset -= base;
    else /* another block's */
        offset = UINT64_MAX - align + 1;
    if (offset & (align - 1)) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                            "the %s at shared address 0x%llx is not %u-byte "
                            "aligned",
                            what, (unsigned long long)addr, align);
        return false;
    }
    if (offset > size || size - offset < bytes) {
        fgs__sim_warp_fault(w, i, CUDA_ERROR_ILLEGAL_ADDRESS, lane,
                            "the %s (%llu bytes at shared address 0x%llx) is "
                            "not inside the block's %llu bytes of shared "
                            "memory",
                            what, (unsigned long long)bytes,
                            (unsigned long long)addr,
                            (unsigned long long)size);
        return false;
    }
    *out = (uint32_t)offset;
    return true;
}

/* -------------------------------------------------------------- decoding -- */

static unsigned space_of(const struct fgs__sim_decoder *d,
                         const struct fgs__ptx_insn *src,
                         const struct fgs__ptx_operand *o)
{
    unsigned word = src->space[0];
    bool var = o->sym && o->sym->kind == FGS__SYM_VAR;

    /* [var] without a space means the variable's own. */
    if (word == FGS__M_NONE && var)
        word = o->sym->space;
    /* What is passed to and from a .func lies in frames of local memory. */
    if ((word == FGS__M_PARAM || word == FGS__M_PARAM_FUNC) &&
        (var ? o->sym->frame : !fgs__sim_decode_func(d)->entry))
        word = FGS__M_LOCAL;
    switch (word) {
    case FGS__M_NONE:
        return FGS__SIM_GENERIC;
    case FGS__M_SHARED:
    case FGS__M_SHARED_CTA:
        return FGS__SIM_SHARED;
    case FGS__M_SHARED_CLUSTER:
        return FGS__SIM_CLUSTER;
    case FGS__M_PARAM:
    case FGS__M_PARAM_ENTRY:
        return FGS__SIM_PARAM;
    case FGS__M_LOCAL:
        return FGS__SIM_LOCAL;
    case FGS__M_GLOBAL:
    case FGS__M_CONST: /* the loader puts constant variables there */
        return FGS__SIM_GLOBAL;
    default:
        return FGS__SIM_SPACE_MASK;
    }
}

bool fgs__sim_access_decode(struct fgs__sim_decoder *d,
                            const struct fgs__ptx_insn *src,
                            const struct fgs__ptx_operand *o, uint32_t bytes,
                            struct fgs__sim_insn *out)
{
    unsigned bits, space = space_of(d, src, o);

    if (space == FGS__SIM_SPACE_MASK) {
        fgs__sim_decode_error(d, src, "this state space is not executed");
        return false;
    }
    if (!fgs__sim_ref_addr(d, src, o, &out->op[FGS__SIM_ADDR], &bits,
                           &out->imm))
        return false;
    out->aux[FGS__SIM_AUX_BYTES] = bytes;
    out->aux[FGS__SIM_AUX_SPACE] = space;
    if (bits == 32)
        out->aux[FGS__SIM_AUX_SPACE] |= FGS__SIM_ADDR32;
    if (!o->sym || (o->sym->kind == FGS__SYM_VAR &&
                    !fgs__sim_in_frame(d, o->sym)))
        out->aux[FGS__SIM_AUX_SPACE] |= FGS__SIM_UNIFORM;
    return true;
}
