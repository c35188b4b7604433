/* call.h -- functions of a kernel's code, and calls in progress
 *
 * Every function has its registers at places of its own in the bank, so a call
 * moves nothing; one that may be entered again before it returned has the
 * lanes' values saved.  What is passed lies in frames of local memory (.param
 * variables) or in registers.
 */
#ifndef FGS_SIM_CALL_H
#define FGS_SIM_CALL_H

#include "sim/exec.h"

struct fgs__sim_decoder;

enum { FGS__SIM_ARGS = 128 }; /* parameters, or results, of a function */

/* A parameter, result or argument: in a frame, or a register or constant. */
struct fgs__sim_passed {
    fgs__sim_ref ref;          /* NOREF = in the frame, or nowhere            */
    uint32_t offset, bytes;    /* bytes 0 = `_`, ANY = x[]                    */
};

enum { FGS__SIM_ANY_BYTES = INT32_MAX };

/* A place that holds an address in the frame. */
struct fgs__sim_address {
    fgs__sim_ref ref;
    uint32_t offset, bits;
};

/* A register that is saved: bytes of a lane, 0 = a predicate. */
struct fgs__sim_saved {
    fgs__sim_ref ref;
    uint32_t bytes;
};

struct fgs__sim_function {
    const struct fgs__ptx_func *func;
    const struct fgs__sim_insn *first;
    uint64_t address;
    uint32_t frame_bytes, frame_align;
    uint64_t stack_bytes;      /* with what it calls, recursion counted once  */
    bool recursive;
    struct fgs__sim_passed *passed; /* parameters, then results              */
    uint32_t params, rets;
    struct fgs__sim_address *place;
    uint32_t addresses;
    size_t address_cap;
    struct fgs__sim_saved *saved;
    uint32_t saves, save_bytes;
};

typedef bool (*fgs__sim_builtin)(struct fgs__sim_warp *w,
                                 const struct fgs__sim_insn *i, int lane,
                                 const uint64_t *arg, uint64_t *result);

/* What a call instruction passes. */
struct fgs__sim_call {
    struct fgs__sim_passed *passed; /* arguments, then results               */
    uint32_t args, rets;
    uint32_t callee;           /* in code->function; UINT32_MAX = by address  */
    fgs__sim_builtin builtin;  /* of the device's library, NULL = none        */
};

/* Functions that the kernel reaches, in the order of their code; recursion,
 * frames and stack.  False = no memory, or errors in `diags`.  link.c */
bool fgs__sim_link(struct fgs__sim_code *c, const struct fgs__ptx_func *entry,
                   struct fgs__ptx_diags *diags, bool *nomem);
void fgs__sim_link_free(struct fgs__sim_code *c);

/* Places of parameters and results, before the function is decoded, and of
 * what is saved, behind it.  False = no memory or an error.  place.c */
bool fgs__sim_call_begin(struct fgs__sim_decoder *d);
bool fgs__sim_call_end(struct fgs__sim_decoder *d);

/* The library's function of that name, NULL = none.  builtin.c */
fgs__sim_builtin fgs__sim_builtin_find(const struct fgs__ptx_func *f);

/* A fault when the stack would end at `top`, above what a thread has. */
bool fgs__sim_stack_overflow(struct fgs__sim_warp *w,
                             const struct fgs__sim_insn *i, int lane,
                             uint64_t top);

static inline uint64_t fgs__sim_align_up(uint64_t v, uint64_t to)
{
    return (v + to - 1) & ~(to - 1);
}

void fgs__sim_stack_free(struct fgs__sim_warp *w);

#endif
