/* exec.h -- what decoder, warps and instruction handlers share
 *
 * An instruction is decoded once into a handler and operand references.  A
 * handler works on all lanes of w->exec (a subset of the running split) and
 * returns the next instruction, or NULL when the split stops here (it ended,
 * blocked, or the warp must be rescheduled).
 *
 * A register is an array over 32 lanes of its natural width (b8: 32 bytes ...
 * b128: 512 bytes), 64-byte aligned; a predicate is one 32-bit mask in a slot
 * of its own.  Constants lie broadcast in the code's constant bank, so a
 * handler reads a register or an immediate in the same way.
 */
#ifndef FGS_SIM_EXEC_H
#define FGS_SIM_EXEC_H

#include "base/compat.h"
#include "sim/sim.h"

struct fgs__sim_warp;
struct fgs__sim_insn;

typedef const struct fgs__sim_insn *(*fgs__sim_fn)(
    struct fgs__sim_warp *w, const struct fgs__sim_insn *i);

/* Reference to an operand: byte offset (multiple of 64) in a bank, the bank in
 * bit 0 (0 registers, 1 constants). */
typedef uint32_t fgs__sim_ref;
#define FGS__SIM_NOREF UINT32_MAX

enum { FGS__SIM_OPS = 10 };

struct fgs__sim_insn {
    fgs__sim_fn run;          /* guarded or not                              */
    fgs__sim_fn inner;        /* the handler behind a guard                  */
    fgs__sim_ref op[FGS__SIM_OPS]; /* by handler family; see its selector    */
    fgs__sim_ref guard;       /* predicate, NOREF = none                     */
    uint32_t guard_flip;      /* 0, or ~0 for @!p                            */
    int64_t imm;              /* address offset, count, mask ...             */
    uint32_t aux[4];          /* small facts of the family                   */
    const struct fgs__sim_insn *target; /* of a branch                       */
    const struct fgs__ptx_insn *src;    /* for messages                      */
};

/* Why a split does not run.  A blocked split stands at its instruction and
 * executes it again when woken: the handler then finds what it waits for, or
 * blocks again. */
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
};

struct fgs__sim_warp {
    unsigned char *bank[2];   /* registers, constants                        */
    uint32_t exec;            /* lanes that the handler works on             */
    uint32_t live;            /* lanes that have not exited                  */
    uint32_t cur;             /* index of the running split                  */
    uint32_t splits;
    struct fgs__sim_split split[32];
    struct fgs__sim_block *block;
    struct fgs__sim_sm *sm;
    uint32_t id;              /* in the block                                */
    uint64_t now_ps;          /* this warp's time                            */
    struct fgs__sim_range cache; /* last allocation hit                      */
    uint32_t cache_gen;
};

struct fgs__sim_named_bar {   /* bar.sync of a number                        */
    uint32_t arrived;         /* threads, in this generation                 */
    uint32_t expected;        /* 0 = nobody has come                         */
    uint32_t generation;
};

struct fgs__sim_copy;         /* a bulk copy in flight, bulk.c               */

struct fgs__sim_block {
    struct fgs__sim_block *next;
    struct fgs__sim_grid *grid;
    struct fgs__sim_sm *sm;
    uint64_t linear;
    uint32_t ctaid[3];
    uint32_t warps, running;  /* warps with live lanes                       */
    struct fgs__sim_warp *warp;
    unsigned char *shared;    /* grid->shared_bytes, 128-byte aligned        */
    uint8_t *mbar_live;       /* a byte per 8 bytes of shared: initialized   */
    uint32_t events;          /* counts whatever may release a waiting split */
    bool triggered;
    bool faulted;
    uint64_t end_ps;          /* latest time of a warp that ended            */
    struct fgs__sim_named_bar bar[16];
    struct fgs__sim_copy *copies;
    uint64_t rng;
};

/* ------------------------------------------------- helpers for handlers -- */

static inline void *fgs__sim_at(const struct fgs__sim_warp *w, fgs__sim_ref r)
{
    return w->bank[r & 1] + (r & ~1u);
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

/* End the lanes of w->exec. */
const struct fgs__sim_insn *fgs__sim_warp_exit(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i);

/* ------------------------------------------------- decoder and selectors -- */

struct fgs__sim_decoder;      /* code.c: function, diags, constant bank      */

/* Operand n of an instruction as a reference of `type`: a register, or a
 * constant broadcast as that type.  A diagnostic and NOREF when it cannot. */
fgs__sim_ref fgs__sim_ref_of(struct fgs__sim_decoder *d,
                             const struct fgs__ptx_operand *o,
                             enum fgs__ptx_type type);
/* A constant of the bank, broadcast over 32 lanes of `bits` (8 ... 64). */
fgs__sim_ref fgs__sim_ref_const(struct fgs__sim_decoder *d, uint64_t value,
                                unsigned bits);
void fgs__sim_decode_error(struct fgs__sim_decoder *d,
                           const struct fgs__ptx_insn *src, const char *fmt,
                           ...) FGS__PRINTF(3, 4);
const struct fgs__ptx_func *fgs__sim_decode_func(struct fgs__sim_decoder *d);

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

/* Device memory: host pointer for `bytes` at a global or generic-as-global
 * address, or NULL when no allocation holds all of them. */
char *fgs__sim_global(struct fgs__sim_warp *w, uint64_t addr, uint32_t bytes);

/* Handed to each block step: complete what the copies have due at now_ps;
 * returns when the next part is due (FGS__SIM_NEVER = no copy).  bulk.c */
uint64_t fgs__sim_copies_run(struct fgs__sim_block *b, uint64_t now_ps);
void fgs__sim_copies_free(struct fgs__sim_block *b);

/* Small generator for the choices that the ISA leaves open (splitmix64). */
static inline uint64_t fgs__sim_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

#endif
