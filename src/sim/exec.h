/* exec.h -- what decoder, warps and instruction handlers share
 *
 * An instruction is decoded once into a handler and operand references.  A
 * handler works on all lanes of w->exec (a subset of the running split) and
 * returns the next instruction, or NULL when the split stops here (it ended,
 * blocked, or the warp must be rescheduled).
 *
 * A register is an array over 32 lanes of its natural width (b8: 32 bytes ...
 * b128: 512 bytes), 64-byte aligned; a predicate is one 32-bit mask in a slot
 * of its own.  Constants and the special registers that do not change lie
 * broadcast in the same form, once a kernel, block or warp, whichever they
 * are the same for, so a handler reads a register, an immediate or %tid.x in
 * the same way.
 *
 * Handlers that gain from wide vectors stand in exec_*.c files, which are
 * compiled once an ISA level with FGS__ISA set: see FGS__LEVEL.
 */
#ifndef FGS_SIM_EXEC_H
#define FGS_SIM_EXEC_H

#include "base/compat.h"
#include "sim/sim.h"

struct fgs__sim_warp;
struct fgs__sim_insn;

typedef const struct fgs__sim_insn *(*fgs__sim_fn)(
    struct fgs__sim_warp *w, const struct fgs__sim_insn *i);

/* Reference to an operand: a base, and above it a byte offset (multiple of
 * 64). */
typedef uint32_t fgs__sim_ref;
#define FGS__SIM_NOREF UINT32_MAX
enum fgs__sim_base {
    FGS__SIM_BANK,            /* of the warp                                 */
    FGS__SIM_COMMON,          /* what is the same for a block's warps        */
    FGS__SIM_KONST,           /* ... and for all blocks                      */
    FGS__SIM_BASES,
    FGS__SIM_BASE_SHIFT = 30
};

enum { FGS__SIM_OPS = 10 };

/* What a handler knows about the places of its operands. */
enum fgs__sim_near {
    FGS__SIM_FAR,             /* nothing                                     */
    FGS__SIM_NEAR_BANK,       /* all lie in the bank                         */
    FGS__SIM_NEAR_KONST       /* operand 2 is a constant, the others do      */
};

/* A dependent ALU instruction issues 4 cycles after the one before it, at
 * 1.75 GHz. */
enum { FGS__SIM_ALU_PS = 2286 };

struct fgs__sim_insn {
    fgs__sim_fn run;          /* guarded or not                              */
    fgs__sim_fn inner;        /* the handler behind a guard                  */
    fgs__sim_ref op[FGS__SIM_OPS]; /* by handler family; see its selector    */
    fgs__sim_ref guard;       /* predicate, NOREF = none                     */
    uint32_t guard_flip;      /* 0, or ~0 for @!p                            */
    int64_t imm;              /* address offset, count, mask ...             */
    uint32_t cost_ps;         /* added to the warp's time before it runs; the
                                 decoder sets that of an ALU instruction     */
    bool blocks : 1;          /* a selector sets it: may call _warp_block    */
    bool own_guard : 1;       /* a selector sets it: run looks at the guard  */
    bool label : 1;           /* a branch may come here                      */
    uint8_t near;             /* enum fgs__sim_near, of its handler          */
    uint16_t plain;           /* so many instructions from here on are plain */
    uint32_t aux[4];          /* small facts of the family                   */
    union {
        const struct fgs__sim_insn *target; /* of a branch                   */
        const void *konst;    /* operand 2 of FGS__SIM_NEAR_KONST            */
    };
    const struct fgs__ptx_insn *src;    /* for messages                      */
};

/* Why a split does not run.  A blocked split stands at its instruction and
 * executes it again when woken: the handler then finds what it waits for, or
 * blocks again.  `phase` and `token` keep their values over that and are zero
 * again at the next instruction; splits with a phase other than 0 are not
 * merged with others that come to the same place. */
enum fgs__sim_wait {
    FGS__SIM_READY,
    FGS__SIM_WAIT_EVENT,  /* block->events changed, or wake_ps reached       */
    FGS__SIM_WAIT_TIME,   /* wake_ps                                         */
    FGS__SIM_WAIT_DEPS,   /* grid->deps_done                                 */
    FGS__SIM_WAIT_WARP    /* other lanes of the warp (bar.warp.sync, shfl)   */
};

/* Lanes of a warp that stand at the same instruction. */
struct fgs__sim_split {
    const struct fgs__sim_insn *pc;
    uint32_t mask;
    uint32_t wait;            /* enum fgs__sim_wait                          */
    uint32_t seen;            /* block->events when it blocked               */
    uint32_t phase;           /* free for the instruction that blocks: 0 at
                                 its first execution                         */
    uint64_t wake_ps;
    uint64_t token;           /* free for the instruction that blocks        */
    uint32_t turn;            /* w->turn when it last ran                    */
};

/* What each turn looks at comes first. */
struct fgs__sim_warp {
    uintptr_t base[FGS__SIM_BASES]; /* less what a reference to it adds      */
    struct fgs__sim_split *split; /* &one, or `room` of them, owned          */
    uint32_t exec;            /* lanes that the handler works on             */
    uint32_t live;            /* lanes that have not exited                  */
    uint32_t cur;             /* index of the running split                  */
    uint32_t splits;
    uint64_t now_ps;          /* this warp's time                            */
    uint64_t stop_ps;         /* end of its slice                            */
    struct fgs__sim_block *block;
    struct fgs__sim_split one; /* of a warp that has not diverged            */
    struct fgs__sim_sm *sm;
    uint64_t fair_ps;         /* when the split that waited longest runs; 0 =
                                 now, as the second part of an if            */
    uint32_t turn;            /* counts the changes of split                 */
    uint32_t issued;          /* instructions of the last slice              */
    uint32_t id;              /* in the block                                */
    uint32_t room;            /* 0 = split is &one                           */
    unsigned char *local;     /* fgs__sim_local_bytes a lane, one after
                                 another                                     */
    uint32_t met_open;        /* barrier.cluster: lanes that arrived         */
    uint32_t met_done;        /* ... and whose barrier completed             */
    const struct fgs__sim_insn *met_at; /* the first .aligned arrive         */
    uint32_t registers;       /* a thread, where setmaxnreg moves them       */
    uint32_t moved;           /* ... how often it did                        */
    const struct fgs__sim_insn *moved_at; /* ... last                        */
    struct fgs__sim_stack *stack; /* calls in progress, NULL = none yet       */
    struct fgs__sim_range cache; /* last allocation hit                      */
    struct fgs__sim_range before; /* and the one before                      */
    uint32_t cache_gen;
};

struct fgs__sim_named_bar {   /* bar.sync of a number                        */
    uint32_t arrived;         /* threads, in this generation                 */
    uint32_t expected;        /* 0 = nobody has come                         */
    uint32_t generation;
    uint32_t ones;            /* bar.red: arrived with a true predicate      */
    uint32_t zeros;           /* and with a false one                        */
};

struct fgs__sim_copy;         /* a bulk copy in flight, bulk.c               */

struct fgs__sim_block {
    struct fgs__sim_block *next; /* of sm->spare                             */
    struct fgs__sim_grid *grid;
    struct fgs__sim_sm *sm;
    struct fgs__sim_slot *slot;
    struct fgs__sim_cluster *cluster; /* NULL = alone                        */
    uint32_t rank;            /* in the cluster                              */
    uint32_t shared_base;     /* where its shared memory begins in the
                                 cluster's window: cluster.h                 */
    uint64_t linear;
    uint64_t issued;          /* warp instructions so far                    */
    uint32_t ctaid[3];
    uint32_t warps, running;  /* warps with live lanes                       */
    uint32_t live;            /* lanes of all of them                        */
    struct fgs__sim_warp *warp;
    unsigned char *common;    /* grid->code->common_bytes, 64-byte aligned   */
    unsigned char *shared;    /* grid->window_bytes, 128-byte aligned        */
    uint8_t *mbar_live;       /* a byte per 8 bytes of shared: initialized   */
    uint32_t events;          /* counts whatever may release a waiting split */
    uint64_t event_ps;        /* when the last one happened                  */
    uint64_t now_ps;          /* start of the window that runs               */
    uint32_t first;           /* warp that runs first in the next pass       */
    bool triggered;
    bool faulted;
    bool meets;               /* barrier.cluster was used                    */
    uint8_t garbage;          /* what memory holds that nobody has written   */
    uint32_t pool;            /* registers a thread of a warp, given back by
                                 setmaxnreg: maxnreg.c                       */
    uint64_t start_ps;
    uint64_t end_ps;          /* latest time of a warp that ended            */
    struct fgs__sim_named_bar bar[16];
    struct fgs__sim_copy *copies;
    struct fgs__sim_sent *sent; /* of st.async and red.async                 */
    struct fgs__sim_request *requests; /* of try_cancel: cancel.c             */
    bool refused;             /* ... one was seen to have failed             */
    uint64_t still_ps;        /* spin.c: time stands still there; 0 = it runs */
    uint64_t quiet_ps;        /* ... when it was first without an event      */
    uint64_t quiet_at;        /* ... issued when all were suspended last     */
    uint32_t quiet;           /* ... how often since the last event          */
    uint32_t quiet_events;    /* ... events then                             */
    struct fgs__sim_async *async; /* of cp.async, NULL = none yet; async.c    */
    uint64_t rng;
};

/* ------------------------------------------------- helpers for handlers -- */

static inline void *fgs__sim_at(const struct fgs__sim_warp *w, fgs__sim_ref r)
{
    return (void *)(w->base[r >> FGS__SIM_BASE_SHIFT] + r);
}

/* Where the warp's registers begin. */
static inline unsigned char *fgs__sim_bank(const struct fgs__sim_warp *w)
{
    return (unsigned char *)w->base[FGS__SIM_BANK];
}

/* Source n of an instruction. */
static inline const void *fgs__sim_source(const struct fgs__sim_warp *w,
                                          const struct fgs__sim_insn *i, int n,
                                          enum fgs__sim_near near)
{
    if (near == FGS__SIM_FAR)
        return fgs__sim_at(w, i->op[n]);
    if (near == FGS__SIM_NEAR_KONST && n == 2)
        return i->konst;
    return fgs__sim_bank(w) + i->op[n];
}

/* The running split. */
static inline struct fgs__sim_split *fgs__sim_cur(struct fgs__sim_warp *w)
{
    return &w->split[w->cur];
}

/* The instruction took that much longer than its cost_ps. */
static inline void fgs__sim_warp_delay(struct fgs__sim_warp *w, uint64_t ps)
{
    w->now_ps += ps;
}

/* Something happened at device time `ps` that may release a split of the
 * block: those in FGS__SIM_WAIT_EVENT execute their instruction again. */
static inline void fgs__sim_block_event(struct fgs__sim_block *b, uint64_t ps)
{
    b->events++;
    if (ps > b->event_ps)
        b->event_ps = ps;
}

/* Fault at this instruction; the handler returns its result (NULL). */
const struct fgs__sim_insn *fgs__sim_warp_fault(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i,
                                                CUresult cu, int lane,
                                                const char *fmt, ...)
    FGS__PRINTF(5, 6);

/* Block the running split at `i`; the handler returns its result (NULL).  The
 * lanes are those of the whole split: a guarded instruction that blocks splits
 * off the lanes that it does not cover first (the guard wrapper does that for
 * rows marked as blocking). */
const struct fgs__sim_insn *fgs__sim_warp_block(struct fgs__sim_warp *w,
                                                const struct fgs__sim_insn *i,
                                                enum fgs__sim_wait why,
                                                uint64_t wake_ps);

/* Move `lanes` (a proper subset) out of the running split into a split of
 * their own that goes on at `pc`.  Shrinks w->exec too, and may move the
 * splits; a fault, and the block stops, without memory for them. */
void fgs__sim_warp_split(struct fgs__sim_warp *w, uint32_t lanes,
                         const struct fgs__sim_insn *pc);

/*
 * A .sync instruction of lanes that must meet (shfl, vote, bar.warp.sync ...):
 * `mask` refers to each lane's member mask.  Calls `meet` once for the lanes
 * that have met; at[lane] is the instruction of each, which may differ.  The
 * handler returns what this returns; its selector sets `blocks`.
 */
typedef void (*fgs__sim_meet)(struct fgs__sim_warp *w,
                              const struct fgs__sim_insn *const at[32],
                              uint32_t lanes);
const struct fgs__sim_insn *fgs__sim_warp_meet(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i,
                                               fgs__sim_ref mask,
                                               fgs__sim_meet meet);

/* End the lanes of w->exec; the handler returns its result (NULL). */
const struct fgs__sim_insn *fgs__sim_warp_exit(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i);

/* ------------------------------------------------- decoder and selectors -- */

struct fgs__sim_decoder;      /* code.c: function, diags, constant bank      */

/* An operand that is read as `type`: a register of that width, a constant
 * broadcast as that type, a special register that does not change, the address
 * of a variable in its state space.  A diagnostic and NOREF when it cannot. */
fgs__sim_ref fgs__sim_ref_of(struct fgs__sim_decoder *d,
                             const struct fgs__ptx_operand *o,
                             enum fgs__ptx_type type);
/* An operand that is written as `type`: a register of that width, or `_`. */
fgs__sim_ref fgs__sim_ref_dst(struct fgs__sim_decoder *d,
                              const struct fgs__ptx_operand *o,
                              enum fgs__ptx_type type);
/* A predicate that is read, p or !p; the mask is *ref ^ *flip. */
fgs__sim_ref fgs__sim_ref_pred(struct fgs__sim_decoder *d,
                               const struct fgs__ptx_operand *o,
                               uint32_t *flip);
/* A register as it is, of any width (bits), for cvt, ld and st. */
fgs__sim_ref fgs__sim_ref_reg(struct fgs__sim_decoder *d,
                              const struct fgs__ptx_operand *o,
                              unsigned *bits);
/* The carry flag of each lane (ISA 9.7.2), a mask as a predicate is. */
fgs__sim_ref fgs__sim_ref_carry(struct fgs__sim_decoder *d);
/* A constant, broadcast over 32 lanes of `bits` (8 ... 64). */
fgs__sim_ref fgs__sim_ref_const(struct fgs__sim_decoder *d, uint64_t value,
                                unsigned bits);
void fgs__sim_decode_error(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src, const char *fmt,
                           ...) FGS__PRINTF(3, 4);
const struct fgs__ptx_func *
fgs__sim_decode_func(const struct fgs__sim_decoder *d);
/* Does the variable lie where the frame pointer says? */
bool fgs__sim_in_frame(const struct fgs__sim_decoder *d,
                       const struct fgs__ptx_sym *v);

/*
 * An address operand [reg+imm], [var+imm] or [imm]: the base goes to *base as
 * a 64-bit-lane or 32-bit-lane register reference (`bits` says which; a
 * variable becomes a 64-bit constant), the rest to *offset.
 */
bool fgs__sim_ref_addr(struct fgs__sim_decoder *d,
                       const struct fgs__ptx_insn *src,
                       const struct fgs__ptx_operand *o, fgs__sim_ref *base,
                       unsigned *bits, int64_t *offset);

/* A selector fills run, op, imm, aux from a checked instruction; false after
 * fgs__sim_decode_error.  One a family of opcode.def's `exec` column. */
typedef bool (*fgs__sim_sel)(struct fgs__sim_decoder *d,
                             const struct fgs__ptx_insn *src,
                             struct fgs__sim_insn *out);
#define OP(id, word, shape, types, mods, ptx, cc, exec)                        \
    bool fgs__sim_sel_##exec(struct fgs__sim_decoder *d,                       \
                             const struct fgs__ptx_insn *src,                  \
                             struct fgs__sim_insn *out);
#include "ptx/opcode.def"
#undef OP

/* The instruction has modifiers of these groups only (enum fgs__ptx_group);
 * else false after an error that names the word. */
bool fgs__sim_only(struct fgs__sim_decoder *d, const struct fgs__ptx_insn *src,
                   const uint8_t *groups, size_t count);

/* %clock and its like: read by their own handlers, never from the bank. */
bool fgs__sim_sreg_moves(enum fgs__ptx_sreg s);
/* Is it the mov or cvt of a register that moves? */
bool fgs__sim_reads_time(const struct fgs__ptx_insn *src);
/* The cvt of one that moves. */
bool fgs__sim_sel_cvt_time(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src,
                           struct fgs__sim_insn *out);
uint64_t fgs__sim_sreg_time(const struct fgs__sim_warp *w,
                            enum fgs__ptx_sreg s);

/* ISA levels.  A selector of a family listed here is defined in an exec_*.c
 * file as FGS__LEVEL(fgs__sim_sel_<family>), everything else there is static
 * or wrapped in FGS__LEVEL too; isa.c picks one at run time.
 *
 * Their instructions are plain, unless they read a register that moves: the
 * handler goes on at i + 1 always and neither looks at the time nor changes
 * it, so a row of them has its time added at once. */
#define FGS__SIM_LEVELED(X)  FGS__SIM_DISTANT(X) FGS__SIM_NEARED(X)
#define FGS__SIM_DISTANT(X)  X(mov) X(cvt) X(bits) X(carry) X(special) X(mma)
/* Compiled for near operands, too: lanes.h. */
#define FGS__SIM_NEARED(X)   X(arith) X(logic) X(setp) X(selp)
#define FGS__CAT2(a, b)   a##b
#define FGS__CAT(a, b)    FGS__CAT2(a, b)
#define FGS__LEVEL(name)  FGS__CAT(name, FGS__ISA)

/* Device memory: host pointer for `bytes` at a global or generic-as-global
 * address, or NULL when no allocation holds all of them. */
char *fgs__sim_global(struct fgs__sim_warp *w, uint64_t addr, uint32_t bytes);

/* Handed to each block step: complete what the copies have due at now_ps;
 * returns when the next part is due (FGS__SIM_NEVER = no copy).  bulk.c */
uint64_t fgs__sim_copies_run(struct fgs__sim_block *b, uint64_t now_ps);
void fgs__sim_copies_free(struct fgs__sim_block *b);
/* The same of asynchronous stores: async_store.c. */
uint64_t fgs__sim_sent_run(struct fgs__sim_block *b, uint64_t now_ps);
void fgs__sim_sent_free(struct fgs__sim_block *b);
/* All threads wait in loops that nothing can end; call it when nothing is on
 * its way to the block.  And what they wait for, as a list of sentences:
 * spin.c. */
bool fgs__sim_block_spins(struct fgs__sim_block *b, bool *for_ever);
void fgs__sim_waits_text(struct fgs__sim_block *b, char *out, size_t size);
/* Behind `len` characters, a warp that waits for registers; how many there are
 * then.  maxnreg.c */
size_t fgs__sim_maxnreg_text(const struct fgs__sim_block *b, char *out,
                             size_t len, size_t size);
/* The same of clusterlaunchcontrol.try_cancel: cancel.c. */
uint64_t fgs__sim_requests_run(struct fgs__sim_block *b, uint64_t now_ps);
/* All threads have exited: a fault, and true, if a response is on its way. */
bool fgs__sim_requests_orphaned(struct fgs__sim_block *b);
void fgs__sim_requests_free(struct fgs__sim_block *b);
void fgs__sim_async_free(struct fgs__sim_block *b);
/* The same of cp.async's arrivals at mbarrier objects.  async.c */
uint64_t fgs__sim_async_run(struct fgs__sim_block *b, uint64_t now_ps);

/* Small generator for the choices that the ISA leaves open (splitmix64). */
static inline uint64_t fgs__sim_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

#endif
