/* line.h -- a whole warp at neighbouring addresses of global memory
 *
 * The fast way of ld and st: their selectors choose a handler for a form that
 * has one (exec_line.c), which leaves to the handler of any addresses what is
 * not so.
 */
#ifndef FGS_SIM_LINE_H
#define FGS_SIM_LINE_H

#include "sim/access.h"

/* A weak ld or st of `count` components of 1 << size bytes from or to
 * registers of 1 << reg bytes; chunks (size 4) may be strong. */
struct fgs__sim_line_form {
    bool store, sign;
    uint8_t count, size, reg;
};

/* The handler of a form for this CPU, NULL = there is none. */
fgs__sim_fn fgs__sim_line_run(const struct fgs__sim_line_form *f);

/* Is the address one of global memory in a register of 64 bits? */
bool fgs__sim_line_takes(const struct fgs__sim_insn *i);

/* Host bytes of what the warp's last allocations do not hold; NULL = this is
 * for fgs__sim_access_find. */
char *fgs__sim_line_far(struct fgs__sim_warp *w, uint64_t addr,
                        uint32_t bytes);

/* The handlers of any addresses: ld.c, st.c. */
const struct fgs__sim_insn *fgs__sim_ld_any(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i);
const struct fgs__sim_insn *fgs__sim_st_any(struct fgs__sim_warp *w,
                                            const struct fgs__sim_insn *i);

#endif
