/* decode.h -- the decoder's state, for code.c and decode.c */
#ifndef FGS_SIM_DECODE_H
#define FGS_SIM_DECODE_H

#include "sim/exec.h"

struct fgs__sim_const {
    uint64_t value;
    unsigned bits;
    bool shared; /* an address in shared memory: the block's base is added */
    fgs__sim_ref ref;
};

/* A register that the code mentions: its place in the bank, and the first and
 * last instruction that mention it. */
struct fgs__sim_reg {
    fgs__sim_ref ref; /* NOREF = not mentioned yet */
    uint32_t first, last;
};

struct fgs__sim_decoder {
    const struct fgs__ptx_func *func;
    const fgs_allocator *alloc;
    struct fgs__ptx_diags *diags;
    struct fgs__sim_insn *insn; /* the array that is filled */
    uint32_t at;                /* the instruction that is decoded */
    bool failed, nomem;
    size_t bytes[FGS__SIM_BASES]; /* taken so far */
    uint64_t shared_bytes; /* static; an extern array begins there */
    fgs__sim_ref carry; /* carry flags; NOREF = not used yet */
    fgs__sim_ref tiles; /* results of wmma in the making; NOREF = none yet */
    fgs__sim_ref sink; /* where `_` is written to; NOREF = none yet */
    struct fgs__sim_reg *reg; /* by index */
    struct fgs__sim_const *konst;
    size_t konst_count, konst_cap;
    struct fgs__sim_span *fresh; /* what each new warp gets from the image   */
    size_t freshes, fresh_cap;
    struct fgs__sim_sreg_slot *sreg;
    size_t sreg_count, sreg_cap;
    fgs__sim_ref fp, sp;       /* frame and stack pointer, 64 bits; NOREF =
                                  the kernel calls nothing                   */
    struct fgs__sim_code *code;
    struct fgs__sim_function *callee; /* that of `func`                      */
    uint32_t regs;             /* most of all functions                      */
};

/* Bytes of a bank; of another base. */
fgs__sim_ref fgs__sim_take(struct fgs__sim_decoder *d, uint32_t bytes);
fgs__sim_ref fgs__sim_take_of(struct fgs__sim_decoder *d,
                              enum fgs__sim_base base, uint32_t bytes);
/* A place in the bank that is zero when a warp starts. */
fgs__sim_ref fgs__sim_take_fresh(struct fgs__sim_decoder *d, uint32_t bytes);
/* Bytes of a register over 32 lanes; a predicate is one mask. */
uint32_t fgs__sim_slot_bytes(unsigned bits);
/* Places of the function's registers, before it is decoded; slots.c.  False =
 * no memory. */
bool fgs__sim_slots_plan(struct fgs__sim_decoder *d);
fgs__sim_ref fgs__sim_reg_place(struct fgs__sim_decoder *d,
                                const struct fgs__ptx_sym *s);

/* A special register that does not change. */
struct fgs__sim_sreg_slot {
    uint16_t sreg;
    uint8_t comp;
    uint8_t bits;
    fgs__sim_ref ref;
};

/* Which warps it is the same for: sreg.c. */
enum fgs__sim_base fgs__sim_sreg_base(enum fgs__ptx_sreg sreg);
/* Is it the same for a warp of another block of the grid, on the same SM? */
bool fgs__sim_sreg_steady(enum fgs__ptx_sreg sreg);
/* Does it say where reserved shared memory lies? */
bool fgs__sim_sreg_reserved(enum fgs__ptx_sreg sreg);
/* Write a slot, of a warp or of its block; of code, into its constants. */
void fgs__sim_broadcast(struct fgs__sim_warp *w, fgs__sim_ref ref, uint64_t v,
                        unsigned bits);
void fgs__sim_sreg_fill(struct fgs__sim_warp *w,
                        const struct fgs__sim_sreg_slot *s);
void fgs__sim_sreg_lanes(unsigned char *at, enum fgs__ptx_sreg sreg,
                         unsigned bits);

#endif
