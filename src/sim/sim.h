/* sim.h -- the software device's objects that several of its files share
 *
 * Host threads: API calls come from any thread and take the device's lock.
 * Worker threads run the SMs; each SM belongs to one worker during an epoch,
 * so an SM, its blocks and their warps are touched by one thread at a time.
 *
 * Device time is virtual, in picoseconds.  All SMs advance in epochs: no SM
 * starts epoch n+1 before every SM has ended epoch n, and an idle device jumps
 * to its next event.  The host's clock is never read.
 */
#ifndef FGS_SIM_SIM_H
#define FGS_SIM_SIM_H

#include "base/alloc.h"
#include "ptx/module.h"
#include "table/cu.h"
#include <fgs/fgs_sim.h>
#include <stdatomic.h>
#include <stdbool.h>

#define FGS__SIM_NEVER UINT64_MAX
enum { FGS__SIM_PS_PER_NS = 1000 };

/* -------------------------------------------------- global memory: mem.c -- */

/* One allocation: device addresses [lo, hi), host bytes at host + (addr-lo). */
struct fgs__sim_range {
    uint64_t lo, hi;
    char *host;
};

struct fgs__sim_mem; /* all allocations of a device */

/* The allocation that holds `addr`; false = none.  Any thread. */
bool fgs__sim_mem_find(struct fgs__sim_mem *mem, uint64_t addr,
                       struct fgs__sim_range *out);
/* Changes whenever an allocation is made or freed: a cached range is good as
 * long as this is unchanged. */
uint32_t fgs__sim_mem_generation(struct fgs__sim_mem *mem);

/* Generic addresses: below the windows global as is; the windows hold a
 * block's shared memory and a thread's local memory, offset from their base.
 * They lie above every user-space address of the host, so that neither an
 * allocation nor pinned host memory can fall into one. */
#define FGS__SIM_SHARED_WINDOW 0x0000800000000000ull
#define FGS__SIM_LOCAL_WINDOW  0x0000801000000000ull
#define FGS__SIM_PARAM_WINDOW  0x0000802000000000ull
#define FGS__SIM_CONST_WINDOW  0x0000803000000000ull
#define FGS__SIM_CODE_WINDOW   0x0000804000000000ull
#define FGS__SIM_WINDOW_BYTES  0x0000001000000000ull

/* ------------------------------------------------- decoded code: code.c -- */

struct fgs__sim_insn;
/* Bytes of a bank. */
struct fgs__sim_span {
    uint32_t at, bytes;
};
struct fgs__sim_function; /* call.h */
struct fgs__sim_call;
struct fgs__sim_product;  /* matrix.h */

/* A kernel ready to run; immutable and shared by all grids of it. */
struct fgs__sim_code {
    const struct fgs__ptx_func *func;
    const fgs_allocator *alloc;
    struct fgs__sim_insn *insn; /* all functions, callees before callers      */
    uint32_t insn_count;
    const struct fgs__sim_insn *first; /* of the kernel                       */
    struct fgs__sim_function *function; /* reachable ones, the kernel last    */
    uint32_t functions;
    struct fgs__sim_call *call; /* one a call instruction                     */
    uint32_t calls;
    size_t call_cap;
    struct fgs__sim_product *products; /* operands of mma, a list            */
    uint32_t fp, sp;           /* places of frame and stack pointer, 64 bits;
                                  UINT32_MAX = no calls                      */
    bool deep;                 /* recursion, calls through registers, alloca:
                                  it uses the context's stack limit too      */
    size_t bank_bytes;         /* of one warp, multiple of 64: registers, and
                                  special ones that differ                   */
    size_t common_bytes;       /* of one block, multiple of 64               */
    unsigned char *konst;      /* of all, 64-byte aligned                    */
    void *konst_raw;           /* what it lies in                            */
    struct fgs__sim_span *fresh; /* of a bank, what is zero when a warp starts
                                  because it may be read before it is written;
                                  the rest is good as another warp left it   */
    uint32_t freshes;
    uint64_t sp_start;         /* the stack pointer then                     */
    struct fgs__sim_sreg_slot *sregs; /* special registers of a warp, then
                                  those of a block                           */
    uint32_t own_sregs, sreg_count;
    struct fgs__sim_const *shared; /* addresses of .shared variables, in what
                                  a block has                                */
    uint32_t shared_count;
    uint32_t regs;             /* 32-bit registers a thread, for residency   */
    uint32_t pool;             /* ... at entry, where setmaxnreg counts; or 0 */
    uint32_t shared_bytes;     /* static                                     */
    uint32_t local_bytes;      /* a thread                                   */
    uint32_t param_bytes;
    bool heap;                 /* it calls malloc or free                    */
    bool waits, triggers;      /* griddepcontrol.wait, .launch_dependents */
    bool reserved;             /* it asks where reserved shared memory lies  */
};

/* Decode a checked function.  Module-scope variables have their addresses
 * already; .shared ones their offset, behind every function's own frame, and
 * shared_bytes covers those that the function uses.  An extern array without a
 * size begins at shared_bytes.  FGS_E_PTX with a diagnostic for what cannot be
 * executed yet. */
fgs_result fgs__sim_code_make(struct fgs__sim_code **out,
                              const struct fgs__ptx_func *func,
                              const fgs_allocator *a,
                              struct fgs__ptx_diags *diags);
void fgs__sim_code_free(struct fgs__sim_code *code);

/* ------------------------------------------------------ grids: grid.c -- */

struct fgs__sim_device;
struct fgs__sim_ctx;

struct fgs__sim_bound;

struct fgs__sim_grid {
    struct fgs__sim_device *dev;
    struct fgs__sim_ctx *ctx;
    const struct fgs__sim_code *code;
    uint32_t grid[3], block[3];
    uint64_t id;               /* %gridid, in the order of launches          */
    uint64_t stream;           /* id of the stream that started it           */
    uint64_t blocks;           /* grid[0] * grid[1] * grid[2]                */
    uint32_t threads;          /* of a block                                 */
    uint32_t shared_bytes;     /* static + dynamic                           */
    uint32_t dynamic_bytes;
    uint32_t window_bytes;     /* of shared memory, what has addresses: the
                                  reserved part too where code asks for it   */
    const unsigned char *params; /* code->param_bytes, owned                 */
    uint64_t rng;              /* seed of this grid's choices                */
    uint32_t cluster[3];       /* blocks of a cluster, 1 x 1 x 1 = none      */
    uint32_t cluster_size;     /* their product                              */
    bool explicit_cluster;     /* asked for by directive or launch           */
    bool spread;               /* the blocks of a cluster over the SMs       */
    uint32_t stack_bytes;      /* of a thread, beyond code->local_bytes      */
    uint64_t workspace;        /* of a cooperative launch: stream.c          */
    struct fgs__sim_bound *bound; /* references as at the launch, owned;
                                  reference.h                                */

    /* The grids that griddepcontrol.wait waits for have ended and their
     * memory is visible.  Written by the scheduler with release. */
    atomic_bool deps_done;

    /* scheduler's own */
    atomic_uint_fast64_t next_block; /* first one that is not resident yet   */
    atomic_uint_fast64_t last_block; /* end of those that will be            */
    atomic_bool taking;        /* the two are being changed in an epoch      */
    uint64_t wave;             /* blocks that fit on all SMs, of the grid    */
    atomic_uint_fast64_t triggered; /* blocks that triggered or ended        */
    atomic_uint_fast64_t ended;
    atomic_bool parked;        /* an SM keeps memory of its blocks           */
    uint64_t start_ps;
    atomic_uint_fast64_t end_ps; /* latest end of a block so far             */
    struct fgs__sim_grid *next;
};

/* Local memory of a thread. */
static inline uint32_t fgs__sim_local_bytes(const struct fgs__sim_grid *g)
{
    return g->code->local_bytes + g->stack_bytes;
}

/* A thread of the block executed griddepcontrol.launch_dependents for the
 * first time.  Called by the SM's worker, which sets block->triggered; a block
 * that ends without it is counted by sm.c. */
void fgs__sim_grid_trigger(struct fgs__sim_grid *g);

/* Does the grid have blocks without a place? */
static inline bool fgs__sim_grid_pending(const struct fgs__sim_grid *g)
{
    return atomic_load_explicit(&g->next_block, memory_order_relaxed) <
        atomic_load_explicit(&g->last_block, memory_order_relaxed);
}

/* More than a wave has no place yet: SMs give places themselves, and the grid
 * neither ends nor has all its triggers in this epoch. */
static inline bool fgs__sim_grid_early(const struct fgs__sim_grid *g)
{
    return g->cluster_size == 1 &&
        atomic_load_explicit(&g->next_block, memory_order_relaxed) + g->wave <
        atomic_load_explicit(&g->last_block, memory_order_relaxed);
}

/* In an epoch: the next block, for the place of one that ended.  False = the
 * scheduler gives it, or one of another grid. */
bool fgs__sim_grid_next(struct fgs__sim_grid *g, uint64_t *index);

/* Cancel a cluster, or a block without one, that has no place yet: the first
 * or the last of them, as `draw` has it.  *index is the number of its first
 * block in the order of handing out.  False = there is none. */
bool fgs__sim_grid_cancel(struct fgs__sim_grid *g, uint64_t draw,
                          uint64_t *index);

/* Report a fault of a kernel.  The first one of a context is kept as the text
 * of fgs_sim_last_fault(), `cu` becomes the context's sticky error, and every
 * block of the context stops at its next step.  `thread` < 0 = not known. */
void fgs__sim_fault(struct fgs__sim_grid *g, CUresult cu,
                    const struct fgs__ptx_insn *at, uint64_t block,
                    int64_t thread, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* The context has faulted: stop. */
bool fgs__sim_stopped(const struct fgs__sim_grid *g);

/* --------------------------------------------------------- SMs: sm.c -- */

struct fgs__sim_block;
struct fgs__sim_cluster;       /* cluster.h                                  */

/* A place for a resident block. */
struct fgs__sim_slot {
    struct fgs__sim_sm *sm;
    struct fgs__sim_grid *grid;  /* NULL = free                              */
    struct fgs__sim_block *block; /* NULL = not made yet                     */
    uint64_t linear;
    struct fgs__sim_cluster *cluster; /* NULL = the block is alone           */
    uint32_t rank;               /* in the cluster                           */
    uint64_t wake_ps;            /* nothing to run before                    */
};

/* Between registers of 32 lanes, one a component, and memory in which the
 * components of a lane are neighbours: of lanes that follow each other, or at
 * offsets. */
typedef void (*fgs__sim_line_move)(void *const reg[], char *memory);
typedef void (*fgs__sim_near_move)(void *const reg[], char *memory,
                                   const uint32_t *off);

/* What the handlers of memory instructions do with all 32 lanes, for a level
 * of the host's vectors: how their addresses lie (enum fgs__sim_shape), and
 * where (exec_shape.c); movers, by log2 of the components and of their bytes,
 * NULL = there is none (exec_line.c, exec_near.c). */
struct fgs__sim_shapes {
    int (*of)(const uint64_t *addr, uint64_t step);
    int (*offsets)(const uint32_t *addr, uint32_t add, uint32_t room,
                   uint32_t step, uint32_t *off);
    bool (*places)(const uint64_t *addr, uint32_t exec, uint64_t lo,
                   uint64_t room, uint64_t step, char *host, char **place);
    const fgs__sim_line_move (*line_load)[5], (*line_store)[5];
    const fgs__sim_near_move (*near_load)[5], (*near_store)[5];
    void (*splat)(void *reg, uint64_t v, uint32_t bytes); /* 4 or 8          */
};
const struct fgs__sim_shapes *fgs__sim_shapes_now(void);

struct fgs__sim_sm {
    struct fgs__sim_device *dev;
    struct fgs__sim_mem *mem;
    const fgs_sim_config *cfg;
    uint32_t id;
    uint64_t now_ps;           /* start of what is executed next             */
    uint64_t issue_ps;         /* when the issue slots are free again        */
    uint64_t rng;
    struct fgs__sim_slot *slot; /* cfg->sm_blocks of them                    */
    uint32_t used_threads, used_blocks, used_regs, used_shared;
    uint64_t wake_ps;          /* the least of its slots                     */
    bool woken;                /* a block by another one of its cluster      */
    uint64_t ended;            /* blocks whose place the scheduler gives     */
    struct fgs__sim_block *spare; /* memory of blocks that ended, for others
                                  of their grids                             */
    struct fgs__sim_room *rooms; /* memory of blocks for any, room_bytes     */
    size_t room_bytes;
    const struct fgs__sim_shapes *shapes; /* for this CPU                    */
    struct fgs__sim_range range[4]; /* allocations that warps looked up last */
    uint32_t range_gen, range_next;
};

/* --------------------------------------------------- blocks: block.c -- */

/* Make the block of a slot resident at time now_ps.  NULL = no memory. */
struct fgs__sim_block *fgs__sim_block_make(struct fgs__sim_slot *slot,
                                           uint64_t now_ps);
void fgs__sim_block_free(struct fgs__sim_block *b);
/* Give back what the SM keeps for blocks that come. */
void fgs__sim_rooms_free(struct fgs__sim_sm *sm);
/* Keep its memory for the next block of its grid on this SM; the SM gives it
 * back when the grid ends. */
void fgs__sim_block_park(struct fgs__sim_block *b);
void fgs__sim_blocks_unpark(struct fgs__sim_sm *sm,
                            const struct fgs__sim_grid *g);

enum fgs__sim_state {
    FGS__SIM_RUNNING, /* reached until_ps, has more to do                    */
    FGS__SIM_ASLEEP,  /* nothing to do before *wake_ps unless the grid's
                         deps_done changes                                   */
    FGS__SIM_ENDED,   /* all threads exited, no copy in flight               */
    FGS__SIM_FAULTED  /* fault reported, or the context stopped              */
};

/* Run a block up to device time until_ps. *end_ps is its last instruction's
 * time when it ended. */
enum fgs__sim_state fgs__sim_block_run(struct fgs__sim_block *b,
                                       uint64_t until_ps, uint64_t *wake_ps,
                                       uint64_t *end_ps);

#endif
