/* builtin.h -- the device's library: output and heap of a context */
#ifndef FGS_SIM_BUILTIN_H
#define FGS_SIM_BUILTIN_H

#include "sim/call.h"
#include "sim/device.h"

/* Text to write at the next sync; false = no memory.  Any thread. */
bool fgs__sim_print_add(struct fgs__sim_ctx *ctx, bool to_stderr,
                        const char *text, size_t bytes);
/* A string at a generic address, cut to `most` with its end; false = it is
 * not all there. */
bool fgs__sim_text(struct fgs__sim_warp *w, int lane, uint64_t addr, char *out,
                   size_t most);

/* Handlers of calls: see fgs__sim_builtin. */
bool fgs__sim_vprintf(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, const uint64_t *arg, uint64_t *result);
bool fgs__sim_malloc(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                     int lane, const uint64_t *arg, uint64_t *result);
bool fgs__sim_free(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                   int lane, const uint64_t *arg, uint64_t *result);

#endif
